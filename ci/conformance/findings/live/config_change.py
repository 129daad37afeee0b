"""A change of min.insync.replicas while a partition is offline takes its candidates away for good."""

from __future__ import annotations

import time

from kraftcheck.ci.conformance.cluster.administration import (
    configure,
    create,
    elect,
    wait_for_isr_without,
    wait_until_unfenced,
)
from kraftcheck.ci.conformance.cluster.processes import KafkaCluster
from kraftcheck.ci.conformance.findings.live.scenario import Outcome, Scenario, layout, partition, state

CHANGED, UNCHANGED, RECORDS, OBSERVED_S = "changed", "unchanged", 1_000, 45
"""Two topics that differ in the change alone, and how long the return is watched: four balance timers."""


def run(cluster: KafkaCluster) -> Outcome:
    """Stop both replicas cleanly, change the minimum of one topic, start both again."""
    for topic in (CHANGED, UNCHANGED):
        create(cluster, topic, [(1, 2)], min_insync_replicas="2")
    acknowledged = cluster.admin.produce(CHANGED, 0, RECORDS).acknowledged
    for broker in (1, 2):
        cluster.stop(broker)
        wait_for_isr_without(cluster, CHANGED, broker)
    offline = partition(cluster, CHANGED)
    configure(cluster, CHANGED, "min.insync.replicas", "1")
    cluster.happens(lambda: partition(cluster, CHANGED).elr == (), 15)
    after_change = partition(cluster, CHANGED)
    cluster.start(1, 2)
    wait_until_unfenced(cluster, 1, 2)
    cluster.wait("the unchanged topic is led", lambda: partition(cluster, UNCHANGED).leader >= 0)
    time.sleep(OBSERVED_S)
    returned, unchanged = partition(cluster, CHANGED), partition(cluster, UNCHANGED)
    preferred = elect(cluster, "PREFERRED", CHANGED, 0)
    unclean = elect(cluster, "UNCLEAN", CHANGED, 0)
    cluster.happens(lambda: partition(cluster, CHANGED).leader >= 0, 15)
    readable = cluster.admin.ask("consume", topic=CHANGED, partition=0)
    return Outcome(
        returned.leader == -1 and bool(preferred) and unchanged.leader >= 0,
        {
            "records acknowledged with acks=all": acknowledged,
            "while both replicas are stopped": state(offline),
            "after min.insync.replicas was set": state(after_change),
            f"{OBSERVED_S} s after both have returned": state(returned),
            "the topic without the change": state(unchanged),
            "a preferred election by request": preferred or "elects",
            "an unclean election by request": unclean or "elects",
            "records that can be read after it": readable,
        },
    )


SCENARIO = Scenario(
    "config-change-offline", "ClearElr while offline",
    "Setting min.insync.replicas while a partition is offline leaves it offline, though both replicas are back.",
    "Replication 2, min.insync.replicas 2. Both replicas are stopped cleanly; min.insync.replicas of the topic is set "
    "to 1; both start again. A second topic without the change is watched beside it.",
    layout(1, 2, 3), run,
)  # fmt: skip
