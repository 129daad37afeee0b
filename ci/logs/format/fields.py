"""The bytes of a record, decoded by its layout into the dict that Kafka's tools print."""

from __future__ import annotations

import base64
import re
import struct
from typing import Any

from attrs import define, frozen

from kraftcheck.solvers.logs.explain.state import READ_KINDS

_FIELD = re.compile(r"(\w+) (\w+|\[\w+\])( \d+)?( \?)?(?: #(\d+))?")


@frozen
class FieldForm:
    """One field of a layout; `tag` is None for a field that stands in its place."""

    name: str
    type: str
    many: bool
    since: int
    nullable: bool
    tag: int | None


@frozen
class RecordForm:
    """One kind of record: its name as Kafka's tools print it, its highest version, its fields."""

    name: str
    highest: int
    fields: tuple[FieldForm, ...]


def fields_of(text: str) -> tuple[FieldForm, ...]:
    """The fields that a layout describes, separated by semicolons.

    >>> fields_of("isr [int32] ? #0")[0].tag
    0
    """
    forms = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        match = _FIELD.fullmatch(part)
        if match is None:
            raise ValueError(f"{part!r} is no field")
        name, kind, since, null, tag = match.groups()
        many = kind.startswith("[")
        place = None if tag is None else int(tag)
        forms.append(FieldForm(name, kind.strip("[]"), many, int(since or 0), null is not None, place))
    return tuple(forms)


def _record(name: str, highest: int, layout: str) -> RecordForm:
    return RecordForm(f"{name}_RECORD", highest, fields_of(layout))


STRUCTS = {
    "LeaderVoter": fields_of("voterId int32; voterDirectoryId uuid 1"),
    "QuorumVoter": fields_of("voterId int32; voterDirectoryId uuid; endpoints [QuorumEnd]; versions QuorumVersions"),
    "QuorumEnd": fields_of("name string; host string; port uint16"),
    "QuorumVersions": fields_of("lowest int16; highest int16"),
    "Endpoint": fields_of("name string; host string; port uint16; securityProtocol int16"),
    "Feature": fields_of("name string; minSupportedVersion int16; maxSupportedVersion int16"),
    "Entity": fields_of("entityType string; entityName string ?"),
}
"""Structs that lists hold."""

