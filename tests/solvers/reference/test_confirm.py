"""What confirms, keeps, completes and shrinks a counterexample, at its edges."""

import itertools
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import llvmlite.binding
import pytest
from attrs import evolve
from itf_py import value_from_json

from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.model.language.layout import Range
from kraftcheck.model.language.system import Action, Property, System
from kraftcheck.model.language.words import all_of
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import find
from kraftcheck.properties.kinds import recovers
from kraftcheck.properties.register.defects import BUGS, Bug
from kraftcheck.solvers.machine_code import compile as native
from kraftcheck.solvers.machine_code.compile import cache_key
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import DEADLOCK, Holds, Refuted, Unknown
from kraftcheck.solvers.reference.interpreter import BUDGET, Integers, Move, shrink
from kraftcheck.solvers.traces.itf import ACTION, PICKS, TraceError, check_states, document, instances, plain, recipe
from kraftcheck.solvers.walks.walker import SCHEDULES, Walker, WalkPlan, walks_key
from kraftcheck.solvers.walks.walks import Walks, moves_of, simulate
from tests import toys
from tests.conftest import PROFILE
from tests.shared.edges import HOTEL, LIFT, Milestone
from tests.shared.explored import explored
from tests.shared.samples import one_in
from tests.solvers.hypothesis.profiles import WALKS
from tests.toys import DIGRAPH, STUCK

LENGTH, MIDDLE = 200, 90


def lane(*claims: Property, walled: bool = True) -> Program:
    """A way of places in one direction, by one or two at a time; without a wall the domain of the place ends it."""

    def room(state: Milestone, by: Any) -> Any:
        return all_of(state.at + by < LENGTH) if walled else True

    system = System(
        name="lane",
        summary="A way in one direction.",
        initial=lambda setting: [Milestone(0)],
        layout=lambda setting: Milestone(Range(0, LENGTH - 1, cap="the lane ends there")),
        actions=lambda setting: [Action("go", lambda s, by: Milestone(s.at + by), room, {"by": [1, 2]})],
        properties=lambda setting: claims,
        quiescent=lambda s: s.at == LENGTH - 1,
    )
    return trace(system, system.setting())


