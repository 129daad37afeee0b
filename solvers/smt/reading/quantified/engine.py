"""Z3 with quantifiers as a solver of queries about endless sequences.

Z3 tries a model, and says of the places where a claim about every place fails in
it that it holds there (Ge and de Moura, "Complete instantiation for quantified
formulas", 2009). What has no model is proven, as ever; a model is none of the
system, for not all that is true of sizes is said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, islice
from typing import Any

import z3

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.smt.answer import SolverAnswer
from kraftcheck.solvers.smt.queries import PROVEN, UNDECIDED, Effort, Premises
from kraftcheck.solvers.smt.reading.quantified.axioms import SizeAxioms, of_covers, of_members, of_pairs
from kraftcheck.solvers.smt.reading.quantified.reader import QuantifiedReader
from kraftcheck.solvers.smt.reading.z3_endless import NOT_SHOWN

OPTIONS = {
    "auto_config": False, "mbqi": True, "ematching": False, "mbqi.max_iterations": 1_000_000,
    "pull_nested_quantifiers": True, "case_split": 3,
}  # fmt: skip
"""Places are chosen from models alone: triggers would say each claim about three places of every three in a query."""

AT_A_TIME = 6
"""So many times more sets are compared after each model."""

GUARD = "guard: "
"""Group of the premises that are guards."""


def cases_of(terms: Mapping[str, Term]) -> list[tuple[str, Term]]:
    """The cases of the first guard that is a disjunction, each with the guard's name: one of them is given."""
    guards = {name: term for name, term in terms.items() if name.startswith(GUARD) and term.op == "or"}
    return next(([(name, case) for case in term.args] for name, term in guards.items()), [])


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
        self._cases = [(name, self._read.expression(case)) for name, case in cases_of(premises.terms)]

    def refute(self, conjuncts: Sequence[Term]) -> SolverAnswer:
        """Whether the premises imply all of some truths: in each case that they tell apart, if they do."""
        read = self._read
        denial = z3.Not(z3.And(z3.BoolVal(True, read.context), *map(read.expression, conjuncts)))
        core = set[str]()
        for name, case in self._cases or [("", z3.BoolVal(True, read.context))]:
            answer = self._refute(z3.And(case, denial))
            if answer.result != PROVEN:
                return answer
            core.update(answer.core, [name] if name else [])
        return SolverAnswer(PROVEN, core=tuple(sorted(core)))

    def _refute(self, denial: Any) -> SolverAnswer:
        """Whether the premises contradict a denial.

        What is true of the sizes of two sets, or three, is said where a model of the rest contradicts it.
        """
        said = dict[tuple[int, ...], SizeAxioms]()
        while True:
            answer, model = self._check(denial, [*said.values()])
            wrong = [] if model is None else self._wrong(model, said)
            if not wrong:
                return answer
            said |= {axioms.numbers: axioms for axioms in wrong}

    def _wrong(self, model: z3.ModelRef, said: Mapping[tuple[int, ...], SizeAxioms]) -> list[SizeAxioms]:
        """Some axioms of sizes that are not said yet, and may be false in a model."""
        sets = [*self._read.sets.values()]
        unsaid = (axioms for axioms in chain(of_pairs(sets), of_covers(sets, model)) if axioms.numbers not in said)
        return [*islice((axioms for axioms in unsaid if axioms.may_fail(model, OPTIONS)), AT_A_TIME)]

    def _check(self, denial: Any, sizes: Sequence[SizeAxioms]) -> tuple[SolverAnswer, z3.ModelRef | None]:
        """Whether a denial contradicts the premises and some axioms, and a model if it does not."""
        read = self._read
        solver = z3.Solver(ctx=read.context)
        effort = self._effort
        solver.set(timeout=effort.milliseconds(), rlimit=effort.resources, random_seed=effort.seed, **OPTIONS)
        literals = {f"premise {number}": name for number, name in enumerate(self._truths)}
        for mark, name in literals.items():
            solver.add(z3.Implies(z3.Bool(mark, read.context), self._truths[name]))
        solver.add(*read.meanings, *read.ranges(), *of_members([*read.sets.values()]), denial)
        solver.add(*(truth for axioms in sizes for truth in axioms.truths))
        result = solver.check(*(z3.Bool(mark, read.context) for mark in literals))
        if result == z3.unsat:
            core = tuple(sorted(literals[str(mark)] for mark in solver.unsat_core()))
            return SolverAnswer(PROVEN, core=core), None
        if result == z3.unknown:
            return SolverAnswer(UNDECIDED, reason=solver.reason_unknown()), None
        return SolverAnswer(UNDECIDED, reason=NOT_SHOWN), solver.model()
