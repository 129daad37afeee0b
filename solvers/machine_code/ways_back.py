"""The steps by which marks of `recovers` properties flow backward, and the marks that states have by themselves.

A mark has three groups of n bits for n properties: *reaches* (a state that satisfies the claim can be reached),
*leaves* (a transition goes where the exploration did not), and *concerned* (the claim is about this state). The first
two flow backward.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from attrs import evolve
from llvmlite import ir

from kraftcheck.solvers.machine_code.graph_kernels import OUTSIDE, emit_connect
from kraftcheck.solvers.machine_code.irtools import POINTER, WORD, Builder, begin, word
from kraftcheck.solvers.machine_code.transition import FramePlan, KindFunction, state_scope
from kraftcheck.solvers.program.program import Kind, Program, mark_bytes


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


def emit_ways_back(
    module: ir.Module, plan: FramePlan, kinds: Sequence[tuple[Kind, Any]], shards: int, canonical: Any
) -> None:
    """The functions `survey` and `ways_back` of a program with `recovers` properties.

    `ways_back` is as `emit_connect` says: of a state those steps are wanted by which missing bits may flow back, its
    cut bits are "leaves", and what is not visited is `OUTSIDE`.
    """
    emit_survey(module, plan.program)
    follow = emit_follow(module, plan, kinds, len(plan.program.recovers))

    def by_missing(b: Builder, *words: Any) -> Any:
        return b.call(follow, words)

    emit_connect(module, plan.program, "ways_back", by_missing, shards, canonical, OUTSIDE)


def emit_survey(module: ir.Module, program: Program) -> None:
    """`survey(states, marks, count) -> count`: set marks from their states alone."""
    n, mark = len(program.recovers), ir.IntType(8 * mark_bytes(len(program.recovers)))
    function, b = begin(module, "survey", [POINTER, POINTER, WORD], public=True)
    states, marks, count = function.args
    with b.count(0, count) as index:
        scope = state_scope(b, program, b.at(states, b.mul(index, program.layout.words)))
        bits: Any = word(0)
        for number, recovers in enumerate(program.recovers):
            bits = b.or_(bits, b.shl(b.zext(scope.value(recovers.goal), WORD), number))
            bits = b.or_(bits, b.shl(b.zext(scope.value(recovers.when), WORD), 2 * n + number))
        b.put(bits if mark == WORD else b.trunc(bits, mark), marks, index, mark)
    b.ret(count)


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
