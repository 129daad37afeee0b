"""The transition relation as LLVM functions: one for each action kind, one for the claims about a state.

Every function here takes packed states. A kind's function works in two
passes over the argument table: the guards of up to 64 instances give a mask,
then the effect is computed for each bit of it. Terms of the state alone are
computed outside the loops; those of the effect only when some guard holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import field, frozen
from llvmlite import ir

from kraftcheck.model.language.layout import cap_of
from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.machine_code.irtools import POINTER, TRUTH, WORD, Builder, Local, begin, word
from kraftcheck.solvers.machine_code.lower import PathValues, depends_on, pack, slot_reader
from kraftcheck.solvers.program.evaluation import closure
from kraftcheck.solvers.program.program import Kind, Program
from kraftcheck.solvers.program.trace import Pruning

Words: TypeAlias = npt.NDArray[np.uint64]

NO_ACTION = 0xFFFF  # the instance number of what no action led to: initial states, claims about a state

CONJUNCTS_PER_WORD = 64


def live_kinds(program: Program) -> list[tuple[int, Kind]]:
    """The kinds that have instances, with their positions."""
    return [(number, kind) for number, kind in enumerate(program.kinds) if kind.instances]


@frozen
class Crossing:
    """A bound of a field's domain that transitions of a kind may cross: the intervals of terms do not exclude it."""

    # kind, slot: which, by number
    kind: int
    slot: int
    above: bool  # whether it is the upper bound


def crossings(program: Program) -> Iterator[Crossing]:
    """Every crossing of a program, by kind, slot and side."""
    for number, kind in enumerate(program.kinds):
        for slot in kind.unchecked:
            domain, after = program.layout.slots[slot].domain, kind.after[slot]
            if after.lo < domain.lo:
                yield Crossing(number, slot, above=False)
            if after.hi > domain.hi:
                yield Crossing(number, slot, above=True)


