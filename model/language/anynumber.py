"""Any number of brokers: sets, lists and records by broker without a bound, for proofs."""

from __future__ import annotations

import itertools
from collections import abc
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, TypeAlias

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import Brokers, BrokerSet
from kraftcheck.model.language.layout import (
    Counter,
    Domain,
    Endless,
    EndlessSet,
    Flag,
    LayoutError,
    below,
    cap_of,
    ints,
    leaves,
    rebuild,
    subset_of,
)
from kraftcheck.model.language.sequences import Places, Sequence, above, cardinality, every, is_one_of, least_by
from kraftcheck.model.language.sequences import some as some_place
from kraftcheck.model.language.symbolic import OfAnyNumber, check_place, described, place
from kraftcheck.model.language.system import bound_of, is_any
from kraftcheck.model.language.terms import Graph, Term, Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate, pick, same_truth


def where(graph: Graph, claim: Places) -> AnySet:
    """The set of the brokers that a claim holds of, which must be finitely many."""
    return AnySet(Sequence(graph, claim))


@frozen
class _Members(OfAnyNumber):
    """A finite collection of brokers of any number."""

    members: Any  # of each broker whether it is a member

    @property
    def graph(self) -> Graph:
        """Where its words are terms."""
        sequence: Sequence = self.members
        return sequence.graph

    def described(self) -> str:
        """What messages call it."""
        return "a set of any number (none() of it is the empty one)"

    def has(self, broker: Word) -> Truth:
        """See `Brokers.has`."""
        check_place(broker)
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
        check_place(broker)
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
    """An ordered list of any number of distinct brokers."""

    ranks: Any  # for each member its rank; the list goes from the smallest to the largest. No two members share one.
    top: Word  # a number above every member's rank

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
        ranks = Sequence(self.graph, lambda at: choose(self.has(at), self.ranks.at(at), self.top + more.ranks.at(at)))
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
class PerBroker(OfAnyNumber):
    """A record for each of any number of brokers."""

    item: Any  # a record whose leaves are sequences

    def described(self) -> str:
        """What messages call it."""
        return "a map of any number"

    def at(self, broker: Word) -> Any:
        """The record of a broker."""
        words = iter([sequence.at(broker) for _, sequence in leaves(self.item)])
        return rebuild(self.item, lambda: next(words))

    def chosen_by_place(self, condition: Truth, other: PerBroker) -> PerBroker:
        """This map where the condition holds, else the other.

        Raises:
            UntraceableRule: for maps of two bounds, which have different numbers of places.
        """
        ours, theirs = list(leaves(self.item)), list(leaves(other.item))
        if self.number is not other.number or [path for path, _ in ours] != [path for path, _ in theirs]:
            raise self.graph.refusal("choose() between maps of two bounds or shapes; choose between their values")
        chosen = iter([choose(condition, one, two) for (_, one), (_, two) in zip(ours, theirs, strict=True)])
        return PerBroker(rebuild(self.item, lambda: next(chosen)))

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
        found: Sequence = next(iter(leaves(self.item)))[1]
        return found


Claim = Callable[[Word], Truth]  # a claim about a broker


BrokerMap: TypeAlias = tuple[Any, ...] | PerBroker  # a record for each broker
RecordClaim = Callable[[Word, Any], Truth]  # a claim about a broker and its record


def record_of(records: BrokerMap, broker: Word) -> Any:
    """The record of a broker, which must be one of those that have one."""
    if isinstance(records, PerBroker):
        return records.at(broker)
    if not isinstance(broker, Term) and 0 <= broker < len(records):
        return records[broker]
    return pick(records, broker, records[0])


def with_record(records: BrokerMap, broker: Word, value: Any) -> Any:
    """The same with another record of one broker."""
    if isinstance(records, PerBroker):
        return records.put(broker, value)
    return tuple(choose(broker == b, value, old) for b, old in enumerate(records))


def brokers_where(records: BrokerMap, claim: Claim) -> Any:
    """The set of the brokers that a claim holds of; of any number it must be finite."""
    if isinstance(records, PerBroker):
        return where(records.graph, claim)
    mask: Word = 0
    for broker in range(len(records)):
        mask = mask | choose(claim(broker), 1 << broker, 0)
    return BrokerSet(mask)


def each_broker(records: BrokerMap, claim: Claim) -> dict[str, Truth]:
    """A claim of every broker, as named conjuncts."""
    return each_record(records, lambda broker, _: claim(broker))


def each_record(records: BrokerMap, claim: RecordClaim) -> dict[str, Truth]:
    """A claim of every broker and its record, as named conjuncts."""
    if isinstance(records, PerBroker):
        return {"every broker": every(records.graph, lambda broker: claim(broker, records.at(broker)))}
    return {f"broker {broker}": claim(broker, record) for broker, record in enumerate(records)}


def all_records(records: BrokerMap, claim: RecordClaim) -> Truth:
    """Whether a claim holds of every broker and its record."""
    return all_of(*each_record(records, claim).values())


def some_records(records: BrokerMap, claim: RecordClaim) -> list[Truth]:
    """Truths of which one holds where a claim holds of some broker and its record."""
    if isinstance(records, PerBroker):
        return [some_place(records.graph, lambda broker: claim(broker, records.at(broker)))]
    return [claim(broker, record) for broker, record in enumerate(records)]


def each_two(records: BrokerMap, claim: Callable[[Word, Any, Word, Any], Truth]) -> dict[str, Truth]:
    """A claim of every two different brokers and their records, in either order, as named conjuncts."""

    def of(one: Word, record: Any) -> dict[str, Truth]:
        return each_record(records, lambda b, other: any_of(one == b, claim(one, record, b, other)))

    if isinstance(records, PerBroker):
        return {"every two brokers": every(records.graph, lambda b: all_of(*of(b, records.at(b)).values()))}
    pairs = ((b, name, truth) for b, record in enumerate(records) for name, truth in of(b, record).items())
    return {f"{b} of {name}": truth for b, name, truth in pairs if name != f"broker {b}"}


