"""The audit of a reduction of orders: what is said to be independent is tried in both orders, on ints."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from kraftcheck.model.language.system import Step
from kraftcheck.solvers.search.orders.plan import Orders

Take = Callable[[Any, int], tuple[bool, Step | None]]
"""Whether a state enables an action instance on ints, and its step; None where there is none or it leaves a domain."""


@frozen
class Dependence:
    """Two action instances that are said to be independent, and are not.

    Attributes:
        one, other: which.
        what: how they disturb each other.
    """

    one: int
    other: int
    what: str


def find_dependence(orders: Orders, taken: Mapping[int, tuple[bool, Step | None]], take: Take) -> Dependence | None:
    """The first two instances that are said to be independent, of which one disturbs the other in a state.

    Args:
        orders: what is said.
        taken: what some instances do in the state.
        take: the rules on ints.
    """
    moving = {number: step for number, (_, step) in taken.items() if step is not None}
    for one, step in moving.items():
        for other, (enabled, its) in taken.items():
            if one == other or orders.dependent[one] >> other & 1:
                continue
            still, after = take(step.after, other)
            if still != enabled or (after is None) != (its is None):
                return Dependence(one, other, "the first decides whether the second can be taken")
    for one, other in itertools.combinations(moving, 2):
        if not orders.dependent[one] >> other & 1:
            (_, last), (_, also) = take(moving[one].after, other), take(moving[other].after, one)
            if last is None or also is None or last.after != also.after:
                return Dependence(one, other, "their two orders lead to different states")
    return None
