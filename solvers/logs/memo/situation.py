"""The situation of a partition: exactly what the explanation of a change of it depends on.

Every event that may have written a change decides partition by partition. What
it decides there depends on the partition without its epochs, on the
registrations of the brokers that it names without theirs, on the topic's two
settings, and on features and rules. Partitions in the same situation therefore
get the same explanations, and the same verdicts of the properties. What
brokers and directories are called changes neither. So a situation is a shape
and the names in it: each shape is explained once, on a controller that has
nothing else.

Rules ask whether two brokers, or two directories, are the same, and which comes first; with ELR on they also list an
ELR as Kafka's hash set does. They know the id -1, which is no broker, and the reserved directory ids. Nothing else
about an id matters. So brokers get numbers in the order of their ids, and the directories of each broker are called by
its number and their place among its own. Ids are not renamed where they make no sense (a broker below -1, a directory
of two brokers, a reserved one that is registered, directories that are not one a replica), and where their order in the
hash set is not sure.
"""

from __future__ import annotations

from collections.abc import Iterable, KeysView, Mapping
from functools import cached_property
from itertools import chain, pairwise
from typing import Any

from attrs import evolve, field, frozen

from kraftcheck.model.controller.heartbeat import Sessions
from kraftcheck.model.controller.state import MIN_ISR, UNCLEAN_ELECTION, Configs, Controller, Soft
from kraftcheck.model.language.idlists import FULL_SLOT, SMALLEST_TABLE, IdList, slot_of
from kraftcheck.model.language.words import NO_LEADER, present
from kraftcheck.model.partition.registration import Directories, DirectoryList, Partition, PartitionChange, is_reserved
from kraftcheck.model.records.records import (
    BrokerRegistrationChangeRecord,
    Ids,
    PartitionChangeRecord,
    RegisterBrokerRecord,
    Registration,
    directory_order,
    ids,
)
from kraftcheck.model.records.replay import ClusterImage, ElrIndex, Topic
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.logs.explain.guesses import BrokerRecord
from kraftcheck.solvers.logs.explain.partition_guesses import Words
from kraftcheck.solvers.logs.explain.state import Batch, ModelRecord, State


def numbers_of(brokers: Ids, elr_enabled: bool) -> Ids | None:
    """What brokers, in the order of their ids, are called: as few numbers as possible, in that order.

    With ELR on, a hash set has to list the numbers as it does the ids. Numbers below 16 it lists in ascending order.
    Where it does not list the ids so, each number is a multiple of 16, which keeps the order of the ids, and a slot,
    which keeps that of the set: ids 15 and 32 are called 1 and 16, which the set lists as 16 and 1.

    None where a set of some may have more slots than the smallest one, so that it is not sure how it lists them.
    """
    places = tuple(range(len(brokers)))
    slots = [slot_of(broker, SMALLEST_TABLE) for broker in brokers]
    if not elr_enabled or all(broker < SMALLEST_TABLE for broker in brokers):
        return places
    if len(brokers) > FULL_SLOT:
        return None
    if all(a < b for a, b in pairwise(slots)):
        return places
    ranks = {slot: rank for rank, slot in enumerate(sorted(set(slots)))}
    return tuple(SMALLEST_TABLE * place + ranks[slot] for place, slot in zip(places, slots, strict=True))


Registrations = Mapping[int, Registration | None]  # registrations by broker, None where there is none
Form = tuple[object, ...]  # a renamed change, event or registration as plain, hashable values: a key of the memo


class _Brokers(dict[int, int]):
    """Brokers by their other names; -1 is no broker."""

    def __missing__(self, broker: int) -> int:
        if broker == NO_LEADER:
            return broker
        raise KeyError(broker)


class _Directories(dict[int, int]):
    """Directories by their other names; reserved ids stay."""

    def __missing__(self, directory: int) -> int:
        if is_reserved(directory):
            return directory
        raise KeyError(directory)


class _Identity(dict[int, int]):
    """Names that stay."""

    def __missing__(self, name: int) -> int:
        return name


