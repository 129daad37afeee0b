"""The kernel of a distributed search: LLVM functions that its tasks run on blocks of states.

Unlike the native kernel it knows nothing of a visited set: expansion fills a
set of candidates without duplicates, and a candidate is new when no committed
level holds it.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from llvmlite import ir

from kraftcheck.solvers.blocks import compactset, memo, recordset
from kraftcheck.solvers.blocks import tasks as blocks
from kraftcheck.solvers.blocks.compactset import emit_compact_set, other_bytes
from kraftcheck.solvers.blocks.memo import emit_recall
from kraftcheck.solvers.blocks.recordset import (
    COUNT,
    LIMIT,
    emit_find,
    emit_gather,
    emit_insert,
    emit_mark_duplicates,
    emit_scatter,
)
from kraftcheck.solvers.blocks.tasks import CLAIMS_PER_WORD, BlockSpec
from kraftcheck.solvers.machine_code.backward_sweep import emit_follow, emit_survey
from kraftcheck.solvers.machine_code.compile import cache_key
from kraftcheck.solvers.machine_code.edge_kernel import cut_bits, emit_appraise, forget_cuts, truth_words
from kraftcheck.solvers.machine_code.frame import FramePlan
from kraftcheck.solvers.machine_code.irtools import (
    POINTER,
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
from kraftcheck.solvers.machine_code.objectcache import ObjectCache
from kraftcheck.solvers.machine_code.objectcode import CodeTarget, host, object_code
from kraftcheck.solvers.machine_code.search_kernel import Geometry
from kraftcheck.solvers.machine_code.transition import emit_deadlock, emit_kinds, emit_step, state_scope
from kraftcheck.solvers.machine_code.visited_table import hash_words
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.recovers import mark_bytes, recovery_action_bits


def claim_words(program: Program) -> int:
    """Words of claim bits of a state; at least one."""
    return max(1, -(-(len(program.always) + len(program.sometimes)) // CLAIMS_PER_WORD))


def emit_block_kernel(program: Program) -> ir.Module:
    """The module of a program; its public functions are described where they are called, in `blocks`."""
    module = ir.Module("kraftcheck-blocks")
    plan, geometry = FramePlan(program), Geometry.of(program)
    kinds = emit_kinds(module, plan)
    step = emit_step(module, kinds)
    insert = emit_insert(module, geometry.words)
    parts = (step, emit_deadlock(module, plan), _emit_sift(module, geometry), emit_recall(module, geometry.words), insert)
    _emit_expand(module, plan, geometry, *parts)
    emit_gather(module, geometry.words, insert)
    emit_mark_duplicates(module, geometry.words)
    emit_find(module, geometry.words)
    emit_scatter(module, geometry.words)
    emit_compact_set(module, program.layout)
    _emit_bits(module, program)
    _emit_successors(module, geometry, step)
    if program.recovers:
        emit_survey(module, program)
        _emit_exits(module, geometry, emit_follow(module, plan, kinds, len(program.recovers)))
    if program.liveness.claims:
        emit_appraise(module, program)
        _emit_steps(module, plan, geometry, step)
    return module


def _emit_sift(module: ir.Module, geometry: Geometry) -> Any:
    """`(state, id, records, end, filter, hashes) -> count`: marks, hashes, and what the filter does not drop.

    Drops a successor that is the state itself, or that the filter of this
    task's recent successors holds; the rest is moved to the front.
    """
    words, record = geometry.words, geometry.record
    function, b = begin(module, "sift", [POINTER, WORD, POINTER, POINTER, POINTER, POINTER])
    state, identity, records, end, recent, hashes = function.args
    own = state_at(b, state, words)
    parent = b.shl(identity, word(16))
    place, count = Local(b, records), Local(b, word(0))
    with repeat(b, lambda: b.icmp_unsigned("!=", place.get(), end)):
        at = place.get()
        values = state_at(b, at, words)
        mark = b.or_(load(b, at, words), parent)
        place.set(element(b, at, record))
        hashed = hash_words(b, values)
        slot = b.and_(b.lshr(hashed, word(32)), word(geometry.filter_slots - 1))
        entry = element(b, recent, b.mul(slot, word(words)))
        duplicate = b.or_(same_words(b, values, own), same_words(b, values, state_at(b, entry, words)))
        index = count.get()
        target = element(b, records, b.mul(index, word(record)))
        for i, value in enumerate(values):
            store(b, value, entry, i)
            store(b, value, target, i)
        store(b, mark, target, words)
        store(b, hashed, hashes, index)
        count.set(b.add(index, b.zext(b.not_(duplicate), WORD)))
    b.ret(count.get())
    return function


def _emit_expand(
    module: ir.Module, plan: FramePlan, geometry: Geometry,
    step: Any, deadlock: Any, sift: Any, recall: Any, insert: Any,
) -> None:  # fmt: skip
    """`expand(frame, states, first, stop, id, control, filter, memo, scratch, hashes) -> next`.

    Puts the successors of states[first..stop-1] into the set, but those that
    the memo drops, if there is one (else 0); the id of states[i] is id + i.
    Returns early, with the index of the next state, when the set might not
    hold another state's successors.
    """
    function, b = begin(module, "expand", [POINTER, POINTER, WORD, WORD, WORD, *[POINTER] * 5], public=True)
    frame, states, first, stop, identity, control, recent, memo_, scratch, hashes = function.args
    has_memo = b.icmp_unsigned("!=", b.ptrtoint(memo_, WORD), word(0))
    limit = b.sub(load(b, control, LIMIT), word(geometry.instances))
    at = Local(b, first)
    with repeat(b, lambda: b.icmp_unsigned("<", at.get(), stop)):
        with b.if_then(b.icmp_signed(">", load(b, control, COUNT), limit), likely=False):
            b.ret(at.get())
        state = element(b, states, b.mul(at.get(), word(geometry.words)))
        own_identity = b.add(identity, at.get())
        store(b, word(0), frame, plan.enabled)
        end = b.call(step, [state, scratch, frame, own_identity])
        with b.if_then(b.icmp_unsigned("==", load(b, frame, plan.enabled), word(0)), likely=False):
            b.call(deadlock, [state, frame, own_identity])
        count = Local(b, b.call(sift, [state, own_identity, scratch, end, recent, hashes]))
        with b.if_then(has_memo):
            count.set(b.call(recall, [memo_, scratch, hashes, count.get()]))
        b.call(insert, [control, scratch, hashes, count.get()])
        at.add(word(1))
    b.ret(at.get())


def _emit_bits(module: ir.Module, program: Program) -> None:
    """`bits(records, count, stride, out) -> 0`: for each state the claims about states that occur, as bits."""
    function, b = begin(module, "bits", [POINTER, WORD, WORD, POINTER], public=True)
    records, count, stride, out = function.args
    words = claim_words(program)
    with count_up(b, word(0), count) as k:
        scope = state_scope(b, program, element(b, records, b.mul(k, stride)))
        occur = [b.not_(scope.value(term)) for term in program.always_terms]
        occur += [scope.value(term) for term in program.sometimes_terms]
        for at in range(words):
            bits: Any = word(0)
            for position, occurs in enumerate(occur[at * CLAIMS_PER_WORD : (at + 1) * CLAIMS_PER_WORD]):
                bits = b.or_(bits, b.shl(b.zext(occurs, WORD), word(position)))
            store(b, bits, out, b.add(b.mul(k, word(words)), word(at)))
    b.ret(word(0))


def _emit_successors(module: ir.Module, geometry: Geometry, step: Any) -> None:
    """`successors(states, count, frame, out, counts) -> records`: every transition, and how many each state has."""
    function, b = begin(module, "successors", [POINTER, WORD, POINTER, POINTER, POINTER], public=True)
    states, count, frame, out, counts = function.args
    place = Local(b, out)
    size = word(8 * geometry.record)
    with count_up(b, word(0), count) as k:
        begin_ = place.get()
        end = b.call(step, [element(b, states, b.mul(k, word(geometry.words))), begin_, frame, word(0)])
        store(b, b.udiv(b.sub(b.ptrtoint(end, WORD), b.ptrtoint(begin_, WORD)), size), counts, k)
        place.set(end)
    b.ret(b.udiv(b.sub(b.ptrtoint(place.get(), WORD), b.ptrtoint(out, WORD)), size))


def _emit_exits(module: ir.Module, geometry: Geometry, follow: Any) -> None:
    """`exits(states, missing, count, frame, out, counts, leaves) -> records`: the transitions that matter backward.

    Those by which a missing bit "reaches" may flow back to the state, how many
    each state has, and its bits "leaves".
    """
    function, b = begin(module, "exits", [POINTER, POINTER, WORD, *[POINTER] * 4], public=True)
    states, missing, count, frame, out, counts, leaves = function.args
    place = Local(b, out)
    size = word(8 * geometry.record)
    with count_up(b, word(0), count) as k:
        begin_ = place.get()
        state = element(b, states, b.mul(k, word(geometry.words)))
        end = b.call(follow, [state, begin_, frame, load(b, missing, k), element(b, leaves, k)])
        store(b, b.udiv(b.sub(b.ptrtoint(end, WORD), b.ptrtoint(begin_, WORD)), size), counts, k)
        place.set(end)
    b.ret(b.udiv(b.sub(b.ptrtoint(place.get(), WORD), b.ptrtoint(out, WORD)), size))


def _emit_steps(module: ir.Module, plan: FramePlan, geometry: Geometry, step: Any) -> None:
    """`steps(states, count, frame, out, counts, cuts) -> records`: as `successors`, and the cut bits of each state."""
    function, b = begin(module, "steps", [POINTER, WORD, *[POINTER] * 4], public=True)
    states, count, frame, out, counts, cuts = function.args
    place, size = Local(b, out), word(8 * geometry.record)
    with count_up(b, word(0), count) as k:
        begin_ = place.get()
        forget_cuts(b, plan, frame)
        end = b.call(step, [element(b, states, b.mul(k, word(geometry.words))), begin_, frame, word(0)])
        store(b, cut_bits(b, plan, frame), cuts, k)
        store(b, b.udiv(b.sub(b.ptrtoint(end, WORD), b.ptrtoint(begin_, WORD)), size), counts, k)
        place.set(end)
    b.ret(b.udiv(b.sub(b.ptrtoint(place.get(), WORD), b.ptrtoint(out, WORD)), size))


def block_spec(program: Program, bucket_bits: int, cache: ObjectCache, target: CodeTarget | None = None) -> BlockSpec:
    """The spec of a program for workers: object code, from the cache if it is there, and sizes.

    Args:
        program: the traced system.
        bucket_bits: logarithm of the number of buckets.
        cache: where compiled code is kept.
        target: the workers' processor; None: this machine's.
    """
    processor = target or host()
    text = hashlib.sha256(f"{cache_key(program)} blocks {processor}".encode())
    for source in (blocks.__file__, recordset.__file__, memo.__file__, compactset.__file__, __file__):
        text.update(Path(str(source)).read_bytes())
    key = text.hexdigest()
    code = cache.get(key)
    if code is None:
        code = object_code(emit_block_kernel(program), processor)
        cache.put(key, code)
    plan, geometry = FramePlan(program), Geometry.of(program)
    return BlockSpec(
        code, processor, geometry.words, geometry.instances, geometry.filter_slots, plan.size, claim_words(program),
        bucket_bits, len(program.recovers), mark_bytes(len(program.recovers)),
        recovery_action_bits(program.recovers, program.instances),
        truth_words(program), other_bytes(program.layout),
    )  # fmt: skip
