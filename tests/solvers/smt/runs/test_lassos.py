"""Lassos of bounded length: Z3 finds one where the native engine and the naive judge say that there is one."""

from __future__ import annotations

import random
import threading
import time
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.model.language.system import LIVENESS, Fairness, Property, System
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.elections.fairness import FAIR_ELECTIONS
from kraftcheck.properties.kinds import leads_to, strong_fairness, weak_fairness
from kraftcheck.solvers.exploration.explore import explore
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Incomplete, Refuted, Verdict, exit_code
from kraftcheck.solvers.smt.queries import Effort
from kraftcheck.solvers.smt.runs.bounded import check_bounded
from kraftcheck.solvers.smt.theory import Theory, theory
from tests.random_systems import building
from tests.random_systems.claims import Claims
from tests.random_systems.systems import drawn
from tests.shared.commands import kraftcheck
from tests.solvers.liveness.listed import listed
from tests.solvers.liveness.naive import Puzzle, judge
from tests.solvers.liveness.puzzles import draw_puzzle
from tests.solvers.liveness.test_random_systems import fairness_of
from tests.solvers.liveness.tla import SYSTEM, ewd840
from tests.solvers.liveness.tla_messages import ALLOCATE, RETURN, RETURN_IF_SATISFIED, simple_allocator, token_ring
from tests.solvers.liveness.tla_mutex import peterson
from tests.solvers.liveness.toys import DOOR, LIFT, lamps

EFFORT = Effort(timeout=60)


def bounded(system: System, depth: int, scope: str | None = None) -> dict[str, Verdict]:
    """The verdicts on the liveness properties, of lassos of at most so many steps."""
    subject = theory(system, system.setting(scope), use_lemmas=False, use_liveness=True)
    return check_bounded(subject, [one.id for one in subject.liveness], depth, EFFORT, threading.Event())


def words(found: dict[str, Verdict]) -> dict[str, str]:
    """Each verdict: `-` where there is no lasso, else the lengths of run and cycle."""
    told = {}
    for claim, verdict in found.items():
        assert isinstance(verdict, Refuted | Incomplete)
        loop = verdict.trace.loop if isinstance(verdict, Refuted) else None
        assert (loop is None) == isinstance(verdict, Incomplete)
        told[claim] = "-"
        if isinstance(verdict, Refuted) and loop is not None:
            told[claim] = f"{loop.start}+{len(verdict.trace.steps) - loop.start}"
    return told


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        ("idle", {"top": "0+0", "bell": "0+0", "up": "1+0", "back": "1+0", "rung": "0+0"}),
        ("moving", {"bell": "0+4", "rung": "0+4"}),
        ("weak", {"bell": "0+4", "rung": "0+4"}),
        ("fair", {}),
    ],
)
def test_the_lift_has_the_lassos_of_the_native_engine(scope: str, expected: dict[str, str]) -> None:
    """What the native engine refutes has a lasso as short; what holds, or is vacuous, has none: that is no verdict."""
    every = ("top", "bell", "up", "back", "rung", "attic", "inside")
    assert words(bounded(LIFT, 5, scope)) == {name: expected.get(name, "-") for name in every}


def test_no_lasso_is_incomplete_and_names_the_length() -> None:
    """One step less than the shortest lasso, nothing is found; the verdict says so, and its exit code is 20."""
    near, far = (bounded(LIFT, depth, "weak")["bell"] for depth in (3, 4))
    assert (near, exit_code(near)) == (Incomplete("no counterexample of at most 3 steps"), 20)
    assert exit_code(far) == 13


@pytest.mark.parametrize(
    ("fair", "verdicts"),
    [
        ((weak_fairness("light"),), ("0+2", "0+2", "0+2")),
        ((weak_fairness("light", each=["lamp"]),), ("-", "-", "0+4")),
        ((weak_fairness("light", having={"lamp": 1}),), ("1+0", "-", "1+0")),
        ((strong_fairness("light", each=["lamp"], unless=lambda s, lamp: s.held),), ("1+0", "1+0", "1+0")),
        ((weak_fairness("stay"), strong_fairness("stay")), ("0+0", "0+0", "0+0")),
    ],
)
def test_fairness_is_of_the_action_or_of_each_instance(
    fair: tuple[Fairness, ...], verdicts: tuple[str, str, str]
) -> None:
    """Fairness of an action, of each instance, of some arguments, with an excuse, and of what changes nothing."""
    found = words(bounded(lamps(*fair, holdable=fair[0].unless is not None), 6))
    assert tuple(found.values()) == verdicts


