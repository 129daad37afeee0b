"""Legends of systems: each action is drawn, in lanes that exist, and what is in view is in the state."""

import functools
import itertools

import attrs
import pytest

from kraftcheck.model.language.layout import leaves
from kraftcheck.model.language.system import Action, Setting, System
from kraftcheck.model.language.words import NO_LEADER
from kraftcheck.model.rules.ruleset import PRESETS, parse, variants
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.solvers.traces.render import fields

Instance = tuple[Setting, Action]

SIZE = "initial-isr"  # a bound of which 0 stands for the largest value


def rule_sets(system: System) -> tuple[str, ...]:
    """Every preset, and the mended rules with every choice of the system made otherwise: some add actions."""
    assert isinstance(system.rules, tuple)
    read = {choice for group in system.rules for choice in attrs.fields(group)}
    chosen = [name for name, choice in variants().items() if choice in read]
    return (*PRESETS, *(f"fixed{sign}{name}" for sign in "+-" for name in chosen))


@functools.cache
def instances(name: str) -> dict[tuple[str, str], Instance]:
    """A setting for each action and scope of a system; its scopes as they are, and with every bound at 1 that is 0."""
    system, listed = SYSTEMS[name], dict[tuple[str, str], Instance]()
    for scope, bounds in system.scopes.items():
        zeros = {
            bound.name: 1
            for bound in system.bounds
            if bounds.get(bound.name, 0) == 0 and bound.hi and not bound.freed_by and bound.name != SIZE
        }
        for rules, overrides in itertools.product(rule_sets(system), ({}, zeros)):
            setting = system.unlimited_setting(scope, overrides, parse(rules))
            for action in system.actions(setting):
                listed.setdefault((action.name, scope), (setting, action))
    return listed


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=lambda system: system.name)
def test_every_action_is_drawn(system: System) -> None:
    """The legend has each action of some setting, and no other; `{name}` is an argument or a value in view."""
    assert system.legend is not None
    drawn = {action.name: instance for instance in instances(system.name).values() for action in instance[1:]}
    assert set(system.legend.arrows) == set(drawn)
    for name, arrows in system.legend.arrows.items():
        setting, action = drawn[name]
        values = {*action.parameters, *system.legend.strip, *fields(next(iter(system.initial(setting))))}
        assert arrows
        assert set().union(*(arrow.placeholders() for arrow in arrows)) <= values


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=lambda system: system.name)
def test_what_is_in_view_is_in_the_state(system: System) -> None:
    """Each path of the strip is a field of the initial states of every scope."""
    assert system.legend is not None
    for scope in system.scopes:
        state = next(iter(system.initial(system.setting(scope, rules=parse("fixed")))))
        assert set(system.legend.strip.values()) <= set(fields(state))


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=lambda system: system.name)
def test_every_argument_has_its_lane(system: System) -> None:
    """Whatever the arguments, a lane that they name exists; what the state names, as a leader, may be none."""
    assert system.legend is not None
    checked = 0
    for setting, action in instances(system.name).values():
        lanes = system.legend.lanes(setting.bounds)
        assert len(lanes) == len(set(lanes))
        for arrow in system.legend.arrows[action.name]:
            for lane in (arrow.source, arrow.target):
                checked += 1
                name = next(iter(arrow.placeholders() & set(action.parameters)), None)
                if f"{{{name}}}" not in lane:
                    assert "{" in lane or lane in lanes
                    continue
                assert {lane.format_map({name: value}) for value in action.parameters[name or ""]} <= set(lanes)
    assert checked


def test_a_leader_that_nobody_is_reads_none() -> None:
    """The domain of each field of a shipped system that is called a leader, and may be -1, says that -1 is nobody."""
    plain = {
        (system.name, path)
        for system in SYSTEMS.values() for scope in system.scopes
        for path, domain in leaves(system.layout(system.setting(scope, rules=parse("fixed"))))
        if path.endswith("leader") and domain.lo == NO_LEADER and domain.none is None
    }  # fmt: skip
    assert plain == set()
