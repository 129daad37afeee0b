"""The search kernel: expansion of a frontier into candidate buffers.

A *piece* is a set of candidate buffers, one for each destination shard, each
with room for `Geometry.room` records (packed state, mark). The mark of a
candidate is its parent's id << 16 | action instance.
"""

from __future__ import annotations

from typing import Any

from attrs import frozen
from llvmlite import ir

from kraftcheck.solvers.machine_code.graph_kernels import emit_liveness
from kraftcheck.solvers.machine_code.irtools import POINTER, TRUTH, WORD, Builder, begin
from kraftcheck.solvers.machine_code.lower import PathValues, pack, slot_reader
from kraftcheck.solvers.machine_code.transition import FramePlan, emit_deadlock, emit_judge, emit_kinds, emit_step
from kraftcheck.solvers.machine_code.visited_table import emit_insert, emit_rehash, emit_seek, hash_words, shard_of_hash
from kraftcheck.solvers.machine_code.ways_back import emit_ways_back
from kraftcheck.solvers.program.orders import Orders
from kraftcheck.solvers.program.program import Program, Reduction, mark_bytes

CONTROLS, ENDS, ROWS, FIRSTS, PARTS, HIDDEN, WORK, REDUCED, LEFT_OUT = range(9)
"""Entries of a block of orders: addresses of the shards' control blocks, of the number of states of each shard up to
the end of the level, of the sets, of each instance's first conjunct, of the conjuncts, of the set of invisible
instances, of room for `work_words` words; then how many states were reduced, and how many successors left out."""

BLOCK_WORDS = 9

SETS = 5  # sets in the room of a thread: taken, good, closed, waiting, best


def work_words(orders: Orders) -> int:
    """Words of room that one thread needs: sets, the truth of each conjunct, the row of each instance."""
    return SETS * orders.words + len(orders.conjuncts) + orders.instances


def emit_select(module: ir.Module, program: Program, orders: Orders, seek: Any, shards: int) -> Any:
    """`select(state, out, end, block) -> end`: keep the successors to follow of those from out to end, in order."""
    size, count = program.layout.words + 1, orders.words
    rows, close = _emit_rows(module, program, orders), _emit_close(module, orders)
    is_new = _emit_is_new(module, program, seek, shards)
    function, b = begin(module, "select", [POINTER] * 4, POINTER)
    state, out, end, block = function.args
    taken, good, closed, _, best = _sets(b, block, orders)
    hidden = _part(b, block, HIDDEN)
    total = b.udiv(b.sub(b.ptrtoint(end, WORD), b.ptrtoint(out, WORD)), 8 * size)
    with b.if_then(b.icmp_unsigned("<", total, 2)):
        b.ret(end)
    for n in range(2 * count):
        b.put(0, taken, n)
    some = b.local(0)
    with b.count(0, total) as number:
        record = b.at(out, b.mul(number, size))
        instance = b.get(record, size - 1)
        _add(b, taken, instance)
        with b.if_then(_has(b, hidden, instance)), b.if_then(b.trunc(b.call(is_new, [record, block]), TRUTH)):
            _add(b, good, instance)
            some.set(1)
    with b.if_then(b.icmp_unsigned("==", some.get(), 0)):
        b.ret(end)
    b.call(rows, [state, block])
    least = b.local(total)
    with b.count(0, count) as place:
        pending = b.local(b.get(good, place))
        with b.repeat(lambda: b.icmp_unsigned("!=", pending.get(), 0)):
            seed = b.add(b.mul(place, 64), b.cttz(pending.get(), ir.Constant(TRUTH, 1)))
            pending.set(b.and_(pending.get(), b.sub(pending.get(), 1)))
            followed = b.call(close, [seed, block])
            with b.if_then(b.icmp_unsigned("<", followed, least.get())):
                least.set(followed)
                for n in range(count):
                    b.put(b.get(closed, n), best, n)
    with b.if_then(b.icmp_unsigned("==", least.get(), total)):
        b.ret(end)
    b.bump(block, REDUCED, 1)
    b.bump(block, LEFT_OUT, b.sub(total, least.get()))
    to = b.local(out)
    with b.count(0, total) as number:
        record = b.at(out, b.mul(number, size))
        follows = _has(b, best, b.get(record, size - 1))
        for n, value in enumerate(b.state(record, size)):
            b.put(value, to.get(), n)
        to.set(b.select(follows, b.at(to.get(), size), to.get()))
    b.ret(to.get())
    return function


