"""What a user adds to a shipped system, and the parts of the system with it.

States are those of the shipped system, with the fields that are added beside: what is shipped gets them without, and
keeps them as they are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import attrs
from attrs import evolve, frozen

from kraftcheck.ci.systems.overrides import Override, Replacement, deciding, in_force, place_of_code, replacements
from kraftcheck.model.language.anynumber import Family
from kraftcheck.model.language.collections import equal
from kraftcheck.model.language.layout import Described
from kraftcheck.model.language.symbolic import record_fields
from kraftcheck.model.language.system import (
    Action,
    Outcome,
    Property,
    ScopeError,
    Setting,
    Step,
    System,
    conjuncts,
)
from kraftcheck.model.language.words import RuleError, first_sentence
from kraftcheck.model.nearest import nearest

Part = TypeVar("Part")

TAKEN = "taken-"
"""How the id of the goal begins that an action of one's own happens; its name follows."""


@frozen
class Choice:
    """A switch of one's own: as the command line spells it, what is so when it is on, and where it is written."""

    name: str
    says: str
    place: str


@frozen
class AddedAction:
    """One more event.

    Attributes:
        given: the action, or a function of the setting that gives it.
        when: the choice with which it is there; empty: with any.
        heals: whether ways out may take it.
    """

    given: Any
    when: str
    heals: bool

    @property
    def name(self) -> str:
        """What it is called."""
        return f"action {self.given.name if isinstance(self.given, Action) else self.given.__name__}"

    @property
    def place(self) -> str:
        """File and line where it is written."""
        return place_of_code(self.given.effect if isinstance(self.given, Action) else self.given)

    @property
    def says(self) -> str:
        """What it does, of the first sentence of its docstring."""
        return first_sentence((self.given.effect if isinstance(self.given, Action) else self.given).__doc__)


@frozen
class AddedGuard:
    """One more condition of an action of the system, with the choice with which it is there; empty: any."""

    action: str
    given: Callable[..., Any]
    when: str

    @property
    def name(self) -> str:
        """What it is called."""
        return f"guard of {self.action}"

    @property
    def place(self) -> str:
        """File and line where it is written."""
        return place_of_code(self.given)

    @property
    def says(self) -> str:
        """What it asks, of the first sentence of its docstring."""
        return first_sentence(self.given.__doc__)


@frozen
class AddedField:
    """More of the state.

    Attributes:
        variable: its name.
        domain, initial: what values it has, and which at the start; or a function of the setting.
        then: of a step, its value after it; None: what the action says, and what is shipped says nothing of it.
        place: file and line.
    """

    variable: str
    domain: Any
    initial: Any
    then: Callable[[Step], Any] | None
    place: str
    says: str = ""

    @property
    def name(self) -> str:
        """What it is called."""
        return f"field {self.variable}"


@frozen
class Scope:
    """Preset bounds of one's own."""

    name: str
    bounds: Mapping[str, int]


@frozen
class Added:
    """Properties, or what is fair, or a function of the setting that gives some."""

    kind: type
    given: tuple[Any, ...]

    def at(self, setting: Setting) -> tuple[Any, ...]:
        """What they are at a setting."""
        return tuple(one for given in self.given for one in _several(_at(given, setting)))


def is_on(part: Any, setting: Setting) -> bool:
    """Whether a change is there at a setting: with any choice, or its choice is on."""
    when: str = getattr(part, "when", "")
    return not when or bool(setting.rules.value(when.replace("-", "_")))


@frozen
class Made:
    """The parts of a changed system."""

    plain: System
    parts: tuple[Any, ...]

    def at(self, kind: type[Part], setting: Setting) -> tuple[Part, ...]:
        """The changes of a kind that are there at a setting."""
        return tuple(one for one in self.parts if isinstance(one, kind) and is_on(one, setting))

    def added(self, kind: type, setting: Setting) -> tuple[Any, ...]:
        """Properties, or what is fair, that are added."""
        return tuple(got for one in self.at(Added, setting) if one.kind is kind for got in one.at(setting))

    def rules(self, setting: Setting) -> Mapping[str, Replacement]:
        """The replacements."""
        return replacements(self.at(Override, setting))

    def layout(self, setting: Setting) -> Any:
        """The domain of each field."""
        shape = in_force(self.rules(setting), self.plain.layout)(setting)
        return extended(shape, {one.variable: _at(one.domain, setting) for one in self.at(AddedField, setting)})

    def initial(self, setting: Setting) -> list[Any]:
        """The initial states of the shipped system, with the fields that are added."""
        rules = self.rules(setting)
        values = {one.variable: _at(one.initial, setting) for one in self.at(AddedField, setting)}

        def begun(given: Described, state: Any) -> dict[str, Any]:
            alike = {f"{name} is as at the start": equal(getattr(state, name), value) for name, value in values.items()}
            return {**in_force(rules, given.holds)(_narrowed(state)), **alike}

        states = in_force(rules, lambda: list(self.plain.initial(setting)))()
        return [
            Described(functools.partial(begun, one)) if isinstance(one, Described) else extended(one, values)
            for one in states
        ]

    def own_actions(self, setting: Setting) -> list[tuple[AddedAction, Any]]:
        """The actions that are added, each with how it was given."""
        return [(part, one) for part in self.at(AddedAction, setting) for one in _several(_at(part.given, setting))]

    def actions(self, setting: Setting) -> tuple[Any, ...]:
        """The actions of the shipped system, and those that are added."""
        rules, fields = self.rules(setting), self.at(AddedField, setting)
        guards, actions = self.at(AddedGuard, setting), in_force(rules, self.plain.actions)(setting)
        for one in guards:
            if one.action not in (names := [action.name for action in actions]):
                raise ScopeError(f"{one.place}: there is no action {one.action!r} here; {nearest(one.action, names)}")
        shipped = [
            _Acting(one, rules, fields, tuple(more.given for more in guards if more.action == one.name)).action()
            for one in actions
        ]
        own = (one for _, one in self.own_actions(setting))
        added = [_Acting(one, rules, fields, (), self).action() if isinstance(one, Action) else one for one in own]
        return (*shipped, *added)

    def properties(self, setting: Setting) -> tuple[Any, ...]:
        """The properties: those that are added, and that each action happens that is added."""
        own = [(part, one.name) for part, one in self.own_actions(setting) if isinstance(one, Action)]
        more: Mapping[str, Any] = {name: {} for part, name in own if part.heals}
        shipped = [evolve(one, by={**one.by, **more}) if one.by else one for one in self.plain.properties(setting)]
        return (*shipped, *self.added(Property, setting), *(_taken(name) for _, name in own))


