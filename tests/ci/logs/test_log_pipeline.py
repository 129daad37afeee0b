"""The Spark pipeline over metadata logs: the verdicts of one machine, and the datasets that it leaves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from kraftcheck.ci.logs import spark
from kraftcheck.ci.logs.spark import SCHEMAS
from kraftcheck.ci.terminal.refusal import Refusal
from tests.shared.captures import CAPTURED, DEAD_LEADER, ELR, NEWEST, TROUBLE, batches, json_lines, replayed, with_data
from tests.shared.commands import kraftcheck

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


def corrupted_log(folder: Path) -> None:
    """A log in which a partition is created with an ISR that lacks its leader."""
    place, index, data = next(
        (number, index, dict(entry.data or {}))
        for number, batch in enumerate(batches())
        for index, entry in enumerate(batch.entries)
        if entry.type == "PARTITION_RECORD"
    )
    bad = with_data(batches()[place], index, {**data, "isr": data["isr"][1:]})
    folder.mkdir()
    (folder / "bad.jsonl").write_text(json_lines([*batches()[:place], bad]), encoding="utf-8")


def run_replay(words: tuple[Any, ...], target: Path) -> tuple[int, list[str], list[dict[str, Any]]]:
    """Exit code, output and documents without rows of a run."""
    ran = kraftcheck("replay", *words, "--json", target)
    logs = json.loads(target.read_text(encoding="utf-8"))["logs"]
    return ran.code, ran.out.splitlines(), [{k: v for k, v in log.items() if k != "rows"} for log in logs]


@pytest.mark.usefixtures("shared")
def test_spark_tells_what_one_machine_tells(tmp_path: Path) -> None:
    """Exit code, lines and documents agree, of good logs and of a bad one; the datasets hold every batch and step."""
    corrupted_log(tmp_path / "bad")
    logs = (CAPTURED, tmp_path / "bad")
    alone = run_replay(logs, tmp_path / "alone.json")
    spark = run_replay((*logs, "--engine", "spark", "--out", tmp_path / "out"), tmp_path / "spark.json")
    assert spark == alone
    assert alone[0] == 23
    tables = {kind: pq.read_table(tmp_path / "out" / kind).to_pylist() for kind in SCHEMAS}
    assert len(tables["batches"]) == sum(log["batches"] for log in alone[2])
    assert len(tables["violations"]) == sum(log["violations"] for log in alone[2]) > 0
    broken = {log["log"] for log in alone[2] if log["violations"]}
    assert {row["cluster"] for row in tables["violations"]} == broken
    assert {str(path) for path in (tmp_path / "bad", DEAD_LEADER, TROUBLE, NEWEST)} <= broken
    ends = {
        (row["topic"], row["partition"]): row
        for row in sorted(tables["timelines"], key=lambda row: row["offset"])
        if row["cluster"] == str(ELR)
    }
    controller = replayed()[-1].state.controller
    for place in controller.places():
        row, p = ends[controller.topic(place.topic_id).name, place.index], place.partition
        assert (row["leader"], row["leader_epoch"], row["isr"]) == (p.leader, p.leader_epoch, list(p.isr))


@pytest.mark.usefixtures("shared")
def test_a_log_that_cannot_be_read_leaves_nothing(tmp_path: Path) -> None:
    """One unreadable log refuses the run in one line, and no dataset is left behind."""
    (tmp_path / "odd.jsonl").write_text("no log\n", encoding="utf-8")
    ran = kraftcheck("replay", tmp_path / "odd.jsonl", "--engine", "spark", "--out", tmp_path / "out")
    assert "odd.jsonl:1: not a line of the dump tool" in ran.refusal()
    assert not any((tmp_path / "out" / kind).exists() for kind in SCHEMAS)


@pytest.mark.usefixtures("shared")
def test_a_run_that_ends_early_leaves_no_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until every dataset is whole none is there, nor what a run left before; then one takes the place of the other."""
    out, words = tmp_path / "out", ("replay", ELR, "--engine", "spark", "--out", tmp_path / "out")
    names_before_the_end = []

    def end_early(*arguments: Any, all_logs: Any = spark.fan_out, **named: Any) -> Any:
        yield from all_logs(*arguments, **named)
        names_before_the_end.extend(path.name for path in tmp_path.rglob("*") if path.name in SCHEMAS)
        assert not out.exists()
        raise Refusal("it ends early")

    with monkeypatch.context() as patch:
        patch.setattr(spark, "fan_out", end_early)
        assert "it ends early" in kraftcheck(*words).refusal()
    assert set(names_before_the_end) == set(SCHEMAS)
    assert list(tmp_path.iterdir()) == []
    assert kraftcheck(*words).code == kraftcheck(*words).code == 0
    assert {path.name for path in out.iterdir() if path.is_dir()} == set(SCHEMAS)


def test_options_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    """Spark needs a folder for its results, which holds nothing else, and only Spark takes one."""
    assert "needs --out" in kraftcheck("replay", ELR, "--engine", "spark").refusal()
    assert "needs --out" in kraftcheck("replay", ELR, "--out", tmp_path / "out").refusal()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    refused = kraftcheck("replay", ELR, "--engine", "spark", "--out", tmp_path / "full").refusal()
    assert "it holds file, which no run of kraftcheck wrote there" in refused
