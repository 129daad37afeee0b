"""The unclean-recovery tool: what brokers answer, whom it chooses, its options, files, and the KIP's Test Plan."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.ci.conformance.cluster.processes import KafkaCluster, PartitionDescription, running_cluster
from kraftcheck.ci.conformance.findings.scenario import layout, state
from kraftcheck.ci.conformance.kafka.jars import known_versions
from kraftcheck.ci.logs.recovery.snapshot import read_snapshot
from kraftcheck.model.controller.brokers import expire_session
from kraftcheck.model.controller.commits import commit
from kraftcheck.model.controller.elections import MOST_DESIGNATED
from kraftcheck.model.rules.ruleset import RIGHT, parse
from kraftcheck.model.unclean_recovery.tool import (
    INTERRUPTED,
    MOST_PARTITIONS,
    NOBODY,
    NOT_SERVED,
    TRANSIENT,
    RemoteBroker,
    ReplicaLog,
    ReplicaReport,
    Retries,
    Rights,
    best,
    designate_all,
    inquire,
    replica_log_info,
    succeeded,
)
from tests.ci.unclean_recovery.snapshots import OUTAGE, cluster, log, outage, partition_in, written
from tests.model.controller.controllers import changed, with_topic
from tests.model.controller.controllers import cluster as controllers
from tests.shared.commands import kraftcheck

RULES = parse("fixed+designated-elections")
LOG = ReplicaLog(3, 3, 10)


def answers(*logs: tuple[int, int] | None) -> list[ReplicaReport]:
    """Answers with (epoch, length); None: an error."""
    return [ReplicaReport(True, one is None, *((one or (-1, -1))[:1] * 2), (one or (-1, -1))[1]) for one in logs]


LOGS = st.lists(st.one_of(st.none(), st.tuples(st.integers(0, 4), st.integers(0, 4))), max_size=6)


@given(LOGS)
def test_the_choice_is_the_first_of_the_maximal_logs(logs: list[tuple[int, int] | None]) -> None:
    """The chosen position is that of the first maximal pair of epoch and length; errors do not count."""
    known = [one for one in logs if one is not None]
    expected = logs.index(max(known)) if known else NOBODY
    assert best(answers(*logs), RULES.unclean_recovery) == expected


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        ("", 2), ("+recovery-prefers-length", 1), ("+recovery-takes-first-answer", 0), ("+recovery-ties-to-last", 3),
    ],
)  # fmt: skip
def test_each_way_to_choose_chooses_its_own(variant: str, expected: int) -> None:
    """Epoch before length, ties to the first: each variant chooses another replica of the same four."""
    rules = parse("fixed+designated-elections" + variant)
    assert best(answers((1, 5), (2, 9), (4, 7), (4, 7)), rules.unclean_recovery) == expected


def test_a_response_is_cut_at_a_thousand() -> None:
    """1,000 partitions are answered at once and HasMoreData is false; of 1,001 the last is left, and it is true."""
    asked = [("t", n) for n in range(MOST_PARTITIONS + 1)]
    logs = dict.fromkeys(asked, LOG)
    whole = replica_log_info(7, logs, asked[:-1], Rights())
    assert (len(whole.rows), whole.has_more_data, whole.broker_epoch) == (1000, False, 7)
    cut = replica_log_info(7, logs, asked, Rights())
    assert ([row.place for row in cut.rows], cut.has_more_data) == (asked[:-1], True)


def test_a_request_without_a_list_asks_for_everything() -> None:
    """TopicPartitions may be null: the broker answers for all that it has, a thousand at once."""
    logs = {("t", n): LOG for n in reversed(range(MOST_PARTITIONS + 1))}
    answer = replica_log_info(7, logs, None, Rights())
    assert ([row.place for row in answer.rows], answer.has_more_data) == (sorted(logs)[:-1], True)
    assert replica_log_info(7, {}, None, Rights()).rows == ()


@pytest.mark.parametrize(
    ("rights", "logs", "error"),
    [
        (Rights(), {("t", 0): LOG}, "NONE"),
        (Rights(), {}, "UNKNOWN_TOPIC_OR_PARTITION"),
        (Rights(), {("t", 0): ReplicaLog(-1, -1, -1, "KAFKA_STORAGE_ERROR")}, "KAFKA_STORAGE_ERROR"),
        (Rights(cluster_action=False), {("t", 0): LOG}, "CLUSTER_AUTHORIZATION_FAILED"),
        (Rights(describe=frozenset({"u"})), {("t", 0): LOG}, "TOPIC_AUTHORIZATION_FAILED"),
    ],
)
def test_each_error_of_a_row(rights: Rights, logs: dict[tuple[str, int], ReplicaLog], error: str) -> None:
    """A log is told only to who may know it, where it is and can be read."""
    row = replica_log_info(1, logs, [("t", 0)], rights).rows[0]
    assert (row.error, row.log is None) == (error, error != "NONE")


@pytest.mark.parametrize(
    ("asked", "failures", "answer_ms", "duration", "variant", "rows"),
    [
        (1, 0, 10, 10, "", 1),
        (1, 0, 11, 10, "", 0),
        (1, 0, None, 10**9, "", 0),
        (1, 2, 10, 30, "", 1),
        (1, 2, 10, 29, "", 0),
        (2500, 0, 10, 30, "", 2500),
        (2500, 0, 10, 29, "", 2000),
        (2500, 0, 10, 30, "+recovery-ignores-more-data", 1000),
    ],
)
def test_brokers_are_asked_until_the_time_is_over(
    asked: int, failures: int, answer_ms: int | None, duration: int, variant: str, rows: int
) -> None:
    """Failures are retried, HasMoreData is followed, and what comes after the deadline does not count."""
    places = [("t", n) for n in range(asked)]
    broker = RemoteBroker(1, 1, dict.fromkeys(places, LOG), answer_ms, failures)
    assert len(inquire(broker, places, Rights(), duration, parse("fixed" + variant).unclean_recovery)) == rows


@pytest.mark.parametrize(
    ("failing", "attempts", "expected"), [(0, 3, (True, 0)), (3, 3, (True, 0)), (5, 3, (False, 1)), (1, 0, (False, 0))]
)
def test_a_request_is_retried_as_often_as_allowed(failing: int, attempts: int, expected: tuple[bool, int]) -> None:
    """Three retries are four tries."""
    served, left = Retries(failing, attempts).sent()
    assert (served, left.failing) == expected


def test_elections_go_in_requests_of_a_thousand() -> None:
    """1,001 partitions take two requests; sent as one, the last is not served and the run has failed."""
    count = MOST_DESIGNATED + 1
    state = with_topic(controllers(2), "t", *[(0, 1)] * count)
    state = changed(state, "t", 0, isr=(0,), leader=-1)
    wanted = [(("t", n), 1) for n in range(count)]
    _, results = designate_all(state, wanted, RULES, Retries(), Rights())
    assert [r.error for r in results] == ["NONE"] + ["ELECTION_NOT_NEEDED"] * MOST_DESIGNATED
    assert succeeded(results, RULES.unclean_recovery)
    one = RIGHT.switched(designated_elections=True, recovery_ignores_request_limit=True)
    _, results = designate_all(state, wanted, one, Retries(), Rights())
    assert results[-1].error == NOT_SERVED
    assert not succeeded(results, RULES.unclean_recovery)
    assert succeeded(results, one.unclean_recovery)


@pytest.mark.parametrize(
    ("failing", "rights", "stop", "error"),
    [
        (4, Rights(), False, TRANSIENT),
        (0, Rights(cluster_action=False), False, "CLUSTER_AUTHORIZATION_FAILED"),
        (0, Rights(), True, INTERRUPTED),
    ],
)
def test_what_was_not_elected_fails_the_run(failing: int, rights: Rights, stop: bool, error: str) -> None:
    """Retries that run out, missing rights and a signal leave the partition as it was, and the exit is not zero."""
    state = changed(with_topic(controllers(2), "t", (0, 1)), "t", 0, isr=(0,), leader=-1)
    after, results = designate_all(state, [(("t", 0), 1)], RULES, Retries(failing), rights, lambda: stop)
    assert ([r.error for r in results], after) == ([error], state)
    assert not succeeded(results, RULES.unclean_recovery)


def recover(path: Path, *words: object) -> tuple[int, str, str]:
    """Automated recovery of every offline partition."""
    ran = kraftcheck("unclean-recovery", "--snapshot", path, "--all-offline-partitions", *words)
    return ran.code, ran.out, ran.err


def test_unclean_recovery_elects_the_most_complete_replica(tmp_path: Path) -> None:
    """The leader has the highest epoch of a last record, marked RECOVERING; everything else stays as it was."""
    path = written(tmp_path / "c.json", cluster({1: [log(0, 3, 90, known=5)], 2: [log(0, 4, 80)]}))
    assert recover(path, "--automated-recovery")[0] == 0
    found = partition_in(path)
    assert (found["leader"], found["isr"], found["elr"], found["leader_epoch"]) == (2, [2], [], 6)
    assert found["leader_recovery_state"] == "RECOVERING"
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert kept["brokers"] == cluster({1: [log(0, 3, 90, known=5)], 2: [log(0, 4, 80)]})["brokers"]


@pytest.mark.parametrize(("rules", "code", "leader"), [("fixed+designated-elections", 1, -1), ("kip", 0, 2)])
def test_who_answered_in_another_incarnation_is_not_elected(tmp_path: Path, rules: str, code: int, leader: int) -> None:
    """The response's BrokerEpoch is compared with the registration; the document never reads it."""
    document = cluster({1: [log(0, 3, 90)], 2: [log(0, 4, 80)]})
    document["brokers"][2]["answer_epoch"] = 50
    path = written(tmp_path / "c.json", document)
    assert recover(path, "--automated-recovery", "--rules", rules)[0] == code
    assert partition_in(path)["leader"] == leader


