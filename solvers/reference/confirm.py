"""Confirmation: a witness of an engine is replayed on Python ints before it is reported.

The rules on ints are the definition; a native result that they do not confirm
is a fault of the engine, never a verdict.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kraftcheck.model.language.layout import DomainError
from kraftcheck.model.language.system import LIVENESS, Action, FairSteps, Property, Step, constraints
from kraftcheck.model.language.words import all_of
from kraftcheck.solvers.program.program import Program, recovery_actions
from kraftcheck.solvers.program.verdict import DEADLOCK, Closure, FairnessShown, Loop, Trace, TraceStep, start_parts

CLOSURE_LIMIT = 1000  # states after a counterexample to `recovers` that ints look at; a state takes milliseconds


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
        claim: the property it breaks (or, for goals, reaches); None: deadlock.
        initial: packed initial state.
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
    return Trace(first, steps, claim.id, claim.kind, failing, closure=closure(program, claim, state))


def closure(program: Program, claim: Property, start: Any) -> Closure:
    """Check, on ints, the states that the way out of a `recovers` property leads to, nearest first.

    Args:
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


class NoCounterexample(EngineDisagreement):
    """A lasso that is none, that is not fair, or that does not break its property."""


def confirm_lasso(
    program: Program, claim: Property, initial: Sequence[int], instances: Sequence[int], start: int
) -> Trace:
    """The lasso as a trace.

    Args:
        claim: the liveness property that it breaks.
        initial: packed initial state.
        instances: the action instances of the run into the cycle, then those of the cycle.
        start: the number of the state where the cycle begins.

    Raises:
        EngineDisagreement: when it is no run of the system.
        NoCounterexample: as `lasso_trace` says.
    """
    return lasso_trace(program, claim, *run(program, initial, instances), start)


def lasso_trace(program: Program, claim: Property, first: Any, steps: Sequence[TraceStep], start: int) -> Trace:
    """A run of the system that ends in a cycle, as a trace.

    Args:
        claim: the liveness property that it breaks.
        start: the number of the state where the cycle begins.

    Raises:
        NoCounterexample: when it does not end where the cycle begins, breaks a constraint, or not the property.
    """
    assert claim.kind in LIVENESS, claim.kind
    states = [first, *(step.state for step in steps)]
    if not 0 <= start < len(states):
        raise NoCounterexample(f"{claim.id}: there is no state {start} where a cycle could begin")
    if states[-1] != states[start]:
        raise NoCounterexample(f"{claim.id}: the last state is not state {start}, where the cycle begins")
    reason = _kept(claim, states, start)
    if reason:
        raise NoCounterexample(f"{claim.id}: {reason}")
    parameters = {kind.action.name: kind.action.parameters for kind in program.kinds}
    declared = (*program.system.fairness(program.setting), *claim.fairness)
    shown = []
    for steps_ in constraints(declared, parameters):
        one = _shown(program, steps_, states, start)
        if not (one.taken or (one.always if steps_.fairness.strong else one.disabled)):
            again = "again and again " if steps_.fairness.strong else ""
            raise NoCounterexample(f"{claim.id}: the cycle is not fair: {one.name} is {again}enabled and never taken")
        shown.append(one)
    return Trace(first, tuple(steps), claim.id, claim.kind, loop=Loop(start, tuple(shown)))


def _kept(claim: Property, states: Sequence[Any], start: int) -> str:
    """Why a lasso does not break a property; empty where it does."""
    goal = [bool(claim.holds(state)) for state in states]
    if claim.kind == "eventually":
        return f"state {goal.index(True)} satisfies it" if any(goal) else ""
    if claim.kind == "always_eventually":
        return "the cycle satisfies it" if any(goal[start:]) else ""
    if claim.kind == "eventually_always":
        return "" if not all(goal[start:]) else "it holds in every state of the cycle"
    last = max((number for number, one in enumerate(goal) if one), default=-1)
    if last >= start:
        return "the cycle satisfies it"
    waits = any(bool(all_of(claim.concerns(state))) for state in states[last + 1 :])
    return "" if waits else "its premise holds in no state from which on its goal is false"


def _shown(program: Program, steps: FairSteps, states: Sequence[Any], start: int) -> FairnessShown:
    """How the cycle satisfies a constraint."""
    cycle = range(start, len(states) - 1) if start < len(states) - 1 else range(start, start + 1)
    successors = {number: _successors(program, steps, states[number]) for number in cycle}
    taken = tuple(
        number + 1 for number in cycle if number + 1 < len(states) and states[number + 1] in successors[number]
    )
    disabled = tuple(number for number in cycle if not successors[number])
    return FairnessShown(steps.name, taken, disabled, len(disabled) == len(cycle))


def _successors(program: Program, steps: FairSteps, state: Any) -> list[Any]:
    """The states that steps of a constraint lead to from a state, other than itself; None for one beyond a domain."""
    if all_of(steps.excused(state)):
        return []
    found: list[Any] = []
    for action, arguments in _instances(program, steps):
        if not action.enabled(state, arguments):
            continue
        after = action.outcome(state, arguments).state
        try:
            program.layout.values(after)
        except DomainError:
            found.append(None)
            continue
        if after != state:
            found.append(after)
    return found


def _instances(program: Program, steps: FairSteps) -> Iterator[tuple[Action, Mapping[str, Any]]]:
    """The action instances that a constraint is about."""
    for kind in program.kinds:
        action, names = kind.action, list(kind.action.parameters)
        for row in itertools.product(*action.parameters.values()):
            arguments = dict(zip(names, row, strict=True))
            if steps.covers(action.name, arguments):
                yield action, arguments
