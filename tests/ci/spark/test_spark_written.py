"""Rounds of jobs whose files are not where the driver looks are errors, not rounds of no rows."""

from __future__ import annotations

import threading
from pathlib import Path
from unittest import mock

import pytest
from attrs import define, field

from kraftcheck.ci.dataset.search.levels import JobFailedError
from kraftcheck.ci.spark.liveness.rounds import RoundLog


@define
class Frame:
    """A data frame whose files go to a folder of this machine, or to another's disk."""

    here: bool
    schema: str = "place bigint"
    asked: list[str] = field(factory=list)

    @property
    def write(self) -> Frame:
        """As Spark's."""
        return self

    def mode(self, _: str) -> Frame:
        """As Spark's."""
        return self

    def parquet(self, url: str) -> None:
        """Write, or say nothing of it."""
        self.asked.append(url)
        if self.here:
            Path(url.removeprefix("file://")).mkdir(parents=True)
            (Path(url.removeprefix("file://")) / "part-0.parquet").write_bytes(b"")


def test_a_round_that_was_written_elsewhere_is_an_error(tmp_path: Path) -> None:
    """A round of liveness without a file here ends the search, and is not noted as one of no rows."""
    session = mock.MagicMock()  # would read a round of no rows
    log = RoundLog(session, tmp_path / "rounds", [], threading.Event(), lambda rounds, rows: None, lambda: None)
    frame = Frame(here=False)
    with pytest.raises(JobFailedError, match="the workers do not share this disk"):
        log.round("first", "place bigint", lambda: frame)
    assert frame.asked == [f"file://{tmp_path}/rounds/first"]
    assert (log.rounds, log.computed) == (0, 0)
