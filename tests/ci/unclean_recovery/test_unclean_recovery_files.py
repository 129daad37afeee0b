"""Snapshots and lists of partitions as files: what is read, what is refused, and the election tool."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.ci.unclean_recovery.snapshots import cluster, log, outage, partition_in, written
from tests.shared.commands import kraftcheck

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
