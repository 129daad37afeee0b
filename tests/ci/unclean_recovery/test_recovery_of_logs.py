"""The recovery tools on a metadata log or a pasted text, with what is known of the replicas' logs."""

import json
from pathlib import Path

import pytest

from kraftcheck.ci.logs.recovery.log_ends import read_log_ends
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.unclean_recovery.tool import ReplicaLog
from tests.shared.captures import ELR, cut
from tests.shared.commands import Ran, kraftcheck
from tests.shared.places import TESTS

OUTAGE = TESTS / "snapshots" / "outage.txt"
REAL = TESTS / "snapshots" / "described"

TOPICS = (
    "Topic: t\tPartitionCount: 2\tReplicationFactor: 3\tConfigs: min.insync.replicas=2\n"
    "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,3\tElr: \tLastKnownElr: \n"
    "\tTopic: t\tPartition: 1\tLeader: none\tReplicas: 3,1,2\tIsr: \tElr: 2\tLastKnownElr: \n"
)
"""The only eligible replica, 2, is gone; 1 and 3 are live, and 3 comes first."""


def dump(place: Path, end: int, epoch: int) -> Path:
    """What kafka-dump-log prints of the last segment of t-1."""
    place.write_text(
        "Dumping /data/t-1/00000000000000000000.log\nLog starting offset: 0\n"
        f"baseOffset: 0 lastOffset: {end - 1} count: {end} x partitionLeaderEpoch: {epoch} isvalid: true\n",
        encoding="utf-8",
    )
    return place


def recover(place: Path, *words: str) -> Ran:
    """Run the tool on what is offline."""
    asked = ("--all-offline-partitions", "--show-replica-info")
    return kraftcheck("unclean-recovery", "--snapshot", place, *asked, *words)


@pytest.fixture
def topics(tmp_path: Path) -> Path:
    """The text in a file."""
    place = tmp_path / "topics.txt"
    place.write_text(TOPICS, encoding="utf-8")
    return place


def test_the_longest_log_is_chosen_and_how_to_elect_it_is_said(topics: Path, tmp_path: Path) -> None:
    """Kafka's tool would elect the first live replica: it gets the file only where that is the one with the most."""
    long, short = dump(tmp_path / "long", 100, 5), dump(tmp_path / "short", 50, 5)
    for logs, chosen, listed in (((long, short), 1, []), ((short, long), 3, [{"topic": "t", "partition": 1}])):
        ballot = tmp_path / f"elect-{chosen}.json"
        words = ("--logs", f"1={logs[0]}", "--logs", f"3={logs[1]}", "--leader-election-file", str(ballot))
        ran = recover(topics, *words)
        assert ran.code == 0
        assert f"t-1: designate {chosen}" in ran.out
        assert f"with {chosen} as leader, without what was acknowledged since" in ran.out
        assert "2 leads once 2 is started, and nothing is lost" in ran.out
        assert ("would elect 3; reassign to [1,3,2] first" in ran.out) == (chosen == 1)
        assert json.loads(ballot.read_text(encoding="utf-8")) == {"partitions": listed}


def test_without_lengths_the_mend_is_said(topics: Path) -> None:
    """Nobody is asked of a text, so nobody fails to answer: the lengths are not known, and who prints them is said."""
    ran = recover(topics)
    assert ran.code == 1
    assert "t-1: failed: how long the logs of its live replicas are is not known: give --logs FILE" in ran.err
    assert "ANSWERED" not in ran.err + ran.out


@pytest.mark.parametrize(("topic", "index", "mend"), [("tt", 0, "did you mean t?"), ("t", 7, "t has 2 partitions")])
def test_a_topic_that_is_not_there_has_neighbours(topic: str, index: int, mend: str, topics: Path) -> None:
    """`elect-leaders` of an unknown topic or partition names what there is."""
    ran = kraftcheck("elect-leaders", "--snapshot", topics, "--election-type", "unclean", "--topic", topic,
                     "--partition", str(index))  # fmt: skip
    assert ran.code == 1
    assert f"UNKNOWN_TOPIC_OR_PARTITION: there is no {topic}-{index}; {mend}" in ran.err


