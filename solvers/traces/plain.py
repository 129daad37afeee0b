"""Traces as plain values for JSON documents: numbers, truths, lists and records, without ITF's marks."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from kraftcheck.model.language.symbolic import record_fields
from kraftcheck.solvers.program.verdict import Refuted, Trace, TraceStep, Verdict
from kraftcheck.solvers.traces import itf


def trace_document(verdict: Verdict | Trace) -> dict[str, Any] | None:
    """A counterexample as plain values; None for a verdict without one.

    A set is an ascending list. A record of one field is the value of that field, as in ITF.
    """
    trace = verdict.trace if isinstance(verdict, Refuted) else verdict
    if not isinstance(trace, Trace):
        return None
    return {
        "kind": trace.kind,
        "failing": list(trace.failing),
        "initial": _record(trace.initial),
        "steps": [_step(step) for step in trace.steps],
        "loop": loop_document(trace),
    }


def loop_document(trace: Trace) -> dict[str, Any] | None:
    """The cycle of a lasso, and how it satisfies each fairness constraint; None for other traces."""
    if trace.loop is None:
        return None
    fair = [{"name": o.name, "taken": list(o.taken), "disabled": list(o.disabled)} for o in trace.loop.fairness]
    return {"start": trace.loop.start, "fairness": fair}


def _step(step: TraceStep) -> dict[str, Any]:
    return {
        "action": step.action,
        "arguments": {name: _value(value) for name, value in step.arguments.items()},
        "state": _record(step.state),
        "event": None if step.event is None else _record(step.event),
    }


def _record(value: Any) -> Mapping[str, Any]:
    """A state or an event: its fields by name, also where there is one alone."""
    names = record_fields(type(value))
    return {"state": _value(value)} if names is None else {name: _value(getattr(value, name)) for name in names}


def _value(value: Any) -> Any:
    return _json(itf.plain(value))


def _json(value: Any) -> Any:
    if isinstance(value, frozenset):
        return sorted((_json(item) for item in value), key=repr if any(map(_is_part, value)) else None)
    if isinstance(value, list):
        return [_json(item) for item in value]
    if isinstance(value, SimpleNamespace):
        return {name: _json(item) for name, item in vars(value).items()}
    return value if isinstance(value, bool | str) or value is None else int(value)


def _is_part(value: Any) -> bool:
    return isinstance(value, frozenset | list | SimpleNamespace)
