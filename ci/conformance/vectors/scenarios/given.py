"""The initial state of a scenario."""

from __future__ import annotations

from collections.abc import Mapping

from kraftcheck.ci.conformance.vectors.core import Unsupported
from kraftcheck.ci.conformance.vectors.reassignments import directories, read_levels, read_listeners, read_partition
from kraftcheck.model.controller.commits import replay_all
from kraftcheck.model.controller.state import TOPIC, ConfigRecord, Controller, Features, LogRecord, Settings
from kraftcheck.model.records.fields import Fields, FormError, each, flag, integer, long, text
from kraftcheck.model.records.records import RegisterBrokerRecord, TopicRecord, partition_record
from kraftcheck.model.rules.ruleset import RuleSet

SWITCHES = {
    "elr_enabled": "elr_enabled",
    "elr_supported": "elr_supported",
    "leader_recovery_supported": "leader_recovery",
    "bump_leader_epoch_on_isr_shrink": "bump_on_isr_shrink",
    "directory_assignment_supported": "directories",
    "controlled_shutdown_recorded": "controlled_shutdown",
    "controller_registration_supported": "controller_registration",
}
"""The switches of the vectors, and the fields of `Features` they stand for."""

NO_INCARNATION = "AAAAAAAAAAAAAAAAAAAAAA"
"""The incarnation where a vector names none."""


def start(given: Fields, rules: RuleSet) -> Controller:
    """The controller in the state that a scenario gives."""
    configured = given.read("static_config", configuration) if given.has("static_config") else {}
    static = {key: value for key, value in configured.items() if value is not None}
    settings = Settings(cluster_id=given.read_or("cluster_id", text, None), static=static)
    controller = Controller(features=_features(given.read("features", Fields.of)), settings=settings)
    broker_fields = given.read("brokers", each(Fields.of)) if given.has("brokers") else ()
    brokers = [registration(fields, "id") for fields in broker_fields]
    records = [*brokers, *_topics(given), *_configs(given)]
    return replay_all(controller, records, rules)


def _features(fields: Fields) -> Features:
    for key in fields.data:
        if key not in SWITCHES and key != "metadata_version":
            raise Unsupported(f"unknown feature {key}")
    switched = {name: fields.read(key, flag) for key, name in SWITCHES.items() if fields.has(key)}
    switched.setdefault("elr_supported", switched.get("elr_enabled", False))
    return Features(**switched)


def registration(fields: Fields, key: str = "broker") -> RegisterBrokerRecord:
    """A registration as the log holds it.

    Args:
        fields: its object.
        key: what its broker's id is called there.
    """
    keys = ("epoch", "dirs", "fenced", "in_controlled_shutdown", "rack", "incarnation", "features", "listeners")
    for name in fields.data:
        if name not in (*keys, key, "op", "record_offset", "is_migrating_zk_broker"):
            raise Unsupported(f"unknown key {name} of a registration")
    return RegisterBrokerRecord(
        broker_id=fields.read(key, integer),
        broker_epoch=fields.read("epoch", long),
        incarnation=fields.read_or("incarnation", text, NO_INCARNATION),
        listeners=fields.read_or("listeners", read_listeners, ()),
        features=fields.read_or("features", read_levels, ()),
        rack=fields.read_or("rack", text, None),
        fenced=fields.read_or("fenced", flag, True),
        in_controlled_shutdown=fields.read_or("in_controlled_shutdown", flag, False),
        is_migrating_zk_broker=fields.read_or("is_migrating_zk_broker", flag, False),
        log_dirs=fields.read_or("dirs", directories, ()),
    )


def _topics(given: Fields) -> list[LogRecord]:
    topics = given.read_or("topics", Fields.of, Fields({}))
    records: list[LogRecord] = []
    for name in topics.data:
        records.append(TopicRecord(name, f"given:{name}"))
        partitions = topics.read(name, Fields.of)
        for index in partitions.data:
            if not index.isdecimal():
                raise FormError(f"{partitions.key(index)}: an index is wanted")
            p = partitions.read(index, read_partition)
            records.append(partition_record(p, f"given:{name}", int(index)))
    return records


def _configs(given: Fields) -> list[LogRecord]:
    topics = given.read_or("topic_config", Fields.of, Fields({}))
    return [
        ConfigRecord(TOPIC, name, key, value)
        for name in topics.data
        for key, value in topics.read(name, configuration).items()
    ]


def configuration(value: object, where: str) -> Mapping[str, str | None]:
    """Keys and values as configuration files write them; null stays."""
    fields = Fields.of(value, where)
    return {key: config_value(fields.data[key], fields.key(key)) for key in fields.data}


def config_value(value: object, where: str) -> str | None:
    """One configured value."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    return None if value is None else text(value, where)
