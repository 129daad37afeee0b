"""What Kafka's tools print of a running cluster, read as a snapshot of it."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.ci.logs.condition import condition_of
from kraftcheck.ci.logs.report import ReplayOptions
from kraftcheck.ci.terminal.refusal import Refusal
from tests.shared.commands import kraftcheck
from tests.shared.places import TESTS

REAL = TESTS / "snapshots" / "described"
"""What the tools of 4.4.0 printed of a cluster of which a broker was killed and another was back, and its log."""

HEAD = (
    "Topic: t\tTopicId: 5zoAlv-xEh9xRANKXt1Lbg\tPartitionCount: 3\tReplicationFactor: 3\t"
    "Configs: min.insync.replicas=2,cleanup.policy=compact,delete\n"
)
SHORT = "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1\tElr: 2\tLastKnownElr: \n"
OFFLINE = "\tTopic: t\tPartition: 1\tLeader: none\tReplicas: 2,3,1\tIsr: \tElr: 2\tLastKnownElr: \n"
LOST = "\tTopic: t\tPartition: 2\tLeader: none\tReplicas: 3,2\tIsr: \tElr: \tLastKnownElr: 3\n"
ALL = HEAD + SHORT + OFFLINE + LOST


def condition(text: str, place: Path) -> dict[str, Any]:
    """What `status` says of a text."""
    path = place / "described.txt"
    path.write_text(text, encoding="utf-8")
    return json.loads(json.dumps(condition_of(path, ReplayOptions(None))))  # type: ignore[no-any-return]


def partition(found: dict[str, Any], index: int) -> dict[str, Any]:
    """One partition of it."""
    rows = found["partitions"]
    return next(row for row in rows if row["partition"] == index)  # type: ignore[no-any-return]


def test_what_is_offline_and_who_may_lead(tmp_path: Path) -> None:
    """A pasted --describe says what is offline or refuses producers, and whom an unclean election would seat."""
    found = condition(ALL, tmp_path)
    assert found["exit"] == 14
    assert [partition(found, n)["state"] for n in range(3)] == ["below min ISR", "offline", "offline"]
    assert partition(found, 0)["min_isr"] == 2
    ways = partition(found, 1)["leads_again"]
    told = [(one["start"], one["leader"], one["unclean_election"], one["may_lose"]) for one in ways]
    assert told == [(None, 1, True, True), (2, 2, False, False), (3, 3, True, True)]
    assert [one["may_lose"] for one in partition(found, 2)["leads_again"]] == [True, True]


def test_what_it_cannot_tell_is_not_told(tmp_path: Path) -> None:
    """No epoch, directory, offset, time or version is made up, and what is taken to be so is said."""
    found = condition(ALL, tmp_path)
    assert [found[key] for key in ("offset", "time", "metadata_version")] == [None, None, None]
    brokers = found["brokers"]
    assert {(row["epoch"], row["directories"], row["since"]) for row in brokers} == {(None, None, None)}
    assert [row["state"] for row in brokers] == ["live", "fenced", "fenced"]
    doubts = " ".join(map(str, found["doubts"]))
    assert "no epochs" in doubts
    assert "taken to be fenced: 2, 3" in doubts


def test_a_topic_in_part_is_never_all_well(tmp_path: Path) -> None:
    """Where partitions, or configurations, are not shown, the exit code is not that of a cluster that is well."""
    well = SHORT.replace("Isr: 1", "Isr: 1,2,3").replace("Elr: 2", "Elr: ")
    whole = HEAD.replace("Count: 3", "Count: 1") + well
    assert condition(whole, tmp_path)["exit"] == 0
    assert condition(HEAD + well, tmp_path)["exit"] == 10
    assert condition(well, tmp_path)["exit"] == 10
    assert condition(whole + "Topic: u\tPartitionC", tmp_path)["exit"] == 10
    packed = tmp_path / "topics.gz"
    for kept, code in ((None, 0), (-4, 10)):
        packed.write_bytes(gzip.compress(whole.encode())[:kept])
        assert condition_of(packed, ReplayOptions(None))["exit"] == code


WELL = SHORT.replace("Isr: 1", "Isr: 1,2,3").replace("Elr: 2", "Elr: ")
ONE = HEAD.replace("Count: 3", "Count: 1")


def first_line(text: str, place: Path) -> tuple[int, str, str]:
    """The exit code of `status` of a text, its first line and the rest."""
    path = place / "described.txt"
    path.write_text(text, encoding="utf-8")
    ran = kraftcheck("status", path)
    line, _, rest = ran.out.partition("\n")
    return ran.code, line, rest


def test_a_cut_row_that_shows_no_leader_counts(tmp_path: Path) -> None:
    """A last row without an end that shows all replicas and no leader is offline, whatever columns others have."""
    row = "\tTopic: t\tPartition: 1\tLeader: none\tReplicas: 2,3,1\tIsr: 3"
    code, line, rest = first_line(HEAD.replace("Count: 3", "Count: 2") + WELL + row, tmp_path)
    assert (code, line.partition(";")[0]) == (14, "1 of 2 partitions is offline")
    assert "the last line has no end" in rest
    code, line, rest = first_line(HEAD.replace("Count: 3", "Count: 2") + WELL + row.partition("\tRep")[0], tmp_path)
    assert (code, line.partition(",")[0]) == (10, "of those shown")
    assert "the last line is cut off, and left out, though it shows a partition WITHOUT A LEADER" in rest


def test_all_is_not_well_at_min_isr(tmp_path: Path) -> None:
    """Where one fault makes a partition refuse acks=all it is counted, and late replicas of live brokers are named."""
    spare = HEAD.replace("t\tTopicId", "u\tTopicId").replace("Lbg", "Lbw").replace("Count: 3", "Count: 1")
    more = spare + WELL.replace("Topic: t", "Topic: u")
    short = WELL.replace("Isr: 1,2,3", "Isr: 1,2")
    code, line, rest = first_line(ONE + short + more, tmp_path)
    assert (code, line) == (10, "1 of 2 partitions is one fault from refusing acks=all")
    assert "  wait until replicas on live brokers are in sync: t-0\n" in rest
    assert "ONE FAULT FROM REFUSING acks=all\n  if 1 is fenced: t-0\n" in rest
    assert "ONE FAULT FROM OFFLINE" not in rest
    code, line, _ = first_line(ONE + short, tmp_path)
    assert (code, line) == (10, "1 of 1 partition is one fault from refusing acks=all; broker 3 is fenced")


def test_all_is_well_only_where_nothing_is_down(tmp_path: Path) -> None:
    """A partition that survives any fault with a replica less is not all well: what is down, or late, is said."""
    wide = ONE.replace("Factor: 3", "Factor: 4") + WELL.replace("Replicas: 1,2,3", "Replicas: 1,2,3,4")
    code, line, _ = first_line(wide, tmp_path)
    assert (code, line) == (
        0, "each of 1 partition survives any one fault, 1 is under-replicated; broker 4 is fenced",
    )  # fmt: skip
    assert first_line(ONE + WELL, tmp_path)[:2] == (0, "all is well: each of 1 partition survives any one fault")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (WELL, "min.insync.replicas is taken as 1"),
        (HEAD + WELL, "t has 3 partitions, and 1 is shown"),
        (HEAD.replace("Count: 3", "Count: 2") + WELL + WELL.replace("Partition: 0", "Partition: 5"),
         "t has 2 partitions, and partition 5 is shown"),
        (ONE + WELL + "Error while executing topic command : Call timed out\n"
         "java.util.concurrent.ExecutionException: timed out\n\tat org.apache.kafka.T.main(T.java:1)\n",
         "described.txt:3: the tool failed here: its answer is incomplete"),
    ],
)  # fmt: skip
def test_what_is_shown_in_part_is_said_first(text: str, told: str, tmp_path: Path) -> None:
    """Of a text that hides partitions or configurations the first line says so, and nobody may be stopped by it."""
    code, line, rest = first_line(text, tmp_path)
    assert (code, line.partition(",")[0]) == (10, "of those shown")
    assert told in rest
    assert "may be stopped now" not in rest
    assert "rolling restart" not in rest


def test_lines_of_a_terminal_are_passed_over(tmp_path: Path) -> None:
    """Prompts of root, of Windows and of a pager stand between the lines of a paste, and change nothing."""
    found = condition(ONE + WELL, tmp_path)
    prompt = "[root@kafka-1 ~]# kafka-topics.sh --describe\n"
    windows, pager = "PS C:\\kafka> kafka-topics.bat --describe\n", "--More--\n--More--(42%)\n(END)\n"
    with_noise = condition(prompt + windows + ONE + pager + WELL + "[root@kafka-1 ~]#\n", tmp_path)
    assert (with_noise["exit"], with_noise["partitions"]) == (0, found["partitions"])


def test_a_broker_that_fetches_and_does_not_lead_is_looked_at(tmp_path: Path) -> None:
    """It runs, so it is not to be started: it may be fenced still, or its directory has failed."""
    rows = "".join(f"{node}\tAAAAAAAAAAAAAAAAAAAAAA\t90\t0\t{time}\t{time}\t{status}\n"
                   for node, time, status in ((100, 1_000_000, "Leader"), (2, 999_900, "Observer")))  # fmt: skip
    code, _, rest = first_line(ALL + rows, tmp_path)
    assert code == 14
    assert "2 fetches from the quorum, yet what it may lead has no leader: t-1" in rest
    assert "wait for broker 2" in rest
    assert "start broker 2" not in rest
    assert "taken to be fenced: 3\n" in rest


def test_a_replica_that_is_added_tells_nothing_of_its_broker(tmp_path: Path) -> None:
    """A broker with replicas that are still copied is not taken to be fenced, unless another replica of it is late."""
    more = "\tAdding Replicas: 4\tRemoving Replicas: \n"
    adding = WELL.replace("Replicas: 1,2,3", "Replicas: 1,2,3,4").rstrip("\n") + more
    found = condition(ONE + adding, tmp_path)
    assert [row["state"] for row in found["brokers"]] == ["live"] * 4
    assert "WARNING: in no ISR, but only being added, so taken to be live: 4" in found["doubts"]
    late = WELL.replace("Partition: 0", "Partition: 1").replace("Replicas: 1,2,3", "Replicas: 1,2,3,4")
    found = condition(HEAD.replace("Count: 3", "Count: 2") + adding + late, tmp_path)
    assert [row["state"] for row in found["brokers"]] == ["live"] * 3 + ["fenced"]


@pytest.mark.parametrize("cut", range(1, len(LOST), 7))
def test_a_last_row_that_is_cut_off_is_left_out(cut: int, tmp_path: Path) -> None:
    """Wherever the text ends, no row is read as if its ISR were smaller: a cut one is left out, which is said."""
    found = condition(ALL[:-cut], tmp_path)
    told = " ".join(found["doubts"])
    assert [partition(found, n)["state"] for n in range(2)] == ["below min ISR", "offline"]
    if len(found["partitions"]) == 2:
        assert "t has 3 partitions, and 2 are shown" in told
        assert "described.txt:4: the last line is cut off, and left out" in told or cut == len(LOST) - 1
    else:
        assert partition(found, 2)["isr"] == []
        assert "described.txt:4: the last line has no end" in told


def test_the_forms_of_older_tools(tmp_path: Path) -> None:
    """Without topic ids, with -1 for no leader, with blanks for tabs, it is the same cluster, but without ELR."""
    old = ALL.replace("TopicId: 5zoAlv-xEh9xRANKXt1Lbg\t", "").replace("none", "-1").replace("\t", "    ")
    old = "".join(line.partition("Elr: ")[0] + "\n" for line in old.splitlines())
    found = condition(old, tmp_path)
    assert [partition(found, n)["state"] for n in range(3)] == ["below min ISR", "offline", "offline"]
    assert any("ELR is taken to be off" in str(doubt) for doubt in found["doubts"])


def test_a_broker_that_fetches_from_the_quorum_is_live(tmp_path: Path) -> None:
    """Beside the quorum's replicas, a broker that has just fetched is live, or starting if it would lead then."""
    rows = "".join(
        f"{node}\tAAAAAAAAAAAAAAAAAAAAAA\t90\t0\t{time}\t{time}\t{status}\n"
        for node, time, status in ((100, 1_000_000, "Leader"), (2, 999_500, "Observer"), (3, 999_500, "Observer"))
    )
    quorum = "NodeId\tDirectoryId\tLogEndOffset\tLag\tLastFetchTimestamp\tLastCaughtUpTimestamp\tStatus\n" + rows
    brokers = condition(ALL + quorum, tmp_path)["brokers"]
    assert [row["state"] for row in brokers] == ["live", "starting", "live"]
    late = condition(ALL + quorum.replace("999500", "900000"), tmp_path)
    assert "WARNING: does not keep up with the quorum: 2 for 100 s, 3 for 100 s" in late["doubts"]


