"""The kernels of liveness: the transitions among visited states, and what depends on no program: marks and components.

No transition is stored by the search: functions compute them again, and look the successors up.

Each state of a graph has a mark, a bit for each of some demands, and each edge a class, which says for what demands
it is a step. A mark has a bit once its state can reach, among the states that are kept, what the demand asks for.

It gets the bits of the marks that edges lead to, those which an edge is a step for that are enabled, and of the weak
ones those not enabled. States with all bits are passed over. Several threads may raise the marks of different states.

Strongly connected components are found in one search depth first by the algorithm of Pearce (2016), with a path in
place of recursion: it looks at each edge once or twice. States that wait for their component, and those on the path,
share one array, as a state is one or the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from attrs import frozen
from llvmlite import ir

from kraftcheck.solvers.machine_code.irtools import BYTE, POINTER, U16, U32, WORD, Builder, Local, begin, word
from kraftcheck.solvers.machine_code.transition import FramePlan, state_scope
from kraftcheck.solvers.machine_code.visited_table import ShardParts, hash_words, shard_of_hash
from kraftcheck.solvers.program.program import Program

ARRAYS = 8  # arrays of a graph's part that `raise` works on


def emit_raise(mark: int, kind: int, narrow: int = 0) -> ir.Module:
    """`raise(arrays, first, count, weak, full, down) -> marks that rose`, of the states first..first+count-1.

    `arrays` holds the addresses of: the place of the first edge of each of these states and the end of the last;
    target and class (`kind` bytes) of each edge; for each class the bits that it is a step for; and by state its mark
    (`mark` bytes), whether it is kept, and the bits of the demands whose steps it enables; and, if `narrow`, for each
    class the bits that flow through it, else all do.
    """
    module = ir.Module("kraftcheck-marks")
    function, b = begin(module, "raise", [POINTER, *[WORD] * 5], public=True)
    arrays, first, count, weak, full, down = function.args
    starts, targets, kinds, table, marks, kept, enabled, flows = (
        b.inttoptr(b.get(arrays, n), POINTER) for n in range(ARRAYS)
    )
    bits = ir.IntType(8 * mark)
    of_class = _Classes(b, kinds, ir.IntType(8 * kind), bits, flows, bool(narrow))

    def mark_of(state: Any) -> Any:
        """As a word, while other threads may raise it."""
        return b.zext(b.load_atomic(b.at(marks, state, bits), "seq_cst", mark, typ=bits), WORD)

    changed = b.local(0)
    with b.count(0, count) as step:
        row = b.select(b.icmp_unsigned("==", down, 0), step, b.sub(b.sub(count, 1), step))
        state = b.add(first, row)
        old, reached, taken = mark_of(state), b.local(0), b.local(0)
        waits = b.and_(_is_kept(b, kept, state), b.icmp_unsigned("!=", old, full))
        with b.if_then(waits):
            own = b.zext(b.get(enabled, state, bits), WORD)
            begin_, end = (b.zext(b.get(starts, n, U32), WORD) for n in (row, b.add(row, 1)))
            with b.count(begin_, end) as at:
                target = b.zext(b.get(targets, at, U32), WORD)
                counts = b.sext(_is_kept(b, kept, target), WORD)  # no branch: which one it takes is hard to foresee
                reached.set(b.or_(reached.get(), of_class.flowing(b.and_(counts, mark_of(target)), at)))
                taken.set(b.or_(taken.get(), b.and_(counts, of_class.bits(table, at))))
            rests = b.and_(weak, b.not_(own))
            new = b.or_(b.or_(reached.get(), rests), b.and_(taken.get(), own))
            new = b.or_(old, b.and_(new, full))
            with b.if_then(b.icmp_unsigned("!=", new, old)):
                b.atomic_rmw("or", b.at(marks, state, bits), b.trunc(new, bits), "seq_cst")
                changed.add(1)
    b.ret(changed.get())
    return module


@frozen
class _Classes:
    """The bits that tables have for the classes of edges."""

    b: Builder
    kinds: Any  # the class of each edge
    kind: ir.IntType
    mark: ir.IntType
    flows: Any
    narrow: bool

    def bits(self, table: Any, edge: Any) -> Any:
        """The bits of an edge's class."""
        b = self.b
        return b.zext(b.get(table, b.zext(b.get(self.kinds, edge, self.kind), WORD), self.mark), WORD)

    def flowing(self, bits: Any, edge: Any) -> Any:
        """The bits, of some, that flow along an edge."""
        return self.b.and_(bits, self.bits(self.flows, edge)) if self.narrow else bits


def _is_kept(b: Builder, kept: Any, state: Any) -> Any:
    return b.icmp_unsigned("!=", b.get(kept, state, BYTE), ir.Constant(BYTE, 0))


