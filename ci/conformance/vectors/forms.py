"""The objects of vectors: partitions, their changes and records, registrations, brokers; read and written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from attrs import evolve

from kraftcheck.model.controller.placement import UsableBroker
from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.language.words import present
from kraftcheck.model.partition.registration import DirectoryList, Partition, PartitionChange, no_change
from kraftcheck.model.records.fields import (
    CODE,
    DirectoryTextError,
    Fields,
    FormError,
    choice,
    each,
    flag,
    integer,
    integers,
    items,
    long,
    text,
)
from kraftcheck.model.records.records import (
    Feature,
    Ids,
    Listener,
    PartitionRecord,
    RegisterBrokerRecord,
    Registration,
    ids,
)

A = TypeVar("A")
B = TypeVar("B")

RECOVERY = ("RECOVERED", "RECOVERING")
"""The leader recovery states by their number."""

PARTITION_KEYS = (
    "replicas", "directories", "isr", "removing_replicas", "adding_replicas", "leader",
    "leader_recovery_state", "leader_epoch", "elr", "last_known_elr", "partition_epoch",
)  # fmt: skip
"""The keys of a partition state, in the order in which differences are reported."""

LISTS = {
    "isr": "isr",
    "replicas": "replicas",
    "removing_replicas": "removing",
    "adding_replicas": "adding",
    "elr": "elr",
    "last_known_elr": "last_known_elr",
}
"""Keys that hold lists of brokers, and the fields of the model they stand for."""

NO_INCARNATION = "AAAAAAAAAAAAAAAAAAAAAA"
"""The incarnation where a vector names none."""

CHANGE_KEYS = (*LISTS, "leader", "leader_recovery_state", "directories")
"""The keys of a change."""


def directory(value: object, where: str) -> int:
    """A directory id from its text."""
    try:
        return CODE.parse(value)
    except DirectoryTextError as reason:
        raise FormError(f"{where}: {reason}") from None


directories = each(directory)
"""A reader of lists of directory ids."""


def directory_text(value: int) -> str:
    """A directory id as text; -1 stands for a default that was asked for but not given."""
    return "(no default given)" if value < 0 else CODE.text(value)


def brokers(value: object, where: str) -> IdList:
    """A list of brokers in its order."""
    return IdList(integers(value, where))


def read_partition(value: object, where: str) -> Partition:
    """A partition from its state."""
    fields = Fields.of(value, where).only(*PARTITION_KEYS)
    replicas = fields.read("replicas", brokers)
    ids = fields.read("directories", directories)
    if len(ids) != replicas.size():
        raise FormError(f"{fields.key('directories')}: {len(ids)} directories for {replicas.size()} replicas")
    return Partition(
        directories=DirectoryList(replicas.ids, ids),
        leader=fields.read("leader", integer),
        recovering=fields.read("leader_recovery_state", choice(*RECOVERY)) == "RECOVERING",
        leader_epoch=fields.read("leader_epoch", integer),
        partition_epoch=fields.read("partition_epoch", integer),
        **{name: fields.read(key, brokers) for key, name in LISTS.items()},
    )


def write_partition(p: Partition) -> dict[str, Any]:
    """The state of a partition, in reporting order."""
    state: dict[str, Any] = {key: list(ids(getattr(p, name))) for key, name in LISTS.items()}
    state["directories"] = [directory_text(d) for d in _ids(p.directories)]
    state["leader"] = p.leader
    state["leader_recovery_state"] = RECOVERY[int(p.recovering)]
    state["leader_epoch"] = p.leader_epoch
    state["partition_epoch"] = p.partition_epoch
    return {key: state[key] for key in PARTITION_KEYS}


def read_change(p: Partition, value: object, where: str) -> PartitionChange:
    """A change of this partition from the object that lists its fields."""
    fields = Fields.of(value, where).only(*CHANGE_KEYS)
    change: dict[str, Any] = {
        name: present(fields.read(key, brokers)) for key, name in LISTS.items() if key in fields.data
    }
    if "leader" in fields.data:
        change["leader"] = present(fields.read("leader", integer))
    if "leader_recovery_state" in fields.data:
        change["recovering"] = present(fields.read("leader_recovery_state", choice(*RECOVERY)) == RECOVERY[1])
    if "directories" in fields.data:
        replicas = ids(change["replicas"].value if "replicas" in change else p.replicas)
        change["directories"] = present(DirectoryList(replicas, fields.read("directories", directories)))
    return evolve(no_change(p), **change)


def write_change(change: PartitionChange) -> dict[str, Any] | None:
    """The fields of a change; None when nothing is written."""
    if change.is_noop():
        return None
    lists = {key: getattr(change, name) for key, name in LISTS.items()}
    written: dict[str, Any] = {key: list(ids(members.value)) for key, members in lists.items() if members.present}
    if change.leader.present:
        written["leader"] = change.leader.value
    if change.recovering.present:
        written["leader_recovery_state"] = RECOVERY[int(change.recovering.value)]
    if change.directories.present:
        written["directories"] = [directory_text(d) for d in _ids(change.directories.value)]
    return written


def elr_sorted(state: Any) -> Any:
    """A state or change with its ELR lists in one order, since they compare as sets."""
    if not isinstance(state, dict):
        return state
    lists = {key: state[key] for key in ("elr", "last_known_elr") if isinstance(state.get(key), list)}
    return {**state, **{key: sorted(value, key=repr) for key, value in lists.items()}}


def pair(first: Callable[[object, str], A], second: Callable[[object, str], B]) -> Callable[[object, str], tuple[A, B]]:
    """A reader of lists of two members."""

    def read(value: object, where: str) -> tuple[A, B]:
        members = items(value, where)
        if len(members) != 2:
            raise FormError(f"{where}: a pair is wanted, not {len(members)} items")
        return first(members[0], where), second(members[1], where)

    return read


def _port(value: object, where: str) -> int:
    return integer(value, where, (0, 65535))


def read_listeners(value: object, where: str) -> tuple[Listener, ...]:
    """Listeners from an object of names and addresses."""
    fields = Fields.of(value, where)
    return tuple(Listener(name, *fields.read(name, pair(text, _port))) for name in fields.data)


def read_levels(value: object, where: str) -> tuple[Feature, ...]:
    """Features from an object of names and level ranges."""
    fields = Fields.of(value, where)
    return tuple(Feature(name, *fields.read(name, pair(integer, integer))) for name in fields.data)


_REGISTRATION: dict[str, Callable[[object, str], Any]] = {
    "id": integer, "epoch": long, "incarnation": text, "listeners": read_listeners, "features": read_levels,
    "rack": lambda value, where: None if value is None else text(value, where), "fenced": flag,
    "in_controlled_shutdown": flag, "is_migrating_zk_broker": flag, "dirs": directories,
}  # fmt: skip
"""The keys of a registration, which are called as its attributes."""


def read_registration(value: object, where: str) -> Registration:
    """A broker's registration; of its keys only the rack may be absent."""
    fields = Fields.of({"rack": None, **Fields.of(value, where).data}, where).only(*_REGISTRATION)
    return Registration(**{key: fields.read(key, reader) for key, reader in _REGISTRATION.items()})


