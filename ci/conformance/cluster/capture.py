"""Make the captured logs of the tests: a scripted run of a real cluster, and its metadata log.

    python -m kraftcheck.ci.conformance.cluster.capture --kafka 4.1.0 --out tests/captured/elr
    python -m kraftcheck.ci.conformance.cluster.capture --kafka 4.1.0 --out tests/captured/no-elr \\
        --feature eligible.leader.replicas.version=0
    python -m kraftcheck.ci.conformance.cluster.capture --kafka 4.1.0 --out tests/captured/trouble --script trouble \\
        --feature eligible.leader.replicas.version=0
    python -m kraftcheck.ci.conformance.cluster.capture --kafka 4.4.0 \\
        --out tests/captured/kafka-4.4.0 --script operations

Maven fetches the jars of the release. A run takes about five minutes.
"""

from __future__ import annotations

import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import click
from attrs import frozen

from kraftcheck.ci.conformance.cluster import operations, trouble, usual
from kraftcheck.ci.conformance.cluster.dump import dump
from kraftcheck.ci.conformance.cluster.processes import ClusterLayout, KafkaCluster, running_cluster

SETTINGS = (
    "broker.session.timeout.ms=6000", "broker.heartbeat.interval.ms=1000", "leader.imbalance.check.interval.seconds=20",
    "unclean.leader.election.interval.ms=5000", "replica.lag.time.max.ms=6000", "metadata.max.idle.interval.ms=0",
    "replica.high.watermark.checkpoint.interval.ms=1000", "offsets.topic.num.partitions=1",
    "offsets.topic.replication.factor=3", "log.dir.failure.timeout.ms=120000",
    "metadata.log.max.record.bytes.between.snapshots=9000", "num.partitions=1",
)  # fmt: skip
"""Short timeouts, so that what takes minutes happens in seconds."""


@frozen
class Script:
    """What a run does, in order, and on which nodes."""

    steps: Sequence[Callable[[KafkaCluster], None]]
    brokers: tuple[int, ...] = (0, 1, 2)
    controllers: tuple[int, ...] = (100,)


SCRIPTS = {
    "usual": Script(usual.STEPS),
    "trouble": Script(trouble.STEPS),
    "operations": Script(operations.STEPS, (1, 16, 34), (100, 101, 102)),
}
"""The scripts by name; in the last, the ids are those whose order in a hash set is not ascending."""


def run(cluster: KafkaCluster, steps: Sequence[Callable[[KafkaCluster], None]], out: Path) -> None:
    """Run the steps, then keep the metadata log, its newest snapshot and the decoded form of the log."""
    for step in steps:
        click.echo(step.__name__, err=True)
        step(cluster)
    time.sleep(25)  # the balance timer
    kept = cluster.metadata(cluster.layout.controllers[0])
    for controller in cluster.layout.controllers:
        cluster.stop(controller)
    out.mkdir(parents=True, exist_ok=True)
    for segment in [*sorted(kept.glob("*.log")), *sorted(kept.glob("*.checkpoint"))[-1:]]:
        shutil.copyfile(segment, out / segment.name)
    (out / "decoded.txt").write_text(dump(cluster, sorted(out.glob("*.log"))), encoding="utf-8")


@click.command()
@click.option("--kafka", "version", required=True, help="Release that is run.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder for the log.")
@click.option("--feature", "features", multiple=True, help="Level to format with, NAME=LEVEL; repeatable.")
@click.option("--release", help="Release to format for; by default the one that is run.")
@click.option("--script", type=click.Choice([*SCRIPTS]), default="usual", show_default=True, help="What is done.")
@click.option("--home", type=click.Path(path_type=Path), help="Where the cluster lives; kept when given.")
def main(
    version: str, out: Path, features: tuple[str, ...], release: str | None, script: str, home: Path | None
) -> None:
    """Run the script on a fresh cluster and keep its metadata log."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the processes of the cluster end with this one
    place = home or Path(tempfile.mkdtemp(prefix="kraftcheck-cluster-"))
    chosen = SCRIPTS[script]
    try:
        layout = ClusterLayout(chosen.brokers, chosen.controllers, SETTINGS, features, release)
        with running_cluster(version, place, layout) as cluster:
            run(cluster, chosen.steps, out)
    finally:
        if home is None:
            shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main()
