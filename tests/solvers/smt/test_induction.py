"""Proofs by induction: what is proven holds, what is not has a counterexample that ints confirm."""

from __future__ import annotations

import functools
import time

import pytest
from attrs import evolve

from kraftcheck.model.language.system import Property, System
from kraftcheck.model.language.words import implies
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.register.verdicts import EXPECTED
from kraftcheck.solvers.exploration.explore import SearchBudget, explore
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Refuted, Unknown
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.smt.induction import Proof, prove
from kraftcheck.solvers.smt.queries import PROVEN, REFUTED, Effort, ObligationAnswer
from kraftcheck.solvers.smt.theory import INITIATION, Theory, theory
from kraftcheck.solvers.smt.verdicts import NOT_DECIDED, REACHABLE, UNREACHABLE, SearchEvidence, judge
from kraftcheck.solvers.smt.worker import rests_on
from tests import toys
from tests.shared.samples import one_in

ELECTIONS = SYSTEMS["elections"]

QUICK = Effort(timeout=60)


def toy(system: System, scope: str | None = None) -> Theory:
    """The theory of a toy."""
    return theory(system, system.setting(scope))


def elections(rules: str, scope: str = "default", brokers: int = 3) -> Theory:
    """The theory of elections."""
    bounds = {"brokers": brokers, "replication": brokers} if scope in ("default", "small") else {}
    return theory(ELECTIONS, ELECTIONS.setting(scope, bounds, parse(rules), proof=True))


def proof_of(subject: Theory, **options: object) -> Proof:
    """A proof in this process."""
    return prove(lambda: subject, effort=QUICK, clock=time.monotonic, **options)  # type: ignore[arg-type]


def explored(system: System, scope: str | None = None, max_states: int | None = None) -> SearchEvidence:
    """The search of a toy's scope."""
    return SearchEvidence(
        explore(trace(system, system.setting(scope)), SearchBudget(max_states=max_states), clock=time.monotonic)
    )


def test_a_reachable_counterexample_has_a_run() -> None:
    """In the digraph node 5 is reached; its counterexample to induction comes with a run that ints confirm."""
    proof = proof_of(toy(toys.DIGRAPH))
    judged = {one.verdict.claim: one for one in judge(proof, explored(toys.DIGRAPH))}
    found = judged["never-5"]
    assert isinstance(found.verdict.verdict, Refuted)
    assert found.counterexample is not None
    assert found.counterexample.reach == REACHABLE
    assert found.counterexample.trace is not None
    assert found.counterexample.trace.states[-1].node == 5
    assert found.verdict.depth == 4


def unreached(system: System) -> System:
    """The digraph with the true claim that node 8 is not visited, which needs that 9 is not."""
    claim = Property("never-8", "always", "Node 8 is not visited.", lambda state: state.node != 8)
    return evolve(system, properties=lambda setting: [claim])


def test_an_unreachable_counterexample_proves_nothing() -> None:
    """A step from an unreachable state makes the verdict unknown, tagged unreachable; a lemma mends it."""
    system = unreached(toys.DIGRAPH)
    (found,) = judge(proof_of(toy(system)), explored(system))
    assert isinstance(found.verdict.verdict, Unknown)
    assert found.counterexample is not None
    assert (found.counterexample.reach, found.counterexample.step.initial.node) == (UNREACHABLE, 9)
    lemma = Property("lemma-never-9", "always", "Node 9 is not visited.", lambda state: state.node != 9)
    mended = proof_of(toy(evolve(system, lemmas=lambda setting: [lemma])))
    assert [mended.proven(name) for name in ("never-8", "lemma-never-9")] == [True, True]
    assert mended.idle_lemmas() == []


def test_a_search_that_was_cut_decides_nothing() -> None:
    """Where the search was cut before the state, or there was none, the tag is `not decided`."""
    system = unreached(toys.DIGRAPH)
    proof = proof_of(toy(system))
    for searched in (explored(system, max_states=1), SearchEvidence(reason="none")):
        (found,) = judge(proof, searched)
        assert found.counterexample is not None
        assert found.counterexample.reach == NOT_DECIDED


def test_a_lemma_that_no_proof_uses_is_reported() -> None:
    """A true lemma that nothing rests on is idle."""
    lemma = Property("lemma-idle", "always", "True of every state.", lambda s: implies(s.node == 7, s.node > 0))
    proof = proof_of(toy(evolve(unreached(toys.DIGRAPH), lemmas=lambda setting: [lemma])))
    assert proof.idle_lemmas() == ["lemma-idle"]


def test_a_name_that_is_no_claim_is_refused() -> None:
    """Nothing is to be shown of it, which is no proof: a proof is not asked of it, and does not say that it holds."""
    proof = proof_of(toy(toys.CLOCK))
    for asked in (proof.inductive, proof.proven, lambda name: proof_of(toy(toys.CLOCK), only=[name])):
        with pytest.raises(KeyError, match="no claim 'no-such'; "):
            asked("no-such")