def test_a_live_broker_that_should_lead_has_lost_the_directory(tmp_path: Path) -> None:
    """A partition that is offline though its only ISR member leads elsewhere: the replica's directory is gone."""
    text = HEAD.replace("Count: 3", "Count: 2") + SHORT + OFFLINE.replace("Isr: \tElr: 2", "Isr: 1\tElr: ")
    found = condition(text, tmp_path)
    assert 1 not in [one["leader"] for one in partition(found, 1)["leads_again"]]
    assert any("its directory is taken to have failed: t-1 on 1" in str(one) for one in found["doubts"])


def directories(*brokers: int) -> str:
    """What kafka-log-dirs prints of brokers without an error."""
    held = '[{"partition":"t-0","size":0,"offsetLag":0,"isFuture":false}]'
    rows = ",".join(f'{{"broker":{b},"logDirs":[{{"partitions":{held},"error":null,"logDir":"/d"}}]}}' for b in brokers)
    heads = "Querying brokers for log directories information\nReceived log directory information from brokers {}\n"
    return heads.format(",".join(map(str, brokers))) + f'{{"brokers":[{rows}],"version":1}}\n'


def versions(broker: int) -> str:
    """What kafka-broker-api-versions prints of a broker."""
    more = "\tProduce(0): 0 to 12 [usable: 12],\n\tUNKNOWN(99): 0\n)\n"
    return f"k:9092 (id: {broker} rack: null isFenced: false) -> (\n{more}"


