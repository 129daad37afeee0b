"""Rules of a user in the place of rules of a shipped system: in this system, and in no other.

Rules call each other by their names. So the code of a rule that somebody replaces is exchanged once, for code that
looks for a replacement. A system has its own ones in force while its guards and effects run, and at no other time.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from pathlib import Path
from types import FunctionType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from attrs import field, frozen

from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.layout import LayoutError
from kraftcheck.model.language.symbolic import UntraceableRule, described, place_of, record_fields
from kraftcheck.model.language.terms import Term
from kraftcheck.model.language.words import NOTED, RuleError, rules_of
from kraftcheck.model.nearest import nearest
from kraftcheck.solvers.program.parts import RAISED, mend_of, one_line

T = TypeVar("T")
Replacement = Callable[..., Any]  # takes what the rule takes; and besides, by these names, ORIGINAL and NOW
ORIGINAL = "rule"  # the rule as it is
NOW = "now"  # the state of the system that decides, with the fields of one's own


class _Nowhere:
    """Stands for the state where none decides, as while initial states are made."""


@frozen
class _Force:
    """What is in force: replacements by the key of the rule, and the state that decides."""

    rules: Mapping[str, Replacement] = field(factory=dict)
    now: Any = _Nowhere


_IN_FORCE: ContextVar[_Force] = ContextVar("replacements", default=_Force())  # noqa: B039, it is frozen
_ORIGINALS: dict[str, Callable[..., Any]] = {}  # rules whose code was exchanged, as they are written


class ChangeError(Refusal, RuleError):
    """A change that cannot be made: one line, which begins with the file and the line where it is written."""


def place_of_code(function: Callable[..., Any]) -> str:
    """The file of a function, without folders, and its line; of what has no code that of the caller."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return caller() if code is None else f"{Path(code.co_filename).name}:{code.co_firstlineno}"


def caller() -> str:
    """File and line of the nearest caller that is no module of changes."""
    frame = sys._getframe(1)
    while Path(frame.f_code.co_filename).parent == Path(__file__).parent and frame.f_back is not None:
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def blamed(place: str, what: str, question: Callable[[], T]) -> T:
    """The answer of a part that a user adds; what it raises is a ChangeError, with place and line."""
    try:
        return question()
    except (UntraceableRule, LayoutError, RuleError):
        raise  # which name the line
    except RAISED as error:
        at = "" if (line := place_of(error)) is None else f" ({line})"
        text = f"{what} raised {type(error).__name__}: {one_line(error)}{mend_of(error)}{at}"
        raise ChangeError(f"{place}: {text}") from error


def check_answers(place: str, what: str, function: Callable[..., Any]) -> None:
    """Refuse a function that gives no answer when it is called."""
    if any(kind(function) for kind in (inspect.iscoroutinefunction, inspect.isgeneratorfunction)):
        raise ChangeError(f"{place}: {what} gives no answer when it is called; write `def` without `async` or `yield`")


def captured(function: Callable[..., Any]) -> str:
    """The plain values that a function has of the one that makes it, in parentheses; empty where there are none.

    >>> captured((lambda most: lambda state: state.at < most)(3))
    ' (most=3)'
    """
    inner = inspect.unwrap(function)
    values = inspect.getclosurevars(inner).nonlocals if inspect.isfunction(inner) else {}
    told = [f"{name}={value!r}" for name, value in values.items() if isinstance(value, bool | int | float | str)]
    return f" ({', '.join(told)})" if told else ""


@frozen
class SystemChange:
    """The changes of a user to a system."""

    name: str  # what it is called; of a rule that is replaced its id
    place: str  # file and line where it is written
    says: str  # a sentence about it
    when: str  # the choice with which it is there; empty: with any


@frozen
class Override(SystemChange):
    """A rule of a user, which is called in the place of one of the system."""

    by: Replacement

    @classmethod
    def of(cls, rule: str, by: Any, when: str, others: tuple[Override, ...]) -> Override:
        """The replacement of a rule; raises ChangeError for an unknown id, one replaced already, other parameters."""
        if str(rule) not in NOTED:
            near = nearest(str(rule), NOTED, "kraftcheck where")
            raise ChangeError(f"{caller()}: no rule has the id {rule!r}; {near}")
        if not isinstance(by, FunctionType):
            raise ChangeError(f"{caller()}: {rule}: {by!r} is no function; write one with def or lambda")
        place, function = place_of_code(by), _function(rule)
        check_answers(place, f"in the place of {rule} it", by)
        for other in others:
            if _function(other.name) is function:
                raise ChangeError(f"{place}: {other.name} of {other.place} replaces the rule {rule} already; "
                                  "replace it once")  # fmt: skip
        if not _is_called_alike(by, function):
            wanted = ", ".join(inspect.signature(function).parameters)
            raise ChangeError(
                f"{place}: in the place of {rule}, which takes ({wanted}), it takes {taken(by)}; give it the same "
                f"parameters; and {ORIGINAL} besides to call the rule as it is, {NOW} for the whole state"
            )
        return cls(rule, place + captured(by), next(one.says for one in rules_of(function) if one.id == rule), when, by)


def taken(function: Callable[..., Any]) -> str:
    """What a function takes, as it is written, without types."""
    signature = inspect.signature(function)
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in signature.parameters.values()]
    return str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))


