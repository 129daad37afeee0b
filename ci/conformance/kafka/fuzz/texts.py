"""The texts of records and of partitions, as `FuzzRecords.java` writes them too."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping

from attrs import fields

from kraftcheck.model.controller.records import ClearElrRecord, ConfigRecord, LogRecord
from kraftcheck.model.controller.state import Controller
from kraftcheck.model.partition.registration import Partition, PartitionChange
from kraftcheck.model.records.records import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnregisterBrokerRecord,
    partition_record,
)

TopicNumbers = Mapping[str, int]
"""The number of each topic id: topics count up as they are created."""


def record_text(record: LogRecord, topics: TopicNumbers) -> str:
    """The text of a record.

    Raises:
        TypeError: for a kind of record that no request writes.
    """
    match record:
        case PartitionChangeRecord():
            return _change(record, topics)
        case PartitionRecord():
            return f"partition {_partition(record, topics)}"
        case BrokerRegistrationChangeRecord():
            flags = f"{record.fenced} {record.in_controlled_shutdown}"
            dirs = f"{_ids(record.log_dirs or ())} {_or_null(record.cordoned)}"
            return f"broker {record.broker_id} {record.broker_epoch} {flags} {dirs}"
        case RegisterBrokerRecord():
            flags = f"{_flag(record.fenced)} {_flag(record.in_controlled_shutdown)}"
            name = f"{record.broker_id} {record.broker_epoch} {record.incarnation}"
            dirs = f"{_ids(record.log_dirs)} {record.rack or 'null'} {_or_null(record.cordoned)}"
            return f"register {name} {flags} {dirs}"
        case UnregisterBrokerRecord():
            return f"unregister {record.broker_id} {record.broker_epoch}"
        case TopicRecord():
            return f"topic {record.name} {topics[record.topic_id]}"
        case RemoveTopicRecord():
            return f"remove {topics[record.topic_id]}"
        case ConfigRecord():
            value = "null" if record.value is None else record.value
            return f"config {record.scope} {record.name} {record.key} {value}"
        case ClearElrRecord():
            return f"clear-elr {record.topic}"
    raise TypeError(f"{record!r} has no text")


def answer_text(reply: str, records: Iterable[str]) -> str:
    """The text of an answer with records, in the one order of all that differ only between partitions, or nodes.

    The managers visit partitions in the order of hashes of topic ids, which are random, and nodes whose min ISR is
    removed in that of a set whose size depends on its past.
    """
    return "|".join((f"ok {reply}", *in_order(list(records))))


def in_order(records: list[str]) -> list[str]:
    """Records, those of each run of changes by partition, or of configurations of nodes by node; else as they are."""
    ordered: list[str] = []
    for kind, run in itertools.groupby(records, key=_visited):
        members = list(run)
        ordered += members if kind is None else sorted(members, key=kind)
    return ordered


def _visited(record: str) -> Callable[[str], str] | None:
    """What orders a record among those beside it that Kafka writes in the order of its own maps."""
    if record.startswith("change "):
        return _partition_name
    return _node_name if record.startswith("config node ") else None


def _partition_name(record: str) -> str:
    return record.split(" ", 2)[1]


def _node_name(record: str) -> str:
    return record.split(" ", 3)[2]


def image_text(controller: Controller, topics: TopicNumbers) -> str:
    """Every partition in the order of topics and indexes."""
    known = sorted((topics[place.topic_id], place.index, place.partition) for place in controller.places())
    return "".join(f"{topic}-{index} {_state(p)};" for topic, index, p in known)


def _state(p: Partition) -> str:
    lists = ("replicas", "isr", "removing", "adding", "elr", "last_known_elr")
    members = " ".join(f"{name}={_ids(getattr(p, name))}" for name in lists)
    directories = partition_record(p, "", 0).directories or ()
    epochs = f"epochs={p.leader_epoch},{p.partition_epoch}"
    return f"{members} leader={p.leader} recovering={int(p.recovering)} {epochs} directories={_ids(directories)}"


def _partition(record: PartitionRecord, topics: TopicNumbers) -> str:
    lists = ("replicas", "isr", "removing", "adding")
    members = " ".join(f"{name}={_ids(getattr(record, name))}" for name in lists)
    epochs = f"epochs={record.leader_epoch},{record.partition_epoch} directories={_ids(record.directories or ())}"
    elr = f"elr={_ids(record.elr or ())} last_known_elr={_ids(record.last_known_elr or ())}"
    head = f"{topics[record.topic_id]}-{record.partition_id} {members} leader={record.leader}"
    return f"{head} recovering={int(record.recovering)} {epochs} {elr}"


def _change(record: PartitionChangeRecord, topics: TopicNumbers) -> str:
    present = {
        field.name: getattr(record.change, field.name).value
        for field in fields(PartitionChange)
        if getattr(record.change, field.name).present
    }
    texts = [f"{name}={_value(present[name])}" for name in sorted(present)]
    return " ".join((f"change {topics[record.topic_id]}-{record.partition_id}", *texts))


def _value(value: object) -> str:
    if isinstance(value, int):
        return str(int(value))
    return _ids(getattr(value, "ids", ()))


def _ids(members: Iterable[int]) -> str:
    return ",".join(map(str, members))


def _or_null(members: Iterable[int] | None) -> str:
    return "null" if members is None else _ids(members)


def _flag(value: bool) -> str:
    return "true" if value else "false"