FEATURE = "Feature: kraft.version\tSupportedMinVersion: 0\tSupportedMaxVersion: 1\tFinalizedVersionLevel: %s\n"
"""A line of kafka-features, with its level."""

DIRECTORIES = '{"brokers":[{"broker":2,"logDirs":[{"partitions":[],"error":%s,"logDir":"/d"}]}],"version":1}\n'
"""What kafka-log-dirs prints of a directory, with its error."""


STATUS = "ClusterId: x\nLeaderId: {}\nLeaderEpoch: 3\nHighWatermark: {}\nMaxFollowerLag: 0\nMaxFollowerLagTimeMs: 0\n"
"""The first lines of `kafka-metadata-quorum describe --status`."""


def status(leader: int = 1, high: int = 9, voters: str = "1,2,3", observers: str = "") -> str:
    """An answer on the status of the quorum."""
    return STATUS.format(leader, high) + f"CurrentVoters: [{voters}]\nCurrentObservers: [{observers}]\n"


def quorum(*nodes: tuple[int, int, str]) -> str:
    """The rows of `kafka-metadata-quorum describe --replication`: node, time of its last fetch, and status."""
    rows = ((100, 1_000_000, "Leader"), *nodes)
    return "".join(f"{node}\tAAAAAAAAAAAAAAAAAAAAAA\t{min(time, 90)}\t0\t{time}\t{time}\t{status}\n"
                   for node, time, status in rows)  # fmt: skip


