"""Provers at their edges: several initial states, answers that Z3 does not give, stops, depths, and single values."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest
import z3
from attrs import evolve

from kraftcheck.ci.prove import command as second
from kraftcheck.ci.prove.question import ProofAnswer
from kraftcheck.ci.systems.subject import subject as subject_of
from kraftcheck.model.language.layout import Range
from kraftcheck.model.language.system import Action, Property, System
from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.solvers.program.verdict import Holds, Incomplete, Refuted, Unknown
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.smt.induction import Proof, obligations, prove
from kraftcheck.solvers.smt.queries import PROVEN, REFUTED, UNDECIDED, Effort, Questions, new_solver
from kraftcheck.solvers.smt.runs.bounded import check_bounded, check_inductive
from kraftcheck.solvers.smt.runs.unrolling import Unrolling
from kraftcheck.solvers.smt.theory import Theory, theory
from kraftcheck.solvers.smt.verdicts import ClaimJudgement, ModelAction, SearchEvidence, judge, trace_on_ints
from kraftcheck.solvers.smt.worker import Z3Engine
from kraftcheck.solvers.smt.z3terms import Z3Reader, value_of
from tests import toys
from tests.shared.readers import values_of

EFFORT = Effort(timeout=60)

APART = System(
    name="apart",
    summary="Two places to begin in, and no way to anywhere else.",
    initial=lambda setting: [toys.Place(0), toys.Place(7)],
    layout=lambda setting: toys.Place(Range(0, 9)),
    actions=lambda setting: [Action("stay", lambda s: s)],
    properties=lambda setting: [
        Property("not-0", "always", "The first place is not there.", lambda s: s.node != 0),
        Property("not-7", "always", "The second place is not there.", lambda s: s.node != 7),
        Property("not-8", "always", "A third place is not there.", lambda s: s.node != 8),
    ],
)
"""Every claim is kept by the only action; the first two are false initially, each in one of the initial states."""


def of(system: System, *claims: Property) -> Theory:
    """The theory of a toy, about other claims where some are given."""
    chosen = evolve(system, properties=lambda setting: claims) if claims else system
    return theory(chosen, chosen.setting(None))


def not_at(node: int) -> Property:
    """The claim that a node is not visited."""
    return Property(f"not-{node}", "always", f"Node {node} is not visited.", lambda s: s.node != node)


def test_a_claim_that_one_initial_state_breaks_is_not_proven() -> None:
    """Of claims that every step keeps, those that the first or the second initial state breaks are not proven."""
    subject = of(APART)
    proof = prove(lambda: subject, effort=EFFORT, clock=time.monotonic)
    assert [proof.proven(name) for name in ("not-0", "not-7", "not-8")] == [False, False, True]


def test_every_initial_state_is_where_a_run_may_begin() -> None:
    """Bounded checking and the base of k-induction look at each of two initial states, and at no other."""
    claims = ["not-0", "not-7", "not-8"]
    bounded = check_bounded(of(APART), claims, 2, EFFORT, threading.Event())
    assert [len(v.trace.steps) if isinstance(v, Refuted) else None for v in bounded.values()] == [0, 0, None]
    found = check_inductive(of(APART), claims, 1, EFFORT, threading.Event())
    assert [type(verdict) for verdict in found.values()] == [Refuted, Refuted, Holds]


def test_bounded_checking_looks_as_deep_as_it_says() -> None:
    """The run of four steps is found at depth 4 and not at 3, and the verdict names the depth that was looked at."""
    subject = of(toys.DIGRAPH)
    near, far = (check_bounded(subject, ["never-5"], depth, EFFORT, threading.Event()) for depth in (3, 4))
    assert near == {"never-5": Incomplete("no counterexample of at most 3 steps")}
    assert isinstance(far["never-5"], Refuted)


class Mute:
    """A solver that never knows, in the place of one that does."""

    def __init__(self) -> None:
        self.asked = 0

    def check(self, *literals: Any) -> Any:
        """Nothing is decided."""
        self.asked += 1
        return z3.unknown

    def reason_unknown(self) -> str:
        """Why."""
        return "mute"

    def push(self) -> None:
        """Nothing is kept."""

    pop = push

    def add(self, *truths: Any) -> None:
        """Nothing is read."""


def test_a_run_that_z3_gives_up_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Z3 does not decide, a bounded run is neither found nor excluded, and nothing is proven by k-induction."""
    monkeypatch.setattr("kraftcheck.solvers.smt.runs.unrolling.new_solver", lambda *_: Mute())
    assert Unrolling(of(APART), EFFORT, initial=True).broken("not-8") == "mute"
    silent = {"not-8": Unknown("no answer at depth 0: mute")}
    assert check_bounded(of(APART), ["not-8"], 2, EFFORT, threading.Event()) == silent
    assert check_inductive(of(APART), ["not-8"], 1, EFFORT, threading.Event()) == silent
    base = itertools.chain([new_solver], itertools.repeat(lambda *_: Mute()))
    monkeypatch.setattr("kraftcheck.solvers.smt.runs.unrolling.new_solver", lambda *given: next(base)(*given))
    assert check_inductive(of(APART), ["not-8"], 1, EFFORT, threading.Event()) == {
        "not-8": Unknown("not 1-inductive: mute")
    }


