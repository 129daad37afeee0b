"""State of the `elections` system, and the partition and brokers as rules see them.

Leader and partition epochs are not state: each event starts them at 0, so the
partition after the event carries how often each rose. That keeps the state
space finite without a budget; what is lost is the absolute number.

Any number of brokers: the fields of a state, its initial states and the arguments of actions, for proofs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from attrs import evolve, fields, frozen

from kraftcheck.model.language.anynumber import (
    AnyReplicas,
    AnySet,
    Family,
    PerBroker,
    brokers_where,
    each_broker,
    record_of,
    unlisted,
    with_record,
)
from kraftcheck.model.language.brokersets import Brokers, BrokerSet, Replicas
from kraftcheck.model.language.idlists import AtMostOne
from kraftcheck.model.language.layout import all_where, counter, endless, ints, subset_of, truth
from kraftcheck.model.language.sequences import Sequence, every
from kraftcheck.model.language.symbolic import described
from kraftcheck.model.language.system import ANY, Conjuncts, Setting
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import EMPTY, NO_LEADER, all_of, choose, implies, negate, same_truth
from kraftcheck.model.partition.registration import FIRST_LOCAL, UNASSIGNED, Directories, DirectoryMap, Partition
from kraftcheck.model.rules.groups import PartitionRules
from kraftcheck.model.triggers.leadership import active, replica_online
from kraftcheck.model.triggers.table import default_directory, effective_min_isr


@frozen
class AnyDirectories:
    """The directory of each of any number of brokers; UNASSIGNED for those that are no replicas."""

    ids: Any  # the directory by broker

    def of(self, broker: Word) -> Word:
        """The directory of a replica; of another broker UNASSIGNED."""
        found: Word = self._sequence().at(broker)
        return found

    def _sequence(self) -> Sequence:
        found: Sequence = self.ids
        return found

    def for_replicas(self, replicas: Brokers, wanted: Callable[[Word], Word]) -> AnyDirectories:
        """See `Directories.for_replicas`."""
        graph = self._sequence().graph
        return AnyDirectories(Sequence(graph, lambda at: choose(replicas.has(at), wanted(at), UNASSIGNED)))

    def moved(self, broker: Word, directory: Word) -> AnyDirectories:
        """The same with one replica in another directory."""
        graph = self._sequence().graph
        return AnyDirectories(Sequence(graph, lambda at: choose(broker == at, directory, self.of(at))))

    def same(self, other: Directories) -> Truth:
        """Equality of every entry."""
        if not isinstance(other, AnyDirectories):
            raise TypeError(f"a directory map is compared with {described(other)}")
        return every(self._sequence().graph, lambda at: self.of(at) == other.of(at))


def some_set() -> Any:
    """The domain of a set of brokers."""
    return AnySet(endless(0, 1, truths=True))


def some_replicas() -> Any:
    """The domain of a list of replicas."""
    return AnyReplicas(endless(0, 1, truths=True), endless(0, counter().hi), counter())


def some_directories(dirs: int) -> Any:
    """The domain of the directory of each broker, of so many."""
    return AnyDirectories(endless(0, FIRST_LOCAL + dirs - 1))


def directories_by_broker(dirs: int) -> Any:
    """The domain of the registered directories of each broker, of so many."""
    return PerBroker(BrokerSet(endless(0, (1 << dirs) - 1)))


def sets() -> Family:
    """Every set of brokers with a member."""
    return Family(some_set(), lambda members: negate(members.is_empty()), unlisted)


def lists() -> Family:
    """Every list of distinct brokers with a member."""
    return Family(some_replicas(), lambda some: all_of(negate(some.is_empty()), some.ranked()), unlisted)


def new_topic(state: Any, dirs: int, elr: bool = False) -> Conjuncts:
    """What holds of a topic that is new on registered, unfenced brokers, of any replication factor and min ISR."""
    replicas, none = state.replicas, state.isr.none()
    everything = BrokerSet.of(range(dirs))
    first = FIRST_LOCAL if dirs == 1 else UNASSIGNED

    def placed(broker: Word) -> Truth:
        directory: Word = state.directories.of(broker)
        return directory == choose(replicas.has(broker), first, UNASSIGNED)

    def online(broker: Word) -> Truth:
        listed: BrokerSet = state.dirs_of(broker)
        return implies(state.registered.has(broker), listed.same(everything))

    empty = {name: getattr(state, name).is_empty() for name in ("elr", "removing", "adding", "fenced", "shutting_down")}
    return {
        "replicas are a list": all_of(negate(replicas.is_empty()), replicas.ranked()),
        "replicas are registered": replicas.within(state.registered),
        "all are in sync": none.plus(replicas).same(state.isr),
        "the first leads": state.leader == replicas.first(),
        "no last known leader": state.last_known_elr.is_empty(),
        "not recovering": negate(state.recovering),
        "nothing else is configured": all_of(negate(state.unclean_election), same_truth(state.elr_enabled, elr)),
        **{f"{name} is empty": truth for name, truth in empty.items()},
        **each_broker(state.online_dirs, lambda b: all_of(placed(b), online(b))),
    }


@frozen
class Elections:
    """One partition, its brokers, and the configuration that elections depend on.

    Attributes:
        replicas .. recovering: the partition's registration, see `Partition`.
        registered, fenced, shutting_down: brokers with that status; an
            unregistered broker is in no other set.
        online_dirs: for each broker, its registered directories, numbered from 0.
        min_insync_replicas: the topic's configuration.
        unclean_election: the topic's unclean.leader.election.enable.
        elr_enabled: whether ELR is on; before, the metadata version lacks it.
    """

    replicas: Replicas
    directories: DirectoryMap
    isr: BrokerSet
    elr: BrokerSet
    last_known_elr: AtMostOne
    removing: BrokerSet
    adding: BrokerSet
    leader: Word
    recovering: Truth
    registered: BrokerSet
    fenced: BrokerSet
    shutting_down: BrokerSet
    online_dirs: tuple[BrokerSet, ...]
    min_insync_replicas: Word
    unclean_election: Truth
    elr_enabled: Truth

    def partition(self) -> Partition:
        """The registration with both epochs at 0."""
        return Partition(
            self.replicas, self.directories, self.isr, self.elr, self.last_known_elr,
            removing=self.removing, adding=self.adding, leader=self.leader, recovering=self.recovering,
            leader_epoch=0, partition_epoch=0,
        )  # fmt: skip

    def with_partition(self, p: Partition) -> Elections:
        """The state with the partition's fields, epochs forgotten."""
        epochs = ("leader_epoch", "partition_epoch")
        names = [field.name for field in fields(Partition) if field.name not in epochs]
        return evolve(self, **{name: getattr(p, name) for name in names})

    def active(self) -> BrokerSet:
        """Brokers that are registered, unfenced and not shutting down."""
        return cast(BrokerSet, active(self))

    def effective_min_isr(self) -> Word:
        """The smaller of the configured minimum and the replication factor."""
        return effective_min_isr(self.min_insync_replicas, self.replicas.size())

    def dirs_of(self, broker: Word) -> BrokerSet:
        """The registered directories of a broker."""
        found: BrokerSet = record_of(self.online_dirs, broker)
        return found

    def with_dirs(self, broker: Word, dirs: BrokerSet) -> Elections:
        """The state with other registered directories of one broker."""
        return evolve(self, online_dirs=with_record(self.online_dirs, broker, dirs))


