"""X1 with X7: a replica that was reassigned away stays eligible, returns empty, and is elected as a clean leader."""

from __future__ import annotations

import time

from kraftcheck.ci.conformance.cluster.administration import create, reassign, throttle, wait_until_unfenced
from kraftcheck.ci.conformance.cluster.dump import records_of
from kraftcheck.ci.conformance.cluster.processes import KafkaCluster
from kraftcheck.ci.conformance.findings.live.scenario import Outcome, Scenario, layout, partition, state

TOPIC, MOVED, RECORDS = "payments", 1, 3_100
"""Partition 1 is moved; partition 0 keeps two replicas, and Kafka takes the minimum of the topic from it."""

SETTLED_S = 10
"""Until brokers have reported their directories: before 4.3.0 such a report empties the ELR by a defect of its own."""


def run(cluster: KafkaCluster) -> Outcome:
    """Take replica 2 away, acknowledge records, give it back empty, and stop the only broker that has them."""
    create(cluster, TOPIC, [(1, 2), (1, 2)], min_insync_replicas="2")
    time.sleep(SETTLED_S)
    reassign(cluster, TOPIC, MOVED, (1,))
    cluster.wait("replica 2 is gone", lambda: partition(cluster, TOPIC, MOVED).replicas == (1,))
    moved = partition(cluster, TOPIC, MOVED)
    acknowledged = cluster.admin.produce(TOPIC, MOVED, RECORDS, size=1000).acknowledged
    throttle(cluster, TOPIC, 1)
    reassign(cluster, TOPIC, MOVED, (1, 2))
    cluster.stop(1)
    elected = cluster.happens(lambda: partition(cluster, TOPIC, MOVED).leader == 2, 30)
    after_stop = partition(cluster, TOPIC, MOVED)
    end_after_stop = cluster.admin.ask("end offset", topic=TOPIC, partition=MOVED) if elected else -1
    cluster.start(1)
    wait_until_unfenced(cluster, 1)
    throttle(cluster, TOPIC, None)
    cluster.happens(lambda: set(partition(cluster, TOPIC, MOVED).isr) == {1, 2}, 60)
    after_return = partition(cluster, TOPIC, MOVED)
    readable = cluster.admin.ask("consume", topic=TOPIC, partition=MOVED)
    marked = sum(record.get("leaderRecoveryState", 0) == 1 for record in records_of(cluster, "PARTITION_CHANGE_RECORD"))
    return Outcome(
        acknowledged == RECORDS and elected and marked == 0 and readable < acknowledged,
        {
            "after the reassignment to [1]": state(moved),
            "records acknowledged with acks=all": acknowledged,
            "after the clean stop of 1": state(after_stop),
            "log end of the new leader": end_after_stop,
            "changes that mark an unclean election": marked,
            "after 1 has returned": state(after_return),
            "records that can be read": readable,
        },
    )


SCENARIO = Scenario(
    "data-loss", "X1, X7, B4",
    "Acknowledged records are lost by a clean stop, with unclean elections off.",
    "Replication 2, min.insync.replicas 2. One partition is reassigned to [1]; records are acknowledged; it is "
    "reassigned to [1,2], throttled; broker 1 is stopped cleanly and comes back.",
    layout(1, 2), run,
)  # fmt: skip
