"""Steps as numbers: the number of the action, and for each of its arguments the number of the value.

They stand in the addresses of the page. They mean the same wherever the same system runs at the same bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kraftcheck.ci.explore.serve.questions import QuestionRefused
from kraftcheck.ci.systems.subject import Subject
from kraftcheck.solvers.program.program import Kind, Program
from kraftcheck.solvers.program.verdict import Trace


def system_key(chosen: Subject) -> str:
    """The words that an address names its system by: system, scope, the bounds that differ from it, rules."""
    preset = chosen.system.scopes.get(chosen.setting.scope, {})
    bounds = [f"{name}={value}" for name, value in chosen.setting.bounds.items() if preset.get(name) != value]
    return ",".join([chosen.name, chosen.setting.scope, *bounds, *filter(None, [chosen.rules])])


def instance_of(program: Program, step: Sequence[int]) -> int:
    """The action instance of a step.

    Raises:
        QuestionRefused: where the system has no such action, or the action no such argument.
    """
    action, *values = step
    if action >= len(program.kinds):
        raise QuestionRefused(f"there is no action {action}; the system has actions 0..{len(program.kinds) - 1}", 422)
    kind = program.kinds[action]
    sizes = _sizes(kind)
    if len(values) != len(sizes):
        raise QuestionRefused(f"{kind.action.name} takes {len(sizes)} arguments, not {len(values)}", 422)
    row = 0
    for (name, size), value in zip(sizes.items(), values, strict=True):
        if value >= size:
            raise QuestionRefused(f"{kind.action.name} has no value {value} of {name}; there are {size}", 422)
        row = row * size + value
    return kind.first + row


def step_of(program: Program, instance: int) -> list[int]:
    """The step of an action instance."""
    number, kind = next(
        (number, kind) for number, kind in enumerate(program.kinds)
        if kind.first <= instance < kind.first + len(kind.instances)
    )  # fmt: skip
    rest, values = instance - kind.first, list[int]()
    for size in reversed(_sizes(kind).values()):
        rest, value = divmod(rest, size)
        values.insert(0, value)
    return [number, *values]


def path_of_trace(program: Program, trace: Trace) -> dict[str, Any]:
    """The number of the initial state of a trace, and its steps, as addresses have them."""
    kinds = {kind.action.name: kind for kind in program.kinds}
    steps = []
    for step in trace.steps:
        kind = kinds[step.action]
        steps.append(step_of(program, kind.first + kind.instances.index(step.arguments)))
    return {"start": program.initial.index(program.layout.pack(trace.initial)), "steps": steps}


def _sizes(kind: Kind) -> dict[str, int]:
    return {name: len(values) for name, values in kind.action.parameters.items()}
