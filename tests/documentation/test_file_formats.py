"""docs/reference/file-formats.md lists the keys of the documents that commands write."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.shared.commands import kraftcheck
from tests.shared.places import DOCS, TESTS

PAGE = (DOCS / "reference" / "file-formats.md").read_text(encoding="utf-8")
LINE = re.compile(r"^\| `([^`]+)` \| (\d+) \| (.*) \|$", re.MULTILINE)
ROWS = {name: (int(version), keys) for name, version, keys in LINE.findall(PAGE)}

RUNS = {
    "list": "list elections",
    "explore": "explore tests.toys:CLOCK --quiet",
    "diff": "diff tests.toys:CLOCK tests.toys:CLOCK --quiet",
    "simulate": "simulate tests.toys:CLOCK --runs 2 --steps 5 --quiet",
    "prove": "prove tests.toys:CLOCK --quiet",
    "prove --bmc": "prove tests.toys:CLOCK --bmc 2 --quiet",
    "explain": "explain tests.gates:GATE --quiet",
    "bugs": "bugs requests-removed-first --quiet",
    "check": "check broker-ids --scope tiny --rules fixed --quiet",
    "conform --vectors": "conform --vectors {tests}/vectors/directory_id.json",
    "replay": "replay {tests}/captured/elr",
    "status": "status {tests}/captured/elr",
    "ask": "ask {tests}/snapshots/outage.txt unregister 2",
    "whatif": "whatif {tests}/captured/no-elr --faults 1",
}
"""A quick run of each command; `conform --kafka` and `query` need Java."""


def test_every_command_with_documents_has_a_row() -> None:
    """The page has a row for each command that is run here, and for those that need Java."""
    assert set(ROWS) == {*RUNS, "branch", "conform --kafka", "query"}


@pytest.mark.parametrize("command", RUNS)
def test_a_document_has_the_listed_keys(command: str) -> None:
    """A document has the version and exactly the keys of its row, those of another engine aside."""
    version, told = ROWS[command]
    document = kraftcheck(*RUNS[command].format(tests=TESTS).split(), "--json", "-").document()
    listed = set(re.findall(r"`(\w+)`", told.partition("; with")[0]))
    assert (document["version"], set(document) - {"version", "command"}) == (version, listed)


def test_a_trace_has_the_listed_keys(tmp_path: Path) -> None:
    """A counterexample says of itself what the page lists."""
    kraftcheck("explore", "tests.toys:DIGRAPH", "--quiet", "--out", tmp_path / "out")
    [first, *_] = sorted((tmp_path / "out").glob("*.itf.json"))
    told = json.loads(first.read_text(encoding="utf-8"))["#meta"]["kraftcheck"]
    [row] = re.findall(r"^\| `#meta.kraftcheck` \| (.*) \|$", PAGE, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", row)) == set(told)
    assert f"`version` {told['version']}," in row
