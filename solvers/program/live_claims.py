"""Liveness properties as terms: fairness is checked and spread over action instances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kraftcheck.model.language.fairness import LIVENESS, Fairness, FairSteps, constraints
from kraftcheck.model.language.symbolic import described
from kraftcheck.model.language.system import Property, Setting, System
from kraftcheck.solvers.program.answers import Truths
from kraftcheck.solvers.program.arguments import SystemFault
from kraftcheck.solvers.program.liveness import FairConstraint, LivenessClaim, LivenessClaims
from kraftcheck.solvers.program.parts import ask
from kraftcheck.solvers.program.program import Kind


def live_claims(
    truths: Truths, system: System, setting: Setting, properties: Sequence[Property], state: Any, kinds: Sequence[Kind]
) -> LivenessClaims:
    """The liveness properties of a system, with the constraints that they are under.

    Raises:
        SystemFault: when fairness names what the system does not have, or a property has fairness and is none of these.
    """
    shared = ask("fairness", lambda: tuple(system.fairness(setting)))
    parameters = {kind.action.name: kind.action.parameters for kind in kinds}
    _check("the system", shared, parameters)
    for claim in properties:
        _check(f"property {claim.id}", claim.fairness, parameters)
        if claim.fairness and claim.kind not in LIVENESS:
            raise SystemFault(f"property {claim.id}: a property of kind {claim.kind} takes no fairness")
    live = [claim for claim in properties if claim.kind in LIVENESS]
    collected: list[FairConstraint] = []
    common = _collect(truths, shared, parameters, state, kinds, collected) if live else ()
    claims = tuple(
        LivenessClaim(
            claim, truths.truth_of(f"property {claim.id}, premise", lambda claim=claim: claim.concerns(state)),  # type: ignore[misc]
            truths.claim(claim, state),
            (*common, *_collect(truths, claim.fairness, parameters, state, kinds, collected)),
        )
        for claim in live
    )  # fmt: skip
    return LivenessClaims(claims, tuple(collected))


def _check(where: str, declared: Sequence[Fairness], parameters: Any) -> None:
    for one in declared:
        fault = one.fault(parameters) if isinstance(one, Fairness) else f"{described(one)} is no fairness"
        if fault is not None:
            raise SystemFault(f"{where}: {fault}")


def _collect(
    truths: Truths, declared: Sequence[Fairness], parameters: Any, state: Any, kinds: Sequence[Kind],
    collected: list[FairConstraint],
) -> tuple[int, ...]:  # fmt: skip
    """Append the constraints of what is declared; returns their numbers."""
    first = len(collected)
    for steps in constraints(declared, parameters):
        excused = truths.truth_of(f"fairness {steps.name}, unless", lambda steps=steps: steps.excused(state))  # type: ignore[misc]
        collected.append(FairConstraint(steps, tuple(_instances(steps, kinds)), excused))
    return tuple(range(first, len(collected)))


def _instances(steps: FairSteps, kinds: Sequence[Kind]) -> list[int]:
    return [
        kind.first + row
        for kind in kinds
        for row, arguments in enumerate(kind.instances)
        if steps.covers(kind.action.name, arguments)
    ]
