"""Readers of logs, traces, tables of runs and expressions, on input that is changed at random and mended."""

import collections
import random
import time
from pathlib import Path

import pytest

from tests.ci.fuzz.bounds import Reader, tried_for, tried_in
from tests.ci.fuzz.readers import READERS

CASES = {"segments": 60, "dumps": 50, "lines": 80, "traces": 12, "tables": 60, "expressions": 25, "mutants": 40}
"""Cases of each change: two seconds of processor time a reader, or three."""

each = pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)


def check(reader: Reader, codes: collections.Counter[int]) -> None:
    """Much is refused, and something is read: a fuzz of which nothing gets past the first check would show little."""
    assert codes[2] > 0
    assert sum(codes.values()) - codes[2] > sum(codes.values()) // 50, (reader.name, codes)


@pytest.mark.each_change
@each
def test_no_changed_input_ends_in_a_fault(reader: Reader, tmp_path: Path) -> None:
    """Cases of fixed seeds: each command ends in a code that it documents, none hangs or takes a gigabyte."""
    codes = collections.Counter[int]()
    for seed in range(CASES[reader.name]):
        codes += tried_in(seed, tmp_path, reader.tried)
    check(reader, codes)


@each
def test_the_same_seed_draws_the_same(reader: Reader, tmp_path: Path) -> None:
    """A case depends on reader and seed alone, whatever was drawn before: a failing one is drawn again by its seed."""
    drawn = []
    for again in ("once", "again"):
        for seed in range(30):
            place = tmp_path / again / str(seed)
            place.mkdir(parents=True)
            words = next(iter(reader.cases(random.Random(f"{reader.name} {seed}"), place)))
            files = {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}
            drawn.append((files, [str(word).removeprefix(str(place)) for word in words]))
    assert drawn[:30] == drawn[30:]
    assert drawn[0] != drawn[1]


@pytest.mark.slow
@each
def test_no_changed_input_ends_in_a_fault_for_minutes(reader: Reader, tmp_path: Path) -> None:
    """So do as many cases of other seeds as two minutes are enough for; a failing one is drawn again by its seed."""
    check(reader, tried_for(120, int(time.time()) << 8, tmp_path, reader.tried))
