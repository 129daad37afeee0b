"""Proof objects: what a SAT solver writes down of a query of a theorem, for a checker that is itself proven right.

Z3 makes clauses of the query, Glucose refutes them and writes a DRUP proof, and `drup`, extracted from code that is
verified in Why3, follows that proof. So neither solver is believed, but Z3 for the clauses. Where it already sees as it
makes them that they contradict each other, there is no proof to follow.
"""

import functools

import pytest
import z3

from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.solvers.smt.induction import obligations
from kraftcheck.solvers.smt.queries import Obligation, Questions
from kraftcheck.solvers.smt.theory import DOMAINS

drup, solvers = pytest.importorskip("drup"), pytest.importorskip("pysat.solvers")

TO_CLAUSES = z3.Then("simplify", "solve-eqs", "bit-blast", "simplify", "tseitin-cnf")


@functools.cache
def questions() -> Questions:
    """Those of a finite theorem: `broker-ids`, scope `sessions`."""
    return Questions(ProofRequest("broker-ids", "sessions", {}, "fixed").build())


def clauses_of(query: Obligation, *, assumed: bool = True) -> str:
    """The clauses, as DIMACS, that hold where the premises do and the goal does not; empty where Z3 sees there is none.

    Without `assumed` no invariant is among the premises.
    """
    asked = questions()
    names = [claim.id for claim in asked.subject.invariants] if assumed else []
    goal = z3.Goal()
    premises = asked.premises(query.action, names, query.claim not in DOMAINS)
    goal.add(*premises.truths.values(), z3.Not(asked.goal(query)))
    (made,) = TO_CLAUSES(goal)
    return "" if made.inconsistent() else f"{made.dimacs(include_names=False)}\n"


def proof_of(clauses: str) -> list[str] | None:
    """Glucose's proof that clauses contradict each other; None: they do not."""
    rows = [[int(word) for word in line.split()[:-1]] for line in clauses.splitlines()[1:]]
    with solvers.Solver(name="g4", bootstrap_with=rows, with_proof=True) as solver:
        return None if solver.solve() else [*(solver.get_proof() or ()), "0"]


def is_proof(clauses: str, proof: list[str]) -> bool:
    """Whether the checker follows a proof."""
    outcome = drup.check_proof_from_strings(clauses, "\n".join(proof) + "\n").outcome
    return bool(outcome == drup.Outcome.VALID)


def proven(claim: str) -> int:
    """How many queries about a claim have a proof that the checker follows; each has one that has clauses."""
    every = [clauses for query in obligations(questions().subject, [claim]) if (clauses := clauses_of(query))]
    for clauses in every:
        proof = proof_of(clauses)
        assert proof is not None
        assert is_proof(clauses, proof)
    return len(every)


def test_each_query_of_a_claim_has_a_proof() -> None:
    """Every query about a claim, one for each action, has a proof that the verified checker follows."""
    assert proven("ids-unique") == len(questions().subject.program.kinds) == 10


@pytest.mark.slow
def test_each_query_of_a_theorem_has_a_proof() -> None:
    """So has every query of the theorem that is not rewritten to nothing, which is half of them."""
    assert sum(proven(claim) for claim in [*(one.id for one in questions().subject.claims), *DOMAINS]) > 50


def test_what_is_no_proof_is_refused() -> None:
    """A proof without its steps, or of other clauses, is none; what does not follow has none at all."""
    query = Obligation("ids-unique", "register")
    clauses = clauses_of(query)
    proof = proof_of(clauses)
    assert proof is not None
    assert is_proof(clauses, proof)
    assert not is_proof(clauses, ["0"])
    other = clauses_of(query, assumed=False)
    assert proof_of(other) is None
    assert not is_proof(other, proof)
