"""The arcs of a run: the steps by which marks may flow backward, found once by a job of two stages.

The first expands states as an exploration does, but keeps every step of a state that does not satisfy a claim by
itself; the shuffle brings the steps into a bucket together; the second looks their targets up among the committed
states of the bucket, and writes the arcs of its part sorted by target, beside the marks that its states have by
themselves. What leads out of the explored states, or out of a domain, is a row of `leaves`.

Of the region of a liveness property all steps within it are listed, and its states in the place of marks.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import asdict, field, frozen

from kraftcheck.ci.dataset.backward.files import PartWriter, written_file
from kraftcheck.ci.dataset.jobs import FRAME, GROUP_RECORDS, Arrived, Batches, Task, candidate_row, result_row, sent
from kraftcheck.ci.dataset.store.levelfiles import (
    BucketRange,
    DamagedLevelError,
    LevelFile,
    StoredLevel,
    cuts,
    read_states,
)
from kraftcheck.ci.dataset.store.manifests import PLACE_BITS, Commit
from kraftcheck.ci.dataset.store.objects import AnyPath
from kraftcheck.ci.dataset.store.stores import place_of
from kraftcheck.solvers.blocks.expansion import CANDIDATES
from kraftcheck.solvers.blocks.tasks import (
    BATCH,
    ROW_BITS,
    BlockKernel,
    BlockSpec,
    CandidateSet,
    RegionQuestion,
    Sorted,
    Words,
    load_block_kernel,
    region_part,
)

Numbers = npt.NDArray[np.int64]
Ways = npt.NDArray[np.int32]


@frozen
class StateNumbering:
    """The numbers of the states of a run, whose buckets are dealt out to a number of parts."""

    # levels, buckets: how many
    levels: int
    buckets: int
    parts: int  # neighbouring buckets are together in a part, as they are in a task
    # for each bucket, and for each depth within it, the first number; then how many states there are
    starts: Numbers = field(eq=False)
    # for each depth the rows before each of the level's own buckets, then all; None where these are not finer
    finer: tuple[Numbers | None, ...] = field(eq=False)

    @classmethod
    def of(cls, commits: Sequence[Commit], buckets: int, parts: int) -> StateNumbering:
        """The numbering of committed levels, none of which has fewer buckets."""
        rows = np.zeros((buckets, len(commits)), dtype=np.int64)
        finer: list[Numbers | None] = []
        for level in commits:
            table, bits = level.groups.table, level.groups.bits
            own = np.zeros(1 << bits, dtype=np.int64)
            own[table["bucket"]] = table["rows"]
            rows[:, level.depth] = own.reshape(buckets, -1).sum(axis=1)
            finer.append(np.concatenate([[0], np.cumsum(own)]) if len(own) > buckets else None)
        starts = np.concatenate([[0], np.cumsum(rows.ravel())])
        return cls(len(commits), buckets, parts, starts.astype(np.int64), tuple(finer))

    @property
    def count(self) -> int:
        """How many states there are."""
        return int(self.starts[-1])

    def first(self, bucket: int, depth: int = 0) -> int:
        """The number of the first state of a bucket at a depth, or the one after those before it."""
        return int(self.starts[bucket * self.levels + depth])

    def first_of(self, own: int, depth: int) -> int:
        """The number of the first state of one of the level's own buckets."""
        before = self.finer[depth]
        if before is None:
            return self.first(own, depth)
        each = (len(before) - 1) // self.buckets
        bucket = own // each
        return self.first(bucket, depth) + int(before[own] - before[bucket * each])

    def buckets_of(self, part: int) -> range:
        """The buckets of a part."""
        return range(-(-part * self.buckets // self.parts), -(-(part + 1) * self.buckets // self.parts))

    def states_of(self, part: int) -> tuple[int, int]:
        """The first number of a part, and the one after its last."""
        buckets = self.buckets_of(part)
        return self.first(buckets.start), self.first(buckets.stop)

    def borders(self) -> Numbers:
        """The first number of each part, then how many states there are."""
        return np.array([self.states_of(part)[0] for part in range(self.parts)] + [self.count], dtype=np.int64)

    def places(self, numbers: Numbers) -> Numbers:
        """The places of states, as the numbers that queries have for them."""
        cells = np.searchsorted(self.starts, numbers, side="right") - 1
        buckets, depths = cells // self.levels, cells % self.levels
        rows = numbers - self.starts[cells]
        for depth in np.unique(depths).tolist():
            before = self.finer[depth]
            if before is None:
                continue
            chosen = depths == depth
            at = before[buckets[chosen] * ((len(before) - 1) // self.buckets)] + rows[chosen]
            own = np.searchsorted(before, at, side="right") - 1
            buckets[chosen], rows[chosen] = own, at - before[own]
        places: Numbers = depths << PLACE_BITS | buckets << ROW_BITS | rows
        return places


STATES_AT_ONCE = 4096
SPLIT_STATES = 1 << 18  # states whose steps one task of the first stage lists, about
WINDOW_STATES = 1 << 19  # states of neighbouring buckets among which a task looks targets up together, about
NODES = FRAME - 1  # the bucket of a row that has states of a region, each as `NODE` numbers

NODE = ("number", "enabled", "allowed", "flags")
"""A state of a region: its number, what it enables that is not excused, what is not excused, `WAITING` and `CUT`."""

WAITING, CUT = 1, 2

HEAD = NODES - 1
"""The bucket of a row that says which part a task of the second stage makes; each gets one, so that none is idle."""


@frozen
class ArcsJob:
    """The job."""

    folder: str
    numbering: StateNumbering  # the numbers of the states, and the parts, one for each task of the second stage
    visited: tuple[StoredLevel, ...]
    # for each task of the first stage the groups that it expands: depth, first group, the one after the last
    splits: tuple[tuple[int, int, int], ...]
    question: RegionQuestion | None = None  # the liveness property whose region is listed; None: the ways back are


def splits_of(visited: Sequence[StoredLevel]) -> tuple[tuple[int, int, int], ...]:
    """All groups of the levels, neighbours together up to about `SPLIT_STATES`."""
    return tuple(
        (depth, *ends) for depth, level in enumerate(visited) for ends in cuts(level.groups.table["rows"], SPLIT_STATES)
    )


@functools.lru_cache(maxsize=4)
def ways_of(spec: BlockSpec) -> Words:
    """The bits that may flow back through some action instance, each value once; an arc has its number here."""
    return np.unique(np.array(spec.flows, dtype=np.uint64))


def exits_task(shipped: Callable[[], BlockSpec], job: ArcsJob, files: Path | None = None) -> Task:
    """The first stage: one input row is the number of a split.

    Each gives its steps (in a file of a folder, None: in rows), and a frame: how many states it expanded, how many
    steps it gave, then the number and the bits "leaves" of states.
    """

    def list_exits(batches: Batches) -> Batches:
        kernel = load_block_kernel(shipped())
        for batch in batches:
            for source in batch.column(0).to_pylist():
                yield from _exits(kernel, job, source, files)

    return list_exits


def heads(source: int, parts: int) -> Batches:
    """For each part the row that tells its task so; the first task of the first stage gives them."""
    for part in range(parts) if source == 0 else ():
        yield candidate_row(part, HEAD, source, 0, np.int64(part).tobytes())


def _exits(kernel: BlockKernel, job: ArcsJob, source: int, files: Path | None) -> Batches:
    spec, parts = kernel.spec, job.numbering.parts
    yield from heads(source, parts)
    split = _Split(kernel, job, source) if job.question is None else _RegionSplit(kernel, job, source)
    yield from sent(spec, parts, source, split.steps(), files)
    for part, rows in split.nodes():
        yield candidate_row(part, NODES, source, 0, rows.tobytes())
    yield candidate_row(source % parts, FRAME, source, 0, split.frame().tobytes())


class _Split:
    """The states of one task of the first stage."""

    def __init__(self, kernel: BlockKernel, job: ArcsJob, source: int) -> None:
        self._kernel, self._job, self._source = kernel, job, source
        self._expanded = self._sent = 0
        self._leaves: list[Numbers] = []

    def steps(self) -> Iterator[Sorted]:
        """Their steps, some at a time, sorted by bucket."""
        words = self._kernel.spec.words
        depth, first, last = self._job.splits[self._source]
        stored = self._job.visited[depth]
        waiting: list[Words] = []
        for group, states in read_states(place_of(stored.folder), stored.groups[first:last], words):
            base = self._job.numbering.first_of(group.bucket, depth)
            for at in range(0, len(states), STATES_AT_ONCE):
                some = np.ascontiguousarray(states[at : at + STATES_AT_ONCE])
                waiting.append(self._steps_of(some, np.arange(base + at, base + at + len(some)), depth))
            self._expanded += len(states)
            if sum(map(len, waiting)) >= CANDIDATES:
                yield self._drained(waiting)
                waiting = []
        if waiting:
            yield self._drained(waiting)

    def _steps_of(self, states: Words, numbers: Numbers, depth: int) -> Words:
        """Records (target, source << 16 | way) of some states; where a domain cuts a way, (source, bits) is noted."""
        kernel, words, ways = self._kernel, self._kernel.spec.words, ways_of(self._kernel.spec)
        records, counts, leaves = kernel.exits_of(states)
        owners = np.repeat(np.arange(len(states)), counts)
        flows = (records[:, words] != 0) & (records[:, :words] != states[owners]).any(axis=1)
        records, owners = records[flows], owners[flows]
        marks = np.searchsorted(ways, records[:, words]).astype(np.uint64)
        records[:, words] = numbers[owners].astype(np.uint64) << np.uint64(16) | marks
        cut = leaves != 0
        self._leaves.append(np.column_stack([numbers[cut], leaves[cut].view(np.int64)]))
        found: Words = records
        return found

    def nodes(self) -> Iterator[tuple[int, Numbers]]:
        """For parts what they are told of their states."""
        return iter(())

    def _drained(self, waiting: Sequence[Words]) -> Sorted:
        records = np.ascontiguousarray(np.concatenate(waiting))
        self._sent += len(records)
        return self._kernel.by_bucket(records)

    def frame(self) -> Numbers:
        """What the task tells."""
        numbers = np.array([self._expanded, self._sent])
        return np.concatenate([numbers, *(pairs.ravel() for pairs in self._leaves)]).astype(np.int64)


class _RegionSplit(_Split):
    """The states of one task of the first stage, of which those of a region count."""

    def __init__(self, kernel: BlockKernel, job: ArcsJob, source: int) -> None:
        super().__init__(kernel, job, source)
        self._nodes: list[Numbers] = []

    def _steps_of(self, states: Words, numbers: Numbers, depth: int) -> Words:
        """Records (target, source << 16 | action instance) of some states."""
        assert self._job.question is not None
        part = region_part(self._kernel, self._job.question, np.full(len(states), depth == 0), states)
        own = numbers[part.chosen]
        owners = np.repeat(np.arange(len(own)), part.counts)
        shown = np.zeros(len(own), dtype=np.int64)
        np.bitwise_or.at(shown, owners, part.taken)
        flags = part.waiting * WAITING | part.cut * CUT
        self._nodes.append(np.column_stack([own, part.allowed & (part.hidden | shown), part.allowed, flags]))
        self._leaves.append(np.array([[0, part.concerned]]))
        records: Words = part.records
        records[:, -1] |= own[owners].astype(np.uint64) << np.uint64(16)
        return records

    def nodes(self) -> Iterator[tuple[int, Numbers]]:
        """The states of the region by the part that has them."""
        rows = np.concatenate([np.zeros((0, len(NODE)), dtype=np.int64), *self._nodes])
        rows = rows[np.argsort(rows[:, 0])]
        borders = np.searchsorted(rows[:, 0], self._job.numbering.borders())
        for part, (first, last) in enumerate(itertools.pairwise(borders.tolist())):
            if first < last:
                yield part, rows[first:last]


def arcs_task(shipped: Callable[[], BlockSpec], job: ArcsJob, files: Path | None = None) -> Task:
    """The second stage: rows sorted by bucket; writes the files of one part, and says what is in them."""

    def list_arcs(batches: Batches) -> Batches:
        kernel = load_block_kernel(shipped())
        steps, kind = Arrived(batches, kernel.spec, files), _Part if job.question is None else _RegionPart
        (head,) = steps.told[HEAD]
        part = kind(kernel, job, int(np.frombuffer(head, np.int64)[0]))
        yield result_row("part", json.dumps(part.made(steps)).encode())

    return list_arcs


class _Part:
    """One part in the making."""

    def __init__(self, kernel: BlockKernel, job: ArcsJob, part: int) -> None:
        self._kernel, self._job, self._part = kernel, job, part
        self._first, last = job.numbering.states_of(part)
        self._marks = np.zeros(last - self._first, dtype=np.uint64)
        self._leaves: list[Numbers] = []

    def made(self, steps: Arrived) -> dict[str, Any]:
        """Write the part; its description."""
        folder, expanded, sent, came = place_of(self._job.folder), 0, 0, 0
        for frame in (np.frombuffer(block, np.int64) for block in steps.told[FRAME]):
            expanded, sent = expanded + int(frame[0]), sent + int(frame[1])
            self._leaves.append(frame[2:].reshape(-1, 2))
        self._begin([np.frombuffer(block, np.int64) for block in steps.told[NODES]])
        with PartWriter(folder, "arcs") as writer:
            for lo, hi in self._windows():
                candidates, waiting = self._window(lo, hi), list[Words]()
                for block in steps.within(lo, hi):
                    waiting.append(block)
                    came += len(block)
                    if sum(map(len, waiting)) >= GROUP_RECORDS:
                        self._list(writer, candidates, waiting)
                        waiting = []
                self._list(writer, candidates, waiting)
        files = {"arcs": writer.result(), **self._files(folder)}
        described = {name: None if file is None else asdict(file) for name, file in files.items()}
        counted = {"expanded": expanded, "sent": sent, "came": came}
        return {"part": self._part, **counted, "own": self._own(), **described}

    def _begin(self, nodes: Sequence[Numbers]) -> None:
        """Take what the part is told of its states."""

    def _files(self, folder: AnyPath) -> dict[str, LevelFile | None]:
        pairs = np.concatenate([np.zeros((0, 2), np.int64), *self._leaves])
        return {
            "marks": written_file(folder, "marks", bits=self._marks.view(np.int64)),
            "leaves": written_file(folder, "leaves", number=pairs[:, 0].copy(), bits=pairs[:, 1].copy()),
        }

    def _windows(self) -> Iterator[tuple[int, int]]:
        """Neighbouring buckets whose states are looked up together: the first, and the one after the last."""
        numbering, buckets = self._job.numbering, self._job.numbering.buckets_of(self._part)
        firsts = [numbering.first(bucket) for bucket in range(buckets.start, buckets.stop + 1)]
        for first, last in cuts(np.diff(firsts), WINDOW_STATES):
            yield buckets.start + first, buckets.start + last

    def _window(self, lo: int, hi: int) -> CandidateSet:
        """The states of buckets as a set whose marks are their numbers."""
        numbering, spec = self._job.numbering, self._kernel.spec
        count = numbering.first(hi) - numbering.first(lo)
        candidates, chosen = CandidateSet(self._kernel, count + BATCH), BucketRange(lo, hi, spec.bucket_bits)
        for depth, stored in enumerate(self._job.visited):
            for group, states in read_states(place_of(stored.folder), stored.groups.within(chosen), spec.words):
                first = numbering.first_of(group.bucket, depth)
                numbers = np.arange(first, first + len(states))
                candidates.gather(np.column_stack([states, numbers.astype(np.uint64)]))
                self._see(first - self._first, np.ascontiguousarray(states))
        if len(candidates.records) != count:
            found = len(candidates.records)
            raise DamagedLevelError(f"the buckets {lo} to {hi - 1} have {found:,} states instead of {count:,}")
        return candidates

    def _see(self, at: int, states: Words) -> None:
        """Note the marks that states of the part have by themselves."""
        self._marks[at : at + len(states)] = self._kernel.marks(states)

    def _list(self, writer: PartWriter, candidates: CandidateSet, waiting: Sequence[Words]) -> None:
        """Write the arcs of some records; what none of the states is leads out of what was explored."""
        if not waiting:
            return
        words = self._kernel.spec.words
        records = np.concatenate(waiting)
        found = candidates.find(records)
        sources = (records[:, words] >> np.uint64(16)).view(np.int64)
        ways = (records[:, words] & np.uint64(0xFFFF)).astype(np.int32)
        out = found < 0
        self._lead_out(sources[out], ways[out])
        sources, ways = sources[~out], ways[~out]
        targets = candidates.records[found[~out], words].view(np.int64)
        order = self._order(targets)
        writer.write(target=targets[order], source=sources[order], way=ways[order])

    def _lead_out(self, sources: Numbers, ways: Ways) -> None:
        """Note which steps lead out of what was explored."""
        n = self._kernel.spec.recovers
        bits = ways_of(self._kernel.spec)[ways] & np.uint64(((1 << n) - 1) << n)
        self._leaves.append(np.column_stack([sources, bits.view(np.int64)]))

    def _order(self, targets: Numbers) -> Numbers:
        return np.argsort(targets)

    def _own(self) -> list[list[int]]:
        """For each property states concerned, those of them that fail by themselves, whether any satisfies it."""
        n, marks = self._kernel.spec.recovers, self._marks
        bits = [(np.uint64(1 << number), np.uint64(1 << 2 * n + number)) for number in range(n)]
        return [
            [int(np.count_nonzero(marks & about)), int(np.count_nonzero(marks & (reach | about) == about)),
             int((marks & reach).any())]
            for reach, about in bits
        ]  # fmt: skip


class _RegionPart(_Part):
    """One part of a region in the making; `leaves` are the states with a step out of what was explored."""

    def _begin(self, nodes: Sequence[Numbers]) -> None:
        rows = np.concatenate([np.zeros((0, len(NODE)), np.int64), *(block.reshape(-1, len(NODE)) for block in nodes)])
        self._nodes = rows[np.argsort(rows[:, 0])]
        self._inside = np.zeros(len(self._marks), dtype=np.bool_)
        self._inside[self._nodes[:, 0] - self._first] = True
        self._concerned = sum(int(pairs[:, 1].sum()) for pairs in self._leaves)
        self._leaves.clear()

    def _files(self, folder: AnyPath) -> dict[str, LevelFile | None]:
        lost = np.unique(np.concatenate([np.zeros(0, np.int64), *self._leaves]))
        columns = dict(zip(NODE, self._nodes.T.copy(), strict=True))
        return {
            "nodes": written_file(folder, "nodes", **columns), "leaves": written_file(folder, "leaves", number=lost),
        }  # fmt: skip

    def _see(self, at: int, states: Words) -> None:
        """The first stage has said what there is to know of a state."""

    def _lead_out(self, sources: Numbers, ways: Ways) -> None:
        self._leaves.append(sources)

    def _order(self, targets: Numbers) -> Numbers:
        inside = np.flatnonzero(self._inside[targets - self._first])
        return inside[np.argsort(targets[inside])]

    def _own(self) -> list[list[int]]:
        """How many states it is about, how many the region has, and how many of these wait."""
        return [[self._concerned, len(self._nodes), int(np.count_nonzero(self._nodes[:, 3] & WAITING))]]
