"""The record of a night: its commit, what has run, what has failed, and what has not."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.ci.night.shards import outcomes
from tests.shared.places import DOCS

DATA = DOCS / "reference" / "night.json"
PAGE = DOCS / "reference" / "night.md"


def recorded(folder: Path, commit: str, every: Sequence[str]) -> dict[str, Any]:
    """What the shards of a commit have noted, of all items that there are."""
    told = outcomes(folder)
    ended = max((place.stat().st_mtime for place in folder.glob("*.jsonl")), default=0.0)
    return {
        "commit": commit,
        "date": datetime.fromtimestamp(ended, UTC).date().isoformat(),
        "files": {file: dict(sorted(counts.items())) for file, counts in sorted(_by_file(told, every).items())},
        "failed": sorted(item for item in every if told.get(item) == "failed"),
    }


def _by_file(told: Mapping[str, str], every: Sequence[str]) -> Mapping[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {}
    for item in every:
        counts.setdefault(item.partition("::")[0], Counter())[told.get(item, "not run")] += 1
    return counts


def page(place: Path = DATA) -> str:
    """The record as a page."""
    return "\n".join(_lines(json.loads(place.read_text(encoding="utf-8")))) + "\n"


def _lines(night: Mapping[str, Any]) -> Iterator[str]:
    total = sum((Counter(counts) for counts in night["files"].values()), Counter[str]())
    told = ", ".join(f"{number:,} {outcome}" for outcome, number in sorted(total.items()))
    yield from (
        "# The last night", "",
        "What takes long runs by night: `./ci/nightly`, in shards that resume. This is the last record, made by",
        "`python -m tests.ci.night record` and `python -m tests.documentation`. `not run` is no pass.", "",
        f"Commit `{night['commit']}`, {night['date']}: {told}.", "",
        "| file | passed | failed | skipped | not run |", "|---|---|---|---|---|",
    )  # fmt: skip
    for file, counts in night["files"].items():
        numbers = (f"{counts.get(outcome, 0):,}" for outcome in ("passed", "failed", "skipped", "not run"))
        yield f"| `{file}` | {' | '.join(numbers)} |"
    if night["failed"]:
        yield from ("", "Failed:", "", *(f"* `{item}`" for item in night["failed"]))
