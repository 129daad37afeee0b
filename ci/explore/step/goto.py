"""`goto EXPR`: the shortest way from the present state to one that satisfies an expression."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve, frozen

from kraftcheck.ci.run.questions import SearchBudget, run, searched
from kraftcheck.ci.systems.subject import Subject, program
from kraftcheck.solvers.program.verdict import Incomplete, Refuted, TraceStep
from kraftcheck.solvers.stepping.session import Session


@frozen
class Arrival:
    """The result of a search from the present state.

    Attributes:
        session: the session there; the one given where there is no way, or none was found.
        text: what came of it.
    """

    session: Session
    text: str


def go_to(session: Session, chosen: Subject, text: str, budget: SearchBudget) -> Arrival:
    """The session after the shortest way to a state that satisfies an expression.

    Args:
        session: where to begin.
        chosen: its system.
        text: the expression.
        budget: where the search may end without an answer.

    Raises:
        Refusal: for an expression that does not fit the state.
    """
    here = evolve(chosen, system=evolve(chosen.system, initial=[session.state]))
    result = run(program(searched(here, text)), budget, quiet=True)
    (claim,) = result.program.always
    match result.verdict(claim.id).verdict:
        case Refuted(trace):
            return Arrival(_along(session, trace.steps), f"found in {len(trace.steps)} steps: {claim.id}")
        case Incomplete(cut):
            return Arrival(session, f"unknown: {cut}")
    return Arrival(session, f"not reachable from here: none of {result.distinct:,} states satisfies {claim.id}")


def _along(session: Session, steps: Sequence[TraceStep]) -> Session:
    """The session after the steps of a trace."""
    for step in steps:
        instance = next(
            choice.instance
            for choice in session.enabled
            if choice.action == step.action and dict(choice.arguments) == dict(step.arguments)
        )
        session = session.take(instance)
    return session
