"""Findings on a live cluster that take processes which die, stand still or are slow."""

from __future__ import annotations

import shutil
import time
from threading import Thread

from kraftcheck.ci.conformance.cluster.processes import KafkaCluster, Produced
from kraftcheck.ci.conformance.findings.scenario import (
    BESIDE,
    OBSERVED_S,
    PATIENT,
    SILENT,
    TOPIC,
    Fact,
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
    state,
)

BY_PROCESSES: dict[str, Scenario] = {}  # the scenarios of processes, by name, worst effect first
MOVES_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"  # the throttle of moves between directories


@scenario(BY_PROCESSES, "registration-resigns", layout(1, 2, 3, more=PATIENT))
def registration_resigns(cluster: KafkaCluster) -> Outcome:
    """Cancel a reassignment of which an added replica alone is in the ISR."""
    _let_added_lead(cluster)
    cluster.create(BESIDE, [(1,)] * 4)
    cluster.kill(1)
    cluster.wait_until_fenced(1)  # The leader may take it out of the ISR before.
    before = cluster.partition(TOPIC)
    cluster.reassign(TOPIC, 0, None)
    time.sleep(5)
    cancelled, resigned_before = cluster.partition(TOPIC), resignation_count(cluster)
    cluster.start(1)
    time.sleep(2 * OBSERVED_S)
    facts = resignation_facts(cluster)
    refused = sum(count(cluster, node, "registerBroker: event failed with") for node in cluster.layout.controllers)
    return Outcome(
        resigns_again(cluster, resigned_before) and refused > 0 and cluster.leaderless(BESIDE) == 4,
        {
            "before the cancellation": state(before),
            "after the cancellation": state(cancelled),
            "resignations before 1 started": resigned_before,
            **facts,
            "messages about registrations that failed": refused,
            "the process of broker 1": "goes on" if cluster.runs(1) else "has given up",
            "partitions of another topic on 1 without a leader then, of 4": cluster.leaderless(BESIDE),
        },
    )


def _let_added_lead(cluster: KafkaCluster) -> None:
    """A partition of [1] is reassigned to [2,3,1] while 3 is down, and 2 leads."""
    cluster.create(TOPIC, [(1,)], unclean_leader_election_enable="true")
    cluster.kill(3)
    cluster.wait_until_fenced(3)
    cluster.reassign(TOPIC, 0, (2, 3, 1))
    cluster.wait("2 is in sync", lambda: 2 in cluster.partition(TOPIC).isr)
    cluster.elect("PREFERRED", TOPIC, 0)
    cluster.wait("2 leads", lambda: cluster.partition(TOPIC).leader == 2)


@scenario(BY_PROCESSES, "cancelled-leader", layout(1, 2, 3, more=PATIENT))
def cancelled_leader(cluster: KafkaCluster) -> Outcome:
    """Cancel a reassignment whose added replica leads alone, while the original one is alive and has not caught up."""
    _let_added_lead(cluster)
    cluster.admin.ask("configure", kind="BROKER", name="2", configs={"leader.replication.throttled.rate": "1000"})
    cluster.configure(TOPIC, "leader.replication.throttled.replicas", "*")
    cluster.pause(1)
    cluster.wait("2 is alone", lambda: cluster.partition(TOPIC).isr == (2,))
    acknowledged = cluster.admin.produce(TOPIC, 0, 3_000, size=1000).acknowledged
    cluster.resume(1)
    cluster.wait_until_unfenced(1)
    time.sleep(10)  # until 1 has copied what the throttle lets through
    before = cluster.partition(TOPIC)
    cluster.reassign(TOPIC, 0, None)
    elected = cluster.happens(lambda: cluster.partition(TOPIC).leader == 1, 60)
    time.sleep(OBSERVED_S)
    marked = marked_count(cluster)
    kept = any((place / f"{TOPIC}-0").is_dir() for place in cluster.directories(2))
    readable = cluster.admin.readable(TOPIC)
    return Outcome(
        (before.leader, before.isr) == (2, (2,)) and elected and marked == 0 and readable < acknowledged,
        {
            "records acknowledged with acks=all by 2": acknowledged,
            "before the cancellation, with 1 and 2 alive": state(before),
            "after the cancellation": state(cluster.partition(TOPIC)),
            "changes that mark an unclean election": marked,
            "the log of the deposed leader": "is there" if kept else "is deleted",
            **loss(acknowledged, readable),
        },
    )


def _one_produces(cluster: KafkaCluster, records: int, into: list[Produced]) -> Thread:
    """A thread that sends a record every few milliseconds; what came of it is put into the list."""

    def run() -> None:
        into.append(cluster.admin.produce(TOPIC, 0, records, timeout_ms=3_000, pause_ms=5))

    thread = Thread(target=run, daemon=True)
    thread.start()
    return thread


