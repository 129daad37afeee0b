"""`kraftcheck replay` on every form of a log, and what it says of one that it does not explain."""

import json
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.solvers.logs.explain.state import Batch
from tests.shared.captures import TROUBLE, batches, json_lines, replayed, with_data
from tests.shared.commands import kraftcheck

SEGMENT = TROUBLE / "00000000000000000000.log"


def document(target: Path, *words: Any) -> tuple[int, dict[str, Any]]:
    """Exit code and document of the replay of one log."""
    ran = kraftcheck("replay", *words, "--json", target)
    (log,) = json.loads(target.read_text(encoding="utf-8"))["logs"]
    return ran.code, log


def without_places(log: dict[str, Any]) -> dict[str, Any]:
    """A document without the log's name, the places in it and its times, which one form has not."""
    rows = [{key: value for key, value in row.items() if key != "place"} for row in log["rows"]]
    causes = [
        {**row, "spells": [{**one, "time": None, "ended": None} for one in row["spells"]]} for row in log["causes"]
    ]
    return {**log, "rows": rows, "causes": causes, "log": None}


def test_every_form_gives_the_same_verdicts(tmp_path: Path) -> None:
    """A segment, the dump tool's output, JSON lines and a folder: the same rows, events, violations and exit code."""
    (tmp_path / "log.jsonl").write_text(json_lines(batches(TROUBLE)), encoding="utf-8")
    forms = (SEGMENT, TROUBLE / "decoded.txt", tmp_path / "log.jsonl", TROUBLE)
    documents = [document(tmp_path / "rows.json", form) for form in forms]
    assert {code for code, _ in documents} == {12}
    assert all(without_places(log) == without_places(documents[0][1]) for _, log in documents)
    assert documents[0][1]["explained"] == documents[0][1]["batches"] > 100


def test_unknown_kinds_are_counted_and_bad_lines_are_not_passed_over(tmp_path: Path) -> None:
    """A kind of record that is unknown passes and is counted; an undecodable line is refused unless it is allowed."""
    last = batches(TROUBLE)[-1].last_offset
    unknown = {"offset": last + 1, "batch": last + 1, "epoch": 9, "type": "SOME_NEW_RECORD", "version": 0, "data": {}}
    lines = json_lines(batches(TROUBLE)) + json.dumps(unknown) + "\n"
    path = tmp_path / "log.jsonl"
    path.write_text(lines, encoding="utf-8")
    _, log = document(tmp_path / "rows.json", path)
    assert log["passed_through"]["SOME_NEW_RECORD"] == 1
    assert log["unknown"] == {"SOME_NEW_RECORD": 1}
    assert "WARNING: not known, and passed through unread: 1 SOME_NEW_RECORD;" in kraftcheck("replay", path).out
    assert log["rows"][-1]["explanations"] == 1
    path.write_text(lines + "no record\n", encoding="utf-8")
    place = f"{path}:{len(lines.splitlines()) + 1}"
    assert f"{place}: not JSON" in kraftcheck("replay", path).refusal()
    allowed = kraftcheck("replay", path, "--allow-skipped", 1)
    assert allowed.code == 12
    assert f"skipped {place}: not JSON" in allowed.out


@pytest.mark.parametrize(("kind", "data"), [("CLIENT_QUOTA_RECORD", {}), ("PARTITION_RECORD", {"partitionId": 0})])
def test_an_unknown_version_is_refused_where_the_model_reads_the_kind(
    tmp_path: Path, kind: str, data: dict[str, Any]
) -> None:
    """A later version of a quota passes with a warning; one of a partition is refused, with line and offset."""
    last = batches(TROUBLE)[-1].last_offset
    row = {"offset": last + 1, "batch": last + 1, "epoch": 9, "type": kind, "version": 7, "data": data}
    path = tmp_path / "log.jsonl"
    path.write_text(json_lines(batches(TROUBLE)) + json.dumps(row) + "\n", encoding="utf-8")
    if kind == "PARTITION_RECORD":
        refusal = kraftcheck("replay", path).refusal()
        assert f"offset {last + 1}: PARTITION_RECORD has version 7; known are 0 to 2" in refusal
    else:
        assert document(tmp_path / "rows.json", path)[1]["unknown"] == {"CLIENT_QUOTA_RECORD of version 7": 1}


def pair() -> tuple[Batch, int]:
    """Two ISR changes of different partitions in one batch, and the place of the second in the log of its batch."""
    batch = next(
        one.batch for one in replayed(TROUBLE)
        if one.explanation is not None and len(one.explanation.steps) == 2
        and all(step.candidate.action == "alter_partition" for step in one.explanation.steps)
    )  # fmt: skip
    return batch, next(n for n, other in enumerate(batches(TROUBLE)) if other == batch)


