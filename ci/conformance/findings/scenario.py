"""What a scenario of a finding on a live cluster is made of."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping

from attrs import frozen

from kraftcheck.ci.conformance.cluster.processes import ELR, ClusterLayout, KafkaCluster, PartitionDescription
from kraftcheck.model.register import content

Fact = int | str | list[int] | dict[str, int]
"""A measured value: a number, a list of brokers, an answer in words, a count by name."""

SETTINGS = (
    "broker.session.timeout.ms=9000", "broker.heartbeat.interval.ms=1000", "replica.lag.time.max.ms=10000",
    "leader.imbalance.check.interval.seconds=10", "replica.high.watermark.checkpoint.interval.ms=1000",
    "log.dir.failure.timeout.ms=300000", "initial.broker.registration.timeout.ms=40000",
)  # fmt: skip
"""Short timeouts, so that what takes minutes happens in seconds; unclean elections stay off, as by default."""

DEFAULTS = {
    "broker.session.timeout.ms": "9000", "broker.heartbeat.interval.ms": "2000", "replica.lag.time.max.ms": "30000",
    "leader.imbalance.check.interval.seconds": "300", "replica.high.watermark.checkpoint.interval.ms": "5000",
    "log.dir.failure.timeout.ms": "30000", "initial.broker.registration.timeout.ms": "60000",
}  # fmt: skip
"""What Kafka's default is for each of these settings."""

SILENT = ("metadata.max.idle.interval.ms=0",)
"""No record is written while nothing happens, so that the metadata log grows by what happens alone."""

PATIENT = ("initial.broker.registration.timeout.ms=600000", "broker.session.timeout.ms=20000")
"""A slow machine makes no difference to what a broker is refused, or fenced for."""


@frozen
class Outcome:
    """What a run showed."""

    shown: bool  # whether the effect of the finding was seen
    facts: dict[str, Fact]  # what was measured, in the order of the run; `shown` follows from them alone


@frozen
class Scenario:
    """A finding on a live cluster."""

    name: str  # how the command names it
    finding: str  # entries of the catalogue that it shows, or of Kafka's tracker
    title: str  # the effect, in one sentence for an operator
    steps: str  # what is done, in words
    layout: ClusterLayout  # the cluster
    run: Callable[[KafkaCluster], Outcome]  # does the steps on a cluster that is up, and measures


def layout(*brokers: int, controllers: tuple[int, ...] = (100,), more: tuple[str, ...] = ()) -> ClusterLayout:
    """A cluster with short timeouts, further settings and ELR on."""
    return ClusterLayout(brokers, controllers, (*SETTINGS, *more), (f"{ELR}=1",))


def in_words(layout: ClusterLayout, known: tuple[str, ...] = ()) -> str:
    """The nodes, features and settings of a cluster, but those settings that are known already."""
    nodes = ", ".join(map(str, layout.brokers))
    settings = dict(line.split("=") for line in layout.settings)
    told = [f"brokers {nodes}", f"controllers {', '.join(map(str, layout.controllers))}", *layout.features]
    return "; ".join([*told, *(line for one in settings.items() if (line := "=".join(one)) not in known)])


RENOUNCED = re.compile(
    r"failed with (?P<name>\w+).* at epoch (?P<epoch>\d+) .*Renouncing leadership.*\n(?P<reason>[\w.$]+: .*)?"
)
"""What a controller writes when an exception in an event makes it resign, perhaps more than once for an epoch."""

TOPIC_ID = re.compile(r"\b[\w-]{22}\b")


def renounced(text: str) -> dict[int, str]:
    """The epochs that a controller gave up because of an exception, by its output, with what the exception says."""
    return {int(m["epoch"]): TOPIC_ID.sub("...", m["reason"] or m["name"]) for m in RENOUNCED.finditer(text)}


def resignations(cluster: KafkaCluster) -> dict[int, list[str]]:
    """The exceptions that made each controller resign, one for each epoch that it gave up."""
    return {node: list(renounced(cluster.messages(node)).values()) for node in cluster.layout.controllers}


def resignation_count(cluster: KafkaCluster) -> int:
    """How often a controller has resigned because of an exception."""
    return sum(map(len, resignations(cluster).values()))


def resigns_again(cluster: KafkaCluster, before: int) -> bool:
    """Whether controllers have resigned more than once since there were so many resignations."""
    return resignation_count(cluster) > before + 1


def marked_count(cluster: KafkaCluster) -> int:
    """How many changes of a partition mark an unclean election."""
    changes = cluster.records_of("PARTITION_CHANGE_RECORD")
    return sum(change.get("leaderRecoveryState", 0) == 1 for change in changes)


def loss(acknowledged: int, readable: int) -> dict[str, Fact]:
    """How many acknowledged records can be read, and how many are lost, as facts."""
    return {"acknowledged records that can be read": readable, LOST: acknowledged - readable}


LOST = "acknowledged records that are lost"  # the fact that shows a loss


def state(one: PartitionDescription) -> str:
    """A partition in words."""
    lists = {"replicas": one.replicas, "ISR": one.isr, "ELR": one.elr, "last known": one.last_known}
    return ", ".join([f"leader {one.leader}", *(f"{name} {list(ids)}" for name, ids in lists.items())])


def resignation_facts(cluster: KafkaCluster) -> dict[str, Fact]:
    """Resignations of each controller, with their reasons, as facts."""
    by_node = resignations(cluster)
    return {
        "resignations": resignation_count(cluster),
        "resignations by controller": {str(node): len(names) for node, names in by_node.items()},
        "exceptions": dict(Counter(name for names in by_node.values() for name in names)),
    }


TOPIC, BESIDE = "orders", "beside"  # the topic of a scenario, and one that is there to compare
OBSERVED_S = 45  # how long is watched what comes of it: four balance timers


TEXTS: Mapping[str, Mapping[str, str]] = content(__package__, "live.toml")
"""Of each scenario by name the entries that it shows, its title and its steps."""


def scenario(
    into: dict[str, Scenario], name: str, layout: ClusterLayout
) -> Callable[[Callable[[KafkaCluster], Outcome]], Scenario]:
    """Enter a function as the run of a scenario into a table, see `Scenario`."""

    def enter(run: Callable[[KafkaCluster], Outcome]) -> Scenario:
        return into.setdefault(name, Scenario(name=name, **TEXTS[name], layout=layout, run=run))

    return enter


def count(cluster: KafkaCluster, node: int, text: str) -> int:
    """How many lines of a node's output have a text."""
    return sum(text in line for line in cluster.messages(node).splitlines())


def leave_to_1(cluster: KafkaCluster, topic: str, number: int) -> PartitionDescription:
    """Reassign a partition of [1,2] to [1]."""
    cluster.reassign(topic, number, (1,))
    cluster.wait("2 is gone", lambda: cluster.partition(topic, number).replicas == (1,))
    return cluster.partition(topic, number)


def starts_in_vain(cluster: KafkaCluster) -> bool:
    """Whether a start of broker 1 ends by itself."""
    cluster.start(1)
    ends = cluster.happens(lambda: not cluster.runs(1), 90)
    if ends:
        cluster.wait_for_end(1)
    else:
        cluster.kill(1)
    return ends
