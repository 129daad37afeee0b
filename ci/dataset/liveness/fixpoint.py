"""Fixpoints over a region by rounds of jobs, where memory has no room for its steps.

Marks flow backward as those of `recovers` properties do, among the states that are kept: after Emerson and Lei (1985)
the states are kept that reach a step of each constraint, or a state that does not enable it, until none is left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from attrs import evolve, field, frozen

from kraftcheck.ci.dataset.backward.arcs import CUT, NODE, Numbering, Numbers, heads
from kraftcheck.ci.dataset.backward.files import PartFile, read_groups, written_file
from kraftcheck.ci.dataset.backward.kept import Round, RoundLog
from kraftcheck.ci.dataset.backward.rounds import (
    PartFiles,
    RoundJob,
    came_pairs,
    folded,
    marks_of,
    part_files,
    raised_round,
    results_of,
    sent_pairs,
)
from kraftcheck.ci.dataset.jobs.exchange import Batches
from kraftcheck.ci.dataset.jobs.stages import JobFailedError, JobRunner, Stages, result_row
from kraftcheck.ci.dataset.store.objects import AnyPath
from kraftcheck.ci.dataset.store.stores import place_of
from kraftcheck.solvers.liveness.graph import Truths

MOST = 60
"""Most constraints of a property: bits of a signed number, of which two are taken."""

KEPT, LOST = 1 << MOST, 1 << MOST + 1
"""The bit of a state that is kept; what flows to one that has a step out of what was explored."""

GOAL = 1
"""The bit of a state that reaches a goal."""

SEEDS, TO_FAIR, TO_CUT = "seeds", "fair", "cut"


@frozen
class BeginJob:
    """The job that gives the states of a region the marks that rounds raise.

    Attributes:
        folder: where the files are.
        numbering: of the states, and the parts.
        parts: the files; where they have marks, their states are kept that satisfy all constraints by these.
        kind: `SEEDS`: what a state satisfies by itself or by a step; else the goal that states are to reach.
        steps: for each action instance the constraints that it is a step of.
        weak, strong: the bits of the constraints.
    """

    folder: str
    numbering: Numbering
    parts: tuple[PartFiles, ...]
    kind: str
    steps: tuple[int, ...]
    weak: int
    strong: int

    def kept(self, part: int, nodes: Numbers) -> tuple[Truths, Truths]:
        """Which states of a part are kept, and which were, in the order of `nodes`."""
        if self.parts[part].marks is None or not len(nodes):
            return np.ones(len(nodes), dtype=np.bool_), np.ones(len(nodes), dtype=np.bool_)
        first, last = self.numbering.states_of(part)
        bits = marks_of(place_of(self.folder), self.parts[part], last - first)[nodes[:, 0] - first]
        was = (bits & KEPT) != 0
        if self.kind != SEEDS:
            return was, was
        good = (bits & self.weak) == self.weak
        good &= ((bits | ~nodes[:, 1]) & self.strong) == self.strong
        return was & good, was

    def nodes(self, part: int) -> Numbers:
        """The states of a part, as rows of `NODE`."""
        return nodes_of(place_of(self.folder), self.parts[part])


def nodes_of(folder: AnyPath, part: PartFiles) -> Numbers:
    """The states of a region in a part, as rows of `NODE`."""
    groups = [np.column_stack(columns) for columns in read_groups(folder, part.nodes, *NODE)]
    return np.concatenate([np.zeros((0, len(NODE)), dtype=np.int64), *groups])


def lead_out(nodes: Numbers, lost: Any) -> None:
    """Note which rows have a step that is not explored: it may be one of any constraint."""
    nodes[lost, 1] = nodes[lost, 2]
    nodes[lost, 3] |= CUT


def give_task(job: BeginJob) -> Callable[[Batches], Batches]:
    """The first stage: one input row is the number of a part; gives what its states bring those before them."""

    def give(batches: Batches) -> Batches:
        for batch in batches:
            for source in batch.column(0).to_pylist():
                yield from heads(source, job.numbering.parts)
                yield from sent_pairs(job.numbering, source, _given(job, source))

    return give


def _given(job: BeginJob, part: int) -> Iterator[Numbers]:
    """What flows from the states of a part, as (number, bits)."""
    if job.kind != SEEDS:
        return
    folder, files = place_of(job.folder), job.parts[part]
    for (lost,) in read_groups(folder, files.leaves, "number"):
        yield np.column_stack([lost, np.full(len(lost), LOST)])
    first, last = job.numbering.states_of(part)
    nodes = job.nodes(part)
    kept = np.zeros(last - first, dtype=np.bool_)
    kept[nodes[:, 0] - first] = job.kept(part, nodes)[0]
    steps = np.array(job.steps, dtype=np.int64)
    for targets, sources, instances in read_groups(folder, files.arcs, "target", "source", "way"):
        bits = np.where(kept[targets - first], steps[instances], 0)
        yield folded(sources[bits != 0], bits[bits != 0])


def begin_task(job: BeginJob) -> Callable[[Batches], Batches]:
    """The second stage: writes the marks of one part, and says how many states are kept, left out, and at a goal."""

    def begin(batches: Batches) -> Batches:
        part, sent, pairs = came_pairs(batches)
        made = _begun(job, part, folded(pairs[:, 0], pairs[:, 1]))
        yield result_row("part", json.dumps({"part": part, "sent": sent, "came": len(pairs), **made}).encode())

    return begin


def _begun(job: BeginJob, part: int, pairs: Numbers) -> dict[str, Any]:
    folder, (first, last) = place_of(job.folder), job.numbering.states_of(part)
    nodes, files = job.nodes(part), job.parts[part]
    kept, was = job.kept(part, nodes)
    given = np.zeros(len(nodes), dtype=np.int64)
    given[np.searchsorted(nodes[:, 0], pairs[:, 0])] = pairs[:, 1]
    lost = (given & LOST) != 0
    stored: PartFile | None = files.nodes
    if lost.any():
        lead_out(nodes, lost)
        stored = written_file(folder, "nodes", **dict(zip(NODE, nodes.T.copy(), strict=True)))
    if job.kind == SEEDS:
        own = np.where(kept, KEPT | given & nodes[:, 1] & (KEPT - 1) | ~nodes[:, 1] & job.weak, 0)
        goal = kept
    else:
        goal = kept if job.kind == TO_FAIR else (nodes[:, 3] & CUT) != 0
        own = KEPT | goal * GOAL
    marks = np.zeros(last - first, dtype=np.int64)
    marks[nodes[:, 0] - first] = own
    written = written_file(folder, "marks", bits=marks)
    return {
        "counts": [int(np.count_nonzero(one)) for one in (kept, was & ~kept, goal)],
        "nodes": None if stored is None else stored.document(),
        "marks": None if written is None else written.document(),
        "arcs": None if files.arcs is None else files.arcs.document(),
    }


@frozen
class Fixpoints:
    """Fixpoints over a region.

    Attributes:
        runner: runs the jobs.
        log: keeps the rounds.
        name: what the names of rounds begin with.
        numbering: of the states, and the parts.
        region: its files.
        steps: for each action instance the constraints that it is a step of.
        weak, strong: the bits of the constraints.
    """

    runner: JobRunner
    log: RoundLog
    name: str
    numbering: Numbering
    region: tuple[PartFiles, ...]
    steps: tuple[int, ...]
    weak: int
    strong: int
    _all: tuple[int, ...] = field(init=False)

    @_all.default
    def _every_bit(self) -> tuple[int, ...]:
        return (KEPT - 1,) * len(self.steps)

    def fair(self) -> Round:
        """The marks of the states from which a behaviour stays in the region that satisfies all constraints: `KEPT`.

        `counts` has how many there are.
        """
        number, parts = self.log.last(f"{self.name}-kept"), self.region
        before: tuple[str, ...] = ()
        while True:
            begun = self._begun(f"kept-{number}", parts, SEEDS, before)
            kept, left_out, _ = begun.counts
            if not kept or not self.weak | self.strong or (number and not left_out):
                return begun
            parts, last = self._closed(f"marks-{number}", begun.parts)
            number, before = number + 1, (f"{self.name}-kept-{number}", last)

    def reaching(self, parts: tuple[PartFiles, ...], goal: str) -> Round:
        """The marks of the states of the region that reach a goal: `GOAL`; `counts` has how many are it."""
        begun = self._begun(f"to-{goal}", parts, goal)
        return Round(self._closed(f"reach-{goal}", begun.parts)[0], begun.counts[2:])

    def _begun(self, name: str, parts: tuple[PartFiles, ...], kind: str, drops: Sequence[str] = ()) -> Round:
        """The marks before any round; `counts`: states kept, left out since the last ones, at a goal."""
        job = BeginJob(str(self.log.folder), self.numbering, parts, kind, self.steps, self.weak, self.strong)

        def compute() -> Round | None:
            stages = Stages(len(parts), len(parts), give_task(job), begin_task(job))
            done = self.runner.rows(stages, f"{self.name} {name}", self.log.stop, here=False)
            if done is None:
                return None
            made = sorted(results_of(self.log.folder, done[0]), key=lambda part: int(part["part"]))
            sent, came = (sum(part[one] for part in made) for one in ("sent", "came"))
            if [part["part"] for part in made] != list(range(len(parts))) or sent != came:
                whole = f"{len(made)} of {len(parts)} parts, {came:,} of {sent:,} marks"
                raise JobFailedError(f"{self.name} {name} brought back {whole}")
            counts = np.array([part["counts"] for part in made]).sum(axis=0).tolist()
            return Round(tuple(part_files(part) for part in made), tuple(counts))

        return self.log.round(f"{self.name}-{name}", compute, drops)

    def _closed(self, name: str, parts: tuple[PartFiles, ...]) -> tuple[tuple[PartFiles, ...], str]:
        """All marks, once none rises any more, and the name of the last round."""
        full, rose = f"{self.name}-{name}", 1
        number = max(0, self.log.last(full) - 1)  # the round before the last is not there, and not needed
        while rose:
            number += 1
            own = dict(enumerate(parts))
            flowing = [n for n, part in own.items() if (part.marks if number == 1 else part.risen)]
            job = RoundJob(str(self.log.folder), self.numbering, number == 1, own, tuple(flowing), self._all, KEPT)

            def compute(job: RoundJob = job, label: str = f"{self.name} {name} {number}") -> Round | None:
                done = raised_round(self.runner, job, label, self.log.stop)
                return None if done is None else Round(done[0], (done[1],))

            done = self.log.round(f"{full}-{number}", compute, (f"{full}-{number - 1}",))
            parts, rose = done.parts, done.counts[0]
        return tuple(evolve(part, risen=None) for part in parts), f"{full}-{number}"
