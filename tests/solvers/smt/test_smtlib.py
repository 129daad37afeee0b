"""Queries as SMT-LIB 2: other solvers read them and say what Z3 says."""

import importlib
import importlib.util
import random
import time
from pathlib import Path
from typing import Any

import pytest
import z3
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.model.language.system import System
from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.solvers.smt import smtlib
from kraftcheck.solvers.smt.induction import Proof, prove
from kraftcheck.solvers.smt.printer import Printer, symbol
from kraftcheck.solvers.smt.queries import PROVEN, REFUTED, Effort
from kraftcheck.solvers.smt.smtlib import SECOND_SOLVERS, SolverMissing, scripts, second_answer
from kraftcheck.solvers.smt.theory import theory
from kraftcheck.solvers.smt.z3terms import Z3Reader
from tests import toys
from tests.shared.commands import kraftcheck
from tests.solvers.machine_code.test_lower import BINARY, UNARY
from tests.solvers.smt.runs.graphs import drawn, of

ELECTIONS = SYSTEMS["elections"]

EFFORT = Effort(timeout=60)
TINY = ("prove", "elections", "--scope", "tiny", "--quiet", "--workers", "1", "--property", "adding-removing-disjoint")


def proof() -> Proof:
    """Some proofs and refutations of elections under the snapshot's rules, two brokers."""
    subject = theory(ELECTIONS, ELECTIONS.setting("tiny", rules=parse("kafka-4.0")))
    return prove(lambda: subject, effort=EFFORT, clock=time.monotonic, only=["leader-active"])


@pytest.mark.parametrize(
    "solver", [name if name == "cvc5" else pytest.param(name, marks=pytest.mark.slow) for name in SECOND_SOLVERS]
)
def test_a_second_solver_confirms_every_answer(solver: str) -> None:
    """Each exported query is unsat where Z3 proved it and sat where Z3 refuted it."""
    pytest.importorskip(solver)
    found = proof()
    wanted = {PROVEN: "unsat", REFUTED: "sat"}
    sample = list(scripts(found, EFFORT, time.monotonic))[:: 4 if solver == "bitwuzla" else 14]
    assert {found.answers[one.obligation].result for one in sample} == {PROVEN, REFUTED}
    for one in sample:
        assert second_answer(solver, one.text, EFFORT) == wanted[found.answers[one.obligation].result], one.name


@pytest.mark.parametrize("seed", [2, 4, 11])
def test_each_query_of_a_drawn_system_has_the_answer_of_its_proof(seed: int) -> None:
    """All are exported but what was proven of a claim before it fell; other solvers refute just what is proven."""
    subject = of(drawn(seed).system())
    found = prove(lambda: subject, effort=EFFORT, clock=time.monotonic)
    asked = {one.obligation: one.text for one in scripts(found, EFFORT, time.monotonic)}
    results = {one: found.answers[one].result for one in asked}
    fallen = {one for one, answer in found.answers.items() if answer.result == PROVEN and one.claim in found.unproven}
    assert {*results.values()} == {PROVEN, REFUTED}
    assert {*asked} | fallen == {*found.answers}
    assert not {*asked} & fallen
    for solver in filter(smtlib.installed, SECOND_SOLVERS):
        told = {one: second_answer(solver, text, EFFORT) for one, text in asked.items()}
        assert told == {one: {PROVEN: "unsat", REFUTED: "sat"}[result] for one, result in results.items()}
    assert all("(set-logic QF_BV)" in text for text in asked.values())


