"""States after a step, actions without argument values, and proofs of what was asked: no engine goes astray."""

import functools
import time
from typing import Any

import pytest
import z3
from attrs import evolve

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Action, Property, System
from kraftcheck.model.language.terms import Graph, evaluate, interval
from kraftcheck.model.language.words import choose
from kraftcheck.solvers.hypothesis.machine import machine, run
from kraftcheck.solvers.hypothesis.tally import VacuousRun
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds, Refuted, Vacuous
from kraftcheck.solvers.reference.interpreter import Integers
from kraftcheck.solvers.smt.induction import Proof, prove
from kraftcheck.solvers.smt.queries import Effort
from kraftcheck.solvers.smt.theory import theory
from kraftcheck.solvers.smt.verdicts import SearchEvidence, judge
from kraftcheck.solvers.smt.z3terms import Z3Reader
from tests.shared.commands import kraftcheck
from tests.shared.explored import agree_with_ints
from tests.shared.shelf import COUNT, SHELF, START, claiming, doing, explored

DOWN = Action("down", lambda s: evolve(s, x=s.x - 1), lambda s: s.x > 0)
UP = Action("up", lambda s: evolve(s, x=s.x + 1), lambda s: s.x < 7)
"""Their guards keep the word in its domain, which the interval of the word after a step does not show."""


def stepping(predicate: Any, *actions: Action, kind: str = "step") -> System:
    """The shelf with some actions and one claim about steps."""
    return evolve(claiming(predicate, kind), actions=lambda setting: list(actions))


def verdicts(system: System) -> dict[str, Any]:
    """The verdicts of a search by claim."""
    return {one.claim: one.verdict for one in explored(system).verdicts}


def proof_of(system: System, *only: str) -> Proof:
    """The proof of some claims of a system."""
    build = functools.partial(theory, system, system.setting())
    return prove(build, effort=Effort(60.0), clock=time.monotonic, only=only)


AS_A_MASK = stepping(lambda t: BrokerSet(t.after.x).has(2) == (t.after.x >= 4), DOWN, COUNT)
NEVER_NEGATIVE = stepping(lambda t: t.after.x >= 0, DOWN, UP)
EIGHT = stepping(lambda t: t.after.x != 7, UP)
LOW = stepping(lambda t: t.after.x == 7, DOWN, COUNT, kind="happens")


def test_claims_see_the_state_after_a_step_in_its_domain() -> None:
    """A mask of a word that a step lowers is legal: no step that is taken makes it negative, and nothing refutes it."""
    for system in (AS_A_MASK, NEVER_NEGATIVE):
        assert isinstance(verdicts(system)["claim"], Holds | Vacuous)
        (judged,) = judge(proof_of(system), SearchEvidence())
        assert isinstance(judged.verdict.verdict, Holds | Vacuous)


def test_claims_about_steps_can_still_fail() -> None:
    """The last value of the domain is reached and refuted, by the search and by the prover's countermodel."""
    found = verdicts(EIGHT)["claim"]
    assert isinstance(found, Refuted)
    assert len(found.trace.steps) == 7
    assert not proof_of(EIGHT).proven("claim")
    assert isinstance(verdicts(LOW)["claim"], Holds)


def test_guards_and_effects_never_read_a_narrowed_word() -> None:
    """Narrowed words are of the claims alone: what is asked of every step is not told what only taken steps have."""
    for system in (AS_A_MASK, NEVER_NEGATIVE, EIGHT):
        for program in (trace(system, system.setting()), theory(system, system.setting()).program):
            narrowed = {node.index for node in program.graph.nodes if node.op == "narrow"}
            for node in program.graph.nodes:
                if any(arg.index in narrowed for arg in node.args):
                    narrowed.add(node.index)
            asked = [t for kind in program.kinds for t in (*kind.guard.values(), *kind.after)]
            assert not narrowed & {term.index for term in asked}
            assert narrowed


@pytest.mark.parametrize(("lo", "hi"), [(0, 7), (-2, 3), (5, 5), (-1, 40)])
def test_a_narrowed_word_is_the_word_in_every_reader(lo: int, hi: int) -> None:
    """Within its interval a narrowed word has the word's value, on ints, in machine code and in Z3."""
    graph = Graph()
    x = graph.variable("x", -9, 50)
    made = graph.lift(graph.apply("narrow", x, graph.constant(lo), graph.constant(hi)))
    assert (made.lo, made.hi) == (lo, hi)
    reader = Z3Reader()
    for value in range(lo, hi + 1):
        assert evaluate("narrow", [value, lo, hi]) == value
        if made.op == "narrow":
            asked = reader.expression(made) != reader.constant(made, value)
            assert _unsat(reader, asked, reader.expression(x) == reader.constant(x, value))


def _unsat(reader: Z3Reader, *truths: Any) -> bool:
    solver = z3.Solver(ctx=reader.context)
    solver.add(*truths)
    return bool(solver.check() == z3.unsat)