def _move_to_the_other(cluster: KafkaCluster, rate: int) -> None:
    """Let the replica of broker 1 move to its other directory, with a throttle."""
    cluster.admin.ask("configure", kind="BROKER", name="1", configs={MOVES_RATE: str(rate)})
    used = [(place / f"{TOPIC}-0").is_dir() for place in cluster.directories(1)].index(True)
    other = cluster.directories(1)[1 - used]
    cluster.admin.ask("move", topic=TOPIC, partition=0, broker=1, directory=str(other))


def _is_moving(cluster: KafkaCluster) -> bool:
    """Whether broker 1 has a future log of the partition."""
    return any(any(place.glob(f"{TOPIC}-0.*-future")) for place in cluster.directories(1))


def _metadata_size(cluster: KafkaCluster) -> int:
    return sum(place.stat().st_size for place in cluster.metadata(cluster.layout.controllers[0]).glob("*.log"))


@scenario(BY_PROCESSES, "short-future-log", layout(1, 2, more=(*PATIENT, *SILENT)))
def short_future_log(cluster: KafkaCluster) -> Outcome:
    """Kill a broker once the controller has recorded the new directory; every other time stop it cleanly."""
    cluster.create(TOPIC, [(1,)])
    facts: dict[str, Fact] = {}
    acknowledged = readable = cluster.admin.produce(TOPIC, 0, 500).acknowledged
    attempts = named = 0
    while readable == acknowledged and attempts < 8:
        attempts += 1
        named = len(_assigned(cluster))
        _move_to_the_other(cluster, 1_000)
        time.sleep(3)
        before = _metadata_size(cluster)
        sent = list[Produced]()
        thread = _one_produces(cluster, 6_000, sent)
        end = time.monotonic() + 60
        while _metadata_size(cluster) == before and time.monotonic() < end:
            time.sleep(0.0005)
        ended, end_it = ("killed", cluster.kill) if attempts % 2 else ("stopped cleanly", cluster.stop)
        end_it(1)
        thread.join()
        named = len(_assigned(cluster)) - named
        acknowledged += sent[0].acknowledged
        cluster.bring_back(1)
        cluster.wait("it leads", lambda: cluster.partition(TOPIC).leader == 1)
        readable = cluster.admin.readable(TOPIC)
        told = f"{ended} after {named} new directories, {acknowledged} acknowledged, {readable} can be read"
        facts[f"attempt {attempts}"] = told
    return Outcome(
        readable < acknowledged and named > 0, {**facts, "attempts": attempts, **loss(acknowledged, readable)}
    )


@scenario(BY_PROCESSES, "min-isr-of-another", layout(1, 2, 3, more=PATIENT))
def min_isr_of_another(cluster: KafkaCluster) -> Outcome:
    """Two topics with the same partitions in another order, and two stops."""
    cluster.create(TOPIC, [(1, 2), (2, 3)], min_insync_replicas="2")
    cluster.create(BESIDE, [(2, 3), (1, 2)], min_insync_replicas="2")
    for topic, number in ((TOPIC, 0), (BESIDE, 1)):
        leave_to_1(cluster, topic, number)
    time.sleep(10)  # until brokers have reported their directories: before 4.3.0 such a report empties the ELR
    cluster.stop(3)
    cluster.wait_for_isr_without(TOPIC, 3)
    one_stopped, beside_then = cluster.partition(TOPIC, 1), cluster.partition(BESIDE, 0)
    produced = cluster.admin.produce(TOPIC, 1, 10)
    cluster.stop(2)
    cluster.wait_for_isr_without(TOPIC, 2)
    cluster.bring_back(3)
    led = cluster.happens(lambda: cluster.partition(BESIDE, 0).leader == 3, 60)
    time.sleep(OBSERVED_S)
    one, beside = cluster.partition(TOPIC, 1), cluster.partition(BESIDE, 0)
    return Outcome(
        one_stopped.elr == () and beside_then.elr == (3,) and led and one.leader == -1,
        {
            "partition 1, beside [1], after the stop of 3": state(one_stopped),
            "partition 0, beside [1], then": state(beside_then),
            "records acknowledged by the first then, of 10": produced.acknowledged,
            "the first, once 2 is stopped and 3 is back": state(one),
            "the second": state(beside),
        },
    )


@scenario(BY_PROCESSES, "all-directories", layout(1, 2, more=PATIENT))
def all_directories(cluster: KafkaCluster) -> Outcome:
    """Let both directories of a leader fail."""
    cluster.create(TOPIC, [(1, 2)])
    cluster.create(BESIDE, [(1, 2)] * 6)
    time.sleep(10)  # until the broker has reported its directories
    for which in (0, 1):
        cluster.break_directory(1, which)
        time.sleep(15)
    ended = cluster.happens(lambda: not cluster.runs(1), OBSERVED_S)
    changes = list(cluster.records_of("BROKER_REGISTRATION_CHANGE_RECORD"))
    emptied = sum(one["brokerId"] == 1 and one.get("logDirs") == [] for one in changes)
    led_away = cluster.happens(lambda: cluster.partition(TOPIC).leader != 1, 60)
    if ended:
        cluster.wait_for_end(1)
    return Outcome(
        emptied > 0 and not led_away,
        {
            "broker 1": "has ended by itself" if ended else "runs",
            "messages that all directories have failed": count(cluster, 1, "all log dirs in"),
            "registrations changed to no directory": emptied,
            "the leader": "another" if led_away else "the same",
        },
    )