def test_the_document_and_unclean_elections_lose_more(tmp_path: Path) -> None:
    """On the same snapshot the document's choice, and an unclean election, take the replica that lacks epoch 4."""
    document = cluster({1: [log(0, 3, 90, known=5)], 2: [log(0, 4, 80)]})
    path = written(tmp_path / "c.json", document)
    assert recover(path, "--automated-recovery", "--rules", "kip")[0] == 0
    assert partition_in(path)["leader"] == 1
    written(path, document)
    ran = kraftcheck("elect-leaders", "--snapshot", path, "--election-type", "unclean", "--all-topic-partitions")
    assert (ran.code, partition_in(path)["leader"]) == (0, 1)


def test_running_twice_changes_nothing(tmp_path: Path) -> None:
    """A second run finds every partition online, exits 0 and leaves the file byte for byte."""
    path = written(tmp_path / "c.json", cluster({1: [log(0, 3, 90)]}))
    targets = written(tmp_path / "t.json", {"partitions": [{"topic": "t", "partitions": [0]}]})
    words = ("--snapshot", path, "--path-to-json-file", targets, "--automated-recovery")
    assert kraftcheck("unclean-recovery", *words).code == 0
    once = path.read_bytes()
    again = kraftcheck("unclean-recovery", *words)
    assert (again.code, "t-0: already online" in again.out, path.read_bytes()) == (0, True, once)
    read_closely = kraftcheck("unclean-recovery", *words, "--rules", "kip")
    assert (read_closely.code, path.read_bytes()) == (1, once)


