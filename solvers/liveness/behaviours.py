"""The behaviours that break a liveness property, in an explored graph, and a shortest way into one.

Each property is broken by a fair behaviour that stays in a *region* from some state on: where its goal is false; of
`eventually_always` anywhere, if it visits states where the goal is false again and again. It enters the region where
its *wait* begins: in an initial state (`eventually`), where the premise holds (`leads_to`), anywhere (the others).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from attrs import define, frozen

from kraftcheck.solvers.liveness.components import Components
from kraftcheck.solvers.liveness.cycle import FairCycle
from kraftcheck.solvers.liveness.fair import Sweeps
from kraftcheck.solvers.liveness.graph import APPRAISED, Edges, Numbers, Truths
from kraftcheck.solvers.liveness.runs import Runs

STATE_BYTES = 15
"""Bytes that the search for a lasso takes for each state of a region, besides those of its constraints' bits."""

MANY_ROUNDS = 6
"""Rounds of the fixpoint after which components decide, where all edges are kept."""

ALONE = 2
"""States of a block that are tried alone."""


@frozen
class Question:
    """A liveness property of the states of its region.

    Attributes:
        kind: of `LIVENESS`.
        concerned: how many states of the graph it is about.
        waiting: the states where a wait for the goal begins, the goal being false.
    """

    kind: str
    concerned: int
    waiting: Truths

    @property
    def begins(self) -> Truths:
        """The states where a behaviour that breaks it may enter the region."""
        return self.waiting if self.kind in ("eventually", "leads_to") else np.ones_like(self.waiting)


@frozen
class Lasso:
    """A run into a fair cycle, by numbers of states.

    Attributes:
        entry: the state where the wait begins.
        way: action instances from there to the cycle.
        cycle: action instances of the cycle; none: the behaviour stays where it is.
    """

    entry: int
    way: tuple[int, ...]
    cycle: tuple[int, ...]


@frozen
class Answer:
    """The answer about one property.

    Attributes:
        concerned, waiting: how many states it is about, and how many of them have to wait.
        lasso: how it is broken; None: by no fair behaviour within the graph.
        uncertain: states that wait, and whose behaviours may leave the graph before the goal.
    """

    concerned: int
    waiting: int
    lasso: Lasso | None
    uncertain: Truths


@define
class Behaviours:
    """Answers the question about a region.

    Attributes:
        edges, sweeps: the region, and the constraints that the property is under.
        rounds: of the fixpoint, after which components decide.
    """

    edges: Edges
    sweeps: Sweeps
    rounds: int = MANY_ROUNDS

    def answer(self, question: Question) -> Answer:
        """The answer to a question."""
        begins, fair = question.begins, self.fair()
        lasso = None
        if fair.any() and ((fair & begins).any() or (self.sweeps.reaching(fair) & begins).any()):
            lasso = self.lasso(begins, fair)
        uncertain = np.zeros_like(begins)
        if lasso is None and self.sweeps.cut.any():
            uncertain = self.sweeps.reaching(self.sweeps.cut) & question.waiting
        return Answer(question.concerned, int(np.count_nonzero(question.waiting)), lasso, uncertain)

    def fair(self) -> Truths:
        """The states from which a behaviour stays in the region that satisfies all constraints.

        Where many rounds leave out some states each, as on long ways, components decide: all that reach a fair one.
        """
        kept = self.sweeps.fair(self.rounds)
        if not self.sweeps.unfinished:
            return kept
        components = Components(self.sweeps, kept)
        while components.open.any():
            components.decide()
        goal = components.fair
        for first in range(0, len(goal), APPRAISED):
            states = np.arange(first, min(len(goal), first + APPRAISED))
            goal[states] |= self._still(states)
        return self.sweeps.reaching(goal)

    def lasso(self, begins: Truths, fair: Truths) -> Lasso:
        """The lasso with the shortest stem: nearest states first; where a behaviour may stay, before other cycles."""
        state, cycle = self._nearest(begins, fair)
        if begins.all():
            return Lasso(state, (), cycle)
        runs = Runs.none(self.edges, self.sweeps.check_stop, back=True)
        for _ in self._nearest_first(begins, runs):
            if runs.marks[state]:
                break
        way = runs.back(state)
        return Lasso(way.states[0], way.instances, cycle)

    def _nearest(self, begins: Truths, fair: Truths) -> tuple[int, tuple[int, ...]]:
        """The state where the cycle of the lasso begins, and its action instances; `fair` is used up."""
        self.edges.enter()
        bits = sum(group.enabled.itemsize for group in self.sweeps.groups)
        self.sweeps.lend(self.edges.count * max(0, STATE_BYTES - bits))  # 2 for each bit were free again
        components = Components(self.sweeps, fair)
        runs = Runs.none(self.edges, self.sweeps.check_stop, back=False)
        for _ in self._nearest_first(begins, runs):
            for near in runs.numbers():
                halts = near[self._still(near)]
                if len(halts):
                    return int(halts[0]), ()
            for near in runs.numbers():
                found = self._first_cycle(near, components)
                if found is not None:
                    return found
        raise AssertionError("a fair behaviour ends in a cycle")

    def _first_cycle(self, near: Numbers, components: Components) -> tuple[int, tuple[int, ...]] | None:
        """The first of some states that is on a fair cycle, and a short one; None: none is.

        Where edges are computed again, a few are tried alone before components are looked for.
        """
        tried = 0
        while len(near := components.among(near)):
            state = int(near[0])
            if components.fair[state] or (tried < ALONE and not components.at_once):
                tried += 1
                within = components.component(state) if components.fair[state] else components.open.copy()
                cycle = FairCycle(self.sweeps, within, state).instances()
                if cycle is not None:
                    return state, cycle
                assert not components.fair[state], "every constraint can be satisfied in a fair component"
                components.open[state] = False
            else:
                components.decide()
        return None

    def _still(self, states: Numbers) -> Truths:
        """At which of some states a fair behaviour may stay for ever: nothing that is fair is enabled."""
        still = np.ones(len(states), dtype=np.bool_)
        for group in self.sweeps.groups:
            still &= group.enabled[states] == 0
        return still

    def _nearest_first(self, begins: Truths, runs: Runs) -> Iterator[None]:
        """Let the farthest states of runs be, in turn, those to which a shortest run that begins a wait is so long."""
        everywhere, count = bool(begins.all()), self.edges.count
        for first, last in itertools.pairwise(itertools.chain(self.edges.levels, itertools.repeat(count))):
            if last > first:
                runs.begin(first, begins[first:last])
            if runs.moves:
                yield
            elif first == count:
                return
            if everywhere:
                runs.leave()
            else:
                runs.step()
