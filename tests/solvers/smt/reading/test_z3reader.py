"""The Z3 reader of terms agrees with the int reader, which defines the operators, and with machine code."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import z3
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kraftcheck.model.language.layout import UNBOUNDED
from kraftcheck.model.language.system import System
from kraftcheck.model.language.terms import MASK_BITS, Graph, Term
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.solvers.exploration.explore import explore
from kraftcheck.solvers.machine_code.compile import evaluate_rows, load_kernel
from kraftcheck.solvers.machine_code.lower import LoweringError
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.smt.z3terms import Z3Reader, is_number, value_of
from tests import toys
from tests.shared.readers import int_reader
from tests.shared.samples import one_in
from tests.solvers.machine_code.test_lower import divisions, graphs, random_rows

ELECTIONS = SYSTEMS["elections"]


def z3_values(terms: Sequence[Term], variables: Sequence[Term], row: Sequence[int]) -> list[int]:
    """The values of terms in Z3, their variables replaced."""
    reader = Z3Reader()
    for variable, value in zip(variables, row, strict=True):
        reader.bind(variable, reader.constant(variable, value))
    return [value_of(z3.Model(), term, z3.simplify(reader.expression(term))) for term in terms]


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_z3_agrees_with_ints_and_machine_code_on_random_graphs(data: st.DataObject) -> None:
    """Every node of a random graph has one value by definition, in machine code and in Z3."""
    graph, terms = data.draw(graphs())
    variables = [node for node in graph.nodes if node.op == "var"]
    rows = random_rows(data.draw, 2)  # type: ignore[arg-type]
    native = evaluate_rows(graph, terms, np.array(rows)).tolist()
    for row, machine in zip(rows, native, strict=True):
        wanted = [int_reader(term, row) for term in terms]
        assert z3_values(terms, variables, row) == wanted == machine


def test_z3_agrees_with_ints_on_every_operator_at_the_ends() -> None:
    """Members and singles at -2, -1, 0, 61, 62, 63, 64 and full or empty masks are as defined."""
    graph = Graph()
    index, mask = graph.variable("i", -70, 140), graph.variable("m", 0, (1 << MASK_BITS) - 1)
    roots = [graph.apply("member", mask, index), graph.apply("single", index), graph.apply("count", mask)]
    roots += [graph.apply("lowest", mask), graph.apply("bclear", mask, roots[1])]
    roots += [graph.apply("sub", index, roots[3])]
    roots += [graph.apply("lt", index, roots[2]), graph.apply("eq", index, roots[3])]
    for i in (-70, -64, -2, -1, 0, 1, 61, 62, 63, 64, 65, 128, 140):
        for m in (0, 1, (1 << MASK_BITS) - 1, 1 << 61, 6):
            assert z3_values(roots, [index, mask], [i, m]) == [int_reader(root, [i, m]) for root in roots]


@pytest.mark.parametrize("mask", [(-1, 0), (-3, 5), (0, 5), (0, (1 << MASK_BITS) - 1)])
def test_masks_of_every_interval_have_the_members_that_ints_say(mask: tuple[int, int]) -> None:
    """At places that are known, or in any interval; of a word that may be negative beyond its own width too."""
    (lo, hi), drawn_ = mask, random.Random(1)
    values = {lo, hi, *(drawn_.randint(lo, hi) for _ in range(6))}
    for least, most in ((-2, 70), (-2, -1), (0, 2), (2, 5), (60, 63), (3, 3)):
        graph = Graph()
        of, at = graph.variable("m", lo, hi), graph.variable("i", least, most)
        places = sorted({*range(least, min(most, 4) + 1), *range(max(least, 60), most + 1)})
        known = [graph.lift(graph.intern("member", (of, graph.constant(place)), 0, 0, 1, True)) for place in places]
        roots = [graph.lift(graph.apply("member", of, at)), *known]
        for row in itertools.product(values, places):
            assert z3_values(roots, [of, at], row) == [int_reader(root, row) for root in roots]


def test_z3_divides_as_ints_do() -> None:
    """Quotients are rounded down and remainders have the divisor's sign, on bit-vectors of every sign."""
    graph, roots, rows = divisions()
    variables = [node for node in graph.nodes if node.op == "var"]
    for row in rows[::29]:
        assert z3_values(roots, variables, row) == [int_reader(root, row) for root in roots]


def test_ints_without_bound_are_divided_as_ints_are() -> None:
    """Quotients, remainders and products of Ints are those of the definition, by constants of both signs."""
    graph = Graph()
    epoch = graph.variable("epoch", 0, UNBOUNDED)
    roots = [graph.lift(graph.apply(op, epoch, graph.constant(by))) for op in ("mul", "div", "mod") for by in (3, -3)]
    assert [is_number(root) for root in roots] == [True, True, True, True, False, False]
    for value in (0, 1, 2, 3, 1 << 70):
        assert z3_values(roots, [epoch], [value]) == [int_reader(root, [value]) for root in roots]


