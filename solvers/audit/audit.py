"""The audit: states of a search are sampled and compared with the rules on Python ints.

A verdict rests on compiled code, which rests on traced rules. The rules on ints
are the definition. So guards, successors, cut transitions, properties and
deadlock of some states are compared, and whether the search visited every
successor. The size of the sample depends on the sizes of the space and of the
rules, never on a clock: it is the same on every machine.
"""

from __future__ import annotations

import hashlib
import itertools
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import define, evolve, field, frozen

from kraftcheck.solvers.audit.comparison import EngineReport, NativeEngine, StateComparison, StateEngine
from kraftcheck.solvers.audit.sampling import ExploredLevels, Packed, Rows, Sampling, hashed, one_by_one, order
from kraftcheck.solvers.machine_code.compile import Kernel
from kraftcheck.solvers.machine_code.transition import NO_ACTION, live_kinds
from kraftcheck.solvers.program.evaluation import closure
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.search.levels import Search
from kraftcheck.solvers.search.visited import VisitedSet

FLOOR = 4
"""States that are audited in any case, where there are so many, besides one for each action that led to a new state."""

MOST_STATES = 1000  # most states of a small space that are audited; one more for each 2^20 transitions

BUDGET, BUDGET_OF_TERM = 16_000, 4
"""Terms that a sample may evaluate on ints in any case, and for each term of the traced rules, which the time of
compiling grows with. On ints a term takes about a microsecond."""

TRANSITIONS_PER_TERM = 500
"""Transitions of a search for which the budget grows by a term: 1 to 3 hundredths of the time of the search."""

ENABLED_COMPARED, DISABLED_COMPARED = 4, 32
"""Instances of a state that are compared: of those that the engine takes, and of the others."""

DISABLED_AT_ENTRY, DISABLED_WHERE_CUT = 8, 512
"""Of the others where an instance is given, and where a domain cut a transition or none is taken: there all of them
are needed for the comparison."""

INITIAL = 64  # initial states that are compared
GUARD_TERMS, FIELD_TERMS = 16, 4  # what it costs on ints to ask a guard, and to read or pack a field of a state


@frozen
class Audit:
    """The extent of an audit that found no difference."""

    # states, transitions: compared; a transition by guard, successor and properties of the step
    states: int
    transitions: int
    refused: int  # action instances that are enabled neither on ints nor compiled, or cut by both
    seed: int  # of the sample
    exhaustive: bool  # whether each state was compared in all of its action instances
    sample: str  # digest of the states and instances
    seconds: float = 0.0  # what it took


def audit_space(
    program: Program, engines: Sequence[StateEngine], space: ExploredLevels, sampling: Sampling, generated: int, *,
    visited: Callable[[Packed], bool] | None = None, entries: Mapping[Packed, Collection[int]] | None = None,
    stop: threading.Event | None = None,
) -> Audit:  # fmt: skip
    """Compare a sample.

    Args:
        engines: the compiled code that explored it.
        sampling: how much, and the seed.
        generated: transitions of the search, with which the sample grows.
        visited: whether a packed state is among those found; None where the search is not complete.
        entries: states to begin with, each with action instances to compare it in.
        stop: once set, no further state is begun.

    Raises:
        EngineDisagreement: naming what differs, and in which state.
    """
    entry_states, total = entries or {}, sum(space.sizes)
    budget = BUDGET + BUDGET_OF_TERM * len(program.graph.nodes) + generated // TRANSITIONS_PER_TERM
    costs = Costs.of(program)
    if (
        sampling.states is None
        and total <= MOST_STATES
        and costs.of_space(total, program.instances, generated) <= budget
    ):
        sampling = evolve(sampling, states=total)
    limit = Limit(sampling.states, FLOOR + len(entry_states), MOST_STATES + (generated >> 20), budget)
    auditor = Auditor(program, engines, sampling, StateComparison(program, visited), costs)
    auditor.comparison.initial(INITIAL)
    for packed in _sequence(space, sampling, entry_states):
        if limit.is_reached(auditor.states, auditor.cost) or (auditor.states and stop is not None and stop.is_set()):
            break
        auditor.compare(packed, entry_states.get(packed, ()))
    if not auditor.states and any(space.sizes):
        raise EngineDisagreement("no state of those that the engine found could be read for the audit")
    return auditor.result()


