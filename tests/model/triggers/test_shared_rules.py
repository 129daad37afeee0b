"""Each rule of the triggers is written once: a change of it changes the explored system and the controller alike."""

import functools
import importlib
import random
from collections import defaultdict
from typing import Any

import pytest
from attrs import evolve

from kraftcheck.model.controller.commits import commit
from kraftcheck.model.controller.errors import RequestError, Resignation
from kraftcheck.model.language.system import Action
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.model.systems.elections.state import Elections
from kraftcheck.model.systems.elections.system import ELECTIONS
from kraftcheck.model.systems.replication.system import REPLICATION
from kraftcheck.model.triggers.leadership import current_checks, epoch_checks
from tests.model.controller.test_controller_agreement import (
    PLACE,
    comparable,
    controller_in,
    decided,
    drawn,
    drawn_action,
    errors,
    seen,
    told,
)

RULES = parse("fixed+designated-elections")
SAMPLES = 15
"""Steps of each action in each scope that are taken again under a changed rule: so many that write, and so many not."""

NO_PASS = "Pass(False, Target.of(p), ordinary(p, permits))"

CHANGED = {
    "model.triggers.leadership:active": "lambda cluster: cluster.registered.none()",
    "model.triggers.leadership:may_lead": "lambda cluster, offline, barred, counted, rules: cluster.registered.none()",
    "model.triggers.leadership:replica_online": "lambda directory, registered, count, untold, listed, rules: False",
    "model.triggers.leadership:lookup_failed": "lambda election, replicas, eligible: True",
    "model.triggers.table:effective_min_isr": "lambda configured, factor: configured + 1",
    "model.triggers.table:announced": "lambda p, differs, minimum, before, elr, rules: clear_elr(p, False)",
    "model.partition.election:clear_elr": "lambda p, when: no_change(p)",
    "model.partition.election:may_designate": "lambda p, eligible, broker, rules: {LEADERLESS: False}",
    "model.triggers.leadership:sender_check": "lambda leader, sender, cluster: {SENDER: False}",
    "model.triggers.leadership:isr_checks": (
        "lambda p, isr, recovering, rules: dict.fromkeys((REPLICAS, LEADER, ONE_MEMBER, NOT_ANEW), False)"
    ),
    "model.triggers.leadership:may_join": "lambda cluster, rules: cluster.registered.none()",
    "model.triggers.leadership:kept_out": "lambda offline, rules: offline.plus(offline.just(0))",
    "model.triggers.leadership:proposed": "lambda p, isr, recovering: Target.of(p)",
    "model.triggers.table:default_directory": "lambda registered, count, only, supported, rules: 2",
    "model.triggers.table:assign": f"lambda p, permits, broker, directory, offline, rules: ({NO_PASS},)",
    "model.triggers.table:reassign": f"lambda p, permits, target, rules: {NO_PASS}",
    "model.triggers.table:may_cancel": "lambda p, eligible, unclean, rules: dict.fromkeys(CANCEL_ERRORS, False)",
    "model.triggers.table:cancel": f"lambda p, permits, rules: {NO_PASS}",
    "model.triggers.table:targets_registered": "lambda target, registered: False",
    "model.triggers.table:context": (
        "lambda trigger, acceptable, min_isr, default_directory, *, directory_assignment, leader_recovery, "
        "bump_on_isr_shrink: BuildContext(acceptable.none(), min_isr, trigger.preferred, False, trigger.elr, True, "
        "trigger.unclean_shutdown, directory_assignment, leader_recovery, bump_on_isr_shrink, default_directory)"
    ),
    "model.triggers.leadership:directory_known": "lambda replica, directory, registered, rules: False",
    "model.triggers.leadership:second_sees_first": "lambda rules: False",
    "model.triggers.table:ordinary": (
        "lambda p, permits: Trigger(p.replicas, p.isr.none(), False, False, permits.elr, p.isr.none())"
    ),
    "model.triggers.table:without": "lambda p, broker: Target.of(p)",
    "model.triggers.table:leave": f"lambda p, permits, broker, when: {NO_PASS}",
    "model.triggers.table:fence": f"lambda p, permits, broker: {NO_PASS}",
    "model.triggers.table:unfence": f"lambda p, permits, broker, rules: {NO_PASS}",
    "model.triggers.table:unregister": f"lambda p, permits, broker, rules: {NO_PASS}",
    "model.triggers.table:restart": f"lambda p, permits, broker, clean, known, rules: {NO_PASS}",
    "model.triggers.table:directory_failure": f"lambda p, permits, broker, failed, rules: {NO_PASS}",
    "model.triggers.table:alter": f"lambda p, permits, target: {NO_PASS}",
    "model.triggers.table:needs_preferred": "lambda p: False",
    "model.triggers.table:needs_leader": "lambda p: False",
    "model.triggers.table:elect_preferred": f"lambda p, permits: {NO_PASS}",
    "model.triggers.table:elect_unclean": f"lambda p, permits, rules: {NO_PASS}",
    "model.triggers.table:elect_designated": f"lambda p, permits, broker: {NO_PASS}",
}
"""Shared rules by module and function, each with a wrong one to put in its place."""