def test_words_narrowed_to_two_intervals_are_two_terms() -> None:
    """One word is narrowed for each field that holds it; a field with the wider domain has the wider word."""
    graph = Graph()
    x = graph.variable("x", -9, 50)
    wide, slim = (graph.apply("narrow", x, graph.constant(0), graph.constant(hi)) for hi in (40, 3))
    assert [(graph.lift(w).lo, graph.lift(w).hi) for w in (wide, slim)] == [(0, 40), (0, 3)]
    assert graph.apply("narrow", x, graph.constant(-9), graph.constant(99)) is x
    assert interval("narrow", (0, 7), (9, 9), (12, 12)) == (9, 12)  # nothing is claimed of a step that is not taken


NEVER = Action("never", lambda s, n: evolve(s, x=n), lambda s, n: s.x == n, {"n": ()})
NEVER_BOTH = Action("never both", lambda s, m, n: evolve(s, x=n), lambda s, m, n: s.x == m, {"m": (1, 2), "n": ()})
WITHOUT = evolve(claiming(lambda s: s.x != 3), actions=lambda setting: [NEVER, COUNT, NEVER_BOTH])


def test_an_action_without_argument_values_never_happens() -> None:
    """Its rules are not asked; every engine leaves it out: searches, the engine on ints, proofs, random runs."""
    found = explored(WITHOUT)
    assert isinstance({one.claim: one.verdict for one in found.verdicts}["claim"], Refuted)
    assert found.distinct == explored(SHELF).distinct == 8
    engine = Integers(WITHOUT, WITHOUT.setting())
    (start,) = engine.initial
    assert [(move.action, move.row) for move in engine.enabled(start)] == [(1, 0)]
    assert [engine.first_enabled(start, action) is None for action in range(3)] == [True, False, True]
    harmless = evolve(WITHOUT, properties=claiming(lambda s: s.x <= 7).properties)
    assert proof_of(harmless).proven("claim")


def test_only_an_action_without_values_is_a_deadlock() -> None:
    """Where nothing else can happen, the state is stuck."""
    alone = doing(lambda s, n: evolve(s, x=n), parameters={"n": []})
    assert isinstance(verdicts(alone)["deadlock"], Refuted)


@pytest.mark.parametrize("words", [("explore",), ("simulate", "--runs", "3"), ("prove", "--bmc", "2"), ("prove",)])
def test_every_command_takes_an_action_without_values(words: tuple[str, ...]) -> None:
    """No command refuses it."""
    command, *flags = words
    ran = kraftcheck(command, "tests.solvers.program.test_front_end_steps:WITHOUT", "--quiet", *flags)
    assert ran.code in (0, 12, 20), ran.err


def test_a_random_machine_leaves_it_out() -> None:
    """The Hypothesis machine never takes it."""
    calm = evolve(WITHOUT, properties=lambda setting: [])
    made = machine(Integers(calm, calm.setting()))
    with pytest.raises(VacuousRun, match="never"):
        run(made)
    assert [one.goal for one in made.tally.missing()] == ["action never", "action never both"]


SLOW = Property("slow", "always", "x is small.", lambda s: s.x <= 5)
WEAK = Property("weak", "always", "y is not 1.", lambda s: s.y != 1)
STEADY = Property("steady", "always", "x is not 6.", lambda s: s.x < 6)
SEVERAL = evolve(
    SHELF,
    actions=lambda setting: [
        Action("act", lambda s: evolve(s, x=s.x + 1, y=choose(s.y == 6, 1, s.y)), lambda s: s.x < 5)
    ],
    properties=lambda setting: [SLOW, WEAK, STEADY],
    quiescent=lambda s: s.x >= 5,
)


def test_only_what_was_asked_is_judged() -> None:
    """A claim that nobody asked for does not change the verdict; what a proof rests on is named."""
    asked = judge(proof_of(SEVERAL, "slow"), SearchEvidence())
    assert [one.verdict.claim for one in asked] == ["slow"]
    assert isinstance(asked[0].verdict.verdict, Holds)
    verdicts = [judgement.verdict.verdict for judgement in judge(proof_of(SEVERAL), SearchEvidence())]
    assert [type(verdict) is Holds for verdict in verdicts] == [True, False, True]
    ran = kraftcheck("prove", f"{__name__}:SEVERAL", "--property", "slow", "--quiet", "--json", "-")
    assert (ran.code, [one["id"] for one in ran.document()["claims"]]) == (0, ["slow"])
    ran = kraftcheck("prove", f"{__name__}:SEVERAL", "--property", "weak", "--quiet", "--search", "0")
    assert (ran.code, ran.last) == (22, "1 unknown (exit 22)")


def test_kernels_are_compiled_with_narrowed_words() -> None:
    """The machine code of a program with narrowed words gives the successors that ints give."""
    program = trace(AS_A_MASK, AS_A_MASK.setting())
    assert any(node.op == "narrow" for node in program.graph.nodes)
    agree_with_ints(program, [program.layout.pack(evolve(START, x=x)) for x in range(8)])
