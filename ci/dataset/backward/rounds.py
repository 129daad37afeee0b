"""The jobs of a backward search: the listing of arcs, and rounds where memory has no room for all of them.

Arcs are listed for the ways back of a run, or for the region of a liveness property. In a round the first stage reads
the marks that rose in the round before, part by part, and the arcs to them; the shuffle brings what flows to the part
of its source; the second raises the marks there, and writes those that rose.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from attrs import evolve, frozen

from kraftcheck.ci.dataset.backward.arcs import (
    HEAD,
    ArcsJob,
    Numbering,
    Numbers,
    arcs_task,
    exits_task,
    heads,
    rows_of,
    splits_of,
    ways_of,
)
from kraftcheck.ci.dataset.backward.files import (
    NAMES,
    PartFiles,
    Round,
    RoundLog,
    check_written,
    file_of,
    part_files,
    read_groups,
    written_file,
)
from kraftcheck.ci.dataset.jobs import (
    BLOCK_BYTES,
    FRAME,
    Batches,
    JobFailedError,
    JobRunner,
    Stages,
    candidate_row,
    result_row,
)
from kraftcheck.ci.dataset.store.commits import CommitLog
from kraftcheck.ci.dataset.store.manifests import Commit
from kraftcheck.ci.dataset.store.objects import AnyPath
from kraftcheck.ci.dataset.store.stores import place_of
from kraftcheck.solvers.blocks.regions import RegionQuestion
from kraftcheck.solvers.blocks.tasks import BlockSpec
from kraftcheck.solvers.machine_code.transition import FramePlan
from kraftcheck.solvers.program.program import Program


def whole_parts(
    runner: JobRunner, stages: Stages, label: str, folder: AnyPath, stop: threading.Event, here: bool = False
) -> list[dict[str, Any]] | None:  # fmt: skip
    """What the tasks of the second stage say, one of each part, in their order; None when stopped.

    Raises:
        JobFailedError: when the job fails on all attempts, or what it gave is not whole, or not seen by the driver.
    """
    done = runner.rows(stages, label, stop, here=here)
    if done is None:
        return None
    made = sorted((json.loads(bytes(row.payload)) for row in done[0]), key=lambda part: int(part["part"]))
    sent, came = (sum(part[name] for part in made) for name in ("sent", "came"))
    if [part["part"] for part in made] != list(range(stages.targets)) or sent != came:
        whole = f"{len(made)} of {stages.targets} parts, {came:,} of {sent:,} rows"
        raise JobFailedError(f"the job {label} brought back {whole}; --resume goes on")
    for part in made:
        for name in NAMES:
            check_written(folder, file_of(part.get(name)))
    return made


PART_TRANSITIONS = 1 << 23
"""Transitions of the explored states for each task that lists arcs, about."""

HERE_TRANSITIONS = 1 << 20
"""Transitions up to which one thread of this process lists the arcs: a job of many tasks would take longer."""


@frozen
class Listing:
    """The listing of the arcs of a committed run.

    Attributes:
        runner: runs the job.
        log, commits: the run.
        program: what was explored.
    """

    runner: JobRunner
    log: CommitLog
    commits: Sequence[Commit]
    program: Program

    def numbering(self, parts: int) -> Numbering:
        """The numbering of the states, in so many parts."""
        return Numbering.of(self.commits, self.runner.spec.buckets, parts)

    def listed(
        self, folder: AnyPath, label: str, stop: threading.Event, question: RegionQuestion | None = None
    ) -> tuple[tuple[PartFiles, ...], list[list[int]]] | None:
        """List the arcs: the files of each part, and its counts added up; None when stopped.

        Args:
            folder: where files go.
            label: what the job is called.
            stop: cancels it.
            question: the liveness property whose region is listed; None: the ways back are.

        Raises:
            JobFailedError: when it fails on all attempts, or what it gave is not whole.
        """
        plan, spec, runner = FramePlan(self.program), self.runner.spec, self.runner
        transitions = int(np.array(self.commits[-1].counters)[plan.fired : plan.pruned].sum())
        here = transitions <= HERE_TRANSITIONS
        parts = 1 if here else -(-(transitions // PART_TRANSITIONS + 1) // runner.cores) * runner.cores
        numbering = self.numbering(min(spec.buckets, parts))
        visited = tuple(self.log.stored(level) for level in self.commits)
        job = ArcsJob(str(folder), numbering, visited, splits_of(visited), question)
        with contextlib.nullcontext() if here else runner.exchange(folder) as files:
            first, second = exits_task(runner.shipped, job, files), arcs_task(runner.shipped, job, files)
            stages = Stages(len(job.splits), numbering.parts, first, second)
            made = whole_parts(runner, stages, label, folder, stop, here)
        if made is None:
            return None
        expanded = sum(part["expanded"] for part in made)
        if expanded != numbering.count:
            raise JobFailedError(f"the job {label} expanded {expanded:,} of {numbering.count:,} states")
        total: list[list[int]] = np.array([part["own"] for part in made], dtype=np.int64).sum(axis=0).tolist()
        return tuple(part_files(part) for part in made), total


def arcs_in(parts: Sequence[PartFiles]) -> int:
    """How many arcs parts have."""
    return sum(part.arcs.rows for part in parts if part.arcs is not None)


PAIR_BYTES = 16
"""Bytes of what flows to a state: its number and bits."""


@frozen
class RoundJob:
    """The job.

    Attributes:
        folder: where the files are.
        numbering: of the states, and the parts.
        first: whether it is the first round, in which every mark counts as one that rose.
        parts: the files.
        flowing: for each task of the first stage its part.
        flows: the bits that flow back through each way; None: as the spec says.
        kept: a bit without which no mark rises; 0: all rise.
    """

    folder: str
    numbering: Numbering
    first: bool
    parts: tuple[PartFiles, ...]
    flowing: tuple[int, ...]
    flows: tuple[int, ...] | None = None
    kept: int = 0


def flow_task(shipped: Callable[[], BlockSpec], job: RoundJob) -> Callable[[Batches], Batches]:
    """The first stage: one input row is the number of a flowing part."""

    def flow(batches: Batches) -> Batches:
        for batch in batches:
            for source in batch.column(0).to_pylist():
                yield from heads(source, job.numbering.parts)
                yield from sent_pairs(job.numbering, source, _flows(shipped(), job, job.flowing[source]))

    return flow


def sent_pairs(numbering: Numbering, source: int, flows: Iterable[Numbers]) -> Batches:
    """What a task of the first stage sends to parts, as rows, and a frame: how many pairs these are."""
    sent, number = 0, 0
    for pairs in flows:
        for target, rows in _by_part(numbering, pairs):
            sent += len(rows)
            yield candidate_row(target, target, source, number, rows.tobytes())
            number += 1
    frame = np.array([sent], dtype=np.int64)
    yield candidate_row(source % numbering.parts, FRAME, source, 0, frame.tobytes())


def _flows(spec: BlockSpec, job: RoundJob, part: int) -> Iterator[Numbers]:
    """What flows from the states of a part, as (number, bits), each source once for each row group of arcs."""
    folder, files = place_of(job.folder), job.parts[part]
    first, last = job.numbering.states_of(part)
    if job.first:
        yield from (np.column_stack(pairs) for pairs in read_groups(folder, files.leaves, "number", "bits"))
        bits = marks_of(folder, files, last - first)
    else:
        bits = np.zeros(last - first, dtype=np.int64)
        for numbers, risen in read_groups(folder, files.risen, "number", "bits"):
            bits[numbers - first] = risen
    ways = ways_of(spec).view(np.int64) if job.flows is None else np.array(job.flows, dtype=np.int64)
    for targets, sources, kinds in read_groups(folder, files.arcs, "target", "source", "way"):
        got = ways[kinds] & bits[targets - first]
        flows = got != 0
        yield folded(sources[flows], got[flows])


def marks_of(folder: AnyPath, files: PartFiles, count: int) -> Numbers:
    """The marks of a part; a copy that can be raised.

    Raises:
        RuntimeError: when there are not as many as states.
    """
    parts = [bits for (bits,) in read_groups(folder, files.marks, "bits")]
    marks = np.concatenate([np.zeros(0, dtype=np.int64), *parts])
    if len(marks) != count:
        raise RuntimeError(f"{len(marks):,} marks of {count:,} states in {folder}")
    return marks


def folded(numbers: Numbers, bits: Numbers) -> Numbers:
    """Pairs (number, bits) sorted by number, each once with all its bits."""
    if not len(numbers):
        return np.zeros((0, 2), dtype=np.int64)
    order = np.argsort(numbers)
    numbers, bits = numbers[order], bits[order]
    begins = np.flatnonzero(np.concatenate([[True], numbers[1:] != numbers[:-1]]))
    return np.column_stack([numbers[begins], np.bitwise_or.reduceat(bits, begins)])


def _by_part(numbering: Numbering, pairs: Numbers) -> Iterator[tuple[int, Numbers]]:
    """The pairs by the part of their number, in blocks."""
    ordered = pairs[np.argsort(pairs[:, 0])]
    borders = np.searchsorted(ordered[:, 0], numbering.borders())
    for part in range(numbering.parts):
        for at in range(int(borders[part]), int(borders[part + 1]), BLOCK_BYTES // PAIR_BYTES):
            yield part, ordered[at : min(at + BLOCK_BYTES // PAIR_BYTES, int(borders[part + 1]))]


def raise_task(shipped: Callable[[], BlockSpec], job: RoundJob) -> Callable[[Batches], Batches]:
    """The second stage: raises the marks of one part by what flows there, and says how many rose."""

    def raise_marks(batches: Batches) -> Batches:
        part, sent, pairs = came_pairs(batches)
        made = _raised(job, part, pairs) if len(pairs) else {}
        yield result_row("part", json.dumps({"part": part, "sent": sent, "came": len(pairs), **made}).encode())

    return raise_marks


def came_pairs(batches: Batches) -> tuple[int, int, Numbers]:
    """The part that a task of the second stage was told; how many pairs were sent, by the frames; the pairs."""
    sent, part, came = 0, FRAME, [np.zeros((0, 2), dtype=np.int64)]
    for bucket, _, block in rows_of(batches):
        if bucket == FRAME:
            sent += int(np.frombuffer(block, np.int64)[0])
        elif bucket == HEAD:
            part = int(np.frombuffer(block, np.int64)[0])
        else:
            came.append(np.frombuffer(block, np.int64).reshape(-1, 2))
    return part, sent, np.concatenate(came)


def _raised(job: RoundJob, part: int, pairs: Numbers) -> dict[str, Any]:
    folder, (first, last) = place_of(job.folder), job.numbering.states_of(part)
    marks = marks_of(folder, job.parts[part], last - first)
    pairs = folded(pairs[:, 0], pairs[:, 1])
    own = pairs[:, 0] - first
    rising = pairs[:, 1] & ~marks[own]
    rose = (rising != 0) & ((marks[own] & job.kept) == job.kept)
    if not rose.any():
        return {}
    marks[own[rose]] |= rising[rose]
    risen = written_file(folder, "risen", number=pairs[rose, 0].copy(), bits=rising[rose])
    marked = written_file(folder, "marks", bits=marks)
    if risen is None or marked is None:
        raise RuntimeError(f"marks of part {part} rose, and there are none")
    return {"rose": risen.rows, "risen": risen.document(), "marks": marked.document()}


def raised_round(
    runner: JobRunner, job: RoundJob, label: str, stop: threading.Event
) -> tuple[tuple[PartFiles, ...], int] | None:
    """One round by a job: the files after it, and how many marks rose; None when stopped.

    Raises:
        JobFailedError: as `whole_parts` does.
    """
    if not job.flowing:
        return job.parts, 0
    first, second = flow_task(runner.shipped, job), raise_task(runner.shipped, job)
    stages = Stages(len(job.flowing), job.numbering.parts, first, second)
    made = whole_parts(runner, stages, label, place_of(job.folder), stop)
    if made is None:
        return None
    after = tuple(
        evolve(own, leaves=None, risen=new.risen, marks=new.marks or own.marks)
        for own, new in zip(job.parts, map(part_files, made), strict=True)
    )
    return after, sum(part.get("rose", 0) for part in made)


def closed(
    runner: JobRunner, log: RoundLog, name: str, numbering: Numbering, parts: tuple[PartFiles, ...],
    flows: tuple[int, ...] | None = None, kept: int = 0,
) -> tuple[tuple[PartFiles, ...], str]:  # fmt: skip
    """All marks, once none rises any more, and the name of the last round.

    Args:
        runner, log: run the jobs, and keep their rounds.
        name: what the names of rounds begin with.
        numbering, parts: the states, and the files of their parts.
        flows, kept: as of `RoundJob`.

    Raises:
        StoppedError: when it is stopped.
    """
    number, rose = max(0, log.last(name) - 1), 1  # the round before the last is not there, and not needed
    while rose:
        number += 1
        flowing = [n for n, part in enumerate(parts) if (part.marks or part.leaves if number == 1 else part.risen)]
        job = RoundJob(str(log.folder), numbering, number == 1, parts, tuple(flowing), flows, kept)

        def compute(job: RoundJob = job, label: str = f"{name} {number}") -> Round | None:
            done = raised_round(runner, job, label, log.stop)
            return None if done is None else Round(done[0], (done[1],))

        done = log.round(f"{name}-{number}", compute, (f"{name}-{number - 1}",))
        parts, rose = done.parts, done.counts[0]
    return tuple(evolve(part, risen=None) for part in parts), f"{name}-{number}"