@pytest.mark.parametrize(("scope", "lasso"), [("idle", "1+0"), ("moving", "-")])
def test_a_wait_begins_at_its_premise_and_ends_at_any_later_goal(scope: str, lasso: str) -> None:
    """A goal before the premise ends no wait; one that comes round again on the cycle does."""
    wait = leads_to("down", "The lift comes down.", lambda s: s.floor == 1, lambda s: s.floor == 0)
    assert words(bounded(evolve(LIFT, properties=lambda _: [wait]), 7, scope)) == {"down": lasso}


def test_a_lasso_says_how_it_is_fair() -> None:
    """On ints every constraint is taken on the cycle, or not enabled there, as the native engine says."""
    verdict = bounded(LIFT, 4, "weak")["bell"]
    native = explore(trace(LIFT, LIFT.setting("weak")), clock=time.perf_counter).verdict("bell").verdict
    assert isinstance(verdict, Refuted)
    assert isinstance(native, Refuted)
    assert verdict.trace.loop == native.trace.loop


def test_a_bound_that_is_cut_enables_all_the_same() -> None:
    """The door that may be tried once is not stuck: a step beyond the bound can be taken, so nothing halts there."""
    assert words(bounded(DOOR, 4, "cut")) == {"opens": "-"}


def test_a_specification_of_the_tla_examples() -> None:
    """Under WF(System), EWD840's nodes need not terminate, nor termination be detected; `Liveness` has no lasso."""
    found = words(bounded(ewd840(SYSTEM), 4))
    assert (found["AllTerminate"], found["Detected"], found["Liveness"]) == ("1+0", "1+0", "-")


@pytest.mark.parametrize(
    ("system", "claim", "lasso"),
    [
        (simple_allocator(RETURN_IF_SATISFIED, ALLOCATE), "InfOftenSatisfied-0", "4+0"),
        (simple_allocator(RETURN, weak_fairness("allocate", each=["client"])), "ClientsWillObtain-0-0", "1+3"),
        (simple_allocator(RETURN, ALLOCATE), "ClientsWillObtain-0-0", "-"),
        (peterson(weak_fairness("process_0")), "Enters-0", "5+0"),
        (token_ring(4, 2, weak_fairness("create", "hand_on")), "Stab", "0+8"),
    ],
)
def test_more_specifications_of_the_tla_examples(system: System, claim: str, lasso: str) -> None:
    """Allocator, Peterson and token ring have the lassos of the native engine, and none where it has none."""
    subject = theory(system, system.setting(), use_lemmas=False, use_liveness=True)
    found = check_bounded(subject, [claim], 8 if lasso == "0+8" else 5, EFFORT, threading.Event())
    assert words(found) == {claim: lasso}


@pytest.mark.slow
def test_elections_have_the_lasso_of_the_native_engine() -> None:
    """Under `kafka-4.0` an unclean election is missed for ever after five steps; `fixed` has no lasso as short."""
    broken, fixed = (
        words(check_bounded(elections_theory(rules), ["unclean-leader-elected"], 5, EFFORT, threading.Event()))
        for rules in ("kafka-4.0", "fixed")
    )
    assert (broken, fixed) == ({"unclean-leader-elected": "5+0"}, {"unclean-leader-elected": "-"})


def elections_theory(rules: str) -> Theory:
    """The theory of the fair elections, tiny, under a rule set."""
    return theory(FAIR_ELECTIONS, FAIR_ELECTIONS.setting("tiny", rules=parse(rules)), False, use_liveness=True)


def lasso_bound(puzzle: Puzzle) -> int:
    """A length that a shortest stem with a shortest cycle never exceeds."""
    return puzzle.count * (len(puzzle.fair) + 3)


