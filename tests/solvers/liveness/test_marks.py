"""The kernel that raises marks, against a few lines of Python, on random graphs."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from kraftcheck.solvers.machine_code.mark_kernel import emit_raise
from kraftcheck.solvers.machine_code.objectcode import Library, address, object_code


def raised(arrays: list[Any], first: int, count: int, weak: int, full: int, *, down: bool) -> tuple[int, list[int]]:
    """What the kernel is to do, in Python: how many marks rose, and the marks."""
    starts, targets, kinds, table, marks, kept, enabled = (array.tolist() for array in arrays)
    changed = 0
    for row in reversed(range(count)) if down else range(count):
        state = first + row
        if not kept[state] or marks[state] == full:
            continue
        new = marks[state] | (weak & ~enabled[state])
        for edge in range(starts[row], starts[row + 1]):
            if kept[targets[edge]]:
                new |= marks[targets[edge]] | (table[kinds[edge]] & enabled[state])
        changed += (new & full) | marks[state] != marks[state]
        marks[state] |= new & full
    return changed, marks


@pytest.mark.parametrize(("mark", "kind"), [(1, 1), (2, 2), (4, 1)])
def test_marks_are_raised_as_in_python(mark: int, kind: int) -> None:
    """Some states of random graphs, up and down, have the marks of Python's loop; states left out count for nothing."""
    library = Library(object_code(emit_raise(mark, kind)))
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
        ]  # fmt: skip
        weak, down = source.randrange(full + 1), source.random() < 0.5
        expected = raised(arrays, first, count, weak, full, down=down)
        places = np.array([address(array) for array in arrays])
        changed = library.function("raise", 6)(address(places), first, count, weak, full, int(down))
        assert (changed, arrays[4].tolist()) == expected, seed