def terms_of(seed: int) -> list[Term]:
    """Terms with every operator, each of some that were before it."""
    graph, dice = Graph(), random.Random(seed)
    words = [graph.variable(f"word {n}", lo, hi) for n, (lo, hi) in enumerate([(-2, 70), (0, 7), (0, 1 << 20), (1, 9)])]
    words += map(graph.lift, (-1, 0, 3))
    truths = [graph.truth_variable("t0"), graph.truth_variable("t|1"), graph.constant(True)]
    for op in 2 * (*BINARY, *UNARY, "not", "and", "or", "ite", "ite truths"):
        (a, b), (p, q, r) = dice.choices(words, k=2), dice.choices(truths, k=3)
        if op in ("div", "mod"):
            b = words[3]
        if op in ("band", "bor", "bclear", "member", "count", "lowest"):
            a, b = dice.choices([word for word in words if word.lo >= 0], k=2)
        args = (p,) if op == "not" else (p, q) if op in ("and", "or") else (a,) if op in UNARY else (a, b)
        asked = {"ite": (p, a, b), "ite truths": (p, q, r)}.get(op)
        made = graph.lift(graph.ite(*asked) if asked else graph.apply(op, *args))
        if made.hi < 1 << 20:
            (truths if made.is_truth else words).append(made)
    return [*words, *truths]


@pytest.mark.parametrize("seed", range(6))
def test_what_is_printed_is_read_as_what_it_was(seed: int) -> None:
    """Every term, and of two texts of one printer the second without what the first has defined."""
    read, printer = Z3Reader(), Printer()
    found = [read.expression(term) for term in terms_of(seed)]
    place, word = z3.Int("bound 0"), z3.Int("a word")
    plain = [truth for truth in filter(z3.is_bool, found) if "\\" not in truth.sexpr()][-6:]
    quantified = [z3.ForAll([place], z3.Implies(place < word, truth)) for truth in plain]
    whole, alone = z3.ForAll([place], z3.Implies(place < word, z3.And(*plain))), Printer()
    (again,) = z3.parse_smt2_string("\n".join([*alone.lines([whole]), f"(assert {alone.reference(whole)})"]))
    assert again.sexpr() == whole.sexpr()
    text, given = list[str](), list[Any]()
    for some in (found[::2], [*found[1::2], *found[::3], *quantified]):
        text += printer.lines(some)
        given += some
    roots = [f"(define-fun |root {n}| () {e.sort().sexpr()} {printer.reference(e)})" for n, e in enumerate(given)]
    asked = [f"(assert (= |root {n}| |root {n}|))" for n in range(len(given))]
    assert len({*text}) == len(text)
    for one, other in zip(given, z3.parse_smt2_string("\n".join([*text, *roots, *asked])), strict=True):
        assert other.arg(0).sexpr() == one.sexpr().replace("|$t\\|1|", "!$t!11")
    named = {f"name {n}": truth for n, truth in enumerate(found) if z3.is_bool(truth)}
    asserted = z3.parse_smt2_string("\n".join(printer.assertions(named)))
    assert [one.sexpr().replace("|$t\\|1|", "!$t!11") for one in named.values()] == [one.sexpr() for one in asserted]


def test_names_that_differ_are_symbols_that_differ() -> None:
    """What a quoted symbol may not hold is written as no other name is."""
    names = ["a|b", "a\\b", "a!b", "a!1b", "a!2b", "!a!1b", "a b", "a||b", "a|!1b"]
    assert len({symbol(name) for name in names}) == len(names)


def test_every_query_is_exported(tmp_path: Path) -> None:
    """--smt2 writes a file for each query, complete and with its premises named."""
    ran = kraftcheck(*TINY, "--rules", "fixed", "--smt2", tmp_path / "queries")
    assert ran.code == 0
    files = sorted((tmp_path / "queries").glob("*.smt2"))
    queries = next(line for line in ran.out.splitlines() if " queries, " in line).split()[0]
    assert len(files) == int(queries.replace(",", ""))
    text = (tmp_path / "queries" / "reassign--adding-removing-disjoint.smt2").read_text()
    assert ":named |invariant: adding-removing-disjoint|))\n" in text
    assert text.count("(check-sat)") == 1
    assert "(set-logic QF_BV)" in text


