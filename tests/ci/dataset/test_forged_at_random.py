"""Datasets changed at random and sealed again: refused or answered, and nothing outside them is touched."""

from __future__ import annotations

import collections
import random
import time
from pathlib import Path

import pytest

from tests.ci.dataset.forging import EXPLORE, bounded, forged, manifests, mutation, opened
from tests.shared.commands import kraftcheck

CODES = {0, 2, 20, 24}
"""Answered, refused, incomplete, or not confirmed by ints; never 255."""


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small dataset, as it was written."""
    out = tmp_path_factory.mktemp("kept") / "out"
    assert kraftcheck(*EXPLORE, "--out", out).code == 0
    return out


def tried(kept: Path, place: Path, seed: int) -> collections.Counter[int]:
    """The exit codes of all commands on one changed dataset."""
    draw, codes = random.Random(seed), collections.Counter[int]()
    canary = place / "canary"
    canary.mkdir()
    chosen = draw.choice(["run", f"level{draw.randrange(len(manifests(kept)))}"])
    try:
        out = forged(kept, place / "out", **{chosen: mutation(draw, canary / "written")})
    except (KeyError, TypeError, IndexError):  # a second change does not find the place of the first any more
        return codes
    for name, ran in opened(out):
        assert ran.code in CODES, (seed, chosen, name, ran.code, ran.err)
        assert ran.err.count("\n") <= 2, (seed, chosen, name, ran.err)
        assert list(canary.iterdir()) == [], (seed, chosen, name)
        codes[ran.code] += 1
    return codes


def tried_for(seconds: float, first: int, kept: Path, place: Path) -> collections.Counter[int]:
    """The exit codes of datasets from a seed on, for so long."""
    codes, end, seed = collections.Counter[int](), time.monotonic() + seconds, first
    while time.monotonic() < end:
        folder = place / str(seed)
        folder.mkdir()
        with bounded():
            codes += tried(kept, folder, seed)
        seed += 1
    return codes


def test_no_forged_dataset_ends_in_a_fault(kept: Path, tmp_path: Path) -> None:
    """Some datasets from fixed seeds on: most are refused, none ends in 255, hangs, or takes a gigabyte."""
    codes = collections.Counter[int]()
    for seed in range(6):
        (tmp_path / str(seed)).mkdir()
        with bounded():
            codes += tried(kept, tmp_path / str(seed), seed)
    assert codes[2] > sum(codes.values()) // 2
    assert codes.keys() - {2}, "what is repaired, or not changed in what counts, is answered"


@pytest.mark.slow
def test_no_forged_dataset_ends_in_a_fault_for_minutes(kept: Path, tmp_path: Path) -> None:
    """So do as many from other seeds on as ten minutes are enough for."""
    assert tried_for(600, int(time.time()) << 8, kept, tmp_path)[2] > 100
