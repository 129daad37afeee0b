"""Comparison of a traced system with its rules on ints, in a sample of states.

Python lets no class answer `is` and `type()`: a rule that applies them to a word
gets another answer when it is traced than on ints. So the traced terms are
evaluated in some states of the layout, reachable or not, and compared with the
rules themselves. The states are all initial ones up to a few, the smallest and
the largest values, and values drawn from a hash, the same in every run.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kraftcheck.model.language.anynumber import Family
from kraftcheck.model.language.layout import Counter, Endless, Layout, leaves
from kraftcheck.model.language.system import UNNAMED, Property, Step
from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.program.evaluation import add_values
from kraftcheck.solvers.program.parts import SystemFault, line_of
from kraftcheck.solvers.program.program import Kind, Program
from kraftcheck.solvers.traces.render import show

RANDOM_STATES = 12
"""States drawn besides the smallest, the largest and the initial ones."""

STARTS = 4
"""Initial states looked at."""

ROWS = 3
"""Instances of each action looked at in a state."""

EACH = 4
"""Values of single arguments besides: in turn, so that in all states together those of a short list are all asked."""

RANDOM_LIMIT = 1 << 10
"""Values drawn of a word without bound."""


def check_sample(program: Program) -> None:
    """Compare a program with the rules that it was traced from.

    Sequences without end have no values to draw: a layout with one is left out.

    Raises:
        SystemFault: naming the part that answers otherwise on ints.
    """
    if any(isinstance(slot.domain, Endless) for slot in program.layout.slots):
        return
    for number, state in enumerate(_states(program)):
        _StateComparison(program, number, state).check()


def _states(program: Program) -> Iterator[tuple[int, ...]]:
    """The leaves of the sampled states."""
    domains = [slot.domain for slot in program.layout.slots]
    tops = [RANDOM_LIMIT if isinstance(d, Counter) else d.hi for d in domains]
    for packed in program.initial[:STARTS]:
        start = program.layout.values(program.layout.unpack(packed)) if program.layout.packed else packed
        if all(isinstance(leaf, int) for leaf in start):
            yield start
    yield tuple(domain.lo for domain in domains)
    yield tuple(tops)
    for number in range(RANDOM_STATES):
        spans = enumerate(zip(domains, tops, strict=True))
        yield tuple(domain.lo + _draw(number, place) % (top - domain.lo + 1) for place, (domain, top) in spans)


def _draw(*key: object) -> int:
    return int.from_bytes(hashlib.blake2b(repr(key).encode(), digest_size=8).digest(), "big")


class _StateComparison:
    """A state, on which terms and rules are compared; each term is evaluated once there, and once for each step."""

    def __init__(self, program: Program, number: int, values: Sequence[int]) -> None:
        self._program, self._number = program, number
        self._of_state = {term.index: int(value) for term, value in zip(program.state, values, strict=True)}
        self._values = self._of_state
        self._state = program.layout.state(values)

    def check(self) -> None:
        """Compare every rule."""
        program, state = self._program, self._state
        claims: list[tuple[Property, Term]] = [
            *zip(program.always, program.always_terms, strict=True),
            *zip(program.sometimes, program.sometimes_terms, strict=True),
            *((recovers.claim, recovers.goal) for recovers in program.recovers),
            *((live.claim, live.goal) for live in program.liveness.claims),
        ]
        for claim, term in claims:
            self._same(f"property {claim.id}", term, _holds(claim, state))
        for recovers in program.recovers:
            self._same(f"property {recovers.claim.id}, when", recovers.when, answered(recovers.claim.concerns, state))
        for live in program.liveness.claims:
            self._same(f"property {live.claim.id}, premise", live.premise, answered(live.claim.concerns, state))
        for fair in program.liveness.constraints:
            self._same(f"fairness {fair.steps.name}, unless", fair.excused, answered(fair.steps.excused, state))
        if program.system.quiescent is not None:
            self._same("quiescent", program.quiescent, answered(program.system.quiescent, state))
        for kind in program.kinds:
            for arguments in self._instances(kind):
                self._check_step(kind, arguments)

    def _instances(self, kind: Kind) -> Iterator[Mapping[str, Any]]:
        """Some argument values of an action; those of a family that is not listed are left out."""
        parameters = kind.action.parameters
        if kind.instances:
            rows = {_draw(self._number, place) % len(kind.instances) for place in range(ROWS)}
            yield from (kind.instances[row] for row in sorted(rows))
        elif not any(isinstance(values, Family) for values in parameters.values()):
            ends = ([*values[:1], *values[-1:]] for values in parameters.values())
            for row in itertools.islice(itertools.product(*ends), ROWS):
                yield dict(zip(parameters, row, strict=True))
        if parameters and not any(isinstance(values, Family) or not values for values in parameters.values()):
            first = {name: values[0] for name, values in parameters.items()}
            each = [{**first, name: value} for name, values in parameters.items() for value in values]
            for place in range(self._number * EACH, self._number * EACH + min(EACH, len(each))):
                yield each[place % len(each)]

    def _check_step(self, kind: Kind, arguments: Mapping[str, Any]) -> None:
        label, program, state = f"action {kind.action.name}", self._program, self._state
        values = [int(value) for _, value in leaves(tuple(arguments.values()))]
        given = {term.index: value for term, value in zip(kind.variables, values, strict=True)}
        self._values = self._of_state | given  # what follows from arguments is of this step alone
        guard = answered(kind.action.guards, state, arguments)
        for name, part in ({} if guard is None else guard).items():
            what = f"{label}, guard" if name == UNNAMED else f"{label}, guard {name}"
            self._same(what, kind.guard[name], part, kind.action.guard)
        outcome = answered(kind.action.outcome, state, arguments) if guard is not None and all(guard.values()) else None
        if outcome is None:
            return
        after = [value for _, value in leaves(outcome.state)]
        for slot, term, value in zip(program.layout.slots, kind.after, after, strict=True):
            self._same(f"{label}, effect on {slot.path or 'the state'}", term, value, kind.action.effect)
        if not _in_domains(program.layout, after):
            return  # such a step is not taken, so nothing is claimed of it
        step = Step(state, outcome.state, kind.action.name, arguments, outcome.event)
        claims = (*((claim, True) for claim in program.steps), *((goal, False) for goal in program.happens))
        for (claim, expected), term in zip(claims, kind.steps, strict=True):
            held = _holds(claim, step)
            self._same(f"property {claim.id}", term, None if held is None else held == expected, claim.predicate)

    def _same(self, name: str, term: Term, on_ints: Any, rule: Callable[..., Any] | None = None) -> None:
        if on_ints is None:
            return
        if isinstance(on_ints, Term):
            raise SystemFault(f"{name} kept a word of an earlier call; use its arguments only{line_of(rule)}")
        add_values([term], self._values)
        traced = self._values[term.index]
        if traced != on_ints:
            raise SystemFault(
                f"{name} says {int(on_ints)} on ints and {int(traced)} when traced, in the state {show(self._state)}; "
                "a rule depends on its arguments alone, so not on chance, and may not ask what a word is (is, type())"
                + line_of(rule)
            )


def _in_domains(layout: Layout, values: Sequence[int]) -> bool:
    return all(s.domain.lo <= value <= s.domain.hi for value, s in zip(values, layout.slots, strict=True))


def _holds(claim: Property, subject: Any) -> bool | None:
    parts = answered(claim.parts, subject)
    return None if parts is None else all(parts.values())


def answered(rule: Callable[..., Any], *subject: Any) -> Any:
    """The answer of a rule on ints; None where it raises: no rule need make sense in an unreachable state."""
    try:
        return rule(*subject)
    except Exception:
        return None