def test_a_timeout_is_unknown() -> None:
    """A query that runs out of time leaves its claim unknown, with the action and Z3's reason."""
    proof = prove(lambda: elections("fixed", brokers=5), effort=Effort(timeout=0.001), clock=time.monotonic,
                  only=["elr-empty-at-min-isr"])  # fmt: skip
    found = {one.verdict.claim: one.verdict.verdict for one in judge(proof, SearchEvidence())}["elr-empty-at-min-isr"]
    assert isinstance(found, Unknown)
    assert found.reason.startswith("no answer: ")


def test_a_countermodel_that_ints_do_not_confirm_is_a_fault() -> None:
    """An answer whose state does not break the claim on ints is refused, never reported."""
    proof = proof_of(toy(toys.DIGRAPH))
    wrong = {
        asked: evolve(answer, counterexample=evolve(answer.counterexample, state=(1,)))
        if answer.result == REFUTED and answer.counterexample is not None else answer
        for asked, answer in proof.answers.items()
    }  # fmt: skip
    with pytest.raises(EngineDisagreement):
        judge(evolve(proof, answers=wrong), SearchEvidence())


def test_what_the_search_refutes_cannot_be_proven() -> None:
    """A claim that every query proves and a run refutes is a fault of a reader, not a verdict."""
    proof = proof_of(toy(toys.DIGRAPH))
    agreed = {asked: ObligationAnswer(asked, PROVEN, 0.0) for asked in proof.answers}
    with pytest.raises(EngineDisagreement, match="never-5 is proven, and a run of 4 steps refutes it"):
        judge(evolve(proof, answers=agreed, unproven=()), explored(toys.DIGRAPH))


def test_what_is_refuted_has_a_counterexample_that_is_reached() -> None:
    """Under `kip`, fencing until settled fails in a step of a run, whatever state Z3 began its own step in."""
    system = SYSTEMS["directories"]
    setting = system.setting("tiny", rules=parse("kip"))
    proof = proof_of(theory(system, setting, use_lemmas=False), only=["fenced-until-settled"])
    search = explore(trace(system, setting), clock=time.monotonic)
    (found,) = [one for one in judge(proof, SearchEvidence(search)) if one.verdict.claim == "fenced-until-settled"]
    assert isinstance(found.verdict.verdict, Refuted)
    assert EXPECTED["directories", "tiny", "kip"]["fenced-until-settled"] == f"refuted {found.verdict.depth}"
    assert found.counterexample is not None
    assert found.counterexample.reach == REACHABLE
    assert found.counterexample.trace is not None
    assert found.counterexample.step.steps == found.counterexample.trace.steps[-1:]
    assert found.counterexample.step.initial == found.counterexample.trace.states[-2]
    assert found.counterexample.step.steps[0].action == "unfence"


@pytest.mark.parametrize(
    "case",
    one_in(4, [("tiny", "kafka-4.0"), ("tiny", "kafka-3.9"), ("directories", "kip"), ("directories", "kafka-4.0")]),
)
def test_nothing_is_proven_that_the_explorer_refutes(case: tuple[str, str]) -> None:
    """Under the other rule sets, no claim that the explorer refutes is proven."""
    scope, rules = case
    proof = proof_of(elections(rules, scope))
    refuted = {claim for claim, verdict in EXPECTED["elections", scope, rules].items() if verdict.startswith("refuted")}
    proven = {claim.id for claim in proof.theory.claims if proof.proven(claim.id)}
    assert refuted
    assert not refuted & proven
    assert len(proven) >= 15


def test_answers_do_not_depend_on_the_number_of_processes() -> None:
    """One process and two prove the same claims; only cores and countermodels may differ."""
    build = functools.partial(elections, "kafka-4.0", "tiny")
    found = [
        prove(build, effort=QUICK, clock=time.monotonic, workers=workers, only=["leader-active", "elr-registered"])
        for workers in (1, 2)
    ]
    for claim in ("leader-active", "elr-registered", "replicas-distinct"):
        first, second = ({a.obligation.action: a.result for a in proof.of(claim)} for proof in found)
        assert first == second
        assert [proof.proven(claim) for proof in found] == [claim == "replicas-distinct"] * 2


def test_a_proof_rests_on_named_premises() -> None:
    """That the leader is active after fencing uses the guard or invariants, by name."""
    proof = proof_of(elections("fixed", "tiny"), only=["leader-active"])
    used = {name for answer in proof.of("leader-active") for name in rests_on(answer)}
    assert "isr-active-while-led" in used
    assert used <= set(proof.claims)
    started = [a for a in proof.of("leader-active") if a.obligation.action == INITIATION]
    assert [type(a) for a in started] == [ObligationAnswer]
    assert started[0].result == PROVEN
