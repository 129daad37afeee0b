"""B10: a reassignment that is replaced by a superset removes replicas that were asked for."""

from __future__ import annotations

from kraftcheck.ci.conformance.cluster.administration import create, reassign, wait_until_fenced, wait_until_unfenced
from kraftcheck.ci.conformance.cluster.processes import KafkaCluster
from kraftcheck.ci.conformance.findings.live.scenario import Outcome, Scenario, layout, partition, state

TOPIC = "orders"


def run(cluster: KafkaCluster) -> Outcome:
    """Move to a broker that is down, then ask for all three, and bring the broker back."""
    create(cluster, TOPIC, [(1, 2)])
    cluster.stop(3)
    wait_until_fenced(cluster, 3)
    reassign(cluster, TOPIC, 0, (3,))
    reassign(cluster, TOPIC, 0, (1, 2, 3))
    replaced = partition(cluster, TOPIC)
    cluster.start(3)
    wait_until_unfenced(cluster, 3)
    ended = cluster.happens(lambda: not cluster.admin.ask("reassignments"))
    final = partition(cluster, TOPIC)
    return Outcome(
        ended and len(final.replicas) < 3,
        {
            "after the second request": state(replaced),
            "the reassignment": "is completed" if ended else "is under way",
            "replicas that were asked for": [1, 2, 3],
            "at the end": state(final),
        },
    )


SCENARIO = Scenario(
    "replication-lost", "B10",
    "A reassignment to three replicas ends with one, without an error.",
    "A partition of [1,2] is reassigned to [3], which is down, then to [1,2,3]; broker 3 comes back.",
    layout(1, 2, 3), run,
)  # fmt: skip
