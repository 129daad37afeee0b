"""The LLVM reader of terms agrees with the int reader, which defines the operators."""

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kraftcheck.model.language.symbolic import UntraceableRule
from kraftcheck.model.language.terms import MASK_BITS, Graph, Term
from kraftcheck.solvers.machine_code.compile import evaluate_rows
from kraftcheck.solvers.machine_code.lower import LoweringError
from tests.shared.explored import int_reader

WORD_LIMIT = 1 << 62
VARIABLES = (
    (-2, 70),
    (0, 7),
    (0, (1 << MASK_BITS) - 1),
    (-1, 61),
    (0, 63),
    (-(1 << 40), 1 << 40),
    (5, 200),
    (-300, 300),
)
BINARY = ("add", "sub", "mul", "div", "mod", "band", "bor", "bclear", "eq", "lt", "member")
UNARY = ("single", "count", "lowest")


def fits(term: object) -> bool:
    """Whether a result can be used further: a term within 64 bits."""
    return isinstance(term, Term) and -WORD_LIMIT <= term.lo <= term.hi < WORD_LIMIT


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Graph, list[Term]]:
    """A random graph over variables of several intervals, and its terms."""
    graph = Graph()
    words: list[Term] = [graph.variable(f"w{i}", lo, hi) for i, (lo, hi) in enumerate(VARIABLES)]
    truths: list[Term] = [graph.truth_variable("t0"), graph.truth_variable("t1")]
    words += [graph.lift(draw(st.sampled_from((-1, 0, 1, 3, 62, 64)))) for _ in range(2)]
    for _ in range(draw(st.integers(4, 40))):
        op = draw(st.sampled_from((*BINARY, *BINARY, *UNARY, "not", "and", "or", "eq truths", "ite", "ite truths")))
        try:
            made = grow(draw, graph, op, words, truths)
        except UntraceableRule:
            continue
        if fits(made):
            (truths if made.is_truth else words).append(made)
    return graph, words + truths


def grow(draw: st.DrawFn, graph: Graph, op: str, words: list[Term], truths: list[Term]) -> object:
    """One random application of an operator."""
    a, b = draw(st.sampled_from(words)), draw(st.sampled_from(words))
    p, q, r = (draw(st.sampled_from(truths)) for _ in range(3))
    if op == "not":
        return graph.apply("not", p)
    if op in ("and", "or"):
        return graph.apply(op, p, q)
    if op == "eq truths":
        return graph.apply("eq", p, q)
    if op == "ite":
        return graph.ite(p, a, b)
    if op == "ite truths":
        return graph.ite(p, q, r)
    return graph.apply(op, *((a,) if op in UNARY else (a, b)))


def random_rows(draw: st.DrawFn, count: int) -> list[list[int]]:
    """Values of the variables, the ends of their intervals among them."""
    columns = [st.sampled_from((lo, hi, -1 if lo < 0 else lo)) | st.integers(lo, hi) for lo, hi in VARIABLES]
    row = st.tuples(*columns, st.integers(0, 1), st.integers(0, 1))
    return [list(draw(row)) for _ in range(count)]


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_llvm_agrees_with_ints_on_random_graphs(data: st.DataObject) -> None:
    """Every node of a random graph has the same value in machine code as by definition."""
    graph, terms = data.draw(graphs())
    rows = random_rows(data.draw, 6)  # type: ignore[arg-type]
    found = evaluate_rows(graph, terms, np.array(rows))
    for row, values in zip(rows, found.tolist(), strict=True):
        assert values == [int_reader(term, row) for term in terms]


def test_llvm_agrees_with_ints_on_every_operator_at_the_ends() -> None:
    """Members and singles at -2, -1, 0, 61, 62, 63, 64 and full or empty masks are as defined."""
    graph = Graph()
    index, mask = graph.variable("i", -70, 140), graph.variable("m", 0, (1 << MASK_BITS) - 1)
    near = graph.variable("n", -2, 61)
    roots = [graph.apply("member", mask, index), graph.apply("single", index), graph.apply("member", mask, near)]
    roots += [graph.apply("count", mask), graph.apply("lowest", mask), graph.apply("bclear", mask, roots[1])]
    rows = [
        [i, m, n]
        for i in (-70, -65, -64, -63, -2, -1, 0, 1, 60, 61, 62, 63, 64, 65, 128, 140)
        for m in (0, 1, (1 << MASK_BITS) - 1, 1 << 61, 6)
        for n in (-2, -1, 0, 61)
    ]
    found = evaluate_rows(graph, roots, np.array(rows))
    assert found.tolist() == [[int_reader(root, row) for root in roots] for row in rows]


def divisions() -> tuple[Graph, list[Term], list[list[int]]]:
    """Products, quotients and remainders of words of every sign, and all values of the words."""
    graph = Graph()
    dividends = [graph.variable("a", -9, 7), graph.variable("b", 0, 9)]
    divisors = [graph.variable("c", 1, 4), graph.variable("d", -4, -1), graph.constant(3), graph.constant(-2)]
    roots = [graph.lift(graph.apply(op, a, b)) for a in dividends for b in divisors for op in ("mul", "div", "mod")]
    values = itertools.product(range(-9, 8), (0, 1, 7, 8, 9), range(1, 5), range(-4, 0))
    return graph, roots, [list(row) for row in values]


def test_llvm_divides_as_ints_do() -> None:
    """Quotients are rounded down and remainders have the divisor's sign, for every sign of both."""
    graph, roots, rows = divisions()
    found = evaluate_rows(graph, roots, np.array(rows))
    assert found.tolist() == [[int_reader(root, row) for root in roots] for row in rows]


def test_a_divisor_that_left_its_interval_stops_no_process() -> None:
    """Machine code computes words of steps that are cut off too: there a divisor may be 0."""
    graph = Graph()
    near = graph.variable("n", 1, 3)
    roots = [graph.lift(graph.apply(op, graph.constant(6), near)) for op in ("div", "mod")]
    assert evaluate_rows(graph, roots, np.array([[0], [2]])).tolist()[1] == [3, 0]


def test_a_word_beyond_64_bits_is_refused() -> None:
    """A sum that can pass 2**63 is an error that names the operator, not silent wrap-around."""
    graph = Graph()
    big = graph.variable("big", 0, (1 << 63) - 1)
    with pytest.raises(LoweringError, match="add term has values"):
        evaluate_rows(graph, [graph.apply("add", big, big)], np.array([[1]]))