def write_registration(registration: Registration) -> dict[str, Any]:
    """The object that describes a registration."""
    return {
        **{key: getattr(registration, key) for key in _REGISTRATION},
        "listeners": {item.name: [item.host, item.port] for item in registration.listeners},
        "features": {item.name: [item.min_level, item.max_level] for item in registration.features},
        "dirs": [directory_text(d) for d in registration.dirs],
    }


def known_parts(fields: Fields, *keys: str) -> dict[str, Any]:
    """What an object says of these keys of a registration."""
    return {key: fields.read(key, _REGISTRATION[key]) for key in keys if fields.has(key)}


def register_record_of(fields: Fields, key: str) -> RegisterBrokerRecord:
    """A registration as the log holds it; `key` is what its broker's id is called."""
    parts = {"incarnation": NO_INCARNATION, **known_parts(fields, *_REGISTRATION.keys() - {"id", "epoch"})}
    dirs = parts.pop("dirs", ())
    return RegisterBrokerRecord(fields.read(key, integer), fields.read("epoch", long), log_dirs=dirs, **parts)


def read_record(value: object, where: str) -> PartitionRecord:
    """The record of a partition; fields with a default may be absent."""
    fields = Fields.of(value, where).only(*PARTITION_KEYS)
    optional: dict[str, Ids | None] = {
        "removing_replicas": (),
        "adding_replicas": (),
        "elr": None,
        "last_known_elr": None,
    }
    lists: dict[str, Any] = {
        name: fields.read_or(key, integers, optional[key]) if key in optional else fields.read(key, integers)
        for key, name in LISTS.items()
    }
    numbers: dict[str, Any] = {
        key: fields.read_or(key, integer, -1) for key in ("leader", "leader_epoch", "partition_epoch")
    }
    recovering = fields.read_or("leader_recovery_state", choice(*RECOVERY), RECOVERY[0]) == RECOVERY[1]
    placed = fields.read_or("directories", directories, None)
    return PartitionRecord("topic", 0, recovering=recovering, directories=placed, **numbers, **lists)


def write_record(record: PartitionRecord) -> dict[str, Any]:
    """The object of a record; without the field it has no directories."""
    lists = {key: getattr(record, name) for key, name in LISTS.items()}
    return {
        **{key: members if members is None else list(members) for key, members in lists.items()},
        **{key: getattr(record, key) for key in ("leader", "leader_epoch", "partition_epoch")},
        "leader_recovery_state": RECOVERY[record.recovering],
        "directories": [directory_text(d) for d in record.directories or ()],
    }


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


def read_usable(value: object, where: str) -> UsableBroker:
    """A usable broker."""
    fields = Fields.of(value, where).only("id", "rack", "fenced")
    return UsableBroker(fields.read("id", integer), fields.read_or("rack", text, None), fields.read("fenced", flag))


def write_usable(broker: UsableBroker) -> dict[str, Any]:
    """The object of a usable broker."""
    return {"id": broker.id, "rack": broker.rack, "fenced": broker.fenced}


def _ids(value: object) -> Ids:
    return cast(DirectoryList, value).ids