def test_the_command_asks_a_second_solver() -> None:
    """A proof that both solvers confirm holds; one that the second has no time for is unknown."""
    pytest.importorskip("bitwuzla")
    assert kraftcheck(*TINY, "--rules", "fixed", "--second-solver", "bitwuzla").code == 0


def test_solvers_that_disagree_are_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """One says sat and the other unsat: no verdict at all."""
    pytest.importorskip("bitwuzla")
    monkeypatch.setattr("kraftcheck.ci.prove.command.EXPECTED_ANSWERS", {PROVEN: "sat"})
    ran = kraftcheck(*TINY, "--rules", "fixed", "--second-solver", "bitwuzla")
    assert ran.code == 24
    assert "z3 says sat, bitwuzla unsat" in ran.err


def test_a_missing_solver_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second solver that is not installed is refused in one line that names the mend."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    refusal = kraftcheck(*TINY, "--second-solver", "cvc5").refusal()
    assert refusal == "--second-solver cvc5 is not installed; pip install 'kraftcheck[solvers]'"
    with pytest.raises(SolverMissing, match="pip install cvc5"):
        second_answer("cvc5", "", EFFORT)


def test_no_answer_of_the_second_solver_is_unknown() -> None:
    """cvc5 and bitwuzla say unknown where their time is up, never anything else."""
    subject = theory(toys.TWO_PHASE, toys.TWO_PHASE.setting("9"))
    found = prove(lambda: subject, effort=EFFORT, clock=time.monotonic)
    one = max(scripts(found, EFFORT, time.monotonic), key=lambda script: len(script.text))
    for solver in filter(smtlib.installed, SECOND_SOLVERS):
        assert second_answer(solver, one.text, evolve(EFFORT, timeout=0.001)) in ("sat", "unsat", "unknown")


@pytest.mark.parametrize(
    ("told", "said"),
    [("sat\n", "sat"), ("unsat\n", "unsat"), ("unknown\n", "unknown"), ("unknown (TIMEOUT)\n", "unknown")],
)
def test_the_reason_after_an_answer_is_cut(told: str, said: str) -> None:
    """cvc5 may add why it does not know; the answer is the word before that."""
    assert smtlib._one_word(told) == said


@pytest.mark.parametrize("told", ["", "(error)\n", "success\n"])
def test_anything_else_is_no_answer(told: str) -> None:
    """What is neither sat, unsat nor unknown is a fault, not an unknown."""
    with pytest.raises(RuntimeError, match="neither sat, unsat nor unknown"):
        smtlib._one_word(told)


@frozen
class Word:
    """A word."""

    x: int


ODD = "../../above", "a/b", "a--b", "a", "up)(assert false)", "n" * 300
"""Names of actions that are paths, that could be two names, that end a comment, or that no file system takes."""


def odd() -> System:
    """Actions of these names that count, and two claims, one of them of such a name."""
    actions = [kc.Action(name, lambda s: Word(s.x + 1), lambda s: s.x < 2) for name in ODD]
    named = [kc.always(name, name, lambda s: s.x < 2) for name in ("c", "b--c", "/tmp/c", "c)(assert false)")]
    return System(name="odd", summary="names", layout=Word(kc.ints(0, 3)), initial=[Word(0)], actions=actions,
                  properties=named, quiescent=lambda s: True)  # fmt: skip


def test_a_name_is_no_path() -> None:
    """Whatever names actions and claims have, each query is a file in the folder, and says what is asked alone."""
    of = theory(odd(), odd().setting(None))
    texts = list(scripts(prove(lambda: of, effort=EFFORT, clock=time.monotonic), EFFORT, time.monotonic))
    names = [one.name for one in texts]
    assert len({*names}) == len(names) == 30
    assert all(name == Path(name).name and len(name) < 255 for name in names)
    assert not any(line == "(assert false)" for one in texts for line in one.text.splitlines())
