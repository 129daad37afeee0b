"""What `kraftcheck status` says of captured clusters in trouble, of made ones, and of what a form does not tell."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.ci.logs.format import segments
from kraftcheck.model.controller.brokers import fenced
from kraftcheck.model.partition.registration import LOST
from kraftcheck.model.records.fields import CODE
from tests.ci.logs.test_log_doubts import A, B, old_log, unexplained
from tests.shared.captures import CAPTURED, DEAD_LEADER, ELR, NO_ELR, TROUBLE, batches, json_lines
from tests.shared.captures import cut as segment_of
from tests.shared.commands import Ran, kraftcheck
from tests.shared.places import TESTS
from tests.solvers.logs.test_holders import Log

OUTAGE = TESTS / "snapshots" / "outage.txt"  # the log that the runbook shows


def cut(place: Path, before: int, folder: Path = TROUBLE) -> Path:
    """The dump of a captured cluster, that in trouble, up to the batch that begins at an offset."""
    text = (folder / "decoded.txt").read_text(encoding="utf-8")
    path = place / f"{before}.txt"
    path.write_text(text[: text.index(f"baseOffset: {before} ")], encoding="utf-8")
    return path


def told(path: Path, *words: str) -> dict[str, Any]:
    """The document of a status."""
    return dict(kraftcheck("status", path, "--json", "-", *words).document())


def partition(document: dict[str, Any], name: str) -> dict[str, Any]:
    """The row of a partition."""
    (row,) = [row for row in document["partitions"] if f"{row['topic']}-{row['partition']}" == name]
    return dict(row)


FENCED = "2026-11-21T22:51:31.886Z"


def test_an_outage_is_said_in_a_line(tmp_path: Path) -> None:
    """Two of eight partitions have no leader, two of three brokers are down: first line and exit code say so."""
    ran = kraftcheck("status", cut(tmp_path, 91))
    first, second, *_ = ran.out.splitlines()
    assert ran.code == 14
    assert first == (
        "2 of 8 partitions are offline, 6 are one fault from offline; broker 1 is starting; broker 2 is fenced"
    )
    assert second.endswith("91.txt at offset 90, 2026-11-21 22:51:38 UTC, rules kafka-4.1.2")
    assert ran.last == "(exit 14)"


def test_a_partition_whose_leader_is_fenced_is_offline(tmp_path: Path) -> None:
    """Nobody can reach a leader that KAFKA-19522 has elected: every command says so, and its return brings it back."""
    text = (DEAD_LEADER / "decoded.txt").read_text(encoding="utf-8")
    path = tmp_path / "log.txt"
    path.write_text(text[: text.index("baseOffset: 146 ")], encoding="utf-8")
    ran, document = kraftcheck("status", path, "--prometheus", tmp_path / "metrics"), told(path)
    assert (ran.code, ran.out.partition(",")[0]) == (14, "8 of 10 partitions are offline")
    assert "starting: nobody" in ran.out
    assert 'kraftcheck_partitions{state="offline"} 8' in (tmp_path / "metrics").read_text(encoding="utf-8")
    row = partition(document, "lone-0")
    assert (row["leader"], row["state"], row["since"]["offset"]) == (1, "offline", 60)
    assert [(one["start"], one["leader"]) for one in row["leads_again"]] == [(1, 1)]
    assert ["lone-0" in step["leads"] for step in document["way_back"]] == [True, False]
    near = {f"{row['topic']}-{row['partition']}": row["faults_to_offline"]
            for row in kraftcheck("whatif", path, "--json", "-").document()["partitions"]}  # fmt: skip
    assert [near[name] for name in ("lone-0", "lone-1")] == [0, 1]
    one = ("--topic", "lone", "--partition", "0", "--election-type", "unclean")
    for words in (("elect-leaders", *one), ("unclean-recovery", "--all-offline-partitions", "--show-replica-info")):
        asked = kraftcheck(*words, "--snapshot", path)
        assert asked.code == 1
        assert "lone-0: failed: its leader 1 is fenced" in asked.err


def test_a_replica_on_a_failed_directory_is_not_waited_for(tmp_path: Path) -> None:
    """It is never in sync again by itself: its directory is to be mended, or the partition reassigned."""
    text = (CAPTURED / "kafka-4.4.0" / "decoded.txt").read_text(encoding="utf-8")
    path = tmp_path / "log.txt"
    path.write_text(text[: text.index("baseOffset: 548 ")], encoding="utf-8")
    out = kraftcheck("status", path).out
    assert told(path)["rolling_restart"] == []
    assert re.search(r"broker 16 has lost \S{22} of strict-0, pair-0, brief-0 and 5 more: mend it and restart", out)
    assert "wait until replicas on live brokers" not in out
    assert "16 has its directory" in out
    assert "rolling restart: what it does cannot be told before these are back" in out


@pytest.mark.parametrize("record", [
    {"type": "SOME_NEW_RECORD", "version": 0, "data": {}},
    {"type": "FEATURE_LEVEL_RECORD", "version": 0, "data": {"name": "metadata.version", "featureLevel": 99}},
])  # fmt: skip
def test_what_is_not_known_is_never_well(record: dict[str, Any], tmp_path: Path) -> None:
    """A kind of record, or a metadata version, that is not known may mean anything: it is said first."""
    ran = made(tmp_path, 3, (0, 1, 2))
    assert ran.code == 0
    (path,) = tmp_path.glob("*.jsonl")
    rows = path.read_text(encoding="utf-8")
    path.write_text(rows + json.dumps({"offset": len(rows.splitlines()), **record}) + "\n", encoding="utf-8")
    ran = kraftcheck("status", path)
    assert ran.code == 10
    assert re.match("records of unknown kinds are passed over; |metadata version 99 is not known; ", ran.out)


def test_nobody_alive_is_not_well(tmp_path: Path) -> None:
    """Without partitions and without a live broker nothing is offline, and nothing works: exit code 10."""
    path = tmp_path / "log.jsonl"
    rows = [json.loads(line) for line in old_log().splitlines()]
    fence = {"offset": 2, "epoch": 1, "type": "FENCE_BROKER_RECORD", "version": 0, "data": {"id": 1, "epoch": 0}}
    path.write_text("".join(json.dumps(row) + "\n" for row in (*rows[:2], fence)), encoding="utf-8")
    ran = kraftcheck("status", path)
    assert (ran.code, ran.out.splitlines()[0]) == (10, "the cluster has no partition; broker 1 is fenced")
    assert "  start broker 1: no broker is live\n" in ran.out


def test_the_outage_of_the_runbook_is_a_captured_one(tmp_path: Path) -> None:
    """The log that the documentation shows is the captured one, up to the offset where two partitions are offline."""
    assert OUTAGE.read_bytes() == cut(tmp_path, 91).read_bytes()


@pytest.mark.parametrize(("voters", "barred"), [((0,), True), ((0, 1), True), ((0, 2), True), ((0, 1, 2), True),
                                                ((0, 1, 100), False), ((0, 100, 101), False)])  # fmt: skip
@pytest.mark.parametrize("kind", ["LeaderChange", "KRaftVoters"])
def test_a_broker_that_the_majority_needs_must_not_be_stopped(
    kind: str, voters: tuple[int, ...], barred: bool, tmp_path: Path
) -> None:  # fmt: skip
    """A log names who votes: without a broker that is fenced, and the one that is stopped, a majority must be left."""
    text, path = OUTAGE.read_text(encoding="utf-8"), tmp_path / "log.txt"
    named = ",".join(f'{{"voterId":{voter}}}' for voter in voters)
    first = next(line for line in text.splitlines() if "LeaderChange" in line)
    other = f'{first.partition("LeaderChange")[0]}{kind}: {{"version":0,"leaderId":100,"voters":[{named}],"x":1}}'
    path.write_text(text.replace(first, other), encoding="utf-8")
    found = told(path)
    stop = next(row["stop"] for row in found["brokers"] if row["broker"] == 0)
    assert (found["voters"], stop["quorum"]) == ([*voters], [*map(str, voters)] if barred else [])
    lost = f"leaves the quorum of {', '.join(map(str, voters))} without a majority"
    assert (lost in kraftcheck("status", path).out) == barred


@pytest.mark.parametrize(("voters", "offline"), [((0,), 1), ((0, 1), 1), ((0, 1, 2), 2), ((1, 2), 2), ((0, 100), 1),
                                                 ((100,), None), ((0, 100, 101), None)])  # fmt: skip
def test_whatif_counts_the_brokers_that_vote(voters: tuple[int, ...], offline: int | None, tmp_path: Path) -> None:
    """A leader that is lost with the majority of the quorum is replaced by nobody, so that its partition is offline."""
    path = tmp_path / "topics.txt"
    rows = "\tTopic: t\tPartition: 0\tLeader: 0\tReplicas: 0,1,2\tIsr: 0,1,2\tElr: \tLastKnownElr: \n"
    head = "Topic: t\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: \n"
    named = f"CurrentVoters: [{','.join(map(str, voters))}]\nCurrentObservers: [0,1,2]\n"
    numbers = f"LeaderId: {voters[0]}\nHighWatermark: 9\nMaxFollowerLag: 0\n"
    path.write_text(head + rows + numbers + named, encoding="utf-8")
    (row,) = kraftcheck("whatif", path, "--json", "-").document()["partitions"]
    assert row["faults_to_offline"] == offline
    assert offline is None or row["to_offline"][-1] == "the quorum has no majority, and elects nobody"
    assert row["faults_to_unwritable"] == offline


@pytest.mark.parametrize(("last", "first"), [("3", 3), ("1", 1), ("", 1)])
def test_who_leads_is_started_before_who_follows(last: str, first: int, tmp_path: Path) -> None:
    """A last known leader that alone leads again is first; nobody waits for replicas of what has no leader."""
    rows = "".join(f"\tTopic: t\tPartition: {n}\tLeader: none\tReplicas: 1,2,3\tIsr: \tElr: \tLastKnownElr: {last}\n"
                   for n in range(2))  # fmt: skip
    path = tmp_path / "topics.txt"
    path.write_text("Topic: t\tPartitionCount: 2\tReplicationFactor: 3\tConfigs: min.insync.replicas=2\n" + rows)
    ran = kraftcheck("status", path)
    steps = [line for line in ran.out.splitlines() if re.match(r"  \d\. ", line)]
    assert (ran.code, len(steps)) == (14, 3)
    does = "gives t-0, t-1 a leader; MAY LOSE" if last else "what it has replicas of has no leader"
    assert steps[0].startswith(f"  1. start broker {first}: {does}")
    assert sum("go on once" in line for line in steps) == (2 if last else 0)
    assert ("more replicas in sync" in ran.out) == bool(last)


def test_an_outage_has_its_cause_and_its_end(tmp_path: Path) -> None:
    """Since when, by what, who must return, what an unclean election loses, and in which order brokers are started."""
    document = told(cut(tmp_path, 91))
    rows = {name: partition(document, name) for name in ("alone-0", "strict-1")}
    assert {name: (row["state"], row["isr"], row["elr"], row["since"]) for name, row in rows.items()} == {
        "alone-0": ("offline", [], [2], {"offset": 85, "time": FENCED, "event": "fence broker 2"}),
        "strict-1": ("offline", [], [2], {"offset": 86, "time": FENCED, "event": "fence broker 2"}),
    }
    again = {"start": 2, "by_itself": False, "unclean_election": False, "leader": 2, "may_lose": False, "without": None,
             "since": None, "if_killed": {"leader": 2}}  # fmt: skip
    since = {"offset": 78, "time": "2026-11-21T22:51:22.872Z", "event": "fence broker 1"}
    unclean = {"start": 1, "by_itself": False, "unclean_election": True, "leader": 1, "may_lose": True,
               "without": "acknowledged since", "since": since, "if_killed": {}}  # fmt: skip
    assert rows["alone-0"]["leads_again"] == [again]
    assert rows["strict-1"]["leads_again"] == [unclean, again]
    assert [(step["start"], step["leads"], step["may_lose"]) for step in document["way_back"]] == [
        (2, ["strict-1", "alone-0"], []), (1, [], []),
    ]  # fmt: skip
    assert document["shortest"]
    brokers = document["brokers"]
    assert [(row["broker"], row["state"], row["epoch"]) for row in brokers] == [
        (0, "live", 57), (1, "starting", 90), (2, "fenced", 7),
    ]  # fmt: skip
    assert [row["since"] and row["since"]["offset"] for row in brokers] == [None, 82, 87]
    stop = document["brokers"][0]["stop"]
    assert (len(stop["offline"]), stop["unwritable"]) == (6, [])
    assert [row["restart"] for row in document["rolling_restart"] if row["offline"]] == [0, 2]


def test_lost_records_have_their_event(tmp_path: Path) -> None:
    """What was lost before names the record with which a replica led that need not have had all, and the event."""
    document = told(cut(tmp_path, 91))
    lost = {f"{row['topic']}-{row['partition']}": row["lost"] for row in document["partitions"] if row["lost"]}
    assert {name: (row["offset"], row["event"]) for name, row in lost.items()} == {
        "loose-0": (60, "unfence broker 0"), "loose-1": (61, "unfence broker 0"), "alone-1": (59, "unfence broker 0"),
        "strict-0": (64, "unclean election in strict-0"),
    }  # fmt: skip


def test_the_first_to_be_back_may_be_the_wrong_one(tmp_path: Path) -> None:
    """Where topics allow unclean elections, starting the outsider first is warned of, with what it has not got."""
    ran, document = kraftcheck("status", cut(tmp_path, 57)), told(cut(tmp_path, 57))
    assert "  if broker 0 is back first, it is elected with loss: loose-0, loose-1\n" in ran.out
    assert [step["start"] for step in document["way_back"]] == [1, 0]
    since = {name: [one["since"]["offset"] for one in partition(document, name)["leads_again"] if one["may_lose"]]
             for name in ("loose-0", "loose-1", "strict-0")}  # fmt: skip
    assert since == {"loose-0": [47], "loose-1": [48], "strict-0": [46]}
    asked = {name: [one["unclean_election"] for one in partition(document, name)["leads_again"]]
             for name in ("loose-0", "strict-0")}  # fmt: skip
    assert asked == {"loose-0": [False, False], "strict-0": [True, False]}


@pytest.mark.parametrize("before", [138, 145])
def test_where_a_loss_cannot_be_avoided_the_least_is_first(before: int, tmp_path: Path) -> None:
    """Who lacks what it had not flushed is awaited before who lacks seconds of records, whose return is warned of."""
    path = cut(tmp_path, before, ELR)
    ran, document = kraftcheck("status", path), told(path)
    row = partition(document, "clicks-1")
    assert {one["start"]: one["without"] for one in row["leads_again"]} == {1: "acknowledged since", 2: "unflushed"}
    assert [(step["start"], "clicks-1" in step["may_lose"]) for step in document["way_back"]] == [(2, True), (1, False)]
    assert "  if broker 1 is back first, it is elected with loss: clicks-1\n" in ran.out


def test_an_order_that_may_not_be_the_best_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where not all orders were looked at, the title of the advice says so."""
    path = cut(tmp_path, 138, ELR)
    told = "WHAT NOW (another order may be shorter, or lose less)\n"
    assert told not in kraftcheck("status", path).out
    monkeypatch.setattr("kraftcheck.solvers.logs.recovery.MOST_STEPS", 1)
    assert told in kraftcheck("status", path).out


