"""A log that is spread over shares of its partitions comes to what one replay of it comes to."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from kraftcheck.ci.logs.format.read import LogFiles
from kraftcheck.ci.logs.replaying import Replaying
from kraftcheck.ci.logs.spark.join import Counted, TooAmbiguousError, join
from kraftcheck.ci.logs.spark.merge import DivergedError, noted
from kraftcheck.ci.logs.spark.records import RECORD
from kraftcheck.ci.logs.spark.shares import share_notes
from kraftcheck.ci.logs.spark.tasks import Piece, pieces
from kraftcheck.ci.logs.synthetic import Size, Synthetic
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.records.records import Ids
from kraftcheck.solvers.logs.memo.compact import compact
from kraftcheck.solvers.logs.memo.ledger import key_of
from kraftcheck.solvers.logs.runs.shares import SLACK, Shares
from tests.shared.captures import (
    DEAD_LEADER,
    EVERY,
    TROUBLE,
    batches,
    corrupted,
    json_lines,
    replayed,
    segment,
    with_data,
)
from tests.shared.samples import one_in
from tests.solvers.logs.spreading import Outcome, alone, log_of, spread

CORRUPTED = [
    (folder, place, index, number)
    for folder in EVERY
    for place, batch in enumerate(batches(folder))
    for index, entry in enumerate(batch.entries)
    for number, _ in enumerate(corrupted(entry))
]
"""Every corrupted record, by log, batch, record and which way it is corrupted."""


@pytest.mark.parametrize("folder", EVERY, ids=lambda folder: folder.name)
def test_shares_of_a_real_log_come_to_the_same(folder: Path) -> None:
    """Document, lines, exit code and every row of the datasets are those of one replay; most batches are looked up."""
    log, replaying = log_of(folder), Replaying(None)
    whole = alone(log, replaying)
    for shares in (1, 3):
        found, told = spread(log, replaying, shares)
        assert found == whole
        assert len(told.whole) < whole.document["batches"] / 2
        assert len(told.events) > 10
    assert len(whole.datasets["timelines"]) > 50
    assert len(whole.datasets["violations"]) == {DEAD_LEADER: 33, TROUBLE: 1}.get(folder, 0)


@pytest.mark.parametrize("case", one_in(24, CORRUPTED[::17]))
def test_shares_of_a_corrupted_log_come_to_the_same(tmp_path: Path, case: tuple[Path, int, int, int]) -> None:
    """With one field corrupted the same batch is unexplained, in text or segments; what cannot be replayed is left."""
    folder, place, index, number = case
    batch = batches(folder)[place]
    _, data = list(corrupted(batch.entries[index]))[number]
    bad = with_data(batch, index, data)
    path = tmp_path / ("log.jsonl" if place % 3 else "log.log")
    if place % 3:
        path.write_text(json_lines((*batches(folder)[:place], bad, *batches(folder)[place + 1 :])), encoding="utf-8")
    else:
        path.write_bytes(segment(folder, bad))
    log, replaying = log_of(path), Replaying("kafka-4.0" if number % 2 else None)
    found, told = spread(log, replaying, 2 + place % 2)
    if found is None:
        assert told.gave_up
        assert outcome_of(log, replaying) is None
    else:
        assert found == outcome_of(log, replaying)


def outcome_of(log: LogFiles, replaying: Replaying) -> Outcome | None:
    """What one replay of a log comes to; None where it ends before the log does."""
    try:
        found = alone(log, replaying)
    except Refusal:
        return None
    return None if any("it cannot be replayed" in line for line in found.lines) else found


def test_shares_of_a_synthetic_log_come_to_the_same(tmp_path: Path) -> None:
    """All shares have work, and nothing but the log's first batches is explained as a whole."""
    size = Size(brokers=5, topics=4, partitions=5, records=1500, seed=2)
    (tmp_path / f"{0:020}.log").write_bytes(b"".join(Synthetic(size).batches()))
    found, told = spread(log_of(tmp_path), Replaying(None), 3)
    whole = alone(log_of(tmp_path), Replaying(None))
    assert found == whole
    assert whole.code == 0
    assert max(told.whole) < 150 < whole.document["records"]
    assert whole.document["ambiguous"] > 0


def test_timelines_are_in_the_order_of_partitions_and_offsets(tmp_path: Path) -> None:
    """What a share hands over has each partition's records together, in the order of their offsets."""
    size = Size(brokers=5, topics=4, partitions=5, records=1500, seed=2)
    (tmp_path / f"{0:020}.log").write_bytes(b"".join(Synthetic(size).batches()))
    log, tables = log_of(tmp_path), list[pa.Table]()
    for _ in share_notes(log, Replaying(None).share(0, 2), 0, lambda _, table: tables.append(table)):
        continue
    rows = tables[0].filter(tables[0].column("partition").is_valid()).select(["topic", "partition", "offset"])
    order = [tuple(row.values()) for row in rows.to_pylist()]
    assert len({key[:2] for key in order}) == 10
    assert order == sorted(order)


