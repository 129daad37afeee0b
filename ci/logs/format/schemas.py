"""How each record of the metadata log is laid out, as data.

A layout is a list of fields, `name type [since] [?] [#tag]`: the type is
`bool`, `int8` .. `int64`, `uint16`, `float64`, `string`, `bytes`, `uuid`, the
name of a struct, or one of these in brackets for a list; `since` is the first
version that has the field (0 unless said); `?` may be null; `#tag` is a tagged
field. All records are flexible in every version: compact lengths, and tagged
fields at the end. Source: the record schemas of KRaft, 3.9 to 4.4.
"""

from __future__ import annotations

import re

from attrs import frozen

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

FORMS = {form.name: form for form in RECORDS.values()}
"""The same by name."""
