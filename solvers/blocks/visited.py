"""The visited set of one machine: for each bucket a compact set.

A table grows to its double while that is little of the memory; a large one grows by a quarter or less, and when it is
fuller, so that memory is full of states and not half vacant.
"""

from __future__ import annotations

import numpy as np

from kraftcheck.solvers.blocks.compactset import (
    ADDED,
    BATCH,
    CONTROL_WORDS,
    COUNT,
    ENTRY,
    FACTOR,
    FACTORS,
    FIRST,
    LIMIT,
    LINE,
    LINES,
    LOW_BITS,
    NO_ROOM,
    PADDING,
    SPAN,
    TABLE,
    TAG,
    TAG_BITS,
    TAKEN,
)
from kraftcheck.solvers.blocks.tasks import BlockKernel, Words
from kraftcheck.solvers.machine_code.objectcode import address

_LOADS = (0.8, 0.85, 0.9)
"""Share of the entries of a large table that is used before it grows, by the bits that its tags have beyond the fewest.

Above it some run of full lines is soon longer than a tag can say; beyond the last, lookups take too long.
"""

_FIRST = (4, 2)
"""Factor and exponent of two of the lines of the first table."""

_SMALL = 1 / 8
"""Share of the budget up to which a table is doubled: a small step costs as much work for less room."""


class OutOfMemoryError(RuntimeError):
    """A set that may not grow."""


class _Table:
    """One table of a compact set, and its control block.

    Attributes:
        factor, exponent: it has `factor << exponent` lines.
        entry: bytes of an entry.
        bytes, control: where it lies.
    """

    def __init__(self, bucket_bits: int, factor: int, exponent: int, other_bytes: int, budget: int) -> None:
        self.factor, self.exponent = factor, exponent
        span = 64 - bucket_bits - LOW_BITS - exponent
        rest = span - 2 + LOW_BITS  # divided by 4 and more, the span has two bits less
        first = -(-(rest + TAG_BITS[0]) // 8)
        tag = min(TAG_BITS[-1], 8 * first - rest)
        self.entry, lines = first + other_bytes, factor << exponent
        is_small = self.size(factor, exponent, self.entry) <= _SMALL * budget
        load = _LOADS[0 if is_small else min(tag - TAG_BITS[0], len(_LOADS) - 1)]
        self.bytes = np.zeros(self.size(factor, exponent, self.entry), dtype=np.uint8)
        self.control = np.zeros(CONTROL_WORDS, dtype=np.int64)
        values = {
            TABLE: address(self.bytes), LINES: lines, FACTOR: factor, SPAN: span, ENTRY: self.entry, FIRST: first,
            TAG: tag, LIMIT: int(load * LINE * lines),
        }  # fmt: skip
        for place, value in values.items():
            self.control[place] = value

    @staticmethod
    def size(factor: int, exponent: int, entry: int) -> int:
        """Bytes of a table."""
        return (LINE * factor << exponent) * entry + PADDING


class CompactBucket:
    """The visited states of one bucket.

    Attributes:
        kernel: the functions.
        budget: most bytes that its table may take; while it grows, the one before stands beside it.
    """

    def __init__(self, kernel: BlockKernel, budget: int) -> None:
        self.kernel, self.budget = kernel, budget
        self._others = sum(kernel.spec.other_bytes)
        self._table = _Table(kernel.spec.bucket_bits, *_FIRST, self._others, budget)
        self._quotients = np.empty(BATCH, dtype=np.uint64)

    @property
    def count(self) -> int:
        """States."""
        return int(self._table.control[COUNT])

    @property
    def bytes_in_use(self) -> int:
        """Bytes of the table."""
        return self._table.bytes.nbytes

    def admit(self, records: Words) -> Words:
        """Add the states of records (or states) of this bucket; the rows of those that were not there, in order.

        Raises:
            OutOfMemoryError: when it must grow beyond the budget; what was added by then stays.
        """
        rows = np.ascontiguousarray(records)
        out = np.empty_like(rows)
        at = added = 0
        while at < len(rows):
            control = self._table.control
            arguments = (len(rows) - at, rows.shape[1], self.kernel.spec.bucket_bits)
            places = (address(out[added:]), address(self._quotients))
            result = self.kernel.admit(address(control), address(rows[at:]), *arguments, *places)
            at, added = at + int(control[TAKEN]), added + int(control[ADDED])
            if result == NO_ROOM:
                self._grow()
        return out[:added]

    def _grow(self) -> None:
        """Go over to a table with more lines; where states stand too close for that one too, with still more."""
        old, factor, exponent = self._table, self._table.factor, self._table.exponent
        while True:
            factor, exponent = self._next(factor, exponent)
            if _Table.size(factor, exponent, old.entry) > self.budget:
                raise OutOfMemoryError
            new = _Table(self.kernel.spec.bucket_bits, factor, exponent, self._others, self.budget)
            if self.kernel.regrow(address(old.control), address(new.control)) != NO_ROOM:
                break
        if int(new.control[COUNT]) != self.count:
            raise RuntimeError(f"a set of {self.count} states grew to {int(new.control[COUNT])}")
        self._table = new

    def _next(self, factor: int, exponent: int) -> tuple[int, int]:
        """The lines of the next larger table."""
        if _Table.size(factor, exponent + 1, self._table.entry) <= _SMALL * self.budget:
            return factor, exponent + 1
        return (factor + 1, exponent) if factor < FACTORS[-1] else (FACTORS[0], exponent + 1)
