"""Pruned transitions: explorers leave out a step that takes a field out of its domain, and report it.

A domain may declare a cap, the reason why its upper bound is meant
(`kraftcheck.model.language.layout.Range`). Steps beyond a cap are left out, and the verdict says
so. Any other step out of a domain is a fault of the system or of its layout:
the states behind it were not explored, so no property holds. TLC stops there,
at the invariant TypeOK.

A system may also say which states explorers go on from (`within`), as TLC's CONSTRAINT does: a state outside is judged
by every property, and not followed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen

from kraftcheck.model.language.layout import cap_of
from kraftcheck.model.language.system import Action, System, conjuncts
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import all_of, any_of, negate
from kraftcheck.solvers.machine_code.frame import FramePlan


@frozen
class Pruning:
    """The transitions that were left out because of one bound of a field.

    Attributes:
        field: its path.
        lo, hi: its domain.
        above: whether they cross the upper bound.
        actions: how many transitions of each action, by name.
        cap: why this bound is meant; empty where it is not.
    """

    field: str
    lo: int
    hi: int
    above: bool
    actions: Mapping[str, int]
    cap: str

    @property
    def count(self) -> int:
        """How many transitions."""
        return sum(self.actions.values())

    def text(self) -> str:
        """The count of pruned transitions, with the reason of the cap, or else the mend."""
        count = f"{self.count:,} transition{'s' if self.count > 1 else ''}"
        if self.cap:
            return f"bound on {self.field} pruned {count}: {self.cap}"
        mend = "widen it, or declare its cap" if self.above else "widen it, or mend the rules"
        where = f"{self.lo}..{self.hi}, {'above' if self.above else 'below'}"
        return f"{self.field} left its domain {where}, in {count} by {', '.join(self.actions)}: {mend}"


def prunings(plan: FramePlan, counters: npt.NDArray[np.int64]) -> tuple[Pruning, ...]:
    """The prunings that a frame has counted, by slot and side; sides that no transition crossed are absent."""
    layout, kinds = plan.program.layout, plan.program.kinds
    by_side: dict[tuple[int, bool], dict[str, int]] = {}
    for number, crossing in enumerate(plan.crossings):
        count = int(counters[plan.pruned + number])
        if count:
            actions = by_side.setdefault((crossing.slot, crossing.above), {})
            name = kinds[crossing.kind].action.name
            actions[name] = actions.get(name, 0) + count
    slots = [(layout.slots[slot], above, actions) for (slot, above), actions in sorted(by_side.items())]
    return tuple(
        Pruning(layout.name(slot.path), slot.domain.lo, slot.domain.hi, above, actions,
                cap_of(slot.domain) if above else "")
        for slot, above, actions in slots
    )  # fmt: skip


def by_field(pruned: Iterable[Pruning]) -> dict[str, int]:
    """How many transitions were left out because of each field."""
    counts: dict[str, int] = {}
    for pruning in pruned:
        counts[pruning.field] = counts.get(pruning.field, 0) + pruning.count
    return counts


def pruning_fault(pruned: Sequence[Pruning], strict: bool) -> str | None:
    """Why unrefuted properties are not proven to hold; None where caps declare every pruning.

    Args:
        pruned: what was left out.
        strict: whether declared caps count as well.
    """
    undeclared = [pruning.text() for pruning in pruned if not pruning.cap]
    return "; ".join(undeclared or [f"strict: {pruning.text()}" for pruning in pruned if strict]) or None


WITHIN = "within"
"""The name of the condition that stands in every guard of a system with a constraint."""


def is_within(system: System, state: Any) -> Truth:
    """Whether explorers go on from a state."""
    return True if system.within is None else all_of(*conjuncts(system.within(state), WITHIN).values())


def constrained(system: System) -> System:
    """The system as explorers run it: outside its constraint nothing is enabled, and every state may rest."""
    if system.within is None:
        return system
    quiescent = system.quiescent

    def held(action: Action) -> Action:
        def guard(state: Any, **arguments: Any) -> dict[str, Truth]:
            return {**action.guards(state, arguments), WITHIN: is_within(system, state)}

        return evolve(action, guard=guard)

    def may_rest(state: Any) -> Truth:
        return any_of(negate(is_within(system, state)), False if quiescent is None else quiescent(state))

    return evolve(
        system, actions=lambda setting: [held(action) for action in system.actions(setting)], quiescent=may_rest
    )


def outside_text(outside: int) -> str:
    """That states were not followed, of so many outside the constraint."""
    states = "1 state is" if outside == 1 else f"{outside:,} states are"
    return f"{states} outside within=: judged, and not followed"
