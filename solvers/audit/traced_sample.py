"""A traced system compared with its rules on ints, in a sample of states.

Python lets no class answer `is` and `type()`: a rule that asks them of a word
gets another answer when it is traced than on ints. So what was traced is
evaluated in some states of the layout, reachable or not, and compared with the
rules themselves. The states are all initial ones up to a few, the smallest and
the largest values, and values drawn from a hash, the same in every run.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kraftcheck.model.language.family import Family
from kraftcheck.model.language.layout import Counter, Endless, Layout, leaves
from kraftcheck.model.language.system import Property, Step
from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.program.arguments import SystemFault
from kraftcheck.solvers.program.program import Kind, Program
from kraftcheck.solvers.reference.terms import evaluated
from kraftcheck.solvers.traces.render import show

DRAWN = 12
"""States drawn besides the smallest, the largest and the initial ones."""

STARTS = 4
"""Initial states looked at."""

ROWS = 3
"""Instances of each action looked at in a state."""

DRAWN_UP_TO = 1 << 10
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
        _Point(program, number, state).check()


def _states(program: Program) -> Iterator[tuple[int, ...]]:
    """The leaves of the states looked at."""
    domains = [slot.domain for slot in program.layout.slots]
    tops = [DRAWN_UP_TO if isinstance(d, Counter) else d.hi for d in domains]
    for packed in program.initial[:STARTS]:
        start = program.layout.values(program.layout.unpack(packed)) if program.layout.packed else packed
        if all(isinstance(leaf, int) for leaf in start):
            yield start
    yield tuple(domain.lo for domain in domains)
    yield tuple(tops)
    for number in range(DRAWN):
        spans = enumerate(zip(domains, tops, strict=True))
        yield tuple(domain.lo + _drawn(number, place) % (top - domain.lo + 1) for place, (domain, top) in spans)


def _drawn(*key: object) -> int:
    return int.from_bytes(hashlib.blake2b(repr(key).encode(), digest_size=8).digest(), "big")


class _Point:
    """A state, on which terms and rules are compared."""

    def __init__(self, program: Program, number: int, values: Sequence[int]) -> None:
        self._program, self._number = program, number
        self._values = {term.index: int(value) for term, value in zip(program.state, values, strict=True)}
        self._state = program.layout.state(values)

    def check(self) -> None:
        """Compare every rule."""
        program, state = self._program, self._state
        asked: list[tuple[Property, Term]] = [
            *zip(program.always, program.always_terms, strict=True),
            *zip(program.sometimes, program.sometimes_terms, strict=True),
            *((one.claim, one.goal) for one in program.recoveries),
        ]
        for claim, term in asked:
            self._same(f"property {claim.id}", term, _holds(claim, state))
        for one in program.recoveries:
            self._same(f"property {one.claim.id}, when", one.when, _answer(one.claim.concerns, state))
        if program.system.quiescent is not None:
            self._same("quiescent", program.quiescent, _answer(program.system.quiescent, state))
        for kind in program.kinds:
            for arguments in self._instances(kind):
                self._check_step(kind, arguments)

    def _instances(self, kind: Kind) -> Iterator[Mapping[str, Any]]:
        """Some argument values of an action; those of a family that is not listed are left out."""
        parameters = kind.action.parameters
        if kind.instances:
            rows = {_drawn(self._number, place) % len(kind.instances) for place in range(ROWS)}
            yield from (kind.instances[row] for row in sorted(rows))
        elif not any(isinstance(values, Family) for values in parameters.values()):
            ends = ([*values[:1], *values[-1:]] for values in parameters.values())
            for row in itertools.islice(itertools.product(*ends), ROWS):
                yield dict(zip(parameters, row, strict=True))

    def _check_step(self, kind: Kind, arguments: Mapping[str, Any]) -> None:
        what, program, state = f"action {kind.action.name}", self._program, self._state
        given = [int(value) for _, value in leaves(tuple(arguments.values()))]
        self._values |= {term.index: value for term, value in zip(kind.variables, given, strict=True)}
        guard = _answer(kind.action.guards, state, arguments)
        for name, part in ({} if guard is None else guard).items():
            self._same(f"{what}, guard {name}", kind.guard[name], part)
        outcome = _answer(kind.action.outcome, state, arguments) if guard is not None and all(guard.values()) else None
        if outcome is None:
            return
        after = [value for _, value in leaves(outcome.state)]
        for slot, term, value in zip(program.layout.slots, kind.after, after, strict=True):
            self._same(f"{what}, effect on {slot.path or 'the state'}", term, value)
        if not _inside(program.layout, after):
            return  # such a step is not taken, so nothing is claimed of it
        step = Step(state, outcome.state, kind.action.name, arguments, outcome.event)
        claims = (*((claim, True) for claim in program.steps), *((goal, False) for goal in program.happens))
        for (claim, wanted), term in zip(claims, kind.steps, strict=True):
            held = _holds(claim, step)
            self._same(f"property {claim.id}", term, None if held is None else held == wanted)

    def _same(self, what: str, term: Term, wanted: Any) -> None:
        if wanted is None:
            return
        found = evaluated([term], self._values)[term.index]
        if found != wanted:
            raise SystemFault(
                f"{what} says {int(wanted)} on ints and {int(found)} when traced, in the state {show(self._state)}; "
                "a rule may not ask what a word is (is, type()), only what it is worth"
            )


def _inside(layout: Layout, values: Sequence[int]) -> bool:
    return all(s.domain.lo <= value <= s.domain.hi for value, s in zip(values, layout.slots, strict=True))


def _holds(claim: Property, subject: Any) -> bool | None:
    parts = _answer(claim.parts, subject)
    return None if parts is None else all(parts.values())


def _answer(rule: Callable[..., Any], *subject: Any) -> Any:
    """What a rule says on ints; None where it says nothing: no rule need make sense in a state that is not reached."""
    try:
        return rule(*subject)
    except Exception:
        return None
