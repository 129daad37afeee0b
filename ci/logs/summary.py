"""What the replay of a log found, for readers and as a document."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from attrs import define, field

from kraftcheck.solvers.logs.explain.entries import Batch, CompactBatch
from kraftcheck.solvers.logs.explain.explain import Explanation, NearestEvent
from kraftcheck.solvers.logs.explain.judge import LogViolation, log_properties
from kraftcheck.solvers.logs.explain.matching import Difference
from kraftcheck.solvers.logs.explain.replay import ReplayedBatch
from kraftcheck.solvers.logs.explain.state import METADATA_VERSION, State, UnreadRecord
from kraftcheck.solvers.logs.memo.lookup import MemoisedBatch
from kraftcheck.solvers.program.verdict import EXIT_SAFETY

NON_CONFORMANT = 23
"""Exit code when a batch is not explained."""

DOCUMENT_VERSION = 1
"""Version of the JSON document."""

SHOWN_DIFFERENCES = 8
"""Differences of one batch that are listed for readers; the document has all."""


@define
class Summary:
    """What became of one log.

    Attributes:
        name: of the log.
        rules: the rule set.
        batches: how many batches were to be explained.
        loaded: how many records of a snapshot were taken as they are.
        records: how many records the batches hold.
        control: how many batches the quorum wrote for itself.
        events: the explaining events by what `elections` calls them, else by their words.
        passed: records that replica logic does not read, by kind.
        ambiguous: batches by the number of their explanations, where there are several.
        unexplained: those batches.
        violations: properties that do not hold, with the batch after which they first do not.
        detailed: whether `rows` are wanted.
        rows: one a batch, for the document.
        skipped: undecodable places.
        state: after the last batch.
    """

    name: str
    rules: str | None
    batches: int = 0
    loaded: int = 0
    records: int = 0
    control: int = 0
    violations_of: int = 0
    events: Counter[str] = field(factory=Counter)
    passed: Counter[str] = field(factory=Counter)
    ambiguous: Counter[int] = field(factory=Counter)
    unexplained: list[Explanation] = field(factory=list)
    violations: list[tuple[Batch | CompactBatch, LogViolation]] = field(factory=list)
    detailed: bool = True
    rows: list[dict[str, Any]] = field(factory=list)
    skipped: tuple[str, ...] = ()
    state: State | None = None

    @property
    def level(self) -> int | None:
        """The metadata version, if the log names one."""
        return None if self.state is None else self.state.levels.get(METADATA_VERSION)

    @property
    def violated(self) -> bool:
        """Whether some property does not hold."""
        return bool(self.violations)

    def exit_code(self) -> int:
        """0 when all is explained and every property holds."""
        return EXIT_SAFETY if self.violations else NON_CONFORMANT if self.unexplained else 0

    def add(self, replayed: ReplayedBatch | MemoisedBatch) -> None:
        """Count one more batch."""
        if isinstance(replayed, MemoisedBatch):
            self._add_quick(replayed)
            return
        found = replayed.explanation
        if found is None:
            self.control += replayed.batch.control
            self.loaded += 0 if replayed.batch.control else len(replayed.batch.entries)
            return
        self.violations_of = len(log_properties(replayed.rules))
        self.batches += 1
        self.records += len(found.records)
        self.passed.update(record.type for record in found.records if isinstance(record, UnreadRecord))
        self.events.update(called(step.name, step.candidate.action) for step in found.steps)
        if found.count > 1:
            self.ambiguous[found.count] += 1
        if not found.explained:
            self.unexplained.append(found)
        self.violations += [(found.batch, violation) for violation in replayed.violations]
        if self.detailed:
            self.rows.append(_row(found, replayed.violations))

    def _add_quick(self, quick: MemoisedBatch) -> None:
        if not self.violations_of:
            self.violations_of = len(log_properties(quick.rules))
        self.batches += 1
        self.records += len(quick.batch)
        for body in quick.batch.bodies if None in quick.batch.keys else ():
            if isinstance(body, str):
                self.passed[body] += 1
        for event in quick.events():
            self.events[called(event.name, event.action)] += 1
        if quick.count > 1:
            self.ambiguous[quick.count] += 1
        if quick.violations:
            self.violations += [(quick.batch, violation) for violation in quick.violations]
        if self.detailed:
            self.rows.append(_quick_row(quick))

    def document(self) -> dict[str, Any]:
        """The summary as plain values."""
        return {
            "log": self.name,
            "rules": self.rules,
            "batches": self.batches,
            "records": self.records,
            "snapshot_records": self.loaded,
            "control_batches": self.control,
            "explained": self.batches - len(self.unexplained),
            "unexplained": len(self.unexplained),
            "ambiguous": sum(self.ambiguous.values()),
            "passed_through": dict(self.passed),
            "skipped": list(self.skipped),
            "events": dict(self.events),
            "properties": self.violations_of,
            "violations": len(self.violations),
            "rows": self.rows,
        }


def called(name: str, action: str) -> str:
    """What kind of event a name is of: what `elections` calls it, else its words without names and numbers."""
    if action:
        return action
    kinds = (
        "create topic", "delete topic", "registers", "amends", "not read by replica logic", "bootstrap", "add ",
    )  # fmt: skip
    return next((kind.strip() for kind in kinds if kind in name), name)


def _row(found: Explanation, violations: tuple[LogViolation, ...]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "place": found.batch.place,
        "base_offset": found.batch.base_offset,
        "records": len(found.records),
        "explanations": found.count,
        "events": [{"event": step.name, "records": [step.start, step.end]} for step in found.steps],
    }
    if not found.explained:
        row["explained_prefix"] = found.prefix
        row["cannot_replay"] = found.replay_error
        row["nearest"] = None if found.nearest is None else _miss(found.nearest)
    return row | _broken(violations)


def _quick_row(quick: MemoisedBatch) -> dict[str, Any]:
    """The row of a batch that was looked up; as `_row` has it."""
    names, size = quick.names(), len(quick.batch)
    length = size // len(names)  # one event for each record, or one for all
    spans = ([start, start + length] for start in range(0, size, length))
    return {
        "place": quick.batch.place,
        "base_offset": quick.batch.base_offset,
        "records": size,
        "explanations": quick.count,
        "events": [{"event": name, "records": span} for name, span in zip(names, spans, strict=True)],
    } | _broken(quick.violations)


def _broken(violations: tuple[LogViolation, ...]) -> dict[str, Any]:
    if not violations:
        return {}
    rows = (
        {"property": v.property, "topic": v.topic, "partition": v.partition, "parts": list(v.parts)} for v in violations
    )
    return {"violations": list(rows)}


def _miss(miss: NearestEvent) -> dict[str, Any]:
    rows = [{"field": d.field, "required": d.prediction, "observed": d.observed} for d in miss.differences]
    return {"event": miss.name, "refused": miss.refusal, "differences": rows}


def lines(summary: Summary, verbose: bool = False) -> list[str]:
    """The summary for a reader."""
    explained = summary.batches - len(summary.unexplained)
    text = [f"{summary.name}: {summary.batches} batches, {summary.records} records, rules {summary.rules}"]
    if summary.loaded:
        text.append(f"  snapshot: {summary.loaded} records taken as they are")
    if verbose:
        text += [_line(row) for row in summary.rows]
    if summary.passed:
        text.append("  passed through: " + ", ".join(f"{n} {kind}" for kind, n in sorted(summary.passed.items())))
    text += [f"  skipped {place}" for place in summary.skipped]
    if summary.events:
        text.append("  events: " + ", ".join(f"{n} {name}" for name, n in summary.events.most_common()))
    several = sum(summary.ambiguous.values())
    most = f" (up to {max(summary.ambiguous)} explanations)" if several else ""
    text.append(f"  explained {explained} of {summary.batches} batches, {several} of them ambiguous{most}")
    for found in summary.unexplained:
        text += _unexplained(found)
    if summary.batches:
        text.append(f"  properties: {summary.violations_of} checked, {len(summary.violations)} violations")
    for batch, violation in summary.violations:
        parts = ", ".join(violation.parts)
        text.append(
            f"  VIOLATED {violation.property} by {violation.topic}-{violation.partition} after offset "
            f"{batch.last_offset} ({batch.place}): {parts}"
        )
    return text


def _line(row: dict[str, Any]) -> str:
    events = "; ".join(event["event"] for event in row["events"])
    return f"  offset {row['base_offset']}, {row['records']} records, {row['explanations']} explanations: {events}"


def _unexplained(found: Explanation) -> list[str]:
    batch = found.batch
    text = [
        f"  UNEXPLAINED batch at offset {batch.base_offset} ({batch.place}): {found.prefix} of {len(found.records)} "
        "records explained"
    ]
    if found.replay_error:
        text.append(f"    it cannot be replayed, and the replay ends here: {found.replay_error}")
    if found.nearest is not None:
        text.append(
            f"    nearest: {found.nearest.name}"
            + (f", refused: {found.nearest.refusal}" if found.nearest.refusal else "")
        )
        shown = found.nearest.differences[:SHOWN_DIFFERENCES]
        text += [f"      {_difference(difference)}" for difference in shown]
        if len(found.nearest.differences) > len(shown):
            text.append(f"      and {len(found.nearest.differences) - len(shown)} differences more")
    return text


def _difference(difference: Difference) -> str:
    required, observed = (json.dumps(value, default=str) for value in (difference.prediction, difference.observed))
    return f"{difference.field}: observed {observed}, required {required}"
