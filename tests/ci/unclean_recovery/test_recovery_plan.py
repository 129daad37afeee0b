"""The Test Plan of the unclean-recovery KIP: every ISR member is killed, and the tool has an outsider elected.

On the controller's rules, and by night on a cluster of the newest release as far as that can go: no release has
designated elections, so an unclean one stands for them there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kraftcheck.ci.conformance.cluster.processes import KafkaCluster, PartitionDescription, running_cluster
from kraftcheck.ci.conformance.findings.scenario import layout, state
from kraftcheck.ci.conformance.kafka.jars import known_versions
from kraftcheck.ci.logs.recovery.snapshot import read_snapshot
from kraftcheck.model.controller.brokers import expire_session
from kraftcheck.model.controller.commits import commit
from kraftcheck.model.rules.ruleset import parse
from tests.ci.unclean_recovery.snapshots import cluster, log, partition_in, written
from tests.shared.commands import kraftcheck

RULES = "fixed+designated-elections"
NEWEST = known_versions()[-1]
RECORDS = 50


def snapshot(ended: dict[int, tuple[int, int]], **fields: Any) -> dict[str, Any]:
    """Brokers 0 to 2 with one partition of topic `t`; epoch of the last record and end of the log by broker."""
    logs = {broker: [log(0, *kept)] for broker, kept in ended.items()}
    document = cluster({broker: logs.get(broker, []) for broker in (1, 2)})
    document["topics"][0]["partitions"][0].update(fields)
    return document


@pytest.mark.parametrize("elr", [True, False])
def test_the_tool_brings_back_a_partition_whose_isr_was_killed(tmp_path: Path, elr: bool) -> None:
    """The last ISR member is killed: offline; the tool elects a replica outside the ISR, and nothing else changes."""
    document = snapshot({1: (4, 70), 2: (4, 80)}, isr=[0], elr=[], leader=0)
    document["brokers"][0].update(fenced=False)
    document["features"] = {"elr_enabled": elr}
    path = written(tmp_path / "cluster.json", document)
    before, rules = read_snapshot(path, parse(RULES)), parse(RULES)
    killed = commit(before.controller, expire_session(before.controller, 0, rules), rules)
    document = before.after(killed)
    document["brokers"][0].update(fenced=True)
    written(path, document)
    offline = partition_in(path)
    assert (offline["leader"], offline["isr"], offline["elr"]) == ((-1, [], [0]) if elr else (-1, [0], []))
    ran = kraftcheck("unclean-recovery", "--snapshot", path, "--all-offline-partitions", "--automated-recovery")
    assert (ran.code, ran.last) == (0, "1 partition(s), 0 failed (exit 0)")
    online = partition_in(path)
    assert (online["leader"], online["isr"], online["replicas"]) == (2, [2], [0, 1, 2])
    assert online["leader_recovery_state"] == "RECOVERING"


def described(place: Path, one: PartitionDescription, ended: int) -> Path:
    """A snapshot of a live partition whose replica on broker 2 alone answers, with a log of so many records."""
    lists = {"replicas": list(one.replicas), "isr": list(one.isr), "elr": list(one.elr)}
    document = snapshot({2: (1, ended)}, **lists, leader=one.leader)
    document["brokers"][1].update(fenced=True, answer_ms=None)
    return written(place, document)


def killed_isr(running: KafkaCluster) -> PartitionDescription:
    """Broker 2 falls out of the ISR and misses records, the others are killed, broker 2 comes back."""
    running.create("t", [(0, 1, 2)])
    running.admin.produce("t", 0, RECORDS)
    running.kill(2)
    running.wait_for_isr_without("t", 2)
    running.admin.produce("t", 0, RECORDS)
    for broker in (1, 0):
        running.kill(broker)
        if broker:
            running.wait_for_isr_without("t", broker)
    running.start(2)
    running.wait_until_unfenced(2)
    running.wait_until_fenced(0)
    running.wait("the partition is offline", lambda: running.partition("t").leader == -1)
    return running.partition("t")


@pytest.mark.slow
@pytest.mark.xdist_group("kafka")
def test_a_live_partition_comes_back_with_the_leader_that_the_tool_chooses(tmp_path: Path) -> None:
    """The partition stays offline by itself; the tool chooses the replica that an unclean election then elects."""
    with running_cluster(NEWEST, tmp_path / "cluster", layout(0, 1, 2)) as running:
        offline = killed_isr(running)
        assert 2 not in (*offline.isr, *offline.elr), state(offline)
        path = described(tmp_path / "snapshot.json", offline, RECORDS)
        ran = kraftcheck("unclean-recovery", "--snapshot", path, "--all-offline-partitions", "--automated-recovery")
        assert (ran.code, partition_in(path)["leader"]) == (0, 2)
        assert running.elect("UNCLEAN", "t", 0) == ""
        running.wait("the partition is online", lambda: running.partition("t").leader == 2)
        assert running.partition("t").isr == (2,)
        assert running.admin.ask("end offset", topic="t", partition=0) == RECORDS
