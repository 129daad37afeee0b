"""Shrinking: a run that breaks a property is shortened to one that breaks the same property.

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
from kraftcheck.solvers.reference.interpreter import Broken, Integers, Move, Transition

GOALS = ("sometimes", "happens")
KINDS = ("always", "step", *GOALS)
"""Kinds of property that one run decides."""

FEW_INSTANCES = 64
"""Instances of an action that are too many to try each at every state."""

BUDGET = 8_000
"""Steps that shrinking may take by default."""


@frozen
class BrokenRun:
    """A run that breaks a property in its last state or step.

    Attributes:
        start: the state it begins in.
        transitions: its steps.
        broken: what it breaks.
    """

    start: Any
    transitions: tuple[Transition, ...]
    broken: Broken

    @property
    def moves(self) -> tuple[Move, ...]:
        """The action instances."""
        return tuple(transition.move for transition in self.transitions)


class _SpentError(Exception):
    """The budget is used up."""


@define
class _Shrinker:
    engine: Integers
    claim: str
    starts: Sequence[Any]
    best: BrokenRun
    budget: int
    _property: Property | None = field(init=False)

    def __attrs_post_init__(self) -> None:
        matches = [claim for claim in self.engine.of_kind(*KINDS) if claim.id == self.claim]
        self._property = matches[0] if matches else None

    def broken(self, transition: Transition | None, state: Any) -> Broken | None:
        """The violation of the claim, or witness of the goal, in a state and the step to it; None if there is none."""
        claim = self._property
        if claim is None:
            return self.engine.deadlock(state)
        on_step = claim.kind in ("step", "happens")
        if on_step and transition is None:
            return next((one for one in self.engine.broken(state, None) if one.claim == self.claim), None)
        failing = claim.failing(transition.step if on_step and transition is not None else state)
        is_goal = claim.kind in GOALS
        return Broken(claim.id, claim.kind, failing) if bool(failing) != is_goal else None

    def step(self, state: Any, move: Move) -> Transition | None:
        """The step, if it is enabled and stays within the domains."""
        self.budget -= 1
        if self.budget < 0:
            raise _SpentError
        if not self.engine.is_enabled(state, move):
            return None
        transition = self.engine.take(state, move)
        return transition if self.engine.field_outside(transition.step.after) is None else None

    def attempt(self, start: Any, moves: Sequence[Move]) -> BrokenRun | None:
        """The run of those moves that are enabled, up to where the claim breaks."""
        state, steps = start, list[Transition]()
        broken = self.broken(None, state)
        for move in moves:
            if broken is not None:
                break
            transition = self.step(state, move)
            if transition is not None:
                steps.append(transition)
                state = transition.step.after
                broken = self.broken(transition, state)
        return BrokenRun(start, tuple(steps), broken) if broken is not None else None

    def keep(self, run: BrokenRun | None, strictly: bool = True) -> bool:
        """Take a run over where it is shorter, or else no longer."""
        better = run is not None and len(run.transitions) < len(self.best.transitions) + (not strictly)
        if better and run is not None:
            self.best = run
        return better

    def leave_out(self) -> None:
        """Blocks of steps, long ones first, the last block first."""
        length = len(self.best.transitions) // 2
        while length > 0:
            for first in range(len(self.best.transitions) - length, -1, -1):
                moves = self.best.moves
                self.keep(self.attempt(self.best.start, (*moves[:first], *moves[first + length :])))
            length = min(length, len(self.best.transitions)) // 2 if length > 1 else 0

    def cut_across(self) -> None:
        """A step from each state to the latest state of the run that one step reaches."""
        first = 0
        while first < len(self.best.transitions):
            states = [self.best.start, *(transition.step.after for transition in self.best.transitions)]
            later = {state: number for number, state in enumerate(states) if number > first + 1}
            for move in self._small_actions():
                shortcut = self.step(states[first], move)
                if shortcut is not None and shortcut.step.after in later:
                    moves = self.best.moves
                    rest = moves[later[shortcut.step.after] :]
                    if self.keep(self.attempt(self.best.start, (*moves[:first], move, *rest))):
                        break
            first += 1

    def _small_actions(self) -> list[Move]:
        """The instances of actions that have few."""
        counts = [(kind, self.engine.rows(kind)) for kind in range(len(self.engine.actions))]
        return [Move(kind, row) for kind, rows in counts if rows <= FEW_INSTANCES for row in range(rows)]

    def search(self, alphabet: Sequence[Move], share: int) -> None:
        """The shortest run of some moves, as far as a share of the budget goes."""
        stop = max(0, self.budget - share)
        parents: dict[Hashable, tuple[Any, Transition | None]] = dict.fromkeys((self.best.start,), (None, None))
        frontier = [self.best.start]
        for _ in range(len(self.best.transitions) - 1):
            after = []
            for state in frontier:
                for move in alphabet:
                    if self.budget <= stop:
                        return
                    transition = self.step(state, move)
                    if transition is None:
                        continue
                    broken = self.broken(transition, transition.step.after)
                    if broken is not None:
                        self.keep(BrokenRun(self.best.start, (*_path(parents, state), transition), broken))
                        return
                    if transition.step.after not in parents:
                        parents[transition.step.after] = (state, transition)
                        after.append(transition.step.after)
            frontier = after

    def alphabets(self) -> Iterator[list[Move]]:
        """The moves of the run; then every instance of its actions, where they are few."""
        own = list(dict.fromkeys(self.best.moves))
        yield own
        kinds = {move.action for move in own}
        yield [move for move in self._small_actions() if move.action in kinds]

    def lower(self) -> None:
        """Earlier initial states, and earlier rows of arguments, where the run gets no longer."""
        for start in self.starts:
            if start == self.best.start or self.keep(self.attempt(start, self.best.moves), strictly=False):
                break
        for position in range(len(self.best.transitions)):
            if position >= len(self.best.transitions):
                break
            move = self.best.moves[position]
            for row in range(min(move.row, 64)):
                moves = self.best.moves
                lowered = (*moves[:position], Move(move.action, row), *moves[position + 1 :])
                if self.keep(self.attempt(self.best.start, lowered), strictly=False):
                    break


def _path(parents: dict[Hashable, tuple[Any, Transition | None]], state: Any) -> tuple[Transition, ...]:
    steps: list[Transition] = []
    while (entry := parents[state])[1] is not None:
        steps.append(entry[1])
        state = entry[0]
    return tuple(reversed(steps))


def shrink(
    engine: Integers, start: Any, moves: Sequence[Move], claim: str, starts: Sequence[Any] = (), budget: int = BUDGET
) -> BrokenRun:
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
    if claim != DEADLOCK and claim not in {claim_.id for claim_ in engine.of_kind(*KINDS)}:
        raise ValueError(f"{engine.system.name} has no safety property or goal {claim!r}")
    replay = _Shrinker(engine, claim, tuple(starts), BrokenRun(start, (), Broken(claim, "", ())), len(moves) + 1)
    run = replay.attempt(start, moves)
    if run is None:
        raise ValueError(f"the run does not break {claim}")
    shrinker = _Shrinker(engine, claim, tuple(starts) or engine.initial, run, budget)
    try:
        before = -1
        while before != len(shrinker.best.transitions):
            before = len(shrinker.best.transitions)
            shrinker.leave_out()
            shrinker.cut_across()
            for alphabet in shrinker.alphabets():
                shrinker.search(alphabet, shrinker.budget // 2)
            shrinker.lower()
    except _SpentError:
        pass
    return shrinker.best
