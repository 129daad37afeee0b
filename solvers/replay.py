"""Witnesses of engines, replayed on Python ints before they are reported.

The rules on ints are the definition; a native result that they do not confirm
is a fault of the engine, never a verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from model.layout import DomainError
from model.system import Property, Step
from model.words import all_of
from solvers.program import Program
from solvers.verdict import DEADLOCK, Trace, TraceStep


class EngineDisagreement(RuntimeError):
    """An engine's witness is not what the rules on ints say."""


def successor(program: Program, before: Any, instance: int) -> TraceStep | None:
    """The step of an action instance on ints; None when its guard is false.

    Raises:
        DomainError: when the result leaves the domain of a field.
    """
    action, arguments = program.instance(instance)
    if not action.enabled(before, arguments):
        return None
    outcome = action.outcome(before, arguments)
    program.layout.values(outcome.state)
    return TraceStep(action.name, arguments, outcome.state, outcome.event)


def run(program: Program, initial: Sequence[int], instances: Sequence[int]) -> tuple[Any, tuple[TraceStep, ...]]:
    """The run of action instances from a packed initial state.

    Raises:
        EngineDisagreement: when it is not a run of the system.
    """
    if tuple(initial) not in program.initial:
        raise EngineDisagreement(f"{program.layout.unpack(initial)} is not an initial state")
    first = state = program.layout.unpack(initial)
    steps = []
    for instance in instances:
        action, arguments = program.instance(instance)
        try:
            step = successor(program, state, instance)
        except DomainError as error:
            raise EngineDisagreement(f"{action.name}({arguments}) leaves its domain on ints: {error}") from error
        if step is None:
            raise EngineDisagreement(f"{action.name}({arguments}) is not enabled on ints in {state}")
        steps.append(step)
        state = step.state
    return first, tuple(steps)


def confirm(
    program: Program,
    claim: Property | None,
    initial: Sequence[int],
    instances: Sequence[int],
    end: Sequence[int] | None,
) -> Trace:
    """The witness as a trace.

    Args:
        program: what was explored.
        claim: the property it breaks (or, for goals, reaches); None: deadlock.
        initial: packed initial state.
        instances: the action instances.
        end: the packed state that the engine says they lead to, if it knows.

    Raises:
        EngineDisagreement: when ints do not agree with any of this.
    """
    first, steps = run(program, initial, instances)
    state = steps[-1].state if steps else first
    if end is not None and program.layout.pack(state) != tuple(end):
        raise EngineDisagreement(f"the engine reached {program.layout.unpack(end)} and ints {state}")
    if claim is None:
        _confirm_stuck(program, state)
        return Trace(first, steps, DEADLOCK, DEADLOCK)
    subject = state
    if claim.kind in ("step", "happens"):
        if not steps:
            raise EngineDisagreement(f"{claim.id}: a claim about steps is decided without a step")
        last = steps[-1]
        before = steps[-2].state if len(steps) > 1 else first
        subject = Step(before, state, last.action, last.arguments, last.event)
    failing = tuple(name for name, part in claim.parts(subject).items() if not part)
    if bool(failing) == (claim.kind in ("sometimes", "happens")):
        raise EngineDisagreement(f"{claim.id}: the engine and ints differ on {subject}; failing on ints: {failing}")
    return Trace(first, steps, claim.id, claim.kind, failing)


def _confirm_stuck(program: Program, state: Any) -> None:
    quiescent = program.system.quiescent
    if quiescent is not None and all_of(quiescent(state)):
        raise EngineDisagreement(f"deadlock: {state} is quiescent on ints")
    for number in range(program.instances):
        action, arguments = program.instance(number)
        if action.enabled(state, arguments):
            raise EngineDisagreement(f"deadlock: {action.name}({arguments}) is enabled on ints in {state}")
