"""The kernel of the backward search: it sweeps marks of states over the explored graph until none changes.

No transition is stored: a sweep computes the successors of a state again and
looks them up in the visited set. A mark has three groups of n bits for n
`recovers` properties: *reaches* (a state that satisfies the claim can be
reached), *leaves* (a transition goes where the exploration did not), and
*concerned* (the claim is about this state). The first two flow backward.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from attrs import evolve
from llvmlite import ir

from kraftcheck.solvers.machine_code.irtools import POINTER, U16, U32, WORD, Builder, Local, begin, word
from kraftcheck.solvers.machine_code.transition import FramePlan, KindFunction, record_words, state_scope
from kraftcheck.solvers.machine_code.visited_table import BATCH, ShardParts, hash_words, shard_of_hash
from kraftcheck.solvers.program.program import Kind, Program, mark_bytes

OWNERS = 16  # states whose successors are looked up together, so that memory is fetched for many at once


def recovers_mask(program: Program, kind: Kind) -> int:
    """The properties, one bit each, whose way out may use some instance of a kind."""
    return functools.reduce(int.__or__, rows_by_recovers(program, kind))


def rows_by_recovers(program: Program, kind: Kind) -> dict[int, list[int]]:
    """The rows of a kind by the properties, one bit each, whose way out may use them."""
    groups: dict[int, list[int]] = {}
    for row in range(len(kind.instances)):
        claims = sum(1 << n for n, recovers in enumerate(program.recovers) if recovers.allowed[kind.first + row])
        groups.setdefault(claims, []).append(row)
    return groups


class _Marks:
    """The marks of states, which several threads read and write; a mark only rises."""

    def __init__(self, b: Builder, claims: int) -> None:
        self._b, self._claims, self.size = b, claims, mark_bytes(claims)
        self._type = ir.IntType(8 * self.size)

    def at(self, marks: Any, index: Any) -> Any:
        """Address of a mark."""
        return self._b.at(marks, index, self._type)

    def get(self, place: Any) -> Any:
        """A mark as a word."""
        value = self._b.load_atomic(place, "monotonic", self.size, typ=self._type)
        return value if self.size == 8 else self._b.zext(value, WORD)

    def raise_by(self, place: Any, bits: Any) -> None:
        """Add bits to a mark."""
        value = bits if self.size == 8 else self._b.trunc(bits, self._type)
        self._b.atomic_rmw("or", place, value, "monotonic")

    def renew(self, place: Any, bits: Any, changed: Local) -> Any:
        """Raise a mark by what flows back and is missing, and count it if it rose; what "reaches" still misses."""
        b, old = self._b, self.get(place)
        missing = b.and_(b.not_(old), (1 << self._claims) - 1)
        new = b.and_(bits, b.or_(missing, b.shl(missing, self._claims)))
        with b.if_then(b.icmp_unsigned("!=", b.or_(old, new), old)):
            self.raise_by(place, new)
            changed.add(1)
        return b.and_(missing, b.not_(new))


def emit_survey(module: ir.Module, program: Program) -> None:
    """`survey(states, marks, count) -> count`: set marks of 0 from their states alone."""
    n = len(program.recovers)
    function, b = begin(module, "survey", [POINTER, POINTER, WORD], public=True)
    states, places, count = function.args
    marks = _Marks(b, n)
    with b.count(0, count) as index:
        scope = state_scope(b, program, b.at(states, b.mul(index, program.layout.words)))
        bits: Any = word(0)
        for number, recovers in enumerate(program.recovers):
            bits = b.or_(bits, b.shl(b.zext(scope.value(recovers.goal), WORD), number))
            bits = b.or_(bits, b.shl(b.zext(scope.value(recovers.when), WORD), 2 * n + number))
        marks.raise_by(marks.at(places, index), bits)
    b.ret(count)


def emit_sweep(
    module: ir.Module, plan: FramePlan, kinds: Sequence[tuple[Kind, Any]], shards: int, canonical: Any
) -> None:
    """`sweep(frame, controls, flows, scratch, shard, first, last, down, out, arcs) -> changed marks`.

    Renews the marks of the states first..last-1 of a shard from those of their
    successors, downward from the last if `down`. `controls` are the addresses
    of all control blocks; `flows` has for each instance the bits that may flow
    back through it; `scratch` holds the successors of `OWNERS` states. `canonical`
    reduces a record by symmetry; None: nothing is reduced.

    Unless it is null, `out` holds three addresses, to which the steps are written by which missing bits may still flow
    back: the index of the state that each leaves, the id of the visited state that it leads to, and its instance;
    `arcs` gets their number.
    """
    n, words = len(plan.program.recovers), plan.program.layout.words
    recall = _emit_recall(module, plan.program, shards, canonical)
    follow = emit_follow(module, plan, kinds, n)
    function, b = begin(module, "sweep", [*[POINTER] * 4, *[WORD] * 4, POINTER, POINTER], public=True)
    frame, controls, flows, scratch, shard, first, last, down, out, arcs = function.args
    parts = ShardParts(b, b.inttoptr(b.get(controls, shard), POINTER), words)
    marks, owners = _Marks(b, n), _Owners(b)
    changed, step, count, listed = b.local(0), b.local(0), b.sub(last, first), b.local(0)
    lists = b.icmp_unsigned("!=", out, ir.Constant(POINTER, None))
    with b.repeat(lambda: b.icmp_unsigned("<", step.get(), count)):
        owners.clear(scratch)
        with b.repeat(lambda: b.and_(b.icmp_unsigned("<", step.get(), count), owners.has_room())):
            back = b.sub(b.sub(last, 1), step.get())
            index = b.select(b.icmp_unsigned("==", down, 0), b.add(first, step.get()), back)
            missing = b.and_(b.not_(marks.get(marks.at(parts.marks, index))), (1 << n) - 1)
            with b.if_then(b.icmp_unsigned("!=", missing, 0)):
                end = b.call(follow, [parts.state(index), owners.end.get(), frame, missing, owners.leaves])
                owners.add(index, end)
            step.add(1)
        b.call(recall, [scratch, owners.end.get(), controls, flows])
        place = b.local(scratch)
        with b.count(0, owners.count.get()) as owner:
            bits, begins = b.local(b.get(owners.cuts, owner)), place.get()
            end = b.get(owners.ends, owner, POINTER)
            with b.repeat(lambda: b.icmp_unsigned("!=", place.get(), end)):
                bits.set(b.or_(bits.get(), b.lshr(b.get(place.get(), words), 16)))
                place.set(b.at(place.get(), words + 1))
            index = b.get(owners.indices, owner)
            left = marks.renew(marks.at(parts.marks, index), bits.get(), changed)
            with b.if_then(b.and_(lists, b.icmp_unsigned("!=", left, 0))):
                _list_arcs(b, begins, end, words, out, index, listed)
    with b.if_then(lists):
        b.put(listed.get(), arcs, 0)
    b.ret(changed.get())


def _list_arcs(b: Builder, begins: Any, end: Any, words: int, out: Any, index: Any, listed: Any) -> None:
    """Write the steps of a state's records that lead to visited states, whose ids are in their first words."""
    sources, targets, instances = (b.inttoptr(b.get(out, n), POINTER) for n in range(3))
    at = b.local(begins)
    with b.repeat(lambda: b.icmp_unsigned("!=", at.get(), end)):
        found = b.get(at.get(), 0)
        b.put(b.trunc(index, U32), sources, listed.get(), U32)
        b.put(b.trunc(found, U32), targets, listed.get(), U32)
        b.put(b.trunc(b.get(at.get(), words), U16), instances, listed.get(), U16)
        listed.add(b.zext(b.icmp_signed(">=", found, 0), WORD))
        at.set(b.at(at.get(), words + 1))