@frozen
class FramePlan:
    """Offsets of the parts of a frame."""

    program: Program
    # shard, index: where expansion resumes when a buffer is full
    shard: int = field(init=False, default=0)
    index: int = field(init=False, default=1)
    enabled: int = field(init=False, default=2)  # nonzero when the current state has an enabled instance
    # nonzero when a claim was recorded in this piece; a bit of its own for each of the first goals
    claim_found: int = field(init=False, default=3)
    # for each claim (always, sometimes, deadlock, step, happens) 0, or 1 + the mark (state id << 16 | instance) of the
    # first occurrence
    claims: int = field(init=False, default=4)
    fired: int = field(init=False)  # transitions taken, for each kind
    pruned: int = field(init=False)  # transitions cut because they left a domain, for each of `crossings`
    covered: tuple[int, ...] = field(init=False)  # for each kind the first of its words "ever true", then "ever false"
    size: int = field(init=False)
    crossings: tuple[Crossing, ...] = field(init=False)  # the bounds that transitions may cross

    def __attrs_post_init__(self) -> None:
        """Lay the parts out one after the other."""
        p = self.program
        fired = self.claims + self.claim_count
        pruned = fired + len(p.kinds)
        bounds = tuple(crossings(p))
        at = pruned + len(bounds)
        covered = []
        for kind in p.kinds:
            covered.append(at)
            at += 2 * self.coverage_words(kind)
        parts = {"fired": fired, "pruned": pruned, "covered": tuple(covered), "size": at, "crossings": bounds}
        for name, value in parts.items():
            object.__setattr__(self, name, value)

    def crossings_of(self, kind: int) -> list[tuple[int, Crossing]]:
        """The crossings by transitions of a kind, by its number, each with the place of its counter."""
        return [(self.pruned + n, crossing) for n, crossing in enumerate(self.crossings) if crossing.kind == kind]

    def slots_left(self, counters: npt.NDArray[np.int64]) -> frozenset[int]:
        """The slots whose domain some transition left, by a frame."""
        return frozenset(
            crossing.slot for number, crossing in enumerate(self.crossings) if counters[self.pruned + number]
        )

    def join(self, frames: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Frames (one a row) as one: counts added, coverage bits joined, of each claim the smallest mark."""
        joined: npt.NDArray[np.int64] = frames.sum(axis=0)
        covered = slice(self.pruned + len(self.crossings), self.size)
        joined[covered] = np.bitwise_or.reduce(frames[:, covered], axis=0)
        claims = slice(self.claims, self.claims + self.claim_count)
        marks = frames[:, claims]
        smallest = np.where(marks == 0, np.iinfo(np.int64).max, marks).min(axis=0)
        joined[claims] = np.where(marks.any(axis=0), smallest, 0)
        return joined

    @staticmethod
    def coverage_words(kind: Kind) -> int:
        """Words that hold one bit for each guard conjunct."""
        return -(-len(kind.guard) // CONJUNCTS_PER_WORD)

    @property
    def claim_count(self) -> int:
        """Number of claims: properties and deadlock."""
        p = self.program
        return len(p.always) + len(p.sometimes) + 1 + len(p.steps) + len(p.happens)

    @property
    def deadlock(self) -> int:
        """Number of the built-in deadlock claim."""
        return len(self.program.always) + len(self.program.sometimes)

    @property
    def first_step(self) -> int:
        """Number of the first step property's claim; `happens` goals follow the step properties."""
        return self.deadlock + 1

    @property
    def goals(self) -> frozenset[int]:
        """Numbers of the goals: claims that have to occur."""
        p = self.program
        happens = self.first_step + len(p.steps)
        return frozenset((*range(len(p.always), self.deadlock), *range(happens, happens + len(p.happens))))

    @property
    def goal_bits(self) -> dict[int, int]:
        """Of the first goals, by number, the bit of `claim_found` that says that they were recorded in this piece."""
        return dict(zip(sorted(self.goals), range(1, 64), strict=False))


def record_claim(b: Builder, plan: FramePlan, frame: Any, claim: int, occurs: Any, mark: Any) -> None:
    """Record the first occurrence of a claim in this expansion."""
    place = plan.claims + claim
    fresh = b.and_(occurs, b.icmp_unsigned("==", b.get(frame, place), 0))
    with b.if_then(fresh):
        b.put(b.add(mark, 1), frame, place)
        bit = 1 << plan.goal_bits.get(claim, 0)
        b.put(b.or_(b.get(frame, plan.claim_found), bit), frame, plan.claim_found)


def record_claims(b: Builder, plan: FramePlan, frame: Any, first: int, occur: Sequence[Any], mark: Any) -> None:
    """Record those of consecutive claims that occur; one branch when none does."""
    if not occur:
        return
    some = occur[0]
    for occurs in occur[1:]:
        some = b.or_(some, occurs)
    with b.if_then(some, likely=False):
        for offset, occurs in enumerate(occur):
            record_claim(b, plan, frame, first + offset, occurs, mark)


def record_goals(
    b: Builder,
    plan: FramePlan,
    frame: Any,
    first: int,
    scope: PathValues,
    terms: Sequence[Term],
    shown: bool,
    mark: Any,
) -> None:
    """Record those of consecutive goals that occur; only the terms of those are computed that this piece has not.

    Args:
        terms: of each goal the truth that it occurs, or that it does not.
        shown: which of the two.
    """
    bits = {claim: 1 << plan.goal_bits.get(claim, 0) for claim in range(first, first + len(terms))}
    if not bits:
        return
    every = word(sum({bit for bit in bits.values() if bit > 1}))
    missing = b.icmp_unsigned("!=", b.and_(b.get(frame, plan.claim_found), every), every)
    with b.if_then(missing if 1 not in bits.values() else ir.Constant(TRUTH, 1), likely=False):
        for (claim, bit), term in zip(bits.items(), terms, strict=True):
            recorded = b.and_(b.get(frame, plan.claim_found), bit if bit > 1 else 0)
            with b.if_then(b.icmp_unsigned("==", recorded, 0)):
                value = scope.child().value(term)
                record_claim(b, plan, frame, claim, value if shown else b.not_(value), mark)


def state_mark(b: Builder, identity: Any) -> Any:
    """The mark of a claim about a state."""
    return b.or_(b.shl(identity, 16), NO_ACTION)


ROWS_PER_MASK = 64


def record_words(program: Program) -> int:
    """Length of a record: a packed state and its mark or instance."""
    return program.layout.words + 1


def emit_kinds(module: ir.Module, plan: FramePlan) -> list[tuple[Kind, Any]]:
    """For each kind that has instances, a function `(state, out, frame, id) -> out` that writes its successors."""
    return [(kind, KindFunction(module, plan, number, kind).function) for number, kind in live_kinds(plan.program)]


def emit_step(module: ir.Module, parts: Sequence[tuple[Kind, Any]]) -> Any:
    """A function `(state, out, frame, id) -> out` that writes a record (state, instance) for each successor."""
    function, b = begin(module, "step", [POINTER, POINTER, POINTER, WORD], POINTER)
    state, out, frame, identity = function.args
    for _, part in parts:
        out = b.call(part, [state, out, frame, identity])
    b.ret(out)
    return function


def emit_judge(module: ir.Module, plan: FramePlan) -> Any:
    """A function `(state, frame, id)` that records violated `always` and witnessed `sometimes` properties."""
    program = plan.program
    function, b = begin(module, "judge", [POINTER, POINTER, WORD], ir.VoidType())
    state, frame, identity = function.args
    scope = state_scope(b, program, state)
    occur = [b.not_(scope.value(term)) for term in program.always_terms]
    mark = state_mark(b, identity)
    record_claims(b, plan, frame, 0, occur, mark)
    record_goals(b, plan, frame, len(occur), scope, program.sometimes_terms, True, mark)
    b.ret_void()
    return function


def emit_deadlock(module: ir.Module, plan: FramePlan) -> Any:
    """A function `(state, frame, id)` for states without an enabled instance: a deadlock unless quiescent."""
    function, b = begin(module, "stuck", [POINTER, POINTER, WORD], ir.VoidType())
    state, frame, identity = function.args
    quiescent = state_scope(b, plan.program, state).value(plan.program.quiescent)
    record_claim(b, plan, frame, plan.deadlock, b.not_(quiescent), state_mark(b, identity))
    b.ret_void()
    return function


def state_scope(b: Builder, program: Program, state: Any) -> PathValues:
    """A scope whose variables are read from the packed state at the pointer."""
    words = b.state(state, program.layout.words)
    return PathValues(b, slot_reader(program.layout, program.state, words))


class KindFunction:
    """Emits the function `(state, out, frame, id) -> out` of one action kind.

    Args:
        kind: the kind, or one with some of its instances; the instances that it writes are numbered from its first.
        name: of the function, distinct from those of other instances.
    """

    def __init__(self, module: ir.Module, plan: FramePlan, number: int, kind: Kind, name: str = "") -> None:
        self._plan, self._number, self._kind = plan, number, kind
        self._program = plan.program
        self._rows = len(kind.instances)
        name = name or str(number)
        columns = list(zip(*kind.table, strict=True)) if kind.variables else []
        self._columns = [self._column(module, f"table{name}.{i}", column) for i, column in enumerate(columns)]
        self.function, self._b = begin(module, f"kind{name}", [POINTER, POINTER, POINTER, WORD], POINTER)
        self.function.attributes.add("noinline")
        self._state, self._start, self._frame, self._identity = self.function.args
        roots = (*kind.guard.values(), *kind.after, *kind.steps)
        self._claims, self._goals = kind.steps[: len(self._program.steps)], kind.steps[len(self._program.steps) :]
        self._by_row = depends_on(kind.variables, closure(roots))
        self._emit()

    def _column(self, module: ir.Module, name: str, column: Sequence[int]) -> Any:
        """A global array, or (first, stride) when the column is affine in the row."""
        stride = int(column[1]) - int(column[0]) if len(column) > 1 else 0
        if all(int(value) == int(column[0]) + stride * row for row, value in enumerate(column)):
            return int(column[0]), stride
        kind = ir.ArrayType(WORD, len(column))
        table = ir.GlobalVariable(module, kind, name)
        table.global_constant, table.linkage = True, "internal"
        table.initializer = ir.Constant(kind, [word(int(value)) for value in column])
        return table

    def _argument(self, column: Any, row: Any, variable: Term) -> Any:
        b = self._b
        if isinstance(column, tuple):
            first, stride = column
            scaled = b.mul(row, stride) if stride != 1 else row
            value = word(first) if stride == 0 else b.add(scaled, first) if first else scaled
        else:
            value = b.get(column, row)
        return b.trunc(value, TRUTH) if variable.is_truth else value

    def _row_scope(self, outer: PathValues, row: Any) -> PathValues:
        pairs = zip(self._kind.variables, self._columns, strict=True)
        return outer.child({v.index: self._argument(column, row, v) for v, column in pairs})

    def _emit(self) -> None:
        b = self._b
        words = [b.get(self._state, i) for i in range(self._program.layout.words)]
        scope = PathValues(b, slot_reader(self._program.layout, self._program.state, words))
        scope.emit(self._kind.guard.values(), unless=self._by_row)
        out = b.local(self._start)
        cover = _Coverage(b, self._kind)
        if self._rows == 1:
            mask = b.zext(self._guard(scope, word(0), cover), WORD)
            self._take_all(scope, words, word(0), mask, out)
        else:
            with b.count(0, -(-self._rows // ROWS_PER_MASK)) as block:
                first = b.mul(block, ROWS_PER_MASK)
                mask = self._guard_mask(scope, first, cover)
                self._take_all(scope, words, first, mask, out)
        self._finish(out, cover)

    def _guard_mask(self, scope: PathValues, first: Any, cover: _Coverage) -> Any:
        b = self._b
        rows: Any = word(self._rows)
        if self._rows > ROWS_PER_MASK:
            rest = b.sub(rows, first)
            rows = b.select(b.icmp_signed("<", rest, ROWS_PER_MASK), rest, ROWS_PER_MASK)
        mask = b.local(0)
        with b.count(0, rows) as offset:
            holds = self._guard(scope, b.add(first, offset), cover)
            mask.set(b.or_(mask.get(), b.shl(b.zext(holds, WORD), offset)))
        return mask.get()

    def _guard(self, scope: PathValues, row: Any, cover: _Coverage) -> Any:
        inner = self._row_scope(scope, row)
        parts = [inner.value(part) for part in self._kind.guard.values()]
        cover.add(parts)
        holds: Any = ir.Constant(TRUTH, 1)
        for part in parts:
            holds = self._b.and_(holds, part)
        return holds

    def _take_all(self, scope: PathValues, words: Sequence[Any], first: Any, mask: Any, out: Local) -> None:
        b = self._b
        with b.if_then(b.icmp_unsigned("!=", mask, 0)):
            b.put(1, self._frame, self._plan.enabled)
            inner = scope.child()
            inner.emit((*self._kind.after, *self._claims), unless=self._by_row)
            pending = b.local(mask)
            with b.repeat(lambda: b.icmp_unsigned("!=", pending.get(), 0)):
                mask_ = pending.get()
                pending.set(b.and_(mask_, b.sub(mask_, 1)))
                row = b.add(first, b.cttz(mask_, ir.Constant(TRUTH, 1)))
                self._take(self._row_scope(inner, row), words, row, out)

    def _take(self, scope: PathValues, words: Sequence[Any], row: Any, out: Local) -> None:
        """One transition: written out unless a field leaves its domain."""
        b, plan = self._b, self._plan
        leaves = {slot: self._leaves_domain(scope, slot) for slot in self._kind.unchecked}
        if not leaves:
            self._write(scope, words, row, out)
            return
        some: Any = ir.Constant(TRUTH, 0)
        for leaves_slot in leaves.values():
            some = b.or_(some, leaves_slot)
        with b.if_else(some, likely=False) as (pruned, within):
            with pruned:
                for place, crossing in plan.crossings_of(self._number):
                    crosses = b.and_(leaves[crossing.slot], self._is_side(scope, crossing))
                    b.bump(self._frame, place, b.zext(crosses, WORD))
            with within:
                self._write(scope.child(), words, row, out)

    def _leaves_domain(self, scope: PathValues, slot: int) -> Any:
        domain = self._program.layout.slots[slot].domain
        offset = self._b.sub(self._value_after(scope, slot), domain.lo)
        return self._b.icmp_unsigned(">", offset, domain.hi - domain.lo)

    def _is_side(self, scope: PathValues, crossing: Crossing) -> Any:
        """Whether a value outside the domain is on the side of a crossing: each such value is on one."""
        lo = word(self._program.layout.slots[crossing.slot].domain.lo)
        below = self._b.icmp_signed("<", self._value_after(scope, crossing.slot), lo)
        return self._b.not_(below) if crossing.above else below

    def _value_after(self, scope: PathValues, slot: int) -> Any:
        after = self._kind.after[slot]
        value = scope.value(after)
        return self._b.zext(value, WORD) if after.is_truth else value

    def _write(self, scope: PathValues, words: Sequence[Any], row: Any, out: Local) -> None:
        b, plan, program = self._b, self._plan, self._program
        instance = b.add(row, self._kind.first)
        broken = [b.not_(scope.value(term)) for term in self._claims]
        mark = b.or_(b.shl(self._identity, 16), instance)
        record_claims(b, plan, self._frame, plan.first_step, broken, mark)
        record_goals(b, plan, self._frame, plan.first_step + len(broken), scope, self._goals, False, mark)
        after = pack(b, program.layout, program.state, self._kind.after, words, scope)
        place = out.get()
        for i, value in enumerate((*after, instance)):
            b.put(value, place, i)
        out.set(b.at(place, record_words(program)))

    def _finish(self, out: Local, cover: _Coverage) -> None:
        b = self._b
        cover.store(self._frame, self._plan.covered[self._number])
        length = b.sub(b.ptrtoint(out.get(), WORD), b.ptrtoint(self._start, WORD))
        transitions = b.udiv(length, 8 * record_words(self._program))
        b.bump(self._frame, self._plan.fired + self._number, transitions)
        b.ret(out.get())


class _Coverage:
    """Which guard conjuncts were ever true, and ever false, one bit each."""

    def __init__(self, b: Builder, kind: Kind) -> None:
        self._b = b
        self._counts = [
            min(CONJUNCTS_PER_WORD, len(kind.guard) - start) for start in range(0, len(kind.guard), CONJUNCTS_PER_WORD)
        ]
        self._true = [b.local(word(0)) for _ in self._counts]
        self._always = [b.local(word(-1)) for _ in self._counts]

    def add(self, parts: Sequence[Any]) -> None:
        """Account for one evaluation of all conjuncts."""
        b, pending = self._b, list(parts)
        for count, true, always in zip(self._counts, self._true, self._always, strict=True):
            bits: Any = word(0)
            for position in range(count):
                bits = b.or_(bits, b.shl(b.zext(pending.pop(0), WORD), position))
            true.set(b.or_(true.get(), bits))
            always.set(b.and_(always.get(), bits))

    def store(self, frame: Any, first: int) -> None:
        """Add to the frame: words "ever true", then words "ever false"."""
        b = self._b
        for i, (count, true, always) in enumerate(zip(self._counts, self._true, self._always, strict=True)):
            false = b.and_(b.not_(always.get()), (1 << count) - 1)
            for at, value in ((first + i, true.get()), (first + len(self._counts) + i, false)):
                b.put(b.or_(b.get(frame, at), value), frame, at)


def prunings(plan: FramePlan, counters: npt.NDArray[np.int64]) -> tuple[Pruning, ...]:
    """The prunings that a frame has counted, by slot and side; sides that no transition crossed are absent."""
    layout, kinds = plan.program.layout, plan.program.kinds
    by_side: dict[tuple[int, bool], dict[str, int]] = {}
    for number, crossing in enumerate(plan.crossings):
        count = int(counters[plan.pruned + number])
        if count:
            actions = by_side.setdefault((crossing.slot, crossing.above), {})
            name = kinds[crossing.kind].action.name
            actions[name] = actions.get(name, 0) + count
    slots = [(layout.slots[slot], above, actions) for (slot, above), actions in sorted(by_side.items())]
    return tuple(
        Pruning(layout.name(slot.path), slot.domain.lo, slot.domain.hi, above, actions,
                cap=cap_of(slot.domain) if above else "")
        for slot, above, actions in slots
    )  # fmt: skip