def _emit_rows(module: ir.Module, program: Program, orders: Orders) -> Any:
    """`(state, block)`: find the row of each instance: its own where it is enabled, else that of a false conjunct."""
    function, b = begin(module, "rows_of_instances", [POINTER, POINTER])
    state, block = function.args
    words = b.state(state, program.layout.words)
    scope = PathValues(b, slot_reader(program.layout, orders.state, words))
    truths, numbers = _truths(b, block, orders), _numbers(b, block, orders)
    for n, conjunct in enumerate(orders.conjuncts):
        b.put(b.zext(scope.value(conjunct), WORD), truths, n)
    firsts, parts = _part(b, block, FIRSTS), _part(b, block, PARTS)
    with b.count(0, orders.instances) as instance:
        row, at = b.local(instance), b.local(b.get(firsts, instance))
        stop = b.get(firsts, b.add(instance, 1))
        with b.repeat(lambda: b.icmp_unsigned("<", at.get(), stop)):
            part = b.get(parts, at.get())
            at.add(1)
            with b.if_then(b.icmp_unsigned("==", b.get(truths, part), 0)):
                row.set(b.add(part, orders.instances))
                at.set(stop)
        b.put(row.get(), numbers, instance)
    b.ret(0)
    return function


def _emit_close(module: ir.Module, orders: Orders) -> Any:
    """`(seed, block) -> successors`: make the smallest closed set with an instance; how many successors it follows."""
    count = orders.words
    function, b = begin(module, "close", [WORD, POINTER])
    seed, block = function.args
    taken, _, closed, waiting, _ = _sets(b, block, orders)
    rows, numbers = _part(b, block, ROWS), _numbers(b, block, orders)
    for n in range(count):
        b.put(0, closed, n)
        b.put(0, waiting, n)
    _add(b, waiting, seed)
    more = b.local(1)
    with b.repeat(lambda: b.icmp_unsigned("!=", more.get(), 0)):
        more.set(0)
        with b.count(0, count) as place:
            pending = b.get(waiting, place)
            with b.if_then(b.icmp_unsigned("!=", pending, 0)):
                more.set(1)
                bit = b.cttz(pending, ir.Constant(TRUTH, 1))
                instance = b.add(b.mul(place, 64), bit)
                _add(b, closed, instance)
                row = b.at(rows, b.mul(b.get(numbers, instance), count))
                with b.count(0, count) as n:
                    joined = b.or_(b.get(waiting, n), b.get(row, n))
                    b.put(b.and_(joined, b.not_(b.get(closed, n))), waiting, n)
    followed = b.local(0)
    with b.count(0, count) as n:
        followed.add(b.ctpop(b.and_(b.get(closed, n), b.get(taken, n))))
    b.ret(followed.get())
    return function


def _emit_is_new(module: ir.Module, program: Program, seek: Any, shards: int) -> Any:
    """`(state, block) -> truth`: whether a state is not visited yet, or is of the next level: it is expanded later."""
    function, b = begin(module, "is_new", [POINTER, POINTER])
    state, block = function.args
    shard = shard_of_hash(b, hash_words(b, b.state(state, program.layout.words)), shards)
    control = b.inttoptr(b.get(_part(b, block, CONTROLS), shard), POINTER)
    found = b.call(seek, [control, state])
    end = b.get(_part(b, block, ENDS), shard)
    later = b.or_(b.icmp_unsigned("==", found, 0), b.icmp_unsigned(">", found, end))
    b.ret(b.zext(later, WORD))
    return function


