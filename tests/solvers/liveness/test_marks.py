"""The kernel that raises marks, against a few lines of Python, on random graphs."""

from __future__ import annotations

import functools
import random
from typing import Any

import numpy as np
import pytest

from kraftcheck.solvers.machine_code.graph_kernels import UNGUIDED, emit_raise
from kraftcheck.solvers.machine_code.objectcode import Library, address, object_code


def raised(arrays: list[Any], first: int, count: int, weak: int, full: int, *, down: bool) -> tuple[Any, ...]:
    """What the kernel is to do, in Python: how many marks rose; marks, watches, guides; the least late rise, bits."""
    starts, targets, kinds, table, marks, kept, enabled, watch, guides = (array.tolist() for array in arrays)
    changed, late = 0, [(len(marks), 0)]
    for row in reversed(range(count)) if down else range(count):
        state = first + row
        if not kept[state] or marks[state] == full:
            continue
        new = marks[state] | (weak & ~enabled[state])
        leads = [(targets[edge], table[kinds[edge]]) for edge in range(starts[row], starts[row + 1])]
        for target, steps in leads:
            if kept[target]:
                new |= marks[target] | (steps & enabled[state])
        new = (new & full) | marks[state]
        if new == full:
            enough = [t for t, _ in leads if (kept[t] * marks[t] | weak & ~enabled[state]) & full == full]
            guides[state] = enough[-1] if enough else UNGUIDED
        if new != marks[state]:
            changed += 1
            marks[state] = new
            late += [(state, new)] if new & ~watch[state] else []
        for target, _ in leads if new != full else []:
            if kept[target]:
                watch[target] &= new | ~full
                late += [(target, marks[target])] if marks[target] & ~new else []
    bits = [bits for _, bits in late]
    return changed, marks, watch, guides, min(state for state, _ in late), functools.reduce(int.__or__, bits)


@pytest.mark.parametrize(("mark", "kind"), [(1, 1), (2, 2), (4, 1)])
def test_marks_are_raised_as_in_python(mark: int, kind: int) -> None:
    """Some states of random graphs, up and down, have the marks of Python's loop; states left out count for nothing.

    So it is with what is watched, what rises late, and what guides.
    """
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
            bits(states), bits(states), np.full(states, 77, dtype=np.uint32),
        ]  # fmt: skip
        weak, down = source.randrange(full + 1), source.random() < 0.5
        expected = raised(arrays, first, count, weak, full, down=down)
        places, late = np.array([address(array) for array in arrays]), np.array([states, 0])
        changed = library.function("raise", 7)(address(places), first, count, weak, full, int(down), address(late))
        assert (changed, *(arrays[n].tolist() for n in (4, 7, 8)), *late.tolist()) == expected, seed
