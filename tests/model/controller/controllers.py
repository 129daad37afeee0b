"""Small controllers for tests: brokers 0..n-1 with epochs 100 + id, one directory each."""

from collections.abc import Iterable
from typing import Any

from attrs import evolve

from kraftcheck.model.controller.brokers import HeartbeatRequest
from kraftcheck.model.controller.commits import commit, replay_record
from kraftcheck.model.controller.heartbeat import Wish
from kraftcheck.model.controller.state import TOPIC, ConfigRecord, Controller, Features, Outcome, Settings
from kraftcheck.model.controller.topics import CreateTopicsRequest, NewTopic, create_topics
from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.partition.registration import DirectoryList, Partition
from kraftcheck.model.records.records import (
    BrokerRegistrationChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    partition_record,
)
from kraftcheck.model.rules.ruleset import RuleSet, preset

KAFKA, FIXED = preset("kafka-4.0"), preset("fixed")


def directory(broker: int, number: int = 0) -> int:
    """A directory of a broker."""
    return 1000 + 10 * broker + number


def cluster(
    brokers: int = 4, fenced: Iterable[int] = (), leaving: Iterable[int] = (), disks: int = 1, **features: Any
) -> Controller:
    """A controller with registered brokers, live unless said otherwise."""
    controller = Controller(features=Features(**features), settings=Settings(cluster_id="cluster"))
    for broker in range(brokers):
        dirs = tuple(directory(broker, number) for number in range(disks))
        record = RegisterBrokerRecord(broker, 100 + broker, f"process-{broker}", fenced=broker in fenced, log_dirs=dirs)
        controller = replay_record(controller, record, KAFKA)
    for broker in leaving:
        record = BrokerRegistrationChangeRecord(broker, 100 + broker, in_controlled_shutdown=1)
        controller = replay_record(controller, record, KAFKA)
    return controller


def with_topic(controller: Controller, name: str, *lists: tuple[int, ...], **config: str) -> Controller:
    """The controller with a topic of these replica lists; configuration keys with `_` for dots."""
    topic = NewTopic(
        name,
        assignments=tuple(enumerate(lists)),
        config={key.replace("_", "."): value for key, value in config.items()},
    )
    outcome = create_topics(controller, CreateTopicsRequest((topic,)), KAFKA)
    assert [row.error for row in outcome.response] == ["NONE"]
    return commit(controller, outcome, KAFKA)


def configured(controller: Controller, topic: str, key: str, value: str) -> Controller:
    """The controller with a topic's configuration set."""
    return replay_record(controller, ConfigRecord(TOPIC, topic, key, value), KAFKA)


def partition(controller: Controller, topic: str = "foo", index: int = 0) -> Partition:
    """A partition by its topic's name."""
    found = controller.image.partition(controller.topic_id(topic) or "", index)
    assert found is not None
    return found


def changed(controller: Controller, topic: str = "foo", index: int = 0, **fields: Any) -> Controller:
    """The controller with some fields of a partition as wanted; lists as tuples."""
    topic_id = controller.topic_id(topic) or ""
    values = {key: IdList(value) if isinstance(value, tuple) else value for key, value in fields.items()}
    p = partition(controller, topic, index)
    replicas = tuple(values.get("replicas", p.replicas))
    if "replicas" in fields or "directories" in fields:
        placed = fields.get("directories", tuple(directory(broker) for broker in replicas))
        values["directories"] = DirectoryList(replicas, placed)
    record = partition_record(evolve(p, **values), topic_id, index)
    return replay_record(controller, record, KAFKA)


def play(controller: Controller, outcome: Outcome[Any], rules: RuleSet = KAFKA) -> Controller:
    """The controller after an event."""
    return commit(controller, outcome, rules)


def beat(broker: int, *, fence: bool = False, shutdown: bool = False, offset: int = 10**6, failed=()) -> Any:
    """A heartbeat, caught up unless said otherwise."""
    return HeartbeatRequest(broker, 100 + broker, Wish(fence, shutdown, offset), tuple(failed))


def lists(p: Partition) -> tuple[list[int], list[int], int]:
    """ISR, ELR and leader."""
    return list(p.isr), list(p.elr), int(p.leader)


def created(outcome: Outcome[Any]) -> list[PartitionRecord]:
    """The new partitions that an event writes."""
    return [record for record in outcome.records if isinstance(record, PartitionRecord)]
