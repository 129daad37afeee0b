"""The gains that decision 18 shows."""

import pytest

from kraftcheck.ci.bench.systems import TWO_PHASE
from kraftcheck.ci.systems.subject import program, subject
from kraftcheck.model.language.system import System
from kraftcheck.solvers.exploration.explore import SearchBudget, explore
from kraftcheck.solvers.search.orders import by_orders
from tests.examples.lamport_mutex import LAMPORT_MUTEX
from tests.shared.places import DOCS
from tests.solvers.search.orders.ports import LOCK, NO_LOCK, READERS_WRITERS, WALKING

EIGHT = {"processes": 8}


@pytest.mark.parametrize(
    ("system", "scope", "bounds", "rules"),
    [
        (LOCK, None, EIGHT, None),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                (TWO_PHASE, "7", {}, None), (LAMPORT_MUTEX, None, {}, None), ("replication", "tiny", {}, "fixed"),
                *((one, None, EIGHT, None) for one in (WALKING, NO_LOCK, READERS_WRITERS)),
            )
        ),
    ],
)  # fmt: skip
def test_the_page_has_the_states(
    system: str | System, scope: str | None, bounds: dict[str, int], rules: str | None
) -> None:
    """The states with all orders and with some are those of a row, and the verdicts are the same."""
    chosen = subject(system, scope, bounds, rules)
    kept = [one.id for one in chosen.system.properties(chosen.setting) if one.kind in ("always", "step", "sometimes")]
    traced = program(subject(system, scope, bounds, rules, kept))
    whole, some = (explore(one, SearchBudget(keep=False), clock=lambda: 0.0) for one in (traced, by_orders(traced)))
    assert [type(one.verdict) for one in some.verdicts] == [type(one.verdict) for one in whole.verdicts]
    rows = (DOCS / "explanation" / "adr" / "0018-orders-are-derived.md").read_text(encoding="utf-8").splitlines()
    assert any(row.split("|")[2:4] == [f" {whole.distinct:,} ", f" {some.distinct:,} "] for row in rows)
