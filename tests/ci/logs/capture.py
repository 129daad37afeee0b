"""Make the captured logs of the tests: a scripted run of a real cluster, and its metadata log.

    python -m tests.ci.logs.capture --kafka 4.1.0 --out tests/captured/elr
    python -m tests.ci.logs.capture --kafka 4.1.0 --out tests/captured/no-elr \\
        --feature eligible.leader.replicas.version=0
    python -m tests.ci.logs.capture --kafka 4.1.0 --out tests/captured/trouble --script trouble \\
        --feature eligible.leader.replicas.version=0
    python -m tests.ci.logs.capture --kafka 4.4.0 \\
        --out tests/captured/kafka-4.4.0 --script operations
    python -m tests.ci.logs.capture --kafka 3.5.2 --out tests/captured/kafka-3.5.2 --script restarts

The script `trouble` does what the usual one does not, and goes wrong at the wrong moment; its cluster is formatted
without ELR, which is switched on on the way. The script `operations` does what operators do to a cluster of today, with
ELR on and three controllers; its brokers are those whose order in a hash set is not ascending. The script `restarts` is
what every release since 3.3 can do. Maven fetches the jars of the release. A run takes about five minutes.
"""

import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

import click
from attrs import frozen

from kraftcheck.ci.conformance.cluster.processes import ELR, ClusterLayout, KafkaCluster, fresh_cluster
from kraftcheck.ci.terminal.refusal import Refusal

SETTINGS = (
    "broker.session.timeout.ms=6000", "broker.heartbeat.interval.ms=1000", "leader.imbalance.check.interval.seconds=20",
    "unclean.leader.election.interval.ms=5000", "replica.lag.time.max.ms=6000", "metadata.max.idle.interval.ms=0",
    "replica.high.watermark.checkpoint.interval.ms=1000", "offsets.topic.num.partitions=1",
    "offsets.topic.replication.factor=3", "log.dir.failure.timeout.ms=120000",
    "metadata.log.max.record.bytes.between.snapshots=9000", "num.partitions=1",
)  # fmt: skip
"""Short timeouts, so that what takes minutes happens in seconds."""


FENCED_S = 9  # until a silent broker is fenced, in seconds

CORDONED_FROM = (4, 3)  # the first line of releases in which a directory can be cordoned


def add_partitions(cluster: KafkaCluster, topic: str, total: int, assignment: Iterable[Sequence[int]] = ()) -> None:
    """Give a topic more partitions, with the replicas of each new one or where Kafka places them."""
    cluster.admin.ask("add partitions", topic=topic, total=total, assignment=[list(one) for one in assignment])


def throttle(cluster: KafkaCluster, topic: str, bytes_per_second: int | None) -> None:
    """Throttle the copying of all replicas of a topic, or with None no more."""
    rate, replicas = (None, None) if bytes_per_second is None else (str(bytes_per_second), "*")
    for side in ("leader", "follower"):
        for broker in cluster.layout.brokers:
            configs = {f"{side}.replication.throttled.rate": rate}
            cluster.admin.ask("configure", kind="BROKER", name=str(broker), configs=configs)
        cluster.configure(topic, f"{side}.replication.throttled.replicas", replicas)


def start_and_wait(cluster: KafkaCluster, broker: int) -> None:
    """Start a broker and wait until it has caught up."""
    cluster.start(broker)
    time.sleep(4)
    cluster.wait_until_unfenced(broker)
    cluster.wait_in_sync()


def lose_directory(cluster: KafkaCluster, broker: int, topic: str) -> None:
    """A broker's first log directory fails while a topic is filled; the broker stops, and comes back with it."""
    cluster.break_directory(broker, 0)
    time.sleep(15)
    cluster.fill(topic)
    cluster.stop(broker)
    cluster.mend_directory(broker, 0)
    start_and_wait(cluster, broker)


def usual_create_topics(cluster: KafkaCluster) -> None:
    """Topics of several kinds, with data."""
    cluster.create("orders", [(0, 1, 2), (1, 2, 0), (2, 0, 1)], min_insync_replicas="2")
    cluster.create("clicks", [(1, 2), (2, 0)], unclean_leader_election_enable="true")
    cluster.create("single", [(2, 0, 1)])
    cluster.create("lone", [(1,), (0,), (2,)])
    cluster.create("short-lived", [(0,)])
    for topic in ("orders", "clicks", "single"):
        cluster.fill(topic)


def usual_change(cluster: KafkaCluster) -> None:
    """More partitions, another configuration, a topic less."""
    add_partitions(cluster, "orders", 4)
    cluster.configure("single", "min.insync.replicas", "2")
    cluster.admin.ask("delete", topic="short-lived")


