"""Suspected lassos: walks that come back to a state, or could stay in one, while a liveness property waits.

A walk is a finite run, and most of what it does is not fair. So only the beginnings of the first runs are looked at, on
ints: of each liveness property the first lasso among them is shown, shortened. That none is suspected says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from attrs import define, evolve, field

from kraftcheck.model.language.system import Property
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import TraceStep
from kraftcheck.solvers.reference.confirm import run
from kraftcheck.solvers.reference.lasso import NoCounterexample, lasso_trace
from kraftcheck.solvers.traces.cycles import repeated_text
from kraftcheck.solvers.traces.path import PackedRun
from kraftcheck.solvers.traces.render import minimise
from kraftcheck.solvers.walks.walks import Suspect, WalkedRun, Walks

LASSOS_TRIED = 60
"""Lassos of one property that are tried on ints, each in milliseconds."""


def with_suspects(walks: Walks, runs: Sequence[PackedRun] = ()) -> Walks:
    """The walks with the lassos that they seem to have gone through, one at most for each liveness property.

    Args:
        walks: what was walked.
        runs: to states that runs may have begun in, besides the initial ones.
    """
    program = walks.program
    searches = [_Search(program, live.claim) for live in program.liveness.claims]
    for walked in walks.sampled:
        waiting = [search for search in searches if search.suspect is None]
        if waiting:
            whole = _whole(walked, runs)
            first, steps = run(program, whole.initial, whole.instances)
        for search in waiting:
            search.look(walked.run, whole, first, steps)
    return evolve(walks, suspects=tuple(one.suspect for one in searches if one.suspect is not None))


def _whole(walked: WalkedRun, runs: Sequence[PackedRun]) -> PackedRun:
    """A run from an initial state on."""
    before = next((one for one in runs if one.end == walked.start), PackedRun(walked.start, (), walked.start))
    return PackedRun(before.initial, (*before.instances, *walked.instances), ())


def unknown_text(suspect: Suspect | None, size: str) -> str:
    """Why a liveness property is unknown after walks of some size, and where one is suspected to break it."""
    if suspect is None:
        return f"{size} say nothing of fair behaviours"
    loop = suspect.trace.loop
    assert loop is not None, suspect
    repeated = repeated_text(loop.start, len(suspect.trace.steps))
    return f"{size} do not judge fair behaviours; run {suspect.run} seems to break it, for ever: {repeated}"


@define
class _Search:
    """The search for a lasso that breaks one property.

    Attributes:
        program, claim: the property.
        suspect: the first one.
        tried: lassos tried on ints.
    """

    program: Program
    claim: Property
    suspect: Suspect | None = None
    tried: int = 0
    _halts: set[Any] = field(factory=set)

    def look(self, number: int, whole: PackedRun, first: Any, steps: Sequence[TraceStep]) -> None:
        """Look for a lasso in a run.

        Args:
            number: of the run.
            whole: the run, from an initial state on.
            first, steps: the same on ints.
        """
        states = [first, *(step.state for step in steps)]
        for start, end in self._candidates(states):
            if self.tried == LASSOS_TRIED:
                return
            self.tried += 1
            if self._breaks(first, steps[:end], start):
                trace = minimise(self.program, self.claim, whole.initial, whole.instances[:end], start)
                self.suspect = Suspect(number, end, trace)
                return

    def _breaks(self, first: Any, steps: Sequence[TraceStep], start: int) -> bool:
        try:
            lasso_trace(self.program, self.claim, first, steps, start)
        except NoCounterexample:
            return False
        return True

    def _candidates(self, states: Sequence[Any]) -> Iterator[tuple[int, int]]:
        """Where cycles may begin and end: of each part of the run without the goal the longest, then places to stay."""
        goal = [bool(self.claim.holds(state)) for state in states]
        anywhere = self.claim.kind == "eventually_always"
        parts = [range(len(states))] if anywhere else list(_stretches(goal))
        for part in parts:
            seen: dict[Any, int] = {}
            pairs = [(seen.setdefault(states[n], n), n) for n in part]
            start, end = max(pairs, key=lambda pair: pair[1] - pair[0])
            if start < end:
                yield start, end
        for part in parts:
            for number in part:
                if not goal[number] and states[number] not in self._halts:
                    self._halts.add(states[number])
                    yield number, number


def _stretches(goal: Sequence[bool]) -> Iterator[range]:
    """The longest stretches of a run in which the goal is false."""
    begin = None
    for number, holds in enumerate([*goal, True]):
        if not holds and begin is None:
            begin = number
        if holds and begin is not None:
            yield range(begin, number)
            begin = None
