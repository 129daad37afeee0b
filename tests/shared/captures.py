"""The captured logs of real clusters, and logs made of them by changing one field."""

import json
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from attrs import evolve

from kraftcheck.ci.logs.format import segments
from kraftcheck.ci.logs.format.read import SkipCount, find, read
from kraftcheck.ci.logs.releases import rules_of
from kraftcheck.model.controller.state import Controller, Settings
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.logs.explain.explain import FOOTER, HEADER, ReplayedBatch, explain, violations_of
from kraftcheck.solvers.logs.explain.state import Batch, LogEntry, Undone, effective, elected, empty, load
from tests.shared.places import TESTS

CAPTURED = TESTS / "captured"
ELR, NO_ELR = CAPTURED / "elr", CAPTURED / "no-elr"  # Kafka 4.1.0 with eligible leader replicas, and without

DEAD_LEADER = CAPTURED / "kafka-4.0.0-elr"  # Kafka 4.0.0 with ELR, which elects dead last known leaders (KAFKA-19522)

TROUBLE = CAPTURED / "trouble"  # Kafka 4.1.0, where ELR is switched on on the way and brokers are unregistered

NEWEST, RECENT = CAPTURED / "kafka-4.4.0", (CAPTURED / "kafka-4.2.1", CAPTURED / "kafka-4.3.1")
"""What operators do to a cluster of today, with brokers whose order in a hash set is not ascending."""

_RESTARTED = ("3.3.2", "3.5.2", "3.6.2", "3.7.2", "3.8.1", "4.2.2", "4.2.2-no-elr")
OLDER = tuple(CAPTURED / f"kafka-{release}" for release in _RESTARTED)
"""Brokers killed and stopped, one by one and all, where unclean elections are configured; segments alone."""

EVERY = tuple(sorted(path for path in CAPTURED.iterdir() if path.is_dir() and path not in (*RECENT, *OLDER)))
"""Every captured log but those like the newest and the older ones; the others are of 3.9.1 and 4.0.0, without ELR."""

BROKERS = (0, 1, 2)


@cache
def batches(folder: Path = ELR) -> tuple[Batch, ...]:
    """The batches of a captured log."""
    return tuple(batch for log in find((folder,)) for batch in read(log, SkipCount(0)))


def replay_log(
    batches: Iterable[Batch], rules: Callable[[int | None], RuleSet], settings: Settings | None = None
) -> Iterator[ReplayedBatch]:
    """Replay a log without a memo, the oracle of the one with it; it ends early after a batch that cannot be replayed.

    Args:
        batches: in the order of their offsets.
        rules: the rule set for the highest metadata version that the controller supports, None while the log names
            none.
        settings: the controller's static configuration.
    """
    state, in_snapshot = empty(Controller(settings=settings or Settings())), False
    for batch in effective(batches):
        rule_set = rules(state.supported_level())
        if isinstance(batch, Undone):
            state = state.at(batch.batch.last_offset + 1)
            yield ReplayedBatch(batch.batch, None, (), state, rule_set, batch)
            continue
        assert isinstance(batch, Batch)  # none of those given is compact
        if batch.control:
            kinds = {entry.type for entry in batch.entries}
            in_snapshot = (in_snapshot or HEADER in kinds) and FOOTER not in kinds
            state = elected(state, batch)
            yield ReplayedBatch(batch, None, (), state, rule_set)
        elif in_snapshot:
            state = load(state.at(batch.base_offset), batch, rule_set)
            yield ReplayedBatch(batch, None, (), state, rule_set)
        else:
            explanation = explain(state, batch, rule_set)
            state = explanation.after
            yield ReplayedBatch(batch, explanation, tuple(violations_of(explanation, rule_set)), state, rule_set)
            if explanation.replay_error:
                return


@cache
def replayed(folder: Path = ELR) -> tuple[ReplayedBatch, ...]:
    """What becomes of each batch of a captured log."""
    return tuple(replay_log(batches(folder), rules_of))


def json_lines(given: Iterable[Batch]) -> str:
    """Batches as JSON lines."""
    rows = (
        {"offset": e.offset, "batch": b.base_offset, "epoch": b.epoch, "control": b.control,
         "type": e.type, "version": e.version, "data": dict(e.data or {})}
        for b in given for e in b.entries
    )  # fmt: skip
    return "".join(json.dumps(row) + "\n" for row in rows)


def with_data(batch: Batch, index: int, data: dict[str, Any]) -> Batch:
    """The batch with other fields of one record."""
    entries = (*batch.entries[:index], evolve(batch.entries[index], data=data), *batch.entries[index + 1 :])
    return evolve(batch, entries=entries)


def segment(folder: Path, batch: Batch) -> bytes:
    """The segment of a captured log, with a batch in place of the one that has its offsets."""
    (raw,) = (path.read_bytes() for path in folder.glob("*.log"))
    start = next(int(b.place.rpartition(" ")[2]) for b in batches(folder) if b.base_offset == batch.base_offset)
    values = [segments.record_bytes(e.type, e.version, dict(e.data or {})) for e in batch.entries]
    size = segments.HEADER.unpack_from(raw, start)[1] + 12
    return raw[:start] + segments.batch_bytes(batch.base_offset, batch.epoch, values) + raw[start + size :]


def cut(first: int = 0, end: int = 1 << 62, folder: Path = TROUBLE) -> bytes:
    """The batches of a captured segment that begin at some offsets, as they are in it."""
    (path,) = folder.glob("*.log")
    raw, places = path.read_bytes(), {b.base_offset: int(b.place.rpartition(" ")[2]) for b in batches(path)}
    inside = [place for base, place in places.items() if first <= base < end]
    behind = [place for base, place in places.items() if base >= end]
    return raw[min(inside) : min(behind, default=len(raw))] if inside else b""


def corrupted(entry: LogEntry) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every way of changing one field of a record: the field's kind and the data."""
    data = dict(entry.data or {})
    if entry.type in ("PARTITION_CHANGE_RECORD", "PARTITION_RECORD"):
        if "leader" in data:
            yield from (("leader", {**data, "leader": b}) for b in (-1, *BROKERS) if b != data["leader"])
        for field in ("isr", "eligibleLeaderReplicas", "lastKnownElr"):
            if data.get(field) is not None:
                yield from ((field, {**data, field: _toggled(data[field], b)}) for b in BROKERS)
        for place, text in enumerate(data.get("directories", ())):
            changed = [*data["directories"]]
            changed[place] = ("c" if text[0] == "b" else "b") + text[1:]
            yield "directories", {**data, "directories": changed}
    for field in ("leaderEpoch", "partitionEpoch", "brokerEpoch"):
        if field in data and entry.type != "PRODUCER_IDS_RECORD":
            yield "epoch", {**data, field: data[field] + 1}


def _toggled(brokers: list[int], broker: int) -> list[int]:
    return [b for b in brokers if b != broker] if broker in brokers else [*brokers, broker]
