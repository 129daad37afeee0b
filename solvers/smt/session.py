"""Several obligations that share their premises, asked of one solver.

A session knows nothing of the solver but `check`: is there a state and a step
that has the premises, and not the goal? What it answers is an `Answer`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import z3

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.smt.answer import Said
from kraftcheck.solvers.smt.bitwuzla import BitwuzlaEngine
from kraftcheck.solvers.smt.queries import (
    PROVEN,
    REFUTED,
    UNDECIDED,
    Answer,
    Assignment,
    Clock,
    Effort,
    Obligation,
    Premises,
    Questions,
    new_solver,
)
from kraftcheck.solvers.smt.z3_endless import EndlessEngine, conjuncts_of
from kraftcheck.solvers.smt.z3terms import conjunction, conjuncts, value_of

PARTS = {"z3": 12, "bitwuzla": 84}
"""Conjuncts of a claim that each solver is asked for at a time: the hard ones of many brokers together cost more than
apart, but Bitwuzla reads the premises anew for each query."""


class Engine(Protocol):
    """A solver that holds some premises."""

    def check(self, goal: Any) -> Said:
        """Whether the premises imply a goal, a Z3 truth of the context that the premises are in."""


class Session:
    """One solver for several obligations that share their premises."""

    def __init__(self, questions: Questions, given: Premises, effort: Effort, clock: Clock) -> None:
        self._questions, self._given, self._clock = questions, given, clock
        self._names = {premise.get_id(): name for name, premise in given.truths.items()}
        self._part = PARTS[effort.solver]
        self._engine: Engine | EndlessEngine
        if given.endless():
            self._engine = EndlessEngine(given, effort, questions.read)
        else:
            self._engine = (BitwuzlaEngine if effort.solver == "bitwuzla" else Z3Engine)(given, effort)

    def ask(self, asked: Obligation) -> Answer:
        """The solver's answer to an obligation."""
        begun, goal = self._clock(), self._questions.goal(asked)
        same = self._names.get(goal.get_id())
        if same is not None or z3.is_true(goal):
            return Answer(asked, PROVEN, self._clock() - begun, () if same is None else (same,))
        said = self._check(goal, self._questions.goals(asked))
        seconds, width = self._clock() - begun, self._given.width
        found = None if said.values is None else Assignment(said.values[:width], said.values[width:])
        return Answer(asked, said.result, seconds, tuple(sorted(said.used)), found, said.reason)

    def _check(self, goal: Any, terms: Sequence[Term]) -> Said:
        """Whether the premises imply a goal, which is that some terms hold: its conjuncts, until some are not proven.

        A few are asked for at a time.
        """
        engine, used = self._engine, set[str]()
        parts = conjuncts_of(terms) if isinstance(engine, EndlessEngine) else conjuncts(goal)
        for start in range(0, len(parts), self._part):
            few = parts[start : start + self._part]
            said = engine.refute(few) if isinstance(engine, EndlessEngine) else engine.check(conjunction(few))
            if said.result != PROVEN:
                return said
            used.update(said.used)
        return Said(PROVEN, used=tuple(used))

    def leaving(self, action: str, beyond_cap: bool = False) -> list[str]:
        """The fields that a step of an action is not shown to leave within their domain, or (`beyond_cap`) its caps."""
        inside, read = self._questions.bounds_of(action, beyond_cap), self._questions.read
        return [
            name.removeprefix("bound: ") for name, term in inside.items()
            if self._check(read.expression(term), [term]).result != PROVEN
        ]  # fmt: skip


class Z3Engine:
    """Z3, in a context of its own, so that what was asked elsewhere does not weigh on it."""

    def __init__(self, given: Premises, effort: Effort) -> None:
        self._given, self._effort = given, effort
        self._begin()

    def _begin(self) -> None:
        """A solver with the premises."""
        given = self._given
        self._context = z3.Context()
        self._truths = z3.And(z3.BoolVal(True), *given.truths.values()).translate(self._context).children()[1:]
        self._solver = new_solver(given, self._effort, self._context)
        self._tracked = {f"p{number}": name for number, name in enumerate(given.truths)}
        self._literals = [z3.Bool(mark, self._context) for mark in self._tracked]
        for literal, premise in zip(self._literals, self._truths, strict=True):
            self._solver.add(z3.Implies(literal, premise))

    def check(self, goal: Any) -> Said:
        """See `Engine.check`."""
        denied = z3.Not(goal.translate(self._context))
        self._solver.push()
        self._solver.add(denied)
        said = self._said(denied)
        self._solver.pop()
        if said.result == UNDECIDED:
            # What is cut in the middle of reading its assertions may have lost some of them.
            self._begin()
        return said

    def _said(self, denied: Any) -> Said:
        found = self._solver.check(*self._literals)
        if found == z3.unsat:
            return Said(PROVEN, used=tuple(self._tracked[str(mark)] for mark in self._solver.unsat_core()))
        if found != z3.sat:
            return Said(UNDECIDED, reason=self._solver.reason_unknown())
        model = self._solver.model()
        if not holds_of([*self._truths, denied], model):
            return Said(UNDECIDED, reason="the solver was cut: its model does not satisfy the query")
        symbols = [symbol.translate(self._context) for symbol in self._given.symbols]
        values = [value_of(model, term, symbol) for term, symbol in zip(self._given.names, symbols, strict=True)]
        return Said(REFUTED, values=tuple(values))


def holds_of(truths: Sequence[Any], model: z3.ModelRef) -> bool:
    """Whether a model makes all of some truths true."""
    return all(z3.is_true(model.eval(truth, model_completion=True)) for truth in truths)
