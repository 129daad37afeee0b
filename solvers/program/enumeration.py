"""The states of which a description holds: fields are given values one after the other, and none is tried in vain.

A field's domain is halved until single values are left. A half in which a conjunct cannot hold any more is dropped
at once, whatever the fields that have no value yet (`kraftcheck.solvers.program.intervals`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from attrs import define, field

from kraftcheck.model.language.layout import Flag
from kraftcheck.model.language.packing import Layout
from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.machine_code.lower import closure
from kraftcheck.solvers.program.arguments import SystemFault
from kraftcheck.solvers.program.intervals import Pair, TooWideError, bounds_of

MOST_STATES = 1 << 23
"""Most states, with fields that have no value yet among them."""

CHUNK = 1 << 14
"""Rows that are judged at once, of a small description."""

CELLS = 1 << 23
"""Most terms times rows at once."""

Rows = npt.NDArray[np.int64]


def described_states(layout: Layout, state: Sequence[Term], parts: Sequence[Term]) -> tuple[tuple[int, ...], ...]:
    """The packed states, sorted, of which all truths hold.

    Args:
        layout: the domains of the fields.
        state: the variable of each slot.
        parts: truths about these variables.

    Raises:
        SystemFault: for more states than can be listed, and for words beyond 64 bits.
    """
    try:
        rows = _Enumeration(layout, state, conjuncts_of(parts)).rows()
    except TooWideError as error:
        raise SystemFault(f"the description of initial states: {error}") from None
    words = np.zeros((len(rows), layout.words), dtype=np.uint64)
    for place, slot in enumerate(layout.slots):
        words[:, slot.word] |= (rows[:, place] - slot.domain.lo).astype(np.uint64) << np.uint64(slot.shift)
    ordered = words[np.lexsort(words.T[::-1])]
    return tuple(map(tuple, ordered.tolist()))


def conjuncts_of(parts: Sequence[Term]) -> list[Term]:
    """The truths of which a conjunction consists."""
    pending, conjuncts = list(parts), dict[int, Term]()
    while pending:
        term = pending.pop()
        if term.op == "and":
            pending += term.args
        else:
            conjuncts[term.index] = term
    return [*conjuncts.values()]


@define
class _Enumeration:
    """Gives the fields of a layout values, in order.

    Attributes:
        layout, state, conjuncts: what is described.
        spans: smallest and largest value of each field that is still possible.
        about: for each field the conjuncts that read it, and what they need.
    """

    layout: Layout
    state: Sequence[Term]
    conjuncts: Sequence[Term]
    spans: list[tuple[int, int]] = field(init=False)
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
