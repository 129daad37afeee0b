"""The proofs of `kraftcheck check` that are about any number of brokers, or that another solver confirms."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kraftcheck.ci.run.judged import JudgedProperty
from kraftcheck.ci.run.questions import search_budget
from kraftcheck.ci.verdicts import proofs
from kraftcheck.ci.verdicts.command import unexpected_code
from kraftcheck.ci.verdicts.row import RowPart
from kraftcheck.properties.register.proofs import ANY_NUMBER, CERTIFIED, LONG, NOT_PROVEN, proofs_named
from kraftcheck.properties.register.verdicts import EXPECTED
from tests.shared.commands import Ran, kraftcheck

BUDGET = search_budget(1, 1 << 30)


def faults(part: RowPart) -> list[JudgedProperty]:
    """What is not as expected of a search or a proof."""
    return [one for one in part.run().properties if not one.passed]


def checked(row: tuple[str, str, str]) -> Ran:
    """The check of one row, without its exploration's details."""
    return kraftcheck("check", row[0], "--scope", row[1], "--rules", row[2], "--quiet", "--workers", "1")


def test_a_theorem_for_any_number_is_part_of_the_check() -> None:
    """A row of the check is proven for any number of brokers too, from the claims named and nothing else."""
    (row,) = ANY_NUMBER
    assert row in EXPECTED
    proof_row = proofs._of_any_number(row, BUDGET, quiet=True)
    assert proof_row.proven == [*proof_row.proofs] == list(ANY_NUMBER[row])
    assert {one.passed for one in proof_row.run().properties} == {True}
    assert proof_row.subject().setting.text().split(",")[0] == "brokers any"
    assert "and of brokers (so with 2, 3, 5), " in proof_row.line("as expected")


def test_what_is_not_proven_for_any_number_fails_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim that does not follow from those named is no pass: exit 22."""
    (row,) = ANY_NUMBER
    monkeypatch.setitem(ANY_NUMBER, row, ("leader-active",))  # type: ignore[arg-type]
    (one,) = faults(proofs._of_any_number(row, BUDGET, quiet=True))
    assert (one.id, one.expected, one.verdict, unexpected_code(one)) == ("leader-active", "holds", "unknown", 22)


@pytest.mark.slow
def test_a_certificate_is_part_of_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """cvc5 confirms the certificate of one proof; where it does not, the check ends with exit 24."""
    pytest.importorskip("cvc5")
    assert CERTIFIED in NOT_PROVEN
    ran = checked(CERTIFIED)
    assert ran.code == 0
    assert ", confirmed by cvc5 " in ran.out
    broken = subprocess.CompletedProcess([], 1, "0001-a.smt2: sat, not unsat\n", "")
    monkeypatch.setattr(proofs, "check_certificate", lambda place: _of_a_folder(place, broken))
    ran = checked(CERTIFIED)
    assert ran.code == 24
    assert "cvc5 does not confirm the certificate: 0001-a.smt2: sat, not unsat" in ran.err


def _of_a_folder(place: Path, answer: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    """An answer about a certificate that was written."""
    assert (place / "index.json").exists()
    return answer


def test_without_cvc5_the_check_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A certificate that nobody checked is no confirmed one."""
    monkeypatch.setattr(proofs, "installed", lambda name: False)
    ran = checked(CERTIFIED)
    assert ran.code == 0
    assert "cvc5 is not installed, and was not asked" in ran.text
    assert "confirmed" not in ran.out


def test_long_proofs_are_left_to_checks_that_name_a_scope() -> None:
    """A check that names no scope proves every row but the long ones; one that does proves those too."""
    assert proofs_named(()) == NOT_PROVEN.keys() - LONG
    assert proofs_named(("small",)) == NOT_PROVEN.keys() > LONG


@pytest.mark.slow
@pytest.mark.parametrize("row", sorted(LONG), ids=" ".join)
def test_a_long_proof_is_as_expected(row: tuple[str, str, str]) -> None:
    """A check that names the scope proves a long row, and finds the claims proven that it expects."""
    ran = checked(row)
    assert ran.code == 0
    assert " queries for any number of steps, " in ran.out
