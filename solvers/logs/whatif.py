"""How many faults a partition of a real cluster is away from being offline or unwritable, and from losing data.

Faults are those of brokers and disks; the controller answers each as its rules
say. Partitions do not influence each other, so each is explored by itself, with
the brokers of its replicas. A broker that only lost touch may come back at any
time, which is no fault.

Data are followed as sets of replicas that hold all that was acknowledged: at the
start those that `kraftcheck.solvers.logs.whatif` has found in the log. A stop
without flush, or a failed directory, takes a replica out of them; while the ISR has
its minimum, whatever is written next is acknowledged by the ISR alone. Data are lost
once a leader is not among the holders, or nobody is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, TypeAlias

from attrs import define, evolve, field, frozen

from kraftcheck.model.controller.brokers import Records, directories_failed, fenced, restarted, unfenced
from kraftcheck.model.controller.commits import replay_record
from kraftcheck.model.controller.errors import Resignation
from kraftcheck.model.controller.heartbeat import Sessions
from kraftcheck.model.controller.state import (
    MIN_ISR,
    UNCLEAN_ELECTION,
    Configs,
    Controller,
    Place,
    Soft,
    acks_all_needs,
)
from kraftcheck.model.language.words import NO_LEADER
from kraftcheck.model.partition.registration import LOST, Partition, is_reserved
from kraftcheck.model.records.records import (
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    Registration,
    ids,
)
from kraftcheck.model.records.replay import ElrIndex, ReplayError, Topic
from kraftcheck.model.rules.ruleset import RIGHT, RuleSet
from kraftcheck.model.triggers.table import effective_min_isr
from kraftcheck.solvers.logs.memo.situation import Renaming, ShapeNames, brokers_of, names_of

PartitionKey: TypeAlias = tuple[str, int]  # topic id and partition


@define
class Holders:
    """The holders of each partition at one place of a log, which it follows."""

    members: dict[PartitionKey, frozenset[int]] = field(factory=dict)  # holders by partition
    # where a replica that is no holder led at some time, the offset of the last such record
    losses: dict[PartitionKey, int] = field(factory=dict)
    _hosted: dict[int, set[PartitionKey]] = field(factory=dict)

    def follow(self, before: Controller, controller: Controller, record: object = None) -> bool:
        """Follow one more record; whether a replica leads by it that is no holder.

        Args:
            before: the controller's state before the record.
            controller: the state after it.
            record: as of `changed_partitions`.
        """
        any_lost, image = False, controller.image
        for broker in changed_brokers(before, controller):
            known, now = before.registration(broker), controller.registration(broker)
            self.follow_broker(broker, known, now, lambda key: image.partition(*key))
        for key in changed_partitions(before, controller, record):
            old, p = before.image.partition(*key), image.partition(*key)
            any_lost |= self.follow_partition(key, old, p, controller, image.next_offset - 1)
        return any_lost

    def follow_broker(
        self, broker: int, known: Registration | None, now: Registration | None,
        partition: Callable[[PartitionKey], Partition | None],
    ) -> None:  # fmt: skip
        """Follow a change of a registration, or its beginning or end; `partition` gives a partition after it."""
        for key in [key for key in self._hosted.get(broker, ()) if broker in self.members.get(key, ())]:
            if not _keeps_its_log(known, now, partition(key), broker):
                self.members[key] -= {broker}

    def follow_partition(
        self, key: PartitionKey, old: Partition | None, p: Partition | None, controller: Controller, offset: int
    ) -> bool:
        """Follow a change of a partition by the record at an offset; whether who leads by it is no holder."""
        lost = False
        if p is None:
            self.members.pop(key, None)
            self.losses.pop(key, None)
            return lost
        if old is None or key not in self.members:
            holders = first_holders(p)
        else:
            holders, lost = next_holders(self.members[key], old, p, least_isr(controller, key[0], p))
        for broker in holders - self.members.get(key, frozenset()):
            self._hosted.setdefault(broker, set()).add(key)
        self.members[key] = holders
        if lost:
            self.losses[key] = offset
        return lost


def first_holders(p: Partition) -> frozenset[int]:
    """The holders of a partition of which nothing earlier is known: a new one, or one of a snapshot.

    A snapshot names the min ISR behind the partitions, so that whether records can
    be acknowledged by the ISR alone is asked later.
    """
    return frozenset(ids(p.isr)) | frozenset(ids(p.elr.keep(p.replicas).minus(p.adding)))


def next_holders(holders: frozenset[int], before: Partition, p: Partition, minimum: int) -> tuple[frozenset[int], bool]:
    """The holders after a change of a partition, and whether a replica leads that was none.

    From such a loss on, the records of the new leader are all there is.

    Args:
        holders: those before.
        p: the partition now.
        minimum: its effective min ISR now.
    """
    leader, isr = int(p.leader), frozenset(ids(p.isr))
    holders &= frozenset(ids(p.replicas))
    if leader == NO_LEADER:
        return holders, False
    if leader not in holders:
        return frozenset({leader}), True
    holders |= isr - frozenset(ids(before.isr))
    return (holders & (isr | {leader}) if len(isr) >= minimum else holders), False


def least_isr(controller: Controller, topic_id: str, p: Partition) -> int:
    """The effective min ISR of a partition; the smallest where the configuration is no number."""
    configured = configured_isr(controller, topic_id, controller.settings.node)
    return int(effective_min_isr(configured, p.replicas.size()))


def configured_isr(controller: Controller, topic_id: str, broker: int | str) -> int:
    """The min ISR that a broker has configured for a topic; the smallest where the configuration is no number."""
    try:
        return controller.min_isr_of(topic_id, broker)
    except Resignation:
        return 1


def acks_needed(controller: Controller, topic_id: str, p: Partition, rules: RuleSet) -> int:
    """The replicas in sync that the leader of a partition needs for acks=all, by what it has configured."""
    return _needed(controller, p, lambda broker: configured_isr(controller, topic_id, broker), rules)


def _needed(controller: Controller, p: Partition, configured: Callable[[int], int], rules: RuleSet) -> int:
    """The same, by what each broker has configured; without leader, the most that any replica would need."""
    replicas = ids(p.replicas)
    leaders = replicas if is_offline(controller, p) else (int(p.leader),)
    return acks_all_needs(max(map(configured, leaders), default=1), len(replicas), rules.controller)


def changed_partitions(before: Controller, after: Controller, record: object = None) -> Iterator[PartitionKey]:
    """Partitions that a record changed, made or deleted, or of which it changed the min ISR.

    Args:
        before, after: the states around it.
        record: it, where it is the only one between them; it makes the answer quick.
    """
    if isinstance(record, PartitionRecord | PartitionChangeRecord):
        key = record.topic_id, record.partition_id
        yield from [key] if before.image.partition(*key) is not after.image.partition(*key) else ()
        return
    old, new = before.image.topics, after.image.topics
    if before.configs is not after.configs:
        there = (key for key in _configured_otherwise(before, after) if key[0] in old)
        yield from (key for key in there if _limits(before, key) != _limits(after, key))
    if old is new:
        return
    for topic_id in {**old, **new}:
        known, topic = old.get(topic_id), new.get(topic_id)
        partitions = {} if known is None else known.partitions
        current = {} if topic is None else topic.partitions
        if known is not topic:
            every = {**partitions, **current}
            yield from ((topic_id, index) for index in every if partitions.get(index) is not current.get(index))


def _limits(controller: Controller, key: PartitionKey) -> tuple[int, int]:
    """The effective min ISR of a partition, and what its leader has configured."""
    p = controller.image.partition(*key)
    if p is None:
        return 0, 0
    return least_isr(controller, key[0], p), configured_isr(controller, key[0], int(p.leader))


def _configured_otherwise(before: Controller, after: Controller) -> Iterator[PartitionKey]:
    """The partitions of topics of which a configuration may be another one."""
    old, new = before.configs, after.configs
    of_all = old.cluster is not new.cluster or old.nodes is not new.nodes
    for topic_id, topic in after.image.topics.items():
        if of_all or old.topics.get(topic.name) is not new.topics.get(topic.name):
            yield from ((topic_id, index) for index in topic.partitions)


def changed_brokers(before: Controller, after: Controller) -> list[int]:
    """Brokers whose registration a record changed."""
    old, new = before.image.registrations, after.image.registrations
    return [] if old is new else [broker for broker in {**old, **new} if old.get(broker) is not new.get(broker)]


def _keeps_its_log(known: Registration | None, now: Registration | None, p: Partition | None, broker: int) -> bool:
    """Whether a broker surely holds after a change of its registration what it held of a partition before."""
    if known is None or now is None or p is None or not _directory_is_there(p, now):
        return False
    return known.incarnation == now.incarnation or known.in_controlled_shutdown or bool(p.elr.has(broker))


def _directory_is_there(p: Partition, known: Registration) -> bool:
    """Whether the directory of a broker's replica is registered; one that is not named counts as registered."""
    return bool(p.replicas.has(known.id)) and not known.no_dir_left and not has_failed(p, known)


