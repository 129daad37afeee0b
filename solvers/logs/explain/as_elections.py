"""One partition of a real cluster as the state of `elections`, so that its properties can judge it.

Brokers are numbered from 0 in the order of their ids, each broker's
directories in the order of registrations; the numbers are the same before and
after a step. Sets hold 62 brokers: where a cluster has more, those that the
partition names come first, and sets leave out others that have no place. What
`elections` cannot hold is checked separately: see `has_several_last_known`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from attrs import frozen

from kraftcheck.model.controller.state import Controller, Place
from kraftcheck.model.language.brokersets import BrokerSet, Replicas
from kraftcheck.model.language.idlists import AtMostOne
from kraftcheck.model.language.terms import MASK_BITS
from kraftcheck.model.language.words import EMPTY, NO_LEADER
from kraftcheck.model.partition.registration import FIRST_LOCAL, UNASSIGNED, DirectoryMap, Partition, is_reserved
from kraftcheck.model.records.records import directory_order, ids
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.systems.elections.state import Elections


@frozen
class ElectionsNumbering:
    """The numbers that brokers and directories have in a state of `elections`.

    Attributes:
        brokers: their ids in order.
        directories: of each broker, in order.
    """

    brokers: tuple[int, ...]
    directories: Mapping[int, tuple[int, ...]]

    def broker(self, broker: int) -> int:
        """A broker's number; no leader stays none."""
        return NO_LEADER if broker == NO_LEADER else self.brokers.index(broker)

    def broker_set(self, brokers: Iterable[int]) -> BrokerSet:
        """The brokers as a set of their numbers; -1 in a list (defect B5) is no broker."""
        numbers = (self.broker(broker) for broker in brokers if broker != NO_LEADER)
        return BrokerSet.of(number for number in numbers if number < MASK_BITS)

    def directory(self, broker: int, directory: int) -> int:
        """A directory's number; reserved ids keep theirs."""
        if directory in self.directories[broker]:
            return FIRST_LOCAL + self.directories[broker].index(directory)
        return min(directory, UNASSIGNED + 1) if is_reserved(directory) else FIRST_LOCAL

    def directory_set(self, broker: int, directories: Iterable[int]) -> BrokerSet:
        """Directories of one broker as a set of their numbers from 0; reserved ids, which none can have, are none."""
        local = (directory for directory in directories if not is_reserved(directory))
        return BrokerSet.of(self.directory(broker, directory) - FIRST_LOCAL for directory in local)


def elections_numbering(controllers: Iterable[Controller], partitions: Iterable[Partition]) -> ElectionsNumbering:
    """The numbering of all brokers and directories that these states and partitions name."""
    registered, mentioned = set[int](), set[int]()
    directories: dict[int, set[int]] = {}
    for controller in controllers:
        registered |= controller.image.registrations.keys()
        for broker, registration in controller.image.registrations.items():
            directories.setdefault(broker, set()).update(registration.dirs)
    for p in partitions:
        for members in (p.replicas, p.isr, p.elr, p.last_known_elr, p.adding, p.removing, (int(p.leader),)):
            mentioned |= {broker for broker in members if broker != NO_LEADER}  # type: ignore[union-attr]
        for broker in ids(p.replicas):
            directories.setdefault(broker, set()).add(int(p.directories.of(broker)))
    preferred = mentioned if len(registered | mentioned) > MASK_BITS else registered | mentioned
    ordered = (*sorted(preferred), *sorted(registered - preferred))
    local = {broker: (d for d in directories.get(broker, ()) if not is_reserved(d)) for broker in ordered}
    return ElectionsNumbering(
        ordered, {broker: tuple(sorted(directory_ids, key=directory_order)) for broker, directory_ids in local.items()}
    )


def with_broker(part: str, name: Callable[[int], int]) -> str:
    """A part of a property that names a broker, `broker 0`, with another name; any other part as it is."""
    word, _, number = part.partition(" ")
    return f"broker {name(int(number))}" if word == "broker" and number.isdigit() else part


def has_several_last_known(p: Partition) -> bool:
    """Whether a partition has more than one last known leader, which `elections` cannot hold."""
    return bool(p.last_known_elr.size() > 1)


def as_elections(controller: Controller, place: Place, numbering: ElectionsNumbering, rules: RuleSet) -> Elections:
    """The partition and its brokers as `elections` holds them; of several last known leaders the first."""
    p, registrations = place.partition, controller.image.registrations
    replicas = tuple(broker for broker in ids(p.replicas) if broker != NO_LEADER)
    last_known = ids(p.last_known_elr)
    assigned = {b: numbering.directory(b, int(p.directories.of(b))) for b in replicas}
    online = (
        numbering.directory_set(b, registrations[b].dirs) if b in registrations else BrokerSet()
        for b in numbering.brokers
    )
    return Elections(
        replicas=Replicas.of((numbering.broker(b) for b in replicas), len(numbering.brokers)),
        directories=DirectoryMap(tuple(assigned.get(b, UNASSIGNED) for b in numbering.brokers)),
        isr=numbering.broker_set(ids(p.isr)),
        elr=numbering.broker_set(ids(p.elr)),
        last_known_elr=AtMostOne(numbering.broker(last_known[0]) if last_known else EMPTY),
        removing=numbering.broker_set(ids(p.removing)),
        adding=numbering.broker_set(ids(p.adding)),
        leader=numbering.broker(int(p.leader)),
        recovering=bool(p.recovering),
        registered=numbering.broker_set(registrations),
        fenced=numbering.broker_set(b for b, registration in registrations.items() if registration.fenced),
        shutting_down=numbering.broker_set(
            b for b, registration in registrations.items() if registration.in_controlled_shutdown
        ),
        online_dirs=tuple(online),
        min_insync_replicas=controller.min_isr(place.topic_id, place.index, rules.controller),
        unclean_election=controller.unclean_election(place.topic_id),
        elr_enabled=controller.features.elr(rules.partition),
    )
