"""B7: a partition deleted while its ISR is empty stays indexed by directory; the directory's failure is fatal."""

from __future__ import annotations

import time

from kraftcheck.ci.conformance.cluster.administration import create, wait_until_unfenced
from kraftcheck.ci.conformance.cluster.processes import KafkaCluster
from kraftcheck.ci.conformance.findings.live.scenario import (
    Outcome,
    Scenario,
    layout,
    partition,
    resignation_count,
    resignation_facts,
    state,
)

TOPIC, KEPT, OBSERVED_S = "brief", "kept", 60
"""The topic that is deleted, one that stays, and how long the failed directory is watched."""


def run(cluster: KafkaCluster) -> Outcome:
    """Stop the only replica, delete the topic, start the broker, and let a directory fail."""
    for topic in (TOPIC, KEPT):
        create(cluster, topic, [(1,)] * 4)
    cluster.stop(1)
    cluster.wait("nobody is in the ISR", lambda: partition(cluster, TOPIC).isr == ())
    before = partition(cluster, TOPIC)
    cluster.admin.ask("delete", topic=TOPIC)
    cluster.start(1)
    wait_until_unfenced(cluster, 1)
    time.sleep(5)
    resigned_before = resignation_count(cluster)
    cluster.break_directory(1, 1)
    time.sleep(OBSERVED_S)
    return Outcome(
        resignation_count(cluster) > resigned_before,
        {
            "before the deletion": state(before),
            "resignations before the directory failed": resigned_before,
            **resignation_facts(cluster),
            "broker 1": "runs" if cluster.runs(1) else "has ended",
        },
    )


SCENARIO = Scenario(
    "deleted-offline", "B7",
    "A topic deleted while its only replica is down makes the controller resign again and again once a disk fails.",
    "Replication 1. Broker 1 is stopped; its topic is deleted; it starts again; one of its two log directories fails.",
    layout(1, 2), run,
)  # fmt: skip