@frozen
class Renaming:
    """Names that are exchanged for others."""

    # brokers, directories: the other name of each; a KeyError for one that has none
    brokers: Mapping[int, int]
    directories: Mapping[int, int]

    def broker_ids(self, brokers: Iterable[int]) -> Ids:
        """Brokers in the order given."""
        return tuple([self.brokers[broker] for broker in brokers])

    def directory_ids(self, directories: Iterable[int]) -> Ids:
        """Directories in the order given."""
        return tuple([self.directories[directory] for directory in directories])

    def words(self, words: Words) -> Words:
        """A text with other brokers."""
        return tuple(
            word if isinstance(word, str) else self.brokers[word] if isinstance(word, int) else self.broker_ids(word)
            for word in words
        )

    def partition(self, p: Partition) -> Partition:
        """A partition whose directories are a list."""
        lists: dict[str, Any] = {name: self._list(getattr(p, name)) for name in _LISTS}
        return evolve(
            p, directories=self._renamed_directories(p.directories), leader=self.brokers[int(p.leader)], **lists
        )

    def form_of_partition(self, p: Partition) -> Form:
        """A partition without its epochs as plain values."""
        lists = [self.broker_ids(ids(getattr(p, name))) for name in _LISTS]
        placed = _directory_list(p.directories)
        directories = self.broker_ids(placed.replicas), self.directory_ids(placed.ids)
        return *lists, *directories, self.brokers[int(p.leader)], bool(p.recovering)

    def _list(self, brokers: object) -> IdList:
        assert isinstance(brokers, IdList)
        return IdList(self.broker_ids(brokers.ids))

    def _renamed_directories(self, directories: Directories) -> DirectoryList:
        directory_list = _directory_list(directories)
        return DirectoryList(self.broker_ids(directory_list.replicas), self.directory_ids(directory_list.ids))

    def registration(self, registration: Registration | None) -> Registration | None:
        """A registration."""
        return (
            None
            if registration is None
            else evolve(registration, id=self.brokers[registration.id], dirs=self.directory_ids(registration.dirs))
        )

    def registrations(self, registrations: Registrations) -> Registrations:
        """Registrations by broker."""
        return {self.brokers[broker]: self.registration(registration) for broker, registration in registrations.items()}

    def change(self, record: PartitionChangeRecord) -> PartitionChangeRecord:
        """A change of a partition; fields that are absent stay."""
        change = record.change
        values: dict[str, Any] = {}
        for name in _LISTS:
            maybe = getattr(change, name)
            if maybe.present:
                values[name] = present(self._list(maybe.value))
        if change.leader.present:
            values["leader"] = present(self.brokers[int(change.leader.value)])
        if change.directories.present:
            values["directories"] = present(self._renamed_directories(change.directories.value))
        return evolve(record, change=evolve(change, **values))

    def record(self, record: BrokerRecord) -> BrokerRecord:
        """A record of a broker."""
        renamed = evolve(record, broker_id=self.brokers[record.broker_id])
        if isinstance(renamed, RegisterBrokerRecord | BrokerRegistrationChangeRecord) and renamed.log_dirs is not None:
            return evolve(renamed, log_dirs=self.directory_ids(renamed.log_dirs))
        return renamed

    def form_of_change(self, change: PartitionChange) -> Form:
        """A change of a partition as plain values, None for what is absent."""
        leader, directories, recovering = change.leader, change.directories, change.recovering
        return (
            self.brokers[int(leader.value)] if leader.present else None,
            *[
                self.broker_ids(brokers.value.ids) if (brokers := getattr(change, name)).present else None
                for name in _LISTS
            ],
            self.directory_ids(_directory_list(directories.value).ids) if directories.present else None,
            bool(recovering.value) if recovering.present else None,
        )

    def form_of_registration(self, registration: Registration | None) -> Form | None:
        """A plain registration as plain values."""
        return None if registration is None else (
            self.brokers[registration.id], registration.fenced, registration.in_controlled_shutdown,
            registration.is_migrating_zk_broker, self.directory_ids(registration.dirs), registration.no_dir_left,
        )  # fmt: skip


