"""Vectors of reassignment_replicas.json and reassignment_revert.json."""

from __future__ import annotations

from typing import Any, cast

from attrs import evolve

from kraftcheck.ci.conformance.vectors.core import Function, KafkaError, Vector, whole_value
from kraftcheck.model.language.brokersets import Brokers
from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.language.words import present
from kraftcheck.model.partition.change import Plan, complete, in_progress, original_replicas, plan, revert
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
from kraftcheck.model.records.records import Feature, Ids, Listener, Registration, ids
from kraftcheck.model.rules.ruleset import RuleSet

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
    change = no_change(p)
    for key, name in LISTS.items():
        if key in fields.data:
            members: Any = present(cast(Brokers, fields.read(key, brokers)))
            change = evolve(change, **{name: members})
    if "leader" in fields.data:
        change = evolve(change, leader=present(fields.read("leader", integer)))
    if "leader_recovery_state" in fields.data:
        recovering = fields.read("leader_recovery_state", choice(*RECOVERY)) == "RECOVERING"
        change = evolve(change, recovering=present(recovering))
    if "directories" in fields.data:
        replicas = ids(change.replicas.or_else(p.replicas))
        change = evolve(change, directories=present(DirectoryList(replicas, fields.read("directories", directories))))
    return change


def write_change(change: PartitionChange) -> dict[str, Any] | None:
    """The fields of a change; None when nothing is written."""
    if change.is_noop():
        return None
    written: dict[str, Any] = {}
    for key, name in LISTS.items():
        value = getattr(change, name)
        if value.present:
            written[key] = list(ids(value.value))
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


def read_registration(value: object, where: str) -> Registration:
    """A broker's registration."""
    fields = Fields.of(value, where).only(
        "id", "epoch", "incarnation", "listeners", "features", "rack",
        "fenced", "in_controlled_shutdown", "is_migrating_zk_broker", "dirs",
    )  # fmt: skip
    return Registration(
        id=fields.read("id", integer),
        epoch=fields.read("epoch", long),
        incarnation=fields.read("incarnation", text),
        listeners=fields.read("listeners", read_listeners),
        features=fields.read("features", read_levels),
        rack=fields.read_or("rack", text, None),
        fenced=fields.read("fenced", flag),
        in_controlled_shutdown=fields.read("in_controlled_shutdown", flag),
        is_migrating_zk_broker=fields.read("is_migrating_zk_broker", flag),
        dirs=fields.read("dirs", directories),
    )


def read_listeners(value: object, where: str) -> tuple[Listener, ...]:
    """Listeners from an object of names and addresses."""
    fields = Fields.of(value, where)
    return tuple(Listener(name, *fields.read(name, _address)) for name in fields.data)


def read_levels(value: object, where: str) -> tuple[Feature, ...]:
    """Features from an object of names and level ranges."""
    fields = Fields.of(value, where)
    return tuple(Feature(name, *fields.read(name, _levels)) for name in fields.data)


def write_registration(registration: Registration) -> dict[str, Any]:
    """The object that describes a registration."""
    return {
        "id": registration.id,
        "epoch": registration.epoch,
        "incarnation": registration.incarnation,
        "listeners": {item.name: [item.host, item.port] for item in registration.listeners},
        "features": {item.name: [item.min_level, item.max_level] for item in registration.features},
        "rack": registration.rack,
        "fenced": registration.fenced,
        "in_controlled_shutdown": registration.in_controlled_shutdown,
        "is_migrating_zk_broker": registration.is_migrating_zk_broker,
        "dirs": [directory_text(d) for d in registration.dirs],
    }


def _address(value: object, where: str) -> tuple[str, int]:
    host, port = _pair(value, where)
    return text(host, where), integer(port, where, (0, 65535))


def _levels(value: object, where: str) -> tuple[int, int]:
    low, high = _pair(value, where)
    return integer(low, where), integer(high, where)


def _pair(value: object, where: str) -> list[Any]:
    pair = items(value, where)
    if len(pair) != 2:
        raise FormError(f"{where}: a pair is wanted, not {len(pair)} items")
    return pair


def _ids(value: object) -> Ids:
    return cast(DirectoryList, value).ids


PLAN_INPUT = ("current_replicas", "target_replicas")


def _plan_of(fields: Fields) -> Plan:
    """The plan that the vector gives, or gives the input of."""
    if fields.has("replicas"):
        return Plan(
            removing=fields.read_or("removing", brokers, IdList()),
            adding=fields.read_or("adding", brokers, IdList()),
            replicas=fields.read("replicas", brokers),
        )
    return plan(fields.read("current_replicas", brokers), fields.read("target_replicas", brokers))


def _plan(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    planned = _plan_of(vector.given)
    return {name: list(ids(getattr(planned, name))) for name in ("removing", "adding", "replicas")}


def _complete(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    planned = _plan_of(vector.given)
    isr = vector.when.read("isr", brokers)
    end = complete(planned.replicas, isr, planned.removing, planned.adding)
    return {
        "in_progress": in_progress(planned.removing, planned.adding),
        "completed": {"isr": list(ids(end.isr)), "replicas": list(ids(end.replicas))} if end.done else None,
    }


def _in_progress(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    if vector.given.has("partition"):
        return {"in_progress": vector.given.read("partition", read_partition).reassigning()}
    planned = _plan_of(vector.given)
    return {"in_progress": in_progress(planned.removing, planned.adding)}


def _original(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    planned = _plan_of(vector.given)
    return {"original_replicas": list(ids(original_replicas(planned.replicas, planned.adding)))}


def _revert(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    back = revert(vector.given.read("partition", read_partition))
    if not back.possible:
        raise KafkaError("INVALID_REPLICA_ASSIGNMENT")
    return {
        "replicas": list(ids(back.replicas)),
        "isr": list(ids(cast(IdList, back.isr))),
        "unclean": back.unclean,
    }


_EXPLICIT = (*PLAN_INPUT, "removing", "adding", "replicas")

FUNCTIONS = {
    "plan_reassignment": Function(
        _plan, PLAN_INPUT, (), {"removing": whole_value, "adding": whole_value, "replicas": whole_value}
    ),
    "maybe_complete_reassignment": Function(
        _complete, _EXPLICIT, ("isr",), {"in_progress": whole_value, "completed": whole_value}
    ),
    "is_reassignment_in_progress": Function(_in_progress, ("partition", *_EXPLICIT), (), {"in_progress": whole_value}),
    "original_replicas": Function(_original, _EXPLICIT, (), {"original_replicas": whole_value}),
    "revert_reassignment": Function(
        _revert, ("partition",), (), {"replicas": whole_value, "isr": whole_value, "unclean": whole_value}
    ),
}
"""The functions of the two files by name."""
