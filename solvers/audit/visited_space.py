"""The visited set of the native search as a space that the audit samples."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
from attrs import define, evolve

from kraftcheck.solvers.audit.audit import Audit, audit_space
from kraftcheck.solvers.audit.sampling import Packed, Rows, Sampling, one_by_one
from kraftcheck.solvers.audit.single_state import NativeEngine
from kraftcheck.solvers.machine_code.compile import Kernel
from kraftcheck.solvers.machine_code.frame import NO_ACTION, live_kinds
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.search.levels import Search
from kraftcheck.solvers.search.visited import VisitedSet


@define
class VisitedSpace:
    """The levels of a visited set, as `sampling.Space`.

    Attributes:
        store: the visited set.
    """

    store: VisitedSet

    @property
    def sizes(self) -> list[int]:
        """See `Space`."""
        totals = [0, *map(sum, self.store.ends)]
        return [after - before for before, after in itertools.pairwise(totals)]

    def _rows(self, depth: int, step: int = 1) -> Iterator[Rows]:
        """The states of a level, shard by shard, of each shard only every few."""
        begins = self.store.ends[depth - 1] if depth else [0] * len(self.store.shards)
        for shard, begin, end in zip(self.store.shards, begins, self.store.ends[depth], strict=True):
            yield shard.states[begin:end:step]

    def some(self, depth: int, count: int) -> Rows:
        """See `Space`."""
        return np.concatenate(list(self._rows(depth, max(1, self.sizes[depth] // count))))

    def states(self) -> Iterator[Packed]:
        """See `Space`."""
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

    def audit(self, search: Search, first: Kernel, sampling: Sampling, clock: Callable[[], float]) -> Audit:
        """Compare a sample of what a search found, by the code that it began with and by that of its end.

        Raises:
            EngineDisagreement: naming what differs, and in which state.
        """
        start = clock()
        kernels = [first] if search.kernel is first else [first, search.kernel]
        visited = None if search.cut is not None else lambda packed: self.store.identify(packed) is not None
        result = audit_space(
            first.program, [NativeEngine(kernel) for kernel in kernels], self, sampling, search.generated,
            visited=visited, entries=self.entries(first.program), stop=search.stop,
        )  # fmt: skip
        return evolve(result, seconds=clock() - start)