def has_failed(p: Partition, known: Registration | None) -> bool:
    """Whether the directory of a broker's replica is none of those that the broker has online."""
    if known is None or known.knows_no_dirs():
        return False
    directory = int(p.directories.of(known.id))
    return directory == LOST or (not is_reserved(directory) and directory not in known.dirs)


def is_offline(controller: Controller, p: Partition) -> bool:
    """Whether nobody leads a partition whom a client can reach, and who has its log."""
    leader = controller.registration(int(p.leader))
    return leader is None or bool(leader.fenced) or (bool(p.replicas.has(leader.id)) and has_failed(p, leader))


Key: TypeAlias = tuple[Any, ...]

TOPIC_ID = "what-if"


@frozen
class FaultState:
    """One partition with its brokers."""

    controller: Controller  # holds nothing but these
    holders: frozenset[int]  # replicas that hold all acknowledged data
    rules: RuleSet = RIGHT  # of the release whose brokers they are
    configured: Mapping[int, int] = field(factory=dict)  # by broker the min ISR that it has as leader
    dead: frozenset[int] = frozenset()  # brokers that never come back, as one that has no directory left
    lost: bool = False  # whether acknowledged data are lost

    @cached_property
    def partition(self) -> Partition:
        """The partition."""
        return self.controller.image.topics[TOPIC_ID].partitions[0]

    @cached_property
    def offline(self) -> bool:
        """As of `is_offline`."""
        return is_offline(self.controller, self.partition)

    @cached_property
    def unwritable(self) -> bool:
        """Whether a producer that wants every acknowledgement (acks=all) is refused."""
        return self.offline or len(ids(self.partition.isr)) < self.min_isr

    @cached_property
    def min_isr(self) -> int:
        """As of `acks_needed`."""
        return _needed(self.controller, self.partition, lambda broker: self.configured.get(broker, 1), self.rules)

    def key(self) -> Key:
        """The values that distinguish two states: all but epochs and offsets."""
        p = self.partition
        brokers = tuple(
            (b, r.fenced, r.in_controlled_shutdown, r.dirs, r.no_dir_left, r.is_migrating_zk_broker)
            for b, r in sorted(self.controller.image.registrations.items())
        )
        lists = (p.replicas, p.isr, p.elr, p.last_known_elr, p.adding, p.removing)
        directories = tuple(int(p.directories.of(b)) for b in ids(p.replicas))
        partition_key = (*(ids(members) for members in lists), directories, int(p.leader), bool(p.recovering))
        index = tuple(sorted(self.controller.elr_index.differing.items()))
        limits = tuple(sorted(self.controller.configs.topics[TOPIC_ID].items()))
        configured = tuple(sorted(self.configured.items()))
        return partition_key, brokers, self.holders, configured, self.dead, self.lost, index, limits

    def names(self) -> ShapeNames:
        """The names of its brokers and their directories; they stay where an index tells partitions by them."""
        image, controller = self.controller.image, self.controller
        named = {*brokers_of(self.partition), *image.registrations, *self.holders, *self.dead}
        if controller.stale_dirs or controller.elr_index.differing:
            return ShapeNames(tuple(sorted(named)), (), False)
        registered = ((broker, image.registrations.get(broker)) for broker in named)
        return names_of(self.partition, registered, None, controller.features.elr_enabled)

    def renamed(self, renaming: Renaming) -> FaultState:
        """The same with other names."""
        image, name = self.controller.image, renaming.brokers
        renamed = renaming.registrations(dict(sorted(image.registrations.items())))
        registrations = {broker: registration for broker, registration in renamed.items() if registration is not None}
        offsets = {name[b]: offset for b, offset in image.registration_offsets.items() if b in image.registrations}
        topics = {TOPIC_ID: Topic(TOPIC_ID, {0: renaming.partition(self.partition)})}
        image = evolve(image, topics=topics, registrations=registrations, registration_offsets=offsets)
        holders, dead = (frozenset(name[broker] for broker in brokers) for brokers in (self.holders, self.dead))
        configured = {name[broker]: number for broker, number in self.configured.items()}
        controller = evolve(self.controller, image=image)
        return evolve(self, controller=controller, holders=holders, dead=dead, configured=configured)


