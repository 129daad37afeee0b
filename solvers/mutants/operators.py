"""Operators: what a mutant makes of one expression of a rule.

An operator looks at one node of the syntax tree and says what may stand in its
place. It knows the words that rules are written with, and nothing of Kafka but
which sets are neighbours.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from attrs import frozen

HELPER = "__mutant_{}__"  # name under which a word of the language is put into a module that may not import it

NEIGHBOURS: Mapping[str, tuple[str, ...]] = {
    "isr": ("elr", "replicas"), "elr": ("isr", "replicas"), "replicas": ("isr", "elr"),
    "last_known": ("elr",), "last_known_elr": ("elr",),
    "adding": ("removing",), "removing": ("adding",),
    "fenced": ("registered",), "registered": ("fenced",), "shutting_down": ("fenced",),
    "before": ("after",), "after": ("before",),
    "logs": ("whole", "disks"), "whole": ("logs",), "disks": ("logs",),
    "failed": ("told",), "told": ("failed",), "ready": ("sent",), "sent": ("ready",),
    "plus": ("minus", "keep"), "minus": ("plus", "keep"), "keep": ("minus", "plus"),
}  # fmt: skip
"""What may be taken for what: sets of a partition, of the controller, of a broker's slots, and their operations."""

CHAIN = frozenset({"plus", "minus", "keep", "set_when", "clear_when"})
"""Methods that give a value of their receiver's kind."""

TRUTHS = frozenset({"has", "is_empty", "same", "within"})  # methods that give a truth

_OPPOSITE: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt,
}  # fmt: skip
_NEXT: Mapping[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
_LISTS = {"all_of": "any_of", "any_of": "all_of"}

Plain: TypeAlias = ast.Name | ast.Attribute


@frozen
class Around:
    """What surrounds a node, as far as operators ask."""

    names: Mapping[str, str]  # the names that the function binds, with the text of their annotation if there is one
    guard: bool = False  # whether the function gives named conditions
    truth: bool = False  # whether a truth is expected in the node's place


Replacements: TypeAlias = Iterator[ast.expr]
Operator: TypeAlias = Callable[[ast.expr, Around], Replacements]


def negated(node: ast.expr, around: Around) -> Replacements:
    """The opposite of a truth."""
    if isinstance(node, ast.Compare):
        yield from _compared(node, _OPPOSITE)
    elif _calls(node) == "negate":
        assert isinstance(node, ast.Call)
        yield node.args[0]
    elif around.truth and not isinstance(node, ast.Constant | ast.Starred) and not _is_choice(node):
        yield _call("negate", node)


def other_list(node: ast.expr, around: Around) -> Replacements:
    """`any_of` for `all_of`, and the other way round."""
    name = _calls(node)
    if isinstance(node, ast.Call) and name in _LISTS and (len(node.args) > 1 or isinstance(node.args[0], ast.Starred)):
        yield _call(_LISTS[name], *node.args)


def neighbour(node: ast.expr, around: Around) -> Replacements:
    """Another set, or another operation on sets."""
    if isinstance(node, ast.Attribute) and node.attr not in CHAIN:
        for name in NEIGHBOURS.get(node.attr, ()):
            yield _like(node, ast.Attribute(node.value, name, node.ctx))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHAIN:
        for name in NEIGHBOURS.get(node.func.attr, ()):
            method = _like(node.func, ast.Attribute(node.func.value, name, ast.Load()))
            yield _like(node, ast.Call(method, node.args, node.keywords))
    if isinstance(node, ast.Name):
        for name in NEIGHBOURS.get(node.id, ()):
            if name in around.names:
                yield _like(node, ast.Name(name, node.ctx))


def off_by_one(node: ast.expr, around: Around) -> Replacements:
    """A comparison that takes in its bound or leaves it out, a number one higher, a step that is not made."""
    if isinstance(node, ast.Compare):
        yield from _compared(node, _NEXT)
        if len(node.comparators) == 1 and _number(node.comparators[0]) and not isinstance(node.ops[0], tuple(_NEXT)):
            yield _like(node, ast.Compare(node.left, node.ops, [_higher(node.comparators[0])]))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub) and _number(node.right):
        yield node.left
    if isinstance(node, ast.Call):
        for position, argument in enumerate(node.args):
            if _number(argument):
                yield _with_arguments(node, {position: _higher(argument)})


def skipped_field(node: ast.expr, around: Around) -> Replacements:
    """A field that keeps its value."""
    if not isinstance(node, ast.Call) or _calls(node) != "evolve":
        return
    for keyword in node.keywords:
        if keyword.arg is not None:
            rest = [one for one in node.keywords if one is not keyword]
            yield _like(node, ast.Call(node.func, node.args, rest)) if rest else node.args[0]


def swapped_arguments(node: ast.expr, around: Around) -> Replacements:
    """Two neighbouring arguments in each other's place."""
    if not isinstance(node, ast.Call) or _calls(node) in {"choose", "all_of", "any_of", "none_of", "partial"}:
        return
    for at in range(len(node.args) - 1):
        if _exchangeable(node.args[at], node.args[at + 1], around):
            yield _with_arguments(node, {at: node.args[at + 1], at + 1: node.args[at]})
    for one, two in zip(node.keywords, node.keywords[1:], strict=False):
        if one.arg and two.arg and _exchangeable(one.value, two.value, around):
            changed = {id(one): two.value, id(two): one.value}
            keywords = [ast.keyword(word.arg, changed.get(id(word), word.value)) for word in node.keywords]
            yield _like(node, ast.Call(node.func, node.args, keywords))


