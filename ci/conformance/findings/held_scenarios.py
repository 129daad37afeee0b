"""Findings on a live cluster that take methods which wait or do nothing for a while, by rules for Byteman."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from attrs import frozen

from kraftcheck.ci.conformance.cluster.processes import KafkaCluster, PartitionDescription
from kraftcheck.ci.conformance.findings.scenario import (
    BESIDE,
    OBSERVED_S,
    PATIENT,
    SILENT,
    TOPIC,
    Outcome,
    Scenario,
    count,
    layout,
    loss,
    marked_count,
    scenario,
    starts_in_vain,
    state,
)
from kraftcheck.ci.conformance.kafka.jars import BYTEMAN, jars

BY_RULES: dict[str, Scenario] = {}  # the scenarios of delayed methods, by name, worst effect first

HELD_METADATA = """RULE metadata waits at a gate while there is one
CLASS kafka.server.metadata.BrokerMetadataPublisher
METHOD onMetadataUpdate
AT ENTRY
BIND gate : java.io.File = new java.io.File("{gate}")
IF gate.exists()
DO java.nio.file.Files.readAllBytes(gate.toPath())
ENDRULE
RULE a proposal leaves a mark
CLASS kafka.cluster.Partition
METHOD submitAlterPartition
AT ENTRY
BIND mark : java.io.File = new java.io.File("{mark}")
IF TRUE
DO mark.createNewFile()
ENDRULE
"""
"""Rules for Byteman: metadata reaches the replicas of a broker when a named pipe is opened; a proposal makes a file."""

LAG_S = 6  # replica.lag.time.max.ms, in seconds


@frozen
class _Gate:
    """Where the metadata of a broker waits, and the mark that its proposals leave."""

    place: Path  # the named pipe, while metadata is to wait
    mark: Path  # the file that a proposal makes

    def shut(self) -> None:
        """Let the next metadata wait."""
        os.mkfifo(self.place)

    def open(self) -> None:
        """Let what waits go on, and all that comes."""
        opened = self.place.rename(self.place.with_suffix(f".{time.monotonic_ns()}"))
        with suppress(OSError):  # nobody waits
            os.close(os.open(opened, os.O_WRONLY | os.O_NONBLOCK))


PAUSED = (*PATIENT, *SILENT, "broker.session.timeout.ms=300000")  # a broker that stands still keeps its session


def _gate(cluster: KafkaCluster) -> tuple[_Gate, int]:
    """Where metadata of broker 1 can wait, the leader of three replicas in sync; how many records are acknowledged."""
    gate = _Gate(cluster.home / "gate", cluster.home / "mark")
    _start_with(cluster, 1, HELD_METADATA.format(gate=gate.place, mark=gate.mark))
    cluster.create(TOPIC, [(1, 2, 3)], min_insync_replicas="2")
    cluster.wait_in_sync()
    return gate, cluster.admin.produce(TOPIC, 0, 100).acknowledged


@scenario(BY_RULES, "ended-proposal", layout(1, 2, 3, more=(*PAUSED, f"replica.lag.time.max.ms={LAG_S}000")))
def ended_proposal(cluster: KafkaCluster) -> Outcome:
    """Let a member be proposed, forgotten by the leader, and accepted by the controller."""
    gate, acknowledged = _gate(cluster)
    _ask(cluster, 1)
    for follower in (2, 3):
        cluster.pause(follower)
    cluster.admin.produce(TOPIC, 0, 1, timeout_ms=4_000)  # who has the whole log stays in the ISR for ever
    cluster.wait("1 is alone", lambda: _changed_to(cluster)["isr"] == [1])
    _prefer(cluster, 3, 1, 2)
    time.sleep(5)  # until the leader has heard of it
    gate.shut()
    cluster.resume(2)
    cluster.wait("2 joins", lambda: _changed_to(cluster)["isr"] == [1, 2])
    return _propose_and_forget(cluster, gate, acknowledged)


def _changed_to(cluster: KafkaCluster) -> dict[str, list[int]]:
    """The ISR and the leader of the only partition as the metadata log of the controller has them."""
    found = {"isr": list[int](), "leader": [-1]}
    for change in cluster.records_of("PARTITION_CHANGE_RECORD"):
        found["isr"] = sorted(change["isr"]) if change.get("isr") is not None else found["isr"]
        found["leader"] = [change["leader"]] if change.get("leader", -2) >= -1 else found["leader"]
    return found


def _propose_and_forget(cluster: KafkaCluster, gate: _Gate, acknowledged: int) -> Outcome:
    """The same, once 2 has joined and the leader has not heard of it by metadata."""
    time.sleep(3)  # until the leader has the answer to its proposal
    cluster.pause(100)
    gate.mark.unlink(missing_ok=True)
    cluster.resume(3)
    proposed = cluster.happens(gate.mark.exists, 60)
    cluster.pause(3)
    time.sleep(2 * LAG_S)
    gate.open()
    time.sleep(3)
    gate.shut()
    produced = cluster.admin.produce(TOPIC, 0, 200, timeout_ms=30_000)
    cluster.resume(100)
    elected = cluster.happens(lambda: _changed_to(cluster)["leader"] == [3], 90)
    recorded = _changed_to(cluster)
    _hand_over(cluster, 3)
    cluster.resume(1)
    gate.open()
    readable, marked = _read_in_the_end(cluster)
    return Outcome(
        produced.acknowledged > 0 and elected and marked == 0 and readable < acknowledged + produced.acknowledged,
        {
            "records acknowledged with acks=all before": acknowledged,
            "a proposal while the controller stands still": "seen" if proposed else "not seen",
            "records acknowledged after it": produced.acknowledged,
            "errors": produced.errors,
            "ISR and leader in the metadata log then": f"ISR {recorded['isr']}, leader {recorded['leader'][0]}",
            "changes that mark an unclean election": marked,
            **loss(acknowledged + produced.acknowledged, readable),
        },
    )


def _ask(cluster: KafkaCluster, broker: int) -> None:
    """Let clients speak to one broker, while others stand still."""
    cluster.admin.bootstrap = f"127.0.0.1:{cluster.ports[broker]}"


def _prefer(cluster: KafkaCluster, *replicas: int) -> None:
    """Let another of the replicas be the preferred leader, by a reassignment to the same ones."""
    wanted = {"topic": TOPIC, "partition": 0, "replicas": [*replicas], "controllers": cluster.controllers}
    cluster.admin.ask("reassign", **wanted)


def _hand_over(cluster: KafkaCluster, leader: int) -> None:
    """Let a broker go on that was elected, while 1 stands still: or it might fetch from 1 before it hears of it."""
    cluster.pause(1)
    cluster.resume(leader)
    _ask(cluster, leader)
    cluster.wait("it leads", lambda: cluster.partition(TOPIC).leader == leader)
    time.sleep(5)


def _read_in_the_end(cluster: KafkaCluster) -> tuple[int, int]:
    """Once all are in sync: how many acknowledged records can be read, and how many elections were marked unclean."""
    cluster.admin.bootstrap = cluster.bootstrap
    cluster.wait_in_sync()
    return cluster.admin.readable(TOPIC), marked_count(cluster)


@scenario(BY_RULES, "trusted-log-ends", layout(1, 2, 3, more=(*PAUSED, "replica.lag.time.max.ms=300000")))
def trusted_log_ends(cluster: KafkaCluster) -> Outcome:
    """Let a leader miss the whole term of another one, in which a follower cuts its log."""
    gate, acknowledged = _gate(cluster)
    gate.shut()
    _ask(cluster, 2)
    cluster.create(BESIDE, [(2,)])  # at which the metadata of 1 waits
    _ask(cluster, 1)
    cluster.pause(2)
    time.sleep(5)  # until no fetch of 2 waits at 1
    before = _log_size(cluster, 1)
    cluster.admin.send(TOPIC, 0, 50, timeout_ms=1_200_000)
    cluster.wait("3 has the records", lambda: before < _log_size(cluster, 1) == _log_size(cluster, 3))
    time.sleep(5)  # until the last of them has come
    _prefer(cluster, 2, 1, 3)
    cluster.wait("2 is elected", lambda: _changed_to(cluster)["leader"] == [2])
    _hand_over(cluster, 2)
    cut = cluster.happens(lambda: count(cluster, 3, "] Truncating to offset") > 0, 60)
    cluster.pause(3)
    _prefer(cluster, 1, 2, 3)
    cluster.wait("1 is elected", lambda: _changed_to(cluster)["leader"] == [1])
    cluster.resume(1)
    time.sleep(10)  # until 1 has the records of both elections
    gate.open()
    _ask(cluster, 1)
    sent = cluster.admin.sent()
    read = cluster.admin.readable(TOPIC)
    _prefer(cluster, 3, 1, 2)
    cluster.wait("3 is elected", lambda: _changed_to(cluster)["leader"] == [3])
    _hand_over(cluster, 3)
    cluster.resume(1)
    readable, marked = _read_in_the_end(cluster)
    return Outcome(
        cut and sent.acknowledged > 0 and readable < acknowledged + sent.acknowledged and marked == 0,
        {
            "records acknowledged with acks=all before": acknowledged,
            "3 has cut its log in the term of 2": "yes" if cut else "no",
            "records acknowledged that were sent before it, of 50": sent.acknowledged,
            "errors": sent.errors,
            "acknowledged records that a consumer has read from 1": read,
            "changes that mark an unclean election": marked,
            **loss(acknowledged + sent.acknowledged, readable),
        },
    )


def _log_size(cluster: KafkaCluster, broker: int) -> int:
    """The length of a broker's log of the partition, in bytes."""
    return sum(file.stat().st_size for place in cluster.directories(broker) for file in place.glob(f"{TOPIC}-0/*.log"))