TROUBLES: Mapping[str, Callable[[FaultState], bool]] = {
    "offline": lambda state: state.offline, "unwritable": lambda state: state.unwritable,
    "loss": lambda state: state.lost,
}  # fmt: skip
"""What may become of a partition."""

Ways: TypeAlias = Mapping[str, tuple[str, ...] | None]
"""For each trouble the shortest way there; None beyond the faults allowed."""


@frozen
class BrokerMove:
    """Something that happens to a broker: its name, whether it is a fault, and the state after it."""

    name: str
    fault: bool
    after: Callable[[], FaultState]


def isolate(
    controller: Controller, place: Place, rules: RuleSet, holders: frozenset[int] | None = None,
    dead: frozenset[int] = frozenset(),
) -> FaultState:  # fmt: skip
    """A partition with the brokers of its replicas, and with the configuration that counts for it.

    Args:
        holders: replicas that hold all acknowledged data; None takes those that a snapshot shows.
        dead: brokers that never come back.
    """
    p = place.partition
    named = {*ids(p.replicas), *ids(p.last_known_elr)}  # a last known leader that was removed ends the controller
    known = controller.image.registrations
    brokers = {b: known[b] for b in sorted(named) if b in known}
    offsets = {b: offset for b in brokers if (offset := controller.image.registration_offsets.get(b)) is not None}
    unclean = str(controller.unclean_election(place.topic_id, rules.partition)).lower()
    min_isr = str(controller.min_isr(place.topic_id, place.index, rules.controller))
    topic_config = {MIN_ISR: min_isr, UNCLEAN_ELECTION: unclean}
    topics = {TOPIC_ID: Topic(TOPIC_ID, {0: p})}
    image = evolve(controller.image, topics=topics, registrations=brokers, registration_offsets=offsets)
    configs, index = Configs(topics={TOPIC_ID: topic_config}), _index_of(controller, place)
    soft = Soft(Sessions(controller.soft.sessions.timeout))  # no session bars anything where no time goes by
    reduced = evolve(controller, image=image, configs=configs, elr_index=index, controllers={}, soft=soft)
    if holders is None:
        holders = first_holders(p)
    configured = {broker: configured_isr(controller, place.topic_id, broker) for broker in ids(p.replicas)}
    return settle(FaultState(reduced, holders - dead, rules, configured, dead & named))


