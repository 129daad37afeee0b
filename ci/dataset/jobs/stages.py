"""A job of two stages: what the tasks of the first give is sorted, and dealt out to the tasks of the second."""

from __future__ import annotations

import contextlib
import itertools
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
from attrs import frozen

from kraftcheck.ci.dataset.jobs.exchange import CANDIDATE_COLUMNS, Batches, LostCandidatesError
from kraftcheck.ci.dataset.store.objects import GONE, AnyPath, remove_folder
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.blocks.tasks import BlockSpec
from kraftcheck.solvers.machine_code.threads import ThreadPool

RESULT_SCHEMA = "kind string, payload binary"

_RESULTS = pa.schema([("kind", pa.string()), ("payload", pa.binary())])

Task: TypeAlias = Callable[[Batches], Batches]

ORDER = ("bucket", "source", "part")
"""What the rows of a task of the second stage are sorted by."""


class JobFailedError(Refusal):
    """A job that failed on all attempts; what is committed stays."""


@frozen
class Stages:
    """A job of two stages: tasks of the first give candidates, those of the second get them sorted.

    Attributes:
        inputs: tasks of the first stage; each gets one number.
        targets: tasks of the second.
        first, second: what they do.
    """

    inputs: int
    targets: int
    first: Task
    second: Task


def result_row(kind: str, payload: bytes) -> Any:
    """One row of what a job brings back."""
    return pa.RecordBatch.from_arrays([pa.array([kind]), pa.array([payload], pa.binary())], schema=_RESULTS)


class JobRunner(Protocol):
    """The runner of jobs of two stages."""

    @property
    def spec(self) -> BlockSpec:
        """The spec that tasks load."""

    @property
    def shipped(self) -> Callable[[], BlockSpec]:
        """What gives it where tasks run."""

    @property
    def cores(self) -> int:
        """Tasks that run at the same time."""

    def exchange(self, where: AnyPath) -> AbstractContextManager[Path | None]:
        """A folder below a place for what goes from stage to stage; None: it goes in rows."""

    def rows(
        self, stages: Stages, label: str, stop: threading.Event, *, here: bool
    ) -> tuple[Sequence[Any], dict[str, float]] | None:
        """Run a job; None when it was cancelled because `stop` was set.

        Args:
            stages: the job.
            label: what it is called.
            stop: cancels it.
            here: it is so small that this thread does it.

        Returns:
            What its second stage gave, and what was moved.

        Raises:
            JobFailedError: when it fails on all attempts.
        """


def rows_here(stages: Stages, threads: int = 1, stopped: Callable[[], bool] = lambda: False) -> list[Any]:
    """The result rows of a job, run in this process; once it is stopped they are not all.

    What goes from stage to stage in rows lies in memory.
    """
    with ThreadPool(threads) as pool:
        given: list[list[Any]] = [[] for _ in range(stages.inputs)]
        results: list[list[Any]] = [[] for _ in range(stages.targets)]

        def give(_: int, number: int) -> None:
            given[number] = list(stages.first(iter([pa.RecordBatch.from_pydict({"id": [number]})])))

        pool.run(stages.inputs, give, stopped)
        if stopped():
            return []
        candidates = pa.Table.from_batches(itertools.chain.from_iterable(given), schema=CANDIDATE_COLUMNS)
        given.clear()
        ordered = candidates.sort_by([(name, "ascending") for name in ("target", *ORDER)])
        del candidates
        parts = list(_parts(ordered, stages.targets))

        def take(_: int, number: int) -> None:
            results[number] = list(stages.second(iter(parts[number])))

        pool.run(stages.targets, take, stopped)
    return [SimpleNamespace(**row) for batch in itertools.chain.from_iterable(results) for row in batch.to_pylist()]


def _parts(ordered: pa.Table, targets: int) -> Iterator[Iterable[Any]]:
    """The rows of each task of the second stage."""
    borders = np.searchsorted(ordered["target"].to_numpy(), np.arange(targets + 1))
    for first, last in itertools.pairwise(borders.tolist()):
        yield ordered.slice(first, last - first).to_batches()


@contextlib.contextmanager
def exchange_folder(where: Path) -> Iterator[Path]:
    """A folder for what goes from stage to stage; a run that goes on removes it."""
    folder = where / f"{GONE}{uuid.uuid4().hex}"
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        remove_folder(folder)


@frozen
class LocalJobs:
    """Runs jobs on the threads of this machine.

    Attributes:
        spec: as of the protocol.
        cores: how many threads.
    """

    spec: BlockSpec
    cores: int

    @property
    def shipped(self) -> Callable[[], BlockSpec]:
        """See `JobRunner`."""
        return lambda: self.spec

    def exchange(self, where: AnyPath) -> AbstractContextManager[Path | None]:
        """See `JobRunner`; what goes to a store goes in rows."""
        return exchange_folder(where) if isinstance(where, Path) else contextlib.nullcontext()

    def rows(
        self, stages: Stages, label: str, stop: threading.Event, *, here: bool
    ) -> tuple[Sequence[Any], dict[str, float]] | None:
        """See `JobRunner`."""
        try:
            rows = rows_here(stages, 1 if here else self.cores, stop.is_set)
        except LostCandidatesError as error:
            raise JobFailedError(f"{label}: {error}; --resume goes on") from error
        return None if stop.is_set() else (rows, {})
