"""Bounded model checking, k-induction, Spacer and lassos: they agree with the explorer, and with naive searches."""

import random
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve, frozen
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.model.language.layout import ints
from kraftcheck.model.language.system import LIVENESS, Action, Fairness, Property, System
from kraftcheck.model.language.words import choose
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.elections.fairness import FAIR_ELECTIONS
from kraftcheck.properties.kinds import always, leads_to, step, strong_fairness, weak_fairness
from kraftcheck.properties.register.defects import BUGS, Bug
from kraftcheck.properties.register.verdicts import EXPECTED
from kraftcheck.solvers.exploration.explore import explore
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds, Incomplete, Refuted, Trace, Unknown, Verdict, exit_code
from kraftcheck.solvers.smt.queries import Effort
from kraftcheck.solvers.smt.runs.bounded import BoundedSearch, Lassos, Unrolling, check_bounded, check_inductive
from kraftcheck.solvers.smt.spacer import infer
from kraftcheck.solvers.smt.theory import Theory, theory
from tests import toys
from tests.random_systems import building
from tests.random_systems.claims import Claims
from tests.random_systems.systems import drawn
from tests.shared.commands import kraftcheck
from tests.shared.samples import one_in
from tests.solvers.liveness.listed import listed
from tests.solvers.liveness.naive import Puzzle, judge
from tests.solvers.liveness.puzzles import draw_puzzle
from tests.solvers.liveness.test_random_systems import fairness_of
from tests.solvers.liveness.tla import SYSTEM, ewd840
from tests.solvers.liveness.tla_messages import ALLOCATE, RETURN, RETURN_IF_SATISFIED, simple_allocator, token_ring
from tests.solvers.liveness.tla_mutex import peterson
from tests.solvers.liveness.toys import DOOR, LIFT, lamps
from tests.solvers.smt.test_induction import Mute

ELECTIONS = SYSTEMS["elections"]

EFFORT = Effort(timeout=60)

SAFE = ("elections", "replication", "directories")  # systems with rows of safety

NEVER_8 = evolve(
    toys.DIGRAPH,
    properties=lambda setting: [
        Property("never-8", "always", "Node 8 is not visited.", lambda state: state.node != 8),
        Property("not-to-8", "step", "No step leads to node 8.", lambda step: step.after.node != 8),
    ],
)
"""True claims that a step from the unreachable node 9 would break."""


def toy(system: System, scope: str | None = None) -> Theory:
    """The theory of a toy."""
    return theory(system, system.setting(scope))


def lengths(verdicts: dict[str, Verdict]) -> dict[str, int]:
    """The lengths of the counterexamples found."""
    return {claim: len(v.trace.steps) for claim, v in verdicts.items() if isinstance(v, Refuted)}


def bounded(subject: Theory, depth: int) -> dict[str, Verdict]:
    """Bounded model checking of every claim."""
    return check_bounded(subject, [claim.id for claim in subject.claims], depth, EFFORT, threading.Event())


@pytest.mark.parametrize("rules", one_in(4, ["kafka-4.0", "kafka-3.9", "kip", "fixed"]))
def test_bounded_checking_agrees_on_elections(rules: str) -> None:
    """Within three steps, the refuted properties of the tiny scope are those expected, trace length included."""
    subject = theory(ELECTIONS, ELECTIONS.setting("tiny", rules=parse(rules)), use_lemmas=False)
    verdicts = bounded(subject, 3)
    expected = {c: verdict for c, verdict in EXPECTED["elections", "tiny", rules].items() if c in verdicts}
    told = {claim: int(verdict.split()[1]) for claim, verdict in expected.items()}
    assert lengths(verdicts) == {claim: length for claim, length in told.items() if length <= 3}
    open_ = [verdict for verdict in verdicts.values() if not isinstance(verdict, Refuted)]
    assert {type(verdict) for verdict in open_} == {Incomplete}
    assert open_[0] == Incomplete("no counterexample of at most 3 steps")


def rows(most: int) -> list[Bug]:
    """The rows of the matrix whose trace has at most so many steps, without those that only recovery shows."""
    return [bug for bug in BUGS if bug.system in SAFE and min(_safe(bug).values(), default=most + 1) <= most]


