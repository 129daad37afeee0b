"""`kraftcheck bugs --kafka`: the explorer finds each finding from the rules of a release."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from attrs import evolve

from kraftcheck.ci.conformance.findings.search import ReleaseSearch, recorded, search
from kraftcheck.ci.verdicts import defects
from kraftcheck.properties.register.findings import FINDINGS, Finding
from kraftcheck.solvers.exploration.explore import SearchBudget
from tests.shared.commands import kraftcheck

OPEN, MENDED = "reassignment-never-completes", "assignment-clears-elr"
"""Two findings that are decided in a second: one that 4.4.0 has, and one that it does not have."""


def test_findings_show_or_hold_as_recorded(tmp_path: Path) -> None:
    """A row for people and one in the document for each finding, with the release's preset and the recorded steps."""
    ran = kraftcheck("bugs", OPEN, MENDED, "--kafka", "4.4.0", "--quiet", "--json", tmp_path / "rows.json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.last == "2 findings with the rules of 4.4.0, 0 not as expected (exit 0)"
    rows = json.loads((tmp_path / "rows.json").read_text(encoding="utf-8"))["findings"]
    evidence = recorded()
    assert [(row["finding"], row["steps"]) for row in rows] == [
        (name, evidence[name, "4.4.0"].steps) for name in (OPEN, MENDED)
    ]
    assert [(row["mend_suffices"], row["faults"]) for row in rows] == [(True, []), (None, [])]
    assert [row["rules"].startswith("kafka-4.4.0") for row in rows] == [True, True]


def test_another_length_is_not_as_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    """A finding that shows sooner or later than recorded, or not at all, fails the command."""
    evidence = recorded()
    changed = {OPEN: evolve(evidence[OPEN, "4.4.0"], steps=3), MENDED: evolve(evidence[MENDED, "4.4.0"], steps=1)}
    monkeypatch.setattr(defects, "recorded", lambda: {(name, "4.4.0"): row for name, row in changed.items()})
    ran = kraftcheck("bugs", OPEN, MENDED, "--kafka", "4.4.0", "--quiet")
    assert ran.code == 12
    assert "UNEXPECTED reassignment-completes: expected 3, got 2" in ran.out
    assert "UNEXPECTED elr-leavers-have-a-reason: expected 1, got holds" in ran.out


def test_a_mend_that_mends_nothing_is_not_as_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    """A finding whose property breaks without its choices too fails the command."""

    def search_without_mend(finding: Finding, release: str, budget: SearchBudget, quiet: bool) -> ReleaseSearch:
        return search(evolve(finding, switches=("unregister-keeps-elr",)), release, budget, quiet)

    monkeypatch.setattr(defects, "search", search_without_mend)
    ran = kraftcheck("bugs", OPEN, "--kafka", "4.4.0", "--quiet")
    assert ran.code == 12
    assert "UNEXPECTED reassignment-completes is refuted without the defect too" in ran.out
    assert "without the defect it holds" not in ran.out


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (("no-such-finding", "--kafka", "4.4.0"), "no finding 'no-such-finding'"),
        (("padded-config", "--kafka", "4.4.0"), "no finding 'padded-config' that an explored system shows"),
        ((OPEN, "--kafka", "2.8"), "--kafka: no evidence of Kafka 2.8; known: 3.9.2"),
        ((OPEN, "--kafka", "4.4.0", "--engine", "z3"), "--kafka is of --engine native"),
    ],
)
def test_what_cannot_be_searched_is_refused(words: tuple[str, ...], place: str) -> None:
    """A finding or release that is not known, one without a search, and another engine are refused in a line."""
    ran = kraftcheck("bugs", *words)
    assert ran.code == 2
    assert place in ran.err


@pytest.mark.slow
@pytest.mark.parametrize("release", ["3.9.2", "4.0.0", "4.1.0", "4.2.0", "4.3.0", "4.4.0"])
def test_every_finding_of_every_line(release: str) -> None:
    """Each finding that has a search shows or holds as recorded in the first release of each line, and the newest."""
    ran = kraftcheck("bugs", "--kafka", release, "--quiet")
    assert ran.code == 0
    number = sum(finding.search is not None for finding in FINDINGS)
    assert ran.last == f"{number} findings with the rules of {release}, 0 not as expected (exit 0)"
