"""Confirmation: a witness of an engine is replayed on Python ints before it is reported.

The rules on ints are the definition; a native result that they do not confirm
is a fault of the engine, never a verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kraftcheck.model.language.layout import DomainError
from kraftcheck.model.language.system import Property, Step
from kraftcheck.model.language.words import all_of
from kraftcheck.solvers.program.answers import start_parts
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.recovers import recovery_actions
from kraftcheck.solvers.program.verdict import DEADLOCK, Closure, Trace, TraceStep

CLOSURE_LIMIT = 1000
"""States after a counterexample to `recovers` that ints look at; a state takes milliseconds."""


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
    values = program.layout.values(outcome.state)
    state = program.layout.state(values) if program.layout.has_names else outcome.state
    return TraceStep(action.name, arguments, state, outcome.event)


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
        _confirm_deadlock(program, state)
        return Trace(first, steps, DEADLOCK, DEADLOCK)
    if claim.kind == "recovers":
        return _unrecovered_trace(program, claim, first, steps)
    subject = state
    if claim.kind == "step" and not steps and claim.initially is not None:
        failing = tuple(name for name, part in start_parts(claim, first).items() if not part)
        if not failing:
            raise EngineDisagreement(f"{claim.id}: on ints it does not fail in the initial state {first}")
        return Trace(first, steps, claim.id, claim.kind, failing)
    if claim.kind in ("step", "happens"):
        if not steps:
            raise EngineDisagreement(f"{claim.id}: a claim about steps is decided without a step")
        last = steps[-1]
        before = steps[-2].state if len(steps) > 1 else first
        subject = Step(before, state, last.action, last.arguments, last.event)
    failing = claim.failing(subject)
    if bool(failing) == (claim.kind in ("sometimes", "happens")):
        raise EngineDisagreement(f"{claim.id}: the engine and ints differ on {subject}; failing on ints: {failing}")
    return Trace(first, steps, claim.id, claim.kind, failing)


def _unrecovered_trace(program: Program, claim: Property, first: Any, steps: tuple[TraceStep, ...]) -> Trace:
    """The trace to a state that the claim is about, fails in, and never recovers from."""
    state = steps[-1].state if steps else first
    failing = claim.failing(state)
    if not failing or not all_of(claim.concerns(state)):
        raise EngineDisagreement(f"{claim.id}: on ints there is nothing to recover from in {state}")
    return Trace(first, steps, claim.id, claim.kind, failing, closure(program, claim, state))


def closure(program: Program, claim: Property, start: Any) -> Closure:
    """Check, on ints, the states that the way out of a `recovers` property leads to, nearest first.

    Args:
        program: what was explored.
        claim: the property.
        start: a state that never recovers.

    Raises:
        EngineDisagreement: when one of them satisfies the claim, or a way leads out of a field's domain.
    """
    instances = [n for n in range(program.instances) if claim.allows(*_call(program, n))]
    visited, queue = {program.layout.pack(start)}, [start]
    for state in queue:
        if claim.holds(state):
            raise EngineDisagreement(f"{claim.id}: on ints it recovers, in {state}")
        for number in instances:
            try:
                step = successor(program, state, number)
            except DomainError as error:
                raise EngineDisagreement(f"{claim.id}: a way out leaves its domain on ints: {error}") from error
            packed = None if step is None else program.layout.pack(step.state)
            if step is None or packed is None or packed in visited:
                continue
            if len(visited) == CLOSURE_LIMIT:
                return Closure(len(visited), complete=False, actions=recovery_actions(claim))
            visited.add(packed)
            queue.append(step.state)
    return Closure(len(visited), complete=True, actions=recovery_actions(claim))


def _call(program: Program, number: int) -> tuple[str, Mapping[str, Any]]:
    action, arguments = program.instance(number)
    return action.name, arguments


def _confirm_deadlock(program: Program, state: Any) -> None:
    quiescent = program.system.quiescent
    if quiescent is not None and all_of(quiescent(state)):
        raise EngineDisagreement(f"deadlock: {state} is quiescent on ints")
    for number in range(program.instances):
        action, arguments = program.instance(number)
        if action.enabled(state, arguments):
            raise EngineDisagreement(f"deadlock: {action.name}({arguments}) is enabled on ints in {state}")
