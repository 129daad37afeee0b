"""Hypothesis strategies for metadata records and for the documents that hold them.

Legal records use small ids, so that records of one batch meet; boundary ones
go to the ends of what the log can hold. Both are written and read back
unchanged in the form of the code. An illegal document differs from a legal
one in one place, and the codec must refuse it.
"""

from collections.abc import Mapping
from typing import Any

from attrs import evolve
from hypothesis import strategies as st

from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.language.words import NO_LEADER, Maybe, absent, present
from kraftcheck.model.partition.registration import DirectoryList, PartitionChange
from kraftcheck.model.records.codecs import encode
from kraftcheck.model.records.fields import INT32, INT64
from kraftcheck.model.records.records import (
    BrokerRegistrationChangeRecord,
    Feature,
    FenceBrokerRecord,
    Listener,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)

Strategy = st.SearchStrategy

BIG_DIRECTORIES = ((0x1111 << 100) + 7, (0x2222 << 100) + 7, (0xF222 << 112) + 7, (1 << 128) - 1)
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")


class _Leaves:
    """Strategies for the parts of records, at the ends of their ranges or well within."""

    def __init__(self, boundary: bool) -> None:
        top32, top64 = INT32[1], INT64[1]
        self.broker = st.sampled_from([0, top32 - 1, top32]) if boundary else st.integers(0, 5)
        self.index = st.sampled_from([0, top32]) if boundary else st.integers(0, 1)
        self.leader = st.just(NO_LEADER) | self.broker
        self.epoch = st.sampled_from([-1, 0, top32]) if boundary else st.integers(0, 9)
        self.long = st.sampled_from([*INT64, -1, 0, top64 - 1]) if boundary else st.integers(0, 9)
        places = [0, 1, 2, 99, BIG_DIRECTORIES[-1]] if boundary else [0, 1, 2, *BIG_DIRECTORIES]
        self.directory = st.sampled_from(places)
        size = 1 if boundary else 5
        self.brokers = st.lists(self.broker, unique=True, max_size=size).map(tuple)
        self.directories = st.lists(self.directory, unique=True, max_size=3).map(tuple)
        self.topic = st.sampled_from(["", "t" * 249] if boundary else ["t1", "t2"])
        self.name = st.sampled_from(["", "n" * 249] if boundary else ["foo", "bar"])
        self.level = st.sampled_from([0, top32]) if boundary else st.integers(0, 7)
        self.port = st.sampled_from([0, 65535]) if boundary else st.integers(1024, 9999)


def _maybe(strategy: Strategy[Any]) -> Strategy[Any]:
    return st.none() | strategy


@st.composite
def changes(draw: st.DrawFn, boundary: bool = False) -> PartitionChange:
    """Any change of a partition, its directories belonging to its replicas."""
    of, no_brokers = _Leaves(boundary), absent(IdList())
    lists = ("replicas", "isr", "elr", "last_known_elr", "removing", "adding")
    fields: dict[str, Maybe[Any]] = {}
    for name in lists:
        ids_drawn = draw(_maybe(of.brokers))
        fields[name] = no_brokers if ids_drawn is None else present(IdList(ids_drawn))
    leader, recovering = draw(_maybe(of.leader)), draw(_maybe(st.booleans()))
    fields["leader"] = absent(NO_LEADER) if leader is None else present(leader)
    fields["recovering"] = absent(False) if recovering is None else present(recovering)
    fields["directories"] = absent(DirectoryList((), ()))
    if draw(st.booleans()):
        replicas = tuple(fields["replicas"].value)
        size = len(replicas) if fields["replicas"].present else 3
        ids = draw(st.lists(of.directory, min_size=size, max_size=size).map(tuple))
        fields["directories"] = present(DirectoryList(replicas, ids))
    return PartitionChange(**fields)