def usual_lose_brokers(cluster: KafkaCluster) -> None:
    """A broker killed and back, a broker stopped and back, then all but one killed."""
    cluster.kill(1)
    cluster.wait_for_isr_without("orders", 1)
    cluster.fill("orders")
    start_and_wait(cluster, 1)
    cluster.stop(2)
    time.sleep(3)
    start_and_wait(cluster, 2)
    cluster.elect("PREFERRED", "single", 0)
    for broker in (0, 1, 2):
        cluster.kill(broker)
        time.sleep(9)
    cluster.start(0)
    time.sleep(12)
    cluster.start(1, 2)
    cluster.wait_in_sync()


def usual_move(cluster: KafkaCluster) -> None:
    """A reassignment that completes, and one that is cancelled."""
    cluster.reassign("clicks", 0, (2, 1))
    cluster.wait("the reassignment ends", lambda: cluster.admin.describe("clicks")[0].replicas == (2, 1))
    cluster.fill("clicks", 100_000)
    throttle(cluster, "clicks", 1000)
    cluster.reassign("clicks", 0, (2, 0))
    time.sleep(4)
    cluster.reassign("clicks", 0, None)
    throttle(cluster, "clicks", None)
    cluster.wait_in_sync()


def usual_lose_controller(cluster: KafkaCluster) -> None:
    """The controller stops and comes back, with a new epoch."""
    (controller,) = cluster.layout.controllers
    cluster.stop(controller)
    cluster.start(controller)
    time.sleep(8)
    add_partitions(cluster, "single", 2)


def usual_lose_directories(cluster: KafkaCluster) -> None:
    """A log directory fails; the broker comes back with it."""
    lose_directory(cluster, 1, "orders")


def trouble_create_topics(cluster: KafkaCluster) -> None:
    """Topics with one to three replicas, unclean elections allowed or not."""
    if os.geteuid() == 0:
        raise Refusal("root ignores permissions, which this run takes away; run it as another user")
    cluster.create("loose", [(0, 1), (1, 0)], unclean_leader_election_enable="true")
    cluster.create("strict", [(0, 1), (1, 2)])
    cluster.create("wide", [(0, 1, 2), (2, 0, 1)], min_insync_replicas="2")
    cluster.create("alone", [(2,), (0,)])
    for topic in ("loose", "strict", "wide", "alone"):
        cluster.fill(topic)


def trouble_elect_uncleanly(cluster: KafkaCluster) -> None:
    """The last of the ISR dies and an outsider comes back: by configuration it leads, else by request."""
    cluster.kill(0)
    for topic in ("loose", "strict"):
        cluster.wait_for_isr_without(topic, 0)
        cluster.fill(topic)
    cluster.kill(1)
    time.sleep(FENCED_S)
    cluster.start(0)
    time.sleep(12)
    cluster.elect("UNCLEAN", "strict", 0)
    start_and_wait(cluster, 1)


def trouble_switch_elr_on(cluster: KafkaCluster) -> None:
    """The feature is finalized while the cluster runs; then brokers of an ISR die down to ELR, and min ISR falls."""
    cluster.change_feature(ELR, 1)
    cluster.kill(1)
    time.sleep(FENCED_S)
    cluster.kill(2)
    time.sleep(FENCED_S)
    cluster.configure("wide", "min.insync.replicas", "1")
    cluster.start(1)
    time.sleep(FENCED_S)
    start_and_wait(cluster, 2)
    cluster.configure("wide", "min.insync.replicas", "2")


def trouble_move_and_cancel(cluster: KafkaCluster) -> None:
    """A reassignment to a broker that has just died is cancelled; partitions are added and a topic deleted then."""
    cluster.kill(2)
    cluster.reassign("loose", 0, (2, 0))
    time.sleep(FENCED_S)
    cluster.reassign("loose", 0, None)
    add_partitions(cluster, "wide", 3, [(1, 0, 2)])
    cluster.create("brief", [(0, 1)])
    cluster.admin.ask("delete", topic="brief")
    start_and_wait(cluster, 2)
    cluster.reassign("loose", 1, (1, 2))
    cluster.wait("the reassignment ends", lambda: cluster.admin.describe("loose")[1].replicas == (1, 2))


def trouble_forbid_directories(cluster: KafkaCluster) -> None:
    """A directory may no longer be entered and fails; a broker that loses both of its directories ends."""
    first, second = cluster.directories(1)
    first.chmod(0)
    time.sleep(15)
    cluster.fill("wide")
    second.chmod(0)
    time.sleep(15)
    first.chmod(0o755)
    second.chmod(0o755)
    cluster.wait_for_end(1)
    start_and_wait(cluster, 1)


