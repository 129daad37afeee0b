"""Liveness properties of a committed run: of each its region, the fixpoint, and a lasso or how far a wait may lead.

A region that there is memory for is judged by the native engine's sweeps; a larger one by rounds of jobs, which are
kept beside the run until every property is judged, so that a run that was killed goes on after the last. There marks
flow backward as those of `recovers` properties do, among the states that are kept: after Emerson and Lei (1985) the
states are kept that reach a step of each constraint, or a state that does not enable it, until none is left out.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from attrs import define, evolve, field, frozen

from kraftcheck.ci.dataset.backward.arcs import CUT, NODE, WAITING, Numbering, Numbers, heads
from kraftcheck.ci.dataset.backward.files import (
    PartFile,
    PartFiles,
    Round,
    RoundLog,
    part_files,
    read_groups,
    written_file,
)
from kraftcheck.ci.dataset.backward.rounds import (
    Listing,
    arcs_in,
    came_pairs,
    closed,
    folded,
    marks_of,
    sent_pairs,
    whole_parts,
)
from kraftcheck.ci.dataset.backward.search import CommittedBackward
from kraftcheck.ci.dataset.jobs import Batches, JobRunner, Stages, result_row
from kraftcheck.ci.dataset.search.levels import CommittedOrigins
from kraftcheck.ci.dataset.search.run import DatasetRun
from kraftcheck.ci.dataset.store.commits import CommitLog
from kraftcheck.ci.dataset.store.manifests import PLACE_BITS, Commit, StatePlace
from kraftcheck.ci.dataset.store.objects import AnyPath
from kraftcheck.ci.dataset.store.stores import place_of
from kraftcheck.solvers.blocks.regions import EVERYWHERE, RegionQuestion
from kraftcheck.solvers.liveness.behaviours import Answer, Behaviours, Lasso, Question
from kraftcheck.solvers.liveness.constraints import GROUP, Constraint, classes_of, groups_of
from kraftcheck.solvers.liveness.fair import StoppedError, SweepControl, Sweeps
from kraftcheck.solvers.liveness.graph import MOST_STATES, Block, Truths
from kraftcheck.solvers.liveness.judge import Liveness, LivenessFinding, constraints_of
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import Trace
from kraftcheck.solvers.reference.confirm import confirm_lasso

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
            made = whole_parts(self.runner, stages, f"{self.name} {name}", self.log.folder, self.log.stop)
            if made is None:
                return None
            counts = np.array([part["counts"] for part in made]).sum(axis=0).tolist()
            return Round(tuple(part_files(part) for part in made), tuple(counts))

        return self.log.round(f"{self.name}-{name}", compute, drops)

    def _closed(self, name: str, parts: tuple[PartFiles, ...]) -> tuple[tuple[PartFiles, ...], str]:
        """See `closed`; every bit flows, among the states that are kept."""
        every = (KEPT - 1,) * len(self.steps)
        return closed(self.runner, self.log, f"{self.name}-{name}", self.numbering, parts, every, KEPT)


STATE_BYTES, EDGE_BYTES = 64, 40
"""Bytes that a state and a step take at most while they are read and searched."""


@define(eq=False)
class CollectedEdges:
    """The steps of a region in memory, as `kraftcheck.solvers.liveness.graph.Edges`.

    Attributes:
        places: of the states, ascending: so they are by depth.
        starts, targets, instances: the steps, sorted by source.
    """

    places: Numbers
    starts: Any
    targets: Any
    instances: Any
    levels: Sequence[int] = field(init=False)
    blocks: Sequence[int] = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Find where each depth and each block begins."""
        self.blocks = range(0, self.count, MOST_STATES)
        deepest = int(self.places[-1]) >> PLACE_BITS
        self.levels = np.searchsorted(self.places, np.arange(deepest + 2) << PLACE_BITS).tolist()

    @property
    def count(self) -> int:
        """Number of states."""
        return len(self.places)

    def block(self, thread: int, number: int, wanted: Truths, *, inner: bool = True) -> Block:
        """The steps of the wanted states of a block; none leaves the region."""
        first = self.blocks[number]
        own = self.starts[first : first + len(wanted) + 1]
        lengths = np.diff(own)
        chosen = np.repeat(wanted, lengths)
        starts = np.concatenate([[0], np.cumsum(np.where(wanted, lengths, 0))]).astype(np.uint32)
        targets, instances = (steps[own[0] : own[-1]][chosen] for steps in (self.targets, self.instances))
        return Block(first, starts, targets, instances, np.zeros(len(wanted), dtype=np.uint64))

    def narrowed(self, states: Truths) -> CollectedEdges:
        """The region of some of its states, in the same order."""
        number = np.cumsum(states) - 1
        chosen = np.repeat(states, np.diff(self.starts)) & states[self.targets]
        sources = np.repeat(np.arange(self.count), np.diff(self.starts))[chosen]
        starts = np.searchsorted(number[sources], np.arange(np.count_nonzero(states) + 1)).astype(np.uint32)
        targets = number[self.targets[chosen]].astype(np.uint32)
        return CollectedEdges(self.places[states], starts, targets, self.instances[chosen])

    def enter(self) -> None:
        """Nothing has to be done to use it."""


