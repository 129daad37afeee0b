"""Confirmation of a lasso: on Python ints it is a fair behaviour that breaks the property.

Fairness is judged by the rules themselves, action by action, as TLA+ says: a step counts by the states before and
after it, and steps are enabled where one of them changes the state, also where it leaves a domain.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kraftcheck.model.language.fairness import LIVENESS, FairSteps, constraints
from kraftcheck.model.language.layout import DomainError
from kraftcheck.model.language.system import Action, Property
from kraftcheck.model.language.words import all_of
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import FairnessShown, Loop, Trace, TraceStep
from kraftcheck.solvers.reference.confirm import EngineDisagreement, run


class NoCounterexample(EngineDisagreement):
    """A lasso that is none, that is not fair, or that does not break its property."""


def confirm_lasso(
    program: Program, claim: Property, initial: Sequence[int], instances: Sequence[int], start: int
) -> Trace:
    """The lasso as a trace.

    Args:
        program: what was explored.
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
        program: of the system.
        claim: the liveness property that it breaks.
        first, steps: the run.
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
