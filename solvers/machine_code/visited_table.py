"""The visited set's kernel: hashing, insertion in batches, rehashing.

A shard keeps its states in the order of their discovery, with parent and
action instance, and an open-addressing table of 32-bit entries: an index + 1
into them, and in the bits that no index of this table needs a *tag* of the
state's hash. An entry with another tag is that of another state, which need
not be read. Its *control block* of 64-bit integers tells the kernel where things are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

from kraftcheck.solvers.machine_code.irtools import (
    POINTER,
    TRUTH,
    U16,
    U32,
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

STATES, PARENTS, ACTIONS, TABLE, MASK, COUNT, LIMIT, PIECE, OFFSET, MARKS = range(10)
"""Entries of a control block: addresses, table length - 1, states, most states before growth, place to resume.

MARKS is the address of the marks of a backward search.
"""

CONTROL_WORDS = 10
BATCH = 32

TAG_SHIFT = 27
"""A tag's highest bit is the one below those of the shard: 32 bits from here on, less those of the index."""

_MULTIPLIERS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def hash_words(b: ir.IRBuilder, words: Sequence[Any]) -> Any:
    """A 64-bit hash whose every bit depends on every input bit (the finaliser of splitmix64)."""
    h = words[0]
    for other in words[1:]:
        h = b.mul(h, word(_MULTIPLIERS[0]))
        h = b.xor(b.xor(h, b.lshr(h, word(32))), other)
    h = b.add(h, word(_MULTIPLIERS[0]))
    for shift, factor in ((30, _MULTIPLIERS[1]), (27, _MULTIPLIERS[2])):
        h = b.mul(b.xor(h, b.lshr(h, word(shift))), word(factor))
    return b.xor(h, b.lshr(h, word(31)))


def shard_of_hash(b: ir.IRBuilder, hashed: Any, shards: int) -> Any:
    """The shard: the top bits, which the table's slots do not use."""
    return b.lshr(hashed, word(64 - (shards.bit_length() - 1)))


class ShardParts:
    """Parts of a control block, as values of a function."""

    def __init__(self, b: ir.IRBuilder, control: Any, words: int) -> None:
        self.b, self.words = b, words
        self.states, self.parents, self.actions, self.table, self.marks = (
            b.inttoptr(load(b, control, i), POINTER) for i in (STATES, PARENTS, ACTIONS, TABLE, MARKS)
        )
        self.mask = load(b, control, MASK)

    def state(self, index: Any) -> Any:
        """Address of a state."""
        return element(self.b, self.states, self.b.mul(index, word(self.words)))

    def tagged_entry(self, slot: Any) -> Any:
        """A table entry with its tag, widened; 0 is vacant."""
        return self.b.zext(load(self.b, self.table, slot, U32), WORD)

    def entry(self, slot: Any) -> Any:
        """A table entry without its tag: an index + 1; 0 is vacant."""
        return self.index_part(self.tagged_entry(slot))

    def index_part(self, entry: Any) -> Any:
        """An entry without its tag: a table has more slots than indices, so its mask covers an index + 1."""
        return self.b.and_(entry, self.mask)

    def tag(self, hashed: Any) -> Any:
        """The tag of a hash: bits that choose neither slot nor shard, where an entry has room beside an index + 1."""
        b = self.b
        return b.and_(b.and_(b.lshr(hashed, word(TAG_SHIFT)), word(0xFFFF_FFFF)), b.not_(self.mask))

    def has_tag(self, entry: Any, tag: Any) -> Any:
        """Whether a tagged entry has a tag."""
        return self.b.icmp_unsigned("==", self.b.and_(entry, self.b.not_(self.mask)), tag)

    def prefetch_entry(self, slot: Any, *, write: bool = False) -> None:
        """Ask for the cache line of a table entry."""
        prefetch(self.b, element(self.b, self.table, slot, U32), write=write)

    def occupy(self, slot: Any, index: Any, tag: Any) -> None:
        """Let a table entry stand for a state."""
        b = self.b
        store(b, b.trunc(b.or_(b.add(index, word(1)), tag), U32), self.table, slot, U32)

    def next(self, slot: Any) -> Any:
        """The slot after one."""
        return self.b.and_(self.b.add(slot, word(1)), self.mask)

    @contextmanager
    def lookup(self, state: Sequence[Any], hashed: Any) -> Iterator[tuple[Any, Any]]:
        """A loop in search of a state: the body runs where it is found, and returns or branches to the block after it.

        Yields its index, and that block; the block is also reached where the shard lacks the state.
        """
        b, slot, tag = self.b, Local(self.b, self.b.and_(hashed, self.mask)), self.tag(hashed)
        with repeat(b, lambda: b.icmp_unsigned("!=", self.tagged_entry(slot.get()), word(0))) as end:
            entry = self.tagged_entry(slot.get())
            with b.if_then(self.has_tag(entry, tag)):
                index = b.sub(self.index_part(entry), word(1))
                with b.if_then(same_words(b, state, state_at(b, self.state(index), self.words))):
                    yield index, end
            slot.set(self.next(slot.get()))


