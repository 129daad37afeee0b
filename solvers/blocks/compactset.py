"""A compact set of states in machine code: exact, without a copy of any state (Cleary's quotienting).

The hash of a state can be undone once all its words but the first are known. So where an entry
stands says a part of the hash, and the entry holds the rest and the other words: some 6 bytes
instead of 8 for a state of one word. A table is `lines` of 16 entries. An entry stands in the line
that its hash says, or in one of the next when that is full; its lowest bits, the *tag*, say how far
on, plus 1, and 0 where the entry is vacant. States are never removed: so a vacant entry ends a search.
A tag has at least 5 bits, for 31 lines, and more where the bytes of an entry have bits to spare, so
that the table may be fuller.

The number of lines is a *factor* of 8 to 15 times a power of two, so that a table can grow by less
than to its double. All but the lowest `LOW_BITS` of the hash, times the factor, say the line by their
upper bits; divided by the factor, the lower bits of that product are the rest. With the line they say
the product, since it is a multiple of the factor.

Source: J. G. Cleary, Compact hash tables using bidirectional linear probing, IEEE Transactions on
Computers 33 (1984); here with lines instead of bits that mark runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from kraftcheck.model.language.packing import Layout
from kraftcheck.solvers.machine_code.irtools import (
    BYTE,
    POINTER,
    WORD,
    Local,
    begin,
    count_up,
    element,
    load,
    prefetch,
    repeat,
    state_at,
    store,
    word,
)
from kraftcheck.solvers.machine_code.visited_table import hash_words

TABLE, LINES, FACTOR, SPAN, ENTRY, FIRST, TAG, COUNT, LIMIT, TAKEN, ADDED = range(11)
"""Entries of a control block.

