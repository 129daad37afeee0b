"""The memoised replay gives the explanations of the plain replay, which has no memo."""

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from attrs import evolve

from kraftcheck.ci.bench.synthetic import SyntheticLog, SyntheticSize
from kraftcheck.ci.logs import tables
from kraftcheck.ci.logs.format import segments
from kraftcheck.ci.logs.format.fields import decode
from kraftcheck.ci.logs.format.read import SkipCount, find, read, read_compact
from kraftcheck.ci.logs.releases import rules_of
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.records.fields import CODE
from kraftcheck.model.records.records import PartitionChangeRecord, PartitionRecord, ids
from kraftcheck.solvers.logs.explain.explain import ReplayedBatch
from kraftcheck.solvers.logs.explain.state import Batch, CompactBatch
from kraftcheck.solvers.logs.memo.ledger import MemoisedBatch, compact, key_of
from kraftcheck.solvers.logs.memo.replay import MemoisedReplay
from tests.shared.captures import DEAD_LEADER, ELR, EVERY, batches, replay_log, replayed

NODES = 4  # the type of configurations of a broker, which name it as text

Verdict = tuple[int, list[str], tuple[Any, ...]]


def verdict(batch: ReplayedBatch | MemoisedBatch) -> Verdict | None:
    """Number of explanations, events and violations of a batch; None of what is taken as it is."""
    if isinstance(batch, MemoisedBatch):
        return batch.count, batch.names(), batch.violations
    explanation = batch.explanation
    if explanation is None:
        return None
    return explanation.count, [step.name for step in explanation.steps], batch.violations


def replay_with_memo(batches: Iterable[Batch | CompactBatch]) -> tuple[list[Verdict | None], MemoisedReplay]:
    """The verdicts of a log with looking up, and the replay."""
    replay = MemoisedReplay(rules_of)
    return [verdict(batch) for batch in replay.replay(batches)], replay