_IDENTITY = Renaming(_Identity(), _Identity())

_LISTS = ("replicas", "isr", "elr", "last_known_elr", "removing", "adding")


@frozen(cache_hash=True)
class ShapeNames:
    """The names of a shape's brokers and directories in one situation."""

    brokers: Ids  # their ids; where they are renamed in order
    directories: tuple[Ids, ...]  # of each broker its own, in their order; where they are not renamed none
    renamed: bool  # whether anything is
    numbers: Ids = field()  # what the brokers are called; by default 0, 1, .

    @numbers.default
    def _places(self) -> Ids:
        return tuple(range(len(self.brokers)))

    @cached_property
    def to_shape(self) -> Renaming:
        """From ids to the shape's names."""
        if not self.renamed:
            return _IDENTITY
        pairs = zip(self.brokers, self.numbers, strict=True)
        return Renaming(_Brokers(pairs), _Directories(self._directory_pairs()))

    @cached_property
    def to_ids(self) -> Renaming:
        """From the shape's names to ids."""
        if not self.renamed:
            return _IDENTITY
        pairs = zip(self.numbers, self.brokers, strict=True)
        return Renaming(_Brokers(pairs), _Directories((d, own) for own, d in self._directory_pairs()))

    @cached_property
    def _own(self) -> Mapping[int, Ids]:
        """The directories of each broker, by its number."""
        return dict(zip(self.numbers, self.directories, strict=True))

    def _directory_pairs(self) -> list[tuple[int, int]]:
        return [(d, canonical_directory(k, j)) for k, own in self._own.items() for j, d in enumerate(own)]

    def has_broker(self, broker: int, *registered: Registration | None) -> bool:
        """Whether a broker and all directories of these registrations of it have names."""
        if not self.renamed:
            return True
        if broker not in self.to_shape.brokers:
            return False
        directories = self._own[self.to_shape.brokers[broker]]
        return all(
            directory in directories
            for registration in registered
            if registration is not None
            for directory in registration.dirs
        )

    def has_directories(self, p: Partition, change: PartitionChange) -> bool:
        """Whether the directories of a change have names; the partition is the shape's."""
        maybe = change.directories
        if not (maybe.present and self.renamed):
            return True
        directories = _directory_list(maybe.value).ids
        replicas = self.to_shape.broker_ids(ids(change.replicas.value)) if change.replicas.present else ids(p.replicas)
        pairs = zip(replicas, directories, strict=False)
        known_names = (is_reserved(d) or (k >= 0 and d in self._own[k]) for k, d in pairs)
        return len(directories) == len(replicas) and all(known_names)

    def canonical(self) -> ShapeNames:
        """The names of the shape itself: each canonical name stands for itself."""
        directories = tuple(tuple(canonical_directory(k, j) for j in range(len(own))) for k, own in self._own.items())
        return ShapeNames(self.numbers, directories, self.renamed, self.numbers)


def _directory_list(directories: Directories) -> DirectoryList:
    """Directories of a log, which are always a list."""
    assert isinstance(directories, DirectoryList)
    return directories


def canonical_directory(broker: int, place: int) -> int:
    """What a directory is called: by its broker's number and its place among the broker's directories."""
    return (broker + 1 << 64) + place


