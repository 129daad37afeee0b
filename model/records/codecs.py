"""Records to and from plain dicts, in every form they have had.

The dicts are the JSON that Kafka's own tools write: `type`, `version`, and
`data` with the schema's field names; tagged fields at their default are left
out. Older forms of KIP-858 differ in how partition records write directories:
see `Form`.

Source: the record schemas of KRaft; KIP-858, "Metadata records", both drafts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from attrs import frozen

from kraftcheck.model.language.brokersets import Brokers
from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.language.words import NO_LEADER, Maybe, absent, present
from kraftcheck.model.partition.registration import Directories, DirectoryList, PartitionChange
from kraftcheck.model.records.fields import (
    CODE,
    DRAFT,
    KIP,
    DirectoryTextError,
    Fields,
    FormError,
    Numbering,
    each,
    flag,
    integer,
    integers,
    long,
    text,
)
from kraftcheck.model.records.records import (
    BrokerRegistrationChangeRecord,
    Feature,
    FenceBrokerRecord,
    Ids,
    Listener,
    PartitionChangeRecord,
    PartitionRecord,
    Record,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    ids,
)

KEEP_LEADER = -2
"""The leader of a change that does not name one."""

KEEP_RECOVERY = -1
"""The recovery state of a change that does not name one."""

_COMMON = ("partitionId", "topicId", "isr", "removingReplicas", "addingReplicas", "leader", "leaderRecoveryState")


@frozen
class Form:
    """A way of writing the directories of partition records.

    Attributes:
        name: of the form.
        numbering: how directory ids are written.
        assignment: from version 1 on, one list `assignment` of structs
            `broker`, `directory` stands in place of `replicas` and `directories`.
        highest: the highest version there is in this form.
        names: whether reserved ids are written by name; they are read either way.
    """

    name: str
    numbering: Numbering
    assignment: bool = False
    highest: int = 2
    names: bool = True

    def write(self, directory: int, where: str) -> str:
        """A directory id as text."""
        try:
            return self.numbering.text(directory) if self.names else self.numbering.base64(directory)
        except DirectoryTextError as reason:
            raise FormError(f"{where}: {reason}") from None

    def read(self, value: object, where: str) -> int:
        """A text as a directory id."""
        try:
            return self.numbering.parse(value)
        except DirectoryTextError as reason:
            raise FormError(f"{where}: {reason}") from None


def write_partition(record: PartitionRecord, version: int, form: Form) -> dict[str, Any]:
    """The data of a partition record."""
    data: dict[str, Any] = {
        "partitionId": record.partition_id,
        "topicId": record.topic_id,
        "replicas": list(record.replicas),
        "isr": list(record.isr),
        "removingReplicas": list(record.removing),
        "addingReplicas": list(record.adding),
        "leader": record.leader,
        "leaderEpoch": record.leader_epoch,
        "partitionEpoch": record.partition_epoch,
    }
    if record.recovering:
        data["leaderRecoveryState"] = 1
    _write_elr(data, record.elr, record.last_known_elr, version)
    directories = None if version == 0 and not record.directories else record.directories
    _write_directories(data, record.replicas, directories, version, form)
    return data


def read_partition(fields: Fields, version: int, form: Form) -> PartitionRecord:
    """The partition record that data describe."""
    fields.only(*_COMMON, "leaderEpoch", "partitionEpoch", *_placement_keys(version, form), *_elr_keys(version))
    replicas, directories = _read_directories(fields, version, form)
    if replicas is None:
        raise FormError(f"{fields.key(_replicas_key(version, form))}: missing")
    return PartitionRecord(
        topic_id=fields.read("topicId", text),
        partition_id=fields.read("partitionId", integer),
        replicas=replicas,
        isr=fields.read("isr", integers),
        removing=fields.read("removingReplicas", integers),
        adding=fields.read("addingReplicas", integers),
        leader=fields.read("leader", integer),
        recovering=fields.read_or("leaderRecoveryState", _recovery, 0) == 1,
        leader_epoch=fields.read("leaderEpoch", integer),
        partition_epoch=fields.read("partitionEpoch", integer),
        directories=directories,
        elr=fields.read_or("eligibleLeaderReplicas", integers, None),
        last_known_elr=fields.read_or("lastKnownElr", integers, None),
    )


def write_change(record: PartitionChangeRecord, version: int, form: Form) -> dict[str, Any]:
    """The data of a partition change: only what is present."""
    change = record.change
    data: dict[str, Any] = {"partitionId": record.partition_id, "topicId": record.topic_id}
    lists = {
        "isr": change.isr,
        "replicas": change.replicas,
        "removingReplicas": change.removing,
        "addingReplicas": change.adding,
    }
    data.update({key: list(ids(value.value)) for key, value in lists.items() if value.present})
    if change.leader.present:
        data["leader"] = int(change.leader.value)
    if change.recovering.present:
        data["leaderRecoveryState"] = int(change.recovering.value)
    _write_elr(data, _given(change.elr), _given(change.last_known_elr), version)
    _write_directories(data, _replicas(change, form), _directories(change), version, form)
    return data


def read_change(fields: Fields, version: int, form: Form) -> PartitionChangeRecord:
    """The partition change that data describe."""
    fields.only(*_COMMON, *_placement_keys(version, form), *_elr_keys(version))
    replicas, directories = _read_directories(fields, version, form)
    leader = fields.read_or("leader", integer, KEEP_LEADER)
    recovery = fields.read_or("leaderRecoveryState", _recovery_change, KEEP_RECOVERY)
    nowhere: Directories = DirectoryList((), ())
    change = PartitionChange(
        replicas=_maybe(replicas),
        directories=absent(nowhere) if directories is None else present(DirectoryList(replicas or (), directories)),
        isr=_maybe(fields.read_or("isr", integers, None)),
        elr=_maybe(fields.read_or("eligibleLeaderReplicas", integers, None)),
        last_known_elr=_maybe(fields.read_or("lastKnownElr", integers, None)),
        removing=_maybe(fields.read_or("removingReplicas", integers, None)),
        adding=_maybe(fields.read_or("addingReplicas", integers, None)),
        leader=absent(NO_LEADER) if leader == KEEP_LEADER else present(leader),
        recovering=absent(False) if recovery == KEEP_RECOVERY else present(recovery == 1),
    )
    return PartitionChangeRecord(fields.read("topicId", text), fields.read("partitionId", integer), change)


def _recovery(value: object, where: str) -> int:
    return integer(value, where, (0, 1))


def _recovery_change(value: object, where: str) -> int:
    return integer(value, where, (KEEP_RECOVERY, 1))


def _maybe(members: Ids | None) -> Maybe[Brokers]:
    nobody: Brokers = IdList()
    return absent(nobody) if members is None else present(cast(Brokers, IdList(members)))


def _given(brokers: Maybe[Brokers]) -> Ids | None:
    return ids(brokers.value) if brokers.present else None


def _directories(change: PartitionChange) -> Ids | None:
    if not change.directories.present:
        return None
    directories = change.directories.value
    if not isinstance(directories, DirectoryList):
        raise FormError(f"directories: {type(directories).__name__} has no record form")
    return directories.ids


def _replicas(change: PartitionChange, form: Form) -> Ids | None:
    """The replicas to write; structs need them, so the directories' own replicas serve there."""
    directories = change.directories.value
    if form.assignment and not change.replicas.present and change.directories.present:
        return directories.replicas if isinstance(directories, DirectoryList) else None
    return _given(change.replicas)


