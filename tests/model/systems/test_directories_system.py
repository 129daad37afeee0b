"""The `directories` system as a whole: domains, machine code, known traces, and properties that can fail."""

from __future__ import annotations

from typing import Any

import pytest

from kraftcheck.ci.run.questions import search_budget
from kraftcheck.ci.verdicts import defects as bugs
from kraftcheck.properties.register.defects import Bug
from kraftcheck.solvers.program.verdict import Holds, Refuted


def trace_of(row: Bug, rules: str, claim: str) -> list[str] | None:
    """The actions of a shortest trace in a row's scope; None where the property holds."""
    found: Any = bugs.explore_defect(row, rules, search_budget(1, 4 << 30), quiet=True)
    (verdict,) = [v.verdict for v in found.verdicts if v.claim == claim]
    if isinstance(verdict, Holds):
        return None
    assert isinstance(verdict, Refuted)
    return [step.action for step in verdict.trace.steps]


@pytest.mark.parametrize(
    ("directories", "rules", "verdict"),
    [
        (2, "kip", None),
        (2, "kip-one-directory-awaits-nothing", ["start", "fail_directory"]),
        (3, "kip", ["fail_directory", "start"]),
        (1, "kip", None),
        (1, "kip-one-directory-awaits-nothing", ["start"]),
    ],
)
def test_the_kip_fences_a_migrating_broker_for_ever(directories: int, rules: str, verdict: list[str] | None) -> None:
    """The broker does not say where its replica is, and is awaited: in steady state where two directories are left."""
    row = Bug("", "", "directories", "migration", {}, {"directories": directories})
    assert trace_of(row, rules, "broker-can-return") == verdict


@pytest.mark.parametrize(("scope", "length"), [("migration", 4), ("upgrade", 5)])
def test_the_kip_unfences_a_broker_that_has_one_directory_left(scope: str, length: int) -> None:
    """A failure leaves one directory registered, of which the document awaits nothing in steady state."""
    found = trace_of(Bug("", "", "directories", scope, {}), "kip", "fenced-until-settled")
    assert found is not None
    assert (len(found), found[-1]) == (length, "unfence")
    assert found[0] == "fail_directory"
