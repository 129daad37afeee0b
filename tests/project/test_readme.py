"""The README is run: its commands print what it shows, its table is the expected data, its links exist."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from kraftcheck.model.language.system import Setting
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.expected.verdicts import EXPECTED
from tests.shared.places import DOCS, ROOT

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", TEXT, flags=re.DOTALL)
CONSOLE = [body for language, body in BLOCKS if language == "console"]
TIMES = re.compile(
    r"in [\d.]+ s \([\d,]+ generated/s, [\d,]+ distinct/s, \d+ bytes a state\); compiled in [\d.]+ s( \(from cache\))?"
)


AUDIT = re.compile(r"^assurance: audited [\d,]+ states and [\d,]+ transitions on ints", re.MULTILINE)
"""A sample depends on how states are packed and on how large the traced rules are; that there is one does not."""


def masked(text: str) -> list[str]:
    """Lines without what differs between runs: times, rates, padding; and without the size of a sample."""
    text = AUDIT.sub("assurance: audited SAMPLE on ints", text)
    lines = [TIMES.sub("in TIME", line.rstrip()) for line in text.rstrip().splitlines()]
    return [re.sub(r"states in [\d.]+ s;", "states in TIME;", line) for line in lines]


def test_readme_has_commands() -> None:
    """The README shows at least four commands with their output."""
    assert len(CONSOLE) >= 4


@pytest.mark.parametrize("block", CONSOLE, ids=[body.split("\n")[0][2:60] for body in CONSOLE])
def test_console_block_prints_what_it_shows(
    block: str, tmp_path: Path
) -> None:
    """Each console block's command prints the lines below it, times and rates aside."""
    first, _, shown = block.partition("\n")
    words = shlex.split(first.removeprefix("$ "))
    assert words[0] == "kraftcheck"
    example = next(body for language, body in BLOCKS if language == "python" and "LEASE" in body)
    (tmp_path / "lease.py").write_text(example, encoding="utf-8")
    folder = ROOT if " tests/" in first else tmp_path
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, "-m", "kraftcheck", *words[1:]], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert ran.stderr == ""
    assert masked(ran.stdout) == masked(shown)


def test_example_system_is_short() -> None:
    """The example of a user's own system has at most 40 lines."""
    example = next(body for language, body in BLOCKS if language == "python" and "LEASE" in body)
    assert len(example.splitlines()) <= 40


def worst(system: str, claim: str, rules: str) -> str:
    """The worst expected verdict of a property over all scopes, shortest trace first."""
    found = [row.get(claim, "holds") for (of, _, name), row in EXPECTED.items() if (of, name) == (system, rules)]
    refuted = sorted((verdict for verdict in found if verdict != "holds"), key=lambda v: int(v.split()[1]))
    return refuted[0] if refuted else "holds"


def test_results_at_a_glance_are_the_expected_data() -> None:
    """Every cell of the README's table of promises is the worst expected verdict over all scopes."""
    row = re.compile(r"^\| [^|]+ \| `(\S+)` `(\S+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
    found = row.findall(TEXT)
    assert len(found) > 10
    for system, claim, *cells in found:
        assert claim in {known.id for known in SYSTEMS[system].properties(glance(system))}
        told = [worst(system, claim, rules) for rules in ("kafka-4.0", "kafka-3.9", "kip", "fixed")]
        assert cells == told, f"{system} {claim}"


def glance(system: str) -> Setting:
    """A setting in which a system makes all of its claims of the table."""
    return SYSTEMS[system].setting(rules=parse("kafka-4.0"))


def test_page_of_verdicts_is_the_expected_data() -> None:
    """Every cell of the tables of docs/reference/verdicts.md is the worst expected verdict over all scopes."""
    shown = (DOCS / "reference" / "verdicts.md").read_text(encoding="utf-8")
    tables = re.split(r"^([\w-]+): the worst verdict.*$", shown, flags=re.MULTILINE)
    assert tables[1::2] == list(dict.fromkeys(row[0] for row in EXPECTED))
    for system, table in zip(tables[1::2], tables[2::2], strict=True):
        head, *lines = table.strip().splitlines()
        columns = head.split()[1:]
        rows = [re.split(r"\s{2,}", line.strip()) for line in lines if re.match(r"[a-z0-9-]+\s{2,}", line)]
        assert len(rows) >= 10
        for claim, *cells in rows:
            for rules, cell in zip(columns, cells, strict=True):
                assert cell in (worst(system, claim, rules), "-"), f"{system} {claim} under {rules}"


def test_links_lead_to_files() -> None:
    """Every relative link of the README and of the docs leads to a file or folder."""
    for page in (ROOT / "README.md", *sorted(DOCS.rglob("*.md"))):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
