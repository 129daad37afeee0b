"""The properties of a system at one step of a run: which of them hold, which fail, and by which conjuncts."""

from __future__ import annotations

from typing import Any, Literal

from attrs import frozen

from kraftcheck.model.language.system import Property, Step
from kraftcheck.model.language.words import all_of
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import TraceStep

Finding = Literal["holds", "fails", "shown", "not shown", "open", "no case", "whole runs"]
"""What one step says of a property.

`holds` and `fails` are said of invariants and of step properties; `shown` and `not shown` of goals. A `recovers`
property holds here, is `open` (some run from here has to satisfy it) or has `no case` (it is not about this state).
A step property or a goal about steps has `no case` in the initial state. A property of any other kind is judged on
`whole runs`.
"""


@frozen
class PropertyStatus:
    """One property at one step.

    Attributes:
        claim: the property.
        finding: what the step says of it.
        failing: the conjuncts that are false there, also of a goal that is not shown.
    """

    claim: Property
    finding: Finding
    failing: tuple[str, ...] = ()


def statuses(program: Program, before: Any, step: TraceStep | None, state: Any) -> tuple[PropertyStatus, ...]:
    """Every property of a program at one step.

    Args:
        program: the system.
        before: the state before the step.
        step: the step; None where the state is the initial one.
        state: the state.
    """
    transition = None if step is None else Step(before, state, step.action, step.arguments, step.event)
    return tuple(_status(claim, transition, state) for claim in program.claims)


def _status(claim: Property, transition: Step | None, state: Any) -> PropertyStatus:
    if claim.kind not in _HOLDING:
        return PropertyStatus(claim, "whole runs")
    about_steps = claim.kind in ("step", "happens")
    if (about_steps and transition is None) or not (about_steps or all_of(claim.concerns(state))):
        return PropertyStatus(claim, "no case")
    failing = claim.failing(transition if about_steps else state)
    return PropertyStatus(claim, (_FAILING if failing else _HOLDING)[claim.kind], failing)


_HOLDING: dict[str, Finding] = {
    "always": "holds", "step": "holds", "recovers": "holds", "sometimes": "shown", "happens": "shown"
}  # fmt: skip
_FAILING: dict[str, Finding] = {
    "always": "fails", "step": "fails", "recovers": "open", "sometimes": "not shown", "happens": "not shown"
}  # fmt: skip