def test_partial_success_is_written_and_exits_one(tmp_path: Path) -> None:
    """What can be elected is elected; what cannot is named on standard error, and the exit code is 1."""
    path = written(tmp_path / "c.json", outage())
    code, out, err = recover(path, "--automated-recovery")
    assert (code, out.splitlines()[-1]) == (1, "3 partition(s), 1 failed (exit 1)")
    assert err == "orders-3: failed: ELIGIBLE_LEADERS_NOT_AVAILABLE\n"
    assert [partition_in(path, n)["leader"] for n in range(4)] == [2, 2, 1, -1]


def test_an_elr_replica_that_returns_first_is_not_replaced(tmp_path: Path) -> None:
    """A file of leaders that was written before the partition came online elects nobody."""
    document = cluster({1: [log(0, 3, 90)]})
    path, leaders = written(tmp_path / "c.json", document), tmp_path / "leaders.json"
    assert recover(path, "--manual-recovery-output-file", leaders)[0] == 0
    assert json.loads(leaders.read_text(encoding="utf-8")) == {
        "partitions": [{"topic": "t", "partition": 0, "designatedLeader": 1}]
    }
    document["topics"][0]["partitions"][0].update(leader=0, isr=[0], elr=[])
    written(path, document)
    words = ("--snapshot", path, "--election-type", "DESIGNATED", "--path-to-json-file", leaders)
    ran = kraftcheck("elect-leaders", *words)
    assert (ran.code, partition_in(path)["leader"], "already online" in ran.out) == (0, 0, True)


