"""Liveness properties of a committed run: of each its region, the fixpoint, and a lasso or how far a wait may lead.

A region is listed by a job, and its files are kept beside the run until every property is judged, so that a run that
was killed lists none again. The native engine's sweeps judge it: its steps are in memory, or, where that has no room
for them, in a file that they go through in order.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define, field, frozen

from kraftcheck.ci.dataset.backward.arcs import CUT, NODE, WAITING, Numbers, StateNumbering
from kraftcheck.ci.dataset.backward.files import PartFiles, Round, RoundLog, read_groups
from kraftcheck.ci.dataset.backward.search import Listing, arcs_in
from kraftcheck.ci.dataset.jobs import JobRunner
from kraftcheck.ci.dataset.search.levels import CommittedOrigins
from kraftcheck.ci.dataset.store.commits import CommitLog
from kraftcheck.ci.dataset.store.manifests import PLACE_BITS, Commit, StatePlace
from kraftcheck.ci.dataset.store.objects import AnyPath
from kraftcheck.solvers.blocks.tasks import EVERYWHERE, RegionQuestion
from kraftcheck.solvers.liveness.behaviours import Behaviours, BehavioursAnswer, Lasso, Question
from kraftcheck.solvers.liveness.constraints import GROUP, Constraint, classes_of, groups_of
from kraftcheck.solvers.liveness.fair import StoppedError, SweepControl, Sweeps
from kraftcheck.solvers.liveness.graph import ListedEdges, Truths
from kraftcheck.solvers.liveness.judge import Liveness, LivenessFinding, constraints_of
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import Trace
from kraftcheck.solvers.reference.confirm import confirm_lasso

MOST = 60  # most constraints of a property: bits of a signed number
MOST_PLACES = 1 << 32  # most states of a region: bits of a step's target

STATE_BYTES, EDGE_BYTES = 64, 40
"""Bytes that a state and a step take at most while they are read and searched in memory."""


@frozen
class Room:
    """Where arrays of steps are made."""

    held: bool  # in memory; else in files, which go with the arrays
    folder: Path | None  # of the files; None: that of temporary files

    def array(self, size: int, kind: Any) -> Any:
        """Room for so many numbers of a kind."""
        if self.held:
            return np.empty(size, kind)
        with tempfile.TemporaryFile(dir=self.folder) as file:
            return np.memmap(file, kind, "w+", shape=(max(1, size),))[:size]


def nodes_of(folder: AnyPath, part: PartFiles) -> Numbers:
    """The states of a region in a part, as rows of `NODE`."""
    groups = [np.column_stack(columns) for columns in read_groups(folder, part.nodes, *NODE)]
    return np.concatenate([np.zeros((0, len(NODE)), dtype=np.int64), *groups])


def lead_out(nodes: Numbers, lost: Any) -> None:
    """Note which rows have a step that is not explored: it may be one of any constraint."""
    nodes[lost, 1] = nodes[lost, 2]
    nodes[lost, 3] |= CUT


@frozen
class Collected:
    """A region, of which memory has the states."""

    places: Numbers  # of its states, ascending
    behaviours: Behaviours  # the native engine's judge of it
    waiting: Truths  # the states that have to wait for the goal

    def depth(self, states: Truths) -> int | None:
        """The least depth of some states; None: there are none."""
        return int(self.places[np.argmax(states)]) >> PLACE_BITS if states.any() else None


def collected(
    folder: AnyPath, parts: Sequence[PartFiles], numbering: StateNumbering, constraints: Sequence[Constraint],
    control: SweepControl, room: Room,
) -> Collected:  # fmt: skip
    """A region, under what is fair; it is not empty; raises StoppedError when it is stopped."""
    nodes = np.concatenate([nodes_of(folder, part) for part in parts])
    for part in parts:
        for (lost,) in read_groups(folder, part.leaves, "number"):
            lead_out(nodes, np.searchsorted(nodes[:, 0], lost))
    places = numbering.places(nodes[:, 0])
    order = np.argsort(places)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))

    def steps() -> Iterator[tuple[Any, Any, Any]]:
        for part in parts:
            for target, source, instance in read_groups(folder, part.arcs, "target", "source", "way"):
                if control.stop.is_set():
                    raise StoppedError
                yield *(rank[np.searchsorted(nodes[:, 0], one)] for one in (target, source)), instance

    own = _edges(places[order], steps, room)
    kinds, classes = classes_of(constraints)
    groups, enabled = groups_of(constraints, classes, len(places)), nodes[order, 1]
    for number, group in enumerate(groups):
        group.enabled[:] = (enabled >> GROUP * number & group.every).astype(group.enabled.dtype)
    waiting, cut = ((nodes[order, 3] & flag) != 0 for flag in (WAITING, CUT))
    sweeps = Sweeps(own, kinds, groups, control)
    sweeps.note_survey(cut)
    return Collected(own.names, Behaviours(own, sweeps), waiting)


def _edges(places: Numbers, steps: Callable[[], Iterator[tuple[Any, Any, Any]]], room: Room) -> ListedEdges:
    """Steps, which are gone through twice, sorted by source: first they are counted, then each gets its place."""
    counts = np.zeros(len(places), dtype=np.int64)
    for _, source, _ in steps():
        np.add.at(counts, source, 1)
    starts = np.concatenate([[0], np.cumsum(counts)])
    targets, instances = (room.array(int(starts[-1]), np.dtype(kind)) for kind in (np.uint32, np.uint16))
    places_left = starts[:-1].copy()
    for target, source, instance in steps():
        order = np.lexsort((target, instance, source))
        first = np.flatnonzero(np.diff(source[order], prepend=-1))
        runs = np.diff(np.append(first, len(order)))
        at = np.arange(len(order)) + np.repeat(places_left[source[order[first]]] - first, runs)
        targets[at], instances[at] = target[order], instance[order]
        places_left[source[order[first]]] += runs
    levels = np.searchsorted(places, np.arange((int(places[-1]) >> PLACE_BITS) + 2) << PLACE_BITS).tolist()
    cuts = np.broadcast_to(np.uint64(0), len(places))
    return ListedEdges(places, levels, starts, targets, instances, cuts, room.array)


FOLDER = "liveness"  # below a run's folder, until every property is judged


class TooLargeError(Exception):
    """A region of more states than are told apart."""


@define
class CommittedLiveness:
    """The search for fair behaviours in a committed run."""

    runner: JobRunner
    log: CommitLog
    commits: Sequence[Commit]
    program: Program
    memory: int  # bytes that a region may take in this process
    report: Callable[[int, int], None]  # called after each round with its number and how many rows it has
    rounds: int = 0
    computed: int = 0  # rounds that were not there from a run before
    # bytes up to which the steps of a region are in memory, and not in a file; None: `memory`
    collect: int | None = None
    _log: RoundLog = field(init=False)
    _listing: Listing = field(init=False)

    def run(self, stop: threading.Event) -> Liveness:
        """The fair behaviours of the graph; no findings if stopped or not judged; raises JobFailedError."""
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
        constraints, name = constraints_of(self.program, number), f"claim-{number}"
        question = self._question(number, constraints)

        def listed() -> Round | None:
            made = self._listing.listed(self._log.folder, f"region of {name}", stop, question)
            return None if made is None else Round(made[0], tuple(made[1][0]))

        region = self._log.round(f"{name}-region", listed)
        concerned, inside, _ = region.counts
        if not inside:
            return LivenessFinding(BehavioursAnswer(concerned, 0, None, np.zeros(0, dtype=np.bool_)), None, None)
        numbering = self._listing.numbering(len(region.parts))
        if inside > MOST_PLACES:
            reason = f"{inside:,} states that {self.program.liveness.claims[number].claim.id} is about"
            raise TooLargeError(f"{reason}, and at most {MOST_PLACES:,} are judged")
        size = inside * STATE_BYTES + arcs_in(region.parts) * EDGE_BYTES
        held = size <= (self.memory if self.collect is None else self.collect)
        room = Room(held, self._log.folder if isinstance(self._log.folder, Path) else None)
        control = SweepControl(stop=stop, budget=self.memory)
        here = collected(self._log.folder, region.parts, numbering, constraints, control, room)
        answer = here.behaviours.answer(Question(self._kind(number), concerned, here.waiting))
        trace = None if answer.lasso is None else self._trace(number, here, answer.lasso)
        return LivenessFinding(answer, trace, here.depth(answer.uncertain))

    def _kind(self, number: int) -> str:
        return self.program.liveness.claims[number].claim.kind

    def _question(self, number: int, constraints: Sequence[Constraint]) -> RegionQuestion:
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
