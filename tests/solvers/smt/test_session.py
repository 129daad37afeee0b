"""Solvers of proofs: they agree, and one whose time is up says nothing false afterwards."""

import random
import time

import pytest
import z3
from attrs import evolve, frozen

from kraftcheck.model.language.layout import UNBOUNDED, counter
from kraftcheck.model.language.sequences import Sequence
from kraftcheck.model.language.system import Action, Property, System
from kraftcheck.model.language.terms import Graph, Word
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.solvers.machine_code.lower import LoweringError
from kraftcheck.solvers.smt.induction import Proof, obligations, prove
from kraftcheck.solvers.smt.queries import PROVEN, REFUTED, SOLVERS, UNDECIDED, Effort, Premises, Questions
from kraftcheck.solvers.smt.theory import INITIATION, Theory, theory
from kraftcheck.solvers.smt.verdicts import SearchEvidence, judge
from kraftcheck.solvers.smt.worker import BitwuzlaEngine, SolverSession, Z3Engine, holds_of
from tests import toys
from tests.shared.commands import kraftcheck

ELECTIONS = SYSTEMS["elections"]

EFFORT = Effort(timeout=60)
TINY = ("prove", "elections", "--scope", "tiny", "--quiet", "--workers", "1")


@frozen
class Epochs:
    """An epoch without bound, and that of an older registration."""

    epoch: Word
    known: Word


UNBOUNDED_EPOCHS = System(
    name="unbounded",
    summary="epochs that rise for ever",
    initial=lambda setting: [Epochs(0, 0)],
    actions=lambda setting: [
        Action("elect", lambda s: evolve(s, epoch=s.epoch + 1), lambda s: {}, {}, "a toy"),
        Action("hear", lambda s: evolve(s, known=s.epoch), lambda s: {}, {}, "a toy"),
    ],
    layout=lambda setting: Epochs(counter(), counter()),
    scopes={"default": {}},
    properties=lambda setting: [
        Property("nobody-ahead", "always", "Nobody knows an epoch that is not.", lambda s: s.known <= s.epoch),
        Property("epochs-rise", "step", "Epochs do not fall.", lambda t: t.before.epoch <= t.after.epoch),
        Property("never-far", "always", "Nobody is far behind.", lambda s: s.epoch < s.known + 9),
    ],
)


def of(system: System, rules: str | None = None, **bounds: int) -> Theory:
    """The theory of a system."""
    return theory(system, system.setting(None, bounds, None if rules is None else parse(rules)))


def proof(subject: Theory, solver: str) -> Proof:
    """What a solver makes of every claim."""
    return prove(lambda: subject, effort=evolve(EFFORT, solver=solver), clock=time.monotonic)


@pytest.mark.parametrize("system", [toys.DIGRAPH, toys.TWO_PHASE])
def test_solvers_agree_on_toys(system: System) -> None:
    """Z3 and Bitwuzla prove and refute the same obligations, and drop the same invariants."""
    pytest.importorskip("bitwuzla")
    subject = of(system)
    told = [
        ({asked: answer.result for asked, answer in found.answers.items()}, found.unproven)
        for found in (proof(subject, solver) for solver in SOLVERS)
    ]
    assert told[0] == told[1]
    assert REFUTED in told[0][0].values()


def test_bitwuzla_proves_and_names_what_it_used() -> None:
    """A property of elections is proven by Bitwuzla, with the premises of the proof."""
    pytest.importorskip("bitwuzla")
    words = ("--rules", "fixed", "--solver", "bitwuzla", "--property", "isr-elr-disjoint", "--core")
    ran = kraftcheck(*TINY, *words, "--json", "-")
    told = ran.document()
    assert (ran.code, told["engine"]) == (0, "bitwuzla")
    (claim,) = [one for one in told["claims"] if one["id"] == "isr-elr-disjoint"]
    assert "invariant: isr-elr-disjoint" in claim["used"]
    assert f"bitwuzla {told['versions']['bitwuzla']}" in ran.err


def test_models_of_bitwuzla_are_replayed() -> None:
    """A counterexample to induction of Bitwuzla's is a step on ints."""
    pytest.importorskip("bitwuzla")
    judged = judge(proof(of(toys.DIGRAPH), "bitwuzla"), SearchEvidence())
    assert {one.verdict.claim for one in judged if one.counterexample is not None} == {"never-5", "never-4-to-5"}


def test_epochs_without_bound() -> None:
    """Of epochs that are Ints, what holds of all of them is proven, and nothing else."""
    found = proof(of(UNBOUNDED_EPOCHS), "z3")
    assert found.bounded() == []
    assert {claim.id: found.proven(claim.id) for claim in found.theory.claims} == {
        "nobody-ahead": True, "epochs-rise": True, "never-far": False,
    }  # fmt: skip


def test_an_unbounded_word_is_z3s() -> None:
    """Bitwuzla refuses premises with an Int, and names the mend."""
    pytest.importorskip("bitwuzla")
    given = Questions(of(UNBOUNDED_EPOCHS)).premises(INITIATION, ())
    with pytest.raises(LoweringError, match="use Z3"):
        BitwuzlaEngine(given, EFFORT)


def test_a_word_without_bound_is_seen_wherever_it_is() -> None:
    """Where the first or the last field has no bound, words are Ints; and a sequence anywhere has places."""
    graph, endless = Graph(), Sequence.of_state(Graph(), "all", 0, 3).symbol
    few, any_ = graph.variable("few", 0, 3), graph.variable("any", 0, UNBOUNDED)
    assert endless is not None
    for names, told in (((few,), (False, False)), ((few, any_), (True, False)), ((any_, few), (True, False)),
                        ((few, endless), (False, True)), ((endless, few), (False, True))):  # fmt: skip
        given = Premises({}, (), names, len(names))
        assert (given.numbers(), given.endless()) == told


def test_a_cut_query_spoils_no_later_one() -> None:
    """After a query ran out of time the same session refutes nothing that is proven, whenever it was cut."""
    subject = of(ELECTIONS, "fixed", brokers=4, replication=4)
    questions, draw, said = Questions(subject), random.Random(1), set()
    assumed = [claim.id for claim in subject.invariants]
    asked = [one for one in obligations(subject, assumed) if one.action == "fence"]
    given = questions.premises("fence", assumed)
    for _ in range(12):
        session = SolverSession(questions, given, Effort(timeout=draw.choice([0.001, 0.003, 0.01])), time.monotonic)
        said |= {session.ask(one).result for one in asked}
    assert UNDECIDED in said
    assert said <= {UNDECIDED, PROVEN}


def test_a_model_that_does_not_satisfy_the_query_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Z3's model is not one of the query, the answer is unknown and not refuted."""
    subject = of(toys.DIGRAPH)
    (claim,) = [claim.id for claim in subject.invariants if claim.id == "never-5"]
    questions = Questions(subject)
    action = subject.program.kinds[0].action.name
    engine = Z3Engine(questions.premises(action, [claim]), EFFORT)
    x = z3.Bool("x")
    assert not holds_of([x, z3.Not(x)], _model(x))
    assert holds_of([x], _model(x))
    (goal,) = [questions.goal(one) for one in obligations(subject, [claim]) if one.action == action]
    assert engine.check(goal).result == REFUTED
    monkeypatch.setattr("kraftcheck.solvers.smt.worker.holds_of", lambda truths, model: False)
    assert engine.check(goal).result == UNDECIDED


def _model(truth: z3.BoolRef) -> z3.ModelRef:
    solver = z3.Solver()
    solver.add(truth)
    assert solver.check() == z3.sat
    return solver.model()