@pytest.mark.parametrize(("led", "other"), [(1, 2), (2, 1)])
def test_the_last_known_leader_of_a_paste_loses_least(led: int, other: int, tmp_path: Path) -> None:
    """It had every record, and is started first, whichever its number: as a log tells of the same partition."""
    path = tmp_path / "topics.txt"
    path.write_text(
        "Topic: t\tPartitionCount: 1\tReplicationFactor: 2\t"
        "Configs: min.insync.replicas=1,unclean.leader.election.enable=true\n"
        f"\tTopic: t\tPartition: 0\tLeader: none\tReplicas: 2,1\tIsr: \tElr: \tLastKnownElr: {led}\n"
    )
    ran, document = kraftcheck("status", path), told(path)
    ways = {one["start"]: one["without"] for one in partition(document, "t-0")["leads_again"]}
    assert ways == {led: "unflushed", other: "acknowledged since"}
    assert [step["start"] for step in document["way_back"]] == [led, other]
    assert f"  if broker {other} is back first, it is elected with loss: t-0\n" in ran.out


def test_a_lost_broker_is_in_no_plan(tmp_path: Path) -> None:
    """With --lost nobody waits for a broker: elections that remain are named, and those that stay without leader."""
    path = cut(tmp_path, 91)
    ran, document = kraftcheck("status", path, "--lost", "2"), told(path, "--lost", "2")
    assert [(step["start"], step["leads"]) for step in document["way_back"]] == [(1, [])]
    assert partition(document, "alone-0")["leads_again"] == []
    assert {one["start"] for one in partition(document, "strict-1")["leads_again"]} == {1}
    assert [row["state"] for row in document["brokers"]] == ["live", "starting", "lost"]
    assert [row["restart"] for row in document["rolling_restart"]] == [0, 1]
    assert "  only an unclean election gives these a leader, at the cost below: strict-1\n" in ran.out
    assert "  broker 2 is lost, and is a replica of strict-1, alone-0, " in ran.out
    rows = kraftcheck("whatif", path, "--lost", "2", "--json", "-").document()["partitions"]
    assert [row["faults_to_loss"] for row in rows if (row["topic"], row["partition"]) == ("alone", 0)] == [0]


