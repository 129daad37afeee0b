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

from kraftcheck.solvers.machine_code.irtools import POINTER, TRUTH, U16, U32, WORD, Builder, begin, word

STATES, PARENTS, ACTIONS, TABLE, MASK, COUNT, LIMIT, PIECE, OFFSET = range(9)
"""Entries of a control block: addresses, table length - 1, states, most states before growth, place to resume."""

CONTROL_WORDS = 9
BATCH = 32

TAG_SHIFT = 27  # a tag's highest bit is the one below those of the shard: 32 bits from here on, less those of the index

_MULTIPLIERS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def hash_words(b: Builder, words: Sequence[Any]) -> Any:
    """A 64-bit hash whose every bit depends on every input bit (the finaliser of splitmix64)."""
    h = words[0]
    for other in words[1:]:
        h = b.mul(h, _MULTIPLIERS[0])
        h = b.xor(b.xor(h, b.lshr(h, 32)), other)
    h = b.add(h, _MULTIPLIERS[0])
    for shift, factor in ((30, _MULTIPLIERS[1]), (27, _MULTIPLIERS[2])):
        h = b.mul(b.xor(h, b.lshr(h, shift)), factor)
    return b.xor(h, b.lshr(h, 31))


def shard_of_hash(b: Builder, hashed: Any, shards: int) -> Any:
    """The shard: the top bits, which the table's slots do not use."""
    return b.lshr(hashed, 64 - (shards.bit_length() - 1))


class ShardParts:
    """Parts of a control block, as values of a function."""

    def __init__(self, b: Builder, control: Any, words: int) -> None:
        self.b, self.words = b, words
        self.states, self.parents, self.actions, self.table = (
            b.inttoptr(b.get(control, i), POINTER) for i in (STATES, PARENTS, ACTIONS, TABLE)
        )
        self.mask = b.get(control, MASK)

    def state(self, index: Any) -> Any:
        """Address of a state."""
        return self.b.at(self.states, self.b.mul(index, self.words))

    def tagged_entry(self, slot: Any) -> Any:
        """A table entry with its tag, widened; 0 is vacant."""
        return self.b.zext(self.b.get(self.table, slot, U32), WORD)

    def entry(self, slot: Any) -> Any:
        """A table entry without its tag: an index + 1; 0 is vacant."""
        return self.index_part(self.tagged_entry(slot))

    def index_part(self, entry: Any) -> Any:
        """An entry without its tag: a table has more slots than indices, so its mask covers an index + 1."""
        return self.b.and_(entry, self.mask)

    def tag(self, hashed: Any) -> Any:
        """The tag of a hash: bits that choose neither slot nor shard, where an entry has room beside an index + 1."""
        b = self.b
        return b.and_(b.and_(b.lshr(hashed, TAG_SHIFT), 0xFFFF_FFFF), b.not_(self.mask))

    def has_tag(self, entry: Any, tag: Any) -> Any:
        """Whether a tagged entry has a tag."""
        return self.b.icmp_unsigned("==", self.b.and_(entry, self.b.not_(self.mask)), tag)

    def prefetch_entry(self, slot: Any, *, write: bool = False) -> None:
        """Ask for the cache line of a table entry."""
        self.b.prefetch(self.b.at(self.table, slot, U32), write=write)

    def occupy(self, slot: Any, index: Any, tag: Any) -> None:
        """Let a table entry stand for a state."""
        b = self.b
        b.put(b.trunc(b.or_(b.add(index, 1), tag), U32), self.table, slot, U32)

    def next(self, slot: Any) -> Any:
        """The slot after one."""
        return self.b.and_(self.b.add(slot, 1), self.mask)

    @contextmanager
    def lookup(self, state: Sequence[Any], hashed: Any) -> Iterator[tuple[Any, Any]]:
        """A loop in search of a state: the body runs where it is found, and returns or branches to the block after it.

        Yields its index, and that block; the block is also reached where the shard lacks the state.
        """
        b, slot, tag = self.b, self.b.local(self.b.and_(hashed, self.mask)), self.tag(hashed)
        with b.repeat(lambda: b.icmp_unsigned("!=", self.tagged_entry(slot.get()), 0)) as end:
            entry = self.tagged_entry(slot.get())
            with b.if_then(self.has_tag(entry, tag)):
                index = b.sub(self.index_part(entry), 1)
                with b.if_then(b.same(state, b.state(self.state(index), self.words))):
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
    piece, offset = b.local(b.get(control, PIECE)), b.local(b.get(control, OFFSET))
    with b.repeat(lambda: b.icmp_unsigned("<", piece.get(), how_many)):
        number = piece.get()
        total = b.get(counts, b.add(b.mul(number, shards), shard))
        first = b.mul(shard, room * (words + 1))
        records = b.at(b.inttoptr(b.get(pieces, number), POINTER), first)
        with b.repeat(lambda: b.icmp_unsigned("<", offset.get(), total)):
            rest = b.sub(total, offset.get())
            size = b.select(b.icmp_unsigned("<", rest, BATCH), rest, BATCH)
            after = b.add(b.get(control, COUNT), size)
            with b.if_then(b.icmp_unsigned(">", after, b.get(control, LIMIT)), likely=False):
                b.put(number, control, PIECE)
                b.put(offset.get(), control, OFFSET)
                b.ret(0)
            b.call(batch, [control, b.at(records, b.mul(offset.get(), words + 1)), size])
            offset.add(size)
        offset.set(0)
        piece.add(1)
    b.ret(1)