def test_an_epoch_counts_before_a_length(topics: Path, tmp_path: Path) -> None:
    """The log whose last record is of a later epoch is chosen, though it is shorter."""
    later, long = dump(tmp_path / "later", 50, 6), dump(tmp_path / "long", 100, 5)
    assert "t-1: designate 3" in recover(topics, "--logs", f"1={long}", "--logs", f"3={later}").out


def test_a_log_of_no_replica_is_named(topics: Path, tmp_path: Path) -> None:
    """A dump that is given as that of a broker without such a replica, or of no such partition, is not silent."""
    log = dump(tmp_path / "log", 100, 5)
    ran = recover(topics, "--logs", f"9={log}")
    assert ran.code == 1
    assert "passed over of what --logs tells: 9 has no replica of t-1" in ran.out
    assert "passed over of" not in recover(topics, "--logs", f"1={log}").out


def test_a_log_that_ends_as_a_whole_one_loses_nothing(topics: Path, tmp_path: Path) -> None:
    """Where the only eligible replica's log ends alike, no loss is told of the one that is chosen."""
    log, short = dump(tmp_path / "log", 100, 5), dump(tmp_path / "short", 99, 5)
    ran = recover(topics, "--logs", f"1={log}", "--logs", f"2={log}")
    assert "t-1: designate 1" in ran.out
    assert "the log of 1 ends as that of 2, which has all that was acknowledged" in ran.out
    assert "with 1 as leader, without" not in ran.out
    ran = recover(topics, "--logs", f"1={log}", "--logs", f"2={short}")
    assert "with 1 as leader, without" in ran.out


def test_sizes_are_bytes_and_said_to_be(topics: Path, tmp_path: Path) -> None:
    """What kafka-log-dirs prints is compared where nothing better is known, with a warning; an end outweighs it."""
    text = (REAL / "log-dirs.txt").read_text(encoding="utf-8").replace('"strict-1"', '"t-1"').replace(":0,", ":3,")
    sizes = tmp_path / "log-dirs.txt"
    sizes.write_text(text, encoding="utf-8")
    ran = recover(topics, "--logs", str(sizes))
    assert "44048 bytes" in ran.out
    assert "chosen by bytes, without epochs" in ran.out
    ran = recover(topics, "--logs", str(sizes), "--logs", f"1={dump(tmp_path / 'one', 7, 1)}")
    assert "t-1: designate 1" in ran.out
    assert "chosen by bytes" not in ran.out


def test_what_was_acknowledged_is_compared(topics: Path, tmp_path: Path) -> None:
    """Offsets that the leader told before the outage say how many records an election loses."""
    offsets = tmp_path / "offsets.txt"
    offsets.write_text("t:0:9\nt:1:70\n", encoding="utf-8")
    ran = recover(topics, "--logs", str(offsets), "--logs", f"3={dump(tmp_path / 'three', 50, 5)}")
    assert "t-1: 20 records that were acknowledged are not in its log" in ran.out


def test_one_text_has_what_all_tools_print(topics: Path, tmp_path: Path) -> None:
    """Sizes and acknowledged offsets count in any order, also between the lines that `status` reads."""
    names = ("log-dirs.txt", "offsets.txt", "topics.txt", "replication.txt")
    parts = [(REAL / name).read_text(encoding="utf-8") for name in names]
    parts += [
        "ClusterId:              x\nLeaderId:               1\n",
        "Feature: kraft.version\tSupportedMinVersion: 0\tSupportedMaxVersion: 1\tFinalizedVersionLevel: 1\tEpoch: 7\n",
    ]
    place, alone = tmp_path / "all.txt", read_log_ends([str(REAL / "log-dirs.txt"), str(REAL / "offsets.txt")])
    assert alone.sizes
    assert alone.acknowledged
    for order in (parts, parts[::-1], [*parts[1:], parts[0]]):
        place.write_text("".join(order), encoding="utf-8")
        assert read_log_ends([str(place)]) == alone
    place.write_text(parts[1] + parts[0][:-20], encoding="utf-8")
    assert recover(topics, "--logs", str(place)).refusal().startswith(f"{place}: ")


