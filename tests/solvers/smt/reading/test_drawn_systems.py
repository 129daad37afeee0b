"""Provers and small systems that are drawn at random: each says just what looking at every state and step says."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pytest
import z3
from attrs import define, frozen

from kraftcheck.model.language.layout import Flag, Range
from kraftcheck.model.language.system import Action, Property, Step, System
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate
from kraftcheck.solvers.program.verdict import Holds, Refuted
from kraftcheck.solvers.smt.induction import prove
from kraftcheck.solvers.smt.queries import Effort
from kraftcheck.solvers.smt.runs.bounded import check_bounded, check_inductive
from kraftcheck.solvers.smt.spacer import Horn, infer
from kraftcheck.solvers.smt.theory import Theory, theory
from kraftcheck.solvers.smt.z3terms import width_of

EFFORT = Effort(timeout=60)
CAP = "it is looked at up to there"


@frozen
class Cell:
    """Two words and a truth."""

    low: Word
    on: Truth
    signed: Word


DOMAINS: dict[str, Any] = {"low": range(3), "on": (False, True), "signed": range(-2, 3)}
STATES = [Cell(*values) for values in itertools.product(*DOMAINS.values())]

Of = Callable[[Cell, Word], Any]
"""A word or truth of a state and an argument."""


@define
class Drawing:
    """Draws words and truths.

    Attributes:
        random: decides.
    """

    random: random.Random

    def word(self, depth: int = 2) -> Of:
        """A word."""
        if depth == 0 or self.random.random() < 0.2:
            number = self.random.randint(-1, 2)
            return self.random.choice([
                lambda s, n: s.low, lambda s, n: s.signed, lambda s, n: n, lambda s, n: number])  # fmt: skip
        a, b, truth = self.word(depth - 1), self.word(depth - 1), self.truth(depth - 1)
        return self.random.choice([
            lambda s, n: a(s, n) + b(s, n), lambda s, n: a(s, n) - b(s, n), lambda s, n: a(s, n) * b(s, n),
            lambda s, n: choose(truth(s, n), a(s, n), b(s, n)), lambda s, n: choose(truth(s, n), b(s, n), a(s, n)),
        ])  # fmt: skip

    def truth(self, depth: int = 2) -> Of:
        """A truth."""
        if depth == 0:
            number = self.random.randint(-1, 2)
            return self.random.choice([
                lambda s, n: s.on, lambda s, n: s.low <= number, lambda s, n: s.signed < n, lambda s, n: s.low == n])
        a, b = self.truth(depth - 1), self.truth(depth - 1)
        one, other = self.word(depth - 1), self.word(depth - 1)
        return self.random.choice([
            lambda s, n: all_of(a(s, n), b(s, n)), lambda s, n: any_of(a(s, n), b(s, n)), lambda s, n: negate(a(s, n)),
            lambda s, n: one(s, n) <= other(s, n), lambda s, n: one(s, n) == other(s, n),
        ])  # fmt: skip

    def action(self, name: str) -> Action:
        """An action, most of whose words stay in their domains."""
        low, signed, on, guard = self.word(), self.word(), self.truth(), self.truth()
        kept = [self.random.random() < 0.8 for _ in range(2)]

        def effect(s: Cell, n: Word) -> Cell:
            words = [(low(s, n), 0, 2, s.low), (signed(s, n), -2, 2, s.signed)]
            within = [
                choose(all_of(lo <= word, word <= hi), word, old) if keeps else word
                for (word, lo, hi, old), keeps in zip(words, kept, strict=True)
            ]
            return Cell(within[0], on(s, n), within[1])

        return Action(name, effect, guard, {"n": [0, 1, 2][: self.random.randint(1, 3)]})

    def _true_of(self, states: Sequence[Cell]) -> Of:
        """A truth that is true of some states, and not of all, if one is soon found."""
        for _ in range(60):
            of = self.truth()
            if all(of(state, 1) for state in states) and not all(of(state, 1) for state in STATES):
                break
        return of

    def claims(self, initial: Sequence[Cell]) -> list[Property]:
        """Invariants, of which all but one hold at first, and claims about steps."""
        always = [self.truth(), *(self._true_of(initial) for _ in range(4))]
        before, after = self.truth(1), self._true_of(initial)
        return [
            *(Property(f"always {at}", "always", "O.", lambda s, of=of: of(s, 1)) for at, of in enumerate(always)),
            Property("either", "always", "O.", lambda s: any_of(always[0](s, 1), negate(always[1](s, 1)), s.low < 2)),
            Property("step", "step", "O.", lambda t: implies(before(t.before, 1), after(t.after, t.arguments["n"])),
                     initially=(lambda s: after(s, 1)) if self.random.random() < 0.3 else None),
        ]  # fmt: skip


def drawn(seed: int) -> System:
    """A system."""
    by = Drawing(random.Random(seed))
    initial = by.random.sample(STATES, by.random.randint(1, 3))
    actions = [by.action(name) for name in ("one", "two", "three")[: by.random.randint(1, 3)]]
    claims, caps = by.claims(initial), [by.random.choice(["", CAP]) for _ in range(2)]
    return System(
        name="drawn", summary="Drawn at random.", initial=lambda _: initial, actions=lambda _: actions,
        layout=lambda _: Cell(Range(0, 2, cap=caps[0]), Flag(), Range(-2, 2, cap=caps[1])),
        properties=lambda _: claims,
    )  # fmt: skip


def holds(parts: Any) -> bool:
    """Whether a claim holds on ints."""
    return bool(all(parts.values()) if isinstance(parts, dict) else parts)


def outside(state: Cell) -> set[str]:
    """The fields that are outside their domains."""
    return {name for name, domain in DOMAINS.items() if getattr(state, name) not in domain}


@define
class Looked:
    """What looking at every state and step says of a system.

    Attributes:
        system: which.
    """

    system: System

    def steps(self, states: Iterable[Cell]) -> Iterator[Step]:
        """The steps from some states, those that leave a domain among them."""
        for state, action in itertools.product(states, self.system.actions(self.system.setting())):
            for n in action.parameters["n"]:
                if action.enabled(state, {"n": n}):
                    yield Step(state, action.outcome(state, {"n": n}).state, action.name, {"n": n})

    def begins(self, claim: Property) -> bool:
        """Whether a claim holds of the initial states."""
        of = claim.predicate if claim.kind == "always" else claim.initially
        return of is None or all(holds(of(state)) for state in self.system.initial(self.system.setting()))

    def kept(self, claim: Property, steps: Sequence[Step]) -> bool:
        """Whether a claim holds of some steps, or after them."""
        return all(holds(claim.predicate(step if claim.kind == "step" else step.after)) for step in steps)

    def inductive(self) -> tuple[set[str], list[Step]]:
        """The claims that support each other, and the steps from states that have the invariants among them."""
        claims = [*self.system.properties(self.system.setting())]
        known = [claim for claim in claims if self.begins(claim)]
        while True:
            invariants = [claim for claim in known if claim.kind == "always"]
            states = [state for state in STATES if all(holds(claim.predicate(state)) for claim in invariants)]
            steps = [*self.steps(states)]
            inside = [step for step in steps if not outside(step.after)]
            left = [claim for claim in known if claim.kind == "step" or self.kept(claim, inside)]
            if len(left) == len(known):
                return {claim.id for claim in known if self.kept(claim, inside)}, steps
            known = left

    def undeclared(self, steps: Iterable[Step]) -> set[str]:
        """The fields that some steps take out of their domains where no cap says that this is meant."""
        layout = self.system.layout(self.system.setting())
        return {
            name for step in steps for name in outside(step.after)
            if not getattr(layout, name).cap or getattr(step.after, name) < min(DOMAINS[name])
        }  # fmt: skip

    def runs(self, most: int = len(STATES)) -> tuple[dict[str, int], bool]:
        """What runs within the domains, of at most so many steps, show.

        Returns the steps of the shortest run that breaks each claim, and whether one takes a field where it may not be.
        """
        claims = [*self.system.properties(self.system.setting())]
        found, leaves = {claim.id: 0 for claim in claims if not self.begins(claim)}, False
        seen = level = {*self.system.initial(self.system.setting())}
        for length in range(1, most + 1):
            steps = [*self.steps(level)]
            leaves |= bool(self.undeclared(steps))
            inside = [step for step in steps if not outside(step.after)]
            found |= {c.id: length for c in claims if c.id not in found and not self.kept(c, inside)}
            level = {step.after for step in inside} - seen
            seen = seen | level
        return found, leaves


@pytest.mark.parametrize("seed", range(24))
def test_induction_proves_just_what_is_inductive(seed: int) -> None:
    """The claims that support each other are proven, no other, and the fields are told that may leave their domains."""
    system = drawn(seed)
    looked, of = Looked(system), theory(system, system.setting())
    inductive, steps = looked.inductive()
    proof = prove(lambda: of, effort=EFFORT, clock=time.monotonic)
    names = [claim.id for claim in system.properties(system.setting())]
    assert [claim.id for claim in of.claims] == names
    assert {name for name in names if proof.inductive(name)} == inductive
    assert {*proof.bounded()} == {name for step in steps for name in outside(step.after)}
    assert {*proof.faults()} == looked.undeclared(steps)
    assert {claim.id for claim in of.claims if proof.proven(claim.id)} == (set() if proof.faults() else inductive)


@pytest.mark.parametrize("seed", range(24, 40))
def test_runs_of_a_solver_break_just_what_runs_break(seed: int) -> None:
    """Bounded runs break each claim after as many steps; what k-induction and Spacer prove, no run breaks."""
    system, most = drawn(seed), 3
    looked, of = Looked(system), theory(system, system.setting())
    names, stop = [claim.id for claim in of.claims], threading.Event()
    (broken, leaves), (soon, _) = looked.runs(), looked.runs(most)
    found = check_bounded(of, names, most, EFFORT, stop)
    assert {name: len(v.trace.steps) for name, v in found.items() if isinstance(v, Refuted)} == soon
    inductive, steps = looked.inductive()
    by_length = [check_inductive(of, names, k, EFFORT, stop) for k in (1, 2)]
    assert [[*one] for one in (found, *by_length)] == [names] * 3
    proven = [{name for name, verdict in one.items() if isinstance(verdict, Holds)} for one in by_length]
    assert proven[0] == (set() if looked.undeclared(steps) else inductive)
    assert proven[0] <= proven[1]
    assert proven[1].isdisjoint(set(names) if leaves else broken)
    claim = names[seed % len(of.invariants)]
    spacer = infer(of, claim, EFFORT).verdict
    assert isinstance(spacer, Holds) == (claim not in broken and not leaves)


@pytest.mark.parametrize("seed", [26, 29, 35, 37, 39, 46, 48, 53])  # of 37, 39 and 48 steps leave a domain
def test_a_strengthening_is_confirmed_just_where_it_is_one(seed: int) -> None:
    """It has the initial states, each step from it leads into it, leaves no domain undeclared, and the claim holds."""
    system, draw = drawn(seed), random.Random(seed)
    looked, of = Looked(system), theory(system, system.setting())
    initial = system.initial(system.setting())
    seen, outcomes = {*initial}, set[bool]()
    while more := {step.after for step in looked.steps(seen) if not outside(step.after)} - seen:
        seen |= more
    of_all = (c for c in of.invariants if all(holds(c.predicate(state)) for state in seen))
    claim = next(of_all, of.invariants[0])
    horn = Horn(of, claim.id)
    left_out = draw.sample([*seen], min(3, len(seen)))
    tried = [seen, {*STATES}, {*STATES} - {initial[0]}, *(seen - {one} for one in left_out)]
    tried += [{state for state in STATES if holds(claim.predicate(state))}, {*initial}, set[Cell]()]
    for states in tried:
        steps = [*looked.steps(states)]
        expected = (
            {*initial} <= states and {step.after for step in steps if not outside(step.after)} <= states
            and all(holds(claim.predicate(state)) for state in states) and not looked.undeclared(steps)
        )  # fmt: skip
        assert horn.confirms(z3.Or(z3.BoolVal(False), *(_bits_of(horn, of, one) for one in states)), EFFORT) == expected
        outcomes.add(expected)
    assert False in outcomes


def _bits_of(horn: Horn, of: Theory, state: Cell) -> Any:
    """The truth that the bits of a state are those of one."""
    sizes = [width_of(term.lo, term.hi) if not term.is_truth else 1 for term in of.program.state]
    values = of.program.layout.values(state)
    bits = [bool(value >> at & 1) for value, size in zip(values, sizes, strict=True) for at in range(size)]
    return z3.And(*(bit == z3.BoolVal(one) for bit, one in zip(horn.bits, bits, strict=True)))
