"""Proofs by induction: what is proven holds, what is not has a counterexample; claims in parts, and odd answers."""

import functools
import itertools
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import z3
from attrs import evolve, frozen

from kraftcheck.ci.prove import command as second
from kraftcheck.ci.prove.question import ProofAnswer
from kraftcheck.ci.systems.subject import subject as subject_of
from kraftcheck.model.language.layout import Range
from kraftcheck.model.language.system import Action, Property, System
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, implies
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.register.verdicts import EXPECTED
from kraftcheck.solvers.exploration.explore import SearchBudget, explore
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds, Refuted, Unknown
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.smt.induction import Proof, obligations, prove
from kraftcheck.solvers.smt.queries import (
    PROVEN,
    REFUTED,
    SOLVERS,
    UNDECIDED,
    Effort,
    Obligation,
    ObligationAnswer,
    Questions,
    new_solver,
)
from kraftcheck.solvers.smt.runs.bounded import Unrolling, check_bounded, check_inductive
from kraftcheck.solvers.smt.theory import INITIATION, Theory, theory
from kraftcheck.solvers.smt.verdicts import (
    NOT_DECIDED,
    REACHABLE,
    UNREACHABLE,
    ClaimJudgement,
    ModelAction,
    SearchEvidence,
    judge,
    trace_on_ints,
)
from kraftcheck.solvers.smt.worker import PARTS, Z3Engine, conjuncts, rests_on
from kraftcheck.solvers.smt.z3terms import conjunction
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


PART = 12  # conjuncts that either solver is asked for at a time, in these tests

MANY = 2 * PART + 2  # conjuncts of the claims here: three parts, also where one is true of itself


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Claims are cut into parts of a few conjuncts."""
    for solver in SOLVERS:
        monkeypatch.setitem(PARTS, solver, PART)


@frozen
class Row:
    """Words of which each bounds the next."""

    words: tuple[Word, ...]


def rises(state: Row) -> dict[str, Truth]:
    """No word is above the next."""
    return {f"word {n}": state.words[n] <= state.words[n + 1] for n in range(MANY)}


def shifted(state: Row) -> Row:
    """Each word takes the value of the one before."""
    return Row((0, *state.words[:-1]))


def falling(number: int, state: Row) -> Row:
    """As `shifted`, but one word falls to 0, below the one before."""
    words = shifted(state).words
    return Row((*words[:number], 0, *words[number + 1 :]))


def rows(effect: Callable[[Row], Row]) -> System:
    """Rows under one action."""
    return System(
        name="rows",
        summary="words that rise along a row",
        initial=lambda setting: [Row((0,) * MANY + (1,))],
        layout=lambda setting: Row(_domains()),
        actions=lambda setting: [Action("shift", effect)],
        scopes={"default": {}},
        properties=lambda setting: [
            Property("rises", "always", "No word is above the next.", rises),
            Property("starts", "always", "The first word is 0 or 1.", lambda s: s.words[0] <= 1),
        ],
    )


def _domains() -> Any:
    return (Range(0, 3),) * (MANY + 1)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("fallen", [None, 2, PART + 1, MANY])
def test_a_claim_holds_when_every_part_does(solver: str, fallen: int | None) -> None:
    """A claim in three parts that only one breaks, whichever it is, is refuted, with a step that breaks it."""
    pytest.importorskip(solver)
    system = rows(shifted if fallen is None else functools.partial(falling, fallen))
    subject = theory(system, system.setting(None, {}))
    found = prove(lambda: subject, effort=Effort(timeout=60, solver=solver), clock=time.monotonic)
    answer = found.answers[Obligation("rises", "shift")]
    assert answer.result == (PROVEN if fallen is None else REFUTED)
    assert found.proven("rises") == (fallen is None)
    if fallen is None:
        assert "invariant: rises" in answer.core
    else:
        assert answer.counterexample is not None
        assert answer.counterexample.state[fallen - 2] > 0


@pytest.mark.usefixtures("small_parts")
def test_what_parts_used_is_what_the_proof_used() -> None:
    """A premise that only one part needs is told, whichever part that is."""

    def kept(state: Row) -> Row:
        return state

    names = [f"small {n}" for n in range(MANY)]
    system = rows(kept)
    listed = [
        Property(name, "always", "One word is no more than 2.", functools.partial(_small, n))
        for n, name in enumerate(names)
    ]

    def every(state: Row) -> dict[str, Truth]:
        return {name: state.words[n] < 3 for n, name in enumerate(names)}

    together = Property("every", "step", "So is every one.", lambda t: all_of(*every(t.after).values()))
    subject = theory(_with(system, [*listed, together]), system.setting(None, {}))
    found = prove(lambda: subject, effort=Effort(timeout=60), clock=time.monotonic, only=["every"])
    assert found.proven("every")
    assert set(found.core("every")) >= {f"invariant: {name}" for name in names}


def _small(number: int, state: Row) -> Truth:
    return state.words[number] <= 2


def _with(system: System, properties: Sequence[Property]) -> System:
    return System(
        name=system.name, summary=system.summary, initial=system.initial, layout=system.layout,
        actions=system.actions, scopes=system.scopes, properties=lambda setting: properties,
    )  # fmt: skip


@pytest.mark.usefixtures("small_parts")
def test_conjuncts_are_the_conjunction() -> None:
    """Nested conjunctions come apart in order, and together they are what they were."""
    a, b, c, d = z3.Bools("a b c d")
    whole = z3.And(z3.And(a, z3.Or(b, z3.And(c, d))), z3.Not(z3.And(a, d)), d)
    parts = conjuncts(whole)
    assert [str(part) for part in parts] == ["a", "Or(b, And(c, d))", "Not(And(a, d))", "d"]
    solver = z3.Solver()
    solver.add(conjunction(parts) != whole)
    assert solver.check() == z3.unsat


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
    monkeypatch.setattr("kraftcheck.solvers.smt.runs.bounded.new_solver", lambda *_: Mute())
    assert Unrolling(of(APART), EFFORT, initial=True).broken("not-8") == "mute"
    silent = {"not-8": Unknown("no answer at depth 0: mute")}
    assert check_bounded(of(APART), ["not-8"], 2, EFFORT, threading.Event()) == silent
    assert check_inductive(of(APART), ["not-8"], 1, EFFORT, threading.Event()) == silent
    base = itertools.chain([new_solver], itertools.repeat(lambda *_: Mute()))
    monkeypatch.setattr("kraftcheck.solvers.smt.runs.bounded.new_solver", lambda *given: next(base)(*given))
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
