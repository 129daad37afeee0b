"""The kernels of liveness: marks go backward along edges, and components are found. They depend on no program.

Each state of a graph has a mark, a bit for each of some demands, and each edge a class, which says for what demands
it is a step. A mark has a bit once its state can reach, among the states that are kept, what the demand asks for.

It gets the bits of the marks that edges lead to, those which an edge is a step for that are enabled, and of the weak
ones those not enabled. States with all bits are passed over. Several threads may raise the marks of different states.

A watch loses the bits that a state lacks from which an edge leads there, once that was looked at. The guide of a
state that gets its last bits is one that an edge leads to, and whose mark alone gives it all bits, with the weak ones
that it has by itself; `UNGUIDED` where there is none.

Strongly connected components are found in one search depth first by the algorithm of Pearce (2016), with a path in
place of recursion: it looks at each edge once or twice. States that wait for their component, and those on the path,
share one array, as a state is one or the other.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from kraftcheck.solvers.machine_code.irtools import BYTE, POINTER, U32, WORD, Builder, Local, begin, word

ARRAYS = 9
"""Arrays of a graph's part that `raise` works on."""

UNGUIDED = 0xFFFF_FFFF
"""The guide of a state that has none."""


def emit_raise(mark: int, kind: int) -> ir.Module:
    """`raise(arrays, first, count, weak, full, down, late) -> marks that rose`, of the states first..first+count-1.

    `arrays` holds the addresses of: the place of the first edge of each of these states and the end of the last;
    target and class (`kind` bytes) of each edge; for each class the bits that it is a step for; and by state its mark
    (`mark` bytes), whether it is kept, the bits of the demands whose steps it enables, its watch, and its guide (0
    instead: none are noted). `late` has the least state whose mark has more than its watch, and the bits of all such.
    """
    module = ir.Module("kraftcheck-marks")
    function, b = begin(module, "raise", [POINTER, *[WORD] * 5, POINTER], public=True)
    arrays, first, count, weak, full, down, late = function.args
    starts, targets, kinds, table, marks, kept, enabled, watch, guides = (
        b.inttoptr(b.get(arrays, n), POINTER) for n in range(ARRAYS)
    )
    bits, classes = ir.IntType(8 * mark), ir.IntType(8 * kind)
    shared = _SharedBits(b, bits, late)
    changed = b.local(0)
    with b.count(0, count) as step:
        row = b.select(b.icmp_unsigned("==", down, 0), step, b.sub(b.sub(count, 1), step))
        state = b.add(first, row)
        old, reached, taken = shared.get(marks, state), b.local(0), b.local(0)
        waits = b.and_(_is_kept(b, kept, state), b.icmp_unsigned("!=", old, full))
        with b.if_then(waits):
            own = b.zext(b.get(enabled, state, bits), WORD)
            rests = b.and_(weak, b.not_(own))
            guide = b.local(UNGUIDED)
            begin_, end = (b.zext(b.get(starts, n, U32), WORD) for n in (row, b.add(row, 1)))
            with b.count(begin_, end) as at:
                target = b.zext(b.get(targets, at, U32), WORD)
                steps = b.zext(b.get(table, b.zext(b.get(kinds, at, classes), WORD), bits), WORD)
                counts = b.sext(_is_kept(b, kept, target), WORD)  # no branch: which one it takes is hard to foresee
                given = b.and_(counts, shared.get(marks, target))
                reached.set(b.or_(reached.get(), given))
                suffices = b.icmp_unsigned("==", b.and_(b.or_(given, rests), full), full)
                guide.set(b.select(suffices, target, guide.get()))
                taken.set(b.or_(taken.get(), b.and_(counts, steps)))
            new = b.or_(b.or_(reached.get(), rests), b.and_(taken.get(), own))
            new = b.or_(old, b.and_(new, full))
            with b.if_then(b.icmp_unsigned("!=", new, old)):
                b.atomic_rmw("or", b.at(marks, state, bits), b.trunc(new, bits), "seq_cst")
                changed.add(1)
                shared.note_beyond(state, new, shared.get(watch, state))
            with b.if_then(b.and_(b.icmp_unsigned("==", new, full), _is_there(b, guides))):
                b.put(b.trunc(guide.get(), U32), guides, state, U32)
            with b.if_then(b.icmp_unsigned("!=", new, full)), b.count(begin_, end) as at:
                target = b.zext(b.get(targets, at, U32), WORD)
                with b.if_then(_is_kept(b, kept, target)):
                    shared.watch_target((watch, marks), target, new, b.and_(full, b.not_(new)))
    b.ret(changed.get())
    return module


class _SharedBits:
    """Bits of states that several threads read and write, and the note of late rises.

    A rise is written before the watch is read, and a watch before the mark is read once more: of a state that rises
    while another thread looks at it, one of the two is seen.
    """

    def __init__(self, b: Builder, bits: ir.IntType, late: Any) -> None:
        self._b, self._bits, self._late = b, bits, late

    def get(self, array: Any, state: Any) -> Any:
        """The bits of a state as a word."""
        place = self._b.at(array, state, self._bits)
        return self._b.zext(self._b.load_atomic(place, "seq_cst", self._bits.width // 8, typ=self._bits), WORD)

    def watch(self, array: Any, state: Any, bits: Any, lacks: Any) -> None:
        """Watch a state for one that has some bits and lacks others."""
        b = self._b
        with b.if_then(b.icmp_unsigned("!=", b.and_(self.get(array, state), lacks), 0)):
            b.atomic_rmw("and", b.at(array, state, self._bits), b.trunc(bits, self._bits), "seq_cst")

    def watch_target(self, arrays: tuple[Any, Any], target: Any, bits: Any, lacks: Any) -> None:
        """Watch a state for one that an edge leads from, and note it if it has more already."""
        watch, marks = arrays
        self.watch(watch, target, bits, lacks)
        self.note_beyond(target, self.get(marks, target), bits)

    def note_beyond(self, state: Any, mark: Any, watch: Any) -> None:
        """Note a state whose mark has more than a watch."""
        b = self._b
        with b.if_then(b.icmp_unsigned("!=", b.and_(mark, b.not_(watch)), 0)):
            least = b.get(self._late, 0)
            b.put(b.select(b.icmp_unsigned("<", state, least), state, least), self._late, 0)
            b.put(b.or_(b.get(self._late, 1), mark), self._late, 1)


def _is_there(b: Builder, pointer: Any) -> Any:
    return b.icmp_unsigned("!=", pointer, ir.Constant(POINTER, None))


def _is_kept(b: Builder, kept: Any, state: Any) -> Any:
    return b.icmp_unsigned("!=", b.get(kept, state, BYTE), ir.Constant(BYTE, 0))


ROOT, PATH, WAITING, INDEX = range(4)
"""What `control` holds: the next state to begin at, the length of the path, how many states wait, the next index."""

SETTLED = 0xFFFF_FFFF
"""The index of a state whose component is known."""

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