@frozen
class ElectionsEvent:
    """The events of a step besides the change of the state."""

    records: Word  # partition change records written
    # leader_epoch_bumps, partition_epoch_bumps: how often each epoch rose
    leader_epoch_bumps: Word
    partition_epoch_bumps: Word
    unclean: Truth  # a leader was seated from outside ISR and ELR
    last_known: Truth  # the last known leader was elected
    from_elr: Truth  # an ELR member was elected cleanly
    over_isr: Truth  # an ELR member was elected while the wanted ISR had members
    completed: Truth  # a reassignment completed
    misdirected: Truth  # a reassignment was requested, and other replicas than its target are left at its end
    resigned: Truth  # the controller met an exception and resigned; nothing was written
    stale_base: Truth  # a record was decided on the partition before an earlier record of the event
    unclean_shutdown: BrokerSet  # brokers that the event reported as stopped uncleanly


def outsider_leads(before: Elections, after: Elections, proposed: Brokers) -> Truth:
    """Whether a step makes a leader of a broker that was in neither ISR nor ELR: what may lose records.

    It is told from the two registrations, and not by what the election says of itself. Whom a leader has proposed for
    the ISR, as the same step does, has caught up with it.
    """
    moved = all_of(negate(before.leader == after.leader), after.leader >= 0)
    return all_of(moved, negate(before.isr.plus(before.elr).plus(proposed).has(after.leader)))


