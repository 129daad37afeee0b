"""The kernel of the liveness search: the transitions between visited states, and truths of each state.

No transition is stored by the search; these functions compute them again, and look the successors up.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from kraftcheck.solvers.machine_code.frame import FramePlan
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
    repeat,
    same_words,
    state_at,
    store,
    word,
)
from kraftcheck.solvers.machine_code.transition import record_words, state_scope
from kraftcheck.solvers.machine_code.visited_table import ShardParts, hash_words, shard_of_hash
from kraftcheck.solvers.program.program import Program

STUTTER = 0xFFFF
"""The action instance of a step that changes nothing."""

NOWHERE = 1 << 63
"""Cut bit of a state with a successor that is not visited."""


def truth_words(program: Program) -> int:
    """Words of the truths of a state."""
    return -(-len(program.liveness.terms) // 64)


def emit_liveness(module: ir.Module, plan: FramePlan, step: Any, shards: int) -> None:
    """The functions `appraise` and `connect` of a program with liveness properties."""
    _emit_appraise(module, plan.program)
    _emit_connect(module, plan, step, shards)


def _emit_appraise(module: ir.Module, program: Program) -> None:
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
    """`connect(frame, controls, offsets, scratch, edges, shard, first, last) -> number of edges`.

    Writes the edges of the states first..last-1 of a shard. `edges` holds the addresses of four arrays: the target
    of each edge (its index in its shard + the offset of the shard), the instance of each edge, for each state the
    number of its first edge, and for each state its cut bits: one for each kind of action (64 and more share), of
    which a domain cut a step there. The first edge of a state leads to itself, by no action; others never do.
    """
    words = plan.program.layout.words
    function, b = begin(module, "connect", [*[POINTER] * 5, *[WORD] * 3], public=True)
    frame, controls, offsets, scratch, edges, shard, first, last = function.args
    targets, instances, starts, cuts = (b.inttoptr(load(b, edges, n), POINTER) for n in range(4))
    find = _emit_find(module, words, shards)
    own = ShardParts(b, b.inttoptr(load(b, controls, shard), POINTER), words)
    count = Local(b, word(0))

    def put(target: Any, instance: Any) -> None:
        store(b, b.trunc(target, U32), targets, count.get(), U32)
        store(b, b.trunc(instance, U16), instances, count.get(), U16)
        count.add(word(1))

    with count_up(b, first, last) as index:
        row, state = b.sub(index, first), own.state(index)
        store(b, count.get(), starts, row)
        put(b.add(load(b, offsets, shard), index), word(STUTTER))
        for place in range(plan.pruned, plan.pruned + len(plan.crossings)):
            store(b, word(0), frame, place)
        end = b.call(step, [state, scratch, frame, word(0)])
        cut, at = Local(b, _cut_bits(b, plan, frame)), Local(b, scratch)
        with repeat(b, lambda: b.icmp_unsigned("!=", at.get(), end)):
            record = at.get()
            at.set(element(b, record, record_words(plan.program)))
            with b.if_then(b.not_(same_words(b, state_at(b, record, words), state_at(b, state, words)))):
                target = b.call(find, [record, controls, offsets])
                with b.if_else(b.icmp_signed("<", target, word(0)), likely=False) as (lost, visited):
                    with lost:
                        cut.set(b.or_(cut.get(), word(NOWHERE)))
                    with visited:
                        put(target, load(b, record, words))
        store(b, cut.get(), cuts, row)
    b.ret(count.get())


def _cut_bits(b: ir.IRBuilder, plan: FramePlan, frame: Any) -> Any:
    bits: Any = word(0)
    for number, crossing in enumerate(plan.crossings):
        is_cut = b.icmp_unsigned("!=", load(b, frame, plan.pruned + number), word(0))
        bits = b.or_(bits, b.select(is_cut, word(kind_bit(crossing.kind)), word(0)))
    return bits


def kind_bit(kind: int) -> int:
    """The cut bit of a kind of action; kinds after the 62nd share the last."""
    return 1 << min(kind, 62)


def _emit_find(module: ir.Module, words: int, shards: int) -> Any:
    """`(state, controls, offsets) -> its number among all visited states`; -1 where it is not visited."""
    function, b = begin(module, "find", [POINTER] * 3)
    place, controls, offsets = function.args
    state = state_at(b, place, words)
    hashed = hash_words(b, state)
    number = shard_of_hash(b, hashed, shards)
    shard = ShardParts(b, b.inttoptr(load(b, controls, number), POINTER), words)
    slot = Local(b, b.and_(hashed, shard.mask))
    with repeat(b, lambda: ir.Constant(TRUTH, 1)):
        entry = shard.entry(slot.get())
        with b.if_then(b.icmp_unsigned("==", entry, word(0))):
            b.ret(word(-1))
        index = b.sub(entry, word(1))
        candidate = shard.state(index)
        with b.if_then(same_words(b, state, state_at(b, candidate, len(state)))):
            b.ret(b.add(load(b, offsets, number), index))
        slot.set(b.and_(b.add(slot.get(), word(1)), shard.mask))
    b.unreachable()
    return function
