"""A neighbourhood with the states joined that agree in chosen fields."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

from attrs import frozen

from kraftcheck.model.language.packing import Layout
from kraftcheck.model.nearest import nearest
from kraftcheck.solvers.neighbourhood.states import Neighbourhood, Packed
from kraftcheck.solvers.traces.render import fields, show


class UnknownField(ValueError):
    """A field that the states do not have; the message names the nearest ones."""


@frozen
class Group:
    """The states of a neighbourhood that agree in the chosen fields.

    Attributes:
        nearest: number of its node with the least distance.
        distance: of that node.
        members: how many states it has.
        values: the chosen fields of these states as text.
        broken: ids of what fails in one of its states.
        breaking: ids of the step properties that a step from one of its states breaks.
        open: whether a step leads from one of its states out of the neighbourhood.
    """

    nearest: int
    distance: int
    members: int
    values: Mapping[str, str]
    broken: tuple[str, ...]
    breaking: tuple[str, ...]
    open: bool


@frozen
class GroupEdge:
    """The steps from one group to another, by their numbers: the names of the actions."""

    source: int
    target: int
    actions: tuple[str, ...]


@frozen
class Grouped:
    """The groups in order of their distance, the one of the first state first, and the steps between them."""

    groups: tuple[Group, ...]
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


def _group(around: Neighbourhood, numbers: Sequence[int], names: Sequence[str]) -> Group:
    nodes = [around.nodes[number] for number in numbers]
    state = fields(around.program.layout.unpack(nodes[0].packed)) if names else {}
    return Group(
        numbers[0], nodes[0].distance, len(nodes), {name: show(state[name], name) for name in names},
        tuple(dict.fromkeys(id_ for node in nodes for id_ in node.broken)),
        tuple(dict.fromkeys(id_ for node in nodes for id_ in node.breaking)),
        any(node.open for node in nodes),
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
