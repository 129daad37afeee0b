"""Records by broker: a tuple with one for each of a fixed number, or `PerBroker` for any number."""

from __future__ import annotations

from typing import Any, TypeAlias

from kraftcheck.model.language.anynumber.brokers import Claim, PerBroker, where
from kraftcheck.model.language.brokersets import Brokers, BrokerSet
from kraftcheck.model.language.sequences import every
from kraftcheck.model.language.terms import Term, Truth, Word
from kraftcheck.model.language.words import choose, pick

BrokerMap: TypeAlias = tuple[Any, ...] | PerBroker
"""A record for each broker."""


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
    if isinstance(records, PerBroker):
        return {"every broker": every(records.graph, claim)}
    return {f"broker {broker}": claim(broker) for broker in range(len(records))}
