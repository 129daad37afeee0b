"""One build for one partition with all that the controller knows; what every trigger comes down to.

All builds of an event read the state before it. Source: `LeaderAcceptor`,
`ReplicationControlManager.generateLeaderAndIsrUpdates`.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve, field, frozen

from model.brokers import Registration, default_directory
from model.change import Build, BuildContext, Target, build
from model.controller.errors import NoReplica
from model.controller.state import Controller, Place
from model.directories import UNASSIGNED, Directories, is_online
from model.idlists import IdList
from model.partition import Partition
from model.records import PartitionChangeRecord
from model.rules import RuleSet
from model.terms import Word
from model.words import NO_LEADER


@frozen
class Trigger:
    """Who may lead and how; the columns of the trigger table.

    Attributes:
        barred: brokers that may not lead, whatever their status.
        counted: a broker that counts as active although still fenced.
        preferred: a preferred election.
        unclean: whether unclean elections are allowed; None leaves it to the topic.
        elr: whether the build may have ELR on.
        stopped: brokers that stopped uncleanly.
        designated: elect exactly this broker, which may lead; None: an ordinary election.
    """

    barred: tuple[int, ...] = ()
    counted: int = NO_LEADER
    preferred: bool = False
    unclean: bool | None = None
    elr: bool = True
    stopped: IdList = field(factory=IdList)
    designated: int | None = None


def online(registration: Registration, directory: int, rules: RuleSet) -> bool:
    """Whether a replica in this directory of a registered broker is online."""
    dirs = registration.dirs
    unknown = len(dirs) <= 1 if rules.one_directory_means_all_online else registration.knows_no_dirs()
    return bool(is_online(directory, True, unknown, directory in dirs))


def acceptable(controller: Controller, p: Partition, trigger: Trigger, rules: RuleSet) -> IdList:
    """Brokers that pass the leader test.

    An active broker that is no replica has no directory to look up: Kafka
    throws there. It stays in the list, so that its election shows that the
    lookup was reached.
    """

    def passes(broker: int, known: Registration) -> bool:
        leaving = known.in_controlled_shutdown
        active = known.is_active() or (rules.fenced_leader_acceptable and not leaving)
        counted = broker == trigger.counted and (rules.unfence_ignores_controlled_shutdown or not leaving)
        if broker in trigger.barred or not (active or counted):
            return False
        return not p.replicas.has(broker) or online(known, int(p.directories.of(broker)), rules)

    return IdList.of(broker for broker, known in controller.image.registrations.items() if passes(broker, known))


def directory_of_new_replica(controller: Controller, broker: int, rules: RuleSet) -> int:
    """The directory of a new replica on a broker.

    Source: `KRaftClusterDescriber.defaultDir`; KIP-858 says UNASSIGNED always.
    """
    if rules.default_directory_unassigned and controller.features.directories:
        return UNASSIGNED
    return default_directory(controller.registration(broker), controller.features.directories)


def decide(
    controller: Controller,
    place: Place,
    target: Target,
    trigger: Trigger,
    rules: RuleSet,
    judged_on: Directories | None = None,
) -> PartitionChangeRecord | None:
    """The change of one partition towards a target; None where nothing changes.

    Args:
        controller: the state before the event.
        place: the partition.
        target: what the event wants of it.
        trigger: who may lead, and how.
        rules: the rule set.
        judged_on: directories that decide who is online; None takes the partition's.

    Raises:
        NoReplica: when Kafka would look up the directory of a broker that is no replica.
    """
    judged = place.partition if judged_on is None else evolve(place.partition, directories=judged_on)
    eligible = acceptable(controller, judged, trigger, rules)
    unclean = controller.unclean_election(place.topic_id) if trigger.unclean is None else trigger.unclean
    context = BuildContext(
        acceptable=eligible,
        min_isr=controller.min_isr(place.topic_id, place.index, rules),
        preferred=trigger.preferred,
        unclean=unclean,
        elr=trigger.elr and controller.features.elr(rules),
        use_last_known_leader=True,
        unclean_shutdown=trigger.stopped,
        directory_assignment=controller.features.directories,
        leader_recovery=controller.features.leader_recovery,
        bump_on_isr_shrink=controller.features.bump_on_isr_shrink or rules.bump_on_isr_shrink,
        default_directory=lambda broker: directory_of_new_replica(controller, int(broker), rules),
        designated=trigger.designated,
    )
    built = build(place.partition, target, context, rules)
    if _lookup_failed(place.partition, built, eligible):
        raise NoReplica(f"broker {built.election.leader} has no directory: it is no replica")
    return None if built.change.is_noop() else PartitionChangeRecord(place.topic_id, place.index, built.change)


def _lookup_failed(p: Partition, built: Build, eligible: IdList) -> bool:
    """Whether the election asked for the directory of a broker that is no replica."""
    winner: Word = built.election.leader
    outsider = bool(winner != NO_LEADER) and not p.replicas.has(winner)
    return outsider and (not built.election.last_known or eligible.has(winner))


def without(p: Partition, broker: int) -> Target:
    """The target that takes a broker out of the ISR."""
    return evolve(Target.of(p), isr=p.isr.minus(p.isr.just(broker)))


def leave(
    controller: Controller, places: Iterable[Place], broker: int, trigger: Trigger, rules: RuleSet
) -> tuple[PartitionChangeRecord, ...]:
    """A broker leaves the ISR and the leadership of these partitions."""
    trigger = evolve(trigger, barred=(*trigger.barred, broker))
    changes = (decide(controller, place, without(place.partition, broker), trigger, rules) for place in places)
    return tuple(change for change in changes if change is not None)


def elect(
    controller: Controller, places: Iterable[Place], trigger: Trigger, rules: RuleSet
) -> tuple[PartitionChangeRecord, ...]:
    """An election in each of these partitions, nothing else wanted."""
    changes = (decide(controller, place, Target.of(place.partition), trigger, rules) for place in places)
    return tuple(change for change in changes if change is not None)


def in_isr(controller: Controller, broker: int) -> tuple[Place, ...]:
    """Partitions with the broker in the ISR."""
    return tuple(place for place in controller.places() if place.partition.isr.has(broker))


def in_elr(controller: Controller, broker: int) -> tuple[Place, ...]:
    """Partitions with the broker in the ELR."""
    return tuple(place for place in controller.places() if place.partition.elr.has(broker))


def led_by(controller: Controller, broker: int) -> tuple[Place, ...]:
    """Partitions that the broker leads.

    The index that Kafka asks lists brokers by ISR, so a leader outside the
    ISR (defect B8) is not found.
    """
    return tuple(place for place in in_isr(controller, broker) if place.partition.leader == broker)


def leaderless(controller: Controller) -> tuple[Place, ...]:
    """Partitions without a leader."""
    return tuple(place for place in controller.places() if place.partition.leader == NO_LEADER)


def imbalanced(controller: Controller) -> tuple[Place, ...]:
    """Partitions that their first replica does not lead, leaderless ones included."""
    return tuple(place for place in controller.places() if not has_preferred_leader(place.partition))


def has_preferred_leader(p: Partition) -> bool:
    """Whether the first replica leads."""
    return bool(p.leader == p.replicas.first())
