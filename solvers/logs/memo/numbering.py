"""The numbers that stand for the broker ids of a situation: as few as possible, in the order of the ids.

With ELR on, a hash set has to list the numbers as it does the ids. Numbers below 16 it lists in ascending order. Where
it does not list the ids so, each number is a multiple of 16, which keeps the order of the ids, and a slot, which keeps
that of the set: ids 15 and 32 are called 1 and 16, which the set lists as 16 and 1.
"""

from __future__ import annotations

from itertools import pairwise

from kraftcheck.model.language.idlists import FULL_SLOT, SMALLEST_TABLE, slot_of
from kraftcheck.model.records.records import Ids


def numbers_of(brokers: Ids, elr_enabled: bool) -> Ids | None:
    """What brokers, in the order of their ids, are called.

    None where a set of some may have more slots than the smallest one, so that it is not sure how it lists them.
    """
    places = tuple(range(len(brokers)))
    slots = [slot_of(broker, SMALLEST_TABLE) for broker in brokers]
    if not elr_enabled or all(broker < SMALLEST_TABLE for broker in brokers):
        return places
    if len(brokers) > FULL_SLOT:
        return None
    if all(a < b for a, b in pairwise(slots)):
        return places
    ranks = {slot: rank for rank, slot in enumerate(sorted(set(slots)))}
    return tuple(SMALLEST_TABLE * place + ranks[slot] for place, slot in zip(places, slots, strict=True))


__all__ = ["numbers_of"]