@frozen
class Collected:
    """A region in memory.

    Attributes:
        numbers, places: of its states, by ascending place.
        behaviours: the native engine's judge of it.
        waiting: the states that have to wait for the goal.
    """

    numbers: Numbers
    places: Numbers
    behaviours: Behaviours
    waiting: Truths

    def kept(self, folder: AnyPath, parts: Sequence[PartFiles], numbering: Numbering) -> Truths:
        """The states that marks keep."""
        found = np.zeros(len(self.numbers), dtype=np.bool_)
        for number, part in enumerate(parts):
            first, last = numbering.states_of(number)
            bits = marks_of(folder, part, last - first)
            inside = (self.numbers >= first) & (self.numbers < last)
            found[inside] = (bits[self.numbers[inside] - first] & KEPT) != 0
        return found

    def depth(self, states: Truths) -> int | None:
        """The least depth of some states; None: there are none."""
        return int(self.places[np.argmax(states)]) >> PLACE_BITS if states.any() else None


def collected(
    folder: AnyPath, parts: Sequence[PartFiles], numbering: Numbering, constraints: Sequence[Constraint],
    control: SweepControl,
) -> Collected:  # fmt: skip
    """A region, under what is fair, read into memory; it is not empty."""
    nodes = np.concatenate([nodes_of(folder, part) for part in parts])
    for part in parts:
        for (lost,) in read_groups(folder, part.leaves, "number"):
            lead_out(nodes, np.searchsorted(nodes[:, 0], lost))
    places = numbering.places(nodes[:, 0])
    order = np.argsort(places)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    target, source, instance = _steps(folder, parts, nodes[:, 0], rank)
    along = np.lexsort((target, instance, source))
    starts = np.searchsorted(source[along], np.arange(len(places) + 1)).astype(np.uint32)
    places = places[order]
    own = CollectedEdges(places, starts, target[along].astype(np.uint32), instance[along].astype(np.uint16))
    kinds, classes = classes_of(constraints)
    groups, enabled = groups_of(constraints, classes, len(places)), nodes[order, 1]
    for number, group in enumerate(groups):
        group.enabled[:] = (enabled >> GROUP * number & group.every).astype(group.enabled.dtype)
    waiting, cut = ((nodes[order, 3] & flag) != 0 for flag in (WAITING, CUT))
    sweeps = Sweeps(own, kinds, groups, control)
    sweeps.note_survey(cut)
    return Collected(nodes[order, 0], places, Behaviours(own, sweeps), waiting)


def _steps(folder: AnyPath, parts: Sequence[PartFiles], numbers: Numbers, rank: Numbers) -> tuple[Any, Any, Any]:
    """Targets, sources and action instances of all steps, states by their rank."""
    groups = [[], [], []]  # type: list[list[Any]]
    for part in parts:
        for target, source, instance in read_groups(folder, part.arcs, "target", "source", "way"):
            groups[0].append(rank[np.searchsorted(numbers, target)])
            groups[1].append(rank[np.searchsorted(numbers, source)])
            groups[2].append(instance)
    target, source, instance = (np.concatenate([np.zeros(0, np.int64), *one]) for one in groups)
    return target, source, instance


