"""A hash set of records in insertion order, in machine code; each task of a distributed search holds one.

A record is a packed state and its mark (parent's id << 16 | action instance);
two records are the same when their states are, and the first one stays. An
entry of the open-addressing table has the upper half of the state's hash
beside the record's index + 1, so that a probe seldom looks at a record in vain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from kraftcheck.solvers.machine_code.irtools import (
    POINTER,
    TRUTH,
    WORD,
    Local,
    begin,
    count_up,
    element,
    load,
    prefetch,
    repeat,
    same_words,
    state_at,
    store,
    word,
)
from kraftcheck.solvers.machine_code.visited_table import hash_words

RECORDS, TABLE, MASK, COUNT, LIMIT = range(5)
"""Entries of a control block: addresses, table length - 1, records, most records."""

CONTROL_WORDS = 5
BATCH = 64
U8 = ir.IntType(8)

_INDEX = (1 << 32) - 1


class RecordSet:
    """Parts of a control block, as values of a function."""

    def __init__(self, b: ir.IRBuilder, control: Any, words: int) -> None:
        self.b, self.words = b, words
        self.records, self.table = (b.inttoptr(load(b, control, i), POINTER) for i in (RECORDS, TABLE))
        self.mask = load(b, control, MASK)

    def record(self, index: Any) -> Any:
        """Address of a record."""
        return element(self.b, self.records, self.b.mul(index, word(self.words + 1)))

    def index(self, entry: Any) -> Any:
        """Index of the record that an entry which is not vacant stands for."""
        return self.b.sub(self.b.and_(entry, word(_INDEX)), word(1))

    def slot(self, hashed: Any) -> Any:
        """Where the search for a hash begins."""
        return self.b.and_(hashed, self.mask)

    def after(self, slot: Any) -> Any:
        """Where it goes on."""
        return self.b.and_(self.b.add(slot, word(1)), self.mask)

    def has_tag(self, entry: Any, hashed: Any) -> Any:
        """Whether an entry has the tag of a hash."""
        return self.b.icmp_unsigned("<=", self.b.xor(entry, hashed), word(_INDEX))

    def holds(self, entry: Any, state: Sequence[Any]) -> Any:
        """Whether an entry's record has this state."""
        record = self.record(self.index(entry))
        return same_words(self.b, state, state_at(self.b, record, self.words))


def emit_insert(module: ir.Module, words: int) -> Any:
    """A function `(control, records, hashes, count)` that inserts records whose hashes are known.

    Fetches table lines, then the records they point to, then inserts. The
    caller has seen to it that there is room.
    """
    function, b = begin(module, "settle", [POINTER, POINTER, POINTER, WORD], ir.VoidType())
    control, records, hashes, count = function.args
    records_ = RecordSet(b, control, words)
    with count_up(b, word(0), count) as k:
        prefetch(b, element(b, records_.table, records_.slot(load(b, hashes, k))), write=True)
    with count_up(b, word(0), count) as k:
        hashed = load(b, hashes, k)
        entry = load(b, records_.table, records_.slot(hashed))
        with b.if_then(b.and_(b.icmp_unsigned("!=", entry, word(0)), records_.has_tag(entry, hashed))):
            prefetch(b, records_.record(records_.index(entry)))
    with count_up(b, word(0), count) as k:
        record = element(b, records, b.mul(k, word(words + 1)))
        _insert_record(b, control, records_, record, load(b, hashes, k))
    b.ret_void()
    return function


def _insert_record(b: ir.IRBuilder, control: Any, records: RecordSet, record: Any, hashed: Any) -> None:
    state = state_at(b, record, records.words)
    slot = Local(b, records.slot(hashed))
    with repeat(b, lambda: ir.Constant(TRUTH, 1)) as end:
        entry = load(b, records.table, slot.get())
        with b.if_then(b.icmp_unsigned("==", entry, word(0))):
            index = load(b, control, COUNT)
            place = records.record(index)
            for i, value in enumerate((*state, load(b, record, records.words))):
                store(b, value, place, i)
            tag = b.and_(hashed, word(~_INDEX))
            store(b, b.or_(tag, b.add(index, word(1))), records.table, slot.get())
            store(b, b.add(index, word(1)), control, COUNT)
            b.branch(end)
        with b.if_then(records.has_tag(entry, hashed)), b.if_then(records.holds(entry, state)):
            b.branch(end)
        slot.set(records.after(slot.get()))


def emit_gather(module: ir.Module, words: int, insert: Any) -> None:
    """`gather(control, records, count, hashes) -> records taken`: insert records while there is room."""
    function, b = begin(module, "gather", [POINTER, POINTER, WORD, POINTER], public=True)
    control, records, count, hashes = function.args
    at = Local(b, word(0))
    with repeat(b, lambda: b.icmp_unsigned("<", at.get(), count)):
        rest = b.sub(count, at.get())
        size = b.select(b.icmp_unsigned("<", rest, word(BATCH)), rest, word(BATCH))
        after = b.add(load(b, control, COUNT), size)
        with b.if_then(b.icmp_unsigned(">", after, load(b, control, LIMIT)), likely=False):
            b.ret(at.get())
        first = element(b, records, b.mul(at.get(), word(words + 1)))
        with count_up(b, word(0), size) as k:
            record = element(b, first, b.mul(k, word(words + 1)))
            store(b, hash_words(b, state_at(b, record, words)), hashes, k)
        b.call(insert, [control, first, hashes, size])
        at.add(size)
    b.ret(at.get())


