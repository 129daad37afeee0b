"""The evidence: what was observed of each finding in each release, as recorded in this folder."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import attrs
from attrs import frozen

PLACE = Path(__file__).parent / "evidence.json"

LIVE, MANAGERS, RULES, ABSENT, NOT_RUN = "live", "managers", "rules", "no", "-"
"""The strongest that shows a finding: a live cluster, the release's own classes, its rules; or it is not there, or
nothing was searched or run."""


@frozen
class Evidence:
    """What was observed of a finding in a release.

    Attributes:
        finding, release: of which.
        steps: the length of the shortest trace by the rules of the release; None where the property holds.
        mend_suffices: whether the property holds with the finding's choices alone switched off; None without a trace.
        managers: how the classes of the release answer the trace, that of the newest release that has one where its
            own rules have none; None where they were not asked.
        events: the steps of the trace.
        for_ever: how many of its last steps are repeated for ever, 0 where nothing happens any more; None for a trace
            that is no lasso, and without a trace.
    """

    finding: str
    release: str
    steps: int | None
    mend_suffices: bool | None
    managers: str | None
    events: tuple[str, ...]
    for_ever: int | None = None


def recorded() -> dict[tuple[str, str], Evidence]:
    """The recorded evidence by finding and release."""
    rows = json.loads(PLACE.read_text(encoding="utf-8"))
    listed = [Evidence(**{**row, "events": tuple(row["events"])}) for row in rows]
    return {(row.finding, row.release): row for row in listed}


def record(rows: Iterable[Evidence]) -> None:
    """Write the evidence, whole."""
    text = ",\n".join(json.dumps(attrs.asdict(row, filter=_is_said)) for row in rows)
    PLACE.write_text(f"[\n{text}\n]\n", encoding="utf-8")


def _is_said(field: attrs.Attribute[object], value: object) -> bool:
    """What a row of the file has: nothing is said of lassos where there is none."""
    return field.name != "for_ever" or value is not None
