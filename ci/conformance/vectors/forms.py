"""The objects of vectors: partitions, their changes and records, registrations, brokers; read and written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from attrs import evolve, frozen

from kraftcheck.model.controller.placement import UsableBroker
from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.language.words import present
from kraftcheck.model.partition.registration import DirectoryList, Partition, PartitionChange, no_change
from kraftcheck.model.records import records
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

A = TypeVar("A")
B = TypeVar("B")

RECOVERY = ("RECOVERED", "RECOVERING")  # the leader recovery states by their number
NO_INCARNATION = "AAAAAAAAAAAAAAAAAAAAAA"  # the incarnation where a vector names none


def directory(value: object, where: str) -> int:
    """A directory id from its text."""
    try:
        return CODE.parse(value)
    except DirectoryTextError as reason:
        raise FormError(f"{where}: {reason}") from None


directories = each(directory)  # a reader of lists of directory ids


def directory_text(value: int) -> str:
    """A directory id as text; -1 stands for a default that was asked for but not given."""
    return "(no default given)" if value < 0 else CODE.text(value)


def brokers(value: object, where: str) -> IdList:
    """A list of brokers in its order."""
    return IdList(integers(value, where))


def recovering(value: object, where: str) -> bool:
    """Whether a recovery state is that of a leader that recovers."""
    return choice(*RECOVERY)(value, where) == RECOVERY[1]


@frozen
class Part:
    """A field of partitions, of their changes and of their records."""

    name: str  # what the model calls it
    read: Callable[[object, str], Any] = integer  # its value in a record from a plain one
    write: Callable[[Any], Any] = lambda value: value  # the plain value of one in a record or a partition
    default: Any = -1  # what a record has that does not name it


def _members(name: str, default: Any = ()) -> Part:
    return Part(name, integers, lambda members: list(records.ids(members)), default)


PARTS = {
    "replicas": _members("replicas"),
    "directories": Part(
        "directories", directories, lambda placed: [directory_text(d) for d in getattr(placed, "ids", placed)], None
    ),
    "isr": _members("isr"),
    "removing_replicas": _members("removing"),
    "adding_replicas": _members("adding"),
    "leader": Part("leader"),
    "leader_recovery_state": Part("recovering", recovering, lambda value: RECOVERY[int(value)], False),
    "leader_epoch": Part("leader_epoch"),
    "elr": _members("elr", None),
    "last_known_elr": _members("last_known_elr", None),
    "partition_epoch": Part("partition_epoch"),
}
"""The parts of a partition by key, in the order in which differences are reported."""

LISTS = tuple(key for key, part in PARTS.items() if part.read is integers)  # keys that hold lists of brokers
CHANGE_KEYS = tuple(key for key in PARTS if not key.endswith("_epoch"))  # the keys of a change


def _of_partition(values: Mapping[str, Any], replicas: records.Ids) -> dict[str, Any]:
    """Values of a record, by name, as a partition with these replicas has them."""
    names = {PARTS[key].name for key in LISTS}
    lists = {name: IdList(value) for name, value in values.items() if name in names}
    placed = {"directories": DirectoryList(replicas, values["directories"])} if "directories" in values else {}
    return {**values, **lists, **placed}


def read_partition(value: object, where: str) -> Partition:
    """A partition from its state."""
    fields = Fields.of(value, where).only(*PARTS)
    values = {part.name: fields.read(key, part.read) for key, part in PARTS.items()}
    replicas, placed = values["replicas"], values["directories"]
    if len(placed) != len(replicas):
        raise FormError(f"{fields.key('directories')}: {len(placed)} directories for {len(replicas)} replicas")
    return Partition(**_of_partition(values, replicas))


def write_partition(p: Partition) -> dict[str, Any]:
    """The state of a partition, in reporting order."""
    return {key: part.write(getattr(p, part.name)) for key, part in PARTS.items()}


def read_change(p: Partition, value: object, where: str) -> PartitionChange:
    """A change of this partition from the object that lists its fields."""
    fields = Fields.of(value, where).only(*CHANGE_KEYS)
    values = {PARTS[key].name: fields.read(key, PARTS[key].read) for key in CHANGE_KEYS if key in fields.data}
    changed = _of_partition(values, values.get("replicas", records.ids(p.replicas)))
    return evolve(no_change(p), **{name: present(one) for name, one in changed.items()})


def write_change(change: PartitionChange) -> dict[str, Any] | None:
    """The fields of a change; None when nothing is written."""
    if change.is_noop():
        return None
    parts = {key: (PARTS[key], getattr(change, PARTS[key].name)) for key in CHANGE_KEYS}
    return {key: part.write(field.value) for key, (part, field) in parts.items() if field.present}


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


def read_listeners(value: object, where: str) -> tuple[records.Listener, ...]:
    """Listeners from an object of names and addresses."""
    fields = Fields.of(value, where)
    return tuple(records.Listener(name, *fields.read(name, pair(text, _port))) for name in fields.data)


def read_levels(value: object, where: str) -> tuple[records.Feature, ...]:
    """Features from an object of names and level ranges."""
    fields = Fields.of(value, where)
    return tuple(records.Feature(name, *fields.read(name, pair(integer, integer))) for name in fields.data)


_REGISTRATION: dict[str, Callable[[object, str], Any]] = {
    "id": integer, "epoch": long, "incarnation": text, "listeners": read_listeners, "features": read_levels,
    "rack": lambda value, where: None if value is None else text(value, where), "fenced": flag,
    "in_controlled_shutdown": flag, "is_migrating_zk_broker": flag, "dirs": directories,
}  # fmt: skip
"""The keys of a registration, which are called as its attributes."""


def read_registration(value: object, where: str) -> records.Registration:
    """A broker's registration; of its keys only the rack may be absent."""
    fields = Fields.of({"rack": None, **Fields.of(value, where).data}, where).only(*_REGISTRATION)
    return records.Registration(**{key: fields.read(key, reader) for key, reader in _REGISTRATION.items()})


def write_registration(registration: records.Registration) -> dict[str, Any]:
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


def register_record_of(fields: Fields, key: str) -> records.RegisterBrokerRecord:
    """A registration as the log holds it; `key` is what its broker's id is called."""
    parts = {"incarnation": NO_INCARNATION, **known_parts(fields, *_REGISTRATION.keys() - {"id", "epoch"})}
    dirs = parts.pop("dirs", ())
    return records.RegisterBrokerRecord(fields.read(key, integer), fields.read("epoch", long), log_dirs=dirs, **parts)


def read_record(value: object, where: str) -> records.PartitionRecord:
    """The record of a partition; fields with a default may be absent."""
    fields = Fields.of(value, where).only(*PARTS)
    values: dict[str, Any] = {part.name: fields.read_or(key, part.read, part.default) for key, part in PARTS.items()}
    needed = {key: fields.read(key, integers) for key in ("replicas", "isr")}
    return records.PartitionRecord("topic", 0, **{**values, **needed})


def write_record(record: records.PartitionRecord) -> dict[str, Any]:
    """The object of a record; without the field it has no directories."""
    values = {key: getattr(record, part.name) for key, part in PARTS.items()} | {
        "directories": record.directories or ()
    }
    return {key: None if value is None else PARTS[key].write(value) for key, value in values.items()}


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
