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
from kraftcheck.solvers.program.verdict import Holds, Unknown
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.smt.induction import Proof, obligations, prove
from kraftcheck.solvers.smt.queries import PROVEN, REFUTED, UNDECIDED, Effort, Questions, new_solver
from kraftcheck.solvers.smt.runs.bounded import check_bounded, check_inductive
from kraftcheck.solvers.smt.runs.unrolling import Unrolling
from kraftcheck.solvers.smt.theory import Theory, theory
from kraftcheck.solvers.smt.verdicts import ClaimJudgement, ModelAction, SearchEvidence, judge, trace_on_ints
from kraftcheck.solvers.smt.worker import Z3Engine
from tests import toys

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
