"""Sets and lists of brokers, a few or any number: the families agree, and terms agree with ints."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from attrs import frozen
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.model.language.anynumber import (
    AnyReplicas,
    AnySet,
    PerBroker,
    all_records,
    brokers_where,
    each_broker,
    each_pair,
    each_record,
    each_two,
    for_any_number,
    record_of,
    rewritten_records,
    same_leaves,
    smallest,
    some_records,
    with_record,
)
from kraftcheck.model.language.brokersets import Brokers, BrokerSet, Replicas
from kraftcheck.model.language.idlists import AtMostOne, IdList
from kraftcheck.model.language.layout import Endless, Range, ints, truth
from kraftcheck.model.language.sequences import Sequence
from kraftcheck.model.language.symbolic import UntraceableRule, described
from kraftcheck.model.language.terms import Graph
from kraftcheck.model.language.words import EMPTY, NO_LEADER, all_of, any_of, choose, implies
from kraftcheck.model.partition.registration import FIRST_LOCAL, LOST, MIGRATING, UNASSIGNED, DirectoryMap
from kraftcheck.solvers.audit.numbers import Interpretation
from tests.shared.explored import numbers, read, symbolic, values_of

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
ORDERED_ONLY = ("same", "first", "first_in")  # questions whose answer depends on an order that a set does not keep


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
    with pytest.raises(TypeError, match="an ordered list meets IntSet"):
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


COUNT = 5  # brokers 0..4 may be members

SETS = st.sets(st.integers(0, COUNT - 1))
LISTS = st.lists(st.integers(0, COUNT - 1), unique=True)
BROKERS = st.integers(NO_LEADER, COUNT - 1)


@frozen
class Twin:
    """A collection of any number of brokers, and the same of a fixed number."""

    any: Any
    fixed: Any


class World:
    """Collections of one graph with what they hold."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.words: dict[str, list[Any]] = {}

    def sequence(self, words: list[int], truths: bool = False) -> Sequence:
        """A sequence that starts with these words, or truths."""
        name = f"sequence {len(self.words)}"
        self.words[name] = words
        return Sequence.of_state(self.graph, name, 0, 1 if truths else 1 << 1000, truths)

    def table(self, rows: list[list[bool]]) -> Sequence:
        """A sequence of sequences of truths."""
        name = f"sequence {len(self.words)}"
        self.words[name] = rows
        return Sequence.of_state(self.graph, name, 0, 1, truths=True, numbers=(None, None))

    def members(self, ids: set[int] | list[int]) -> Sequence:
        """True for each id."""
        return self.sequence([b in ids for b in range(COUNT)], truths=True)

    def set(self, ids: set[int]) -> Twin:
        """A set."""
        return Twin(AnySet(self.members(ids)), BrokerSet.of(ids))

    def list(self, ids: list[int]) -> Twin:
        """A list; its ranks have gaps, and say nothing of other brokers."""
        ranks = [3 * ids.index(b) + 1 if b in ids else 7 for b in range(COUNT)]
        any_list = AnyReplicas(self.members(ids), self.sequence(ranks), 3 * len(ids) + 2)
        return Twin(any_list, Replicas.of(ids, 2 * COUNT))

    def value(self, word: Any) -> int:
        """A word or truth as this world has it."""
        return Interpretation(COUNT, self.words).value(word)

    def value3(self, word: Any) -> int:
        """A word or truth where there are three brokers."""
        return Interpretation(3, self.words).value(word)

    def holds(self, some: Brokers) -> list[int]:
        """The members of a collection of any number, a list in its order."""
        ids = [b for b in range(COUNT) if self.value(some.has(b))]
        if isinstance(some, AnyReplicas):
            assert self.value(some.ranked())
            ids.sort(key=lambda b: self.value(some.ranks.at(b)))
        return ids


def twins(world: World, one: Any, other: Any, ordered: bool) -> tuple[Twin, Twin]:
    """Two collections of one kind."""
    return (world.list(one), world.list(other)) if ordered else (world.set(set(one)), world.set(set(other)))


@given(LISTS, LISTS, SETS, BROKERS, st.booleans())
def test_collections_are_those_of_fixed_number(
    one: list[int], other: list[int], more: set[int], broker: int, ordered: bool
) -> None:
    """Every operation that gives a collection has the members, and of lists the order, of masks and slots."""
    world = World()
    (a, x), (b, y) = ((t.any, t.fixed) for t in twins(world, one, other, ordered))
    plain = world.set(more)
    pairs = [
        (a.minus(plain.any), x.minus(plain.fixed)),
        (a.keep(plain.any), x.keep(plain.fixed)),
        (a.plus(b), x.plus(y)),
        (a.minus(b).plus(b), x.minus(y).plus(y)),
        (a.none(), x.none()),
        (a.ascending(), x.ascending()),
        (a.minus(b).ascending().plus(b.ascending()), x.minus(y).ascending().plus(y.ascending())),
        (plain.any.none().plus(a), plain.fixed.none().plus(x)),
    ]
    if broker >= 0:
        pairs.append((a.just(broker), x.just(broker)))
    for found, expected in pairs:
        assert world.holds(found) == list(expected)


@given(LISTS, LISTS, BROKERS, st.booleans())
def test_questions_have_the_answers_of_fixed_number(
    one: list[int], other: list[int], broker: int, ordered: bool
) -> None:
    """Membership, size, first member, inclusion and equality are those of masks and slots."""
    world = World()
    (a, x), (b, y) = ((t.any, t.fixed) for t in twins(world, one, other, ordered))
    for found, expected in (
        (a.has(broker), x.has(broker)),
        (a.size(), x.size()),
        (a.is_empty(), x.is_empty()),
        (a.first(), x.first()),
        (a.first_in(b), x.first_in(y)),
        (a.within(b), x.within(y)),
        (a.same(b), x.same(y)),
        (a.same(b.minus(a).plus(a)), x.same(y.minus(x).plus(x))),
    ):
        assert world.value(found) == expected