@scenario(BY_PROCESSES, "move-undone", layout(1, 2, more=(*PATIENT, *SILENT)))
def move_undone(cluster: KafkaCluster) -> Outcome:
    """Move a replica with a throttle that its copy uses up, and see which directories are recorded."""
    cluster.create(TOPIC, [(1,)])
    time.sleep(10)  # until the broker has reported its directory
    taken_back, rounds = 0, list[str]()
    while not taken_back and len(rounds) < 6:
        cluster.admin.produce(TOPIC, 0, 500)
        before = len(_assigned(cluster))
        _move_to_the_other(cluster, 1_000)
        ended = cluster.happens(lambda: not _is_moving(cluster), 120)
        time.sleep(3)
        named = _assigned(cluster)[before:]
        taken_back += sum(one != named[0] for one in named)
        rounds.append(f"{len(named)} assignments recorded, {'the move has ended' if ended else 'the move goes on'}")
    return Outcome(
        taken_back > 0,
        {
            **{f"move {number}": words for number, words in enumerate(rounds, 1)},
            "moves": len(rounds),
            "grants that were taken back": taken_back,
        },
    )


def _assigned(cluster: KafkaCluster) -> list[str]:
    """The directories of the only replica of a partition, in the order in which they were recorded."""
    changes = cluster.records_of("PARTITION_CHANGE_RECORD")
    return [one["directories"][0] for one in changes if len(one.get("directories") or ()) == 1]


SESSION_S = 60  # the session of a broker that returns slowly


@scenario(BY_PROCESSES, "slow-return", layout(1, 2, more=(*PATIENT, f"broker.session.timeout.ms={SESSION_S}000")))
def slow_return(cluster: KafkaCluster) -> Outcome:
    """Stop a broker cleanly, and start it at once."""
    cluster.create(TOPIC, [(1, 2)])
    cluster.stop(1)
    cluster.wait_until_fenced(1)
    began = time.monotonic()
    cluster.bring_back(1)
    took = round(time.monotonic() - began)
    refused = count(cluster, 1, "DUPLICATE_BROKER_REGISTRATION")
    began = time.monotonic()
    cluster.stop(1)
    time.sleep(SESSION_S + 5)
    cluster.bring_back(1)
    again = round(time.monotonic() - began - SESSION_S - 5)
    refused_again = count(cluster, 1, "DUPLICATE_BROKER_REGISTRATION") - refused
    return Outcome(
        refused > 0 and refused_again == 0,
        {
            "registrations refused as duplicate": refused,
            "seconds from the start until it is unfenced": took,
            "refused where it starts after the session is over": refused_again,
            "seconds then": again,
        },
    )


@scenario(BY_PROCESSES, "unregistered-member", layout(1, 2, 3, more=PATIENT))
def unregistered_member(cluster: KafkaCluster) -> Outcome:
    """Unregister an ELR member, and let it come back without its log."""
    cluster.create(TOPIC, [(1, 2)], min_insync_replicas="2")
    time.sleep(10)  # until brokers have reported their directories: before 4.3.0 such a report empties the ELR
    acknowledged = cluster.admin.produce(TOPIC, 0, 500).acknowledged
    cluster.stop(2)
    cluster.wait_for_isr_without(TOPIC, 2)
    cluster.unregister(2)
    time.sleep(5)
    unregistered = cluster.partition(TOPIC)
    cluster.stop(1)
    cluster.wait("nobody leads", lambda: cluster.partition(TOPIC).leader == -1)
    for place in cluster.directories(2):
        shutil.rmtree(place / f"{TOPIC}-0", ignore_errors=True)
    cluster.start(2)
    elected = cluster.happens(lambda: cluster.partition(TOPIC).leader == 2, 90)
    led = cluster.partition(TOPIC)
    cluster.bring_back(1)
    cluster.happens(lambda: set(cluster.partition(TOPIC).isr) == {1, 2}, 60)
    readable = cluster.admin.readable(TOPIC)
    return Outcome(
        2 in unregistered.elr and 2 not in led.elr and not elected,
        {
            "records acknowledged with acks=all": acknowledged,
            "after 2 was unregistered": state(unregistered),
            "once 2 has started without its log": state(led),
            "records that can be read once both are back": readable,
        },
    )
