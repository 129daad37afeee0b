"""Shrinking: near the shortest counterexample, for defects that walks find within the budget of the profile."""

from __future__ import annotations

import itertools
import time

import pytest

from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.model.language.system import System
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import find
from kraftcheck.properties.register.defects import BUGS, Bug
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import DEADLOCK
from kraftcheck.solvers.reference.interpreter import BUDGET, Integers, Move, shrink
from kraftcheck.solvers.walks.walker import WalkPlan
from kraftcheck.solvers.walks.walks import moves_of, simulate
from tests.conftest import PROFILE
from tests.shared.samples import one_in
from tests.solvers.hypothesis.profiles import WALKS
from tests.toys import DIGRAPH, STUCK

NEAR = 2
"""Steps that a shortened run may have more than the shortest."""

CHOSEN = (
    "hw-uses-proposed-isr", "every-restart-is-unclean", "stale-reregistration-keeps-isr", "fenced-may-join-isr",
    "shutting-down-may-join-isr", "refusal-taken-for-success", "unfence-ignores-assignments",
    "reregistration-fences", "failure-reported-once", "lost-source-unreported", "startup-swap-ignores-offsets",
    "catch-up-as-coded", "unassigned-fills-while-offline", "assigned-fills-while-offline",
    "promotion-ignores-offsets", "duplicate-ids-start", "unfence-unasked", "reserved-ids-drawn",
)  # fmt: skip
"""Variants of the matrix, of both systems that are cheap to compile."""

ROWS = [bug for bug in BUGS if bug.variant in CHOSEN]


def test_enough_variants_are_chosen() -> None:
    """Each chosen variant is in the matrix, and there are at least 15."""
    assert {bug.variant for bug in ROWS} == set(CHOSEN)
    assert len(CHOSEN) >= 15


@pytest.mark.parametrize("bug", one_in(4, ROWS), ids=lambda bug: bug.variant)
def test_a_defect_is_found_and_shrunk(bug: Bug) -> None:
    """Walks find the defect within the profile's budget; its run shrinks to within two steps of the shortest."""
    system, (runs, steps) = find(bug.system), WALKS[PROFILE]
    program = trace(system, system.setting(bug.scope, bug.bounds, parse(bug.rules)))
    walks = simulate(program, WalkPlan(runs, steps, 7, cache_dir=cache_folder()), clock=time.perf_counter)
    claims = {where.claim.id: where for where in walks.broken if where.claim is not None}
    assert claims.keys() <= bug.refutes.keys()
    soonest = min(claims, key=lambda claim: len(claims[claim].instances))
    where = claims[soonest]
    engine = Integers(system, program.setting)
    run = shrink(engine, program.layout.unpack(where.start), moves_of(program, where.instances), soonest)
    assert bug.refutes[soonest] <= len(run.transitions) <= bug.refutes[soonest] + NEAR


def engine(system: System) -> Integers:
    """A toy on ints."""
    return Integers(system, system.setting())


def follow(*nodes: int) -> list[Move]:
    """Moves along the toy graph."""
    toy = engine(DIGRAPH)
    edges = DIGRAPH.actions(toy.setting)[0].parameters["edge"]
    pairs = list(itertools.pairwise(nodes))
    return [Move(0, next(n for n, e in enumerate(edges) if (e.source, e.target) == pair)) for pair in pairs]


def test_detours_and_long_ways_go() -> None:
    """Loops are left out, and the shorter of two ways is found although no step of it was walked."""
    toy = engine(DIGRAPH)
    run = shrink(toy, toy.initial[0], follow(0, 1, 2, 2, 2, 3, 4, 5), "never-5")
    assert [one.step.after.node for one in run.transitions] == [6, 7, 4, 5]


def test_moves_that_are_not_enabled_are_passed_over() -> None:
    """What cannot be taken is no part of the run."""
    toy = engine(DIGRAPH)
    run = shrink(toy, toy.initial[0], [*follow(3, 4), *follow(0, 6, 7, 4, 5), *follow(5, 0)], "never-4-to-5")
    assert [one.step.after.node for one in run.transitions] == [6, 7, 4, 5]


def test_goals_shrink_too() -> None:
    """A run that shows a goal shrinks to a run that shows it."""
    toy = engine(DIGRAPH)
    run = shrink(toy, toy.initial[0], follow(0, 1, 2, 3, 4, 5), "reach-5")
    assert run.transitions[-1].step.after.node == 5
    assert run.broken.kind == "sometimes"


def test_deadlocks_shrink() -> None:
    """A run into a deadlock shrinks to one."""
    toy = engine(STUCK)
    moves = []
    state = toy.initial[0]
    while (move := next(toy.enabled(state), None)) is not None:
        moves.append(move)
        state = toy.take(state, move).step.after
    assert shrink(toy, toy.initial[0], moves, DEADLOCK).broken.claim == DEADLOCK


def test_a_run_that_breaks_nothing_is_refused() -> None:
    """What does not break the claim, and a claim that is none, are errors."""
    toy = engine(DIGRAPH)
    with pytest.raises(ValueError, match="the run does not break never-5"):
        shrink(toy, toy.initial[0], follow(0, 1, 2), "never-5")
    with pytest.raises(ValueError, match="no safety property or goal 'never'"):
        shrink(toy, toy.initial[0], follow(0, 1, 2), "never")


@pytest.mark.parametrize("budget", [0, 1, 10, BUDGET])
def test_no_budget_makes_a_run_longer(budget: int) -> None:
    """However little may be tried, the run given is not made longer, and still breaks the claim."""
    toy = engine(DIGRAPH)
    run = shrink(toy, toy.initial[0], follow(0, 1, 2, 2, 3, 4, 5), "never-5", budget=budget)
    assert len(run.transitions) <= 6
    assert run.transitions[-1].step.after.node == 5
