"""The kernel that finds strongly connected components in one search depth first; it depends on no program.

It is the algorithm of Pearce (2016), with a path in place of recursion: it looks at each edge once or twice. States
that wait for their component, and those on the path, share one array, as a state is one or the other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from kraftcheck.solvers.machine_code.irtools import BYTE, POINTER, U32, WORD, Builder, Local, begin, word
from kraftcheck.solvers.machine_code.objectcode import Library, object_code

ROOT, PATH, WAITING, INDEX = range(4)
"""What `control` holds: the next state to begin at, the length of the path, how many states wait, the next index."""

SETTLED = 0xFFFF_FFFF
"""The index of a state whose component is known."""

LOWERED = 1 << 31
"""Bit of the place of a state on the path that leads to one with a lower index: no component begins with it."""


def find_components() -> Callable[..., int]:
    """The function `components`."""
    return _library().function("components", 5)


@functools.lru_cache(maxsize=1)
def _library() -> Library:
    return Library(object_code(emit_components()))


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
