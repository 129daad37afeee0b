"""Liveness of `elections`: it holds of the mended rules, and 4.0 breaks it by lassos that ints confirm."""

from __future__ import annotations

import time

import pytest

from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.elections.fairness import FAIR_ELECTIONS
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget, explore
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds, Refuted


def explored(rules: str, scope: str = "tiny") -> Exploration:
    """The exploration of a rule set."""
    setting = FAIR_ELECTIONS.setting(scope, rules=parse(rules))
    return explore(trace(FAIR_ELECTIONS, setting), SearchBudget(threads=2), clock=time.perf_counter)


def test_the_mended_rules_elect() -> None:
    """Under `fixed` a leaderless partition finally gets a leader, cleanly or not as the topic allows."""
    found = explored("fixed")
    assert {type(one.verdict) for one in found.verdicts} == {Holds}
    assert found.distinct == 18_344


def test_a_partition_of_4_0_may_wait_for_ever() -> None:
    """Under `kafka-4.0` a live replica waits for ever although timers run: after 5 steps nothing happens any more."""
    found = explored("kafka-4.0")
    verdict = found.verdict("unclean-leader-elected").verdict
    assert isinstance(verdict, Refuted)
    loop = verdict.trace.loop
    assert loop is not None
    assert (loop.start, len(verdict.trace.steps)) == (5, 5)
    assert {one.name for one in loop.fairness} >= {"WF(balance_timer)", "WF(unclean_timer)", "SF(unfence(broker=0))"}
    assert isinstance(found.verdict("leader-elected").verdict, Refuted)


@pytest.mark.slow
def test_the_mended_rules_elect_among_three() -> None:
    """So it is with three brokers."""
    assert {type(one.verdict) for one in explored("fixed", "small").verdicts} == {Holds}


@pytest.mark.slow
def test_a_broker_that_changes_its_disk_for_ever_keeps_a_partition_waiting() -> None:
    """With two directories no fairness forbids that a broker restarts again and again with the other disk only."""
    found = explored("fixed", "directories")
    verdict = found.verdict("leader-elected").verdict
    assert isinstance(verdict, Refuted)
    assert "new_incarnation" in {step.action for step in verdict.trace.steps[2:]}
    assert isinstance(found.verdict("unclean-leader-elected").verdict, Holds)
