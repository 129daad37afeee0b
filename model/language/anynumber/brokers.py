"""Collections of any number of brokers, which proofs for every number of them use: who is a member, and in which order.

A broker is a place (0, 1, 2, ...), a set the sequence of truths whether each is a
member. Every method means what it does for `BrokerSet` and `Replicas`. Sets are finite.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, TypeVar

from attrs import frozen

from kraftcheck.model.language.brokersets import Brokers
from kraftcheck.model.language.layout import leaves, rebuild
from kraftcheck.model.language.sequences import Places, Sequence, above, cardinality, every, least_by
from kraftcheck.model.language.symbolic import described
from kraftcheck.model.language.terms import Graph, Term, Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate, same_truth

Item = TypeVar("Item")


def where(graph: Graph, claim: Places) -> AnySet:
    """The set of the brokers that a claim holds of, which must be finitely many."""
    return AnySet(Sequence(graph, claim))


def is_one_of(place: Word, number: Term | None) -> Truth:
    """Whether a place that is not negative is one of so many; of None every place is."""
    return True if number is None else place < number


@frozen
class _Members:
    """A finite collection of brokers of any number.

    Attributes:
        members: of each broker whether it is a member.
    """

    members: Any

    @property
    def graph(self) -> Graph:
        """Where its words are terms."""
        sequence: Sequence = self.members
        return sequence.graph

    def has(self, broker: Word) -> Truth:
        """See `Brokers.has`."""
        if not isinstance(broker, Term) and broker < 0:
            return False
        return all_of(broker >= 0, is_one_of(broker, self.members.number), self.members.at(broker))

    def is_empty(self) -> Truth:
        """See `Brokers.is_empty`."""
        return every(self.graph, lambda at: negate(self.has(at)))

    def size(self) -> Word:
        """See `Brokers.size`."""
        return cardinality(self.graph, self.has)

    def within(self, other: Brokers) -> Truth:
        """See `Brokers.within`."""
        return every(self.graph, lambda at: implies(self.has(at), other.has(at)))

    def _same_members(self, other: Brokers) -> Truth:
        """Whether both have the same members, in whatever order."""
        return every(self.graph, lambda at: same_truth(self.has(at), other.has(at)))


@frozen
class AnySet(_Members):
    """A finite set of brokers of any number."""

    def minus(self, other: Brokers) -> AnySet:
        """See `Brokers.minus`."""
        return where(self.graph, lambda at: all_of(self.has(at), negate(other.has(at))))

    def keep(self, other: Brokers) -> AnySet:
        """See `Brokers.keep`."""
        return where(self.graph, lambda at: all_of(self.has(at), other.has(at)))

    def plus(self, other: Brokers) -> AnySet:
        """See `Brokers.plus`."""
        return where(self.graph, lambda at: any_of(self.has(at), other.has(at)))

    def just(self, broker: Word) -> AnySet:
        """See `Brokers.just`; NO_LEADER gives the empty set."""
        return where(self.graph, lambda at: at == broker)

    def none(self) -> AnySet:
        """See `Brokers.none`."""
        return where(self.graph, lambda at: False)

    def ascending(self) -> AnySet:
        """See `Brokers.ascending`: a set has no other order."""
        return self

    def same(self, other: Brokers) -> Truth:
        """Equality as sets: order is forgotten."""
        return self._same_members(other)

    def first(self) -> Word:
        """See `Brokers.first`."""
        return least_by(self.graph, self.has, lambda at: at)

    def first_in(self, wanted: Brokers) -> Word:
        """See `Brokers.first_in`."""
        return self.keep(wanted).first()


@frozen
class AnyReplicas(_Members):
    """An ordered list of any number of distinct brokers.

    Attributes:
        ranks: for each member its rank; the list goes from the smallest to the largest. No two members share one.
        top: a number above every member's rank.
    """

    ranks: Any
    top: Word

    def _where(self, claim: Places) -> AnyReplicas:
        """The list of those members that a claim holds of."""
        kept = where(self.graph, lambda at: all_of(self.has(at), claim(at)))
        return AnyReplicas(kept.members, self.ranks, self.top)

    def minus(self, other: Brokers) -> AnyReplicas:
        """See `Brokers.minus`."""
        return self._where(lambda at: negate(other.has(at)))

    def keep(self, other: Brokers) -> AnyReplicas:
        """See `Brokers.keep`."""
        return self._where(other.has)

    def plus(self, other: Brokers) -> AnyReplicas:
        """See `Brokers.plus`; of lists only."""
        more = self._list(other)
        both = AnySet(self.members).plus(other)
        ranks = Sequence(
            self.graph, lambda at: choose(self.has(at), self.ranks.at(at), self.top + more.ranks.at(at))
        )
        return AnyReplicas(both.members, ranks, self.top + more.top)

    def just(self, broker: Word) -> AnyReplicas:
        """See `Brokers.just`."""
        return AnyReplicas(AnySet(self.members).just(broker).members, Sequence(self.graph, lambda at: 0), 1)

    def none(self) -> AnyReplicas:
        """See `Brokers.none`."""
        return self._where(lambda at: False)

    def ascending(self) -> AnyReplicas:
        """See `Brokers.ascending`."""
        return AnyReplicas(self.members, Sequence(self.graph, lambda at: at), above(self.graph, self.has))

    def same(self, other: Brokers) -> Truth:
        """Equality as lists: the same members in the same order."""
        more = self._list(other)

        def ordered(at: Word, later: Word) -> Truth:
            before = same_truth(self.ranks.at(at) < self.ranks.at(later), more.ranks.at(at) < more.ranks.at(later))
            return implies(all_of(self.has(at), self.has(later)), before)

        order = every(self.graph, lambda at: every(self.graph, lambda later: ordered(at, later)))
        return all_of(self._same_members(other), order)

    def first(self) -> Word:
        """See `Brokers.first`."""
        return least_by(self.graph, self.has, self.ranks.at)

    def first_in(self, wanted: Brokers) -> Word:
        """See `Brokers.first_in`."""
        return self.keep(wanted).first()

    def ranked(self) -> Truth:
        """Whether it is a list: every member has a rank below `top`, and no two share one."""

        def differ(at: Word, other: Word) -> Truth:
            shared = all_of(self.has(at), self.has(other), self.ranks.at(at) == self.ranks.at(other))
            return implies(shared, at == other)

        below = every(self.graph, lambda at: implies(self.has(at), self.ranks.at(at) < self.top))
        return all_of(below, every(self.graph, lambda at: every(self.graph, lambda other: differ(at, other))))

    def _list(self, other: Brokers) -> AnyReplicas:
        if not isinstance(other, AnyReplicas):
            raise self.graph.refusal(f"a list of any length meets {described(other)}")
        return other


@frozen
class PerBroker:
    """A record for each of any number of brokers.

    Attributes:
        item: a record whose leaves are sequences.
    """

    item: Any

    def at(self, broker: Word) -> Any:
        """The record of a broker."""
        words = iter([sequence.at(broker) for _, sequence in leaves(self.item)])
        return rebuild(self.item, lambda: next(words))

    def put(self, broker: Word, value: Any) -> PerBroker:
        """The same with another record of one broker."""
        new = [leaf for _, leaf in leaves(value)]
        old = [sequence for _, sequence in leaves(self.item)]

        def with_one(leaf: Word, sequence: Sequence) -> Sequence:
            if leaf is sequence.at(broker):
                return sequence
            return Sequence(sequence.graph, lambda at: choose(broker == at, leaf, sequence.at(at)), sequence.number)

        changed = iter([with_one(leaf, sequence) for leaf, sequence in zip(new, old, strict=True)])
        return PerBroker(rebuild(self.item, lambda: next(changed)))

    def rewritten(self, rule: Callable[[Word, Any], Any]) -> PerBroker:
        """The same after a rule that gives each broker its next record, of the broker and its record now."""
        after: dict[int, list[Any]] = {}

        def leaves_at(at: Word) -> list[Any]:
            key = self.graph.lift(at).index
            if key not in after:
                after[key] = [leaf for _, leaf in leaves(rule(at, self.at(at)))]
            return after[key]

        def nth(position: int) -> Sequence:
            return Sequence(self.graph, lambda at: leaves_at(at)[position], self.number)

        numbers = itertools.count()
        return PerBroker(rebuild(self.item, lambda: nth(next(numbers))))

    @property
    def graph(self) -> Graph:
        """Where its words are terms."""
        return self._first_leaf().graph

    @property
    def number(self) -> Term | None:
        """How many records there are; None where every number has one."""
        return self._first_leaf().number

    def _first_leaf(self) -> Sequence:
        sequence: Sequence = next(iter(leaves(self.item)))[1]
        return sequence


Claim = Callable[[Word], Truth]
"""A claim about a broker."""