def test_k_induction_tells_what_is_inductive_from_what_is_not() -> None:
    """Of three claims that hold, the two that are inductive are proven, whichever place the third has among them."""
    holding = {8: "not-8", 9: "not-9"}
    for order in itertools.permutations([not_at(8), not_at(9), Property("small", "always", "So is all.", _small)]):
        subject = of(toys.DIGRAPH, *order)
        found = check_inductive(subject, [one.id for one in order], 1, EFFORT, threading.Event())
        # Without 9, which no edge leads to, nothing leads to 8: together they are inductive.
        assert {type(found[name]) for name in (*holding.values(), "small")} == {Holds}
        alone = [one for one in order if one.id != "not-9"]
        found = check_inductive(of(toys.DIGRAPH, *alone), [one.id for one in alone], 1, EFFORT, threading.Event())
        assert (type(found["not-8"]), type(found["small"])) == (Unknown, Holds)


def _small(state: Any) -> Any:
    return state.node <= 9


def _engine(subject: Theory) -> tuple[Z3Engine, list[Any]]:
    """A solver with the premises of the digraph's edges, nothing assumed, and the goals about them in order."""
    questions = Questions(subject)
    asked = [one for one in obligations(subject, [claim.id for claim in subject.claims]) if one.action == "follow"]
    return Z3Engine(questions.premises("follow", ()), EFFORT), [questions.goal(one) for one in asked]


def test_one_goal_is_no_premise_of_the_next() -> None:
    """Two goals that exclude each other's countermodels are both refuted by one solver, in any order."""
    engine, (first, last) = _engine(of(toys.DIGRAPH, not_at(5), not_at(4)))
    assert [engine.check(goal).result for goal in (first, last, first)] == [REFUTED] * 3


def test_a_solver_that_gave_up_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a query that was not decided the premises are read anew, into another solver."""
    engine, (goal,) = _engine(of(toys.DIGRAPH, not_at(5)))
    mute = Mute()
    monkeypatch.setattr(engine, "_solver", mute)
    said = engine.check(goal)
    assert (said.result, said.reason, mute.asked) == (UNDECIDED, "mute", 1)
    assert engine.check(goal).result == REFUTED
    assert mute.asked == 1


def test_a_proof_that_was_stopped_between_rounds_proves_nothing() -> None:
    """What a first round proved from an invariant that fell in it is not proven, though nothing was asked again."""
    stop = threading.Event()
    claims = [
        Property("below-4", "always", "Not inductive: edges lead to 4.", lambda s: s.node < 4),
        Property("not-5", "always", "Follows from below-4 only.", lambda s: s.node != 5),
    ]
    subject = of(toys.DIGRAPH, *claims)
    proof = prove(lambda: subject, effort=EFFORT, clock=time.monotonic, stop=stop,
                  progress=lambda done, total: stop.set() if done == total else None)  # fmt: skip
    assert {answer.result for answer in proof.of("not-5")} == {PROVEN}
    assert proof.rounds == 1
    assert not proof.proven("not-5")


def test_a_run_that_breaks_nothing_on_ints_is_a_fault() -> None:
    """A run of the rules at whose end the claim holds is refused, whatever a solver said of it."""
    subject = of(toys.DIGRAPH, not_at(5))
    with pytest.raises(EngineDisagreement, match="Z3 and ints differ"):
        trace_on_ints(subject, not_at(5), (0,), [ModelAction("follow", (0, 1))])
    assert trace_on_ints(subject, not_at(1), (0,), [ModelAction("follow", (0, 1))]).failing == ("not-1",)


def confirmed(proof: Proof, judgements: Sequence[ClaimJudgement]) -> tuple[ClaimJudgement, ...]:
    """The judgements after cvc5 was asked too."""
    answer = ProofAnswer(subject_of(toys.DIGRAPH, None, {}, None), proof, tuple(judgements), 0.0, EFFORT, (), 1)
    return second.second_opinion(answer, None, "cvc5").judgements


def test_what_the_second_solver_does_not_decide_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proof of which one query has no second answer does not hold; the others do."""
    subject = of(APART, not_at(8), not_at(9))
    proof = prove(lambda: subject, effort=EFFORT, clock=time.monotonic)
    judged = judge(proof, SearchEvidence())
    monkeypatch.setattr(second, "_undecided", lambda *_: {"not-8": "stay"})
    told = confirmed(proof, judged)
    assert {type(one.verdict.verdict) for one in judged} == {Holds}
    verdicts = {one.verdict.claim: one.verdict.verdict for one in told}
    assert verdicts["not-8"] == Unknown("cvc5 has no answer: stay")
    assert isinstance(verdicts["not-9"], Holds)