@pytest.mark.parametrize(
    ("beside", "told"),
    [
        ("ClusterId: x\nLeaderId: -1\n", "the quorum has no leader"),
        (quorum((1, 400_000, "Observer"), (2, 999_000, "Observer"), (3, 999_000, "Observer")),
         "live, and does not keep up with the quorum: 1 for 600 s;"),
        (quorum((1, 999_000, "Observer"), (2, 999_000, "Observer")).replace("999000\tObs", "900000\tObs", 1),
         "live, and does not keep up with the quorum: 1 for 100 s, 3 (not listed);"),
        (quorum((1, 999_000, "Observer"), (2, 999_000, "Observer")).replace("999000\tObs", "-1\tObs", 1),
         "live, and does not keep up with the quorum: 1 since the leader was elected, 3 (not listed);"),
        ("LeaderId: 100\nCurrentVoters: [100]\nCurrentObservers: [1,2]\n", "with the quorum: 3 (not listed);"),
        ("MaxFollowerLag: 90000\nMaxFollowerLagTimeMs: -1\n", "a voter of the quorum has never caught up;"),
        (quorum((3001, 400_000, "Follower"), (3002, 999_000, "Follower")),
         "1 of 3 voters do not keep up with the quorum: 3001 for 600 s;"),
        (quorum((3001, 400_000, "Follower"), (3002, -1, "Follower")),
         "2 of 3 voters do not keep up with the quorum (no majority is left): 3001 for 600 s, 3002 since the leader"),
        (quorum((3001, -1, "Follower")), "1 of 2 voters do not keep up"),
        ("LeaderId: 100\nMaxFollowerLagTimeMs:   9001\n", "a voter of the quorum is 9 s behind"),
        (DIRECTORIES % '"org.apache.kafka.common.errors.KafkaStorageException"',
         "kafka-log-dirs tells an error of a directory of broker 2: KafkaStorageException;"),
        (DIRECTORIES[:40] + "\n", "what kafka-log-dirs prints is not whole;"),
        (versions(1) + versions(2).replace("false", "true") + versions(3),
         "broker 2 is fenced, as kafka-broker-api-versions has it;"),
        ("k2:9092 (id: 2 rack: r1) -> ERROR: org.apache.kafka.common.errors.DisconnectException\n",
         "broker 2 does not answer: DisconnectException;"),
    ],
)  # fmt: skip
def test_who_is_silent_is_said_first(beside: str, told: str, tmp_path: Path) -> None:
    """Without a quorum that hears of all the lines may be an old picture: never well, and nobody may be stopped."""
    code, line, rest = first_line(ONE + WELL + beside, tmp_path)
    assert code == 10
    assert told in line
    assert "may be stopped now" not in rest


@pytest.mark.parametrize("beside", [
    "MaxFollowerLag: 0\nMaxFollowerLagTimeMs: -1\nCurrentVoters: [100]\nCurrentObservers: [1,2,3]\n",
    "MaxFollowerLag: 2\nMaxFollowerLagTimeMs: 400\nCurrentVoters: [1,2,3]\nCurrentObservers: []\n",
])  # fmt: skip
def test_a_quorum_that_keeps_up_changes_nothing(beside: str, tmp_path: Path) -> None:
    """Controllers that are no brokers, voters that are, and a text without observers raise no alarm."""
    led = f"LeaderId: {beside.partition('Voters: [')[2].partition(']')[0].split(',')[0]}\nHighWatermark: 9\n"
    assert first_line(ONE + WELL + led + beside, tmp_path)[:2] == first_line(ONE + WELL, tmp_path)[:2]


@pytest.mark.parametrize("beside", ["ClusterId: x\n", "LeaderId: 100\nHighWatermark: 9\n", "NodeId\tLogEndOffset\n",
                                    quorum((1, 999_000, "Observer")).partition("\n")[2]])  # fmt: skip
