"""The visited set of one machine: for each bucket a compact set, which grows by doubling its lines."""

from __future__ import annotations

import numpy as np

from kraftcheck.solvers.blocks.compactset import (
    ADDED,
    BATCH,
    CONTROL_WORDS,
    COUNT,
    ENTRY,
    FIRST,
    LIMIT,
    LINE,
    LINE_BITS,
    NO_ROOM,
    PADDING,
    REST_BITS,
    TABLE,
    TAG_BITS,
    TAKEN,
)
from kraftcheck.solvers.blocks.tasks import BlockKernel, Words
from kraftcheck.solvers.machine_code.objectcode import address

_LOAD = 0.8
"""Share of the entries of a table that is used before it grows: above it some run of full lines is soon too long."""

_FIRST_LINE_BITS = 4


class OutOfMemoryError(RuntimeError):
    """A set that may not grow."""


class _Table:
    """One table of a compact set, and its control block."""

    def __init__(self, bucket_bits: int, line_bits: int, other_bytes: int) -> None:
        rest = 64 - bucket_bits - line_bits
        first = -(-(rest + TAG_BITS) // 8)
        self.entry = first + other_bytes
        self.line_bits = line_bits
        self.bytes = np.zeros(self.size(line_bits, self.entry), dtype=np.uint8)
        self.control = np.zeros(CONTROL_WORDS, dtype=np.int64)
        values = {
            TABLE: address(self.bytes), LINE_BITS: line_bits, REST_BITS: rest, ENTRY: self.entry, FIRST: first,
            LIMIT: int(_LOAD * (LINE << line_bits)),
        }  # fmt: skip
        for place, value in values.items():
            self.control[place] = value

    @staticmethod
    def size(line_bits: int, entry: int) -> int:
        """Bytes of a table."""
        return (LINE << line_bits) * entry + PADDING


class CompactBucket:
    """The visited states of one bucket.

    Attributes:
        kernel: the functions.
        budget: most bytes that its table may take.
    """

    def __init__(self, kernel: BlockKernel, budget: int) -> None:
        self.kernel, self.budget = kernel, budget
        self._others = sum(kernel.spec.other_bytes)
        self._table = _Table(kernel.spec.bucket_bits, _FIRST_LINE_BITS, self._others)
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
        """Go over to a table of at least twice as many lines."""
        old, line_bits = self._table, self._table.line_bits
        while True:
            line_bits += 1
            if old.bytes.nbytes + _Table.size(line_bits, old.entry) > self.budget:
                raise OutOfMemoryError
            new = _Table(self.kernel.spec.bucket_bits, line_bits, self._others)
            if self.kernel.regrow(address(old.control), address(new.control)) != NO_ROOM:
                break
        if int(new.control[COUNT]) != self.count:
            raise RuntimeError(f"a set of {self.count} states grew to {int(new.control[COUNT])}")
        self._table = new
