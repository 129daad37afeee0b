"""What a scenario of a finding is, and what comes of a run."""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen

from kraftcheck.ci.logs.cluster.processes import ClusterLayout, KafkaCluster

Fact = int | str | list[int] | dict[str, int]
"""A measured value: a number, a list of brokers, an answer in words, a count by name."""

SETTINGS = (
    "broker.session.timeout.ms=9000", "broker.heartbeat.interval.ms=1000", "replica.lag.time.max.ms=10000",
    "leader.imbalance.check.interval.seconds=10", "replica.high.watermark.checkpoint.interval.ms=1000",
    "log.dir.failure.timeout.ms=300000", "initial.broker.registration.timeout.ms=40000",
)  # fmt: skip
"""Short timeouts, so that what takes minutes happens in seconds; unclean elections stay off, as by default."""


@frozen
class Outcome:
    """What a run showed.

    Attributes:
        shown: whether the effect of the finding was seen.
        facts: what was measured, in the order of the run; `shown` follows from them alone.
    """

    shown: bool
    facts: dict[str, Fact]


@frozen
class Scenario:
    """A finding on a live cluster.

    Attributes:
        name: how the command names it.
        finding: entries of the catalogue that it shows, or of Kafka's tracker.
        title: the effect, in one sentence for an operator.
        steps: what is done, in words.
        layout: the cluster.
        run: does the steps on a cluster that is up, and measures.
    """

    name: str
    finding: str
    title: str
    steps: str
    layout: ClusterLayout
    run: Callable[[KafkaCluster], Outcome]


def layout(*brokers: int, controllers: tuple[int, ...] = (100,)) -> ClusterLayout:
    """A cluster with short timeouts and ELR on."""
    return ClusterLayout(brokers, controllers, SETTINGS, ("eligible.leader.replicas.version=1",))