def _emit_batch(module: ir.Module, words: int) -> Any:
    """`(control, records, size)`: hash all, fetch table lines, fetch states, then compare and insert."""
    function, b = begin(module, "batch", [POINTER, POINTER, WORD], ir.VoidType())
    control, records, size = function.args
    slots, tags = b.alloca(WORD, word(BATCH)), b.alloca(WORD, word(BATCH))
    shard = ShardParts(b, control, words)
    with b.count(0, size) as k:
        record = b.at(records, b.mul(k, words + 1))
        hashed = hash_words(b, b.state(record, words))
        slot = b.and_(hashed, shard.mask)
        b.put(slot, slots, k)
        b.put(shard.tag(hashed), tags, k)
        shard.prefetch_entry(slot, write=True)
    with b.count(0, size) as k:
        slot_, tag = b.local(b.get(slots, k)), b.get(tags, k)
        with b.repeat(lambda: _is_other(b, shard, slot_.get(), tag)):
            slot_.set(shard.next(slot_.get()))
        b.put(slot_.get(), slots, k)
        b.prefetch(shard.state(b.sub(shard.entry(slot_.get()), 1)))
    with b.count(0, size) as k:
        record = b.at(records, b.mul(k, words + 1))
        _insert_record(b, control, shard, record, b.get(slots, k), b.get(tags, k))
    b.ret_void()
    return function


def _is_other(b: Builder, shard: ShardParts, slot: Any, tag: Any) -> Any:
    """Whether a slot is taken by a state of another tag."""
    entry = shard.tagged_entry(slot)
    return b.and_(b.icmp_unsigned("!=", entry, 0), b.not_(shard.has_tag(entry, tag)))


def _insert_record(b: Builder, control: Any, shard: ShardParts, record: Any, first: Any, tag: Any) -> None:
    state = b.state(record, shard.words)
    slot = b.local(first)
    with b.repeat(lambda: ir.Constant(TRUTH, 1)) as end:
        entry = shard.tagged_entry(slot.get())
        with b.if_then(b.icmp_unsigned("==", entry, 0)):
            index = b.get(control, COUNT)
            for i, value in enumerate(state):
                b.put(value, shard.state(index), i)
            mark = b.get(record, shard.words)
            b.put(b.trunc(b.lshr(mark, 16), U32), shard.parents, index, U32)
            b.put(b.trunc(mark, U16), shard.actions, index, U16)
            shard.occupy(slot.get(), index, tag)
            b.put(b.add(index, 1), control, COUNT)
            b.branch(end)
        with b.if_then(shard.has_tag(entry, tag)):
            candidate = shard.state(b.sub(shard.index_part(entry), 1))
            with b.if_then(b.same(state, b.state(candidate, len(state)))):
                b.branch(end)
        slot.set(shard.next(slot.get()))


def emit_rehash(module: ir.Module, words: int) -> None:
    """`rehash(control) -> count`: enter all states into a table of zeros."""
    function, b = begin(module, "rehash", [POINTER], public=True)
    control = function.args[0]
    shard = ShardParts(b, control, words)
    count = b.get(control, COUNT)
    with b.count(0, count) as index:
        state = shard.state(index)
        hashed = hash_words(b, b.state(state, words))
        slot = b.local(b.and_(hashed, shard.mask))
        with b.repeat(lambda: b.icmp_unsigned("!=", shard.tagged_entry(slot.get()), 0)):
            slot.set(shard.next(slot.get()))
        shard.occupy(slot.get(), index, shard.tag(hashed))
    b.ret(count)


def emit_seek(module: ir.Module, words: int) -> Any:
    """`seek(control, state) -> index + 1`: where a shard holds a state; 0 where it does not."""
    function, b = begin(module, "seek", [POINTER, POINTER], public=True)
    control, place = function.args
    shard, state = ShardParts(b, control, words), b.state(place, words)
    with shard.lookup(state, hash_words(b, state)) as (index, _):
        b.ret(b.add(index, 1))
    b.ret(0)
    return function