def names_of(
    p: Partition, registered: Iterable[tuple[int, Registration | None]], change: PartitionChange | None = None,
    elr_enabled: bool = True,
) -> ShapeNames:  # fmt: skip
    """The names in a partition, in registrations of its brokers and of others, and in a change.

    Ids that make no sense are not renamed.
    """
    directories: dict[int, set[int]] = {}
    for broker, registration in registered:
        directories.setdefault(broker, set()).update(() if registration is None else registration.dirs)
    is_sound = all(broker > NO_LEADER for broker in directories) and not any(
        map(is_reserved, chain(*directories.values()))
    )
    replicas = ids(p.replicas)
    assigned = _directory_list(p.directories)
    lists = [(replicas, assigned.ids)]
    if change is not None and change.directories.present:
        replicas_after = ids(change.replicas.value) if change.replicas.present else replicas
        lists.append((replicas_after, _directory_list(change.directories.value).ids))
    for brokers, directory_list in lists:
        is_sound = (
            is_sound and len(set(brokers)) == len(brokers) == len(directory_list) and set(brokers) <= directories.keys()
        )
        for broker, directory in zip(brokers, directory_list, strict=False):
            directories.setdefault(broker, set()).update(() if is_reserved(directory) else (directory,))
    ordered = tuple(sorted(directories))
    distinct = len(set(chain(*directories.values()))) == sum(map(len, directories.values()))
    numbers = numbers_of(ordered, elr_enabled)
    is_sound = is_sound and not (elr_enabled and NO_LEADER in (*ids(p.isr), *ids(p.elr)))
    if numbers is None or not (is_sound and distinct and assigned.replicas == replicas):
        return ShapeNames(ordered, (), False)
    own = tuple(tuple(sorted(directories[b], key=directory_order)) for b in ordered)
    return ShapeNames(ordered, own, True, numbers)


TOPIC = "\0topic"  # name and id of the one topic of a situation; no real topic has it
EPOCH = 7  # all epochs in a situation: records do not state a partition's epoch, and events copy a broker's


@frozen
class Context:
    """The effective configuration of a topic: the effective min ISR, and whether elections may be unclean."""

    min_isr: int
    unclean: bool


def plain_registration(registration: Registration | None) -> Registration | None:
    """A registration without what changes of partitions do not depend on."""
    return (
        None
        if registration is None
        else evolve(registration, epoch=EPOCH, incarnation="", listeners=(), features=(), rack=None, cordoned=None)
    )


def brokers_of(p: Partition) -> tuple[int, ...]:
    """Every broker that a partition names, in order."""
    lists = (p.replicas, p.isr, p.elr, p.last_known_elr, p.adding, p.removing, (int(p.leader),))
    return tuple(sorted({b for brokers in lists for b in brokers if b != NO_LEADER}))  # type: ignore[union-attr]


def without_epochs(p: Partition) -> Partition:
    """The partition with the epochs of a situation."""
    return evolve(p, leader_epoch=EPOCH, partition_epoch=EPOCH)


class Shape:
    """A partition with its context and registrations, and the memoised results of the steps from it.

    Attributes:
        partition: the partition, with the epochs of a situation.
        registrations: plain registrations of the brokers that it names, None where there is none.
        results: the memoised results of changes and events here.
    """

    __slots__ = ("context", "partition", "registrations", "results")

    def __init__(self, partition: Partition, context: Context, registrations: Registrations) -> None:
        self.partition, self.context, self.registrations = partition, context, registrations
        self.results: dict[Any, Any] = {}

    def state(self, base: State, others: Registrations) -> State:
        """A state with this partition alone, and with registrations of other brokers."""
        registrations = {b: r for b, r in {**self.registrations, **others}.items() if r is not None}
        ordered = {b: registrations[b] for b in sorted(registrations)}
        settings = {MIN_ISR: str(self.context.min_isr), UNCLEAN_ELECTION: str(self.context.unclean).lower()}
        image = ClusterImage(
            topics={TOPIC: Topic(TOPIC, {0: self.partition})},
            registrations=ordered,
            registration_offsets=dict.fromkeys(ordered, EPOCH),
            next_offset=EPOCH + 1,
        )
        soft = Soft(Sessions(base.controller.soft.sessions.timeout))
        controller = evolve(
            base.controller, image=image, stale_dirs=frozenset(), elr_index=ElrIndex(),
            configs=Configs({TOPIC: settings}), controllers={}, soft=soft,
        )  # fmt: skip
        return State(controller, base.levels)