def _write_elr(data: dict[str, Any], elr: Ids | None, last_known: Ids | None, version: int) -> None:
    for key, members in (("eligibleLeaderReplicas", elr), ("lastKnownElr", last_known)):
        if members is not None:
            if version < 2:
                raise FormError(f"{key}: version {version} has no such field")
            data[key] = list(members)


def _elr_keys(version: int) -> tuple[str, ...]:
    return ("eligibleLeaderReplicas", "lastKnownElr") if version >= 2 else ()


def _replicas_key(version: int, form: Form) -> str:
    return "assignment" if form.assignment and version >= 1 else "replicas"


def _placement_keys(version: int, form: Form) -> tuple[str, ...]:
    key = _replicas_key(version, form)
    return (key, "directories") if key == "replicas" and version >= 1 else (key,)


def _write_directories(
    data: dict[str, Any], replicas: Ids | None, directories: Ids | None, version: int, form: Form
) -> None:
    if directories is not None and version < 1:
        raise FormError(f"directories: version {version} has no such field")
    written = None if directories is None else [form.write(d, f"directories[{n}]") for n, d in enumerate(directories)]
    if _replicas_key(version, form) == "replicas":
        if written is not None:
            data["directories"] = written
        return
    data.pop("replicas", None)
    if replicas is None and written is None:
        return
    if replicas is None or written is None or len(replicas) != len(written):
        raise FormError("assignment: replicas and directories can only be written together, one to one")
    data["assignment"] = [{"broker": b, "directory": d} for b, d in zip(replicas, written, strict=True)]


