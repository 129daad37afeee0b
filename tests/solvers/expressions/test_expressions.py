"""Expressions: what they say of a state is what Python says, and each refusal has its column."""

import itertools
import re
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.model.language.layout import Layout, counter, endless, ints, rebuild
from kraftcheck.model.language.terms import Graph
from kraftcheck.solvers.expressions.checking import MAX_DEPTH, MAX_LENGTH, ExpressionError
from kraftcheck.solvers.expressions.expression import FORMS, IN_RANGE, Expression, expression
from kraftcheck.solvers.expressions.operators import FUNCTIONS
from kraftcheck.solvers.program.evaluation import evaluated
from kraftcheck.solvers.program.symbols import symbol
from tests.examples.two_phase import TWO_PHASE, Coordinator, Manager
from tests.shared.commands import kraftcheck
from tests.shared.places import DOCS
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
        ("waiting == [1, 1] and size(waiting) == 2 and first(waiting) == 1", True),
        ("0 in waiting or any(b == 0 for b in waiting)", False),
        ("waiting[2] == 0", None),
        ("isr < isr", False),
        ("isr > isr or elr < elr", False),
        ("{0} < isr and isr > {1} and not isr <= elr", True),
        ("isr ^ {1, 2} == {0, 2} and isr - {1} == {0} and isr | elr == {0, 1, 2}", True),
    ],
)
def test_each_form_in_a_state_that_can_be_read(text: str, answer: bool | None) -> None:
    """The forms of the documentation, of one state whose answers anybody can work out."""
    state = PACKING.state([1, 2, 0, 0b011, 0b100, 1, 0, -1, -2, 4, 3, 0, 1, 1, 1, 2, 1, 0, 1, 2, 0b010, 2, 1, 1, 0])
    assert on_ints(expression(text, LAYOUT), state) is answer


NAME = "tests.examples.two_phase:TWO_PHASE"


@pytest.mark.parametrize(("text", "code", "words"), [
    ("coordinator == INIT", 12, "refuted in 1 step"),
    ("INIT != coordinator", 12, "refuted in 0 steps"),
    ("all(m != COMMITTED for m in manager)", 12, "refuted"),
    ("implies(coordinator == COMMITTED, manager[0] in {PREPARED, COMMITTED})", 0, "2 holds"),
    ("implies(coordinator == COMMITTED, manager[0] in [PREPARED])", 12, "refuted"),
    ("coordinator in {INIT, COMMITTED, ABORTED}", 21, "1 vacuous, 1 holds"),
])  # fmt: skip
def test_a_name_stands_for_its_number(text: str, code: int, words: str) -> None:
    """`COMMITTED` is 2 beside a manager and 1 beside the coordinator, on either side, and in written sets."""
    assert (int(Manager.COMMITTED), int(Coordinator.COMMITTED)) == (2, 1)
    ran = kraftcheck("explore", NAME, "--property", "deadlock", "--invariant", text, "--quiet")
    assert ran.code == code
    assert words in ran.text


@pytest.mark.parametrize(("text", "message"), [
    ("coordinator == WORKING", "column 16: WORKING is none of the names INIT, COMMITTED, ABORTED"),
    ("coordinator in {INIT, WORKING}", "column 23: WORKING is none of the names"),
    ("size(prepared) == INIT", "no field INIT"),
    ("INIT == COMMITTED", "no field COMMITTED"),
])  # fmt: skip
def test_a_name_of_another_enumeration_is_refused(text: str, message: str) -> None:
    """What is no name of that enumeration is refused at its column, and so is a name beside no enumeration."""
    assert message in kraftcheck("explore", NAME, "--invariant", text).refusal()


def test_names_and_numbers_say_the_same() -> None:
    """Each name finds the states that its number finds."""
    assert TWO_PHASE.name == "two-phase"
    for member, place in itertools.product((Manager.PREPARED, Manager.ABORTED), (0, 2)):
        texts = (f"manager[{place}] == {member}", f"manager[{place}] == {int(member)}")
        lengths = [kraftcheck("explore", NAME, "--find", text, "--quiet").last for text in texts]
        assert lengths[0] == lengths[1] == "found in 1 step (exit 0)"


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
            "column 1: no field zzzzzz; there are 12, such as dirs, elr, ends; `kraftcheck step toy` shows",
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
        ("waiting.size == 1", "column 1: waiting is a list; it has no field size, write size(waiting)"),
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
