"""Expressions drawn at random, of a sort that is wanted, over the variables that there are."""

import functools
import random
from collections.abc import Sequence
from typing import Any

from attrs import define, field

from kraftcheck.model.language.words import MASK_BITS
from tests.random_systems.nodes import SORTS, Applied, Constant, Node, Operator, Span, Variable
from tests.random_systems.operators import OPERATORS

WIDEST = 1 << 61  # words stay below this in size, so that their sums fit 64 bits

BY_RESULT: dict[str, list[Operator]] = {}
for _operator in OPERATORS.values():
    BY_RESULT.setdefault(_operator.result, []).append(_operator)

COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})


@functools.cache
def fitting_operators(sort: str, sorts: frozenset[str], symmetric: bool) -> tuple[Operator, ...]:
    """The operators that give a sort, with operands of sorts that there are."""
    return tuple(
        one for one in BY_RESULT.get(sort, ()) if sorts.issuperset(one.takes) and not (symmetric and one.ordered)
    )


@define
class Draw:
    """Draws expressions."""

    random: random.Random  # where everything comes from
    variables: Sequence[Variable]  # what expressions may name
    brokers: int  # how many brokers there are
    ids: Sequence[int]  # the brokers that constants name
    capacity: int  # slots of a list; 0: there are no lists
    symmetric: bool  # whether brokers must not be told apart by their numbers
    masks: bool = True  # whether words are used as masks
    _by_sort: dict[str, list[Variable]] = field(init=False)
    _sorts: frozenset[str] = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Group the variables by sort."""
        self._by_sort = {}
        for one in self.variables:
            self._by_sort.setdefault(one.sort, []).append(one)
        self._sorts = frozenset(filter(self.has, SORTS))

    def draw(self, sort: str, depth: int, wanted: Span | None = None) -> Node:
        """An expression of a sort, nested so deep at most; constants in a span, if one is wanted."""
        if depth > 0 and self.random.random() < 0.75:
            found = self._applied(sort, depth, wanted)
            if found is not None:
                return found
        return self._leaf(sort, wanted)

    def has(self, sort: str) -> bool:
        """Whether there are expressions of a sort."""
        if sort in ("words", "truths", "record", "records"):
            return sort in self._by_sort
        if sort == "list":
            return self.capacity > 0
        if sort in ("idlist", "number"):
            return not self.symmetric
        return True

    def _applied(self, sort: str, depth: int, wanted: Span | None) -> Node | None:
        fitting = fitting_operators(sort, self._sorts, self.symmetric)
        for _ in range(4 if fitting else 0):
            operator = self.random.choice(fitting)
            found = self.applied(operator, depth, wanted)
            if found is not None:
                return found
        return None

    def applied(self, operator: Operator, depth: int, wanted: Span | None = None) -> Node | None:
        """An operator with operands drawn; None where their spans do not allow it."""
        operands = []
        for number, sort in enumerate(operator.takes):
            near = operands[0].span if number == 1 and operator.name in COMPARISONS and sort == "word" else wanted
            near = (1, 3) if operator.name in ("+", "-", "*", "//", "%") and number == 1 else near
            if operator.divides and number == 1 and self.random.random() < 0.7:
                operands.append(self.constant(sort, self.random.choice(((1, 3), (-3, -1)))))
                continue
            operands.append(self.draw(sort, depth - 1 if sort not in ("words", "truths") else 0, near))
        spans = [operand.span for operand in operands]
        if operator.masks and (not self.masks or min(lo for lo, _ in spans) < 0):
            return None
        if operator.divides and spans[1][0] <= 0 <= spans[1][1]:
            return None
        if operator.name == "just" and operator.takes[1] == "word" and (self.capacity or MASK_BITS) <= spans[1][1]:
            return None  # a set with a member that lists have no slot for, and lists are joined with sets
        span = (0, 62) if operator.span is None else operator.span(spans)
        return Applied(operator, tuple(operands), span) if max(map(abs, span)) < WIDEST else None

    def _leaf(self, sort: str, wanted: Span | None) -> Node:
        known = self._by_sort.get(sort, [])
        chance = {"word": 0.7, "truth": 0.97, "idlist": 0.0, "number": 0.0}.get(sort, 0.8)
        if known and (sort in ("words", "truths", "record", "records") or self.random.random() < chance):
            return self.random.choice(known)
        return self.constant(sort, wanted)

    def constant(self, sort: str, wanted: Span | None = None) -> Node:
        """A constant of a sort that has some."""
        value = self.value(sort, wanted)
        return Constant(sort, value, (value, value) if sort in ("word", "id") else (0, 0), self.capacity)

    def value(self, sort: str, wanted: Span | None = None) -> Any:
        """A plain value of a sort."""
        some = self.random
        match sort:
            case "word":
                lo, hi = wanted or (-2, 4)
                return some.choice((lo, hi, some.randint(lo, hi), some.randint(lo, hi)))
            case "truth":
                return some.random() < 0.5
            case "id":
                return -1 if self.symmetric or some.random() < 0.25 else some.choice(self.ids)
            case "number":
                return some.choice((-1, *self.ids))
            case "set":
                return frozenset(() if self.symmetric else (b for b in self.ids if some.random() < 0.5))
            case "list" | "idlist":
                most = min(3, len(self.ids), self.capacity if sort == "list" else 3)
                return () if self.symmetric else tuple(some.sample(self.ids, some.randint(0, most)))
            case "one":
                return () if self.symmetric or some.random() < 0.4 else (some.choice((-1, *self.ids)),)
        raise ValueError(f"there are no constants of the sort {sort}")
