"""Witnesses: from the place of an occasion to a trace that ints confirm."""

from __future__ import annotations

from typing import Protocol

from model.system import Property
from solvers.frame import NO_ACTION
from solvers.program import Program
from solvers.replay import EngineDisagreement, confirm
from solvers.symmetry import canonical, concrete
from solvers.verdict import Trace


class Origins(Protocol):
    """Where states came from, by their ids."""

    def path(self, identity: int) -> tuple[int, list[int]]:
        """The initial state's id and the action instances that lead from it to this state."""

    def state(self, identity: int) -> tuple[int, ...]:
        """The packed state of an id."""


def witness(program: Program, store: Origins, claim: Property | None, mark: int) -> Trace:
    """The trace of a claim's occasion, confirmed on ints.

    Args:
        program: what was explored.
        store: where states came from.
        claim: what it is about; None: deadlock.
        mark: id of the state << 16 | action instance, or NO_ACTION for a claim about the state.

    Raises:
        EngineDisagreement: when ints do not agree.
    """
    identity, instance = mark >> 16, mark & NO_ACTION
    root, instances = store.path(identity)
    first, end = store.state(root), None
    if instance != NO_ACTION:
        instances.append(instance)
    else:
        end = store.state(identity)
    if program.reduction is None:
        return confirm(program, claim, first, instances, end)
    trace = confirm(program, claim, *concrete(program, claim, first, instances), None)
    if end is not None and canonical(program, program.layout.pack(trace.states[-1])) != end:
        raise EngineDisagreement(f"the engine reached a state like {program.layout.unpack(end)}, ints another")
    return trace
