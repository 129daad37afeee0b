"""The kernel that finds components, against those that the naive judge enumerates."""

import random

import numpy as np

from kraftcheck.solvers.machine_code.graph_kernels import emit_components
from kraftcheck.solvers.machine_code.objectcode import Library, address, object_code
from tests.solvers.liveness.naive import components


def test_components_are_those_of_python() -> None:
    """Among some states of random graphs two have the same label if each reaches the other, however often it pauses."""
    library = Library(object_code(emit_components()))
    function = library.function("components", 5)
    for seed in range(200):
        source = random.Random(seed)
        count, size = source.randint(1, 16), source.randint(1, 5)
        after = {s: {source.randrange(count) for _ in range(source.randrange(4))} for s in range(count)}
        among = {state for state in range(count) if source.random() < 0.8}
        blocks = [range(first, min(count, first + size)) for first in range(0, count, size)]
        starts = [np.cumsum([0, *(len(after[s]) for s in own)]).astype(np.uint32) for own in blocks]
        targets = [np.array([t for s in own for t in after[s]] or [0], dtype=np.uint32) for own in blocks]
        tables = [np.array([address(one) for one in parts], dtype=np.int64) for parts in (starts, targets)]
        members = np.array([state in among for state in range(count)])
        labels, index, stack = (np.zeros(count, dtype=np.uint32) for _ in range(3))
        arrays = np.array([address(one) for one in (*tables, members, labels, index, stack)])
        control, calls = np.array([0, 0, 0, 1], dtype=np.int64), 1
        while not function(address(arrays), address(control), count, size, source.randint(1, 9)):
            calls += 1
            assert calls < 1000
        expected = {frozenset(one) for one in components(among, after)}
        assert {frozenset(s for s in among if labels[s] == labels[own]) for own in among} == expected, seed
        assert all(int(labels[state]) in among and labels[labels[state]] == labels[state] for state in among)
