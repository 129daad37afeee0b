"""What expressions refuse: each with the column, and without running anything."""

from __future__ import annotations

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.model.language.layout import counter, endless, ints
from kraftcheck.solvers.expressions.checking import MAX_DEPTH, MAX_LENGTH, ExpressionError
from kraftcheck.solvers.expressions.expression import FORMS, expression
from kraftcheck.solvers.expressions.operators import FUNCTIONS
from tests.shared.places import DOCS
from tests.solvers.expressions.drawn import LAYOUT


def refusal(text: str) -> str:
    """The message about an expression."""
    with pytest.raises(ExpressionError) as refused:
        expression(text, LAYOUT, "kraftcheck step toy")
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "column 1: the expression is empty"),
        ("leader ==", "column 10: something is missing"),
        ("2in isr", "column 1: invalid decimal literal"),
        ("leader == 0x7for isr", "column 14: invalid hexadecimal literal"),
        ("leader in (", "column 11: '(' was never closed"),
        ("leader in isrr", "column 11: no field isrr; did you mean isr"),
        (
            "zzzzzz == 1",
            "column 1: no field zzzzzz; there are 11, such as dirs, elr, ends; `kraftcheck step toy` shows",
        ),
        ("leader", "column 1: leader is a number, not a truth"),
        ("isr and recovering", "column 1: isr is a set, not a truth"),
        ("recovering and leader + isr > 1", "column 16: this operator takes two numbers or two sets"),
        ("recovering & recovering", "truths are joined by `and` and `or`"),
        ("isr & replicas == {}", "set(...) makes a set of a list"),
        ("isr <= replicas", "set(...) makes a set of a list"),
        ("isr == leader", "column 1: these cannot be compared by `==`: isr is a set and leader a number"),
        ("first < logs[0]", "these cannot be compared by `<`"),
        ("leader is none", "write == or != for `is`"),
        ("epoch * 2 == 4", "numbers are added and subtracted"),
        ("isr + elr == {}", "sets have the operators"),
        ("~epoch == 1", "no such sign"),
        ("leader in 3", "column 11: 3 is a number, not a set or list of numbers"),
        ("first.ends == 1", "column 1: first has no field ends; did you mean end"),
        ("isr.mask == 1", "column 1: isr is a set; it has no field mask"),
        ("isr[0] == 1", "column 1: isr is a set; it has no places"),
        ("ends[3] == 1", "column 6: ends has places 0..2, and none is 3"),
        ("ends[-1] == 1", "column 6: ends has places 0..2, and none is -1"),
        ("ends[0:1] == [1]", "expressions have no slices"),
        ("implies(recovering)", "column 1: it is written implies(P, Q)"),
        ("all(recovering)", "it is written all(b in isr for b in elr)"),
        ("all(leader in isr for leader in elr)", "column 23: leader is a name already"),
        ("all(b > 0 for b in leader)", "column 20: leader is a number; `for` goes through sets, lists and rows"),
        ("all(a > 0 for a, b in isr)", "column 15: after `for` stands one name"),
        ("all(b > 0 for b in range(epoch))", "range takes one or two written numbers"),
        ("all(b > 0 for b in range(1000))", "range stands for 1 to 64 numbers"),
        ("min(leader) == 1", "min and max take two numbers or more"),
        ("size(leader) == 1", "leader is a number, not a set, a list or a row"),
        ("first(dirs) == 1", "dirs is a row of 3 places, not a set or list of numbers"),
        ("{70} == isr", "column 2: a set holds 0..61, and 70 may be more"),
        ("{0: 1} == isr", "a set is written {0, 1}"),
        ("(leader if recovering else isr) == 1", "`if` chooses between two values of one kind"),
        ("epoch == 1.5", "column 10: 1.5 is neither a whole number"),
        ("epoch == 99999999999999999999", "column 10: this number may be too large for the engines"),
        ("'a' == 'b'", "column 1: expressions have no text and no comments"),
        ("leader # isr", "column 8: expressions have no text and no comments"),
        ("leader\n== 1", "column 7: an expression is one line"),
        ("é == 1", "column 1: no field é"),
        ("recovering and é == 1", "column 16: no field é"),
    ],
)
def test_a_refusal_names_the_column_and_the_fault(text: str, says: str) -> None:
    """Each thing that does not fit is one line that begins with its column."""
    message = refusal(text)
    assert message.startswith("column ")
    assert says in message


@pytest.mark.parametrize(
    "text",
    [
        "__import__(0)", "isr.__class__ == 1", "(lambda: recovering)()", "[x for x in isr] == []",
        "{x for x in isr} == {}", "{x: x for x in isr} == {}", "(yield)", "(x := 1) == 1", "await isr",
        "isr.keep(elr) == {}", "f(*isr)", "size(c=isr)", "open(0)", "eval(isr)", "getattr(isr, leader)", "f(x)(y)",
        "isr[...] == 1", "1j == 1", "*isr", "not (...)",
    ],
)  # fmt: skip
def test_nothing_of_python_is_run(text: str) -> None:
    """Other forms, attributes of objects, methods and functions are refused, and never evaluated."""
    assert refusal(text).startswith("column ")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("recovering and " * 100 + "recovering", f"longer than {MAX_LENGTH} characters"),
        ("(" * 300 + "recovering" + ")" * 300, "too many nested parentheses"),
        ("not " * 60 + "recovering", f"nested more than {MAX_DEPTH} levels deep"),
        ("-" * 900 + "1 == 1", "nested"),
        ("all(" * 5 + "a + b + c + d + e > 0" + "".join(f" for {n} in range(60))" for n in "abcde"), "operations"),
    ],
)
def test_long_and_deep_expressions_are_refused(text: str, says: str) -> None:
    """Input that would cost much is refused before anything is computed."""
    assert says in refusal(text)


@pytest.mark.parametrize("shape", [counter(), endless(0, 3)])
def test_fields_without_bounds(shape: object) -> None:
    """A number without bound is a number; a sequence without end is refused where it is read."""
    if shape == counter():
        assert expression("state > 3", shape).truth(4) is True
        return
    with pytest.raises(ExpressionError, match="a sequence without end, which expressions do not read"):
        expression("state == 1", shape)


def test_a_state_that_is_no_record_is_named_state() -> None:
    """A system whose state is one number is asked about by the name `state`."""
    assert expression("state == 3", ints(0, 5)).truth(3) is True


@given(st.text(string.printable + "é∈", max_size=80))
def test_any_text_is_read_or_refused_with_a_column(text: str) -> None:
    """Whatever is typed, the answer is an expression or a message that begins with a column within the text."""
    try:
        expression(text, LAYOUT)
    except ExpressionError as error:
        (column,) = re.findall(r"^column (\d+): .", str(error))
        assert 1 <= int(column) <= len(text) + 1


def test_every_form_and_function_is_of_the_documentation() -> None:
    """The page of the language names every function; the forms are those that the tests above go through."""
    page = (DOCS / "reference" / "expressions.md").read_text(encoding="utf-8")
    assert [name for name in FUNCTIONS if f"`{name}(" not in page] == []
    assert len(FORMS) == 14