def _read_directories(fields: Fields, version: int, form: Form) -> tuple[Ids | None, Ids | None]:
    if _replicas_key(version, form) == "replicas":
        replicas = fields.read_or("replicas", integers, None)
        return replicas, fields.read_or("directories", each(form.read), None)
    structs = fields.read_or("assignment", each(Fields.of), None)
    if structs is None:
        return None, None
    zero = next(known.id for known in form.numbering.reserved if known.number == 0)
    for struct in structs:
        struct.only("broker", "directory")
    return (
        tuple(struct.read("broker", integer) for struct in structs),
        tuple(struct.read_or("directory", form.read, zero) for struct in structs),
    )


PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
"""Security protocols by their number."""


def write_register(record: RegisterBrokerRecord, version: int, form: Form) -> dict[str, Any]:
    """The data of a registration."""
    data: dict[str, Any] = {
        "brokerId": record.broker_id,
        "incarnationId": record.incarnation,
        "brokerEpoch": record.broker_epoch,
        "endPoints": [_write_listener(listener) for listener in record.listeners],
        "features": [_write_feature(feature) for feature in record.features],
        "rack": record.rack,
        "fenced": record.fenced,
    }
    _since(data, "inControlledShutdown", record.in_controlled_shutdown, 1, version)
    _since(data, "isMigratingZkBroker", record.is_migrating_zk_broker, 2, version)
    if record.log_dirs:
        _since(data, "logDirs", _directory_texts("logDirs", record.log_dirs, form), 3, version)
    _write_cordoned(data, record.cordoned, 4, version, form)
    return data


def read_register(fields: Fields, version: int, form: Form) -> RegisterBrokerRecord:
    """The registration that data describe."""
    known = ["brokerId", "incarnationId", "brokerEpoch", "endPoints", "features", "rack", "fenced"]
    known += ["inControlledShutdown", "isMigratingZkBroker", "logDirs", "cordonedLogDirs"][:version]
    fields.only(*known)
    return RegisterBrokerRecord(
        broker_id=fields.read("brokerId", integer),
        broker_epoch=fields.read("brokerEpoch", long),
        incarnation=fields.read("incarnationId", text),
        listeners=fields.read("endPoints", each(_read_listener)),
        features=fields.read("features", each(_read_feature)),
        rack=fields.read_or("rack", text, None),
        fenced=fields.read_or("fenced", flag, True),
        in_controlled_shutdown=fields.read_or("inControlledShutdown", flag, False),
        is_migrating_zk_broker=fields.read_or("isMigratingZkBroker", flag, False),
        log_dirs=fields.read_or("logDirs", each(form.read), ()),
        cordoned=fields.read_or("cordonedLogDirs", each(form.read), None),
    )


def write_unregister(record: UnregisterBrokerRecord, version: int, form: Form) -> dict[str, Any]:
    """The data of the end of a registration."""
    return {"brokerId": record.broker_id, "brokerEpoch": record.broker_epoch}


def read_unregister(fields: Fields, version: int, form: Form) -> UnregisterBrokerRecord:
    """The end of a registration that data describe."""
    fields.only("brokerId", "brokerEpoch")
    return UnregisterBrokerRecord(fields.read("brokerId", integer), fields.read("brokerEpoch", long))


