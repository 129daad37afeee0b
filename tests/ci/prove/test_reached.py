"""Bounds that a proof calls any: runs go beyond them, or the column is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kraftcheck.ci.prove import table
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.prove.table import Freed, ProofRun, freed_by, main
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.long_runs import PASSING
from tests.ci.prove.test_table import RUNS
from tests.shared.commands import kraftcheck
from tests.shared.samples import one_in

ANY_COLUMNS = [(run, name) for run in RUNS for name, value in run.bounds.items() if value == "any"]
"""Each bound that a column of the table calls any."""

WITHOUT_BUDGETS = freed_by(ProofRequest("replication", "tiny", {"unbounded": 1}, "fixed"))


def test_few_failures_keep_leader_epochs_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one stop, fence and shrink no run goes beyond the epochs of searches; without these budgets one does."""
    monkeypatch.setattr(table, "WALKS", 20)
    few = ProofRequest("replication", "tiny", {}, "fixed")
    assert Freed(few, few.subject().setting, ("epochs", "lag", "records")).unreached(("epochs",)) == ["epochs"]
    assert WITHOUT_BUDGETS.unreached(("epochs",)) == []


def test_each_bound_that_proofs_free_has_a_way_to_see_it_passed() -> None:
    """Each bound that provers may take as any number has its goal in systems with columns, and no other has one."""
    for system in (SYSTEMS[name] for name in dict.fromkeys(run.system for run, _ in ANY_COLUMNS)):
        bounds = {bound.name: bound for bound in system.bounds}
        free = {name for name, bound in bounds.items() if bound.takes_any or bound.freed_by} - {"initial-isr"}
        assert set(PASSING.get(system.name, {})) == free, system.name


def test_without_a_goal_nothing_is_reached() -> None:
    """A bound that nothing is said of counts as not reached."""
    fenced = ProofRequest("elections", "tiny", {}, "fixed")
    assert Freed(fenced, fenced.subject().setting, ("directories",)).unreached() == ["directories"]


def test_a_run_that_is_not_of_any_number_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run enters the table only where the bounds that it calls any are passed, and nothing is written else."""
    ran = kraftcheck("prove", "elections", "--scope", "tiny", "--rules", "fixed", "--brokers", "any", "--property",
                     "replicas-distinct", "--quiet", "--workers", "1", "--json", tmp_path / "run.json")  # fmt: skip
    assert ran.code == 0
    words = [str(tmp_path / "table.json"), str(tmp_path / "run.json")]
    with monkeypatch.context() as patch:
        patch.setattr(table, "WALKS", 0)
        with pytest.raises(Refusal, match="brokers, replication any: no run goes beyond what searches take"):
            main(words)
    assert not (tmp_path / "table.json").exists()
    main(words)
    assert json.loads((tmp_path / "table.json").read_text())[0]["bounds"]["brokers"] == "any"


@pytest.mark.parametrize("of", one_in(8, ANY_COLUMNS), ids=lambda of: f"{of[0].system} {of[0].head()} {of[1]}")
def test_what_a_column_calls_any_has_no_largest_number(of: tuple[ProofRun, str]) -> None:
    """Each bound that a column calls any is gone beyond by a run in the column's scope, else the column is red."""
    run, name = of
    assert freed_by(run.request()).unreached((name,)) == []
