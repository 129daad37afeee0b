"""The sweeps against the naive judge, on random graphs: verdicts, shortest stems, lassos, threads."""

import contextlib
import itertools
import random
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.model.language.system import LIVENESS
from kraftcheck.solvers.liveness import graph
from kraftcheck.solvers.liveness.behaviours import Behaviours
from kraftcheck.solvers.liveness.fair import StoppedError
from tests.solvers.liveness.naive import Fair, Puzzle, has_fair_behaviour, judge
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


def test_edges_in_a_file_change_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where memory has no room for edges, a file takes them; where the disk is full, they are computed again."""
    for seed in range(30):
        puzzle = draw_puzzle(random.Random(f"file {seed}"), most=14)
        monkeypatch.setattr(graph, "SHARE", 0 if seed % 5 == 0 else 0.5)
        for kind in LIVENESS:
            one = answer(puzzle, kind)
            other = answer(puzzle, kind, How(2, budget=seed % 3 * 60, scratch=tmp_path))
            assert (one.lasso, one.waiting) == (other.lasso, other.waiting), (kind, puzzle)
    assert not list(tmp_path.iterdir())


def test_a_list_of_edges_changes_nothing() -> None:
    """Marks that follow listed edges from the third sweep on are those of sweeps."""
    for seed in range(60):
        source = random.Random(f"listed {seed}")
        agree(draw_puzzle(source, most=24), How(2, budget=source.choice((0, 1 << 20)), many=2))


def test_components_decide_what_rounds_do() -> None:
    """After no round, one or two of the fixpoint, components have the naive verdicts and stems too."""
    for seed in range(90):
        agree(draw_puzzle(random.Random(f"rounds {seed}"), most=20), How(rounds=seed % 3))


def test_a_long_way_takes_few_rounds() -> None:
    """Along a chain each round leaves out one state; components do it at once."""
    steps = tuple((state, 0, state + 1) for state in range(150))
    fair = (Fair(strong=False, actions=frozenset({0})),)
    chain = Puzzle(151, frozenset({0}), steps, fair, frozenset(), frozenset({150}))
    made = sweeps(chain, frozenset(range(150)), None, How())
    made.groups[0].enabled[-1] = 1
    assert not Behaviours(made.edges, made).fair().any()
    assert made.control.sweeps < 30


def test_a_long_thin_graph_takes_few_sweeps() -> None:
    """A chain whose states are in no order takes as many sweeps as are many; with no room for its edges, more."""
    order = random.Random("chain").sample(range(120), 120)
    steps = tuple((source, 0, target) for source, target in itertools.pairwise(order))
    chain = Puzzle(120, frozenset(order), steps, (), frozenset(), frozenset())
    for spare, most in ((1 << 20, 12), (0, 100)):
        made = sweeps(chain, frozenset(order), None, How())
        made.control.spare = spare
        goal = np.zeros(120, dtype=np.bool_)
        goal[order[-1]] = True
        assert made.reaching(goal).all()
        assert 12 <= made.control.sweeps <= most
        assert (made.control.sweeps == 12) == (spare > 0)


def test_a_stop_ends_the_search_for_a_lasso() -> None:
    """Once it is to end, no block of edges is computed any more, wherever the search is."""
    begun = 0
    for seed in range(12):
        puzzle = draw_puzzle(random.Random(f"stopped {seed}"), most=14)
        count = puzzle.count
        for after in range(1, 40, 3):
            made = sweeps(puzzle, frozenset(range(count)), None, How(2, budget=0))
            fair, begins = made.fair(), np.arange(count) == 0
            if not (made.reaching(fair) & begins).any():
                break
            counted = Counted(made.edges, made.control.stop, after)
            made.edges = counted
            with contextlib.suppress(StoppedError):
                Behaviours(counted, made).lasso(begins, fair)
            assert counted.blocks_asked <= after
            begun += counted.blocks_asked == after
    assert begun > 20


class Counted:
    """Edges that set an event when a block is asked for that many times."""

    def __init__(self, edges: Any, stop: threading.Event, after: int) -> None:
        self._edges, self._stop, self._after, self.blocks_asked = edges, stop, after, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._edges, name)

    def block(self, *words: Any, **options: Any) -> Any:
        """A block, counted."""
        self.blocks_asked += 1
        if self.blocks_asked == self._after:
            self._stop.set()
        return self._edges.block(*words, **options)


@given(SEEDS)
def test_without_memory_the_naive_verdicts_stay(seed: int) -> None:
    """Where no edge, or few, can be kept, regions are narrowed and edges computed again, with the same result."""
    source = random.Random(f"little {seed}")
    agree(draw_puzzle(source, most=14), How(source.randint(1, 3), budget=source.choice((0, 60, 120))))
