"""Drawn requests about topics: creation, deletion, growth, configurations."""

from __future__ import annotations

from kraftcheck.ci.conformance.kafka.fuzz.model import Decided, ModelController, Request
from kraftcheck.ci.conformance.kafka.fuzz.requests import Brokers, Draws
from kraftcheck.model.controller.alter_configs import alter_config
from kraftcheck.model.controller.errors import RequestError
from kraftcheck.model.controller.state import (
    CLUSTER,
    MIN_ISR,
    NODE,
    TOPIC,
    UNCLEAN_ELECTION,
    ConfigRecord,
    Controller,
    Outcome,
)
from kraftcheck.model.controller.topics import (
    CreateTopicsRequest,
    Growth,
    NewTopic,
    create_partitions,
    create_topics,
    delete_topics,
)
from kraftcheck.model.records.records import Ids
from kraftcheck.model.rules.ruleset import RuleSet

NAMES = ("foo", "bar", "baz")


def create(world: ModelController, brokers: Brokers, draws: Draws) -> Request:
    """A topic is created: placed by the controller, or by hand."""
    name, partitions, factor = draws.pick(NAMES), 1 + draws.below(3), 1 + draws.below(4)
    key = draws.pick((MIN_ISR, MIN_ISR, UNCLEAN_ELECTION, ""))
    value = ("true" if draws.percent(70) else "false") if key == UNCLEAN_ELECTION else str(2 + draws.below(2))
    configs = {key: value} if key else {}
    lists: tuple[Ids, ...] = ()
    if draws.percent(60):
        lists = tuple(_replicas(world, brokers, draws, factor) for _ in range(partitions))
        partitions, factor = -1, -1
    topic = NewTopic(name, partitions, factor, tuple(enumerate(lists)), configs)

    def decide(controller: Controller, rules: RuleSet) -> Decided:
        outcome = create_topics(controller, CreateTopicsRequest((topic,)), rules)
        return outcome, outcome.response[0].error

    shown = ",".join(f"{key}={value}" for key, value in configs.items()) or "-"
    return Request(f"create {name} {partitions} {factor} {_rows(lists)} {shown}", decide)


def delete(world: ModelController, brokers: Brokers, draws: Draws) -> Request | None:
    """A topic is deleted, by its id."""
    if not world.topics:
        return None
    topic_id = draws.pick(list(world.topics))

    def decide(controller: Controller, rules: RuleSet) -> Decided:
        outcome = delete_topics(controller, (topic_id,))
        return outcome, outcome.response[0][1]

    return Request(f"delete {world.topics[topic_id]}", decide)


def grow(world: ModelController, brokers: Brokers, draws: Draws) -> Request:
    """A topic gets more partitions, or as many as it has."""
    present_names = [topic.name for topic in world.controller.image.topics.values()]
    name = draws.pick(NAMES if draws.percent(10) or not present_names else present_names)
    topic_id = world.controller.topic_id(name)
    present = 0 if topic_id is None else len(world.controller.topic(topic_id).partitions)
    added = 1 + draws.below(2) if draws.percent(90) else 0
    lists: tuple[Ids, ...] | None = None
    if draws.percent(50):
        lists = tuple(_replicas(world, brokers, draws, 1 + draws.below(4)) for _ in range(max(added, 1)))
    growth = Growth(name, present + added, lists)

    def decide(controller: Controller, rules: RuleSet) -> Decided:
        outcome = create_partitions(controller, (growth,), rules)
        return outcome, outcome.response[0].error

    return Request(f"grow {name} {present + added} {_rows(lists or ())}", decide)


def configure(world: ModelController, brokers: Brokers, draws: Draws) -> Request | None:
    """A configuration is set or removed: of a topic that exists, of a registered broker, of the cluster.

    Where a topic has no leader somewhere, it is often allowed to elect uncleanly: the timer has its work then.
    """
    controller = world.controller
    leaderless = [place.topic_id for place in controller.places() if place.partition.leader < 0]
    if leaderless and draws.percent(50):
        return _configured(ConfigRecord(TOPIC, controller.topic(leaderless[0]).name, UNCLEAN_ELECTION, "true"))
    scope = draws.pick((TOPIC, TOPIC, TOPIC, CLUSTER, NODE))
    names = {
        TOPIC: [topic.name for topic in controller.image.topics.values()],
        NODE: sorted(str(broker) for broker in controller.image.registrations),
        CLUSTER: [""],
    }[scope]
    if not names:
        return None
    name = draws.pick(names)
    key = MIN_ISR if draws.percent(75) else UNCLEAN_ELECTION
    value = str(1 + draws.below(4)) if key == MIN_ISR else ("true" if draws.percent(60) else "false")
    return _configured(ConfigRecord(scope, name, key, None if draws.percent(15) else value))


def _configured(record: ConfigRecord) -> Request:
    def decide(controller: Controller, rules: RuleSet) -> Decided:
        try:
            return alter_config(controller, record, rules), "NONE"
        except RequestError as refusal:
            return Outcome((), None, controller.soft), refusal.error

    value = "-" if record.value is None else record.value
    return Request(f"config {record.scope} {record.name or '-'} {record.key} {value}", decide)


def _replicas(world: ModelController, brokers: Brokers, draws: Draws, factor: int) -> Ids:
    """A list of brokers that are registered, or seldom of any."""
    registered = tuple(broker for broker in brokers.ids if world.controller.registration(broker) is not None)
    return draws.some(brokers.ids if draws.percent(5) or not registered else registered, factor)


def _rows(lists: tuple[Ids, ...]) -> str:
    return ";".join(",".join(map(str, replicas)) for replicas in lists) or "-"
