"""Symbolic values, and members of an Enum: they refuse every operation by which Python would decide on one."""

from __future__ import annotations

import enum
import functools
import sys
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from types import FrameType
from typing import Any, NoReturn

import attrs
from attrs import define, field

UNBOUNDED = 1 << 1000

_CHOICE = "choose(), all_of(), any_of(), negate(), equal(), minimum() or maximum()"
_KEY = "just() of a set, any_of() of comparisons, pick() or choose()"
_PLACE = "get() or put() at a place, each() or count() of a range, just() of a set"
_ARITHMETIC = "+, -, *, //, %, comparisons and choose()"
_TEXT = "the word itself; text cannot depend on a state"


def _refusing(what: str, instead: str) -> Callable[..., Any]:
    """A method that refuses a use."""

    def method(self: Symbolic, *others: object, **named: object) -> NoReturn:
        raise self.graph.refusal(f"a symbolic word was used as {what}; use {instead}")

    method.__doc__ = f"Refuse to be {what}."
    return method


_MEMBER_NAMES = frozenset({"name", "_name_", "_value_"})  # what tells a member of an enumeration from a word

_INT_NAMES = frozenset(name for name in dir(int) if not name.startswith("_"))


class UntraceableRule(TypeError):
    """A rule asked a symbolic value for a concrete one (an `if`, `and`, `in`, index ...)."""


class NumberError(UntraceableRule):
    """A rule counts with the value of a bound that is any, or asks which number it is: there is no such number."""


