"""Rounds whose results are kept: a search that was killed goes on after the last one that was finished.

A search asks for the results of its rounds by name, always the same ones in the same order. What a log has under a
name is read again, if its files are those that were written; else it is computed, written to files, and then noted in
one document, which is renamed into place.
"""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from attrs import asdict, define, field, frozen

from kraftcheck.ci.dataset.store.manifests import read_sealed, write_sealed
from kraftcheck.ci.dataset.values import SHA256, as_it_is, mapped, matching, read_fields, whole
from kraftcheck.ci.spark.session import on_this_disk
from kraftcheck.ci.spark.written import written
from kraftcheck.ci.terminal.files import sha256_of
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.liveness.fair import StoppedError

DOCUMENT = "rounds.json"


@frozen
class Round:
    """The result of a round: its rows, as a data frame and in files, and how many they are."""

    frame: Any
    files: Path
    count: int


@frozen
class KeptRound:
    """What a log notes of a round: how many rows, and the SHA-256 of each file by name."""

    count: int
    sha256: dict[str, str]

    @classmethod
    def of(cls, files: Sequence[Path]) -> KeptRound:
        """A round that was written to files."""
        rows = sum(pq.read_metadata(file).num_rows for file in files)
        return cls(rows, {file.name: sha256_of(file) for file in files})

    def is_whole(self, folder: Path) -> bool:
        """Whether its files are those that were written, and no others."""
        try:
            return {file.name: sha256_of(file) for file in folder.glob("*.parquet")} == self.sha256
        except OSError:
            return False


def _kept_rounds(document: Any) -> tuple[Any, dict[str, KeptRound]]:
    """What a document of rounds belongs to, and what it says."""
    values = read_fields(document, {"of": as_it_is, "rounds": mapped(_NAME, _kept_round, 1 << 20)})
    return values["of"], values["rounds"]


def _kept_round(document: Any) -> KeptRound:
    digests = mapped(matching(_FILE), matching(SHA256), 1 << 16)
    return KeptRound(**read_fields(document, {"count": whole(0, 1 << 56), "sha256": digests}))


_NAME = matching(re.compile("[a-z0-9][a-z0-9_-]{0,99}", re.ASCII))
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,254}", re.ASCII)


@define
class RoundLog:
    """The rounds of a search.

    Attributes:
        session: the Spark session.
        folder: where they are.
        of: what they belong to; those of anything else are dropped.
        stop: set from outside; then no further round is computed, but StoppedError raised.
        report: called after each round with how many there were, and the rows of this one.
        check: refuses to write once another driver may have taken over.
        rounds: so far, those that were read again among them.
        computed: those that were not.
    """

    session: Any
    folder: Path
    of: Any
    stop: threading.Event
    report: Callable[[int, int], None]
    check: Callable[[], None]
    rounds: int = 0
    computed: int = 0
    _kept: dict[str, KeptRound] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        """Read what there is, and drop what belongs to something else or is not what was written."""
        try:
            (of, kept), _ = read_sealed(self.folder / DOCUMENT, "", _kept_rounds)
        except Refusal:
            of, kept = None, {}
        if of == self.of:
            self._kept = kept
            if all(one.is_whole(self.folder / name) for name, one in self._kept.items()):
                return
        self.remove()
        self.folder.mkdir()

    def round(self, name: str, schema: str, compute: Callable[[], Any]) -> Round:
        """The rows of a round; computed unless the log has them."""
        path = self.folder / name
        if name not in self._kept:
            if self.stop.is_set():
                raise StoppedError
            self.check()
            compute().write.mode("overwrite").parquet(on_this_disk(path))
            self._kept[name] = KeptRound.of(written(path))
            document = {"of": self.of, "rounds": {one: asdict(kept) for one, kept in self._kept.items()}}
            write_sealed(self.folder / DOCUMENT, document, self.check)
            self.computed += 1
        self.rounds += 1
        count = self._kept[name].count
        self.report(self.rounds, count)
        frame = self.session.read.schema(schema).parquet(on_this_disk(path))
        return Round(frame, path, count)

    def remove(self) -> None:
        """Forget all rounds."""
        self.check()
        shutil.rmtree(self.folder, ignore_errors=True)
        self._kept = {}