def test_a_part_of_what_the_quorum_answers_is_not_well(beside: str, tmp_path: Path) -> None:
    """An answer on the status that is cut, and rows without that of a leader, are said to be a part: exit code 10."""
    code, line, _ = first_line(ONE + WELL + beside, tmp_path)
    assert code == 10
    assert "the answer of kafka-metadata-quorum is shown in part;" in line


def test_what_other_tools_show_to_be_up_is_passed_over(tmp_path: Path) -> None:
    """A quorum that fetches, whole directories, features and versions of requests change nothing."""
    beside = quorum(*((node, 999_900, "Observer") for node in (1, 2, 3)), (101, 999_900, "Follower"))
    beside += directories(1, 2, 3) + "".join(map(versions, (1, 2, 3)))
    beside += "Feature: kraft.version\tSupportedMinVersion: 0\tSupportedMaxVersion: 1\tFinalizedVersionLevel: 1\n"
    assert first_line(ONE + WELL + beside, tmp_path)[:2] == first_line(ONE + WELL, tmp_path)[:2]


FETCHED = quorum(*((node, 999_900, "Observer") for node in (1, 2, 3)))
"""Rows of a quorum of which all brokers are observers that keep up."""


@pytest.mark.parametrize(
    ("beside", "told"),
    [
        (status() + status(), ""),
        (status() + status(leader=2), "kafka-metadata-quorum is shown twice, and not alike;"),
        (status() + status(high=10), "kafka-metadata-quorum is shown twice, and not alike;"),
        (status() + status(observers="4"), "kafka-metadata-quorum is shown twice, and not alike;"),
        (FETCHED + FETCHED, ""),
        (FETCHED + FETCHED.replace("999900", "999901"), "kafka-metadata-quorum is shown twice, and not alike;"),
        (FETCHED + quorum((101, 1_000_000, "Leader")), "more than one node is shown to lead the quorum: 100, 101;"),
        (FETCHED + status(101, voters="100", observers="1,2,3"),
         "more than one node is shown to lead the quorum: 100, 101;"),
        (FETCHED + status(100, voters="100,101", observers="1,2,3"),
         "kafka-metadata-quorum shows voters 100, and voters 100, 101;"),
        (FETCHED + status(100, voters="100", observers="1,2"), "does not keep up with the quorum: 3 (not listed);"),
        (FEATURE % "1" + FEATURE % "1", ""),
        (FEATURE % "1" + FEATURE % "0", "kafka-features is shown twice, and not alike;"),
    ],
)  # fmt: skip
def test_answers_that_contradict_each_other_are_never_well(beside: str, told: str, tmp_path: Path) -> None:
    """Of two answers that differ nobody knows which is so: the first line says it; the same answer twice is one."""
    code, line, rest = first_line(ONE + WELL + beside, tmp_path)
    assert (code, told in line) == (10 if told else 0, True)
    assert ("may be stopped now" in rest) == (not told)


@pytest.mark.parametrize("line", [
    ONE, ONE.replace("Count: 1", "Count: 2"), ONE.replace("Lbg", "Lbw"), ONE.replace("Factor: 3", "Factor: 2"),
    ONE.replace("replicas=2", "replicas=1"),
])  # fmt: skip
def test_a_topic_that_is_shown_twice_is_shown_alike(line: str, tmp_path: Path) -> None:
    """Another id, number or configuration of a topic that was shown before is refused, as another row of one is."""
    if line == ONE:
        assert condition(ONE + WELL + line + WELL, tmp_path)["exit"] == 0
        return
    with pytest.raises(Refusal, match=r"described.txt:3: .* t is shown twice, and not alike"):
        condition(ONE + WELL + line, tmp_path)


def row(node: int, lag: int, status: str) -> str:
    """A row of kafka-metadata-quorum of a node that has just fetched, and lacks so many records."""
    return f"{node}\tAAAAAAAAAAAAAAAAAAAAAA\t9\t{lag}\t999900\t999900\t{status}\n"


@pytest.mark.parametrize(("change", "told"), [
    (("HighWatermark: 9", "HighWatermark: -1"), "tells HighWatermark -1"), (("Epoch: 3", "Epoch: -1"), "Epoch -1"),
    (("Lag: 0", "Lag: -1"), "tells MaxFollowerLag -1"), (("Lag: 0", "Lag: "), "tells MaxFollowerLag nothing"),
    (("TimeMs: 0", "TimeMs: ?"), "tells MaxFollowerLagTimeMs ?"), (("LeaderId: 1", "LeaderId: none"), "LeaderId none"),
])  # fmt: skip
def test_a_quorum_without_one_of_its_numbers_is_not_well(change: tuple[str, str], told: str, tmp_path: Path) -> None:
    """A leader that knows no high watermark commits nothing, and what is no number tells nothing: never well."""
    code, line, rest = first_line(ONE + WELL + status().replace(*change), tmp_path)
    assert (code, told in line, "may be stopped now" in rest) == (10, True, False)
    nobody = FETCHED.replace("\t90\t0\t999900", "\t-1\t0\t999900", 1)
    assert "does not keep up with the quorum: 1 by all records;" in first_line(ONE + WELL + nobody, tmp_path)[1]


