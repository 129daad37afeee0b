"""The interpreter: a system at a setting, run step by step on Python ints; nothing is packed or compiled.

It goes where no layout fits: the bounds of its setting may be those of
`System.unlimited_setting`. Every other engine is judged by the same functions of the
system, on ints too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from attrs import define, field, frozen

from kraftcheck.model.language.layout import Domain, Flag, Layout, Range, cap_of, leaves, rebuild
from kraftcheck.model.language.symbolic import UntraceableRule
from kraftcheck.model.language.system import Action, Property, Setting, Step, System
from kraftcheck.model.language.terms import Graph
from kraftcheck.model.language.words import all_of
from kraftcheck.solvers.program.parts import check_names
from kraftcheck.solvers.program.starts import initial_states
from kraftcheck.solvers.program.trace import constrained
from kraftcheck.solvers.program.verdict import DEADLOCK, Trace, TraceStep, start_parts

GUARDS_TRIED = 16  # instances of an action whose guards are cheaper to try than to trace


@frozen
class Move:
    """An action instance: which action, and the row of its argument table."""

    action: int  # position among the actions of the system
    row: int  # position in the product of the argument values, the last argument running fastest


@frozen
class Transition:
    """A step that was taken."""

    move: Move  # which
    step: Step  # what properties see

    def trace_step(self) -> TraceStep:
        """The step as traces have it."""
        s = self.step
        return TraceStep(s.action, s.arguments, s.after, s.event)


@frozen
class BrokenProperty:
    """A property that does not hold."""

    claim: str  # its id
    kind: str  # `always`, `step` or `deadlock`
    failing: tuple[str, ...]  # names of its conjuncts that are false


@frozen
class Integers:
    """A system at a setting, with its parts read once."""

    # system, setting: what is run
    system: System
    setting: Setting
    actions: tuple[Action, ...] = field(init=False)  # its actions
    initial: Sequence[Any] = field(init=False)  # its initial states
    properties: tuple[Property, ...] = field(init=False)  # its properties of every kind
    domains: tuple[tuple[str, Domain], ...] = field(init=False)  # path and domain of each leaf of a state
    layout: Layout = field(init=False, repr=False)  # which knows the names of values
    _shapes: tuple[Mapping[str, Any], ...] = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        """Ask the system for its parts."""
        system, setting = constrained(self.system), self.setting
        actions = tuple(system.actions(setting))
        check_names("actions", ((action.name, action.effect) for action in actions))
        parts = {
            "actions": actions,
            "initial": initial_states(system, setting),
            "properties": tuple(system.properties(setting)),
            "domains": tuple(leaves(system.layout(setting))),
            "layout": Layout(system.layout(setting), packed=False),
            "_shapes": tuple({name: _spanned(of) for name, of in action.parameters.items()} for action in actions),
        }
        for name, value in parts.items():
            object.__setattr__(self, name, value)
        check_names("properties", ((claim.id, claim.predicate) for claim in self.properties))

    def of_kind(self, *kinds: str) -> tuple[Property, ...]:
        """The properties of some kinds."""
        return tuple(claim for claim in self.properties if claim.kind in kinds)

    def rows(self, action: int) -> int:
        """Number of instances of an action."""
        return math.prod(len(values) for values in self.actions[action].parameters.values())

    def arguments(self, move: Move) -> dict[str, Any]:
        """The argument values of an instance."""
        rest, chosen = move.row, dict[str, Any]()
        for name, values in reversed(list(self.actions[move.action].parameters.items())):
            rest, position = divmod(rest, len(values))
            chosen[name] = values[position]
        return dict(reversed(list(chosen.items())))

    def is_enabled(self, state: Any, move: Move) -> bool:
        """Whether the guard of an instance holds."""
        return bool(self.actions[move.action].enabled(state, self.arguments(move)))

    def first_enabled(self, state: Any, action: int, choice: int = 0) -> Move | None:
        """The first enabled instance of an action in the order that a choice stands for; None where none is."""
        rows = self.rows(action)
        if rows > GUARDS_TRIED and self._is_disabled(state, action):
            return None
        moves = (Move(action, row) for row in permutation(rows, choice))
        return next((move for move in moves if self.is_enabled(state, move)), None)

    def _is_disabled(self, state: Any, action: int) -> bool:
        """Whether a conjunct of the guard is false whatever the arguments: asked once, with symbolic arguments."""
        graph = Graph()
        arguments = {name: _symbolic(graph, shape) for name, shape in self._shapes[action].items()}
        try:
            parts = self.actions[action].guards(state, arguments)
        except UntraceableRule:
            return False
        return any(part is False for part in parts.values())

    def enabled(self, state: Any) -> Iterator[Move]:
        """Every enabled instance, in order."""
        moves = (Move(action, row) for action in range(len(self.actions)) for row in range(self.rows(action)))
        return (move for move in moves if self.is_enabled(state, move))

    def take(self, state: Any, move: Move) -> Transition:
        """The step of an instance, whether or not its guard holds."""
        action, arguments = self.actions[move.action], self.arguments(move)
        outcome = action.outcome(state, arguments)
        return Transition(move, Step(state, self.layout.named(outcome.state), action.name, arguments, outcome.event))

    def field_outside(self, state: Any) -> str | None:
        """The first field that is outside its domain, None where all are within: explorers cut such a step."""
        return next((path or "(state)" for path, _, _ in self._stray(state)), None)

    def domain_fault(self, state: Any) -> str | None:
        """The first field outside its domain where no cap is declared, with its value; None where there is none."""
        faults = (
            f"{self.layout.name(path)} = {value} is outside its domain {domain.lo}..{domain.hi}"
            for path, value, domain in self._stray(state) if value < domain.lo or not cap_of(domain)
        )  # fmt: skip
        return next(faults, None)

    def _stray(self, state: Any) -> Iterator[tuple[str, int, Domain]]:
        """The fields that are outside their domain."""
        for (path, value), (_, domain) in zip(leaves(state), self.domains, strict=True):
            if not domain.lo <= value <= domain.hi:
                yield path, value, domain

    def move_of(self, action: str, arguments: Mapping[str, Any]) -> Move | None:
        """The instance with this name and these argument values; None where there is none."""
        for number, candidate in enumerate(self.actions):
            if candidate.name == action and candidate.parameters.keys() == arguments.keys():
                row = 0
                for name, values in candidate.parameters.items():
                    if arguments[name] not in values:
                        break
                    row = row * len(values) + list(values).index(arguments[name])
                else:
                    return Move(number, row)
        return None

    def broken(self, state: Any, step: Step | None) -> list[BrokenProperty]:
        """The safety properties that a state, and the step that led to it, break."""
        broken = []
        for claim in self.of_kind("always", "step"):
            parts = claim.parts(state) if claim.kind == "always" else self._parts(claim, state, step)
            failing = tuple(name for name, part in parts.items() if not part)
            if failing:
                broken.append(BrokenProperty(claim.id, claim.kind, failing))
        return broken

    def _parts(self, claim: Property, state: Any, step: Step | None) -> Mapping[str, Any]:
        """What a step property claims of a step, or of the initial state that no step led to."""
        if step is not None:
            return claim.parts(step)
        return start_parts(claim, state) if claim.initially is not None and state in self.initial else {}

    def reached_goals(self, state: Any, step: Step | None) -> list[str]:
        """The goals that a state, and the step that led to it, show."""
        goals = self.of_kind("sometimes", "happens")
        subjects = [(claim, step if claim.kind == "happens" else state) for claim in goals]
        return [claim.id for claim, subject in subjects if subject is not None and claim.holds(subject)]

    def may_rest(self, state: Any) -> bool:
        """Whether a state may have no successor."""
        quiescent = constrained(self.system).quiescent
        return quiescent is not None and bool(all_of(quiescent(state)))

    def deadlock(self, state: Any) -> BrokenProperty | None:
        """The deadlock of a state without an enabled instance, unless it is quiescent."""
        if self.may_rest(state) or next(self.enabled(state), None) is not None:
            return None
        return BrokenProperty(DEADLOCK, DEADLOCK, ())


def _spanned(values: Sequence[Any]) -> Any:
    """A value of the same shape whose leaves are the domains that all the values span."""
    columns = zip(*([leaf for _, leaf in leaves(value)] for value in values), strict=True)
    domains = iter([Flag() if isinstance(c[0], bool) else Range(min(c), max(c)) for c in columns])
    return rebuild(values[0], lambda: next(domains)) if values else ()


def _symbolic(graph: Graph, shape: Any) -> Any:
    """The shape with a variable for each domain."""
    variables = iter(
        [
            graph.truth_variable(path) if isinstance(domain, Flag) else graph.variable(path, domain.lo, domain.hi)
            for path, domain in leaves(shape)
        ]
    )
    return rebuild(shape, lambda: next(variables))


def permutation(count: int, choice: int) -> Iterator[int]:
    """The numbers 0..count-1 in one of many orders, the natural one for 0.

    The orders are the lines n -> a + b n modulo a prime: over all choices each
    of some of the numbers comes before the others about equally often.

    >>> list(permutation(4, 0)), list(permutation(4, 13))
    ([0, 1, 2, 3], [3, 1, 2, 0])
    """
    prime = next(p for p in itertools.count(max(2, count)) if all(p % d for d in range(2, math.isqrt(p) + 1)))
    step, start = divmod(choice, prime)
    step = 1 + step % max(1, prime - 1)
    return (n for n in ((start + step * i) % prime for i in range(prime)) if n < count)


def trace_of(initial: Any, transitions: Sequence[Transition], broken: BrokenProperty) -> Trace:
    """A run as a trace of what it breaks."""
    steps = tuple(transition.trace_step() for transition in transitions)
    return Trace(initial, steps, broken.claim, broken.kind, broken.failing)


GOALS = ("sometimes", "happens")
KINDS = ("always", "step", *GOALS)  # kinds of property that one run decides
FEW_INSTANCES = 64  # instances of an action that are too many to try each at every state
BUDGET = 8_000  # steps that shrinking may take by default


@frozen
class BrokenRun:
    """A run that breaks a property in its last state or step."""

    start: Any  # the state it begins in
    transitions: tuple[Transition, ...]  # its steps
    broken: BrokenProperty  # what it breaks

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

    def broken(self, transition: Transition | None, state: Any) -> BrokenProperty | None:
        """The violation of the claim, or witness of the goal, in a state and the step to it; None if there is none."""
        claim = self._property
        if claim is None:
            return self.engine.deadlock(state)
        on_step = claim.kind in ("step", "happens")
        if on_step and transition is None:
            return next((one for one in self.engine.broken(state, None) if one.claim == self.claim), None)
        failing = claim.failing(transition.step if on_step and transition is not None else state)
        is_goal = claim.kind in GOALS
        return BrokenProperty(claim.id, claim.kind, failing) if bool(failing) != is_goal else None

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
    replay = _Shrinker(
        engine, claim, tuple(starts), BrokenRun(start, (), BrokenProperty(claim, "", ())), len(moves) + 1
    )
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
