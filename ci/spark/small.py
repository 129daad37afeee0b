"""Small levels: both stages of a level's job in the driver, where Spark's scheduling would take longer than the work.

The tasks are those of `kraftcheck.ci.spark.tasks`, and depend on their input alone: so a level has the same
files, wherever it was made.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa

from kraftcheck.ci.dataset.store.job import LevelJob
from kraftcheck.ci.spark.driver_visited import DriverVisited
from kraftcheck.ci.spark.errors import job_error
from kraftcheck.ci.spark.exchange import CANDIDATE_COLUMNS
from kraftcheck.ci.spark.tasks import Stages

SMALL = 1 << 15
"""States of a level below which its job is not worth Spark's."""

VISITED_BYTES = 1 << 30
"""Bytes of the visited states that the driver holds for small levels, at most."""


def is_small(level: LevelJob, rows: int, visited: DriverVisited) -> bool:
    """Whether a level of fewer than so many states is expanded, and the driver has room for all that is visited."""
    expanded = sum(split.rows for split in level.splits)
    return expanded < rows and visited.has_room(sum(part.rows for part in level.visited))


@contextlib.contextmanager
def errors_of_a_job(log: Path) -> Iterator[None]:
    """What goes wrong meanwhile is told as of a job of Spark's.

    Raises:
        JobFailedError: then.
    """
    try:
        yield
    except Exception as error:
        raise job_error(RuntimeError(f"{type(error).__name__}: {error}"), log) from error


def rows_here(stages: Stages, log: Path) -> list[Any]:
    """The result rows of a job of two stages, as Spark brings them back.

    Raises:
        JobFailedError: when a task fails.
    """
    numbers = pa.RecordBatch.from_pydict({"id": list(range(stages.inputs))})
    with errors_of_a_job(log):
        candidates = pa.Table.from_batches(stages.first(iter([numbers])), schema=CANDIDATE_COLUMNS)
        ordered = candidates.sort_by([(name, "ascending") for name in ("target", "bucket", "source", "part")])
        batches = list(itertools.chain.from_iterable(map(stages.second, _parts(ordered, stages.targets))))
    return [SimpleNamespace(**row) for batch in batches for row in batch.to_pylist()]


def _parts(ordered: pa.Table, targets: int) -> Iterator[Iterator[Any]]:
    """The rows of each task of the second stage."""
    borders = np.searchsorted(ordered["target"].to_numpy(), np.arange(targets + 1))
    for first, last in itertools.pairwise(borders.tolist()):
        yield iter(ordered.slice(first, last - first).to_batches())
