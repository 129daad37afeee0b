"""Shorter runs that break the same property: what is shown after a random run found it.

Runs are shortened on ints, by the rules themselves:

* steps are left out, in blocks first (delta debugging: Zeller and Hildebrandt,
  TSE 2002); a later step that is no longer enabled is left out too;
* where one enabled step leads to a later state of the run, it replaces those between;
* a breadth-first search tries the steps of the run in every order, then those
  with other arguments, of actions that have few: it is what finds a way that is no part of the run;
* initial states, and arguments, are lowered to earlier ones where the run stays as short.

Every attempt costs steps of a budget, so the time is bounded; no result is longer.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from attrs import define, field, frozen

from kraftcheck.model.language.system import Property
from kraftcheck.solvers.program.verdict import DEADLOCK
from kraftcheck.solvers.reference.interpreter import Broken, Integers, Move, Taken

GOALS = ("sometimes", "happens")
KINDS = ("always", "step", *GOALS)
"""Kinds of property that one run decides."""

MANY = 64
"""Instances of an action that are too many to try each at every state."""

BUDGET = 8_000
"""Steps that shrinking may take by default."""


@frozen
class Run:
    """A run that breaks a property in its last state or step.

    Attributes:
        start: the state it begins in.
        taken: its steps.
        broken: what it breaks.
    """

    start: Any
    taken: tuple[Taken, ...]
    broken: Broken

    @property
    def moves(self) -> tuple[Move, ...]:
        """The action instances."""
        return tuple(one.move for one in self.taken)


class _SpentError(Exception):
    """The budget is used up."""


@define
class _Shrinker:
    engine: Integers
    claim: str
    starts: tuple[Any, ...]
    best: Run
    left: int
    _property: Property | None = field(init=False)

    def __attrs_post_init__(self) -> None:
        found = [one for one in self.engine.of_kind(*KINDS) if one.id == self.claim]
        self._property = found[0] if found else None

    def broken(self, taken: Taken | None, state: Any) -> Broken | None:
        """What a state and the step to it break of the claim, or show of a goal."""
        claim = self._property
        if claim is None:
            return self.engine.stuck(state)
        on_step = claim.kind in ("step", "happens")
        if on_step and taken is None:
            return None
        parts = claim.parts(taken.step if on_step and taken is not None else state)
        failing = tuple(name for name, part in parts.items() if not part)
        wanted = claim.kind in GOALS
        return Broken(claim.id, claim.kind, failing) if bool(failing) != wanted else None

    def step(self, state: Any, move: Move) -> Taken | None:
        """The step, if it is enabled and stays within the domains."""
        self.left -= 1
        if self.left < 0:
            raise _SpentError
        if not self.engine.is_enabled(state, move):
            return None
        taken = self.engine.take(state, move)
        return taken if self.engine.outside(taken.step.after) is None else None

    def attempt(self, start: Any, moves: Sequence[Move]) -> Run | None:
        """The run of those moves that are enabled, up to where the claim breaks."""
        state, steps = start, list[Taken]()
        found = self.broken(None, state)
        for move in moves:
            if found is not None:
                break
            taken = self.step(state, move)
            if taken is not None:
                steps.append(taken)
                state = taken.step.after
                found = self.broken(taken, state)
        return Run(start, tuple(steps), found) if found is not None else None

    def keep(self, run: Run | None, strictly: bool = True) -> bool:
        """Take a run over where it is shorter, or else no longer."""
        better = run is not None and len(run.taken) < len(self.best.taken) + (not strictly)
        if better and run is not None:
            self.best = run
        return better

    def leave_out(self) -> None:
        """Blocks of steps, long ones first, the last block first."""
        length = len(self.best.taken) // 2
        while length > 0:
            for first in range(len(self.best.taken) - length, -1, -1):
                moves = self.best.moves
                self.keep(self.attempt(self.best.start, (*moves[:first], *moves[first + length :])))
            length = min(length, len(self.best.taken)) // 2 if length > 1 else 0

    def cut_across(self) -> None:
        """A step from each state to the latest state of the run that one step reaches."""
        first = 0
        while first < len(self.best.taken):
            states = [self.best.start, *(one.step.after for one in self.best.taken)]
            later = {state: number for number, state in enumerate(states) if number > first + 1}
            for move in self._few():
                taken = self.step(states[first], move)
                if taken is not None and taken.step.after in later:
                    moves = self.best.moves
                    rest = moves[later[taken.step.after] :]
                    if self.keep(self.attempt(self.best.start, (*moves[:first], move, *rest))):
                        break
            first += 1

    def _few(self) -> list[Move]:
        """The instances of actions that have few."""
        counts = [(kind, self.engine.rows(kind)) for kind in range(len(self.engine.actions))]
        return [Move(kind, row) for kind, rows in counts if rows <= MANY for row in range(rows)]

    def search(self, alphabet: Sequence[Move], share: int) -> None:
        """The shortest run of some moves, as far as a share of the budget goes."""
        stop = max(0, self.left - share)
        known: dict[Hashable, tuple[Any, Taken | None]] = dict.fromkeys((self.best.start,), (None, None))
        frontier = [self.best.start]
        for _ in range(len(self.best.taken) - 1):
            after = []
            for state in frontier:
                for move in alphabet:
                    if self.left <= stop:
                        return
                    taken = self.step(state, move)
                    if taken is None:
                        continue
                    found = self.broken(taken, taken.step.after)
                    if found is not None:
                        self.keep(Run(self.best.start, (*_path(known, state), taken), found))
                        return
                    if taken.step.after not in known:
                        known[taken.step.after] = (state, taken)
                        after.append(taken.step.after)
            frontier = after

    def alphabets(self) -> Iterator[list[Move]]:
        """The moves of the run; then every instance of its actions, where they are few."""
        own = list(dict.fromkeys(self.best.moves))
        yield own
        kinds = {move.action for move in own}
        yield [move for move in self._few() if move.action in kinds]

    def lower(self) -> None:
        """Earlier initial states, and earlier rows of arguments, where the run gets no longer."""
        for start in self.starts:
            if start == self.best.start or self.keep(self.attempt(start, self.best.moves), strictly=False):
                break
        for position in range(len(self.best.taken)):
            if position >= len(self.best.taken):
                break
            move = self.best.moves[position]
            for row in range(min(move.row, 64)):
                moves = self.best.moves
                lowered = (*moves[:position], Move(move.action, row), *moves[position + 1 :])
                if self.keep(self.attempt(self.best.start, lowered), strictly=False):
                    break


def _path(known: dict[Hashable, tuple[Any, Taken | None]], state: Any) -> tuple[Taken, ...]:
    steps: list[Taken] = []
    while (entry := known[state])[1] is not None:
        steps.append(entry[1])
        state = entry[0]
    return tuple(reversed(steps))


def shrink(
    engine: Integers, start: Any, moves: Sequence[Move], claim: str, starts: Sequence[Any] = (), budget: int = BUDGET
) -> Run:
    """A run that breaks the claim, no longer than the one given, and usually much shorter.

    Args:
        engine: the system on ints.
        start, moves: the run; moves that are not enabled are passed over.
        claim: id of a safety property, of a goal (then the run shows it), or `DEADLOCK`.
        starts: states that a run may begin in; the initial states by default.
        budget: steps that may be tried.

    Raises:
        ValueError: when the run does not break the claim.
    """
    if claim != DEADLOCK and claim not in {one.id for one in engine.of_kind(*KINDS)}:
        raise ValueError(f"{engine.system.name} has no safety property or goal {claim!r}")
    whole = _Shrinker(engine, claim, tuple(starts), Run(start, (), Broken(claim, "", ())), len(moves) + 1)
    found = whole.attempt(start, moves)
    if found is None:
        raise ValueError(f"the run does not break {claim}")
    work = _Shrinker(engine, claim, tuple(starts) or engine.initial, found, budget)
    try:
        before = -1
        while before != len(work.best.taken):
            before = len(work.best.taken)
            work.leave_out()
            work.cut_across()
            for alphabet in work.alphabets():
                work.search(alphabet, work.left // 2)
            work.lower()
    except _SpentError:
        pass
    return work.best
