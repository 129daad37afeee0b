"""One partition change build with the whole controller's state; every trigger ends here.

All builds of an event read the state before it. Source: `LeaderAcceptor`,
`ReplicationControlManager.generateLeaderAndIsrUpdates`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import cast

from attrs import evolve

from kraftcheck.model.controller.errors import NoReplica, Resignation
from kraftcheck.model.controller.state import Controller, Place
from kraftcheck.model.language.brokersets import Brokers
from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.language.rule import rule
from kraftcheck.model.partition.change import build
from kraftcheck.model.partition.directories import UNASSIGNED, DirectoryList
from kraftcheck.model.partition.registration import Partition
from kraftcheck.model.records.records import PartitionChangeRecord, ids
from kraftcheck.model.rules.groups import PartitionRules
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.triggers.directory_assignment import default_directory
from kraftcheck.model.triggers.leadership import lookup_failed, may_lead
from kraftcheck.model.triggers.table import Pass, Permits, Trigger, context, needs_leader, needs_preferred, ordinary


def permits(controller: Controller, place: Place, rules: PartitionRules) -> Permits:
    """What topic and cluster allow."""
    return Permits(controller.unclean_election(place.topic_id), controller.features.elr(rules))


def acceptable(controller: Controller, p: Partition, trigger: Trigger, rules: PartitionRules) -> Brokers:
    """Brokers that pass the leader test for a trigger."""
    return may_lead(controller.cluster(), offline(controller, p, rules), trigger.barred, trigger.counted, rules)


def offline(controller: Controller, p: Partition, rules: PartitionRules) -> IdList:
    """Replicas on registered brokers that are in no online directory."""
    known = controller.image.registrations
    replicas = (broker for broker in ids(p.replicas) if broker in known)
    return IdList.of(b for b in replicas if not known[b].has_online_dir(int(p.directories.of(b)), rules))


def eligible(controller: Controller, place: Place, rules: PartitionRules) -> Brokers:
    """Brokers that may lead as the partition is."""
    p = place.partition
    return acceptable(controller, p, ordinary(p, permits(controller, place, rules)), rules)


def directory_of_new_replica(controller: Controller, broker: int, rules: PartitionRules) -> int:
    """The directory of a new replica on a broker; source: `ClusterControlManager.defaultDir`."""
    known, supported = controller.registration(broker), controller.features.directories
    dirs = () if known is None else known.dirs
    only = dirs[0] if dirs else UNASSIGNED
    return int(default_directory(known is not None, len(dirs), only, supported, rules))


def decide(controller: Controller, place: Place, wanted: Pass, rules: RuleSet) -> PartitionChangeRecord | None:
    """The change of one partition by a pass; None where nothing changes, or the partition is not concerned.

    Args:
        controller: the state before the event.
        place: the partition.
        wanted: what the event wants of it.
        rules: the rule set.

    Raises:
        NoReplica: when Kafka would look up the directory of a broker that is no replica.
    """
    if not wanted.when:
        return None
    p, trigger = place.partition, wanted.trigger
    directories = cast(DirectoryList, p.directories)
    moved = directories if wanted.placed is None else directories.moved(*wanted.placed)
    able = acceptable(controller, evolve(p, directories=moved), trigger, rules.partition)
    given = context(
        trigger,
        able,
        controller.min_isr(place.topic_id, place.index, rules.controller),
        lambda broker: directory_of_new_replica(controller, int(broker), rules.partition),
        directory_assignment=controller.features.directories,
        leader_recovery=controller.features.leader_recovery,
        bump_on_isr_shrink=controller.features.bump_on_isr_shrink or rules.partition.bump_on_isr_shrink,
    )
    built = build(p, wanted.target, given, rules.partition)
    if lookup_failed(built.election, p.replicas, able):
        raise NoReplica(f"broker {built.election.leader} has no directory: it is no replica")
    return None if built.change.is_noop() else PartitionChangeRecord(place.topic_id, place.index, built.change)


Wanted = Callable[[Partition, Permits], Pass]
"""What a trigger wants of a partition, given what its topic and the cluster allow."""


def always(wanted: Wanted) -> Wanted:
    """The same of every partition that is visited: a broker that an index lists need not be in the set any more."""
    return lambda p, allowed: evolve(wanted(p, allowed), when=True)


def decide_each(
    controller: Controller, places: Iterable[Place], wanted: Wanted, rules: RuleSet
) -> tuple[PartitionChangeRecord, ...]:
    """What a trigger changes in these partitions, each decided on the state before the event."""
    changes = (
        decide(controller, place, wanted(place.partition, permits(controller, place, rules.partition)), rules)
        for place in places
    )
    return tuple(change for change in changes if change is not None)


def in_isr(controller: Controller, broker: int) -> tuple[Place, ...]:
    """Partitions with the broker in the ISR."""
    return tuple(place for place in controller.places() if place.partition.isr.has(broker))


@rule("elr-index.lists-existing-topics",
      source="ReplicationControlManager.generateLeaderAndIsrUpdates; ReplicationControlManager.removeTopicElrs",
      switches=("cleared-elr-stays-indexed",),
      says="The index of ELR members lists partitions that exist; one of a deleted topic makes the controller "
           "resign.")  # fmt: skip
def in_elr(controller: Controller, broker: int) -> tuple[Place, ...]:
    """Partitions that the index of ELR members lists for a broker: those with the broker in the ELR.

    As found some are listed that have it no more, and some twice.

    Raises:
        Resignation: where a topic is listed that does not exist.
    """
    index = controller.elr_index
    differing = index.topics_of(broker)
    places = [
        place for place in controller.places() if place.topic_id not in differing and place.partition.elr.has(broker)
    ]
    for topic_id in differing:
        topic = controller.image.topics.get(topic_id)
        if topic is None:
            raise Resignation(f"topic {topic_id} existed in the index of ELR members, but not in the topics map")
        listed = index.partitions(broker, topic_id, topic)
        places += [Place(topic_id, number, topic.partitions[number]) for number in listed]
    return tuple(places)


def led_by(controller: Controller, broker: int) -> tuple[Place, ...]:
    """Partitions that the broker leads.

    The index that Kafka asks lists brokers by ISR, so a leader outside the
    ISR (defect B8) is not found.
    """
    return tuple(place for place in in_isr(controller, broker) if place.partition.leader == broker)


def leaderless(controller: Controller) -> tuple[Place, ...]:
    """Partitions without a leader."""
    return tuple(place for place in controller.places() if needs_leader(place.partition))


@rule("timer.balance", source="semantics 3; ReplicationControlManager.maybeBalancePartitionLeaders",
      says="The balance timer holds preferred elections where the first replica does not lead.")  # fmt: skip
def imbalanced(controller: Controller) -> tuple[Place, ...]:
    """Partitions that their first replica does not lead, leaderless ones included."""
    return tuple(place for place in controller.places() if needs_preferred(place.partition))
