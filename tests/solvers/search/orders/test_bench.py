"""The benchmark of orders prints what the page says."""

from __future__ import annotations

import pytest

from tests.shared.places import DOCS
from tests.solvers.search.orders import bench


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "lock" else pytest.mark.slow) for name in bench.CASES]
)
def test_the_page_has_the_states(name: str) -> None:
    """The states with all orders and with some are those of a row of the decision's table."""
    states = bench.row(name).split("|")[2:4]
    rows = (DOCS / "explanation" / "adr" / "0018-orders-are-derived.md").read_text(encoding="utf-8").splitlines()
    assert any(row.split("|")[2:4] == states for row in rows)
