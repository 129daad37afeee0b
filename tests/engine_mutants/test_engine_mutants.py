"""Mutants of the engines: each is killed by the test named for it, which passes without it."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from attrs import evolve

from kraftcheck.solvers.search.visited import VisitedSet
from tests.engine_mutants import distributed, proving, searching, tracing
from tests.engine_mutants.mutant import Killer, Mutant
from tests.shared.samples import is_nightly
from tests.solvers.search import test_toys

MUTANTS = (*tracing.MUTANTS, *searching.MUTANTS, *proving.MUTANTS, *distributed.MUTANTS)
"""Those that nobody would draw, or that were faults once; others are drawn by `tests.engine_mutants.drawn`."""

PASSED: set[object] = set()  # killers that passed without a mutant, in this process


def alone(killer: Killer, folder: Path) -> None:
    """Run a killer without a mutant, once in a process; it fails where it should pass."""
    key = killer.test, killer.case, *killer.fixtures.values()
    if key not in PASSED:
        killer.run(folder)
        PASSED.add(key)


LONG = [pytest.param(mutant, marks=pytest.mark.slow) for mutant in MUTANTS if mutant.slow]


@pytest.mark.each_change
@pytest.mark.parametrize(
    "mutant", [*(mutant for mutant in MUTANTS if not mutant.slow), *LONG], ids=lambda mutant: mutant.name
)
def test_no_mutant_survives(
    mutant: Mutant, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The killer fails with the mutant; by night it passes with the engine as it is, as its own items do."""
    if is_nightly():
        alone(mutant.killer, tmp_path_factory.mktemp("right"))
    # Kernels of a mutant must not be found by anyone else: their names say what sources they were made from.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    assert not mutant.survives(tmp_path_factory.mktemp("mutant")), f"{mutant.name} survives {mutant.killer.name}"


def stale(mutants: Iterable[Mutant]) -> Iterator[str]:
    """Why some of the mutants cannot be applied to the engines as they are."""
    for mutant in mutants:
        try:
            mutant.code()
        except (AssertionError, AttributeError, ImportError, SyntaxError, ValueError) as error:
            yield f"{mutant.name}: {error}"


def test_no_mutant_is_stale() -> None:
    """Each mutant's text is there, once, and the changed function compiles, whenever the mutant itself is run."""
    assert list(stale(MUTANTS)) == []


def test_a_stale_mutant_is_told() -> None:
    """A text that is gone, a function that is gone and a change that is no Python are each named."""
    gone = evolve(example("identity", "identity"), where="solvers.search.visited:VisitedSet.nowhere")
    told = list(stale([example("gone", "new"), gone, example("identity // SHARDS", "identity //")]))
    assert len(told) == 3
    assert all(line.startswith("example: ") for line in told)


def test_every_mutant_has_a_name_of_its_own_and_a_killer_of_the_suite() -> None:
    """No name is used twice, and each killer is a test that pytest collects, in the mutant's profile at the latest."""
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    for mutant in MUTANTS:
        test = mutant.killer.test
        assert re.search(r"^tests\..*\btest_\w+$", test.__module__)
        assert test.__name__.startswith("test_")
        marks = {mark.name for mark in getattr(test, "pytestmark", ())}
        assert mutant.slow or "slow" not in marks, mutant.name


def example(old: str, new: str) -> Mutant:
    """A mutant of the identity of a packed state, with a test that has nothing to do with it as its killer."""
    return Mutant("example", "An example.", "solvers.search.visited:VisitedSet.state", old, new,
                  Killer(test_toys.test_a_faulty_system_is_named, (0,)))  # fmt: skip


def test_a_mutant_that_survives_is_told(tmp_path: Path) -> None:
    """A mutant that its test does not notice survives, and the engine is right again afterwards."""
    right = VisitedSet.state.__code__
    mutant = example("identity // SHARDS", "identity // SHARDS + 1")
    with mutant.applied():
        assert VisitedSet.state.__code__ is not right
    assert VisitedSet.state.__code__ is right
    assert mutant.survives(tmp_path)
    assert VisitedSet.state.__code__ is right


def test_a_mutant_of_text_that_is_gone_is_refused() -> None:
    """What is to be replaced must be there, and once."""
    with pytest.raises(AssertionError, match=r"example: 'gone' occurs 0 times"):
        example("gone", "new").code()
    with pytest.raises(AssertionError, match=r"'SHARDS' occurs 2 times"):
        example("SHARDS", "new").code()


def test_a_test_that_breaks_does_not_count_as_a_kill(tmp_path: Path) -> None:
    """A mutant whose text names nothing that exists ends with its error, not as killed."""
    broken = Mutant("broken", "An error.",
                    "solvers.search.visited:VisitedSet.counts", "shard.count for", "shard.nothing for",
                    Killer(test_toys.test_a_clock_ticks_for_ever))  # fmt: skip
    with pytest.raises(AttributeError, match="nothing"):
        broken.survives(tmp_path)
