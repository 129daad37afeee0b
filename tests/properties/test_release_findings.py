"""Findings of the newest release: the search finds each from the release's rules, with the length that its row says."""

from __future__ import annotations

import functools

import pytest

from kraftcheck.ci.explore.command import SearchBudget
from kraftcheck.ci.verdicts import defects as bugs
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.defects.defect import Bug
from kraftcheck.properties.defects.releases import NEWEST, RELEASE_FINDINGS, ReleaseFinding
from kraftcheck.solvers.search.explore import Exploration


def name_of(finding: ReleaseFinding) -> str:
    """The row in a word."""
    return f"{finding.variant}: {finding.claim}"


@functools.cache
def explored(system: str, scope: str, bounds: tuple[tuple[str, int], ...], rules: str) -> Exploration:
    """The whole exploration of a scope, made once."""
    row = Bug("", "", system, scope, {}, dict(bounds))
    return bugs.explore_defect(row, rules, SearchBudget(1, 4 << 30), quiet=True)


def refuted(finding: ReleaseFinding, rules: str) -> dict[str, int]:
    """What rules break in the scope of a finding, with the lengths of the traces."""
    found = explored(finding.system, finding.scope, tuple(sorted(finding.bounds.items())), rules)
    assert found.cut is None
    return dict(bugs.refutations(found))


@pytest.mark.parametrize("finding", RELEASE_FINDINGS, ids=name_of)
def test_the_release_has_each_defect_that_is_a_finding(finding: ReleaseFinding) -> None:
    """The preset of the release has the choice that is the defect on."""
    assert parse(NEWEST).value(finding.variant.replace("-", "_"))


@pytest.mark.slow
@pytest.mark.parametrize("finding", RELEASE_FINDINGS, ids=name_of)
def test_the_search_finds_it_from_the_rules_of_the_release(finding: ReleaseFinding) -> None:
    """With every rule as released the property breaks, with a shortest trace of just that length."""
    assert refuted(finding, NEWEST)[finding.claim] == finding.steps


@pytest.mark.slow
@pytest.mark.parametrize("finding", RELEASE_FINDINGS, ids=name_of)
def test_with_every_defect_mended_it_is_gone(finding: ReleaseFinding) -> None:
    """By the right rules the property holds in the same scope."""
    assert finding.claim not in refuted(finding, "fixed")


def test_the_shortest_finding_of_elections_is_found_by_day() -> None:
    """A change of min.insync.replicas strands an offline partition in three steps, from the release's rules."""
    (finding,) = [row for row in RELEASE_FINDINGS if row.variant == "min-isr-change-clears-every-elr"]
    assert refuted(finding, NEWEST)[finding.claim] == finding.steps