def _hash_batch(b: ir.IRBuilder, records: RecordSet, first: Any, size: Any, stride: int, hashes: Any) -> None:
    """Store the hashes of states that lie so many words apart, and fetch the slots where they would be."""
    with count_up(b, word(0), size) as k:
        hashed = hash_words(b, state_at(b, element(b, first, b.mul(k, word(stride))), records.words))
        store(b, hashed, hashes, k)
        prefetch(b, element(b, records.table, records.slot(hashed)))


def emit_mark_duplicates(module: ir.Module, words: int) -> None:
    """`strike(control, states, count, duplicates, hashes) -> 0`: set byte `duplicates[i]` of records among states."""
    function, b = begin(module, "strike", [POINTER, POINTER, WORD, POINTER, POINTER], public=True)
    control, states, count, duplicates, hashes = function.args
    records = RecordSet(b, control, words)
    at = Local(b, word(0))
    with repeat(b, lambda: b.icmp_unsigned("<", at.get(), count)):
        rest = b.sub(count, at.get())
        size = b.select(b.icmp_unsigned("<", rest, word(BATCH)), rest, word(BATCH))
        first = element(b, states, b.mul(at.get(), word(words)))
        _hash_batch(b, records, first, size, words, hashes)
        with count_up(b, word(0), size) as k:
            state = element(b, first, b.mul(k, word(words)))
            _mark_duplicate(b, records, state, load(b, hashes, k), duplicates)
        at.add(size)
    b.ret(word(0))


def _mark_duplicate(b: ir.IRBuilder, records: RecordSet, place: Any, hashed: Any, duplicates: Any) -> None:
    slot = Local(b, records.slot(hashed))
    entry = Local(b, load(b, records.table, slot.get()))
    with repeat(b, lambda: b.icmp_unsigned("!=", entry.get(), word(0))) as end:
        with b.if_then(records.has_tag(entry.get(), hashed)):
            state = state_at(b, place, records.words)
            with b.if_then(records.holds(entry.get(), state)):
                store(b, ir.Constant(U8, 1), duplicates, records.index(entry.get()), U8)
                b.branch(end)
        slot.set(records.after(slot.get()))
        entry.set(load(b, records.table, slot.get()))


def emit_find(module: ir.Module, words: int) -> None:
    """`find(control, records, count, indices, hashes) -> 0`: which record has the state of each; -1: none."""
    function, b = begin(module, "find", [POINTER, POINTER, WORD, POINTER, POINTER], public=True)
    control, wanted, count, indices, hashes = function.args
    records = RecordSet(b, control, words)
    at = Local(b, word(0))
    with repeat(b, lambda: b.icmp_unsigned("<", at.get(), count)):
        rest = b.sub(count, at.get())
        size = b.select(b.icmp_unsigned("<", rest, word(BATCH)), rest, word(BATCH))
        first = element(b, wanted, b.mul(at.get(), word(words + 1)))
        _hash_batch(b, records, first, size, words + 1, hashes)
        with count_up(b, word(0), size) as k:
            entry = load(b, records.table, records.slot(load(b, hashes, k)))
            with b.if_then(b.icmp_unsigned("!=", entry, word(0))):
                prefetch(b, records.record(records.index(entry)))
        with count_up(b, word(0), size) as k:
            place = element(b, first, b.mul(k, word(words + 1)))
            store(b, _index_of(b, records, place, load(b, hashes, k)), indices, b.add(at.get(), k))
        at.add(size)
    b.ret(word(0))


def _index_of(b: ir.IRBuilder, records: RecordSet, place: Any, hashed: Any) -> Any:
    slot, found = Local(b, records.slot(hashed)), Local(b, word(-1))
    entry = Local(b, load(b, records.table, slot.get()))
    with repeat(b, lambda: b.icmp_unsigned("!=", entry.get(), word(0))) as end:
        with b.if_then(records.has_tag(entry.get(), hashed)):
            state = state_at(b, place, records.words)
            with b.if_then(records.holds(entry.get(), state)):
                found.set(records.index(entry.get()))
                b.branch(end)
        slot.set(records.after(slot.get()))
        entry.set(load(b, records.table, slot.get()))
    return found.get()


def emit_scatter(module: ir.Module, words: int) -> None:
    """`tally(records, count, shift, counts)` and `scatter(records, count, shift, places, out)`: sort by bucket.

    The bucket of a record is its hash >> shift; `counts[bucket]` is counted
    up, then `places[bucket]` says where its next record goes. Order within a
    bucket is kept.
    """
    function, b = begin(module, "tally", [POINTER, WORD, WORD, POINTER], public=True)
    records, count, shift, counts = function.args
    with count_up(b, word(0), count) as k:
        state = state_at(b, element(b, records, b.mul(k, word(words + 1))), words)
        bucket = b.lshr(hash_words(b, state), shift)
        store(b, b.add(load(b, counts, bucket), word(1)), counts, bucket)
    b.ret(word(0))
    function, b = begin(module, "scatter", [POINTER, WORD, WORD, POINTER, POINTER], public=True)
    records, count, shift, places, out = function.args
    with count_up(b, word(0), count) as k:
        record = element(b, records, b.mul(k, word(words + 1)))
        state = state_at(b, record, words)
        bucket = b.lshr(hash_words(b, state), shift)
        place = load(b, places, bucket)
        for i, value in enumerate((*state, load(b, record, words))):
            store(b, value, element(b, out, b.mul(place, word(words + 1))), i)
        store(b, b.add(place, word(1)), places, bucket)
    b.ret(word(0))
