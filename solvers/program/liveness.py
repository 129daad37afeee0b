"""Traced liveness properties: their premise and goal, and the steps that are fair."""

from __future__ import annotations

from attrs import field, frozen

from kraftcheck.model.language.fairness import FairSteps
from kraftcheck.model.language.system import Property
from kraftcheck.model.language.terms import Term


@frozen
class FairConstraint:
    """A fairness constraint, traced.

    Attributes:
        steps: what is fair.
        instances: numbers of the action instances whose steps it is about.
        excused: truth that none of them need be taken.
    """

    steps: FairSteps
    instances: tuple[int, ...]
    excused: Term

    @property
    def strong(self) -> bool:
        """Whether it is strong fairness."""
        return self.steps.fairness.strong


@frozen
class LivenessClaim:
    """A liveness property, traced.

    Attributes:
        claim: the property.
        premise: truth that a state begins the wait for the goal: of `leads_to` its premise, of the others true.
        goal: truth of its predicate.
        constraints: numbers of the constraints that every behaviour satisfies which it is about.
    """

    claim: Property
    premise: Term
    goal: Term
    constraints: tuple[int, ...]


@frozen
class LivenessClaims:
    """The liveness properties of a program.

    Attributes:
        claims: the properties.
        constraints: what is fair, of the system and of single properties.
    """

    claims: tuple[LivenessClaim, ...] = ()
    constraints: tuple[FairConstraint, ...] = field(default=())

    @property
    def terms(self) -> tuple[Term, ...]:
        """The truths of a state that a search needs: premise and goal of each claim, then the excuses."""
        about = [term for claim in self.claims for term in (claim.premise, claim.goal)]
        return (*about, *(constraint.excused for constraint in self.constraints))

    def described(self) -> str:
        """What is fair and what depends on it, as text: equal for claims about the same behaviours."""
        fair = [(one.steps.name, one.instances) for one in self.constraints]
        return f"{fair} {[(one.claim.kind, one.claim.id, one.constraints) for one in self.claims]}"


NO_LIVENESS = LivenessClaims()
"""Those of a system without any."""
