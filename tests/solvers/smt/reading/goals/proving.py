"""Asks whether one obligation is proven by parts, from premises that a test chooses."""

from __future__ import annotations

from kraftcheck.solvers.smt.queries import PROVEN, Effort, Obligation, Premises, Questions
from kraftcheck.solvers.smt.reading.goals.frame import Frame
from kraftcheck.solvers.smt.reading.goals.proof import GoalProof, Parts, PremiseParts
from kraftcheck.solvers.smt.z3terms import Substitution


def by_parts(questions: Questions, premises: Premises, effort: Effort, frame: Frame | None = None) -> GoalProof:
    """What proves goals of a theory from some premises, and what a step leaves as it is."""
    substitution = Substitution(questions.subject.program.graph)
    parts = PremiseParts(Parts(substitution), questions.read.expression)
    return GoalProof(substitution, (parts.of(premises),), parts, effort, frame or Frame())


def proves(questions: Questions, obligation: Obligation, premises: Premises, effort: Effort) -> bool:
    """Whether an obligation is proven from some premises."""
    return by_parts(questions, premises, effort).answer(questions.goals(obligation)).result == PROVEN
