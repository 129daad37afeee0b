"""Places of lists and rows, `logs[0]`, and what `for` goes through."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Sequence
from typing import Any, TypeAlias

from attrs import frozen

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.layout import leaves
from kraftcheck.model.language.places import Queue
from kraftcheck.model.language.terms import Term, Truth
from kraftcheck.model.language.words import EMPTY, NO_LEADER, all_of, any_of, apply, choose, negate, pick
from kraftcheck.solvers.expressions.checking import (
    TRUTH,
    CheckedValue,
    Checker,
    Evaluate,
    ListType,
    Names,
    Rules,
    SetType,
    TupleType,
    Type,
    Typed,
    WordType,
    both,
    either,
    implied,
    item_type,
    plain,
)


@frozen
class Member:
    """A possible member: its value, and whether it is one."""

    value: Any
    present: Truth


Entries: TypeAlias = Sequence[Member]


def entries(value: Any, type_: Type) -> Entries:
    """The possible members of a collection in order; those of a set ascend."""
    if isinstance(type_, SetType):
        return [Member(number, value.has(number)) for number in range(type_.count)]
    if isinstance(type_, ListType) and hasattr(value, "slots"):
        return [Member(slot, negate(slot == NO_LEADER)) for slot in value.slots]
    if isinstance(type_, ListType) and hasattr(value, "slot"):
        return [Member(value.slot, negate(value.slot == EMPTY))]
    if isinstance(value, Queue):
        return [Member(item, place < value.size) for place, item in enumerate(value.items)]
    return [Member(item, True) for item in value]


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
    absent = Member(0, False)
    pairs = itertools.zip_longest(a, b, fillvalue=absent)
    return all_of(*(_equal_entries(x, y) for x, y in pairs))


def _equal_entries(a: Member, b: Member) -> Truth:
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


MAX_RANGE = 64  # numbers that `range` may stand for


def _place(checker: Checker, node: ast.Subscript) -> Typed:
    """The value at a place of a list or row."""
    whole = plain(checker.check(node.value))
    type_ = whole.type
    if not isinstance(type_, ListType | TupleType):
        raise checker.error(node, f"{checker.text(node.value)} is {type_}; it has no places")
    if isinstance(node.slice, ast.Slice):
        raise checker.error(node.slice, "expressions have no slices")
    index, range_ = checker.word(node.slice)
    count = most(type_)
    if range_.lo >= count or range_.hi < 0:
        places = f"places 0..{count - 1}" if count else "no places"
        raise checker.error(
            node.slice, f"{checker.text(node.value)} has {places}, and none is {checker.text(node.slice)}"
        )
    known = range_.lo == range_.hi
    item = type_.items[range_.lo] if known and isinstance(type_, TupleType) else member_type(type_)
    if item is None:
        raise checker.error(node, f"the places of {checker.text(node.value)} hold different things; name one of them")
    fixed = isinstance(type_, TupleType) or type_.of is tuple
    total = whole.total and index.total and fixed and range_.lo >= 0 and range_.hi < count

    def evaluate(names: Names) -> CheckedValue:
        row, at = whole.evaluate(names), index.evaluate(names)
        here = _at(entries(row.value, type_), at.value)
        return CheckedValue(all_of(row.defined, at.defined, here.present), here.value)

    return Typed(item, evaluate, total, whole.cost + index.cost + (1 if known else count))


def _at(members: Entries, index: Any) -> Member:
    """The member at an index, and whether there is one."""
    if not isinstance(index, Term):
        return members[index] if 0 <= index < len(members) else Member(members[0].value, False)
    present: Truth = any_of(*(all_of(index == place, entry.present) for place, entry in enumerate(members)))
    return Member(pick([entry.value for entry in members], index, members[0].value), present)


@frozen
class CheckedLoop:
    """A `for`, checked.

    Attributes:
        over: what it goes through.
        conditions: those after `if`, which see the variable.
        body: the checker for what sees the variable.
        repeats: how often it is evaluated at most.
    """

    name: str
    over: Typed
    type: Type
    conditions: tuple[Typed, ...]
    body: Checker
    repeats: int

    def cases(self, names: Names) -> tuple[Truth, list[tuple[Names, CheckedValue]]]:
        """Whether the members can be evaluated; and for each the names, with whether it is one that counts."""
        whole = self.over.evaluate(names)
        cases: list[tuple[Names, CheckedValue]] = []
        for member in entries(whole.value, self.type):
            inner = {**names, self.name: member.value}
            counts = CheckedValue(True, member.present)
            for condition in self.conditions:
                counts = both(counts, condition.evaluate(inner))
            cases.append((inner, counts))
        return whole.defined, cases


def loop(checker: Checker, node: ast.comprehension) -> CheckedLoop:
    """The checked `for`; raises ExpressionError where it is no `for NAME in COLLECTION`, or the name is taken."""
    if not isinstance(node.target, ast.Name) or node.is_async:
        raise checker.error(node.target, "after `for` stands one name")
    name = node.target.id
    if name in checker.names:
        raise checker.error(node.target, f"{name} is a name already; choose another after `for`")
    over = _range(checker, node.iter) if _is_range(node.iter) else plain(checker.check(node.iter))
    item = member_type(over.type)
    if item is None or not isinstance(over.type, SetType | ListType | TupleType):
        raise checker.error(
            node.iter, f"{checker.text(node.iter)} is {over.type}; `for` goes through sets, lists and rows"
        )
    body = checker.within(name, item)
    conditions = tuple(body.truth(condition) for condition in node.ifs)
    return CheckedLoop(name, over, over.type, conditions, body, repeats=most(over.type))


def _is_range(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"


def _range(checker: Checker, node: ast.expr) -> Typed:
    """`range(n)` or `range(a, b)`, of written numbers."""
    assert isinstance(node, ast.Call)
    numbers = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
    ints = [number for number in numbers if type(number) is int]
    if len(ints) != len(node.args) or len(ints) not in (1, 2) or node.keywords:
        raise checker.error(node, "range takes one or two written numbers, as in range(3) or range(1, 3)")
    values = range(*ints)
    if not 0 < len(values) <= MAX_RANGE:
        raise checker.error(node, f"range stands for 1 to {MAX_RANGE} numbers")
    type_ = ListType(tuple, WordType(values[0], values[-1]), len(values))
    return Typed(type_, lambda names: CheckedValue(True, tuple(values)), cost=len(values))


def quantified(loops: list[CheckedLoop], body: Typed, every: bool) -> Typed:
    """Whether the body holds of every member, or of some."""

    def evaluate(names: Names) -> CheckedValue:
        return _fold(loops, names, body.evaluate, every)

    return Typed(TRUTH, evaluate, _total(loops, body), _repeated_cost(loops, body))


def _fold(loops: list[CheckedLoop], names: Names, leaf: Evaluate, every: bool) -> CheckedValue:
    if not loops:
        return leaf(names)
    defined, cases = loops[0].cases(names)
    total = CheckedValue(defined, every)
    for inner, counts in cases:
        here = _fold(loops[1:], inner, leaf, every)
        total = both(total, implied(counts, here)) if every else either(total, both(counts, here))
    return total


def counted(loops: list[CheckedLoop], body: Typed) -> Typed:
    """The number of members of which the body holds."""

    def evaluate(names: Names) -> CheckedValue:
        return _sum(loops, names, body)

    largest = math.prod(one.repeats for one in loops)
    return Typed(WordType(0, largest), evaluate, _total(loops, body), _repeated_cost(loops, body))


def _sum(loops: list[CheckedLoop], names: Names, body: Typed) -> CheckedValue:
    if not loops:
        here = body.evaluate(names)
        return CheckedValue(here.defined, choose(here.value, 1, 0))
    defined, cases = loops[0].cases(names)
    number: Any = 0
    for inner, counts in cases:
        below = _sum(loops[1:], inner, body)
        defined = all_of(defined, implied(counts, CheckedValue(below.defined, True)).defined)
        number = number + choose(counts.value, below.value, 0)
    return CheckedValue(defined, number)


def _total(loops: list[CheckedLoop], body: Typed) -> bool:
    return body.total and all(one.over.total and all(c.total for c in one.conditions) for one in loops)


def _repeated_cost(loops: list[CheckedLoop], body: Typed) -> int:
    """How many operations a body takes, with each `for` around it written out."""
    cost = body.cost
    for one in reversed(loops):
        cost = one.over.cost + one.repeats * (1 + cost + sum(condition.cost for condition in one.conditions))
    return cost


FORMS: Rules = {ast.Subscript: _place}  # the forms that this module checks