@pytest.mark.parametrize("command", ["status", "whatif"])
@pytest.mark.parametrize(("broker", "word"), [("0", "live"), ("9", "not registered")])
def test_who_is_not_down_is_not_lost(command: str, broker: str, word: str, tmp_path: Path) -> None:
    """--lost takes a broker that is registered and down, and names those that are."""
    ran = kraftcheck(command, cut(tmp_path, 91), "--lost", broker)
    assert ran.code == 2
    assert re.search(rf"--lost {broker}: the broker is {word} .* one that is down: 1, 2$", ran.err.strip())


def test_who_refuses_producers_says_until_when(tmp_path: Path) -> None:
    """An ISR below its minimum: since which record, and who fills it: a start, or live replicas by themselves."""
    before, after = (partition(told(cut(tmp_path, offset)), "wide-1") for offset in (57, 62))
    assert before["since"] == {"offset": 51, "time": "2026-11-21T22:50:55.098Z", "event": "fence broker 1"}
    assert (before["state"], before["isr"], before["min_isr"]) == ("below min ISR", [2], 2)
    assert (before["writable_after"], after["writable_after"]) == ([0], [])
    assert "replicas catch up" in kraftcheck("status", cut(tmp_path, 62)).out


def test_a_broker_that_is_coming_brings_its_partitions_by_itself(tmp_path: Path) -> None:
    """After a registration that follows a fencing nothing has to be started; what was not flushed may be lost."""
    document = told(cut(tmp_path, 128))
    (one,) = partition(document, "alone-0")["leads_again"]
    assert (one["start"], one["by_itself"], one["may_lose"], one["without"]) == (2, True, True, "unflushed")
    ran = kraftcheck("status", cut(tmp_path, 128))
    assert "1. wait for broker 2: gives alone-0 a leader" in ran.out
    assert "nothing that is known brings these back without loss: alone-0" in ran.out


