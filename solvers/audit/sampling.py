"""The order in which the states of an explored space are sampled for the audit.

The order begins with states as they were found and with states chosen by hash,
in turn. Every beginning of the order is spread over all levels. It depends on
the space and on the seed alone, never on the number of threads.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import frozen

Packed: TypeAlias = tuple[int, ...]
Rows: TypeAlias = npt.NDArray[np.uint64]

CANDIDATES = 1024
"""States of a level, evenly spread, among which the hash chooses: to hash all of them would take too long."""

BY_HASH = 3  # states chosen by hash for each one that is taken as it was found

_MULTIPLIERS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9))
_HALF = np.uint64(32)


@frozen
class Sampling:
    """How much of a space is audited.

    Attributes:
        states: how many states, each with all of its action instances; None: as many as cost little beside
            the search, each with some of its instances.
        seed: decides what the hash chooses.
    """

    states: int | None = None
    seed: int = 0


DEFAULT = Sampling()


class ExploredLevels(Protocol):
    """The states of an exploration by level."""

    @property
    def sizes(self) -> Sequence[int]:
        """States of each level."""

    def some(self, depth: int, count: int) -> Rows:
        """About so many packed states of a level, evenly spread; all of them where there are no more."""

    def states(self) -> Iterator[Packed]:
        """All packed states, level by level, in an order that is the same for any number of threads."""


def one_by_one(rows: Rows) -> Iterator[Packed]:
    """The packed states of an array, a few at a time: a level may be much larger than what is taken of it."""
    for start in range(0, len(rows), 1024):
        yield from map(tuple, rows[start : start + 1024].tolist())


def hashed(rows: Rows, seed: int) -> Rows:
    """A 64-bit hash of each row; other seeds order the same rows otherwise."""
    hashes = np.full(len(rows), seed, dtype=np.uint64) * _MULTIPLIERS[0] + _MULTIPLIERS[1]
    for column in rows.T:
        hashes = (hashes ^ column) * _MULTIPLIERS[0]
        hashes = (hashes ^ (hashes >> _HALF)) * _MULTIPLIERS[1]
        hashes ^= hashes >> _HALF
    return hashes


def order(space: ExploredLevels, seed: int) -> Iterator[Packed]:
    """All states of a space, each once, those first that are to be audited first."""
    discovered, chosen = space.states(), by_hash(space, seed)
    seen: set[Packed] = set()
    for turn in itertools.count():
        state = next(chosen, None) if turn % (BY_HASH + 1) else next(discovered, None)
        if state is None:
            state = next(discovered, None)
        if state is None:
            return
        if state not in seen:
            seen.add(state)
            yield state


def by_hash(space: ExploredLevels, seed: int) -> Iterator[Packed]:
    """The candidates of all levels: of each level the one of the least hash, then of each level the next."""
    depths = np.arange(len(space.sizes), dtype=np.uint64)
    candidates = {int(depth): _by_rank(space, int(depth), seed) for depth in np.argsort(hashed(depths[:, None], seed))}
    while candidates:
        for depth, ranked in list(candidates.items()):
            state = next(ranked, None)
            if state is None:
                del candidates[depth]
            else:
                yield state


def _by_rank(space: ExploredLevels, depth: int, seed: int) -> Iterator[Packed]:
    rows = space.some(depth, CANDIDATES)
    for position in np.argsort(hashed(rows, seed), kind="stable").tolist():
        yield tuple(rows[position].tolist())
