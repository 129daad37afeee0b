"""The kernel that lists the steps by which marks of the backward search may still flow, where they fit in memory."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from kraftcheck.solvers.machine_code.irtools import (
    POINTER,
    U16,
    U32,
    WORD,
    Local,
    begin,
    count_up,
    element,
    load,
    repeat,
    state_at,
    store,
    word,
)
from kraftcheck.solvers.machine_code.transition import record_words
from kraftcheck.solvers.machine_code.visited_table import ShardParts, hash_words, shard_of_hash
from kraftcheck.solvers.program.program import Program


def emit_arcs(module: ir.Module, program: Program, shards: int, follow: Any, canonical: Any) -> None:
    """`arcs(frame, controls, scratch, out, missing, shard, first, last) -> number of arcs`.

    Lists the steps of the states first..last-1 of a shard by which the bits that are missing (a word for each) may flow
    back, but those to states that were not visited. `out` holds three addresses: the row of the state that each leaves,
    counted from the first, the id of the state that it leads to, and its instance. `follow` and `canonical` as in the
    sweep, and `scratch` for the successors of one state.
    """
    words = program.layout.words
    function, b = begin(module, "arcs", [*[POINTER] * 5, *[WORD] * 3], public=True)
    frame, controls, scratch, out, missing, shard, first, last = function.args
    sources, targets, instances = (b.inttoptr(load(b, out, n), POINTER) for n in range(3))
    parts = ShardParts(b, b.inttoptr(load(b, controls, shard), POINTER), words)
    leaves, count = b.alloca(WORD), Local(b, word(0))
    find = _emit_find(module, words, shards)
    with count_up(b, word(0), b.sub(last, first)) as row:
        bits = load(b, missing, row)
        with b.if_then(b.icmp_unsigned("!=", bits, word(0))):
            end = b.call(follow, [parts.state(b.add(first, row)), scratch, frame, bits, leaves])
            at = Local(b, scratch)
            with repeat(b, lambda: b.icmp_unsigned("!=", at.get(), end)):
                if canonical is not None:
                    b.call(canonical, [at.get()])
                found = b.call(find, [at.get(), controls])
                store(b, b.trunc(row, U32), sources, count.get(), U32)
                store(b, b.trunc(found, U32), targets, count.get(), U32)
                store(b, b.trunc(load(b, at.get(), words), U16), instances, count.get(), U16)
                count.add(b.zext(b.icmp_signed(">=", found, word(0)), WORD))
                at.set(element(b, at.get(), record_words(program)))
    b.ret(count.get())


def _emit_find(module: ir.Module, words: int, shards: int) -> Any:
    """`(record, controls) -> id`: of the state of a record in the visited set; -1 where that lacks it."""
    function, b = begin(module, "find", [POINTER, POINTER])
    record, controls = function.args
    state = state_at(b, record, words)
    hashed = hash_words(b, state)
    number = shard_of_hash(b, hashed, shards)
    shard = ShardParts(b, b.inttoptr(load(b, controls, number), POINTER), words)
    with shard.lookup(state, hashed) as (index, _):
        b.ret(b.add(b.mul(index, word(shards)), number))
    b.ret(word(-1))
    return function
