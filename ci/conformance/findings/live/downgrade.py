"""ELR is switched off while partitions are offline: the next change empties their ELR, and nobody may lead."""

from __future__ import annotations

import time

from kraftcheck.ci.conformance.cluster.administration import (
    ELR,
    change_feature,
    create,
    wait_for_isr_without,
    wait_until_unfenced,
)
from kraftcheck.ci.conformance.cluster.processes import KafkaCluster
from kraftcheck.ci.conformance.findings.live.scenario import Outcome, Scenario, layout, leaderless, partition, state

TOPIC, PARTITIONS, OBSERVED_S = "orders", 6, 45
"""What is offline, and how long the return is watched: four balance timers."""


def run(cluster: KafkaCluster) -> Outcome:
    """Stop both replicas cleanly, switch ELR off, start both; then switch it on again."""
    create(cluster, TOPIC, [(1, 2)] * PARTITIONS, min_insync_replicas="2")
    for broker in (1, 2):
        cluster.stop(broker)
        wait_for_isr_without(cluster, TOPIC, broker)
    offline = partition(cluster, TOPIC)
    change_feature(cluster, ELR, 0, "SAFE_DOWNGRADE")
    cluster.start(1, 2)
    wait_until_unfenced(cluster, 1, 2)
    time.sleep(OBSERVED_S)
    returned, without_leader = partition(cluster, TOPIC), leaderless(cluster, TOPIC)
    change_feature(cluster, ELR, 1)
    recovered = cluster.happens(lambda: leaderless(cluster, TOPIC) == 0, OBSERVED_S)
    return Outcome(
        without_leader > 0,
        {
            "while both replicas are stopped": state(offline),
            f"{OBSERVED_S} s after both have returned": state(returned),
            f"partitions without a leader, of {PARTITIONS}": without_leader,
            "after ELR was on again": "all are led" if recovered else f"{leaderless(cluster, TOPIC)} are not led",
        },
    )


SCENARIO = Scenario(
    "downgrade-offline", "SAFE_DOWNGRADE of ELR",
    "Switching ELR off by a safe downgrade while partitions are offline leaves them without a leader.",
    "Replication 2, min.insync.replicas 2, six partitions. Both replicas are stopped cleanly; "
    "eligible.leader.replicas.version is safely downgraded to 0; both start again; ELR is switched on again.",
    layout(1, 2, 3), run,
)  # fmt: skip
