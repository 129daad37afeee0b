"""Proof obligations as SMT-LIB 2 text, and the answers of solvers other than Z3 to them."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import z3
from attrs import frozen

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.program.parts import file_part
from kraftcheck.solvers.smt.facts import NeededFacts
from kraftcheck.solvers.smt.induction import Proof
from kraftcheck.solvers.smt.printer import Printer
from kraftcheck.solvers.smt.queries import PROVEN, Clock, Effort, Obligation, Questions
from kraftcheck.solvers.smt.theory import DOMAINS, Theory
from kraftcheck.solvers.smt.z3terms import Z3Reader, conjunction


class ActionQueries:
    """The queries about one action.

    Args:
        within: whether steps that leave the layout are left out, as in all but the obligations about domains.
        assumed: ids of the invariants to assume.
        effort, clock: limits of the queries that choose among instances, and seconds from any origin.
    """

    def __init__(
        self, of: Theory, action: str, within: bool, assumed: Sequence[str], effort: Effort, clock: Clock
    ) -> None:
        # Each action is read anew, so that no more is kept in memory than it needs.
        self.questions, self._printer = Questions(of, Z3Reader()), Printer()
        self._premises = premises = self.questions.premises(action, assumed, within)
        self._facts = NeededFacts(premises, self.questions.read, effort, clock) if premises.endless() else None

    def text(self, obligation: Obligation) -> str:
        """One query: its premises by their names, and the denial of what is to be shown; unsatisfiable iff it holds."""
        goals = self.questions.goals(obligation)
        denials = {f"denial {number}": denial for number, denial in enumerate(self._denials(goals))}
        logic = "ALL" if self._premises.numbers() or self._facts is not None else "QF_BV"
        lines = self._printer.assertions({**self._premises.truths, **denials})
        comment = "; " + " ".join(f"{obligation.claim}, {obligation.action}: unsat means proven".splitlines())
        return "\n".join([comment, f"(set-logic {logic})", *lines, "(check-sat)", ""])

    def _denials(self, goals: Sequence[Term]) -> list[Any]:
        """The negation of goals; of endless sequences, instances of what is said of every place too."""
        if self._facts is not None:
            return self._facts.of(goals)
        return [z3.Not(conjunction(map(self.questions.read.expression, goals)))]


SECOND_SOLVERS = ("bitwuzla", "cvc5", "z3")  # Python packages that can be asked as well; Z3 where it was not the first


class SolverMissing(RuntimeError):
    """A second solver that is not installed."""


LONGEST_NAME = 200  # characters of the names of an action and a claim in that of a file; file systems take 255 bytes


@frozen
class Script:
    """A query as text."""

    obligation: Obligation  # the obligation
    text: str  # SMT-LIB 2; unsatisfiable iff the obligation holds

    @property
    def name(self) -> str:
        """A file name that no other query of the proof has, whatever action and claim are named."""
        words = self.obligation.action, self.obligation.claim
        name = "--".join(map(file_part, words))
        if len(name) > LONGEST_NAME or name.count("--") > 1:
            name = f"{name[:LONGEST_NAME]}-{hashlib.sha256(repr(words).encode()).hexdigest()[:12]}"
        return f"{name}.smt2"


def scripts(proof: Proof, effort: Effort, clock: Clock) -> Iterator[Script]:
    """Every query of a proof, with the invariants that it may assume in the end.

    What was proven of a claim before that fell is left out: it may have rested on others that fell.
    """
    assumed = proof.assumed()
    wanted = [o for o, answer in proof.answers.items() if o.claim not in proof.unproven or answer.result != PROVEN]
    for (action, within), group in itertools.groupby(wanted, lambda one: (one.action, one.claim not in DOMAINS)):
        queries = ActionQueries(proof.theory, action, within, assumed, effort, clock)
        for obligation in group:
            yield Script(obligation, queries.text(obligation))


def installed(name: str) -> bool:
    """Whether a second solver can be imported."""
    return importlib.util.find_spec(name) is not None


def second_answer(solver: str, text: str, effort: Effort) -> str:
    """The answer of another solver to a query: `sat`, `unsat` or `unknown`.

    Raises:
        SolverMissing: when it is not installed.
    """
    if not installed(solver):
        raise SolverMissing(f"{solver} is not installed; pip install {solver}")
    asks = {"bitwuzla": _ask_bitwuzla, "cvc5": _ask_cvc5, "z3": _ask_z3}
    return asks[solver](importlib.import_module(solver), text, effort.milliseconds())


def _ask_z3(module: Any, text: str, milliseconds: int) -> str:
    """Z3 in its tactic for bit-vectors: neither the premises behind literals nor the solver of proofs."""
    solver = module.Tactic("qfbv").solver() if "(set-logic QF_BV)" in text else module.Solver()
    solver.set("timeout", milliseconds)
    solver.from_string(text)
    return str(solver.check())


def _ask_bitwuzla(bitwuzla: Any, text: str, milliseconds: int) -> str:
    options = bitwuzla.Options()
    options.set(bitwuzla.Option.TIME_LIMIT_PER, milliseconds)
    parser = bitwuzla.Parser(bitwuzla.TermManager(), options)
    parser.parse(text, True, False)
    return str(parser.bitwuzla().check_sat())


def _ask_cvc5(cvc5: Any, text: str, milliseconds: int) -> str:
    terms = cvc5.TermManager()
    solver, symbols = cvc5.Solver(terms), cvc5.SymbolManager(terms)
    solver.setOption("tlimit-per", str(milliseconds))
    parser = cvc5.InputParser(solver, symbols)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "query")
    output = ""
    while not (command := parser.nextCommand()).isNull():
        output += command.invoke(solver, symbols)
    return _one_word(output)


def _one_word(output: str) -> str:
    """cvc5's answer without the reason in brackets that may follow it, as in `unknown (TIMEOUT)`."""
    word = output.strip().partition(" ")[0]
    if word not in ("sat", "unsat", "unknown"):
        raise RuntimeError(f"cvc5 says neither sat, unsat nor unknown: {output!r}")
    return word
