"""The search kernel: expansion of a frontier into candidate buffers.

A *piece* is a set of candidate buffers, one for each destination shard, each
with room for `Geometry.room` records (packed state, mark). The mark of a
candidate is its parent's id << 16 | action instance.
"""

from __future__ import annotations

from typing import Any

from attrs import frozen
from llvmlite import ir

from kraftcheck.solvers.machine_code.backward_sweep import emit_survey, emit_sweep
from kraftcheck.solvers.machine_code.edge_kernel import emit_liveness
from kraftcheck.solvers.machine_code.frame import FramePlan
from kraftcheck.solvers.machine_code.irtools import (
    POINTER,
    WORD,
    Local,
    begin,
    element,
    load,
    repeat,
    same_words,
    state_at,
    store,
    word,
)
from kraftcheck.solvers.machine_code.orders_step import emit_select
from kraftcheck.solvers.machine_code.symmetry_step import emit_canonical, emit_inspect, emit_reduced_step
from kraftcheck.solvers.machine_code.transition import emit_deadlock, emit_judge, emit_kinds, emit_step
from kraftcheck.solvers.machine_code.visited_table import emit_insert, emit_rehash, emit_seek, hash_words, shard_of_hash
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.recovers import mark_bytes

SHARDS = 32
"""Parts of the visited set; fixed, so that results do not depend on the number of threads."""


@frozen
class Geometry:
    """Sizes compiled into a kernel.

    Attributes:
        words: words of a packed state.
        instances: most successors that one state can have.
        room: records that one candidate buffer holds.
        filter_slots: states that a thread's filter of recent successors holds; a power of two.
        mark: bytes of a state's mark in the backward search; 0 without one.
    """

    words: int
    instances: int
    room: int
    filter_slots: int
    mark: int

    @classmethod
    def of(cls, program: Program) -> Geometry:
        """The sizes for a program."""
        words = program.layout.words
        slots = 8192 if words == 1 else 4096
        return cls(words, program.instances, 1024 + program.instances, slots, mark_bytes(len(program.recovers)))

    @property
    def record(self) -> int:
        """Words of a record."""
        return self.words + 1

    @property
    def piece(self) -> int:
        """Words of a piece's buffers."""
        return SHARDS * self.room * self.record


def emit_kernel(program: Program) -> ir.Module:
    """The module of a program; its public functions are described where they are called, in `native`."""
    module = ir.Module("kraftcheck")
    plan, geometry = FramePlan(program), Geometry.of(program)
    kinds = emit_kinds(module, plan)
    step, judge, deadlock = emit_step(module, kinds), emit_judge(module, plan), emit_deadlock(module, plan)
    _emit_successors(module, step)
    if program.liveness.claims:
        emit_liveness(module, plan, step, SHARDS)
    canonical = None
    if program.reduction is not None:
        canonical = emit_canonical(module, program, program.reduction)
        emit_inspect(module, plan, judge, step, deadlock)
        step = emit_reduced_step(module, program, step, canonical)
    seek, sift = emit_seek(module, geometry.words), _emit_sift(module, geometry)
    _emit_expand(module, plan, geometry, judge, step, deadlock, sift)
    if program.orders is not None:
        select = emit_select(module, program, program.orders, seek, SHARDS)
        _emit_expand(module, plan, geometry, judge, step, deadlock, sift, select)
    _emit_shard_of(module, geometry)
    emit_insert(module, geometry.words, geometry.room, SHARDS)
    emit_rehash(module, geometry.words)
    if program.recovers:
        emit_survey(module, program)
        emit_sweep(module, plan, kinds, SHARDS, canonical)
    return module


def _emit_successors(module: ir.Module, step: Any) -> None:
    """`successors(state, out, frame) -> records`: what one state leads to."""
    function, b = begin(module, "successors", [POINTER, POINTER, POINTER], public=True)
    state, out, frame = function.args
    end = b.call(step, [state, out, frame, word(0)])
    b.ret(b.sub(b.ptrtoint(end, WORD), b.ptrtoint(out, WORD)))


def _emit_shard_of(module: ir.Module, geometry: Geometry) -> None:
    """`shard_of(state) -> shard`."""
    function, b = begin(module, "shard_of", [POINTER], public=True)
    words = [load(b, function.args[0], i) for i in range(geometry.words)]
    b.ret(shard_of_hash(b, hash_words(b, words), SHARDS))