def emit_insert(module: ir.Module, words: int, room: int, shards: int) -> None:
    """`insert(control, pieces, counts, how_many, shard) -> finished`.

    Inserts what the pieces hold for this shard, in order. Returns 0 with the
    place saved when the shard must grow first.
    """
    batch = _emit_batch(module, words)
    function, b = begin(module, "insert", [POINTER, POINTER, POINTER, WORD, WORD], public=True)
    control, pieces, counts, how_many, shard = function.args
    piece, offset = Local(b, load(b, control, PIECE)), Local(b, load(b, control, OFFSET))
    with repeat(b, lambda: b.icmp_unsigned("<", piece.get(), how_many)):
        number = piece.get()
        total = load(b, counts, b.add(b.mul(number, word(shards)), shard))
        first = b.mul(shard, word(room * (words + 1)))
        records = element(b, b.inttoptr(load(b, pieces, number), POINTER), first)
        with repeat(b, lambda: b.icmp_unsigned("<", offset.get(), total)):
            rest = b.sub(total, offset.get())
            size = b.select(b.icmp_unsigned("<", rest, word(BATCH)), rest, word(BATCH))
            after = b.add(load(b, control, COUNT), size)
            with b.if_then(b.icmp_unsigned(">", after, load(b, control, LIMIT)), likely=False):
                store(b, number, control, PIECE)
                store(b, offset.get(), control, OFFSET)
                b.ret(word(0))
            b.call(batch, [control, element(b, records, b.mul(offset.get(), word(words + 1))), size])
            offset.add(size)
        offset.set(word(0))
        piece.add(word(1))
    b.ret(word(1))


def _emit_batch(module: ir.Module, words: int) -> Any:
    """`(control, records, size)`: hash all, fetch table lines, fetch states, then compare and insert."""
    function, b = begin(module, "batch", [POINTER, POINTER, WORD], ir.VoidType())
    control, records, size = function.args
    slots, tags = b.alloca(WORD, word(BATCH)), b.alloca(WORD, word(BATCH))
    shard = ShardParts(b, control, words)
    with count_up(b, word(0), size) as k:
        record = element(b, records, b.mul(k, word(words + 1)))
        hashed = hash_words(b, state_at(b, record, words))
        slot = b.and_(hashed, shard.mask)
        store(b, slot, slots, k)
        store(b, shard.tag(hashed), tags, k)
        shard.prefetch_entry(slot, write=True)
    with count_up(b, word(0), size) as k:
        slot_, tag = Local(b, load(b, slots, k)), load(b, tags, k)
        with repeat(b, lambda: _is_other(b, shard, slot_.get(), tag)):
            slot_.set(shard.next(slot_.get()))
        store(b, slot_.get(), slots, k)
        prefetch(b, shard.state(b.sub(shard.entry(slot_.get()), word(1))))
    with count_up(b, word(0), size) as k:
        record = element(b, records, b.mul(k, word(words + 1)))
        _insert_record(b, control, shard, record, load(b, slots, k), load(b, tags, k))
    b.ret_void()
    return function


def _is_other(b: ir.IRBuilder, shard: ShardParts, slot: Any, tag: Any) -> Any:
    """Whether a slot is taken by a state of another tag."""
    entry = shard.tagged_entry(slot)
    return b.and_(b.icmp_unsigned("!=", entry, word(0)), b.not_(shard.has_tag(entry, tag)))


def _insert_record(b: ir.IRBuilder, control: Any, shard: ShardParts, record: Any, first: Any, tag: Any) -> None:
    state = state_at(b, record, shard.words)
    slot = Local(b, first)
    with repeat(b, lambda: ir.Constant(TRUTH, 1)) as end:
        entry = shard.tagged_entry(slot.get())
        with b.if_then(b.icmp_unsigned("==", entry, word(0))):
            index = load(b, control, COUNT)
            for i, value in enumerate(state):
                store(b, value, shard.state(index), i)
            mark = load(b, record, shard.words)
            store(b, b.trunc(b.lshr(mark, word(16)), U32), shard.parents, index, U32)
            store(b, b.trunc(mark, U16), shard.actions, index, U16)
            shard.occupy(slot.get(), index, tag)
            store(b, b.add(index, word(1)), control, COUNT)
            b.branch(end)
        with b.if_then(shard.has_tag(entry, tag)):
            candidate = shard.state(b.sub(shard.index_part(entry), word(1)))
            with b.if_then(same_words(b, state, state_at(b, candidate, len(state)))):
                b.branch(end)
        slot.set(shard.next(slot.get()))


def emit_rehash(module: ir.Module, words: int) -> None:
    """`rehash(control) -> count`: enter all states into a table of zeros."""
    function, b = begin(module, "rehash", [POINTER], public=True)
    control = function.args[0]
    shard = ShardParts(b, control, words)
    count = load(b, control, COUNT)
    with count_up(b, word(0), count) as index:
        state = shard.state(index)
        hashed = hash_words(b, state_at(b, state, words))
        slot = Local(b, b.and_(hashed, shard.mask))
        with repeat(b, lambda: b.icmp_unsigned("!=", shard.tagged_entry(slot.get()), word(0))):
            slot.set(shard.next(slot.get()))
        shard.occupy(slot.get(), index, shard.tag(hashed))
    b.ret(count)


def emit_seek(module: ir.Module, words: int) -> Any:
    """`seek(control, state) -> index + 1`: where a shard holds a state; 0 where it does not."""
    function, b = begin(module, "seek", [POINTER, POINTER], public=True)
    control, place = function.args
    shard, state = ShardParts(b, control, words), state_at(b, place, words)
    with shard.lookup(state, hash_words(b, state)) as (index, _):
        b.ret(b.add(index, word(1)))
    b.ret(word(0))
    return function
