"""The kernel of the liveness search: the transitions among visited states, and truths of each state.

No transition is stored by the search; these functions compute them again, and look the successors up.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from kraftcheck.solvers.machine_code.frame import FramePlan
from kraftcheck.solvers.machine_code.irtools import (
    BYTE,
    POINTER,
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
from kraftcheck.solvers.machine_code.transition import record_words, state_scope
from kraftcheck.solvers.machine_code.visited_table import BATCH, ShardParts, hash_words, shard_of_hash
from kraftcheck.solvers.program.program import Program

OUTSIDE = 0xFFFF_FFFF
"""The number of a visited state that is not in a region."""

NOWHERE = 1 << 63
"""Cut bit of a state with a successor that is not visited."""


def truth_words(program: Program) -> int:
    """Words of the truths of a state."""
    return -(-len(program.liveness.terms) // 64)


def emit_liveness(module: ir.Module, plan: FramePlan, step: Any, shards: int) -> None:
    """The functions `appraise` and `connect` of a program with liveness properties."""
    emit_appraise(module, plan.program)
    _emit_connect(module, plan, step, shards)


def emit_appraise(module: ir.Module, program: Program) -> None:
    """`appraise(states, truths, count) -> count`: the truths of `LivenessClaims.terms`, one bit each, by state."""
    function, b = begin(module, "appraise", [POINTER, POINTER, WORD], public=True)
    states, out, count = function.args
    words, terms = truth_words(program), program.liveness.terms
    with count_up(b, word(0), count) as index:
        scope = state_scope(b, program, element(b, states, b.mul(index, word(program.layout.words))))
        for number in range(words):
            bits: Any = word(0)
            for place, term in enumerate(terms[64 * number : 64 * (number + 1)]):
                bits = b.or_(bits, b.shl(b.zext(scope.value(term), WORD), word(place)))
            store(b, bits, out, b.add(b.mul(index, word(words)), word(number)))
    b.ret(count)


def _emit_connect(module: ir.Module, plan: FramePlan, step: Any, shards: int) -> None:
    """`connect(frame, controls, numbering, scratch, edges, wanted, first, last, inner) -> number of edges`.

    Writes the edges of the states first..last-1 of a region, of those that are wanted (a byte for each). `numbering`
    holds three addresses: the offset of each shard, for each visited state (its index in its shard + that offset) its
    number in the region, `OUTSIDE` for those outside, and the id of each of the states asked for. `edges` holds four:
    the target of each edge, `OUTSIDE` for those that leave (none such if `inner`), its instance, for each state the
    number of its first edge and one more at the end, and for each state its cut bits: one for each kind of action (64
    and more share), of which a domain cut a step there. No edge leads from a state to itself.
    """
    words = plan.program.layout.words
    function, b = begin(module, "connect", [*[POINTER] * 6, *[WORD] * 3], public=True)
    frame, controls, numbering, scratch, edges, wanted, first, last, inner = function.args
    targets, instances, starts, cuts = (b.inttoptr(load(b, edges, n), POINTER) for n in range(4))
    ids = b.inttoptr(load(b, numbering, 2), POINTER)
    locate = _emit_locate(module, words, shards)
    count = Local(b, word(0))
    with count_up(b, first, last) as number:
        row = b.sub(number, first)
        store(b, b.trunc(count.get(), U32), starts, row, U32)
        store(b, word(0), cuts, row)
        with b.if_then(b.icmp_unsigned("!=", load(b, wanted, row, BYTE), ir.Constant(BYTE, 0))):
            identity = b.zext(load(b, ids, row, U32), WORD)
            block = b.inttoptr(load(b, controls, b.and_(identity, word(shards - 1))), POINTER)
            state = ShardParts(b, block, words).state(b.lshr(identity, word(shards.bit_length() - 1)))
            forget_cuts(b, plan, frame)
            end = b.call(step, [state, scratch, frame, word(0)])
            b.call(locate, [scratch, end, controls, numbering])
            cut, at = Local(b, cut_bits(b, plan, frame)), Local(b, scratch)
            with repeat(b, lambda: b.icmp_unsigned("!=", at.get(), end)):
                target, instance = load(b, at.get(), 0), load(b, at.get(), words)
                at.set(element(b, at.get(), record_words(plan.program)))
                cut.set(b.or_(cut.get(), b.select(b.icmp_signed("<", target, word(0)), word(NOWHERE), word(0))))
                store(b, b.trunc(target, U32), targets, count.get(), U32)
                store(b, b.trunc(instance, U16), instances, count.get(), U16)
                least = b.select(b.icmp_unsigned("!=", inner, word(0)), word(OUTSIDE), word(OUTSIDE + 1))
                leads = b.and_(b.icmp_unsigned("<", target, least), b.icmp_unsigned("!=", target, number))
                count.add(b.zext(leads, WORD))
            store(b, cut.get(), cuts, row)
    store(b, b.trunc(count.get(), U32), starts, b.sub(last, first), U32)
    b.ret(count.get())


def cut_bits(b: ir.IRBuilder, plan: FramePlan, frame: Any) -> Any:
    """The cut bits of a step whose counts of what domains cut were 0 before it."""
    bits: Any = word(0)
    for number, crossing in enumerate(plan.crossings):
        is_cut = b.icmp_unsigned("!=", load(b, frame, plan.pruned + number), word(0))
        bits = b.or_(bits, b.select(is_cut, word(kind_bit(crossing.kind)), word(0)))
    return bits


def forget_cuts(b: ir.IRBuilder, plan: FramePlan, frame: Any) -> None:
    """Set the counts of what domains cut to 0."""
    for place in range(plan.pruned, plan.pruned + len(plan.crossings)):
        store(b, word(0), frame, place)


def kind_bit(kind: int) -> int:
    """The cut bit of a kind of action; kinds after the 62nd share the last."""
    return 1 << min(kind, 62)


def _emit_locate(module: ir.Module, words: int, shards: int) -> Any:
    """`(records, end, controls, numbering)`: each record's first word becomes the number of its state in the region.

    `OUTSIDE` where the region lacks it, -1 where it was not visited. Records are looked up in batches: hash all,
    fetch table lines, fetch states and numbers, then compare.
    """
    function, b = begin(module, "locate", [POINTER] * 4, ir.VoidType())
    records, end, controls, numbering = function.args
    offsets, places = (b.inttoptr(load(b, numbering, n), POINTER) for n in range(2))
    hashes, size, at = b.alloca(WORD, word(BATCH)), words + 1, Local(b, records)

    def lookup(k: Any) -> tuple[ShardParts, Any, Any]:
        hashed = load(b, hashes, k)
        number = shard_of_hash(b, hashed, shards)
        shard = ShardParts(b, b.inttoptr(load(b, controls, number), POINTER), words)
        return shard, b.and_(hashed, shard.mask), load(b, offsets, number)

    with repeat(b, lambda: b.icmp_unsigned("!=", at.get(), end)):
        first = at.get()
        rest = b.udiv(b.sub(b.ptrtoint(end, WORD), b.ptrtoint(first, WORD)), word(8 * size))
        count = b.select(b.icmp_unsigned("<", rest, word(BATCH)), rest, word(BATCH))
        with count_up(b, word(0), count) as k:
            store(b, hash_words(b, state_at(b, element(b, first, b.mul(k, word(size))), words)), hashes, k)
            shard, slot, _ = lookup(k)
            shard.prefetch_entry(slot)
        with count_up(b, word(0), count) as k:
            shard, slot, offset = lookup(k)
            index = b.sub(shard.entry(slot), word(1))
            prefetch(b, shard.state(index))
            prefetch(b, element(b, places, b.add(offset, index), U32))
        with count_up(b, word(0), count) as k:
            record = element(b, first, b.mul(k, word(size)))
            shard, slot, offset = lookup(k)
            store(b, _number_of(b, record, shard, slot, offset, places), record, 0)
        at.set(element(b, first, b.mul(count, word(size))))
    b.ret_void()
    return function


def _number_of(b: ir.IRBuilder, record: Any, shard: ShardParts, first: Any, offset: Any, places: Any) -> Any:
    """The number in the region of a record's state."""
    state, slot, number = state_at(b, record, shard.words), Local(b, first), Local(b, word(-1))
    with repeat(b, lambda: b.icmp_unsigned("!=", shard.entry(slot.get()), word(0))) as end:
        index = b.sub(shard.entry(slot.get()), word(1))
        with b.if_then(same_words(b, state, state_at(b, shard.state(index), shard.words))):
            number.set(b.zext(load(b, places, b.add(offset, index), U32), WORD))
            b.branch(end)
        slot.set(b.and_(b.add(slot.get(), word(1)), shard.mask))
    return number.get()
