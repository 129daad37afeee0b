"""The visited set of one machine: for each bucket a compact set.

A table grows to its double while that is little of the memory, then by a quarter or less, at last by an eighth or less;
and a large one grows when it is fuller. So memory is full of states and not half vacant.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import frozen

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

_FIRST = (8, 1)
"""Factor and exponent of two of the lines of the first table."""

_SMALL = 1 / 8
"""Share of the budget up to which a table is doubled: a small step costs as much work for less room."""

_LARGE = 1 / 2
"""Share of the budget from which on a table grows by the smallest steps."""


class OutOfMemoryError(RuntimeError):
    """A set that may not grow."""


@frozen
class _Form:
    """What a table of some lines looks like.

    Attributes:
        factor, exponent: it has `factor << exponent` lines.
        span: bits of the product below those that say the line.
        first, tag: bytes of the first part of an entry, bits of its tag.
        entry: bytes of an entry.
        load: share of the entries that is used before the table grows.
    """

    factor: int
    exponent: int
    span: int
    first: int
    tag: int
    entry: int
    load: float

    @classmethod
    def of(cls, bucket_bits: int, other_bytes: int, budget: int, factor: int, exponent: int) -> _Form:
        """The form of a table; large ones are those that take much of the budget."""
        span = 64 - bucket_bits - LOW_BITS - exponent
        rest = span - (FACTORS[0].bit_length() - 1) + LOW_BITS  # divided by 8 and more, the span has three bits less
        first = -(-(rest + TAG_BITS[0]) // 8)
        tag, entry = min(TAG_BITS[-1], 8 * first - rest), first + other_bytes
        is_small = LINE * (factor << exponent) * entry <= _SMALL * budget
        load = _LOADS[0 if is_small else min(tag - TAG_BITS[0], len(_LOADS) - 1)]
        return cls(factor, exponent, span, first, tag, entry, load)

    @property
    def lines(self) -> int:
        """Lines."""
        return self.factor << self.exponent

    @property
    def size(self) -> int:
        """Bytes."""
        return LINE * self.lines * self.entry + PADDING

    @property
    def limit(self) -> int:
        """States beyond which it must grow."""
        return int(self.load * LINE * self.lines)


class _Table:
    """One table of a compact set, and its control block.

    Attributes:
        form: what it looks like.
        bytes, control: where it lies.
    """

    def __init__(self, form: _Form) -> None:
        self.form = form
        self.bytes = np.zeros(form.size, dtype=np.uint8)
        self.control = np.zeros(CONTROL_WORDS, dtype=np.int64)
        values = {
            TABLE: address(self.bytes), LINES: form.lines, FACTOR: form.factor, SPAN: form.span, ENTRY: form.entry,
            FIRST: form.first, TAG: form.tag, LIMIT: form.limit,
        }  # fmt: skip
        for place, value in values.items():
            self.control[place] = value


class CompactBucket:
    """The visited states of one bucket.

    Attributes:
        kernel: the functions.
        budget: most bytes that its table may take; while it grows, the one before stands beside it.
    """

    def __init__(self, kernel: BlockKernel, budget: int, room: int = 0) -> None:
        """Begin with nothing, and with room for so many states if the budget has it."""
        self.kernel, self.budget = kernel, budget
        form = self._form(*_FIRST)
        while form.limit < room and (following := self._after(form)).size <= budget:
            form = following
        self._table = _Table(form)
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

    def holds(self, records: Words) -> npt.NDArray[np.bool_]:
        """Which records (or states) of this bucket have a state of the set."""
        rows = np.ascontiguousarray(records)
        held = np.zeros(len(rows), dtype=np.bool_)
        places, bits = (address(held), address(self._quotients)), self.kernel.spec.bucket_bits
        self.kernel.seek(address(self._table.control), address(rows), len(rows), rows.shape[1], bits, *places)
        return held

    def _grow(self) -> None:
        """Go over to a table with more lines; where states stand too close for that one too, with still more."""
        old, form = self._table, self._table.form
        while True:
            form = self._next(form)
            if form.size > self.budget:
                raise OutOfMemoryError
            new = _Table(form)
            if self.kernel.regrow(address(old.control), address(new.control)) != NO_ROOM:
                break
        if int(new.control[COUNT]) != self.count:
            raise RuntimeError(f"a set of {self.count} states grew to {int(new.control[COUNT])}")
        self._table = new

    def _next(self, form: _Form) -> _Form:
        """The next larger form that has room, or one with still more lines that takes no more bytes."""
        wanted, following = self.count + BATCH, self._after(form)
        while following.limit < wanted:
            following = self._after(following)
        other = following
        for _ in FACTORS:
            other = self._after(other)
            if other.size <= following.size and other.limit >= wanted:
                following = other
        return following

    def _after(self, form: _Form) -> _Form:
        """The form whose factor is a step further, or with twice the lines."""
        if 2 * form.size <= _SMALL * self.budget:
            return self._form(form.factor, form.exponent + 1)
        step = 1 if form.size > _LARGE * self.budget else 2
        factor = form.factor + step - form.factor % step
        return self._form(factor, form.exponent) if factor in FACTORS else self._form(FACTORS[0], form.exponent + 1)

    def _form(self, factor: int, exponent: int) -> _Form:
        spec = self.kernel.spec
        return _Form.of(spec.bucket_bits, sum(spec.other_bytes), self.budget, factor, exponent)