def test_a_broker_that_is_down_is_started_first(tmp_path: Path) -> None:
    """In a log too: the chosen replica is named with what it lacks, and Kafka's tool gets no file of it."""
    ballot, log = tmp_path / "elect.json", tmp_path / "one"
    log.write_text(dump(log, 300, 1).read_text(encoding="utf-8").replace("t-1/", "strict-1/"), encoding="utf-8")
    ran = recover(OUTAGE, "--logs", f"1={log}", "--leader-election-file", str(ballot))
    assert ran.code == 1
    assert "without what was acknowledged since offset 78, 2026-11-21 22:51:22" in ran.out
    assert "strict-1: 1 is fenced: start it first" in ran.out
    assert "no release of Kafka up to 4.4.0 has the requests" in ran.out
    assert json.loads(ballot.read_text(encoding="utf-8")) == {"partitions": []}


def test_elections_in_a_log_are_only_told(topics: Path) -> None:
    """`elect-leaders` says of a log or text whom the controller would elect and what is lost, and changes no file."""
    before = topics.read_bytes()
    ran = kraftcheck("elect-leaders", "--snapshot", topics, "--election-type", "unclean", "--all-topic-partitions")
    assert "t-1: elected 3, without what was acknowledged since it left the ISR" in ran.out
    assert topics.read_bytes() == before
    ran = kraftcheck("elect-leaders", "--snapshot", topics, "--election-type", "unclean", "--all-topic-partitions",
                     "--output", "x.json")  # fmt: skip
    assert ran.code == 2


def segment(folder: Path, before: int) -> Path:
    """The captured segment up to the batch that begins at an offset."""
    path = folder / "00000000000000000000.log"
    path.write_bytes(cut(0, before))
    return path


def test_a_segment_is_read_as_its_dump(tmp_path: Path) -> None:
    """Of a binary segment, alone and as a folder's, the tools say the same as of what kafka-dump-log prints of it."""
    path, log = segment(tmp_path, 91), dump(tmp_path / "one", 300, 1)
    log.write_text(log.read_text(encoding="utf-8").replace("t-1/", "strict-1/"), encoding="utf-8")
    unclean = ("--election-type", "unclean", "--all-topic-partitions")
    for place in (path, tmp_path):
        assert recover(place, "--logs", f"1={log}") == recover(OUTAGE, "--logs", f"1={log}")
        held, told = (kraftcheck("elect-leaders", "--snapshot", one, *unclean) for one in (place, OUTAGE))
        assert held == told
        assert (held.code, "alone-0: failed: ELIGIBLE_LEADERS_NOT_AVAILABLE" in held.err) == (1, True)


def test_an_election_in_a_segment_is_what_the_cluster_held(tmp_path: Path) -> None:
    """Asked at the offset before the captured unclean election, `elect-leaders` seats whom Kafka seated."""
    asked = ("--election-type", "unclean", "--topic", "strict", "--partition", "0")
    ran = kraftcheck("elect-leaders", "--snapshot", segment(tmp_path, 64), *asked)
    assert (ran.code, "strict-0: elected 0, without what was acknowledged since offset 46" in ran.out) == (0, True)


