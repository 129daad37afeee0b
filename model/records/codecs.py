"""Records to and from plain dicts, in every form they have had.

The dicts are the JSON that Kafka's own tools write: `type`, `version`, and
`data` with the schema's field names; tagged fields at their default are left
out. Older forms of KIP-858 differ in how partition records write directories:
see `Form`.

Source: the record schemas of KRaft; KIP-858, "Metadata records", both drafts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from kraftcheck.model.records import broker_codecs, partition_codecs
from kraftcheck.model.records.directory_ids import CODE, DRAFT, KIP
from kraftcheck.model.records.fields import Fields, FormError, integer, text
from kraftcheck.model.records.partition_codecs import Form
from kraftcheck.model.records.records import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    PartitionChangeRecord,
    PartitionRecord,
    Record,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
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
    PartitionRecord: Codec("PARTITION_RECORD", 2, partition_codecs.write_partition, partition_codecs.read_partition),
    PartitionChangeRecord: Codec(
        "PARTITION_CHANGE_RECORD", 2, partition_codecs.write_change, partition_codecs.read_change
    ),
    RegisterBrokerRecord: Codec("REGISTER_BROKER_RECORD", 4, broker_codecs.write_register, broker_codecs.read_register),
    UnregisterBrokerRecord: Codec(
        "UNREGISTER_BROKER_RECORD", 0, broker_codecs.write_unregister, broker_codecs.read_unregister
    ),
    BrokerRegistrationChangeRecord: Codec(
        "BROKER_REGISTRATION_CHANGE_RECORD",
        3,
        broker_codecs.write_registration_change,
        broker_codecs.read_registration_change,
    ),
    FenceBrokerRecord: Codec("FENCE_BROKER_RECORD", 0, broker_codecs.write_fence, broker_codecs.read_fence),
    UnfenceBrokerRecord: Codec("UNFENCE_BROKER_RECORD", 0, broker_codecs.write_fence, broker_codecs.read_unfence),
}
