"""The sweeps against the naive judge, on random graphs: verdicts, shortest stems, lassos, threads."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.model.language.fairness import LIVENESS
from kraftcheck.solvers.liveness.late_rises import LateRises
from tests.solvers.liveness.naive import Puzzle, has_fair_behaviour, judge
from tests.solvers.liveness.puzzles import USUAL, How, answer, breaks, depths, draw_puzzle, sweeps

SEEDS = st.integers(0, 10**9)


def agree(puzzle: Puzzle, how: How = USUAL) -> None:
    """Every kind of property has the naive verdict, and a lasso that is one, of the shortest stem."""
    depth = depths(puzzle)
    for kind in LIVENESS:
        naive, said = judge(puzzle, kind), answer(puzzle, kind, how)
        assert (said.concerned, said.waiting) == (naive.concerned, naive.waiting), (kind, puzzle)
        assert (said.lasso is None) == (naive.stem is None), (kind, puzzle)
        if said.lasso is not None:
            assert depth[said.lasso.entry] + len(said.lasso.way) == naive.stem, (kind, puzzle, said)
            assert breaks(puzzle, kind, said.lasso), (kind, puzzle, said)


@pytest.mark.parametrize("part", range(2))
def test_the_sweeps_say_what_components_say(part: int) -> None:
    """Of 300 random graphs under weak and strong fairness, each kind of property has the naive verdict and stem."""
    for seed in range(150 * part, 150 * (part + 1)):
        agree(draw_puzzle(random.Random(seed)))


@given(SEEDS)
def test_drawn_graphs_agree_too(seed: int) -> None:
    """What Hypothesis draws agrees as well."""
    agree(draw_puzzle(random.Random(f"drawn {seed}"), most=14))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_thousands_of_graphs_agree(part: int) -> None:
    """So do 10,000 graphs, some of them larger, at night."""
    for seed in range(500 * part, 500 * (part + 1)):
        agree(draw_puzzle(random.Random(f"night {seed}"), most=9 if seed % 4 else 24, fairness=6))


def test_a_late_rise_concerns_the_level_before() -> None:
    """A late rise is of interest for states one level less deep and all deeper ones: no step leads two levels on."""
    steps = tuple((state, 0, state + 1) for state in range(4))
    chain = Puzzle(5, frozenset({0}), steps, (), frozenset(), frozenset())
    edges = sweeps(chain, frozenset(range(5)), None, How(size=1)).edges
    for rises, gains in (((), [0] * 5), (((4, 1), (2, 6), (3, 0)), [0, 6, 6, 7, 7])):
        late = LateRises.of(edges, rises)
        assert [late.gain(block) for block in range(5)] == gains


def test_many_constraints_are_several_groups() -> None:
    """More constraints than bits of a group are judged alike."""
    for seed in range(8):
        source = random.Random(f"many {seed}")
        agree(draw_puzzle(source, most=12, fairness=75))


@given(SEEDS)
def test_a_fair_behaviour_begins_in_every_state(seed: int) -> None:
    """Fairness of actions forbids no finite run (it is machine closed): so no verdict rests on there being none."""
    puzzle = draw_puzzle(random.Random(f"closed {seed}"))
    made = sweeps(puzzle, frozenset(range(puzzle.count)), None, How())
    assert made.reaching(made.fair()).all()
    assert all(has_fair_behaviour(puzzle, state) for state in range(puzzle.count))


def test_threads_blocks_and_memory_change_nothing() -> None:
    """Four threads, blocks of one state or of all, and edges that are computed again give the same lasso."""
    for seed in range(25):
        puzzle = draw_puzzle(random.Random(f"threads {seed}"), most=14)
        for kind in LIVENESS:
            one = answer(puzzle, kind)
            for how in (How(1, threads=4), How(100), How(1, budget=0), How(2, budget=40)):
                other = answer(puzzle, kind, how)
                assert (one.lasso, one.waiting) == (other.lasso, other.waiting), (kind, puzzle)


@given(SEEDS)
def test_without_memory_the_naive_verdicts_stay(seed: int) -> None:
    """Where no edge, or few, can be kept, regions are narrowed and edges computed again, with the same result."""
    source = random.Random(f"little {seed}")
    agree(draw_puzzle(source, most=14), How(source.randint(1, 3), budget=source.choice((0, 60, 120))))
