"""Drawings of replayed logs: every batch with its events, changes and violations, from the memo or without."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.ci.logs.condition import condition_of
from kraftcheck.ci.logs.format.read import SkipCount, find, read_compact
from kraftcheck.ci.logs.releases import rules_of
from kraftcheck.ci.logs.report import ReplayOptions, event_kind
from kraftcheck.solvers.drawings.log import BROKER_STATES, GONE, PARTITION, LogDrawing
from kraftcheck.solvers.logs.explain.explain import ReplayedBatch
from kraftcheck.solvers.logs.memo.ledger import MemoisedBatch
from kraftcheck.solvers.logs.memo.replay import MemoisedReplay
from tests.shared.captures import CAPTURED, DEAD_LEADER, ELR, TROUBLE, batches, json_lines, replayed


def document(batches: Iterable[ReplayedBatch | MemoisedBatch]) -> dict[str, Any]:
    """What is drawn of some batches."""
    drawing = LogDrawing(event_kind)
    for batch in batches:
        drawing.add(batch)
    return drawing.document()


def from_memo(folder: Path) -> tuple[dict[str, Any], int]:
    """What is drawn of a log whose explanations are memoised, and how many are."""
    replay = MemoisedReplay(rules_of)
    (log,) = find((folder,))
    return document(replay.replay(read_compact(log, SkipCount(0)))), replay.memo_hits


def groups(counts: list[int], rows: Iterable[Any]) -> list[list[Any]]:
    """Rows, parted into groups of these sizes."""
    listed = list(rows)
    return [listed[start:end] for start, end in pairwise(accumulate(counts, initial=0))]


def read_back(drawn: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Of each batch what the columns say of it, in words."""
    partitions = drawn["partitions"]

    def event(number: int, partition: int) -> tuple[str, str, int]:
        text, kind, broker = drawn["words"][number]
        named = text.replace(PARTITION, partitions[partition]) if partition >= 0 else text
        return named, kind, broker

    pairs = zip(drawn["events"], drawn["eventPartitions"], strict=True)
    events = groups(drawn["eventCounts"], (event(*pair) for pair in pairs))
    rows = zip(drawn["changed"], drawn["states"], drawn["epochs"], drawn["within"], strict=True)
    gone = (None,) * 5
    told = ((partitions[p], *(gone if s == GONE else drawn["shown"][s]), *more) for p, s, *more in rows)
    changes = groups(drawn["changeCounts"], told)
    plain = (drawn[name] for name in ("offsets", "records", "explanations", "places", "times"))
    return list(zip(*plain, events, changes, strict=True))


@pytest.mark.parametrize("folder", [ELR, DEAD_LEADER, TROUBLE], ids=lambda folder: folder.name)
def test_the_memo_draws_what_is_drawn_without_it(folder: Path) -> None:
    """Events, changes and violations are those of a replay without a memo, which explains each batch anew."""
    (memoised, hits), whole = from_memo(folder), document(replayed(folder))
    assert hits > 0
    assert read_back(memoised) == read_back(whole)
    names = [
        sorted((batch, claim, drawn["partitions"][p], parts) for batch, claim, p, parts in drawn["violations"])
        for drawn in (memoised, whole)
    ]
    assert names[0] == names[1]


@pytest.mark.parametrize("least", [2, 9])
@pytest.mark.parametrize("folder", [ELR, TROUBLE, CAPTURED / "kafka-3.5.2"], ids=lambda folder: folder.name)
def test_the_last_change_is_the_state_at_the_end(folder: Path, least: int, tmp_path: Path) -> None:
    """The last change that is drawn of a partition is what `status` shows of it, with the min ISR that its leader asks.

    That is more than there are replicas up to 3.6, where that is configured.
    """
    text, path = json_lines(batches(folder)), tmp_path / "log.jsonl"
    path.write_text(re.sub(r'("min.insync.replicas", "value": )"2"', rf'\1"{least}"', text), encoding="utf-8")
    last = {change[0]: change[1:] for row in read_back(from_memo(path)[0]) for change in row[6]}
    found = condition_of(path, ReplayOptions(None))["partitions"]
    columns = ("leader", "isr", "elr", "replicas", "min_isr")
    rows = {f"{row['topic']}-{row['partition']}": [row[name] for name in columns] for row in found}
    assert {name: [*shown[:5]] for name, shown in last.items() if shown[0] is not None} == rows
    assert max(row[4] for row in rows.values()) == (9 if folder.name == "kafka-3.5.2" and least == 9 else min(least, 3))


@pytest.mark.parametrize("folder", [ELR, TROUBLE, CAPTURED / "kafka-4.4.0"], ids=lambda folder: folder.name)
def test_what_brokers_do_is_that_of_their_registrations(folder: Path) -> None:
    """After each batch a broker is gone, live, shutting down or down, as its registration is; only changes are told."""
    drawn, batches = from_memo(folder)[0], replayed(folder)
    told = list(drawn["brokers"])
    doing = dict[int, str]()
    for number, batch in enumerate(batches):
        while told and told[0][0] == number:
            _, broker, state = told.pop(0)
            assert doing.get(broker) != BROKER_STATES[state]
            doing[broker] = BROKER_STATES[state]
        known = batch.state.controller.image.registrations
        assert {broker for broker, word in doing.items() if word != "gone"} == known.keys()
        for broker, registration in known.items():
            down = {"fenced", "shut down", "starting"}
            up = {"shutting down"} if registration.in_controlled_shutdown else {"live"}
            assert doing[broker] in (down if registration.fenced else up)
    assert not told
    assert {"live", "fenced", "starting", "shut down"} <= {BROKER_STATES[state] for _, _, state in drawn["brokers"]}


def test_violations_stand_at_their_batches() -> None:
    """A log that breaks properties has each violation at its batch, with the partition and the part that fails."""
    drawn, _ = from_memo(DEAD_LEADER)
    found = {(drawn["offsets"][b], claim, drawn["partitions"][p], parts) for b, claim, p, parts in drawn["violations"]}
    assert (68, "isr-active-while-led", "lone-0", "broker 1") in found
    assert len(found) == len(drawn["violations"]) == sum(len(batch.violations) for batch in replayed(DEAD_LEADER))


def test_an_event_names_its_broker() -> None:
    """A broker's lane has the events whose words name it; others are nobody's."""
    drawn, _ = from_memo(TROUBLE)
    found = {text: broker for text, _, broker in drawn["words"]}
    assert found["fence broker 1"] == found["unfence broker 1"] == 1
    assert found["create topic loose"] == -1
    assert {broker for text, broker in found.items() if text.startswith("leader 2 of ")} == {2}
