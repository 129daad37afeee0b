"""Random systems: every engine agrees with a naive search on plain values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.ci.spark.jobs import SparkCluster
from kraftcheck.solvers.blocks.kernel import block_spec
from kraftcheck.solvers.machine_code.objectcode import ObjectCache
from tests.ci.spark.levels import begun, finished
from tests.random_systems.comparison import Case, agrees
from tests.random_systems.seeds import ALWAYS, FAILED, NIGHTLY, check_seed
from tests.random_systems.verdicts import plain_word
from tests.shared.commands import kraftcheck

CHUNK, LONG_CHUNK = 25, 100

CHUNKS = [range(first, first + CHUNK) for first in range(0, ALWAYS, CHUNK)] + [
    pytest.param(range(first, first + LONG_CHUNK), marks=pytest.mark.slow)
    for first in range(ALWAYS, NIGHTLY, LONG_CHUNK)
]


@pytest.mark.each_change
@pytest.mark.parametrize("seeds", CHUNKS, ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}")
def test_engines_agree_with_the_naive_search(seeds: range, tmp_path: Path) -> None:
    """States, counts, verdicts, lengths and witnesses are those of the naive search, for each system."""
    for seed in seeds:
        check_seed(seed, tmp_path)


def test_every_seed_below_always_is_judged_at_each_change() -> None:
    """The chunks without a mark have each of the seeds that other tests vouch for, once."""
    ordinary = [chunk for chunk in CHUNKS if isinstance(chunk, range)]
    assert [seed for chunk in ordinary for seed in chunk] == list(range(ALWAYS))


@pytest.mark.parametrize("seed", FAILED)
def test_what_failed_once_agrees(seed: int, tmp_path: Path) -> None:
    """Every engine agrees on the systems that once showed an error."""
    check_seed(seed, tmp_path, everything=True)


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("seed", [7, 21, 34])
def test_spark_agrees_with_the_naive_search(seed: int, session: Any, tmp_path: Path) -> None:
    """Levels as jobs of a real Spark give the same numbers and verdicts."""
    case = Case.of_seed(seed)
    run, _ = begun(case.program, tmp_path / "out")
    run.expand(SparkCluster.of(session, block_spec(case.program, 3, ObjectCache(None)), tmp_path / "log"))
    agrees(case, finished(run), recoveries=False)


def refuted(seed: int) -> list[str]:
    """The claims of a seed's system that are refuted."""
    return [name for name, verdict in Case.of_seed(seed).verdicts.items() if verdict.word == "Refuted"]


@pytest.mark.each_change
@pytest.mark.parametrize("seed", range(4))
def test_documents_agree_with_the_naive_search(seed: int, tmp_path: Path) -> None:
    """The command line's document has the naive numbers, and its counterexamples run again from their files."""
    case, name = Case.of_seed(seed), f"tests.random_systems.seeds:SEED_{seed}"
    ran = kraftcheck("explore", name, "--quiet", "--json", "-", "--out", tmp_path / "out")
    told = ran.document()
    assert told["states"]["distinct"] == len(case.graph.depth)
    words = {
        one["id"]: (plain_word(one["kind"], one["verdict"].title(), one["depth"]), one["depth"])
        for one in told["properties"]
    }
    assert words == {name: (one.word, one.length) for name, one in case.verdicts.items()}
    for claim in refuted(seed):
        path = tmp_path / "out" / f"{claim}.itf.json"
        assert json.loads(path.read_text())["#meta"]["kraftcheck"]["property"] == claim
        assert kraftcheck("trace", path, "--system", name).code == 0
