"""Of the instances of claims about every place, those that a refutation needs: few of thousands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import z3

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.smt.instances import Instances
from kraftcheck.solvers.smt.queries import Clock, Effort, Premises
from kraftcheck.solvers.smt.reading.z3_endless import answer, conjuncts_of
from kraftcheck.solvers.smt.z3terms import Z3Reader


class NeededFacts:
    """Instances of premises about sequences without end, and which of them refute that some goals fail.

    Args:
        premises: the places of all of them are of interest.
        effort, clock: limits of each query, and seconds from any origin.
    """

    def __init__(self, premises: Premises, read: Z3Reader, effort: Effort, clock: Clock) -> None:
        self._facts: dict[str, Any] = {}
        self._read, self._effort, self._clock = read, effort, clock
        self._instances = Instances(premises.names[0].graph)
        self._instances.require(premises.terms.values())
        self._solver = z3.Solver()
        self._solver.set("random_seed", effort.seed)
        self._solver.add(*premises.truths.values())
        self._add(self._instances.facts)

    def _add(self, facts: Sequence[Term]) -> list[str]:
        marks = [f"fact {len(self._facts) + number}" for number in range(len(facts))]
        for mark, fact in zip(marks, facts, strict=True):
            self._facts[mark] = self._read.expression(fact)
            self._solver.add(z3.Implies(z3.Bool(mark), self._facts[mark]))
        return marks

    def of(self, goals: Sequence[Term]) -> list[Any]:
        """The instances that refute, with the premises, that one of some goals fails; all where none are seen to."""
        query = self._instances.branch()
        query.deny(conjuncts_of(goals))
        self._solver.push()
        added: list[str] = []
        result = answer(
            query, self._solver, self._read, lambda facts: added.extend(self._add(facts)),
            lambda: [*map(z3.Bool, self._facts)], self._effort.remaining(self._clock),
        )  # fmt: skip
        needed = {*map(str, self._solver.unsat_core())} if result == z3.unsat else {*self._facts}
        expressions = [fact for mark, fact in self._facts.items() if mark in needed]
        self._solver.pop()
        for mark in added:
            del self._facts[mark]
        return expressions
