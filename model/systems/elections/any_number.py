"""Any number of brokers: the fields of a state, its initial states and the arguments of actions, for proofs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import frozen

from kraftcheck.model.language.anynumber import AnyReplicas, AnySet, Family, PerBroker, each_broker, unlisted
from kraftcheck.model.language.brokersets import Brokers, BrokerSet
from kraftcheck.model.language.layout import counter, endless
from kraftcheck.model.language.sequences import Sequence, every
from kraftcheck.model.language.symbolic import described
from kraftcheck.model.language.system import Conjuncts
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, choose, implies, negate, same_truth
from kraftcheck.model.partition.registration import FIRST_LOCAL, UNASSIGNED, Directories


@frozen
class AnyDirectories:
    """The directory of each of any number of brokers; UNASSIGNED for those that are no replicas.

    Attributes:
        ids: the directory by broker.
    """

    ids: Any

    def of(self, broker: Word) -> Word:
        """The directory of a replica; of another broker UNASSIGNED."""
        directory: Word = self._sequence().at(broker)
        return directory

    def _sequence(self) -> Sequence:
        sequence: Sequence = self.ids
        return sequence

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