class _Owners:
    """A group of states whose successors are looked up together: their indices, and the ends of their successors."""

    def __init__(self, b: Builder) -> None:
        self._b = b
        self.indices, self.cuts = b.alloca(WORD, word(OWNERS)), b.alloca(WORD, word(OWNERS))
        self.ends, self.leaves = b.alloca(POINTER, word(OWNERS)), b.alloca(WORD)
        self.count, self.end = b.local(0), b.local(ir.Constant(POINTER, None))

    def clear(self, start: Any) -> None:
        """None, and their successors start here."""
        self.count.set(0)
        self.end.set(start)

    def has_room(self) -> Any:
        """Whether another state fits."""
        return self._b.icmp_unsigned("<", self.count.get(), OWNERS)

    def add(self, index: Any, end: Any) -> None:
        """Another state, whose successors end here, and what it leaves by."""
        b, count = self._b, self.count.get()
        b.put(index, self.indices, count)
        b.put(b.load(self.leaves, typ=WORD), self.cuts, count)
        b.put(end, self.ends, count, POINTER)
        self.end.set(end)
        self.count.add(1)


def emit_follow(module: ir.Module, plan: FramePlan, kinds: Sequence[tuple[Kind, Any]], n: int) -> Any:
    """`(state, out, frame, missing, cut_bits) -> out`: the successors by which a missing bit may flow back.

    Sets `cut_bits` to the bits "leaves" of properties whose recovery a field's domain cut.
    """
    function, b = begin(module, "follow", [POINTER, POINTER, POINTER, WORD, POINTER], POINTER)
    state, start, frame, missing, cut_bits = function.args
    out, leaves = b.local(start), b.local(0)
    for kind, part in kinds:
        mask = recovers_mask(plan.program, kind)
        if not mask:
            continue
        number = next(n for n, other in enumerate(plan.program.kinds) if other is kind)
        groups = _cut_counters(module, plan, number, part)
        with b.if_then(b.icmp_unsigned("!=", b.and_(missing, mask), 0)):
            places = [place for place, _ in plan.crossings_of(number)]
            for claims, some in groups:
                for place in places:
                    b.put(0, frame, place)
                end = b.call(some, [state, out.get(), frame, 0])
                for place in places:
                    is_cut = b.icmp_unsigned("!=", b.get(frame, place), 0)
                    leaves.set(b.or_(leaves.get(), b.select(is_cut, claims << n, 0)))
            # What some of the instances wrote is written over by all of them.
            out.set(end if groups == [(mask, part)] else b.call(part, [state, out.get(), frame, 0]))
    b.store(leaves.get(), cut_bits)
    b.ret(out.get())
    return function