def _emit_sift(module: ir.Module, geometry: Geometry) -> Any:
    """`(state, id, records, end, filter, piece, counts, fullest) -> fullest`: successors into candidate buffers.

    Drops what equals the state itself or the state that the filter holds for
    its hash, without a branch: the record is written in any case and counted
    only when it is new.
    """
    function, b = begin(module, "sift", [POINTER, WORD, POINTER, POINTER, POINTER, POINTER, POINTER, WORD])
    state, identity, records, end, recent, piece, counts, so_far = function.args
    own = state_at(b, state, geometry.words)
    parent = b.shl(identity, word(16))
    place, fullest = Local(b, records), Local(b, so_far)
    with repeat(b, lambda: b.icmp_unsigned("!=", place.get(), end)):
        at = place.get()
        words = state_at(b, at, geometry.words)
        mark = b.or_(load(b, at, geometry.words), parent)
        place.set(element(b, at, geometry.record))
        hashed = hash_words(b, words)
        slot = b.and_(b.lshr(hashed, word(32)), word(geometry.filter_slots - 1))
        entry = element(b, recent, b.mul(slot, word(geometry.words)))
        duplicate = b.or_(same_words(b, words, own), same_words(b, words, state_at(b, entry, geometry.words)))
        for i, value in enumerate(words):
            store(b, value, entry, i)
        shard = shard_of_hash(b, hashed, SHARDS)
        used = load(b, counts, shard)
        record = b.mul(b.add(b.mul(shard, word(geometry.room)), used), word(geometry.record))
        for i, value in enumerate((*words, mark)):
            store(b, value, element(b, piece, record), i)
        count = b.add(used, b.zext(b.not_(duplicate), WORD))
        store(b, count, counts, shard)
        highest = fullest.get()
        fullest.set(b.select(b.icmp_unsigned(">", count, highest), count, highest))
    b.ret(fullest.get())
    return function


def _emit_expand(
    module: ir.Module, plan: FramePlan, geometry: Geometry, judge: Any, step: Any, deadlock: Any, sift: Any,
    select: Any = None,
) -> None:  # fmt: skip
    """`expand(frame, stores, ranges, piece, counts, filter, scratch, judge_only) -> finished`.

    Expands the states `ranges[2 * s]` to `ranges[2 * s + 1]` of each shard s,
    from the place that the frame says; stops early, with the place saved, when
    a candidate buffer might not hold another state's successors. Where some successors are selected it is called
    `expand_in_orders`, and takes the block of `orders_step` besides.
    """
    name, block = ("expand", []) if select is None else ("expand_in_orders", [POINTER])
    function, b = begin(module, name, [*[POINTER] * 7, WORD, *block], public=True)
    frame, stores, ranges, piece, counts, recent, scratch, judge_only, *block = function.args
    shard, index = Local(b, load(b, frame, plan.shard)), Local(b, load(b, frame, plan.index))
    fullest = Local(b, word(0))
    searching = b.icmp_unsigned("==", judge_only, word(0))
    with repeat(b, lambda: b.icmp_unsigned("<", shard.get(), word(SHARDS))):
        number = shard.get()
        states = b.inttoptr(load(b, stores, number), POINTER)
        begins = load(b, ranges, b.shl(number, word(1)))
        stop = load(b, ranges, b.add(b.shl(number, word(1)), word(1)))
        at = index.get()
        index.set(b.select(b.icmp_unsigned("<", at, begins), begins, at))
        with repeat(b, lambda: b.icmp_unsigned("<", index.get(), stop)):
            with b.if_then(b.icmp_unsigned(">", fullest.get(), word(geometry.room - geometry.instances)), likely=False):
                store(b, shard.get(), frame, plan.shard)
                store(b, index.get(), frame, plan.index)
                b.ret(word(0))
            position = index.get()
            state = element(b, states, b.mul(position, word(geometry.words)))
            identity = b.add(b.mul(position, word(SHARDS)), number)
            b.call(judge, [state, frame, identity])
            with b.if_then(searching, likely=True):
                store(b, word(0), frame, plan.enabled)
                end = b.call(step, [state, scratch, frame, identity])
                with b.if_then(b.icmp_unsigned("==", load(b, frame, plan.enabled), word(0)), likely=False):
                    b.call(deadlock, [state, frame, identity])
                if select is not None:
                    end = b.call(select, [state, scratch, end, *block])
                fullest.set(b.call(sift, [state, identity, scratch, end, recent, piece, counts, fullest.get()]))
            index.add(word(1))
        index.set(word(0))
        shard.add(word(1))
    b.ret(word(1))