ROOT, PATH, WAITING, INDEX = range(4)
"""What `control` holds: the next state to begin at, the length of the path, how many states wait, the next index."""

SETTLED = 0xFFFF_FFFF  # the index of a state whose component is known

LOWERED = 1 << 31
"""Bit of the place of a state on the path that leads to one with a lower index: no component begins with it."""


class _Graph:
    """The arrays of a graph and of a search, as `components` gets them."""

    def __init__(self, b: Builder, arrays: Any, count: Any, size: Any) -> None:
        self._b, self._size, self.count = b, size, count
        self.starts, self.targets, self.open, self.labels, self.index, self.stack = (
            b.inttoptr(b.get(arrays, n), POINTER) for n in range(6)
        )

    def get(self, array: Any, at: Any) -> Any:
        """An element of an array of 32 bits as a word."""
        return self._b.zext(self._b.get(array, at, U32), WORD)

    def set(self, array: Any, at: Any, value: Any) -> None:
        """Assign an element of an array of 32 bits."""
        self._b.put(self._b.trunc(value, U32), array, at, U32)

    def is_open(self, state: Any) -> Any:
        """Whether a state counts."""
        return self._b.icmp_unsigned("!=", self._b.get(self.open, state, BYTE), ir.Constant(BYTE, 0))

    def place(self, state: Any, more: int) -> Any:
        """The place of the first edge of a state, or of the one after it, in its block."""
        block = self._b.inttoptr(self._b.get(self.starts, self._b.udiv(state, self._size)), POINTER)
        return self.get(block, self._b.add(self._b.urem(state, self._size), more))

    def target(self, state: Any, place: Any) -> Any:
        """Where an edge of a state leads."""
        return self.get(self._b.inttoptr(self._b.get(self.targets, self._b.udiv(state, self._size)), POINTER), place)


def emit_components() -> ir.Module:
    """`components(arrays, control, count, size, steps) -> 1 when all are known, 0 after so many steps`; call it again.

    `arrays` holds the addresses of: for each block of `size` states the address of the places of their first edges and
    the end of the last; for each block that of the targets; and by state whether it counts (a byte), its label, its
    index (0 at first), and the room for path and waiting states. The label of a state is in the end some state of its
    component, the same for all of it.
    """
    module = ir.Module("kraftcheck-components")
    function, b = begin(module, "components", [POINTER, POINTER, *[WORD] * 3], public=True)
    arrays, control, count, size, steps = function.args
    graph, left = _Graph(b, arrays, count, size), b.local(steps)
    with b.repeat(lambda: b.icmp_unsigned("!=", left.get(), 0)):
        left.add(-1)
        with b.if_else(b.icmp_unsigned("==", b.get(control, PATH), 0)) as (nowhere, on_the_way):
            with nowhere:
                state = b.get(control, ROOT)
                with b.if_then(b.icmp_unsigned("==", state, count)):
                    b.ret(1)
                fresh = b.icmp_unsigned("==", graph.get(graph.index, state), 0)
                with b.if_then(b.and_(graph.is_open(state), fresh)):
                    _enter(b, graph, control, state)
                b.put(b.add(state, 1), control, ROOT)
            with on_the_way:
                _go_on(b, graph, control)
    b.ret(0)
    return module


def _enter(b: Builder, graph: _Graph, control: Any, state: Any) -> None:
    """Put a state on the path."""
    index, length = b.get(control, INDEX), b.get(control, PATH)
    graph.set(graph.index, state, index)
    graph.set(graph.labels, state, graph.place(state, 0))
    graph.set(graph.stack, length, state)
    b.put(b.add(index, 1), control, INDEX)
    b.put(b.add(length, 1), control, PATH)


def _go_on(b: Builder, graph: _Graph, control: Any) -> None:
    """Look at the next edge of the last state of the path."""
    state = graph.get(graph.stack, b.sub(b.get(control, PATH), 1))
    noted = graph.get(graph.labels, state)
    place = b.and_(noted, LOWERED - 1)
    with b.if_else(b.icmp_unsigned("<", place, graph.place(state, 1))) as (edge, end):
        with edge:
            target = graph.target(state, place)
            counts, reached = graph.is_open(target), graph.get(graph.index, target)
            fresh = b.and_(counts, b.icmp_unsigned("==", reached, 0))
            with b.if_else(fresh) as (first, again):
                with first:
                    _enter(b, graph, control, target)
                with again:
                    own = graph.get(graph.index, state)
                    lower = b.and_(counts, b.icmp_unsigned("<", reached, own))
                    graph.set(graph.index, state, b.select(lower, reached, own))
                    mark = b.select(lower, LOWERED, 0)
                    graph.set(graph.labels, state, b.or_(b.add(noted, 1), mark))
        with end:
            _leave(b, graph, control, state, noted)


