"""Arcs in memory, along which marks flow backward: listed by target, and followed in machine code of no program.

An arc takes `ARC_BYTES`, a state `STATE_BYTES`. A state whose mark rose waits in a queue until what it has now has
flowed to the sources of its arcs; it waits there once at most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, field
from llvmlite import ir

from kraftcheck.solvers.machine_code.irtools import BYTE, POINTER, U32, WORD, begin
from kraftcheck.solvers.machine_code.objectcode import address, made

ARC_BYTES = 5  # bytes of an arc: its source, and the number of its way
STATE_BYTES = 24  # bytes of a state: where its arcs begin, its place in the queue, whether it waits, its mark; at most

MOST_WAYS = 1 << 8
MOST_STATES = 1 << 32

HEAD, WAITING, ROOM = range(3)
"""Entries of a control block: where the queue begins, how many states wait, how many states there are."""

AT_ONCE = 1 << 20  # states from which marks flow before it is asked again whether to stop
AHEAD = 8  # states of the queue whose arcs are asked for before their turn


@define
class HeldArcs:
    """Arcs between states, which have numbers from 0."""

    ways: npt.NDArray[np.uint64]  # the bits that flow back through each way
    marks: npt.NDArray[Any]
    arcs: int
    _begins: npt.NDArray[np.int64] = field(init=False)
    _sources: npt.NDArray[np.uint32] = field(init=False)
    _kinds: npt.NDArray[np.uint8] = field(init=False)

    @classmethod
    def of(cls, ways: npt.ArrayLike, marks: npt.NDArray[Any], arcs: Sequence[npt.NDArray[Any]]) -> HeldArcs:
        """Those of one list: targets, sources and ways, as `take` has them."""
        targets = arcs[0].astype(np.int64)
        held = cls(np.asarray(ways, dtype=np.uint64), marks, len(targets))
        held.count(0, len(marks), targets)
        held.take([(targets, arcs[1].astype(np.int64), arcs[2].astype(np.int32))])
        return held

    def __attrs_post_init__(self) -> None:
        """Take the memory."""
        self._begins = np.zeros(len(self.marks) + 1, dtype=np.int64)
        self._sources = np.empty(self.arcs, dtype=np.uint32)
        self._kinds = np.empty(self.arcs, dtype=np.uint8)

    def count(self, first: int, last: int, targets: npt.NDArray[np.int64]) -> None:
        """Reckon with arcs to these targets, which are among the states first..last-1; all, before any is taken."""
        self._begins[first + 1 : last + 1] += np.bincount(targets - first, minlength=last - first)

    def take(self, arcs: Iterable[Sequence[npt.NDArray[Any]]]) -> None:
        """Take the arcs: targets, sources (int64) and ways (int32).

        Raises:
            RuntimeError: when they are not those that were counted.
        """
        ends = np.cumsum(self._begins)
        if int(ends[-1]) != self.arcs:
            raise RuntimeError(f"{int(ends[-1]):,} of {self.arcs:,} arcs were counted")
        self._begins[1:] = ends[:-1]  # the place of the next arc of a state: in the end, where those of the next begin
        deal = made(emit_closure, self.marks.itemsize).function("deal", 7)
        for columns in arcs:
            targets, sources, ways = map(np.ascontiguousarray, columns)
            places = map(address, (targets, sources, ways, self._begins, self._sources, self._kinds))
            deal(*places, len(targets))
        if not np.array_equal(self._begins, ends):
            raise RuntimeError("the arcs that were taken are not those that were counted")

    def close(self, stopped: Callable[[], bool] = lambda: False) -> None:
        """Raise the marks until none can rise, or it is stopped: those of a source by those of its targets."""
        flowing = self.marks & np.bitwise_or.reduce(self.ways, initial=np.uint64(0)).astype(self.marks.dtype) != 0
        waiting, queue = flowing.view(np.uint8), np.empty(len(self.marks), dtype=np.uint32)
        first = np.flatnonzero(flowing)
        queue[: len(first)] = first
        control = np.array([0, len(first), len(self.marks)], dtype=np.int64)
        arrays = (control, queue, waiting, self._begins, self._sources, self._kinds, self.ways, self.marks)
        flow = made(emit_closure, self.marks.itemsize).function("flow", 9)
        while control[WAITING] and not stopped():
            flow(*map(address, arrays), AT_ONCE)


def emit_closure(mark_bytes: int) -> ir.Module:
    """The functions `deal` and `flow` for marks of so many bytes."""
    module = ir.Module("kraftcheck-closure")
    _emit_deal(module)
    _emit_flow(module, ir.IntType(8 * mark_bytes))
    return module


def _emit_deal(module: ir.Module) -> None:
    """`deal(targets, sources, ways, places, out_sources, out_ways, count) -> 0`: puts arcs where their targets say.

    The next arc to state t goes to `places[t + 1]`, which is counted up.
    """
    function, b = begin(module, "deal", [*[POINTER] * 6, WORD], public=True)
    targets, sources, ways, places, out_sources, out_ways, count = function.args
    with b.count(0, count) as k:
        at = b.add(b.get(targets, k), 1)
        place = b.get(places, at)
        b.put(b.trunc(b.get(sources, k), U32), out_sources, place, U32)
        b.put(b.trunc(b.get(ways, k, U32), BYTE), out_ways, place, BYTE)
        b.put(b.add(place, 1), places, at)
    b.ret(0)


def _emit_flow(module: ir.Module, mark: Any) -> None:
    """`flow(control, queue, waiting, begins, sources, ways, bits, marks, most) -> 0`: from so many states at most."""
    function, b = begin(module, "flow", [*[POINTER] * 8, WORD], public=True)
    control, queue, waiting, begins, sources, ways, bits, marks, most = function.args
    room, left = b.get(control, ROOM), b.local(most)
    head, count = b.local(b.get(control, HEAD)), b.local(b.get(control, WAITING))

    def whole(value: Any) -> Any:
        return value if value.type == WORD else b.zext(value, WORD)

    def at(place: Any) -> Any:
        beyond = b.icmp_unsigned(">=", place, room)
        return b.select(beyond, b.sub(place, room), place)

    def goes_on() -> Any:
        return b.and_(*(b.icmp_unsigned("!=", number.get(), 0) for number in (count, left)))

    with b.repeat(goes_on):
        with b.if_then(b.icmp_unsigned(">", count.get(), 2 * AHEAD)):
            later = whole(b.get(queue, at(b.add(head.get(), 2 * AHEAD)), U32))
            b.prefetch(b.at(begins, later))
            soon = b.get(begins, whole(b.get(queue, at(b.add(head.get(), AHEAD)), U32)))
            b.prefetch(b.at(sources, soon, U32))
            b.prefetch(b.at(ways, soon, BYTE))
        target = whole(b.get(queue, head.get(), U32))
        head.set(at(b.add(head.get(), 1)))
        count.add(-1)
        left.add(-1)
        b.put(ir.Constant(BYTE, 0), waiting, target, BYTE)
        has = whole(b.get(marks, target, mark))
        with b.count(b.get(begins, target), b.get(begins, b.add(target, 1))) as k:
            source = whole(b.get(sources, k, U32))
            old = whole(b.get(marks, source, mark))
            new = b.or_(old, b.and_(has, b.get(bits, whole(b.get(ways, k, BYTE)))))
            with b.if_then(b.icmp_unsigned("!=", new, old)):
                b.put(new if mark == WORD else b.trunc(new, mark), marks, source, mark)
                with b.if_then(b.icmp_unsigned("==", b.get(waiting, source, BYTE), ir.Constant(BYTE, 0))):
                    b.put(ir.Constant(BYTE, 1), waiting, source, BYTE)
                    b.put(b.trunc(source, U32), queue, at(b.add(head.get(), count.get())), U32)
                    count.add(1)
    b.put(head.get(), control, HEAD)
    b.put(count.get(), control, WAITING)
    b.ret(0)
