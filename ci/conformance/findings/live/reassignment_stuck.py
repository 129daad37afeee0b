"""B10: of two reassignments, one in the place of the other, a replica is left both added and removed for good."""

from __future__ import annotations

import time

from kraftcheck.ci.conformance.cluster.administration import create, reassign, wait_until_fenced, wait_until_unfenced
from kraftcheck.ci.conformance.cluster.processes import KafkaCluster
from kraftcheck.ci.conformance.findings.live.scenario import Outcome, Scenario, layout, partition, state

TOPIC, OBSERVED_S = "orders", 45
"""The topic, and how long its reassignment is watched after every replica is in sync."""


def run(cluster: KafkaCluster) -> Outcome:
    """Move to a broker that is down, change one's mind, and bring the broker back."""
    create(cluster, TOPIC, [(1, 2)])
    cluster.stop(3)
    wait_until_fenced(cluster, 3)
    reassign(cluster, TOPIC, 0, (3,))
    reassign(cluster, TOPIC, 0, (2, 1))
    replaced = partition(cluster, TOPIC)
    cluster.start(3)
    wait_until_unfenced(cluster, 3)
    in_sync = cluster.happens(lambda: set(partition(cluster, TOPIC).isr) == set(partition(cluster, TOPIC).replicas))
    time.sleep(OBSERVED_S)
    under_way = cluster.admin.ask("reassignments")
    adding = [broker for one in under_way for broker in one["adding"]]
    removing = [broker for one in under_way for broker in one["removing"]]
    return Outcome(
        in_sync and bool(set(adding) & set(removing)),
        {
            "after the second request": state(replaced),
            f"{OBSERVED_S} s after every replica is in sync" if in_sync else "replicas are not in sync":
                state(partition(cluster, TOPIC)),
            "still being added": adding,
            "still being removed": removing,
        },
    )  # fmt: skip


SCENARIO = Scenario(
    "reassignment-stuck", "B10",
    "A reassignment that was replaced by another never completes, though every replica is in sync.",
    "A partition of [1,2] is reassigned to [3], which is down, then to [2,1]; broker 3 comes back.",
    layout(1, 2, 3), run,
)  # fmt: skip
