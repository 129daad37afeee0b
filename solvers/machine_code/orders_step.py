"""The reduction of orders in the kernel: which of a state's successors are followed.

A set of action instances is closed in a state where with each enabled instance it has all that depend on it, and with
each other instance all that write what one false conjunct of its guard reads. Whatever happens by steps outside of
such a set, its enabled instances stay as they are, and can be taken before instead of after. So it suffices to follow
them, if one of them is invisible and leads to a state that is not expanded yet. Otherwise all are followed.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from kraftcheck.solvers.machine_code.irtools import (
    POINTER,
    TRUTH,
    WORD,
    Local,
    begin,
    bump,
    count_up,
    element,
    load,
    repeat,
    state_at,
    store,
    word,
)
from kraftcheck.solvers.machine_code.lower import Scope, slot_reader
from kraftcheck.solvers.machine_code.visited_table import hash_words, shard_of_hash
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.search.orders.plan import Orders

CONTROLS, ENDS, ROWS, FIRSTS, PARTS, HIDDEN, WORK, REDUCED, LEFT_OUT = range(9)
"""Entries of a block of orders: addresses of the shards' control blocks, of the number of states of each shard up to
the end of the level, of the sets, of each instance's first conjunct, of the conjuncts, of the set of invisible
instances, of room for `work_words` words; then how many states were reduced, and how many successors left out."""

BLOCK_WORDS = 9

SETS = 5
"""Sets in the room of a thread: taken, good, closed, waiting, best."""


def work_words(orders: Orders) -> int:
    """Words of room that one thread needs: sets, the truth of each conjunct, the row of each instance."""
    return SETS * orders.words + len(orders.conjuncts) + orders.instances


def emit_select(module: ir.Module, program: Program, orders: Orders, seek: Any, shards: int) -> Any:
    """`select(state, out, end, block) -> end`: keep the successors to follow of those from out to end, in order."""
    size, count = program.layout.words + 1, orders.words
    rows, close = _emit_rows(module, program, orders), _emit_close(module, orders)
    is_new = _emit_is_new(module, program, seek, shards)
    function, b = begin(module, "select", [POINTER] * 4, POINTER)
    state, out, end, block = function.args
    taken, good, closed, _, best = _sets(b, block, orders)
    hidden = _part(b, block, HIDDEN)
    total = b.udiv(b.sub(b.ptrtoint(end, WORD), b.ptrtoint(out, WORD)), word(8 * size))
    with b.if_then(b.icmp_unsigned("<", total, word(2))):
        b.ret(end)
    for n in range(2 * count):
        store(b, word(0), taken, n)
    some = Local(b, word(0))
    with count_up(b, word(0), total) as number:
        record = element(b, out, b.mul(number, word(size)))
        instance = load(b, record, size - 1)
        _add(b, taken, instance)
        with b.if_then(_has(b, hidden, instance)), b.if_then(b.trunc(b.call(is_new, [record, block]), TRUTH)):
            _add(b, good, instance)
            some.set(word(1))
    with b.if_then(b.icmp_unsigned("==", some.get(), word(0))):
        b.ret(end)
    b.call(rows, [state, block])
    least = Local(b, total)
    with count_up(b, word(0), word(count)) as place:
        pending = Local(b, load(b, good, place))
        with repeat(b, lambda: b.icmp_unsigned("!=", pending.get(), word(0))):
            seed = b.add(b.mul(place, word(64)), b.cttz(pending.get(), ir.Constant(TRUTH, 1)))
            pending.set(b.and_(pending.get(), b.sub(pending.get(), word(1))))
            followed = b.call(close, [seed, block])
            with b.if_then(b.icmp_unsigned("<", followed, least.get())):
                least.set(followed)
                for n in range(count):
                    store(b, load(b, closed, n), best, n)
    with b.if_then(b.icmp_unsigned("==", least.get(), total)):
        b.ret(end)
    bump(b, block, REDUCED, word(1))
    bump(b, block, LEFT_OUT, b.sub(total, least.get()))
    to = Local(b, out)
    with count_up(b, word(0), total) as number:
        record = element(b, out, b.mul(number, word(size)))
        follows = _has(b, best, load(b, record, size - 1))
        for n, value in enumerate(state_at(b, record, size)):
            store(b, value, to.get(), n)
        to.set(b.select(follows, element(b, to.get(), size), to.get()))
    b.ret(to.get())
    return function


def _emit_rows(module: ir.Module, program: Program, orders: Orders) -> Any:
    """`(state, block)`: find the row of each instance: its own where it is enabled, else that of a false conjunct."""
    function, b = begin(module, "rows_of_instances", [POINTER, POINTER])
    state, block = function.args
    words = state_at(b, state, program.layout.words)
    scope = Scope(b, slot_reader(program.layout, orders.state, words))
    truths, numbers = _truths(b, block, orders), _numbers(b, block, orders)
    for n, conjunct in enumerate(orders.conjuncts):
        store(b, b.zext(scope.value(conjunct), WORD), truths, n)
    firsts, parts = _part(b, block, FIRSTS), _part(b, block, PARTS)
    with count_up(b, word(0), word(orders.instances)) as instance:
        row, at = Local(b, instance), Local(b, load(b, firsts, instance))
        stop = load(b, firsts, b.add(instance, word(1)))
        with repeat(b, lambda: b.icmp_unsigned("<", at.get(), stop)):
            part = load(b, parts, at.get())
            at.add(word(1))
            with b.if_then(b.icmp_unsigned("==", load(b, truths, part), word(0))):
                row.set(b.add(part, word(orders.instances)))
                at.set(stop)
        store(b, row.get(), numbers, instance)
    b.ret(word(0))
    return function


def _emit_close(module: ir.Module, orders: Orders) -> Any:
    """`(seed, block) -> successors`: make the smallest closed set with an instance; how many successors it follows."""
    count = orders.words
    function, b = begin(module, "close", [WORD, POINTER])
    seed, block = function.args
    taken, _, closed, waiting, _ = _sets(b, block, orders)
    rows, numbers = _part(b, block, ROWS), _numbers(b, block, orders)
    for n in range(count):
        store(b, word(0), closed, n)
        store(b, word(0), waiting, n)
    _add(b, waiting, seed)
    more = Local(b, word(1))
    with repeat(b, lambda: b.icmp_unsigned("!=", more.get(), word(0))):
        more.set(word(0))
        with count_up(b, word(0), word(count)) as place:
            pending = load(b, waiting, place)
            with b.if_then(b.icmp_unsigned("!=", pending, word(0))):
                more.set(word(1))
                bit = b.cttz(pending, ir.Constant(TRUTH, 1))
                instance = b.add(b.mul(place, word(64)), bit)
                _add(b, closed, instance)
                row = element(b, rows, b.mul(load(b, numbers, instance), word(count)))
                with count_up(b, word(0), word(count)) as n:
                    joined = b.or_(load(b, waiting, n), load(b, row, n))
                    store(b, b.and_(joined, b.not_(load(b, closed, n))), waiting, n)
    followed = Local(b, word(0))
    with count_up(b, word(0), word(count)) as n:
        followed.add(b.ctpop(b.and_(load(b, closed, n), load(b, taken, n))))
    b.ret(followed.get())
    return function


def _emit_is_new(module: ir.Module, program: Program, seek: Any, shards: int) -> Any:
    """`(state, block) -> truth`: whether a state is not visited yet, or is of the next level: it is expanded later."""
    function, b = begin(module, "is_new", [POINTER, POINTER])
    state, block = function.args
    shard = shard_of_hash(b, hash_words(b, state_at(b, state, program.layout.words)), shards)
    control = b.inttoptr(load(b, _part(b, block, CONTROLS), shard), POINTER)
    found = b.call(seek, [control, state])
    end = load(b, _part(b, block, ENDS), shard)
    later = b.or_(b.icmp_unsigned("==", found, word(0)), b.icmp_unsigned(">", found, end))
    b.ret(b.zext(later, WORD))
    return function


def _part(b: ir.IRBuilder, block: Any, entry: int) -> Any:
    return b.inttoptr(load(b, block, entry), POINTER)


def _sets(b: ir.IRBuilder, block: Any, orders: Orders) -> list[Any]:
    work = _part(b, block, WORK)
    return [element(b, work, n * orders.words) for n in range(SETS)]


def _truths(b: ir.IRBuilder, block: Any, orders: Orders) -> Any:
    return element(b, _part(b, block, WORK), SETS * orders.words)


def _numbers(b: ir.IRBuilder, block: Any, orders: Orders) -> Any:
    return element(b, _part(b, block, WORK), SETS * orders.words + len(orders.conjuncts))


def _add(b: ir.IRBuilder, members: Any, instance: Any) -> None:
    """Add an instance to a set."""
    place = b.lshr(instance, word(6))
    bit = b.shl(word(1), b.and_(instance, word(63)))
    store(b, b.or_(load(b, members, place), bit), members, place)


def _has(b: ir.IRBuilder, members: Any, instance: Any) -> Any:
    """Whether an instance is in a set."""
    bits = load(b, members, b.lshr(instance, word(6)))
    return b.trunc(b.lshr(bits, b.and_(instance, word(63))), TRUTH)