def test_a_first_partition_counts_for_its_topic_in_every_share() -> None:
    """Of a topic's partitions in several shares each needs what the first one's replicas are; see X7."""
    replaying = Replaying("kafka-4.1+min-isr-from-first-partition")
    assert spread(log_of(TROUBLE), replaying, 3)[0] == alone(log_of(TROUBLE), replaying)


def test_properties_that_single_changes_break_are_told_in_order() -> None:
    """Where leaders change without a new epoch, as a rule set has it, the violations are those of one replay."""
    log, replaying = log_of(DEAD_LEADER), Replaying("kafka-4.1+leader-change-keeps-epoch")
    found, told = spread(log, replaying, 2)
    assert found == alone(log, replaying)
    assert len(told.violated) > 1


def test_partitions_with_the_same_replicas_share_while_there_is_room() -> None:
    """Shares are by replicas, but none is larger than the smallest by more than a quarter and some."""
    shares, lists = Shares(3), [(0, 1, 2), (1, 2, 0), (2, 0, 1)]
    for n, replicas in enumerate(lists * 10):
        shares.add(bytes([n]), replicas)
    assert [shares.owners[bytes([n])] for n in range(30)] == [0, 1, 2] * 10
    one: Ids = (0,)
    for n in range(30, 250):
        shares.add(bytes([n]), one)
    shares.add(bytes([0]), one)
    sizes = [list(shares.owners.values()).count(share) for share in range(3)]
    assert sum(sizes) == 250
    assert max(sizes) <= min(sizes) + min(sizes) // 4 + SLACK + 1


def test_large_logs_are_spread_by_their_share_of_the_bytes(tmp_path: Path) -> None:
    """One large segment takes all tasks, two alike take half of them each; text and small logs are one task."""
    logs = []
    for name, size in (("a.log", 4000), ("b.log", 4000), ("c.log", 100), ("d.jsonl", 4000)):
        (tmp_path / name).write_bytes(bytes(size))
        logs.append(LogFiles(name, (tmp_path / name,)))
    assert pieces(logs[:1], 3, 1000) == [Piece(0, share, 3) for share in range(3)]
    assert pieces(logs[:2], 4, 1000) == [Piece(log, share, 2) for log in (0, 1) for share in range(2)]
    assert pieces([logs[0], logs[2]], 2, 1000) == [Piece(0, 0, 2), Piece(0, 1, 2), Piece(1)]
    assert pieces(logs[3:], 4, 1000) == [Piece(0)]
    assert pieces(logs[:1], 4, 5000) == [Piece(0)]


def test_a_missing_share_is_no_verdict() -> None:
    """Notes of fewer shares than there are end the run."""
    with pytest.raises(DivergedError, match=r"of 2 shares \[1\] ended"):
        noted(['{"end": 1, "blocks": [], "totals": null}'], 2)


def test_more_explanations_than_fit_are_refused() -> None:
    """A product beyond 64 bits is an error, not a wrong number."""
    row = dict.fromkeys(RECORD, 0) | {"cluster": "c", "event": "e", "action": "a", "explanations": 3}
    row |= {"topic": None, "replicas": None, "isr": None, "elr": None}
    rows = [row | {"offset": n} for n in range(40)]
    table, counted = join([pa.Table.from_pylist(rows[:39], pa.schema(RECORD))], [])
    assert table.column("explanations").to_pylist() == [3**39]
    assert counted == Counted({"a": (39, 0)}, {3**39: 1})
    with pytest.raises(TooAmbiguousError):
        join([pa.Table.from_pylist(rows, pa.schema(RECORD))], [])


@pytest.mark.parametrize("folder", EVERY, ids=lambda folder: folder.name)
def test_a_share_knows_its_partitions_and_the_first_of_each_topic(folder: Path) -> None:
    """After each batch a share's partitions are the log's, and so are the replicas of first partitions it has not."""
    seen: set[tuple[str, int, bool]] = set()
    for share in (0, 1):
        parts = (replay := Replaying(None).share(share, 2)).parts(map(compact, batches(folder)))
        for part, whole in zip(parts, replayed(folder), strict=True):
            topics, own = whole.state.controller.image.topics, replay.state.controller.image.topics
            assert own.keys() == topics.keys()
            for topic_id, topic in own.items():
                for index, p in topic.partitions.items():
                    mine = replay.owns(key_of(topic_id, index))
                    there = topics[topic_id].partitions[index]
                    assert p == there if mine else (index == 0 and p.replicas == there.replicas), part.batch.place
                    seen.add((topic_id, p.replicas.size(), mine))
    assert len({topic for topic, _, mine in seen if mine}) > 2
