"""Compiled walks: the same whatever the threads, every step a step of the rules, and what breaks is found."""

import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from attrs import evolve

from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.model.language.system import System
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.solvers.exploration.explore import SearchBudget, explore
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import DEADLOCK, PackedRun, Refuted
from kraftcheck.solvers.reference.interpreter import Integers
from kraftcheck.solvers.walks.walker import SCHEDULES, FingerprintSet, Walker, WalkPlan
from kraftcheck.solvers.walks.walks import Walks, confirm_findings, confirm_occurrence, moves_of, simulate, witnesses
from tests.toys import CLOCK, COUNTER, DIGRAPH, STUCK, Place

ELECTIONS = SYSTEMS["elections"]


def program_of(system: System, scope: str | None = None, rules: str | None = None) -> Program:
    """A system traced."""
    return trace(system, system.setting(scope, rules=parse(rules) if rules is not None else None))


TINY = program_of(ELECTIONS, "tiny", "kafka-4.0")


def walked(program: Program, runs: int = 100, steps: int = 50, seed: int = 3, **more: Any) -> Walks:
    """Walks of a program."""
    plan = WalkPlan(runs, steps, seed, cache_dir=cache_folder(), **more)
    return simulate(program, plan, clock=time.perf_counter)


def essence(walks: Walks) -> Any:
    """All that a simulation found, without times."""
    curve = [evolve(point, seconds=0) for point in walks.curve]
    return evolve(walks, curve=tuple(curve), seconds=0, compile_seconds=0, cached=False)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_results_do_not_depend_on_threads(schedule: str) -> None:
    """One thread and three find the same, down to each occasion and each point of the curve."""
    alone, crowd = (walked(TINY, runs=130, threads=threads, schedule=schedule) for threads in (1, 3))
    assert essence(alone) == essence(crowd)
    assert len(alone.curve) == 3


def walker_of(program: Program, seed: int, starts: Sequence[tuple[int, ...]] = ()) -> Walker:
    """A walker of 40 steps whose schedule is weighted."""
    ways = tuple(PackedRun(start, (), start) for start in starts)
    return Walker(program, WalkPlan(1, 40, seed, "weighted", runs_to_starts=ways, cache_dir=cache_folder()))


def test_the_seed_draws_where_a_run_begins() -> None:
    """From the same states to start in, runs of another seed begin elsewhere, and those of the same seed do not."""
    program = program_of(DIGRAPH)
    starts = [program.layout.pack(Place(node)) for node in range(9)]
    begun = [[walker_of(program, seed, starts).run(number, 0).start for number in range(20)] for seed in (3, 4, 3)]
    assert begun[0] == begun[2] != begun[1]


def test_the_seed_draws_which_actions_a_run_prefers() -> None:
    """Of two actions that are always enabled, each run takes one, the other or both; the seed says which."""
    follow = DIGRAPH.actions(DIGRAPH.setting())[0]
    both = evolve(DIGRAPH, actions=lambda _: [evolve(follow, name=name, guard=None) for name in ("one", "other")])
    program = program_of(both)

    def preferred(seed: int) -> list[str]:
        walker, told = walker_of(program, seed), []
        for number in range(20):
            taken = [move.action for move in moves_of(program, [int(i) for i in walker.run(number, 0).path])]
            told.append({0: "one", 40: "other"}.get(round(sum(taken), -1), "both"))
        return told

    assert set(preferred(3)) == {"one", "other", "both"}
    assert preferred(3) == preferred(3) != preferred(4)


def test_the_seed_draws_the_steps() -> None:
    """Where all runs begin in one state and there is one action to prefer, runs of another seed go other ways."""
    follow = DIGRAPH.actions(DIGRAPH.setting())[0]
    program = program_of(evolve(DIGRAPH, actions=lambda _: [follow]))

    def ways(seed: int) -> list[list[int]]:
        walker = walker_of(program, seed)
        return [walker.run(number, 0).path.tolist() for number in range(20)]

    assert ways(3) == ways(3) != ways(4)
    assert len({tuple(way) for way in ways(3)}) > 10


def test_more_runs_begin_with_the_same_ones() -> None:
    """The first runs of many are those of few."""
    few, many = walked(TINY, runs=64), walked(TINY, runs=128)
    assert evolve(few.curve[0], seconds=0) == evolve(many.curve[0], seconds=0)


@pytest.mark.parametrize("schedule", [0, 1])
def test_every_step_is_a_step_of_the_rules(schedule: int) -> None:
    """A run replayed on ints takes only enabled steps, each to another state, and its states are those counted."""
    name = next(known for known, used in SCHEDULES.items() if used == (schedule,))
    walker = Walker(TINY, WalkPlan(1, 40, 5, name, cache_dir=cache_folder()))
    engine = Integers(TINY.system, TINY.setting)
    for number in range(20):
        run = walker.run(number, 0)
        state = TINY.layout.unpack(run.start)
        seen = [state]
        for move in moves_of(TINY, [int(i) for i in run.path]):
            assert engine.is_enabled(state, move)
            assert engine.take(state, move).step.after != state
            state = engine.take(state, move).step.after
            seen.append(state)
        assert len(run.prints) == len(seen)
        assert len(set(run.prints.tolist())) == len(set(seen))