@pytest.mark.parametrize("words", [("--automated-recovery", "--dry-run"), ("--show-replica-info",)])
def test_nothing_is_written_unasked(tmp_path: Path, words: tuple[str, ...]) -> None:
    """A dry run, and one that only shows, leave the snapshot and the folder as they were."""
    path = written(tmp_path / "c.json", outage())
    before = path.read_bytes()
    recover(path, *words)
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (before, [path])


def test_the_deadline_leaves_out_who_is_late(tmp_path: Path) -> None:
    """With less time the better replica does not answer, and the other one is chosen; with none nobody is."""
    document = cluster({1: [log(0, 3, 90)], 2: [log(0, 4, 95)]})
    document["brokers"][2]["answer_ms"] = 50
    path = written(tmp_path / "c.json", document)
    assert "designate 2" in recover(path, "--show-replica-info")[1]
    assert "designate 1" in recover(path, "--show-replica-info", "--recovery-duration-ms", 49)[1]
    document["brokers"][1]["answer_ms"] = 50
    code, _, err = recover(written(path, document), "--show-replica-info", "--recovery-duration-ms", 49)
    assert (code, err) == (1, "t-0: failed: NO_REPLICA_ANSWERED\n")


@pytest.mark.parametrize(("attempts", "code"), [(2, 0), (1, 1)])
def test_transient_failures_are_retried(tmp_path: Path, attempts: int, code: int) -> None:
    """Two failed requests need two retries."""
    path = written(tmp_path / "c.json", cluster({1: [log(0, 3, 90)]}, controller_failures=2))
    assert recover(path, "--automated-recovery", "--recovery-election-attempts", attempts)[0] == code
    assert partition_in(path)["leader"] == (1 if code == 0 else -1)


def test_a_run_that_elects_nobody_leaves_the_file(tmp_path: Path) -> None:
    """Where every election fails the snapshot stays byte for byte; `--output` is written all the same."""
    document = cluster({1: [log(0, 3, 90)]})
    document["brokers"][1]["fenced"] = True
    path, other = written(tmp_path / "c.json", document), tmp_path / "after.json"
    before = path.read_bytes()
    assert recover(path, "--automated-recovery")[0] == 1
    assert path.read_bytes() == before
    assert recover(path, "--automated-recovery", "--output", other)[0] == 1
    assert json.loads(other.read_text(encoding="utf-8"))["brokers"] == document["brokers"]


