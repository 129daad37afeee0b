"""B12: a replica added by a reassignment never reports its directory, so its failure moves no leader."""

from __future__ import annotations

from kraftcheck.ci.conformance.cluster.administration import create, elect, reassign
from kraftcheck.ci.conformance.cluster.processes import KafkaCluster
from kraftcheck.ci.conformance.findings.live.scenario import Outcome, Scenario, layout, messages, partition, state

TOPIC, BESIDE, LEADER, OBSERVED_S = "orders", "beside", 3, 45
"""The topic, one whose replicas were there from the start, the broker that leads, and how long its disk is watched."""


def run(cluster: KafkaCluster) -> Outcome:
    """Add a replica, let it lead, and let its directory fail."""
    create(cluster, TOPIC, [(1,)])
    create(cluster, BESIDE, [(LEADER, 1)] * 4)
    reassign(cluster, TOPIC, 0, (LEADER, 1))
    cluster.wait("the replica is in sync", lambda: partition(cluster, TOPIC).isr == (1, LEADER)
                 or partition(cluster, TOPIC).isr == (LEADER, 1))  # fmt: skip
    elect(cluster, "PREFERRED", TOPIC, 0)
    cluster.wait("it leads", lambda: partition(cluster, TOPIC).leader == LEADER)
    acknowledged = cluster.admin.produce(TOPIC, 0, 100).acknowledged
    which = next(n for n, place in enumerate(cluster.directories(LEADER)) if (place / f"{TOPIC}-0").is_dir())
    in_it = [n for n in range(4) if (cluster.directories(LEADER)[which] / f"{BESIDE}-{n}").is_dir()]
    cluster.break_directory(LEADER, which)
    cluster.wait("the broker has seen it", lambda: messages(cluster, LEADER, "Stopping serving logs in dir") > 0)
    led_away = cluster.happens(lambda: partition(cluster, TOPIC).leader != LEADER, OBSERVED_S)
    failed, others = partition(cluster, TOPIC), cluster.admin.describe(BESIDE)
    moved = sum(others[n].leader == 1 for n in in_it)
    produced = cluster.admin.produce(TOPIC, 0, 10)
    return Outcome(
        not led_away and 1 in failed.isr and produced.acknowledged == 0 and moved == len(in_it) > 0,
        {
            "records acknowledged before the failure": acknowledged,
            f"{OBSERVED_S} s after the directory has failed": state(failed),
            "partitions in that directory that were there from the start": len(in_it),
            "of them led away": moved,
            "records acknowledged after it, of 10": produced.acknowledged,
            "errors": produced.errors,
        },
    )


SCENARIO = Scenario(
    "failed-disk", "B12",
    "A partition stays with a leader whose disk has failed, while a live ISR member is unused.",
    "Replication 1 on broker 1; the partition is reassigned to [3,1] and broker 3 leads; the log directory of broker 3 "
    "with the partition fails, its other one does not. Partitions that were there from the start are beside it.",
    layout(1, 3), run,
)  # fmt: skip
