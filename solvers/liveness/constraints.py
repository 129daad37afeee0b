"""Fairness constraints as sweeps see them: a bit for each, for states where its steps are enabled and for its steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, frozen

GROUP = 32  # constraints whose bits are swept together
Bits = npt.NDArray[Any]  # one unsigned number for each state or class of edges


@frozen
class Constraint:
    """A fairness constraint as the sweeps see it."""

    strong: bool
    instances: Sequence[int]  # numbers of the action instances it is about
    cuts: int  # cut bits (`graph_kernels`) of the kinds of these
    # it stands for a set of states that are visited again and again: those where it is excused. It is weak, has no
    # steps, and is enabled everywhere else.
    visits: bool = False


TO_VISIT = Constraint(False, (), 0, visits=True)  # the demand that the states are visited where it is excused


@define
class Group:
    """Up to `GROUP` constraints, a bit each."""

    constraints: Sequence[Constraint]  # what the bits stand for
    steps: Bits  # for each class of edges the constraints that it is a step of
    # for each state the constraints whose steps it enables, those not counted that are excused there; of states whose
    # edges were not computed yet, those that are not excused
    enabled: Bits

    @property
    def every(self) -> int:
        """The bits of all of them."""
        return (1 << len(self.constraints)) - 1

    @property
    def strong(self) -> int:
        """The bits of the strong ones."""
        return sum(1 << bit for bit, one in enumerate(self.constraints) if one.strong)


def classes_of(constraints: Sequence[Constraint]) -> tuple[Bits, list[tuple[int, ...]]]:
    """For each action instance its class, and for each class the numbers of the constraints that it is a step of."""
    member: dict[int, tuple[int, ...]] = {}
    for number, one in enumerate(constraints):
        for instance in one.instances:
            member[instance] = (*member.get(instance, ()), number)
    classes = list(dict.fromkeys([(), *member.values()]))
    table = np.zeros(1 << 16, dtype=np.uint8 if len(classes) <= 256 else np.uint16)
    for instance, numbers in member.items():
        table[instance] = classes.index(numbers)
    return table, classes


def groups_of(constraints: Sequence[Constraint], classes: Sequence[tuple[int, ...]], states: int) -> tuple[Group, ...]:
    """The constraints in groups; nothing is excused yet."""
    groups = []
    for first in range(0, len(constraints), GROUP):
        part = constraints[first : first + GROUP]
        kind: Any = np.dtype(f"u{next(size for size in (1, 2, 4) if len(part) <= 8 * size)}").type
        bits = [sum(1 << n - first for n in numbers if first <= n < first + len(part)) for numbers in classes]
        every = np.full(states, (1 << len(part)) - 1, dtype=kind)
        groups.append(Group(part, np.array(bits, dtype=kind), every))
    return tuple(groups)