def test_a_clean_stop_is_told_from_a_kill(tmp_path: Path) -> None:
    """A broker that was fenced in a controlled shutdown is shut down, and had flushed; one that is gone may not."""
    document = told(cut(tmp_path, 147))
    row = partition(document, "alone-0")
    assert document["brokers"][2]["state"] == "shut down"
    assert (row["since"]["event"], row["leads_again"][0]["if_killed"]) == ("broker 2 begins a controlled shutdown", {})
    row = partition(told(cut(tmp_path, 148)), "alone-0")
    assert (row["leads_again"], row["unregistered"]) == ([], [2])
    ran = kraftcheck("status", cut(tmp_path, 148))
    assert "unknown: 2 not registered" in ran.out
    assert re.search(r"broker 2 is not registered, and is a replica of .*alone-0.*: start a broker with", ran.out)
    assert "rolling restart: what it does cannot be told before these are back" in ran.out


def test_a_failed_directory_is_named(tmp_path: Path) -> None:
    """A directory that partitions name and their broker no longer has online is shown, and the first line says so."""
    ran = kraftcheck("status", cut(tmp_path, 179))
    assert ran.out.splitlines()[0].endswith("; broker 1 has lost a directory")
    assert re.search(r"^1 +live +165 +1 online, NPKX7G6zl-NAsko_WeVIXg offline$", ran.out, re.MULTILINE)


