"""Scopes that the default check leaves out have the verdicts that are expected of them."""

from __future__ import annotations

import pytest

from kraftcheck.ci.verdicts.command import plan
from kraftcheck.properties.register.verdicts import EVERY, EXPECTED, EXPECTED_LARGE
from tests.shared.commands import kraftcheck


def test_large_rows_are_compared_only_where_they_are_named() -> None:
    """No row is listed twice; the default plan has none of the large ones, a scope by name has them."""
    assert not set(EXPECTED) & set(EXPECTED_LARGE)
    assert set(plan((), (), ())) == set(EXPECTED)
    medium = {row for row in EVERY if row[:2] == ("directories", "medium")}
    assert set(plan(("directories",), ("medium",), ())) == medium


@pytest.mark.slow
@pytest.mark.parametrize("row", EXPECTED_LARGE, ids="-".join)
def test_a_large_row_is_as_expected(row: tuple[str, str, str]) -> None:
    """Every verdict of the row, strictly both ways."""
    system, scope, rules = row
    ran = kraftcheck("check", system, "--scope", scope, "--rules", rules, "--workers", "1", "--memory", "6G", "--quiet")
    assert ran.code == 0, ran.out
