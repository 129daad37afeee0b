"""Administrative operations on a cluster, and waits for their effects."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from kraftcheck.ci.conformance.cluster.admin import RequestRefused
from kraftcheck.ci.conformance.cluster.processes import KafkaCluster

ELR = "eligible.leader.replicas.version"
"""The feature of eligible leader replicas."""


def create(cluster: KafkaCluster, topic: str, assignment: Iterable[Sequence[int]], **configs: str) -> None:
    """Create a topic with the replicas of each partition; of a configuration's name, `_` stands for a dot."""
    named = {name.replace("_", "."): value for name, value in configs.items()}
    cluster.admin.ask("create", topic=topic, assignment=[list(replicas) for replicas in assignment], configs=named)
    cluster.wait(f"{topic} is led", lambda: all(one.leader >= 0 for one in cluster.admin.describe(topic)))


def add_partitions(cluster: KafkaCluster, topic: str, total: int, assignment: Iterable[Sequence[int]] = ()) -> None:
    """Give a topic more partitions, with the replicas of each new one or where Kafka places them."""
    cluster.admin.ask("add partitions", topic=topic, total=total, assignment=[list(one) for one in assignment])


def configure(cluster: KafkaCluster, topic: str, setting: str, value: str | None) -> None:
    """Set one configuration of a topic, or with None take it away."""
    cluster.admin.ask("configure", kind="TOPIC", name=topic, configs={setting: value})


def reassign(cluster: KafkaCluster, topic: str, partition: int, replicas: Sequence[int] | None) -> None:
    """Ask that a partition gets these replicas, or with None that its reassignment is cancelled."""
    target = None if replicas is None else list(replicas)
    cluster.admin.ask("reassign", topic=topic, partition=partition, replicas=target)


def throttle(cluster: KafkaCluster, topic: str, bytes_per_second: int | None) -> None:
    """Throttle the copying of all replicas of a topic, or with None no more."""
    rate, replicas = (None, None) if bytes_per_second is None else (str(bytes_per_second), "*")
    for side in ("leader", "follower"):
        for broker in cluster.layout.brokers:
            configs = {f"{side}.replication.throttled.rate": rate}
            cluster.admin.ask("configure", kind="BROKER", name=str(broker), configs=configs)
        configure(cluster, topic, f"{side}.replication.throttled.replicas", replicas)


def elect(cluster: KafkaCluster, kind: str, topic: str, partition: int) -> str:
    """An election of one partition, PREFERRED or UNCLEAN; what Kafka says where it elects nobody, else nothing."""
    try:
        cluster.admin.ask("elect", kind=kind, topic=topic, partition=partition)
    except RequestRefused as refusal:
        return str(refusal)
    return ""


def change_feature(cluster: KafkaCluster, feature: str, level: int, kind: str = "UPGRADE") -> None:
    """Finalize a level of a feature: UPGRADE, SAFE_DOWNGRADE or UNSAFE_DOWNGRADE."""
    cluster.admin.ask("feature", name=feature, level=level, kind=kind)


def unregister(cluster: KafkaCluster, broker: int) -> None:
    """Unregister a broker."""
    cluster.admin.ask("unregister", broker=broker)


def fill(cluster: KafkaCluster, topic: str, records: int = 200) -> None:
    """Records to each partition of a topic that has a leader."""
    for one in cluster.admin.describe(topic):
        if one.leader >= 0:
            cluster.admin.produce(topic, one.partition, records)


def wait_for_isr_without(cluster: KafkaCluster, topic: str, broker: int) -> None:
    """Wait until no partition of a topic has the broker in its ISR."""

    def gone() -> bool:
        return all(broker not in one.isr for one in cluster.admin.describe(topic))

    cluster.wait(f"broker {broker} leaves the ISRs of {topic}", gone)


def wait_in_sync(cluster: KafkaCluster) -> None:
    """Wait until every replica is in sync."""

    def in_sync() -> bool:
        topics = [cluster.admin.describe(topic) for topic in cluster.admin.ask("topics")]
        return all(set(one.isr) == set(one.replicas) for partitions in topics for one in partitions)

    cluster.wait("every replica is in sync", in_sync)


def wait_until_fenced(cluster: KafkaCluster, broker: int) -> None:
    """Wait until clients do not see the broker any more."""
    cluster.wait(f"broker {broker} is fenced", lambda: broker not in cluster.admin.ask("brokers"))


def wait_until_unfenced(cluster: KafkaCluster, *brokers: int) -> None:
    """Wait until clients see the brokers."""
    cluster.wait(f"brokers {brokers} are unfenced", lambda: set(brokers) <= set(cluster.admin.ask("brokers")))


def start_and_wait(cluster: KafkaCluster, broker: int) -> None:
    """Start a broker and wait until it has caught up."""
    cluster.start(broker)
    time.sleep(4)
    wait_until_unfenced(cluster, broker)
    wait_in_sync(cluster)


def lose_directory(cluster: KafkaCluster, broker: int, topic: str) -> None:
    """A broker's first log directory fails while a topic is filled; the broker stops, and comes back with it."""
    cluster.break_directory(broker, 0)
    time.sleep(15)
    fill(cluster, topic)
    cluster.stop(broker)
    cluster.mend_directory(broker, 0)
    start_and_wait(cluster, broker)
