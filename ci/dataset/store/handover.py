"""Handover: the first levels are explored natively, and written as committed levels of a distributed run.

A level is worth the work of an engine only when it is large. The native search runs
until a level has that many states; then every level so far is written as if a
job had found it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
from attrs import define, field

from kraftcheck.ci.dataset.store.groups import RowGroup
from kraftcheck.ci.dataset.store.levelfiles import LevelFile, LevelWriter
from kraftcheck.ci.dataset.store.manifests import PlacedOccurrence, StatePlace
from kraftcheck.ci.dataset.store.objects import AnyPath
from kraftcheck.solvers.blocks.tasks import ROW_BITS, BlockKernel, Words, first_claims
from kraftcheck.solvers.machine_code.compile import Kernel
from kraftcheck.solvers.machine_code.search_kernel import SHARDS
from kraftcheck.solvers.machine_code.transition import NO_ACTION
from kraftcheck.solvers.search.levels import HANDED_OVER, Limits, Search
from kraftcheck.solvers.search.visited import NO_PARENT

INITIAL = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
"""The mark of an initial state."""


@define
class NativeStart:
    """A native search that stops before the first large level.

    Attributes:
        search: the search.
        handover: states of a level that is left to the engine; 0: even the initial states.
        memory: bytes in use beyond which the next level is left to the engine.
        ends: for each level, how many states each shard had when it was whole.
        counters: for each level the frame before it was expanded.
        claims: for each level the claims recorded before it was expanded.
    """

    handover: int
    memory: int
    search: Search = field(init=False)
    ends: list[list[int]] = field(factory=list)
    counters: list[npt.NDArray[np.int64]] = field(factory=list)
    claims: list[dict[int, int]] = field(factory=list)

    def run(self, kernel: Kernel, threads: int, limits: Limits, stop: object, report: Callable[[Search], None]) -> bool:
        """Search; true when nothing is left to be expanded."""
        self.search = Search(kernel, limits, threads, stop, report, self._on_level)  # type: ignore[arg-type]
        self.search.run()
        return self.search.cut is None

    def _on_level(self, search: Search, ends: list[int]) -> bool:
        self.ends.append(ends)
        self.counters.append(search.counters())
        self.claims.append(dict(search.claims))
        return search.levels[-1] >= self.handover or search.bytes_in_use() > self.memory

    @property
    def handed_over(self) -> bool:
        """Whether it stopped for a large level."""
        return self.search.cut == HANDED_OVER

    def levels(self) -> Iterator[tuple[int, Words, npt.NDArray[np.int64]]]:
        """Each whole level's records with native ids as marks' parents: (depth, records, native ids)."""
        begins = [0] * SHARDS
        for depth, ends in enumerate(self.ends):
            rows, ids = [], []
            for number, shard in enumerate(self.search.store.shards):
                part = slice(begins[number], ends[number])
                marks = shard.parents[part].astype(np.uint64) << np.uint64(16) | shard.actions[part].astype(np.uint64)
                marks[shard.parents[part] == NO_PARENT] = INITIAL
                rows.append(np.column_stack([shard.states[part], marks]))
                ids.append(np.arange(begins[number], ends[number], dtype=np.int64) * SHARDS + number)
            yield depth, np.ascontiguousarray(np.concatenate(rows)), np.concatenate(ids)
            begins = ends


@define
class Export:
    """Writes the levels of a native start and translates their ids.

    Attributes:
        kernel: functions on blocks.
        new_ids: the id of a state within its depth, by native id.
        depths: its depth, by native id.
    """

    kernel: BlockKernel
    new_ids: npt.NDArray[np.int64]
    depths: npt.NDArray[np.int32]

    @classmethod
    def of(cls, kernel: BlockKernel, start: NativeStart) -> Export:
        """Room for the ids of a native start."""
        size = (max(start.search.store.counts()) + 1) * SHARDS
        return cls(kernel, np.full(size, -1, dtype=np.int64), np.full(size, -1, dtype=np.int32))

    def write(
        self, folder: AnyPath, depth: int, records: Words, ids: npt.NDArray[np.int64]
    ) -> tuple[LevelFile | None, list[RowGroup], dict[int, int]]:
        """Write one level: its file, its groups, and the first state of each claim about states."""
        spec = self.kernel.spec
        old = records[:, spec.words].copy()
        records[:, spec.words] = ids.view(np.uint64)
        ordered, counts = self.kernel.by_bucket(records)
        order = ordered[:, spec.words].view(np.int64).copy()
        first = np.repeat(np.cumsum(counts) - counts, counts)
        rows = np.arange(len(order)) - first
        buckets = np.repeat(np.arange(spec.buckets), counts)
        self.new_ids[order], self.depths[order] = buckets << ROW_BITS | rows, depth
        by_id = np.argsort(ids, kind="stable")
        marks = old[by_id[np.searchsorted(ids, order, sorter=by_id)]]
        later = marks != INITIAL
        parents = self.new_ids[(marks[later] >> np.uint64(16)).astype(np.int64)].astype(np.uint64)
        marks[later] = parents << np.uint64(16) | marks[later] & np.uint64(0xFFFF)
        ordered[:, spec.words] = marks
        bits = self.kernel.claims(ordered)
        claims: dict[int, int] = {}
        writer = LevelWriter(folder, depth, spec.words, spec.claim_words, 0)
        with writer:
            ends = np.cumsum(counts)
            for bucket in np.flatnonzero(counts).tolist():
                part = slice(int(ends[bucket] - counts[bucket]), int(ends[bucket]))
                writer.write(bucket, ordered[part], bits[part])
                for claim, row in first_claims(bits[part]).items():
                    claims.setdefault(claim, bucket << ROW_BITS | row)
        return writer.result(), writer.groups, claims

    def occurrence(self, mark: int) -> PlacedOccurrence:
        """Where the state of a native mark was written, and its action instance."""
        native = mark >> 16
        at = StatePlace(int(self.depths[native]), int(self.new_ids[native]))
        if min(at.depth, at.id) < 0:
            raise RuntimeError(f"native state {native} is in no level that was written")
        return PlacedOccurrence(at, mark & NO_ACTION)
