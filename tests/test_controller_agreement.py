"""The controller on lists and the explored `elections` system on masks decide alike."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from attrs import evolve

from model.brokersets import BrokerSet
from model.controller.alter_partition import AlterPartitionRequest, Proposal, alter_partition
from model.controller.assign_dirs import Assignment, assign_replicas_to_dirs
from model.controller.commits import commit, replay_record
from model.controller.configs import MIN_ISR, UNCLEAN_ELECTION
from model.controller.elect_leaders import DESIGNATED, PREFERRED, UNCLEAN, balance_leaders, elect_leaders, elect_unclean
from model.controller.errors import Resignation
from model.controller.heartbeat_event import heartbeat
from model.controller.lifecycle import directories_offline, expire_session, leaving, unregister
from model.controller.reassign import Reassignment, reassign
from model.controller.records import TOPIC, ConfigRecord
from model.controller.registration import RegistrationContext, RegistrationRequest, register_broker
from model.controller.state import Controller, Features, Outcome, Settings
from model.directories import FIRST_LOCAL
from model.records import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
)
from model.rules import RuleSet, parse
from model.systems.elections.state import Elections
from model.systems.elections.system import ELECTIONS, SCOPES
from tests.controllers import beat, directory

PLACE = ("t", 0)


def global_id(broker: int, local: int) -> int:
    """A directory of the explored system as the controller knows it."""
    return local if local < FIRST_LOCAL else directory(broker, local - FIRST_LOCAL)


def dirs_of(broker: int, some: BrokerSet) -> tuple[int, ...]:
    """Local directories of a broker as the controller knows them."""
    return tuple(directory(broker, number) for number in some)


def registered(state: Elections, broker: int) -> list[Any]:
    """The records of a broker; one without directories had some, and lost the last."""
    dirs = dirs_of(broker, state.online_dirs[broker])
    registration = RegisterBrokerRecord(
        broker, 100 + broker, f"process-{broker}", fenced=state.fenced.has(broker),
        in_controlled_shutdown=state.shutting_down.has(broker), log_dirs=dirs or (directory(broker),),
    )  # fmt: skip
    return [registration] if dirs else [registration, BrokerRegistrationChangeRecord(broker, 100 + broker, log_dirs=())]


def controller_in(state: Elections, rules: RuleSet) -> Controller:
    """The controller in a state of the explored system, long after every broker was heard of."""
    features = Features(elr_supported=bool(state.elr_enabled), elr_enabled=bool(state.elr_enabled))
    controller = Controller(features=features, settings=Settings(cluster_id="cluster"))
    replicas = tuple(state.replicas)
    partition = PartitionRecord(
        *PLACE, replicas, tuple(state.isr), tuple(state.removing), tuple(state.adding), state.leader,
        state.recovering, 0, 0, tuple(global_id(b, state.directories.of(b)) for b in replicas), tuple(state.elr),
        tuple(state.last_known_elr),
    )  # fmt: skip
    brokers = [record for b in state.registered for record in registered(state, b)]
    configs = [
        ConfigRecord(TOPIC, "foo", MIN_ISR, str(state.min_insync_replicas)),
        ConfigRecord(TOPIC, "foo", UNCLEAN_ELECTION, str(state.unclean_election)),
    ]
    for record in (*brokers, TopicRecord("foo", "t"), partition, *configs):
        controller = replay_record(controller, record, rules)
    return evolve(controller, soft=controller.soft.after(10**6))


def decided(controller: Controller, state: Elections, action: str, a: dict[str, Any], rules: RuleSet) -> Outcome:
    """What the controller decides where the explored system takes an action."""
    broker = a.get("broker", -1)
    if action == "new_incarnation":
        clean = 100 + broker if a["clean"] else None
        request = RegistrationRequest(
            "cluster", broker, "another", dirs=dirs_of(broker, a["dirs"]), previous_epoch=clean
        )
        return register_broker(controller, request, RegistrationContext(), rules)
    if action == "alter_partition":
        members = tuple((member, -1) for member in a["isr"])
        request = Proposal("t", 0, 0, 0, members, a["recovering"])
        leader = int(state.leader)
        return alter_partition(controller, AlterPartitionRequest(leader, 100 + leader, (request,)), rules)
    if action in ("reassign", "cancel"):
        target = tuple(a["target"]) if action == "reassign" else None
        outcome = reassign(controller, (Reassignment("foo", 0, target),), rules)
        if outcome.response[0].error == Resignation.error:
            raise Resignation("one row")
        assert outcome.response[0].error == "NONE"
        return outcome
    if action == "assign":
        assignment = Assignment(global_id(broker, a["directory"]), "t", 0)
        return assign_replicas_to_dirs(controller, broker, 100 + broker, (assignment,), rules)
    if action == "directories_offline":
        return directories_offline(controller, broker, 100 + broker, dirs_of(broker, a["failed"]), rules)
    if action in ("unfence", "heartbeat"):
        request = beat(broker, failed=dirs_of(broker, a.get("failed", BrokerSet())))
        return heartbeat(controller, request, rules)
    simple = {
        "fence": lambda: expire_session(controller, broker, rules),
        "unregister": lambda: unregister(controller, broker, rules),
        "controlled_shutdown": lambda: Outcome(leaving(controller, broker, rules), None, controller.soft),
        "elect_preferred": lambda: elect_leaders(controller, PREFERRED, None, rules),
        "elect_unclean": lambda: elect_leaders(controller, UNCLEAN, None, rules),
        "elect_designated": lambda: elect_leaders(controller, DESIGNATED, (("foo", 0),), rules, (broker,)),
        "unclean_timer": lambda: elect_unclean(controller, rules),
        "balance_timer": lambda: balance_leaders(controller, rules),
    }
    return simple[action]()


def seen(state: Elections) -> dict[str, Any]:
    """What both tell of a state, in the terms of the controller."""
    return {
        "replicas": list(state.replicas),
        "directories": [global_id(b, state.directories.of(b)) for b in state.replicas],
        "leader": state.leader,
        "recovering": bool(state.recovering),
        **{name: set(getattr(state, name)) for name in ("isr", "elr", "last_known_elr", "removing", "adding")},
        "registered": set(state.registered),
        "fenced": set(state.fenced),
        "shutting_down": set(state.shutting_down),
        "dirs": {b: set(dirs_of(b, state.online_dirs[b])) for b in state.registered},
    }


def told(controller: Controller) -> dict[str, Any]:
    """The same of the controller."""
    p = controller.image.partition(*PLACE)
    known = controller.image.registrations
    return {
        "replicas": list(p.replicas),
        "directories": list(p.directories.ids),
        "leader": p.leader,
        "recovering": p.recovering,
        **{name: set(getattr(p, name)) for name in ("isr", "elr", "last_known_elr", "removing", "adding")},
        "registered": set(known),
        "fenced": {b for b, broker in known.items() if broker.fenced},
        "shutting_down": {b for b, broker in known.items() if broker.in_controlled_shutdown},
        "dirs": {b: set(broker.dirs) for b, broker in known.items()},
    }


def comparable(state: Elections, action: str, arguments: dict[str, Any], rules: RuleSet) -> bool:
    """Whether both model the step.

    Mended, a broker that is not registered cannot show a clean stop.
    """
    if action.startswith(("set_", "enable_")):
        return False
    stranger = arguments.get("clean") and not state.registered.has(arguments["broker"])
    return rules.every_restart_is_unclean or not stranger


def check_step(state: Elections, action: str, arguments: dict[str, Any], expected: Any, rules: RuleSet) -> None:
    """Compare one step: both resign, or both do the same."""
    controller = controller_in(state, rules)
    assert told(controller) == seen(state)
    try:
        outcome = decided(controller, state, action, arguments, rules)
    except Resignation:
        assert expected.event.resigned, (action, arguments)
        return
    assert not expected.event.resigned, (action, arguments)
    after = commit(controller, evolve(outcome, shutting_down=None), rules)
    assert told(after) == seen(expected.state), (action, arguments)
    p = after.image.partition(*PLACE)
    written = sum(isinstance(record, PartitionChangeRecord) for record in outcome.records)
    event = expected.event
    assert (written, p.leader_epoch, p.partition_epoch) == (
        event.records, event.leader_epoch_bumps, event.partition_epoch_bumps,
    )  # fmt: skip


def check_designations(state: Elections, actions: Any, rules: RuleSet) -> int:
    """Compare every designated election in a state: taken by both, or refused by both; returns how many are taken."""
    action = next(a for a in actions if a.name == "elect_designated")
    controller, taken = controller_in(state, rules), 0
    for broker in action.parameters["broker"]:
        if action.enabled(state, {"broker": broker}):
            check_step(state, action.name, {"broker": broker}, action.outcome(state, {"broker": broker}), rules)
            taken += 1
        else:
            outcome = elect_leaders(controller, DESIGNATED, (("foo", 0),), rules, (int(broker),))
            assert not outcome.records
            assert outcome.response[0].error in REFUSED
    return taken


REFUSED = ("ELECTION_NOT_NEEDED", "ELIGIBLE_LEADERS_NOT_AVAILABLE")
RULES = ("kafka-4.0", "fixed", "kafka-4.0+designated-elections", "fixed+designated-elections")


@pytest.mark.parametrize("rules", [parse(name) for name in RULES], ids=RULES)
@pytest.mark.parametrize("scope", SCOPES)
def test_controller_and_elections_agree(scope: str, rules: RuleSet) -> None:
    """Along random walks every step leads to the same partition, brokers, records and epochs."""
    setting = ELECTIONS.setting(scope, rules=rules)
    actions, walk, taken = ELECTIONS.actions(setting), random.Random(11), Counter()
    for _ in range(25):
        state = walk.choice(list(ELECTIONS.initial(setting)))
        for _ in range(50):
            if rules.designated_elections:
                taken["elect_designated"] += check_designations(state, actions, rules)
            action = walk.choice(actions)
            arguments = {name: walk.choice(list(values)) for name, values in action.parameters.items()}
            if not action.enabled(state, arguments):
                if action.name == "cancel":
                    refused = reassign(controller_in(state, rules), (Reassignment("foo", 0, None),), rules)
                    assert refused.response[0].error != "NONE"
                continue
            expected = action.outcome(state, arguments)
            if comparable(state, action.name, arguments, rules):
                check_step(state, action.name, arguments, expected, rules)
                taken[action.name] += 1
            state = expected.state
    assert {name for name, count in taken.items() if count} == {
        action.name for action in actions if not action.name.startswith(("set_", "enable_"))
    }
