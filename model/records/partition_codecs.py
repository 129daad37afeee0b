"""Partition records and partition changes to and from the data of a dict."""

from __future__ import annotations

from typing import Any, cast

from attrs import frozen

from kraftcheck.model.language.brokersets import Brokers
from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.language.words import NO_LEADER, Maybe, absent, present
from kraftcheck.model.partition.directories import Directories, DirectoryList
from kraftcheck.model.partition.registration import PartitionChange
from kraftcheck.model.records.directory_ids import DirectoryTextError, Numbering
from kraftcheck.model.records.fields import Fields, FormError, each, integer, integers, text
from kraftcheck.model.records.records import Ids, PartitionChangeRecord, PartitionRecord, ids

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