def directory_online(state: Elections, broker: Word, directory: Word, rules: PartitionRules) -> Truth:
    """Whether the controller takes a replica's directory on a broker to be online."""
    dirs = state.dirs_of(broker)
    # By the right rules a broker without directories has lost them all.
    untold = dirs.is_empty() if rules.empty_directory_list_means_no_change else False
    listed = dirs.has(directory - FIRST_LOCAL)
    return replica_online(directory, state.registered.has(broker), dirs.size(), untold, listed, rules)


def replicas_online(state: Elections, rules: PartitionRules) -> Brokers:
    """Brokers whose replica sits in an online directory."""
    found: Brokers = brokers_where(
        state.online_dirs, lambda b: directory_online(state, b, state.directories.of(b), rules)
    )
    return found


def replicas_offline(state: Elections, rules: PartitionRules) -> Brokers:
    """Replicas that are in no online directory."""
    return state.isr.none().plus(state.replicas).minus(replicas_online(state, rules))


def layout(setting: Setting) -> Elections:
    """The domain of each field; see `Elections`."""
    brokers, dirs = setting["brokers"], setting["directories"]
    if brokers == ANY:
        return _layout_of_any(dirs)
    some = BrokerSet(subset_of(brokers))
    return Elections(
        replicas=Replicas((ints(NO_LEADER, brokers - 1),) * brokers),
        directories=DirectoryMap((ints(0, FIRST_LOCAL + dirs - 1),) * brokers),
        isr=some, elr=some,
        last_known_elr=AtMostOne(ints(EMPTY, brokers - 1)),
        removing=some, adding=some,
        leader=ints(NO_LEADER, brokers - 1, none=NO_LEADER), recovering=truth(),
        registered=some, fenced=some, shutting_down=some,
        online_dirs=(BrokerSet(subset_of(dirs)),) * brokers,
        min_insync_replicas=ints(1, brokers),
        unclean_election=truth(), elr_enabled=truth(),
    )  # fmt: skip


def _layout_of_any(dirs: int) -> Elections:
    """The domain of each field for any number of brokers."""
    some = some_set()
    return Elections(
        replicas=some_replicas(), directories=some_directories(dirs),
        isr=some, elr=some, last_known_elr=AtMostOne(counter(EMPTY)), removing=some, adding=some,
        leader=counter(NO_LEADER, none=NO_LEADER), recovering=truth(), registered=some, fenced=some, shutting_down=some,
        online_dirs=directories_by_broker(dirs), min_insync_replicas=counter(1),
        unclean_election=truth(), elr_enabled=truth(),
    )  # fmt: skip


def initial(setting: Setting) -> list[Elections]:
    """A new topic on live brokers, for each replication factor and min ISR of the scope."""
    if setting["brokers"] == ANY:
        return [all_where(lambda state: new_topic(state, setting["directories"]))]
    brokers, everyone = setting["brokers"], BrokerSet.of(range(setting["brokers"]))
    dirs = setting["directories"]
    first = default_directory(True, dirs, FIRST_LOCAL, True, setting.rules.partition)
    states = []
    smallest = 1 if setting["reassignment"] else setting["replication"]
    for factor in range(smallest, setting["replication"] + 1):
        replicas = BrokerSet.of(range(factor))
        states += [
            Elections(
                replicas=Replicas.of(range(factor), brokers),
                directories=DirectoryMap(tuple(first if b < factor else UNASSIGNED for b in range(brokers))),
                isr=replicas, elr=BrokerSet(), last_known_elr=AtMostOne(),
                removing=BrokerSet(), adding=BrokerSet(), leader=0, recovering=False,
                registered=everyone, fenced=BrokerSet(), shutting_down=BrokerSet(),
                online_dirs=(BrokerSet.of(range(dirs)),) * brokers,
                min_insync_replicas=min_isr, unclean_election=False, elr_enabled=False,
            )
            for min_isr in range(1, setting["replication"] + 1)
        ]  # fmt: skip
    return states
