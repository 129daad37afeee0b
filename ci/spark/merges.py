"""Merges of levels to runs as jobs: each task merges neighbouring buckets of all parts into one file.

The first stage only hands out numbers, so that a merge is cancelled, timed and sent as every other job.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from kraftcheck.ci.dataset.search.compaction import MOST_BLOCKS, MergeJob
from kraftcheck.ci.dataset.search.levels import JobFailedError
from kraftcheck.ci.dataset.store.groups import BucketRange, Table, pack, unpack
from kraftcheck.ci.dataset.store.runs import BLOCK, RunWriter, StoredRun
from kraftcheck.ci.dataset.store.sight import check_sight
from kraftcheck.ci.dataset.store.stores import place_of
from kraftcheck.ci.spark.exchange import Batches, candidate_row
from kraftcheck.ci.spark.tasks import Stages, Task, result_row
from kraftcheck.solvers.blocks.tasks import BlockKernel, BlockSpec, Words, blocks_of, load_block_kernel

WINDOW_ROWS = 1 << 20
"""States of neighbouring buckets that a task holds at once, about."""


def merge_stages(shipped: Callable[[], BlockSpec], job: MergeJob, tasks: int) -> Stages:
    """The stages of a merge by so many tasks."""
    return Stages(tasks, tasks, _numbers, merge_task(shipped, job, tasks))


def _numbers(batches: Batches) -> Batches:
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield candidate_row(number, number, number, 0, b"")


def merge_task(shipped: Callable[[], BlockSpec], job: MergeJob, tasks: int) -> Task:
    """The second stage: a row is the number of a task; writes its buckets, and says which blocks its file has."""

    def merge(batches: Batches) -> Batches:
        check_sight(job.sight)
        kernel = load_block_kernel(shipped().with_bits(job.bits))
        for batch in batches:
            for number in batch.column("bucket").to_pylist():
                made = _merged(kernel, job, number, tasks)
                told = {"task": number, "file": made and made[0], "blocks": None if made is None else pack(made[1])}
                yield result_row("run", json.dumps(told).encode())

    return merge


def _merged(kernel: BlockKernel, job: MergeJob, number: int, tasks: int) -> tuple[str, Table] | None:
    buckets = 1 << job.coarsest
    rows = np.zeros(buckets, dtype=np.int64)
    for part in job.parts:
        table = part.table if isinstance(part, StoredRun) else part.groups.table
        np.add.at(rows, table["bucket"] >> part.bits - job.coarsest, table["rows"])
    writer = RunWriter(place_of(job.folder), number)
    with writer:
        for lo, hi in _windows(rows, number * buckets // tasks, (number + 1) * buckets // tasks):
            states: dict[int, list[Words]] = {}
            for part in job.parts:
                for one in part.blocks(BucketRange(lo, hi, job.coarsest), job.words):
                    for bucket, block in [one] if part.bits == job.bits else _split(kernel, one[1]):
                        states.setdefault(bucket, []).append(block)
            for bucket in sorted(states):
                writer.write(bucket, np.concatenate(states[bucket]))
    return writer.result()


def _split(kernel: BlockKernel, states: Words) -> Iterator[tuple[int, Words]]:
    """The states of a coarser bucket by the buckets of the run."""
    records = np.column_stack([states, np.zeros(len(states), dtype=np.uint64)])
    for bucket, block in blocks_of(kernel.by_bucket(records)):
        yield bucket, block[:, :-1]


def _windows(rows: npt.NDArray[np.int64], lo: int, end: int) -> Iterator[tuple[int, int]]:
    """Neighbouring buckets of about `WINDOW_ROWS` states: the first, and the one after the last."""
    ends = np.cumsum(rows)
    while lo < end:
        before = int(ends[lo]) - int(rows[lo])
        hi = max(lo + 1, min(end, int(np.searchsorted(ends, before + WINDOW_ROWS, side="right"))))
        yield lo, hi
        lo = hi


def merged_files(results: Iterable[Any], tasks: int) -> list[tuple[str, Table]]:
    """The files that tasks wrote, and their blocks.

    Raises:
        JobFailedError: when a task's result is missing or there twice.
    """
    told = sorted((json.loads(bytes(row.payload)) for row in results), key=lambda part: int(part["task"]))
    if [part["task"] for part in told] != list(range(tasks)):
        raise JobFailedError(f"a merge brought back {len(told)} results of {tasks} tasks; --resume goes on")
    return [(part["file"], unpack(part["blocks"], BLOCK, 1, MOST_BLOCKS)) for part in told if part["file"] is not None]