def _safe(bug: Bug) -> dict[str, int]:
    system = SYSTEMS[bug.system]
    claims = system.properties(system.setting(bug.scope, bug.bounds, parse(bug.rules)))
    judged = {claim.id for claim in claims if claim.kind in ("always", "step")}
    return {claim: length for claim, length in bug.refutes.items() if claim in judged}


def found_in(bug: Bug, most: int) -> dict[str, int]:
    """The claims of a row that bounded checking refutes within so many steps, with the lengths."""
    system = SYSTEMS[bug.system]
    subject = theory(system, system.setting(bug.scope, bug.bounds, parse(bug.rules)), use_lemmas=False)
    wanted, known = _safe(bug), {claim.id for claim in subject.claims}
    assert set(wanted) <= known
    verdicts = check_bounded(subject, list(wanted), most, EFFORT, threading.Event())
    return lengths(verdicts)


def short(bug: Bug, most: int) -> dict[str, int]:
    """The claims that the explorer refutes within so many steps, with the lengths of its traces."""
    return {claim: length for claim, length in _safe(bug).items() if length <= most}


SHORT = rows(3)


@pytest.mark.parametrize("bug", one_in(4, SHORT), ids=lambda bug: f"{bug.system} {bug.variant}")
def test_bounded_checking_finds_the_short_rows_of_the_matrix(bug: Bug) -> None:
    """Defects that the explorer finds within three steps are found in as many, of all systems."""
    assert found_in(bug, 3) == short(bug, 3)


@pytest.mark.slow
@pytest.mark.parametrize("bug", [bug for bug in rows(6) if bug not in SHORT], ids=lambda b: f"{b.system} {b.variant}")
def test_bounded_checking_finds_longer_rows_of_the_matrix(bug: Bug) -> None:
    """So are those that take it four to six."""
    assert found_in(bug, 6) == short(bug, 6)


@frozen
class Two:
    """Two numbers that rise, one that goes round, and one that no step changes."""

    a: Any
    b: Any
    c: Any
    d: Any


def rises(action: str, name: str, guard: Callable[[Two], Any]) -> Action:
    """A number rises, and the third one goes on."""

    def effect(state: Two) -> Two:
        return evolve(state, **{name: getattr(state, name) + 1}, c=choose(state.c == 2, 0, state.c + 1))

    return Action(action, effect, guard)


TWO = System(
    name="two", summary="Two numbers.", layout=Two(ints(0, 2), ints(0, 2), ints(0, 2), ints(0, 0)),
    initial=[Two(0, 0, 0, 0)], properties=[always("small", "they are small", lambda state: True)],
    actions=[
        rises("first", "a", lambda state: state.b == 0), rises("second", "a", lambda state: state.b == 1),
        rises("third", "b", lambda state: state.a == 0), rises("never", "d", lambda state: state.a + state.b == 4),
    ],
)  # fmt: skip


def test_every_field_that_a_step_may_leave_is_named() -> None:
    """So is one that two steps leave from other states, and two that no state has both leave; not one that stays."""
    of = toy(TWO)
    told = [check_bounded(of, ["small"], depth, EFFORT, threading.Event())["small"] for depth in (2, 3)]
    assert told[0] == Incomplete("no counterexample of at most 2 steps")
    assert isinstance(told[1], Incomplete)
    assert told[1].cut.startswith("no counterexample of at most 2 steps; a may leave its domain in step 3: ")
    assert [name for name in "abcd" if f"{name} may leave its domain" in told[1].cut] == ["a", "b"]


def test_what_is_claimed_of_initial_states_is_asked_of_them() -> None:
    """A step property that an initial state breaks has a run without a step, and one that no state breaks has none."""
    claim = step("s", "they are small", lambda t: True)
    for number, found in ((0, {}), (1, {"s": 0})):
        begins = evolve(claim, initially=lambda state, number=number: state.a == number)
        assert lengths(bounded(toy(evolve(TWO, properties=[begins])), 1)) == found


def test_a_query_that_is_cut_says_nothing() -> None:
    """Where Z3 gives up, no counterexample is no answer, with its reason; and a new solver has all that the old had."""
    run = Unrolling(toy(toys.DIGRAPH), EFFORT, initial=True)
    for _ in range(4):
        run.extend()
    right, run.solver = run.broken("never-5"), Mute()
    assert run.broken("never-5") == "mute"
    assert run.broken("never-5") == right
    assert isinstance(right, Trace)
    assert len(right.steps) == 4
    run.solver = Mute()
    verdict = BoundedSearch(("never-5",), {})
    verdict.judge(run, Lassos(run), with_steps=True)
    assert verdict.verdicts == {"never-5": Unknown("no answer at depth 4: mute")}