@pytest.mark.parametrize("column", ["Offline: 3", "Observers: 3", "MarkedForDeletion: true"])
def test_a_column_that_is_not_read_is_never_well(column: str, tmp_path: Path) -> None:
    """What other distributions print besides says that a replica is not as the other columns show it."""
    code, line, rest = first_line(ONE + WELL.rstrip("\n") + f"\t{column}\n", tmp_path)
    name, _, value = column.partition(": ")
    assert (code, line.partition(";")[0]) == (10, f"{name} {value} is shown of: t-0")
    assert "may be stopped now" not in rest
    empty = f"\t{name}: {'false' if value == 'true' else ''}\n"
    assert first_line(ONE + WELL.rstrip("\n") + empty, tmp_path)[0] == 0


@pytest.mark.parametrize("lag", [0, 100, 101, 90_000])
@pytest.mark.parametrize(("form", "told"), [
    (lambda lag: FETCHED.replace(row(3, 0, "Observer").replace("\t9\t", "\t90\t"), row(3, lag, "Observer")),
     "shown as live, and does not keep up with the quorum: 3 by {} records;"),
    (lambda lag: FETCHED + row(101, lag, "Follower"),
     "1 of 2 voters do not keep up with the quorum (no majority is left): 101 by {} records;"),
    (lambda lag: status().replace("Lag: 0", f"Lag: {lag}"), "a voter of the quorum is {} records behind;"),
])  # fmt: skip
def test_who_is_far_behind_is_late_however_young(
    form: Callable[[int], str], told: str, lag: int, tmp_path: Path
) -> None:  # fmt: skip
    """A broker, a voter or the slowest voter that lacks many records is named, though it fetched a moment ago."""
    code, line, _ = first_line(ONE + WELL + form(lag), tmp_path)
    assert (code, told.format(lag) in line) == ((10, True) if lag > 100 else (0, False))


@pytest.mark.parametrize(
    ("beside", "told"),
    [
        (directories(1, 2), "not in the answer of kafka-log-dirs: 3;"),
        (directories(1, 2, 3).replace('{"broker":3', '{"broker":2'), "not in the answer of kafka-log-dirs: 3;"),
        (directories(1, 2, 3).partition("{")[0], "not in the answer of kafka-log-dirs: 1, 2, 3;"),
        (directories(1, 2, 3).replace("t-0", "u-0", 1), "not so in the broker's answer to kafka-log-dirs: t-0;"),
        (directories(1, 2, 3).replace("false", "true", 1), "not so in the broker's answer to kafka-log-dirs: t-0;"),
        (directories(1, 2, 3).replace('t-0"', 't-1"', 1), "not shown, though another tool names it: t-1;"),
        (directories(1, 2, 3).replace('Lag":0', 'Lag":7', 1), "not so in the broker's answer to kafka-log-dirs: t-0;"),
        ("u:0:5\n", "led, and not in the answer of kafka-get-offsets: t-0;"),
        ("u:0:5\nt:0:\n", "led, and not in the answer of kafka-get-offsets: t-0;"),
        ("t:0:5\nu:0:\nu:1:7\n", "not shown, though another tool names it: u-0, u-1;"),
        (status(4, voters="1,2,3"), "the quorum is led by 4, and its voters are 1, 2, 3;"),
        (versions(1) + versions(3), "not in the answer of kafka-broker-api-versions: 2;"),
        (quorum(*((node, 999_900, "Observer") for node in (1, 2, 3, 4))) + directories(1, 2, 3),
         "not in the answer of kafka-log-dirs: 4;"),
        (status(100, voters="100", observers="1,2,3,4") + "".join(map(versions, (1, 2, 3))),
         "not in the answer of kafka-broker-api-versions: 4;"),
        (versions(1) + versions(2) + versions(3)[:60], "the answer of kafka-broker-api-versions is shown in part;"),
        (versions(1).replace(")\n", "\n") + versions(2) + versions(3),
         "the answer of kafka-broker-api-versions is shown in part;"),
    ],
)  # fmt: skip
def test_a_broker_that_an_answer_lacks_is_named(beside: str, told: str, tmp_path: Path) -> None:
    """A live broker, or an observer of the quorum, that the other tools do not list may be down: never well."""
    code, line, _ = first_line(ONE + WELL + beside, tmp_path)
    assert code == 10
    assert told in line


@pytest.mark.parametrize(("voters", "barred"), [("1", [1]), ("1,2", [1, 2]), ("1,2,3", []), ("1,100,101", []),
                                                ("100", []), ("1,100", [1])])  # fmt: skip
