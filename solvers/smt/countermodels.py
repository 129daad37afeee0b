"""Countermodels of a prover, replayed as runs on ints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import frozen

from kraftcheck.model.language.layout import DomainError, rebuild
from kraftcheck.model.language.system import Property, Step
from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.program.answers import start_parts
from kraftcheck.solvers.program.program import Kind
from kraftcheck.solvers.program.verdict import Trace, TraceStep
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.smt.theory import Theory


@frozen
class ModelAction:
    """An action that a model takes.

    Attributes:
        action: its name.
        leaves: the leaves of its arguments.
    """

    action: str
    leaves: tuple[int, ...] = ()


def kind_of_action(subject: Theory, action: str) -> Kind:
    """The traced action of a name."""
    return next(kind for kind in subject.program.kinds if kind.action.name == action)


def arguments_of(subject: Theory, chosen: ModelAction) -> dict[str, Any]:
    """The arguments of an action that a model takes."""
    kind = kind_of_action(subject, chosen.action)
    values = iter([bool(x) if v.is_truth else x for x, v in zip(chosen.leaves, kind.variables, strict=True)])
    return {name: _concrete(value, lambda: next(values)) for name, value in kind.arguments.items()}


def _concrete(value: Any, take: Any) -> Any:
    """An argument with its terms replaced."""
    return take() if isinstance(value, Term) else rebuild(value, take)


def step_on_ints(subject: Theory, before: Any, chosen: ModelAction) -> TraceStep:
    """The step of an action on ints.

    Raises:
        EngineDisagreement: when it is not enabled there, or leaves the layout.
    """
    kind, arguments = kind_of_action(subject, chosen.action), arguments_of(subject, chosen)
    if not kind.action.enabled(before, arguments):
        raise EngineDisagreement(f"{chosen.action}({arguments}) is not enabled on ints in {before}")
    outcome = kind.action.outcome(before, arguments)
    try:
        subject.program.layout.values(outcome.state)
    except DomainError as error:
        raise EngineDisagreement(f"{chosen.action}: the step leaves the layout on ints: {error}") from error
    return TraceStep(chosen.action, arguments, outcome.state, outcome.event)


def run_on_ints(
    subject: Theory, first: Sequence[int], actions: Sequence[ModelAction]
) -> tuple[Any, tuple[TraceStep, ...]]:
    """The state of some leaves, and the steps of actions from there.

    Raises:
        EngineDisagreement: when a step is not enabled on ints, or leaves the layout.
    """
    initial = state = subject.program.layout.state(first)
    steps: list[TraceStep] = []
    for chosen in actions:
        steps.append(step_on_ints(subject, state, chosen))
        state = steps[-1].state
    return initial, tuple(steps)


def trace_on_ints(subject: Theory, claim: Property, first: Sequence[int], actions: Sequence[ModelAction]) -> Trace:
    """The run from a state that breaks a claim at its end.

    Args:
        subject: the theory.
        claim: what fails: of the last state, or of the last step.
        first: leaves of the state it starts in.
        actions: the actions.

    Raises:
        EngineDisagreement: when ints do not agree.
    """
    initial, steps = run_on_ints(subject, first, actions)
    before, state = [initial, initial, *(step.state for step in steps)][-2:]
    subject_judged: Any = state
    if claim.kind == "step" and not steps and claim.initially is None:
        raise EngineDisagreement(f"{claim.id}: a claim about steps fails without a step")
    if claim.kind == "step" and steps:
        subject_judged = Step(before, state, steps[-1].action, steps[-1].arguments, steps[-1].event)
    begins = claim.kind == "step" and not steps
    parts = start_parts(claim, initial) if begins else claim.parts(subject_judged)
    failing = tuple(name for name, part in parts.items() if not part)
    if not failing:
        raise EngineDisagreement(f"{claim.id}: Z3 and ints differ on {subject_judged}")
    return Trace(initial, steps, claim.id, claim.kind, failing)
