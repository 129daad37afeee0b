"""Arcs in memory against a fixpoint on Python ints: marks rise as far as they can, and no further."""

import numpy as np
import pytest

from kraftcheck.solvers.machine_code import closure
from kraftcheck.solvers.machine_code.closure import HeldArcs

STATES, ARCS = 200, 500
WAYS = np.array([0b0011, 0b0101, 0b1100, 0b1111], dtype=np.uint64)


def held_arcs(arcs: np.ndarray, marks: list[int], size: int = 1) -> HeldArcs:
    """Rows (target, source, way) as they are held, in two parts of the states."""
    held = HeldArcs(WAYS, np.array(marks, dtype=f"u{size}"), len(arcs))
    half = STATES // 2
    for first, last in ((0, half), (half, STATES)):
        targets = arcs[:, 0]
        held.count(first, last, targets[(targets >= first) & (targets < last)])
    held.take([(rows[:, 0], rows[:, 1], rows[:, 2].astype(np.int32)) for rows in np.array_split(arcs, 7)])
    return held


def fixpoint(arcs: np.ndarray, marks: list[int]) -> list[int]:
    """The marks once none can rise, one arc after the other."""
    marks, rose = list(marks), True
    while rose:
        rose = False
        for target, source, way in arcs.tolist():
            new = marks[source] | marks[target] & int(WAYS[way])
            rose, marks[source] = rose or new != marks[source], new
    return marks


def drawn(seed: int) -> tuple[np.ndarray, list[int]]:
    """Arcs, and marks of which few have bits that flow; a bit above them stays where it is."""
    random = np.random.default_rng(seed)
    shape = [STATES, STATES, len(WAYS)]
    arcs = np.column_stack([random.integers(0, most, size=ARCS) for most in shape])
    bits = np.where(random.random(STATES) < 0.05, random.integers(0, 16, size=STATES), 0)
    return arcs, (bits | random.integers(0, 2, size=STATES) << 4).tolist()


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_marks_rise_to_the_fixpoint(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With marks of one byte and of more, followed a state or all at a time, each mark is that of the fixpoint."""
    for seed in range(6):
        monkeypatch.setattr(closure, "AT_ONCE", 1 << 20 * (seed % 2))
        arcs, marks = drawn(seed)
        held = held_arcs(arcs, marks, size)
        held.close()
        assert held.marks.tolist() == fixpoint(arcs, marks)
        assert held.marks.tolist() != marks


def test_marks_flow_along_a_line() -> None:
    """From the last of two hundred states in a line a bit flows to the first, through a queue that goes round."""
    line = np.array([(n + 1, n, 0) for n in range(STATES - 1)])
    for arcs in (line, line[::-1]):
        held = held_arcs(arcs, [0] * (STATES - 1) + [1])
        held.close()
        assert held.marks.tolist() == [1] * STATES


def test_a_stop_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped after a state, marks have risen by what flowed from that one."""
    monkeypatch.setattr(closure, "AT_ONCE", 1)
    line, asked = np.array([(n + 1, n, 0) for n in range(STATES - 1)]), [0]
    held = held_arcs(line, [0] * (STATES - 1) + [1])

    def stopped() -> bool:
        asked[0] += 1
        return asked[0] > 1

    held.close(stopped)
    assert held.marks.tolist() == [0] * (STATES - 2) + [1, 1]


def test_arcs_that_were_not_counted_are_an_error() -> None:
    """As many arcs as were counted, but to other states, are an error, and so is another number."""
    for count, targets, message in ((1, [3], "taken are not those"), (2, [5], "1 of 2 arcs were counted")):
        held = HeldArcs(WAYS, np.zeros(STATES, np.uint8), count)
        held.count(0, STATES, np.array([5]))
        with pytest.raises(RuntimeError, match=message):
            held.take([(np.array(targets), np.array([0]), np.array([0], np.int32))])