def test_what_rests_on_what_the_second_solver_does_not_decide_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does a proof hold that uses an invariant of which one query has no second answer."""
    subject = of(toys.DIGRAPH, not_at(8), not_at(9))
    proof = prove(lambda: subject, effort=EFFORT, clock=time.monotonic)
    assert proof.support("not-8") == ["not-9"]
    monkeypatch.setattr(second, "_undecided", lambda *_: {"not-9": "follow"})
    told = confirmed(proof, judge(proof, SearchEvidence()))
    assert {one.verdict.claim: one.verdict.verdict for one in told} == {
        "not-8": Unknown("cvc5 has no answer: not-9, follow"),
        "not-9": Unknown("cvc5 has no answer: follow"),
    }


class Here:
    """Worker processes that are this one."""

    def __init__(self, *_: Any) -> None:
        """Nothing is started."""

    def __enter__(self) -> None:
        """Nothing is held."""

    def __exit__(self, *_: Any) -> None:
        """Nothing is ended."""

    def map(self, ask: Any, texts: list[str], chunksize: int) -> list[str]:
        """The answers in order."""
        return [ask(text) for text in texts]


def test_solvers_that_differ_are_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second solver that denies a proof ends the run; where it knows nothing, nothing holds."""
    subject = of(APART, not_at(8), not_at(9))
    proof = prove(lambda: subject, effort=EFFORT, clock=time.monotonic)
    judged = judge(proof, SearchEvidence())
    monkeypatch.setattr(second, "ProcessPoolExecutor", Here)
    for said, kind in (("unsat", Holds), ("unknown", Unknown)):
        monkeypatch.setattr(second, "second_answer", lambda solver, text, effort, said=said: said)
        told = confirmed(proof, judged)
        assert {type(one.verdict.verdict) for one in told} == {kind}
    monkeypatch.setattr(second, "second_answer", lambda solver, text, effort: "sat")
    with pytest.raises(EngineDisagreement, match="z3 says unsat, cvc5 sat"):
        confirmed(proof, judged)


@pytest.mark.parametrize("op", ["not", "and", "or", "eq", "ite", "ite of words"])
def test_z3_reads_every_truth_as_ints_do(op: str) -> None:
    """Each operator on truths has its value in Z3, for all values of its operands."""
    for row in itertools.product((0, 1), repeat=3):
        graph = Graph()
        p, q, r = (graph.truth_variable(name) for name in "pqr")
        if op == "ite of words":
            made: Any = graph.ite(p, graph.ite(q, 5, -3), graph.ite(r, 7, 0))
        else:
            made = graph.ite(p, q, r) if op == "ite" else graph.apply(op, *((p,) if op == "not" else (p, q)))
        assert isinstance(made, Term)
        reader = Z3Reader()
        for variable, value in zip((p, q, r), row, strict=True):
            reader.bind(variable, reader.constant(variable, value))
        found = value_of(z3.Model(), made, z3.simplify(reader.expression(made)))
        assert found == values_of(graph, row)[made.index]


@pytest.mark.parametrize(("lo", "hi"), [(0, 1), (0, 4), (0, 8), (-4, 0), (-5, 3), (-1, 0), (1, 4), (-8, 8)])
def test_a_variable_may_have_each_value_of_its_interval(lo: int, hi: int) -> None:
    """For each value of an interval, the ends among them, a variable may have it, and no other value."""
    variable = Graph().variable("v", lo, hi)
    reader = Z3Reader()
    symbol, inside = reader.expression(variable), reader.within(variable, lo, hi)
    for value in range(lo - 2, hi + 3):
        solver = z3.Solver()
        solver.add(inside, z3.BV2Int(symbol, is_signed=lo < 0) == value)
        assert (solver.check() == z3.sat) == (lo <= value <= hi), value
