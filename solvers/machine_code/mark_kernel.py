"""The kernel that takes marks of states backward along edges; it depends on no program.

Each state of a graph has a mark, a bit for each of some demands, and each edge a class, which says for what demands
it is a step. A mark has a bit once its state can reach, among the states that are kept, what the demand asks for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from kraftcheck.solvers.machine_code.irtools import (
    BYTE,
    POINTER,
    U32,
    WORD,
    Local,
    begin,
    count_up,
    element,
    load,
    repeat,
    word,
)
from kraftcheck.solvers.machine_code.objectcode import Library, object_code

ARRAYS = 7
"""Arrays of a graph's part that `raise_marks` works on."""


def raise_marks(mark: int, kind: int) -> Callable[..., int]:
    """The function `raise` for marks and classes of so many bytes."""
    return _library(mark, kind).function("raise", 6)


@functools.lru_cache(maxsize=8)
def _library(mark: int, kind: int) -> Library:
    return Library(object_code(emit_raise(mark, kind)))


def emit_raise(mark: int, kind: int) -> ir.Module:
    """`raise(arrays, first, count, weak, full, down) -> marks that rose`, of the states first..first+count-1.

    `arrays` holds the addresses of: the place of the first edge of each of these states and the end of the last;
    target and class of each edge; for each class the bits that it is a step for; and by state its mark, whether it
    is kept, and the bits of the demands whose steps it enables. A mark gets the bits of the marks that edges lead
    to, those which an edge is a step for that are enabled, and of the `weak` ones those not enabled. States with
    all bits of `full` are passed over. Several threads may raise the marks of different states at once.
    """
    module = ir.Module("kraftcheck-marks")
    function, b = begin(module, "raise", [POINTER, *[WORD] * 5], public=True)
    arrays, first, count, weak, full, down = function.args
    starts, targets, kinds, table, marks, kept, enabled = (
        b.inttoptr(load(b, arrays, n), POINTER) for n in range(ARRAYS)
    )
    bits, classes = ir.IntType(8 * mark), ir.IntType(8 * kind)

    def widened(value: Any) -> Any:
        return b.zext(value, WORD)

    def mark_of(state: Any) -> Any:
        return widened(b.load_atomic(element(b, marks, state, bits), "monotonic", mark, typ=bits))

    changed = Local(b, word(0))
    with count_up(b, word(0), count) as step:
        row = b.select(b.icmp_unsigned("==", down, word(0)), step, b.sub(b.sub(count, word(1)), step))
        state = b.add(first, row)
        old, reached, taken = mark_of(state), Local(b, word(0)), Local(b, word(0))
        waits = b.and_(_is_kept(b, kept, state), b.icmp_unsigned("!=", old, full))
        with b.if_then(waits):
            end, at = widened(load(b, starts, b.add(row, word(1)), U32)), Local(b, widened(load(b, starts, row, U32)))
            with repeat(b, lambda: b.icmp_unsigned("<", at.get(), end)):
                target = widened(load(b, targets, at.get(), U32))
                with b.if_then(_is_kept(b, kept, target)):
                    reached.set(b.or_(reached.get(), mark_of(target)))
                    steps = load(b, table, widened(load(b, kinds, at.get(), classes)), bits)
                    taken.set(b.or_(taken.get(), widened(steps)))
                at.add(word(1))
            own = widened(load(b, enabled, state, bits))
            rests = b.and_(weak, b.not_(own))
            new = b.or_(b.or_(reached.get(), rests), b.and_(taken.get(), own))
            new = b.or_(old, b.and_(new, full))
            with b.if_then(b.icmp_unsigned("!=", new, old)):
                b.atomic_rmw("or", element(b, marks, state, bits), b.trunc(new, bits), "monotonic")
                changed.add(word(1))
    b.ret(changed.get())
    return module


def _is_kept(b: ir.IRBuilder, kept: Any, state: Any) -> Any:
    return b.icmp_unsigned("!=", load(b, kept, state, BYTE), ir.Constant(BYTE, 0))
