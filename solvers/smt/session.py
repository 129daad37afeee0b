"""Sessions: several obligations with the same premises, answered by one solver.

A session knows nothing of the solver but `check`: is there a state and a step
that has the premises, and not the goal? What it answers is an `ObligationAnswer`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import z3

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.smt.answer import SolverAnswer
from kraftcheck.solvers.smt.bitwuzla import BitwuzlaEngine
from kraftcheck.solvers.smt.queries import (
    BOUND,
    PROVEN,
    REFUTED,
    UNDECIDED,
    Clock,
    Countermodel,
    Effort,
    Obligation,
    ObligationAnswer,
    Premises,
    Questions,
    new_solver,
)
from kraftcheck.solvers.smt.reading.z3_endless import EndlessEngine, conjuncts_of
from kraftcheck.solvers.smt.z3terms import conjunction, value_of

PARTS = {"z3": 12, "bitwuzla": 84}
"""Conjuncts of a claim that each solver is asked for at a time: the hard ones of many brokers together cost more than
apart, but Bitwuzla reads the premises anew for each query."""

ALONE = 1
"""As many of a claim about any number: each names places of its own, and every place has instances of all premises."""


class SolverEngine(Protocol):
    """A solver that holds some premises."""

    def check(self, goal: Any) -> SolverAnswer:
        """Whether the premises imply a goal, a Z3 truth of the context that the premises are in."""


class SolverSession:
    """One solver for several obligations that share their premises.

    Args:
        questions, premises, effort, clock: whose obligations, what they share, limits of each query, and seconds.
    """

    def __init__(self, questions: Questions, premises: Premises, effort: Effort, clock: Clock) -> None:
        self._questions, self._premises, self._clock = questions, premises, clock
        self._names = {premise.get_id(): name for name, premise in premises.truths.items()}
        self._part = ALONE if premises.endless() else PARTS[effort.solver]
        self._engine: SolverEngine | EndlessEngine
        if premises.endless():
            self._engine = EndlessEngine(premises, effort, questions.read, clock)
        else:
            self._engine = (BitwuzlaEngine if effort.solver == "bitwuzla" else Z3Engine)(premises, effort)

    def ask(self, obligation: Obligation) -> ObligationAnswer:
        """The solver's answer to an obligation."""
        start, goal = self._clock(), self._questions.goal(obligation)
        premise = self._names.get(goal.get_id())
        if premise is not None or z3.is_true(goal):
            return ObligationAnswer(obligation, PROVEN, self._clock() - start, () if premise is None else (premise,))
        answer = self._check(goal, self._questions.goals(obligation))
        seconds, width = self._clock() - start, self._premises.width
        assignment = None if answer.values is None else Countermodel(answer.values[:width], answer.values[width:])
        return ObligationAnswer(
            obligation, answer.result, seconds, tuple(sorted(answer.core)), assignment, answer.reason
        )

    def _check(self, goal: Any, terms: Sequence[Term]) -> SolverAnswer:
        """Whether the premises imply a goal, which is that some terms hold: its conjuncts, until some are not proven.

        A few are asked for at a time.
        """
        engine, core = self._engine, set[str]()
        parts: Sequence[Any]
        implied: Callable[[Sequence[Any]], SolverAnswer]
        if isinstance(engine, EndlessEngine):
            parts, implied = conjuncts_of(terms), engine.refute
        else:
            parts, implied = conjuncts(goal), lambda part: engine.check(conjunction(part))
        for start in range(0, len(parts), self._part):
            answer = implied(parts[start : start + self._part])
            if answer.result != PROVEN:
                return answer
            core.update(answer.core)
        return SolverAnswer(PROVEN, core=tuple(core))

    def fields_left(self, action: str, or_capped: bool = False) -> list[str]:
        """The fields that a step of an action is not shown to leave within their domain, or (`or_capped`) its caps."""
        bounds, read = self._questions.bounds_of(action, or_capped), self._questions.read
        return [
            name.removeprefix(BOUND) for name, term in bounds.items()
            if self._check(read.expression(term), [term]).result != PROVEN
        ]  # fmt: skip


class Z3Engine:
    """Z3 in a context of its own, so that other queries do not slow it down."""

    def __init__(self, premises: Premises, effort: Effort) -> None:
        self._premises, self._effort = premises, effort
        self._begin()

    def _begin(self) -> None:
        """A solver with the premises."""
        premises = self._premises
        self._context = z3.Context()
        self._truths = z3.And(z3.BoolVal(True), *premises.truths.values()).translate(self._context).children()[1:]
        self._solver = new_solver(premises, self._effort, self._context)
        self._tracked = {f"p{number}": name for number, name in enumerate(premises.truths)}
        self._literals = [z3.Bool(mark, self._context) for mark in self._tracked]
        for literal, premise in zip(self._literals, self._truths, strict=True):
            self._solver.add(z3.Implies(literal, premise))

    def check(self, goal: Any) -> SolverAnswer:
        """See `Engine.check`."""
        denial = z3.Not(goal.translate(self._context))
        self._solver.push()
        self._solver.add(denial)
        answer = self._answer(denial)
        self._solver.pop()
        if answer.result == UNDECIDED:
            # What is cut in the middle of reading its assertions may have lost some of them.
            self._begin()
        return answer

    def _answer(self, denial: Any) -> SolverAnswer:
        result = self._solver.check(*self._literals)
        if result == z3.unsat:
            return SolverAnswer(PROVEN, core=tuple(self._tracked[str(mark)] for mark in self._solver.unsat_core()))
        if result != z3.sat:
            return SolverAnswer(UNDECIDED, reason=self._solver.reason_unknown())
        model = self._solver.model()
        if not holds_of([*self._truths, denial], model):
            return SolverAnswer(UNDECIDED, reason="the solver was cut: its model does not satisfy the query")
        symbols = [symbol.translate(self._context) for symbol in self._premises.symbols]
        values = [value_of(model, term, symbol) for term, symbol in zip(self._premises.names, symbols, strict=True)]
        return SolverAnswer(REFUTED, values=tuple(values))


def holds_of(truths: Sequence[Any], model: z3.ModelRef) -> bool:
    """Whether a model makes all of some truths true."""
    return all(z3.is_true(model.eval(truth, model_completion=True)) for truth in truths)


def conjuncts(truth: Any) -> list[Any]:
    """The truths that a truth is the conjunction of, in order; none of them is a conjunction."""
    result, pending = [], [truth]
    while pending:
        part = pending.pop()
        if z3.is_and(part):
            pending.extend(reversed(part.children()))
        else:
            result.append(part)
    return result
