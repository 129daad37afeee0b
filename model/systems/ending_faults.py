"""Systems whose faults may end: from some step on only what heals happens, and operators rest.

Of a system without budgets faults may come for ever, and then little must finally happen. `with_ending_faults` gives it
one step more, `faults_end`, which may come at any time or never; after it only those actions happen that are named, as
in the way out of a `recovers` property. Every state of the system is reached before that step, so a liveness property
whose premise has `faults_over` says: wherever faults have led, once they end, this finally happens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from attrs import evolve, fields

from kraftcheck.model.language.layout import truth
from kraftcheck.model.language.system import Action, Conjuncts, Legend, Setting, System, event
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import any_of, negate

FAULTS_END = "faults_end"  # the action after which no fault comes

State = TypeVar("State")

Condition = Callable[..., Truth]
"""Whether an action still happens after faults have ended: `(state, **arguments)`, a truth."""

Healing = Mapping[str, Condition | None]  # the actions that still happen then, by name; None: whatever their arguments


def extended(kind: Callable[..., State], parts: Any, **more: Any) -> State:
    """A record of a kind that has the fields of another one, and these more."""
    return kind(**{one.name: getattr(parts, one.name) for one in fields(type(parts))}, **more)


def with_ending_faults(system: System, kind: type, healing: Callable[[Setting], Healing], lane: str) -> System:
    """The system with the step `faults_end`, without properties and symmetries.

    Args:
        kind: its state with a field `faults_over` more, a subclass.
        healing: what still happens after faults have ended, at a setting.
        lane: where drawings show the end of faults.
    """

    def actions(setting: Setting) -> list[Action]:
        still = healing(setting)
        ends = Action(FAULTS_END, _end, _go_on, {}, "no fault comes any more")
        return [*(_limited(action, still) for action in system.actions(setting)), ends]

    return evolve(
        system,
        initial=lambda setting: [extended(kind, state, faults_over=False) for state in system.initial(setting)],
        layout=lambda setting: extended(kind, system.layout(setting), faults_over=truth()),
        actions=actions,
        properties=lambda setting: (),
        quiescent=lambda state: state.faults_over,
        lemmas=lambda setting: (),
        symmetries=lambda setting: (),
        legend=None if system.legend is None else _drawn(system.legend, lane),
    )


def _end(state: Any) -> Any:
    return evolve(state, faults_over=True)


def _go_on(state: Any) -> Conjuncts:
    return {"faults go on": negate(state.faults_over)}


def _limited(action: Action, still: Healing) -> Action:
    """The action, where after the end of faults it happens only as far as that is healing."""
    if action.name in still and still[action.name] is None:
        return action
    condition = still.get(action.name)

    def guard(state: Any, **arguments: Any) -> Conjuncts:
        heals = False if condition is None else condition(state, **arguments)
        lasting = any_of(negate(state.faults_over), heals)
        return {**action.guards(state, arguments), "faults go on, or it heals": lasting}

    return evolve(action, guard=guard)


def _drawn(legend: Legend, lane: str) -> Legend:
    return evolve(legend, arrows={**legend.arrows, FAULTS_END: event(lane)})