def test_every_form_says_the_same_but_what_it_lacks(tmp_path: Path) -> None:
    """A segment says what its dump says; JSON lines have no times, and a snapshot has no history, and both say so."""
    wanted = told(cut(tmp_path, 91))
    segment = tmp_path / "00000000000000000000.log"
    segment.write_bytes(segment_of(0, 91))
    assert told(segment) == wanted | {"log": str(segment)}
    lines = tmp_path / "log.jsonl"
    lines.write_text(json_lines(batch for batch in batches(TROUBLE) if batch.base_offset < 91), encoding="utf-8")
    bare = told(lines)
    assert bare["time"] is None
    assert partition(bare, "alone-0")["since"] == {"offset": 85, "time": None, "event": "fence broker 2"}
    assert "at offset 90, without times, rules" in kraftcheck("status", lines).out
    snapshot = next(ELR.glob("*.checkpoint"))
    assert ", a snapshot: it tells no history, 2026-11-21" in kraftcheck("status", snapshot).out
    document = told(snapshot)
    assert {row["since"] and row["since"]["offset"] for row in document["partitions"]} == {None}
    assert document["offset"] is None


def test_after_a_snapshot_history_begins(tmp_path: Path) -> None:
    """What a snapshot holds began before it, what segments behind it change has its offset, and times are their own."""
    snapshot, whole = next(TROUBLE.glob("*.checkpoint")), next(TROUBLE.glob("*.log"))
    (tmp_path / snapshot.name).write_bytes(snapshot.read_bytes())
    (tmp_path / "00000000000000000218.log").write_bytes(segment_of(218))
    both, log = told(tmp_path), told(whole)
    assert (both["offset"], both["time"], both["exit"]) == (log["offset"], log["time"], log["exit"])
    lost = {row["lost"]["offset"] for row in both["partitions"] if row["lost"]}
    assert lost
    assert min(lost) >= 218 > min(row["lost"]["offset"] for row in log["partitions"] if row["lost"])