def write_registration_change(record: BrokerRegistrationChangeRecord, version: int, form: Form) -> dict[str, Any]:
    """The data of a registration change: only what is not at its default."""
    data: dict[str, Any] = {"brokerId": record.broker_id, "brokerEpoch": record.broker_epoch}
    if record.fenced:
        data["fenced"] = record.fenced
    if record.in_controlled_shutdown:
        _since(data, "inControlledShutdown", record.in_controlled_shutdown, 1, version)
    if record.log_dirs is not None:
        _since(data, "logDirs", _directory_texts("logDirs", record.log_dirs, form), 2, version)
    _write_cordoned(data, record.cordoned, 3, version, form)
    return data


def read_registration_change(fields: Fields, version: int, form: Form) -> BrokerRegistrationChangeRecord:
    """The registration change that data describe."""
    fields.only("brokerId", "brokerEpoch", "fenced", *["inControlledShutdown", "logDirs", "cordonedLogDirs"][:version])
    return BrokerRegistrationChangeRecord(
        broker_id=fields.read("brokerId", integer),
        broker_epoch=fields.read("brokerEpoch", long),
        fenced=fields.read_or("fenced", lambda value, where: integer(value, where, (-1, 1)), 0),
        in_controlled_shutdown=fields.read_or(
            "inControlledShutdown", lambda value, where: integer(value, where, (0, 1)), 0
        ),
        log_dirs=fields.read_or("logDirs", each(form.read), None),
        cordoned=fields.read_or("cordonedLogDirs", each(form.read), None),
    )


def write_fence(record: FenceBrokerRecord | UnfenceBrokerRecord, version: int, form: Form) -> dict[str, Any]:
    """The data of a fencing or unfencing."""
    return {"id": record.broker_id, "epoch": record.broker_epoch}


def read_fence(fields: Fields, version: int, form: Form) -> FenceBrokerRecord:
    """The fencing that data describe."""
    fields.only("id", "epoch")
    return FenceBrokerRecord(fields.read("id", integer), fields.read("epoch", long))


def read_unfence(fields: Fields, version: int, form: Form) -> UnfenceBrokerRecord:
    """The unfencing that data describe."""
    fields.only("id", "epoch")
    return UnfenceBrokerRecord(fields.read("id", integer), fields.read("epoch", long))


def _since(data: dict[str, Any], key: str, value: Any, first: int, version: int) -> None:
    """Write a field that came with a later version; before it only its default can be written."""
    if version >= first:
        data[key] = value
    elif value:
        raise FormError(f"{key}: version {version} has no such field")


def _write_cordoned(data: dict[str, Any], cordoned: Ids | None, first: int, version: int, form: Form) -> None:
    """Write the cordoned directories; None is their default, and an empty list is not."""
    if cordoned is None:
        return
    if version < first:
        raise FormError(f"cordonedLogDirs: version {version} has no such field")
    data["cordonedLogDirs"] = _directory_texts("cordonedLogDirs", cordoned, form)


def _directory_texts(key: str, directories: Ids, form: Form) -> list[str]:
    return [form.write(directory, f"{key}[{n}]") for n, directory in enumerate(directories)]


def _write_listener(listener: Listener) -> dict[str, Any]:
    if listener.protocol not in PROTOCOLS:
        raise FormError(f"endPoints: unknown security protocol {listener.protocol!r}")
    protocol = PROTOCOLS.index(listener.protocol)
    return {"name": listener.name, "host": listener.host, "port": listener.port, "securityProtocol": protocol}


def _read_listener(value: object, where: str) -> Listener:
    fields = Fields.of(value, where).only("name", "host", "port", "securityProtocol")
    return Listener(
        name=fields.read("name", text),
        host=fields.read("host", text),
        port=fields.read("port", lambda port, at: integer(port, at, (0, 65535))),
        protocol=PROTOCOLS[fields.read("securityProtocol", lambda number, at: integer(number, at, (0, 3)))],
    )


def _write_feature(feature: Feature) -> dict[str, Any]:
    return {
        "name": feature.name,
        "minSupportedVersion": feature.min_level,
        "maxSupportedVersion": feature.max_level,
    }


def _read_feature(value: object, where: str) -> Feature:
    fields = Fields.of(value, where).only("name", "minSupportedVersion", "maxSupportedVersion")
    return Feature(
        name=fields.read("name", text),
        min_level=fields.read("minSupportedVersion", integer),
        max_level=fields.read("maxSupportedVersion", integer),
    )


