"""Traces for people: numbered actions, only what changed, in Kafka's words; and shorter ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from model.brokersets import BrokerSet
from model.system import Property
from model.words import NO_LEADER
from solvers.program import Program
from solvers.replay import EngineDisagreement, confirm
from solvers.verdict import Trace

INDENT = "      "


def show(value: Any, name: str = "") -> str:
    """A value in a few characters; a leader of -1 reads `none`."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name.endswith("leader") and value == NO_LEADER:
        return "none"
    if isinstance(value, tuple):
        return "[" + ", ".join(show(item) for item in value) + "]"
    if attrs.has(type(value)) and "__str__" not in vars(type(value)):
        inner = ", ".join(f"{f.name}={show(getattr(value, f.name), f.name)}" for f in attrs.fields(type(value)))
        return f"({inner})"
    return str(value)


def fields(state: Any) -> dict[str, Any]:
    """The top-level fields of a state by name; a state that is no record is one field."""
    if attrs.has(type(state)) and not isinstance(state, BrokerSet):
        return {f.name: getattr(state, f.name) for f in attrs.fields(type(state))}
    return {"state": state}


def call(action: str, arguments: Mapping[str, Any]) -> str:
    """An action with its arguments, as `fence(broker=0)`."""
    return f"{action}({', '.join(f'{name}={show(value, name)}' for name, value in arguments.items())})"


def _whole(state: Any) -> list[str]:
    return [f"{INDENT}{name} = {show(value, name)}" for name, value in fields(state).items()]


def _changes(before: Any, after: Any) -> list[str]:
    old = fields(before)
    return [
        f"{INDENT}{name}: {show(old[name], name)} -> {show(value, name)}"
        for name, value in fields(after).items()
        if value != old[name]
    ]


def _event(event: Any) -> list[str]:
    """What the effect reported, where it says something: counts above zero, truths that hold."""
    if event is None:
        return []
    context = {f.name for f in attrs.fields(type(event)) if f.metadata.get("context")} if attrs.has(type(event)) else ()
    told = [
        f"{name.replace('_', ' ')}{'' if value is True else ' ' + show(value)}"
        for name, value in fields(event).items()
        if name not in context and (value is True or (type(value) is int and value > 0))
    ]
    return [f"{INDENT}({', '.join(told)})"] if told else []


def lines(trace: Trace, full: bool = False) -> list[str]:
    """The trace, a line for the initial state and for each step, with what changed below it.

    Args:
        trace: the witness.
        full: show whole states instead of changes.
    """
    told = ["  0  initial state", *_whole(trace.initial)]
    before = trace.initial
    for number, step in enumerate(trace.steps, start=1):
        told.append(f"{number:3d}  {call(step.action, step.arguments)}")
        changed = _whole(step.state) if full else _changes(before, step.state)
        told += changed or [f"{INDENT}(the state does not change)"]
        told += _event(step.event)
        before = step.state
    if trace.failing:
        told.append(f"     fails: {trace.claim}")
        told += [f"{INDENT}false: {name}" for name in trace.failing if name != trace.claim]
    return told


def minimise(program: Program, claim: Property | None, initial: Sequence[int], instances: Sequence[int]) -> Trace:
    """A trace that fails the same property and from which no single step can be dropped.

    Raises:
        EngineDisagreement: when the trace given does not fail the property.
    """
    best = confirm(program, claim, initial, instances, None)
    kept = list(instances)
    position = len(kept) - 1
    while position >= 0:
        shorter = kept[:position] + kept[position + 1 :]
        try:
            best = confirm(program, claim, initial, shorter, None)
        except EngineDisagreement:
            position -= 1
        else:
            kept, position = shorter, len(shorter) - 1
    return best
