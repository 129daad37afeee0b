"""The summary of the replay of one log, as lines for a reader."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kraftcheck.ci.logs.summary import Summary
from kraftcheck.solvers.logs.explain.explain import Explanation
from kraftcheck.solvers.logs.explain.matching import Difference

SHOWN_DIFFERENCES = 8
"""Differences of one batch that are listed for readers; the document has all."""


def lines(summary: Summary, verbose: bool = False) -> list[str]:
    """The summary for a reader."""
    explained = summary.batches - len(summary.unexplained)
    text = [f"{summary.name}: {summary.batches} batches, {summary.records} records, rules {summary.rules}"]
    text += [f"  {note}" for note in summary.notes]
    text += taken_lines(summary)
    if verbose:
        text += [_line(row) for row in summary.rows]
    text += passed_lines(summary)
    if summary.events:
        text.append("  events: " + ", ".join(f"{n} {name}" for name, n in summary.events.most_common()))
    ambiguous = sum(summary.ambiguous.values())
    most = f" (up to {max(summary.ambiguous)} explanations)" if ambiguous else ""
    text.append(f"  explained {explained} of {summary.batches} batches, {ambiguous} of them ambiguous{most}")
    for explanation in summary.unexplained:
        text += unexplained_lines(explanation)
    if summary.unreplayed:
        text.append(f"  {summary.unreplayed} batches after that are not replayed")
    if summary.batches:
        text.append(f"  properties: {summary.properties_checked} checked, {len(summary.violations)} violations")
    for batch, violation in summary.violations:
        parts = ", ".join(violation.parts)
        text.append(
            f"  VIOLATED {violation.property} by {violation.topic}-{violation.partition} after offset "
            f"{batch.last_offset} ({batch.place}): {parts}"
        )
    return text


def taken_lines(summary: Summary) -> list[str]:
    """What was not explained because it is taken as it is, or has not happened."""
    text = []
    if summary.snapshot_records:
        held = f"; it holds {summary.in_snapshot} batches of segments, passed over" if summary.in_snapshot else ""
        text.append(f"  snapshot: {summary.snapshot_records} records taken as they are{held}")
    if summary.undone:
        fates = ", ".join(f"{count} {fate}" for fate, count in summary.undone.items())
        text.append(
            f"  transactions: {fates}; their {summary.undone_records} records have not happened, "
            "and are neither explained nor judged"
        )
    return text


def passed_lines(summary: Summary) -> list[str]:
    """What was passed through or skipped."""
    text = []
    if summary.unread:
        text.append(f"  passed through: {_counts(summary.unread)}")
    if summary.unknown:
        text.append(
            f"  WARNING: not known, and passed through unread: {_counts(summary.unknown)}; "
            "if they concern partitions, brokers or configurations, what follows is judged without them"
        )
    return text + [f"  skipped {place}" for place in summary.skipped]


def _counts(kinds: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))


def _line(row: dict[str, Any]) -> str:
    if "undone" in row:
        return f"  offset {row['base_offset']}, {row['records']} records, transaction {row['undone']}"
    events = "; ".join(event["event"] for event in row["events"])
    return f"  offset {row['base_offset']}, {row['records']} records, {row['explanations']} explanations: {events}"


def unexplained_lines(explanation: Explanation) -> list[str]:
    """Why a batch is not explained: the nearest event, and the fields in which it differs."""
    batch = explanation.batch
    text = [
        f"  UNEXPLAINED batch at offset {batch.base_offset} ({batch.place}): "
        f"{explanation.prefix} of {len(explanation.records)} records explained"
    ]
    if explanation.replay_error:
        text.append(f"    it cannot be replayed, and the replay ends here: {explanation.replay_error}")
    if explanation.nearest is not None:
        text.append(
            f"    nearest: {explanation.nearest.name}"
            + (f", refused: {explanation.nearest.refusal}" if explanation.nearest.refusal else "")
        )
        shown = explanation.nearest.differences[:SHOWN_DIFFERENCES]
        text += [f"      {_difference(difference)}" for difference in shown]
        if len(explanation.nearest.differences) > len(shown):
            text.append(f"      and {len(explanation.nearest.differences) - len(shown)} differences more")
    return text


def _difference(difference: Difference) -> str:
    required, observed = (json.dumps(value, default=str) for value in (difference.prediction, difference.observed))
    return f"{difference.field}: observed {observed}, required {required}"
