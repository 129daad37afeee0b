"""Symbolic values: they refuse every operation by which Python would decide on one.

Python asks a value for its hash, its truth, its text or its number without
telling the rule. A symbolic value has none of these, so an answer would be
the same for every state: a rule would trace to a constant. Each of these
questions is refused here, with the line of the rule that asked. What Python
does not let a class answer (`is`, `type()`) is in docs/explanation/assurance.md.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Any, NoReturn

import attrs

_CHOICE = "choose(), all_of(), any_of(), negate(), equal(), minimum() or maximum()"
_KEY = "any_of() of comparisons, pick() or choose()"
_PLACE = "get() or put() at a place, each() or count() of a range, just() of a set"
_ARITHMETIC = "+, -, *, //, %, comparisons and choose()"
_TEXT = "the word itself; text cannot depend on a state"


def _refusing(what: str, instead: str) -> Callable[..., Any]:
    """A method that refuses a use."""

    def method(self: Symbolic, *others: object, **named: object) -> NoReturn:
        raise self.graph.refusal(f"a symbolic word was used as {what}; use {instead}")

    method.__doc__ = f"Refuse to be {what}."
    return method


_INT_NAMES = frozenset(name for name in dir(int) if not name.startswith("_"))


class Symbolic:
    """A value that is unknown while a rule is traced.

    Attributes:
        graph: the graph of the trace; it records refusals.
    """

    __slots__ = ()

    graph: Any

    __bool__ = _refusing("a condition (if, and, or, not, while, a chained comparison)", _CHOICE)
    __int__ = __float__ = __complex__ = __trunc__ = _refusing("a number", "arithmetic and comparisons on words")
    __index__ = _refusing("an index, an end of a range or a shift count", _PLACE)
    __iter__ = __reversed__ = __len__ = __getitem__ = _refusing("a collection", "a loop over the fixed slots")
    __contains__ = _refusing("a collection", "BrokerSet.has()")
    __hash__ = _refusing("a key (a member of a set, a key of a dict, an argument of a cached function)", _KEY)
    __eq__ = _refusing("one side of a comparison", "comparisons of words")
    __repr__ = __str__ = __format__ = __bytes__ = _refusing("text (str, repr, format, an f-string)", _TEXT)
    __reduce_ex__ = _refusing("something to pickle", _TEXT)
    __round__ = __floor__ = __ceil__ = __pos__ = _refusing("a number", _ARITHMETIC)
    __neg__ = __abs__ = _refusing("a number", "the words that it holds")
    __invert__ = _refusing("an inverted number", "negate() of a truth, BrokerSet.minus() of a set")
    __mul__ = __rmul__ = _refusing("a factor", "the words that it holds")
    __matmul__ = __rmatmul__ = __pow__ = __rpow__ = _refusing("a factor", _ARITHMETIC)
    __truediv__ = __rtruediv__ = __divmod__ = __rdivmod__ = _refusing("part of a division", "// and %")
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _refusing("part of a division", "the words that it holds")
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _refusing("part of a shift", "BrokerSet.just()")
    __xor__ = __rxor__ = _refusing("part of an exclusive or", "!= of truths, BrokerSet.plus() and minus() of sets")

    def __getattr__(self, name: str) -> Any:
        """Refuse what an int could answer (`bit_count`, `real`); a rule may not find out that this is none."""
        if name in _INT_NAMES:
            raise self.graph.refusal(f"a symbolic word was asked for int.{name}; use {_ARITHMETIC}")
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __copy__(self) -> Symbolic:
        """Itself: it never changes."""
        return self

    def __deepcopy__(self, memo: object) -> Symbolic:
        """Itself: a copy would belong to a copy of the graph."""
        return self

    def described(self) -> str:
        """The description of the value in messages."""
        raise NotImplementedError


def record_fields(kind: type) -> tuple[str, ...] | None:
    """The names of the fields of a class of records, attrs' or a dataclass; None for any other class."""
    return _record_fields(kind)


@functools.cache
def _record_fields(kind: Any) -> tuple[str, ...] | None:
    if attrs.has(kind):
        return tuple(field.name for field in attrs.fields(kind))
    return tuple(kind.__dataclass_fields__) if is_dataclass(kind) else None


def described(value: Any) -> str:
    """A value as messages show it, symbolic or not: what `repr` would say if symbolic values had text."""
    if isinstance(value, Symbolic):
        return value.described()
    if isinstance(value, tuple):
        return f"({', '.join(map(described, value))})"
    if callable(value) and hasattr(value, "__name__"):
        return f"the {'class' if isinstance(value, type) else 'function'} {value.__name__}"
    names = record_fields(type(value))
    if names is None:
        return repr(value)
    return f"{type(value).__name__}({', '.join(f'{name}={described(getattr(value, name))}' for name in names)})"

