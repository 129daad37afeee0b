"""Partitions, targets, records and images for tests, as lists and as masks, and strategies that draw them."""

from collections.abc import Callable
from typing import Any

from attrs import evolve, frozen
from hypothesis import strategies as st

from kraftcheck.model.language.brokersets import BrokerSet, Replicas
from kraftcheck.model.language.idlists import AtMostOne, IdList
from kraftcheck.model.language.words import EMPTY, NO_LEADER, Maybe, absent, present
from kraftcheck.model.partition.change import Target
from kraftcheck.model.partition.election import BuildContext
from kraftcheck.model.partition.registration import (
    FIRST_LOCAL,
    MIGRATING,
    UNASSIGNED,
    DirectoryList,
    DirectoryMap,
    Partition,
    PartitionChange,
)
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


BROKERS = 3


@frozen
class Case:
    """One build in plain lists: the partition, the target, and who may lead."""

    # replicas .. recovering: the partition; `directories` maps every broker
    replicas: list[int]
    directories: list[int]
    isr: list[int]
    elr: list[int]
    last_known: list[int]
    removing: list[int]
    adding: list[int]
    leader: int
    recovering: bool
    # replicas, ISR, removing, adding and recovery state of the target
    wanted: tuple[list[int], list[int], list[int], list[int], bool]
    assigned: dict[int, int]  # brokers that get a new directory, with it
    # acceptable, stopped: brokers that may lead; that stopped uncleanly
    acceptable: list[int]
    stopped: list[int]
    # min_isr, unclean, elr: the rest of the context
    min_isr: int
    unclean: bool
    elr_on: bool
    # preferred, designated: the election, if it is no ordinary one
    preferred: bool = False
    designated: int | None = None


def _some(draw: st.DrawFn, of: list[int]) -> list[int]:
    """A subset, in the order given."""
    return [b for b in of if draw(st.booleans())]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A random case; ISR targets keep the order of the ISR, and sets without an order ascend."""
    everyone = list(range(BROKERS))
    replicas = draw(st.permutations(everyone))[: draw(st.integers(1, BROKERS))]
    isr = _some(draw, draw(st.permutations(replicas)))
    elr = _some(draw, [b for b in sorted(replicas) if b not in isr])
    leader = draw(st.sampled_from([NO_LEADER, *isr]))
    last_known = draw(st.lists(st.sampled_from(everyone), max_size=1)) if leader == NO_LEADER else []
    removing = _some(draw, sorted(replicas))
    adding = _some(draw, [b for b in sorted(replicas) if b not in removing])
    if draw(st.booleans()):
        removing, adding = [], []
    wanted_isr = _some(draw, isr) + _some(draw, [b for b in replicas if b not in isr])
    wanted = replicas, wanted_isr, removing, adding, draw(st.booleans())
    if draw(st.booleans()):  # A reassignment: any list, and what it removes and adds.
        goal = draw(st.permutations(everyone))[: draw(st.integers(1, BROKERS))]
        gone = sorted(b for b in replicas if b not in goal)
        wanted = [*goal, *gone], wanted_isr, gone, sorted(b for b in goal if b not in replicas), False
    places = st.integers(0, FIRST_LOCAL + 1)
    return Case(
        replicas=replicas, directories=[draw(places) if b in replicas else UNASSIGNED for b in everyone],
        isr=isr, elr=elr, last_known=last_known, removing=removing, adding=adding, leader=leader,
        recovering=draw(st.booleans()), wanted=wanted,
        assigned={b: draw(places) for b in _some(draw, replicas)},
        acceptable=_some(draw, everyone), stopped=_some(draw, everyone),
        min_isr=draw(st.integers(1, BROKERS)), unclean=draw(st.booleans()), elr_on=draw(st.booleans()),
        preferred=draw(st.booleans()), designated=draw(st.none() | st.sampled_from(everyone)),
    )  # fmt: skip


@frozen
class Inputs:
    """The three arguments of a build."""

    partition: Partition
    target: Target
    context: BuildContext


def _inputs(case: Case, partition: Partition, members: Callable[[list[int]], Any], replicas: Any) -> Inputs:
    _, isr, removing, adding, recovering = case.wanted
    target = Target(
        members(isr), replicas, members(removing), members(adding), recovering,
        lambda b: Maybe(b in case.assigned, case.assigned.get(b, UNASSIGNED)),
    )  # fmt: skip
    context = BuildContext(
        acceptable=members(case.acceptable), min_isr=case.min_isr, preferred=case.preferred, unclean=case.unclean,
        elr=case.elr_on, use_last_known_leader=True, unclean_shutdown=members(case.stopped),
        directory_assignment=True, leader_recovery=True, bump_on_isr_shrink=False,
        default_directory=lambda b: FIRST_LOCAL, designated=case.designated,
    )  # fmt: skip
    return Inputs(partition, target, context)


def as_lists(case: Case) -> Inputs:
    """The case as records keep it."""
    partition = Partition(
        IdList.of(case.replicas),
        DirectoryList(tuple(case.replicas), tuple(case.directories[b] for b in case.replicas)),
        IdList.of(case.isr), IdList.of(case.elr), IdList.of(case.last_known),
        IdList.of(case.removing), IdList.of(case.adding), case.leader, case.recovering, 5, 7,
    )  # fmt: skip
    return _inputs(case, partition, IdList.of, IdList.of(case.wanted[0]))


def as_masks(case: Case) -> Inputs:
    """The case as explored systems keep it."""
    partition = Partition(
        Replicas.of(case.replicas, BROKERS), DirectoryMap(tuple(case.directories)),
        BrokerSet.of(case.isr), BrokerSet.of(case.elr), AtMostOne(case.last_known[0] if case.last_known else EMPTY),
        BrokerSet.of(case.removing), BrokerSet.of(case.adding), case.leader, case.recovering, 5, 7,
    )  # fmt: skip
    return _inputs(case, partition, BrokerSet.of, Replicas.of(case.wanted[0], BROKERS))


def plainly(p: Partition) -> dict[str, Any]:
    """A partition in plain values: replicas as a list, the other collections as sorted lists."""
    replicas = list(p.replicas)  # type: ignore[call-overload]
    sets = {name: sorted(getattr(p, name)) for name in ("isr", "elr", "last_known_elr", "removing", "adding")}
    words = {name: getattr(p, name) for name in ("leader", "recovering", "leader_epoch", "partition_epoch")}
    return {"replicas": replicas, "directories": {b: p.directories.of(b) for b in replicas}, **sets, **words}
