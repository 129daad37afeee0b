"""What is said of any number of brokers is said of few: their actions, initial states and steps are among it."""

from __future__ import annotations

import functools
import itertools
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from attrs import frozen

from kraftcheck.ci.systems.subject import Subject, subject
from kraftcheck.model.language.anynumber import Family
from kraftcheck.model.language.layout import Endless, Slot
from kraftcheck.model.language.system import ANY
from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.audit.numbers import Places
from kraftcheck.solvers.program.program import Kind
from kraftcheck.solvers.smt.theory import Theory, theory
from tests.solvers.smt.reading.test_premises import outside
from tests.solvers.smt.reading.worlds import meaning

BROKERS, RUNS, STEPS, TRIES = 3, 30, 50, 12
"""Of the states that are explored; random runs, their length, arguments that are tried."""

SCOPES = {"elections": "tiny", "directories": "tiny"}

NEVER: Mapping[str, set[str]] = {"elections": set(), "directories": {"cancel_move"}}
"""Actions that no run takes in these scopes."""


@frozen
class Taken:
    """A step on ints: what was before, by which action with which arguments, and what is after."""

    before: Any
    action: str
    arguments: Mapping[str, Any]
    after: Any

    def is_dull(self) -> int:
        """Whether nothing changes, or everybody is in sync, or both."""
        controller = getattr(self.before, "controller", self.before)
        return 2 * (self.after == self.before) + (controller.isr.size() == BROKERS)


def of_any(system: str) -> Theory:
    """The theory with any number of brokers."""
    chosen = subject(system, SCOPES[system], {"brokers": ANY}, "fixed", proof=True)
    return theory(chosen.system, chosen.setting)


def of_few(system: str, brokers: int, replication: int = BROKERS) -> Subject:
    """The same with so many, and so many replicas."""
    return subject(system, SCOPES[system], {"brokers": brokers, "replication": replication}, "fixed")


def run(of: Subject, dice: random.Random, often: Counter[str]) -> Iterator[Taken]:
    """The steps of a run: of the actions that are possible, half the time those that were taken least often."""
    state: Any = dice.choice(list(of.system.initial(of.setting)))
    actions = of.system.actions(of.setting)
    for _ in range(STEPS):
        rare = dice.choice((True, False))
        for action in sorted(actions, key=lambda one: (often[one.name] if rare else 1) * dice.random()):
            drawn = ({name: dice.choice(v) for name, v in action.parameters.items()} for _ in range(TRIES))
            arguments = next((one for one in drawn if action.enabled(state, one)), None)
            if arguments is not None:
                after = action.outcome(state, arguments).state
                often[action.name] += after != state
                yield Taken(state, action.name, arguments, after)
                if after != state:
                    state = after
                    break


@functools.cache
def steps_of_each(system: str) -> Mapping[str, list[Taken]]:
    """The steps of random runs with three brokers, by action; those that change something come first."""
    of, dice, often = of_few(system, BROKERS), random.Random(7), Counter[str]()
    by_action: dict[str, list[Taken]] = {}
    for one in itertools.chain.from_iterable(run(of, dice, often) for _ in range(RUNS)):
        by_action.setdefault(one.action, []).append(one)
    return {name: sorted(dice.sample(steps, len(steps)), key=Taken.is_dull) for name, steps in by_action.items()}


def refused(of: Theory, step: Any, before: Places) -> list[str]:
    """What is said of an action, its arguments and the state before it, as it is read, that is false of a step."""
    kind = kind_of(of, step.action)
    said = {f"argument: {name}": term for name, term in kind.allowed.items()}
    said |= {f"guard: {name}": term for name, term in kind.guard.items()}
    listed = {name: values for name, values in kind.action.parameters.items() if not isinstance(values, Family)}
    strange = [f"argument: {name}" for name, values in listed.items() if step.arguments[name] not in values]
    return [*strange, *(name for name, term in said.items() if not before.value(term)), *outside(of, before)]


def before_step(of: Theory, step: Taken) -> Places:
    """The state before a step and its arguments as they are read."""
    return meaning(of, step.before, step.arguments, BROKERS, step.action)


def otherwise(of: Theory, step: Taken) -> list[str]:
    """The fields that the effect, as provers read it, makes other than the step has them."""
    after = meaning(of, step.after, {}, BROKERS)
    return other_fields(of, kind_of(of, step.action), before_step(of, step), after)


def other_fields(of: Theory, kind: Kind, before: Places, after: Places) -> list[str]:
    """The fields that an effect, as provers read it, makes other than a step has them; of ranks only the order."""
    slots = zip(of.program.layout.slots, kind.after, strict=True)
    return [slot.path for slot, term in slots if _differs(slot, term, before, after)]


def _differs(slot: Slot, term: Term, before: Places, after: Places) -> bool:
    held, name = after.words[slot.path], slot.path.rpartition(".")[2]
    if not isinstance(slot.domain, Endless):
        return name != "top" and before.value(term) != held[0]
    found = [before.value(term, {0: at}) for at in range(before.count)]
    if name != "ranks":
        return found != held
    inside = [at for at, member in enumerate(after.words[slot.path.replace("ranks", "members")]) if member]
    return sorted(inside, key=found.__getitem__) != sorted(inside, key=held.__getitem__)


def kind_of(of: Theory, action: str) -> Kind:
    """An action of a theory by its name."""
    (kind,) = (one for one in of.program.kinds if one.action.name == action)
    return kind


@pytest.mark.parametrize("system", SCOPES)
def test_the_actions_of_any_number_are_those_of_few(system: str) -> None:
    """No action is left out of a proof for any number, and each is among the steps that are looked at."""
    names = {kind.action.name for kind in of_any(system).program.kinds}
    few = of_few(system, BROKERS)
    assert names == {action.name for action in few.system.actions(few.setting)}
    assert names - {*steps_of_each(system)} == NEVER[system]


def denied(of: Theory, system: str, brokers: int) -> list[str]:
    """What is said of the initial states of any number that is false of one of so many."""
    settings = [of_few(system, brokers, factor) for factor in range(1, brokers + 1)]
    states = [state for few in settings for state in few.system.initial(few.setting)]
    assert len(states) >= brokers
    read = [meaning(of, state, {}, brokers) for state in states]
    return [name for name, term in of.program.initially.items() if not all(at.value(term) for at in read)]


@pytest.mark.parametrize("system", SCOPES)
@pytest.mark.parametrize("brokers", [2, 3])
def test_initial_states_of_few_are_initial_for_any_number(system: str, brokers: int) -> None:
    """All that is said of the initial states of any number is true of each of few."""
    assert denied(of_any(system), system, brokers) == []


@pytest.mark.parametrize("system", SCOPES)
def test_what_is_assumed_of_states_holds_after_steps_of_few(system: str) -> None:
    """Each invariant and lemma of any number is true of the states of few."""
    of = of_any(system)
    steps = [each[0] for each in steps_of_each(system).values()]
    wrong = {
        name for step in steps for name, term in of.state_truths().items()
        if not meaning(of, step.after, {}, BROKERS).value(term)
    }  # fmt: skip
    assert wrong == set()
