"""Runs that a prover found, made again on ints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import frozen

from kraftcheck.model.language.layout import DomainError, rebuild
from kraftcheck.model.language.system import Property, Step
from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.program.program import Kind
from kraftcheck.solvers.program.verdict import Trace, TraceStep
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.smt.theory import Theory


@frozen
class Taken:
    """An action that a model takes.

    Attributes:
        action: its name.
        leaves: the leaves of its arguments.
    """

    action: str
    leaves: tuple[int, ...] = ()


def kind_named(subject: Theory, action: str) -> Kind:
    """The traced action of a name."""
    return next(kind for kind in subject.program.kinds if kind.action.name == action)


def arguments_of(subject: Theory, taken: Taken) -> dict[str, Any]:
    """The arguments of an action that a model takes."""
    kind = kind_named(subject, taken.action)
    typed = iter([bool(x) if v.is_truth else x for x, v in zip(taken.leaves, kind.variables, strict=True)])
    return {name: _concrete(value, lambda: next(typed)) for name, value in kind.arguments.items()}


def _concrete(value: Any, take: Any) -> Any:
    """An argument with its terms replaced."""
    return take() if isinstance(value, Term) else rebuild(value, take)


def step_on_ints(subject: Theory, before: Any, taken: Taken) -> TraceStep:
    """The step of an action on ints.

    Raises:
        EngineDisagreement: when it is not enabled there, or leaves the layout.
    """
    kind, arguments = kind_named(subject, taken.action), arguments_of(subject, taken)
    if not kind.action.enabled(before, arguments):
        raise EngineDisagreement(f"{taken.action}({arguments}) is not enabled on ints in {before}")
    outcome = kind.action.outcome(before, arguments)
    try:
        subject.program.layout.values(outcome.state)
    except DomainError as error:
        raise EngineDisagreement(f"{taken.action}: the step leaves the layout on ints: {error}") from error
    return TraceStep(taken.action, arguments, outcome.state, outcome.event)


def trace_on_ints(subject: Theory, claim: Property, first: Sequence[int], taken: Sequence[Taken]) -> Trace:
    """The run from a state that breaks a claim at its end.

    Args:
        subject: the theory.
        claim: what fails: of the last state, or of the last step.
        first: leaves of the state it starts in.
        taken: the actions.

    Raises:
        EngineDisagreement: when ints do not agree.
    """
    initial = state = before = subject.program.layout.state(first)
    steps: list[TraceStep] = []
    for one in taken:
        before = state
        steps.append(step_on_ints(subject, before, one))
        state = steps[-1].state
    judged: Any = state
    if claim.kind == "step":
        if not steps:
            raise EngineDisagreement(f"{claim.id}: a claim about steps fails without a step")
        judged = Step(before, state, steps[-1].action, steps[-1].arguments, steps[-1].event)
    failing = tuple(name for name, part in claim.parts(judged).items() if not part)
    if not failing:
        raise EngineDisagreement(f"{claim.id}: Z3 and ints differ on {judged}")
    return Trace(initial, tuple(steps), claim.id, claim.kind, failing)
