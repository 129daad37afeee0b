"""Snapshots of a cluster as JSON: the controller's metadata, the replicas' logs, and the network.

docs/explanation/systems/unclean-recovery.md describes the form.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from kraftcheck.ci.conformance.vectors.forms import RECOVERY, brokers, configuration, directories, recovering
from kraftcheck.ci.terminal.files import read_json
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.controller.commits import replay_all
from kraftcheck.model.controller.errors import CODES
from kraftcheck.model.controller.state import TOPIC, ConfigRecord, Controller, Features, LogRecord, Settings
from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.partition.registration import MIGRATING, DirectoryList, Partition
from kraftcheck.model.records.fields import INT32, Fields, FormError, each, flag, integer, long, text
from kraftcheck.model.records.records import RegisterBrokerRecord, TopicRecord, ids, partition_record
from kraftcheck.model.records.replay import ReplayError
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.unclean_recovery.tool import NO_ERROR, RemoteBroker, ReplicaLog, Rights, TopicPartition

VERSION = 1  # version of the form
LISTS = ("replicas", "isr", "elr", "last_known_elr", "removing", "adding")  # keys of a partition that hold brokers

LOG_ERRORS = (NO_ERROR, "KAFKA_STORAGE_ERROR", *CODES)


@frozen
class Snapshot:
    """A cluster at rest."""

    document: Mapping[str, Any]  # what the file holds
    controller: Controller  # topics, partitions and registrations
    remote: Mapping[int, RemoteBroker]  # each broker as the operator's machine reaches it
    rights: Rights  # of the operator
    failures: int  # requests to the controller that fail before the first is served

    def replicas(self, place: TopicPartition) -> tuple[int, ...]:
        """The replicas of a partition that exists."""
        return ids(self._partition(place).replicas)

    def leader(self, place: TopicPartition) -> int | None:
        """The leader, NO_LEADER, or None for a partition that does not exist."""
        topic_id = self.controller.topic_id(place[0])
        p = None if topic_id is None else self.controller.image.partition(topic_id, place[1])
        return None if p is None else int(p.leader)

    def places(self) -> tuple[TopicPartition, ...]:
        """Every partition."""
        return tuple((self.controller.topic(p.topic_id).name, p.index) for p in self.controller.places())

    def _partition(self, place: TopicPartition) -> Partition:
        return self.controller.image.topics[str(self.controller.topic_id(place[0]))].partitions[place[1]]

    def after(self, controller: Controller) -> dict[str, Any]:
        """The document with the partitions as a controller has them now; all else as it was."""
        changed: dict[str, Any] = copy.deepcopy(dict(self.document))
        for topic in changed["topics"]:
            topic_id = str(controller.topic_id(topic["name"]))
            for entry in topic["partitions"]:
                partition = controller.image.partition(topic_id, entry["partition"])
                if partition is not None:
                    entry.update(_election_keys(partition, entry))
        return changed


def _election_keys(p: Partition, entry: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a partition that an election may change; optional ones stay absent while they say nothing."""
    lists = {key: list(ids(getattr(p, key))) for key in LISTS}
    present_lists = {key: value for key, value in lists.items() if value or key in entry}
    state: dict[str, Any] = {"leader": p.leader, "leader_epoch": p.leader_epoch, "partition_epoch": p.partition_epoch}
    if p.recovering or "leader_recovery_state" in entry:
        state["leader_recovery_state"] = RECOVERY[int(p.recovering)]
    return {**present_lists, **state}


def read_snapshot(path: Path, rules: RuleSet) -> Snapshot:
    """The snapshot in a file; raises Refusal in one line, with the file and the key."""
    document = read_json(path)
    try:
        return _snapshot(Fields.of(document), rules)
    except (FormError, ReplayError) as reason:
        raise Refusal(f"{path}: {reason}") from None


def _snapshot(fields: Fields, rules: RuleSet) -> Snapshot:
    fields.only("version", "features", "operator", "controller_failures", "brokers", "topics")
    if fields.read("version", integer) != VERSION:
        raise FormError(f"version: {fields.data['version']} is not known; this is version {VERSION}")
    broker_fields = fields.read("brokers", each(Fields.of))
    registrations = {broker.broker_id: broker for broker in map(_registration, broker_fields)}
    if len(registrations) < len(broker_fields):
        raise FormError("brokers: an id is listed twice")
    switches = fields.read_or("features", Fields.of, Fields({})).only("elr_enabled")
    features = Features(elr_enabled=switches.read_or("elr_enabled", flag, True))
    controller = Controller(features=features, settings=Settings())
    records = [*registrations.values(), *_topics(fields)]
    controller = replay_all(controller, records, rules)
    return Snapshot(
        document=fields.data,
        controller=controller,
        remote={broker.id: broker for broker in map(_remote, broker_fields)},
        rights=_rights(fields.read_or("operator", Fields.of, Fields({}, "operator"))),
        failures=fields.read_or("controller_failures", _count, 0),
    )


def _count(value: object, where: str) -> int:
    return integer(value, where, (0, INT32[1]))


