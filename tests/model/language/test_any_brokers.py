"""Collections of any number of brokers mean what bit masks and slots mean."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import frozen
from hypothesis import given
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
from kraftcheck.model.language.layout import Endless, ints, truth
from kraftcheck.model.language.sequences import Sequence
from kraftcheck.model.language.symbolic import UntraceableRule
from kraftcheck.model.language.terms import Graph
from kraftcheck.model.language.words import NO_LEADER, all_of, any_of, choose, implies
from kraftcheck.solvers.audit.numbers import Places

COUNT = 5
"""Brokers 0..4 may be members."""

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
        return Places(COUNT, self.words).value(word)

    def value3(self, word: Any) -> int:
        """A word or truth where there are three brokers."""
        return Places(3, self.words).value(word)

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
