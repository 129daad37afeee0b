"""Z3 as a solver of queries about endless sequences."""

from __future__ import annotations

from collections.abc import Sequence

import z3

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.smt.answer import SolverAnswer
from kraftcheck.solvers.smt.instances import Instances
from kraftcheck.solvers.smt.queries import PROVEN, UNDECIDED, Clock, Effort, Premises
from kraftcheck.solvers.smt.reading.sizes import answer
from kraftcheck.solvers.smt.z3terms import Z3Reader

NOT_SHOWN = "no state is shown where sequences have no end"
"""Why what is not proven of them is undecided: their instances do not refute it, which makes no counterexample."""

TIMEOUT = "timeout"
"""Why what has no answer in its time is undecided, in the word of Z3."""


class EndlessEngine:
    """Z3 with instances of the claims about every place."""

    def __init__(self, premises: Premises, effort: Effort, read: Z3Reader, clock: Clock) -> None:
        self._premises, self._effort, self._read, self._clock = premises, effort, read, clock
        self._instances = Instances(premises.names[0].graph)
        self._instances.require(premises.terms.values())
        self._assumed = {
            conjunct.index: name for name, term in premises.terms.items() for conjunct in conjuncts_of([term])
        }
        self._begin()

    def _begin(self) -> None:
        self._solver = z3.Solver(ctx=self._read.context)
        self._solver.set("random_seed", self._effort.seed)
        if self._effort.minimise:
            self._solver.set("core.minimize", True)
        self._tracked = {f"premise {number}": name for number, name in enumerate(self._premises.truths)}
        self._literals = [z3.Bool(mark, self._read.context) for mark in self._tracked]
        for literal, premise in zip(self._literals, self._premises.truths.values(), strict=True):
            self._solver.add(z3.Implies(literal, premise))
        self._solver.add(*map(self._read.expression, self._instances.facts))

    def refute(self, conjuncts: Sequence[Term]) -> SolverAnswer:
        """Whether the premises imply all of some truths, none of which is a conjunction."""
        open_conjuncts = [conjunct for conjunct in conjuncts if conjunct.index not in self._assumed]
        shared = {self._assumed[conjunct.index] for conjunct in conjuncts if conjunct.index in self._assumed}
        if not open_conjuncts:
            return SolverAnswer(PROVEN, core=tuple(sorted(shared)))
        query, remaining = self._denial(open_conjuncts), self._effort.remaining(self._clock)
        self._solver.push()
        result = answer(query, self._solver, self._read, self._assert, lambda: self._literals, remaining)
        core = tuple(self._tracked[str(mark)] for mark in self._solver.unsat_core()) if result == z3.unsat else ()
        reason = NOT_SHOWN
        if result == z3.unknown:
            reason = TIMEOUT if remaining() <= 0 else self._solver.reason_unknown()
        self._solver.pop()
        if result == z3.unsat:
            return SolverAnswer(PROVEN, core=tuple(sorted({*core, *shared})))
        if result == z3.unknown:
            self._begin()
        return SolverAnswer(UNDECIDED, reason=reason)

    def _assert(self, facts: Sequence[Term]) -> None:
        self._solver.add(*map(self._read.expression, facts))

    def _denial(self, conjuncts: Sequence[Term]) -> Instances:
        """What follows from the denial of some truths; what it has in common with others is asserted for all."""
        query = self._instances.branch()
        query.deny(conjuncts)
        before = len(self._instances.facts)
        if not self._instances.expect(query):
            return query
        self._solver.add(*map(self._read.expression, self._instances.facts[before:]))
        query = self._instances.branch()
        query.deny(conjuncts)
        return query


def conjuncts_of(truths: Sequence[Term]) -> list[Term]:
    """The conjuncts of some truths, each once."""
    by_index: dict[int, Term] = {}
    pending = list(truths)
    while pending:
        term = pending.pop()
        if term.op == "and":
            pending.extend(reversed(term.args))
        else:
            by_index[term.index] = term
    return list(by_index.values())
