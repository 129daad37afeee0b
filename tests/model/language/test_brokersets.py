"""Sets and lists of brokers: the families agree, and terms agree with ints."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.model.language.brokersets import BrokerSet, Replicas
from kraftcheck.model.language.idlists import AtMostOne, IdList
from kraftcheck.model.language.layout import Range
from kraftcheck.model.language.symbolic import UntraceableRule, described
from kraftcheck.model.language.terms import Graph
from kraftcheck.model.language.words import EMPTY, NO_LEADER
from kraftcheck.model.partition.registration import FIRST_LOCAL, LOST, MIGRATING, UNASSIGNED, DirectoryMap
from tests.shared.readers import numbers, read, symbolic, values_of

SIZE = 4
id_lists = st.permutations(range(SIZE)).flatmap(lambda ids: st.integers(0, SIZE).map(lambda n: ids[:n]))
brokers = st.integers(-1, SIZE - 1)

QUESTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "has": lambda a, b, x: a.has(x),
    "minus": lambda a, b, x: a.minus(b),
    "keep": lambda a, b, x: a.keep(b),
    "plus": lambda a, b, x: a.plus(b),
    "just": lambda a, b, x: a.just(x),
    "none": lambda a, b, x: a.none(),
    "ascending": lambda a, b, x: a.ascending(),
    "is_empty": lambda a, b, x: a.is_empty(),
    "size": lambda a, b, x: a.size(),
    "within": lambda a, b, x: a.within(b),
    "same": lambda a, b, x: a.same(b),
    "first": lambda a, b, x: a.first(),
    "first_in": lambda a, b, x: a.first_in(b),
}
ORDERED_ONLY = ("same", "first", "first_in")
"""Questions whose answer depends on an order that a set does not keep."""


def as_list(answer: Any) -> Any:
    """A collection as the list of its members; other answers as they are."""
    return list(answer) if isinstance(answer, IdList | Replicas | BrokerSet | AtMostOne) else answer


@settings(max_examples=300, deadline=None)
@given(id_lists, id_lists, brokers)
def test_lists_and_slots_agree_as_lists(a: list[int], b: list[int], x: int) -> None:
    """`IdList` and `Replicas` give the same answer to every question, order included."""
    for name, ask in QUESTIONS.items():
        if name == "just" and x == NO_LEADER:
            continue  # A list holds -1 as a member, slots take it as vacant.
        listed = ask(IdList.of(a), IdList.of(b), x)
        slotted = ask(Replicas.of(a, SIZE), Replicas.of(b, SIZE), x)
        assert as_list(listed) == as_list(slotted), name


@settings(max_examples=300, deadline=None)
@given(id_lists, id_lists, brokers)
def test_lists_and_masks_agree_as_sets(a: list[int], b: list[int], x: int) -> None:
    """`IdList` and `BrokerSet` give the same answer as far as it does not depend on order."""
    for name, ask in QUESTIONS.items():
        if name in ORDERED_ONLY or (name == "just" and x == NO_LEADER):
            continue
        listed = ask(IdList.of(a), IdList.of(b), x)
        masked = ask(BrokerSet.of(a), BrokerSet.of(b), x)
        if isinstance(masked, BrokerSet):
            assert list(masked) == sorted(listed), name
        else:
            assert masked == listed, name


@settings(max_examples=100, deadline=None)
@given(id_lists, id_lists)
def test_a_mask_answers_as_the_ascending_list(a: list[int], b: list[int]) -> None:
    """What depends on order, a set answers as the list in ascending order would."""
    masked, listed = BrokerSet.of(a), IdList.of(sorted(a))
    assert masked.first() == listed.first()
    assert masked.first_in(BrokerSet.of(b)) == listed.first_in(IdList.of(b))
    assert masked.same(BrokerSet.of(b)) == listed.same(IdList.of(sorted(b)))


@settings(max_examples=100, deadline=None)
@given(st.lists(brokers, max_size=1), id_lists, brokers)
def test_a_list_of_at_most_one_agrees_with_the_list(a: list[int], b: list[int], x: int) -> None:
    """`AtMostOne` answers as the `IdList` of its member, also for the member -1 (defect B5)."""
    small, listed = AtMostOne(a[0] if a else EMPTY), IdList.of(a)
    for name, ask in QUESTIONS.items():
        if name in ("plus", "same"):
            continue
        assert as_list(ask(small, BrokerSet.of(b), x)) == as_list(ask(listed, IdList.of(b), x)), name
    assert small.same(small.just(x)) == listed.same(listed.just(x))


DOMAINS: dict[str, Any] = {
    "BrokerSet": BrokerSet(Range(0, (1 << SIZE) - 1)),  # type: ignore[arg-type]
    "Replicas": Replicas((Range(NO_LEADER, SIZE - 1),) * SIZE),  # type: ignore[arg-type]
    "AtMostOne": AtMostOne(Range(EMPTY, SIZE - 1)),  # type: ignore[arg-type]
}
MAKE: dict[str, Callable[[list[int]], Any]] = {
    "BrokerSet": BrokerSet.of,
    "Replicas": lambda ids: Replicas.of(ids, SIZE),
    "AtMostOne": lambda ids: AtMostOne(ids[0] if ids else EMPTY),
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("kind", DOMAINS)
def test_terms_agree_with_ints(kind: str, question: str) -> None:
    """Each method of each family, traced with everything symbolic, has the int answer for every value."""
    if (kind, question) == ("AtMostOne", "plus"):
        with pytest.raises(TypeError, match="cannot be extended"):
            AtMostOne(1).plus(AtMostOne(2))
        return
    graph = Graph()
    a, b = symbolic(graph, DOMAINS[kind]), symbolic(graph, DOMAINS[kind])
    x = graph.variable("x", -1, SIZE - 1)
    traced = QUESTIONS[question](a, b, x)
    lists = [list(ids) for n in range(3) for ids in itertools.permutations(range(SIZE), n)] + [[2, 0, 3], [3, 1, 2, 0]]
    for left, right, broker in itertools.product(lists, lists[::2], (-1, 0, 2)):
        values = MAKE[kind](left), MAKE[kind](right)
        found = values_of(graph, [*numbers(values), broker])
        assert read(traced, found) == QUESTIONS[question](*values, broker)


def test_what_the_mask_forgets() -> None:
    """A permuted list is another list and the same set."""
    assert not IdList.of([0, 2]).same(IdList.of([2, 0]))
    assert BrokerSet.of([0, 2]).same(BrokerSet.of([2, 0]))


def test_slots_append_a_set_in_ascending_order() -> None:
    """Members that come from a set join an ordered list lowest first."""
    assert list(Replicas.of([3], SIZE).plus(BrokerSet.of([2, 0, 3]))) == [3, 0, 2]


def test_families_do_not_mix() -> None:
    """A list and a mask in one question are a mistake of the caller, and an error."""
    with pytest.raises(TypeError, match="an ordered list meets BrokerSet"):
        IdList.of([1]).minus(BrokerSet.of([1]))
    with pytest.raises(TypeError, match="a set meets a value of type IdList"):
        BrokerSet.of([1]).plus(IdList.of([1]))
    with pytest.raises(TypeError, match="are compared with"):
        Replicas.of([1], 2).same(BrokerSet.of([1]))
    with pytest.raises(TypeError, match="is compared with"):
        AtMostOne(1).same(BrokerSet.of([1]))


def test_a_list_cannot_hold_a_symbolic_broker() -> None:
    """Lists are concrete, and iterating a symbolic set is refused with the line that asked."""
    graph = Graph()
    with pytest.raises(UntraceableRule, match=r"test_brokersets\.py:\d+: "):
        IdList().just(graph.variable("b", 0, 3))
    with pytest.raises(UntraceableRule, match=r"test_brokersets\.py:\d+: "):
        list(BrokerSet(graph.variable("m", 0, 7)))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (BrokerSet.of([2, 0]), "{0,2}"),
        (BrokerSet(), "{}"),
        (Replicas.of([2, 0], 3), "[2,0]"),
        (Replicas.of([], 3), "[]"),
        (IdList.of([2, 0]), "[2,0]"),
        (AtMostOne(), "[]"),
        (AtMostOne(0), "[0]"),
        (AtMostOne(-1), "[-1]"),
        (DirectoryMap((UNASSIGNED, FIRST_LOCAL)), "0:UNASSIGNED 1:dir0"),
        (DirectoryMap((MIGRATING, LOST, FIRST_LOCAL + 1)), "0:MIGRATING 1:LOST 2:dir1"),
    ],
)
def test_collections_print_as_traces_show_them(value: Any, text: str) -> None:
    """Sets print in braces, lists in brackets, directories by name."""
    assert str(value) == text


def test_symbolic_collections_have_no_text() -> None:
    """Text that a rule makes of a collection could decide silently, as a key: it is refused. Messages describe it."""
    graph = Graph()
    x = graph.variable("x", 0, 3)
    for value in (BrokerSet(x), Replicas((x,)), AtMostOne(x), DirectoryMap((x,))):
        for text in (str, repr):
            with pytest.raises(UntraceableRule, match=r"\.py:\d+: "):
                text(value)
        assert "var x: a word in 0..3" in described(value)


def test_a_set_of_nothing_is_empty() -> None:
    """Without members, as with none, the set is the empty one."""
    assert BrokerSet.of() == BrokerSet.of([])
    assert list(BrokerSet.of()) == []
