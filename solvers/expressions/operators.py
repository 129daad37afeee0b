"""The operators and the functions of expressions; no other function can be called."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.terms import MASK_BITS, Truth, Word
from kraftcheck.model.language.words import NO_LEADER, choose, negate, word
from kraftcheck.model.nearest import nearest
from kraftcheck.solvers.expressions.checking import (
    NONE,
    TRUTH,
    Checker,
    ListType,
    Rules,
    SetType,
    TupleType,
    Type,
    Typed,
    WordType,
    both,
    constant,
    either,
    implied,
    joined,
    lazily,
    negated,
    plain,
    strict,
)
from kraftcheck.solvers.expressions.places import (
    CheckedLoop,
    Member,
    counted,
    entries,
    equal_in_order,
    first_of,
    is_member,
    loop,
    member_type,
    most,
    quantified,
    same,
    set_of,
)


def _connective(checker: Checker, node: ast.BoolOp) -> Typed:
    join = both if isinstance(node.op, ast.And) else either
    return lazily(join, *(checker.truth(value) for value in node.values))


def _unary(checker: Checker, node: ast.UnaryOp) -> Typed:
    if isinstance(node.op, ast.Not):
        return negated(checker.truth(node.operand))
    if not isinstance(node.op, ast.USub):
        raise checker.error(node, f"expressions have no such sign as in `{checker.text(node)}`")
    operand, type_ = checker.word(node.operand)
    return strict(WordType(-type_.hi, -type_.lo), lambda value: 0 - value, operand)


def _binary(checker: Checker, node: ast.BinOp) -> Typed:
    left, right = plain(checker.check(node.left)), plain(checker.check(node.right))
    match left.type, right.type:
        case WordType(), WordType():
            return _arithmetic(checker, node, left, left.type, right, right.type)
        case SetType(), SetType():
            return _set_operation(checker, node, left, left.type, right, right.type)
    texts = f"{checker.text(node.left)} is {left.type} and {checker.text(node.right)} {right.type}"
    mend = "; set(...) makes a set of a list" if ListType in (type(left.type), type(right.type)) else ""
    mend = "; truths are joined by `and` and `or`" if TRUTH in (left.type, right.type) else mend
    raise checker.error(node, f"this operator takes two numbers or two sets: {texts}{mend}")


def _arithmetic(checker: Checker, node: ast.BinOp, left: Typed, a: WordType, right: Typed, b: WordType) -> Typed:
    if isinstance(node.op, ast.Add):
        return strict(WordType(a.lo + b.lo, a.hi + b.hi), lambda x, y: x + y, left, right)
    if isinstance(node.op, ast.Sub):
        return strict(WordType(a.lo - b.hi, a.hi - b.lo), lambda x, y: x - y, left, right)
    raise checker.error(node, "numbers are added and subtracted; there is no other arithmetic")


_SET_OPERATIONS: dict[type[ast.operator], Callable[[BrokerSet, BrokerSet], BrokerSet]] = {
    ast.BitAnd: lambda x, y: x.keep(y),
    ast.BitOr: lambda x, y: x.plus(y),
    ast.Sub: lambda x, y: x.minus(y),
    ast.BitXor: lambda x, y: x.minus(y).plus(y.minus(x)),
}


def _set_operation(checker: Checker, node: ast.BinOp, left: Typed, a: SetType, right: Typed, b: SetType) -> Typed:
    operate = _SET_OPERATIONS.get(type(node.op))
    if operate is None:
        raise checker.error(node, "sets have the operators & (both), | (either), - (without) and ^ (one of them)")
    return strict(SetType(max(a.count, b.count)), operate, left, right)


def _set(checker: Checker, node: ast.Set) -> Typed:
    """A written set."""
    members = _written(checker, node.elts)
    for element, (_, type_) in zip(node.elts, members, strict=True):
        if type_.hi >= MASK_BITS:
            raise checker.error(element, f"a set holds 0..{MASK_BITS - 1}, and {checker.text(element)} may be more")
    largest = max(type_.hi for _, type_ in members)
    return strict(
        SetType(largest + 1),
        lambda *values: set_of([Member(v, True) for v in values]),
        *(typed for typed, _ in members),
    )


def _written(checker: Checker, elements: Sequence[ast.expr], like: Type | None = None) -> list[tuple[Typed, WordType]]:
    named = [_like(checker, one, like) if like is not None and _is_unknown(checker, one) else None for one in elements]
    return [
        (typed, typed.type) if typed is not None and isinstance(typed.type, WordType) else checker.word(element)
        for element, typed in zip(elements, named, strict=True)
    ]


def _empty_set(checker: Checker, node: ast.Dict) -> Typed:
    """`{}`, which Python reads as an empty dictionary."""
    if node.keys:
        raise checker.error(node, "a set is written {0, 1}")
    return constant(SetType(0), BrokerSet(0))


def _list(checker: Checker, node: ast.List | ast.Tuple, like: Type | None = None) -> Typed:
    """A written list; beside a word of an enumeration, of its names too."""
    members = _written(checker, node.elts, like)
    lows, highs = [type_.lo for _, type_ in members], [type_.hi for _, type_ in members]
    type_ = ListType(tuple, WordType(min(lows, default=0), max(highs, default=0)), len(members))
    return strict(type_, lambda *values: values, *(typed for typed, _ in members))


def _comparison(checker: Checker, node: ast.Compare) -> Typed:
    """One comparison, or several that share their operands: `0 <= x < 3`."""
    operands = [node.left, *node.comparators]
    pairs = zip(operands, node.ops, operands[1:], strict=False)
    return lazily(both, *(_compared(checker, left, op, right) for left, op, right in pairs))


def _compared(checker: Checker, left: ast.expr, op: ast.cmpop, right: ast.expr) -> Typed:
    if isinstance(op, ast.In | ast.NotIn):
        found = _membership(checker, left, right)
        return found if isinstance(op, ast.In) else negated(found)
    if isinstance(op, ast.Is | ast.IsNot):
        raise checker.error(left, "write == or != for `is`")
    if _is_unknown(checker, left):
        b = plain(checker.check(right))
        a = _like(checker, left, b.type)
    else:
        a = plain(checker.check(left))
        b = _like(checker, right, a.type)
    compare = _comparer(op, a.type, b.type)
    if compare is None:
        texts = f"{checker.text(left)} is {a.type} and {checker.text(right)} {b.type}"
        kinds = {type(a.type), type(b.type)}
        mend = "; set(...) makes a set of a list" if kinds == {SetType, ListType} else ""
        raise checker.error(left, f"these cannot be compared by `{_SYMBOLS[type(op)]}`: {texts}{mend}")
    return strict(TRUTH, compare, a, b)


def _is_unknown(checker: Checker, node: ast.expr) -> bool:
    """Whether a part is a name of no field: of an enumeration, then."""
    return isinstance(node, ast.Name) and node.id not in checker.names and node.id != NONE


def _like(checker: Checker, node: ast.expr, other: Type) -> Typed:
    """A part that is compared with another: beside a word of an enumeration, a name of it stands for its number."""
    names = other.names if isinstance(other, WordType) else {}
    if not names or not _is_unknown(checker, node):
        return plain(checker.check(node))
    name = checker.text(node)
    if name not in names:
        raise checker.error(node, f"{name} is none of the names {', '.join(names)}; {nearest(name, names)}")
    return constant(WordType(names[name], names[name], names), names[name])


_SYMBOLS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}

_ORDER_OF_WORDS: dict[type[ast.cmpop], Callable[[Any, Any], Truth]] = {
    ast.Lt: lambda x, y: x < y,
    ast.LtE: lambda x, y: x <= y,
    ast.Gt: lambda x, y: x > y,
    ast.GtE: lambda x, y: x >= y,
}

_ORDER_OF_SETS: dict[type[ast.cmpop], Callable[[BrokerSet, BrokerSet], Truth]] = {
    ast.Lt: lambda x, y: _strictly_within(x, y),
    ast.LtE: lambda x, y: x.within(y),
    ast.Gt: lambda x, y: _strictly_within(y, x),
    ast.GtE: lambda x, y: y.within(x),
}


def _strictly_within(a: BrokerSet, b: BrokerSet) -> Truth:
    return negate(b.within(a)) & a.within(b)


def _comparer(op: ast.cmpop, a: Type, b: Type) -> Callable[[Any, Any], Truth] | None:
    """How values of two types are compared; None where they are not."""
    if isinstance(op, ast.Eq | ast.NotEq):
        equal = _equality(a, b)
        if equal is None or isinstance(op, ast.Eq):
            return equal
        return lambda x, y: negate(equal(x, y))
    match a, b:
        case WordType(), WordType():
            return _ORDER_OF_WORDS[type(op)]
        case SetType(), SetType():
            return _ORDER_OF_SETS[type(op)]
    return None


def _equality(a: Type, b: Type) -> Callable[[Any, Any], Truth] | None:
    ordered = (ListType, TupleType)
    if isinstance(a, ordered) and isinstance(b, ordered) and ListType in (type(a), type(b)):
        members = (member_type(a), member_type(b))
        words = all(isinstance(member, WordType) for member in members)
        return (lambda x, y: equal_in_order(entries(x, a), entries(y, b))) if words else None
    if isinstance(a, SetType) and isinstance(b, SetType):
        return lambda x, y: x.same(y)
    return None if joined(a, b) is None else same


def _membership(checker: Checker, left: ast.expr, right: ast.expr) -> Typed:
    """Whether a number is in a set, a list or a row of numbers."""
    if isinstance(right, ast.Set):  # one of these numbers, which need not be brokers
        right = ast.copy_location(ast.List(right.elts, ast.Load()), right)
    word, named = checker.word(left)
    collection = _list(checker, right, named) if isinstance(right, ast.List) else plain(checker.check(right))
    type_ = collection.type
    if isinstance(type_, SetType):
        return strict(TRUTH, lambda x, members: members.has(x), word, collection)
    if isinstance(type_, ListType) or isinstance(member_type(type_), WordType):
        return strict(TRUTH, lambda x, members: is_member(x, entries(members, type_)), word, collection)
    raise checker.error(right, f"{checker.text(right)} is {type_}, not a set or list of numbers")


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


def _set_of(checker: Checker, node: ast.Call) -> Typed:
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
) -> Typed:
    words = [checker.word(argument) for argument in node.args]
    if len(words) < 2:
        raise checker.error(node, "min and max take two numbers or more")

    def extreme(first: Word, *rest: Word) -> Word:
        for other in rest:
            first = better(first, other)
        return first

    type_ = WordType(bound(t.lo for _, t in words), bound(t.hi for _, t in words))
    return strict(type_, extreme, *(typed for typed, _ in words))


def _loops(checker: Checker, node: ast.Call) -> tuple[list[CheckedLoop], Typed]:
    """The `for`s of the argument, and its body."""
    function = checker.text(node.func)
    (argument,) = _arguments(checker, node, 1, f"{function}(b in isr for b in elr)")
    if not isinstance(argument, ast.GeneratorExp):
        raise checker.error(argument, f"it is written {function}(b in isr for b in elr)")
    loops: list[CheckedLoop] = []
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
    "set": _set_of, "size": _size,
}  # fmt: skip
"""Every function, by its name."""


FORMS: Rules = {
    ast.BoolOp: _connective, ast.UnaryOp: _unary, ast.BinOp: _binary, ast.Compare: _comparison, ast.Set: _set,
    ast.Dict: _empty_set, ast.List: _list, ast.Tuple: _list, ast.Call: _call,
}  # fmt: skip
"""The forms that this module checks."""