def relabel(value: Any, key: str = "") -> Any:
    """Fields of a record with other broker ids: 1, 18, 35 for 0, 1, 2."""
    brokers = ("brokerId", "leader", "replicas", "isr", "addingReplicas", "removingReplicas",
               "eligibleLeaderReplicas", "lastKnownElr")  # fmt: skip
    if isinstance(value, dict) and value.get("resourceType") == NODES and value["resourceName"]:
        return {**value, "resourceName": str(int(value["resourceName"]) * 17 + 1)}
    if isinstance(value, dict):
        return {name: relabel(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [relabel(item, key) for item in value]
    return value * 17 + 1 if key in brokers and isinstance(value, int) and value >= 0 else value


def rename_brokers(log: Iterable[Batch]) -> list[Batch]:
    """A log with other broker ids, which Kafka's hash set lists in the same order."""
    return [evolve(b, entries=tuple(evolve(e, data=relabel(dict(e.data or {}))) for e in b.entries)) for b in log]


@pytest.mark.parametrize("folder", EVERY, ids=lambda folder: folder.name)
def test_looking_up_changes_no_verdict_of_a_real_log(folder: Path) -> None:
    """Explanations, their number, violations and the state after each batch are those of the plain replay."""
    replay, hits = MemoisedReplay(rules_of), 0
    memoised_batches = replay.replay(compact(batch) for batch in batches(folder))
    for plain, memoised in zip(replayed(folder), memoised_batches, strict=True):
        assert verdict(memoised) == verdict(plain)
        assert replay.state.controller.image.topics == plain.state.controller.image.topics
        assert replay.state.controller.image.registrations == plain.state.controller.image.registrations
        hits += isinstance(memoised, MemoisedBatch)
    assert hits == replay.memo_hits > len(batches(folder)) / 3


LISTS = ("replicas", "isr", "elr", "last_known_elr", "adding", "removing")


def milliseconds(time: datetime | None) -> int | None:
    """A time of a table, as a log has it."""
    return None if time is None else round(time.timestamp() * 1000)


def write_rows(out: Path, replays: Iterable[ReplayedBatch | MemoisedBatch]) -> dict[str, list[dict[str, Any]]]:
    """The rows of each table of a log."""
    with tables.tables(out, 7, ("a cluster", None), None) as files:
        for batch_replay in replays:
            files.add(batch_replay)
        files.finish(())
    return {kind: pq.read_table(out / kind).to_pylist() for kind in tables.SCHEMAS}


def test_rows_are_written_of_real_logs(tmp_path: Path) -> None:
    """Each partition record has a row with the state after it, in order, each batch its events; a rewrite replaces."""
    for folder in (*EVERY, ELR):
        datasets = write_rows(tmp_path, replayed(folder))
        explanations = [one.explanation for one in replayed(folder) if one.explanation is not None]
        assert [(row["offset"], row["records"], row["explanations"], row["events"]) for row in datasets["batches"]] == [
            (one.batch.base_offset, len(one.records), one.count, [step.name for step in one.steps])
            for one in explanations
        ]
        assert [(row["offset"], row["property"], row["parts"]) for row in datasets["violations"]] == [
            (one.batch.last_offset, v.property, list(v.parts)) for one in replayed(folder) for v in one.violations
        ]
        order = [(row["topic"], row["partition"], row["offset"]) for row in datasets["timelines"]]
        assert order == sorted(set(order))
        rows = [
            (row["topic"], row["topic_id"], row["partition"], row["offset"], milliseconds(row["time"]),
             -1 if row["leader"] is None else row["leader"], row["leader_epoch"], row["partition_epoch"],
             *(tuple(row[name]) for name in LISTS), row["directories"], row["recovering"])
            for row in datasets["timelines"]
        ]  # fmt: skip
        assert rows == sorted(
            (state.controller.topic(record.topic_id).name, record.topic_id, record.partition_id,
             explanation.batch.base_offset + place, explanation.batch.time, p.leader, p.leader_epoch, p.partition_epoch,
             *(ids(getattr(p, name)) for name in LISTS), [CODE.text(one) for one in p.directories.ids], p.recovering)
            for explanation in explanations
            for place, (record, state) in enumerate(zip(explanation.records, explanation.states[1:], strict=False))
            if isinstance(record, PartitionRecord | PartitionChangeRecord)
            for p in [state.controller.topic(record.topic_id).partitions[record.partition_id]]
        )  # fmt: skip
        assert len(order) > 50


@pytest.mark.parametrize("folder", EVERY, ids=lambda folder: folder.name)
def test_looking_up_changes_no_row(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every table is that of the plain replay, written at once or a few rows at a time."""
    plain = write_rows(tmp_path / "slow", replayed(folder))
    memoised = MemoisedReplay(rules_of).replay(map(compact, batches(folder)))
    assert write_rows(tmp_path / "quick", memoised) == plain
    monkeypatch.setattr(tables, "ROWS_AT_ONCE", 10)
    monkeypatch.setattr(tables, "UPDATES_AT_ONCE", 3)
    assert write_rows(tmp_path / "few", MemoisedReplay(rules_of).replay(map(compact, batches(folder)))) == plain
    assert pq.read_metadata(next((tmp_path / "few" / "timelines").iterdir())).num_row_groups > 5


def test_more_explanations_than_fit_are_refused(tmp_path: Path) -> None:
    """A number beyond 64 bits is a refusal that names the batch, not a wrong number, and leaves no file."""
    (tmp_path / "log").mkdir()
    size = SyntheticSize(brokers=4, topics=2, partitions=3, records=400)
    (tmp_path / "log" / f"{0:020}.log").write_bytes(b"".join(SyntheticLog(size).batches()))
    batches = read_compact(find((tmp_path / "log",))[0], SkipCount(0))
    replays = MemoisedReplay(rules_of).replay(batches)
    memoised = next(batch for batch in replays if isinstance(batch, MemoisedBatch))
    memoised.count = (1 << 63) - 1
    assert write_rows(tmp_path, [memoised])["batches"][0]["explanations"] == memoised.count
    memoised.count += 1
    with pytest.raises(Refusal, match=f"a cluster: the batch at offset {memoised.batch.base_offset} has more"):
        write_rows(tmp_path / "over", [memoised])
    assert not [path for path in (tmp_path / "over").rglob("*") if path.is_file()]


@pytest.mark.parametrize("folder", [ELR, DEAD_LEADER], ids=lambda folder: folder.name)
def test_broker_ids_are_names_only(folder: Path) -> None:
    """With other ids the same is explained, and violations name brokers by their ids."""
    other = rename_brokers(batches(folder))
    plain = [verdict(outcome) for outcome in replay_log(other, rules_of)]
    assert replay_with_memo(compact(batch) for batch in other)[0] == plain
    assert [outcome and outcome[0] for outcome in plain] == [
        outcome and outcome[0] for outcome in (verdict(one) for one in replayed(folder))
    ]
    parts = {part for outcome in plain if outcome for v in outcome[2] for part in v.parts if part.startswith("broker ")}
    assert parts == (set() if folder == ELR else {"broker 1", "broker 18", "broker 35"})


@pytest.mark.parametrize("seed", [0, 1])
def test_a_synthetic_log_is_the_models_own(tmp_path: Path, seed: int) -> None:
    """The plain replay explains every batch; the memoised one agrees, and explains nearly all of them from the memo."""
    size = SyntheticSize(brokers=4, topics=2, partitions=3, records=400, seed=seed)
    (tmp_path / f"{0:020}.log").write_bytes(b"".join(SyntheticLog(size).batches()))
    log = find((tmp_path,))[0]
    plain = [verdict(outcome) for outcome in replay_log(read(log, SkipCount(0)), rules_of)]
    memoised, replay = replay_with_memo(read_compact(log, SkipCount(0)))
    assert memoised == plain
    assert all(outcome is not None and outcome[0] >= 1 for outcome in plain)
    violations = {violation.property for outcome in plain if outcome for violation in outcome[2]}
    assert violations <= {"unfenced-where-known"}  # no release waits until it knows the directories of a broker
    assert replay.memo_hits > 0.9 * len(plain)
    names = {name.rstrip("0123456789 ") for outcome in plain if outcome for name in outcome[1]}
    assert {"fence broker", "unfence broker"} <= names


@pytest.mark.parametrize("folder", EVERY, ids=lambda folder: folder.name)
def test_records_encode_as_kafka_wrote_them(folder: Path) -> None:
    """Each record of a captured log is encoded to the very bytes that are in its segment."""
    raw = b"".join(path.read_bytes() for path in folder.glob("*.log"))
    entries = [e for batch in batches(folder) if not batch.control for e in batch.entries]
    for entry in entries:
        assert entry.data is not None
        value = segments.record_bytes(entry.type, entry.version, entry.data)
        assert value in raw
        assert decode(value) == (entry.type, entry.version, dict(entry.data))
    assert len(entries) > 100


@pytest.mark.parametrize("folder", EVERY, ids=lambda folder: folder.name)
def test_compact_batches_are_the_decoded_ones(folder: Path) -> None:
    """What is read without decoding has the same partitions and other records, and decodes to the same."""
    log = find((folder,))[0]
    shapes = set()
    for whole, batch in zip(read(log, SkipCount(0)), read_compact(log, SkipCount(0)), strict=True):
        if isinstance(batch, CompactBatch):
            twin = compact(whole)
            assert isinstance(twin, CompactBatch)
            assert batch.whole() == whole
            assert (batch.keys, batch.other, batch.other_first) == (twin.keys, twin.other, twin.other_first)
            assert batch.place == whole.place
        else:
            assert batch == whole
        shapes.add(type(batch))
    assert shapes == {Batch, CompactBatch}


def test_partitions_have_one_key_each() -> None:
    """Ids that are no UUID, as other writers of JSON have, are keys of their own."""
    topics = ["A" * 22, "A" * 21 + "g", "A" * 21 + "B", "orders", "", "A" * 23]
    keys = {key_of(topic, index) for topic in topics for index in (0, 1, -1)}
    assert len(keys) == 3 * len(topics)
    assert key_of("A" * 22, 1) == bytes([0, 0, 0, 1]) + bytes(16)