def _index_of(controller: Controller, place: Place) -> ElrIndex:
    """The index of ELR members as it is for one partition; topics that do not exist make the controller resign."""
    differing = {
        (broker, TOPIC_ID if topic_id == place.topic_id else topic_id): (0,) * listed.count(place.index)
        for (broker, topic_id), listed in controller.elr_index.differing.items()
        if topic_id == place.topic_id or topic_id not in controller.image.topics
    }
    return ElrIndex(differing)


def search(state: FaultState, faults: int, rules: RuleSet) -> Ways:
    """The shortest ways to every trouble: fewest faults, then fewest moves."""
    ways: dict[str, tuple[str, ...] | None] = dict.fromkeys(TROUBLES)
    visited = {state.key()}
    layer: list[tuple[FaultState, tuple[str, ...]]] = [(state, ())]
    for spent in range(faults + 1):
        queue, next_layer = deque(layer), []
        while queue:
            current, path = queue.popleft()
            ways |= {name: path for name, has in TROUBLES.items() if ways[name] is None and has(current)}
            for move in moves(current, rules):
                if move.fault and spent == faults:
                    continue
                after, path_after = move.after(), (*path, move.name)
                if move.fault:
                    next_layer.append((after, path_after))
                elif after.key() not in visited:
                    visited.add(after.key())
                    queue.append((after, path_after))
        layer = []
        for after, path_after in next_layer:
            if after.key() not in visited:
                visited.add(after.key())
                layer.append((after, path_after))
        if None not in ways.values():
            break
    return ways


