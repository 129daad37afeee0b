"""Mends in pairs: what is recorded is derived, no pair breaks a promise, and one that would is seen."""

import pytest
from attrs import evolve

from kraftcheck.ci.conformance.findings import pairs as module
from kraftcheck.ci.conformance.findings.causes import CELLS as ALL
from kraftcheck.ci.conformance.findings.causes import Cell
from kraftcheck.ci.conformance.findings.pairs import (
    broken,
    choices,
    judge,
    mended,
    mends,
    need,
    needed,
    pairs,
    recorded,
)
from kraftcheck.model.rules.ruleset import NEWEST
from kraftcheck.properties.register.findings import BY_ID

RECORDED = recorded()
CELLS: tuple[Cell, ...] = tuple((row.system, row.scope) for row in RECORDED if row.mends)

LEFT = [cell for cell in ALL if cell not in {(row.system, row.scope) for row in RECORDED}]
"""The scopes without a record."""

SHARDS = 8  # into how many parts the pairs of a scope without a record are divided, so that workers share them

QUICK = (("sessions", "tiny"),)
"""The scopes that are judged whole at each change; of the others a sample is, and the rest by night."""


def test_no_pair_of_mends_breaks_a_promise() -> None:
    """In no recorded scope does a mend, alone or with another, refute what the newest release keeps."""
    assert [(row.system, row.scope, row.breaking) for row in RECORDED if row.breaking] == []
    assert {row.system for row in RECORDED} >= {"sessions", "elr-index"}
    assert {row.release for row in RECORDED} == {NEWEST.removeprefix("kafka-")}


def test_a_record_has_every_pair_of_its_mends() -> None:
    """As many pairs were judged as mends play a part, each with itself and each other; these are in their order."""
    for row in RECORDED:
        assert [*row.mends] == [name for name in BY_ID if name in row.mends]
        assert row.pairs == len(pairs(row.mends)) == len(row.mends) * (len(row.mends) + 1) // 2


def test_a_pair_that_breaks_a_promise_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of a mend, beside another, seats a leader that is no replica, and the property is named."""
    halves = {"silent-unclean-cancel": "unclean-cancel-is-silent", "slow-return": "sessions-by-contact"}
    monkeypatch.setattr(
        module, "BY_ID", {name: evolve(BY_ID[name], switches=(switch,)) for name, switch in halves.items()}
    )
    assert "leader-is-replica" in broken(("elections", "tiny"), ("silent-unclean-cancel", "slow-return"))


@pytest.mark.parametrize("cell", [cell for cell in CELLS if cell not in QUICK], ids="-".join)
def test_sampled_pairs_break_nothing(cell: Cell) -> None:
    """The pair of the worst and the least finding that play a part in a scope breaks nothing there."""
    (row,) = (one for one in RECORDED if (one.system, one.scope) == cell)
    assert broken(cell, (row.mends[0], row.mends[-1])) == []


@pytest.mark.parametrize(
    "cell", [pytest.param(cell, id="-".join(cell), marks=[pytest.mark.slow] * (cell not in QUICK)) for cell in CELLS]
)
def test_the_record_of_pairs_is_derived(cell: Cell) -> None:
    """The row of a scope is what searches say of every mend and pair of mends."""
    (row,) = (one for one in RECORDED if (one.system, one.scope) == cell)
    assert judge(cell) == row


def test_a_mend_without_a_part_is_in_no_pair() -> None:
    """A mend of moves between directories changes nothing of sessions; that of sessions does."""
    assert mends(("sessions", "tiny")) == ("slow-return",)
    assert mended(("slow-return", "slow-return")) == f"{NEWEST}-sessions-by-contact"


NEEDED = {row.choice: row for row in needed()}

AT_EACH_CHANGE = ("cleared-elr-stays-indexed", "sessions-by-contact", "removed-replicas-stay-in-elr")
"""The choices that are put back at each change; the others are by night."""


def test_what_no_mend_makes_up_for_is_recorded() -> None:
    """The record has choices of the mends alone, each breaks something; and most of them are needed."""
    assert [name for name in choices() if name in NEEDED] == [*NEEDED]
    assert min(row.steps for row in NEEDED.values()) > 0
    assert 2 * len(NEEDED) > len(choices()) > len(NEEDED)


@pytest.mark.parametrize(
    "choice", [pytest.param(name, marks=[pytest.mark.slow] * (name not in AT_EACH_CHANGE)) for name in choices()]
)
def test_a_mend_is_needed_as_recorded(choice: str) -> None:
    """Put back alone into the mended release, a choice breaks what is recorded, and one without a row nothing."""
    assert need(choice) == NEEDED.get(choice)


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(SHARDS))
@pytest.mark.parametrize("cell", LEFT, ids="-".join)
def test_no_pair_breaks_a_promise_in_a_larger_scope(cell: Cell, shard: int) -> None:
    """By night a part of the pairs at a time is judged in scopes without a record."""
    assert {pair: claims for pair in pairs(mends(cell))[shard::SHARDS] if (claims := broken(cell, pair))} == {}