def test_a_checkpoint_is_read(tmp_path: Path) -> None:
    """Of a snapshot, in which clicks-0 is offline, the longer log is chosen, and an election has nobody to seat."""
    (path,) = ELR.glob("*.checkpoint")
    logs = []
    for broker, end in ((0, 80), (1, 70)):
        log = dump(tmp_path / str(broker), end, 3)
        log.write_text(log.read_text(encoding="utf-8").replace("t-1/", "clicks-0/"), encoding="utf-8")
        logs += ["--logs", f"{broker}={log}"]
    ran = recover(path, *logs)
    assert "clicks-0: 1 leads once 1 is started, and nothing is lost" in ran.out
    assert "with 0 as leader, without what was acknowledged since it left the ISR, before the snapshot" in ran.out
    assert "clicks-0: designate 0" in ran.out
    ran = kraftcheck("elect-leaders", "--snapshot", path, "--election-type", "unclean", "--all-topic-partitions")
    assert (ran.code, "clicks-0: failed: ELIGIBLE_LEADERS_NOT_AVAILABLE" in ran.err) == (1, True)


def test_forms_of_log_ends(tmp_path: Path) -> None:
    """A broker's answers, and real output of kafka-log-dirs and kafka-get-offsets; a dump needs its broker's name."""
    answers = tmp_path / "answers.json"
    row = {"topic": "t", "partition": 1, "last_written_epoch": 4, "log_end_offset": 9}
    answers.write_text(json.dumps({"brokers": [{"id": 2, "logs": [row]}]}, indent=1), encoding="utf-8")
    found = read_log_ends([str(answers), str(REAL / "log-dirs.txt"), str(REAL / "offsets.txt")])
    assert found.logs == {(("t", 1), 2): ReplicaLog(4, 4, 9)}
    assert found.sizes[("strict", 1), 1] == 44048
    assert found.acknowledged[("wide", 0)] == 300
    with pytest.raises(Refusal, match="does not say whose log it is"):
        read_log_ends([str(dump(tmp_path / "x", 3, 1))])
    answers.write_text("nothing", encoding="utf-8")
    with pytest.raises(Refusal, match=r"answers\.json"):
        read_log_ends([str(answers)])


def test_a_log_that_is_not_known_may_have_more(topics: Path, tmp_path: Path) -> None:
    """A live replica whose log is not compared is named, as known by its size or not at all: exit code 20."""
    one, size, other = dump(tmp_path / "one", 300, 1), tmp_path / "sizes.json", dump(tmp_path / "other", 9, 1)
    row = '{"partitions":[{"partition":"t-1","size":500,"offsetLag":0,"isFuture":false}],"error":null,"logDir":"/d"}'
    size.write_text(f'{{"brokers":[{{"broker":3,"logDirs":[{row}]}}],"version":1}}', encoding="utf-8")
    other.write_text(other.read_text(encoding="utf-8").replace("t-1", "t-0"), encoding="utf-8")
    for more, known, told in (
        ((), "not known", ""), (("--logs", str(size)), "known by its size alone", " 500 bytes\n"),
        (("--logs", f"3={other}"), "not known", "passed over of what --logs tells: not asked for: t-0\n"),
    ):  # fmt: skip
        ran = recover(topics, "--logs", f"1={one}", *more)
        assert (ran.code, "t-1: designate 1" in ran.out, told in ran.out) == (20, True, True)
        assert f"t-1: the log of 3, which is live, is {known}: it may have more" in ran.out


def test_an_empty_log_is_not_chosen(topics: Path, tmp_path: Path) -> None:
    """Where every log that is known is empty an election loses all of the partition: nobody is designated."""
    size = tmp_path / "sizes.json"
    row = '{"partitions":[{"partition":"t-1","size":0,"offsetLag":0,"isFuture":false}],"error":null,"logDir":"/d"}'
    brokers = ",".join(f'{{"broker":{broker},"logDirs":[{row}]}}' for broker in (1, 3))
    size.write_text(f'{{"brokers":[{brokers}],"version":1}}', encoding="utf-8")
    ran = recover(topics, "--logs", str(size))
    assert (ran.code, "designate" in ran.out.replace("designated", "")) == (1, False)
    assert ran.err == "t-1: failed: every log of it that is known is empty: to elect one loses all of it\n"


