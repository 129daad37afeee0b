"""The interpreter: a system at a setting, run step by step on Python ints; nothing is packed or compiled.

It goes where no layout fits: the bounds of its setting may be those of
`System.unlimited_setting`. Every other engine is judged by the same functions of the
system, on ints too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from kraftcheck.model.language.layout import Domain, Flag, Range, cap_of, leaves, rebuild
from kraftcheck.model.language.packing import Layout
from kraftcheck.model.language.system import Action, Property, Setting, Step, System
from kraftcheck.model.language.terms import Graph
from kraftcheck.model.language.untraceable import UntraceableRule
from kraftcheck.model.language.words import all_of
from kraftcheck.solvers.program.answers import start_parts
from kraftcheck.solvers.program.parts import check_distinct
from kraftcheck.solvers.program.pruning import constrained
from kraftcheck.solvers.program.starts import initial_states
from kraftcheck.solvers.program.verdict import DEADLOCK, Trace, TraceStep

GUARDS_TRIED = 16
"""Instances of an action whose guards are cheaper to try than to trace."""


@frozen
class Move:
    """An action instance: which action, and the row of its argument table.

    Attributes:
        action: position among the actions of the system.
        row: position in the product of the argument values, the last argument running fastest.
    """

    action: int
    row: int


@frozen
class Transition:
    """A step that was taken.

    Attributes:
        move: which.
        step: what properties see.
    """

    move: Move
    step: Step

    def trace_step(self) -> TraceStep:
        """The step as traces have it."""
        s = self.step
        return TraceStep(s.action, s.arguments, s.after, s.event)


@frozen
class Broken:
    """A property that does not hold.

    Attributes:
        claim: its id.
        kind: `always`, `step` or `deadlock`.
        failing: names of its conjuncts that are false.
    """

    claim: str
    kind: str
    failing: tuple[str, ...]


@frozen
class Integers:
    """A system at a setting, with its parts read once.

    Attributes:
        system, setting: what is run.
        actions: its actions.
        initial: its initial states.
        properties: its properties of every kind.
        domains: path and domain of each leaf of a state.
    """

    system: System
    setting: Setting
    actions: tuple[Action, ...] = field(init=False)
    initial: Sequence[Any] = field(init=False)
    properties: tuple[Property, ...] = field(init=False)
    domains: tuple[tuple[str, Domain], ...] = field(init=False)
    _shapes: tuple[Mapping[str, Any], ...] = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        """Ask the system for its parts."""
        system, setting = constrained(self.system), self.setting
        actions = tuple(system.actions(setting))
        check_distinct("actions", ((action.name, action.effect) for action in actions))
        parts = {
            "actions": actions,
            "initial": initial_states(system, setting),
            "properties": tuple(system.properties(setting)),
            "domains": tuple(leaves(system.layout(setting))),
            "_shapes": tuple({name: _spanned(of) for name, of in action.parameters.items()} for action in actions),
        }
        for name, value in parts.items():
            object.__setattr__(self, name, value)
        check_distinct("properties", ((claim.id, claim.predicate) for claim in self.properties))

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
        return Transition(move, Step(state, outcome.state, action.name, arguments, outcome.event))

    def field_outside(self, state: Any) -> str | None:
        """The first field that is outside its domain, None where all are within: explorers cut such a step."""
        return next((path or "(state)" for path, _, _ in self._stray(state)), None)

    def domain_fault(self, state: Any) -> str | None:
        """The first field outside its domain where no cap is declared, with its value; None where there is none."""
        name = Layout(self.system.layout(self.setting), packed=False).name
        faults = (
            f"{name(path)} = {value} is outside its domain {domain.lo}..{domain.hi}"
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

    def broken(self, state: Any, step: Step | None) -> list[Broken]:
        """The safety properties that a state, and the step that led to it, break."""
        broken = []
        for claim in self.of_kind("always", "step"):
            parts = claim.parts(state) if claim.kind == "always" else self._parts(claim, state, step)
            failing = tuple(name for name, part in parts.items() if not part)
            if failing:
                broken.append(Broken(claim.id, claim.kind, failing))
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

    def deadlock(self, state: Any) -> Broken | None:
        """The deadlock of a state without an enabled instance, unless it is quiescent."""
        if self.may_rest(state) or next(self.enabled(state), None) is not None:
            return None
        return Broken(DEADLOCK, DEADLOCK, ())


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


def trace_of(initial: Any, transitions: Sequence[Transition], broken: Broken) -> Trace:
    """A run as a trace of what it breaks."""
    steps = tuple(transition.trace_step() for transition in transitions)
    return Trace(initial, steps, broken.claim, broken.kind, broken.failing)