def moves(state: FaultState, rules: RuleSet) -> Iterator[BrokerMove]:
    """Everything that may happen to a broker of the partition next."""
    for broker, registration in state.controller.image.registrations.items():
        if not state.partition.replicas.has(broker):
            continue  # the reassignment that removes it was completed on the way
        if registration.fenced:
            if broker not in state.dead:
                yield BrokerMove(f"{broker} returns", False, lambda b=broker: return_broker(state, b, rules))  # type: ignore[misc]
            continue
        yield BrokerMove(f"{broker} is fenced", True, lambda b=broker: fence_broker(state, b, rules))  # type: ignore[misc]
        yield BrokerMove(f"{broker} loses power", True, lambda b=broker: lose_power(state, b, rules))  # type: ignore[misc]
        directory = int(state.partition.directories.of(broker))
        if directory in registration.dirs:
            yield BrokerMove(
                f"{broker} loses its directory", True,
                lambda b=broker, d=directory: _lose_directory(state, b, d, rules),  # type: ignore[misc]
            )  # fmt: skip


def apply(state: FaultState, write: Callable[[Controller], Records], rules: RuleSet) -> FaultState:
    """The state once the controller has decided and its records are replayed."""
    controller = state.controller
    try:
        records = write(controller)
        for record in records:
            controller = replay_record(controller, record, rules)
    except (Resignation, ReplayError):
        return state  # the controller resigns, and its successor is where this one was
    return evolve(state, controller=controller)


def fence_broker(state: FaultState, broker: int, rules: RuleSet) -> FaultState:
    """The broker is fenced, as one that has stopped or lost touch is."""
    return settle(apply(state, lambda c: fenced(c, broker, rules), rules))


def return_broker(state: FaultState, broker: int, rules: RuleSet) -> FaultState:
    """The broker comes back with all that it had: it lost touch, or stopped cleanly."""
    registration = state.controller.image.registrations[broker]
    if registration.in_controlled_shutdown:
        state = _register(state, broker, True, rules)
    return settle(apply(state, lambda c: unfenced(c, broker, rules), rules))


def lose_power(state: FaultState, broker: int, rules: RuleSet) -> FaultState:
    """A stop without flush: the broker is fenced, comes back as another incarnation, and is unfenced."""
    state = evolve(state, holders=state.holders - {broker})
    state = settle(apply(state, lambda c: fenced(c, broker, rules), rules))
    state = settle(_register(state, broker, False, rules))
    return settle(apply(state, lambda c: unfenced(c, broker, rules), rules))


def _register(state: FaultState, broker: int, clean: bool, rules: RuleSet) -> FaultState:
    """The broker comes back as another incarnation that tells what the earlier one told.

    The controller admitted that once, so it is not asked again: a log may be older than what it asks today.
    """

    def records(controller: Controller) -> Records:
        registration = controller.image.registrations[broker]
        record = RegisterBrokerRecord(
            broker_id=broker, broker_epoch=controller.image.next_offset, incarnation=f"{registration.incarnation}'",
            listeners=registration.listeners, features=registration.features, rack=registration.rack, fenced=True,
            in_controlled_shutdown=False, log_dirs=registration.dirs,
        )  # fmt: skip
        return (*restarted(controller, broker, clean, rules), record)

    return apply(state, records, rules)


def _lose_directory(state: FaultState, broker: int, directory: int, rules: RuleSet) -> FaultState:
    """The directory of the broker's replica fails; a broker without directories halts."""
    state = evolve(state, holders=state.holders - {broker})
    registration = state.controller.image.registrations[broker]
    if registration.dirs == (directory,):
        return evolve(fence_broker(state, broker, rules), dead=state.dead | {broker})
    return settle(apply(state, lambda c: directories_failed(c, broker, (directory,), rules), rules))


def settle(state: FaultState) -> FaultState:
    """The state once data loss is decided and clients have written to the partition."""
    p = state.partition
    leader, isr = int(p.leader), frozenset(ids(p.isr))
    lost = state.lost or not state.holders or (leader != NO_LEADER and leader not in state.holders)
    holders = state.holders
    if leader != NO_LEADER and len(isr) >= least_isr(state.controller, TOPIC_ID, p):
        holders = holders & isr
    return evolve(state, lost=lost or not holders, holders=holders)


def count_faults(path: tuple[str, ...] | None) -> int | None:
    """How many moves of a way are faults."""
    return None if path is None else sum(not move.endswith(" returns") for move in path)
