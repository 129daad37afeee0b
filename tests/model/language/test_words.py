"""The words of rules: choices on records, truths, optional fields."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from attrs import frozen

from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.language.symbolic import UntraceableRule
from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.model.language.words import (
    Maybe,
    absent,
    all_of,
    any_of,
    apply,
    choose,
    concrete,
    implies,
    negate,
    none_of,
    present,
    word,
)
from kraftcheck.model.partition.registration import DirectoryList
from tests.shared.readers import read, values_of


@frozen
class Pair:
    """A record with a tuple inside."""

    left: Any
    right: tuple[Any, ...]


def test_choose_on_ints_takes_a_side() -> None:
    """With a known condition the chosen value itself comes back, whatever its type."""
    one, other = IdList((1,)), object()
    assert choose(True, one, other) is one
    assert choose(False, one, other) is other


@pytest.mark.parametrize("value", [0, 1])
def test_choose_on_records_goes_field_by_field(value: int) -> None:
    """A symbolic condition chooses inside records and tuples; equal fields stay concrete."""
    graph = Graph()
    condition: Any = graph.truth_variable("c")
    merged = choose(condition, Pair(1, (2, True, "same")), Pair(1, (3, False, "same")))
    assert merged.left == 1
    assert isinstance(merged.right[0], Term)
    assert merged.right[1] is condition
    expected = Pair(1, (2, True, "same") if value else (3, False, "same"))
    assert read(merged, values_of(graph, [value])) == expected


@pytest.mark.parametrize(
    ("then", "otherwise"),
    [
        (Pair(1, (2,)), Pair(1, (2, 3))),
        (Pair(1, ()), 1),
        ("left", "right"),
        (IdList((1,)), IdList((2,))),
        (DirectoryList((0,), (3,)), DirectoryList((0,), (4,))),
    ],
)
def test_choose_between_two_shapes_is_refused(then: Any, otherwise: Any) -> None:
    """A symbolic condition cannot choose between shapes, nor between records that are only concrete."""
    condition: Any = Graph().truth_variable("c")
    with pytest.raises(UntraceableRule, match=r"test_words\.py:\d+: choose\(\) on a symbolic condition"):
        choose(condition, then, otherwise)


def test_choose_on_a_word_is_refused() -> None:
    """A symbolic word decides nothing, though it may be 0 or 1 only."""
    condition: Any = Graph().variable("n", 0, 1)
    with pytest.raises(UntraceableRule, match=r"test_words\.py:\d+: choose\(\) on a word; compare it"):
        choose(condition, 1, 2)


@pytest.mark.parametrize("values", list(itertools.product([False, True], repeat=2)))
def test_truths(values: tuple[bool, bool]) -> None:
    """The connectives have their truth tables, on bools and on terms."""
    graph = Graph()
    traced: tuple[Any, ...] = (graph.truth_variable("p"), graph.truth_variable("q"))

    def answers(p: Any, q: Any) -> tuple[Any, ...]:
        return all_of(p, q), any_of(p, q), none_of(p, q), implies(p, q), negate(p), word(p) + word(q)

    p, q = values
    expected = (p and q, p or q, not (p or q), not p or q, not p, p + q)
    assert answers(p, q) == expected
    symbolic = answers(*traced)
    assert read(symbolic, values_of(graph, [p, q])) == expected


def test_truths_of_nothing() -> None:
    """Nothing is all true and not any true."""
    assert (all_of(), any_of(), none_of()) == (True, False, True)


def test_an_operator_on_ints_and_terms_lifts_the_ints() -> None:
    """One term among the operands makes a term; none makes a value."""
    mask = Graph().variable("m", 0, 7)
    assert apply("member", 5, 2) is True
    assert isinstance(apply("member", mask, 2), Term)


def test_an_optional_field_knows_three_states() -> None:
    """Absent keeps, present sets, and present with the old value is still present."""
    assert absent(3).or_else(7) == 7
    assert present(3).or_else(7) == 3
    assert present(7) != absent(7)


def test_an_optional_field_is_set_and_cleared_by_conditions() -> None:
    """`set_when` overrides where the condition holds, `clear_when` makes absent and keeps the value."""
    assert absent(0).set_when(True, 5) == Maybe(True, 5)
    assert present(4).set_when(False, 5) == Maybe(True, 4)
    assert present(4).clear_when(True) == Maybe(False, 4)
    assert present(4).clear_when(False) == Maybe(True, 4)


def test_a_symbolic_word_is_not_concrete() -> None:
    """Asking a symbolic word for its int names the line."""
    assert concrete(4) == 4
    with pytest.raises(UntraceableRule, match=r"test_words\.py:\d+: a symbolic word"):
        concrete(Graph().variable("x", 0, 3))
