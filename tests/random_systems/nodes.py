"""Expressions as data, so that each has three readings: the rules' language, plain Python values, and text.

The plain reading uses nothing of the project: sets are frozensets, lists of
replicas and lists of at most one id are tuples, words ints, truths bools.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from attrs import frozen

from kraftcheck.model.language.brokersets import BrokerSet, Replicas
from kraftcheck.model.language.idlists import AtMostOne, IdList

SORTS = ("word", "truth", "id", "set", "list", "one", "words", "truths", "record", "records", "idlist", "number")
"""What an expression can stand for; `id` is the number of a broker or -1, `number` one that is known."""

Span = tuple[int, int]  # smallest and largest value that a word can have

NO_SPAN: Span = (0, 0)

BEFORE, AFTER, ARGUMENTS, EVENT, BOUNDS = range(5)  # places of an environment: where a variable is looked up

SOURCES = ("", "after.", "", "event.", "bound ")  # what stands before a variable's name in text, by source


@frozen(slots=True)
class Operator:
    """An operator or word of the rules' language."""

    # name, result, takes: what it is called, the sort that it gives, the sorts of its operands
    name: str
    result: str
    takes: tuple[str, ...]
    # plain, rule: its meaning on plain values, and in the language
    plain: Callable[..., Any]
    rule: Callable[..., Any]
    text: str  # how it is written, with `{0}` for the first operand
    # for words, the span of its value from those of its operands; None where it is 0..62
    span: Callable[[Sequence[Span]], Span] | None = None
    ordered: bool = False  # whether it tells brokers apart by their numbers
    masks: bool = False  # whether its operands are masks in words, which are never negative
    divides: bool = False  # whether its second operand is a divisor, which is never 0

    @property
    def key(self) -> str:
        """The name with the sorts of its operands, which no other has."""
        return f"{self.name}({', '.join(self.takes)})"


@frozen(slots=True)
class Constant:
    """A plain value; `capacity` is the number of slots of a list."""

    sort: str
    value: Any
    span: Span = NO_SPAN
    capacity: int = 0


@frozen(slots=True)
class Variable:
    """A part of an environment, by the names of attributes (and numbers of items), and by plain places."""

    sort: str
    source: int
    names: tuple[str | int, ...]
    places: tuple[int, ...]
    span: Span = NO_SPAN


@frozen(slots=True)
class Applied:
    """An operator with its operands."""

    operator: Operator
    operands: tuple[Node, ...]
    span: Span = NO_SPAN

    @property
    def sort(self) -> str:
        """The sort of the value."""
        return self.operator.result


Node = Constant | Variable | Applied


def constant_in_rules(node: Constant) -> Any:
    """A constant in the language."""
    match node.sort:
        case "set":
            return BrokerSet.of(sorted(node.value))
        case "list":
            return Replicas.of(node.value, node.capacity)
        case "one":
            return AtMostOne(*node.value)
        case "idlist":
            return IdList.of(node.value)
    return node.value


def in_rules(node: Node, env: Sequence[Any]) -> Any:
    """The value of an expression as a rule computes it, on ints or on terms."""
    match node:
        case Constant():
            return constant_in_rules(node)
        case Variable():
            value = env[node.source]
            for name in node.names:
                value = value[name] if isinstance(name, int) or isinstance(value, dict) else getattr(value, name)
            return value
        case Applied():
            return node.operator.rule(*(in_rules(operand, env) for operand in node.operands))


def plainly(node: Node) -> Callable[[Sequence[Any]], Any]:
    """The expression as a function of an environment of plain values."""
    match node:
        case Constant():
            value = node.value
            return lambda env: value
        case Variable():
            return _lookup(node)
    meaning, read = node.operator.plain, [plainly(operand) for operand in node.operands]
    if len(read) == 1:
        (one,) = read
        return lambda env: meaning(one(env))
    if len(read) == 2:
        first, second = read
        return lambda env: meaning(first(env), second(env))
    return lambda env: meaning(*[each(env) for each in read])


def _lookup(node: Variable) -> Callable[[Sequence[Any]], Any]:
    source, places = node.source, node.places
    if len(places) == 1:
        (place,) = places
        return lambda env: env[source][place]

    def look(env: Sequence[Any]) -> Any:
        value = env[source]
        for place in places:
            value = value[place]
        return value

    return look


def text(node: Node) -> str:
    """The expression for people."""
    match node:
        case Constant():
            return "{" + ",".join(map(str, sorted(node.value))) + "}" if node.sort == "set" else repr(node.value)
        case Variable():
            name = "".join(f"[{n}]" if isinstance(n, int) else f".{n}" for n in node.names).removeprefix(".")
            return SOURCES[node.source] + name
    return node.operator.text.format(*map(text, node.operands))


def operators_of(node: Node) -> set[str]:
    """The keys of all operators in an expression."""
    if not isinstance(node, Applied):
        return set()
    return {node.operator.key}.union(*(operators_of(operand) for operand in node.operands))