def _part(b: Builder, block: Any, entry: int) -> Any:
    return b.inttoptr(b.get(block, entry), POINTER)


def _sets(b: Builder, block: Any, orders: Orders) -> list[Any]:
    work = _part(b, block, WORK)
    return [b.at(work, n * orders.words) for n in range(SETS)]


def _truths(b: Builder, block: Any, orders: Orders) -> Any:
    return b.at(_part(b, block, WORK), SETS * orders.words)


def _numbers(b: Builder, block: Any, orders: Orders) -> Any:
    return b.at(_part(b, block, WORK), SETS * orders.words + len(orders.conjuncts))


def _add(b: Builder, members: Any, instance: Any) -> None:
    """Add an instance to a set."""
    place = b.lshr(instance, 6)
    bit = b.shl(1, b.and_(instance, 63))
    b.put(b.or_(b.get(members, place), bit), members, place)


def _has(b: Builder, members: Any, instance: Any) -> Any:
    """Whether an instance is in a set."""
    bits = b.get(members, b.lshr(instance, 6))
    return b.trunc(b.lshr(bits, b.and_(instance, 63)), TRUTH)


def emit_canonical(module: ir.Module, program: Program, reduction: Reduction) -> Any:
    """`least(state) -> 0`: replace a packed state by the one that stands for it."""
    function, b = begin(module, "least", [POINTER], public=True)
    place = function.args[0]
    words = b.state(place, program.layout.words)
    scope = PathValues(b, slot_reader(program.layout, program.state, words))
    for i, value in enumerate(pack(b, program.layout, program.state, reduction.canonical, words, scope)):
        b.put(value, place, i)
    b.ret(0)
    return function


def emit_reduced_step(module: ir.Module, program: Program, step: Any, canonical: Any) -> Any:
    """A function as `step`, whose successors are reduced."""
    function, b = begin(module, "reduced_step", [POINTER, POINTER, POINTER, WORD], POINTER)
    state, out, frame, identity = function.args
    end = b.call(step, [state, out, frame, identity])
    place = b.local(out)
    with b.repeat(lambda: b.icmp_unsigned("!=", place.get(), end)):
        b.call(canonical, [place.get()])
        place.set(b.at(place.get(), program.layout.words + 1))
    b.ret(end)
    return function


def emit_inspect(module: ir.Module, plan: FramePlan, judge: Any, step: Any, deadlock: Any) -> None:
    """`inspect(state, out, frame) -> bytes`: the claims that occur in a state, and its successors without reduction."""
    function, b = begin(module, "inspect", [POINTER, POINTER, POINTER], public=True)
    state, out, frame = function.args
    b.call(judge, [state, frame, 0])
    b.put(0, frame, plan.enabled)
    end = b.call(step, [state, out, frame, 0])
    with b.if_then(b.icmp_unsigned("==", b.get(frame, plan.enabled), 0)):
        b.call(deadlock, [state, frame, 0])
    b.ret(b.sub(b.ptrtoint(end, WORD), b.ptrtoint(out, WORD)))


SHARDS = 32  # parts of the visited set; fixed, so that results do not depend on the number of threads


@frozen
class Geometry:
    """Sizes compiled into a kernel."""

    words: int  # words of a packed state
    instances: int  # most successors that one state can have
    room: int  # records that one candidate buffer holds
    filter_slots: int  # states that a thread's filter of recent successors holds; a power of two
    mark: int  # bytes of a state's mark in the backward search; 0 without one

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
        emit_ways_back(module, plan, kinds, SHARDS, canonical)
    return module


def _emit_successors(module: ir.Module, step: Any) -> None:
    """`successors(state, out, frame) -> records`: what one state leads to."""
    function, b = begin(module, "successors", [POINTER, POINTER, POINTER], public=True)
    state, out, frame = function.args
    end = b.call(step, [state, out, frame, 0])
    b.ret(b.sub(b.ptrtoint(end, WORD), b.ptrtoint(out, WORD)))


