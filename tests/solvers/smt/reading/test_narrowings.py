"""A model of any number that is narrower than that of few is seen by the steps that few take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from attrs import evolve

from kraftcheck.ci.systems.subject import subject
from kraftcheck.model.language.anynumber import Family, unlisted
from kraftcheck.model.language.layout import all_where
from kraftcheck.model.language.system import ANY, Action, System
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import all_of, choose, negate
from kraftcheck.model.systems.elections.state import Elections
from kraftcheck.solvers.smt.theory import Theory, theory
from tests.shared.samples import one_in
from tests.solvers.smt.reading import test_premises, test_steps_of_few
from tests.solvers.smt.reading.worlds import meaning

SYSTEMS = ("elections", "directories", "replication")

Narrowing = Callable[[Action], Action]
Initial = Callable[[Elections], Truth]


def as_it_is(action: Action) -> Action:
    """The action."""
    return action


def of_narrower(name: str, narrowed: Narrowing = as_it_is, initial: Initial = lambda _: True) -> Theory:
    """The theory of a system of any number with each action narrowed, and its initial states; nothing is claimed."""
    more, scope = ({"unbounded": 1}, "tiny") if name == "replication" else ({}, test_steps_of_few.SCOPES[name])
    chosen = subject(name, scope, {"brokers": ANY, **more}, "fixed", proof=True)
    whole: System = chosen.system
    (new,) = whole.initial(chosen.setting)
    begins = all_where(lambda s: {**new.rule(s), "narrowed": initial(getattr(s, "controller", s))})
    system = evolve(whole, actions=lambda setting: [narrowed(action) for action in whole.actions(setting)],
                    initial=lambda _: [begins], properties=lambda _: [], lemmas=lambda _: [])  # fmt: skip
    return theory(system, chosen.setting)


def has_third(state: Any) -> Any:
    """Whether the third broker is in sync."""
    return getattr(state, "controller", state).isr.has(2)


def in_guard(action: Action) -> Action:
    """The action, only while the third broker is in sync."""
    return evolve(action, guard=lambda state, **given: {**action.guards(state, given), "narrowed": has_third(state)})


def in_effect(action: Action) -> Action:
    """The action, which does nothing unless the third broker is in sync."""

    def effect(state: Any, **given: Any) -> Any:
        return choose(has_third(state), action.outcome(state, given).state, state)

    return evolve(action, effect=effect)


def in_argument(parameter: str) -> Narrowing:
    """The action without some of the values that an argument may have."""

    def narrowed(action: Action) -> Action:
        if parameter not in action.parameters:
            return action
        return evolve(action, parameters={**action.parameters, parameter: fewer(action.parameters[parameter])})

    return narrowed


def fewer(values: Sequence[Any]) -> Sequence[Any]:
    """Values of an argument but those that name the second broker, or 1; of a list all but the last."""
    if not isinstance(values, Family):
        return values[:-1] or values

    def member(value: Any) -> Any:
        return all_of(values.member(value), negate(value.has(1) if hasattr(value, "has") else value == 1))

    return Family(values.shape, member, unlisted)


OF_EACH, EFFECTS = 40, 8
"""Steps of each action that are looked at, and effects that are compared."""


def steps_of(name: str) -> Mapping[str, Sequence[Any]]:
    """Of each action the steps of three brokers that are looked at."""
    if name == "replication":
        return test_premises.most_of_each(25, OF_EACH)
    return {action: each[:OF_EACH] for action, each in test_steps_of_few.steps_of_each(name).items()}


def told(name: str, of: Theory) -> set[tuple[str, str]]:
    """What steps of few tell of a theory of any number: of each action what is false of a step, and of its state."""
    before = test_steps_of_few.before_step
    if name == "replication":
        before = lambda of, step: meaning(of, step.before, step.arguments, test_premises.COUNT)  # noqa: E731
    return {(action, wrong) for action, steps in steps_of(name).items() for step in steps
            for wrong in test_steps_of_few.refused(of, step, before(of, step))}  # fmt: skip


def done_otherwise(name: str, of: Theory) -> set[str]:
    """The actions of a theory of any number that end otherwise than a step of few."""
    compare: Callable[[Theory, Any], list[str]] = test_steps_of_few.otherwise
    if name == "replication":
        compare = test_premises.false_of
    return {action for action, steps in steps_of(name).items() if any(compare(of, step) for step in steps[:EFFECTS])}


@pytest.mark.parametrize("name", SYSTEMS)
def test_steps_of_few_are_steps_of_any_number(name: str) -> None:
    """Guards, arguments and domains allow each step that is taken with few brokers, and its effect is the same."""
    of = of_narrower(name)
    assert told(name, of) == set()
    assert done_otherwise(name, of) == set()


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_narrower_guard_of_any_action_is_seen(name: str) -> None:
    """Of each action a step is refused where a guard of any number asks for more."""
    assert {action for action, _ in told(name, of_narrower(name, in_guard))} == {*steps_of(name)}


IDLE = {"elections": set[str](), "directories": {"intrude"}, "replication": set[str]()}
"""Actions that do nothing by the right rules."""


@pytest.mark.parametrize("name", one_in(3, SYSTEMS))
def test_a_narrower_effect_of_any_action_is_seen(name: str) -> None:
    """Of each action a step ends elsewhere where one of any number does less."""
    assert {*steps_of(name)} - done_otherwise(name, of_narrower(name, in_effect)) == IDLE[name]


ARGUMENTS = {
    "elections": ("broker", "clean", "isr", "minimum", "recovering", "target"),
    "directories": ("broker", "delivered", "directory", "slot"),
    "replication": ("broker", "epoch", "follower", "leader", "received"),
}
"""Arguments that have more than one value."""


@pytest.mark.parametrize(("name", "argument"), [(name, one) for name, each in ARGUMENTS.items() for one in each])
def test_fewer_arguments_of_any_action_are_seen(name: str, argument: str) -> None:
    """Of each action with an argument a step is refused where an argument of any number has fewer values."""
    of = of_narrower(name, in_argument(argument))
    having = {kind.action.name for kind in of.program.kinds if argument in kind.action.parameters}
    assert having
    assert {action for action, wrong in told(name, of) if wrong.startswith("argument: ")} == having & {*steps_of(name)}


INITIAL: Mapping[str, Initial] = {
    "all who have registered are replicas": lambda c: c.registered.within(c.replicas),
    "there is one replica": lambda c: c.replicas.size() <= 1,
    "two have registered": lambda c: c.registered.size() <= 2,
    "one is enough": lambda c: c.min_insync_replicas == 1,
}


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("narrower", INITIAL)
def test_fewer_initial_states_are_seen(name: str, narrower: str) -> None:
    """An initial state of three brokers is none where those of any number are fewer; min ISR is 1 in `directories`."""
    of = of_narrower(name, initial=INITIAL[narrower])
    found = test_premises.denied(of, 3) if name == "replication" else test_steps_of_few.denied(of, name, 3)
    assert found == ([] if (name, narrower) == ("directories", "one is enough") else ["narrowed"])
