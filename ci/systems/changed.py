"""A shipped system with rules of a user in the place of its own: in this system, and in no other.

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

from attrs import evolve, field, fields, frozen

from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.anynumber import Family
from kraftcheck.model.language.layout import Described
from kraftcheck.model.language.system import Action, ScopeError, Setting, System
from kraftcheck.model.language.words import NOTED, RuleError, rules_of
from kraftcheck.model.nearest import nearest
from kraftcheck.model.rules.vocabulary import KAFKA, vocabulary
from kraftcheck.properties.catalogue import find

Replacement = Callable[..., Any]
"""Takes what the rule takes, and the rule as it is where it has a parameter `rule` besides."""

ORIGINAL = "rule"

_IN_FORCE: ContextVar[Mapping[str, Replacement]] = ContextVar("replacements")

_ORIGINALS: dict[str, Callable[..., Any]] = {}
"""Rules whose code was exchanged, as they are written."""


@frozen
class Override:
    """A rule of a user in the place of a rule of the system.

    Attributes:
        rule: the id of the rule that is replaced.
        by: what is called instead.
    """

    rule: str
    by: Replacement

    @property
    def place(self) -> str:
        """File and line of what is called instead."""
        code = inspect.unwrap(self.by).__code__
        return f"{Path(code.co_filename).name}:{code.co_firstlineno}"

    @property
    def says(self) -> str:
        """The rule that is replaced, as a sentence."""
        return next(one.says for one in rules_of(NOTED[self.rule]) if one.id == self.rule)

    def text(self) -> str:
        """Which rule is replaced, and where its replacement is written."""
        return f"{self.rule} of {self.place}"


@frozen
class ChangedSystem(System):
    """A shipped system that can be changed; see `System` for the other attributes.

    Attributes:
        plain: the system without any override.
        overrides: the rules that are replaced, in order.
    """

    plain: System | None = None
    overrides: tuple[Override, ...] = field(default=())

    def override(self, rule: str, by: Replacement) -> ChangedSystem:
        """The system with a rule replaced.

        Args:
            rule: its id, as `kraftcheck where` shows it; rules that are noted on one function are replaced together.
            by: a function with the same parameters. Where it has a parameter `rule` besides, it gets the rule as
                it is by that name.

        Raises:
            RuleError: for an id that no rule has, a rule that is replaced already, or other parameters.
        """
        function = _function(rule)
        if not isinstance(by, FunctionType):
            raise RuleError(f"{rule}: {by!r} is no function; write one with def or lambda")
        override = Override(rule, by)
        for other in self.overrides:
            if _function(other.rule) is function:
                raise RuleError(f"{override.text()}: {other.text()} replaces that rule already; replace it once")
        _check_parameters(override, function)
        return _with(self, (*self.overrides, override))


def kafka(name: str, base: str = KAFKA) -> ChangedSystem:
    """A system of Kafka's controller, to be changed: its method `override` replaces one of its rules.

    Args:
        name: as `kraftcheck list` shows it.
        base: the rule set that counts where none is named: a release, `fixed`, `PRESET[+VARIANT|-VARIANT...]`.

    Raises:
        Refusal: in one line, for a system or a rule set that there is not.
    """
    try:
        system = find(name)
        words = vocabulary(system)
        if words is None:
            raise Refusal(f"{name} takes no rule set, and has no rule of Kafka's controller to change")
        words.parse(base)
    except ScopeError as error:
        raise Refusal(str(error)) from error
    plain = evolve(system, base=base)
    return ChangedSystem(**{one.name: getattr(plain, one.name) for one in fields(System)}, plain=plain)


def overrides_of(system: System) -> tuple[Override, ...]:
    """The rules that are replaced in a system, in order."""
    return system.overrides if isinstance(system, ChangedSystem) else ()


def without(system: System, override: Override) -> System:
    """A system without one of its overrides."""
    assert isinstance(system, ChangedSystem)
    return _with(system, tuple(other for other in system.overrides if other is not override))


def _with(of: ChangedSystem, overrides: tuple[Override, ...]) -> ChangedSystem:
    """The system with these overrides alone."""
    plain, rules = of.plain, dict[str, Replacement]()
    assert plain is not None
    for one in overrides:
        key = _exchanged(_function(one.rule))
        rules[key] = _called(one, _ORIGINALS[key])
    bound = functools.partial(_in_force, rules)

    def actions(setting: Setting) -> tuple[Action, ...]:
        return tuple(_action(action, bound) for action in bound(plain.actions)(setting))

    def initial(setting: Setting) -> list[Any]:
        states = bound(lambda: list(plain.initial(setting)))()
        return [Described(bound(one.rule)) if isinstance(one, Described) else one for one in states]

    return evolve(
        of, initial=initial, actions=actions, layout=bound(plain.layout),
        quiescent=plain.quiescent and bound(plain.quiescent), within=plain.within and bound(plain.within),
        overrides=overrides, changes=tuple(one.text() for one in overrides),
    )  # fmt: skip


def _action(action: Action, bound: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Action:
    """An action whose guard, effect and arguments run with replacements in force."""
    parameters = {
        name: Family(one.shape, bound(one.member), bound(lambda one=one: [*one])) if isinstance(one, Family) else one
        for name, one in action.parameters.items()
    }
    guard = action.guard and bound(action.guard)
    return evolve(action, effect=bound(action.effect), guard=guard, parameters=parameters)


def _in_force(rules: Mapping[str, Replacement], function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that runs with replacements in force."""

    @functools.wraps(function)
    def within(*args: Any, **kwargs: Any) -> Any:
        token = _IN_FORCE.set(rules)
        try:
            return function(*args, **kwargs)
        finally:
            _IN_FORCE.reset(token)

    return within


def _function(rule: str) -> FunctionType:
    """The function on which a rule is noted."""
    if rule not in NOTED:
        raise RuleError(f"no rule has the id {rule!r}; {nearest(rule, NOTED, 'kraftcheck where')}")
    function = NOTED[rule]
    assert isinstance(function, FunctionType)
    return function


def _check_parameters(override: Override, function: FunctionType) -> None:
    """Refuse a replacement that cannot be called as the rule is."""
    wanted = list(inspect.signature(function).parameters)
    given = [name for name in inspect.signature(override.by).parameters if name != ORIGINAL]
    if given != wanted:
        raise RuleError(f"{override.text()}: it takes ({', '.join(given)}), and the rule ({', '.join(wanted)}); give "
                        f"it the same parameters, and {ORIGINAL} besides to call the rule as it is")  # fmt: skip


def _called(override: Override, original: Callable[..., Any]) -> Replacement:
    """What is called instead of a rule."""
    if ORIGINAL not in inspect.signature(override.by).parameters:
        return override.by
    return lambda *args, **kwargs: override.by(*args, **kwargs, **{ORIGINAL: original})


def _key(function: FunctionType) -> str:
    return f"{function.__module__}.{function.__qualname__}"


def _exchanged(function: FunctionType) -> str:
    """Let a rule look for a replacement whenever it is called; returns its key."""
    key, code = _key(function), function.__code__
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
    from kraftcheck.ci.systems.changed import answer

    return answer("key", args, kwargs)


def answer(key: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """What a rule says: that of the replacement that is in force, or its own."""
    return (_IN_FORCE.get({}).get(key) or _ORIGINALS[key])(*args, **kwargs)