@pytest.mark.slow
def test_long_walks_visit_most_states() -> None:
    """Enough walks of a small scope visit four fifths of the states that the exploration finds, and no others."""
    program = trace(ELECTIONS, ELECTIONS.setting("tiny", {"reassignment": 0}, parse("fixed")))
    known = explore(program, SearchBudget(cache_dir=cache_folder(), keep=False), clock=time.perf_counter).distinct
    walks = walked(program, runs=3000, steps=300)
    assert 0.8 * known < walks.distinct <= known
    assert walks.broken == ()
    assert walks.goals_missed == ()


def test_what_breaks_is_found_and_shortened() -> None:
    """Each safety property that the exploration refutes is found, no other, and no shorter counterexample."""
    space = explore(TINY, SearchBudget(cache_dir=cache_folder(), keep=False), clock=time.perf_counter)
    judged = [v for v in space.verdicts if isinstance(v.verdict, Refuted) and v.kind in ("always", "step")]
    wanted = {v.claim: v.depth or 0 for v in judged}
    found = {one.trace.claim: one for one in confirm_findings(walked(TINY, runs=1000, steps=100), long_searches=0)}
    assert found.keys() == wanted.keys()
    for claim, one in found.items():
        assert wanted[claim] <= len(one.trace.steps) <= one.steps


def test_goals_are_witnessed() -> None:
    """Every goal that walks reach has a confirmed witness that ends in it."""
    walks = walked(TINY)
    shown = {one.trace.claim: one.trace for one in witnesses(walks)}
    assert shown.keys() == {where.claim.id for where in walks.goals_shown if where.claim is not None}
    assert shown["shows-leaderless"].states[-1].leader == -1


def test_goals_out_of_reach_are_missed() -> None:
    """A goal that no run reaches is told: node 8 of the toy graph has no way to it."""
    walks = walked(program_of(DIGRAPH))
    assert [goal.id for goal in walks.goals_missed] == ["reach-8"]
    assert {where.claim.id for where in walks.broken if where.claim is not None} == {"never-5", "never-4-to-5"}


def test_deadlock_is_met() -> None:
    """A walk that cannot go on, in a state that is not quiescent, is a deadlock."""
    found = confirm_findings(walked(program_of(STUCK), runs=5))
    assert [one.trace.claim for one in found] == [DEADLOCK]


def test_bounds_that_cut_are_counted() -> None:
    """Transitions that leave a domain are not taken, and counted by field."""
    walks = walked(program_of(COUNTER), runs=10)
    assert walks.pruned["count"] > 0


def test_starts_and_their_ways() -> None:
    """Walks from a state begin there, and a counterexample goes back to an initial state."""
    program = program_of(DIGRAPH)
    instances = [n for n in range(program.instances) if str(program.instance(n)[1]).count("source=0, target=6")]
    end = program.layout.pack(program.layout.unpack((6,)))
    way = PackedRun(program.initial[0], tuple(instances), end)
    walks = walked(program, runs_to_starts=(way,), steps=3)
    assert {where.start for where in walks.broken} == {end}
    engine = Integers(program.system, program.setting)
    one = confirm_occurrence(program, engine, walks.broken[0], [way], 1000)
    assert [step.state.node for step in one.trace.steps] == [6, 7, 4, 5]


def test_weights_prefer_actions() -> None:
    """An action of weight 50 is taken more often than without it."""
    plain, heavy = (walked(TINY, schedule="weighted", weights=w) for w in ({}, {"unregister": 50}))
    assert heavy.steps_by_action["unregister"] > plain.steps_by_action["unregister"] > 0


def test_a_stop_is_told() -> None:
    """A simulation that is stopped counts whole chunks only, and says that runs are missing."""
    stop = threading.Event()
    plan = WalkPlan(1000, 50, 3, cache_dir=cache_folder())
    walks = simulate(TINY, plan, clock=time.perf_counter, stop=stop, progress=lambda point: stop.set())
    assert (walks.runs, walks.cut) == (64, "stopped after 64 of 1,000 runs")


@pytest.mark.slow
def test_the_clock_saturates() -> None:
    """The two states of the clock are counted once each, however long the walks; no fingerprint is lost in growth."""
    assert walked(program_of(CLOCK), runs=200, steps=1000).distinct == 2
    walker = Walker(TINY, WalkPlan(1, 1, 1, cache_dir=cache_folder()))
    seen = FingerprintSet(walker.library.function("count_new", 4))
    prints = np.arange(200_000, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for part in np.array_split(prints, 7):
        seen.add(part)
        seen.add(part)
    assert seen.number == 200_000