The table's address; its lines; their factor; the bits of the product below those that say the line;
bytes of an entry, and of its first part (rest of the hash and tag); bits of the tag; states, and most
states before it must grow; of the last call, the records that were looked at, and those that were new.
"""

CONTROL_WORDS = 11
FACTORS = range(8, 16)
LOW_BITS = 4
"""Bits of the hash that are not multiplied: the product has no more than 64."""
LINE = 16
TAG_BITS = range(5, 9)
"""Bits that a tag may have; of so many bits all values but 0 are lines in which a state may stand."""

BATCH = 64
PADDING = 16
"""Bytes behind a table, which reading its last entry touches."""

PRESENT, ADDED_NOW, NO_ROOM = range(3)


def other_bytes(layout: Layout) -> tuple[int, ...]:
    """Bytes that each word of a packed state but the first needs."""
    used = [0] * layout.words
    for slot in layout.slots:
        used[slot.word] = max(used[slot.word], slot.shift + slot.domain.bits)
    return tuple(-(-bits // 8) for bits in used[1:])


class CompactSet:
    """Parts of a control block, as values of a function."""

    def __init__(self, b: ir.IRBuilder, control: Any, others: Sequence[int]) -> None:
        self.b, self.others = b, others
        self.table = b.inttoptr(load(b, control, TABLE), POINTER)
        self.lines, self.factor, self.span = (load(b, control, entry) for entry in (LINES, FACTOR, SPAN))
        self.entry, self.first, self.tag_bits = (load(b, control, entry) for entry in (ENTRY, FIRST, TAG))
        self.most_lines = b.sub(b.shl(word(1), self.tag_bits), word(1))
        self.first_mask = b.lshr(word(-1), b.sub(word(64), b.shl(self.first, word(3))))

    def line(self, number: Any) -> Any:
        """Address of a line."""
        return element(self.b, self.table, self.b.mul(self.b.shl(number, word(4)), self.entry), BYTE)

    def home(self, quotient: Any) -> Any:
        """The line that a hash without its bucket says."""
        return self.b.lshr(self._product(quotient), self.span)

    def rest(self, quotient: Any) -> Any:
        """What an entry holds of it."""
        b = self.b
        below = b.udiv(b.and_(self._product(quotient), b.sub(b.shl(word(1), self.span), word(1))), self.factor)
        return b.or_(b.shl(below, word(LOW_BITS)), b.and_(quotient, word((1 << LOW_BITS) - 1)))

    def quotient(self, home: Any, rest: Any) -> Any:
        """The hash without its bucket, of which these are the line and the rest."""
        b = self.b
        above = b.shl(home, self.span)
        missing = b.urem(b.sub(self.factor, b.urem(above, self.factor)), self.factor)  # up to the next multiple
        below = b.add(b.mul(b.lshr(rest, word(LOW_BITS)), self.factor), missing)
        multiplied = b.udiv(b.add(above, below), self.factor)
        return b.or_(b.shl(multiplied, word(LOW_BITS)), b.and_(rest, word((1 << LOW_BITS) - 1)))

    def _product(self, quotient: Any) -> Any:
        return self.b.mul(self.b.lshr(quotient, word(LOW_BITS)), self.factor)

    def next_line(self, line: Any) -> Any:
        """The line after one; after the last comes the first."""
        following = self.b.add(line, word(1))
        return self.b.select(self.b.icmp_unsigned("==", following, self.lines), word(0), following)

    def home_of(self, line: Any, tag: Any) -> Any:
        """The line that the hash of an entry says which stands in a line with a tag."""
        b = self.b
        before = b.sub(tag, word(1))
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
            places.append((element(self.b, place, at, BYTE), word((1 << 8 * size) - 1)))
            at = self.b.add(at, word(size))
        return places


def emit_compact_set(module: ir.Module, layout: Layout) -> None:
    """The functions `admit`, `seek` and `regrow` of a layout."""
    others = other_bytes(layout)
    place = _emit_place(module, others, adds=True)
    _emit_admit(module, layout.words, others, place)
    _emit_seek(module, layout.words, others, _emit_place(module, others, adds=False))
    _emit_regrow(module, others, place)


def _emit_place(module: ir.Module, others: Sequence[int], *, adds: bool) -> Any:
    """`place(control, quotient, other words...) -> PRESENT, ADDED_NOW or NO_ROOM`.

    Without `adds` it is `look`, which leaves all as it is: whatever is not PRESENT is not there.
    """
    function, b = begin(module, "place" if adds else "look", [POINTER, WORD, *[WORD] * len(others)])
    control, quotient, *words = function.args
    compact = CompactSet(b, control, others)
    rest = b.shl(compact.rest(quotient), compact.tag_bits)
    line, tag = Local(b, compact.home(quotient)), Local(b, word(1))
    with repeat(b, lambda: b.icmp_unsigned("<=", tag.get(), compact.most_lines)):
        wanted = b.or_(rest, tag.get())
        at, left = Local(b, compact.line(line.get())), Local(b, word(LINE))
        with repeat(b, lambda: b.icmp_unsigned("!=", left.get(), word(0))):
            here = at.get()
            first = compact.read(here, compact.first_mask)
            vacant = b.icmp_unsigned("==", b.and_(first, compact.most_lines), word(0))
            with b.if_then(vacant):
                if adds:
                    compact.write(here, wanted, compact.first_mask)
                    for (at_other, mask), value in zip(compact.other_places(here), words, strict=True):
                        compact.write(at_other, value, mask)
                    store(b, b.add(load(b, control, COUNT), word(1)), control, COUNT)
                b.ret(word(ADDED_NOW))
            same = b.icmp_unsigned("==", first, wanted)
            for (at_other, mask), value in zip(compact.other_places(here), words, strict=True):
                same = b.and_(same, b.icmp_unsigned("==", compact.read(at_other, mask), value))
            with b.if_then(same):
                b.ret(word(PRESENT))
            at.set(element(b, here, compact.entry, BYTE))
            left.add(word(-1))
        line.set(compact.next_line(line.get()))
        tag.add(word(1))
    b.ret(word(NO_ROOM))
    return function


def _emit_admit(module: ir.Module, words: int, others: Sequence[int], place: Any) -> None:
    """`admit(control, records, count, stride, bucket_bits, out, quotients) -> NO_ROOM or 0`.

    Adds the states of records, `stride` words each, and copies the records of those that are new to
    `out`, in order. TAKEN and ADDED say how far it came when the set must grow first.
    """
    function, b = begin(module, "admit", [POINTER, POINTER, *[WORD] * 3, POINTER, POINTER], public=True)
    control, records, count, stride, bucket_bits, out, quotients = function.args
    compact = CompactSet(b, control, others)
    at, added = Local(b, word(0)), Local(b, word(0))

    def finish(result: int) -> None:
        store(b, at.get(), control, TAKEN)
        store(b, added.get(), control, ADDED)
        b.ret(word(result))

    with repeat(b, lambda: b.icmp_unsigned("<", at.get(), count)):
        left = b.sub(count, at.get())
        size = b.select(b.icmp_unsigned("<", left, word(BATCH)), left, word(BATCH))
        full = b.icmp_unsigned(">", b.add(load(b, control, COUNT), size), load(b, control, LIMIT))
        with b.if_then(full, likely=False):
            finish(NO_ROOM)
        first = element(b, records, b.mul(at.get(), stride))
        _fetch_lines(b, compact, (first, size, stride, bucket_bits), words, quotients)
        with count_up(b, word(0), size) as k:
            record = element(b, first, b.mul(k, stride))
            other_words = [load(b, record, i) for i in range(1, words)]
            result = b.call(place, [control, load(b, quotients, k), *other_words])
            with b.if_then(b.icmp_unsigned("==", result, word(NO_ROOM)), likely=False):
                finish(NO_ROOM)
            with b.if_then(b.icmp_unsigned("==", result, word(ADDED_NOW))):
                target = element(b, out, b.mul(added.get(), stride))
                with count_up(b, word(0), stride) as i:
                    store(b, load(b, record, i), target, i)
                added.add(word(1))
            at.add(word(1))
    finish(0)


def _fetch_lines(b: ir.IRBuilder, compact: CompactSet, rows: Sequence[Any], words: int, quotients: Any) -> None:
    """Store the quotients of some rows (the first, how many, stride, bits of the bucket), and ask for their lines."""
    first, size, stride, bucket_bits = rows
    with count_up(b, word(0), size) as k:
        hashed = hash_words(b, state_at(b, element(b, first, b.mul(k, stride)), words))
        quotient = b.lshr(b.shl(hashed, bucket_bits), bucket_bits)
        store(b, quotient, quotients, k)
        line = compact.line(compact.home(quotient))
        prefetch(b, line, write=True)
        prefetch(b, element(b, line, 64, BYTE), write=True)


def _emit_seek(module: ir.Module, words: int, others: Sequence[int], look: Any) -> None:
    """`seek(control, records, count, stride, bucket_bits, held, quotients) -> 0`: bytes `held[i]`, 1: it is there."""
    function, b = begin(module, "seek", [POINTER, POINTER, *[WORD] * 3, POINTER, POINTER], public=True)
    control, records, count, stride, bucket_bits, held, quotients = function.args
    compact = CompactSet(b, control, others)
    at = Local(b, word(0))
    with repeat(b, lambda: b.icmp_unsigned("<", at.get(), count)):
        left = b.sub(count, at.get())
        size = b.select(b.icmp_unsigned("<", left, word(BATCH)), left, word(BATCH))
        first = element(b, records, b.mul(at.get(), stride))
        _fetch_lines(b, compact, (first, size, stride, bucket_bits), words, quotients)
        with count_up(b, word(0), size) as k:
            record = element(b, first, b.mul(k, stride))
            other_words = [load(b, record, i) for i in range(1, words)]
            result = b.call(look, [control, load(b, quotients, k), *other_words])
            is_held = b.zext(b.icmp_unsigned("==", result, word(PRESENT)), BYTE)
            store(b, is_held, held, b.add(at.get(), k), BYTE)
        at.add(size)
    b.ret(word(0))


def _emit_regrow(module: ir.Module, others: Sequence[int], place: Any) -> None:
    """`regrow(old, new) -> 0 or NO_ROOM`: add what one table holds to another with more lines."""
    function, b = begin(module, "regrow", [POINTER, POINTER], public=True)
    old, new = function.args
    compact = CompactSet(b, old, others)
    entries = b.mul(word(LINE), compact.lines)
    with count_up(b, word(0), entries) as k:
        here = element(b, compact.table, b.mul(k, compact.entry), BYTE)
        first = compact.read(here, compact.first_mask)
        tag = b.and_(first, compact.most_lines)
        with b.if_then(b.icmp_unsigned("!=", tag, word(0))):
            home = compact.home_of(b.udiv(k, word(LINE)), tag)
            quotient = compact.quotient(home, b.lshr(first, compact.tag_bits))
            other_words = [compact.read(at, mask) for at, mask in compact.other_places(here)]
            result = b.call(place, [new, quotient, *other_words])
            with b.if_then(b.icmp_unsigned("==", result, word(NO_ROOM)), likely=False):
                b.ret(word(NO_ROOM))
    b.ret(word(0))
