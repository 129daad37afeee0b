"""The neighbourhood of a state: the nearest states that can follow it, breadth first, by compiled code."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

from attrs import frozen

from kraftcheck.model.language.layout import Layout
from kraftcheck.model.nearest import nearest
from kraftcheck.solvers.audit.comparison import EngineReport, StateEngine
from kraftcheck.solvers.machine_code.transition import FramePlan
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import DEADLOCK
from kraftcheck.solvers.traces.render import fields, show

Packed = tuple[int, ...]


@frozen
class StateNode:
    """A state of a neighbourhood."""

    packed: Packed
    distance: int
    # number of the node and action instance by which it was first reached; None: it is the first state
    origin: tuple[int, int] | None
    broken: tuple[str, ...]  # ids of what fails in it: invariants, and `deadlock`
    breaking: tuple[str, ...]  # ids of the step properties that some step from it breaks
    open: bool  # whether a step leads from it to a state that is not in the neighbourhood


@frozen
class Edge:
    """A step between two nodes, by their numbers; more than one instance may lead from one to the other."""

    source: int
    target: int
    instance: int


@frozen
class Neighbourhood:
    """The nearest states that can follow a state."""

    program: Program
    nodes: tuple[StateNode, ...]  # the first state, then by distance
    edges: tuple[Edge, ...]  # every step between two of the nodes

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
        StateNode(packed, distances[number], origins[number], *_broken(plan, reports[number]),
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
    state = {**dict(enumerate(claim.id for claim in plan.program.always)), plan.deadlock: DEADLOCK}
    steps = dict(enumerate((claim.id for claim in plan.program.steps), plan.first_step))
    occurring = sorted(report.occurrences)
    return tuple(state[n] for n in occurring if n in state), tuple(steps[n] for n in occurring if n in steps)


class UnknownField(ValueError):
    """A field that the states do not have; the message names the nearest ones."""


@frozen
class NodeGroup:
    """The states of a neighbourhood that agree in the chosen fields."""

    nearest: int  # number of its node with the least distance
    distance: int
    members: int
    values: Mapping[str, str]  # the chosen fields of these states as text
    broken: tuple[str, ...]  # ids of what fails in one of its states
    breaking: tuple[str, ...]  # ids of the step properties that a step from one of its states breaks
    open: bool  # whether a step leads from one of its states out of the neighbourhood


@frozen
class GroupEdge:
    """The steps from one group to another, by their numbers: the names of the actions."""

    source: int
    target: int
    actions: tuple[str, ...]


@frozen
class Grouped:
    """The groups in order of their distance, the one of the first state first, and the steps between them."""

    groups: tuple[NodeGroup, ...]
    edges: tuple[GroupEdge, ...]


def grouped(around: Neighbourhood, names: Sequence[str]) -> Grouped:
    """The neighbourhood with the states joined that agree in some fields; none chosen: each state by itself.

    Raises:
        UnknownField: for a name that is no field.
    """
    key = _key(around.program.layout, names)
    members: dict[Hashable, list[int]] = {}
    for number, node in enumerate(around.nodes):
        members.setdefault(key(node.packed), []).append(number)
    of_node = {node: group for group, nodes in enumerate(members.values()) for node in nodes}
    actions: dict[tuple[int, int], dict[str, None]] = {}
    for edge in around.edges:
        ends = of_node[edge.source], of_node[edge.target]
        if ends[0] != ends[1]:
            actions.setdefault(ends, {})[around.program.instance(edge.instance)[0].name] = None
    groups = tuple(_group(around, nodes, names) for nodes in members.values())
    return Grouped(groups, tuple(GroupEdge(*ends, tuple(several)) for ends, several in actions.items()))


def _group(around: Neighbourhood, numbers: Sequence[int], names: Sequence[str]) -> NodeGroup:
    nodes = [around.nodes[number] for number in numbers]
    state = fields(around.program.layout.unpack(nodes[0].packed)) if names else {}
    return NodeGroup(
        numbers[0], nodes[0].distance, len(nodes), {name: show(state[name]) for name in names},
        tuple(dict.fromkeys(id_ for node in nodes for id_ in node.broken)),
        breaking=tuple(dict.fromkeys(id_ for node in nodes for id_ in node.breaking)),
        open=any(node.open for node in nodes),
    )  # fmt: skip


def field_names(layout: Layout) -> tuple[str, ...]:
    """The fields of a state by path, as traces show them."""
    return tuple(fields(layout.state(slot.domain.lo for slot in layout.slots)))


def _key(layout: Layout, names: Sequence[str]) -> Callable[[Packed], Hashable]:
    """The function of a packed state that is equal for states which agree in these fields."""
    known = field_names(layout)
    for name in names:
        if name not in known:
            raise UnknownField(f"states have no field {name!r}; {nearest(name, known)}")
    if not names:
        return lambda packed: packed
    slots = [slot for slot in layout.slots if any(_belongs(slot.path, name) for name in names)]
    places = [(slot.word, slot.shift, (1 << slot.domain.bits) - 1) for slot in slots]
    return lambda packed: tuple(packed[word] >> shift & mask for word, shift, mask in places)


def _belongs(path: str, name: str) -> bool:
    """Whether a leaf is part of a field; the only leaf of a state of one field has no path."""
    return path in ("", name) or path.startswith((f"{name}.", f"{name}["))


ROWS = 32  # most groups below each other; a layer with more of them takes several columns
SWEEPS = 4  # how often the order in the layers is improved


@frozen
class GroupPlace:
    """Where a group stands: its column from the left, and its row from the middle, which is 0."""

    column: int
    row: float


def places(drawn: Grouped) -> tuple[GroupPlace, ...]:
    """A place for each group; layers run from left to right."""
    layers: dict[int, list[int]] = {}
    for number, group in enumerate(drawn.groups):
        layers.setdefault(group.distance, []).append(number)
    _order(list(layers.values()), drawn)
    found, column = dict[int, GroupPlace](), 0
    for layer in layers.values():
        columns = -(-len(layer) // ROWS)
        height = -(-len(layer) // columns)
        for position, number in enumerate(layer):
            offset, row = divmod(position, height)
            rows = min(height, len(layer) - offset * height)
            found[number] = GroupPlace(column + offset, row - (rows - 1) / 2)
        column += columns
    return tuple(found[number] for number in range(len(drawn.groups)))


def _order(layers: list[list[int]], drawn: Grouped) -> None:
    """Order each layer by the mean position of its neighbours in the layers beside it: fewer edges cross."""
    beside: dict[int, list[int]] = {number: [] for number in range(len(drawn.groups))}
    for edge in drawn.edges:
        beside[edge.source].append(edge.target)
        beside[edge.target].append(edge.source)
    position = {number: index / len(layer) for layer in layers for index, number in enumerate(layer)}
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            means = {
                number: sum(position[other] for other in beside[number]) / len(beside[number])
                if beside[number]
                else position[number]
                for number in layer
            }
            layer.sort(key=lambda number, means=means: (means[number], number))  # type: ignore[misc]
            position.update({number: index / len(layer) for index, number in enumerate(layer)})
