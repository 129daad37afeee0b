"""The places of groups in a drawing: a layer for each distance, neighbours near each other."""

from __future__ import annotations

from attrs import frozen

from kraftcheck.solvers.neighbourhood.groups import Grouped

ROWS = 32
"""Most groups below each other; a layer with more of them takes several columns."""

SWEEPS = 4
"""How often the order in the layers is improved."""


@frozen
class Place:
    """Where a group stands: its column from the left, and its row from the middle, which is 0."""

    column: int
    row: float


def places(drawn: Grouped) -> tuple[Place, ...]:
    """A place for each group; layers run from left to right."""
    layers: dict[int, list[int]] = {}
    for number, group in enumerate(drawn.groups):
        layers.setdefault(group.distance, []).append(number)
    _order(list(layers.values()), drawn)
    found, column = dict[int, Place](), 0
    for layer in layers.values():
        columns = -(-len(layer) // ROWS)
        height = -(-len(layer) // columns)
        for position, number in enumerate(layer):
            offset, row = divmod(position, height)
            rows = min(height, len(layer) - offset * height)
            found[number] = Place(column + offset, row - (rows - 1) / 2)
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
