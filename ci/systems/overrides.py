"""Rules of a user in the place of rules of a shipped system: in this system, and in no other.

Rules call each other by their names. So the code of a rule that somebody replaces is exchanged once, for code that
looks for a replacement. A system has its own ones in force while its guards and effects run, and at no other time.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from pathlib import Path
from types import FunctionType
from typing import Any

from attrs import field, frozen

from kraftcheck.model.language.words import NOTED, RuleError, rules_of
from kraftcheck.model.nearest import nearest

Replacement = Callable[..., Any]
"""Takes what the rule takes; and besides, by these names, ORIGINAL and NOW."""

ORIGINAL = "rule"
"""The rule as it is."""

NOW = "now"
"""The state of the system that decides, with the fields of one's own."""

_NOWHERE = object()


@frozen
class _Force:
    """What is in force.

    Attributes:
        rules: replacements by the key of the rule.
        now: the state that decides; _NOWHERE where none does, as while initial states are made.
    """

    rules: Mapping[str, Replacement] = field(factory=dict)
    now: Any = _NOWHERE


_IN_FORCE: ContextVar[_Force] = ContextVar("replacements", default=_Force())  # noqa: B039, it is frozen

_ORIGINALS: dict[str, Callable[..., Any]] = {}
"""Rules whose code was exchanged, as they are written."""


def place_of_code(function: Callable[..., Any]) -> str:
    """The file of a function, without folders, and its line."""
    code = inspect.unwrap(function).__code__
    return f"{Path(code.co_filename).name}:{code.co_firstlineno}"


@frozen
class Override:
    """A rule of a user in the place of a rule of the system.

    Attributes:
        rule: the id of the rule that is replaced.
        by: what is called instead.
        when: the choice with which it is; empty: with any.
    """

    rule: str
    by: Replacement
    when: str = ""

    @property
    def name(self) -> str:
        """The id of the rule."""
        return self.rule

    @property
    def place(self) -> str:
        """File and line of what is called instead."""
        return place_of_code(self.by)

    @property
    def says(self) -> str:
        """The rule that is replaced, as a sentence."""
        return next(one.says for one in rules_of(NOTED[self.rule]) if one.id == self.rule)

    def check(self, others: tuple[Override, ...]) -> None:
        """Refuse what cannot replace the rule.

        Raises:
            RuleError: for an id that no rule has, a rule that another one replaces already, or other parameters.
        """
        function = _function(self.rule)
        if not isinstance(self.by, FunctionType):
            raise RuleError(f"{self.rule}: {self.by!r} is no function; write one with def or lambda")
        for other in others:
            if _function(other.rule) is function:
                raise RuleError(f"{self.rule} of {self.place}: {other.rule} of {other.place} replaces that rule "
                                "already; replace it once")  # fmt: skip
        wanted = list(inspect.signature(function).parameters)
        more = {ORIGINAL, NOW}.difference(wanted)
        given = [name for name in inspect.signature(self.by).parameters if name not in more]
        if given != wanted:
            raise RuleError(
                f"{self.place}: in the place of {self.rule}, which takes ({', '.join(wanted)}), it takes "
                f"({', '.join(given)}); give it the same parameters; and {ORIGINAL} besides to call the rule as it is, "
                f"{NOW} for the whole state"
            )


def replacements(overrides: tuple[Override, ...]) -> Mapping[str, Replacement]:
    """What is called instead, by the key of the rule."""
    rules = dict[str, Replacement]()
    for one in overrides:
        key = _exchanged(_function(one.rule))
        rules[key] = _called(one, _ORIGINALS[key])
    return rules


def in_force(rules: Mapping[str, Replacement], function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that runs with replacements in force, where no state decides."""

    @functools.wraps(function)
    def within(*args: Any, **kwargs: Any) -> Any:
        return deciding(_NOWHERE, lambda: function(*args, **kwargs), rules)

    return within


def deciding(now: Any, question: Callable[[], Any], rules: Mapping[str, Replacement] | None = None) -> Any:
    """The answer to a question that is asked of a state; by the replacements that are in force where none are given."""
    token = _IN_FORCE.set(_Force(_IN_FORCE.get().rules if rules is None else rules, now))
    try:
        return question()
    finally:
        _IN_FORCE.reset(token)


def _function(rule: str) -> FunctionType:
    """The function on which a rule is noted."""
    if rule not in NOTED:
        raise RuleError(f"no rule has the id {rule!r}; {nearest(rule, NOTED, 'kraftcheck where')}")
    function = NOTED[rule]
    assert isinstance(function, FunctionType)
    return function


def _called(override: Override, original: Callable[..., Any]) -> Replacement:
    """What is called instead of a rule."""
    taken = inspect.signature(override.by).parameters.keys() - inspect.signature(original).parameters.keys()

    def called(*args: Any, **kwargs: Any) -> Any:
        if NOW in taken:
            kwargs[NOW] = _IN_FORCE.get().now
            if kwargs[NOW] is _NOWHERE:
                raise RuleError(f"{override.rule} of {override.place}: it asks for {NOW}, and is called where there is "
                                "no state, as while initial states are made")  # fmt: skip
        if ORIGINAL in taken:
            kwargs[ORIGINAL] = original
        return override.by(*args, **kwargs)

    return called


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
    """What a rule says: that of the replacement that is in force, or its own."""
    return (_IN_FORCE.get().rules.get(key) or _ORIGINALS[key])(*args, **kwargs)