def _start_with(cluster: KafkaCluster, broker: int, text: str) -> None:
    """Start a broker anew, with rules for Byteman."""
    rules = cluster.home / f"broker-{broker}.btm"
    rules.write_text(text, encoding="utf-8")
    cluster.stop(broker)
    cluster.unregister(broker)  # or its session would have to be over
    cluster.start(broker, options=(f"-javaagent:{jars(cluster.version, BYTEMAN)}=script:{rules}",))
    cluster.wait_until_unfenced(broker)


LEFT_OUT = """RULE {method} does nothing while there is a file
CLASS org.apache.kafka.server.{owner}
METHOD {method}
AT ENTRY
BIND gate : java.io.File = new java.io.File("{gate}")
IF gate.exists()
DO RETURN
ENDRULE
"""
"""A rule for Byteman: a method does nothing while there is a file."""

HEARTBEATS, ASSIGNMENTS = (
    {"owner": "BrokerLifecycleManager", "method": "sendBrokerHeartbeat"},
    {"owner": "AssignmentsManager", "method": "maybeSendAssignments"},
)
"""What sends heartbeats, and AssignReplicasToDirs."""


def _fail_directory(cluster: KafkaCluster) -> int:
    """Let the directory of broker 1 fail that has the partition, and wait until the broker has seen it; which it is."""
    which = [(place / f"{TOPIC}-0").is_dir() for place in cluster.directories(1)].index(True)
    cluster.break_directory(1, which)
    cluster.wait("the broker has seen it", lambda: count(cluster, 1, "Stopping serving logs in dir") > 0)
    return which


