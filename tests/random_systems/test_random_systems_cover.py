"""What the random systems cover: each operator, each kind of part and verdict, often enough."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from kraftcheck.model.language.layout import Layout
from kraftcheck.model.language.terms import TRUTH_OPERATORS, WORD_OPERATORS
from kraftcheck.solvers.program.trace import trace
from tests.random_systems.building import build
from tests.random_systems.describing import described
from tests.random_systems.machines import Field, Machine
from tests.random_systems.nodes import AFTER, EVENT, Applied, Node, Variable, operators_of
from tests.random_systems.operators import OPERATORS
from tests.random_systems.seeds import ALWAYS
from tests.random_systems.systems import Drawn, drawn
from tests.random_systems.verdicts import table


@pytest.fixture(scope="module")
def systems() -> list[Drawn]:
    """The systems that run at every change."""
    return [drawn(seed) for seed in range(ALWAYS)]


def with_parts(fields: tuple[Field, ...]) -> Iterator[Field]:
    """Fields, and those within others."""
    for one in fields:
        yield one
        yield from with_parts(one.parts)


def variables_of(node: Node) -> Iterator[Variable]:
    """The variables in an expression."""
    if isinstance(node, Variable):
        yield node
    elif isinstance(node, Applied):
        for operand in node.operands:
            yield from variables_of(operand)


@pytest.mark.slow
def test_each_word_of_the_language_occurs(systems: list[Drawn]) -> None:
    """Every function, method and infix operator of the table is in some system, on every sort that it takes."""
    used = set().union(*(operators_of(node) for one in systems for node in one.machine.nodes()))
    assert sorted(OPERATORS.keys() - used) == []


@pytest.mark.slow
def test_each_operator_of_terms_occurs(systems: list[Drawn]) -> None:
    """Every operator that engines compile, `ite` included, is in the graphs of at least ten systems."""
    found: Counter[str] = Counter()
    for one in systems:
        system = build(one.machine)
        found.update({node.op for node in trace(system, system.setting()).graph.nodes})
    assert {op: found[op] for op in (*TRUTH_OPERATORS, *WORD_OPERATORS, "ite") if found[op] < 10} == {}


def test_each_verdict_occurs(systems: list[Drawn]) -> None:
    """Claims of every kind hold and fail, goals are shown and missed, ways out are found, lost, cut and not needed."""
    found = Counter((name.partition("-")[0], told.word) for one in systems for name, told in table(one.graph).items())
    wanted = {
        **{(kind, word): 20 for kind in ("always", "step") for word in ("Holds", "Refuted")},
        **{(kind, word): 20 for kind in ("sometimes", "happens") for word in ("Holds", "Vacuous")},
        ("deadlock", "Holds"): 20, ("deadlock", "Refuted"): 10, ("recovers", "Holds"): 10, ("recovers", "Refuted"): 20,
        ("recovers", "Unknown"): 8, ("recovers", "Vacuous"): 20,
    }  # fmt: skip
    assert {case: found[case] for case, least in wanted.items() if found[case] < least} == {}


def test_counterexamples_have_many_lengths(systems: list[Drawn]) -> None:
    """There are at least five counterexamples of each length from 0 to 3, and some that are longer."""
    lengths = Counter(min(told.length, 4) for one in systems for told in table(one.graph).values()
                      if told.word == "Refuted" and told.length is not None)  # fmt: skip
    assert {length: lengths[length] for length in range(5) if lengths[length] < 5} == {}


def features(one: Drawn) -> Iterator[str]:
    """What a system has of what not every system has."""
    machine, graph = one.machine, one.graph
    fields = tuple(field for move in machine.moves for field, _ in move.parameters)
    parts = list(with_parts(machine.fields))
    yield from {f"field {part.kind}" for part in parts}
    yield from {f"argument {part.kind}" for part in with_parts(fields)}
    told = {variable.source for node in machine.nodes() for variable in variables_of(node)}
    layout = Layout(build(machine).layout(None))  # type: ignore[arg-type]
    guards = [move.guard for move in machine.moves]
    present = {
        "symmetric": machine.symmetric, "pruned": bool(graph.pruned()),
        "undeclared": graph.fault(), "several initial states": graph.initial > 1,
        "budget": bool(machine.bounds), "several words": layout.words > 1, "after": AFTER in told,
        "event": EVENT in told, "no guard": None in guards, "several arguments": any(
            len(move.parameters) > 1 for move in machine.moves),
        "a conjunct never true": bool(graph.never(graph.true)), "whole states chosen": any(
            move.when is not None for move in machine.moves),
        "way out": any(claim.by for claim in machine.claims), "when": any(c.when is not None for c in machine.claims),
        "negative": any(part.lo < 0 for part in parts),
        "one value": any(part.kind == "word" and part.lo == part.hi for part in parts),
    }  # fmt: skip
    yield from (name for name, there in present.items() if there)


KINDS = ("word", "truth", "id", "set", "list", "one", "record", "tuple")


def test_each_part_of_systems_occurs(systems: list[Drawn]) -> None:
    """Every kind of field and argument, and every other feature, is in at least five systems."""
    found = Counter(name for one in systems for name in features(one))
    wanted = [f"field {kind}" for kind in KINDS] + [f"argument {kind}" for kind in KINDS[:-1]]
    wanted += ["symmetric", "pruned", "undeclared",
               "several initial states", "budget", "several words", "after", "event", "no guard",
               "several arguments", "a conjunct never true", "whole states chosen", "way out", "when", "negative",
               "one value"]  # fmt: skip
    assert {name: found[name] for name in wanted if found[name] < 5} == {}


def test_a_seed_is_all_that_it_takes() -> None:
    """The same seed gives the same system, with the same description; another gives another."""
    machines: list[Machine] = [drawn(seed).machine for seed in (3, 3, 4)]
    assert described(machines[0]) == described(machines[1]) != described(machines[2])
    assert "random-3" in described(machines[0])
