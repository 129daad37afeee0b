"""The neighbourhood of a state: the nearest states that can follow it, breadth first, by compiled code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen

from kraftcheck.solvers.audit.single_state import EngineReport, StateEngine
from kraftcheck.solvers.machine_code.frame import FramePlan
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import DEADLOCK

Packed = tuple[int, ...]


@frozen
class Node:
    """A state of a neighbourhood.

    Attributes:
        packed: the state.
        distance: steps from the first state.
        origin: number of the node and action instance by which it was first reached; None: it is the first state.
        broken: ids of what fails in it: invariants, and `deadlock`.
        breaking: ids of the step properties that some step from it breaks.
        open: whether a step leads from it to a state that is not in the neighbourhood.
    """

    packed: Packed
    distance: int
    origin: tuple[int, int] | None
    broken: tuple[str, ...]
    breaking: tuple[str, ...]
    open: bool


@frozen
class Edge:
    """A step between two nodes, by their numbers; more than one instance may lead from one to the other."""

    source: int
    target: int
    instance: int


@frozen
class Neighbourhood:
    """The nearest states that can follow a state.

    Attributes:
        program: of the states.
        nodes: the first state, then by distance.
        edges: every step between two of them.
    """

    program: Program
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    @property
    def complete(self) -> bool:
        """Whether it holds every state that can follow the first."""
        return not any(node.open for node in self.nodes)

    def way(self, number: int) -> tuple[int, ...]:
        """The action instances of a shortest way from the first state to a node."""
        instances = []
        while (origin := self.nodes[number].origin) is not None:
            number = origin[0]
            instances.append(origin[1])
        return tuple(reversed(instances))


def neighbourhood(program: Program, engine: StateEngine, first: Sequence[int], limit: int) -> Neighbourhood:
    """The nearest states that can follow a state.

    Args:
        program: of the state.
        engine: compiled code of the program.
        first: the packed state.
        limit: most nodes.
    """
    start = tuple(first)
    plan, numbers = FramePlan(program), {start: 0}
    origins: list[tuple[int, int] | None] = [None]
    waiting, distances, reports = [start], [0], list[EngineReport]()
    for number, packed in enumerate(waiting):
        reports.append(engine(packed))
        for instance, after in reports[-1].after:
            if after not in numbers and len(waiting) < limit:
                numbers[after] = len(waiting)
                waiting.append(after)
                origins.append((number, instance))
                distances.append(distances[number] + 1)
    nodes = tuple(
        Node(packed, distances[number], origins[number], *_broken(plan, reports[number]),
             open=any(after not in numbers for _, after in reports[number].after))
        for number, packed in enumerate(waiting)
    )  # fmt: skip
    edges = tuple(
        Edge(number, numbers[after], instance)
        for number, report in enumerate(reports)
        for instance, after in report.after
        if after in numbers
    )
    return Neighbourhood(program, nodes, edges)


def _broken(plan: FramePlan, report: EngineReport) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What fails in a state, and which step properties a step from it breaks."""
    state, steps = dict(_state_claims(plan)), dict(_step_claims(plan))
    occurring = sorted(report.occurrences)
    return tuple(state[n] for n in occurring if n in state), tuple(steps[n] for n in occurring if n in steps)


def _state_claims(plan: FramePlan) -> Iterator[tuple[int, str]]:
    yield from enumerate(claim.id for claim in plan.program.always)
    yield plan.deadlock, DEADLOCK


def _step_claims(plan: FramePlan) -> Iterator[tuple[int, str]]:
    return enumerate((claim.id for claim in plan.program.steps), plan.first_step)
