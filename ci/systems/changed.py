"""A shipped system with changes of a user: rules replaced, and choices, actions, fields and claims added.

What is added are records that the language has; so a changed system is a system like any other.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable
from keyword import iskeyword
from typing import Any, TypeVar

import attrs
from attrs import evolve, frozen

from kraftcheck.ci.systems.added import (
    Added,
    AddedAction,
    AddedField,
    AddedGuard,
    Made,
    OwnChoice,
    OwnScope,
    check_called,
)
from kraftcheck.ci.systems.overrides import (
    ChangeError,
    Override,
    Replacement,
    SystemChange,
    caller,
    captured,
    deciding,
    place_of_code,
)
from kraftcheck.ci.systems.subject import bounds_of, changed
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.symbolic import record_fields
from kraftcheck.model.language.system import Action, Fairness, Outcome, Property, ScopeError, Setting, Step, System
from kraftcheck.model.language.words import first_sentence
from kraftcheck.model.nearest import nearest
from kraftcheck.model.partition.change import Target, build_change
from kraftcheck.model.partition.registration import FIRST_LOCAL
from kraftcheck.model.rules.choice import choice as choice_of
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.rules.vocabulary import KAFKA, vocabulary
from kraftcheck.model.systems.elections.state import Elections, ElectionsEvent
from kraftcheck.model.systems.elections.triggers import Triggers, finish, permits
from kraftcheck.model.triggers import table
from kraftcheck.properties.catalogue import find

Part = TypeVar("Part")
_TYPED = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def _check_typed(what: str, name: Any) -> None:
    """Refuse a name that the command line cannot take as it is."""
    if not isinstance(name, str) or not _TYPED.fullmatch(name):
        raise ChangeError(f"{caller()}: {name!r} is no name of {what}: words of a-z and digits, joined by hyphens")


@frozen
class ChangedSystem(System):
    """A shipped system that can be changed; see `System` for the other attributes."""

    parts: tuple[Any, ...] = ()  # the changes, in order

    def override(self, rule: str, by: Replacement, *, when: str = "") -> ChangedSystem:
        """The system with a rule replaced.

        Args:
            rule: its id, as `kraftcheck where` shows it; rules that are noted on one function are replaced together.
            by: a function with the same parameters. Where it has a parameter `rule` besides, it gets the rule as
                it is by that name; where it has a parameter `now`, the state of the system that decides.
            when: the choice with which it is replaced, such as one of `choice`; empty: always.

        Raises:
            ChangeError: for an id that no rule has, a rule that is replaced already, other parameters, no such choice.
        """
        return self._and(Override.of(rule, by, self._choice(when), self.of(Override)))

    def choice(self, name: str, says: str) -> ChangedSystem:
        """The system with a switch of one's own, off unless `--rules PRESET+NAME` names it.

        A part is there with it that names it in `when`; functions of the setting find it in `setting.rules.own`.

        Args:
            name: words of a-z and digits, joined by hyphens.
            says: what is so when it is on.

        Raises:
            ChangeError: for another name, and for one that there is.
        """
        words, place = _words(self), caller()
        _check_typed("a choice", name)
        if name in words.choices or name in words.presets:
            raise ChangeError(f"{place}: there is a {name} already; give the choice another name")
        if not isinstance(says, str) or not says.strip():
            raise ChangeError(f"{place}: what is so when {name} is on is {says!r}; say it in words")
        return self._and(OwnChoice(name, place, says, ""))

    def action(self, given: Action | Callable[[Setting], Any], *, when: str = "", heals: bool = False) -> ChangedSystem:
        """The system with one more event: that it happens is a goal, so that it cannot go unnoticed that it never does.

        Its guard and its effect get the state with the fields of one's own. An effect that gives a state alone reports
        that no record is written.

        Args:
            given: the action, or a function of the setting that gives it.
            when: the choice with which it is there; empty: always.
            heals: whether it comes about by itself, as what waits for time to pass does: then the ways out of the
                properties that ask for recovery may take it.

        Raises:
            ChangeError: for what is neither, and for no such choice.
        """
        function = given.effect if isinstance(given, Action) else given
        if not callable(function):
            raise ChangeError(f"{caller()}: {given!r} is no action; give a kraftcheck.Action, or what makes one")
        name = given.name if isinstance(given, Action) else getattr(given, "__name__", "of the setting")
        return self._and(AddedAction(f"action {name}", *_written(function), self._choice(when), given, heals))

    def guard(self, action: str, given: Callable[..., Any], *, when: str = "") -> ChangedSystem:
        """The system with one more condition of one of its actions, beside those that it has.

        Args:
            action: its name.
            given: takes the state, with the fields of one's own, and the arguments; gives a truth, or named ones.
            when: the choice with which it is asked; empty: always.

        Raises:
            ChangeError: for what is no function, and for no such choice.
        """
        if not callable(given):
            raise ChangeError(f"{caller()}: {given!r} is no guard; give a function of the state and the arguments")
        return self._and(AddedGuard(f"guard of {action}", *_written(given), self._choice(when), action, given))

    def field(self, name: str, domain: Any, initial: Any, then: Callable[[Step], Any] | None = None) -> ChangedSystem:
        """The system with more state, which its own actions change, and what it asks may read.

        Args:
            name: the attribute of the state that has it.
            domain: its values, such as `kraftcheck.truth()`, or a function of the setting that gives them.
            initial: its value at the start, or a function of the setting that gives it.
            then: its value after a step, of each step of any action; `step.after` has what the action says. None: that.

        Raises:
            ChangeError: for a name that the state has already, or that is none, or what is no domain.
        """
        place, setting = caller(), self.setting(rules=_words(self).parse(self.base))
        kind = type(self.layout(setting))
        if not isinstance(name, str) or not name.isidentifier() or iskeyword(name) or name.startswith("_"):
            raise ChangeError(f"{place}: {name!r} is no name of a field")
        if hasattr(kind, name) or name in (record_fields(kind) or ()):
            raise ChangeError(f"{place}: a state of {self.name} has {name!r} already; give the field another name")
        added = AddedField(f"field {name}", place, "", "", name, domain, initial, then)
        if then is not None and not callable(then):
            raise ChangeError(f"{place}: `then` of {name} is {then!r}; give a function of a step")
        if then is not None:
            check_called(place, f"`then` of {name}", then, ("step",))
        if not callable(domain):
            added.shape(setting)
        return self._and(added)

    def property(self, *given: Property | Callable[[Setting], Any]) -> ChangedSystem:
        """The system with properties of one's own beside those that it has: `kraftcheck.always` and its like make them.

        Two properties with one id are refused where the system is used.

        Raises:
            ChangeError: for what is none.
        """
        return self._and(Added.of(Property, given))

    def fair(self, *given: Fairness | Callable[[Setting], Any]) -> ChangedSystem:
        """The system with more that is fair: `kraftcheck.weak_fairness` and `kraftcheck.strong_fairness` make it.

        `fairness` of a system says what is fair at a setting, as of any system.

        Raises:
            ChangeError: for what is none.
        """
        return self._and(Added.of(Fairness, given))

    def scope(self, name: str, **bounds: int) -> ChangedSystem:
        """The system with preset bounds of one's own, with `_` for `-`; those that are not named are as in the first.

        Raises:
            ChangeError: as for the name of a choice; for a bound that there is not, and a value out of its range.
        """
        _check_typed("a scope", name)
        if name in self.scopes:
            raise ChangeError(f"{caller()}: {self.name} has a scope {name!r} already; give it another name")
        try:
            whole = self.setting(None, bounds_of(bounds), _words(self).parse(self.base))
        except (Refusal, ScopeError) as error:
            raise ChangeError(f"{caller()}: scope {name}: {error}") from error
        return self._and(OwnScope(name, whole.bounds))

    def __repr__(self) -> str:
        """What it is made of, and what is changed."""
        return f"kraftcheck.kafka({self.name!r}, base={self.base!r}){changed(self)}"

    def of(self, kind: type[Part]) -> tuple[Part, ...]:
        """The changes of a kind, in order."""
        return tuple(one for one in self.parts if isinstance(one, kind))

    @builtins.property
    def decides(self) -> bool:
        """Whether there is more than more state."""
        return not all(isinstance(one, AddedField) for one in parts_of(self))

    def without(self, part: Any) -> ChangedSystem:
        """The system without one of its changes."""
        return _with(self, tuple(other for other in self.parts if other is not part))

    def unchanged(self) -> ChangedSystem:
        """What is compared with it: no rule is replaced, no action added, and states have the same fields."""
        return _with(self, self.of(OwnChoice) + self.of(AddedField) + self.of(OwnScope) + self._added(Property))

    def _added(self, kind: type) -> tuple[Any, ...]:
        return tuple(one for one in self.of(Added) if one.kind is kind)

    def _choice(self, name: str) -> str:
        """A choice that may be named; empty for none."""
        choices = _words(self).choices
        if name and name not in choices:
            near = nearest(name, [one.name for one in self.of(OwnChoice)] or choices, "kraftcheck list --variants")
            raise ChangeError(f"{caller()}: there is no choice {name!r}; {near}, or declare it with `choice`")
        return name

    def _and(self, part: Any) -> ChangedSystem:
        return _with(self, (*self.parts, part))


class Kafka:
    """Makes systems of Kafka's controller that can be changed, and has what effects of one's own are made of."""

    # what a step of `elections` reports besides the next state; a property reads it as `step.event`
    Event = ElectionsEvent
    # Pass, Target: one build that a trigger asks for, and what it wants of the partition
    Pass = table.Pass
    Target = Target
    passes = table  # the triggers of the controller, each a function that gives the `Pass` that it asks for
    # the number of a broker's first directory in `state.directories`; smaller ones are reserved
    FIRST_DIRECTORY = FIRST_LOCAL
    permits = staticmethod(permits)  # what topic and cluster of a state allow a trigger
    build_change = staticmethod(build_change)  # the record that takes a partition to a target

    def __call__(self, name: str, base: str = KAFKA) -> ChangedSystem:
        """A system of Kafka's controller, to be changed: its methods give it with a change each.

        Args:
            name: as `kraftcheck list` shows it.
            base: the rule set that counts where none is named: a release, `fixed`, `PRESET[+VARIANT|-VARIANT...]`.

        Raises:
            Refusal: in one line, for a system or a rule set that there is not.
        """
        if not isinstance(name, str) or not isinstance(base, str):
            raise Refusal(f"kraftcheck.kafka takes the names of a system and of a rule set, not {name!r} and {base!r}")
        try:
            system = find(name)
            words = vocabulary(system)
            if words is None:
                raise Refusal(f"{name} takes no rule set, and has no rule of Kafka's controller to change")
            words.parse(base)
        except ScopeError as error:
            raise Refusal(str(error)) from error
        plain = evolve(system, base=base)
        made = ChangedSystem(**{one.name: getattr(plain, one.name) for one in attrs.fields(System)} | {"plain": plain})
        return _with(made, ())

    @staticmethod
    def decide(state: Elections, rules: RuleSet, *passes: table.Pass) -> Outcome:
        """What the controller makes of a state of `elections` by passes, with the records and the event of that.

        Args:
            state: on which it decides, as it is after what has happened besides.
            rules: `setting.rules`.
            passes: what it does; `passes` has the triggers.
        """
        found: Outcome = deciding(state, lambda: finish(state, state, Triggers(rules).decided(state, *passes)))
        return found


kafka = Kafka()


CHANGES = (Override, AddedAction, AddedGuard, AddedField)  # the kinds of change that a title names


def parts_of(system: System) -> tuple[SystemChange, ...]:
    """The changes that a title names, in order: all but choices, properties and scopes."""
    parts = system.parts if isinstance(system, ChangedSystem) else ()
    return tuple(one for one in parts if isinstance(one, CHANGES))


def _with(of: ChangedSystem, parts: tuple[Any, ...]) -> ChangedSystem:
    """The system with these changes alone."""
    plain = of.plain
    assert plain is not None
    own = [one for one in parts if isinstance(one, OwnChoice)]
    rules = plain.rules
    if own:
        fields = {one.name.replace("-", "_"): choice_of("own", one.place, one.says) for one in own}
        rules = (*plain.rules, attrs.make_class("OwnChoices", fields, frozen=True))  # type: ignore[misc]
    made = Made(plain, parts)
    scopes = {**plain.scopes, **{one.name: one.bounds for one in parts if isinstance(one, OwnScope)}}
    made_of = evolve(
        of, parts=parts, rules=rules, initial=made.initial, actions=made.actions, layout=made.layout, scopes=scopes,
        properties=made.properties, fairness=made.fairness,
    )  # fmt: skip
    return evolve(made_of, changes=tuple(map(change_text, parts_of(made_of))))


def _written(function: Callable[..., Any]) -> tuple[str, str]:
    """Where a function is written, and the first sentence of its docstring."""
    return place_of_code(function) + captured(function), first_sentence(function.__doc__)


def change_text(part: SystemChange) -> str:
    """The words of a title on a change."""
    article = "" if isinstance(part, Override) else "the "
    return f"{article}{part.name} of {part.place}" + (f" if {part.when}" if part.when else "")


def _words(system: System) -> Any:
    words = vocabulary(system)
    assert words is not None
    return words