def _emit_shard_of(module: ir.Module, geometry: Geometry) -> None:
    """`shard_of(state) -> shard`."""
    function, b = begin(module, "shard_of", [POINTER], public=True)
    words = [b.get(function.args[0], i) for i in range(geometry.words)]
    b.ret(shard_of_hash(b, hash_words(b, words), SHARDS))


def _emit_sift(module: ir.Module, geometry: Geometry) -> Any:
    """`(state, id, records, end, filter, piece, counts, fullest) -> fullest`: successors into candidate buffers.

    Drops what equals the state itself or the state that the filter holds for
    its hash, without a branch: the record is written in any case and counted
    only when it is new.
    """
    function, b = begin(module, "sift", [POINTER, WORD, POINTER, POINTER, POINTER, POINTER, POINTER, WORD])
    state, identity, records, end, recent, piece, counts, so_far = function.args
    own = b.state(state, geometry.words)
    parent = b.shl(identity, 16)
    place, fullest = b.local(records), b.local(so_far)
    with b.repeat(lambda: b.icmp_unsigned("!=", place.get(), end)):
        at = place.get()
        words = b.state(at, geometry.words)
        mark = b.or_(b.get(at, geometry.words), parent)
        place.set(b.at(at, geometry.record))
        hashed = hash_words(b, words)
        slot = b.and_(b.lshr(hashed, 32), geometry.filter_slots - 1)
        entry = b.at(recent, b.mul(slot, geometry.words))
        duplicate = b.or_(b.same(words, own), b.same(words, b.state(entry, geometry.words)))
        for i, value in enumerate(words):
            b.put(value, entry, i)
        shard = shard_of_hash(b, hashed, SHARDS)
        used = b.get(counts, shard)
        record = b.mul(b.add(b.mul(shard, geometry.room), used), geometry.record)
        for i, value in enumerate((*words, mark)):
            b.put(value, b.at(piece, record), i)
        count = b.add(used, b.zext(b.not_(duplicate), WORD))
        b.put(count, counts, shard)
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
    shard, index = b.local(b.get(frame, plan.shard)), b.local(b.get(frame, plan.index))
    fullest = b.local(0)
    searching = b.icmp_unsigned("==", judge_only, 0)
    with b.repeat(lambda: b.icmp_unsigned("<", shard.get(), SHARDS)):
        number = shard.get()
        states = b.inttoptr(b.get(stores, number), POINTER)
        begins = b.get(ranges, b.shl(number, 1))
        stop = b.get(ranges, b.add(b.shl(number, 1), 1))
        at = index.get()
        index.set(b.select(b.icmp_unsigned("<", at, begins), begins, at))
        with b.repeat(lambda: b.icmp_unsigned("<", index.get(), stop)):
            with b.if_then(b.icmp_unsigned(">", fullest.get(), geometry.room - geometry.instances), likely=False):
                b.put(shard.get(), frame, plan.shard)
                b.put(index.get(), frame, plan.index)
                b.ret(0)
            position = index.get()
            state = b.at(states, b.mul(position, geometry.words))
            identity = b.add(b.mul(position, SHARDS), number)
            b.call(judge, [state, frame, identity])
            with b.if_then(searching, likely=True):
                b.put(0, frame, plan.enabled)
                end = b.call(step, [state, scratch, frame, identity])
                with b.if_then(b.icmp_unsigned("==", b.get(frame, plan.enabled), 0), likely=False):
                    b.call(deadlock, [state, frame, identity])
                if select is not None:
                    end = b.call(select, [state, scratch, end, *block])
                fullest.set(b.call(sift, [state, identity, scratch, end, recent, piece, counts, fullest.get()]))
            index.add(1)
        index.set(0)
        shard.add(1)
    b.ret(1)