RECORDS = {
    0: _record("REGISTER_BROKER", 4, """
        brokerId int32; isMigratingZkBroker bool 2; incarnationId uuid; brokerEpoch int64; endPoints [Endpoint];
        features [Feature]; rack string ?; fenced bool; inControlledShutdown bool 1; logDirs [uuid] 3 #0;
        cordonedLogDirs [uuid] 4 ? #1"""),
    1: _record("UNREGISTER_BROKER", 0, "brokerId int32; brokerEpoch int64"),
    2: _record("TOPIC", 0, "name string; topicId uuid"),
    3: _record("PARTITION", 2, """
        partitionId int32; topicId uuid; replicas [int32]; isr [int32]; removingReplicas [int32];
        addingReplicas [int32]; leader int32; leaderRecoveryState int8 #0; leaderEpoch int32; partitionEpoch int32;
        directories [uuid] 1; eligibleLeaderReplicas [int32] 2 ? #1; lastKnownElr [int32] 2 ? #2"""),
    4: _record("CONFIG", 0, "resourceType int8; resourceName string; name string; value string ?"),
    5: _record("PARTITION_CHANGE", 2, """
        partitionId int32; topicId uuid; isr [int32] ? #0; leader int32 #1; replicas [int32] ? #2;
        removingReplicas [int32] ? #3; addingReplicas [int32] ? #4; leaderRecoveryState int8 #5;
        eligibleLeaderReplicas [int32] 2 ? #6; lastKnownElr [int32] 2 ? #7; directories [uuid] 1 ? #8"""),
    7: _record("FENCE_BROKER", 0, "id int32; epoch int64"),
    8: _record("UNFENCE_BROKER", 0, "id int32; epoch int64"),
    9: _record("REMOVE_TOPIC", 0, "topicId uuid"),
    10: _record("DELEGATION_TOKEN", 0, """
        owner string; requester string; renewers [string]; issueTimestamp int64; maxTimestamp int64;
        expirationTimestamp int64; tokenId string"""),
    11: _record("USER_SCRAM_CREDENTIAL", 0, """
        name string; mechanism int8; salt bytes; storedKey bytes; serverKey bytes; iterations int32"""),
    12: _record("FEATURE_LEVEL", 0, "name string; featureLevel int16"),
    14: _record("CLIENT_QUOTA", 0, "entity [Entity]; key string; value float64; remove bool"),
    15: _record("PRODUCER_IDS", 0, "brokerId int32; brokerEpoch int64; nextProducerId int64"),
    17: _record("BROKER_REGISTRATION_CHANGE", 3, """
        brokerId int32; brokerEpoch int64; fenced int8 #0; inControlledShutdown int8 1 #1; logDirs [uuid] 2 #2;
        cordonedLogDirs [uuid] 3 ? #3"""),
    18: _record("ACCESS_CONTROL_ENTRY", 0, """
        id uuid; resourceType int8; resourceName string; patternType int8; principal string; host string;
        operation int8; permissionType int8"""),
    19: _record("REMOVE_ACCESS_CONTROL_ENTRY", 0, "id uuid"),
    20: _record("NO_OP", 0, ""),
    21: _record("ZK_MIGRATION_STATE", 0, "zkMigrationState int8"),
    22: _record("REMOVE_USER_SCRAM_CREDENTIAL", 0, "name string; mechanism int8"),
    23: _record("BEGIN_TRANSACTION", 0, "name string ? #0"),
    24: _record("END_TRANSACTION", 0, ""),
    25: _record("ABORT_TRANSACTION", 0, "reason string ? #0"),
    26: _record("REMOVE_DELEGATION_TOKEN", 0, "tokenId string"),
    27: _record("REGISTER_CONTROLLER", 0, """
        controllerId int32; incarnationId uuid; zkMigrationReady bool; endPoints [Endpoint]; features [Feature]"""),
    28: _record("CLEAR_ELR", 0, "topicName string"),
    29: _record("UNREGISTER_CONTROLLER", 0, "controllerId int32"),
}  # fmt: skip
"""Every kind of record by its number in the log."""

FORMS = {form.name: form for form in RECORDS.values()}  # the same by name


QUORUM = {
    2: fields_of("leaderId int32; voters [LeaderVoter]; grantingVoters [LeaderVoter]"),
    6: fields_of("voters [QuorumVoter]"),
}
"""What the quorum writes for itself on who leads and who votes, by its kind, behind its version."""

FRAME_VERSION = 1  # version of the frame around each record of the metadata log

FIXED = {"bool": ">?", "int8": ">b", "int16": ">h", "int32": ">i", "int64": ">q", "uint16": ">H", "float64": ">d"}


class WireError(ValueError):
    """Bytes that are no record of a known layout."""


class UnknownTagError(WireError):
    """A tagged field that no known layout has."""


@define
class Bytes:
    """Bytes with a position, which only goes forward."""

    data: bytes | memoryview
    position: int = 0

    def take(self, count: int) -> bytes:
        """The next bytes; raises WireError when there are not so many."""
        end = self.position + count
        if count < 0 or end > len(self.data):
            raise WireError(f"{count} bytes wanted at byte {self.position} of {len(self.data)}")
        taken = bytes(self.data[self.position : end])
        self.position = end
        return taken

    def left(self) -> int:
        """How many bytes follow."""
        return len(self.data) - self.position

    def fixed(self, form: str) -> Any:
        """The next value of a `struct` format."""
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def unsigned(self) -> int:
        """The next unsigned varint."""
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise WireError(f"varint at byte {self.position} is too long")

    def signed(self) -> int:
        """The next zigzag varint."""
        value = self.unsigned()
        return (value >> 1) ^ -(value & 1)


