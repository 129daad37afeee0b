"""Whether records that the model predicts are those of the log, and where they differ.

Changes of different partitions of one event commute: Kafka writes them in the
order of a hash table. Directories that are absent or none, and ELRs that are
absent or empty, are written alike in full records.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from attrs import asdict, fields, frozen

from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.partition.registration import DirectoryList, PartitionChange
from kraftcheck.model.records.records import BrokerRegistrationChangeRecord, PartitionChangeRecord, PartitionRecord
from kraftcheck.solvers.logs.explain.state import ModelRecord

PlainRecord = tuple[tuple[str, Any], ...]
"""A record as pairs of field and value, its kind first; absent fields are left out."""


@frozen
class Difference:
    """One field that is not as predicted; None stands for a field, or record, that is not there."""

    field: str
    prediction: Any
    observed: Any


def plain_record(record: ModelRecord) -> PlainRecord:
    """The record as comparable values."""
    kind = ("kind", type(record).__name__.removesuffix("Record"))
    if isinstance(record, PartitionChangeRecord):
        maybes = ((f.name, getattr(record.change, f.name)) for f in fields(PartitionChange))
        values_present = [(name, _plain_value(maybe.value)) for name, maybe in maybes if maybe.present]
        return (kind, ("topic_id", record.topic_id), ("partition_id", record.partition_id), *values_present)
    values = asdict(record, recurse=False)
    if isinstance(record, BrokerRegistrationChangeRecord):
        values["log_dirs"] = record.log_dirs or None
    if isinstance(record, PartitionRecord):
        values["elr"], values["last_known_elr"] = record.elr or None, record.last_known_elr or None
    return (kind, *((name, value) for name, value in values.items() if value is not None))


def _plain_value(value: Any) -> Any:
    if isinstance(value, IdList | DirectoryList):
        return tuple(value.ids)
    return bool(value) if isinstance(value, bool) else value


def _key(record: PlainRecord) -> tuple[Any, ...] | None:
    """What commutes with others: the partition of a record; None for a record that stays in its place."""
    values = dict(record)
    if values["kind"] not in ("PartitionChange", "Partition"):
        return None
    return values["topic_id"], values["partition_id"]


def matches(prediction: Sequence[PlainRecord], observed: Sequence[PlainRecord]) -> bool:
    """Whether both are the same up to the order of different partitions' changes."""
    return len(prediction) == len(observed) and _arrangement(prediction) == _arrangement(observed)


def _arrangement(records: Iterable[PlainRecord]) -> list[Any]:
    """Runs of changes between other records, each run by partition."""
    runs: list[Any] = [{}]
    for record in records:
        key = _key(record)
        if key is None:
            runs += [record, {}]
        else:
            runs[-1].setdefault(key, []).append(record)
    return runs


def differences(prediction: Sequence[PlainRecord], observed: Sequence[PlainRecord]) -> list[Difference]:
    """Field by field what differs; records are paired by partition, else by order."""
    unpaired = list(observed)
    unequal: list[Difference] = []
    for record in prediction:
        partner = next((other for other in unpaired if _label(other) == _label(record)), None)
        if partner is None:
            unequal.append(Difference(_label(record), _values(record), None))
            continue
        unpaired.remove(partner)
        predicted_fields, observed_fields = dict(record), dict(partner)
        names = [*predicted_fields, *(name for name in observed_fields if name not in predicted_fields)]
        for name in names:
            if predicted_fields.get(name) != observed_fields.get(name):
                unequal.append(
                    Difference(f"{_label(record)}.{name}", predicted_fields.get(name), observed_fields.get(name))
                )
    return unequal + [Difference(_label(other), None, _values(other)) for other in unpaired]


def _label(record: PlainRecord) -> str:
    values = dict(record)
    name = values.get("partition_id", values.get("broker_id", values.get("name", values.get("topic", ""))))
    topic = f"{values['topic_id']}-" if "partition_id" in values else ""
    return f"{values['kind']} {topic}{name}".strip()


def _values(record: PlainRecord) -> dict[str, Any]:
    return {name: value for name, value in record if name not in ("kind", "topic_id", "partition_id")}