class Situation:
    """One situation: a shape, and the names in it.

    Attributes:
        leaderless: whether the partition has no leader.
        changes: the step of each single change, by the bytes or fields of the change.
        events: the step of each event, by event, then by change or None.
    """

    __slots__ = ("_partition", "_plain_values", "changes", "events", "leaderless", "names", "shape")

    def __init__(self, shape: Shape, names: ShapeNames) -> None:
        self.shape, self.names = shape, names
        self.leaderless = bool(shape.partition.leader == NO_LEADER)
        self.changes: dict[Any, PartitionStep] = {}
        self.events: dict[Any, dict[Any, PartitionStep]] = {}
        self._partition: Partition | None = None
        self._plain_values: tuple[int, Ids, Ids, Ids] | None = None

    @property
    def partition(self) -> Partition:
        """The partition, with the epochs of a situation."""
        if self._partition is None:
            self._partition = self.names.to_ids.partition(self.shape.partition)
        return self._partition

    @property
    def plain_values(self) -> tuple[int, Ids, Ids, Ids]:
        """Leader, replicas, ISR and ELR, as plain values."""
        if self._plain_values is None:
            p = self.partition
            self._plain_values = (int(p.leader), ids(p.replicas), ids(p.isr), ids(p.elr))
        return self._plain_values

    @property
    def context(self) -> Context:
        """The context of its topic."""
        return self.shape.context

    @property
    def registrations(self) -> Registrations:
        """Plain registrations of the brokers that the partition names, None where there is none."""
        return self.names.to_ids.registrations(self.shape.registrations)

    def brokers(self) -> KeysView[int]:
        """The brokers that the partition names."""
        return (self.names.to_shape.brokers if self.names.renamed else self.shape.registrations).keys()

    def state(self, base: State, others: Registrations) -> State:
        """A state with this partition alone, and with registrations of other brokers."""
        return Shape(self.partition, self.context, self.registrations).state(base, others)


@frozen
class EventName:
    """A step of an explanation: the event in words, with TOPIC for the topic, and what `elections` calls it."""

    name: str
    action: str


class PartitionStep:
    """The step that one change, or one event, makes from a situation.

    Attributes:
        after: the situation after it; None where the memo does not apply and the batch is explained as a whole.
        leader_epoch, partition_epoch: by how much the epochs rise.
        count: how many events explain it.
        event: the first of these events.
        violates: whether some property does not hold after it.
        flips: whether the partition gets or loses a leader.
    """

    __slots__ = ("after", "count", "event", "flips", "leader_epoch", "partition_epoch", "violates")

    def __init__(
        self, before: Situation, after: Situation | None, end: Partition | None = None, count: int = 0,
        event: EventName | None = None, violates: bool = False,
    ) -> None:  # fmt: skip
        self.after, self.count, self.event, self.violates = after, count, event, violates
        self.leader_epoch = self.partition_epoch = 0
        self.flips = after is not None and after.leaderless != before.leaderless
        if end is not None:
            self.leader_epoch, self.partition_epoch = int(end.leader_epoch) - EPOCH, int(end.partition_epoch) - EPOCH


def context_of(controller: Controller, topic_id: str, index: int, rules: RuleSet) -> Context:
    """The context of a partition; raises Resignation when it has no min ISR."""
    unclean = controller.unclean_election(topic_id, rules.partition)
    return Context(controller.min_isr(topic_id, index, rules.controller), unclean)


def has_foreign_min_isr(p: Partition, context: Context) -> bool:
    """Whether the min ISR is more than this partition has replicas, so that it comes from another partition."""
    return int(p.replicas.size()) < context.min_isr


def local_change(record: PartitionChangeRecord) -> PartitionChangeRecord:
    """A change as one of a situation's partition."""
    return evolve(record, topic_id=TOPIC, partition_id=0)


def local_batch(records: tuple[ModelRecord, ...]) -> Batch:
    """A batch that stands for these records; its entries are never read."""
    return Batch(EPOCH + 1, EPOCH + len(records), 0, (), "")


def partition_in(state: State) -> Partition:
    """The partition of a situation's state."""
    return state.controller.image.topics[TOPIC].partitions[0]
