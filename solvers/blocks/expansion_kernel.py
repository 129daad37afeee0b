"""The kernel's expansion: the successors of states, in a set, or behind each other where a memo drops some of them."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from kraftcheck.solvers.blocks.expansion import MemoTable, emit_recall
from kraftcheck.solvers.blocks.tasks import COUNT, LIMIT, RECORDS
from kraftcheck.solvers.machine_code.irtools import POINTER, WORD, Builder, begin
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
    own = b.state(state, words)
    parent = b.shl(identity, 16)
    place, count = b.local(records), b.local(0)
    memo = MemoTable(b, control, words) if with_memo else None
    with b.repeat(lambda: b.icmp_unsigned("!=", place.get(), end)):
        at = place.get()
        values = b.state(at, words)
        mark = b.or_(b.get(at, words), parent)
        place.set(b.at(at, record))
        hashed = hash_words(b, values)
        if memo is not None:
            b.prefetch(memo.group(hashed), write=True)
        slot = b.and_(b.lshr(hashed, 32), geometry.filter_slots - 1)
        entry = b.at(recent, b.mul(slot, words))
        duplicate = b.or_(b.same(values, own), b.same(values, b.state(entry, words)))
        index = count.get()
        target = b.at(records, b.mul(index, record))
        for i, value in enumerate(values):
            b.put(value, entry, i)
            b.put(value, target, i)
        b.put(mark, target, words)
        b.put(hashed, hashes, index)
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
    limit = b.sub(b.get(control, LIMIT), geometry.instances)
    at = b.local(first)
    with b.repeat(lambda: b.icmp_unsigned("<", at.get(), stop)):
        with b.if_then(b.icmp_signed(">", b.get(control, COUNT), limit), likely=False):
            b.ret(at.get())
        state = b.at(states, b.mul(at.get(), geometry.words))
        own_identity = b.add(identity, at.get())
        end = _step_to(b, plan, (step, deadlock), state, own_identity, scratch, frame)
        count = b.call(sift, [state, own_identity, scratch, end, recent, hashes, memo])
        b.call(insert, [control, scratch, hashes, count])
        at.add(1)
    b.ret(at.get())


def _step_to(
    b: Builder, plan: FramePlan, functions: tuple[Any, Any], state: Any, identity: Any, scratch: Any, frame: Any
) -> Any:
    """Write the successors of a state, and note whether it has none; where they end."""
    step, deadlock = functions
    b.put(0, frame, plan.enabled)
    end = b.call(step, [state, scratch, frame, identity])
    with b.if_then(b.icmp_unsigned("==", b.get(frame, plan.enabled), 0), likely=False):
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
    limit = b.sub(b.get(control, LIMIT), 2 * geometry.instances + 1)
    records = b.inttoptr(b.get(control, RECORDS), POINTER)
    at, waiting, turn, size = b.local(first), b.local(0), b.local(0), geometry.instances + 1

    def scratch_of(number: Any) -> tuple[Any, Any]:
        own = b.mul(number, size)
        return b.at(scratch, b.mul(own, geometry.record)), b.at(hashes, own)

    def settle() -> None:
        count = b.get(control, COUNT)
        out = b.at(records, b.mul(count, geometry.record))
        kept = b.call(recall, [memo, *scratch_of(b.xor(turn.get(), 1)), waiting.get(), out])
        b.put(b.add(count, kept), control, COUNT)

    with b.repeat(lambda: b.icmp_unsigned("<", at.get(), stop)) as end:
        with b.if_then(b.icmp_signed(">", b.get(control, COUNT), limit), likely=False):
            b.branch(end)
        state = b.at(states, b.mul(at.get(), geometry.words))
        own_identity = b.add(identity, at.get())
        place, own_hashes = scratch_of(turn.get())
        last = _step_to(b, plan, (step, deadlock), state, own_identity, place, frame)
        count = b.call(sift, [state, own_identity, place, last, recent, own_hashes, memo])
        settle()
        waiting.set(count)
        turn.set(b.xor(turn.get(), 1))
        at.add(1)
    settle()
    b.ret(at.get())
