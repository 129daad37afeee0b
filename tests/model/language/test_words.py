"""The words of rules: choices, truths, optional fields, what has no truth, and the limits that the page names."""

import contextlib
import inspect
import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from attrs import frozen

import kraftcheck as kc
from kraftcheck.model.language import anynumber, brokersets, collections, idlists, network, places, words
from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.language.layout import Layout, LayoutError
from kraftcheck.model.language.symbolic import Symbolic, Untold, UntraceableRule, record_fields
from kraftcheck.model.language.symmetry import MOST_MEMBERS
from kraftcheck.model.language.system import ANY
from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.model.language.words import (
    Maybe,
    Rule,
    RuleError,
    absent,
    all_of,
    any_of,
    apply,
    choose,
    concrete,
    first_sentence,
    implies,
    negate,
    none_of,
    present,
    rule,
    rules_of,
    word,
)
from kraftcheck.model.partition.registration import DirectoryList
from kraftcheck.model.rules.ruleset import PRESETS
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.solvers.program.program import MAX_INSTANCES
from kraftcheck.solvers.program.symbols import state_symbols
from tests.shared.explored import read, values_of
from tests.shared.places import DOCS


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


LANGUAGE = "kraftcheck.model.language."


def parts(value: Any) -> Iterator[Any]:
    """The values of a state that are neither words nor records of a system's own, at whatever depth."""
    if isinstance(value, tuple):
        for item in value:
            yield from parts(item)
    elif type(value).__module__.startswith(LANGUAGE) and not isinstance(value, Symbolic | int):
        yield value
    elif not isinstance(value, Symbolic):
        for name in record_fields(type(value)) or ():
            yield from parts(getattr(value, name))


def states(layout: Layout) -> Iterator[Any]:
    """A state of terms, and where the layout lists values one of ints."""
    yield state_symbols(Graph(), layout)[1]
    with contextlib.suppress(AttributeError, TypeError):  # of any number
        yield layout.state([slot.domain.lo for slot in layout.slots])


WITH_SETS = (
    "elections", "replication", "directories", "kraft", "sessions", "unclean-recovery", "zk-controller", "elr-index",
)  # fmt: skip
"""Systems whose states have collections, and not words alone."""


@pytest.mark.parametrize("name", WITH_SETS)
def test_no_collection_of_a_state_has_a_truth(name: str) -> None:
    """Neither true nor false, nor unequal to a value of another class; the line of the question stands first."""
    system = SYSTEMS[name]
    few = Layout(system.layout(system.setting(rules=PRESETS["fixed"])))
    found = [part for state in states(few) for part in parts(state)]
    for part in found:
        with pytest.raises(UntraceableRule, match=rf"^{__file__}:\d+: an? {type(part).__name__} was used as a con"):
            bool(part)
        for other in ({0}, [0], (0,), 0, "", None):
            for compare in (lambda a, b: a == b, lambda a, b: a != b, lambda a, b: b == a):
                with pytest.raises(UntraceableRule, match=rf"^{__file__}:\d+: an? {type(part).__name__} is compared"):
                    compare(part, other)
    assert found


@pytest.mark.parametrize("name", ["elections", "directories", "replication"])
def test_neither_has_one_of_any_number(name: str) -> None:
    """So do sets and maps of any number of brokers."""
    system = SYSTEMS[name]
    layout = Layout(system.layout(system.setting("tiny", {"brokers": ANY}, PRESETS["fixed"], proof=True)), packed=False)
    found = [*parts(state_symbols(Graph(), layout)[1])]
    assert found
    for part in found:
        with pytest.raises(UntraceableRule, match="was used as a condition"):
            bool(part)


MODULES = (anynumber, brokersets, collections, idlists, network, places, words)
QUESTIONS = ("is_empty", "or_else", "has", "get")  # what only a collection, or a field that may be absent, is asked


def test_every_kind_of_collection_has_none() -> None:
    """Each class of the language that is asked for its members refuses to be a condition."""
    kinds = {kind for module in MODULES for _, kind in inspect.getmembers(module, inspect.isclass)
             if kind.__module__.startswith(LANGUAGE) and any(name in vars(kind) for name in QUESTIONS)
             and not getattr(kind, "_is_protocol", False)}  # fmt: skip
    assert len(kinds) >= 10
    assert {kind.__name__ for kind in kinds if not issubclass(kind, Untold | Symbolic)} == set()


