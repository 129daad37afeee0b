"""The kernel's expansion: the successors of states, in a set, or behind each other where a memo drops some of them."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from kraftcheck.solvers.blocks.expansion import MemoTable, emit_recall
from kraftcheck.solvers.blocks.tasks import COUNT, LIMIT, RECORDS
from kraftcheck.solvers.machine_code.irtools import (
    POINTER,
    WORD,
    Local,
    begin,
    element,
    load,
    prefetch,
    repeat,
    same_words,
    state_at,
    store,
    word,
)
from kraftcheck.solvers.machine_code.search_kernel import Geometry
from kraftcheck.solvers.machine_code.transition import FramePlan
from kraftcheck.solvers.machine_code.visited_table import hash_words


def _emit_sift(module: ir.Module, geometry: Geometry, *, with_memo: bool) -> Any:
    """`(state, id, records, end, filter, hashes, memo) -> count`: marks, hashes, and what the filter does not drop.

    Drops a successor that is the state itself, or that the filter of this
    task's recent successors holds; the rest is moved to the front. Asks for
    the entries of the memo, if there is one.
    """
    words, record = geometry.words, geometry.record
    name = f"sift{'_for_memo' * with_memo}"
    function, b = begin(module, name, [POINTER, WORD, *[POINTER] * 5])
    state, identity, records, end, recent, hashes, control = function.args
    own = state_at(b, state, words)
    parent = b.shl(identity, word(16))
    place, count = Local(b, records), Local(b, word(0))
    memo = MemoTable(b, control, words) if with_memo else None
    with repeat(b, lambda: b.icmp_unsigned("!=", place.get(), end)):
        at = place.get()
        values = state_at(b, at, words)
        mark = b.or_(load(b, at, words), parent)
        place.set(element(b, at, record))
        hashed = hash_words(b, values)
        if memo is not None:
            prefetch(b, memo.group(hashed), write=True)
        slot = b.and_(b.lshr(hashed, word(32)), word(geometry.filter_slots - 1))
        entry = element(b, recent, b.mul(slot, word(words)))
        duplicate = b.or_(same_words(b, values, own), same_words(b, values, state_at(b, entry, words)))
        index = count.get()
        target = element(b, records, b.mul(index, word(record)))
        for i, value in enumerate(values):
            store(b, value, entry, i)
            store(b, value, target, i)
        store(b, mark, target, words)
        store(b, hashed, hashes, index)
        count.set(b.add(index, b.zext(b.not_(duplicate), WORD)))
    b.ret(count.get())
    return function


def emit_expand(module: ir.Module, plan: FramePlan, geometry: Geometry, step: Any, deadlock: Any, insert: Any) -> None:
    """`expand(frame, states, first, stop, id, control, filter, memo, scratch, hashes) -> next`.

    Puts the successors of states[first..stop-1] into the set; the id of
    states[i] is id + i. Returns early, with the index of the next state, when
    the set might not hold another state's successors. There is no memo.
    """
    sift = _emit_sift(module, geometry, with_memo=False)
    function, b = begin(module, "expand", [POINTER, POINTER, WORD, WORD, WORD, *[POINTER] * 5], public=True)
    frame, states, first, stop, identity, control, recent, memo, scratch, hashes = function.args
    limit = b.sub(load(b, control, LIMIT), word(geometry.instances))
    at = Local(b, first)
    with repeat(b, lambda: b.icmp_unsigned("<", at.get(), stop)):
        with b.if_then(b.icmp_signed(">", load(b, control, COUNT), limit), likely=False):
            b.ret(at.get())
        state = element(b, states, b.mul(at.get(), word(geometry.words)))
        own_identity = b.add(identity, at.get())
        end = _step_to(b, plan, (step, deadlock), state, own_identity, scratch, frame)
        count = b.call(sift, [state, own_identity, scratch, end, recent, hashes, memo])
        b.call(insert, [control, scratch, hashes, count])
        at.add(word(1))
    b.ret(at.get())


def _step_to(
    b: ir.IRBuilder, plan: FramePlan, functions: tuple[Any, Any], state: Any, identity: Any, scratch: Any, frame: Any
) -> Any:
    """Write the successors of a state, and note whether it has none; where they end."""
    step, deadlock = functions
    store(b, word(0), frame, plan.enabled)
    end = b.call(step, [state, scratch, frame, identity])
    with b.if_then(b.icmp_unsigned("==", load(b, frame, plan.enabled), word(0)), likely=False):
        b.call(deadlock, [state, frame, identity])
    return end


def emit_expand_with_memo(module: ir.Module, plan: FramePlan, geometry: Geometry, step: Any, deadlock: Any) -> None:
    """`expand_with_memo(frame, states, first, stop, id, control, filter, memo, scratch, hashes) -> next`.

    As `expand`, but what the memo does not drop is put behind the records that are there. The successors of a state
    meet the memo when those of the next have been made: meanwhile its entries come near. So there are two
    scratches, and places for hashes.
    """
    sift, recall = _emit_sift(module, geometry, with_memo=True), emit_recall(module, geometry.words)
    parameters = [POINTER, POINTER, WORD, WORD, WORD, *[POINTER] * 5]
    function, b = begin(module, "expand_with_memo", parameters, public=True)
    frame, states, first, stop, identity, control, recent, memo, scratch, hashes = function.args
    limit = b.sub(load(b, control, LIMIT), word(2 * geometry.instances + 1))
    records = b.inttoptr(load(b, control, RECORDS), POINTER)
    at, waiting, turn, size = Local(b, first), Local(b, word(0)), Local(b, word(0)), geometry.instances + 1

    def scratch_of(number: Any) -> tuple[Any, Any]:
        own = b.mul(number, word(size))
        return element(b, scratch, b.mul(own, word(geometry.record))), element(b, hashes, own)

    def settle() -> None:
        count = load(b, control, COUNT)
        out = element(b, records, b.mul(count, word(geometry.record)))
        kept = b.call(recall, [memo, *scratch_of(b.xor(turn.get(), word(1))), waiting.get(), out])
        store(b, b.add(count, kept), control, COUNT)

    with repeat(b, lambda: b.icmp_unsigned("<", at.get(), stop)) as end:
        with b.if_then(b.icmp_signed(">", load(b, control, COUNT), limit), likely=False):
            b.branch(end)
        state = element(b, states, b.mul(at.get(), word(geometry.words)))
        own_identity = b.add(identity, at.get())
        place, own_hashes = scratch_of(turn.get())
        last = _step_to(b, plan, (step, deadlock), state, own_identity, place, frame)
        count = b.call(sift, [state, own_identity, place, last, recent, own_hashes, memo])
        settle()
        waiting.set(count)
        turn.set(b.xor(turn.get(), word(1)))
        at.add(word(1))
    settle()
    b.ret(at.get())