def dropped_call(node: ast.expr, around: Around) -> Replacements:
    """The value that a call of a chain begins with."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHAIN:
        yield node.func.value


def swapped_branches(node: ast.expr, around: Around) -> Replacements:
    """The two branches of a choice in each other's place."""
    if isinstance(node, ast.Call) and _calls(node) == "choose" and len(node.args) == 3:
        yield _with_arguments(node, {1: node.args[2], 2: node.args[1]})


def dropped_condition(node: ast.expr, around: Around) -> Replacements:
    """A list of conditions without one of them."""
    if isinstance(node, ast.Call) and _calls(node) in {"all_of", "any_of", "none_of"} and len(node.args) > 1:
        for at, part in enumerate(node.args):
            if not isinstance(part, ast.Starred):
                yield _like(node, ast.Call(node.func, [*node.args[:at], *node.args[at + 1 :]], []))


def dropped_guard(node: ast.expr, around: Around) -> Replacements:
    """A table of named conditions without one of them."""
    if isinstance(node, ast.Dict) and around.guard:
        for at, key in enumerate(node.keys):
            if key is not None:
                keys, values = [*node.keys], [*node.values]
                del keys[at], values[at]
                yield _like(node, ast.Dict(keys, values))


def one_branch(node: ast.expr, around: Around) -> Replacements:
    """One branch of a choice, always."""
    if isinstance(node, ast.Call) and _calls(node) == "choose" and len(node.args) == 3:
        yield from node.args[1:]


OPERATORS: Mapping[str, Operator] = {
    "drop-condition": dropped_condition,
    "drop-guard": dropped_guard,
    "one-branch": one_branch,
    "negate": negated,
    "and-or": other_list,
    "neighbour": neighbour,
    "off-by-one": off_by_one,
    "skip-field": skipped_field,
    "swap-arguments": swapped_arguments,
    "drop-call": dropped_call,
    "swap-branches": swapped_branches,
}
"""The operators by name."""

OF_CONDITIONS = ("drop-condition", "drop-guard", "one-branch")
"""Those whose mutants only witnesses name; for tables and scores conditions are dropped where they are traced."""


def truths_within(node: ast.AST) -> list[ast.expr]:
    """The parts of a node in whose place a truth is expected; not the condition of `choose`, whose branches swap."""
    name = _calls(node)
    if isinstance(node, ast.Call) and name in {"all_of", "any_of", "none_of", "implies"}:
        return list(node.args)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_when"):
        return node.args[:1]
    if isinstance(node, ast.Dict):
        return [value for key, value in zip(node.keys, node.values, strict=True) if _titled(key) and _is_truth(value)]
    return []


def described(node: ast.expr) -> str:
    """An expression as it is written on one line, words of the language by their own names."""
    text = ast.unparse(node)
    for word in ("negate", *_LISTS):
        text = text.replace(HELPER.format(word), word)
    return text


def _is_choice(node: ast.expr) -> bool:
    """Whether an expression reads a choice of the rule set, which has variants, or a bound of the scope."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Attribute) and node.attr == "rules":
            return True
        node = node.value
    return isinstance(node, ast.Name) and node.id in {"rules", "setting"}


def _titled(key: ast.expr | None) -> bool:
    return isinstance(key, ast.Constant | ast.Name | ast.Attribute | ast.JoinedStr)


def _is_truth(node: ast.expr) -> bool:
    """Whether a value of a table is a truth by its form."""
    return isinstance(node, ast.Call) and (
        _calls(node) in {"all_of", "any_of", "none_of", "implies"}
        or (isinstance(node.func, ast.Attribute) and node.func.attr in TRUTHS)
    )


def _calls(node: ast.AST) -> str:
    """The name that a node calls, or nothing."""
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


def _compared(node: ast.Compare, other: Mapping[type[ast.cmpop], type[ast.cmpop]]) -> Replacements:
    if len(node.ops) == 1 and type(node.ops[0]) in other:
        yield _like(node, ast.Compare(node.left, [other[type(node.ops[0])]()], node.comparators))


def _number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def _higher(node: ast.expr) -> ast.expr:
    assert isinstance(node, ast.Constant)
    assert isinstance(node.value, int)
    return _like(node, ast.Constant(node.value + 1))


def _exchangeable(one: ast.expr, two: ast.expr, around: Around) -> bool:
    """Whether two arguments are names or fields, not the same, and not known to be of two kinds."""
    if not isinstance(one, Plain) or not isinstance(two, Plain) or ast.dump(one) == ast.dump(two):
        return False
    kinds = [around.names.get(part.id, "") if isinstance(part, ast.Name) else "" for part in (one, two)]
    return not all(kinds) or kinds[0] == kinds[1]


def _with_arguments(node: ast.Call, changed: Mapping[int, ast.expr]) -> ast.expr:
    arguments = [changed.get(position, argument) for position, argument in enumerate(node.args)]
    return _like(node, ast.Call(node.func, arguments, node.keywords))


def _call(word: str, *arguments: ast.expr) -> ast.expr:
    name = ast.copy_location(ast.Name(HELPER.format(word), ast.Load()), arguments[0])
    return ast.copy_location(ast.Call(name, list(arguments), []), arguments[0])


def _like(node: ast.expr, other: ast.expr) -> ast.expr:
    return ast.copy_location(other, node)
