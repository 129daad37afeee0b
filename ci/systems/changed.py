"""A shipped system with changes of a user: rules replaced, and choices, actions, fields and claims added.

What is added are records that the language has; so a changed system is a system like any other.
"""

from __future__ import annotations

import builtins
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import attrs
from attrs import evolve, frozen

from kraftcheck.ci.systems.added import Added, AddedAction, AddedField, AddedGuard, Choice, Made, Scope
from kraftcheck.ci.systems.overrides import Override, Replacement, deciding
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.layout import DOMAINS, leaves
from kraftcheck.model.language.symbolic import record_fields
from kraftcheck.model.language.system import (
    Action,
    Fairness,
    Outcome,
    Property,
    ScopeError,
    Setting,
    Step,
    System,
)
from kraftcheck.model.language.words import RuleError
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
_CHOICE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")

@frozen
class ChangedSystem(System):
    """A shipped system that can be changed; see `System` for the other attributes.

    Attributes:
        plain: the system without any change.
        parts: the changes, in order.
    """

    plain: System | None = None
    parts: tuple[Any, ...] = ()

    def override(self, rule: str, by: Replacement, *, when: str = "") -> ChangedSystem:
        """The system with a rule replaced.

        Args:
            rule: its id, as `kraftcheck where` shows it; rules that are noted on one function are replaced together.
            by: a function with the same parameters. Where it has a parameter `rule` besides, it gets the rule as
                it is by that name; where it has a parameter `now`, the state of the system that decides.
            when: the choice with which it is replaced, such as one of `choice`; empty: always.

        Raises:
            RuleError: for an id that no rule has, a rule that is replaced already, other parameters, or no such choice.
        """
        override = Override(rule, by, self._choice(when))
        override.check(self.of(Override))
        return self._and(override)

    def choice(self, name: str, says: str) -> ChangedSystem:
        """The system with a switch of one's own, off unless `--rules PRESET+NAME` names it.

        A part is there with it that names it in `when`; functions of the setting find it in `setting.rules.own`.

        Args:
            name: words of a-z and digits, joined by hyphens.
            says: what is so when it is on.

        Raises:
            RuleError: for another name, and for one that there is.
        """
        words, place = _words(self), _caller()
        if not _CHOICE.fullmatch(name):
            raise RuleError(f"{place}: {name!r} is no name of a choice: words of a-z and digits, joined by hyphens")
        if name in words.choices or name in words.presets:
            raise RuleError(f"{place}: there is a {name} already; give the choice another name")
        return self._and(Choice(name, says, place))

    def action(
        self, given: Action | Callable[[Setting], Any], *, when: str = "", heals: bool = False
    ) -> ChangedSystem:  # fmt: skip
        """The system with one more event: that it happens is a goal, so that it cannot go unnoticed that it never does.

        Its guard and its effect get the state with the fields of one's own. An effect that gives a state alone reports
        that no record is written.

        Args:
            given: the action, or a function of the setting that gives it.
            when: the choice with which it is there; empty: always.
            heals: whether it comes about by itself, as what waits for time to pass does: then the ways out of the
                properties that ask for recovery may take it.

        Raises:
            RuleError: for what is neither, and for no such choice.
        """
        if not isinstance(given, Action) and not callable(given):
            raise RuleError(f"{_caller()}: {given!r} is no action; give a kraftcheck.Action, or what makes one")
        return self._and(AddedAction(given, self._choice(when), heals))

    def guard(self, action: str, given: Callable[..., Any], *, when: str = "") -> ChangedSystem:
        """The system with one more condition of one of its actions, beside those that it has.

        Args:
            action: its name.
            given: takes the state, with the fields of one's own, and the arguments; gives a truth, or named ones.
            when: the choice with which it is asked; empty: always.

        Raises:
            RuleError: for what is no function, and for no such choice.
        """
        if not callable(given):
            raise RuleError(f"{_caller()}: {given!r} is no guard; give a function of the state and the arguments")
        return self._and(AddedGuard(action, given, self._choice(when)))

    def field(
        self, name: str, domain: Any, initial: Any, then: Callable[[Step], Any] | None = None
    ) -> ChangedSystem:  # fmt: skip
        """The system with more state, which its own actions change, and what it asks may read.

        Args:
            name: the attribute of the state that has it.
            domain: its values, such as `kraftcheck.truth()`, or a function of the setting that gives them.
            initial: its value at the start, or a function of the setting that gives it.
            then: its value after a step, of each step of any action; `step.after` has what the action says. None: that.

        Raises:
            RuleError: for a name that the state has already, or that is none, or what is no domain.
        """
        place, kind = _caller(), type(self.layout(self.setting(rules=_words(self).parse(self.base))))
        if not name.isidentifier() or name.startswith("_"):
            raise RuleError(f"{place}: {name!r} is no name of a field")
        if hasattr(kind, name) or name in (record_fields(kind) or ()):
            raise RuleError(f"{place}: a state of {self.name} has {name!r} already; give the field another name")
        if not callable(domain) and not all(isinstance(one, DOMAINS) for _, one in leaves(domain, name)):
            raise RuleError(f"{place}: the domain of {name!r} is {domain!r}; give one such as kraftcheck.ints(0, 9)")
        return self._and(AddedField(name, domain, initial, then, place))

    def property(self, *given: Property | Callable[[Setting], Any]) -> ChangedSystem:
        """The system with properties of one's own beside those that it has: `kraftcheck.always` and its like make them.

        Two properties with one id are refused where the system is used.
        """
        return self._and(Added(Property, given))

    def fair(self, *given: Fairness | Callable[[Setting], Any]) -> ChangedSystem:
        """The system with more that is fair: `kraftcheck.weak_fairness` and `kraftcheck.strong_fairness` make it."""
        return self._and(Added(Fairness, given))

    def scope(self, name: str, **bounds: int) -> ChangedSystem:
        """The system with preset bounds of one's own, with `_` for `-`; those that are not named are as in the first.

        Raises:
            RuleError: for a name that there is, a bound that there is not, and a value out of its range.
        """
        if name in self.scopes:
            raise RuleError(f"{_caller()}: {self.name} has a scope {name!r} already; give it another name")
        given = {key.replace("_", "-"): value for key, value in bounds.items()}
        try:
            whole = self.setting(None, given, _words(self).parse(self.base))
        except ScopeError as error:
            raise RuleError(f"{_caller()}: scope {name}: {error}") from error
        return self._and(Scope(name, whole.bounds))

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
        return _with(self, self.of(Choice) + self.of(AddedField) + self.of(Scope) + self._added(Property))

    def _added(self, kind: type) -> tuple[Any, ...]:
        return tuple(one for one in self.of(Added) if one.kind is kind)

    def _choice(self, name: str) -> str:
        """A choice that may be named; empty for none."""
        choices = _words(self).choices
        if name and name not in choices:
            raise RuleError(f"{_caller()}: there is no choice {name!r}; {nearest(name, choices)}")
        return name

    def _and(self, part: Any) -> ChangedSystem:
        return _with(self, (*self.parts, part))