def test_words_without_bound_are_ints() -> None:
    """A counter, its successor and choices among counters are Ints, equal to the definition far beyond 64 bits."""
    graph = Graph()
    epoch, small = graph.variable("epoch", 0, UNBOUNDED), graph.variable("small", -3, 5)
    mask = graph.variable("mask", 0, 31)
    later = graph.lift(graph.apply("add", epoch, small))
    newer = graph.lift(graph.apply("lt", small, epoch))
    roots = [later, graph.lift(graph.ite(newer, epoch, small)), graph.lift(graph.apply("sub", later, epoch)), newer]
    roots += [graph.lift(graph.apply("eq", epoch, small)), graph.lift(graph.apply("member", mask, epoch))]
    assert [is_number(root) for root in roots] == [True, True, True, False, False, False]
    for row in ([0, -3, 1], [4, 4, 16], [3, 5, 8], [1 << 70, -1, 31], [62, 0, 31]):
        assert z3_values(roots, [epoch, small, mask], row) == [int_reader(root, row) for root in roots]


def test_a_mask_without_bound_is_refused() -> None:
    """A set operation on a counter is an error that names the operator."""
    graph = Graph()
    epoch = graph.variable("epoch", 0, UNBOUNDED)
    with pytest.raises(LoweringError, match="count of an unbounded word"):
        Z3Reader().expression(graph.apply("count", epoch))


@pytest.mark.parametrize(("lo", "hi"), [(0, 7), (0, 5), (1, 5), (-1, 3), (-2, 1), (-1, 4), (3, 3), (0, 1),
                                        (0, 8), (-4, 0), (-1, 0), (-8, 8)])  # fmt: skip
def test_within_admits_exactly_the_interval(lo: int, hi: int) -> None:
    """Of all values that the bit-vector of a variable can hold, `within` admits those of its interval."""
    graph = Graph()
    variable = graph.variable("v", lo, hi)
    reader, solver = Z3Reader(), z3.Solver()
    symbol = reader.expression(variable)
    solver.add(reader.within(variable, lo, hi))
    admitted = set()
    while solver.check() == z3.sat:
        admitted.add(value_of(solver.model(), variable, symbol))
        solver.add(symbol != solver.model().eval(symbol, model_completion=True))
    assert admitted == set(range(lo, hi + 1))


def transitions(program: Program) -> list[tuple[Any, Any]]:
    """For each kind one expression, true of a guard and an after-state, with the symbols to replace."""
    reader, made = Z3Reader(), []
    for kind in program.kinds:
        enabled = z3.And(*map(reader.expression, kind.guard.values()), z3.BoolVal(True))
        after = [reader.expression(term) for term in kind.after]
        wanted = [z3.FreshConst(value.sort()) for value in after]
        symbols = [reader.expression(v) for v in (*program.state, *kind.variables)]
        taken = z3.And(enabled, *(a == w for a, w in zip(after, wanted, strict=True)))
        made.append((taken, (enabled, symbols, wanted)))
    return made


def agree(program: Program, states: Sequence[tuple[int, ...]], share: float, seed: int) -> int:
    """Compare every kind in Z3 with machine code on instances drawn from all; returns how many were compared."""
    kernel, draw, compared, reader = load_kernel(program), random.Random(seed), 0, Z3Reader()
    read = transitions(program)
    for packed in states:
        native = dict(kernel.successors(packed))
        values = program.layout.split(packed)
        for kind, (taken, (enabled, symbols, wanted)) in zip(program.kinds, read, strict=True):
            for position, row in enumerate(kind.table):
                if draw.random() >= share:
                    continue
                compared += 1
                names = (*program.state, *kind.variables)
                given_ = [(s, reader.constant(t, v)) for s, t, v in zip(symbols, names, (*values, *row), strict=True)]
                successor = native.get(kind.first + position)
                if successor is None:
                    assert z3.is_false(z3.simplify(z3.substitute(enabled, *given_))), kind.action.name
                    continue
                later = program.layout.split(successor)
                given_ += [(w, reader.constant(t, v)) for w, t, v in zip(wanted, kind.after, later, strict=True)]
                assert z3.is_true(z3.simplify(z3.substitute(taken, *given_))), kind.action.name
    return compared


@pytest.mark.parametrize("system", [toys.CLOCK, toys.DIGRAPH, toys.TWO_PHASE])
def test_z3_agrees_with_machine_code_on_all_states_of_toys(system: System) -> None:
    """Every action instance has the same guard and successor in Z3 as in machine code, in every reachable state."""
    program = trace(system, system.setting())
    states = list(explore(program, clock=time.perf_counter).states())
    assert agree(program, states, 1.0, 0) == len(states) * program.instances


@pytest.mark.parametrize("case", one_in(3, [("tiny", "kafka-4.0"), ("tiny", "fixed"), ("directories", "kip")]))
def test_z3_agrees_with_machine_code_on_elections(case: tuple[str, str]) -> None:
    """Sampled action instances of sampled reachable states agree, with ints in the loop through the layout."""
    scope, rules = case
    program = trace(ELECTIONS, ELECTIONS.setting(scope, rules=parse(rules)))
    states = list(explore(program, clock=time.perf_counter).states())
    assert agree(program, states[:: len(states) // 60], 0.05, 5) > 50
