"""Random systems of processes: each has a place where it is, and few of its steps touch what others see.

The systems of `tests.random_systems` seldom have independent steps; these mostly do, so that reductions happen.
"""

import itertools
import random
from collections.abc import Iterator
from typing import Any

from attrs import evolve

from tests.random_systems.claims import draw_claims, draw_quiescent
from tests.random_systems.machines import Assignment, Claim, Field, Machine, Move
from tests.random_systems.naive import TooLargeError, search
from tests.random_systems.nodes import ARGUMENTS, BEFORE, Applied, Constant, Node, Variable
from tests.random_systems.operators import OPERATORS
from tests.random_systems.systems import MOST_STATES, MOST_STEPS, Drawn

PLACES = 3  # the last place of a process; the first is 0

LEAST_STATES = 12


def drawn_processes(seed: int) -> Drawn:
    """The system of a seed, with its whole space."""
    for attempt in itertools.count():
        source = random.Random(f"processes {seed}/{attempt}")
        machine = _machine(source, f"processes-{seed}")
        try:
            graph = search(machine, MOST_STATES, MOST_STEPS)
        except TooLargeError:
            continue
        if len(graph.depth) < LEAST_STATES:
            continue
        machine = evolve(machine, quiescent=draw_quiescent(source, machine, graph))
        claims = [one for one in draw_claims(source, machine, graph) if one.kind != "recovers"]
        graph.machine = machine = evolve(machine, claims=(*claims, *_meetings(source, machine)))
        return Drawn(machine, graph)
    raise AssertionError("the attempts have no end")


def _machine(source: random.Random, name: str) -> Machine:
    number = source.choice((2, 2, 3, 3))
    fields = [Field(f"at{n}", "word", 0, PLACES) for n in range(number)]
    fields += [Field("shared", "word", 0, source.choice((1, 2)), capped=source.random() < 0.5)]
    fields += [Field("flag", "truth"), Field("ready", "set", size=number)]
    initial = (*[0] * number, 0, source.random() < 0.5, frozenset())
    moves = tuple(move for n in range(number) for move in _moves(source, fields, n))
    return Machine(name, tuple(fields), moves, (initial,), brokers=number, bounds={})


def variable(fields: Any, name: str) -> Variable:
    """The variable of a field of the state before."""
    place = next(n for n, one in enumerate(fields) if one.name == name)
    return Variable(fields[place].sort, BEFORE, (name,), (place,), fields[place].span)


def applied(key: str, *operands: Node) -> Applied:
    """An operator applied."""
    return Applied(OPERATORS[key], operands)


def number(value: int) -> Constant:
    """A word that is known."""
    return Constant("word", value, (value, value))


def _moves(source: random.Random, fields: list[Field], process: int) -> Iterator[Move]:
    """The moves of a process: from place to place, some with a look at what is shared, or a change of it."""
    at = variable(fields, f"at{process}")
    for count in range(source.choice((2, 3, 3, 4))):
        here, there = source.randint(0, PLACES), source.randint(0, PLACES)
        here = count if source.random() < 0.6 else here
        guard: dict[str, Node] = {"here": applied("==(word, word)", at, number(here))}
        parameters: tuple[tuple[Field, tuple[Any, ...]], ...] = ()
        who: Node = Constant("id", process)
        if source.random() < 0.2:
            one = Field("p", "id", size=len(fields) - 3)
            parameters, who = ((one, tuple(range(one.size))),), Variable("id", ARGUMENTS, ("p",), (0,))
        if source.random() < 0.4:
            guard["seen"] = _seen(source, fields, who)
        assignments = [Assignment(at, number(there))]
        if source.random() < 0.4:
            assignments.append(_change(source, fields, who))
        yield Move(f"move{process}{count}", parameters, guard, tuple(assignments))


def _seen(source: random.Random, fields: list[Field], who: Node) -> Node:
    """A truth about what is shared, or about where another process is."""
    truth = source.choice((
        variable(fields, "flag"),
        applied("==(word, word)", variable(fields, "shared"), number(source.randint(0, 1))),
        applied("has(set, id)", variable(fields, "ready"), who),
        applied("==(word, word)", variable(fields, "at0"), number(source.randint(0, PLACES))),
    ))  # fmt: skip
    return applied("negate(truth)", truth) if source.random() < 0.4 else truth


def _change(source: random.Random, fields: list[Field], who: Node) -> Assignment:
    """A change of what is shared; some count beyond the domain."""
    shared, flag, ready = (variable(fields, name) for name in ("shared", "flag", "ready"))
    joined = applied(source.choice(("plus(set, set)", "minus(set, set)")), ready, applied("just(set, id)", ready, who))
    counted = Applied(OPERATORS["+(word, word)"], (shared, number(1)), (0, shared.span[1] + 1))
    return source.choice((
        Assignment(flag, applied("negate(truth)", flag)),
        Assignment(shared, number(source.randint(0, 1))),
        Assignment(shared, counted),
        Assignment(ready, joined),
        Assignment(ready, joined),
    ))  # fmt: skip


def _meetings(source: random.Random, machine: Machine) -> Iterator[Claim]:
    """Claims about where processes are, which most of their steps can change."""
    for count, kind in enumerate(("always", "sometimes")):
        a, b = (variable(machine.fields, f"at{n}") for n in (0, 1))
        meet = applied("all_of(truth, truth)", applied("==(word, word)", a, number(source.randint(1, PLACES))),
                       applied("==(word, word)", b, number(source.randint(1, PLACES))))  # fmt: skip
        yield Claim(f"meet{count}", kind, {"": applied("negate(truth)", meet) if kind == "always" else meet})