def read_frame(data: bytes) -> tuple[int, int, Bytes]:
    """Number and version of a record, and the bytes of its fields; raises WireError when the frame is unknown."""
    rest = Bytes(data)
    frame = rest.unsigned()
    if frame != FRAME_VERSION:
        raise WireError(f"frame version {frame}, not {FRAME_VERSION}")
    return rest.unsigned(), rest.unsigned(), rest


def unknown_kind(name: str, version: int) -> str:
    """A record's name where its kind or version is unknown, else empty; raises WireError where the model reads it."""
    form = FORMS.get(name)
    if form is None:
        return name
    if 0 <= version <= form.highest:
        return ""
    if name in READ_KINDS:
        raise WireError(f"{name} has version {version}; known are 0 to {form.highest}")
    return f"{name} of version {version}"


def is_unknown(kind: str) -> bool:
    """Whether records that are passed through are of an unknown kind or version; a known kind may say more."""
    return kind.partition(",")[0] not in FORMS


def decode(data: bytes) -> tuple[str, int, dict[str, Any] | None]:
    """Kind, version and fields of a record, none as of `unknown_kind`; raises WireError for bytes that do not fit."""
    number, version, rest = read_frame(data)
    form = RECORDS.get(number)
    if form is None:
        return f"UNKNOWN_{number}", version, None
    if unknown := unknown_kind(form.name, version):
        return unknown, version, None
    try:
        fields = struct_of(rest, form.fields, version)
    except UnknownTagError as reason:
        if form.name in READ_KINDS:
            raise WireError(f"{form.name}: {reason}") from None
        return f"{form.name} with unknown fields", version, None
    if rest.position != len(data):
        raise WireError(f"{form.name} leaves {len(data) - rest.position} bytes over")
    return form.name, version, fields


def struct_of(rest: Bytes, fields: tuple[FieldForm, ...], version: int) -> dict[str, Any]:
    """The next fields of a layout; raises WireError for bytes that do not fit it."""
    present = [field for field in fields if field.since <= version]
    values = {field.name: _field(rest, field, version) for field in present if field.tag is None}
    tagged = {field.tag: field for field in present if field.tag is not None}
    for _ in range(rest.unsigned()):
        tag, size = rest.unsigned(), rest.unsigned()
        if tag not in tagged:
            raise UnknownTagError(f"a field with tag {tag} is not known")
        end = rest.position + size
        values[tagged[tag].name] = _field(rest, tagged[tag], version)
        if rest.position != end:
            raise WireError(f"tagged field {tagged[tag].name} is not of its size {size}")
    return values


def _field(rest: Bytes, field: FieldForm, version: int) -> Any:
    if not field.many:
        return _value(rest, field.type, field, version)
    count = rest.unsigned() - 1
    if count < 0:
        return _null(field)
    if count > len(rest.data):
        raise WireError(f"{field.name} has {count} elements, more than there are bytes")
    return [_value(rest, field.type, field, version) for _ in range(count)]


def _null(field: FieldForm) -> None:
    if not field.nullable:
        raise WireError(f"{field.name} is null")


def _value(rest: Bytes, kind: str, field: FieldForm, version: int) -> Any:
    if kind in FIXED:
        return rest.fixed(FIXED[kind])
    if kind in STRUCTS:
        return struct_of(rest, STRUCTS[kind], version)
    if kind == "uuid":
        return base64.urlsafe_b64encode(rest.take(16)).decode().rstrip("=")
    size = rest.unsigned() - 1
    if size < 0:
        return _null(field)
    data = rest.take(size)
    if kind == "bytes":
        return base64.b64encode(data).decode()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise WireError(f"{field.name} is not UTF-8") from None
