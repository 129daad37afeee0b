"""What a reader must know before a result is believed: what is not explained comes first, and `whatif` says so too."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.shared.captures import DEAD_LEADER, ELR, batches, json_lines
from tests.shared.commands import kraftcheck

A, B = "P3UFsWoNR-erL9PK98YLsA", "5zoAlv-xEh9xRANKXt1Lbg"


def old_log(version: int | None = None, dirs: tuple[str, ...] = (), second_dirs: tuple[str, ...] = ()) -> str:
    """A log of two brokers and a topic as Kafka of before 3.3 wrote it, as JSON lines.

    Args:
        version: the metadata version that it names, or none.
        dirs, second_dirs: the directories that the brokers register.
    """
    records: list[tuple[str, int, dict[str, Any]]] = []
    if version is not None:
        records.append(("FEATURE_LEVEL_RECORD", 0, {"name": "metadata.version", "featureLevel": version}))
    for broker, incarnation, own in ((1, A, dirs), (2, B, second_dirs)):
        data = {"brokerId": broker, "incarnationId": incarnation, "brokerEpoch": len(records), "endPoints": [],
                "features": [], "rack": None}  # fmt: skip
        records.append(("REGISTER_BROKER_RECORD", 3 if own else 0, data | ({"logDirs": [*own]} if own else {})))
        records.append(("UNFENCE_BROKER_RECORD", 0, {"id": broker, "epoch": data["brokerEpoch"]}))
    partition = {"partitionId": 0, "topicId": B, "replicas": [1, 2], "isr": [1, 2], "removingReplicas": [],
                 "addingReplicas": [], "leader": 1, "leaderEpoch": 0, "partitionEpoch": 0}  # fmt: skip
    records += [("TOPIC_RECORD", 0, {"name": "foo", "topicId": B}), ("PARTITION_RECORD", 0, partition)]
    rows = ({"offset": n, "epoch": 1, "type": kind, "version": v, "data": d} for n, (kind, v, d) in enumerate(records))
    return "".join(json.dumps(row) + "\n" for row in rows)


OLD: dict[str, Callable[[], str]] = {
    "no version, no directories": old_log,
    "an early version": lambda: old_log(7),
    "a version with directories, and none registered": lambda: old_log(25),
    "one broker with directories": lambda: old_log(25, (A,)),
    "a directory twice": lambda: old_log(25, (A, A), (B,)),
    "a reserved directory": lambda: old_log(25, ("A" * 22,), (B,)),
}
"""Logs whose brokers the controller of today would not register so again."""


@pytest.mark.parametrize("made", OLD.values(), ids=OLD)
@pytest.mark.parametrize("rules", ["", "kafka-3.9.2", "kafka-4.4.0"])
def test_brokers_return_as_they_were(made: Callable[[], str], rules: str, tmp_path: Path) -> None:
    """Whatever a log's brokers registered, they return with it after a power loss, and distances are found."""
    path = tmp_path / "old.jsonl"
    path.write_text(made(), encoding="utf-8")
    ran = kraftcheck("whatif", path, "--json", "-", *(["--rules", rules] if rules else []))
    assert ran.code == 0, ran.err
    (row,) = ran.document()["partitions"]
    assert (row["topic"], row["faults_to_offline"], row["faults_to_loss"]) == ("foo", 2, 2)


def test_a_log_without_a_version_is_warned_of(tmp_path: Path) -> None:
    """`whatif` says which release it takes to have written a log that names no metadata version."""
    path = tmp_path / "old.jsonl"
    path.write_text(old_log(), encoding="utf-8")
    ran = kraftcheck("whatif", path)
    assert "the writer is Kafka 3.0 to 3.2, most likely: no broker supports any metadata version" in ran.out


def unexplained(folder: Path) -> Path:
    """A log that breaks properties, and of which one batch is not explained: an ISR has a stranger."""
    rows = [json.loads(line) for line in json_lines(batches(DEAD_LEADER)).splitlines()]
    last = max(n for n, row in enumerate(rows) if row["type"] == "PARTITION_CHANGE_RECORD" and row["data"].get("isr"))
    rows[last]["data"] = rows[last]["data"] | {"isr": [*reversed(rows[last]["data"]["isr"]), 77]}
    path = folder / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_what_is_not_explained_comes_first(tmp_path: Path) -> None:
    """With violations and an unexplained batch the exit code is 23, alone and beside a log that only has violations."""
    path = unexplained(tmp_path)
    for logs in ((path,), (path, DEAD_LEADER), (DEAD_LEADER, path, ELR)):
        ran = kraftcheck("replay", *logs, "--json", "-")
        document = ran.document()
        assert (ran.code, document["exit"]) == (23, 23)
        assert document["violations"] == sum(log["violations"] for log in document["logs"]) > 0
        assert document["unexplained"] == sum(log["unexplained"] for log in document["logs"]) > 0
        assert f"{document['unexplained']} batches not explained, {document['violations']} violations" in ran.err
    assert kraftcheck("replay", DEAD_LEADER, ELR).code == 12


def test_whatif_says_what_is_not_explained(tmp_path: Path) -> None:
    """A log that is not explained has distances, with the number of its batches and the command that shows them."""
    path = unexplained(tmp_path)
    ran = kraftcheck("whatif", path, "--prometheus", tmp_path / "metrics", "--faults", 1)
    (count,) = {kraftcheck("replay", path, "--json", "-").document()["unexplained"]}
    assert ran.code == 0
    assert f"not what these rules write; run kraftcheck replay {path}" in ran.out
    assert f"kraftcheck_unexplained_batches {count}\n" in (tmp_path / "metrics").read_text(encoding="utf-8")
    assert "not what these rules write" not in kraftcheck("whatif", ELR, "--faults", 0).out
    assert kraftcheck("whatif", DEAD_LEADER, "--faults", 0, "--rules", "kafka-4.1.2").out.count("these rules") == 1


def test_a_cluster_without_partitions_is_no_bad_input(tmp_path: Path) -> None:
    """A fresh cluster has no distance: exit code 0, said in words, an empty list, metrics without gauges of any."""
    path = tmp_path / "fresh.jsonl"
    path.write_text("".join(old_log(25, (A,), (B,)).splitlines(keepends=True)[:5]), encoding="utf-8")
    ran = kraftcheck("whatif", path)
    assert ran.code == 0
    assert ran.last.startswith("the cluster has no partition, ")
    assert kraftcheck("whatif", path, "--json", "-").document()["partitions"] == []
    assert "kraftcheck_faults_to_offline{" not in kraftcheck("whatif", path, "--prometheus", "-").out
