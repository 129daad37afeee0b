"""The types of expressions, read from the layout of a state: which fields there are, and what each may hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import attrs
from attrs import field, frozen

from kraftcheck.model.language.brokersets import BrokerSet, Replicas
from kraftcheck.model.language.idlists import AtMostOne
from kraftcheck.model.language.layout import Endless, Flag
from kraftcheck.model.language.symbolic import record_fields


@frozen
class TruthType:
    """A truth."""

    def __str__(self) -> str:
        """The type in words."""
        return "a truth"


@frozen
class WordType:
    """A number in lo..hi.

    Attributes:
        lo, hi: the smallest and the largest.
        names: of an enumeration, the number of each name.
    """

    lo: int
    hi: int
    names: Mapping[str, int] = field(factory=dict, eq=False, repr=False)

    def __str__(self) -> str:
        """The type in words."""
        return "a number"


@frozen
class SetType:
    """A set of brokers, or of other small numbers, in 0..count-1."""

    count: int

    def __str__(self) -> str:
        """The type in words."""
        return "a set"


@frozen
class ListType:
    """A list of distinct numbers, in order.

    Attributes:
        of: the class of the field; `tuple` for a list that the expression writes.
        member: what a member may be.
        most: how many members it has at most; a written list has exactly so many.
    """

    of: type
    member: WordType
    most: int

    def __str__(self) -> str:
        """The type in words."""
        return "a list"


@frozen
class TupleType:
    """A fixed number of places, each with a value: one for each broker, or each log."""

    items: tuple[Type, ...]

    def __str__(self) -> str:
        """The type in words."""
        return f"a row of {len(self.items)} places"


@frozen
class RecordType:
    """A record with named fields."""

    of: type
    fields: Mapping[str, Type]

    def __str__(self) -> str:
        """The type in words."""
        return f"a record with the fields {', '.join(self.fields)}"


@frozen
class EndlessType:
    """A sequence without end, which only provers read."""

    def __str__(self) -> str:
        """The type in words."""
        return "a sequence without end, which expressions do not read"


Type: TypeAlias = TruthType | WordType | SetType | ListType | TupleType | RecordType | EndlessType

TRUTH = TruthType()


def type_of(shape: Any) -> Type:
    """The type of a state, or of a part of one, by its layout."""
    if isinstance(shape, Flag):
        return TRUTH
    if isinstance(shape, Endless):
        return EndlessType()
    if isinstance(shape, BrokerSet):
        return SetType(_largest(shape.mask).bit_length())
    if isinstance(shape, Replicas):
        return ListType(Replicas, WordType(0, max(map(_largest, shape.slots), default=0)), len(shape.slots))
    if isinstance(shape, AtMostOne):
        return ListType(AtMostOne, WordType(-1, _largest(shape.slot)), 1)
    if isinstance(shape, tuple):
        return TupleType(tuple(type_of(item) for item in shape))
    if hasattr(shape, "lo"):
        names = getattr(shape, "names", None)
        named = {} if names is None else {str(names(n)): n for n in range(shape.lo, shape.hi + 1)}
        return WordType(shape.lo, shape.hi, named)
    return RecordType(type(shape), {name: type_of(getattr(shape, name)) for name in record_fields(type(shape)) or ()})


def _largest(domain: Any) -> int:
    """The largest value that a domain, which stands where a state has a word, allows."""
    largest: int = domain.hi
    return largest


def joined(a: Type, b: Type) -> Type | None:
    """The type of a value that is of one type or the other; None where nothing can be both."""
    match a, b:
        case WordType(), WordType():
            return WordType(min(a.lo, b.lo), max(a.hi, b.hi), a.names if a.names == b.names else {})
        case SetType(), SetType():
            return SetType(max(a.count, b.count))
        case ListType(), ListType():
            word = joined(a.member, b.member)
            fits = a.of is b.of and a.most == b.most
            return attrs.evolve(a, member=word) if fits and isinstance(word, WordType) else None
        case TupleType(), TupleType():
            items = _joined_parts(a.items, b.items)
            return None if items is None else TupleType(items)
        case RecordType(), RecordType():
            parts = _joined_parts(list(a.fields.values()), list(b.fields.values()))
            same = a.of is b.of and parts is not None
            return RecordType(a.of, dict(zip(a.fields, parts or (), strict=True))) if same else None
    return a if a == b else None


def _joined_parts(a: Sequence[Type], b: Sequence[Type]) -> tuple[Type, ...] | None:
    """The types of parts that stand at the same places; None where some pair has none, or there are more of one."""
    if len(a) != len(b):
        return None
    parts = [joined(x, y) for x, y in zip(a, b, strict=True)]
    return None if None in parts else tuple(part for part in parts if part is not None)


def item_type(row: TupleType) -> Type | None:
    """The type of whatever stands at a place that is not known; None where the places have too different ones."""
    result: Type | None = row.items[0]
    for item in row.items[1:]:
        result = None if result is None else joined(result, item)
    return result