def test_a_log_that_is_not_explained_says_so(tmp_path: Path) -> None:
    """Where batches are not what the rules write, the second paragraph warns of all that follows."""
    ran = kraftcheck("status", unexplained(tmp_path))
    assert "not what these rules write; run kraftcheck replay" in ran.out
    assert "so what is said here of causes, and of what helps, may be wrong\n" in ran.out
    assert "may be wrong" not in kraftcheck("status", ELR).out


SUPPORTED = {"name": "metadata.version", "minSupportedVersion": 1, "maxSupportedVersion": 21}


def made(place: Path, brokers: int, *replicas: tuple[int, ...], dead: tuple[int, ...] = ()) -> Ran:
    """The status of a made log of 3.9: brokers that are unfenced, partitions that their first replica leads."""
    ids = (A, B, "Zzzzzzzzzzzzzzzzzzzzzw")
    version = {"name": "metadata.version", "featureLevel": 21}
    rows: list[tuple[str, dict[str, Any]]] = [("FEATURE_LEVEL_RECORD", version)]
    for broker in range(brokers):
        epoch = len(rows)
        data = {"brokerId": broker, "incarnationId": ids[broker], "brokerEpoch": epoch, "endPoints": [],
                "features": [{**SUPPORTED}], "rack": None, "logDirs": [ids[broker]]}  # fmt: skip
        rows.append(("REGISTER_BROKER_RECORD", data))
        if broker not in dead:
            change = {"brokerId": broker, "brokerEpoch": epoch, "fenced": -1}
            rows.append(("BROKER_REGISTRATION_CHANGE_RECORD", change))
    if replicas:
        rows.append(("TOPIC_RECORD", {"name": "foo", "topicId": A}))
    for index, listed in enumerate(replicas):
        rows.append(("PARTITION_RECORD", {
            "partitionId": index, "topicId": A, "replicas": listed, "isr": listed, "removingReplicas": [],
            "addingReplicas": [], "leader": listed[0], "leaderEpoch": 0, "partitionEpoch": 0,
            "directories": [ids[b] for b in listed],
        }))  # fmt: skip
    versions = {"REGISTER_BROKER_RECORD": 3, "PARTITION_RECORD": 1, "BROKER_REGISTRATION_CHANGE_RECORD": 1}
    path = place / "made.jsonl"
    created = len(rows) - len(replicas) - 1
    lines = ({"offset": n, "batch": min(n, created) if replicas else n, "type": t, "version": versions.get(t, 0),
              "data": data} for n, (t, data) in enumerate(rows))  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return kraftcheck("status", path)


def test_a_cluster_without_partitions_is_well(tmp_path: Path) -> None:
    """A fresh cluster has nothing to lose: exit code 0, and a broker that never was unfenced is starting."""
    ran = made(tmp_path, 2, dead=(1,))
    assert ran.code == 0
    assert ran.out.splitlines()[0] == "the cluster has no partition; broker 1 is starting"
    assert "  1." not in ran.out


def test_a_cluster_of_one_broker_is_one_fault_away(tmp_path: Path) -> None:
    """One broker with one partition: exit code 10; it must not be stopped."""
    ran = made(tmp_path, 1, (0,))
    assert (ran.code, ran.out.splitlines()[0]) == (10, "1 of 1 partition is one fault from offline")
    assert "broker 0 must NOT be stopped now: it takes foo-0 offline\n" in ran.out


def test_a_cluster_in_health_exits_zero(tmp_path: Path) -> None:
    """Every partition survives any fault: the line says so, and who may be stopped."""
    ran = made(tmp_path, 3, (0, 1, 2), (1, 2, 0))
    assert (ran.code, ran.out.splitlines()[0]) == (0, "all is well: each of 2 partitions survives any one fault")
    assert [f"  broker {broker} may be stopped now" in ran.out.splitlines() for broker in range(3)] == [True] * 3
    assert "rolling restart: 1, 2, 0; before each" in ran.out  # 0 is the controller of a log that names none


