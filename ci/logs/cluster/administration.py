"""Administrative operations on a cluster, and waits for their effects."""

from __future__ import annotations

import json
import time
from pathlib import Path

from kraftcheck.ci.logs.cluster.processes import KafkaCluster


def configure(cluster: KafkaCluster, topic: str, setting: str) -> None:
    """Set one configuration of a topic."""
    cluster.tool("kafka.admin.ConfigCommand", "--bootstrap-server", cluster.bootstrap, "--alter",
                 "--topic", topic, "--add-config", setting)  # fmt: skip


def reassign(cluster: KafkaCluster, how: str, plan: Path, *more: str) -> None:
    """`kafka-reassign-partitions` with a plan."""
    cluster.tool("org.apache.kafka.tools.reassign.ReassignPartitionsCommand", "--bootstrap-server",
                 cluster.bootstrap, "--reassignment-json-file", str(plan), how, *more)  # fmt: skip


def wait_for_isr_without(cluster: KafkaCluster, topic: str, broker: int) -> None:
    """Wait until no partition of a topic has the broker in its ISR."""

    def gone() -> bool:
        lists = [line.split("Isr:")[1].split()[0] for line in cluster.describe(topic).splitlines() if "Isr:" in line]
        return all(str(broker) not in isr.split(",") for isr in lists)

    cluster.wait(f"broker {broker} leaves the ISRs of {topic}", gone)


def wait_in_sync(cluster: KafkaCluster) -> None:
    """Wait until every replica is in sync."""
    arguments = ("--describe", "--under-replicated-partitions")
    cluster.wait("every replica is in sync", lambda: not cluster.topics(*arguments).strip())


def start_and_wait(cluster: KafkaCluster, broker: int) -> None:
    """Start a broker and wait until it has caught up."""
    cluster.start(broker)
    time.sleep(4)
    wait_in_sync(cluster)


def write_plan(cluster: KafkaCluster, topic: str, partition: int, replicas: list[int]) -> Path:
    """A plan that moves one partition."""
    plan = cluster.home / "plan.json"
    reassignment = {"topic": topic, "partition": partition, "replicas": replicas}
    plan.write_text(json.dumps({"version": 1, "partitions": [reassignment]}), encoding="utf-8")
    return plan


def unregister(cluster: KafkaCluster, broker: int) -> None:
    """`kafka-cluster unregister`."""
    cluster.tool("org.apache.kafka.tools.ClusterTool", "unregister", "--bootstrap-server", cluster.bootstrap,
                 "--id", str(broker))  # fmt: skip


def raise_feature(cluster: KafkaCluster, feature: str) -> None:
    """`kafka-features upgrade` of one feature, as `name=level`."""
    cluster.tool("org.apache.kafka.tools.FeatureCommand", "--bootstrap-server", cluster.bootstrap,
                 "upgrade", "--feature", feature)  # fmt: skip
