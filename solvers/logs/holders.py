"""Who holds all acknowledged records of each partition, as far as a metadata log can tell.

A metadata log has no records of topics. What it says is when records could be
acknowledged, and by whom: while there is a leader and the ISR has its minimum, all
members of the ISR hold whatever is acknowledged. So a replica is a holder from when
it is in the ISR of a holder until records could be acknowledged without it. Where the
log leaves open what happened, the worst is assumed:

* it does not say whether a stopped process had flushed its records, so a new
  incarnation holds nothing unless it left in a controlled shutdown, or stays eligible;
* it does not say when a replica that is not listed any more deletes its log, so it
  holds nothing from that record on, even where it is listed again;
* it does not say how far a replica outside the ISR has got, so only the ISR counts;
* a snapshot does not say who was in the ISR before, so an ELR member that is
  no replica, or is still being added, holds nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from attrs import evolve, field, frozen

from kraftcheck.model.controller.errors import Resignation
from kraftcheck.model.controller.state import Controller
from kraftcheck.model.language.words import NO_LEADER
from kraftcheck.model.partition.registration import Partition, is_reserved
from kraftcheck.model.records.records import Registration, ids
from kraftcheck.model.rules.ruleset import RIGHT

PartitionKey: TypeAlias = tuple[str, int]
"""Topic id and partition."""


@frozen
class Holders:
    """The holders of each partition at one place of a log.

    Attributes:
        members: holders by partition.
        losses: where a replica that is no holder led at some time, the offset of the last such record.
    """

    members: Mapping[PartitionKey, frozenset[int]] = field(factory=dict)
    losses: Mapping[PartitionKey, int] = field(factory=dict)

    def after(self, before: Controller, controller: Controller) -> Holders:
        """The holders after one more record.

        Args:
            before: the controller's state before the record.
            controller: the state after it.
        """
        members, losses = dict(self.members), dict(self.losses)
        for broker in _changed_brokers(before, controller):
            for key in [key for key, holders in members.items() if broker in holders]:
                if not _keeps_its_log(before, controller, key, broker):
                    members[key] -= {broker}
        for key in _changed_partitions(before, controller):
            p = controller.image.partition(*key)
            if p is None:
                members.pop(key, None)
                losses.pop(key, None)
                continue
            old = before.image.partition(*key)
            if old is None or key not in members:
                members[key] = first_holders(p)
                continue
            members[key], lost = next_holders(members[key], old, p, least_isr(controller, key))
            if lost:
                losses[key] = controller.image.next_offset - 1
        return evolve(self, members=members, losses=losses)


NO_HISTORY = Holders()
"""Before any record, or where none was followed."""


def first_holders(p: Partition) -> frozenset[int]:
    """The holders of a partition of which nothing earlier is known: a new one, or one of a snapshot.

    A snapshot names the min ISR behind the partitions, so that whether records can
    be acknowledged by the ISR alone is asked later.
    """
    return frozenset(ids(p.isr)) | frozenset(ids(p.elr.keep(p.replicas).minus(p.adding)))


def next_holders(
    holders: frozenset[int], before: Partition, p: Partition, minimum: int
) -> tuple[frozenset[int], bool]:
    """The holders after a change of a partition, and whether a replica leads that was none.

    From such a loss on, the records of the new leader are all there is.

    Args:
        holders: those before.
        before: the partition before.
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


def least_isr(controller: Controller, key: PartitionKey) -> int:
    """The effective min ISR of a partition; the smallest where the configuration is no number."""
    try:
        return controller.min_isr(*key, RIGHT.controller)
    except Resignation:
        return 1


def _changed_partitions(before: Controller, after: Controller) -> Iterator[PartitionKey]:
    """Partitions that a record changed, made or deleted, or of which it changed the min ISR."""
    old, new = before.image.topics, after.image.topics
    if before.configs is not after.configs:
        yield from (key for key in _partitions(after) if least_isr(before, key) != least_isr(after, key))
    if old is new:
        return
    for topic_id in {**old, **new}:
        known, topic = old.get(topic_id), new.get(topic_id)
        partitions = {} if known is None else known.partitions
        current = {} if topic is None else topic.partitions
        if known is not topic:
            every = {**partitions, **current}
            yield from ((topic_id, index) for index in every if partitions.get(index) is not current.get(index))


def _partitions(controller: Controller) -> Iterator[PartitionKey]:
    return ((place.topic_id, place.index) for place in controller.places())


def _changed_brokers(before: Controller, after: Controller) -> list[int]:
    """Brokers whose registration a record changed."""
    old, new = before.image.registrations, after.image.registrations
    return [] if old is new else [broker for broker in {**old, **new} if old.get(broker) is not new.get(broker)]


def _keeps_its_log(before: Controller, after: Controller, key: PartitionKey, broker: int) -> bool:
    """Whether a broker surely holds after a change of its registration what it held of a partition before."""
    known, now = before.registration(broker), after.registration(broker)
    p = after.image.partition(*key)
    if known is None or now is None or p is None or not _directory_is_there(p, now):
        return False
    return known.incarnation == now.incarnation or known.in_controlled_shutdown or bool(p.elr.has(broker))


def _directory_is_there(p: Partition, registration: Registration) -> bool:
    """Whether the directory of a broker's replica is registered; one that is not named counts as registered."""
    if not p.replicas.has(registration.id) or registration.no_dir_left:
        return False
    directory = int(p.directories.of(registration.id))
    return is_reserved(directory) or directory in registration.dirs or not registration.dirs