CODE_FORM = Form("code", CODE)
"""The form of Kafka's code."""

KIP_FORM = Form("kip", KIP, highest=1)
"""The form of KIP-858: `replicas` and `directories`, its own numbers."""

DRAFT_FORM = Form("kip-draft", DRAFT, assignment=True, highest=1)
"""The form of KIP-858's earlier draft: `assignment`, a list of structs."""

FORMS = {form.name: form for form in (CODE_FORM, KIP_FORM, DRAFT_FORM)}
"""The forms by name."""


@frozen
class Codec:
    """How one kind of record is written.

    Attributes:
        type: its name in the log.
        highest: its highest version.
        write: `(record, version, form) -> data`.
        read: `(data, version, form) -> record`.
    """

    type: str
    highest: int
    write: Callable[[Any, int, Form], dict[str, Any]]
    read: Callable[[Fields, int, Form], Any]


def encode(record: Record, version: int | None = None, form: Form = CODE_FORM) -> dict[str, Any]:
    """The record as a dict of plain values.

    Args:
        record: what to write.
        version: of the record's schema; the highest of the form by default.
        form: see `Form`.

    Raises:
        FormError: naming the key that the version or form cannot hold.
    """
    codec = _CODECS[type(record)]
    highest = _highest(codec, form)
    chosen = highest if version is None else version
    if not 0 <= chosen <= highest:
        raise FormError(f"version: {codec.type} has no version {chosen} in form {form.name}")
    return {"type": codec.type, "version": chosen, "data": codec.write(record, chosen, form)}


def decode(value: object, form: Form = CODE_FORM) -> Record:
    """The record that a dict describes.

    Args:
        value: what `encode` or Kafka's tools wrote, parsed.
        form: see `Form`.

    Raises:
        FormError: naming the key that is missing, unknown or wrong.
    """
    document = Fields.of(value).only("type", "version", "data")
    name = document.read("type", text)
    codec = next((known for known in _CODECS.values() if known.type == name), None)
    if codec is None:
        raise FormError(f"type: unknown record {name!r}")
    version = document.read("version", lambda number, where: integer(number, where, (0, _highest(codec, form))))
    record: Record = codec.read(document.read("data", Fields.of), version, form)
    return record


def _highest(codec: Codec, form: Form) -> int:
    return min(codec.highest, form.highest) if codec.type.startswith("PARTITION") else codec.highest


def _write_topic(record: TopicRecord, version: int, form: Form) -> dict[str, Any]:
    return {"name": record.name, "topicId": record.topic_id}


def _read_topic(fields: Fields, version: int, form: Form) -> TopicRecord:
    fields.only("name", "topicId")
    return TopicRecord(fields.read("name", text), fields.read("topicId", text))


def _write_remove_topic(record: RemoveTopicRecord, version: int, form: Form) -> dict[str, Any]:
    return {"topicId": record.topic_id}


def _read_remove_topic(fields: Fields, version: int, form: Form) -> RemoveTopicRecord:
    return RemoveTopicRecord(fields.only("topicId").read("topicId", text))


_CODECS: Mapping[type, Codec] = {
    TopicRecord: Codec("TOPIC_RECORD", 0, _write_topic, _read_topic),
    RemoveTopicRecord: Codec("REMOVE_TOPIC_RECORD", 0, _write_remove_topic, _read_remove_topic),
    PartitionRecord: Codec("PARTITION_RECORD", 2, write_partition, read_partition),
    PartitionChangeRecord: Codec("PARTITION_CHANGE_RECORD", 2, write_change, read_change),
    RegisterBrokerRecord: Codec("REGISTER_BROKER_RECORD", 4, write_register, read_register),
    UnregisterBrokerRecord: Codec("UNREGISTER_BROKER_RECORD", 0, write_unregister, read_unregister),
    BrokerRegistrationChangeRecord: Codec(
        "BROKER_REGISTRATION_CHANGE_RECORD",
        3,
        write_registration_change,
        read_registration_change,
    ),
    FenceBrokerRecord: Codec("FENCE_BROKER_RECORD", 0, write_fence, read_fence),
    UnfenceBrokerRecord: Codec("UNFENCE_BROKER_RECORD", 0, write_fence, read_unfence),
}
