"""Random puzzles, and what the engine's sweeps say of them: the same graph in blocks of a few states."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import field, frozen

from kraftcheck.solvers.liveness.behaviours import Answer, Behaviours, Lasso, Question
from kraftcheck.solvers.liveness.fair import GROUP, Constraint, Sweeps, group_of
from kraftcheck.solvers.liveness.graph import Block
from kraftcheck.solvers.machine_code.edge_kernel import STUTTER
from tests.solvers.liveness.naive import Fair, Puzzle, reachable

ACTIONS = 5


def draw_puzzle(source: random.Random, most: int = 9, fairness: int = 4) -> Puzzle:
    """A graph whose states are all reachable, with up to so many constraints."""
    count = source.randint(1, most)
    density = source.choice((0.7, 1.2, 2.0, 3.0))
    steps = {(source.randrange(count), source.randrange(ACTIONS), source.randrange(count))
             for _ in range(int(density * count))}  # fmt: skip
    initial = {state for state in range(count) if source.random() < 0.3} or {0}
    after: dict[int, set[int]] = {state: {t for s, _, t in steps if s == state} for state in range(count)}
    kept = sorted(reachable(sorted(initial), after, set(range(count))))
    number = {state: place for place, state in enumerate(kept)}
    some = [frozenset(number[s] for s in kept if source.random() < share) for share in (0.4, 0.35)]
    fair = tuple(
        Fair(source.random() < 0.5, frozenset(source.sample(range(ACTIONS), source.choice((1, 1, 2)))),
             frozenset(number[s] for s in kept if source.random() < source.choice((0, 0, 0.3))))
        for _ in range(source.randint(0, fairness))
    )  # fmt: skip
    return Puzzle(
        len(kept), frozenset(number[s] for s in initial),
        tuple(sorted((number[s], a, number[t]) for s, a, t in steps if s in number)), fair, *some,
    )  # fmt: skip


@frozen
class ListedEdges:
    """The edges of a puzzle, in blocks of some states.

    Attributes:
        puzzle, size: the graph, and how many states a block has.
        cut: states with a step beyond a domain, of an action each.
    """

    puzzle: Puzzle
    size: int
    cut: dict[int, int] = field(factory=dict)

    @property
    def count(self) -> int:
        """Number of states."""
        return self.puzzle.count

    @property
    def blocks(self) -> Sequence[int]:
        """The first state of each block."""
        return range(0, self.count, self.size)

    def block(self, thread: int, number: int) -> Block:
        """A block, made anew each time."""
        first = self.blocks[number]
        starts, targets, instances = [], [], []
        for state in range(first, min(self.count, first + self.size)):
            out = [(t, a) for s, a, t in self.puzzle.steps if s == state and t != state]
            starts.append(len(targets))
            targets += [state, *(t for t, _ in out)]
            instances += [STUTTER, *(a for _, a in out)]
        cuts = [1 << self.cut[s] if s in self.cut else 0 for s in range(first, first + len(starts))]
        return Block(first, np.array(starts), np.array(targets, dtype=np.uint32),
                     np.array(instances, dtype=np.uint16), np.array(cuts, dtype=np.uint64))  # fmt: skip


def behaviours(puzzle: Puzzle, size: int = 3, threads: int = 1, cut: dict[int, int] | None = None) -> Behaviours:
    """What answers questions about a puzzle."""
    listed = [Constraint(one.strong, sorted(one.actions), sum(1 << a for a in one.actions)) for one in puzzle.fair]
    groups = tuple(group_of(listed[first : first + GROUP], puzzle.count) for first in range(0, len(listed), GROUP))
    edges = ListedEdges(puzzle, size, cut or {})
    sweeps = Sweeps(edges, groups, threads)

    def excused(group: int, states: slice) -> Any:
        kind = groups[group].by_instance.dtype
        fair = puzzle.fair[group * GROUP : (group + 1) * GROUP]
        bits = [sum(1 << n for n, one in enumerate(fair) if state in one.excused)
                for state in range(states.start, states.stop)]  # fmt: skip
        return np.array(bits, dtype=kind)

    sweeps.survey(excused)
    every = reachable(sorted(puzzle.initial), puzzle.after, set(range(puzzle.count)))
    return Behaviours(edges, sweeps, np.array([every[state] for state in range(puzzle.count)]))


def flags(puzzle: Puzzle, states: frozenset[int]) -> Any:
    """A set of states as an array of truths."""
    return np.array([state in states for state in range(puzzle.count)])


def question(puzzle: Puzzle, kind: str) -> Question:
    """The property of a kind that a puzzle's premise and goal make."""
    every = frozenset(range(puzzle.count))
    premise = puzzle.premise if kind == "leads_to" else every
    return Question(kind, flags(puzzle, premise), flags(puzzle, puzzle.goal), flags(puzzle, puzzle.initial),
                    tuple(range(len(puzzle.fair))))  # fmt: skip


def answer(puzzle: Puzzle, kind: str, size: int = 3, threads: int = 1) -> Answer:
    """The answer of the sweeps about a puzzle."""
    return behaviours(puzzle, size, threads).answer(question(puzzle, kind))


def breaks(puzzle: Puzzle, kind: str, lasso: Lasso) -> bool:
    """Whether some run along a lasso's actions is a fair behaviour that breaks the property: by trying them all."""
    length = len(lasso.way)
    actions = (*lasso.way, *lasso.cycle)
    runs = [[lasso.entry]]
    for action in actions:
        runs = [[*run, t] for run in runs for s, a, t in puzzle.steps if s == run[-1] and a == action and t != s]
    return any(run[-1] == run[length] and _broken(puzzle, kind, run, length) for run in runs)


def _broken(puzzle: Puzzle, kind: str, run: list[int], start: int) -> bool:
    cycle = run[start:-1] or run[start:]
    pairs = set(zip(run[start:], run[start + 1 :], strict=False))
    for fair in puzzle.fair:
        enabled = {s for s, _ in puzzle.taken(fair)}
        idle = not enabled & set(cycle) if fair.strong else not set(cycle) <= enabled
        if not (idle or pairs & puzzle.taken(fair)):
            return False
    if kind == "eventually_always":
        return not set(cycle) <= puzzle.goal
    begins = {"eventually": puzzle.initial, "leads_to": puzzle.premise}.get(kind, frozenset(run))
    return run[0] in begins and not puzzle.goal & set(run if kind in ("eventually", "leads_to") else cycle)
