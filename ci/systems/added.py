"""What a user adds to a shipped system: choices, actions, fields, properties; and random runs that show it."""

from __future__ import annotations

import functools
import inspect
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, TypeVar

import attrs
from attrs import evolve, frozen

from kraftcheck.ci.systems.overrides import (
    ChangeError,
    Override,
    Replacement,
    SystemChange,
    blamed,
    caller,
    check_answers,
    deciding,
    in_force,
    replacements,
    taken,
)
from kraftcheck.model.language.anynumber import Family
from kraftcheck.model.language.collections import equal
from kraftcheck.model.language.layout import DOMAINS, Described, DomainError, Layout, LayoutError, leaves
from kraftcheck.model.language.symbolic import described, record_fields, with_article
from kraftcheck.model.language.system import ANY, Action, Fairness, Outcome, Property, Setting, Step, System, conjuncts
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import all_of, any_of, negate
from kraftcheck.model.nearest import nearest
from kraftcheck.solvers.program.verdict import DEADLOCK
from kraftcheck.solvers.reference.interpreter import Integers, Transition


def random_run(
    engine: Integers, seed: int, steps: int, preferences: Sequence[Mapping[str, int]] = ({},),
    weights: Sequence[int] = (1,),
) -> Iterator[Transition]:  # fmt: skip
    """A random run of at most so many steps within the domains of the layout, the same for the same seed.

    Args:
        engine, seed, steps: what runs, what decides all that is drawn, and the longest run.
        preferences: of which one is drawn: how often to prefer an action, by name; 1 where it is not named.
        weights: of which one is drawn for each action, by which it is preferred besides; 0: the run never takes it.
    """
    draw = random.Random(seed)
    state, preferred = draw.choice(engine.initial), draw.choice(preferences)
    weighed = [draw.choice(weights) * preferred.get(action.name, 1) for action in engine.actions]
    for _ in range(steps):
        tried = sorted((draw.random() ** (1 / weight), action) for action, weight in enumerate(weighed) if weight)
        moves = (engine.first_enabled(state, action, draw.getrandbits(16)) for _, action in reversed(tried))
        taken = (engine.take(state, move) for move in moves if move is not None)
        found = next((one for one in taken if engine.field_outside(one.step.after) is None), None)
        if found is None:
            return
        state = found.step.after
        yield found


Part = TypeVar("Part")

TAKEN, REFUSED, DECIDED = SHOWN = "taken-", "refused-", "otherwise-"
"""How the ids of the goals begin that an action happens, that a guard refuses one, and that a rule decides otherwise;
its name follows."""

DRAWN, STEPS = 20, 40
"""How many runs with a rule that is replaced, and without it, are drawn until one decides otherwise; steps of each."""

ALL_OFF = DECIDED + "with-a-choice"  # the id of the goal that nothing shows while each change is off


@frozen
class OwnChoice(SystemChange):
    """A switch of one's own: its name as the command line spells it, and what is so when it is on."""


@frozen
class AddedAction(SystemChange):
    """One more event."""

    given: Any  # the action, or a function of the setting that gives it
    heals: bool  # whether ways out may take it

    def at(self, setting: Setting) -> tuple[Action, ...]:
        """What it is at a setting."""
        return each(self.place, self.given, setting, Action)