@pytest.mark.parametrize("threads", [1, 2])
def test_a_long_way_back_is_found(threads: int) -> None:
    """All states before the middle reach it, however the way is restricted to instances; none behind it does."""
    slow = {"go": {"by": 1}}
    claims = [
        recovers("before", "The middle can be reached.", lambda s: s.at == MIDDLE, when=lambda s: s.at <= MIDDLE),
        recovers("slowly", "So it can step by step.", lambda s: s.at == MIDDLE, when=lambda s: s.at <= MIDDLE, by=slow),
        recovers("always", "It can be reached again.", lambda s: s.at == MIDDLE),
    ]
    found = explored(lane(*claims), threads=threads)
    for name in ("before", "slowly"):
        verdict = found.verdict(name).verdict
        assert isinstance(verdict, Holds)
        assert verdict.cases == MIDDLE
    assert isinstance(found.verdict("always").verdict, Refuted)
    assert found.verdict("always").depth == -(-(MIDDLE + 1) // 2)


def test_what_lies_beyond_a_bound_is_unknown_from_far_off() -> None:
    """Where only the bound at its end cuts a way, nothing is claimed of the states long before it either."""
    claims = [recovers("beyond", "More can be reached.", lambda s: s.at > LENGTH)]
    assert explored(lane(*claims, walled=False)).verdict("beyond").verdict == Unknown(
        "a state at depth 0 recovers, if at all, only beyond a bound that pruned transitions"
    )
    assert isinstance(explored(lane(*claims)).verdict("beyond").verdict, Refuted)


def walked(program: Program, runs: int, steps: int, **options: Any) -> Walks:
    """Walks of a program."""
    return simulate(program, WalkPlan(runs, steps, 3), clock=lambda: 0.0, **options)


def told(walks: Walks) -> set[str]:
    """Ids of the claims that were broken or shown."""
    return {one.claim.id if one.claim is not None else "deadlock" for one in (*walks.broken, *walks.goals_shown)}


def test_the_last_state_of_a_walk_is_judged() -> None:
    """A walk of as many steps as it takes breaks and shows claims about its last state; a shorter one does not."""
    broken = Property("not-3", "always", "Place 3 is not visited.", lambda s: s.node != 3)
    shown = Property("at-3", "sometimes", "Place 3 is visited.", lambda s: s.node == 3)
    system = evolve(toys.RESTING, properties=lambda setting: [broken, shown])
    program = trace(system, system.setting())
    assert told(walked(program, 2, 3)) == {"not-3", "at-3"}
    short = walked(program, 2, 2)
    assert told(short) == set()
    assert [goal.id for goal in short.goals_missed] == ["at-3"]
    assert walked(program, 2, 3).goals_missed == ()
    (occasion,) = walked(program, 2, 3).broken
    assert len(occasion.instances) == 3


@pytest.mark.parametrize("schedule", ["weighted", "priority"])
@pytest.mark.parametrize("system", [LIFT, HOTEL, toys.DIGRAPH], ids=lambda system: system.name)
def test_walks_go_where_they_say(system: System, schedule: str) -> None:
    """The instances that a walk notes lead on ints through as many states as it counts, all of them enabled."""
    program = trace(system, system.setting())
    walker, engine = Walker(program, WalkPlan(1, 30, 5, schedule)), Integers(system, system.setting())
    assert schedule in SCHEDULES
    for number in range(10):
        run = walker.run(number, 0)
        state = program.layout.unpack(run.start)
        seen = {state}
        for instance in run.path.tolist():
            kind = next(k for k in reversed(program.kinds) if k.first <= instance)
            action, arguments = kind.action, kind.instances[instance - kind.first]
            assert action.enabled(state, arguments)
            after = action.outcome(state, arguments).state
            assert after != state
            assert engine.field_outside(after) is None
            state = after
            seen.add(state)
        assert len(set(run.prints.tolist())) == len(seen)


class Late(threading.Event):
    """A flag that is set the tenth time that it is looked at."""

    looked = 0

    def is_set(self) -> bool:
        """Whether it has been looked at often enough."""
        self.looked += 1
        return self.looked > 10


def test_a_chunk_of_walks_that_was_stopped_does_not_count() -> None:
    """Runs of a chunk of which some were not made are left out, and the walks say that they were stopped."""
    walks = walked(trace(toys.CLOCK, toys.CLOCK.setting()), 100, 5, stop=Late())
    assert (walks.runs, walks.steps, walks.cut) == (0, 0, "stopped after 0 of 100 runs")


def test_a_trace_document_holds_every_field() -> None:
    """Each state of a document has each field as on ints; it reads back to the same run, and admits no other value."""
    program = trace(LIFT, LIFT.setting())
    verdict = explored(program).verdict("above-bottom").verdict
    assert isinstance(verdict, Refuted)
    made = document(verdict.trace, program, "lift", None, shortest=True)
    assert made["vars"] == ["height", "lit", ACTION, PICKS]
    for listed, state in zip(made["states"], verdict.trace.states, strict=True):
        assert {name: value_from_json(listed[name]) for name in ("height", "lit")} == vars(plain(state))
    first, taken = instances(recipe(made), program)
    assert first == program.initial[0]
    assert [program.instance(n)[0].name for n in taken] == [step.action for step in verdict.trace.steps]
    for field, other in (("height", {"#bigint": "2"}), ("lit", True)):
        states = [*made["states"][:-1], {**made["states"][-1], field: other}]
        with pytest.raises(TraceError, match=rf"key states\[{len(states) - 1}\]\.{field}: the file says"):
            check_states(recipe({**made, "states": states}), verdict.trace)


def test_keys_of_compiled_code_follow_all_that_it_depends_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Another version of llvmlite, another processor, other features and a changed source give other names."""
    program = trace(toys.CLOCK, toys.CLOCK.setting())
    keys = [cache_key(program)]
    assert cache_key(program) == keys[0]
    for place, name, value in (
        (native.llvmlite, "__version__", "0.0.0"),
        (llvmlite.binding, "get_host_cpu_name", lambda: "abacus"),
        (llvmlite.binding, "get_host_cpu_features", lambda: SimpleNamespace(flatten=lambda: "+beads")),
        (llvmlite.binding, "get_default_triple", lambda: "abacus-sumer-none"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(place, name, value)
            keys.append(cache_key(program))
    for number, source in enumerate(native._SOURCES):
        changed = tmp_path / "changed.py"
        changed.write_bytes(Path(str(source.__file__)).read_bytes() + b"\n")
        others = list(native._SOURCES)
        others[number] = SimpleNamespace(__file__=str(changed))
        with monkeypatch.context() as patch:
            patch.setattr(native, "_SOURCES", tuple(others))
            keys.append(cache_key(program))
    assert len(set(keys)) == 5 + len(native._SOURCES)
    assert walks_key(program) not in keys


NEAR = 2  # steps that a shortened run may have more than the shortest

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