def of_one_kind(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A comparison of collections, or of tuples, for those of one class; refuses another where a rule asks."""

    @functools.wraps(compare)
    def method(self: Any, other: Any) -> Any:
        answer = compare(self, other)
        if answer is NotImplemented and not _is_of_kraftcheck(_asking()):
            kind = with_article(type(self).__name__)
            raise UntraceableRule(f"{place()}: {kind} is compared with {described(other)}, which it never equals, "
                                  f"whatever it holds; make that {kind}, too")  # fmt: skip
        return answer

    return method


class Untold:
    """A collection, or a field that may be absent: it has no truth, on ints as on terms.

    Python takes whatever has no truth of its own for true: a rule that asks `if isr` would never see an empty one. And
    it takes values of two classes for unequal: a rule that asks `isr == {0, 1}` would never see these two.
    """

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        """Refuse, where a rule asks, whether it equals what is of another class."""
        super().__init_subclass__()
        for name in ("__eq__", "__ne__"):
            compare = vars(cls).get(name)
            if compare is not None and not hasattr(compare, "__wrapped__"):
                setattr(cls, name, of_one_kind(compare))

    def __bool__(self) -> NoReturn:
        """Refuse to be a condition."""
        asked = "its `present`" if hasattr(type(self), "or_else") else "its is_empty(), or count(), size() or has()"
        raise UntraceableRule(f"{place()}: {with_article(type(self).__name__)} was used as a condition (if, and, or, "
                              f"not, bool()), and has no truth; use {asked}")  # fmt: skip


class AnyOf:
    """The value of a bound that is any: how many there are is one number of each bound, and no rule learns which.

    It is larger than what is below the least that the bound takes. Whether it is ANY only kraftcheck's own parts may
    ask, and `initial`, which describes the states of any number and lists those of one.

    Attributes:
        bound, least: the name of the bound, and the least that it takes.
        told: whether it may be compared with ANY.
    """

    def __init__(self, bound: str, least: int, told: bool = False) -> None:
        self.bound, self.least, self.told = bound, least, told

    def refused(self, *_: object) -> NoReturn:
        """Refuse to be counted with, or to be told from a number."""
        raise NumberError(
            f"{place()}: the bound {self.bound} is any, and a rule counts with it, or asks which number it is; "
            "count(keys(map), lambda place: True) of a map below it is how many there are, and only `initial` may "
            "compare it with ANY"
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = __abs__ = refused
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __truediv__ = __rtruediv__ = __pow__ = __rpow__ = refused
    __int__ = __index__ = __str__ = __format__ = refused

    def __eq__(self, other: object) -> bool:
        """Whether it is ANY; the bound is equal to itself."""
        is_any = isinstance(other, AnyOf) or other == UNBOUNDED
        same = isinstance(other, AnyOf) and other.bound == self.bound
        if not same and not (self.told and is_any) and not _is_of_kraftcheck(sys._getframe(1)):
            self.refused()
        return is_any

    def __hash__(self) -> int:
        """The hash of ANY."""
        return hash(UNBOUNDED) if _is_of_kraftcheck(sys._getframe(1)) else self.refused()

    def __repr__(self) -> str:
        """How it is spelled."""
        return "any" if _is_of_kraftcheck(sys._getframe(1)) else self.refused()

    def __bool__(self) -> bool:
        """Whether it is not 0."""
        return self._at_least(1, True)

    def _at_least(self, other: object, answer: bool) -> bool:
        """The answer, where each number that it may be is at least the other."""
        if isinstance(other, Symbolic) or not isinstance(other, int) or other > self.least:
            self.refused()
        return answer

    def __gt__(self, other: object) -> bool:
        """Whether it is larger than a number below its least."""
        return self._at_least(other + 1 if isinstance(other, int) else other, True)

    def __ge__(self, other: object) -> bool:
        """Whether it is at least a number."""
        return self._at_least(other, True)

    def __lt__(self, other: object) -> bool:
        """Whether it is smaller than a number."""
        return self._at_least(other, False)

    def __le__(self, other: object) -> bool:
        """Whether it is at most a number."""
        return self._at_least(other + 1 if isinstance(other, int) else other, False)


def check_told(bounds: Mapping[str, object], told: bool) -> None:
    """Refuse what its caller tells of bounds that are any where a rule asks it, or what makes the parts of a system.

    Raises:
        NumberError: naming the first, at the line.
    """
    anyone = next((name for name, value in bounds.items() if isinstance(value, AnyOf)), None)
    if anyone is not None and not told and not _is_of_kraftcheck(sys._getframe(2), words=True):
        raise NumberError(f"{place()}: the bound {anyone} is any, and only `initial` may ask which bounds are; give "
                          f"setting[{anyone!r}] to map_below, set_below, word_below or numbers_below")  # fmt: skip


_LANGUAGE = "kraftcheck.model.language."


def _is_of_kraftcheck(frame: FrameType, words: bool = False) -> bool:
    """Whether code is that of a module of kraftcheck; of the words, which ask for those who use them, if told."""
    name = frame.f_globals.get("__name__") or ""
    ours = name.startswith("kraftcheck.") and (words or not name.startswith(_LANGUAGE))
    return ours and vars(sys.modules.get(name, sys)) is frame.f_globals


class OfAnyNumber(Untold):
    """A collection of any number of members: no rule can tell it from one of few."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        """Refuse what it has not, where a rule asks."""
        graph = None if name == "graph" or _is_of_kraftcheck(sys._getframe(1), words=True) else self.graph
        if graph is None:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        raise graph.refusal(f"{described(self)} was asked for {name}")


class Symbolic:
    """A value that is unknown while a rule is traced."""

    __slots__ = ()

    graph: Any  # the graph of the trace; it records refusals

    __bool__ = _refusing("a condition (if, and, or, not, while, a chained comparison)", _CHOICE)
    __int__ = __float__ = __complex__ = __trunc__ = _refusing("a number", "arithmetic and comparisons on words")
    __index__ = _refusing("an index, an end of a range or a shift count", _PLACE)
    __iter__ = __reversed__ = __len__ = __getitem__ = _refusing("a collection", "a loop over the fixed slots")
    __contains__ = _refusing("a collection", "has() of a set")
    __hash__ = _refusing("a key (a member of a set, a key of a dict, an argument of a cached function)", _KEY)
    __eq__ = _refusing("one side of a comparison", "comparisons of words")
    __repr__ = __str__ = __format__ = __bytes__ = _refusing("text (str, repr, format, an f-string)", _TEXT)
    __reduce_ex__ = _refusing("something to pickle", _TEXT)
    __round__ = __floor__ = __ceil__ = __pos__ = _refusing("a number", _ARITHMETIC)
    __neg__ = __abs__ = _refusing("a number", "the words that it holds")
    __invert__ = _refusing("an inverted number", "negate() of a truth, minus() of a set")
    __mul__ = __rmul__ = _refusing("a factor", "the words that it holds")
    __matmul__ = __rmatmul__ = __pow__ = __rpow__ = _refusing("a factor", _ARITHMETIC)
    __truediv__ = __rtruediv__ = __divmod__ = __rdivmod__ = _refusing("part of a division", "// and %")
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _refusing("part of a division", "the words that it holds")
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _refusing("part of a shift", "just() of a set")
    __xor__ = __rxor__ = _refusing("part of an exclusive or", "!= of truths, plus() and minus() of sets")

    def __getattr__(self, name: str) -> Any:
        """Refuse what an int could answer (`bit_count`, `real`); a rule may not find out that this is none."""
        if name in _INT_NAMES:
            raise self.graph.refusal(f"a symbolic word was asked for int.{name}; use {_ARITHMETIC}")
        if name in _MEMBER_NAMES:
            raise self.graph.refusal(f"a symbolic word was asked for {name}, as a member of an enumeration: compare it")
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
    if isinstance(value, Symbolic) or hasattr(type(value), "described"):
        found: str = value.described()
        return found
    if isinstance(value, tuple):
        return f"({', '.join(map(described, value))})"
    if isinstance(value, list):
        return f"[{', '.join(map(described, value))}]"
    if callable(value) and hasattr(value, "__name__"):
        return f"the {'class' if isinstance(value, type) else 'function'} {value.__name__}"
    names = record_fields(type(value))
    if names is None:
        return repr(value)
    return f"{type(value).__name__}({', '.join(f'{name}={described(getattr(value, name))}' for name in names)})"


def is_record(value: Any) -> bool:
    """Whether a value is a record of a rule's own, and no word."""
    return not isinstance(value, Symbolic) and record_fields(type(value)) is not None


def with_article(noun: str) -> str:
    """A noun, such as the name of a class, after its article.

    >>> with_article("Queue"), with_article("IntSet")
    ('a Queue', 'an IntSet')
    """
    return f"{'an' if noun[0] in 'AEIOUaeiou' else 'a'} {noun}"


def brief(value: Any) -> str:
    """A value as messages show it; of a record, whose fields may be many, its class."""
    return with_article(type(value).__name__) if is_record(value) else described(value)


@define
class Notes:
    """The notes of a graph on its words."""

    enums: dict[int, type] = field(factory=dict)  # for words whose values are members of an Enum, by index, that class
    # for words of collections that may have lost something, by index, whether they have not, and the line
    doubts: dict[int, tuple[Any, str]] = field(factory=dict)
    least: dict[str, int] = field(factory=dict)  # how many there are at least of what each bound leaves any number of
    # how many there are, by the bound; empty for what no bound is named for
    numbers: dict[str, Any] = field(factory=dict)
    # for words of the state and of arguments, by index, the number that they are below
    below: dict[int, Any] = field(factory=dict)
    # for sequences, by index, how many there are of each place that names a word; None where all are
    of_places: dict[int, list[Any]] = field(factory=dict)


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
    """The base of members of an Enum; `int(member)` is the number."""

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


def check_place(value: Any) -> None:
    """Refuse a truth, and a member of an Enum, of Python's too, as a place or as a number of a set: a map holds such.

    Raises:
        UntraceableRule: with the line; TypeError where the value is no symbolic one.
    """
    if type(value) is int:
        return
    kind = type(value) if isinstance(value, enum.Enum) else class_of(value)
    if kind is None and not isinstance(value, bool):
        return
    what = "a truth" if kind is None else f"a member of {kind.__name__}"
    reason = (f"{what} is used as a place, or as a number in a set; each() of a map goes through its values: use "
              f"keys(map) for its places, or a Map or a SetOf where the keys are no numbers")  # fmt: skip
    raise value.graph.refusal(reason) if isinstance(value, Symbolic) else TypeError(reason)


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


_MACHINERY = (
    "/kraftcheck/__init__.py",
    "kraftcheck/model/language/symbolic.py",
    "kraftcheck/model/language/refinement.py",
    "kraftcheck/model/language/system.py",
    "kraftcheck/model/language/terms.py",
    "kraftcheck/model/language/words.py",
    "kraftcheck/model/language/brokersets.py",
    "kraftcheck/model/language/idlists.py",
    "kraftcheck/model/language/sequences.py",
    "kraftcheck/model/language/collections.py",
    "kraftcheck/model/language/places.py",
    "kraftcheck/model/language/anynumber.py",
    "kraftcheck/properties/kinds.py",
    "attr/_make.py",
)

_CALLERS = (
    "kraftcheck/solvers/program/verdict.py",
    "kraftcheck/solvers/program/parts.py",
    "kraftcheck/solvers/program/trace.py",
    "kraftcheck/model/language/system.py",
    "kraftcheck/ci/systems/added.py",
    "kraftcheck/ci/systems/overrides.py",
)
"""What calls rules, and is none."""

_STANDARD_LIBRARY = functools.__file__.removesuffix("functools.py")


def place() -> str:
    """The line of the rule that is traced: see `_asking`."""
    frame = _asking()
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _asking() -> FrameType:
    """The nearest caller outside the word machinery and Python's library."""
    frame = sys._getframe(1)
    while frame.f_back is not None and (
        _is_machinery(frame.f_code.co_filename)
        or (frame.f_code.co_filename, frame.f_code.co_name) == ("<string>", "__eq__")  # a dataclass's
    ):
        frame = frame.f_back
    return frame


def place_of(error: BaseException) -> str | None:
    """The line of the rule that raised an error; None where it was raised before any rule was called."""
    at, line = error.__traceback__, None
    while at is not None:
        filename = at.tb_frame.f_code.co_filename
        if not _is_machinery(filename) and not filename.endswith(_CALLERS):
            line = f"{filename}:{at.tb_lineno}"
        at = at.tb_next
    return line


def _is_machinery(filename: str) -> bool:
    if filename.startswith(_STANDARD_LIBRARY):
        return "site-packages" not in filename
    return filename.startswith(("<attrs", "<frozen")) or filename.endswith(_MACHINERY)
