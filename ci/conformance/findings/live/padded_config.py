"""KAFKA-20532: a minimum with a blank is accepted and written, and cannot be read as a number by the controller."""

from __future__ import annotations

import time

from kraftcheck.ci.conformance.cluster.admin import RequestRefused
from kraftcheck.ci.conformance.cluster.administration import configure, create
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

TOPIC, OBSERVED_S = "orders", 45
"""The topic, and how long the cluster is watched after a broker was killed."""


def run(cluster: KafkaCluster) -> Outcome:
    """Set the minimum with a blank, then kill a broker, so that the controller reads it."""
    create(cluster, TOPIC, [(1, 2)])
    try:
        configure(cluster, TOPIC, "min.insync.replicas", " 2")
        answer = "accepted"
    except RequestRefused as refusal:
        answer = str(refusal)
    resigned_before = resignation_count(cluster)
    cluster.kill(1)
    time.sleep(OBSERVED_S)
    facts = resignation_facts(cluster)
    return Outcome(
        resignation_count(cluster) > resigned_before,
        {
            "the request": answer,
            "resignations before a broker was killed": resigned_before,
            **facts,
            "the partition, after 1 was killed": state(partition(cluster, TOPIC)),
        },
    )


SCENARIO = Scenario(
    "padded-config", "KAFKA-20532",
    "A blank in min.insync.replicas makes the controller resign again and again.",
    'min.insync.replicas of a topic is set to " 2"; broker 1 is killed.',
    layout(1, 2), run,
)  # fmt: skip