def _sequence(space: ExploredLevels, sampling: Sampling, entries: Mapping[Packed, Collection[int]]) -> Iterator[Packed]:
    """The entries and then the others; all as they were found where all are wanted."""
    if sampling.states is not None and sampling.states >= sum(space.sizes):
        yield from space.states()
        return
    yield from entries
    yield from (packed for packed in order(space, sampling.seed) if packed not in entries)


@frozen
class Costs:
    """The costs of comparisons on ints, counted in terms."""

    state: int  # the properties of a state, and reading it
    kinds: Mapping[int, int]  # by number of an action kind, a transition of it

    @classmethod
    def of(cls, program: Program) -> Costs:
        """Estimated from the terms that the rules were traced to."""
        width = FIELD_TERMS * len(program.layout.slots)
        claims = [*program.always_terms, *program.sometimes_terms, program.quiescent]
        claims += [term for claim in program.recovers for term in (claim.when, claim.goal)]
        claims += program.liveness.terms
        kinds = {n: width + len(closure((*kind.after, *kind.steps))) for n, kind in live_kinds(program)}
        return cls(width + len(closure(claims)), kinds)

    def of_space(self, states: int, instances: int, generated: int) -> int:
        """An upper bound of the cost of all states in all of their instances."""
        return states * (self.state + GUARD_TERMS * instances) + generated * max(self.kinds.values(), default=0)


@frozen
class Limit:
    """Where a sample ends."""

    states: int | None  # states; None: `floor` at least, `ceiling` at most, and else as many as `budget` pays for
    floor: int
    ceiling: int
    budget: int

    def is_reached(self, states: int, cost: int) -> bool:
        """Whether so many states, at this cost, are enough."""
        if self.states is not None:
            return states >= self.states
        return states >= self.ceiling or (states >= self.floor and cost >= self.budget)


@define
class Auditor:
    """Chooses action instances of states, compares them, and counts."""

    # program, engines, sampling: as `audit_space` takes them
    program: Program
    engines: Sequence[StateEngine]
    sampling: Sampling
    comparison: StateComparison
    costs: Costs
    # states, transitions, refused, cost: counted so far
    states: int = 0
    transitions: int = 0
    refused: int = 0
    cost: int = 0
    _kind_counts: Counter[tuple[int, bool]] = field(factory=Counter)
    _digest: Any = field(factory=hashlib.sha256)

    @property
    def exhaustive(self) -> bool:
        """Whether every action instance of a state is compared."""
        return self.sampling.states is not None

    def compare(self, packed: Packed, forced: Collection[int]) -> None:
        """Compare a state, in these action instances at least; raises as `audit_space` does."""
        reports = [engine(packed) for engine in self.engines]
        chosen = self._chosen(packed, reports[0], forced)
        for report in reports:
            transitions = self.comparison.state(packed, report, chosen)
        self.states += 1
        self.transitions += transitions
        self.refused += len(chosen) - transitions
        self.cost += self.costs.state + GUARD_TERMS * len(chosen)
        self.cost += sum(self.costs.kinds[self.comparison.owner[n]] for n, _ in reports[0].after if n in chosen)
        self._digest.update(f"{packed} {sorted(chosen)}\n".encode())

    def _chosen(self, packed: Packed, report: EngineReport, forced: Collection[int]) -> set[int]:
        if self.exhaustive:
            return set(range(self.program.instances))
        key = int(hashed(np.array([packed], dtype=np.uint64), self.sampling.seed)[0])
        numbers = np.array([number for number, _ in report.after], dtype=np.uint64)
        enabled: list[int] = numbers[np.argsort(hashed(numbers[:, None], key), kind="stable")].tolist()
        chosen = {*forced, *(n for n in report.occurrences.values() if n != NO_ACTION)}
        for _ in range(0 if forced else min(ENABLED_COMPARED, len(enabled))):
            number = min(enabled, key=lambda n: self._kind_counts[self.comparison.owner[n], True])
            enabled.remove(number)
            self._kind_counts[self.comparison.owner[number], True] += 1
            chosen.add(number)
        open_ = report.pruned or not report.after
        most = DISABLED_WHERE_CUT if open_ else DISABLED_AT_ENTRY if forced else DISABLED_COMPARED
        return chosen | self._disabled(key, {number for number, _ in report.after}, most)

    def _disabled(self, key: int, enabled: Collection[int], most: int) -> set[int]:
        """Instances that the engine does not take, of the kinds first that were met least."""
        if self.program.instances - len(enabled) <= most:
            return set(range(self.program.instances)).difference(enabled)
        kinds = [number for number, _ in live_kinds(self.program)]
        chosen: set[int] = set()
        for draw in hashed(np.arange(most, dtype=np.uint64)[:, None], key).tolist():
            number = min(kinds, key=lambda n: self._kind_counts[n, False])
            kind = self.program.kinds[number]
            self._kind_counts[number, False] += 1
            chosen.add(kind.first + draw % len(kind.instances))
        return chosen.difference(enabled)

    def result(self) -> Audit:
        """The extent of the audit."""
        sample = self._digest.hexdigest()[:16]
        return Audit(self.states, self.transitions, self.refused, self.sampling.seed, self.exhaustive, sample=sample)