def test_a_batch_that_is_not_explained_is_never_well(tmp_path: Path) -> None:
    """With every partition in health and a record of an unknown shape: the first line counts it, and the exit is 10."""
    made(tmp_path, 3, (0, 1, 2))
    path = tmp_path / "made.jsonl"
    change = {"partitionId": 0, "topicId": A, "leader": 1}
    row = {"offset": 9, "type": "PARTITION_CHANGE_RECORD", "version": 0, "data": change | {"isr": [1, 0, 2]}}
    path.write_text(path.read_text(encoding="utf-8") + json.dumps(row) + "\n", encoding="utf-8")
    ran = kraftcheck("status", path)
    assert (ran.code, ran.out.splitlines()[0]) == (
        10, "1 batch is not explained; each of 1 partition survives any one fault"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("change", "code", "told"),
    [
        ({"leader": 99, "isr": [99]}, 14, "foo-0 has no replica on 99, which it names as in sync or as its leader"),
        ({"leader": 1, "isr": [0, 2]}, 10, "foo-0 is led by 1, which is not in its ISR"),
        ({"leader": 99}, 14, "foo-0 is led by 99, which is not in its ISR"),
    ],
)
def test_an_impossible_leader_is_named(change: dict[str, Any], code: int, told: str, tmp_path: Path) -> None:
    """A leader outside of the ISR, or of the replicas, is said first; one that is not registered leads nothing."""
    ran = kraftcheck("status", changed_last(tmp_path, **change))
    assert (ran.code, ran.out.splitlines()[0].split("; ")[0]) == (code, told)
    assert "all is well" not in ran.out


