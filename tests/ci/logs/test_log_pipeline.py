"""Many metadata logs at once: the verdicts of one machine, and the tables that a run leaves."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pandas
import polars
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from kraftcheck.ci.logs import fleet
from kraftcheck.ci.logs.tables import SCHEMAS
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.words import NO_LEADER
from kraftcheck.model.records.fields import CODE
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


def rows(out: Path, kind: str) -> list[dict[str, Any]]:
    """A table of a run."""
    return pq.read_table(out / kind).to_pylist()


@pytest.fixture(scope="module")
def elr(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of the captured log with ELR, in which a topic is deleted."""
    out = tmp_path_factory.mktemp("tables") / "out"
    assert kraftcheck("replay", ELR, "--out", out, "--workers", "1").code == 0
    return out


def test_a_state_of_a_partition_lasts_until_the_next_or_its_deletion(elr: Path) -> None:
    """Seconds without leader are those that the states of a replay without tables show, batch by batch."""
    shown: dict[tuple[str, int], tuple[int, Any]] = {}
    without, last = Counter[tuple[str, int]](), 0
    for one in replayed():
        if one.batch.time is None or one.explanation is None:
            continue
        last = one.batch.time
        now = {(place.topic_id, place.index): place.partition.leader for place in one.controller.places()}
        for key, (since, leader) in list(shown.items()):
            if now.get(key) != leader:
                without[key] += (last - since) * (leader == NO_LEADER)
                del shown[key]
        for key, leader in now.items():
            shown.setdefault(key, (last, leader))
    for key, (since, leader) in shown.items():
        without[key] += (last - since) * (leader == NO_LEADER)
    found = Counter[tuple[str, int]]()
    for row in rows(elr, "timelines"):
        if row["leader"] is None:
            until = last if row["until"] is None else round(row["until"].timestamp() * 1000)
            found[row["topic_id"], row["partition"]] += until - round(row["time"].timestamp() * 1000)
    assert found == +without
    assert len(found) > 5
    deleted = {row["topic"] for row in rows(elr, "timelines")} - {
        topic.name for topic in replayed()[-1].controller.image.topics.values()
    }
    ends = {row["topic"]: row["until"] for row in rows(elr, "timelines") if row["topic"] in deleted}
    assert len(deleted) == 1
    assert None not in ends.values()


def test_brokers_are_as_the_controller_knows_them(elr: Path) -> None:
    """The last row of each broker is its registration at the end, and a row ends when the next begins."""
    last: dict[int, dict[str, Any]] = {}
    for row in rows(elr, "brokers"):
        before = last.get(row["broker"])
        assert before is None or before["until"] == row["time"]
        last[row["broker"]] = row
    registrations = replayed()[-1].controller.image.registrations
    assert {
        broker: (row["broker_epoch"], row["incarnation"], row["fenced"], row["directories"], row["registered"])
        for broker, row in last.items()
    } == {b: (r.epoch, r.incarnation, r.fenced, [*map(CODE.text, r.dirs)], True) for b, r in registrations.items()}


def test_findings_and_what_is_not_explained_are_those_of_the_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each spell of each cause is a row, and a batch without explanation one, of logs that are one part too."""
    monkeypatch.setattr(fleet, "MANY", 1)
    corrupted_log(tmp_path / "bad")
    words = (DEAD_LEADER, TROUBLE, tmp_path / "bad")
    kraftcheck("replay", *words, "--out", tmp_path / "out", "--json", tmp_path / "document.json")
    logs = json.loads((tmp_path / "document.json").read_text(encoding="utf-8"))["logs"]
    told = [
        (log["log"], spell["from"], spell["until"], cause.get("choice"), cause.get("finding"), spell["partitions"])
        for log in logs for row in log["causes"] for spell in row["spells"] for cause in row["causes"] or [{}]
    ]  # fmt: skip
    columns = ("cluster", "offset", "until_offset", "choice", "finding", "partitions")
    assert [tuple(row[name] for name in columns) for row in rows(tmp_path / "out", "findings")] == told
    assert {"dead-last-known-leader", None} < {row[4] for row in told}
    [row] = rows(tmp_path / "out", "unexplained")
    assert (row["cluster"], row["explained"], row["nearest"]) == (str(tmp_path / "bad"), 0, "create topic orders")
    assert "isr: observed" in row["differences"][0]


def test_the_id_of_the_cluster_is_told_unless_names_are_hidden(tmp_path: Path) -> None:
    """It is what a node has noted beside the log's folder; a log alone has none, and an anonymised one has none."""
    folder = tmp_path / "__cluster_metadata-0"
    shutil.copytree(ELR, folder)
    for given, expected in (((), None), ((), "M4nwvB"), (("--anonymise",), None)):
        kraftcheck("replay", folder, *given, "--out", tmp_path / "out")
        assert {row["cluster_id"] for kind in SCHEMAS for row in rows(tmp_path / "out", kind)} == {expected}
        (tmp_path / "meta.properties").write_text("#\nversion=1\ncluster.id=M4nwvB\n", encoding="utf-8")