def trouble_stop_all(cluster: KafkaCluster) -> None:
    """Every broker stops in turn, the last with whatever it leads alone; they come back in another order."""
    for broker in (0, 1, 2):
        cluster.stop(broker)
        time.sleep(2)
    cluster.start(2)
    time.sleep(8)
    cluster.start(1, 0)
    time.sleep(8)
    cluster.wait_in_sync()
    cluster.elect("PREFERRED", "wide", 0)


def operations_create_topics(cluster: KafkaCluster) -> None:
    """Topics with one to three replicas, with a minimum that makes ELRs of one and of two members."""
    cluster.create("wide", [(1, 16, 34), (34, 1, 16), (16, 34, 1)], min_insync_replicas="2")
    cluster.create("strict", [(1, 16, 34), (16, 34, 1)], min_insync_replicas="3")
    cluster.create("pair", [(1, 16), (16, 34)], min_insync_replicas="2")
    cluster.create("loose", [(1, 16)], unclean_leader_election_enable="true")
    cluster.create("alone", [(34,), (1,)])
    cluster.create("brief", [(1, 16)])
    cluster.fill("wide")


def operations_grow_and_recreate(cluster: KafkaCluster) -> None:
    """Partitions where Kafka places them and where they are asked for; a topic goes and comes back."""
    add_partitions(cluster, "wide", 5)
    add_partitions(cluster, "pair", 3, [(34, 1)])
    cluster.admin.ask("delete", topic="brief")
    time.sleep(3)
    cluster.create("brief", [(16, 34)])


def operations_lose_brokers(cluster: KafkaCluster) -> None:
    """Two brokers killed one after the other and back in the other order; then each stops cleanly."""
    for broker in (1, 16):
        cluster.kill(broker)
        cluster.wait_for_isr_without("wide", broker)
    start_when_fenced(cluster, 16)
    start_and_wait(cluster, 1)
    for broker in (34, 16):
        cluster.stop(broker)
        cluster.wait_until_fenced(broker)
    cluster.start(34, 16)
    cluster.wait_until_unfenced(34, 16)
    cluster.wait_in_sync()


def start_when_fenced(cluster: KafkaCluster, broker: int) -> None:
    """Start a broker and wait until it is unfenced, while others may be away."""
    cluster.wait_until_fenced(broker)
    cluster.start(broker)
    cluster.wait_until_unfenced(broker)


def operations_elect_uncleanly(cluster: KafkaCluster) -> None:
    """The last of the ISR dies and an outsider comes back, which the configuration lets lead."""
    cluster.kill(1)
    cluster.wait_for_isr_without("loose", 1)
    cluster.fill("loose")
    cluster.kill(16)
    cluster.wait_until_fenced(16)
    start_when_fenced(cluster, 1)
    time.sleep(12)
    start_and_wait(cluster, 16)
    cluster.elect("PREFERRED", "wide", 0)


def operations_change_minimum(cluster: KafkaCluster) -> None:
    """The minimum changes while an ELR has a member; the member returns."""
    cluster.kill(1)
    cluster.wait_for_isr_without("pair", 1)
    cluster.configure("pair", "min.insync.replicas", "1")
    start_when_fenced(cluster, 1)
    cluster.wait_in_sync()
    cluster.configure("pair", "min.insync.replicas", "2")
    cluster.configure("strict", "min.insync.replicas", None)
    cluster.configure("strict", "min.insync.replicas", "3")


def operations_move_and_cancel(cluster: KafkaCluster) -> None:
    """A move to a broker that is down, then to a permutation of all three, then cancelled; and one that completes."""
    cluster.stop(34)
    cluster.wait_until_fenced(34)
    cluster.reassign("pair", 0, (34,))
    cluster.reassign("pair", 0, (34, 16, 1))
    cluster.reassign("pair", 0, None)
    start_and_wait(cluster, 34)
    cluster.reassign("pair", 1, (1, 34))
    cluster.wait("the reassignment ends", lambda: cluster.admin.describe("pair")[1].replicas == (1, 34))
    cluster.wait_in_sync()


def operations_lose_controllers(cluster: KafkaCluster) -> None:
    """The active controller is killed, twice; the next one goes on."""
    for total in (6, 7):
        killed = kill_active_controller(cluster)
        add_partitions(cluster, "wide", total)
        cluster.start(killed)
        time.sleep(8)
    cluster.wait_in_sync()


def kill_active_controller(cluster: KafkaCluster) -> int:
    """Kill the active controller and wait for the next; the id of the killed one."""
    active: int = cluster.admin.ask("quorum")["leader"]
    cluster.kill(active)
    cluster.wait("another controller is active", lambda: cluster.admin.ask("quorum")["leader"] not in (active, -1))
    return active