def changed_last(place: Path, **change: Any) -> Path:
    """A made log of one partition on three brokers, of which the record is otherwise."""
    made(place, 3, (0, 1, 2))
    path = place / "made.jsonl"
    *before, last = path.read_text(encoding="utf-8").splitlines()
    row = json.loads(last)
    changed = json.dumps(row | {"data": row["data"] | change})
    path.write_text("\n".join([*before, changed]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("directory", [CODE.base64(LOST), "Yyyyyyyyyyyyyyyyyyyyyw"])
def test_a_leader_without_its_directory_leads_nothing(directory: str, tmp_path: Path) -> None:
    """Nobody can reach a leader whose directory is lost, or not online: who else has the log must not go."""
    path = changed_last(tmp_path, directories=[directory, B, "Zzzzzzzzzzzzzzzzzzzzzw"])
    ran, document = kraftcheck("status", path), told(path)
    assert (ran.code, partition(document, "foo-0")["state"]) == (14, "offline")
    assert [row["stop"]["short"] for row in document["brokers"]] == [[], ["foo-0"], ["foo-0"]]
    assert "broker 1 should not be stopped now" in ran.out
    assert kraftcheck("whatif", path, "--json", "-").document()["partitions"][0]["faults_to_offline"] == 0
    one = ("--topic", "foo", "--partition", "0", "--election-type", "unclean", "--snapshot", path)
    assert "foo-0: failed: its leader 0 has lost its directory" in kraftcheck("elect-leaders", *one).err


def test_who_is_waited_for_is_not_free_to_go(tmp_path: Path) -> None:
    """A live broker that has yet to catch up is not to be stopped, though nothing fails by it now."""
    path = changed_last(tmp_path, isr=[0, 1])
    out = kraftcheck("status", path).out
    assert [row["stop"]["awaited"] for row in told(path)["brokers"]] == [[], [], ["foo-0"]]
    assert "wait until replicas on live brokers are in sync: foo-0" in out
    assert "broker 2 should not be stopped now: it is not in sync yet in foo-0" in out


def test_a_step_names_every_partition_that_may_lose_by_it(tmp_path: Path) -> None:
    """Who is elected without what it had not flushed may lose records: the step that brings it back says so of each."""
    document = told(cut(tmp_path, 100))
    lossy = {(row["topic"], row["partition"]) for row in document["partitions"] for one in row["leads_again"]
             if one["may_lose"] and one["start"] == 2}  # fmt: skip
    step = document["way_back"][0]
    assert (step["start"], {*step["may_lose"]}) == (2, {f"{topic}-{index}" for topic, index in lossy})
    assert len(lossy) == 2


def test_rows_beyond_some_are_counted(tmp_path: Path) -> None:
    """Of many partitions some are shown and the rest counted; `--all` shows and names each."""
    replicas = tuple((n % 2,) for n in range(30))
    short = made(tmp_path, 2, *replicas).out
    whole = kraftcheck("status", tmp_path / "made.jsonl", "--all").out
    assert "if 0 is fenced: foo-0, foo-2, foo-4 and 12 more" in short
    assert [f"foo-{n}" in re.findall(r"foo-\d+", whole) for n in range(30)] == [True] * 30
    assert "more" not in whole


def test_many_brokers_are_counted(tmp_path: Path) -> None:
    """Of more than ten brokers those that may be stopped are a number, and some of those that may not are named."""
    topics = "".join(
        f"Topic: t{n}\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: \n"
        f"Topic: t{n}\tPartition: 0\tLeader: {n}\tReplicas: {n}\tIsr: {n}\n"
        for n in range(12)
    )
    spare = (
        "Topic: s\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: \n"
        "Topic: s\tPartition: 0\tLeader: 20\tReplicas: 20,21,22\tIsr: 20,21,22\n"
    )
    path = tmp_path / "topics.txt"
    path.write_text(topics + spare, encoding="utf-8")
    ran, whole = kraftcheck("status", path), kraftcheck("status", path, "--all").out
    assert len(re.findall(r"broker \d+ must NOT be stopped now", ran.out)) == 10
    assert "  and 2 more: --all\n  3 brokers may be stopped now: --all names them\n" in ran.out
    assert "rolling restart: 1, 2, 3 and 12 more; before each" in ran.out
    assert "and 5 more: --all" in ran.out
    assert len(re.findall(r"  broker \d+ (must NOT|may) be stopped now", whole)) == 15


def test_describe_shows_every_partition(tmp_path: Path) -> None:
    """`--describe` has a row for each partition, in the order of topics."""
    ran = kraftcheck("status", cut(tmp_path, 91), "--describe")
    rows = [re.split(r" {2,}", line) for line in ran.out.splitlines()]
    start = rows.index(["topic", "partition", "leader", "replicas", "ISR", "ELR", "last known", "min ISR", "state"])
    assert [row[:2] for row in rows[start + 1 : start + 9]] == [
        [topic, number] for topic in ("alone", "loose", "strict", "wide") for number in "01"
    ]
    assert rows[start + 1] == ["alone", "0", "none", "[2]", "[]", "[2]", "[2]", "1", "offline"]


def test_a_replica_that_was_never_in_sync_has_nothing(tmp_path: Path) -> None:
    """A replica that a reassignment adds again after it was taken out would lead without anything."""
    log = Log((0, 1), minimum=1)
    log.reassign((0,))
    log.reassign((0, 1))
    log.decide(fenced, 0)
    row = partition(told(log.write(tmp_path / "log.jsonl"), "--static", "min.insync.replicas=1"), "foo-0")
    assert row["state"] == "offline"
    lossy = [(one["leader"], one["without"]) for one in row["leads_again"] if one["may_lose"]]
    assert lossy == [(1, "everything")]


def test_a_spell_begins_anew(tmp_path: Path) -> None:
    """A partition that was offline before, and led in between, is offline since the last time."""
    document = told(cut(tmp_path, 117))
    assert partition(document, "alone-0")["since"]["offset"] == 114
    assert partition(told(cut(tmp_path, 147)), "alone-0")["since"]["offset"] == 144


@pytest.mark.parametrize("time", [-1, 1 << 62])
def test_a_time_that_is_none_is_left_out(time: int) -> None:
    """A batch without a time, or with one beyond the calendar, has none."""
    assert segments.time_of(time) is None
    assert segments.time_of(0) == 0


def test_bad_input_is_refused(tmp_path: Path) -> None:
    """Several logs, and an unknown rule set, are refused; an old log's release is guessed."""
    assert f"{len([*ELR.parent.iterdir()])} logs" in kraftcheck("status", ELR.parent).refusal()
    assert "unknown rule set" in kraftcheck("status", NO_ELR, "--rules", "nonsense").refusal()
    (tmp_path / "old.jsonl").write_text(old_log(), encoding="utf-8")
    assert "the writer is Kafka 3.0 to 3.2, most likely" in kraftcheck("status", tmp_path / "old.jsonl").out


def test_the_numbers_are_there_for_prometheus(tmp_path: Path) -> None:
    """Counts by state, partitions in danger, brokers, defects and the end of the log are gauges."""
    log = cut(tmp_path, 91)
    ran = kraftcheck("status", log, "--prometheus", tmp_path / "metrics")
    lines = (tmp_path / "metrics").read_text(encoding="utf-8").splitlines()
    values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert ran.code == 14
    assert values['kraftcheck_partitions{state="offline"}'] == "2"
    assert values['kraftcheck_partitions{state="well"}'] == "0"
    assert values['kraftcheck_partition_in_danger{topic="alone",partition="0",state="offline"}'] == "1"
    assert values['kraftcheck_brokers{state="fenced"}'] == values['kraftcheck_brokers{state="live"}'] == "1"
    assert (values["kraftcheck_log_offset"], values["kraftcheck_unexplained_batches"]) == ("90", "0")
    assert float(values["kraftcheck_log_time_seconds"]) == pytest.approx(1795301498.567)
    named = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    assert {name.partition("{")[0] for name in values} <= named
    met = dict(line.rsplit(" ", 1) for line in kraftcheck("status", TROUBLE, "--prometheus", "-").out.splitlines())
    assert met['kraftcheck_known_defects{defect="unregistered-elr-member",proven="True"}'] == "1"
    assert kraftcheck("status", log, "--prometheus", "-", "--json", "-").code == 2
