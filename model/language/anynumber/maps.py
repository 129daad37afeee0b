"""Records by broker: a tuple with one for each of a fixed number, or `PerBroker` for any number."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, TypeAlias

from attrs import evolve

from kraftcheck.model.language.anynumber.brokers import Claim, PerBroker, where
from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.layout import Domain, Endless, Flag, below, cap_of, leaves, rebuild
from kraftcheck.model.language.sequences import every, least_by
from kraftcheck.model.language.sequences import some as some_place
from kraftcheck.model.language.terms import Term, Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, pick, same_truth

BrokerMap: TypeAlias = tuple[Any, ...] | PerBroker
"""A record for each broker."""

RecordClaim = Callable[[Word, Any], Truth]
"""A claim about a broker and its record."""


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