def check_puzzle(puzzle: Puzzle) -> None:
    """Every kind has a lasso where the naive judge says so, and none where it does not."""
    found = bounded(listed(puzzle), lasso_bound(puzzle))
    for kind in LIVENESS:
        stem, verdict = judge(puzzle, kind).stem, found[kind]
        assert isinstance(verdict, Incomplete if stem is None else Refuted), (kind, puzzle)
        if stem is not None:
            assert isinstance(verdict, Refuted)
            assert verdict.trace.loop is not None
            # where a wait may begin on the cycle, the naive stem ends there
            around = len(verdict.trace.steps) if kind == "leads_to" else verdict.trace.loop.start
            assert around >= stem


RANDOM = st.randoms(use_true_random=False)


@settings(max_examples=12, deadline=None)
@given(RANDOM)
def test_random_graphs_have_a_lasso_where_components_say_so(source: random.Random) -> None:
    """Of small random graphs under random fairness, every kind of property is refuted exactly where it is broken."""
    check_puzzle(draw_puzzle(source, most=4, fairness=2))


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(RANDOM)
def test_many_random_graphs_have_a_lasso_where_components_say_so(source: random.Random) -> None:
    """So do hundreds, with more states and constraints."""
    check_puzzle(draw_puzzle(source, most=6, fairness=3))


MOST = 5
"""Steps of a lasso of a random system that is looked for."""


def check_random_system(seed: int) -> int:
    """Compare a random system with sets, lists and records; how many of its properties are refuted by both engines."""
    drawn_ = drawn(seed)
    machine, graph = drawn_.machine, drawn_.graph
    if graph.pruned() or len(graph.depth) > 60:
        return 0
    source = random.Random(f"lassos {seed}")
    labels = {key: n for n, key in enumerate(dict.fromkeys((t.move, t.arguments) for _, t in graph.steps()))}
    declared, _ = fairness_of(source, drawn_, labels)
    made, system = Claims(source, machine, graph), building.build(machine)
    setting = system.setting()
    premise, goal = (
        building.claim(machine, made.claim(name, "sometimes"), dict(setting.bounds)) for name in ("premise", "goal")
    )
    asked = [
        Property(kind, kind, kind, goal.predicate, when=premise.predicate if kind == "leads_to" else None)
        for kind in LIVENESS
    ]
    chosen = evolve(system, properties=lambda _: asked, fairness=lambda _: declared)
    native, found, both = explore(trace(chosen, setting), clock=time.perf_counter), bounded(chosen, MOST), 0
    for kind in LIVENESS:
        verdict, other = found[kind], native.verdict(kind).verdict
        if isinstance(other, Refuted) and len(other.trace.steps) <= MOST:
            assert isinstance(verdict, Refuted), (seed, kind)
            both += 1
        if isinstance(verdict, Refuted):
            assert isinstance(other, Refuted), (seed, kind)
            assert len(verdict.trace.steps) <= len(other.trace.steps)
    return both


def test_random_systems_have_the_lassos_of_the_native_engine() -> None:
    """What the native engine refutes by a short lasso has one, and nothing else has."""
    assert sum(check_random_system(seed) for seed in (13, 16, 18, 20)) > 2


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_many_random_systems_have_the_lassos_of_the_native_engine(part: int) -> None:
    """So it is with many."""
    assert sum(check_random_system(seed) for seed in range(100 + 25 * part, 125 + 25 * part)) > 10


NAME = "tests.solvers.liveness.toys:LIFT"


def test_the_document_has_the_cycle() -> None:
    """The JSON document holds where the cycle begins, and for each constraint where it is taken or not enabled."""
    ran = kraftcheck("prove", NAME, "--scope", "weak", "--bmc", "4", "--property", "bell", "--quiet", "--json", "-")
    (claim,) = ran.document()["claims"]
    loop: Any = claim["trace"]["loop"]
    assert (claim["kind"], claim["verdict"], claim["depth"], loop["start"]) == ("eventually", "refuted", 4, 0)
    assert loop["fairness"][2] == {"name": "WF(ring)", "taken": [], "disabled": [0, 1, 3]}