SHOW, ALL = "--show-replica-info", "--all-offline-partitions"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((ALL,), "nothing is asked: give --show-replica-info"),
        ((SHOW,), "no partitions: give --path-to-json-file FILE"),
        ((SHOW, ALL, "--path-to-json-file", "x"), "exclude each other"),
        ((ALL, "--automated-recovery", "--manual-recovery-output-file", "x"), "exclude each other"),
        ((ALL, SHOW, "--output", "x"), "--output is for"),
        ((ALL, SHOW, "--dry-run"), "--dry-run is for"),
        ((ALL, SHOW, "--rules", "fixed"), "add +designated-elections"),
        ((ALL, "--manual-recovery-output-file", OUTAGE), "exists; name a new file"),
        ((ALL, "--manual-recovery-output-file", "no/such/x"), "there is no folder"),
        ((SHOW, "--path-to-json-file", OUTAGE), "version: unknown key"),
        ((ALL, SHOW, "--recovery-duration-ms", "0"), "x>=1"),
    ],
)
def test_options_exclude_each_other(words: tuple[object, ...], says: str) -> None:
    """What cannot be meant is refused in one line."""
    assert says in kraftcheck("unclean-recovery", "--snapshot", OUTAGE, *words).refusal()


ONE = {"partitions": [{"topic": "t", "partition": 0, "designatedLeader": 1}]}


def elect(path: Path, kind: str, *words: object) -> Any:
    """Elections in a snapshot."""
    return kraftcheck("elect-leaders", "--snapshot", path, "--election-type", kind, *words)


def set_at(document: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    """The document with one value changed; the path has dots."""
    *way, last = [int(part) if part.isdecimal() else part for part in path.split(".")]
    inner: Any = document
    for part in way:
        inner = inner[part]
    inner[last] = value
    return document


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("version", 2, "version: 2 is not known"),
        ("colour", 1, "colour: unknown key"),
        ("brokers.1.id", 0, "brokers: an id is listed twice"),
        ("brokers.1.answer_ms", 0, "brokers[1].answer_ms: 0 is out of range"),
        ("brokers.1.logs.0.log_end_offset", -1, "brokers[1].logs[0].log_end_offset: -1 is out of range"),
        ("brokers.1.logs.0.last_written_epoch", None, "brokers[1].logs[0].last_written_epoch: an integer"),
        ("brokers.1.logs.0.error", "OOPS", "brokers[1].logs[0].error: OOPS is not the name of an error"),
        ("brokers.1.logs.1.partition", 0, "brokers[1].logs[1]: orders-0 is listed twice"),
        ("topics.0.partitions.0.leader", 9, "topics[0].partitions[0].leader: 9 is no replica"),
        ("topics.0.partitions.0.isr", [9], "topics[0].partitions[0].isr"),
        ("topics.0.partitions.0.replicas", [], "topics[0].partitions[0].replicas: each replica once"),
        ("topics.0.partitions.0.directories", ["UNASSIGNED"], "directories: 1 directories for 3 replicas"),
        ("topics.0.partitions.1.partition", 0, "topics[0].partitions[1].partition: 0 is listed twice"),
        ("topics.0.partitions.0.partition", 9, "partition 0 is missing"),
        ("topics.0.config", {"min.insync.replicas": "many"}, "the controller does not answer"),
        ("controller_failures", "x", "controller_failures: an integer is wanted"),
        ("operator", {"describe": "orders"}, "operator.describe: a list is wanted"),
    ],
)
def test_a_malformed_snapshot_is_one_line(tmp_path: Path, path: str, value: object, says: str) -> None:
    """The file and the key are named, and the file stays as it is."""
    file = written(tmp_path / "c.json", set_at(outage(), path, value))
    before = file.read_bytes()
    ran = kraftcheck("unclean-recovery", "--snapshot", file, "--all-offline-partitions", "--automated-recovery")
    assert says in ran.refusal()
    assert str(file) in ran.refusal()
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({}, "partitions: missing"),
        ({"partitions": []}, "none is listed"),
        ({"partitions": [{"topic": "t"}]}, "partitions[0].partition: missing"),
        ({"partitions": [{"topic": "t", "partition": 0}]}, "partitions[0].designatedLeader: missing"),
        ({"partitions": [*ONE["partitions"], *ONE["partitions"]]}, "t-0 is listed twice"),
    ],
)
def test_a_malformed_list_is_one_line(tmp_path: Path, document: object, says: str) -> None:
    """Every entry of a designated election names topic, partition and leader, once."""
    path = written(tmp_path / "c.json", cluster({1: []}))
    listed = written(tmp_path / "l.json", document)
    assert says in elect(path, "designated", "--path-to-json-file", listed).refusal()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "give one of --path-to-json-file"),
        (("--topic", "t", "--partition", 0, "--all-topic-partitions"), "give one of --path-to-json-file"),
        (("--topic", "t"), "--topic and --partition go together"),
        (("--all-topic-partitions",), "DESIGNATED needs a leader for each partition"),
    ],
)
def test_the_ways_to_name_partitions_exclude_each_other(tmp_path: Path, words: tuple[object, ...], says: str) -> None:
    """One way, and a file for designated elections."""
    path = written(tmp_path / "c.json", cluster({1: []}))
    assert says in elect(path, "designated", *words).refusal()


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({}, None),
        ({"brokers.1.fenced": True}, "ELIGIBLE_LEADERS_NOT_AVAILABLE"),
        ({"brokers.1.in_controlled_shutdown": True}, "ELIGIBLE_LEADERS_NOT_AVAILABLE"),
        ({"topics.0.partitions.0.replicas": [0, 2]}, "ELIGIBLE_LEADERS_NOT_AVAILABLE"),
        ({"brokers.1.dirs": ["AAAAAAAAAAAAAAAAAAAAZQ"],
          "topics.0.partitions.0.directories": ["MIGRATING", "AAAAAAAAAAAAAAAAAAAAZg"]},
         "ELIGIBLE_LEADERS_NOT_AVAILABLE"),
        ({"topics.0.name": "other"}, "UNKNOWN_TOPIC_OR_PARTITION: there is no t-0; did you mean other?"),
        ({"operator": {"cluster_action": False}}, "CLUSTER_AUTHORIZATION_FAILED"),
        ({"controller_failures": 4}, "NOT_CONTROLLER"),
    ],
)  # fmt: skip
def test_who_may_be_designated(tmp_path: Path, change: dict[str, object], error: str | None) -> None:
    """An unfenced replica in an online directory, not leaving, asked for by somebody who may."""
    document = cluster({1: []})
    for where, value in change.items():
        set_at(document, where, value)
    path = written(tmp_path / "c.json", document)
    ran = elect(path, "DESIGNATED", "--path-to-json-file", written(tmp_path / "l.json", ONE))
    assert (ran.code, ran.err) == ((0, "") if error is None else (1, f"t-0: failed: {error}\n"))
    assert partition_in(path)["leader"] == (1 if error is None else -1)


