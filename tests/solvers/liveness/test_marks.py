"""Listed edges, and the kernel that raises marks along edges, against a few lines of Python, on random graphs."""

import random
from typing import Any

import numpy as np
import pytest

from kraftcheck.solvers.liveness import graph
from kraftcheck.solvers.liveness.graph import ListedEdges
from kraftcheck.solvers.machine_code.graph_kernels import OUTSIDE, emit_raise
from kraftcheck.solvers.machine_code.objectcode import Library, address, object_code


def raised(arrays: list[Any], first: int, count: int, weak: int, full: int, *, down: bool) -> tuple[Any, ...]:
    """What the kernel is to do, in Python: how many marks rose, and the marks."""
    starts, targets, kinds, table, marks, kept, enabled, flows = (array.tolist() for array in arrays)
    changed = 0
    for row in reversed(range(count)) if down else range(count):
        state = first + row
        if not kept[state] or marks[state] == full:
            continue
        new = marks[state] | (weak & ~enabled[state])
        for at in range(starts[row], starts[row + 1]):
            if kept[targets[at]]:
                new |= (marks[targets[at]] & flows[kinds[at]]) | (table[kinds[at]] & enabled[state])
        new = (new & full) | marks[state]
        changed += new != marks[state]
        marks[state] = new
    return changed, marks


@pytest.mark.parametrize(("mark", "kind", "narrow"), [(1, 1, 0), (2, 2, 0), (4, 1, 0), (1, 2, 1), (4, 1, 1)])
def test_marks_are_raised_as_in_python(mark: int, kind: int, narrow: int) -> None:
    """Some states of random graphs, up and down, have the marks of Python's loop; states left out count for nothing.

    So it is with what is watched, what rises late, and what guides, and where some bits flow along no edge of a class.
    """
    library = Library(object_code(emit_raise(mark, kind, narrow)))
    for seed in range(40):
        source = random.Random(seed)
        states, classes = source.randint(1, 9), source.randint(1, 4)
        first = source.randrange(states)
        count = source.randint(1, states - first)
        lengths = [source.randrange(4) for _ in range(count)]
        edges, full = sum(lengths), source.choice((1, 7, (1 << 8 * mark) - 1))

        def bits(number: int, full: int = full, source: random.Random = source) -> Any:
            return np.array([source.randrange(full + 1) for _ in range(number)], dtype=f"u{mark}")

        arrays = [
            np.cumsum([0, *lengths]).astype(np.uint32),
            np.array([source.randrange(states) for _ in range(edges)], dtype=np.uint32),
            np.array([source.randrange(classes) for _ in range(edges)], dtype=f"u{kind}"),
            bits(classes), bits(states), np.array([source.random() < 0.7 for _ in range(states)], dtype=np.bool_),
            bits(states),
            bits(classes) if narrow else np.full(classes, full, dtype=f"u{mark}"),
        ]  # fmt: skip
        weak, down = source.randrange(full + 1), source.random() < 0.5
        expected = raised(arrays, first, count, weak, full, down=down)
        places = np.array([address(array) for array in arrays])
        changed = library.function("raise", 6)(address(places), first, count, weak, full, int(down))
        assert (changed, arrays[4].tolist()) == expected, seed


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
