"""The kernel that takes marks of states backward along edges; it depends on no program.

Each state of a graph has a mark, a bit for each of some demands, and each edge a class, which says for what demands
it is a step. A mark has a bit once its state can reach, among the states that are kept, what the demand asks for.

It gets the bits of the marks that edges lead to, those which an edge is a step for that are enabled, and of the weak
ones those not enabled. States with all bits are passed over. Several threads may raise the marks of different states.

A watch loses the bits that a state lacks from which an edge leads there, once that was looked at. The guide of a
state that gets its last bits is one that an edge leads to, and whose mark alone gives it all bits, with the weak ones
that it has by itself; `UNGUIDED` where there is none.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from kraftcheck.solvers.machine_code.irtools import BYTE, POINTER, U32, WORD, Builder, begin
from kraftcheck.solvers.machine_code.objectcode import Library, object_code

ARRAYS = 9
"""Arrays of a graph's part that `raise_marks` works on."""

UNGUIDED = 0xFFFF_FFFF
"""The guide of a state that has none."""


def raise_marks(mark: int, kind: int) -> Callable[..., int]:
    """The function `raise` for marks and classes of so many bytes."""
    return _library(mark, kind).function("raise", 7)


@functools.lru_cache(maxsize=8)
def _library(mark: int, kind: int) -> Library:
    return Library(object_code(emit_raise(mark, kind)))


def emit_raise(mark: int, kind: int) -> ir.Module:
    """`raise(arrays, first, count, weak, full, down, late) -> marks that rose`, of the states first..first+count-1.

    `arrays` holds the addresses of: the place of the first edge of each of these states and the end of the last;
    target and class of each edge; for each class the bits that it is a step for; and by state its mark, whether it
    is kept, the bits of the demands whose steps it enables, its watch, and its guide (0 instead: none are noted).
    `late` has the least state whose mark has more than its watch, and the bits of all such.
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
