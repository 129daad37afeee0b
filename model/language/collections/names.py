"""Members of an Enum: they meet members of their own Enum only, and are no numbers to count with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from attrs import define, field


@define
class Notes:
    """What a graph knows of its words besides.

    Attributes:
        enums: for words whose values are members of an Enum, by index, that class.
        doubts: for words of collections that may have lost something, by index, whether they have not, and the line.
        least: how many there are at least of what each bound leaves any number of.
        numbers: how many there are, by the bound; empty for what no bound is named for.
        below: for words of the state and of arguments, by index, the number that they are below.
    """

    enums: dict[int, type] = field(factory=dict)
    doubts: dict[int, tuple[Any, str]] = field(factory=dict)
    least: dict[str, int] = field(factory=dict)
    numbers: dict[str, Any] = field(factory=dict)
    below: dict[int, Any] = field(factory=dict)


def _of_one_enum(compare: Callable[[int, Any], Any]) -> Callable[[Any, Any], Any]:
    """A comparison of numbers, for members of one Enum."""

    def method(self: Name, other: Any) -> Any:
        reason = clash(type(self), class_of(other))
        if reason:
            raise TypeError(reason)
        return compare(self, other)  # type: ignore[arg-type]

    method.__name__, method.__doc__ = compare.__name__, compare.__doc__
    return method


def _refused(self: Any, *others: Any) -> NoReturn:
    """Refuse to be counted with."""
    raise TypeError(no_number(type(self)))


class Name:
    """What makes a word a member of an Enum; `int(member)` is its number."""

    __hash__ = int.__hash__
    __eq__ = _of_one_enum(int.__eq__)
    __ne__ = _of_one_enum(int.__ne__)
    __lt__ = _of_one_enum(int.__lt__)
    __le__ = _of_one_enum(int.__le__)
    __gt__ = _of_one_enum(int.__gt__)
    __ge__ = _of_one_enum(int.__ge__)
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refused
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __neg__ = __abs__ = _refused


def class_of(value: Any) -> type | None:
    """The Enum that a value is a member of, symbolic or not; None where it is none."""
    if issubclass(type(value), Name):
        return type(value)
    graph = getattr(value, "graph", None)
    return graph.notes.enums.get(getattr(value, "index", None)) if graph is not None else None


def enum_of(domain: Any) -> type | None:
    """The Enum that names the values of a domain; None where none does."""
    names = getattr(domain, "names", None)
    return names if isinstance(names, type) and issubclass(names, Name) else None


def clash(one: type | None, other: type | None) -> str:
    """Why members of two Enums do not meet; empty where they may, and where one is a number.

    Two Enums with the same names for the same numbers are one: a system that refines another one may have its own.
    """
    if one is None or other is None or one is other or _names(one) == _names(other):
        return ""
    return f"a member of {one.__name__} meets one of {other.__name__}; they are different things with equal numbers"


def _names(kind: type) -> dict[str, int]:
    members: Mapping[str, Any] = kind.__members__  # type: ignore[attr-defined]
    return {name: int(member) for name, member in members.items()}


def no_number(kind: type) -> str:
    """Why a member of an Enum is not counted with."""
    return f"a member of {kind.__name__} is used as a number; compare it with members of {kind.__name__}, or choose()"


def check_alike(graph: Any, one: Any, other: Any) -> None:
    """Refuse a symbolic word that meets a member of another Enum."""
    reason = clash(class_of(one), class_of(other)) if graph.notes.enums else ""
    if reason:
        raise graph.refusal(reason)


def check_numbers(graph: Any, *words: Any) -> None:
    """Refuse members of an Enum that a symbolic word is counted with."""
    for kind in filter(None, map(class_of, words)):
        raise graph.refusal(no_number(kind))


def named(graph: Any, value: Any, kind: type | None) -> Any:
    """A word whose values are members of an Enum: a node of its own, for an equal one may have other values."""
    if kind is None or class_of(value) is kind or getattr(value, "graph", None) is None:
        return value
    twin = graph.intern(value.op, value.args, value.value, value.lo, value.hi, False, kind)
    graph.notes.enums[twin.index] = kind
    return twin


def variable(graph: Any, name: str, lo: int, hi: int, kind: type | None) -> Any:
    """A new word variable, whose values are the members of an Enum, if one is given."""
    word = graph.variable(name, lo, hi)
    if kind is not None:
        graph.notes.enums[word.index] = kind
    return word
