"""Edges that are listed: of a region and of a part of it they are what a plain list of them says."""

from __future__ import annotations

import numpy as np
import pytest

from kraftcheck.solvers.liveness import graph
from kraftcheck.solvers.liveness.graph import ListedEdges
from kraftcheck.solvers.machine_code.graph_kernels import OUTSIDE

Edge = tuple[int, int, int]


def listed(count: int, edges: list[Edge]) -> ListedEdges:
    """The edges of so many states, half of which are one step farther than the others."""
    sources, targets, instances = (np.array(column, dtype=np.int64) for column in zip(*sorted(edges), strict=True))
    starts = np.searchsorted(sources, np.arange(count + 1))
    cuts = np.arange(count, dtype=np.uint64)
    levels, names = [0, count // 2, count], 10 * np.arange(count)
    return ListedEdges(names, levels, starts, targets.astype(np.uint32), instances.astype(np.uint16), cuts)


def told(edges: ListedEdges, wanted: np.ndarray, *, inner: bool) -> list[Edge]:
    """All edges of some states, block by block."""
    found = []
    for number, first in enumerate(edges.blocks):
        block = edges.block(0, number, wanted[first : first + graph.MOST_STATES], inner=inner)
        found += zip(block.owners().tolist(), block.targets.tolist(), block.instances.tolist(), strict=True)
        assert block.cuts.tolist() == edges.cuts[first : first + graph.MOST_STATES].tolist()
    return found


@pytest.mark.parametrize("seed", range(8))
def test_blocks_and_parts_have_the_edges_of_the_list(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block has the edges of the wanted states, and a part of a region those between its states, by new numbers."""
    monkeypatch.setattr(graph, "MOST_STATES", 3)
    draw, count = np.random.default_rng(seed), 11
    edges = sorted({(int(a), int(b) if b < count else OUTSIDE, int(n)) for a, b, n in draw.integers(0, 14, (60, 3))
                    if a < count})  # fmt: skip
    region, wanted, kept = listed(count, edges), draw.random(count) < 0.6, draw.random(count) < 0.6
    assert told(region, wanted, inner=False) == [edge for edge in edges if wanted[edge[0]]]
    assert told(region, wanted, inner=True) == [edge for edge in edges if wanted[edge[0]] and edge[1] != OUTSIDE]
    part, number = region.narrowed(kept), np.cumsum(kept) - 1
    inside = [(int(number[a]), int(number[b]), n) for a, b, n in edges if b != OUTSIDE and kept[a] and kept[b]]
    assert told(part, np.ones(part.count, dtype=np.bool_), inner=True) == inside
    assert part.names.tolist() == region.names[kept].tolist() == part.identities(0, part.count).tolist()
    assert part.levels == [0, int(kept[: count // 2].sum()), int(kept.sum())]