class Kafka:
    """Makes systems of Kafka's controller that can be changed, and has what effects of one's own are made of.

    Attributes:
        Event: what a step of `elections` reports besides the next state; a property reads it as `step.event`.
        passes: the triggers of the controller, each a function that gives the `Pass` that it asks for.
        Pass, Target: one build that a trigger asks for, and what it wants of the partition.
        permits: what topic and cluster of a state allow a trigger.
        build_change: the record that takes a partition to a target.
        FIRST_DIRECTORY: the number of a broker's first directory in `state.directories`; smaller ones are reserved.
    """

    Event = ElectionsEvent
    Pass = table.Pass
    Target = Target
    passes = table
    FIRST_DIRECTORY = FIRST_LOCAL
    permits = staticmethod(permits)
    build_change = staticmethod(build_change)

    def __call__(self, name: str, base: str = KAFKA) -> ChangedSystem:
        """A system of Kafka's controller, to be changed: its methods give it with a change each.

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
        return ChangedSystem(**{one.name: getattr(plain, one.name) for one in attrs.fields(System)}, plain=plain)

    @staticmethod
    def decide(state: Elections, rules: RuleSet, *passes: table.Pass) -> Outcome:
        """What the controller makes of a state of `elections` by passes, with the records and the event of that.

        Args:
            state: on which it decides, as it is after what has happened besides.
            rules: `setting.rules`.
            passes: what it does; `passes` has the triggers.
        """
        outcome: Outcome = deciding(state, lambda: finish(state, state, Triggers(rules).decided(state, *passes)))
        return outcome


kafka = Kafka()


CHANGES = (Override, AddedAction, AddedGuard, AddedField)
"""The kinds of change that a title names."""


def parts_of(system: System) -> tuple[Any, ...]:
    """The changes that a title names, in order: all but choices, properties and scopes."""
    parts = system.parts if isinstance(system, ChangedSystem) else ()
    return tuple(one for one in parts if isinstance(one, CHANGES))


def _with(of: ChangedSystem, parts: tuple[Any, ...]) -> ChangedSystem:
    """The system with these changes alone."""
    plain = of.plain
    assert plain is not None
    own = [one for one in parts if isinstance(one, Choice)]
    rules = plain.rules
    if own:
        fields = {one.name.replace("-", "_"): choice_of("own", one.place, one.says) for one in own}
        rules = (*plain.rules, attrs.make_class("OwnChoices", fields, frozen=True))  # type: ignore[misc]
    made = Made(plain, parts)
    scopes = {**plain.scopes, **{one.name: one.bounds for one in parts if isinstance(one, Scope)}}
    changed = evolve(
        of, parts=parts, rules=rules, initial=made.initial, actions=made.actions, layout=made.layout, scopes=scopes,
        properties=made.properties, fairness=lambda setting: (*plain.fairness(setting), *made.added(Fairness, setting)),
    )  # fmt: skip
    return evolve(changed, changes=tuple(map(_text, parts_of(changed))))


def _text(part: Any) -> str:
    """What a title says of a change."""
    article = "" if isinstance(part, Override) else "the "
    return f"{article}{part.name} of {part.place}" + (f" if {part.when}" if getattr(part, "when", "") else "")


def _words(system: System) -> Any:
    words = vocabulary(system)
    assert words is not None
    return words


def _caller() -> str:
    """File and line of the nearest caller outside this module."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename == __file__ and frame.f_back is not None:
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