@scenario(BY_RULES, "empty-log", layout(1, 2, more=PATIENT))
def empty_log(cluster: KafkaCluster) -> Outcome:
    """Let a directory fail that has a log of which the controller does not know, and start the broker without it."""
    gate = cluster.home / "gate"
    _start_with(cluster, 1, LEFT_OUT.format(gate=gate, **ASSIGNMENTS))
    gate.touch()
    cluster.create(TOPIC, [(1,)])
    acknowledged = cluster.admin.produce(TOPIC, 0, 500).acknowledged
    which = _fail_directory(cluster)
    cluster.stop(1)
    cluster.wait("nobody leads", lambda: cluster.partition(TOPIC).leader == -1)
    stopped = cluster.partition(TOPIC)
    cluster.bring_back(1)
    cluster.happens(lambda: cluster.partition(TOPIC).leader == 1, 60)
    led = cluster.partition(TOPIC)
    made = (cluster.directories(1)[1 - which] / f"{TOPIC}-0").is_dir()
    readable = cluster.admin.readable(TOPIC) if led.leader == 1 else 0
    cluster.stop(1)
    cluster.mend_directory(1, which)
    ended = starts_in_vain(cluster)
    return Outcome(
        led.leader == 1 and made and readable < acknowledged,
        {
            "records acknowledged": acknowledged,
            "after the directory has failed, and a clean stop": state(stopped),
            "once 1 has started without the directory": state(led),
            "a log in its other directory": "made" if made else "not made",
            **loss(acknowledged, readable),
            "a start once the directory is back": "ends by itself" if ended else "succeeds",
        },
    )


@scenario(BY_RULES, "untold-assignment", layout(1, 2, more=(*PATIENT, "log.dir.failure.timeout.ms=20000")))
def untold_assignment(cluster: KafkaCluster) -> Outcome:
    """Let the directory of a leader fail while its assignment does not reach the controller."""
    gate = cluster.home / "gate"
    _start_with(cluster, 1, LEFT_OUT.format(gate=gate, **ASSIGNMENTS))
    gate.touch()
    cluster.create(TOPIC, [(1, 2)])
    cluster.wait_in_sync()
    acknowledged = cluster.admin.produce(TOPIC, 0, 100).acknowledged
    _fail_directory(cluster)
    led_away = cluster.happens(lambda: cluster.partition(TOPIC).leader != 1, OBSERVED_S)
    failed, produced = cluster.partition(TOPIC), cluster.admin.produce(TOPIC, 0, 10)
    told = count(cluster, cluster.layout.controllers[0], "marked offline, remaining directories")
    return Outcome(
        told > 0 and cluster.runs(1) and not led_away and 2 in failed.isr and produced.acknowledged == 0,
        {
            "records acknowledged before the failure": acknowledged,
            "directories that the controller has marked offline": told,
            f"{OBSERVED_S} s after the directory has failed": state(failed),
            "broker 1": "runs" if cluster.runs(1) else "has ended",
            "records acknowledged after it, of 10": produced.acknowledged,
            "errors": produced.errors,
        },
    )