def _taken(name: str) -> Property:
    return Property(TAKEN + name.replace("_", "-"), "happens", f"{name} happens", lambda step: step.action == name)


@frozen
class _Acting:
    """An action with replacements in force.

    Attributes:
        of: the action as it is written.
        rules, fields: the replacements, and the fields that are added.
        guards: conditions that are added.
        own: the system to which it is added; None: it is shipped, and knows of no field that is added.
    """

    of: Action
    rules: Mapping[str, Replacement]
    fields: tuple[AddedField, ...]
    guards: tuple[Callable[..., Any], ...] = ()
    own: Made | None = None

    def action(self) -> Action:
        """The action."""
        parameters = {
            name: Family(one.shape, in_force(self.rules, one.member), in_force(self.rules, lambda one=one: [*one]))
            if isinstance(one, Family) else one
            for name, one in self.of.parameters.items()
        }  # fmt: skip
        guard = _as(self.of.guard or self.guards[0], self._guard) if self.of.guard or self.guards else None
        return evolve(self.of, effect=_as(self.of.effect, self._effect), guard=guard, parameters=parameters)

    def _seen(self, state: Any) -> Any:
        """The state as the action knows it."""
        return state if self.own is not None or not self.fields else _narrowed(state)

    def _guard(self, state: Any, **arguments: Any) -> Any:
        seen = self._seen(state)
        shipped: Any = deciding(state, lambda: self.of.guards(seen, arguments), self.rules)
        if not self.guards:
            return shipped
        for one in self.guards:
            more = conjuncts(one(state, **arguments), one.__name__.replace("_", " "))
            if twice := sorted(shipped.keys() & more.keys()):
                raise RuleError(f"{self.of.name} has a condition {twice[0]!r} already; give it another name")
            shipped = {**shipped, **more}
        return shipped

    def _effect(self, state: Any, **arguments: Any) -> Any:
        seen = self._seen(state)
        made: Outcome = deciding(state, lambda: self.of.outcome(seen, arguments), self.rules)
        if self.own is None:
            made = evolve(made, state=extended(made.state, {one.variable: getattr(state, one.variable)
                                                            for one in self.fields}))  # fmt: skip
        elif made.event is None and self.own.plain.quiet is not None:
            made = evolve(made, event=self.own.plain.quiet(state))
        if type(made.state) is not type(state):
            return made  # tracing says what is wrong with it
        step = Step(state, made.state, self.of.name, arguments, made.event)
        values = {one.variable: one.then(step) for one in self.fields if one.then is not None}
        return evolve(made, state=evolve(made.state, **values)) if values else made


def _as(written: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that messages call by another one's name and line."""
    return functools.wraps(written)(lambda *args, **kwargs: function(*args, **kwargs))


def extended(state: Any, values: Mapping[str, Any]) -> Any:
    """A state with more fields."""
    if not values or not attrs.has(type(state)):
        return state
    of: Any = type(state)
    kind = _wider(of, tuple(values))
    return kind(**{name: getattr(state, name) for name in record_fields(type(state)) or ()}, **values)


def _narrowed(state: Any) -> Any:
    """A state without the fields that are added."""
    kind = _NARROW.get(type(state))
    return state if kind is None else kind(**{name: getattr(state, name) for name in record_fields(kind) or ()})


_NARROW: dict[type, type] = {}
"""Classes of states with more fields, each with the one that it is made of."""


@functools.cache
def _wider(kind: Any, names: tuple[str, ...]) -> type:
    """The class of states with more fields; they need a default nowhere, whatever the others have."""
    more = {name: attrs.field(kw_only=True) for name in names}
    made = attrs.make_class(kind.__name__, more, bases=(kind,), frozen=True, slots=True)
    _NARROW[made] = kind
    return made


def _at(given: Any, setting: Setting) -> Any:
    """What is given, at a setting."""
    return given(setting) if callable(given) else given


def _several(given: Any) -> tuple[Any, ...]:
    """What is given as one, or as some."""
    return tuple(given) if isinstance(given, Iterable) else (given,)