def operations_switch_elr_off(cluster: KafkaCluster) -> None:
    """ELR is switched off while it has members, a broker dies without it, and it is switched on again."""
    cluster.kill(16)
    cluster.wait_for_isr_without("wide", 16)
    cluster.change_feature(ELR, 0, "SAFE_DOWNGRADE")
    start_when_fenced(cluster, 16)
    cluster.wait_in_sync()
    cluster.kill(1)
    cluster.wait_for_isr_without("wide", 1)
    start_and_wait(cluster, 1)
    cluster.change_feature(ELR, 1)


def operations_cordon(cluster: KafkaCluster) -> None:
    """One directory, then every directory of a broker is cordoned while topics grow; releases before 4.3 cannot."""
    if tuple(map(int, cluster.version.split(".")[:2])) < CORDONED_FROM:
        return
    first, _ = cluster.directories(34)
    for topic, total, directories in (("wide", 8, str(first)), ("alone", 4, "*"), ("wide", 9, None)):
        configs = {"cordoned.log.dirs": directories}
        cluster.admin.ask("configure", kind="BROKER", name="34", configs=configs)
        time.sleep(5)
        add_partitions(cluster, topic, total)
    cluster.wait_in_sync()


def operations_lose_directories(cluster: KafkaCluster) -> None:
    """A log directory fails, and the broker comes back with it; then another broker loses both, and ends."""
    lose_directory(cluster, 16, "wide")
    for which in (0, 1):
        cluster.break_directory(1, which)
        time.sleep(5)
    cluster.wait_for_end(1)
    for which in (0, 1):
        cluster.mend_directory(1, which)
    cluster.wait_until_fenced(1)
    start_and_wait(cluster, 1)


def unregister_brokers(cluster: KafkaCluster, stopped: int) -> None:
    """A broker that has stopped is unregistered and returns; then one that was killed a moment ago."""
    cluster.stop(stopped)
    cluster.wait_until_fenced(stopped)
    cluster.unregister(stopped)
    start_and_wait(cluster, stopped)
    cluster.kill(1)
    cluster.unregister(1)
    start_and_wait(cluster, 1)


@frozen
class Script:
    """What a run does, by what it is called, in order, and on which nodes."""

    steps: Sequence[Callable[[KafkaCluster], None]]
    brokers: tuple[int, ...] = (0, 1, 2)
    controllers: tuple[int, ...] = (100,)


SCRIPTS = {
    "usual": Script(
        (
            usual_create_topics,
            usual_change,
            usual_lose_brokers,
            usual_move,
            usual_lose_controller,
            usual_lose_directories,
        )
    ),
    "trouble": Script(
        (
            trouble_create_topics,
            trouble_elect_uncleanly,
            trouble_switch_elr_on,
            trouble_move_and_cancel,
            partial(unregister_brokers, stopped=2),
            trouble_forbid_directories,
            trouble_stop_all,
        )
    ),
    "restarts": Script(
        (
            usual_create_topics,
            usual_lose_brokers,
            trouble_stop_all,
            usual_lose_controller,
            partial(unregister_brokers, stopped=2),
        )
    ),
    "operations": Script(
        (
            operations_create_topics,
            operations_grow_and_recreate,
            operations_lose_brokers,
            operations_elect_uncleanly,
            operations_change_minimum,
            operations_move_and_cancel,
            operations_lose_controllers,
            partial(unregister_brokers, stopped=16),
            operations_switch_elr_off,
            operations_cordon,
            operations_lose_directories,
        ),
        (1, 16, 34),
        (100, 101, 102),
    ),
}
"""The scripts by name."""


def run(cluster: KafkaCluster, steps: Sequence[Callable[[KafkaCluster], None]], out: Path) -> None:
    """Run the steps, then keep the metadata log, its newest snapshot and the decoded form of the log."""
    for step in steps:
        click.echo(getattr(step, "__name__", "unregister_brokers"), err=True)
        step(cluster)
    time.sleep(25)  # the balance timer
    kept = cluster.metadata(cluster.layout.controllers[0])
    for controller in cluster.layout.controllers:
        cluster.stop(controller)
    out.mkdir(parents=True, exist_ok=True)
    for segment in [*sorted(kept.glob("*.log")), *sorted(kept.glob("*.checkpoint"))[-1:]]:
        shutil.copyfile(segment, out / segment.name)
    (out / "decoded.txt").write_text(cluster.dump(sorted(out.glob("*.log"))), encoding="utf-8")


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
    chosen = SCRIPTS[script]
    layout = ClusterLayout(chosen.brokers, chosen.controllers, SETTINGS, features, release)
    with fresh_cluster(version, home, layout) as cluster:
        run(cluster, chosen.steps, out)


if __name__ == "__main__":
    main()
