"""Findings on a live cluster that requests, stops and failing disks show."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from kraftcheck.ci.conformance.cluster.processes import (
    ELR,
    ClusterLayout,
    KafkaCluster,
    PartitionDescription,
    RequestRefused,
)
from kraftcheck.ci.conformance.findings.scenario import (
    BESIDE,
    OBSERVED_S,
    PATIENT,
    SETTINGS,
    TOPIC,
    Outcome,
    Scenario,
    count,
    layout,
    leave_to_1,
    loss,
    marked_count,
    resignation_count,
    resignation_facts,
    resigns_again,
    scenario,
    starts_in_vain,
    state,
)

BY_REQUESTS: dict[str, Scenario] = {}  # the scenarios of requests, stops and disks, by name, worst effect first

UNNOTICED = (
    "replica.high.watermark.checkpoint.interval.ms=3600000", "log.flush.offset.checkpoint.interval.ms=3600000",
    "log.flush.start.offset.checkpoint.interval.ms=3600000", "log.cleaner.backoff.ms=3600000",
)  # fmt: skip
"""No checkpoint is due, so that a broker notices a failed directory only where something else is written there."""


@scenario(BY_REQUESTS, "data-loss", layout(1, 2, 3))
def data_loss(cluster: KafkaCluster) -> Outcome:
    """Take replica 2 away, acknowledge records, stop both brokers, give 2 back, and start it, then the other."""
    records = 3_100
    cluster.create(TOPIC, [(1, 2)], min_insync_replicas="2")
    time.sleep(10)  # until brokers have reported their directories: before 4.3.0 such a report empties the ELR
    moved = leave_to_1(cluster, TOPIC, 0)
    acknowledged = cluster.admin.produce(TOPIC, 0, records, size=1000).acknowledged
    cluster.stop(2)
    cluster.stop(1)
    cluster.wait_for_isr_without(TOPIC, 1)
    cluster.reassign(TOPIC, 0, (1, 2))
    stopped = cluster.partition(TOPIC)
    cluster.start(2)
    elected = cluster.happens(lambda: cluster.partition(TOPIC).leader == 2, 90)
    started = cluster.partition(TOPIC)
    end_of_2 = cluster.admin.ask("end offset", topic=TOPIC, partition=0) if elected else -1
    cluster.bring_back(1)
    cluster.happens(lambda: set(cluster.partition(TOPIC).isr) == {1, 2}, 60)
    after_return = cluster.partition(TOPIC)
    readable = cluster.admin.readable(TOPIC)
    marked = marked_count(cluster)
    return Outcome(
        acknowledged == records and elected and marked == 0 and readable < acknowledged,
        {
            "after the reassignment to [1]": state(moved),
            "records acknowledged with acks=all": acknowledged,
            "both stopped cleanly, and reassigned to [1,2]": state(stopped),
            "after 2 has started": state(started),
            "log end of the new leader": end_of_2,
            "changes that mark an unclean election": marked,
            "after 1 has returned": state(after_return),
            **loss(acknowledged, readable),
        },
    )


@scenario(BY_REQUESTS, "deleted-member", layout(1, 2, controllers=(100, 101, 102)))
def deleted_member(cluster: KafkaCluster) -> Outcome:
    """Kill an ISR member, change the minimum, delete the topic, start the broker again."""
    cluster.create(TOPIC, [(2, 1)], min_insync_replicas="2")
    cluster.kill(1)
    cluster.wait("1 is in the ELR", lambda: cluster.partition(TOPIC).elr == (1,))
    before = cluster.partition(TOPIC)
    cluster.configure(TOPIC, "min.insync.replicas", "1")
    cluster.wait("the ELR is cleared", lambda: cluster.partition(TOPIC).elr == ())
    cluster.admin.ask("delete", topic=TOPIC)
    resigned_before = resignation_count(cluster)
    cluster.start(1)
    time.sleep(75)
    runs = cluster.runs(1)
    facts = resignation_facts(cluster)
    missing = sum(count(cluster, node, "not in the topics map") for node in cluster.layout.controllers)
    returned = 1 in cluster.admin.ask("brokers")
    return Outcome(
        resigns_again(cluster, resigned_before) and missing > 0 and not returned,
        {
            "after 1 was killed": state(before),
            "resignations before 1 started": resigned_before,
            **facts,
            "messages about the missing topic": missing,
            "broker 1": f"{'runs' if runs else 'has given up'}, {'unfenced' if returned else 'not unfenced'}",
        },
    )


@scenario(BY_REQUESTS, "config-change-offline", layout(1, 2, 3))
def config_change(cluster: KafkaCluster) -> Outcome:
    """Stop both replicas cleanly, change the minimum of one topic, start both again."""
    for topic in (TOPIC, BESIDE):
        cluster.create(topic, [(1, 2)], min_insync_replicas="2")
    acknowledged = cluster.admin.produce(TOPIC, 0, 1_000).acknowledged
    for broker in (1, 2):
        cluster.stop(broker)
        cluster.wait_for_isr_without(TOPIC, broker)
    offline = cluster.partition(TOPIC)
    cluster.configure(TOPIC, "min.insync.replicas", "1")
    cluster.happens(lambda: cluster.partition(TOPIC).elr == (), 15)
    after_change = cluster.partition(TOPIC)
    cluster.bring_back(1, 2)
    cluster.wait("the unchanged topic is led", lambda: cluster.partition(BESIDE).leader >= 0)
    time.sleep(OBSERVED_S)
    returned, unchanged = cluster.partition(TOPIC), cluster.partition(BESIDE)
    preferred = cluster.elect("PREFERRED", TOPIC, 0)
    unclean = cluster.elect("UNCLEAN", TOPIC, 0)
    cluster.happens(lambda: cluster.partition(TOPIC).leader >= 0, 15)
    readable = cluster.admin.readable(TOPIC)
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


@scenario(BY_REQUESTS, "downgrade-offline", layout(1, 2, 3))
def downgrade(cluster: KafkaCluster) -> Outcome:
    """Stop both replicas cleanly, switch ELR off, start both; then switch it on again."""
    cluster.create(TOPIC, [(1, 2)] * 6, min_insync_replicas="2")
    for broker in (1, 2):
        cluster.stop(broker)
        cluster.wait_for_isr_without(TOPIC, broker)
    offline = cluster.partition(TOPIC)
    cluster.change_feature(ELR, 0, "SAFE_DOWNGRADE")
    cluster.wait("the balancer was there", lambda: not any(one.elr for one in cluster.admin.describe(TOPIC)))
    cluster.bring_back(1, 2)
    time.sleep(OBSERVED_S)
    returned, without_leader = cluster.partition(TOPIC), cluster.leaderless(TOPIC)
    cluster.change_feature(ELR, 1)
    recovered = cluster.happens(lambda: cluster.leaderless(TOPIC) == 0, OBSERVED_S)
    marked = marked_count(cluster)
    return Outcome(
        without_leader > 0 and recovered and marked > 0,
        {
            "while both replicas are stopped": state(offline),
            f"{OBSERVED_S} s after both have returned": state(returned),
            "partitions without a leader, of 6": without_leader,
            "after ELR was on again": "all are led" if recovered else f"{cluster.leaderless(TOPIC)} are not led",
            "of them marked RECOVERING, that is elected uncleanly": marked,
        },
    )


SNAPSHOTS_OFTEN = ("metadata.log.max.snapshot.interval.ms=10000", "auto.leader.rebalance.enable=false")
"""Snapshots come within seconds, and no balancer changes an offline partition meanwhile."""


@scenario(BY_REQUESTS, "snapshot-without-elr", layout(1, 2, more=(*PATIENT, *SNAPSHOTS_OFTEN)))
def snapshot_without_elr(cluster: KafkaCluster) -> Outcome:
    """Stop the only replica, switch ELR off, start it; do so again, with a restart of controller and other broker."""
    cluster.create(TOPIC, [(1,)])
    acknowledged = cluster.admin.produce(TOPIC, 0, 100).acknowledged
    time.sleep(10)  # until brokers have reported their directories: before 4.3.0 such a report empties the ELR
    _switch_off_offline(cluster)
    cluster.bring_back(1)
    elected = cluster.happens(lambda: cluster.partition(TOPIC).leader == 1, OBSERVED_S)
    cluster.change_feature(ELR, 1)
    offline = _switch_off_offline(cluster)
    folders = (cluster.metadata(100), cluster.home / "broker-2-metadata" / "__cluster_metadata-0")
    cluster.wait("both have a snapshot", lambda: all(_elr_in_snapshot(cluster, one)[0] == 0 for one in folders))
    written, replayed = _elr_in_snapshot(cluster, folders[0])[1], cluster.partition(TOPIC)
    cluster.stop(100)
    cluster.start(100)
    cluster.stop(2)
    cluster.bring_back(2)
    loaded = cluster.partition(TOPIC)
    cluster.bring_back(1)
    time.sleep(OBSERVED_S)
    returned = cluster.partition(TOPIC)
    preferred = cluster.elect("PREFERRED", TOPIC, 0)
    cluster.elect("UNCLEAN", TOPIC, 0)
    cluster.happens(lambda: cluster.partition(TOPIC).leader == 1, 15)
    return Outcome(
        elected and replayed.elr == (1,) and loaded.elr == () and not written and returned.leader == -1,
        {
            "records acknowledged with acks=all": acknowledged,
            "1 returns, to a controller that has replayed the log": "is elected" if elected else "is not elected",
            "while 1 is stopped again": state(offline),
            "ELR members in the controller's snapshot of after the downgrade": written,
            "by broker 2, which has replayed the log": state(replayed),
            "by broker 2, which has loaded its snapshot": state(loaded),
            f"{OBSERVED_S} s after 1 has returned, to a controller that has loaded its snapshot": state(returned),
            "a preferred election by request": preferred or "elects",
            "records that can be read after an unclean one": cluster.admin.readable(TOPIC),
        },
    )


def _switch_off_offline(cluster: KafkaCluster) -> PartitionDescription:
    """Stop broker 1, and switch ELR off; its partition before that."""
    cluster.stop(1)
    cluster.wait_for_isr_without(TOPIC, 1)
    offline = cluster.partition(TOPIC)
    cluster.wait_until_fenced(1)
    cluster.change_feature(ELR, 0, "SAFE_DOWNGRADE")
    return offline


def _elr_in_snapshot(cluster: KafkaCluster, folder: Path) -> tuple[int, list[int]]:
    """The level of ELR in the newest snapshot of a metadata log, -1 without one, and the ELR of all partitions."""
    level, members, newest = -1, list[int](), sorted(folder.glob("*.checkpoint"))[-1:]
    for kind, data in cluster.records_in(newest):
        level = max(level, 0)
        if kind == "FEATURE_LEVEL_RECORD" and data["name"] == ELR:
            level = data["featureLevel"]
        members += (data.get("eligibleLeaderReplicas") or []) if kind == "PARTITION_RECORD" else []
    return level, members


@scenario(BY_REQUESTS, "deleted-offline", layout(1, 2))
def deleted_offline(cluster: KafkaCluster) -> Outcome:
    """Stop the only replica, delete the topic, start the broker, and let a directory fail."""
    for topic in (TOPIC, "kept"):
        cluster.create(topic, [(1,)] * 4)
    cluster.stop(1)
    cluster.wait("nobody is in the ISR", lambda: cluster.partition(TOPIC).isr == ())
    before = cluster.partition(TOPIC)
    cluster.admin.ask("delete", topic=TOPIC)
    cluster.bring_back(1)
    time.sleep(5)
    resigned_before = resignation_count(cluster)
    cluster.break_directory(1, 1)
    time.sleep(60)
    return Outcome(
        resigns_again(cluster, resigned_before),
        {
            "before the deletion": state(before),
            "resignations before the directory failed": resigned_before,
            **resignation_facts(cluster),
            "broker 1": "runs" if cluster.runs(1) else "has ended",
        },
    )


@scenario(BY_REQUESTS, "duplicate-logs", ClusterLayout((1, 2), (100,), (*SETTINGS, *UNNOTICED)))
def duplicate_logs(cluster: KafkaCluster) -> Outcome:
    """Move a replica, take away what it leaves before the move ends, bring it back, and start the broker."""
    cluster.create(TOPIC, [(1, 2)])
    acknowledged = cluster.admin.produce(TOPIC, 0, 2_000, size=1000).acknowledged
    time.sleep(40)  # the first checkpoints of a broker are 30 s after its start
    source = next(n for n, place in enumerate(cluster.directories(1)) if (place / f"{TOPIC}-0").is_dir())
    old, new = (cluster.directories(1)[n] for n in (source, 1 - source))
    rate = {"replica.alter.log.dirs.io.max.bytes.per.second": "100000"}
    cluster.admin.ask("configure", kind="BROKER", name="1", configs=rate)
    cluster.admin.ask("move", topic=TOPIC, partition=0, broker=1, directory=str(new))
    cluster.wait("the copy begins", lambda: any(new.glob(f"{TOPIC}-0.*-future")))
    cluster.break_directory(1, source)
    cluster.wait("the move ends", lambda: (new / f"{TOPIC}-0").is_dir())
    cluster.wait("the broker has seen it", lambda: count(cluster, 1, "Stopping serving logs in dir") > 0)
    led_away = cluster.happens(lambda: cluster.partition(TOPIC).leader != 1, OBSERVED_S)
    after_move = cluster.partition(TOPIC)
    produced = cluster.admin.produce(TOPIC, 0, 10)
    cluster.kill(1)
    cluster.mend_directory(1, source)
    ended = [starts_in_vain(cluster) for _ in range(2)]
    refusals = count(cluster, 1, "IllegalStateException: Duplicate log directories")
    shutil.rmtree(old / f"{TOPIC}-0")
    cluster.bring_back(1)
    return Outcome(
        all(ended) and refusals >= len(ended),
        {
            "records acknowledged before the move": acknowledged,
            f"{OBSERVED_S} s after the directory has failed": state(after_move),
            "the leader": "another" if led_away else "the same",
            "records acknowledged then, of 10": produced.acknowledged,
            "starts that have ended, of 2": sum(ended),
            "messages about duplicate log directories": refusals,
            "a start after the old log was deleted": "succeeds",
        },
    )


def _reassigned_twice(cluster: KafkaCluster, then: Sequence[int]) -> PartitionDescription:
    """A partition of [1,2] is moved to broker 3, which is down, and then to others; 3 comes back. How it was before."""
    cluster.create(TOPIC, [(1, 2)])
    cluster.stop(3)
    cluster.wait_until_fenced(3)
    cluster.reassign(TOPIC, 0, (3,))
    cluster.reassign(TOPIC, 0, then)
    replaced = cluster.partition(TOPIC)
    cluster.bring_back(3)
    return replaced


@scenario(BY_REQUESTS, "reassignment-stuck", layout(1, 2, 3))
def reassignment_stuck(cluster: KafkaCluster) -> Outcome:
    """Move to a broker that is down, change one's mind, and bring the broker back."""
    replaced = _reassigned_twice(cluster, (2, 1))
    in_sync = cluster.happens(lambda: set(cluster.partition(TOPIC).isr) == set(cluster.partition(TOPIC).replicas))
    time.sleep(OBSERVED_S)
    under_way = cluster.admin.ask("reassignments")
    adding = [broker for one in under_way for broker in one["adding"]]
    removing = [broker for one in under_way for broker in one["removing"]]
    return Outcome(
        in_sync and bool(set(adding) & set(removing)),
        {
            "after the second request": state(replaced),
            f"{OBSERVED_S} s after every replica is in sync" if in_sync else "replicas are not in sync":
                state(cluster.partition(TOPIC)),
            "still being added": adding,
            "still being removed": removing,
        },
    )  # fmt: skip