@given(st.lists(st.integers(0, 3), min_size=COUNT, max_size=COUNT), BROKERS.filter(lambda b: b >= 0), st.integers(0, 3))
def test_records_by_broker_are_those_of_a_tuple(masks: list[int], broker: int, mask: int) -> None:
    """Reading, replacing, collecting and judging the records of brokers is the same of any and of a fixed number."""
    world = World()
    of_any, fixed = PerBroker(BrokerSet(world.sequence(masks))), tuple(map(BrokerSet, masks))
    for records, changed in (
        (of_any, with_record(of_any, broker, BrokerSet(mask))),
        (fixed, with_record(fixed, broker, BrokerSet(mask))),
    ):
        assert world.value(record_of(records, broker).mask) == masks[broker]
        expected = [mask if b == broker else old for b, old in enumerate(masks)]
        assert [world.value(record_of(changed, b).mask) for b in range(COUNT)] == expected
        full = brokers_where(records, lambda b, records=records: record_of(records, b).mask == 3)
        assert [b for b in range(COUNT) if world.value(full.has(b))] == [b for b in range(COUNT) if masks[b] == 3]
        turned = rewritten_records(records, lambda b, old: BrokerSet(choose(old.mask == b, mask, old.mask)))
        expected = [mask if old == b else old for b, old in enumerate(masks)]
        assert [world.value(record_of(turned, b).mask) for b in range(COUNT)] == expected
        large = all_records(records, lambda b, old: any_of(old.mask >= mask, b == broker))
        assert world.value(large) == all(old >= mask or b == broker for b, old in enumerate(masks))
        parts = each_broker(records, lambda b, records=records: record_of(records, b).mask < 3).values()
        assert all(map(world.value, parts)) == (3 not in masks)


@given(st.lists(st.booleans(), min_size=COUNT, max_size=COUNT), BROKERS.filter(lambda b: b >= 0), st.booleans())
def test_records_with_truths_have_truths(held: list[bool], broker: int, new: bool) -> None:
    """A truth of each broker's record is a truth when it is read and replaced, and records are equal leaf by leaf."""
    world = World()
    sequence = world.sequence(held, truths=True)
    records = PerBroker(Report(sequence, world.sequence([3 * b for b in range(COUNT)])))
    assert leaves(for_any_number(Report(truth(), ints(0, 9)))) == [Endless(0, 1, truths=True), Endless(0, 9)]
    changed = with_record(records, broker, Report(new, 7))
    for b in range(COUNT):
        expected = Report(new, 7) if b == broker else Report(held[b], 3 * b)
        one = record_of(changed, b)
        assert (world.value(one.sent), world.value(one.size)) == (expected.sent, expected.size)
        assert world.value(same_leaves(one, expected))
        assert not world.value(same_leaves(one, Report(not expected.sent, expected.size)))


@frozen
class Report:
    """A record with a truth and a word."""

    sent: Any
    size: Any


def leaves(records: PerBroker) -> list[Any]:
    """The leaves of the record that stands for all."""
    return [records.item.sent, records.item.size]


@given(st.lists(st.sets(st.integers(0, 2)), min_size=3, max_size=3), st.integers(0, 2), SETS, st.integers(0, 3))
def test_a_set_of_each_broker_is_that_of_a_tuple(held: list[set[int]], broker: int, other: set[int], size: int) -> None:
    """What each broker holds of each other one is a function of two brokers: it means what a tuple of masks does."""
    world = World()
    of_any = PerBroker(AnySet(world.table([[b in row for b in range(3)] for row in held])))
    fixed = tuple(map(BrokerSet.of, held))
    more = world.set(other & {0, 1, 2})
    answers = []
    for records, some in ((of_any, more.any), (fixed, more.fixed)):
        changed = with_record(records, broker, record_of(records, broker).plus(some))
        turned = rewritten_records(changed, lambda b, old, some=some: choose(old.has(b), old.minus(some), old))
        large = all_of(*each_record(turned, lambda _, one: one.size() >= size).values())
        mutual = each_two(turned, lambda a, one, b, two: implies(one.has(b), two.has(a)))
        disjoint = each_pair(turned, lambda _, one, __, two: one.keep(two).is_empty())
        alone = some_records(turned, lambda b, one: one.same(one.just(b)))
        least = smallest(turned, lambda b: b > 0, lambda b, one: choose(one.has(b), b, 7), size)
        truths = (large, all_of(*mutual.values()), all_of(*disjoint.values()), any_of(*alone))
        sets = [[world.value(record_of(turned, b).has(x)) for x in range(3)] for b in range(3)]
        answers.append(([bool(world.value3(truth)) for truth in truths], world.value3(least), sets))
    assert answers[0] == answers[1]


def test_a_first_member_within_a_claim_of_every_broker_is_refused() -> None:
    """A place that is singled out among all cannot be named once for each of them; a size can."""
    world = World()
    some = world.set({1}).any
    assert world.value(some.within(BrokersOf(lambda broker: some.size() == broker)))
    with pytest.raises(UntraceableRule, match=r"first or smallest member of any number within each\(\) or some\(\)"):
        some.within(BrokersOf(lambda broker: some.first() == broker))


@frozen
class BrokersOf:
    """The brokers that a claim holds of."""

    claim: Any

    def has(self, broker: Any) -> Any:
        """Whether the claim holds of the broker."""
        return self.claim(broker)