def _leave(b: Builder, graph: _Graph, control: Any, state: Any, noted: Any) -> None:
    """Take the last state from the path: its component is known if it is the first of it, else it waits."""
    b.put(b.sub(b.get(control, PATH), 1), control, PATH)
    waiting = b.local(b.get(control, WAITING))

    def top() -> Any:
        return graph.get(graph.stack, b.sub(graph.count, waiting.get()))

    with b.if_else(b.icmp_unsigned("==", b.and_(noted, LOWERED), 0)) as (is_first, waits):
        with is_first:
            own, goes_on = graph.get(graph.index, state), b.local(1)
            _settle(graph, state, state)
            with b.repeat(lambda: b.icmp_unsigned("!=", b.and_(goes_on.get(), _positive(b, waiting)), 0)):
                last = top()
                goes_on.set(b.zext(b.icmp_unsigned(">=", graph.get(graph.index, last), own), WORD))
                with b.if_then(b.icmp_unsigned("!=", goes_on.get(), 0)):
                    _settle(graph, last, state)
                    waiting.add(-1)
        with waits:
            waiting.add(1)
            graph.set(graph.stack, b.sub(graph.count, waiting.get()), state)
    b.put(waiting.get(), control, WAITING)


def _settle(graph: _Graph, state: Any, label: Any) -> None:
    graph.set(graph.index, state, word(SETTLED))
    graph.set(graph.labels, state, label)


def _positive(b: Builder, number: Local) -> Any:
    return b.zext(b.icmp_unsigned("!=", number.get(), 0), WORD)


OUTSIDE = 0xFFFF_FFFF  # the number of a visited state that is not in a region
NOWHERE = 1 << 63  # cut bit of a state with a successor that is not visited
OWNERS = 16  # states whose successors are looked up together, so that memory is fetched for many at once
LOOKED_UP = 128  # states that are looked up together: memory is fetched for many at once
RECENT = 4096  # states that a thread remembers the numbers of; a power of two
NOT_KNOWN = (1 << 64) - 2  # the number of an entry of these that holds no state yet


