"""Counterexamples to induction: replayed on ints, and looked up among the reachable states.

A countermodel is a state that the invariants allow and a step after which a
claim fails. It refutes the claim only if the state is reachable.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import frozen

from model.layout import DomainError, rebuild
from model.system import Property, Step
from model.terms import Term
from model.words import all_of
from solvers.explorer import Exploration
from solvers.program import Program
from solvers.queries import INITIATION, Answer, Assignment
from solvers.replay import EngineDisagreement, confirm
from solvers.theory import Theory
from solvers.verdict import Trace, TraceStep

REACHABLE, UNREACHABLE, NOT_DECIDED = "reachable", "unreachable", "not decided"


@frozen
class Counterexample:
    """A counterexample to induction.

    Attributes:
        step: from a state that the invariants allow; its initial state need not be reachable.
        reach: REACHABLE, UNREACHABLE or NOT_DECIDED.
        where: what the explorer looked at, in words.
        trace: a run from an initial state to the end of the step, if reachable.
    """

    step: Trace
    reach: str
    where: str
    trace: Trace | None = None


def arguments_of(subject: Theory, action: str, found: Assignment) -> dict[str, Any]:
    """The arguments of an action in a countermodel."""
    kind = next(kind for kind in subject.program.kinds if kind.action.name == action)
    typed = iter([bool(x) if v.is_truth else x for x, v in zip(found.arguments, kind.variables, strict=True)])
    return {name: _concrete(value, lambda: next(typed)) for name, value in kind.arguments.items()}


def _concrete(value: Any, take: Any) -> Any:
    """An argument with its terms replaced."""
    return take() if isinstance(value, Term) else rebuild(value, take)


def replayed(subject: Theory, answer: Answer, assumed: Sequence[str]) -> Trace:
    """A countermodel as a step on ints.

    Args:
        subject: the theory.
        answer: refuted, with its countermodel.
        assumed: the invariants that were assumed of the state before.

    Raises:
        EngineDisagreement: when ints do not agree that it is one.
    """
    found, asked, layout = answer.counterexample, answer.obligation, subject.program.layout
    if found is None:
        raise EngineDisagreement(f"{asked.claim}, {asked.action}: refuted without a countermodel")
    before, claim = layout.state(found.state), subject.claim(asked.claim)
    if asked.action == INITIATION:
        if found.state not in subject.program.initial:
            raise EngineDisagreement(f"{asked.claim}: {before} is not an initial state on ints")
        return Trace(before, (), claim.id, claim.kind, _failing(claim, before))
    for name in assumed:
        if not all_of(*subject.claim(name).parts(before).values()):
            raise EngineDisagreement(f"{asked.claim}, {asked.action}: {name} is false on ints in {before}")
    kind = next(kind for kind in subject.program.kinds if kind.action.name == asked.action)
    arguments = arguments_of(subject, asked.action, found)
    if not kind.action.enabled(before, arguments):
        raise EngineDisagreement(f"{asked.action}({arguments}) is not enabled on ints in {before}")
    outcome = kind.action.outcome(before, arguments)
    _check_domains(layout, asked.action, outcome.state)
    judged = Step(before, outcome.state, asked.action, arguments, outcome.event)
    failing = _failing(claim, outcome.state if claim.kind == "always" else judged)
    step = TraceStep(asked.action, arguments, outcome.state, outcome.event)
    return Trace(before, (step,), claim.id, claim.kind, failing)


def _check_domains(layout: Any, action: str, after: Any) -> None:
    try:
        layout.values(after)
    except DomainError as error:
        raise EngineDisagreement(f"{action}: the step leaves the layout on ints: {error}") from error


def _failing(claim: Property, subject: Any) -> tuple[str, ...]:
    failing = tuple(name for name, part in claim.parts(subject).items() if not part)
    if not failing:
        raise EngineDisagreement(f"{claim.id}: Z3 and ints differ on {subject}")
    return failing


def locate(step: Trace, claim: Property, explored: Exploration | None, why_not: str = "") -> Counterexample:
    """A counterexample with its tag.

    Args:
        step: the replayed step.
        claim: what it breaks.
        explored: the search of a scope, its states kept; None where there is none.
        why_not: why there is none.
    """
    if explored is None or explored.store is None:
        return Counterexample(step, NOT_DECIDED, why_not)
    program = explored.program
    where = f"{explored.distinct:,} states of scope {program.setting.scope}"
    try:
        packed = program.layout.pack(step.initial)
    except DomainError as error:
        return Counterexample(step, NOT_DECIDED, f"the scope has no such state: {error}")
    identity = explored.store.identify(packed)
    if identity is None:
        if explored.cut is not None:
            return Counterexample(step, NOT_DECIDED, f"not among {where}; {explored.cut}")
        return Counterexample(step, UNREACHABLE, f"not among all {where}")
    first, instances = explored.store.path(identity)
    instances += [_instance(program, taken) for taken in step.steps]
    trace = confirm(program, claim, explored.store.state(first), instances, None)
    return Counterexample(step, REACHABLE, f"among {where}", trace)


def _instance(program: Program, taken: TraceStep) -> int:
    """The number of the instance that a step takes."""
    for kind in program.kinds:
        if kind.action.name == taken.action:
            for position, arguments in enumerate(kind.instances):
                if dict(arguments) == dict(taken.arguments):
                    return kind.first + position
    raise EngineDisagreement(f"{taken.action}({taken.arguments}) is no action instance of the explored scope")


