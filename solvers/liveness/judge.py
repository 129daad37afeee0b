"""Verdicts on liveness properties: the fair behaviours of what a search visited."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define, field, frozen

from kraftcheck.solvers.liveness.behaviours import Behaviours, BehavioursAnswer, Lasso, Question
from kraftcheck.solvers.liveness.constraints import GROUP, TO_VISIT, Constraint, classes_of, groups_of
from kraftcheck.solvers.liveness.fair import LEAST_ROOM, StoppedError, SweepControl, Sweeps
from kraftcheck.solvers.liveness.graph import ExploredSpace, Region, Space, Truths
from kraftcheck.solvers.machine_code.graph_kernels import OUTSIDE, kind_bit, truth_words
from kraftcheck.solvers.program.program import LivenessClaim, Program
from kraftcheck.solvers.program.stop import is_stop, stop_reason
from kraftcheck.solvers.program.verdict import (
    Holds,
    Incomplete,
    PropertyVerdict,
    Refuted,
    Trace,
    Unknown,
    Vacuous,
    Verdict,
)
from kraftcheck.solvers.reference.confirm import confirm_lasso
from kraftcheck.solvers.search.levels import FIRST_VIOLATION, Search

LEAST_EDGES = 16 << 20  # bytes that liveness may take however small the space is, within the limit of memory
SHARE = 0.5  # the share of a search's memory that liveness may take besides it; edges beyond it are computed again


@frozen
class LivenessFinding:
    """The result of the liveness search for one property."""

    answer: BehavioursAnswer  # in numbers of states
    trace: Trace | None  # the lasso, confirmed on ints; None: there is none
    # the depth of the shallowest state that waits, and whose behaviours may leave the bounds; None: none
    uncertain: int | None


@frozen
class Liveness:
    """The outcome of a liveness search."""

    # one for each liveness property; None: it did not take place, or not to its end
    findings: tuple[LivenessFinding, ...] | None
    reason: str = "this engine does not judge fair behaviours; explore with the native one"
    sweeps: int = 0  # how often it swept over states
    seconds: float = 0.0
    memory: int = 0  # most bytes in use at once, what the search had visited among it


NO_LIVENESS_SEARCH = Liveness(None)  # nothing was searched for fair behaviours

SYMMETRIC = Liveness(
    None,
    "states that differ by names alone were explored once, which fairness does not allow for; explore all of them, "
    "with --symmetry off",
)
"""What symmetry leaves open."""


def search_liveness(
    search: Search, report: Callable[[Search, int, int], None], clock: Callable[[], float], scratch: Path | None = None
) -> Liveness:
    """Search what a search visited for fair behaviours, unless there is no need or it was to end early.

    A stop on the way cuts the search. `scratch` is a folder for a file of edges that have no room in memory.

    Raises:
        EngineDisagreement: when ints do not confirm a lasso.
    """
    program = search.kernel.program
    if not program.liveness.claims or is_stop(search.cut) or search.cut == FIRST_VIOLATION:
        return NO_LIVENESS_SEARCH
    if program.reduction is not None:
        return SYMMETRIC
    start, used = clock(), search.bytes_in_use()
    search.release()
    left = search.store.bytes_in_use()
    room = min(search.limits.memory - left, max(LEAST_EDGES, int(used * (1 + SHARE)) - left))
    space = ExploredSpace(search.kernel, search.store)
    control = SweepControl(search.threads, search.stop, functools.partial(report, search), scratch=scratch)
    findings, memory = [], 0
    try:
        for number in range(len(program.liveness.claims)):
            claim = ClaimSearch(program, number, space, control, room, spare=search.limits.memory - left - room)
            findings.append(claim.finding())
            memory = max(memory, left + claim.nbytes)
    except StoppedError:
        search.cut = stop_reason(search.stop)
        return Liveness(None)
    return Liveness(tuple(findings), "", control.sweeps, clock() - start, memory)


@define
class ClaimSearch:
    """The search for what breaks one property of a program."""

    program: Program
    number: int
    space: Space
    control: SweepControl
    room: int  # bytes that it may take for edges, with what it needs for each state
    spare: int  # bytes beyond these that are left
    nbytes: int = 0
    _claim: LivenessClaim = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Look the property up."""
        self._claim = self.program.liveness.claims[self.number]

    def finding(self) -> LivenessFinding:
        """The result."""
        region, concerned = self._region()
        edges = self.space.region(region, self.control.threads)
        constraints = constraints_of(self.program, self.number)
        kinds, classes = classes_of(constraints)
        groups = groups_of(constraints, classes, edges.count)
        each = 2 + 2 * sum(group.enabled.itemsize for group in groups)  # marks, what is enabled, kept, waiting
        own = edges.nbytes + edges.count * each + region.nbytes
        self.control.budget, self.control.stored = max(0, self.room - own), 0
        self.control.spare = max(0, min(self.spare, LEAST_ROOM))
        del region
        sweeps = Sweeps(edges, kinds, groups, self.control)
        waiting = self._note_truths(edges, sweeps)
        answer = Behaviours(edges, sweeps).answer(Question(self._claim.claim.kind, concerned, waiting))
        self.nbytes = own + self.control.stored
        trace = None if answer.lasso is None else self._trace(edges, answer.lasso)
        first = int(np.argmax(answer.uncertain)) if answer.uncertain.any() else None
        depth = None if first is None else int(np.searchsorted(edges.levels, first, side="right")) - 1
        return LivenessFinding(answer, trace, depth)

    def _region(self) -> tuple[Truths, int]:
        """Where a behaviour that breaks the property stays in the end, and of how many states the property is."""
        region, concerned = np.empty(self.space.count, dtype=np.bool_), 0
        for states, rows in self.space.truths(truth_words(self.program)):
            region[states] = self._everywhere | ~bits_of(rows, 2 * self.number + 1)
            concerned += int(np.count_nonzero(self._concerned(states, rows)))
        return region, concerned

    @property
    def _everywhere(self) -> bool:
        return self._claim.claim.kind == "eventually_always"

    def _concerned(self, states: slice, rows: Any) -> Truths:
        """The states where a wait for the goal may begin."""
        if self._claim.claim.kind == "eventually":
            return self.space.initial(states)
        return bits_of(rows, 2 * self.number)

    def _note_truths(self, edges: Region, sweeps: Sweeps) -> Truths:
        """Note where constraints are excused; the states of the region that wait for the goal."""
        edges.enter()
        waiting, excuses = np.zeros(edges.count, dtype=np.bool_), 2 * len(self.program.liveness.claims)
        for states, rows in self.space.truths(truth_words(self.program)):
            inside = self.space.places[states] != OUTSIDE
            places, own = self.space.places[states][inside], rows[inside]
            unsatisfied = ~bits_of(own, 2 * self.number + 1)
            waiting[places] = self._concerned(states, rows)[inside] & unsatisfied
            for position, constraint in enumerate((*self._claim.constraints, *([-1] if self._everywhere else []))):
                excused = unsatisfied if constraint < 0 else bits_of(own, excuses + constraint)
                group = sweeps.groups[position // GROUP]
                group.enabled[places] &= ~(excused.astype(group.enabled.dtype) << position % GROUP)
        return waiting

    def _trace(self, edges: Region, lasso: Lasso) -> Trace:
        """The lasso as a trace, confirmed on ints."""
        edges.enter()
        run = self.space.store.run_to(int(edges.identities(lasso.entry, lasso.entry + 1)[0]))
        instances = (*run.instances, *lasso.way, *lasso.cycle)
        return confirm_lasso(self.program, self._claim.claim, run.initial, instances, len(instances) - len(lasso.cycle))


def constraints_of(program: Program, number: int) -> list[Constraint]:
    """What a behaviour satisfies that breaks a property, by its number."""
    claim = program.liveness.claims[number]
    owner = [number for number, kind in enumerate(program.kinds) for _ in kind.instances]
    constraints = [
        Constraint(one.strong, one.instances, sum({kind_bit(owner[number]) for number in one.instances}))
        for one in (program.liveness.constraints[number] for number in claim.constraints)
    ]
    return [*constraints, TO_VISIT] if claim.claim.kind == "eventually_always" else constraints


def bits_of(rows: Any, column: int) -> Truths:
    """One truth of every state, of rows of 64-bit words."""
    bits: Truths = (rows[:, column // 64] >> np.uint64(column % 64) & np.uint64(1)).astype(np.bool_)
    return bits


def liveness_verdicts(program: Program, liveness: Liveness, bound: str, cut: str | None) -> Iterator[PropertyVerdict]:
    """The verdicts on the liveness properties."""
    for number, live in enumerate(program.liveness.claims):
        finding = None if liveness.findings is None else liveness.findings[number]
        verdict: Verdict
        if finding is not None and finding.trace is not None:
            verdict = Refuted(finding.trace)  # a lasso among visited states is one, also where the search was cut
        elif cut is not None:
            verdict = Incomplete(cut)
        elif finding is None:
            verdict = Unknown(liveness.reason)
        else:
            verdict = _unrefuted(program, number, finding, bound)
        depth = len(verdict.trace.steps) if isinstance(verdict, Refuted) else None
        yield PropertyVerdict(live.claim.id, live.claim.kind, verdict, depth)


def _unrefuted(program: Program, number: int, finding: LivenessFinding, bound: str) -> Verdict:
    """The verdict where every state was explored and no fair behaviour breaks the property."""
    live = program.liveness.claims[number]
    if not finding.answer.concerned:
        return Vacuous(live.claim.id, "its premise holds in no reachable state")
    if not finding.answer.waiting:
        return Vacuous(live.claim.id, "no reachable state has to wait for it")
    if finding.uncertain is not None:
        where = f"a behaviour from a state at depth {finding.uncertain}"
        return Unknown(f"{where} may leave the bounds before it satisfies it")
    fair = ", ".join(program.liveness.constraints[one].steps.name for one in live.constraints)
    return Holds(f"{bound}; every behaviour that satisfies {fair}" if fair else f"{bound}; every behaviour")