@scenario(BY_RULES, "two-passes", layout(1, 2, 3, more=(*PATIENT, "broker.session.timeout.ms=9000")))
def two_passes(cluster: KafkaCluster) -> Outcome:
    """Let one heartbeat unfence a broker and report its failed directory."""
    acknowledged, fenced = _elect_on_failed_directory(cluster, min_insync_replicas="2")
    cluster.bring_back(2)
    time.sleep(OBSERVED_S)
    last, produced = cluster.partition(TOPIC), cluster.admin.produce(TOPIC, 0, 10)
    told = count(cluster, cluster.layout.controllers[0], "marked offline, remaining directories")
    return Outcome(
        last.leader == 1 and told > 0 and produced.acknowledged == 0,
        {
            "records acknowledged before": acknowledged,
            "once both are gone": state(fenced),
            "directories that the controller has marked offline": told,
            f"{OBSERVED_S} s after 2 has started": state(last),
            "records acknowledged then, of 10": produced.acknowledged,
            "errors": produced.errors,
        },
    )


def _elect_on_failed_directory(cluster: KafkaCluster, **configs: str) -> tuple[int, PartitionDescription]:
    """Let one heartbeat of broker 1 unfence it and report the failed directory of its replica, while 2 is down.

    How many records are acknowledged; and the partition before the heartbeat.
    """
    gate = cluster.home / "gate"
    _start_with(cluster, 1, LEFT_OUT.format(gate=gate, **HEARTBEATS))
    cluster.create(TOPIC, [(1, 2)], **configs)
    acknowledged = cluster.admin.produce(TOPIC, 0, 100).acknowledged
    time.sleep(10)  # until brokers have reported their directories
    gate.touch()
    cluster.wait_until_fenced(1)
    cluster.stop(2)
    cluster.wait("nobody leads", lambda: cluster.partition(TOPIC).leader == -1)
    fenced = cluster.partition(TOPIC)
    gate.unlink()
    _fail_directory(cluster)
    cluster.wait_until_unfenced(1)
    return acknowledged, fenced


@scenario(BY_RULES, "unmarked-election", layout(1, 2, 3, more=(*PATIENT, "broker.session.timeout.ms=9000")))
def unmarked_election(cluster: KafkaCluster) -> Outcome:
    """End a recovery in the place of a leader whose directory has failed, while another replica is alive."""
    _, fenced = _elect_on_failed_directory(cluster, unclean_leader_election_enable="true")
    cluster.bring_back(2)
    before = cluster.partition(TOPIC)
    (topic,) = (one["topicId"] for one in cluster.records_of("TOPIC_RECORD") if one["name"] == TOPIC)
    changes = [*cluster.records_of("PARTITION_CHANGE_RECORD")]
    asked = {
        "partitionIndex": 0, "partitionEpoch": len(changes), "leaderRecoveryState": 0,
        "leaderEpoch": sum(one.get("leader", -2) >= -1 for one in changes),
        "newIsrWithEpochs": [{"brokerId": 1, "brokerEpoch": -1}],
    }  # fmt: skip
    epochs = [one["brokerEpoch"] for one in cluster.records_of("REGISTER_BROKER_RECORD") if one["brokerId"] == 1]
    data = {"brokerId": 1, "brokerEpoch": epochs[-1], "topics": [{"topicId": topic, "partitions": [asked]}]}
    answer = cluster.admin.ask("alter partition", controllers=cluster.controllers, data=data)
    elected = cluster.happens(lambda: cluster.partition(TOPIC).leader == 2)
    changes = [*cluster.records_of("PARTITION_CHANGE_RECORD")]
    states = [one["leaderRecoveryState"] for one in changes if one.get("leaderRecoveryState", -1) >= 0]
    return Outcome(
        before.leader == 1 and before.isr == (1,) and elected and states == [1, 0],
        {
            "once both are gone": state(fenced),
            "once 1 and 2 are back": state(before),
            "the error code of the AlterPartition": answer["topics"][0]["partitions"][0]["errorCode"],
            "after it": state(cluster.partition(TOPIC)),
            "leader recovery states in the metadata log": ", ".join(("RECOVERED", "RECOVERING")[one] for one in states),
        },
    )