def records_of(kind: type, boundary: bool = False) -> Strategy[Any]:
    """Records of one kind.

    Args:
        kind: a class of `kraftcheck.model.records.records`.
        boundary: whether values are at the ends of what the log can hold.
    """
    of = _Leaves(boundary)
    listener = st.builds(Listener, st.sampled_from("AB"), of.name, of.port, st.sampled_from(PROTOCOLS))
    feature = st.builds(Feature, st.sampled_from("fg"), of.level, of.level)
    listeners = st.lists(listener, max_size=2, unique_by=lambda item: item.name).map(tuple)
    features = st.lists(feature, max_size=2, unique_by=lambda item: item.name).map(tuple)
    parts: dict[type, dict[str, Strategy[Any]]] = {
        TopicRecord: {"name": of.name, "topic_id": of.topic},
        RemoveTopicRecord: {"topic_id": of.topic},
        PartitionRecord: {
            "topic_id": of.topic, "partition_id": of.index, "replicas": of.brokers, "isr": of.brokers,
            "removing": of.brokers, "adding": of.brokers, "leader": of.leader, "recovering": st.booleans(),
            "leader_epoch": of.epoch, "partition_epoch": of.epoch, "directories": _maybe(of.directories),
            "elr": _maybe(of.brokers), "last_known_elr": _maybe(of.brokers),
        },
        PartitionChangeRecord: {"topic_id": of.topic, "partition_id": of.index, "change": changes(boundary)},
        RegisterBrokerRecord: {
            "broker_id": of.broker, "broker_epoch": of.long, "incarnation": of.topic,
            "listeners": listeners, "features": features,
            "rack": _maybe(of.name), "fenced": st.booleans(), "in_controlled_shutdown": st.booleans(),
            "is_migrating_zk_broker": st.booleans(), "log_dirs": of.directories,
            "cordoned": _maybe(of.directories),
        },
        UnregisterBrokerRecord: {"broker_id": of.broker, "broker_epoch": of.long},
        BrokerRegistrationChangeRecord: {
            "broker_id": of.broker, "broker_epoch": of.long, "fenced": st.integers(-1, 1),
            "in_controlled_shutdown": st.integers(0, 1), "log_dirs": _maybe(of.directories),
            "cordoned": _maybe(of.directories),
        },
        FenceBrokerRecord: {"broker_id": of.broker, "broker_epoch": of.long},
        UnfenceBrokerRecord: {"broker_id": of.broker, "broker_epoch": of.long},
    }  # fmt: skip
    return st.builds(kind, **parts[kind])


KINDS = (
    TopicRecord, RemoveTopicRecord, PartitionRecord, PartitionChangeRecord, RegisterBrokerRecord,
    UnregisterBrokerRecord, BrokerRegistrationChangeRecord, FenceBrokerRecord, UnfenceBrokerRecord,
)  # fmt: skip
"""Every kind of record."""


def records(boundary: bool = False) -> Strategy[Any]:
    """Records of every kind; see `records_of`."""
    return st.one_of([records_of(kind, boundary) for kind in KINDS])


@st.composite
def batches(draw: st.DrawFn, length: int = 12) -> list[Any]:
    """Batches of records of which most replay: about every second record is made to fit those before it."""
    batch: list[Any] = [TopicRecord("foo", "t1")] if draw(st.booleans()) else []
    epochs: dict[int, int] = {}
    for record in draw(st.lists(records(), max_size=length)):
        fitted = _fitted(record, epochs) if draw(st.booleans()) else record
        if isinstance(fitted, RegisterBrokerRecord):
            epochs[fitted.broker_id] = fitted.broker_epoch
        batch.append(fitted)
    return batch


def _fitted(record: Any, epochs: Mapping[int, int]) -> Any:
    """The record about the first topic, without directories to disagree with, under its broker's epoch."""
    if isinstance(record, TopicRecord | RemoveTopicRecord):
        return record
    if isinstance(record, PartitionRecord):
        return evolve(record, topic_id="t1", directories=None)
    if isinstance(record, PartitionChangeRecord):
        return evolve(record, topic_id="t1", change=evolve(record.change, directories=absent(DirectoryList((), ()))))
    if isinstance(record, RegisterBrokerRecord):
        return evolve(record, log_dirs=())
    return evolve(record, broker_epoch=epochs.get(record.broker_id, record.broker_epoch))


@st.composite
def illegal_documents(draw: st.DrawFn) -> tuple[dict[str, Any], str]:
    """A document that no codec may accept, and the key in which it differs from a legal one."""
    document = encode(draw(records()))
    data: dict[str, Any] = document["data"]
    faults = ["type", "version", "extra", "missing", "kind"]
    faults += ["range"] * any(_is_int(value) for value in data.values())
    fault = draw(st.sampled_from(faults))
    if fault == "type":
        return {**document, "type": "NO_RECORD"}, "type"
    if fault == "version":
        return {**document, "version": draw(st.sampled_from([-1, 9, True, "1"]))}, "version"
    if fault == "extra":
        return {**document, "data": {**data, "surprise": 1}}, "data.surprise"
    keys = [key for key, value in data.items() if fault != "range" or _is_int(value)]
    mandatory = [key for key in keys if key in _MANDATORY] if fault == "missing" else keys
    key = draw(st.sampled_from(sorted(mandatory)))
    if fault == "missing":
        return {**document, "data": {name: value for name, value in data.items() if name != key}}, f"data.{key}"
    value_: Any = draw(st.sampled_from([INT64[0] - 1, INT64[1] + 1])) if fault == "range" else {"an": "object"}
    return {**document, "data": {**data, key: value_}}, f"data.{key}"


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_MANDATORY = frozenset({"topicId", "brokerId", "id"})
"""Keys that are mandatory wherever they occur; each kind of record has one of them."""
