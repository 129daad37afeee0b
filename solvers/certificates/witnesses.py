"""States and steps that show of a claim that it could be broken, and of an action that it could be taken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import z3
from attrs import frozen

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.smt.queries import PROVEN, Clock, Effort, Obligation, Questions
from kraftcheck.solvers.smt.theory import DOMAINS, INITIATION, Theory
from kraftcheck.solvers.smt.verdicts import ModelAction
from kraftcheck.solvers.smt.worker import SolverSession
from kraftcheck.solvers.smt.z3terms import value_of


@frozen
class Witness:
    """A state in its domains, and perhaps an instance of an action there."""

    state: tuple[int, ...]  # its leaves
    action: ModelAction | None = None  # the action with the leaves of its arguments; None where a state is enough


class Witnesses:
    """Asks Z3 for witnesses, from the rules as they are traced.

    Args:
        of: the theory of the rules.
    """

    def __init__(self, of: Theory) -> None:
        self._of, self._questions = of, Questions(of)
        self._kinds = {kind.action.name: kind for kind in of.program.kinds}

    def starts(self, most: int) -> list[tuple[int, ...]]:
        """Initial states, of which there may be more."""
        found, others = list[tuple[int, ...]](), list[Any]()
        given = self._questions.premises(INITIATION, ())
        while len(found) < most and (one := self._model([*given.truths.values(), *others])) is not None:
            found.append(one.state)
            of = zip(self._of.program.state, given.symbols, one.state, strict=True)
            others.append(z3.Or([symbol != self._questions.read.constant(term, value) for term, symbol, value in of]))
        return found

    def against(self, invariant: str) -> Witness | None:
        """A state without an invariant."""
        truth = self._questions.read.expression(self._of.state_truths()[invariant])
        return self._model([*self._questions.domains().values(), z3.Not(truth)])

    def breaking(self, step: str) -> Iterator[Witness]:
        """Steps without a claim about steps, from any state: one of each action that has one."""
        for name, kind in self._kinds.items():
            given = self._questions.premises(name, (), within=False)
            truth = self._questions.read.expression(self._of.step_truth(kind, step))
            if (found := self._model([*given.truths.values(), z3.Not(truth)], name)) is not None:
                yield found

    def enabling(self, action: str, invariants: Sequence[str]) -> Witness | None:
        """A step of an action from a state with some invariants."""
        return self._model([*self._questions.premises(action, invariants).truths.values()], action)

    def leaving(self, invariants: Sequence[str], clock: Clock) -> Iterator[str]:
        """The actions of which a step from a state with some invariants leaves a domain, and not beyond a cap."""
        for action in self._kinds:
            given = self._questions.premises(action, invariants, within=False)
            session = SolverSession(self._questions, given, Effort(), clock)
            if session.ask(Obligation(DOMAINS[0], action)).result != PROVEN:
                yield action

    def _model(self, truths: Sequence[Any], action: str = "") -> Witness | None:
        solver = z3.Solver()
        solver.add(*truths)
        if solver.check() != z3.sat:
            return None
        model = solver.model()

        def leaves(terms: Sequence[Term]) -> tuple[int, ...]:
            return tuple(value_of(model, term, self._questions.read.expression(term)) for term in terms)

        taken = ModelAction(action, leaves(self._kinds[action].variables)) if action else None
        return Witness(leaves(self._of.program.state), taken)
