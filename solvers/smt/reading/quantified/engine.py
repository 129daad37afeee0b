"""Z3 with quantifiers as a solver of queries about endless sequences.

Z3 tries a model, and says of the places where a claim about every place fails in
it that it holds there (Ge and de Moura, "Complete instantiation for quantified
formulas", 2009). What has no model is proven, as ever; a model is none of the
system, for not all that is true of sizes is said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import z3

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.smt.answer import SolverAnswer
from kraftcheck.solvers.smt.queries import PROVEN, UNDECIDED, Effort, Premises
from kraftcheck.solvers.smt.reading.quantified.axioms import of_members, of_pairs
from kraftcheck.solvers.smt.reading.quantified.reader import QuantifiedReader
from kraftcheck.solvers.smt.reading.quantified.sets import CountedSet
from kraftcheck.solvers.smt.reading.z3_endless import NOT_SHOWN

OPTIONS = {
    "auto_config": False, "mbqi": True, "ematching": False, "mbqi.max_iterations": 1_000_000,
    "pull_nested_quantifiers": True, "case_split": 3,
}  # fmt: skip
"""Places are chosen from models alone: triggers would say each claim about three places of every three in a query."""


class QuantifiedEngine:
    """Z3 with claims about every place as quantifiers."""

    def __init__(self, premises: Premises, effort: Effort) -> None:
        self._effort = effort
        self._read = QuantifiedReader(premises.names[0].graph)
        context = self._read.context
        self._truths = {
            name: self._read.expression(premises.terms[name]) if name in premises.terms else truth.translate(context)
            for name, truth in premises.truths.items()
        }

    def refute(self, conjuncts: Sequence[Term]) -> SolverAnswer:
        """Whether the premises imply all of some truths: first with what is true of members, then of pairs of sets."""
        read = self._read
        denial = z3.Not(z3.And(z3.BoolVal(True, read.context), *map(read.expression, conjuncts)))
        answer = self._check(denial, of_members)
        if answer.result != PROVEN and answer.reason == NOT_SHOWN and len(read.sets) > 1:
            answer = self._check(denial, of_members, of_pairs)
        return answer

    def _check(self, denial: Any, *axioms: Callable[[Sequence[CountedSet]], list[Any]]) -> SolverAnswer:
        read = self._read
        solver = z3.Solver(ctx=read.context)
        solver.set(timeout=self._effort.milliseconds(), random_seed=self._effort.seed, **OPTIONS)
        literals = {f"premise {number}": name for number, name in enumerate(self._truths)}
        for mark, name in literals.items():
            solver.add(z3.Implies(z3.Bool(mark, read.context), self._truths[name]))
        sets = [*read.sets.values()]
        solver.add(*read.meanings, *read.ranges(), *(truth for some in axioms for truth in some(sets)), denial)
        result = solver.check(*(z3.Bool(mark, read.context) for mark in literals))
        if result == z3.unsat:
            return SolverAnswer(PROVEN, core=tuple(sorted(literals[str(mark)] for mark in solver.unsat_core())))
        return SolverAnswer(UNDECIDED, reason=NOT_SHOWN if result == z3.sat else solver.reason_unknown())
