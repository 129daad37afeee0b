"""Random systems whose initial states are described by a random rule instead of listed."""

import itertools
import math
import random
from collections.abc import Iterator
from typing import Any

from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.model.language.layout import Layout
from kraftcheck.model.language.system import System
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.trace import trace
from tests.random_systems.building import build
from tests.random_systems.claims import drawing
from tests.random_systems.machines import Machine
from tests.random_systems.nodes import Node, in_rules, text
from tests.random_systems.systems import drawn

MOST_STATES = 800  # states of a layout that ints can judge one by one


@frozen
class Described:
    """A random system with a rule for its initial states."""

    machine: Machine  # the system as data
    system: System  # the system
    parts: tuple[Node, ...]  # the rule
    listed: tuple[Any, ...]  # the states, in the layout, of which the rule holds on ints

    def text(self) -> str:
        """The rule for people."""
        return " and ".join(map(text, self.parts))


def candidates() -> Iterator[tuple[int, Machine, Layout]]:
    """The random systems whose layout has few states, each of which is one: slots of lists may be in disorder."""
    for seed in itertools.count():
        machine = drawn(seed).machine
        if any(part.kind == "list" for one in machine.fields for part in (one, *one.parts)):
            continue
        system = build(machine)
        layout = Layout(system.layout(system.setting()))
        if math.prod(slot.domain.hi - slot.domain.lo + 1 for slot in layout.slots) <= MOST_STATES:
            yield seed, machine, layout


def described_systems(count: int) -> Iterator[Described]:
    """So many of them; some of their rules hold of no state."""
    for seed, machine, layout in itertools.islice(candidates(), count):
        source = random.Random(f"starts/{seed}")
        draw = drawing(source, machine)
        parts = tuple(draw.draw("truth", 3) for _ in range(source.choice((1, 2, 2, 3))))
        spans = [range(slot.domain.lo, slot.domain.hi + 1) for slot in layout.slots]
        states = (layout.state(values) for values in itertools.product(*spans))
        listed = tuple(state for state in states if all(in_rules(part, _env(state, machine)) for part in parts))
        bounds = machine.bounds
        rule = kc.all_where(lambda state, parts=parts, bounds=bounds: {
            str(number): in_rules(part, (state, None, None, None, bounds)) for number, part in enumerate(parts)
        })  # fmt: skip
        yield Described(machine, evolve(build(machine), initial=lambda setting, rule=rule: rule), parts, listed)


def _env(state: Any, machine: Machine) -> tuple[Any, ...]:
    return (state, None, None, None, machine.bounds)


def described_case(number: int) -> Program:
    """One whose rule holds of a state, traced."""
    some = (one for one in described_systems(1 << 20) if one.listed)
    chosen = next(itertools.islice(some, number, None))
    return trace(chosen.system, chosen.system.setting())