def test_a_name_that_is_no_text_is_told_by_its_bytes(tmp_path: Path) -> None:
    """A folder whose name has a byte of no character is a log, a place for tables, and a name in them."""
    folder = tmp_path / "od\udc80d"
    shutil.copytree(ELR, folder)
    assert kraftcheck("replay", folder, "--out", tmp_path / "out\udc80", "--workers", "1").code == 0
    with next((tmp_path / "out\udc80" / "batches").iterdir()).open("rb") as file:
        names = set(pq.read_table(file)["cluster"].to_pylist())
    assert names == {f"{tmp_path}/od\\x80d"}


def test_a_shard_replays_its_logs_and_says_so(tmp_path: Path) -> None:
    """Two shards are together the whole, and a document names the shard that it is of."""
    found = []
    for shard in ("1/2", "2/2"):
        target = tmp_path / "document.json"
        ran = kraftcheck("replay", ELR, DEAD_LEADER, "--shard", shard, "--json", target, "--out", tmp_path / "out")
        document = json.loads(target.read_text(encoding="utf-8"))
        assert document["shard"] == shard
        assert ran.out.splitlines()[-1].startswith(f"shard {shard}: ")
        found += [row["cluster"] for row in rows(tmp_path / "out", "timelines")]
    assert set(found) == {str(ELR), str(DEAD_LEADER)}


@pytest.mark.parametrize("kind", sorted(SCHEMAS))
def test_others_read_the_tables_as_they_stand(kind: str, elr: Path) -> None:
    """pandas, Polars, DuckDB and pyarrow.dataset find the same rows and columns in a table's folder."""
    table = pq.read_table(elr / kind)
    shape = table.num_rows, table.column_names
    frame, lazy = pandas.read_parquet(elr / kind), polars.read_parquet(elr / kind / "*.parquet")
    relation = duckdb.sql(f"FROM '{elr / kind}/*.parquet'")
    assert (len(frame), list(frame.columns)) == shape == (lazy.height, lazy.columns)
    assert (len(relation), relation.columns) == shape
    assert pyarrow.dataset.dataset(elr / kind).to_table().to_pylist() == table.to_pylist() == lazy.to_dicts()


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

    def end_early(*arguments: Any, all_logs: Any = fleet.fan_out, **named: Any) -> Any:
        yield from all_logs(*arguments, **named)
        names_before_the_end.extend(path.name for path in tmp_path.rglob("*") if path.name in SCHEMAS)
        assert not out.exists()
        raise Refusal("it ends early")

    with monkeypatch.context() as patch:
        patch.setattr(fleet, "fan_out", end_early)
        assert "it ends early" in kraftcheck(*words).refusal()
    assert set(names_before_the_end) == set(SCHEMAS)
    assert list(tmp_path.iterdir()) == []
    assert kraftcheck(*words).code == kraftcheck(*words).code == 0
    assert {path.name for path in out.iterdir() if path.is_dir()} == set(SCHEMAS)


def test_options_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    """Spark needs a folder for its results, which holds nothing else; a table has no room for what is shown."""
    assert "needs --out" in kraftcheck("replay", ELR, "--engine", "spark").refusal()
    assert "shows batches without --out" in kraftcheck("replay", ELR, "--out", tmp_path, "--verbose").refusal()
    assert "--master is an option of --engine spark" in kraftcheck("replay", ELR, "--master", "local[1]").refusal()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    refused = kraftcheck("replay", ELR, "--engine", "spark", "--out", tmp_path / "full").refusal()
    assert "it holds file, which no run of kraftcheck wrote there" in refused