def test_a_stop_ends_bounded_checking() -> None:
    """Once stopped, nothing is claimed beyond what was looked at."""
    stop = threading.Event()
    stop.set()
    assert check_bounded(toy(toys.DIGRAPH), ["never-5"], 9, EFFORT, stop) == {
        "never-5": Incomplete("stopped on request; no counterexample of at most -1 steps")
    }
    assert isinstance(check_inductive(toy(NEVER_8), ["never-8"], 2, EFFORT, stop)["never-8"], Incomplete)


def test_longer_runs_prove_what_single_steps_do_not() -> None:
    """That node 8 is not visited is 2-inductive and not 1-inductive; a false claim is refuted by the base."""
    claims = ["never-8", "not-to-8"]
    first, second = (check_inductive(toy(NEVER_8), claims, k, EFFORT, threading.Event()) for k in (1, 2))
    assert {type(verdict) for verdict in first.values()} == {Unknown}
    assert {type(verdict) for verdict in second.values()} == {Holds}
    assert lengths(check_inductive(toy(toys.DIGRAPH), ["never-5"], 5, EFFORT, threading.Event())) == {"never-5": 4}


def test_spacer_does_not_prove_what_is_false() -> None:
    """A reachable violation is unknown to Spacer; and so is a claim that it has no time for."""
    assert isinstance(infer(toy(toys.DIGRAPH), "never-5", EFFORT).verdict, Unknown)
    late = infer(toy(toys.TWO_PHASE, "7"), "consistent", Effort(timeout=0.01))
    assert isinstance(late.verdict, Unknown)
    assert late.lemma == ""


def lasso_within(system: System, depth: int, scope: str | None = None) -> dict[str, Verdict]:
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
    assert words(lasso_within(LIFT, 5, scope)) == {name: expected.get(name, "-") for name in every}


def test_no_lasso_is_incomplete_and_names_the_length() -> None:
    """One step less than the shortest lasso, nothing is found; the verdict says so, and its exit code is 20."""
    near, far = (lasso_within(LIFT, depth, "weak")["bell"] for depth in (3, 4))
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
    found = words(lasso_within(lamps(*fair, holdable=fair[0].unless is not None), 6))
    assert tuple(found.values()) == verdicts


@pytest.mark.parametrize(("scope", "lasso"), [("idle", "1+0"), ("moving", "-")])
def test_a_wait_begins_at_its_premise_and_ends_at_any_later_goal(scope: str, lasso: str) -> None:
    """A goal before the premise ends no wait; one that comes round again on the cycle does."""
    wait = leads_to("down", "The lift comes down.", lambda s: s.floor == 1, lambda s: s.floor == 0)
    assert words(lasso_within(evolve(LIFT, properties=lambda _: [wait]), 7, scope)) == {"down": lasso}


def test_a_lasso_says_how_it_is_fair() -> None:
    """On ints every constraint is taken on the cycle, or not enabled there, as the native engine says."""
    verdict = lasso_within(LIFT, 4, "weak")["bell"]
    native = explore(trace(LIFT, LIFT.setting("weak")), clock=time.perf_counter).verdict("bell").verdict
    assert isinstance(verdict, Refuted)
    assert isinstance(native, Refuted)
    assert verdict.trace.loop == native.trace.loop


def test_a_bound_that_is_cut_enables_all_the_same() -> None:
    """The door that may be tried once is not stuck: a step beyond the bound can be taken, so nothing halts there."""
    assert words(lasso_within(DOOR, 4, "cut")) == {"opens": "-"}


def test_a_specification_of_the_tla_examples() -> None:
    """Under WF(System), EWD840's nodes need not terminate, nor termination be detected; `Liveness` has no lasso."""
    found = words(lasso_within(ewd840(SYSTEM), 4))
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
    found = lasso_within(listed(puzzle), lasso_bound(puzzle))
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


MOST = 5  # steps of a lasso of a random system that is looked for


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
    native, found, both = explore(trace(chosen, setting), clock=time.perf_counter), lasso_within(chosen, MOST), 0
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