def test_the_function_itself_is_returned() -> None:
    """There is no wrapper: the decorated name is the function as written, with its own source and code."""

    def doubled(n: int) -> int:
        """Twice as much. Always."""
        return 2 * n

    code, source = doubled.__code__, inspect.getsource(doubled)
    noted = rule("number.doubled", source="KIP-966")(doubled)
    assert noted is doubled
    assert (noted.__code__, inspect.getsource(noted), noted(2)) == (code, source, 4)
    assert rules_of(noted) == (Rule("number.doubled", "KIP-966", (), "Twice as much."),)


def test_a_function_states_several_rules_in_the_order_written() -> None:
    """Each decorator adds a rule; the topmost comes first."""

    @rule("elr.first", source="KIP-966", switches=("a",), says="One.")
    @rule("elr.second", source="KIP-966", says="Two.")
    def stated() -> None:
        """Three."""

    assert [(one.id, one.switches, one.says) for one in rules_of(stated)] == [
        ("elr.first", ("a",), "One."),
        ("elr.second", (), "Two."),
    ]
    assert rules_of(len) == ()


@pytest.mark.parametrize("wrong", ["isr", "Isr.join", "isr..join", "isr.join_it", ".isr", "isr.join.", "isr. join"])
def test_an_id_that_is_not_well_formed_is_refused(wrong: str) -> None:
    """An id is words of small letters and digits, joined by hyphens, with a dot at least."""
    with pytest.raises(RuleError, match="is no rule id"):
        rule(wrong, source="KIP-966")


def test_a_sentence_ends_at_its_full_stop() -> None:
    """A version number or a name with a dot does not end a sentence, nor does the end of a line."""
    assert first_sentence("From 4.1.2 on `a.b`\n    counts. More.\n\n    Even more.") == "From 4.1.2 on `a.b` counts."
    assert first_sentence(None) == ""


@frozen
class One:
    """A state with one field."""

    x: Any


class Many(kc.SetOf):
    """More members than a state has bits."""

    members = tuple(range(513))


class Twice(kc.SetOf):
    """One member twice."""

    members = (1, 1)


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda: kc.subset_of(63), "subset_of(63): sets have 0..62"),
        (lambda: kc.IntSet.of([62]), "62 in a set: its numbers are 0..61"),
        (lambda: Layout(One(kc.ints(0, 1 << 63))), "use at most 63 bits"),
        (lambda: Layout(One(kc.ints(4, 0))), "layout field x has the domain 4..0; it is empty"),
        (lambda: Layout(One((kc.truth(),) * 513)), "a state needs 513 bits and the limit is 512"),
        (lambda: Layout(One(Many.domain())), "and the limit is 512"),
        (lambda: Twice.of([1]), "name each once"),
        (lambda: kc.Queue.of([1, 2, 3], 2), "3 items in a queue of at most 2"),
    ],
    ids=["members", "number", "field", "empty", "state", "declared", "twice", "queue"],
)
def test_what_is_beyond_a_limit_is_refused(made: Callable[[], Any], says: str) -> None:
    """The message says the limit, and what asks for more."""
    with pytest.raises((LayoutError, ValueError), match=re.escape(says)):
        made()


@pytest.mark.parametrize(
    "shape",
    [kc.ints(0, (1 << 63) - 1), (kc.truth(),) * 512, kc.IntSet(kc.subset_of(62)),
     kc.Replicas((kc.ints(-1, 61),) * 62)],
    ids=["field", "state", "members", "replicas"],
)  # fmt: skip
def test_what_is_at_a_limit_is_taken(shape: Any) -> None:
    """The largest of each has a layout of at most eight words."""
    assert 1 <= Layout(One(shape)).words <= 8


def test_the_page_names_the_limits() -> None:
    """The numbers of the page are those of the code."""
    text = (DOCS / "reference" / "language.md").read_text(encoding="utf-8")
    assert f"{MAX_INSTANCES:,} action instances" in text
    assert f"at most {MOST_MEMBERS} where a field names one by its number" in text
