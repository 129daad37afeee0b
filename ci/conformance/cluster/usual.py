"""The first scripted run: topics, brokers that die and stop, moves, another controller epoch, a failed directory."""

from __future__ import annotations

import time

from kraftcheck.ci.conformance.cluster.administration import (
    add_partitions,
    configure,
    create,
    elect,
    fill,
    lose_directory,
    reassign,
    start_and_wait,
    throttle,
    wait_for_isr_without,
    wait_in_sync,
)
from kraftcheck.ci.conformance.cluster.processes import KafkaCluster


def create_topics(cluster: KafkaCluster) -> None:
    """Topics of several kinds, with data."""
    create(cluster, "orders", [(0, 1, 2), (1, 2, 0), (2, 0, 1)], min_insync_replicas="2")
    create(cluster, "clicks", [(1, 2), (2, 0)], unclean_leader_election_enable="true")
    create(cluster, "single", [(2, 0, 1)])
    create(cluster, "lone", [(1,), (0,), (2,)])
    create(cluster, "short-lived", [(0,)])
    for topic in ("orders", "clicks", "single"):
        fill(cluster, topic)


def change(cluster: KafkaCluster) -> None:
    """More partitions, another configuration, a topic less."""
    add_partitions(cluster, "orders", 4)
    configure(cluster, "single", "min.insync.replicas", "2")
    cluster.admin.ask("delete", topic="short-lived")


def lose_brokers(cluster: KafkaCluster) -> None:
    """A broker killed and back, a broker stopped and back, then all but one killed."""
    cluster.kill(1)
    wait_for_isr_without(cluster, "orders", 1)
    fill(cluster, "orders")
    start_and_wait(cluster, 1)
    cluster.stop(2)
    time.sleep(3)
    start_and_wait(cluster, 2)
    elect(cluster, "PREFERRED", "single", 0)
    for broker in (0, 1, 2):
        cluster.kill(broker)
        time.sleep(9)
    cluster.start(0)
    time.sleep(12)
    cluster.start(1, 2)
    wait_in_sync(cluster)


def move(cluster: KafkaCluster) -> None:
    """A reassignment that completes, and one that is cancelled."""
    reassign(cluster, "clicks", 0, (2, 1))
    cluster.wait("the reassignment ends", lambda: cluster.admin.describe("clicks")[0].replicas == (2, 1))
    fill(cluster, "clicks", 100_000)
    throttle(cluster, "clicks", 1000)
    reassign(cluster, "clicks", 0, (2, 0))
    time.sleep(4)
    reassign(cluster, "clicks", 0, None)
    throttle(cluster, "clicks", None)
    wait_in_sync(cluster)


def lose_controller(cluster: KafkaCluster) -> None:
    """The controller stops and comes back, with a new epoch."""
    (controller,) = cluster.layout.controllers
    cluster.stop(controller)
    cluster.start(controller)
    time.sleep(8)
    add_partitions(cluster, "single", 2)


def lose_directories(cluster: KafkaCluster) -> None:
    """A log directory fails; the broker comes back with it."""
    lose_directory(cluster, 1, "orders")


STEPS = (create_topics, change, lose_brokers, move, lose_controller, lose_directories)
"""What the run does, in order."""