FOLDER = "liveness"
"""Below a run's folder, until every property is judged."""


class TooLargeError(Exception):
    """A lasso is there that there is no memory to show."""


@define
class CommittedLiveness:
    """The search for fair behaviours in a committed run.

    Attributes:
        runner: runs the jobs.
        log, commits: the run.
        program: what was explored.
        memory: bytes that a region may take in this process.
        report: called after each round with its number and how many rows it has.
        rounds: rounds so far.
        computed: those of them that were not there from a run before.
        collect: bytes up to which a region is judged in memory; None: `memory`.
    """

    runner: JobRunner
    log: CommitLog
    commits: Sequence[Commit]
    program: Program
    memory: int
    report: Callable[[int, int], None]
    rounds: int = 0
    computed: int = 0
    collect: int | None = None
    _log: RoundLog = field(init=False)
    _listing: Listing = field(init=False)

    def run(self, stop: threading.Event) -> Liveness:
        """The fair behaviours of the explored graph; without findings when it was stopped, or cannot be judged.

        Raises:
            JobFailedError: when a job fails on all attempts; finished rounds stay.
            EngineDisagreement: when ints do not confirm a lasso.
        """
        claims = range(len(self.program.liveness.claims))
        if max(len(constraints_of(self.program, number)) for number in claims) > MOST:
            return Liveness(None, f"in files a property is judged under at most {MOST} fairness constraints")
        start = time.monotonic()
        claims_of = [f"{one.claim.kind} {one.claim.id}" for one in self.program.liveness.claims]
        of = [self.log.read_run().run, claims_of, *([level.depth, level.rows] for level in self.commits)]
        self._log = RoundLog(self.log.out / FOLDER, of, stop, self.report, check=self.log.check_lease)
        self._listing = Listing(self.runner, self.log, self.commits, self.program)
        try:
            findings = tuple(self._finding(number, stop) for number in claims)
        except TooLargeError as error:
            self._log.remove()
            return Liveness(None, str(error))
        except StoppedError:
            return Liveness(None)
        finally:
            self.rounds, self.computed = self._log.rounds, self._log.computed
        self._log.remove()
        return Liveness(findings, "", self.rounds, time.monotonic() - start)

    def _finding(self, number: int, stop: threading.Event) -> LivenessFinding:
        """The result about one property."""
        constraints, name = constraints_of(self.program, number), f"claim-{number}"
        question = self._question(number, constraints)

        def listed() -> Round | None:
            made = self._listing.listed(self._log.folder, f"region of {name}", stop, question)
            return None if made is None else Round(made[0], tuple(made[1][0]))

        region = self._log.round(f"{name}-region", listed)
        concerned, inside, _ = region.counts
        if not inside:
            return LivenessFinding(Answer(concerned, 0, None, np.zeros(0, dtype=np.bool_)), None, None)
        numbering = self._listing.numbering(len(region.parts))
        if not self._fits(region, self.memory if self.collect is None else self.collect):
            return self._by_jobs(number, region, constraints, question, numbering)
        control = SweepControl(stop=stop, budget=self.memory)
        here = collected(self._log.folder, region.parts, numbering, constraints, control)
        answer = here.behaviours.answer(Question(self._kind(number), concerned, here.waiting))
        trace = None if answer.lasso is None else self._trace(number, here, answer.lasso)
        return LivenessFinding(answer, trace, here.depth(answer.uncertain))

    def _fits(self, region: Round, memory: int) -> bool:
        """Whether a region may be read into so many bytes."""
        return region.counts[1] * STATE_BYTES + arcs_in(region.parts) * EDGE_BYTES <= memory

    def _kind(self, number: int) -> str:
        return self.program.liveness.claims[number].claim.kind

    def _by_jobs(
        self, number: int, region: Round, constraints: Sequence[Constraint], question: RegionQuestion,
        numbering: Numbering,
    ) -> LivenessFinding:  # fmt: skip
        """The result about a property whose region there is no room for; a lasso is shown if there is after all.

        Raises:
            TooLargeError: when there is not.
        """
        strong = sum(1 << bit for bit, one in enumerate(constraints) if one.strong)
        weak = (1 << len(constraints)) - 1 - strong
        name = f"claim-{number}"
        fixpoints = Fixpoints(self.runner, self._log, name, numbering, region.parts, question.steps, weak, strong)
        concerned, _, waits = region.counts
        fair, by_wait = fixpoints.fair(), self._kind(number) in ("eventually", "leads_to")
        answer = Answer(concerned, waits, None, np.zeros(0, dtype=np.bool_))
        if fair.counts[0]:
            reach = fixpoints.reaching(fair.parts, TO_FAIR)
            if self._first(reach.parts, numbering, by_wait=by_wait) is not None:
                if not self._fits(region, self.memory):
                    reason = f"a fair behaviour breaks {self.program.liveness.claims[number].claim.id}, which --memory"
                    raise TooLargeError(f"{reason} has no room to show: {arcs_in(region.parts):,} steps of its region")
                here = collected(self._log.folder, region.parts, numbering, constraints, SweepControl())
                starts = here.waiting if by_wait else np.ones_like(here.waiting)
                lasso = here.behaviours.lasso(starts, here.kept(self._log.folder, fair.parts, numbering))
                return LivenessFinding(evolve(answer, lasso=lasso), self._trace(number, here, lasso), None)
        cut = fixpoints.reaching(fair.parts, TO_CUT)
        first = self._first(cut.parts, numbering, by_wait=True)
        return LivenessFinding(answer, None, None if first is None else first >> PLACE_BITS)

    def _first(self, parts: Sequence[PartFiles], numbering: Numbering, *, by_wait: bool) -> int | None:
        """The least place of a state that reaches a goal and, if asked for, waits; None: there is none."""
        least: int | None = None
        for number, part in enumerate(parts):
            nodes, (first, last) = nodes_of(self._log.folder, part), numbering.states_of(number)
            if not len(nodes):
                continue
            bits = marks_of(self._log.folder, part, last - first)[nodes[:, 0] - first]
            found = nodes[(bits & GOAL != 0) & ((nodes[:, 3] & WAITING != 0) | (not by_wait)), 0]
            if len(found):
                place = int(numbering.places(found).min())
                least = place if least is None else min(least, place)
        return least

    def _question(self, number: int, constraints: Sequence[Constraint]) -> RegionQuestion:
        """The property as workers take it."""
        claim, total = self.program.liveness.claims[number], len(self.program.liveness.claims)
        steps = [0] * self.program.instances
        for bit, one in enumerate(constraints):
            for instance in one.instances:
                steps[instance] |= 1 << bit
        excuses = [2 * total + constraint for constraint in claim.constraints]
        excuses += [-1] * (len(constraints) - len(excuses))
        return RegionQuestion(
            2 * number, 2 * number + 1, claim.claim.kind == "eventually_always", claim.claim.kind == "eventually",
            tuple(excuses), steps=tuple(steps),
            cuts=tuple(EVERYWHERE if one.visits else one.cuts for one in constraints),
        )  # fmt: skip

    def _trace(self, number: int, here: Collected, lasso: Lasso) -> Trace:
        """The lasso as a trace, confirmed on ints."""
        origins = CommittedOrigins(self.log, self.commits, self.runner.spec.words)
        run = origins.run_to(StatePlace.of(int(here.places[lasso.entry])))
        instances = (*run.instances, *lasso.way, *lasso.cycle)
        claim = self.program.liveness.claims[number].claim
        return confirm_lasso(self.program, claim, run.initial, instances, len(instances) - len(lasso.cycle))


def judge(run: DatasetRun, runner: JobRunner, memory: int) -> None:
    """Judge the `recovers` and liveness properties of a run whose levels are committed.

    Args:
        run: the run; it gets the results.
        runner: of the jobs.
        memory: bytes that arcs or a region may take in this process.

    Raises:
        JobFailedError: when a job fails on all attempts; finished rounds stay.
        EngineDisagreement: when ints do not confirm a lasso.
    """
    of = (runner, run.log, run.commits, run.kernel.program, memory, run.report_backward)
    run.search_backward(lambda: CommittedBackward(*of).run(run.stop))
    run.search_liveness(lambda: CommittedLiveness(*of).run(run.stop))
