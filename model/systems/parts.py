"""Parts that systems share: budgets of what may still go wrong, and steps that report nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Generic, Self, TypeVar

from attrs import evolve, fields_dict, frozen

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.layout import ints
from kraftcheck.model.language.system import Action, Outcome, Setting
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import choose

T = TypeVar("T")


@frozen
class OfSetting(Generic[T]):
    """What steps of one setting are made of."""

    GROUP: ClassVar[str]  # the group of choices that the steps read; empty for all
    setting: Setting  # the setting

    @property
    def rules(self) -> T:
        """The choices that are read."""
        rules = self.setting.rules
        found: T = getattr(rules, self.GROUP) if self.GROUP else rules
        return found


class WithBudgets:
    """A state with a field `left`, a record of budgets: how often each of what may go wrong still may."""

    def spend(self, budget: str, amount: Word = 1) -> Self:
        """The state with less of a budget."""
        left: Any = getattr(self, "left")  # noqa: B009  # a class of attrs that inherits this has the field
        return evolve(self, left=evolve(left, **{budget: getattr(left, budget) - amount}))  # type: ignore[misc]


def budgets(kind: type[T], setting: Setting, of: Callable[[int], Any] = lambda most: most) -> T:
    """A record of budgets at a setting: each field is, or is made of, the bound of its name, with hyphens."""
    return kind(**{name: of(setting[name.replace("_", "-")]) for name in fields_dict(kind)})  # type: ignore[arg-type]


def budget_domains(kind: type[T], setting: Setting) -> T:
    """The domains of budgets: from none to the bound."""
    return budgets(kind, setting, lambda most: ints(0, most))


def members(truths: Iterable[Truth]) -> BrokerSet:
    """The set of the numbers whose truth holds."""
    mask: Word = 0
    for number, held in enumerate(truths):
        mask = mask | choose(held, 1 << number, 0)
    return BrokerSet(mask)


def reporting(actions: Iterable[Action], quiet: Any) -> list[Action]:
    """The actions, where the effect that gives a state alone reports this event."""

    def loud(effect: Callable[..., Any]) -> Callable[..., Outcome]:
        def told(state: Any, **arguments: Any) -> Outcome:
            found = effect(state, **arguments)
            return found if isinstance(found, Outcome) else Outcome(found, quiet)

        return told

    return [evolve(action, effect=loud(action.effect)) for action in actions]