def _rights(fields: Fields) -> Rights:
    fields.only("cluster_action", "describe")
    topics = fields.read_or("describe", each(text), None)
    return Rights(fields.read_or("cluster_action", flag, True), None if topics is None else frozenset(topics))


def _registration(fields: Fields) -> RegisterBrokerRecord:
    keys = ("id", "epoch", "fenced", "in_controlled_shutdown", "dirs", "answer_ms", "answer_epoch", "failures", "logs")
    fields.only(*keys)
    return RegisterBrokerRecord(
        broker_id=fields.read("id", _count),
        broker_epoch=fields.read("epoch", long),
        incarnation=f"broker-{fields.data['id']}",
        fenced=fields.read_or("fenced", flag, False),
        in_controlled_shutdown=fields.read_or("in_controlled_shutdown", flag, False),
        log_dirs=fields.read_or("dirs", directories, ()),
    )


def _remote(fields: Fields) -> RemoteBroker:
    logs: dict[TopicPartition, ReplicaLog] = {}
    entries = fields.read("logs", each(Fields.of)) if fields.has("logs") else ()
    for entry in entries:
        place = (entry.read("topic", text), entry.read("partition", _count))
        if place in logs:
            raise FormError(f"{entry.where}: {place[0]}-{place[1]} is listed twice")
        logs[place] = _log(entry)
    never = "answer_ms" in fields.data and fields.data["answer_ms"] is None
    return RemoteBroker(
        id=fields.read("id", _count),
        epoch=fields.read_or("answer_epoch", long, fields.read("epoch", long)),
        logs=logs,
        answer_ms=None if never else fields.read_or("answer_ms", _positive, 1),
        failures=fields.read_or("failures", _count, 0),
    )


def _positive(value: object, where: str) -> int:
    return integer(value, where, (1, INT32[1]))


def _log(entry: Fields) -> ReplicaLog:
    entry.only("topic", "partition", "leader_epoch", "last_written_epoch", "log_end_offset", "error")
    error = entry.read_or("error", text, NO_ERROR)
    if error not in LOG_ERRORS:
        raise FormError(f"{entry.key('error')}: {error} is not the name of an error")
    if error != NO_ERROR:
        return ReplicaLog(-1, -1, -1, error)
    return ReplicaLog(
        current=entry.read("leader_epoch", integer),
        written=entry.read("last_written_epoch", integer),
        length=integer(entry.read("log_end_offset", long), entry.key("log_end_offset"), (0, (1 << 63) - 1)),
    )


def _topics(fields: Fields) -> list[LogRecord]:
    records: list[LogRecord] = []
    seen: set[str] = set()
    for topic in fields.read("topics", each(Fields.of)):
        topic.only("name", "config", "partitions")
        name = topic.read("name", text)
        if name in seen:
            raise FormError(f"{topic.key('name')}: {name} is listed twice")
        seen.add(name)
        records.append(TopicRecord(name, f"id of {name}"))
        places: set[int] = set()
        for entry in topic.read("partitions", each(Fields.of)):
            index, p = _partition(entry)
            if index in places:
                raise FormError(f"{entry.key('partition')}: {index} is listed twice")
            places.add(index)
            records.append(partition_record(p, f"id of {name}", index))
        if topic.has("config"):
            config = topic.read("config", configuration)
            records += [ConfigRecord(TOPIC, name, key, value) for key, value in config.items()]
        if 0 not in places:
            raise FormError(f"{topic.key('partitions')}: partition 0 is missing; the min ISR goes by its replicas")
    return records


def _partition(entry: Fields) -> tuple[int, Partition]:
    entry.only("partition", *LISTS, "directories", "leader", "leader_recovery_state", "leader_epoch", "partition_epoch")
    lists = {key: entry.read_or(key, brokers, IdList()) for key in LISTS[2:]}
    replicas, isr = entry.read("replicas", brokers), entry.read("isr", brokers)
    if len(set(replicas)) < replicas.size() or replicas.is_empty():
        raise FormError(f"{entry.key('replicas')}: each replica once, and at least one")
    for key, members in {"isr": isr, **lists}.items():
        if not members.within(replicas) and key != "last_known_elr":
            raise FormError(f"{entry.key(key)}: {members} are not all replicas {replicas}")
    leader = entry.read("leader", integer)
    if leader != -1 and not replicas.has(leader):
        raise FormError(f"{entry.key('leader')}: {leader} is no replica; -1 is for none")
    placed = entry.read_or("directories", directories, (MIGRATING,) * replicas.size())
    if len(placed) != replicas.size():
        raise FormError(f"{entry.key('directories')}: {len(placed)} directories for {replicas.size()} replicas")
    partition = Partition(
        replicas=replicas,
        directories=DirectoryList(replicas.ids, placed),
        isr=isr,
        leader=leader,
        recovering=entry.read_or("leader_recovery_state", recovering, False),
        leader_epoch=entry.read("leader_epoch", _count),
        partition_epoch=entry.read("partition_epoch", _count),
        **lists,
    )
    return entry.read("partition", _count), partition
