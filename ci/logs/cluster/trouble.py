"""The second scripted run: what the first does not do, and what goes wrong at the wrong moment.

Root reads and writes whatever the permissions are, so this run needs another
user. The cluster is formatted without ELR, which is switched on on the way.
"""

from __future__ import annotations

import os
import time

from kraftcheck.ci.logs.cluster.administration import (
    configure,
    raise_feature,
    reassign,
    start_and_wait,
    unregister,
    wait_for_isr_without,
    wait_in_sync,
    write_plan,
)
from kraftcheck.ci.logs.cluster.processes import KafkaCluster, elect
from kraftcheck.ci.terminal.refusal import Refusal

FENCED_S = 9
"""Until a silent broker is fenced, in seconds."""


def create(cluster: KafkaCluster) -> None:
    """Topics with one to three replicas, unclean elections allowed or not."""
    if os.geteuid() == 0:
        raise Refusal("root ignores permissions, which this run takes away; run it as another user")
    for topic, *assigned in (
        ("loose", "0:1,1:0", "--config", "unclean.leader.election.enable=true"),
        ("strict", "0:1,1:2"),
        ("wide", "0:1:2,2:0:1", "--config", "min.insync.replicas=2"),
        ("alone", "2,0"),
    ):
        cluster.topics("--create", "--topic", topic, "--replica-assignment", *assigned)
        cluster.produce(topic)


def elect_uncleanly(cluster: KafkaCluster) -> None:
    """The last of the ISR dies and an outsider comes back: by configuration it leads, else by request."""
    cluster.kill(0)
    for topic in ("loose", "strict"):
        wait_for_isr_without(cluster, topic, 0)
        cluster.produce(topic)
    cluster.kill(1)
    time.sleep(FENCED_S)
    cluster.start(0)
    time.sleep(12)
    elect(cluster, "unclean", "strict", 0)
    start_and_wait(cluster, 1)


def switch_elr_on(cluster: KafkaCluster) -> None:
    """The feature is finalized while the cluster runs; then brokers of an ISR die down to ELR, and min ISR falls."""
    raise_feature(cluster, "eligible.leader.replicas.version=1")
    cluster.kill(1)
    time.sleep(FENCED_S)
    cluster.kill(2)
    time.sleep(FENCED_S)
    configure(cluster, "wide", "min.insync.replicas=1")
    cluster.start(1)
    time.sleep(FENCED_S)
    start_and_wait(cluster, 2)
    configure(cluster, "wide", "min.insync.replicas=2")


def move_and_cancel(cluster: KafkaCluster) -> None:
    """A reassignment to a broker that has just died is cancelled; partitions are added and a topic deleted then."""
    plan = write_plan(cluster, "loose", 0, [2, 0])
    cluster.kill(2)
    reassign(cluster, "--execute", plan)  # the tool refuses brokers that are fenced already
    time.sleep(FENCED_S)
    reassign(cluster, "--cancel", plan, "--preserve-throttles")  # the dead broker has none to take away
    cluster.topics("--alter", "--topic", "wide", "--partitions", "3", "--replica-assignment", "0:1:2,2:0:1,1:0:2")
    cluster.topics("--create", "--topic", "brief", "--replica-assignment", "0:1")
    cluster.topics("--delete", "--topic", "brief")
    start_and_wait(cluster, 2)
    reassign(cluster, "--execute", write_plan(cluster, "loose", 1, [1, 2]))
    cluster.wait("the reassignment ends", lambda: "Replicas: 1,2" in cluster.describe("loose"))


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
    cluster.produce("wide")
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
    elect(cluster, "preferred", "wide", 0)


STEPS = (create, elect_uncleanly, switch_elr_on, move_and_cancel, unregister_brokers, forbid_directories, stop_all)
"""What the run does, in order."""
