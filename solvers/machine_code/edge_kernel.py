"""The kernel of the liveness search: the transitions among visited states, and truths of each state.

No transition is stored by the search; these functions compute them again, and look the successors up.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from kraftcheck.solvers.machine_code.backward_sweep import OWNERS
from kraftcheck.solvers.machine_code.irtools import BYTE, POINTER, U16, U32, WORD, Builder, begin, word
from kraftcheck.solvers.machine_code.transition import FramePlan, record_words, state_scope
from kraftcheck.solvers.machine_code.visited_table import ShardParts, hash_words, shard_of_hash
from kraftcheck.solvers.program.program import Program

OUTSIDE = 0xFFFF_FFFF
"""The number of a visited state that is not in a region."""

NOWHERE = 1 << 63
"""Cut bit of a state with a successor that is not visited."""

LOOKED_UP = 128
"""States that are looked up together: memory is fetched for many at once."""

RECENT = 4096
"""States that a thread remembers the numbers of; a power of two."""

NOT_KNOWN = (1 << 64) - 2
"""The number of an entry of these that holds no state yet."""


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
    with b.count(0, count) as index:
        scope = state_scope(b, program, b.at(states, b.mul(index, program.layout.words)))
        for number in range(words):
            bits: Any = word(0)
            for place, term in enumerate(terms[64 * number : 64 * (number + 1)]):
                bits = b.or_(bits, b.shl(b.zext(scope.value(term), WORD), place))
            b.put(bits, out, b.add(b.mul(index, words), number))
    b.ret(count)


def _emit_connect(module: ir.Module, plan: FramePlan, step: Any, shards: int) -> None:
    """`connect(frame, controls, numbering, scratch, edges, wanted, first, last, inner) -> number of edges`.

    Writes the edges of the states first..last-1 of a region, of those that are wanted (a byte for each). `numbering`
    holds three addresses: the offset of each shard, for each visited state (its index in its shard + that offset) its
    number in the region, `OUTSIDE` for those outside, and the id of each of the states asked for. `scratch` holds
    three, of room for the successors of `OWNERS` states: themselves, those to look up, and what was looked up lately.
    `edges` holds four: the target of each edge, `OUTSIDE` for those that leave (none such if `inner`), its instance,
    for each state the number of its first edge and one more at the end, and for each state its cut bits: one for each
    kind of action (64 and more share), of which a domain cut a step there. No edge leads from a state to itself.
    """
    words = plan.program.layout.words
    sift, locate = _emit_sift_known(module, words), _emit_locate(module, words, shards)
    function, b = begin(module, "connect", [*[POINTER] * 6, *[WORD] * 3], public=True)
    frame, controls, numbering, scratch, edges, wanted, first, last, inner = function.args
    targets, instances, starts, cuts = (b.inttoptr(b.get(edges, n), POINTER) for n in range(4))
    records, pending, recent = (b.inttoptr(b.get(scratch, n), POINTER) for n in range(3))
    ids, ends, end = b.inttoptr(b.get(numbering, 2), POINTER), b.alloca(POINTER, word(OWNERS)), b.alloca(POINTER)
    least = b.select(b.icmp_unsigned("!=", inner, 0), OUTSIDE, OUTSIDE + 1)
    count, row, rows = b.local(0), b.local(0), b.sub(last, first)
    with b.repeat(lambda: b.icmp_unsigned("<", row.get(), rows)):
        rest = b.sub(rows, row.get())
        owners = b.select(b.icmp_unsigned("<", rest, OWNERS), rest, OWNERS)
        missing = b.local(pending)
        b.store(records, end)
        with b.count(0, owners) as owner:
            own = b.add(row.get(), owner)
            b.put(0, cuts, own)
            with b.if_then(b.icmp_unsigned("!=", b.get(wanted, own, BYTE), ir.Constant(BYTE, 0))):
                identity = b.zext(b.get(ids, own, U32), WORD)
                block = b.inttoptr(b.get(controls, b.and_(identity, shards - 1)), POINTER)
                state = ShardParts(b, block, words).state(b.lshr(identity, shards.bit_length() - 1))
                forget_cuts(b, plan, frame)
                begun = b.load(end, typ=POINTER)
                b.store(b.call(step, [state, begun, frame, 0]), end)
                b.put(cut_bits(b, plan, frame), cuts, own)
                missing.set(b.call(sift, [state, begun, end, missing.get(), recent]))
            b.put(b.load(end, typ=POINTER), ends, owner, POINTER)
        b.call(locate, [pending, missing.get(), controls, numbering, recent])
        at = b.local(records)
        with b.count(0, owners) as owner:
            own = b.add(row.get(), owner)
            b.put(b.trunc(count.get(), U32), starts, own, U32)
            with b.repeat(lambda: b.icmp_unsigned("!=", at.get(), b.get(ends, owner, POINTER))):
                leads = _write_edge(b, at.get(), words, b.at(cuts, own), (targets, instances), count.get())
                count.add(b.zext(b.icmp_unsigned("<", leads, least), WORD))
                at.set(b.at(at.get(), record_words(plan.program)))
        row.add(owners)
    b.put(b.trunc(count.get(), U32), starts, rows, U32)
    b.ret(count.get())


def _write_edge(b: Builder, record: Any, words: int, cut: Any, edges: tuple[Any, Any], number: Any) -> Any:
    """Write target and instance of an edge, and a cut bit if its target was not visited; where it leads."""
    targets, instances = edges
    leads = b.get(record, 0)
    nowhere = b.select(b.icmp_signed("<", leads, 0), NOWHERE, 0)
    b.put(b.or_(b.get(cut, 0), nowhere), cut, 0)
    b.put(b.trunc(leads, U32), targets, number, U32)
    b.put(b.trunc(b.get(record, words), U16), instances, number, U16)
    return leads


def _emit_sift_known(module: ir.Module, words: int) -> Any:
    """`(state, records, end, pending, recent) -> pending`: drop the state itself, and number what is known.

    Moves the records together and sets the end of them. The first word of those whose state was looked up lately
    becomes its number; the addresses and hashes of the others are added to the pending ones.
    """
    function, b = begin(module, "sift_known", [POINTER] * 5, POINTER)
    state, records, last, pending, recent = function.args
    own, size = b.state(state, words), words + 1
    at, to, more, end = b.local(records), b.local(records), b.local(pending), b.load(last, typ=POINTER)
    with b.repeat(lambda: b.icmp_unsigned("!=", at.get(), end)):
        target, instance, place = b.state(at.get(), words), b.get(at.get(), words), to.get()
        hashed = hash_words(b, target)
        entry = _recent_entry(b, recent, hashed, words)
        number = b.get(entry, words)
        same = b.same(target, b.state(entry, words))
        known = b.and_(same, b.icmp_unsigned("!=", number, NOT_KNOWN))
        moves = b.icmp_unsigned("==", b.same(target, own), ir.Constant(same.type, 0))
        b.put(b.select(known, number, target[0]), place, 0)
        for n, value in enumerate((*target[1:], instance)):
            b.put(value, place, n + 1)
        b.put(b.ptrtoint(place, WORD), more.get(), 0)
        b.put(hashed, more.get(), 1)
        to.set(b.select(moves, b.at(place, size), place))
        waits = b.and_(moves, b.not_(known))
        more.set(b.select(waits, b.at(more.get(), 2), more.get()))
        at.set(b.at(at.get(), size))
    b.store(to.get(), last)
    b.ret(more.get())
    return function


def _recent_entry(b: Builder, recent: Any, hashed: Any, words: int) -> Any:
    """Where a state of a hash stands among those looked up lately: its words, and its number."""
    slot = b.and_(b.lshr(hashed, 32), RECENT - 1)
    return b.at(recent, b.mul(slot, words + 1))


def cut_bits(b: Builder, plan: FramePlan, frame: Any) -> Any:
    """The cut bits of a step whose counts of what domains cut were 0 before it."""
    bits: Any = word(0)
    for number, crossing in enumerate(plan.crossings):
        is_cut = b.icmp_unsigned("!=", b.get(frame, plan.pruned + number), 0)
        bits = b.or_(bits, b.select(is_cut, kind_bit(crossing.kind), 0))
    return bits


def forget_cuts(b: Builder, plan: FramePlan, frame: Any) -> None:
    """Set the counts of what domains cut to 0."""
    for place in range(plan.pruned, plan.pruned + len(plan.crossings)):
        b.put(0, frame, place)


def kind_bit(kind: int) -> int:
    """The cut bit of a kind of action; kinds after the 62nd share the last."""
    return 1 << min(kind, 62)


def _emit_locate(module: ir.Module, words: int, shards: int) -> Any:
    """`(pending, end, controls, numbering, recent)`: the first word of pending records becomes their state's number.

    `OUTSIDE` where the region lacks it, -1 where it was not visited. Records are looked up in batches: fetch table
    lines, fetch states and numbers, then compare. What was looked up is noted as recent.
    """
    function, b = begin(module, "locate", [POINTER] * 5, ir.VoidType())
    pending, end, controls, numbering, recent = function.args
    offsets, places = (b.inttoptr(b.get(numbering, n), POINTER) for n in range(2))
    at = b.local(pending)

    def lookup(k: Any) -> tuple[ShardParts, Any, Any]:
        hashed = b.get(b.at(at.get(), b.mul(k, 2)), 1)
        number = shard_of_hash(b, hashed, shards)
        shard = ShardParts(b, b.inttoptr(b.get(controls, number), POINTER), words)
        return shard, hashed, b.get(offsets, number)

    with b.repeat(lambda: b.icmp_unsigned("!=", at.get(), end)):
        rest = b.udiv(b.sub(b.ptrtoint(end, WORD), b.ptrtoint(at.get(), WORD)), 16)
        count = b.select(b.icmp_unsigned("<", rest, LOOKED_UP), rest, LOOKED_UP)
        with b.count(0, count) as k:
            shard, hashed, _ = lookup(k)
            shard.prefetch_entry(b.and_(hashed, shard.mask))
        with b.count(0, count) as k:
            shard, hashed, offset = lookup(k)
            index = b.sub(shard.entry(b.and_(hashed, shard.mask)), 1)
            b.prefetch(shard.state(index))
            b.prefetch(b.at(places, b.add(offset, index), U32))
        with b.count(0, count) as k:
            own = b.at(at.get(), b.mul(k, 2))
            record = b.inttoptr(b.get(own, 0), POINTER)
            shard, hashed, offset = lookup(k)
            number = _number_of(b, record, shard, hashed, offset, places)
            entry = _recent_entry(b, recent, b.get(own, 1), words)
            for n, value in enumerate((*b.state(record, words), number)):
                b.put(value, entry, n)
            b.put(number, record, 0)
        at.set(b.at(at.get(), b.mul(count, 2)))
    b.ret_void()
    return function


def _number_of(b: Builder, record: Any, shard: ShardParts, hashed: Any, offset: Any, places: Any) -> Any:
    """The number in the region of a record's state."""
    number = b.local(-1)
    with shard.lookup(b.state(record, shard.words), hashed) as (index, end):
        number.set(b.zext(b.get(places, b.add(offset, index), U32), WORD))
        b.branch(end)
    return number.get()
