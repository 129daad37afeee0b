"""The visited set of one machine: for each bucket a compact set.

A table grows to its double while that is little of the memory, then by a quarter or less, at last by an eighth or less;
and a large one grows when it is fuller. So memory is full of states and not half vacant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import frozen
from llvmlite import ir

from kraftcheck.model.language.layout import Layout
from kraftcheck.solvers.blocks.tasks import BlockKernel, Words
from kraftcheck.solvers.machine_code.irtools import BYTE, POINTER, WORD, Builder, begin, word
from kraftcheck.solvers.machine_code.objectcode import address
from kraftcheck.solvers.machine_code.visited_table import hash_words

TABLE, LINES, FACTOR, SPAN, ENTRY, FIRST, TAG, COUNT, LIMIT, TAKEN, ADDED = range(11)
"""Entries of a control block.

The table's address; its lines; their factor; the bits of the product below those that say the line;
bytes of an entry, and of its first part (rest of the hash and tag); bits of the tag; states, and most
states before it must grow; of the last call, the records that were looked at, and those that were new.
"""

CONTROL_WORDS = 11
FACTORS = range(8, 16)
LOW_BITS = 4  # bits of the hash that are not multiplied: the product has no more than 64
LINE = 16
TAG_BITS = range(5, 9)
"""Bits that a tag may have; of so many bits all values but 0 are lines in which a state may stand."""

BATCH = 64
PADDING = 16  # bytes behind a table, which reading its last entry touches

PRESENT, ADDED_NOW, NO_ROOM = range(3)


def other_bytes(layout: Layout) -> tuple[int, ...]:
    """Bytes that each word of a packed state but the first needs."""
    used = [0] * layout.words
    for slot in layout.slots:
        used[slot.word] = max(used[slot.word], slot.shift + slot.domain.bits)
    return tuple(-(-bits // 8) for bits in used[1:])


class CompactSet:
    """Parts of a control block, as values of a function."""

    def __init__(self, b: Builder, control: Any, others: Sequence[int]) -> None:
        self.b, self.others = b, others
        self.table = b.inttoptr(b.get(control, TABLE), POINTER)
        self.lines, self.factor, self.span = (b.get(control, entry) for entry in (LINES, FACTOR, SPAN))
        self.entry, self.first, self.tag_bits = (b.get(control, entry) for entry in (ENTRY, FIRST, TAG))
        self.most_lines = b.sub(b.shl(1, self.tag_bits), 1)
        self.first_mask = b.lshr(-1, b.sub(64, b.shl(self.first, 3)))

    def line(self, number: Any) -> Any:
        """Address of a line."""
        return self.b.at(self.table, self.b.mul(self.b.shl(number, 4), self.entry), BYTE)

    def home(self, quotient: Any) -> Any:
        """The line that a hash without its bucket says."""
        return self.b.lshr(self._product(quotient), self.span)

    def rest(self, quotient: Any) -> Any:
        """What an entry holds of it."""
        b = self.b
        below = b.udiv(b.and_(self._product(quotient), b.sub(b.shl(1, self.span), 1)), self.factor)
        return b.or_(b.shl(below, LOW_BITS), b.and_(quotient, (1 << LOW_BITS) - 1))

    def quotient(self, home: Any, rest: Any) -> Any:
        """The hash without its bucket, of which these are the line and the rest."""
        b = self.b
        above = b.shl(home, self.span)
        missing = b.urem(b.sub(self.factor, b.urem(above, self.factor)), self.factor)  # up to the next multiple
        below = b.add(b.mul(b.lshr(rest, LOW_BITS), self.factor), missing)
        multiplied = b.udiv(b.add(above, below), self.factor)
        return b.or_(b.shl(multiplied, LOW_BITS), b.and_(rest, (1 << LOW_BITS) - 1))

    def _product(self, quotient: Any) -> Any:
        return self.b.mul(self.b.lshr(quotient, LOW_BITS), self.factor)

    def next_line(self, line: Any) -> Any:
        """The line after one; after the last comes the first."""
        following = self.b.add(line, 1)
        return self.b.select(self.b.icmp_unsigned("==", following, self.lines), 0, following)

    def home_of(self, line: Any, tag: Any) -> Any:
        """The line that the hash of an entry says which stands in a line with a tag."""
        b = self.b
        before = b.sub(tag, 1)
        return b.urem(b.sub(b.add(line, b.mul(self.lines, self.most_lines)), before), self.lines)

    def read(self, place: Any, mask: Any) -> Any:
        """The bytes of a mask, at any address."""
        return self.b.and_(self.b.load(place, typ=WORD, align=1), mask)

    def write(self, place: Any, value: Any, mask: Any) -> None:
        """Put bytes of a mask there; what follows stays."""
        kept = self.b.and_(self.b.load(place, typ=WORD, align=1), self.b.not_(mask))
        self.b.store(self.b.or_(kept, value), place, align=1)

    def other_places(self, place: Any) -> list[tuple[Any, ir.Constant]]:
        """Address and mask of the other words of an entry."""
        places, at = [], self.first
        for size in self.others:
            places.append((self.b.at(place, at, BYTE), word((1 << 8 * size) - 1)))
            at = self.b.add(at, size)
        return places


def emit_compact_set(module: ir.Module, layout: Layout) -> None:
    """The functions `admit` and `regrow` of a layout."""
    others = other_bytes(layout)
    place = _emit_place(module, others)
    _emit_admit(module, layout.words, others, place)
    _emit_regrow(module, others, place)


def _emit_place(module: ir.Module, others: Sequence[int]) -> Any:
    """`place(control, quotient, other words...) -> PRESENT, ADDED_NOW or NO_ROOM`."""
    function, b = begin(module, "place", [POINTER, WORD, *[WORD] * len(others)])
    control, quotient, *words = function.args
    compact = CompactSet(b, control, others)
    rest = b.shl(compact.rest(quotient), compact.tag_bits)
    line, tag = b.local(compact.home(quotient)), b.local(1)
    with b.repeat(lambda: b.icmp_unsigned("<=", tag.get(), compact.most_lines)):
        wanted = b.or_(rest, tag.get())
        at, left = b.local(compact.line(line.get())), b.local(LINE)
        with b.repeat(lambda: b.icmp_unsigned("!=", left.get(), 0)):
            here = at.get()
            first = compact.read(here, compact.first_mask)
            vacant = b.icmp_unsigned("==", b.and_(first, compact.most_lines), 0)
            with b.if_then(vacant):
                compact.write(here, wanted, compact.first_mask)
                for (at_other, mask), value in zip(compact.other_places(here), words, strict=True):
                    compact.write(at_other, value, mask)
                b.put(b.add(b.get(control, COUNT), 1), control, COUNT)
                b.ret(ADDED_NOW)
            same = b.icmp_unsigned("==", first, wanted)
            for (at_other, mask), value in zip(compact.other_places(here), words, strict=True):
                same = b.and_(same, b.icmp_unsigned("==", compact.read(at_other, mask), value))
            with b.if_then(same):
                b.ret(PRESENT)
            at.set(b.at(here, compact.entry, BYTE))
            left.add(-1)
        line.set(compact.next_line(line.get()))
        tag.add(1)
    b.ret(NO_ROOM)
    return function


def _emit_admit(module: ir.Module, words: int, others: Sequence[int], place: Any) -> None:
    """`admit(control, records, count, stride, bucket_bits, out, quotients) -> NO_ROOM or 0`.

    Adds the states of records, `stride` words each, and copies the records of those that are new to
    `out`, in order. TAKEN and ADDED say how far it came when the set must grow first.
    """
    function, b = begin(module, "admit", [POINTER, POINTER, *[WORD] * 3, POINTER, POINTER], public=True)
    control, records, count, stride, bucket_bits, out, quotients = function.args
    compact = CompactSet(b, control, others)
    at, added = b.local(0), b.local(0)

    def finish(result: int) -> None:
        b.put(at.get(), control, TAKEN)
        b.put(added.get(), control, ADDED)
        b.ret(result)

    with b.repeat(lambda: b.icmp_unsigned("<", at.get(), count)):
        left = b.sub(count, at.get())
        size = b.select(b.icmp_unsigned("<", left, BATCH), left, BATCH)
        full = b.icmp_unsigned(">", b.add(b.get(control, COUNT), size), b.get(control, LIMIT))
        with b.if_then(full, likely=False):
            finish(NO_ROOM)
        first = b.at(records, b.mul(at.get(), stride))
        _fetch_lines(b, compact, (first, size, stride, bucket_bits), words, quotients)
        with b.count(0, size) as k:
            record = b.at(first, b.mul(k, stride))
            other_words = [b.get(record, i) for i in range(1, words)]
            result = b.call(place, [control, b.get(quotients, k), *other_words])
            with b.if_then(b.icmp_unsigned("==", result, NO_ROOM), likely=False):
                finish(NO_ROOM)
            with b.if_then(b.icmp_unsigned("==", result, ADDED_NOW)):
                target = b.at(out, b.mul(added.get(), stride))
                with b.count(0, stride) as i:
                    b.put(b.get(record, i), target, i)
                added.add(1)
            at.add(1)
    finish(0)


def _fetch_lines(b: Builder, compact: CompactSet, rows: Sequence[Any], words: int, quotients: Any) -> None:
    """Store the quotients of some rows (the first, how many, stride, bits of the bucket), and ask for their lines."""
    first, size, stride, bucket_bits = rows
    with b.count(0, size) as k:
        hashed = hash_words(b, b.state(b.at(first, b.mul(k, stride)), words))
        quotient = b.lshr(b.shl(hashed, bucket_bits), bucket_bits)
        b.put(quotient, quotients, k)
        line = compact.line(compact.home(quotient))
        b.prefetch(line, write=True)
        b.prefetch(b.at(line, 64, BYTE), write=True)


def _emit_regrow(module: ir.Module, others: Sequence[int], place: Any) -> None:
    """`regrow(old, new) -> 0 or NO_ROOM`: add what one table holds to another with more lines."""
    function, b = begin(module, "regrow", [POINTER, POINTER], public=True)
    old, new = function.args
    compact = CompactSet(b, old, others)
    entries = b.mul(LINE, compact.lines)
    with b.count(0, entries) as k:
        here = b.at(compact.table, b.mul(k, compact.entry), BYTE)
        first = compact.read(here, compact.first_mask)
        tag = b.and_(first, compact.most_lines)
        with b.if_then(b.icmp_unsigned("!=", tag, 0)):
            home = compact.home_of(b.udiv(k, LINE), tag)
            quotient = compact.quotient(home, b.lshr(first, compact.tag_bits))
            other_words = [compact.read(at, mask) for at, mask in compact.other_places(here)]
            result = b.call(place, [new, quotient, *other_words])
            with b.if_then(b.icmp_unsigned("==", result, NO_ROOM), likely=False):
                b.ret(NO_ROOM)
    b.ret(0)


_LOADS = (0.8, 0.85, 0.9)
"""Share of the entries of a large table that is used before it grows, by the bits that its tags have beyond the fewest.

Above it some run of full lines is soon longer than a tag can say; beyond the last, lookups take too long.
"""

_FIRST = (8, 1)  # factor and exponent of two of the lines of the first table
_SMALL = 1 / 8  # share of the budget up to which a table is doubled: a small step costs as much work for less room
_LARGE = 1 / 2  # share of the budget from which on a table grows by the smallest steps


class OutOfMemoryError(RuntimeError):
    """A set that may not grow."""


@frozen
class _Form:
    """What a table of some lines looks like."""

    # factor, exponent: it has `factor << exponent` lines
    factor: int
    exponent: int
    span: int  # bits of the product below those that say the line
    # first, tag: bytes of the first part of an entry, bits of its tag
    first: int
    tag: int
    entry: int  # bytes of an entry
    load: float  # share of the entries that is used before the table grows

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
    """One table of a compact set, and its control block."""

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