def test_a_voter_without_whom_there_is_no_majority_must_not_be_stopped(
    voters: str, barred: list[int], tmp_path: Path
) -> None:  # fmt: skip
    """Where brokers vote in the quorum too, a stop that leaves no majority is barred, and so is a fault no way out."""
    beside = status(int(voters.split(",")[0]), voters=voters, observers="1,2,3")
    code, line, rest = first_line(ONE + WELL + beside, tmp_path)
    names = ", ".join(voters.split(","))
    lost = f"leaves the quorum of {names} without a majority, so that nobody is elected"
    for broker in (1, 2, 3):
        told = f"must NOT be stopped now: it {lost}" if broker in barred else "may be stopped now"
        assert f"  broker {broker} {told}\n" in rest
    assert "even then" not in rest  # which says what is said of now already
    assert (code, "1 of 1 partition is one fault from offline" in line) == ((10, True) if 1 in barred else (0, False))
    assert ("if 1 stops, and the quorum has no majority" in rest) == (1 in barred)


def test_a_voter_that_is_late_counts_as_gone(tmp_path: Path) -> None:
    """One of three voters does not keep up: neither of the others may be stopped, though not all is known."""
    beside = quorum((2, 100_000, "Follower"), (3, 999_900, "Follower")).replace("100\t", "1\t", 1)
    _, line, rest = first_line(ONE + WELL + beside, tmp_path)
    assert "1 of 3 voters do not keep up with the quorum: 2 for 900 s" in line
    assert [broker for broker in (1, 2, 3) if f"broker {broker} must NOT be stopped now" in rest] == [1, 3]


@pytest.mark.parametrize("level", [0, 1])
def test_features_say_whether_elr_is_on(level: int, tmp_path: Path) -> None:
    """Without an eligible replica in sight ELR is taken to be off, unless kafka-features shows it to be on."""
    name = "Feature: eligible.leader.replicas.version"
    line = f"{name}\tSupportedMinVersion: 0\tSupportedMaxVersion: 1\tFinalizedVersionLevel: {level}\tEpoch: 10\n"
    found = condition(ONE + WELL + line, tmp_path)
    assert any("ELR is taken to be off" in str(doubt) for doubt in found["doubts"]) == (not level)


OFFLINE_1 = OFFLINE.replace("Elr: 2", "Elr: ")  # the row of partition 1, of which nobody may lead


@pytest.mark.parametrize(
    "text", [OFFLINE_1, HEAD + OFFLINE_1, HEAD + SHORT.replace("Partition: 0", "Partition: 2") + OFFLINE]
)
@pytest.mark.parametrize("words", [
    ("status",), ("whatif",), ("unclean-recovery", "--all-offline-partitions", "--show-replica-info", "--snapshot"),
])  # fmt: skip
def test_partition_0_need_not_be_shown(words: tuple[str, ...], text: str, tmp_path: Path) -> None:
    """Of what `--unavailable-partitions` shows each partition has its own min ISR, and nothing is to be corrected."""
    path = tmp_path / "described.txt"
    path.write_text(text, encoding="utf-8")
    assert kraftcheck(*words, path).code == {"status": 14, "whatif": 20}.get(words[0], 1)


@pytest.mark.parametrize("more", ["--topic t", "--exclude-internal", "--under-min-isr-partitions", "| head -3"])
def test_a_command_that_asks_for_a_part_is_believed(more: str, tmp_path: Path) -> None:
    """Where the prompt above the lines filters them, the cluster is shown in part, however well that part is."""
    prompt = f"[root@k ~]# bin/kafka-topics.sh --bootstrap-server k:9092 --describe {more}\n"
    code, line, rest = first_line(prompt + ONE + WELL, tmp_path)
    assert (code, line.partition(",")[0]) == (10, "of those shown")
    assert "the command above the lines asks for a part" in rest
    assert "may be stopped now" not in rest


@pytest.mark.parametrize("row", ["Topic: u\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: min.ins",
                                 "\tTopic: t\tPartition: 1\tLeader: 2\tReplicas: 1,2,3\tIsr: 1"])  # fmt: skip
def test_a_cut_line_is_not_taken_for_a_contradiction(row: str, tmp_path: Path) -> None:
    """A header cut in its configuration, and a row cut before its leader in the ISR, are left out as cut."""
    code, line, rest = first_line(HEAD.replace("Count: 3", "Count: 2") + WELL + row, tmp_path)
    assert (code, line.partition(",")[0]) == (10, "of those shown")
    assert "the last line is cut off, and left out" in rest


