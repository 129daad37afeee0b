"""The third scripted run: what operators do to a cluster of today, with ELR on and three controllers.

The brokers are 1, 16 and 34: a hash set of these ids is not in ascending order.
"""

from __future__ import annotations

import time

from kraftcheck.ci.conformance.cluster.administration import (
    ELR,
    add_partitions,
    change_feature,
    configure,
    create,
    elect,
    fill,
    lose_directory,
    reassign,
    start_and_wait,
    unregister,
    wait_for_isr_without,
    wait_in_sync,
    wait_until_fenced,
    wait_until_unfenced,
)
from kraftcheck.ci.conformance.cluster.processes import KafkaCluster

CORDONED_FROM = (4, 3)
"""The first line of releases in which a directory can be cordoned."""


def create_topics(cluster: KafkaCluster) -> None:
    """Topics with one to three replicas, with a minimum that makes ELRs of one and of two members."""
    create(cluster, "wide", [(1, 16, 34), (34, 1, 16), (16, 34, 1)], min_insync_replicas="2")
    create(cluster, "strict", [(1, 16, 34), (16, 34, 1)], min_insync_replicas="3")
    create(cluster, "pair", [(1, 16), (16, 34)], min_insync_replicas="2")
    create(cluster, "loose", [(1, 16)], unclean_leader_election_enable="true")
    create(cluster, "alone", [(34,), (1,)])
    create(cluster, "brief", [(1, 16)])
    fill(cluster, "wide")


def grow_and_recreate(cluster: KafkaCluster) -> None:
    """Partitions where Kafka places them and where they are asked for; a topic goes and comes back."""
    add_partitions(cluster, "wide", 5)
    add_partitions(cluster, "pair", 3, [(34, 1)])
    cluster.admin.ask("delete", topic="brief")
    time.sleep(3)
    create(cluster, "brief", [(16, 34)])


def lose_brokers(cluster: KafkaCluster) -> None:
    """Two brokers killed one after the other and back in the other order; then each stops cleanly."""
    for broker in (1, 16):
        cluster.kill(broker)
        wait_for_isr_without(cluster, "wide", broker)
    start_when_fenced(cluster, 16)
    start_and_wait(cluster, 1)
    for broker in (34, 16):
        cluster.stop(broker)
        wait_until_fenced(cluster, broker)
    cluster.start(34, 16)
    wait_until_unfenced(cluster, 34, 16)
    wait_in_sync(cluster)


def start_when_fenced(cluster: KafkaCluster, broker: int) -> None:
    """Start a broker and wait until it is unfenced, while others may be away."""
    wait_until_fenced(cluster, broker)
    cluster.start(broker)
    wait_until_unfenced(cluster, broker)


def elect_uncleanly(cluster: KafkaCluster) -> None:
    """The last of the ISR dies and an outsider comes back, which the configuration lets lead."""
    cluster.kill(1)
    wait_for_isr_without(cluster, "loose", 1)
    fill(cluster, "loose")
    cluster.kill(16)
    wait_until_fenced(cluster, 16)
    start_when_fenced(cluster, 1)
    time.sleep(12)
    start_and_wait(cluster, 16)
    elect(cluster, "PREFERRED", "wide", 0)


def change_minimum(cluster: KafkaCluster) -> None:
    """The minimum changes while an ELR has a member; the member returns."""
    cluster.kill(1)
    wait_for_isr_without(cluster, "pair", 1)
    configure(cluster, "pair", "min.insync.replicas", "1")
    start_when_fenced(cluster, 1)
    wait_in_sync(cluster)
    configure(cluster, "pair", "min.insync.replicas", "2")
    configure(cluster, "strict", "min.insync.replicas", None)
    configure(cluster, "strict", "min.insync.replicas", "3")


def move_and_cancel(cluster: KafkaCluster) -> None:
    """A move to a broker that is down, then to a permutation of all three, then cancelled; and one that completes."""
    cluster.stop(34)
    wait_until_fenced(cluster, 34)
    reassign(cluster, "pair", 0, (34,))
    reassign(cluster, "pair", 0, (34, 16, 1))
    reassign(cluster, "pair", 0, None)
    start_and_wait(cluster, 34)
    reassign(cluster, "pair", 1, (1, 34))
    cluster.wait("the reassignment ends", lambda: cluster.admin.describe("pair")[1].replicas == (1, 34))
    wait_in_sync(cluster)


def lose_controllers(cluster: KafkaCluster) -> None:
    """The active controller is killed, twice; the next one goes on."""
    for total in (6, 7):
        killed = kill_active_controller(cluster)
        add_partitions(cluster, "wide", total)
        cluster.start(killed)
        time.sleep(8)
    wait_in_sync(cluster)


def kill_active_controller(cluster: KafkaCluster) -> int:
    """Kill the active controller and wait for the next; the id of the killed one."""
    active: int = cluster.admin.ask("quorum")["leader"]
    cluster.kill(active)
    cluster.wait("another controller is active", lambda: cluster.admin.ask("quorum")["leader"] not in (active, -1))
    return active


def unregister_brokers(cluster: KafkaCluster) -> None:
    """A broker that has stopped is unregistered and returns; then one that was killed a moment ago."""
    cluster.stop(16)
    wait_until_fenced(cluster, 16)
    unregister(cluster, 16)
    start_and_wait(cluster, 16)
    cluster.kill(1)
    unregister(cluster, 1)
    start_and_wait(cluster, 1)


def switch_elr_off(cluster: KafkaCluster) -> None:
    """ELR is switched off while it has members, a broker dies without it, and it is switched on again."""
    cluster.kill(16)
    wait_for_isr_without(cluster, "wide", 16)
    change_feature(cluster, ELR, 0, "SAFE_DOWNGRADE")
    start_when_fenced(cluster, 16)
    wait_in_sync(cluster)
    cluster.kill(1)
    wait_for_isr_without(cluster, "wide", 1)
    start_and_wait(cluster, 1)
    change_feature(cluster, ELR, 1)


def cordon(cluster: KafkaCluster) -> None:
    """One directory, then every directory of a broker is cordoned while topics grow; releases before 4.3 cannot."""
    if tuple(map(int, cluster.version.split(".")[:2])) < CORDONED_FROM:
        return
    first, _ = cluster.directories(34)
    for topic, total, directories in (("wide", 8, str(first)), ("alone", 4, "*"), ("wide", 9, None)):
        configs = {"cordoned.log.dirs": directories}
        cluster.admin.ask("configure", kind="BROKER", name="34", configs=configs)
        time.sleep(5)
        add_partitions(cluster, topic, total)
    wait_in_sync(cluster)


def lose_directories(cluster: KafkaCluster) -> None:
    """A log directory fails, and the broker comes back with it; then another broker loses both, and ends."""
    lose_directory(cluster, 16, "wide")
    for which in (0, 1):
        cluster.break_directory(1, which)
        time.sleep(5)
    cluster.wait_for_end(1)
    for which in (0, 1):
        cluster.mend_directory(1, which)
    wait_until_fenced(cluster, 1)
    start_and_wait(cluster, 1)


STEPS = (
    create_topics, grow_and_recreate, lose_brokers, elect_uncleanly, change_minimum, move_and_cancel,
    lose_controllers, unregister_brokers, switch_elr_off, cordon, lose_directories,
)  # fmt: skip
"""What the run does, in order."""
