"""Compiled code that replays changes whose steps are known: numbers into tables, and out of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

NONE = -1
"""No situation, no step."""

NO_FIT = -2
"""The step of an event that does not write this here."""

MIXING = 0x9E3779B97F4A7C15
"""Odd, with its ones spread evenly: what Fibonacci hashing multiplies by."""

HIGH, BITS = 40, 20
"""Where in a triple the situation begins, and bits of an event's number, and of a body's below it."""

ABSENT = -1
"""The body where an event writes nothing."""


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
    """Steps by number, and their numbers by situation, event and body.

    Attributes:
        triples: int64, of a situation, an event, or 0, and a body, in a table by hash; NONE where it is free.
        numbers: int32, of each triple the step, or NO_FIT.
        after: int32, of each step the situation behind it.
        leader, partition: int64, by how much the epochs rise.
    """

    triples: Any
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


def _triple(at: Any, event: Any, body: Any) -> Any:
    """A situation, an event and a body in one number."""
    return (np.int64(at) << HIGH) | (np.int64(event) << BITS) | (np.int64(body) + 1)


triple_of: Callable[[Any, Any, Any], Any] = njit(cache=True)(_triple)


def _slot(triples: Any, triple: Any) -> Any:
    """Where this triple is, or the free place where it belongs."""
    mask = len(triples) - 1
    mixed = np.uint64(triple) * np.uint64(MIXING)
    slot = np.int64((mixed >> np.uint64(HIGH)) & np.uint64(mask))
    while triples[slot] not in (triple, NONE):
        slot = (slot + 1) & mask
    return slot


slot_of: Callable[[Any, Any], Any] = njit(cache=True)(_slot)


def _put(steps: Steps, triple: int, step: int) -> None:
    """Note the step of a triple."""
    slot = slot_of(steps.triples, triple)
    steps.triples[slot], steps.numbers[slot] = triple, step


put: Callable[[Steps, int, int], None] = njit(cache=True)(_put)


def _refill(old: Steps, steps: Steps) -> None:
    """Note all triples of one table in another."""
    for slot in range(len(old.triples)):
        if old.triples[slot] != NONE:
            put(steps, old.triples[slot], old.numbers[slot])


refill: Callable[[Steps, Steps], None] = njit(cache=True)(_refill)


def _chosen(
    start: int, end: int, stamp: int, keys: Any, bodies: Any, places: Places, steps: Steps, rows: Rows, row: int
) -> int:
    """The rows of one batch with their steps, not yet taken; how many rows there are then, NONE if one is not known."""
    for record in range(start, end):
        key = keys[record]
        if key < 0 or not places.own[key]:
            continue
        at = places.at[key]
        if at == NONE or places.seen[key] == stamp:
            return NONE
        places.seen[key] = stamp
        slot = slot_of(steps.triples, triple_of(at, 0, bodies[record]))
        if steps.triples[slot] == NONE:
            return NONE
        rows.record[row], rows.partition[row], rows.step[row] = record, key, steps.numbers[slot]
        row += 1
    return row


chosen: Callable[..., int] = njit(cache=True)(_chosen)


def _advance(
    first: int, turn: int, starts: Any, keys: Any, bodies: Any, places: Places, steps: Steps, rows: Rows
) -> tuple[int, int]:
    """Replay batches of a stretch as long as every own change is known, and no partition changes twice in a batch.

    Args:
        first: the first batch.
        turn: makes, added to the number of a batch, a number that none had before.
        starts, keys, bodies: of the stretch.
        places, steps: what is known; the partitions are moved on.
        rows: to be filled.

    Returns:
        The batch that comes next, and how many rows there are.
    """
    row = 0
    for batch in range(first, len(starts) - 1):
        upto = chosen(starts[batch], starts[batch + 1], turn + batch, keys, bodies, places, steps, rows, row)
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
    return len(starts) - 1, row


advance: Callable[..., tuple[int, int]] = njit(cache=True)(_advance)


def _visit(visited: Any, observed: Any, event: int, places: Places, steps: Steps, found: Any) -> tuple[int, int]:
    """Look up what an event comes to in each of these partitions.

    Args:
        visited: the partitions.
        observed: of every partition the body of its change, or ABSENT.
        event: its number.
        places, steps: what is known.
        found: to be filled with the steps, NONE where one is not known.

    Returns:
        How many are not known, and how many do not fit.
    """
    unknown = unfit = 0
    for place in range(len(visited)):
        key = visited[place]
        slot = slot_of(steps.triples, triple_of(places.at[key], event, observed[key]))
        found[place] = NONE if steps.triples[slot] == NONE else steps.numbers[slot]
        unknown += found[place] == NONE
        unfit += found[place] == NO_FIT
    return unknown, unfit


visit: Callable[..., tuple[int, int]] = njit(cache=True)(_visit)


def _move(visited: Any, found: Any, places: Places, steps: Steps) -> None:
    """Take these steps."""
    for place in range(len(visited)):
        key, step = visited[place], found[place]
        after, leader, partition = steps.after[step], steps.leader[step], steps.partition[step]
        places.moved[key] |= after != places.at[key] or leader != 0 or partition != 0
        places.at[key] = after
        places.leader[key] += leader
        places.partition[key] += partition


move: Callable[[Any, Any, Places, Steps], None] = njit(cache=True)(_move)

__all__ = [
    "ABSENT", "BITS", "HIGH", "NONE", "NO_FIT", "Places", "Rows", "Steps", "advance", "move", "put", "refill",
    "triple_of", "visit",
]  # fmt: skip
