"""Tasks on workers: the two stages of a level's job, and the verification of committed files.

One level is one job of two stages. The first expands row groups of the last
committed level into blocks, one row each; the shuffle brings the blocks of a
bucket together, in an order that does not depend on scheduling; the second
drops what committed levels hold and writes the rest. Both depend on their
input alone, so that an attempt that is repeated gives what the first would have given.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
from attrs import asdict

from kraftcheck.ci import spark
from kraftcheck.ci.dataset import backward, jobs
from kraftcheck.ci.dataset.store.levelfiles import (
    BucketRange,
    LevelFile,
    LevelJob,
    LevelWriter,
    Sight,
    check_sight,
    read_states,
)
from kraftcheck.ci.dataset.store.stores import place_of
from kraftcheck.solvers.blocks.expansion import Expansion, SuccessorMemo
from kraftcheck.solvers.blocks.tasks import ROW_BITS, BlockKernel, BlockSpec, Sorted, load_block_kernel, sift

MEMO_BYTES = 128 << 20  # bytes of a worker's memo, at most
_memos: dict[int, SuccessorMemo] = {}  # the memo of this process, by the words of its states: there is one at most


def memo_of(spec: BlockSpec, level: LevelJob) -> SuccessorMemo | None:
    """The memo of this process, begun for one expansion of a level; None where the job does not say what it follows.

    It serves only the same run, whose `run.json` the digests of levels go back to, under the same lease and kernel.
    """
    if level.descent is None:
        return None
    if spec.words not in _memos:
        _memos.clear()
        _memos[spec.words] = SuccessorMemo.of_bytes(spec.words, MEMO_BYTES)
    memo = _memos[spec.words]
    memo.begin((spec.code, level.sight), level.descent)
    return memo


def level_stages(shipped: Callable[[], BlockSpec], level: LevelJob, files: Path | None = None) -> jobs.Stages:
    """The stages of a level's job; candidates go from one to the other in files of a folder, None: in rows."""
    first, second = expand_task(shipped, level, files), sift_task(shipped, level, files)
    return jobs.Stages(len(level.splits), level.targets, first, second)


def expand_task(shipped: Callable[[], BlockSpec], level: LevelJob, files: Path | None = None) -> jobs.Task:
    """The first stage: candidates of the split whose number is a row, then a frame of counters, sent and expanded."""

    def expand_splits(batches: jobs.Batches) -> jobs.Batches:
        check_sight(level.sight)
        kernel = load_block_kernel(shipped().with_bits(level.bits))
        for batch in batches:
            for source in batch.column(0).to_pylist():
                split = _SplitExpansion(kernel, level, source)
                yield from jobs.sent(kernel.spec, level.targets, source, split.candidates(), files)
                yield jobs.candidate_row(source % level.targets, jobs.FRAME, source, 0, split.frame().tobytes())

    return expand_splits


class _SplitExpansion:
    """The expansion of one split."""

    def __init__(self, kernel: BlockKernel, level: LevelJob, source: int) -> None:
        self._groups, self._frontier, self._words = level.splits[source], level.frontier, kernel.spec.words
        self._expansion = Expansion(kernel, memo=memo_of(kernel.spec, level))
        self._sent = self._expanded = 0

    def candidates(self) -> Iterator[Sorted]:
        """What the expansion holds whenever it is full, and at the end."""
        for group, states in read_states(place_of(self._frontier), self._groups, self._words):
            for drained in self._expansion.take(states, group.bucket << ROW_BITS):
                yield self._counted(drained)
            self._expanded += len(states)
        yield self._counted(self._expansion.empty())

    def _counted(self, drained: Sorted) -> Sorted:
        self._sent += len(drained[0])
        return drained

    def frame(self) -> npt.NDArray[np.int64]:
        """The counters, how many candidates were given, and how many states were expanded."""
        return np.append(self._expansion.frame, [self._sent, self._expanded])


def sift_task(shipped: Callable[[], BlockSpec], level: LevelJob, files: Path | None = None) -> jobs.Task:
    """The second stage: rows sorted by bucket, source and part; writes one file and says what is in it."""

    def sift_blocks(batches: jobs.Batches) -> jobs.Batches:
        check_sight(level.sight)
        kernel = load_block_kernel(shipped().with_bits(level.bits))
        spec = kernel.spec
        task = task_number()
        writer = LevelWriter(place_of(level.folder), task, spec.words, spec.claim_words)
        arrived, candidates = jobs.Arrived(batches, spec, files), 0
        yield from (jobs.result_row("frame", bytes(frame)) for frame in arrived.told[jobs.FRAME])
        with writer:
            for item in arrived.groups():
                candidates += item.size
                chosen = BucketRange(item.lo, item.hi, level.bits)
                visited = (states for part in level.visited for _, states in part.blocks(chosen, spec.words))
                records, counts = sift(kernel, item.size, item.blocks, visited)
                _check_buckets(item, counts)
                writer.write_sorted(records, counts, kernel.claims(records))
        yield jobs.result_row("file", _description(writer.result(), writer, candidates))

    return sift_blocks


def _check_buckets(item: jobs.CandidateBlocks, counts: npt.NDArray[np.int64]) -> None:
    """Check that states are of the buckets whose visited states they were compared with."""
    if counts[: item.lo].any() or counts[item.hi :].any():
        raise jobs.LostCandidatesError(f"candidates of the buckets {item.lo} to {item.hi - 1} are of other buckets")


def _description(file: LevelFile | None, writer: LevelWriter, candidates: int) -> bytes:
    content = {
        "file": None if file is None else asdict(file),
        "groups": [[g.bucket, g.group, g.rows, g.first] for g in writer.groups],
        "claims": writer.claims,
        "candidates": candidates,
    }
    return json.dumps(content).encode()


def task_number() -> int:
    """The number of this task; 0 in the driver."""
    from pyspark import TaskContext  # only on workers of Spark

    context = TaskContext.get()
    return 0 if context is None else context.partitionId()


def sight_task(sight: Sight) -> Callable[[jobs.Batches], jobs.Batches]:
    """Shows that a worker sees the run and imports all modules, as many rows as came, before anything is computed."""

    def see(batches: jobs.Batches) -> jobs.Batches:
        for room in (spark, backward):
            for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
                importlib.import_module(module.name)
        for batch in batches:
            check_sight(sight)
            for _ in range(batch.num_rows):
                yield jobs.result_row("sight", b"")

    return see
