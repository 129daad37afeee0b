"""Make the captured logs of the tests: a scripted run of a real cluster, and its metadata log.

    python -m kraftcheck.ci.logs.cluster.capture --jars FOLDER --out tests/captured/elr
    python -m kraftcheck.ci.logs.cluster.capture --jars FOLDER --out tests/captured/no-elr \\
        --feature eligible.leader.replicas.version=0
    python -m kraftcheck.ci.logs.cluster.capture --jars FOLDER --out tests/captured/trouble --script trouble \\
        --feature eligible.leader.replicas.version=0

The folder of jars holds org.apache.kafka:kafka_2.13 and kafka-tools of one
version with all that they need. It takes about five minutes.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from kraftcheck.ci.logs.cluster import trouble
from kraftcheck.ci.logs.cluster.administration import (
    configure,
    reassign,
    start_and_wait,
    wait_for_isr_without,
    wait_in_sync,
    write_plan,
)
from kraftcheck.ci.logs.cluster.processes import BROKERS, CONTROLLER, KafkaCluster, elect
from kraftcheck.ci.terminal.refusal import Refusal

SETTINGS = (
    "broker.session.timeout.ms=6000", "broker.heartbeat.interval.ms=1000", "leader.imbalance.check.interval.seconds=20",
    "unclean.leader.election.interval.ms=5000", "replica.lag.time.max.ms=6000", "metadata.max.idle.interval.ms=0",
    "replica.high.watermark.checkpoint.interval.ms=1000", "offsets.topic.num.partitions=1",
    "offsets.topic.replication.factor=3", "log.dir.failure.timeout.ms=120000",
    "metadata.log.max.record.bytes.between.snapshots=9000", "num.partitions=1",
)  # fmt: skip
"""Short timeouts, so that what takes minutes happens in seconds."""


def create(cluster: KafkaCluster) -> None:
    """Topics of several kinds, with data."""
    cluster.topics("--create", "--topic", "orders", "--partitions", "3", "--replication-factor", "3",
                   "--config", "min.insync.replicas=2")  # fmt: skip
    cluster.topics("--create", "--topic", "clicks", "--partitions", "2", "--replication-factor", "2",
                   "--config", "unclean.leader.election.enable=true")  # fmt: skip
    cluster.topics("--create", "--topic", "single", "--replica-assignment", "2:0:1")
    cluster.topics("--create", "--topic", "lone", "--replica-assignment", "1,0,2")
    cluster.topics("--create", "--topic", "short-lived", "--partitions", "1", "--replication-factor", "1")
    for topic in ("orders", "clicks", "single"):
        cluster.produce(topic)


def change(cluster: KafkaCluster) -> None:
    """More partitions, another configuration, a topic less."""
    cluster.topics("--alter", "--topic", "orders", "--partitions", "4")
    configure(cluster, "single", "min.insync.replicas=2")
    cluster.topics("--delete", "--topic", "short-lived")


def lose_brokers(cluster: KafkaCluster) -> None:
    """A broker killed and back, a broker stopped and back, then all but one killed."""
    cluster.kill(1)
    wait_for_isr_without(cluster, "orders", 1)
    cluster.produce("orders")
    start_and_wait(cluster, 1)
    cluster.stop(2)
    time.sleep(3)
    start_and_wait(cluster, 2)
    elect(cluster, "preferred", "single", 0)
    for broker in (0, 1):
        cluster.kill(broker)
        time.sleep(9)
    cluster.kill(2)
    time.sleep(9)
    cluster.start(0)
    time.sleep(12)
    cluster.start(1, 2)
    wait_in_sync(cluster)


def move(cluster: KafkaCluster) -> None:
    """A reassignment that completes, and one that is cancelled."""
    reassign(cluster, "--execute", write_plan(cluster, "clicks", 0, [2, 1]))
    cluster.wait("the reassignment ends", lambda: "Replicas: 2,1" in cluster.describe("clicks"))
    cluster.produce("clicks", 150_000)
    plan = write_plan(cluster, "clicks", 0, [2, 0])
    reassign(cluster, "--execute", plan, "--throttle", "1000")
    time.sleep(4)
    reassign(cluster, "--cancel", plan)
    wait_in_sync(cluster)


def lose_controller(cluster: KafkaCluster) -> None:
    """The controller stops and comes back, with a new epoch."""
    cluster.stop(CONTROLLER)
    cluster.start(CONTROLLER)
    time.sleep(8)
    cluster.topics("--alter", "--topic", "single", "--partitions", "2")


def lose_directories(cluster: KafkaCluster) -> None:
    """A log directory fails; the broker comes back with it."""
    cluster.break_directory(1, 0)
    time.sleep(15)
    cluster.produce("orders")
    cluster.stop(1)
    cluster.mend_directory(1, 0)
    start_and_wait(cluster, 1)


SCRIPTS = {
    "usual": (create, change, lose_brokers, move, lose_controller, lose_directories),
    "trouble": trouble.STEPS,
}
"""What a run does, in order."""


def run(cluster: KafkaCluster, steps: Sequence[Callable[[KafkaCluster], None]], out: Path) -> None:
    """Run the steps, then keep the metadata log, its newest snapshot and the decoded form of the log."""
    try:
        cluster.format()
        cluster.start(CONTROLLER, *BROKERS)
        time.sleep(10)
        for step in steps:
            click.echo(step.__name__, err=True)
            step(cluster)
        time.sleep(25)  # the balance timer
        cluster.stop(CONTROLLER)
    finally:
        cluster.close()
    out.mkdir(parents=True, exist_ok=True)
    for segment in [*sorted(cluster.metadata.glob("*.log")), *sorted(cluster.metadata.glob("*.checkpoint"))[-1:]]:
        shutil.copy(segment, out / segment.name)
    segments = ",".join(str(path) for path in sorted(out.glob("*.log")))
    decoded = cluster.tool("kafka.tools.DumpLogSegments", "--cluster-metadata-decoder", "--files", segments)
    (out / "decoded.txt").write_text(decoded.replace(f"{out}/", ""), encoding="utf-8")


@click.command()
@click.option("--jars", required=True, type=click.Path(exists=True, path_type=Path), help="Folder of Kafka's jars.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder for the log.")
@click.option("--feature", "features", multiple=True, help="Level to format with, NAME=LEVEL; repeatable.")
@click.option("--release", help="Release to format for; by default the jars' own.")
@click.option("--script", type=click.Choice([*SCRIPTS]), default="usual", show_default=True, help="What is done.")
@click.option("--home", type=click.Path(path_type=Path), help="Where the cluster lives; kept when given.")
def main(jars: Path, out: Path, features: tuple[str, ...], release: str | None, script: str, home: Path | None) -> None:
    """Run the script on a fresh cluster and keep its metadata log."""
    for name in ("kafka_2.13-*.jar", "kafka-tools-*.jar"):
        if not any(jars.glob(name)):
            raise Refusal(f"{jars}: no {name} here; copy it with its dependencies from Maven")
    place = home or Path(tempfile.mkdtemp(prefix="kraftcheck-cluster-"))
    try:
        run(KafkaCluster(jars, place, SETTINGS, features, release), SCRIPTS[script], out)
    finally:
        if home is None:
            shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main()
