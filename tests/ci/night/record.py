"""The record of nights: for each file the commit of its last one, what has run, what has failed, and what has not."""

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
NOT_RUN = "not run"


NEVER = ""  # the date of a file that no night has run


def kept(place: Path = DATA) -> dict[str, dict[str, Any]]:
    """The record that there is, by file; empty where there is none."""
    rows: dict[str, dict[str, Any]] = json.loads(place.read_text(encoding="utf-8")) if place.exists() else {}
    return rows


def oldest_first(items: Sequence[str], former: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Items in the order in which a night takes them: first those of files that no night has run, or long ago.

    A night of many stretches, each at a commit of its own, comes to every file so.
    """
    return sorted(items, key=lambda item: former.get(_file(item), {}).get("date", NEVER))


def recorded(
    folder: Path, commit: str, every: Sequence[str], former: Mapping[str, Mapping[str, Any]]
) -> dict[str, Mapping[str, Any]]:
    """By file what the shards of a commit have noted, of all items that there are; else what was recorded before."""
    told = outcomes(folder)
    ended = max((place.stat().st_mtime for place in folder.glob("*.jsonl")), default=0.0)
    of = {"commit": commit, "date": datetime.fromtimestamp(ended, UTC).date().isoformat()}
    files: dict[str, list[str]] = {}
    for item in every:
        files.setdefault(_file(item), []).append(item)
    return {file: _row(of, items, told, former.get(file)) for file, items in sorted(files.items())}


def _row(
    of: Mapping[str, str], items: Sequence[str], told: Mapping[str, str], former: Mapping[str, Any] | None
) -> Mapping[str, Any]:
    counts = Counter(told.get(item, NOT_RUN) for item in items)
    if counts[NOT_RUN] == len(items):
        return former or {"commit": "", "date": NEVER, NOT_RUN: len(items)}
    failed = [item for item in items if told.get(item) == "failed"]
    return {**of, **counts, **({"names": failed} if failed else {})}


def _file(item: str) -> str:
    return item.partition("::")[0]


def page(place: Path = DATA) -> str:
    """The record as a page."""
    return "\n".join(_lines(kept(place))) + "\n"


def _lines(rows: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    words = ("passed", "failed", "skipped", NOT_RUN)
    total = Counter({word: sum(row.get(word, 0) for row in rows.values()) for word in words})
    yield from (
        "# The last nights", "",
        "What takes long runs by night: `./ci/nightly`, in shards that resume. Each row is the last night of a file,",
        "as `python -m tests.ci.night record` wrote it. `not run` is no pass.", "",
        f"{', '.join(f'{total[word]:,} {word}' for word in words)}.", "",
        "| file | commit | date | passed | failed | skipped | not run |", "|---|---|---|---|---|---|---|",
    )  # fmt: skip
    for file, row in rows.items():
        numbers = (f"{row.get(word, 0):,}" for word in words)
        yield f"| `{file}` | {row['commit']} | {row['date']} | {' | '.join(numbers)} |"
    if failed := [item for row in rows.values() for item in row.get("names", ())]:
        yield from ("", "Failed:", "", *(f"* `{item}`" for item in failed))