def test_a_batch_that_is_not_valid_is_no_end(topics: Path, tmp_path: Path) -> None:
    """A dump that says of a batch that it is not valid tells no end of the log."""
    place = dump(tmp_path / "bad", 300, 1)
    place.write_text(place.read_text(encoding="utf-8").replace("isvalid: true", "isvalid: false"), encoding="utf-8")
    ran = recover(topics, "--logs", f"1={place}")
    assert (ran.code, "is not valid, up to offset 299; end before it" in ran.err) == (2, True)


SHOWN = "  Topic: t  Partition: 1  Leader: none  Replicas: 3,1,2  Isr:   Elr: 2  LastKnownElr:"
"""The row of a partition as an operator compares it."""


@pytest.mark.parametrize(("text", "why"), [
    (TOPICS.replace("Count: 2", "Count: 3"), "not all is shown"), (TOPICS + "...\n", "1 line is not understood"),
    (TOPICS + "LeaderId: -1\n", "the quorum has no leader, so that nobody is elected; the answer of"),
])  # fmt: skip
def test_of_a_part_it_is_said_what_must_be_so_still(text: str, why: str, tmp_path: Path) -> None:
    """Both tools name why not all is known, who is live, and each row on which what they say of an election rests."""
    place, lengths = tmp_path / "topics.txt", dump(tmp_path / "long", 100, 5)
    place.write_text(text, encoding="utf-8")
    listed = tmp_path / "partitions.json"
    listed.write_text('{"partitions": [{"topic": "t", "partitions": [2]}]}', encoding="utf-8")
    elected = kraftcheck("elect-leaders", "--snapshot", place, "--election-type", "UNCLEAN", "--topic", "t",
                         "--partition", "1")  # fmt: skip
    for ran in (recover(place, "--logs", f"1={lengths}"), elected):
        assert ran.code == 20
        assert f"NOT ALL IS READ ({why}" in ran.out
        assert "this is the cluster; act only while no broker but 1,3 is live and kafka-topics.sh --describe" in ran.out
        assert ran.out.count(SHOWN) == 1
    missing = kraftcheck("unclean-recovery", "--snapshot", place, "--path-to-json-file", listed, "--show-replica-info")
    assert (missing.code, missing.err) == (1, "t-2: failed: t-2 is not in what was read, which is not all\n")


def test_of_a_whole_log_nothing_is_to_be_compared(topics: Path) -> None:
    """Where all is read an election is what is said of it, and no row is shown again."""
    assert "NOT ALL IS READ" not in recover(topics).out


@pytest.mark.parametrize("line", ["...", "[2026-11-21 22:51:38] WARN Node 2 disconnected", "baseOffset: 100 lastOff"])
@pytest.mark.parametrize("form", [0, 1, 2])
def test_lines_on_log_ends_that_nobody_knows_are_named(form: int, line: str, topics: Path, tmp_path: Path) -> None:
    """Whatever tells how long logs are: a line that is no data may stand for more, and the answer is not whole."""
    place = dump(tmp_path / "ends", 100, 5)
    words = (f"1={place}", str(place), str(place))[form]
    if form:
        place.write_text((REAL / ("log-dirs.txt", "offsets.txt")[form - 1]).read_text(encoding="utf-8"))
    known = recover(topics, "--logs", words)
    place.write_text(place.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")
    ran = recover(topics, "--logs", words)
    number = len(place.read_text(encoding="utf-8").splitlines())
    assert f"WARNING: passed over, and not known to be harmless: {place}:{number}: {line}\n" in ran.out
    assert ran.code == (known.code or 20)
    assert "not known to be harmless" not in known.out


def test_a_log_is_not_elected_in(topics: Path) -> None:
    """Leaders are elected in a JSON file of a cluster, and never in a log."""
    ran = kraftcheck("unclean-recovery", "--snapshot", topics, "--all-offline-partitions", "--automated-recovery")
    assert (ran.code, "this is a log" in ran.err) == (2, True)