@define
class VisitedSpace:
    """The levels of a visited set, as `sampling.Space`."""

    store: VisitedSet

    @property
    def sizes(self) -> list[int]:
        """See `ExploredLevels`."""
        totals = [0, *map(sum, self.store.ends)]
        return [after - before for before, after in itertools.pairwise(totals)]

    def _rows(self, depth: int, step: int = 1) -> Iterator[Rows]:
        """The states of a level, shard by shard, of each shard only every few."""
        begins = self.store.ends[depth - 1] if depth else [0] * len(self.store.shards)
        for shard, begin, end in zip(self.store.shards, begins, self.store.ends[depth], strict=True):
            yield shard.states[begin:end:step]

    def some(self, depth: int, count: int) -> Rows:
        """See `ExploredLevels`."""
        return np.concatenate(list(self._rows(depth, max(1, self.sizes[depth] // count))))

    def states(self) -> Iterator[Packed]:
        """See `ExploredLevels`."""
        for depth in range(len(self.store.ends)):
            for rows in self._rows(depth):
                yield from one_by_one(rows)

    def entries(self, program: Program) -> dict[Packed, list[int]]:
        """For each action kind a state from which it led to a new one, with the instance that did."""
        owner = {kind.first + row: n for n, kind in live_kinds(program) for row in range(len(kind.instances))}
        first: dict[int, int] = {}
        for number, shard in enumerate(self.store.shards):
            places = np.full(NO_ACTION + 1, -1, dtype=np.int64)
            # Of several values for one place the last stays: the first state in the order of discovery.
            places[shard.actions[: shard.count][::-1]] = np.arange(shard.count)[::-1]
            for instance in np.flatnonzero(places[:NO_ACTION] >= 0).tolist():
                identity = int(places[instance]) * len(self.store.shards) + number
                first[owner[instance]] = min(identity, first.get(owner[instance], identity))
        entries: dict[Packed, list[int]] = {}
        for _, identity in sorted(first.items()):
            parent, instance = self.store.origin(identity)
            entries.setdefault(self.store.state(parent), []).append(instance)
        return entries

    def audit(self, search: Search, kernels: Sequence[Kernel], sampling: Sampling, clock: Callable[[], float]) -> Audit:
        """Compare a sample of what a search found, by each code that it ran.

        Raises:
            EngineDisagreement: naming what differs, and in which state.
        """
        start = clock()
        visited = None if search.cut is not None else lambda packed: self.store.identify(packed) is not None
        result = audit_space(
            search.kernel.program, [NativeEngine(kernel) for kernel in kernels], self, sampling, search.generated,
            visited=visited, entries=self.entries(search.kernel.program), stop=search.stop,
        )  # fmt: skip
        return evolve(result, seconds=clock() - start)
