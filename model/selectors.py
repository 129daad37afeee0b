"""Leader selectors of the ZooKeeper-era controller.

Pure rules on a partition and the set of live replicas. `live` holds the
brokers that are alive and have the replica online. Where a selector finds
nobody, the old controller raised an error and left leader and ISR as they
were; here `elected` is false and `isr` is the old one.

Source: `Election`, `PartitionLeaderElectionAlgorithms`; before those the
`PartitionLeaderSelector` classes, which chose alike; the early JBOD KIP for
restarted partitions.
"""

from __future__ import annotations

from attrs import frozen

from model.brokersets import Brokers
from model.partition import Partition
from model.terms import Truth, Word
from model.words import NO_LEADER, all_of, choose, negate


@frozen
class Selection:
    """What a selector decides.

    Attributes:
        leader: the new leader, or NO_LEADER.
        isr: the new ISR.
        unclean: whether the leader comes from outside the ISR, so that it has
            to recover where leader recovery is supported.
        elected: whether a leader was found.
    """

    leader: Word
    isr: Brokers
    unclean: Truth
    elected: Truth


def select_offline(p: Partition, live: Brokers, unclean_allowed: Truth) -> Selection:
    """For partitions that are new or whose leader died.

    The first live replica of the ISR, which keeps its live members; where it
    has none and unclean election is allowed, the first live replica, alone.
    """
    return _offline(p.replicas, p.isr, p.isr, live, unclean_allowed)


def select_preferred(p: Partition, live: Brokers) -> Selection:
    """For moving leadership to the first replica, if it is live and in the ISR.

    Callers skip partitions that it leads already.
    """
    first = p.replicas.first()
    return _unchanged_isr(p, choose(all_of(p.isr.has(first), live.has(first)), first, NO_LEADER))


def select_reassigned(p: Partition, live: Brokers, target: Brokers) -> Selection:
    """For partitions being reassigned: the first replica of the target that is live and in the ISR."""
    return _unchanged_isr(p, target.first_in(p.isr.keep(live)))


def select_controlled_shutdown(p: Partition, live: Brokers, leaving: Brokers) -> Selection:
    """For partitions whose leader shuts down.

    The first replica in the ISR that is live and stays; the ISR loses all that
    leave. Brokers that leave count as alive until they are gone, so whether
    `live` lists them makes no difference.
    """
    isr = p.isr.minus(leaving)
    leader = p.replicas.first_in(isr.keep(live))
    elected = leader != NO_LEADER
    return Selection(leader, choose(elected, isr, p.isr), False, elected)


def select_restarted(p: Partition, live: Brokers, restarted: Word, unclean_allowed: Truth) -> Selection:
    """For a partition whose replica on one broker failed and asks to be restarted.

    The broker leaves the ISR and stays assigned. Another leader stays; where
    the broker led, or where the leader is not a live member of the remaining
    ISR, the offline selector decides as if the broker were down.
    """
    failed = p.isr.just(restarted)
    isr = p.isr.minus(failed)
    able = live.minus(failed)
    stays = all_of(p.leader != NO_LEADER, isr.has(p.leader), able.has(p.leader))
    return choose(
        stays,
        Selection(p.leader, isr, False, True),
        _offline(p.replicas, isr, p.isr, able, unclean_allowed),
    )


def _offline(replicas: Brokers, isr: Brokers, old_isr: Brokers, live: Brokers, unclean_allowed: Truth) -> Selection:
    alive = isr.keep(live)
    clean = replicas.first_in(alive)
    leader = choose(clean != NO_LEADER, clean, choose(unclean_allowed, replicas.first_in(live), NO_LEADER))
    elected = leader != NO_LEADER
    unclean = all_of(elected, negate(isr.has(leader)))
    kept = choose(elected, alive, old_isr)
    return Selection(leader, choose(unclean, isr.just(leader), kept), unclean, elected)


def _unchanged_isr(p: Partition, leader: Word) -> Selection:
    return Selection(leader, p.isr, False, leader != NO_LEADER)