def test_a_preferred_election_moves_the_leader_back(tmp_path: Path) -> None:
    """The first replica takes over where it is in the ISR; where it is not, the leader stays."""
    document = cluster({1: [], 2: []}, partitions=2)
    document["brokers"][0]["fenced"] = False
    for entry, isr in zip(document["topics"][0]["partitions"], ([0, 1], [1, 2]), strict=True):
        entry.update(leader=1, isr=isr, elr=[])
    path = written(tmp_path / "c.json", document)
    ran = elect(path, "preferred", "--all-topic-partitions")
    assert (ran.code, ran.err) == (1, "t-1: failed: PREFERRED_LEADER_NOT_AVAILABLE\n")
    assert [partition_in(path, n)["leader"] for n in range(2)] == [0, 1]


def test_the_result_can_go_elsewhere(tmp_path: Path) -> None:
    """`--output` leaves the snapshot alone, `--dry-run` writes neither."""
    path = written(tmp_path / "c.json", cluster({1: [log(0, 1, 5)]}))
    before, other = path.read_bytes(), tmp_path / "after.json"
    words = ("--topic", "t", "--partition", 0, "--output", other)
    assert elect(path, "unclean", *words, "--dry-run").code == 0
    assert not other.exists()
    assert elect(path, "unclean", *words).code == 0
    assert (path.read_bytes(), partition_in(other)["leader"]) == (before, 1)


PLAN_RULES = "fixed+designated-elections"
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
    before, rules = read_snapshot(path, parse(PLAN_RULES)), parse(PLAN_RULES)
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
