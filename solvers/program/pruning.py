"""Transitions that explorers leave out because a field would leave its domain: which, and whether that is meant.

A domain may declare a cap, the reason why its upper bound is meant
(`kraftcheck.model.language.layout.Range`). Steps beyond a cap are left out, and the verdict says
so. Any other step out of a domain is a fault of the system or of its layout:
what lies behind it was not looked at, so nothing holds of it. TLC stops there,
at the invariant TypeOK, and leaves a state beyond its CONSTRAINT unexpanded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from attrs import frozen

from kraftcheck.model.language.layout import cap_of
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

    def told(self) -> str:
        """What was left out, and why or what mends it."""
        many = f"{self.count:,} transition{'s' if self.count > 1 else ''}"
        if self.cap:
            return f"bound on {self.field} pruned {many}: {self.cap}"
        way = "widen it, or declare its cap" if self.above else "widen it, or mend the rules"
        where = f"{self.lo}..{self.hi}, {'above' if self.above else 'below'}"
        return f"{self.field} left its domain {where}, in {many} by {', '.join(self.actions)}: {way}"


def prunings(plan: FramePlan, counters: npt.NDArray[np.int64]) -> tuple[Pruning, ...]:
    """What a frame says was left out, by slot and side; sides that nothing crossed are absent."""
    layout, kinds = plan.program.layout, plan.program.kinds
    found: dict[tuple[int, bool], dict[str, int]] = {}
    for number, one in enumerate(plan.crossings):
        count = int(counters[plan.pruned + number])
        if count:
            actions = found.setdefault((one.slot, one.above), {})
            name = kinds[one.kind].action.name
            actions[name] = actions.get(name, 0) + count
    slots = [(layout.slots[slot], above, actions) for (slot, above), actions in sorted(found.items())]
    return tuple(
        Pruning(layout.name(slot.path), slot.domain.lo, slot.domain.hi, above, actions,
                cap_of(slot.domain) if above else "")
        for slot, above, actions in slots
    )  # fmt: skip


def by_field(found: Iterable[Pruning]) -> dict[str, int]:
    """How many transitions were left out because of each field."""
    counts: dict[str, int] = {}
    for one in found:
        counts[one.field] = counts.get(one.field, 0) + one.count
    return counts


def fault(found: Sequence[Pruning], strict: bool) -> str | None:
    """Why nothing holds that was not refuted; None where all that was left out is meant.

    Args:
        found: what was left out.
        strict: whether declared caps count as well.
    """
    undeclared = [one.told() for one in found if not one.cap]
    return "; ".join(undeclared or [f"strict: {one.told()}" for one in found if strict]) or None
