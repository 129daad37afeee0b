"""Finished runs and their datasets for Python: `kraftcheck.open` and `kraftcheck.query`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import evolve, field, frozen

from kraftcheck.ci.dataset.options import dataset_place
from kraftcheck.ci.explore.serve.finished import opened_run, opened_trace
from kraftcheck.ci.explore.trace import load, replayed
from kraftcheck.ci.interface.engines import check_choice, check_numbers, threads_of
from kraftcheck.ci.run.result import frame_of
from kraftcheck.ci.systems.subject import Subject, program
from kraftcheck.ci.terminal.files import check_named
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.program.verdict import Trace
from kraftcheck.solvers.traces.itf import TraceError
from kraftcheck.solvers.traces.render import BrokenTrace

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from kraftcheck.ci.dataset.duckdb_engine import DuckDBEngine
    from kraftcheck.ci.dataset.engine import Answer
    from kraftcheck.ci.dataset.store.dataset import Dataset

Place = str | os.PathLike[str]

MOST_ROWS = 1_000_000
"""Rows of an answer, unless more are asked for."""

STATES = "SELECT * FROM states"
"""The question that `FinishedRun.arrow` and `pandas` ask of themselves."""


@frozen
class FinishedRun:
    """What a run left in a folder, or a trace file.

    Attributes:
        subject: the system at its setting.
        traces: counterexamples and witnesses by property, each replayed on ints.
        document: the report; None of a dataset, and of a trace file.
        complete: whether a dataset holds the whole space; None without one.
    """

    subject: Subject = field(repr=False)
    traces: Mapping[str, Trace] = field(repr=False)
    document: Mapping[str, Any] | None = field(default=None, repr=False)
    complete: bool | None = None
    _out: str = field(default="", repr=False)

    def __str__(self) -> str:
        """The subject, and how many traces there are."""
        return f"{self.subject.title()}: {len(self.traces)} trace{'s' * (len(self.traces) != 1)}"

    def sql(self, sql: str, limit: int = MOST_ROWS) -> Answer:
        """The answer to a question in SQL; raises Refusal for a run without a dataset, and as `kraftcheck.query`."""
        return query(self._dataset(), sql, limit=limit)

    def arrow(self, sql: str = STATES) -> Any:
        """Every row of a question as an Arrow table, by default each state; raises Refusal as `sql`."""
        with _asking(self._dataset(), "used", None) as engine:
            return engine.table(sql)

    def pandas(self, sql: str = STATES) -> Any:
        """The table of `arrow` as a pandas data frame, whose columns stay those of Arrow; raises Refusal as `sql`."""
        return frame_of(self.arrow(sql))

    def spark(self, session: Any) -> dict[str, Any]:
        """The views as data frames of your Spark session, which stays open: `states`, `transitions` and `levels`.

        They are temporary views of the session too, with the SQL function `has`. Files are compared with
        their digests first.

        Raises:
            Refusal: for a run without a dataset, and for a damaged file.
        """
        from kraftcheck.ci.spark.query_engine import register

        data = self._dataset()
        data.check()
        register(session, data, computes=True)
        return {view: session.table(view) for view in ("states", "transitions", "levels")}

    def _dataset(self) -> Dataset:
        if self.complete is None:
            raise Refusal(f"{self._out} has no dataset; explore with engine='disk' or 'spark'")
        return _dataset(self._out, None if self.subject.shipped else self.subject.name)


def open_run(out: Place, *, system: str | None = None) -> FinishedRun:
    """What a run left in its `out`, or in a trace file; the traces are replayed on ints.

    Args:
        out: the folder, a trace file (ITF JSON), or the URL of a dataset.
        system: the system, `module:attribute`, where it is one of your own: its module is run.

    Raises:
        Refusal: in one line, for what cannot be read or does not fit.
        EngineDisagreement: when ints do not confirm a trace.
    """
    place = dataset_place(os.fspath(out))
    if not isinstance(place, Path) or (place / "run.json").exists():
        data = _dataset(out, system)
        chosen = data.traced()[0]
        paths = sorted(place.glob("*.itf.json")) if isinstance(place, Path) else []
        return FinishedRun(chosen, _traces(paths, system), None, data.complete, os.fspath(out))
    found = opened_run(place, system) if place.is_dir() else opened_trace(place, system)
    return FinishedRun(found.chosen, _traces(found.traces, system), found.document, None, os.fspath(out))


def _traces(paths: list[Path] | tuple[Path, ...], system: str | None) -> dict[str, Trace]:
    traces = [_trace(path, system) for path in paths]
    return {trace.claim: trace for trace in traces}


def _trace(path: Path, system: str | None) -> Trace:
    chosen, recipe = load(path, system)
    try:
        return replayed(recipe, program(chosen))[1]
    except (TraceError, BrokenTrace) as error:
        raise Refusal(f"{path}: {error}") from error


def query(
    out: Place | Dataset, sql: str, *, limit: int = MOST_ROWS, system: str | None = None, verify: str = "used",
    threads: int | None = None,
) -> Answer:  # fmt: skip
    """Ask the space that `explore` with the engine disk or spark left: DuckDB answers.

    Args:
        out: the dataset, a folder or a URL; or an open one.
        sql: one question about the views `states`, `transitions` and `levels`.
        limit: most rows.
        system: as of `open`.
        verify: `used`, `all` or `none`: the level files whose digests are compared before they are read.
        threads: of DuckDB; every processor by default.

    Raises:
        Refusal: in one line, for what is no question, is not understood, or reads a damaged file.
    """
    from kraftcheck.ci.explore.query import VERIFY

    check_choice("verify", verify, VERIFY)
    check_numbers(1, limit=limit, threads=threads)
    data = _dataset(out, system) if isinstance(out, str | os.PathLike) else out
    with _asking(data, verify, threads) as engine:
        return evolve(engine.ask(sql, limit), complete=data.complete)


def _asking(data: Dataset, verify: str, threads: int | None) -> AbstractContextManager[DuckDBEngine]:
    from kraftcheck.ci.dataset.duckdb_engine import duckdb_engine

    return duckdb_engine(data, threads_of(threads), verify)


def _dataset(out: Place, system: str | None) -> Dataset:
    from kraftcheck.ci.dataset.store.dataset import Dataset
    from kraftcheck.ci.spark.session import check_pyarrow

    check_pyarrow()
    data = Dataset.open(dataset_place(os.fspath(out)), verify=False)
    check_named(os.fspath(out), data.of["system"], system)
    return data
