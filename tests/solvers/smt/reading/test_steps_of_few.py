"""What is said of any number is said of few: steps, initial states, and models that are narrower."""

import functools
import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest
from attrs import evolve, frozen

from kraftcheck.ci.systems.subject import Subject, subject
from kraftcheck.model.language.anynumber import Family, unlisted
from kraftcheck.model.language.layout import Endless, Slot, all_where
from kraftcheck.model.language.system import ANY, Action, System
from kraftcheck.model.language.terms import Term, Truth
from kraftcheck.model.language.words import all_of, choose, negate
from kraftcheck.model.systems.elections.state import Elections
from kraftcheck.solvers.audit.numbers import Interpretation
from kraftcheck.solvers.program.program import Kind
from kraftcheck.solvers.smt.theory import Theory, theory
from tests.shared.samples import one_in
from tests.solvers.smt.reading import test_premises
from tests.solvers.smt.reading.test_premises import outside
from tests.solvers.smt.reading.worlds import meaning

BROKERS, RUNS, STEPS, TRIES = 3, 60, 50, 12
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


def refused(of: Theory, step: Any, before: Interpretation) -> list[str]:
    """What is said of an action, its arguments and the state before it, as it is read, that is false of a step."""
    kind = kind_of(of, step.action)
    said = {f"argument: {name}": term for name, term in kind.allowed.items()}
    said |= {f"guard: {name}": term for name, term in kind.guard.items()}
    listed = {name: values for name, values in kind.action.parameters.items() if not isinstance(values, Family)}
    strange = [f"argument: {name}" for name, values in listed.items() if step.arguments[name] not in values]
    words = [one for one in kind.variables if not one.is_truth and one.op != "sequence"]
    strange += [f"argument: {one.value}" for one in words if not one.lo <= before.value(one) <= one.hi]
    return [*strange, *(name for name, term in said.items() if not before.value(term)), *outside(of, before)]


def before_step(of: Theory, step: Taken) -> Interpretation:
    """The state before a step and its arguments as they are read."""
    return meaning(of, step.before, step.arguments, BROKERS, step.action)


def otherwise(of: Theory, step: Taken) -> list[str]:
    """The fields that the effect, as provers read it, makes other than the step has them."""
    after = meaning(of, step.after, {}, BROKERS)
    return other_fields(of, kind_of(of, step.action), before_step(of, step), after)


def other_fields(of: Theory, kind: Kind, before: Interpretation, after: Interpretation) -> list[str]:
    """The fields that an effect, as provers read it, makes other than a step has them; of ranks only the order."""
    slots = zip(of.program.layout.slots, kind.after, strict=True)
    return [slot.path for slot, term in slots if _differs(slot, term, before, after)]


def _differs(slot: Slot, term: Term, before: Interpretation, after: Interpretation) -> bool:
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


SYSTEMS = ("elections", "directories", "replication")

Narrowing = Callable[[Action], Action]
Initial = Callable[[Elections], Truth]


def as_it_is(action: Action) -> Action:
    """The action."""
    return action


def of_narrower(name: str, narrowed: Narrowing = as_it_is, initial: Initial = lambda _: True) -> Theory:
    """The theory of a system of any number with each action narrowed, and its initial states; nothing is claimed."""
    more, scope = ({"unbounded": 1}, "tiny") if name == "replication" else ({}, SCOPES[name])
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


OF_EACH, EFFECTS = 40, 8  # steps of each action that are looked at, and effects that are compared


def steps_of(name: str) -> Mapping[str, Sequence[Any]]:
    """Of each action the steps of three brokers that are looked at."""
    if name == "replication":
        return test_premises.most_of_each(25, OF_EACH)
    return {action: each[:OF_EACH] for action, each in steps_of_each(name).items()}


def told(name: str, of: Theory) -> set[tuple[str, str]]:
    """What steps of few tell of a theory of any number: of each action what is false of a step, and of its state."""
    before = before_step
    if name == "replication":
        before = lambda of, step: meaning(of, step.before, step.arguments, test_premises.COUNT)  # noqa: E731
    return {(action, wrong) for action, steps in steps_of(name).items() for step in steps
            for wrong in refused(of, step, before(of, step))}  # fmt: skip


def done_otherwise(name: str, of: Theory) -> set[str]:
    """The actions of a theory of any number that end otherwise than a step of few."""
    compare: Callable[[Theory, Any], list[str]] = otherwise
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
    found = test_premises.denied(of, 3) if name == "replication" else denied(of, name, 3)
    assert found == ([] if (name, narrower) == ("directories", "one is enough") else ["narrowed"])
