"""The files that tasks exchange while a log is spread over them, and those that stay.

A task writes Arrow tables itself: rows that go through the JVM would cost more
than the replay. Records are kept in blocks of offsets, so that whoever puts
batches together reads one block of every share. Every worker must see the
folder under the same name.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
from attrs import frozen

from kraftcheck.ci.logs.spark.rows import BATCHES, COLUMNS, SCHEMA, TIMELINES

BLOCK = 1 << 18
"""Offsets of one block."""

JOINED = ("cluster", "base", "offset", "records", "explanations", "event", "action")
"""The columns of a record that its batch is put together from."""

_PARTS = "parts"


@frozen
class Store:
    """The files of one run.

    Attributes:
        out: its output folder.
    """

    out: Path

    def put_records(self, log: int, share: int, block: int, records: pa.Table) -> None:
        """Keep one block of a share: the timelines of its partitions for good, the rest until it is put together.

        Args:
            log, share, block: their numbers.
            records: by partition, each in the order of offsets.
        """
        moved = records.filter(records.column("partition").is_valid()).select(COLUMNS[TIMELINES])
        self._parquet(TIMELINES, f"part-{log:05}-{share:05}-{block:05}", moved)
        with _replacing(self._part(log, share, block)) as target:
            chosen = records.filter(records.column("event").is_valid()).select(JOINED)
            feather.write_feather(chosen, str(target), compression="uncompressed")

    def records(self, log: int, block: int, shares: int) -> list[pa.Table]:
        """What every share has in a block; a share may have nothing."""
        paths = (self._part(log, share, block) for share in range(shares))
        return [feather.read_table(str(path)) for path in paths if path.exists()]

    def put_batches(self, log: int, block: int, batches: pa.Table) -> None:
        """Keep the batches of a block for good."""
        self._parquet(BATCHES, f"part-{log:05}-{block:05}", batches.select(COLUMNS[BATCHES]))

    def drop(self, log: int) -> None:
        """Forget a log that is replayed in another way."""
        for kind in (TIMELINES, BATCHES, _PARTS):
            for path in (self.out / kind).glob(f"part-{log:05}-*"):
                path.unlink()

    def tidy(self) -> None:
        """Nothing stays that was only exchanged."""
        shutil.rmtree(self.out / _PARTS, ignore_errors=True)

    def _part(self, log: int, share: int, block: int) -> Path:
        return self.out / _PARTS / f"part-{log:05}-{share:05}-{block:05}.arrow"

    def _parquet(self, kind: str, name: str, table: pa.Table) -> None:
        types = pa.schema([SCHEMA.field(column) for column in COLUMNS[kind]])
        with _replacing(self.out / kind / f"{name}.parquet") as target:
            pq.write_table(table.cast(types), str(target), store_schema=False)


@contextmanager
def _replacing(target: Path) -> Iterator[Path]:
    """A name to write under; a task that is tried again replaces what it wrote before."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        yield temporary
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


__all__ = ["BLOCK", "JOINED", "Store"]