def _is_called_alike(by: Replacement, function: FunctionType) -> bool:
    """Whether a replacement takes what a rule takes, in order and by name, and no more than what is given besides."""
    signature, wanted = inspect.signature(by), inspect.signature(function).parameters
    more = dict.fromkeys({ORIGINAL, NOW}.difference(wanted) & signature.parameters.keys())
    in_order = [name for name, one in wanted.items() if one.kind is not one.KEYWORD_ONLY]
    try:
        signature.bind(*in_order, **more, **dict.fromkeys(wanted.keys() - set(in_order)))
        signature.bind(**more, **dict.fromkeys(wanted))
    except TypeError:
        return False
    return [name for name in signature.parameters if name not in more] == [*wanted]


def replacements(overrides: tuple[Override, ...]) -> Mapping[str, Replacement]:
    """The replacements, by the key of the rule."""
    return {one.key: one for one in map(_Called, overrides)}


def in_force(rules: Mapping[str, Replacement], function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that runs with replacements in force, where no state decides."""

    @functools.wraps(function)
    def within(*args: Any, **kwargs: Any) -> Any:
        return deciding(_Nowhere, lambda: function(*args, **kwargs), rules)

    return within


def deciding(now: Any, question: Callable[[], Any], rules: Mapping[str, Replacement] | None = None) -> Any:
    """The answer to a question that is asked of a state; by the replacements that are in force where none are given."""
    token = _IN_FORCE.set(_Force(_IN_FORCE.get().rules if rules is None else rules, now))
    try:
        return question()
    finally:
        _IN_FORCE.reset(token)


def _function(rule: str) -> FunctionType:
    function = NOTED[rule]
    assert isinstance(function, FunctionType)
    return function


class _Called:
    """What is called instead of a rule, which looks for it from now on, in a process that unpickles this too."""

    def __init__(self, override: Override) -> None:
        function = _function(override.name)
        self.override, self.key = override, _exchanged(function)
        self._original, self._gives = _ORIGINALS[self.key], function.__annotations__["return"]
        self._kind = get_type_hints(function)["return"]
        asked, given = (inspect.signature(one).parameters.keys() for one in (override.by, self._original))
        self._more, self._seen = asked - given, set[type]()

    def __reduce__(self) -> Any:
        """See the class."""
        return _Called, (self.override,)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The value of a user's function; raises ChangeError for what it raises, and for no value of the rule."""
        override = self.override
        if NOW in self._more:
            kwargs[NOW] = _IN_FORCE.get().now
            if kwargs[NOW] is _Nowhere:
                raise ChangeError(f"{override.place}: in the place of {override.name} it asks for {NOW}, and is called "
                                "where there is no state, as while initial states are made")  # fmt: skip
        if ORIGINAL in self._more:
            kwargs[ORIGINAL] = self._original
        held = list(map(_parts, args))
        given = blamed(override.place, f"in the place of {override.name} it", lambda: override.by(*args, **kwargs))
        if any(was is not now for one, parts in zip(args, held, strict=True)
               for was, now in zip(parts, _parts(one), strict=True)):  # fmt: skip
            raise ChangeError(f"{override.place}: in the place of {override.name} it changes what it is given; make "
                              "another with evolve()")  # fmt: skip
        if given.__class__ not in self._seen and not is_a(given, self._kind):
            raise ChangeError(f"{override.place}: in the place of {override.name} it gives {described(given)}; "
                              f"the rule gives a {self._gives}: return one")  # fmt: skip
        self._seen.add(given.__class__)
        return given


def _parts(record: Any) -> list[Any]:
    return [getattr(record, name) for name in record_fields(type(record)) or ()]


def is_a(value: Any, kind: Any) -> bool:
    """Whether a value is what a type hint says, symbolic or not; what containers hold is not asked, but for tuples."""
    of, parts = get_origin(kind) or kind, get_args(kind)
    if of in (UnionType, Union):
        return any(is_a(value, one) for one in parts if one is not Term)  # a truth is a bool, a word an int
    if of is tuple and isinstance(value, tuple):
        each = parts[:1] * len(value) if parts[-1] is Ellipsis else parts
        return len(each) == len(value) and all(map(is_a, value, each))
    number = of is not bool and isinstance(of, type) and issubclass(of, int)  # words of an Enum are words
    return isinstance(value, int if number else of)


def _exchanged(function: FunctionType) -> str:
    """Let a rule look for a replacement whenever it is called; returns its key."""
    key, code = f"{function.__module__}.{function.__qualname__}", function.__code__
    if key not in _ORIGINALS:
        own = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
        own.__kwdefaults__ = function.__kwdefaults__
        _ORIGINALS[key] = own
        function.__signature__ = inspect.signature(own)  # type: ignore[attr-defined]
        looking = _looking.__code__
        function.__code__ = looking.replace(
            co_consts=tuple(key if one == "key" else one for one in looking.co_consts), co_name=code.co_name,
            co_qualname=code.co_qualname, co_filename=code.co_filename, co_firstlineno=code.co_firstlineno,
        )  # fmt: skip
    return key


def _looking(*args: Any, **kwargs: Any) -> Any:
    """The code of every rule that somebody replaces, but for the key: it has the globals of the rule's module."""
    from kraftcheck.ci.systems.overrides import answer

    return answer("key", args, kwargs)


def answer(key: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The answer of a rule: of the replacement that is in force, or its own."""
    return (_IN_FORCE.get().rules.get(key) or _ORIGINALS[key])(*args, **kwargs)
