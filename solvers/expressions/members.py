"""The members of sets, lists and rows, as pairs of a value and the truth that it is a member."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, TypeAlias

from attrs import frozen

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.layout import leaves
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import EMPTY, NO_LEADER, all_of, any_of, apply, choose, negate
from kraftcheck.solvers.expressions.types import ListType, SetType, TupleType, Type, WordType, item_type


@frozen
class Entry:
    """A possible member: its value, and whether it is one."""

    value: Any
    present: Truth


Entries: TypeAlias = Sequence[Entry]


def entries(value: Any, type_: Type) -> Entries:
    """The possible members of a collection in order; those of a set ascend."""
    if isinstance(type_, SetType):
        return [Entry(number, value.has(number)) for number in range(type_.count)]
    if isinstance(type_, ListType) and hasattr(value, "slots"):
        return [Entry(slot, negate(slot == NO_LEADER)) for slot in value.slots]
    if isinstance(type_, ListType) and hasattr(value, "slot"):
        return [Entry(value.slot, negate(value.slot == EMPTY))]
    return [Entry(item, True) for item in value]


def member_type(type_: Type) -> Type | None:
    """The type of a member of a collection; None where it is none, or its places have different types."""
    match type_:
        case SetType(count):
            return WordType(0, max(0, count - 1))
        case ListType(_, member, _):
            return member
        case TupleType(items) if items:
            return item_type(type_)
    return None


def most(type_: SetType | ListType | TupleType) -> int:
    """The largest number of members."""
    match type_:
        case SetType(count):
            return count
        case ListType(_, _, most_):
            return most_
        case TupleType(items):
            return len(items)


def is_member(word: Any, of: Entries) -> Truth:
    """Whether a word is one of the members."""
    return any_of(*(all_of(entry.present, same(entry.value, word)) for entry in of))


def equal_in_order(a: Entries, b: Entries) -> Truth:
    """Whether two lists have the same members in the same order."""
    absent = Entry(0, False)
    pairs = itertools.zip_longest(a, b, fillvalue=absent)
    return all_of(*(_equal_entries(x, y) for x, y in pairs))


def _equal_entries(a: Entry, b: Entry) -> Truth:
    neither = all_of(negate(a.present), negate(b.present))
    return any_of(neither, all_of(a.present, b.present, same(a.value, b.value)))


def same(a: Any, b: Any) -> Truth:
    """Whether two values of one shape have the same leaves."""
    pairs = zip((leaf for _, leaf in leaves(a)), (leaf for _, leaf in leaves(b)), strict=True)
    return all_of(*(x == y for x, y in pairs))


def set_of(members: Entries) -> BrokerSet:
    """The set of the members; `none` is in no set."""
    result = BrokerSet(0)
    for member in members:
        result = result.plus(BrokerSet(choose(member.present, apply("single", member.value), 0)))
    return result


def first_of(members: Entries) -> Any:
    """The first member, or `none`."""
    result: Any = NO_LEADER
    for member in reversed(members):
        result = choose(member.present, member.value, result)
    return result
