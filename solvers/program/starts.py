"""The initial states of a system: listed by it, or described by a rule and listed here."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, field

from kraftcheck.model.language.layout import (
    Anything,
    Described,
    DomainError,
    Filled,
    Flag,
    Layout,
    LayoutError,
    anything,
)
from kraftcheck.model.language.symbolic import brief, is_record
from kraftcheck.model.language.system import Setting, System
from kraftcheck.model.language.terms import MASK_BITS, Graph, Term
from kraftcheck.solvers.program.evaluation import closure, conjuncts
from kraftcheck.solvers.program.parts import SystemFault, ask, check_refusals, line_of, same_classes
from kraftcheck.solvers.program.symbols import state_symbols
from kraftcheck.solvers.program.verdict import Truths

Values = npt.NDArray[Any]
Pair = tuple[Values, Values]

WIDEST = (1 << 63) - 1  # words beyond it do not fit the arrays


class TooWideError(ValueError):
    """A word that does not fit 64 bits."""


def bounds_of(terms: Sequence[Term], variables: Mapping[int, Pair]) -> dict[int, Pair]:
    """The pair of each term, given those of the variables by index; arguments come before their users."""
    pairs = dict(variables)
    with np.errstate(all="ignore"):  # a value that is not used may overflow; those that are used fit their intervals
        for term in terms:
            if term.index not in pairs:
                pairs[term.index] = _pair(term, [pairs[arg.index] for arg in term.args])
    return pairs


def _pair(term: Term, args: Sequence[Pair]) -> Pair:
    if not -WIDEST <= term.lo <= term.hi <= WIDEST:
        raise TooWideError(f"a {term.op} has values {term.lo}..{term.hi}, beyond 64 bits: lower a bound")
    if term.op == "const":
        value = np.bool_(term.value) if term.is_truth else np.int64(term.value)
        return _both(value)
    if term.op == "ite":
        return _chosen(*args)
    if term.is_truth:
        return _truth(term, args)
    return _word(term, args)


def _both(value: Any) -> Pair:
    array = np.asarray(value)
    return array, array


def _chosen(condition: Pair, then: Pair, otherwise: Pair) -> Pair:
    must, may = condition
    is_truth = then[0].dtype == np.bool_
    low = np.where(must, then[0], np.where(may, _least(then[0], otherwise[0], is_truth), otherwise[0]))
    high = np.where(must, then[1], np.where(may, _most(then[1], otherwise[1], is_truth), otherwise[1]))
    return low, high


def _least(a: Values, b: Values, is_truth: bool) -> Values:
    return a & b if is_truth else np.minimum(a, b)


def _most(a: Values, b: Values, is_truth: bool) -> Values:
    return a | b if is_truth else np.maximum(a, b)


def _truth(term: Term, args: Sequence[Pair]) -> Pair:
    (low, high), *others = args
    if term.op == "not":
        return ~high, ~low
    (other_low, other_high) = others[0]
    match term.op:
        case "and":
            return low & other_low, high & other_high
        case "or":
            return low | other_low, high | other_high
        case "eq":
            if low.dtype == np.bool_:
                low, high, other_low, other_high = (a.astype(np.int64) for a in (low, high, other_low, other_high))
            same = (low == high) & (other_low == other_high) & (low == other_low)
            return same, (low <= other_high) & (other_low <= high)
        case "lt":
            return high < other_low, low < other_high
        case "member":
            return _member(*args)
    raise ValueError(f"unknown operator {term.op}")


def _member(mask: Pair, index: Pair) -> Pair:
    """The bit of a mask: it is determined where all bits from it on are the same at both ends."""
    place = index[0]
    inside = (place >= 0) & (place < MASK_BITS)
    shift = np.clip(place, 0, MASK_BITS - 1)
    low, high = mask[0] >> shift, mask[1] >> shift
    determined = (index[0] == index[1]) & ((low == high) | ~inside)
    bit = inside & ((low & 1) == 1)
    return determined & bit, ~determined | bit


def _word(term: Term, args: Sequence[Pair]) -> Pair:
    low, high = args[0]
    match term.op:
        case "narrow":
            return low, high
        case "add":
            return low + args[1][0], high + args[1][1]
        case "sub":
            return low - args[1][1], high - args[1][0]
        case "mul":
            products = [a * b for a in args[0] for b in args[1]]
            return np.minimum.reduce(np.broadcast_arrays(*products)), np.maximum.reduce(np.broadcast_arrays(*products))
        case "band" | "bor" | "bclear":
            return _masks(term.op, args[0], args[1])
        case "count":
            unknown = _below_first_difference(low, high)
            certain = np.bitwise_count(low & ~unknown).astype(np.int64)
            return certain, certain + np.bitwise_count(unknown).astype(np.int64)
    exact = np.logical_and.reduce(np.broadcast_arrays(*(one == other for one, other in args)))
    value = _value(term.op, [pair[0] for pair in args])
    return np.where(exact, value, np.int64(term.lo)), np.where(exact, value, np.int64(term.hi))


def _masks(op: str, a: Pair, b: Pair) -> Pair:
    """Masks bit by bit: the bits above the first in which two ends differ are known."""
    unknown = _below_first_difference(*a) | _below_first_difference(*b)
    value = a[0] & b[0] if op == "band" else a[0] | b[0] if op == "bor" else a[0] & ~b[0]
    return value & ~unknown, value | unknown


def _below_first_difference(low: Values, high: Values) -> Values:
    """For each row the mask of all bits up to the highest one in which two words differ."""
    differ: Values = low ^ high
    for shift in (1, 2, 4, 8, 16, 32):
        differ = differ | (differ >> shift)
    return differ


def _value(op: str, args: Sequence[Values]) -> Values:
    """The value of an operator where its operands have one."""
    a = args[0]
    match op:
        case "div":
            return np.asarray(np.floor_divide(a, np.where(args[1] == 0, 1, args[1])))
        case "mod":
            return np.asarray(np.mod(a, np.where(args[1] == 0, 1, args[1])))
        case "single":
            inside = (a >= 0) & (a < MASK_BITS)
            return np.where(inside, np.int64(1) << np.clip(a, 0, MASK_BITS - 1), 0)
        case "lowest":
            return np.where(a == 0, -1, np.bitwise_count((a & -a) - 1).astype(np.int64))
    raise ValueError(f"unknown operator {op}")


MOST_STATES = 1 << 23  # most states, with fields that have no value yet among them
CHUNK = 1 << 14  # rows that are judged at once, of a small description
CELLS = 1 << 23  # most terms times rows at once

Rows = npt.NDArray[np.int64]


def described_states(layout: Layout, state: Sequence[Term], parts: Sequence[Term]) -> tuple[tuple[int, ...], ...]:
    """The packed states, sorted, of which all truths hold.

    Raises:
        SystemFault: for more states than can be listed, and for words beyond 64 bits.
    """
    try:
        rows = _Enumeration(layout, state, conjuncts(parts)).rows()
    except TooWideError as error:
        raise SystemFault(f"the description of initial states: {error}") from None
    words = np.zeros((len(rows), layout.words), dtype=np.uint64)
    for place, slot in enumerate(layout.slots):
        words[:, slot.word] |= (rows[:, place] - slot.domain.lo).astype(np.uint64) << np.uint64(slot.shift)
    ordered = words[np.lexsort(words.T[::-1])]
    return tuple(map(tuple, ordered.tolist()))


@define
class _Enumeration:
    """Gives the fields of a layout values, in order."""

    # layout, state, conjuncts: what is described
    layout: Layout
    state: Sequence[Term]
    conjuncts: Sequence[Term]
    spans: list[tuple[int, int]] = field(init=False)  # smallest and largest value of each field that is still possible
    # for each field the conjuncts that read it, and what they need
    about: list[tuple[list[Term], list[Term]]] = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Find what reads each field."""
        self.spans = [(slot.domain.lo, slot.domain.hi) for slot in self.layout.slots]
        needed = [(one, {term.index for term in closure([one])}) for one in self.conjuncts]
        self.about = []
        for variable in self.state:
            reading = [one for one, indices in needed if variable.index in indices]
            self.about.append((reading, closure(reading)))

    def rows(self) -> Rows:
        """The leaves of every state, one row each."""
        if any(one.op == "const" and not one.value for one in self.conjuncts):
            return np.empty((0, len(self.state)), dtype=np.int64)
        rows: Rows = np.empty((1, 0), dtype=np.int64)
        if not all(self._shave(place) for place in range(len(self.state))):
            return np.empty((0, len(self.state)), dtype=np.int64)
        for place in range(len(self.state)):
            rows = self._given(rows, place)
        return rows

    def _shave(self, place: int) -> bool:
        """Drop halves of a field's domain that no state has; false where nothing is left."""
        nothing: Rows = np.empty((1, 0), dtype=np.int64)

        def possible(low: int, high: int) -> bool:
            return bool(self._possible(nothing, place, np.array([low]), np.array([high]))[0])

        low, high = self.spans[place]
        if not possible(low, high):
            return False
        while low < high:
            middle = (low + high) // 2
            left, right = possible(low, middle), possible(middle + 1, high)
            if left and right:
                break
            if not (left or right):
                return False
            low, high = (low, middle) if left else (middle + 1, high)
        self.spans[place] = low, high
        return True

    def _given(self, rows: Rows, place: int) -> Rows:
        """The rows with each value of a field that is possible there."""
        low = np.full(len(rows), self.spans[place][0], dtype=np.int64)
        high = np.full(len(rows), self.spans[place][1], dtype=np.int64)
        while (low < high).any():
            middle = low + (high - low) // 2
            open_ = np.flatnonzero(low < high)
            rows = np.concatenate([rows, rows[open_]])
            low, high = np.concatenate([low, middle[open_] + 1]), np.concatenate([middle, high[open_]])
            kept = self._possible(rows, place, low, high)
            rows, low, high = rows[kept], low[kept], high[kept]
            if len(rows) > MOST_STATES:
                name = self.layout.name(self.layout.slots[place].path)
                raise SystemFault(
                    f"initial describes more than {MOST_STATES:,} states, counted up to {name}: say more of its "
                    "fields, those first that say most, or lower a bound"
                )
        return np.column_stack([rows, low])

    def _possible(self, rows: Rows, place: int, low: Rows, high: Rows) -> npt.NDArray[np.bool_]:
        """In which rows no conjunct that reads a field is false yet, with the field in an interval."""
        conjuncts, needed = self.about[place]
        kept = np.ones(len(rows), dtype=np.bool_)
        if not conjuncts:
            return kept
        step = max(1, min(CHUNK, CELLS // len(needed)))
        for first in range(0, len(rows), step):
            piece = slice(first, first + step)
            pairs = bounds_of(needed, self._variables(rows[piece], place, low[piece], high[piece]))
            for one in conjuncts:
                kept[piece] &= pairs[one.index][1]
        return kept

    def _variables(self, rows: Rows, place: int, low: Rows, high: Rows) -> Mapping[int, Pair]:
        """The intervals of the variables: those before the field have a value, those after it their whole domain."""
        variables = {}
        for at, (variable, slot) in enumerate(zip(self.state, self.layout.slots, strict=True)):
            ends = (rows[:, at], rows[:, at]) if at < rows.shape[1] else tuple(map(np.asarray, self.spans[at]))
            ends = (low, high) if at == place else ends
            if isinstance(slot.domain, Flag):
                ends = (ends[0].astype(np.bool_), ends[1].astype(np.bool_))
            variables[variable.index] = (ends[0], ends[1])
        return variables


NO_STATE = "initial gave no state"


def none_described(at: Setting | None) -> str:
    """The words on a description that no state satisfies: with other bounds some may."""
    with_bounds = f" with {at.text()}" if at is not None and at.bounds else ""
    return f"initial describes no state{with_bounds}: no values of the declared fields satisfy it"


def given_states(system: System, setting: Setting) -> list[Any]:
    """The initial states of a system: a list of them, or a single description."""
    given: Any = ask("initial", lambda: system.initial(setting.for_initial()))
    if callable(given) or (is_record(given) and not isinstance(given, Described)):
        mend = "[kc.all_where(it)]" if callable(given) else "a list of it: [...]"
        raise SystemFault(f"initial gave {brief(given)}, and no list of states; return {mend}")
    states = ask("initial", lambda: list(given))
    if len(states) > 1 and any(isinstance(state, Described) for state in states):
        raise SystemFault("initial gave a description beside other states; it takes a single one")
    return states


def description(states: Sequence[Any]) -> Described | None:
    """The description among initial states; None where they are listed."""
    return next((state for state in states if isinstance(state, Described)), None)


def described_truths(truths: Truths, states: Sequence[Any], state: Any) -> dict[str, Term]:
    """The description of initial states, as named truths; none where they are listed."""
    rule = description(states)
    parts = {} if rule is None else truths.answer("initial", lambda: rule.holds(state))
    return {name: truths.truth(f"initial {name}", part) for name, part in parts.items()}


def initial_leaves(
    layout: Layout, states: Sequence[Any], variables: Sequence[Term], described: Sequence[Term],
    rule: Callable[..., Any] | None = None, at: Setting | None = None,
) -> tuple[tuple[int, ...], ...]:  # fmt: skip
    """The initial states, packed where the layout is, distinct and sorted.

    Args:
        states: as `given_states` has them.
        described: the truths that are described, of these.
        rule: what gave the states, whose line a refusal names.
        at: the setting, whose bounds it names.

    Raises:
        SystemFault: when there are none, or one does not fit the layout.
    """
    if description(states) is not None:
        if not layout.packed:
            return (tuple(anything() for _ in layout.slots),)
        found = described_states(layout, variables, described)
        if not found:
            raise SystemFault(none_described(at))
        return found
    try:
        packed = {layout.pack(state) if layout.packed else layout.values(state) for state in states}
    except (DomainError, LayoutError) as error:
        raise SystemFault(f"initial gave a state that does not fit the layout: {error}{line_of(rule)}") from error
    if not packed:
        raise SystemFault(NO_STATE)
    same_classes("initial", layout.shape, states)
    return tuple(sorted(packed, key=_order))


def _order(state: tuple[Any, ...]) -> list[int]:
    return [-1 if isinstance(leaf, Anything | Filled) else leaf for leaf in state]


class DescribedStates(Sequence[Any]):
    """The states of a description, found when the first of them is wanted."""

    def __init__(self, layout: Layout, rule: Described) -> None:
        self._layout, self._rule = layout, rule

    @functools.cached_property
    def packed(self) -> tuple[tuple[int, ...], ...]:
        """All of them, packed."""
        truths = Truths(Graph(), ask_twice=True)
        variables, state = state_symbols(truths.graph, self._layout)
        described = described_truths(truths, [self._rule], state)
        check_refusals(truths.graph)
        return initial_leaves(self._layout, [self._rule], variables, [*described.values()])

    def __len__(self) -> int:
        """How many there are."""
        return len(self.packed)

    def __getitem__(self, place: Any) -> Any:
        """One of them, or some."""
        if isinstance(place, slice):
            return tuple(map(self._layout.unpack, self.packed[place]))
        return self._layout.unpack(self.packed[place])


def initial_states(system: System, setting: Setting) -> Sequence[Any]:
    """The initial states of a system, on ints."""
    states = given_states(system, setting)
    rule = description(states)
    return tuple(states) if rule is None else DescribedStates(Layout(system.layout(setting)), rule)
