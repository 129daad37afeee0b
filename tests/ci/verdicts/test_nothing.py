"""Cells of the verdict table that hold of nothing: said from a run, and compared with the expected data."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftcheck.properties.register import verdicts as nothing
from tests.ci.verdicts.reports.reading import cases, read_junit
from tests.shared.commands import kraftcheck

ROW = ("check", "elections", "--scope", "small", "--rules", "kafka-3.9", "--built-in", "--quiet", "-v")


def test_a_claim_without_a_case_is_vacuous_in_its_cell() -> None:
    """Below ELR no member of one can be lost: the cells say so, and the row is as expected."""
    ran = kraftcheck(*ROW)
    cells = {line.split()[0]: line.split()[1:] for line in ran.out.splitlines() if line and "  " in line}
    assert cells["elr-within-replicas"] == cells["clean-restart-keeps-elr"] == ["vacuous"]
    assert ran.code == 0


def test_a_claim_that_has_a_case_is_not_taken_for_vacuous(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the data says that a claim holds of nothing and a state is a case of it, the check and its report fail."""
    monkeypatch.setitem(nothing.OF_NOTHING, ("elections", "kafka-3.9"), ("leader-in-isr",))  # type: ignore[arg-type]
    ran = kraftcheck(*ROW, "--junit", tmp_path / "out.xml")
    assert ran.code == 21
    assert cases(read_junit(tmp_path / "out.xml"))["leader-in-isr"] == "failure unexpected"
    assert "UNEXPECTED elections small kafka-3.9 leader-in-isr: expected vacuous, got holds of some case" in ran.out
