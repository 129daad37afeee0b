"""Packed states as columns: the values of one field, of many states at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen

from kraftcheck.model.language.brokersets import BrokerSet, Replicas
from kraftcheck.model.language.idlists import AtMostOne
from kraftcheck.model.language.layout import DOMAINS, Flag, Layout, Range, Slot, leaves
from kraftcheck.model.language.symbolic import record_fields
from kraftcheck.model.language.words import EMPTY, NO_LEADER
from kraftcheck.model.partition.registration import DirectoryMap, local_name


def field_values(packed: npt.NDArray[np.uint64], slot: Slot) -> npt.NDArray[np.int64]:
    """The value of a field in each packed state, one row of `packed` a state; a truth is 0 or 1."""
    numbers = packed[:, slot.word] >> np.uint64(slot.shift)
    numbers &= np.uint64((1 << slot.domain.bits) - 1)
    values = numbers.view(np.int64)  # of at most 63 bits
    values += slot.domain.lo
    return values


NUMBER, TRUTH, SET, SLOT, ONE = "number", "truth", "set", "slot", "one"
"""What a field holds: a number, a truth, the mask of a set, a place of a list of ids, or such a list of at most one."""


@frozen
class ColumnSpelling:
    """How the values of a field are told in tables, as traces tell them."""

    kind: str = NUMBER  # what it holds
    names: tuple[str, ...] = ()  # of its values from the smallest on; none: they are numbers
    # the value of a number that is null, or of a slot that is vacant; None where each is a value
    none: int | None = None


def spellings(layout: Layout) -> dict[str, ColumnSpelling]:
    """The spelling of each field, by its path."""
    return dict(_spelled(layout.shape, ""))


def set_slots(layout: Layout) -> frozenset[str]:
    """The paths of the slots that hold the mask of a set."""
    return frozenset(path for path, told in _spelled(layout.shape, "") if told.kind == SET)


def _spelled(value: Any, path: str) -> Iterator[tuple[str, ColumnSpelling]]:
    """The spellings below a path, which is as `kraftcheck.model.language.layout.leaves` has it."""
    if isinstance(value, BrokerSet):
        yield path, ColumnSpelling(SET)
    elif isinstance(value, AtMostOne):
        yield path, ColumnSpelling(ONE, none=EMPTY)
    elif isinstance(value, Replicas):
        yield from ((f"{path}[{at}]", ColumnSpelling(SLOT, none=NO_LEADER)) for at in range(len(value.slots)))
    elif isinstance(value, DirectoryMap):
        for below, domain in leaves(value.slots, path):
            yield below, ColumnSpelling(names=_names(domain, local_name))
    elif isinstance(value, tuple):
        for at, item in enumerate(value):
            yield from _spelled(item, f"{path}[{at}]")
    elif isinstance(value, DOMAINS):
        yield path, _of_domain(value)
    else:
        names = record_fields(type(value)) or ()
        for name in names:
            below = path if len(names) == 1 else f"{path}.{name}" if path else name
            yield from _spelled(getattr(value, name), below)


def _names(domain: Any, name: Callable[[int], object]) -> tuple[str, ...]:
    return tuple(str(name(value)) for value in range(domain.lo, domain.hi + 1)) if isinstance(domain, Range) else ()


def _of_domain(domain: Any) -> ColumnSpelling:
    if isinstance(domain, Flag):
        return ColumnSpelling(TRUTH)
    if isinstance(domain, Range) and domain.names is not None:
        return ColumnSpelling(names=_names(domain, domain.names))
    return ColumnSpelling(none=getattr(domain, "none", None))
