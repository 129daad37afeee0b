"""Compiled code that replays changes whose steps are known: numbers into tables, and out of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from solvers.logs.stretches import UNREAD

NONE = -1
"""No situation, no step."""

MIXING = 0x9E3779B97F4A7C15
"""Odd, with its ones spread evenly: what Fibonacci hashing multiplies by."""

HIGH = 32


class Places(NamedTuple):
    """Partitions by number.

    Attributes:
        own: bool, whether their changes are replayed.
        at: int32, their situations.
        leader, partition: int64, their epochs.
        seen: int64, where a change of them was last seen.
        moved: bool, whether they changed since this was last taken back.
    """

    own: Any
    at: Any
    leader: Any
    partition: Any
    seen: Any
    moved: Any


class Steps(NamedTuple):
    """Steps by number, and their numbers by situation and body.

    Attributes:
        pairs: int64, the situation's number above the body's, in a table by hash; NONE where it is free.
        numbers: int32, of each pair the step.
        after: int32, of each step the situation behind it.
        leader, partition: int64, by how much the epochs rise.
    """

    pairs: Any
    numbers: Any
    after: Any
    leader: Any
    partition: Any


class Rows(NamedTuple):
    """What became of changes, in order.

    Attributes:
        record: int64, the place among the records of the stretch.
        partition, step: int32, numbers.
        leader_epoch, partition_epoch: int64, behind the change.
    """

    record: Any
    partition: Any
    step: Any
    leader_epoch: Any
    partition_epoch: Any


def _slot(pairs: Any, pair: Any) -> Any:
    """Where this pair is, or the free place where it belongs."""
    mask = len(pairs) - 1
    mixed = np.uint64(pair) * np.uint64(MIXING)
    slot = np.int64((mixed >> np.uint64(HIGH)) & np.uint64(mask))
    while pairs[slot] not in (pair, NONE):
        slot = (slot + 1) & mask
    return slot


slot_of: Callable[[Any, Any], Any] = njit(cache=True)(_slot)


def _put(steps: Steps, pair: int, step: int) -> None:
    """Note the step of a pair."""
    slot = slot_of(steps.pairs, pair)
    steps.pairs[slot], steps.numbers[slot] = pair, step


put: Callable[[Steps, int, int], None] = njit(cache=True)(_put)


def _refill(old: Steps, steps: Steps) -> None:
    """Note all pairs of one table in another."""
    for slot in range(len(old.pairs)):
        if old.pairs[slot] != NONE:
            put(steps, old.pairs[slot], old.numbers[slot])


refill: Callable[[Steps, Steps], None] = njit(cache=True)(_refill)


def _chosen(
    start: int, end: int, stamp: int, keys: Any, bodies: Any, places: Places, steps: Steps, rows: Rows, row: int
) -> int:
    """The rows of one batch with their steps, not yet taken; how many rows there are then, NONE if one is not known."""
    for record in range(start, end):
        key = keys[record]
        if key == UNREAD or not places.own[key]:
            continue
        at = places.at[key]
        if at == NONE or places.seen[key] == stamp:
            return NONE
        places.seen[key] = stamp
        pair = (np.int64(at) << HIGH) | np.int64(bodies[record])
        slot = slot_of(steps.pairs, pair)
        if steps.pairs[slot] == NONE:
            return NONE
        rows.record[row], rows.partition[row], rows.step[row] = record, key, steps.numbers[slot]
        row += 1
    return row


chosen: Callable[..., int] = njit(cache=True)(_chosen)


def _advance(
    first: int, bases: Any, starts: Any, keys: Any, bodies: Any, places: Places, steps: Steps, rows: Rows
) -> tuple[int, int]:
    """Replay batches of a stretch as long as every own change is known, and no partition changes twice in a batch.

    Args:
        first: the first batch.
        bases, starts, keys, bodies: of the stretch.
        places, steps: what is known; the partitions are moved on.
        rows: to be filled.

    Returns:
        The batch that comes next, and how many rows there are.
    """
    row = 0
    for batch in range(first, len(bases) - 1):
        upto = chosen(starts[batch], starts[batch + 1], bases[batch], keys, bodies, places, steps, rows, row)
        if upto == NONE:
            return batch, row
        for place in range(row, upto):
            key, step = rows.partition[place], rows.step[place]
            places.at[key] = steps.after[step]
            places.leader[key] += steps.leader[step]
            places.partition[key] += steps.partition[step]
            places.moved[key] = True
            rows.leader_epoch[place], rows.partition_epoch[place] = places.leader[key], places.partition[key]
        row = upto
    return len(bases) - 1, row


advance: Callable[..., tuple[int, int]] = njit(cache=True)(_advance)

__all__ = ["NONE", "Places", "Rows", "Steps", "advance", "put", "refill"]
