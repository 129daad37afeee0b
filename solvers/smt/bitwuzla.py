"""Bitwuzla as a solver of proof obligations: much faster than Z3 on lists of many brokers.

It reads the same queries as SMT-LIB 2 text, with a literal for each premise,
so that it reports an unsat core too. It does not support Int.

Source: Niemetz and Preiner, "Bitwuzla" (2023).
"""

from __future__ import annotations

import importlib
from typing import Any

import z3

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.machine_code.lower import LoweringError
from kraftcheck.solvers.smt.answer import SolverAnswer
from kraftcheck.solvers.smt.queries import PROVEN, REFUTED, UNDECIDED, Effort, Premises

MARK = "premise!"
"""Prefix of the literals; no field's path has it."""


class BitwuzlaEngine:
    """Some premises, and what Bitwuzla says to goals; each goal is a query of its own.

    Raises:
        LoweringError: where a word has no bound.
    """

    def __init__(self, premises: Premises, effort: Effort) -> None:
        if premises.numbers():
            raise LoweringError("bitwuzla knows bit-vectors only, and a field here has no bound; use Z3")
        self._premises, self._effort = premises, effort
        self._module: Any = importlib.import_module("bitwuzla")
        self._marks = {f"{MARK}{number}": name for number, name in enumerate(premises.truths)}

    def check(self, goal: Any) -> SolverAnswer:
        """See `kraftcheck.solvers.smt.session.Engine.check`."""
        module, options = self._module, self._module.Options()
        options.set(module.Option.TIME_LIMIT_PER, self._effort.milliseconds())
        options.set(module.Option.SEED, self._effort.seed)
        options.set(module.Option.PRODUCE_MODELS, True)
        options.set(module.Option.PRODUCE_UNSAT_ASSUMPTIONS, True)
        parser = module.Parser(module.TermManager(), options)
        parser.parse(self._text(goal), True, False)
        solver, declared = parser.bitwuzla(), {name.symbol(): name for name in parser.get_declared_funs()}
        result = solver.check_sat(*(declared[mark] for mark in self._marks))
        if result == module.Result.UNSAT:
            return SolverAnswer(
                PROVEN, core=tuple(self._marks[mark.symbol()] for mark in solver.get_unsat_assumptions())
            )
        if result != module.Result.SAT:
            return SolverAnswer(UNDECIDED, reason=f"bitwuzla says {result}")
        pairs = zip(self._premises.names, self._premises.symbols, strict=True)
        return SolverAnswer(REFUTED, values=tuple(_value(solver, term, declared.get(s.sexpr())) for term, s in pairs))

    def _text(self, goal: Any) -> str:
        """The premises, each behind its literal, and the negated goal."""
        solver = z3.Solver(ctx=goal.ctx)
        for mark, premise in zip(self._marks, self._premises.truths.values(), strict=True):
            solver.add(z3.Implies(z3.Bool(mark, goal.ctx), premise))
        solver.add(z3.Not(goal))
        return f"(set-logic QF_BV)\n{solver.to_smt2()}"


def _value(solver: Any, term: Term, symbol: Any) -> int:
    """The value of a symbol in Bitwuzla's model; 0 where the query does not have it."""
    if symbol is None:
        return 0
    constant = solver.get_value(symbol)
    if term.is_truth:
        return int(constant.value())
    value, width = int(constant.value(10)), symbol.sort().bv_size()
    return value - (1 << width) if term.lo < 0 and value >> width - 1 else value
