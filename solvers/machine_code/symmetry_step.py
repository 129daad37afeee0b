"""Symmetry reduction in the kernel: each successor is replaced by its canonical state."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from kraftcheck.solvers.machine_code.frame import FramePlan
from kraftcheck.solvers.machine_code.irtools import (
    POINTER,
    WORD,
    Local,
    begin,
    element,
    load,
    repeat,
    state_at,
    store,
    word,
)
from kraftcheck.solvers.machine_code.lower import Scope, pack, slot_reader
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.reduction import Reduction


def emit_canonical(module: ir.Module, program: Program, reduction: Reduction) -> Any:
    """`least(state) -> 0`: replace a packed state by the one that stands for it."""
    function, b = begin(module, "least", [POINTER], public=True)
    place = function.args[0]
    words = state_at(b, place, program.layout.words)
    scope = Scope(b, slot_reader(program.layout, program.state, words))
    for i, value in enumerate(pack(b, program.layout, program.state, reduction.canonical, words, scope)):
        store(b, value, place, i)
    b.ret(word(0))
    return function


def emit_reduced_step(module: ir.Module, program: Program, step: Any, canonical: Any) -> Any:
    """A function as `step`, whose successors are reduced."""
    function, b = begin(module, "reduced_step", [POINTER, POINTER, POINTER, WORD], POINTER)
    state, out, frame, identity = function.args
    end = b.call(step, [state, out, frame, identity])
    place = Local(b, out)
    with repeat(b, lambda: b.icmp_unsigned("!=", place.get(), end)):
        b.call(canonical, [place.get()])
        place.set(element(b, place.get(), program.layout.words + 1))
    b.ret(end)
    return function


def emit_inspect(module: ir.Module, plan: FramePlan, judge: Any, step: Any, deadlock: Any) -> None:
    """`inspect(state, out, frame) -> bytes`: the claims that occur in a state, and its successors without reduction."""
    function, b = begin(module, "inspect", [POINTER, POINTER, POINTER], public=True)
    state, out, frame = function.args
    b.call(judge, [state, frame, word(0)])
    store(b, word(0), frame, plan.enabled)
    end = b.call(step, [state, out, frame, word(0)])
    with b.if_then(b.icmp_unsigned("==", load(b, frame, plan.enabled), word(0))):
        b.call(deadlock, [state, frame, word(0)])
    b.ret(b.sub(b.ptrtoint(end, WORD), b.ptrtoint(out, WORD)))
