"""Random puzzles, and what the engine's sweeps say of them: the same graph in blocks of a few states."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define, evolve, field, frozen

from kraftcheck.solvers.liveness.behaviours import Behaviours, BehavioursAnswer, Lasso, Question
from kraftcheck.solvers.liveness.constraints import GROUP, TO_VISIT, Constraint, classes_of, groups_of
from kraftcheck.solvers.liveness.fair import SweepControl, Sweeps
from kraftcheck.solvers.liveness.graph import Block
from kraftcheck.solvers.machine_code.graph_kernels import OUTSIDE
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


@define(eq=False)
class ListedEdges:
    """The edges of a puzzle within a region, in blocks of some states."""

    # puzzle, states, size: the graph, the region's states by depth, and how many of them a block has
    puzzle: Puzzle
    states: list[int]
    size: int
    cut: dict[int, int]  # states with a step beyond a domain, of an action each
    levels: Sequence[int] = field(init=False)
    blocks: Sequence[int] = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Index levels and blocks."""
        depth = depths(self.puzzle)
        self.blocks = range(0, self.count, self.size)
        self.levels = [sum(depth[s] < level for s in self.states) for level in range(max(depth) + 2)]

    @property
    def count(self) -> int:
        """Number of states."""
        return len(self.states)

    def block(self, thread: int, number: int, wanted: Any, *, inner: bool = True) -> Block:
        """A block, made anew each time."""
        first, number_of = self.blocks[number], {state: place for place, state in enumerate(self.states)}
        own = self.states[first : first + self.size]
        starts, targets, instances = [0], [], []
        for state, is_wanted in zip(own, wanted, strict=True):
            out = [(number_of.get(t, OUTSIDE), a) for s, a, t in self.puzzle.steps if s == state != t and is_wanted]
            out = [(t, a) for t, a in out if t != OUTSIDE or not inner]
            targets += [t for t, _ in out]
            instances += [a for _, a in out]
            starts.append(len(targets))
        cuts = [1 << self.cut[s] if s in self.cut else 0 for s in own]
        return Block(first, np.array(starts, dtype=np.uint32), np.array(targets, dtype=np.uint32),
                     np.array(instances, dtype=np.uint16), np.array(cuts, dtype=np.uint64))  # fmt: skip

    def narrowed(self, states: Any) -> ListedEdges:
        """The region of some of its states."""
        left = [state for state, stays in zip(self.states, states, strict=True) if stays]
        return ListedEdges(self.puzzle, left, self.size, self.cut)

    def enter(self) -> None:
        """Nothing has to be done to use it."""


def depths(puzzle: Puzzle) -> list[int]:
    """The distance of each state from the initial ones."""
    every = reachable(sorted(puzzle.initial), puzzle.after, set(range(puzzle.count)))
    return [every[state] for state in range(puzzle.count)]


def sweeps(puzzle: Puzzle, region: frozenset[int], visit: frozenset[int] | None, how: How) -> Sweeps:
    """The sweeps over a region of a puzzle, whose fair behaviours visit some states if so asked."""
    depth = depths(puzzle)
    edges = ListedEdges(puzzle, sorted(region, key=lambda s: (depth[s], s)), how.size, how.cut)
    listed = [Constraint(one.strong, sorted(one.actions), sum(1 << a for a in one.actions)) for one in puzzle.fair]
    excused = [one.excused for one in puzzle.fair]
    if visit is not None:
        listed, excused = [*listed, TO_VISIT], [*excused, visit]
    kinds, classes = classes_of(listed)
    control = SweepControl(how.threads, budget=how.budget, many=how.many, scratch=how.scratch)
    made = Sweeps(edges, kinds, groups_of(listed, classes, edges.count), control)
    for number, states in enumerate(excused):
        for place, state in enumerate(edges.states):
            if state in states:
                bits = made.groups[number // GROUP].enabled
                bits[place] &= ~bits.dtype.type(1 << number % GROUP)
    return made


@frozen
class How:
    """How sweeps run: states of a block, threads, bytes for edges, what bounds cut, limits, a folder."""

    size: int = 3
    threads: int = 1
    budget: int = 1 << 20
    cut: dict[int, int] = field(factory=dict)
    many: int = 12
    rounds: int = 6
    scratch: Path | None = None


USUAL = How()


def answer(puzzle: Puzzle, kind: str, how: How = USUAL) -> BehavioursAnswer:
    """The answer of the sweeps about a puzzle's premise and goal, in the numbers of the puzzle."""
    every = frozenset(range(puzzle.count))
    concerned = {"leads_to": puzzle.premise, "eventually": puzzle.initial}.get(kind, every)
    everywhere, unsatisfied = kind == "eventually_always", every - puzzle.goal
    made = sweeps(puzzle, every if everywhere else unsatisfied, unsatisfied if everywhere else None, how)
    states = made.edges.states  # type: ignore[attr-defined]
    waiting = np.array([s in concerned - puzzle.goal for s in states], dtype=np.bool_)
    found = Behaviours(made.edges, made, how.rounds).answer(Question(kind, len(concerned), waiting))
    lasso = None if found.lasso is None else evolve(found.lasso, entry=states[found.lasso.entry])
    return evolve(found, lasso=lasso)


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