@scenario(BY_REQUESTS, "replication-lost", layout(1, 2, 3))
def replication_lost(cluster: KafkaCluster) -> Outcome:
    """Move to a broker that is down, then ask for all three, and bring the broker back."""
    replaced = _reassigned_twice(cluster, (1, 2, 3))
    ended = cluster.happens(lambda: not cluster.admin.ask("reassignments"))
    final = cluster.partition(TOPIC)
    return Outcome(
        ended and len(final.replicas) < 3,
        {
            "after the second request": state(replaced),
            "the reassignment": "is completed" if ended else "is under way",
            "replicas that were asked for": [1, 2, 3],
            "at the end": state(final),
        },
    )


@scenario(BY_REQUESTS, "failed-disk", layout(1, 3))
def failed_disk(cluster: KafkaCluster) -> Outcome:
    """Add a replica, let it lead, and let its directory fail."""
    cluster.create(TOPIC, [(1,)])
    cluster.create(BESIDE, [(3, 1)] * 4)
    cluster.reassign(TOPIC, 0, (3, 1))
    cluster.wait("the replica is in sync", lambda: cluster.partition(TOPIC).isr == (1, 3)
                 or cluster.partition(TOPIC).isr == (3, 1))  # fmt: skip
    cluster.elect("PREFERRED", TOPIC, 0)
    cluster.wait("it leads", lambda: cluster.partition(TOPIC).leader == 3)
    acknowledged = cluster.admin.produce(TOPIC, 0, 100).acknowledged
    which = next(n for n, place in enumerate(cluster.directories(3)) if (place / f"{TOPIC}-0").is_dir())
    in_it = [n for n in range(4) if (cluster.directories(3)[which] / f"{BESIDE}-{n}").is_dir()]
    cluster.break_directory(3, which)
    cluster.wait("the broker has seen it", lambda: count(cluster, 3, "Stopping serving logs in dir") > 0)
    led_away = cluster.happens(lambda: cluster.partition(TOPIC).leader != 3, OBSERVED_S)
    failed, others = cluster.partition(TOPIC), cluster.admin.describe(BESIDE)
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


@scenario(BY_REQUESTS, "padded-config", layout(1, 2))
def padded_config(cluster: KafkaCluster) -> Outcome:
    """Set the minimum with a blank, then kill a broker, so that the controller reads it."""
    cluster.create(TOPIC, [(1, 2)])
    try:
        cluster.configure(TOPIC, "min.insync.replicas", " 2")
        answer = "accepted"
    except RequestRefused as refusal:
        answer = str(refusal)
    resigned_before = resignation_count(cluster)
    cluster.kill(1)
    time.sleep(OBSERVED_S)
    facts = resignation_facts(cluster)
    return Outcome(
        resigns_again(cluster, resigned_before),
        {
            "the request": answer,
            "resignations before a broker was killed": resigned_before,
            **facts,
            "the partition, after 1 was killed": state(cluster.partition(TOPIC)),
        },
    )
