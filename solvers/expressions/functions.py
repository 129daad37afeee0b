"""The functions of expressions; no other can be called."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.terms import MASK_BITS, Word
from kraftcheck.model.language.words import NO_LEADER, choose, word
from kraftcheck.solvers.expressions.checking import (
    Checker,
    ListType,
    Rules,
    SetType,
    TupleType,
    Typed,
    WordType,
    constant,
    implied,
    lazily,
    strict,
)
from kraftcheck.solvers.expressions.places import (
    Loop,
    counted,
    entries,
    first_of,
    loop,
    member_type,
    most,
    quantified,
    set_of,
)


def _call(checker: Checker, node: ast.Call) -> Typed:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name not in FUNCTIONS:
        names = ", ".join(sorted(FUNCTIONS))
        raise checker.error(node, f"{checker.text(node.func)} is no function of expressions; they are {names}")
    if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
        raise checker.error(node, f"{name} takes its arguments by place")
    return FUNCTIONS[name](checker, node)


def _arguments(checker: Checker, node: ast.Call, number: int, form: str) -> Sequence[ast.expr]:
    if len(node.args) != number:
        raise checker.error(node, f"it is written {form}")
    return node.args


def _implies(checker: Checker, node: ast.Call) -> Typed:
    premise, conclusion = _arguments(checker, node, 2, "implies(P, Q)")
    return lazily(implied, checker.truth(premise), checker.truth(conclusion))


def _collection(checker: Checker, node: ast.expr) -> tuple[Typed, SetType | ListType | TupleType]:
    return checker.check_as(node, (SetType, ListType, TupleType), "a set, a list or a row")  # type: ignore[arg-type]


def _size(checker: Checker, node: ast.Call) -> Typed:
    (argument,) = _arguments(checker, node, 1, "size(ISR)")
    collection, type_ = _collection(checker, argument)
    if isinstance(type_, SetType):
        return strict(WordType(0, type_.count), lambda members: members.size(), collection)

    def size(value: Any) -> Word:
        number: Word = 0
        for entry in entries(value, type_):
            number = number + word(entry.present)
        return number

    return strict(WordType(0, most(type_)), size, collection)


def _first(checker: Checker, node: ast.Call) -> Typed:
    (argument,) = _arguments(checker, node, 1, "first(REPLICAS)")
    collection, type_ = _collection(checker, argument)
    member = member_type(type_)
    if not isinstance(member, WordType):
        raise checker.error(argument, f"{checker.text(argument)} is {type_}, not a set or list of numbers")
    result = WordType(min(member.lo, NO_LEADER), member.hi)
    if isinstance(type_, SetType):
        return strict(result, lambda members: members.first(), collection)
    return strict(result, lambda members: first_of(entries(members, type_)), collection)


def _set(checker: Checker, node: ast.Call) -> Typed:
    if not node.args:
        return constant(SetType(0), BrokerSet(0))
    (argument,) = _arguments(checker, node, 1, "set(REPLICAS)")
    collection, type_ = _collection(checker, argument)
    member = member_type(type_)
    if isinstance(type_, SetType):
        return collection
    if not isinstance(member, WordType) or member.hi >= MASK_BITS:
        raise checker.error(
            argument, f"a set holds 0..{MASK_BITS - 1}; {checker.text(argument)} may hold something else"
        )
    return strict(SetType(member.hi + 1), lambda members: set_of(entries(members, type_)), collection)


def _least(checker: Checker, node: ast.Call) -> Typed:
    return _extreme(checker, node, lambda a, b: choose(b < a, b, a), min)


def _greatest(checker: Checker, node: ast.Call) -> Typed:
    return _extreme(checker, node, lambda a, b: choose(b > a, b, a), max)


def _extreme(
    checker: Checker, node: ast.Call, better: Callable[[Word, Word], Word], bound: Callable[..., int]
) -> Typed:  # fmt: skip
    words = [checker.word(argument) for argument in node.args]
    if len(words) < 2:
        raise checker.error(node, "min and max take two numbers or more")

    def extreme(first: Word, *rest: Word) -> Word:
        for other in rest:
            first = better(first, other)
        return first

    type_ = WordType(bound(t.lo for _, t in words), bound(t.hi for _, t in words))
    return strict(type_, extreme, *(typed for typed, _ in words))


def _loops(checker: Checker, node: ast.Call) -> tuple[list[Loop], Typed]:
    """The `for`s of the argument, and its body."""
    function = checker.text(node.func)
    (argument,) = _arguments(checker, node, 1, f"{function}(b in isr for b in elr)")
    if not isinstance(argument, ast.GeneratorExp):
        raise checker.error(argument, f"it is written {function}(b in isr for b in elr)")
    loops: list[Loop] = []
    for one in argument.generators:
        loops.append(loop(checker, one))
        checker = loops[-1].body
    return loops, checker.truth(argument.elt)


def _all(checker: Checker, node: ast.Call) -> Typed:
    return quantified(*_loops(checker, node), every=True)


def _any(checker: Checker, node: ast.Call) -> Typed:
    return quantified(*_loops(checker, node), every=False)


def _count(checker: Checker, node: ast.Call) -> Typed:
    return counted(*_loops(checker, node))


FUNCTIONS: dict[str, Callable[[Checker, ast.Call], Typed]] = {
    "all": _all, "any": _any, "count": _count, "first": _first, "implies": _implies, "max": _greatest, "min": _least,
    "set": _set, "size": _size,
}  # fmt: skip
"""Every function, by its name."""

FORMS: Rules = {ast.Call: _call}
"""The forms that this module checks."""
