"""What expressions say of a state: as Python says of plain values, on ints and on terms alike."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.model.language.layout import Layout, rebuild
from kraftcheck.model.language.terms import Graph
from kraftcheck.solvers.expressions.expression import IN_RANGE, Expression, expression
from kraftcheck.solvers.program.evaluation import evaluated
from kraftcheck.solvers.program.symbols import symbol
from tests.solvers.expressions.drawn import LAYOUT, STATES, TRUTHS, Cluster, Drawn, plain

PACKING = Layout(LAYOUT)


def by_python(text: str, state: Cluster) -> bool | None:
    """What Python says of plain values; None where a list has no such place."""
    try:
        return bool(eval(text, plain(state)))
    except IndexError:
        return None


def on_ints(checked: Expression, state: Cluster) -> bool | None:
    """What the expression says of a state of ints; None where it cannot be evaluated."""
    parts = checked.conjuncts(state)
    return all(parts.values()) if parts.pop(IN_RANGE, True) else None


def on_terms(checked: Expression, states: list[Cluster]) -> list[bool]:
    """Whether the expression is true of each state, once it is traced into terms."""
    graph = Graph()
    variables = [symbol(graph, slot.path, slot.domain) for slot in PACKING.slots]
    feed = iter(variables)
    root = graph.lift(checked.truth(rebuild(LAYOUT, lambda: next(feed))))
    answers = []
    for state in states:
        values = {graph.lift(v).index: leaf for v, leaf in zip(variables, PACKING.values(state), strict=True)}
        answers.append(bool(evaluated([root], values)[root.index]))
    return answers


@settings(max_examples=400)
@given(TRUTHS, st.lists(STATES, min_size=4, max_size=4))
def test_an_expression_says_what_python_says(drawn: Drawn, states: list[Cluster]) -> None:
    """Every form, nested at random: on ints as Python's eval on plain sets and lists, on terms as on ints."""
    checked = expression(drawn.ours, LAYOUT)
    expected = [by_python(drawn.python, state) for state in states]
    assert [on_ints(checked, state) for state in states] == expected
    assert on_terms(checked, states) == [answer is True for answer in expected]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("leader in isr", True),
        ("size(isr) < epoch", False),
        ("isr & elr == {}", True),
        ("logs[0].end == 2", True),
        ("first.holders == {1}", True),
        ("replicas == [1, 0]", True),
        ("replicas[2] == none", None),
        ("size(replicas) == 3 and replicas[2] == none", False),
        ("all(b in isr for b in replicas)", True),
        ("all(ends[b] == 4 for b in isr)", False),
        ("any(log.end > 2 for log in logs)", False),
        ("implies(recovering, ends[epoch] == 0)", True),
        ("count(b in isr for b in range(3)) == 2", True),
        ("last == []", True),
        ("isr < isr", False),
        ("isr > isr or elr < elr", False),
        ("{0} < isr and isr > {1} and not isr <= elr", True),
        ("isr ^ {1, 2} == {0, 2} and isr - {1} == {0} and isr | elr == {0, 1, 2}", True),
    ],
)
def test_each_form_in_a_state_that_can_be_read(text: str, answer: bool | None) -> None:
    """The forms of the documentation, of one state whose answers anybody can work out."""
    state = PACKING.state([1, 2, 0, 0b011, 0b100, 1, 0, -1, -2, 4, 3, 0, 1, 1, 1, 2, 1, 0, 1, 2, 0b010])
    assert on_ints(expression(text, LAYOUT), state) is answer
