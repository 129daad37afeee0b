"""Partitions, records and images for tests, and strategies that draw them."""

from __future__ import annotations

from typing import Any

from attrs import evolve
from hypothesis import strategies as st

from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.language.words import NO_LEADER, Maybe, absent, present
from kraftcheck.model.partition.registration import MIGRATING, DirectoryList, Partition, PartitionChange
from kraftcheck.model.records.records import (
    BrokerRegistrationChangeRecord,
    Feature,
    FenceBrokerRecord,
    Listener,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)

DIR_A, DIR_B, DIR_C = (0x1111 << 100) + 7, (0x2222 << 100) + 7, (0xF222 << 112) + 7


def partition(replicas: tuple[int, ...] = (1, 2, 3), **fields: Any) -> Partition:
    """A partition of ordered lists; lists are given as tuples."""
    dirs = fields.pop("directories", (MIGRATING,) * len(replicas))
    state: dict[str, Any] = {
        "isr": replicas,
        "elr": (),
        "last_known_elr": (),
        "removing": (),
        "adding": (),
        "leader": replicas[0] if replicas else NO_LEADER,
        "recovering": False,
        "leader_epoch": 10,
        "partition_epoch": 20,
        **fields,
    }
    lists = {name: IdList(value) if isinstance(value, tuple) else value for name, value in state.items()}
    return Partition(replicas=IdList(replicas), directories=DirectoryList(replicas, dirs), **lists)


def change(**fields: Any) -> PartitionChange:
    """A change with these fields present; lists are given as tuples."""
    made = PartitionChange(
        **{name: absent(IdList()) for name in ("replicas", "isr", "elr", "last_known_elr", "removing", "adding")},
        directories=absent(DirectoryList((), ())),
        leader=absent(NO_LEADER),
        recovering=absent(False),
    )
    for name, value in fields.items():
        wrapped = value
        if name == "directories":
            wrapped = DirectoryList(fields.get("replicas", ()), value)
        elif isinstance(value, tuple):
            wrapped = IdList(value)
        made = evolve(made, **{name: present(wrapped)})
    return made


def maybe(value: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """The value or None."""
    return st.one_of(st.none(), value)


brokers = st.lists(st.integers(0, 5), unique=True, max_size=5).map(tuple)
directory_ids = st.sampled_from([0, 1, 2, 3, 99, DIR_A, DIR_B, DIR_C, (1 << 128) - 1])
epochs = st.integers(0, 9)
topics = st.sampled_from(["t1", "t2"])


@st.composite
def changes(draw: st.DrawFn) -> PartitionChange:
    """Any change, its directories belonging to its replicas."""
    fields: dict[str, Any] = {}
    for name in ("replicas", "isr", "elr", "last_known_elr", "removing", "adding"):
        fields[name] = draw(maybe(brokers))
    fields["leader"] = draw(maybe(st.integers(-1, 5)))
    fields["recovering"] = draw(maybe(st.booleans()))
    size = 3 if fields["replicas"] is None else len(fields["replicas"])
    fields["directories"] = draw(maybe(st.lists(directory_ids, min_size=size, max_size=size).map(tuple)))
    return change(**{name: value for name, value in fields.items() if value is not None})


partition_records = st.builds(
    PartitionRecord,
    topic_id=topics,
    partition_id=st.integers(0, 1),
    replicas=brokers,
    isr=brokers,
    removing=brokers,
    adding=brokers,
    leader=st.integers(-1, 5),
    recovering=st.booleans(),
    leader_epoch=epochs,
    partition_epoch=epochs,
    directories=maybe(st.lists(directory_ids, max_size=5).map(tuple)),
    elr=maybe(brokers),
    last_known_elr=maybe(brokers),
)
listeners = st.builds(Listener, st.sampled_from("AB"), st.just("host"), st.integers(0, 65535), st.sampled_from(["SSL"]))
features = st.builds(Feature, st.sampled_from("fg"), st.integers(0, 3), st.integers(3, 7))
register_records = st.builds(
    RegisterBrokerRecord,
    broker_id=st.integers(0, 2),
    broker_epoch=epochs,
    incarnation=st.sampled_from(["i", "j"]),
    listeners=st.lists(listeners, max_size=2, unique_by=lambda known: known.name).map(tuple),
    features=st.lists(features, max_size=2, unique_by=lambda known: known.name).map(tuple),
    rack=maybe(st.just("r")),
    fenced=st.booleans(),
    in_controlled_shutdown=st.booleans(),
    is_migrating_zk_broker=st.booleans(),
    log_dirs=st.lists(directory_ids, max_size=3, unique=True).map(tuple),
    cordoned=maybe(st.lists(directory_ids, max_size=2).map(tuple)),
)
records = st.one_of(
    st.builds(TopicRecord, st.sampled_from(["foo", "bar"]), topics),
    st.builds(RemoveTopicRecord, topics),
    partition_records,
    st.builds(PartitionChangeRecord, topics, st.integers(0, 1), changes()),
    register_records,
    st.builds(UnregisterBrokerRecord, st.integers(0, 2), epochs),
    st.builds(
        BrokerRegistrationChangeRecord,
        st.integers(0, 2),
        epochs,
        st.integers(-1, 1),
        st.integers(0, 1),
        maybe(st.lists(directory_ids, max_size=2).map(tuple)),
        maybe(st.lists(directory_ids, max_size=2).map(tuple)),
    ),
    st.builds(FenceBrokerRecord, st.integers(0, 2), epochs),
    st.builds(UnfenceBrokerRecord, st.integers(0, 2), epochs),
)


def given_value(field: Maybe[Any]) -> Any:
    """The value of a present field, else the word absent."""
    return field.value if field.present else "absent"
