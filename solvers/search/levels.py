"""The level-synchronous search over compiled kernels.

A level is expanded in chunks of a fixed number of states from each shard; a
round is a fixed number of chunks. First the threads expand the chunks of a
round into candidate buffers, then they insert the candidates shard by shard,
in the order of the chunks. So discovery order, parents and counts are those
of one thread, whatever the number of threads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
from attrs import define, field, frozen

from kraftcheck.solvers.machine_code.compile import Kernel
from kraftcheck.solvers.machine_code.frame import NO_ACTION
from kraftcheck.solvers.machine_code.objectcode import address
from kraftcheck.solvers.machine_code.search_kernel import SHARDS
from kraftcheck.solvers.machine_code.threads import ThreadPool
from kraftcheck.solvers.program.stop import stop_reason
from kraftcheck.solvers.search.buffers import CandidateBuffers, Counters, ThreadBuffers
from kraftcheck.solvers.search.orders.blocks import OrderBlocks
from kraftcheck.solvers.search.visited import NO_PARENT, VisitedSet

SLICE = 64
"""Most states that one chunk takes from each shard."""

CHUNKS = 32
"""Most chunks of a round."""

RECOMPILE_AFTER = 1 << 27
"""Generated states after which better code pays for the seconds that it takes to compile."""

SMALL_BATCH = 4096
"""Candidates that one thread inserts sooner than several threads meet."""

CANDIDATES = 1 << 24
"""Most candidates of a round, as far as a round of one chunk of one slice allows."""

FIRST_VIOLATION = "stopped at the first violation"
OUT_OF_MEMORY = "memory limit"
HANDED_OVER = "handed over to another engine"


@frozen
class Limits:
    """Where a search may be cut.

    Attributes:
        memory: bytes for the visited set and the buffers.
        max_depth: levels after the initial states; states there are judged, not expanded.
        max_states: no further round once so many distinct states are visited.
        stop_at_first: no further round once a property is refuted.
    """

    memory: int
    max_depth: int | None = None
    max_states: int | None = None
    stop_at_first: bool = False


@define
class Search:
    """One exploration, level by level.

    Attributes:
        kernel: the compiled program.
        limits: where it may be cut.
        threads: how many threads.
        stop: set from outside to end it.
        on_round: called after each round.
        on_level: called before a level is expanded; true cuts the search there.
        recompile: makes faster code, called once when the search turns out long; None: keep the code.
        store: the visited set.
        buffers: one for each thread.
        orders: how the reduction of orders goes; None: every order is followed.
        levels: distinct states found at each depth.
        claims: for each claim that occurred, the mark of its first occurrence.
        queue: states waiting for expansion at this depth.
        cut: why the search is not complete; None when it is.
    """

    kernel: Kernel
    limits: Limits
    threads: int
    stop: threading.Event
    on_round: Callable[[Search], None]
    on_level: Callable[[Search, list[int]], bool] = lambda search, ends: False
    recompile: Callable[[], Kernel] | None = None
    store: VisitedSet = field(init=False)
    buffers: list[ThreadBuffers] = field(init=False)
    orders: OrderBlocks | None = None
    levels: list[int] = field(factory=list)
    claims: dict[int, int] = field(factory=dict)
    queue: int = 0
    cut: str | None = None
    pieces: list[CandidateBuffers] = field(factory=list)
    _slice: int = field(init=False)
    _chunks: int = field(init=False)
    _idle: list[CandidateBuffers] = field(factory=list)
    _pool: ThreadPool = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Choose the size of a round; allocate what each thread needs."""
        geometry = self.kernel.geometry
        each = SHARDS * max(1, geometry.instances)
        self._slice = max(1, min(SLICE, CANDIDATES // each))
        affordable = self.limits.memory // (64 * geometry.piece)
        self._chunks = max(1, min(CHUNKS, CANDIDATES // (each * self._slice), affordable))
        self.store = VisitedSet(self.kernel)
        self.buffers = [ThreadBuffers(self.kernel) for _ in range(self.threads)]
        self._pool = ThreadPool(self.threads)
        if (plan := self.kernel.program.orders) is not None:
            controls = np.array([address(shard.control) for shard in self.store.shards], dtype=np.int64)
            self.orders = OrderBlocks(plan, self.threads, controls)

    @property
    def distinct(self) -> int:
        """Distinct states so far."""
        return sum(self.store.counts())

    @property
    def generated(self) -> int:
        """Transitions taken so far, and the initial states."""
        plan = self.kernel.plan
        transitions = sum(int(buffers.frame[plan.fired : plan.pruned].sum()) for buffers in self.buffers)
        return transitions + len(self.kernel.program.initial)

    def counters(self) -> Counters:
        """The frames of all threads: counts added, coverage bits joined."""
        return self.kernel.plan.join(np.stack([buffers.frame for buffers in self.buffers]))

    def bytes_in_use(self) -> int:
        """Bytes of memory in use: visited set, buffers, filters."""
        record = 8 * self.kernel.geometry.record
        candidates = sum(int(np.maximum(piece.peak_counts, piece.counts).sum()) for piece in self.pieces) * record
        return self.store.bytes_in_use() + candidates + sum(own.recent.nbytes for own in self.buffers)

    def release(self) -> None:
        """Give the buffers of candidates back after a search; they still count as memory that it took."""
        for piece in self.pieces:
            piece.release()

    def run(self) -> None:
        """Search until nothing is left or the search is cut."""
        with self._pool:
            begins = [0] * SHARDS
            self._seed()
            while self.cut is None:
                ends = self.store.counts()
                if ends == begins:
                    return
                self.levels.append(sum(ends) - sum(begins))
                self.store.ends.append(ends)
                if self.on_level(self, ends):
                    self.cut = HANDED_OVER
                    return
                if self.recompile is not None and self.generated >= RECOMPILE_AFTER:
                    self.kernel, self.recompile = self.recompile(), None
                    self.store.work_with(self.kernel)
                self._level(begins, ends)
                begins = ends
            if distinct := self.distinct - sum(begins):
                self.levels.append(distinct)
                self.store.ends.append(self.store.counts())

    def _seed(self) -> None:
        """Insert the initial states."""
        mark = NO_PARENT << 16 | NO_ACTION
        states = np.array(self.kernel.program.initial, dtype=np.uint64)
        first, size, room = address(states), states.strides[0], self.kernel.geometry.room
        shards = np.array([self.kernel.shard_of(first + size * place) for place in range(len(states))])
        pieces = [self._take_piece() for _ in range(-(-int(np.bincount(shards).max()) // room))]
        for shard in range(SHARDS):
            own = states[shards == shard]
            for piece, begin in zip(pieces, range(0, len(own), room), strict=False):
                rows = own[begin : begin + room]
                piece.records[shard, : len(rows), :-1] = rows
                piece.records[shard, : len(rows), -1] = mark
                piece.counts[shard] = len(rows)
        self._insert(pieces)

    def _level(self, begins: list[int], ends: list[int]) -> None:
        """Expand the states of one depth, round by round."""
        judge_only = self.limits.max_depth is not None and len(self.levels) > self.limits.max_depth
        chunks = max(-(-(end - begin) // self._slice) for begin, end in zip(begins, ends, strict=True))
        starts, stops = np.array(begins), np.array(ends)
        if self.orders is not None:
            self.orders.begin_level(ends)
        for first in range(0, chunks, self._chunks):
            number = min(self._chunks, chunks - first)
            self._round(starts + first * self._slice, stops, number, judge_only)
            self.queue = int(np.maximum(stops - starts - (first + number) * self._slice, 0).sum())
            self.on_round(self)
            self._check_limits(last=first + number >= chunks)
            if self.cut is not None:
                return
        if judge_only:
            self.cut = f"depth limit {self.limits.max_depth}"

    def _check_limits(self, *, last: bool) -> None:
        """Cut the search where a limit is reached; a memory cut was noted on insertion."""
        limits, plan = self.limits, self.kernel.plan
        if self.cut is not None:
            return
        if self.stop.is_set():
            self.cut = stop_reason(self.stop)
        elif limits.stop_at_first and not plan.goals.issuperset(self.claims):
            self.cut = FIRST_VIOLATION
        elif limits.max_states is not None and self.distinct >= limits.max_states and self._unfinished(last):
            self.cut = f"state limit {limits.max_states:,}"

    def _unfinished(self, last: bool) -> bool:
        return not last or self.distinct > sum(self.levels)

    def _round(self, starts: Counters, stops: Counters, chunks: int, judge_only: bool) -> None:
        stores = self.store.addresses()
        batches: list[list[CandidateBuffers]] = [[] for _ in range(chunks)]

        def expand(thread: int, chunk: int) -> None:
            own = self.buffers[thread]
            np.minimum(starts + chunk * self._slice, stops, out=own.ranges[:, 0])
            np.minimum(starts + (chunk + 1) * self._slice, stops, out=own.ranges[:, 1])
            own.frame[self.kernel.plan.shard] = own.frame[self.kernel.plan.index] = 0
            finished = False
            while not finished:
                piece = self._take_piece()
                finished = self._expand(thread, stores, piece, judge_only)
                batches[chunk].append(piece)

        self._pool.run(chunks, expand, self.stop.is_set)
        pieces = [piece for group in batches for piece in group]
        for piece in pieces:
            self._note_claims(piece)
        self._insert(pieces)

    def _expand(self, thread: int, stores: Counters, piece: CandidateBuffers, judge_only: bool) -> bool:
        plan, buffers = self.kernel.plan, self.buffers[thread]
        claims = slice(plan.claims, plan.claims + plan.claim_count)
        expand, block = self.kernel.expand, list[int]()
        if self.orders is not None:
            expand, block = self.kernel.expand_in_orders(), [self.orders.block(thread)]
        finished = expand(
            address(buffers.frame), address(stores), address(buffers.ranges), address(piece.records),
            address(piece.counts), address(buffers.recent), address(buffers.scratch), int(judge_only), *block,
        )  # fmt: skip
        if buffers.frame[plan.claim_found]:
            piece.claims = buffers.frame[claims].copy()
            buffers.frame[claims] = 0
            buffers.frame[plan.claim_found] = 0
        return bool(finished)

    def _note_claims(self, piece: CandidateBuffers) -> None:
        if piece.claims is not None:
            for claim in np.flatnonzero(piece.claims).tolist():
                self.claims.setdefault(claim, int(piece.claims[claim]) - 1)

    def _insert(self, pieces: list[CandidateBuffers]) -> None:
        """Insert the candidates of pieces, in order; a full shard cuts the search."""
        addresses = np.array([address(piece.records) for piece in pieces], dtype=np.int64)
        counts = np.array([piece.counts for piece in pieces], dtype=np.int64)
        buffer_bytes = min(self.limits.memory // 4, 8 * self.kernel.geometry.piece * self._chunks)
        budget = (self.limits.memory - buffer_bytes) // SHARDS
        full: list[int] = []
        receiving = np.flatnonzero(counts.any(axis=0)).tolist() if pieces else []

        def insert(_: int, job: int) -> None:
            shard = receiving[job]
            if not self.store.shards[shard].insert(address(addresses), address(counts), len(pieces), shard, budget):
                full.append(shard)

        (self._pool if counts.sum() > SMALL_BATCH else ThreadPool(1)).run(len(receiving), insert)
        for piece in pieces:
            piece.reset()
            self._idle.append(piece)
        if full:
            self.cut = f"{OUT_OF_MEMORY} {self.limits.memory:,} bytes"

    def _take_piece(self) -> CandidateBuffers:
        try:
            return self._idle.pop()
        except IndexError:
            self.pieces.append(piece := CandidateBuffers(self.kernel))
            return piece