def _cut_counters(module: ir.Module, plan: FramePlan, number: int, part: Any) -> list[tuple[int, Any]]:
    """Functions that count what a domain cuts, each with the properties whose way out may use all of its instances."""
    kind = plan.program.kinds[number]
    groups = {claims: rows for claims, rows in rows_by_recovers(plan.program, kind).items() if claims}
    uniform = len(groups) == 1 and len(kind.instances) == sum(map(len, groups.values()))
    if not kind.unchecked or uniform:
        return [(recovers_mask(plan.program, kind), part)]
    functions = []
    for claims, rows in groups.items():
        subset = evolve(
            kind, instances=tuple(kind.instances[r] for r in rows), table=tuple(kind.table[r] for r in rows)
        )
        functions.append((claims, KindFunction(module, plan, number, subset, f"{number}.way{claims}").function))
    return functions


def _emit_recall(module: ir.Module, program: Program, shards: int, canonical: Any) -> Any:
    """`(records, end, controls, flows)`: put above each record's instance the bits that flow back from its state.

    Its first word becomes the id of the state, -1 where it was not visited. Records are looked up in batches: hash all,
    fetch table lines, fetch states and marks, then compare.
    """
    words, size = program.layout.words, record_words(program)
    function, b = begin(module, "recall", [POINTER] * 4, ir.VoidType())
    records, end, controls, flows = function.args
    hashes, blocks = b.alloca(WORD, word(BATCH)), b.alloca(WORD, word(BATCH))
    at, marks = b.local(records), _Marks(b, len(program.recovers))
    with b.repeat(lambda: b.icmp_unsigned("!=", at.get(), end)):
        first = at.get()
        rest = b.udiv(b.sub(b.ptrtoint(end, WORD), b.ptrtoint(first, WORD)), 8 * size)
        count = b.select(b.icmp_unsigned("<", rest, BATCH), rest, BATCH)
        with b.count(0, count) as k:
            record = b.at(first, b.mul(k, size))
            if canonical is not None:
                b.call(canonical, [record])
            hashed = hash_words(b, b.state(record, words))
            block = b.get(controls, shard_of_hash(b, hashed, shards))
            parts = ShardParts(b, b.inttoptr(block, POINTER), words)
            b.put(hashed, hashes, k)
            b.put(block, blocks, k)
            parts.prefetch_entry(b.and_(hashed, parts.mask))
        with b.count(0, count) as k:
            parts = ShardParts(b, b.inttoptr(b.get(blocks, k), POINTER), words)
            index = b.sub(parts.entry(b.and_(b.get(hashes, k), parts.mask)), 1)
            b.prefetch(parts.state(index))
            b.prefetch(marks.at(parts.marks, index))
        with b.count(0, count) as k:
            record = b.at(first, b.mul(k, size))
            parts = ShardParts(b, b.inttoptr(b.get(blocks, k), POINTER), words)
            hashed, instance = b.get(hashes, k), b.get(record, words)
            mark, found = _mark_of(b, program, record, parts, hashed)
            number = shard_of_hash(b, hashed, shards)
            b.put(b.select(b.icmp_signed("<", found, 0), -1, b.add(b.mul(found, shards), number)), record, 0)
            b.put(b.or_(instance, b.shl(b.and_(b.get(flows, instance), mark), 16)), record, words)
        at.set(b.at(first, b.mul(count, size)))
    b.ret_void()
    return function


def _mark_of(b: Builder, program: Program, record: Any, parts: ShardParts, hashed: Any) -> tuple[Any, Any]:
    """The mark and index of a record's state; "leaves" for every property, and -1, where the visited set lacks it."""
    words, n = program.layout.words, len(program.recovers)
    marks, mark, found = _Marks(b, n), b.local(((1 << n) - 1) << n), b.local(-1)
    with parts.lookup(b.state(record, words), hashed) as (index, end):
        mark.set(marks.get(marks.at(parts.marks, index)))
        found.set(index)
        b.branch(end)
    return mark.get(), found.get()
