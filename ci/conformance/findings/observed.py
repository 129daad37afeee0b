"""What was observed on live clusters: one entry a scenario and release, in a file that pages are made from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

from kraftcheck.ci.conformance.findings.live.scenario import Fact, Outcome
from kraftcheck.ci.terminal.files import read_json, write_json

OBSERVED = Path(__file__).parent / "observed.json"
"""The file of the repository."""

SHOWN, NOT_SHOWN = "shown", "not shown"
"""The two outcomes of a run that could be measured."""


@frozen
class Observation:
    """One run: which scenario, on which release and day, its outcome and what was measured."""

    finding: str
    release: str
    date: str
    outcome: str
    facts: dict[str, Fact]


def observation(name: str, version: str, date: str, outcome: Outcome) -> Observation:
    """The entry of a run."""
    return Observation(name, version, date, SHOWN if outcome.shown else NOT_SHOWN, outcome.facts)


def observations(path: Path = OBSERVED) -> tuple[Observation, ...]:
    """Every entry, in the order of the file."""
    rows: list[dict[str, Any]] = read_json(path)
    return tuple(Observation(**row) for row in rows)


def record(new: Observation, path: Path = OBSERVED) -> None:
    """Put an entry in the place of an earlier one of its scenario and release."""
    kept = [one for one in observations(path) if (one.finding, one.release) != (new.finding, new.release)]
    entries = sorted([*kept, new], key=lambda one: (one.finding, one.release))
    write_json(str(path), [asdict(one) for one in entries])


def text(one: Observation) -> str:
    """An entry as lines for a terminal."""
    facts = [f"  {name}: {value if isinstance(value, str) else json.dumps(value)}" for name, value in one.facts.items()]
    return "\n".join([f"{one.finding} on Kafka {one.release}: {one.outcome}", *facts])
