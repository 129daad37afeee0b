"""Packed states as columns: the values of one field, of many states at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.layout import DOMAINS, Domain, Layout, Range, Slot
from kraftcheck.model.language.symbolic import record_fields

LOOKUP = 1 << 16
"""Masks below it are looked up in an array; others are sorted first."""


def field_values(packed: npt.NDArray[np.uint64], slot: Slot) -> npt.NDArray[np.int64]:
    """The value of a field in each packed state, one row of `packed` a state; a truth is 0 or 1."""
    numbers = packed[:, slot.word] >> np.uint64(slot.shift)
    numbers &= np.uint64((1 << slot.domain.bits) - 1)
    values = numbers.view(np.int64)  # of at most 63 bits
    values += slot.domain.lo
    return values


def set_slots(layout: Layout) -> frozenset[str]:
    """The paths of the slots that hold the mask of a set."""
    return frozenset(_sets(layout.shape, ""))


def _sets(value: Any, path: str) -> Iterator[str]:
    """The paths of sets, named as `kraftcheck.model.language.layout.leaves` names their masks."""
    if isinstance(value, BrokerSet):
        yield path
    elif isinstance(value, tuple):
        for position, item in enumerate(value):
            yield from _sets(item, f"{path}[{position}]")
    elif not isinstance(value, DOMAINS):
        names = record_fields(type(value)) or ()
        for name in names:
            below = path if len(names) == 1 else f"{path}.{name}" if path else name
            yield from _sets(getattr(value, name), below)


def names_of(domain: Domain) -> list[str]:
    """The names of a field's values, from the smallest on; none where they are numbers."""
    names = domain.names if isinstance(domain, Range) else None
    return [] if names is None else [str(names(value)) for value in range(domain.lo, domain.hi + 1)]


def set_texts(masks: npt.NDArray[np.int64]) -> npt.NDArray[np.object_]:
    """Masks as the sets that traces print, such as `{0,2}`; equal sets are one string.

    >>> set_texts(np.array([5, 0, 5])).tolist()
    ['{0,2}', '{}', '{0,2}']
    """
    if len(masks) and int(masks.max()) < LOOKUP:
        different = np.flatnonzero(np.bincount(masks))
        texts = np.empty(int(different[-1]) + 1, dtype=np.object_)
        texts[different] = [str(BrokerSet(int(mask))) for mask in different]
        return texts[masks]
    different, places = np.unique(masks, return_inverse=True)
    return np.array([str(BrokerSet(int(mask))) for mask in different], dtype=np.object_)[places]
