"""The same actions under another rule set: where they first go otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import evolve

from kraftcheck.model.language.layout import DomainError
from kraftcheck.solvers.drawings.drawing import Column, Drawing, OtherRules, columns, legend_of
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.starts import initial_states
from kraftcheck.solvers.program.verdict import Trace, TraceStep
from kraftcheck.solvers.traces.render import fields, refusal


def with_other_rules(drawing: Drawing, trace: Trace, other: Program, rules: str) -> Drawing:
    """The drawing with the same actions under another rule set beside it.

    Args:
        drawing: of the trace.
        trace: the trace.
        other: the same system and bounds, traced with the other rules.
        rules: their name.
    """
    initial = nearest_initial(trace.initial, other)
    steps, stopped = _run(trace, initial, other)
    return set_beside(drawing, columns(initial, steps, legend_of(other), drawing.lanes, {}), stopped, rules)


def set_beside(drawing: Drawing, drawn: tuple[Column, ...], stopped: str, rules: str) -> Drawing:
    """The drawing with the columns of the same actions under other rules beside it.

    Args:
        drawing: of the run.
        drawn: the columns under the other rules, up to the first step that cannot be taken.
        stopped: why it cannot; empty where every step can.
        rules: their name.
    """
    differing = [_differing(ours, theirs) for ours, theirs in zip(drawing.columns, drawn, strict=False)]
    divergence = next((number for number, names in enumerate(differing) if names - differing[0]), None)
    if divergence is None and stopped:
        divergence = len(drawn)
    start = {name: text for name, text in drawn[0].state.items() if name in differing[0]}
    return evolve(drawing, other=OtherRules(rules, drawn, divergence, stopped, start))


def _differing(ours: Column, theirs: Column) -> set[str]:
    """The fields that are not the same in two states."""
    return {name for name in {*ours.state, *theirs.state} if ours.state.get(name) != theirs.state.get(name)}


def nearest_initial(initial: Any, other: Program) -> Any:
    """The initial state under other rules that has the most in common with this one."""
    own = fields(initial)

    def distance(state: Any) -> int:
        return sum(own.get(name) != value for name, value in fields(state).items())

    return min(initial_states(other.system, other.setting), key=distance)


def _run(trace: Trace, initial: Any, other: Program) -> tuple[Sequence[TraceStep], str]:
    """The steps that can be taken, and why the next one cannot."""
    actions = {action.name: action for action in other.system.actions(other.setting)}
    state, steps = initial, list[TraceStep]()
    for step in trace.steps:
        action = actions.get(step.action)
        if action is None:
            return steps, f"there is no action {step.action}"
        reason = refusal(action, state, step.arguments)
        if reason:
            return steps, reason
        try:
            outcome = action.outcome(state, step.arguments)
            other.layout.values(outcome.state)  # a step beyond the scope cannot be taken there
        except DomainError as error:
            return steps, str(error)
        state = outcome.state
        steps.append(TraceStep(step.action, step.arguments, state, outcome.event))
    return steps, ""
