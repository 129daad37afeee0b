"""The controller on lists and the explored `elections` system on masks decide alike."""

import random
from collections import Counter
from typing import Any

import pytest
from attrs import evolve

from kraftcheck.model.controller.alter_configs import alter_config
from kraftcheck.model.controller.brokers import (
    RegistrationContext,
    RegistrationRequest,
    directories_offline,
    expire_session,
    heartbeat,
    leaving,
    register_broker,
    unregister,
)
from kraftcheck.model.controller.commits import commit, replay_record
from kraftcheck.model.controller.elections import DESIGNATED as BY_NAME
from kraftcheck.model.controller.elections import PREFERRED, UNCLEAN, balance_leaders, elect_leaders, elect_unclean
from kraftcheck.model.controller.errors import NONE, RequestError, Resignation
from kraftcheck.model.controller.partitions import (
    AlterPartitionRequest,
    Assignment,
    Proposal,
    Reassignment,
    alter_partition,
    assign_replicas_to_dirs,
    reassign,
)
from kraftcheck.model.controller.state import (
    MIN_ISR,
    TOPIC,
    UNCLEAN_ELECTION,
    ConfigRecord,
    Controller,
    Features,
    Outcome,
    Settings,
)
from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Action
from kraftcheck.model.partition.registration import FIRST_LOCAL
from kraftcheck.model.records.records import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
)
from kraftcheck.model.rules.ruleset import RuleSet, parse, variants
from kraftcheck.model.systems.elections.state import Elections
from kraftcheck.model.systems.elections.system import ELECTIONS, SCOPES
from tests.model.controller.controllers import beat, directory
from tests.shared.samples import one_in

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
        return reassign(controller, (Reassignment("foo", 0, target),), rules)
    if action == "assign":
        assignment = Assignment(global_id(broker, a["directory"]), "t", 0)
        return assign_replicas_to_dirs(controller, broker, 100 + broker, (assignment,), rules)
    if action == "directories_offline":
        return directories_offline(controller, broker, 100 + broker, dirs_of(broker, a["failed"]), rules)
    if action in ("unfence", "heartbeat"):
        request = beat(broker, failed=dirs_of(broker, a.get("failed", BrokerSet())))
        return heartbeat(controller, request, rules)
    if action == "set_min_isr":
        return alter_config(controller, ConfigRecord(TOPIC, "foo", MIN_ISR, str(a["minimum"])), rules)
    allowed = str(not state.unclean_election)
    simple = {
        "set_unclean_election": lambda: alter_config(
            controller, ConfigRecord(TOPIC, "foo", UNCLEAN_ELECTION, allowed), rules
        ),
        "fence": lambda: expire_session(controller, broker, rules),
        "unregister": lambda: unregister(controller, broker, rules),
        "controlled_shutdown": lambda: Outcome(leaving(controller, broker, rules), None, controller.soft),
        "elect_preferred": lambda: elect_leaders(controller, PREFERRED, None, rules),
        "elect_unclean": lambda: elect_leaders(controller, UNCLEAN, None, rules),
        "elect_designated": lambda: elect_leaders(controller, BY_NAME, (("foo", 0),), rules, (broker,)),
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


ABSENT = ("enable_elr", "sweep_sessions")
"""What the controller in full has no event for: it is told its features, and fences one broker a time."""

REFUSED = (
    "alter_partition", "assign", "reassign", "cancel", "unregister", "elect_preferred", "elect_unclean",
    "elect_designated", "unclean_timer", "balance_timer", "set_min_isr", "unfence",
)  # fmt: skip
"""Triggers that the controller refuses, or finds nothing to do for, where the guard of the explored action is false."""


def comparable(state: Elections, action: str, arguments: dict[str, Any], rules: RuleSet) -> bool:
    """Whether both model the step.

    Mended, a broker that is not registered cannot show a clean stop.
    """
    if action in ABSENT:
        return False
    stranger = arguments.get("clean") and not state.registered.has(arguments["broker"])
    return rules.partition.every_restart_is_unclean or not stranger


def errors(outcome: Outcome) -> list[str]:
    """The errors of the rows of an answer; none where the answer is no list of rows."""
    rows = outcome.response if isinstance(outcome.response, tuple) else ()
    return [row.error for row in rows if row.error != NONE]


def check_step(state: Elections, action: str, arguments: dict[str, Any], expected: Any, rules: RuleSet) -> None:
    """Compare one step: both resign, or both do the same."""
    controller = controller_in(state, rules)
    assert told(controller) == seen(state)
    try:
        outcome = decided(controller, state, action, arguments, rules)
    except Resignation:
        assert expected.event.resigned, (action, arguments)
        return
    if Resignation.error in errors(outcome):  # of a reassignment that fails only its row fails
        assert expected.event.resigned, (action, arguments)
        assert not outcome.records
        return
    assert not expected.event.resigned, (action, arguments)
    after = commit(controller, evolve(outcome, shutting_down=None), rules)
    assert told(after) == seen(expected.state), (action, arguments)
    p = after.image.partition(*PLACE)
    changes = [record.change for record in outcome.records if isinstance(record, PartitionChangeRecord)]
    event = expected.event
    assert (len(changes), p.leader_epoch, p.partition_epoch) == (
        event.records, event.leader_epoch_bumps, event.partition_epoch_bumps,
    ), (action, arguments)  # fmt: skip


def check_refusal(state: Elections, action: str, arguments: dict[str, Any], rules: RuleSet) -> None:
    """Compare one step that the guard refuses: the controller writes nothing, and names an error where it answers."""
    try:
        outcome = decided(controller_in(state, rules), state, action, arguments, rules)
    except RequestError:
        return
    assert not outcome.records, (action, arguments)
    rows = outcome.response if isinstance(outcome.response, tuple) else ()  # a heartbeat's answer has none
    assert errors(outcome) or not rows, (action, arguments)


def check(state: Elections, action: Action, arguments: dict[str, Any], rules: RuleSet) -> str:
    """Compare one trigger in a state; returns its name with what was compared, or nothing where one side lacks it."""
    if action.enabled(state, arguments):
        if not comparable(state, action.name, arguments, rules):
            return ""
        check_step(state, action.name, arguments, action.outcome(state, arguments), rules)
        return f"{action.name} taken"
    if action.name not in REFUSED:
        return ""
    check_refusal(state, action.name, arguments, rules)
    return f"{action.name} refused"


HEALING = ("unfence", "assign", "alter_partition")
"""Triggers drawn more often: without them nearly every broker is fenced, and nothing happens to a leader."""


def drawn_action(actions: list[Action], walk: random.Random) -> Action:
    """An action at random, each that heals five times as likely as another."""
    return walk.choices(actions, [5 if action.name in HEALING else 1 for action in actions])[0]


def drawn(action: Action, walk: random.Random) -> dict[str, Any]:
    """Arguments of an action, at random."""
    return {name: walk.choice(list(values)) for name, values in action.parameters.items()}


def compare(scope: str, rules: RuleSet, walks: int, steps: int) -> tuple[Counter[str], set[str]]:
    """Walk at random, and in every state compare one trigger, and an election of each broker.

    Returns:
        How often each trigger was compared, and the names that must have been.
    """
    setting = ELECTIONS.setting(scope, rules=rules)
    actions, walk, compared = list(ELECTIONS.actions(setting)), random.Random(11), Counter[str]()
    each = [action for action in actions if action.name == "elect_designated"]
    for _ in range(walks):
        state = walk.choice(list(ELECTIONS.initial(setting)))
        for _ in range(steps):
            for action in each:
                compared.update(check(state, action, {"broker": b}, rules) for b in action.parameters["broker"])
            action = drawn_action(actions, walk)
            arguments = drawn(action, walk)
            compared[check(state, action, arguments, rules)] += 1
            if action.enabled(state, arguments):
                state = action.outcome(state, arguments).state
    return compared, {f"{action.name} taken" for action in actions if action.name not in ABSENT}


RULES = ("kafka-3.9", "kafka-4.0", "kafka-4.1", "kafka-4.4.0", "kip", "fixed")
DESIGNATED = ("kafka-4.0+designated-elections", "fixed+designated-elections")


@pytest.mark.parametrize("rules", one_in(4, [*RULES, *DESIGNATED]))
@pytest.mark.parametrize("scope", SCOPES)
def test_controller_and_elections_agree(scope: str, rules: str) -> None:
    """Along random walks every trigger is refused by both, or leads to the same partition, brokers and epochs."""
    compared, expected = compare(scope, parse(rules), walks=25, steps=50)
    assert expected <= set(compared)
    refusable = {name.replace("taken", "refused") for name in expected if name.split()[0] in REFUSED}
    assert refusable <= set(compared)


APART = {
    "reassignment-repeats-replicas": "slots hold no broker twice, as the controller's lists do",
    "unfence-clears-controlled-shutdown": "no record takes a broker out of its controlled shutdown",
    "unclean-election-unconfigurable": "what is explored has no topic whose setting is not obeyed",
    "elr-keeps-isr-members": "the controller visits a partition twice that lists a broker in ISR and ELR",
}
"""Variants of which the two cannot do the same, and why."""

SHARED = [
    name for name, choice in variants().items()
    if (choice.metadata["group"] in ("feature", "defect", "seeded") or name.endswith("-may-join-isr"))
    and name not in APART
]  # fmt: skip
"""Choices of which some are rules of both."""


@pytest.mark.parametrize("variant", one_in(6, SHARED))
def test_every_variant_agrees(variant: str) -> None:
    """With one choice switched from the right rules, and from those of the snapshot, both still do the same."""
    for base, scope in (("fixed", "default"), ("kafka-4.0", "directories")):
        rules = parse(base)
        choice = variant.replace("-", "_")
        rules = rules.switched(**{choice: not rules.value(choice)})
        rules = rules.switched(designated_elections=variant != "designated-elections")
        compared, _ = compare(scope, rules, walks=6, steps=25)
        assert sum(compared.values()) >= 6 * 25