def each_pair(records: BrokerMap, claim: Callable[[Word, Any, Word, Any], Truth]) -> dict[str, Truth]:
    """A claim of every two brokers, each pair in the one order or the other, as named conjuncts."""
    if isinstance(records, PerBroker):
        return each_two(records, claim)
    pairs = itertools.combinations(enumerate(records), 2)
    return {f"brokers {i} and {j}": claim(i, a, j, b) for (i, a), (j, b) in pairs}


def smallest(records: BrokerMap, claim: Claim, key: Callable[[Word, Any], Word], otherwise: Word) -> Word:
    """The smallest of a word, and of another of each broker that a claim holds of; they must be finitely many."""
    if isinstance(records, PerBroker):
        least = least_by(records.graph, claim, lambda broker: key(broker, records.at(broker)))
        found = key(least, records.at(least))
        return choose(all_of(least >= 0, found < otherwise), found, otherwise)
    result = otherwise
    for broker, record in enumerate(records):
        found = key(broker, record)
        result = choose(claim(broker), choose(result < found, result, found), result)
    return result


def rewritten_records(records: BrokerMap, rule: Callable[[Word, Any], Any]) -> Any:
    """The records after a rule that gives each broker its next record, of the broker and its record now."""
    if isinstance(records, PerBroker):
        return records.rewritten(rule)
    return tuple(rule(broker, record) for broker, record in enumerate(records))


def for_any_number(shape: Any, number: str | None = None) -> Any:
    """The domain of a record for each of any number of brokers, of the domain of one; `number` as in `Endless`."""
    domains = iter([_by_broker(domain, number) for _, domain in leaves(shape)])
    return PerBroker(rebuild(shape, lambda: next(domains)))


def _by_broker(domain: Domain, number: str | None) -> Endless:
    if isinstance(domain, Endless):
        return evolve(domain, places=domain.places + 1, numbers=(number, *domain.numbers))
    return Endless(domain.lo, domain.hi, isinstance(domain, Flag), numbers=(number,), below=below(domain),
                   cap=cap_of(domain))  # fmt: skip


def same_leaves(a: Any, b: Any) -> Truth:
    """Whether two records of one shape are equal leaf by leaf."""
    pairs = zip(leaves(a), leaves(b), strict=True)
    return all_of(*(_same_leaf(x, y) for (_, x), (_, y) in pairs))


def _same_leaf(a: Any, b: Any) -> Truth:
    truth = a.is_truth if isinstance(a, Term) else isinstance(a, bool)
    return same_truth(a, b) if truth else a == b


class Family(abc.Sequence[Any]):
    """Argument values that are too many to list where rules are proven: a shape and a condition.

    Elsewhere it is the sequence of its values, listed when first asked for.

    Args:
        shape: a value whose leaves are domains (`kraftcheck.model.language.layout`).
        member: whether a value of that shape belongs to the family; a rule.
        values: lists the family; it must agree with `member`.
    """

    def __init__(self, shape: Any, member: Callable[[Any], Truth], values: Callable[[], Iterable[Any]]) -> None:
        self.shape, self.member, self._values = shape, member, values
        self._cached: tuple[Any, ...] | None = None

    def _all(self) -> tuple[Any, ...]:
        if self._cached is None:
            self._cached = tuple(self._values())
        return self._cached

    def __len__(self) -> int:
        """How many values there are."""
        return len(self._all())

    def __getitem__(self, position: Any) -> Any:
        """The value at a position."""
        return self._all()[position]


def unlisted() -> NoReturn:
    """What lists a family that has no end; raises LayoutError always, since provers do not list."""
    raise LayoutError(f"{place()}: the numbers below a bound that is any cannot be listed; give what numbers_below() "
                      "answers to an action, as it is")  # fmt: skip


def numbers(least: int = 0, below: str | None = None) -> Family:
    """Every number from a least one on, as values of an argument; `below` as in `Counter`."""
    return Family(Counter(least, below=below), lambda _: True, unlisted)


def set_below(count: int) -> Any:
    """The domain of a set of numbers from 0 to below a count, which may be ANY."""
    if is_any(count):
        domain: Any = EndlessSet(0, 1, truths=True, numbers=(bound_of(count),))
        return AnySet(domain)
    return BrokerSet(subset_of(count))


def map_below(count: int, value: Any) -> Any:
    """The domain of a value for each number from 0 to below a count.

    Args:
        count: a number, which makes it a tuple; or ANY, whatever that is.
        value: the domain of each value; it may be a map again.
    """
    return for_any_number(value, bound_of(count)) if is_any(count) else (value,) * count


def keys(values: Any) -> Any:
    """The numbers that a map has a value for, to be gone through by `each` and `some`.

    Raises:
        UntraceableRule: for brokers of Kafka of any number, which have ids without end.

    >>> keys((7, 8))
    range(0, 2)
    """
    if isinstance(values, PerBroker):
        if values.number is None:
            raise values.graph.refusal("keys() whose numbers have no end; name a set of them")
        return AnySet(Sequence(values.graph, lambda at: True, values.number))
    return range(len(values))


def word_below(count: int, least: int = 0) -> Any:
    """The domain of a word from a least one to below a count."""
    return Counter(least, below=bound_of(count)) if is_any(count) else ints(least, count - 1)


def numbers_below(count: int, least: int = 0) -> abc.Sequence[int]:
    """The values of an argument: the numbers from a least one to below a count."""
    return numbers(least, bound_of(count)) if is_any(count) else range(least, count)
