"""The index of ELR members outlives its topic: a broker whose entry is left makes every controller resign."""

from __future__ import annotations

import time

from kraftcheck.ci.conformance.cluster.administration import configure, create
from kraftcheck.ci.conformance.cluster.processes import KafkaCluster
from kraftcheck.ci.conformance.findings.live.scenario import (
    Outcome,
    Scenario,
    layout,
    messages,
    partition,
    resignation_count,
    resignation_facts,
    state,
)

TOPIC, OBSERVED_S = "brief", 75
"""The topic that is deleted, and how long the return of broker 1 is watched."""


def run(cluster: KafkaCluster) -> Outcome:
    """Kill an ISR member, change the minimum, delete the topic, start the broker again."""
    create(cluster, TOPIC, [(2, 1)], min_insync_replicas="2")
    cluster.kill(1)
    cluster.wait("1 is in the ELR", lambda: partition(cluster, TOPIC).elr == (1,))
    before = partition(cluster, TOPIC)
    configure(cluster, TOPIC, "min.insync.replicas", "1")
    cluster.wait("the ELR is cleared", lambda: partition(cluster, TOPIC).elr == ())
    cluster.admin.ask("delete", topic=TOPIC)
    resigned_before = resignation_count(cluster)
    cluster.start(1)
    time.sleep(OBSERVED_S)
    runs = cluster.runs(1)
    facts = resignation_facts(cluster)
    missing = sum(messages(cluster, node, "not in the topics map") for node in cluster.layout.controllers)
    returned = 1 in cluster.admin.ask("brokers")
    return Outcome(
        resignation_count(cluster) > resigned_before and missing > 0 and not returned,
        {
            "after 1 was killed": state(before),
            "resignations before 1 started": resigned_before,
            **facts,
            "messages about the missing topic": missing,
            "broker 1": f"{'runs' if runs else 'has given up'}, {'unfenced' if returned else 'not unfenced'}",
        },
    )


SCENARIO = Scenario(
    "deleted-member", "ELR index",
    "A deleted topic makes controllers resign whenever a broker returns that was in its ELR; the broker cannot start.",
    "Three controllers. Broker 1 is killed and enters the ELR; min.insync.replicas of the topic is set; the topic is "
    "deleted; broker 1 starts.",
    layout(1, 2, controllers=(100, 101, 102)), run,
)  # fmt: skip
