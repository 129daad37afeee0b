"""Drawings of replayed logs: every batch with its events, arrows, changes and violations, from the memo or without."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.ci.logs.format.read import SkipCount, find, read_compact
from kraftcheck.ci.logs.releases import rules_of
from kraftcheck.ci.logs.report import event_kind
from kraftcheck.model.records.records import ids
from kraftcheck.solvers.drawings.log import PARTITION, LogDrawing, arrow_of
from kraftcheck.solvers.logs.explain.explain import ReplayedBatch
from kraftcheck.solvers.logs.memo.ledger import MemoisedBatch
from kraftcheck.solvers.logs.memo.replay import MemoisedReplay
from tests.shared.captures import DEAD_LEADER, ELR, TROUBLE, replayed


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
    partitions, lanes = drawn["partitions"], drawn["lanes"]

    def event(number: int, partition: int) -> tuple[str, ...]:
        text, kind, source, target, label = drawn["words"][number]
        named = text.replace(PARTITION, partitions[partition]) if partition >= 0 else text
        return named, kind, lanes[source], lanes[target], label

    pairs = zip(drawn["events"], drawn["eventPartitions"], strict=True)
    events = groups(drawn["eventCounts"], (event(*pair) for pair in pairs))
    rows = zip(drawn["changed"], drawn["states"], drawn["epochs"], strict=True)
    changes = groups(drawn["changeCounts"], ((partitions[p], *drawn["shown"][s], epoch) for p, s, epoch in rows))
    plain = (drawn[name] for name in ("offsets", "records", "explanations", "places"))
    return list(zip(*plain, events, changes, strict=True))


@pytest.mark.parametrize("folder", [ELR, DEAD_LEADER, TROUBLE], ids=lambda folder: folder.name)
def test_the_memo_draws_what_is_drawn_without_it(folder: Path) -> None:
    """Events, arrows, changes and violations are those of a replay without a memo, which explains each batch anew."""
    (memoised, hits), whole = from_memo(folder), document(replayed(folder))
    assert hits > 0
    assert read_back(memoised) == read_back(whole)
    names = [
        sorted((batch, claim, drawn["partitions"][p], parts) for batch, claim, p, parts in drawn["violations"])
        for drawn in (memoised, whole)
    ]
    assert names[0] == names[1]


@pytest.mark.parametrize("folder", [ELR, TROUBLE], ids=lambda folder: folder.name)
def test_the_last_change_is_the_state_at_the_end(folder: Path) -> None:
    """The last change that is drawn of a partition is its leader, ISR, ELR and replicas at the end of the log."""
    last = {change[0]: change[1:] for row in read_back(from_memo(folder)[0]) for change in row[5]}
    image = replayed(folder)[-1].state.controller.image
    for topic in image.topics.values():
        for index, p in topic.partitions.items():
            leader, isr, elr, replicas, epoch = last[f"{topic.name}-{index}"]
            assert leader == ("none" if p.leader == -1 else str(p.leader))
            for text, brokers in ((isr, p.isr), (elr, p.elr)):
                assert text == "{" + ",".join(map(str, sorted(ids(brokers)))) + "}"
            assert replicas == str(list(ids(p.replicas))).replace(" ", "")
            assert epoch == p.leader_epoch


def test_violations_stand_at_their_batches() -> None:
    """A log that breaks properties has each violation at its batch, with the partition and the part that fails."""
    drawn, _ = from_memo(DEAD_LEADER)
    found = {(drawn["offsets"][b], claim, drawn["partitions"][p], parts) for b, claim, p, parts in drawn["violations"]}
    assert (68, "isr-active-while-led", "lone-0", "broker 1") in found
    assert len(found) == len(drawn["violations"]) == sum(len(batch.violations) for batch in replayed(DEAD_LEADER))


@pytest.mark.parametrize(
    ("text", "action", "ends"),
    [
        ("fence broker 1", "fence", ("controller", "controller", "")),
        ("broker 12 registers", "new_incarnation", ("broker 12", "controller", "BrokerRegistration")),
        (f"leader 2 of {PARTITION} proposes", "alter_partition", ("broker 2", "controller", "AlterPartition")),
        (f"preferred election in {PARTITION}", "elect_preferred", ("controller", "controller", "")),
        ("create topic orders", "", ("operator", "controller", "CreateTopics")),
        ("unregister broker 3", "unregister", ("operator", "controller", "UnregisterBroker")),
        ("not read by replica logic", "", ("controller", "controller", "")),
        ("words without a broker", "unfence", ("controller", "controller", "")),
    ],
)  # fmt: skip
def test_an_event_has_its_lanes(text: str, action: str, ends: tuple[str, str, str]) -> None:
    """What a broker or an operator asks for comes from its lane; what a log does not know the sender of is an event."""
    arrow = arrow_of(text, action)
    assert (arrow.source, arrow.target, arrow.label) == ends