def truth_words(program: Program) -> int:
    """Words of the truths of a state."""
    return -(-len(program.liveness.terms) // 64)


def emit_liveness(module: ir.Module, plan: FramePlan, step: Any, shards: int) -> None:
    """The functions `appraise` and `connect` of a program with liveness properties."""
    emit_appraise(module, plan.program)

    def every_step(b: Builder, state: Any, out: Any, frame: Any, wanted: Any, cuts: Any) -> Any:
        forget_cuts(b, plan, frame)
        end = b.call(step, [state, out, frame, 0])
        b.put(cut_bits(b, plan, frame), cuts, 0)
        return end

    emit_connect(module, plan.program, "connect", every_step, shards)


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


Follow: TypeAlias = Callable[[Builder, Any, Any, Any, Any, Any], Any]
"""Emits (builder, state, out, frame, wanted, cuts) -> end: records of wanted steps of a state, and its cut bits."""


def emit_connect(
    module: ir.Module, program: Program, name: str, follow: Follow, shards: int, canonical: Any = None,
    nowhere: int = -1,
) -> None:  # fmt: skip
    """`NAME(frame, controls, numbering, scratch, edges, wanted, first, last, inner) -> number of edges`.

    Writes the edges of the states first..last-1 of a region, of those that are wanted (a word for each). `numbering`
    holds three addresses: the offset of each shard, for each visited state (its index in its shard + that offset) its
    number in the region, `OUTSIDE` for those outside, and the id of each of the states asked for. `scratch` holds
    three, of room for the successors of `OWNERS` states: themselves, those to look up, and what was looked up lately.
    `edges` holds four: the target of each edge, `OUTSIDE` for those that leave (none such if `inner`), its instance,
    for each state the number of its first edge and one more at the end, and for each state its cut bits: those that
    `follow` gives, and `NOWHERE`. No edge leads from a state to itself.

    Args:
        canonical: reduces a record by symmetry; None: nothing is reduced.
        nowhere: where a step leads whose target is not visited: -1, which is no edge, or `OUTSIDE`.
    """
    words = program.layout.words
    sift, locate = _emit_sift_known(module, name, words, canonical), _emit_locate(module, name, words, shards, nowhere)
    function, b = begin(module, name, [*[POINTER] * 6, *[WORD] * 3], public=True)
    frame, controls, numbering, scratch, edges, wanted, first, last, inner = function.args
    records, pending, recent = (b.inttoptr(b.get(scratch, n), POINTER) for n in range(3))
    ids, ends, end = b.inttoptr(b.get(numbering, 2), POINTER), b.alloca(POINTER, word(OWNERS)), b.alloca(POINTER)
    written, row, rows = _EdgeWriter(b, edges, inner), b.local(0), b.sub(last, first)
    with b.repeat(lambda: b.icmp_unsigned("<", row.get(), rows)):
        rest = b.sub(rows, row.get())
        owners = b.select(b.icmp_unsigned("<", rest, OWNERS), rest, OWNERS)
        missing = b.local(pending)
        b.store(records, end)
        with b.count(0, owners) as owner:
            asked = b.get(wanted, own := b.add(row.get(), owner))
            b.put(0, written.cuts, own)
            with b.if_then(b.icmp_unsigned("!=", asked, 0)):
                state = _state_of(b, controls, b.zext(b.get(ids, own, U32), WORD), shards, words)
                begun = b.load(end, typ=POINTER)
                b.store(follow(b, state, begun, frame, asked, b.at(written.cuts, own)), end)
                missing.set(b.call(sift, [state, begun, end, missing.get(), recent]))
            b.put(b.load(end, typ=POINTER), ends, owner, POINTER)
        b.call(locate, [pending, missing.get(), controls, numbering, recent])
        at = b.local(records)
        with b.count(0, owners) as owner:
            own = b.add(row.get(), owner)
            written.begin(own)
            with b.repeat(lambda: b.icmp_unsigned("!=", at.get(), b.get(ends, owner, POINTER))):
                written.add(own, b.get(at.get(), 0), b.get(at.get(), words))
                at.set(b.at(at.get(), words + 1))
        row.add(owners)
    written.begin(rows)
    b.ret(written.count.get())


def _state_of(b: Builder, controls: Any, identity: Any, shards: int, words: int) -> Any:
    """Address of a visited state."""
    block = b.inttoptr(b.get(controls, b.and_(identity, shards - 1)), POINTER)
    return ShardParts(b, block, words).state(b.lshr(identity, shards.bit_length() - 1))


class _EdgeWriter:
    """The edges that are written, as `emit_connect` says."""

    def __init__(self, b: Builder, edges: Any, inner: Any) -> None:
        self._b, self.count = b, b.local(0)
        self._targets, self._instances, self._starts, self.cuts = (
            b.inttoptr(b.get(edges, n), POINTER) for n in range(4)
        )
        self._least = b.select(b.icmp_unsigned("!=", inner, 0), OUTSIDE, OUTSIDE + 1)

    def begin(self, state: Any) -> None:
        """Those of a state follow."""
        self._b.put(self._b.trunc(self.count.get(), U32), self._starts, state, U32)

    def add(self, state: Any, leads: Any, instance: Any) -> None:
        """One that leads somewhere, and a cut bit if its target was not visited."""
        b, number = self._b, self.count.get()
        nowhere = b.select(b.icmp_signed("<", leads, 0), NOWHERE, 0)
        b.put(b.or_(b.get(self.cuts, state), nowhere), self.cuts, state)
        b.put(b.trunc(leads, U32), self._targets, number, U32)
        b.put(b.trunc(instance, U16), self._instances, number, U16)
        self.count.add(b.zext(b.icmp_unsigned("<", leads, self._least), WORD))


def _emit_sift_known(module: ir.Module, name: str, words: int, canonical: Any) -> Any:
    """`(state, records, end, pending, recent) -> pending`: drop the state itself, and number what is known.

    Moves the records together and sets the end of them. The first word of those whose state was looked up lately
    becomes its number; the addresses and hashes of the others are added to the pending ones.
    """
    function, b = begin(module, f"{name}.sift", [POINTER] * 5, POINTER)
    state, records, last, pending, recent = function.args
    own, size = b.state(state, words), words + 1
    at, to, more, end = b.local(records), b.local(records), b.local(pending), b.load(last, typ=POINTER)
    with b.repeat(lambda: b.icmp_unsigned("!=", at.get(), end)):
        if canonical is not None:
            b.call(canonical, [at.get()])
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


def _emit_locate(module: ir.Module, name: str, words: int, shards: int, nowhere: int) -> Any:
    """`(pending, end, controls, numbering, recent)`: the first word of pending records becomes their state's number.

    `OUTSIDE` where the region lacks it, `nowhere` where it was not visited. Records are looked up in batches: fetch
    table lines, fetch states and numbers, then compare. What was looked up is noted as recent.
    """
    function, b = begin(module, f"{name}.locate", [POINTER] * 5, ir.VoidType())
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
            number = b.local(nowhere)
            with shard.lookup(b.state(record, shard.words), hashed) as (index, found):
                number.set(b.zext(b.get(places, b.add(offset, index), U32), WORD))
                b.branch(found)
            entry = _recent_entry(b, recent, b.get(own, 1), words)
            for n, value in enumerate((*b.state(record, words), number.get())):
                b.put(value, entry, n)
            b.put(number.get(), record, 0)
        at.set(b.at(at.get(), b.mul(count, 2)))
    b.ret_void()
    return function
