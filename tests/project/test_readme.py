"""The README is short, its table is the expected data, its links exist; `tests/documentation` runs its commands."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kraftcheck.ci.systems.lookup import find_system
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.register.verdicts import EVERY, EXPECTED, EXPECTED_LIVENESS, Row, word
from tests.documentation.console import files_of
from tests.documentation.findings import in_short
from tests.shared.places import DOCS, ROOT

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readme_is_short() -> None:
    """The README has at most 120 lines, a trace among them."""
    assert len(TEXT.splitlines()) <= 120
    assert "```console\n$ kraftcheck explore " in TEXT


def test_example_system_is_short() -> None:
    """The tutorial's example of a user's own system has at most 40 lines."""
    page = (DOCS / "tutorial" / "a-system-of-your-own.md").read_text(encoding="utf-8")
    assert len(files_of(page)["lease.py"].splitlines()) <= 40


def worst(rows: Mapping[Row, Mapping[str, str]], system: str, claim: str, rules: str) -> str:
    """The worst expected verdict of a property over the scopes of some rows, shortest trace first."""
    found = [row.get(claim, "holds") for (of, _, name), row in rows.items() if (of, name) == (system, rules)]
    refuted = sorted((verdict for verdict in found if verdict != "holds"), key=lambda v: int(v.split()[1]))
    return refuted[0] if refuted else word(system, rules, claim, "holds")


def test_results_at_a_glance_are_the_expected_data() -> None:
    """Every cell of the README's table of promises is the worst expected verdict over all scopes, large ones too."""
    row = re.compile(r"^\| [^|]+ \| `(\S+)` `(\S+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
    found = row.findall(TEXT)
    assert len(found) > 10
    assert {row[0] for row in EXPECTED_LIVENESS} & {system for system, *_ in found}
    for system, claim, *cells in found:
        claims = find_system(system).properties(find_system(system).setting(rules=parse("kafka-4.4.0")))
        assert claim in {known.id for known in claims}
        told = [worst(EVERY, system, claim, rules) for rules in ("kafka-4.4.0", "kafka-3.9", "kip", "fixed")]
        assert cells == told, f"{system} {claim}"


def test_the_findings_are_those_of_the_newest_release() -> None:
    """The README's table of findings has those that the newest release has, by what they cost."""
    assert f"| cost | findings | the first |\n|---|---|---|\n{in_short()}\n" in TEXT


def test_page_of_verdicts_is_the_expected_data() -> None:
    """Every cell of the tables of docs/reference/verdicts.md is the worst verdict over all scopes of the check."""
    shown = (DOCS / "reference" / "verdicts.md").read_text(encoding="utf-8")
    tables = re.split(r"^([\w-]+): the worst verdict.*$", shown, flags=re.MULTILINE)
    explored = {**EXPECTED, **EXPECTED_LIVENESS}
    assert tables[1::2] == list(dict.fromkeys(row[0] for row in explored))
    for system, table in zip(tables[1::2], tables[2::2], strict=True):
        head, *lines = table.strip().splitlines()
        columns = head.split()[1:]
        rows = [re.split(r"\s{2,}", line.strip()) for line in lines if re.match(r"[a-z0-9-]+\s{2,}", line)]
        odd = {claim for row, claims in explored.items() if row[0] == system for claim in claims}
        assert {"deadlock", *odd} <= {row[0] for row in rows}
        for claim, *cells in rows:
            for rules, cell in zip(columns, cells, strict=True):
                assert cell in (worst(explored, system, claim, rules), "-"), f"{system} {claim} under {rules}"


def test_links_lead_to_files() -> None:
    """Every relative link of the README and of the docs leads to a file or folder."""
    for page in (ROOT / "README.md", *sorted(DOCS.rglob("*.md"))):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
