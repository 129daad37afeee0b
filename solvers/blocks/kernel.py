"""The kernel of a distributed search: LLVM functions that its tasks run on blocks of states.

Unlike the native kernel it knows nothing of a visited set: expansion fills a
set of candidates without duplicates, and a candidate is new when no committed
level holds it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from llvmlite import ir

from kraftcheck.solvers.blocks import expansion, tasks, visited
from kraftcheck.solvers.blocks.expansion import emit_expand, emit_expand_with_memo
from kraftcheck.solvers.blocks.tasks import (
    CLAIMS_PER_WORD,
    BlockSpec,
    emit_find,
    emit_gather,
    emit_insert,
    emit_scatter,
)
from kraftcheck.solvers.blocks.visited import emit_compact_set, other_bytes
from kraftcheck.solvers.machine_code.compile import cache_key
from kraftcheck.solvers.machine_code.graph_kernels import cut_bits, emit_appraise, forget_cuts, truth_words
from kraftcheck.solvers.machine_code.irtools import POINTER, WORD, Builder, begin, word
from kraftcheck.solvers.machine_code.objectcode import CodeTarget, ObjectCache, host, object_code
from kraftcheck.solvers.machine_code.search_kernel import Geometry
from kraftcheck.solvers.machine_code.transition import FramePlan, emit_deadlock, emit_kinds, emit_step, state_scope
from kraftcheck.solvers.machine_code.ways_back import emit_follow, emit_survey
from kraftcheck.solvers.program.program import Program, mark_bytes, recovery_action_bits


def claim_words(program: Program) -> int:
    """Words of claim bits of a state; at least one."""
    return max(1, -(-(len(program.always) + len(program.sometimes)) // CLAIMS_PER_WORD))


def emit_block_kernel(program: Program) -> ir.Module:
    """The module of a program; its public functions are described where they are called, in `blocks`."""
    module = ir.Module("kraftcheck-blocks")
    plan, geometry = FramePlan(program), Geometry.of(program)
    kinds = emit_kinds(module, plan)
    step = emit_step(module, kinds)
    insert = emit_insert(module, geometry.words)
    deadlock = emit_deadlock(module, plan)
    emit_expand(module, plan, geometry, step, deadlock, insert)
    emit_expand_with_memo(module, plan, geometry, step, deadlock)
    emit_gather(module, geometry.words, insert)
    emit_find(module, geometry.words)
    emit_scatter(module, geometry.words)
    emit_compact_set(module, program.layout)
    _emit_bits(module, program)
    _emit_steps(module, plan, geometry, step)
    if program.recovers:
        emit_survey(module, program)
        _emit_exits(module, geometry, emit_follow(module, plan, kinds, len(program.recovers)))
    if program.liveness.claims:
        emit_appraise(module, program)
    return module


def _emit_bits(module: ir.Module, program: Program) -> None:
    """`bits(records, count, stride, out) -> 0`: for each state the claims about states that occur, as bits."""
    function, b = begin(module, "bits", [POINTER, WORD, WORD, POINTER], public=True)
    records, count, stride, out = function.args
    words = claim_words(program)
    with b.count(0, count) as k:
        scope = state_scope(b, program, b.at(records, b.mul(k, stride)))
        occur = [b.not_(scope.value(term)) for term in program.always_terms]
        occur += [scope.value(term) for term in program.sometimes_terms]
        for at in range(words):
            bits: Any = word(0)
            for position, occurs in enumerate(occur[at * CLAIMS_PER_WORD : (at + 1) * CLAIMS_PER_WORD]):
                bits = b.or_(bits, b.shl(b.zext(occurs, WORD), position))
            b.put(bits, out, b.add(b.mul(k, words), at))
    b.ret(0)


def _emit_steps(module: ir.Module, plan: FramePlan, geometry: Geometry, step: Any) -> None:
    """`steps(states, count, frame, out, counts, cuts) -> records`: every transition, as `_emit_each` says.

    Of each state the cut bits too.
    """

    def of_state(b: Builder, k: Any, state: Any, place: Any, frame: Any, cuts: Any) -> Any:
        forget_cuts(b, plan, frame)
        end = b.call(step, [state, place, frame, 0])
        b.put(cut_bits(b, plan, frame), cuts, k)
        return end

    _emit_each(module, geometry, "steps", 1, of_state)


def _emit_exits(module: ir.Module, geometry: Geometry, follow: Any) -> None:
    """`exits(states, count, frame, out, counts, leaves, missing) -> records`: the transitions that matter backward.

    Those by which a missing bit "reaches" may flow back to the state, and of each state its bits "leaves".
    """

    def of_state(b: Builder, k: Any, state: Any, place: Any, frame: Any, leaves: Any, missing: Any) -> Any:
        return b.call(follow, [state, place, frame, b.get(missing, k), b.at(leaves, k)])

    _emit_each(module, geometry, "exits", 2, of_state)


def _emit_each(module: ir.Module, geometry: Geometry, name: str, more: int, of_state: Callable[..., Any]) -> None:
    """`name(states, count, frame, out, counts, more...) -> records`: records of each state, and how many it has."""
    function, b = begin(module, name, [POINTER, WORD, *[POINTER] * (3 + more)], public=True)
    states, count, frame, out, counts, *others = function.args
    place, size = b.local(out), 8 * geometry.record
    with b.count(0, count) as k:
        first = place.get()
        end = of_state(b, k, b.at(states, b.mul(k, geometry.words)), first, frame, *others)
        b.put(b.udiv(b.sub(b.ptrtoint(end, WORD), b.ptrtoint(first, WORD)), size), counts, k)
        place.set(end)
    b.ret(b.udiv(b.sub(b.ptrtoint(place.get(), WORD), b.ptrtoint(out, WORD)), size))


def block_spec(
    program: Program, bucket_bits: int, cache: ObjectCache, target: CodeTarget | None = None,
    on_compile: Callable[[], None] = lambda: None,
) -> BlockSpec:  # fmt: skip
    """The spec of a program for workers: object code, from the cache if it is there, and sizes.

    Args:
        target: the workers' processor; None: this machine's.
        on_compile: called before code is compiled that the cache does not have.
    """
    processor = target or host()
    text = hashlib.sha256(f"{cache_key(program)} blocks {processor}".encode())
    for source in (tasks, expansion, visited):
        text.update(Path(str(source.__file__)).read_bytes())
    text.update(Path(__file__).read_bytes())
    key = text.hexdigest()
    code = cache.get(key)
    if code is None:
        on_compile()
        code = object_code(emit_block_kernel(program), processor)
        cache.put(key, code)
    plan, geometry = FramePlan(program), Geometry.of(program)
    return BlockSpec(
        code, processor, geometry.words, geometry.instances, geometry.filter_slots, frame=plan.size,
        claim_words=claim_words(program),
        bucket_bits=bucket_bits, recovers=len(program.recovers), mark_bytes=mark_bytes(len(program.recovers)),
        flows=recovery_action_bits(program.recovers, program.instances),
        truth_words=truth_words(program), other_bytes=other_bytes(program.layout),
    )  # fmt: skip