def replay_with(tmp_path: Path, place: int, bad: Batch) -> tuple[int, dict[str, Any], str]:
    """Exit code, the row of a changed batch and the lines for a reader, of the log up to it."""
    path = tmp_path / "bad.jsonl"
    path.write_text(json_lines([*batches(TROUBLE)[:place], bad]), encoding="utf-8")
    code, log = document(tmp_path / "rows.json", path)
    return code, log["rows"][-1], kraftcheck("replay", path).out


def test_an_unexplained_batch_tells_prefix_event_and_values(tmp_path: Path) -> None:
    """The first change is explained, the second is not: its event, and the field with both values, are named."""
    batch, place = pair()
    data = dict(batch.entries[1].data or {})
    bad = with_data(batch, 1, {**data, "isr": [*data["isr"]], "leader": data["isr"][-1]})
    code, row, text = replay_with(tmp_path, place, bad)
    assert code in (12, 23)
    assert (row["explanations"], row["explained_prefix"]) == (0, 1)
    nearest = row["nearest"]
    assert nearest["refused"] == ""
    assert [(d["observed"], d["required"]) for d in nearest["differences"]] == [(data["isr"][-1], None)]
    assert nearest["differences"][0]["field"].endswith(".leader")
    assert f"UNEXPLAINED batch at offset {batch.base_offset}" in text
    assert "1 of 2 records explained" in text
    assert f"leader: observed {data['isr'][-1]}, required null" in text
    assert nearest["event"] in text


def test_a_refused_event_tells_its_guard(tmp_path: Path) -> None:
    """Nothing like these fields is written; the report names the refusing guard, what it saw and what it requires."""
    batches_replayed = replayed(TROUBLE)
    place = next(
        n for n, one in enumerate(batches_replayed)
        if n and any(r.fenced for r in batches_replayed[n - 1].state.controller.image.registrations.values())
        and [(e.type, "isr" in (e.data or {})) for e in one.batch.entries] == [("PARTITION_CHANGE_RECORD", True)]
    )  # fmt: skip
    registrations = batches_replayed[place - 1].state.controller.image.registrations
    fenced = next(b for b, r in registrations.items() if r.fenced)
    batch = batches_replayed[place].batch
    data = dict(batch.entries[0].data or {})
    isr = [*(b for b in data["isr"] if b != fenced), fenced]
    more = {"isr": isr, "leaderRecoveryState": 1, "addingReplicas": [fenced], "removingReplicas": [fenced]}
    code, row, text = replay_with(tmp_path, place, with_data(batch, 0, {**data, **more}))
    assert code in (12, 23)
    assert row["explanations"] == 0
    assert f"proposes ISR {isr}" in row["nearest"]["event"]
    saw = f"broker {fenced} has fenced=True, in_controlled_shutdown=False"
    wants = "required: replicas that are registered, unfenced and not shutting down"
    assert row["nearest"]["refused"] == f"INELIGIBLE_REPLICA ({saw}; {wants})"
    assert f"refused: INELIGIBLE_REPLICA ({saw}" in text


def test_a_record_that_cannot_be_replayed_ends_the_replay(tmp_path: Path) -> None:
    """A change of a partition that there is not: the report names the batch and the reason, and nothing after it."""
    batch, place = pair()
    data = dict(batch.entries[1].data or {})
    bad = with_data(batch, 1, {**data, "partitionId": 77})
    path = tmp_path / "bad.jsonl"
    path.write_text(json_lines([*batches(TROUBLE)[:place], bad, *batches(TROUBLE)[place + 1 :]]), encoding="utf-8")
    code, log = document(tmp_path / "rows.json", path)
    assert code in (12, 23)
    assert log["rows"][-1]["base_offset"] == batch.base_offset
    assert "has no partition 77" in log["rows"][-1]["cannot_replay"]


@pytest.mark.parametrize("command", ["replay", "status", "whatif"])
@pytest.mark.parametrize(("name", "content"), [("e.jsonl", ""), ("e.jsonl", "\n\n"), ("e.txt", "\n"), ("e.log", "")])
def test_nothing_read_is_no_pass(tmp_path: Path, command: str, name: str, content: str) -> None:
    """A log without a batch is refused, whatever its form."""
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert "no record batch" in kraftcheck(command, tmp_path / name).refusal()