@frozen
class AddedGuard(SystemChange):
    """One more condition of an action of the system."""

    action: str
    given: Callable[..., Any]

    def asked(self, state: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The conditions, by name; raises ChangeError for an answer that is none."""
        given = blamed(self.place, f"the {self.name}", lambda: self.given(state, **arguments))
        found = conjuncts(given, self.given.__name__.replace("_", " "))
        for value in found.values():
            if not isinstance(value, bool):  # of a term it says so where the term is a truth
                raise ChangeError(f"{self.place}: the {self.name} gives {described(value)}, not a truth; return a "
                                "comparison, or kraftcheck.all_of() of some")  # fmt: skip
        return found


@frozen
class AddedField(SystemChange):
    """More of the state."""

    variable: str  # its name
    # domain, initial: what values it has, and which at the start; or a function of the setting
    domain: Any
    initial: Any
    # of a step, its value after it; None: what the action says, and what is shipped says nothing of it
    then: Callable[[Step], Any] | None

    def shape(self, setting: Setting) -> Any:
        """Its domain at a setting; raises ChangeError for what is none."""
        shape = _at(self.place, self.domain, setting)
        if not all(isinstance(one, DOMAINS) for _, one in leaves(shape)):
            raise ChangeError(f"{self.place}: the domain of {self.variable!r} is {described(shape)}; give one such as "
                            "kraftcheck.ints(0, 9)")  # fmt: skip
        return shape

    def start(self, setting: Setting) -> Any:
        """Its value at the start; raises ChangeError for a value that is none of its domain."""
        value = _at(self.place, self.initial, setting)
        record = attrs.make_class("State", [self.variable], frozen=True)
        try:
            Layout(record(self.shape(setting)), packed=False).values(record(value))
        except (LayoutError, DomainError) as error:
            raise ChangeError(f"{self.place}: at the start {error}") from error
        return value

    def after(self, step: Step, then: Callable[[Step], Any]) -> Any:
        """Its value after a step; raises as `start` does for what is of another shape."""
        what = f"`then` of {self.variable}"
        was, value = getattr(step.before, self.variable), blamed(self.place, what, lambda: then(step))
        if _sorts(value) != _sorts(was):
            raise ChangeError(f"{self.place}: {what} gives {described(value)}, before it was "
                              f"{described(was)}; give a value of its domain")  # fmt: skip
        return value


@frozen
class OwnScope:
    """Preset bounds of one's own."""

    name: str
    bounds: Mapping[str, int]


@frozen
class Added:
    """Properties, or what is fair, or a function of the setting that gives some; and where it is written."""

    kind: type
    given: tuple[Any, ...]
    place: str

    @classmethod
    def of(cls, kind: type, given: tuple[Any, ...]) -> Added:
        """What a user gives; raises ChangeError for nothing, and for what is neither of the kind nor a function."""
        if not given:
            name = "property" if kind is Property else "fair"
            raise ChangeError(f"{caller()}: `{name}` is given nothing; give it a kraftcheck.{kind.__name__}")
        check_kind(caller(), (one for one in given if not callable(one)), kind)
        return cls(kind, given, caller())

    def at(self, setting: Setting) -> tuple[Any, ...]:
        """What they are at a setting."""
        return tuple(one for given in self.given for one in each(self.place, given, setting, self.kind))


def is_on(part: Any, setting: Setting) -> bool:
    """Whether a change is there at a setting: with any choice, or its choice is on."""
    when: str = getattr(part, "when", "")
    return not when or bool(setting.rules.value(when.replace("-", "_")))


@frozen
class Made:
    """The parts of a changed system."""

    plain: System
    parts: tuple[Any, ...]
    _shown: dict[Any, bool] = attrs.field(factory=dict, eq=False, repr=False)

    def at(self, kind: type[Part], setting: Setting) -> tuple[Part, ...]:
        """The changes of a kind that are there at a setting."""
        return tuple(one for one in self.parts if isinstance(one, kind) and is_on(one, setting))

    def rules(self, setting: Setting) -> Mapping[str, Replacement]:
        """The replacements."""
        return replacements(self.at(Override, setting))

    def layout(self, setting: Setting) -> Any:
        """The domain of each field."""
        shape = in_force(self.rules(setting), self.plain.layout)(setting)
        return extended(shape, {one.variable: one.shape(setting) for one in self.at(AddedField, setting)})

    def initial(self, setting: Setting) -> list[Any]:
        """The initial states of the shipped system, with the fields that are added."""
        rules = self.rules(setting)
        values = {one.variable: one.start(setting) for one in self.at(AddedField, setting)}

        def begun(given: Described, state: Any) -> dict[str, Any]:
            alike = {f"{name} is as at the start": equal(getattr(state, name), value) for name, value in values.items()}
            return {**in_force(rules, given.holds)(_narrowed(state)), **alike}

        states = in_force(rules, lambda: list(self.plain.initial(setting)))()
        return [
            Described(functools.partial(begun, one)) if isinstance(one, Described) else extended(one, values)
            for one in states
        ]

    def actions(self, setting: Setting) -> tuple[Action, ...]:
        """The actions of the shipped system, and those that are added."""
        rules, fields, shipped = self.rules(setting), self.at(AddedField, setting), self._guarded(setting)
        made = [_Acting(one, rules, fields, guards).action() for one, guards in shipped]
        of = {one.name: one for one in made}
        for part in self.at(AddedAction, setting):
            for action in part.at(setting):
                if action.name in of:
                    raise ChangeError(f"{part.place}: there is an action {action.name!r} already; give it another name")
                for what, function in (("effect", action.effect), ("guard", action.guard or (lambda state, **_: True))):
                    check_called(part.place, f"the {what} of {action.name}", function, ("state", *action.parameters))
                of[action.name] = action
                made.append(_Acting(action, rules, fields, (), self, part.place).action())
        return tuple(made)

    def _guarded(self, setting: Setting) -> list[tuple[Action, tuple[AddedGuard, ...]]]:
        """The shipped actions, each with the guards that are added to it."""
        of = {one.name: one for one in in_force(self.rules(setting), self.plain.actions)(setting)}
        guards = self.at(AddedGuard, setting)
        for one in guards:
            if one.action not in of:
                raise ChangeError(f"{one.place}: there is no action {one.action!r} here; {nearest(one.action, of)}")
            check_called(one.place, f"the {one.name}", one.given, ("state", *of[one.action].parameters))
        return [(one, tuple(more for more in guards if more.action == name)) for name, one in of.items()]

    def properties(self, setting: Setting) -> tuple[Property, ...]:
        """The properties: besides those that are added, that what is added shows in some run."""
        own = [(part, one.name) for part in self.at(AddedAction, setting) for one in part.at(setting)]
        more: Mapping[str, Any] = {name: {} for part, name in own if part.heals}
        found = [evolve(one, by={**one.by, **more}) if one.by else one for one in self.plain.properties(setting)]
        ids = {DEADLOCK, *(one.id for one in found)}
        for part in self.at(Added, setting):
            for claim in part.at(setting) if part.kind is Property else ():
                if claim.id in ids:
                    raise ChangeError(f"{part.place}: there is a property {claim.id!r} already; give it another id")
                ids.add(claim.id)
                found.append(claim)
        if ANY in setting.bounds.values():  # no proof judges goals
            return tuple(found)
        found += [self._taken(name) for _, name in own]
        for one in self.at(Override, setting):
            key = one.name, tuple(setting.bounds.items()), setting.rules
            if key not in self._shown:
                self._shown[key] = self._shows(one, setting)
            found += [] if self._shown[key] else [self._decided(one, setting)]
        found += self._all_off(setting)
        for action, guards in self._guarded(setting):
            if guards:
                found += [self._taken(action.name), self._refused(action, guards, setting)]
        return tuple(found)

    def fairness(self, setting: Setting) -> tuple[Fairness, ...]:
        """The fair actions of the shipped system, and the added ones."""
        if not isinstance(setting, Setting):
            raise ChangeError(f"{caller()}: `fairness` says what is fair at a setting; `fair` adds what is")
        found = list(self.plain.fairness(setting))
        for part in self.at(Added, setting):
            for one in part.at(setting) if part.kind is Fairness else ():
                if fault := one.fault({action.name: action.parameters for action in self.actions(setting)}):
                    raise ChangeError(f"{part.place}: {fault}")
                found.append(one)
        return tuple(found)

    def _taken(self, name: str) -> Property:
        """The goal that an action happens, and changes the state or reports something."""
        quiet = self.plain.quiet

        def happens(step: Step) -> Truth:
            if step.action != name:
                return False
            told = step.event is not None if quiet is None else negate(equal(step.event, quiet(step.before)))
            return any_of(negate(equal(step.before, step.after)), told)

        return Property(TAKEN + name.replace("_", "-"), "happens", f"{name} happens, and changes something", happens)

    def _all_off(self, setting: Setting) -> list[Property]:
        """The goal that nothing shows where there are changes, and each of them is off."""
        parts = [one for one in self.parts if isinstance(one, Override | AddedGuard | AddedAction)]
        if not parts or any(is_on(one, setting) and not (isinstance(one, AddedAction) and not one.at(setting))
                            for one in parts):  # fmt: skip
            return []
        names = ", ".join(dict.fromkeys(f"+{one.when}" for one in parts if one.when)) or "a choice"
        return [Property(ALL_OFF, "sometimes", f"a change is on where --rules names {names}", lambda state: False)]

    def _without(self, override: Override) -> Made:
        return Made(self.plain, tuple(one for one in self.parts if one is not override))

    def _on_ints(self, setting: Setting) -> Integers:
        made = evolve(self.plain, initial=self.initial, actions=self.actions, layout=self.layout,
                      properties=lambda _: ())  # fmt: skip
        return Integers(made, setting)

    def _shows(self, override: Override, setting: Setting) -> bool:
        """Whether a run of some that are drawn shows what a rule that is replaced decides otherwise."""
        sides = (self._on_ints(setting), self._without(override)._on_ints(setting))
        runs = ((other, random_run(one, seed, STEPS)) for seed in range(DRAWN) for one, other in (sides, sides[::-1]))
        return sides[0].initial != sides[1].initial or any(
            not _decides_alike(other, found.step) for other, run in runs for found in run
        )

    def _decided(self, override: Override, setting: Setting) -> Property:
        """The goal that a rule that is replaced decides otherwise than as it is: of steps, or of what is possible."""
        ours, theirs = ({one.name: one for one in of.actions(setting)} for of in (self, self._without(override)))

        def otherwise(step: Step) -> Truth:
            made = theirs[step.action].outcome(step.before, step.arguments)
            return negate(all_of(equal(made.state, step.after), equal(made.event, step.event)))

        def differs(state: Any) -> Truth:
            found = []
            for name, action in ours.items():
                for row in product(*action.parameters.values()):
                    arguments = dict(zip(action.parameters, row, strict=True))
                    able, there = (of[name].enabled(state, arguments) for of in (ours, theirs))
                    made = action.outcome(state, arguments)
                    step = Step(state, made.state, name, arguments, made.event)
                    found.append(any_of(negate(equal(able, there)), all_of(able, otherwise(step))))
            return any_of(*found)

        guards = self._is_asked_by_guards(override, setting)
        kind, predicate = ("sometimes", differs) if guards else ("happens", otherwise)
        says = f"{override.name} of {override.place} decides otherwise than the rule as it is"
        return Property(DECIDED + override.name.replace(".", "-"), kind, says, predicate)

    def _is_asked_by_guards(self, override: Override, setting: Setting) -> bool:
        """Whether a guard asks for a rule that is replaced; which rules it asks for depends on no value."""
        asked, rules, (state, *_) = [], dict(self.rules(setting)), self.initial(setting)
        ((key, called),) = replacements((override,)).items()

        def noting(*args: Any, **kwargs: Any) -> Any:
            asked.append(key)
            return called(*args, **kwargs)

        rules[key] = noting
        for action in in_force(rules, self.plain.actions)(setting):
            row = next(product(*action.parameters.values()), None)
            if row is not None:
                _Acting(action, rules, self.at(AddedField, setting)).action().guards(
                    state, dict(zip(action.parameters, row, strict=True)))  # fmt: skip
        return bool(asked)

    def _refused(self, action: Action, guards: tuple[AddedGuard, ...], setting: Setting) -> Property:
        """The goal that guards refuse an action where it is possible without."""
        shipped = _Acting(action, self.rules(setting), self.at(AddedField, setting)).action()
        rows = [dict(zip(action.parameters, row, strict=True)) for row in product(*action.parameters.values())]

        def refused(state: Any, row: Mapping[str, Any]) -> Truth:
            asked = [truth for one in guards for truth in one.asked(state, row).values()]
            return all_of(shipped.enabled(state, row), negate(all_of(*asked)))

        says = f"the guard of {action.name} refuses what is possible without it"
        return Property(REFUSED + action.name.replace("_", "-"), "sometimes", says,
                        lambda state: any_of(*(refused(state, row) for row in rows)))  # fmt: skip


@frozen
class _Acting:
    """An action with replacements in force."""

    of: Action  # the action as it is written
    # rules, fields: the replacements, and the fields that are added
    rules: Mapping[str, Replacement]
    fields: tuple[AddedField, ...]
    guards: tuple[AddedGuard, ...] = ()  # conditions that are added
    own: Made | None = None  # the system to which it is added; None: it is shipped, and knows of no field that is added
    place: str = ""  # where what is added is written

    def action(self) -> Action:
        """The action."""
        parameters = {
            name: Family(one.shape, in_force(self.rules, one.member), in_force(self.rules, lambda one=one: [*one]))
            if isinstance(one, Family) else one
            for name, one in self.of.parameters.items()
        }  # fmt: skip
        asks = self.of.guard or next((one.given for one in self.guards), None)
        guard = None if asks is None else _as(asks, self._guard)
        return evolve(self.of, effect=_as(self.of.effect, self._effect), guard=guard, parameters=parameters)

    def _asked(self, what: str, state: Any, question: Callable[[Any], Any]) -> Any:
        """The answer of guard or effect, to which a shipped action's state has no field that is added."""
        if self.own is None:
            seen = _narrowed(state) if self.fields else state
            return deciding(state, lambda: question(seen), self.rules)
        named = f"the {what} of {self.of.name}"
        return deciding(state, lambda: blamed(self.place, named, lambda: question(state)), self.rules)

    def _guard(self, state: Any, **arguments: Any) -> Any:
        shipped: Any = self._asked("guard", state, lambda seen: self.of.guards(seen, arguments))
        for one in self.guards:
            more = one.asked(state, arguments)
            if twice := sorted(shipped.keys() & more.keys()):
                raise ChangeError(f"{one.place}: {self.of.name} has a condition {twice[0]!r} already; give it another "
                                  "name")  # fmt: skip
            shipped = {**shipped, **more}
        return shipped

    def _effect(self, state: Any, **arguments: Any) -> Any:
        made: Outcome = self._asked("effect", state, lambda seen: self.of.outcome(seen, arguments))
        if self.own is None:
            made = evolve(made, state=extended(made.state, {one.variable: getattr(state, one.variable)
                                                            for one in self.fields}))  # fmt: skip
        elif self.own.plain.quiet is not None:
            quiet = self.own.plain.quiet(state)
            if made.event is not None and _shape(made.event) != _shape(quiet):
                raise ChangeError(f"{self.place}: the effect of {self.of.name} reports {described(made.event)}; give "
                                  f"a {type(quiet).__name__}, as kraftcheck.kafka.decide() does, or none")  # fmt: skip
            made = evolve(made, event=quiet if made.event is None else made.event)
        if type(made.state) is not type(state):
            return made  # tracing says what is wrong with it
        step = Step(state, made.state, self.of.name, arguments, made.event)
        values = {one.variable: one.after(step, one.then) for one in self.fields if one.then is not None}
        return evolve(made, state=evolve(made.state, **values)) if values else made


def _decides_alike(engine: Integers, step: Step) -> bool:
    """Whether a system takes a step of another one, to the same end."""
    move = engine.move_of(step.action, step.arguments)
    return move is not None and engine.is_enabled(step.before, move) and engine.take(step.before, move).step == step


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
    kind = _NARROW.get(type(state))
    return state if kind is None else kind(**{name: getattr(state, name) for name in record_fields(kind) or ()})


_NARROW: dict[type, type] = {}  # classes of states with more fields, each with the one that it is made of


@functools.cache
def _wider(kind: Any, names: tuple[str, ...]) -> type:
    """The class of states with more fields; they need a default nowhere, whatever the others have."""
    more = {name: attrs.field(kw_only=True) for name in names}
    made = attrs.make_class(kind.__name__, more, bases=(kind,), frozen=True, slots=True)
    _NARROW[made] = kind
    return made


def check_called(place: str, what: str, function: Callable[..., Any], named: Sequence[str]) -> None:
    """Refuse, as ChangeError, a function without these parameters, and one that does not answer when called."""
    check_answers(place, what, function)
    try:
        inspect.signature(function).bind(None, **dict.fromkeys(named[1:]))
    except TypeError as error:
        raise ChangeError(f"{place}: {what} takes {taken(function)}; make it take ({', '.join(named)})") from error


def _at(place: str, given: Any, setting: Setting) -> Any:
    """What is given, at a setting; raises ChangeError where it raises."""
    if not callable(given):
        return given
    what = "it is taken for a function of the setting, and"
    if inspect.iscoroutinefunction(given):  # a generator gives several
        check_answers(place, what, given)
    return blamed(place, what, lambda: given(setting))


def each(place: str, given: Any, setting: Setting, kind: type) -> tuple[Any, ...]:
    """What is given at a setting as one, or as some; raises ChangeError for what is of another kind."""
    found = _at(place, given, setting)
    several = tuple(found) if isinstance(found, Iterable) and not isinstance(found, str) else (found,)
    check_kind(place, several, kind)
    return several


def check_kind(place: str, given: Iterable[Any], kind: type) -> None:
    """Refuse what is of another kind; raises ChangeError."""
    for one in given:
        if not isinstance(one, kind):
            what = with_article(type(one).__name__) if attrs.has(type(one)) else described(one)
            raise ChangeError(f"{place}: {what} is no kraftcheck.{kind.__name__}; give one")


def _shape(event: Any) -> tuple[type, list[tuple[str, type]]]:
    """The class of what a step reports, and the sorts of its leaves."""
    return type(event), _sorts(event)


def _sorts(value: Any) -> list[tuple[str, type]]:
    """Which leaves a value has, and whether each is a truth or a word, symbolic or not."""
    return [(path, one.__class__ if isinstance(one, bool) or not isinstance(one, int) else int)
            for path, one in leaves(value)]  # fmt: skip
