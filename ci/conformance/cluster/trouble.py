"""The second scripted run: what the first does not do, and what goes wrong at the wrong moment.

Root reads and writes whatever the permissions are, so this run needs another
user. The cluster is formatted without ELR, which is switched on on the way.
"""

from __future__ import annotations

import os
import time

from kraftcheck.ci.conformance.cluster.administration import (
    ELR,
    add_partitions,
    change_feature,
    configure,
    create,
    elect,
    fill,
    reassign,
    start_and_wait,
    unregister,
    wait_for_isr_without,
    wait_in_sync,
)
from kraftcheck.ci.conformance.cluster.processes import KafkaCluster
from kraftcheck.ci.terminal.refusal import Refusal

FENCED_S = 9
"""Until a silent broker is fenced, in seconds."""


def create_topics(cluster: KafkaCluster) -> None:
    """Topics with one to three replicas, unclean elections allowed or not."""
    if os.geteuid() == 0:
        raise Refusal("root ignores permissions, which this run takes away; run it as another user")
    create(cluster, "loose", [(0, 1), (1, 0)], unclean_leader_election_enable="true")
    create(cluster, "strict", [(0, 1), (1, 2)])
    create(cluster, "wide", [(0, 1, 2), (2, 0, 1)], min_insync_replicas="2")
    create(cluster, "alone", [(2,), (0,)])
    for topic in ("loose", "strict", "wide", "alone"):
        fill(cluster, topic)


def elect_uncleanly(cluster: KafkaCluster) -> None:
    """The last of the ISR dies and an outsider comes back: by configuration it leads, else by request."""
    cluster.kill(0)
    for topic in ("loose", "strict"):
        wait_for_isr_without(cluster, topic, 0)
        fill(cluster, topic)
    cluster.kill(1)
    time.sleep(FENCED_S)
    cluster.start(0)
    time.sleep(12)
    elect(cluster, "UNCLEAN", "strict", 0)
    start_and_wait(cluster, 1)


def switch_elr_on(cluster: KafkaCluster) -> None:
    """The feature is finalized while the cluster runs; then brokers of an ISR die down to ELR, and min ISR falls."""
    change_feature(cluster, ELR, 1)
    cluster.kill(1)
    time.sleep(FENCED_S)
    cluster.kill(2)
    time.sleep(FENCED_S)
    configure(cluster, "wide", "min.insync.replicas", "1")
    cluster.start(1)
    time.sleep(FENCED_S)
    start_and_wait(cluster, 2)
    configure(cluster, "wide", "min.insync.replicas", "2")


def move_and_cancel(cluster: KafkaCluster) -> None:
    """A reassignment to a broker that has just died is cancelled; partitions are added and a topic deleted then."""
    cluster.kill(2)
    reassign(cluster, "loose", 0, (2, 0))
    time.sleep(FENCED_S)
    reassign(cluster, "loose", 0, None)
    add_partitions(cluster, "wide", 3, [(1, 0, 2)])
    create(cluster, "brief", [(0, 1)])
    cluster.admin.ask("delete", topic="brief")
    start_and_wait(cluster, 2)
    reassign(cluster, "loose", 1, (1, 2))
    cluster.wait("the reassignment ends", lambda: cluster.admin.describe("loose")[1].replicas == (1, 2))


def unregister_brokers(cluster: KafkaCluster) -> None:
    """A broker that has stopped is unregistered and returns; then one that was killed a moment ago."""
    cluster.stop(2)
    time.sleep(3)
    unregister(cluster, 2)
    start_and_wait(cluster, 2)
    cluster.kill(1)
    unregister(cluster, 1)
    start_and_wait(cluster, 1)


def forbid_directories(cluster: KafkaCluster) -> None:
    """A directory may no longer be entered and fails; a broker that loses both of its directories ends."""
    first, second = cluster.directories(1)
    first.chmod(0)
    time.sleep(15)
    fill(cluster, "wide")
    second.chmod(0)
    time.sleep(15)
    first.chmod(0o755)
    second.chmod(0o755)
    cluster.wait_for_end(1)
    start_and_wait(cluster, 1)


def stop_all(cluster: KafkaCluster) -> None:
    """Every broker stops in turn, the last with whatever it leads alone; they come back in another order."""
    for broker in (0, 1, 2):
        cluster.stop(broker)
        time.sleep(2)
    cluster.start(2)
    time.sleep(8)
    cluster.start(1, 0)
    time.sleep(8)
    wait_in_sync(cluster)
    elect(cluster, "PREFERRED", "wide", 0)


STEPS = (
    create_topics, elect_uncleanly, switch_elr_on, move_and_cancel, unregister_brokers, forbid_directories, stop_all,
)  # fmt: skip
"""What the run does, in order."""
