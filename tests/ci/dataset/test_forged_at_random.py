"""Datasets changed at random and sealed again: refused or answered, and nothing outside them is touched."""

import collections
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.ci.dataset.forging import EXPLORE, forged, hostile, manifests, opening
from tests.ci.fuzz.bounds import Reader, tried_for, tried_in
from tests.ci.fuzz.mutations import mutation
from tests.shared.commands import kraftcheck

CODES = frozenset({0, 2, 20, 24})  # answered, refused, incomplete, or not confirmed by ints; never 255


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """Changes of a small dataset, and the commands that open it."""
    kept = tmp_path_factory.mktemp("kept") / "out"
    assert kraftcheck(*EXPLORE, "--out", kept).code == 0

    def cases(draw: random.Random, place: Path) -> Iterator[Sequence[object]]:
        canary = place / "canary"
        canary.mkdir()
        chosen = draw.choice(["run", f"level{draw.randrange(len(manifests(kept)))}"])
        try:
            out = forged(kept, place / "out", **{chosen: mutation(draw, hostile(canary / "written"))})
        except (KeyError, TypeError, IndexError):  # a second change does not find the place of the first any more
            return
        for words in opening(out).values():
            yield words
            assert list(canary.iterdir()) == [], words

    return Reader("datasets", CODES, cases)


def test_no_forged_dataset_ends_in_a_fault(reader: Reader, tmp_path: Path) -> None:
    """Some datasets from fixed seeds on: most are refused, none ends in 255, hangs, or takes a gigabyte."""
    codes = collections.Counter[int]()
    for seed in range(6):
        codes += tried_in(seed, tmp_path, reader.tried)
    assert codes[2] > sum(codes.values()) // 2
    assert codes.keys() - {2}, "what is repaired, or not changed in what counts, is answered"


@pytest.mark.slow
def test_no_forged_dataset_ends_in_a_fault_for_minutes(reader: Reader, tmp_path: Path) -> None:
    """So do as many from other seeds on as two minutes are enough for."""
    assert tried_for(120, int(time.time()) << 8, tmp_path, reader.tried)[2] > 100
