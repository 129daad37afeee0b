"""Bounded model checking, k-induction and Spacer: they agree with the explorer and with induction."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve, frozen

from kraftcheck.model.language.layout import ints
from kraftcheck.model.language.system import Action, Property, System
from kraftcheck.model.language.words import choose
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.kinds import always, step
from kraftcheck.properties.register.defects import BUGS, Bug
from kraftcheck.properties.register.verdicts import EXPECTED
from kraftcheck.solvers.program.verdict import Holds, Incomplete, Refuted, Trace, Unknown, Verdict
from kraftcheck.solvers.smt.queries import Effort
from kraftcheck.solvers.smt.runs.bounded import BoundedSearch, check_bounded, check_inductive
from kraftcheck.solvers.smt.runs.lassos import Lassos
from kraftcheck.solvers.smt.runs.unrolling import Unrolling
from kraftcheck.solvers.smt.spacer import infer
from kraftcheck.solvers.smt.theory import Theory, theory
from tests import toys
from tests.shared.samples import one_in
from tests.solvers.smt.test_proof_edges import Mute

ELECTIONS = SYSTEMS["elections"]

EFFORT = Effort(timeout=60)

SAFE = ("elections", "replication", "directories")
"""Systems with rows of safety."""

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
