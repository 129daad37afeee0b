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
from kraftcheck.model.partition.directories import DirectoryList
from kraftcheck.model.partition.registration import PartitionChange
from kraftcheck.model.records.records import BrokerRegistrationChangeRecord, PartitionChangeRecord, PartitionRecord
from kraftcheck.solvers.logs.explain.state import Known

Plain = tuple[tuple[str, Any], ...]
"""A record as pairs of field and value, its kind first; absent fields are left out."""


@frozen
class Difference:
    """One field that is not as predicted; None stands for a field, or record, that is not there."""

    field: str
    predicted: Any
    observed: Any


def plain(record: Known) -> Plain:
    """The record as comparable values."""
    kind = ("kind", type(record).__name__.removesuffix("Record"))
    if isinstance(record, PartitionChangeRecord):
        present = ((f.name, getattr(record.change, f.name)) for f in fields(PartitionChange))
        changed = [(name, _plain(maybe.value)) for name, maybe in present if maybe.present]
        return (kind, ("topic_id", record.topic_id), ("partition_id", record.partition_id), *changed)
    values = asdict(record, recurse=False)
    if isinstance(record, BrokerRegistrationChangeRecord):
        values["log_dirs"] = record.log_dirs or None
    if isinstance(record, PartitionRecord):
        values["elr"], values["last_known_elr"] = record.elr or None, record.last_known_elr or None
    return (kind, *((name, value) for name, value in values.items() if value is not None))


def _plain(value: Any) -> Any:
    if isinstance(value, IdList | DirectoryList):
        return tuple(value.ids)
    return bool(value) if isinstance(value, bool) else value


def _key(record: Plain) -> tuple[Any, ...] | None:
    """What commutes with others: the partition of a record; None for a record that stays in its place."""
    values = dict(record)
    if values["kind"] not in ("PartitionChange", "Partition"):
        return None
    return values["topic_id"], values["partition_id"]


def same(predicted: Sequence[Plain], observed: Sequence[Plain]) -> bool:
    """Whether both are the same up to the order of different partitions' changes."""
    return len(predicted) == len(observed) and _arranged(predicted) == _arranged(observed)


def _arranged(records: Iterable[Plain]) -> list[Any]:
    """Runs of changes between other records, each run by partition."""
    arranged: list[Any] = [{}]
    for record in records:
        key = _key(record)
        if key is None:
            arranged += [record, {}]
        else:
            arranged[-1].setdefault(key, []).append(record)
    return arranged


def differences(predicted: Sequence[Plain], observed: Sequence[Plain]) -> list[Difference]:
    """Field by field what differs; records are paired by partition, else by order."""
    rest = list(observed)
    found: list[Difference] = []
    for record in predicted:
        partner = next((other for other in rest if _label(other) == _label(record)), None)
        if partner is None:
            found.append(Difference(_label(record), _shown(record), None))
            continue
        rest.remove(partner)
        ours, theirs = dict(record), dict(partner)
        names = [*ours, *(name for name in theirs if name not in ours)]
        for name in names:
            if ours.get(name) != theirs.get(name):
                found.append(Difference(f"{_label(record)}.{name}", ours.get(name), theirs.get(name)))
    return found + [Difference(_label(other), None, _shown(other)) for other in rest]


def _label(record: Plain) -> str:
    values = dict(record)
    name = values.get("partition_id", values.get("broker_id", values.get("name", values.get("topic", ""))))
    topic = f"{values['topic_id']}-" if "partition_id" in values else ""
    return f"{values['kind']} {topic}{name}".strip()


def _shown(record: Plain) -> dict[str, Any]:
    return {name: value for name, value in record if name not in ("kind", "topic_id", "partition_id")}