Sample = tuple[Elections, Action, dict[str, Any]]


@functools.cache
def samples() -> tuple[Sample, ...]:
    """Steps that both model, of every action, along random walks."""
    chosen: list[Sample] = []
    for scope in ("default", "directories"):
        setting = ELECTIONS.setting(scope, rules=RULES)
        actions, walk, met = list(ELECTIONS.actions(setting)), random.Random(7), defaultdict[str, int](int)
        for _ in range(60):
            state = walk.choice(list(ELECTIONS.initial(setting)))
            for _ in range(60):
                action = drawn_action(actions, walk)
                arguments = drawn(action, walk)
                if not action.enabled(state, arguments):
                    continue
                outcome = action.outcome(state, arguments)
                kind = f"{action.name} {outcome.event.records}"
                if comparable(state, action.name, arguments, RULES) and met[kind] < SAMPLES:
                    chosen.append((state, action, arguments))
                    met[kind] += 1
                state = outcome.state
    return tuple(chosen)


def explored(sample: Sample) -> object:
    """What the explored system makes of a step; None: it is not possible, or the controller resigns."""
    state, action, arguments = sample
    if not action.enabled(state, arguments):
        return None
    outcome = action.outcome(state, arguments)
    event = outcome.event
    return None if event.resigned else (seen(outcome.state), event.leader_epoch_bumps, event.partition_epoch_bumps)


def in_full(sample: Sample) -> object:
    """What the controller makes of the same step, in the same terms."""
    state, action, arguments = sample
    controller = controller_in(state, RULES)
    try:
        outcome = decided(controller, state, action.name, arguments, RULES)
    except (RequestError, Resignation):
        return None
    listed = arguments or action.name == "cancel"
    if listed and errors(outcome) and not outcome.records:
        return None
    after = commit(controller, evolve(outcome, shutting_down=None), RULES)
    p = after.image.partition(*PLACE)
    assert p is not None
    return told(after), p.leader_epoch, p.partition_epoch


@functools.cache
def as_they_are() -> tuple[list[object], list[object]]:
    """What both make of every sample by the rules as they are."""
    return [explored(sample) for sample in samples()], [in_full(sample) for sample in samples()]


def test_both_agree_on_the_samples() -> None:
    """By the rules as they are both do the same in every sample, of which each action has some."""
    mine, theirs = as_they_are()
    assert mine == theirs
    assert len({action.name for _, action, _ in samples()}) >= 16


@pytest.mark.parametrize("rule", CHANGED)
def test_a_changed_rule_changes_both(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With another rule in its place, the explored system and the controller both do something else than before."""
    mine, theirs = as_they_are()
    module, _, name = rule.partition(":")
    shared = getattr(importlib.import_module(f"kraftcheck.{module}"), name)
    monkeypatch.setattr(shared, "__code__", eval(CHANGED[rule]).__code__)
    steps = list(zip(samples(), mine, theirs, strict=True))
    assert any(explored(sample) != before for sample, before, _ in steps)
    assert any(in_full(sample) != before for sample, _, before in steps)


def test_outdated_requests_are_refused_by_one_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request from before a record is refused in `replication` by the rule that the controller answers by."""
    setting = REPLICATION.setting("tiny", rules=parse("fixed"))
    actions = {action.name: action for action in REPLICATION.actions(setting)}
    state = next(iter(REPLICATION.initial(setting)))
    sent = actions["propose_shrink"].outcome(state, {"broker": 0, "follower": 1}).state
    assert sent.request.isr.size() == 1
    assert actions["fence"].outcome(sent, {"broker": 1}).state.request.isr.size() == 0
    p = sent.controller.partition()
    behind = evolve(p, leader_epoch=1, partition_epoch=1)
    assert set(epoch_checks(p, 0, 0, setting.rules.data_plane).values()) == {True}
    assert not all(epoch_checks(behind, 0, 0, setting.rules.data_plane).values())
    everything = "lambda p, leader_epoch, partition_epoch, rules: {LEADER_EPOCH: True, PARTITION_EPOCH: True}"
    monkeypatch.setattr(current_checks, "__code__", eval(everything).__code__)
    assert actions["fence"].outcome(sent, {"broker": 1}).state.request.isr.size() == 1
    assert all(epoch_checks(behind, 0, 0, setting.rules.data_plane).values())
