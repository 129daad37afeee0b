"""Tracing a system: faults are blamed on their part, and the digest follows the rules."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve, frozen

from kraftcheck.model.language.layout import Flag, LayoutError, Range
from kraftcheck.model.language.symbolic import UntraceableRule
from kraftcheck.model.language.system import Action, Bound, Outcome, Property, Step, System
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.solvers.program.parts import SystemFault
from kraftcheck.solvers.program.trace import trace
from tests.shared.explored import traced

ELECTIONS = SYSTEMS["elections"]


@frozen
class Lamp:
    """A dimmer and a switch."""

    level: Any
    on: Any


def turn(state: Lamp, by: Any) -> Lamp:
    """One turn of the dimmer."""
    return evolve(state, level=state.level + by)


TURN = Action("turn", turn, lambda state, by: {"room": state.level + by <= 3, "on": state.on}, {"by": (1, 2)})
LAMP = System(
    name="lamp",
    summary="A lamp with a dimmer.",
    initial=lambda setting: [Lamp(0, True)],
    layout=lambda setting: Lamp(Range(0, 3), Flag()),
    actions=lambda setting: [TURN],
    properties=lambda setting: [
        Property("lit", "always", "The lamp is on.", lambda state: state.on),
        Property("brighter", "step", "Turning makes it brighter.", lambda t: t.after.level > t.before.level),
    ],
)


def with_action(**changes: Any) -> System:
    """The lamp with one other action."""
    return evolve(LAMP, actions=lambda setting: [evolve(TURN, **changes)])


def with_property(predicate: Callable[[Any], Any], kind: str = "always") -> System:
    """The lamp with one other property."""
    claim = Property("claim", kind, "A claim.", predicate, refuted_by=("x",))
    return evolve(LAMP, properties=lambda setting: [claim])


def _raise(*args: Any, **named: Any) -> Any:
    raise KeyError("oops")


def test_a_system_is_traced_once_for_each_kind() -> None:
    """Two argument values are one kind with two instances, numbered in order."""
    found = traced(LAMP)
    assert [(kind.action.name, kind.first, kind.table) for kind in found.kinds] == [("turn", 0, ((1,), (2,)))]
    assert [found.instance(number)[1] for number in range(found.instances)] == [{"by": 1}, {"by": 2}]
    assert list(found.kinds[0].guard) == ["room", "on"]
    assert found.initial == (found.layout.pack(Lamp(0, True)),)
    assert found.kinds[0].unchecked == (0,)
    with pytest.raises(IndexError, match="action instance 2 of 2"):
        found.instance(2)


@pytest.mark.parametrize(
    ("system", "message"),
    [
        (with_action(effect=_raise), "action turn, effect raised KeyError: 'oops'"),
        (with_action(guard=_raise), "action turn, guard raised KeyError: 'oops'"),
        (with_action(guard=lambda state, by: state.level), "action turn, guard gave"),
        (with_action(guard=lambda state, by: {"odd": "yes"}), "action turn, guard odd gave 'yes', not a truth"),
        (with_action(effect=lambda state, by: None), "action turn gave a state of another shape"),
        (with_action(effect=lambda state, by: Outcome((1, 2))), "action turn gave a state of another shape"),
        (with_action(effect=lambda state, by: evolve(state, level=True)), "action turn set level to True, not a word"),
        (with_action(effect=lambda state, by: evolve(state, on=1)), "action turn set on to 1, not a truth"),
        (with_action(effect=lambda state, by: evolve(state, on="x")), "action turn set on to 'x', not a truth"),
        (with_action(effect=lambda state: state), "action turn, effect raised TypeError"),
        (with_action(parameters={"by": ("one",)}), "action turn, parameter [0] ranges over 'one'"),
        (with_action(parameters={"by": (1, (1, 2))}), "action turn: argument values differ in shape"),
        (with_property(_raise), "property claim raised KeyError: 'oops'"),
        (with_property(lambda state: state.level), "property claim (claim) gave"),
        (with_property(lambda t: {"part": 3}, "step"), "property claim (part) gave 3, not a truth"),
        (evolve(LAMP, initial=_raise), "initial raised KeyError: 'oops'"),
        (evolve(LAMP, initial=lambda setting: []), "initial gave no state"),
        (evolve(LAMP, initial=lambda setting: [Lamp(9, True)]), "level = 9 is outside its domain 0..3"),
        (evolve(LAMP, initial=lambda setting: [None]), "initial gave a state that does not fit the layout"),
        (evolve(LAMP, layout=_raise), "layout raised KeyError: 'oops'"),
        (evolve(LAMP, actions=_raise), "actions raised KeyError: 'oops'"),
        (evolve(LAMP, properties=_raise), "properties raised KeyError: 'oops'"),
        (evolve(LAMP, quiescent=_raise), "quiescent raised KeyError: 'oops'"),
        (evolve(LAMP, quiescent=lambda state: state.level), "quiescent gave"),
    ],
)
def test_a_faulty_part_is_blamed_by_name(system: System, message: str) -> None:
    """What raises, or answers with the wrong type or shape, is named with its action or property."""
    with pytest.raises(SystemFault, match=re.escape(message)):
        traced(system)


def test_a_rule_that_cannot_be_traced_is_named_by_line() -> None:
    """An `if` on the state is not a fault of the engine: file and line of the rule are told."""
    with pytest.raises(UntraceableRule, match=r"test_program\.py:\d+: .*a condition"):
        traced(with_action(effect=lambda state, by: turn(state, by) if state.on else state))


def test_too_many_instances_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """More action instances than the engine can number are an error that says how many."""
    monkeypatch.setattr("kraftcheck.solvers.program.trace.MAX_INSTANCES", 1)
    with pytest.raises(LayoutError, match="lamp has 2 action instances; the limit is 1"):
        traced(LAMP)


def test_an_action_without_values_never_happens() -> None:
    """A parameter that ranges over nothing gives a kind without instances."""
    found = traced(with_action(parameters={"by": ()}, effect=lambda state: state, guard=None))
    assert found.instances == 0


OTHER = [
    with_action(effect=lambda state, by: evolve(state, level=state.level - by)),
    with_action(guard=lambda state, by: {"room": state.level + by <= 2, "on": state.on}),
    with_action(guard=lambda state, by: {"on": state.on}),
    with_action(parameters={"by": (1, 3)}),
    with_action(parameters={"by": (2, 1)}),
    with_property(lambda state: state.level < 3),
    with_property(lambda state: state.on),
    with_property(lambda state: state.on, "sometimes"),
    evolve(LAMP, layout=lambda setting: Lamp(Range(0, 4), Flag())),
    evolve(LAMP, quiescent=lambda state: state.level == 3),
]


def test_the_digest_follows_every_part() -> None:
    """Another effect, guard, argument, property, domain or quiescence is another digest; tracing again is not."""
    digests = [traced(system).digest() for system in (LAMP, *OTHER)]
    assert len(set(digests)) == len(digests)
    assert traced(LAMP).digest() == digests[0]


def test_the_digest_follows_the_rule_set() -> None:
    """One changed choice of the rules changes what is compiled."""
    digests = {
        rules: trace(ELECTIONS, ELECTIONS.setting("tiny", rules=parse(rules))).digest()
        for rules in ("fixed", "kafka-4.0", "fixed+assignment-clears-elr", "kafka-4.0-assignment-clears-elr")
    }
    assert len(set(digests.values())) == len(digests)


def test_a_step_is_seen_by_step_properties() -> None:
    """The subject of a step property has states, action and arguments; asked twice, and once of any two states."""
    seen: list[Step] = []

    def look(step: Step) -> Any:
        seen.append(step)
        return step.after.on

    traced(with_property(look, "step"))
    assert [(step.action, list(step.arguments), step.event) for step in seen] == [("turn", ["by"], None)] * 3


def test_a_bound_that_a_preset_leaves_out_has_its_smallest_value() -> None:
    """A rule may read every declared bound; one that is not declared is an error, and no preset shows what it lacks."""
    bounds = (Bound("given", 0, 3, "stated by the preset"), Bound("left-out", 2, 5, "not stated by it"))
    system = evolve(LAMP, scopes={"one": {"given": 1}}, bounds=bounds)
    setting = system.setting("one")
    assert (setting["given"], setting["left-out"]) == (1, 2)
    assert system.setting("one", {"left-out": 4})["left-out"] == 4
    assert setting.text() == "given 1"
    with pytest.raises(KeyError):
        setting["undeclared"]
