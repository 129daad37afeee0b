"""The properties that fail at each step of a trace, as text for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kraftcheck.model.language.system import Property, Step
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import Trace

StepMarks = dict[int, tuple[str, ...]]
"""What to say below a step of a trace, by its number; the initial state is 0."""


def subjects(trace: Trace, kind: str) -> Iterator[tuple[int, Any]]:
    """The subjects of a claim of this kind along a trace, by step: each state, or each transition."""
    steps = kind in ("step", "happens")
    if not steps:
        yield 0, trace.initial
    before = trace.initial
    for number, step in enumerate(trace.steps, start=1):
        transition = Step(before, step.state, step.action, step.arguments, step.event)
        yield number, transition if steps else step.state
        before = step.state


def false_parts(claim: Property, trace: Trace) -> StepMarks:
    """The conjuncts of a claim that fail, by step; steps at which it holds are left out."""
    failing = ((number, claim.failing(subject)) for number, subject in subjects(trace, claim.kind))
    return {number: names for number, names in failing if names}


def already_false(claim: Property | None, trace: Trace) -> StepMarks:
    """The conjuncts of the refuted property that fail before the last step, which `lines` tells of by itself.

    A shortest trace has none.
    """
    if claim is None or claim.kind not in ("always", "step"):
        return {}
    last = len(trace.steps)
    return {n: ("already false: " + ", ".join(names),) for n, names in false_parts(claim, trace).items() if n < last}


def every_property(program: Program, trace: Trace) -> StepMarks:
    """All properties that fail, with their conjuncts, at every step; or that none does."""
    texts: dict[int, list[str]] = {number: [] for number in range(len(trace.steps) + 1)}
    for claim in (*program.always, *program.steps):
        for number, names in false_parts(claim, trace).items():
            parts = [name for name in names if name != claim.id]
            texts[number].append(f"false: {claim.id}" + (f" ({', '.join(parts)})" if parts else ""))
    return {number: tuple(lines or ["every property holds"]) for number, lines in texts.items()}
