"""Small levels: both stages of a level's job in the driver, where Spark's scheduling would take longer than the work.

The tasks are those of `kraftcheck.ci.spark.tasks`, and depend on their input alone: so a level has the same
files, wherever it was made.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from kraftcheck.ci.dataset.store.job import LevelJob
from kraftcheck.ci.spark.errors import job_error
from kraftcheck.ci.spark.tasks import expand_task, sift_task
from kraftcheck.solvers.blocks.tasks import BlockSpec

SMALL = 1 << 13
"""States of a level below which its job is not worth Spark's."""

MOST_VISITED = 1 << 21
"""Visited states that the driver reads for a small level, at most."""


def is_small(level: LevelJob, rows: int) -> bool:
    """Whether a level of fewer than so many states is expanded by one task of each stage, which reads little."""
    expanded = sum(group.rows for split in level.splits for group in split)
    visited = sum(int(stored.table[:, 3].sum()) for stored in level.visited)
    return expanded < rows and (len(level.splits), level.targets) == (1, 1) and visited <= MOST_VISITED


def rows_here(spec: BlockSpec, level: LevelJob, log: Path) -> Iterator[Any]:
    """The result rows of a level's job, as Spark brings them back.

    Raises:
        JobFailedError: when a task fails.
    """
    numbers = pa.RecordBatch.from_pydict({"id": list(range(len(level.splits)))})
    try:
        candidates = pa.Table.from_batches(expand_task(lambda: spec, level)(iter([numbers])))
        ordered = candidates.sort_by([(name, "ascending") for name in ("bucket", "source", "part")])
        batches = list(sift_task(lambda: spec, level)(iter(ordered.to_batches())))
    except Exception as error:
        raise job_error(RuntimeError(f"{type(error).__name__}: {error}"), log) from error
    return (SimpleNamespace(**row) for batch in batches for row in batch.to_pylist())
