"""Records by broker: a tuple with one for each of a fixed number, or `PerBroker` for any number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from kraftcheck.model.language.anynumber.brokers import Claim, PerBroker, where
from kraftcheck.model.language.brokersets import Brokers, BrokerSet
from kraftcheck.model.language.layout import Domain, Endless, Flag, leaves, rebuild
from kraftcheck.model.language.sequences import every
from kraftcheck.model.language.terms import Term, Truth, Word
from kraftcheck.model.language.words import all_of, choose, pick, same_truth

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


def brokers_where(records: BrokerMap, claim: Claim) -> Brokers:
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


def rewritten_records(records: BrokerMap, rule: Callable[[Word, Any], Any]) -> Any:
    """The records after a rule that gives each broker its next record, of the broker and its record now."""
    if isinstance(records, PerBroker):
        return records.rewritten(rule)
    return tuple(rule(broker, record) for broker, record in enumerate(records))


def for_any_number(shape: Any) -> Any:
    """The domain of a record for each of any number of brokers, of the domain of one."""
    domains = iter([_by_broker(domain) for _, domain in leaves(shape)])
    return PerBroker(rebuild(shape, lambda: next(domains)))


def _by_broker(domain: Domain) -> Endless:
    return Endless(domain.lo, domain.hi, truths=isinstance(domain, Flag))


def same_leaves(a: Any, b: Any) -> Truth:
    """Whether two records of one shape are equal leaf by leaf."""
    pairs = zip(leaves(a), leaves(b), strict=True)
    return all_of(*(_same_leaf(x, y) for (_, x), (_, y) in pairs))


def _same_leaf(a: Any, b: Any) -> Truth:
    truth = a.is_truth if isinstance(a, Term) else isinstance(a, bool)
    return same_truth(a, b) if truth else a == b