def test_a_table_is_named_as_such(tmp_path: Path) -> None:
    """The lines of a table are not taken for the records of a dump."""
    with pytest.raises(Refusal, match="the lines of a table"):
        condition("| Topic: t | Partition: 0 |\n|---|---|\n", tmp_path)


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("Topic: t\tPartition: 0\tLeader: 7\tReplicas: 1,2\tIsr: 1\n", "is no replica"),
        ("Topic: t\tPartition: 0\tLeader: 1\tReplicas: 1,x\tIsr: 1\n", "no list of brokers"),
        ("Topic: t\tPartition: 0\tLeader: 1\n", "Replicas"),
        (SHORT.replace("Isr: 1", "Isr: 1,2"), "shown twice"),
        (SHORT.replace("1,2,3", "1,2"), "partition 0 has 2 replicas, ReplicationFactor is 3; .* print it anew"),
        ("Topic: t\tPartition: 7\tLeader: 2\tReplicas: 1,2\tIsr: 1\n", "who leads is not in sync"),
        ("Topic: t\tPartition: 7\tLeader: 1 (k1:9092)\tReplicas: 1,2\tIsr: 1\n", "Leader is .* no number"),
        ("Topic: t\tPartition: 7\tLeader: none\tReplicas: 1,2\n", "Isr is missing; .* print it anew"),
        *(
            (f"Topic: u\tPartitionCount: 3\tReplicationFactor: 3\tConfigs: {cut}\n", f"configuration ends in '{last}'")
            for cut, last in (
                ("min.ins", "min.ins"),
                ("cleanup.policy=compact,min.insync.re", "min.insync.re"),
                ("retention.ms=1,min.insync.re", "min.insync.re"),
                ("cleanup.policy=compact,...", "..."),
                ("cleanup.policy=compact,", ""),
                ("cleanup.policy=comp", "comp"),
                ("retention.ms=1,", ""),
                ("follower.replication.throttled.replicas=0:1,2:", "2:"),
                ("retention.ms=", "retention.ms"),
                ("min.insync.replicas=", "min.insync.replicas"),
                ("min.insync.replicas=x", "x"),
            )
        ),
        ("Topic: u\tPartitionCount: 3\tReplicationFactor: 3\tConf\n", "Replicat"),
        ("Topic: u\tPartitionCount: 3\tReplicationFactor: 3\n", "Configs is missing"),
        ("Topic: t\tPartitionCount: 3  Replicat\n", "PartitionCount is .* a terminal has broken the line"),
    ],
)
def test_what_is_no_such_line_is_refused(line: str, wrong: str, tmp_path: Path) -> None:
    """A line that is none of the tool's, or contradicts another, is refused with its place."""
    with pytest.raises(Refusal, match=rf"described.txt:5: not a line of kafka-topics --describe: .*{wrong}"):
        condition(ALL + line, tmp_path)


def test_what_tells_of_log_ends_beside_it_is_passed_over(tmp_path: Path) -> None:
    """Real output of kafka-log-dirs and kafka-get-offsets in the same text is counted, and changes nothing else."""
    parts = [(REAL / f"{name}.txt").read_text(encoding="utf-8") for name in ("log-dirs", "topics", "offsets")]
    found, alone = condition("".join(parts), tmp_path), condition(parts[1], tmp_path)
    counted = sum(len(part.splitlines()) for part in (parts[0], parts[2]))
    beside = [doubt for doubt in found["doubts"] if doubt not in alone["doubts"]]
    assert [str(doubt).partition(" of ")[0] for doubt in beside] == [f"WARNING: passed over: {counted} lines"]
    assert found == {**alone, "doubts": found["doubts"]}


def test_a_dump_beside_it_is_refused(tmp_path: Path) -> None:
    """Which of the two the cluster is cannot be told: the line says where the dump begins, and the mend."""
    dump = "Dumping 00000000000000000000.log\nLog starting offset: 0\nbaseOffset: 0 lastOffset: 0 count: 1\n"
    for text, line in ((ALL + dump, 7), (dump + ALL, 3)):
        with pytest.raises(Refusal, match=rf"described.txt:{line}: .* give each a file of its own"):
            condition(text, tmp_path)


def test_the_quorum_alone_shows_no_partition(tmp_path: Path) -> None:
    """What kafka-metadata-quorum prints alone is not taken for a cluster that is well."""
    with pytest.raises(Refusal, match="no partition is shown"):
        condition("ClusterId:    x\nLeaderId:   3\nLeaderEpoch:  2\n", tmp_path)


def test_a_real_cluster_is_described_as_its_log_has_it() -> None:
    """What Kafka's tool tells of a real outage is, as far as it goes, what that cluster's metadata log tells."""
    described = condition_of(REAL / "topics.txt", ReplayOptions(None))
    logged = condition_of(REAL / "log", ReplayOptions(None))
    lists = ("replicas", "isr", "elr", "last_known_leader")
    keys = ("topic", "partition", "state", "leader", *lists, "min_isr", "one_fault")

    def told(found: dict[str, Any]) -> list[list[Any]]:
        return sorted([row[key] for key in keys] for row in found["partitions"])

    assert told(described) == told(logged)
    for found in (described, logged):
        assert found["exit"] == 14
        assert [(row["broker"], row["state"]) for row in found["brokers"]] == [(0, "live"), (1, "live"), (2, "fenced")]
    assert described["way_back"] == logged["way_back"]
