"""Rounds whose results are kept: a search that was killed goes on after the last one that was finished.

A search asks for the results of its rounds by name, always the same ones in the same order. What a log has under a
name is read again; else it is computed, written to files, and then noted in one document, which is renamed into place.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from attrs import define, field, frozen

from kraftcheck.ci.spark.session import on_this_disk
from kraftcheck.ci.spark.written import written
from kraftcheck.solvers.liveness.fair import StoppedError

DOCUMENT = "rounds.json"


@frozen
class Round:
    """The result of a round: its rows, as a data frame and in files, and how many they are."""

    frame: Any
    files: Path
    count: int


@define
class RoundLog:
    """The rounds of a search.

    Attributes:
        session: the Spark session.
        folder: where they are.
        of: what they belong to; those of anything else are dropped.
        stop: set from outside; then no further round is computed, but StoppedError raised.
        report: called after each round with how many there were, and the rows of this one.
        rounds: so far, those that were read again among them.
        computed: those that were not.
    """

    session: Any
    folder: Path
    of: Any
    stop: threading.Event
    report: Callable[[int, int], None]
    rounds: int = 0
    computed: int = 0
    _counts: dict[str, int] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        """Read what there is, and drop what belongs to something else."""
        try:
            document = json.loads((self.folder / DOCUMENT).read_text())
        except FileNotFoundError:
            document = {}
        if document.get("of") == self.of:
            self._counts = document["rounds"]
            return
        self.remove()
        self.folder.mkdir()

    def round(self, name: str, schema: str, compute: Callable[[], Any]) -> Round:
        """The rows of a round; computed unless the log has them."""
        path = self.folder / name
        if name not in self._counts:
            if self.stop.is_set():
                raise StoppedError
            compute().write.mode("overwrite").parquet(on_this_disk(path))
            self._counts[name] = sum(pq.read_metadata(part).num_rows for part in written(path))
            self._note()
            self.computed += 1
        self.rounds += 1
        self.report(self.rounds, self._counts[name])
        frame = self.session.read.schema(schema).parquet(on_this_disk(path))
        return Round(frame, path, self._counts[name])

    def remove(self) -> None:
        """Forget all rounds."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._counts = {}

    def _note(self) -> None:
        half = self.folder / f".{DOCUMENT}"
        half.write_text(json.dumps({"of": self.of, "rounds": self._counts}))
        os.replace(half, self.folder / DOCUMENT)
