"""The level-synchronous search over compiled kernels: while one round of a level is inserted, the next is expanded."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from attrs import define, field, frozen

from kraftcheck.solvers.machine_code.compile import Kernel
from kraftcheck.solvers.machine_code.objectcode import CompileEffort, address, effort_for
from kraftcheck.solvers.machine_code.search_kernel import SHARDS
from kraftcheck.solvers.machine_code.threads import ThreadPool
from kraftcheck.solvers.machine_code.transition import NO_ACTION
from kraftcheck.solvers.program.stop import stop_reason
from kraftcheck.solvers.search.orders import OrderBlocks
from kraftcheck.solvers.search.visited import NO_PARENT, CandidateBuffers, Counters, ThreadBuffers, VisitedSet


@define(eq=False)
class ExpansionRound:
    """Some chunks of a level, and their candidates."""

    number: int
    ranges: Counters  # for each chunk and shard the first state, and the one behind the last
    chunks: int
    batches: list[list[CandidateBuffers]] = field(init=False)  # for each chunk the buffers that it filled
    places: list[int] = field(init=False)  # for each chunk the address of its ranges
    # addresses of the buffers' addresses and of the numbers of records, and how many buffers
    candidates: tuple[int, int, int] = field(init=False)
    receiving: Sequence[int] | None = None  # the shards that have candidates; None before all chunks are expanded
    waiting: int = field(init=False)  # parts of the work that are not done: chunks, then shards
    _places: Counters = field(init=False)
    _counts: Counters = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Begin with no candidates."""
        self.batches, self.waiting = [[] for _ in range(self.chunks)], self.chunks
        first, step = address(self.ranges), self.ranges.strides[0]
        self.places = [first + step * chunk for chunk in range(self.chunks)]

    @property
    def pieces(self) -> list[CandidateBuffers]:
        """All buffers, in the order of the chunks."""
        return [piece for batch in self.batches for piece in batch]

    def count(self) -> Sequence[int]:
        """Note where the candidates are, in the order of the chunks; the shards that receive any."""
        pieces = self.pieces
        self._places = np.array([piece.records_place for piece in pieces], dtype=np.int64)
        self._counts = np.array([piece.counts for piece in pieces], dtype=np.int64)
        self.candidates = (address(self._places), address(self._counts), len(pieces))
        self.receiving = np.flatnonzero(self._counts.any(axis=0)).tolist() if pieces else []
        self.waiting = max(1, len(self.receiving))
        return self.receiving


@define(eq=False)
class Rounds:
    """The work on a level: jobs in one order, of which each waits only for some before it.

    While a round is inserted the next one is expanded. In this order some chunks for each thread come before the
    insertion and the others behind it: so there is something to do while the last jobs are done that others wait for.
    """

    # count, chunks: rounds of the level, and most chunks of one
    count: int
    chunks: int
    make: Callable[[int], ExpansionRound]  # makes a round by its number
    expand: Callable[[int, ExpansionRound, int], None]  # expands a chunk: (thread, round, chunk)
    insert: Callable[[ExpansionRound, int], None]  # inserts what a round has for a shard
    # called for each round once it is inserted, in order; true: no further round shall begin
    end: Callable[[ExpansionRound], bool]
    is_stopped: Callable[[], bool]  # whether what has not begun shall be left out
    report: Callable[[], None]  # called by the caller's thread from time to time, when rounds have ended
    ahead: int  # rounds that may be expanded while one is inserted: 1, or 0
    _lead: int = 0
    _begun: list[ExpansionRound] = field(factory=list)
    _ended: int = 0
    _report_due: bool = False
    _failed: bool = False
    _jobs: Iterator[int] = field(factory=itertools.count)
    _state: threading.Condition = field(factory=threading.Condition)

    def run(self, pool: ThreadPool, threads: int) -> bool:
        """Do the work on so many threads at most; whether every round was begun. Raises what a job raised."""
        count = self.count
        self._lead = min(self.chunks, 2 * (threads - 1)) if self.ahead else self.chunks
        self._begin()
        pool.run(threads, lambda thread, _: self._work(thread))
        self._report()
        return len(self._begun) == count

    def _begin(self) -> None:
        while len(self._begun) < min(self.count, self._ended + 1 + self.ahead):
            self._begun.append(self.make(len(self._begun)))

    def _work(self, thread: int) -> None:
        try:
            while not self._failed:
                number, part = divmod(next(self._jobs), self.chunks + SHARDS)
                if number >= self.count + self.ahead:
                    return
                if self._lead <= part < self._lead + SHARDS:
                    self._insert(number - self.ahead, part - self._lead)
                else:
                    self._expand(thread, number, part if part < self._lead else part - SHARDS)
                if thread == 0:
                    self._report()
        except BaseException:
            with self._state:
                self._failed = True
                self._state.notify_all()
            raise

    def _report(self) -> None:
        if self._report_due:
            self._report_due = False
            self.report()

    def _awaited(self, number: int, condition: Callable[[], bool]) -> ExpansionRound | None:
        """A round, once a condition holds; None where it is not begun."""
        with self._state:
            self._state.wait_for(lambda: self._failed or number >= self.count or condition())
            return None if self._failed or number >= self.count else self._begun[number]

    def _expand(self, thread: int, number: int, chunk: int) -> None:
        one = self._awaited(number, lambda: number < len(self._begun))
        if one is None or chunk >= one.chunks:
            return
        if not (stopped := self.is_stopped()):
            self.expand(thread, one, chunk)
        with self._state:
            self._limit(stopped)
            one.waiting -= 1
            if not one.waiting:
                one.count()
                self._state.notify_all()

    def _insert(self, number: int, part: int) -> None:
        if number < 0:
            return
        one = self._awaited(number, lambda: number <= self._ended and self._begun[number].receiving is not None)
        if one is None or one.receiving is None or part >= max(1, len(one.receiving)):
            return
        for shard in one.receiving[part : part + 1]:
            self.insert(one, shard)
        with self._state:
            one.waiting -= 1
            if not one.waiting:
                self._limit(self.end(one))
                self._ended, self._report_due = number + 1, True
                self._begin()
                self._state.notify_all()

    def _limit(self, enough: bool) -> None:
        if enough:
            self.count = len(self._begun)


SLICE = 64  # most states that one chunk takes from each shard
CHUNKS = 32  # most chunks of a round
AHEAD = 1  # rounds that are expanded while one is inserted
CANDIDATES = 1 << 24  # most candidates of a round, as far as a round of one chunk of one slice allows

FIRST_VIOLATION = "stopped at the first violation"
OUT_OF_MEMORY = "memory limit"


DEFAULT_MEMORY = 4 << 30


@frozen
class Limits:
    """Where a search may be cut."""

    memory: int = DEFAULT_MEMORY  # bytes for the visited set and the buffers
    max_depth: int | None = None  # levels after the initial states; states there are judged, not expanded
    # once so many distinct states are visited, no further round but the one that is begun
    max_states: int | None = None
    stop_at_first: bool = False  # the same once a property is refuted

    def reached(self, stop: threading.Event, distinct: int, refuted: bool) -> str | None:
        """The limit that is reached, but those of memory and depth; `stop` is one too."""
        if stop.is_set():
            return stop_reason(stop)
        if self.stop_at_first and refuted:
            return FIRST_VIOLATION
        if self.max_states is not None and distinct >= self.max_states:
            return f"state limit {self.max_states:,}"
        return None


@define
class Search:
    """One exploration, level by level."""

    kernel: Kernel
    limits: Limits
    threads: int
    stop: threading.Event
    on_round: Callable[[Search], None]
    # makes faster code, called when the search turns out long; None: keep the code
    recompile: Callable[[CompileEffort], Kernel] | None = None
    store: VisitedSet = field(init=False)
    buffers: list[ThreadBuffers] = field(init=False)
    orders: OrderBlocks | None = None  # how the reduction of orders goes; None: every order is followed
    levels: list[int] = field(factory=list)  # distinct states found at each depth
    claims: dict[int, int] = field(factory=dict)  # for each claim that occurred, the mark of its first occurrence
    queue: int = 0  # states waiting for expansion at this depth
    cut: str | None = None  # why the search is not complete; None when it is
    pieces: list[CandidateBuffers] = field(factory=list)
    _slice: int = field(init=False)
    _chunks: int = field(init=False)
    _idle: list[CandidateBuffers] = field(factory=list)
    _pool: ThreadPool = field(init=False)
    _stores: Counters = field(init=False)
    _stores_place: int = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Choose the size of a round; allocate what each thread needs."""
        geometry = self.kernel.geometry
        each = SHARDS * max(1, geometry.instances)
        self._slice = max(1, min(SLICE, CANDIDATES // each))
        affordable = self.limits.memory // (64 * geometry.piece)
        self._chunks = max(1, min(CHUNKS, CANDIDATES // (each * self._slice), affordable))
        buffers = min(self.limits.memory // 4, 8 * geometry.piece * self._chunks * (1 + AHEAD))
        self.store = VisitedSet(self.kernel, self.limits.memory - buffers)
        self._stores = self.store.addresses()
        self._stores_place = address(self._stores)
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
                if self.recompile is not None and (effort := effort_for(self.generated)) > self.kernel.effort:
                    self.kernel = self.recompile(effort)
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
        seeds = ExpansionRound(0, np.empty((1, 0, 2), dtype=np.int64), 1)
        seeds.batches[0].extend(pieces)
        for shard in seeds.count():
            self._insert(seeds, shard)
        self._end_round(seeds)

    def _level(self, begins: list[int], ends: list[int]) -> None:
        """Expand the states of one depth, round by round."""
        judge_only = self.limits.max_depth is not None and len(self.levels) > self.limits.max_depth
        chunks = max(-(-(end - begin) // self._slice) for begin, end in zip(begins, ends, strict=True))
        starts, stops = np.array(begins), np.array(ends)
        if self.orders is not None:
            self.orders.ends[:] = ends

        def make(number: int) -> ExpansionRound:
            first = starts + number * self._chunks * self._slice
            size = min(self._chunks, chunks - number * self._chunks)
            cuts = first + self._slice * np.arange(size + 1)[:, np.newaxis]
            bounds = np.minimum(cuts, stops)
            return ExpansionRound(number, np.stack([bounds[:-1], bounds[1:]], axis=2), size)

        def expand(thread: int, one: ExpansionRound, chunk: int) -> None:
            self._expand_chunk(thread, one, chunk, judge_only=judge_only)

        def end(one: ExpansionRound) -> bool:
            self._end_round(one)
            self.queue = int(np.maximum(stops - starts - (one.number + 1) * self._chunks * self._slice, 0).sum())
            return self.cut is not None or self._limit(unfinished=True) is not None

        rounds = Rounds(
            -(-chunks // self._chunks), min(chunks, self._chunks), make, expand, self._insert, end, self.stop.is_set,
            report=lambda: self.on_round(self), ahead=AHEAD if self.orders is None else 0,
        )  # fmt: skip
        last = rounds.run(self._pool, min(self.threads, chunks))
        if self.cut is None:
            self.cut = self._limit(unfinished=not last or self.distinct > sum(self.levels))
        if judge_only and self.cut is None:
            self.cut = f"depth limit {self.limits.max_depth}"

    def _limit(self, *, unfinished: bool) -> str | None:
        """The limit that is reached, but that of memory; that of states matters where something is left to do."""
        refuted = not self.kernel.plan.goals.issuperset(self.claims)
        return self.limits.reached(self.stop, self.distinct if unfinished else -1, refuted)

    def _expand_chunk(self, thread: int, one: ExpansionRound, chunk: int, *, judge_only: bool) -> None:
        """Expand a chunk into as many candidate buffers as it takes."""
        frame, plan = self.buffers[thread].frame, self.kernel.plan
        frame[plan.shard] = frame[plan.index] = 0
        finished = False
        while not finished:
            piece = self._take_piece()
            finished = self._expand(thread, one.places[chunk], piece, judge_only)
            one.batches[chunk].append(piece)

    def _expand(self, thread: int, ranges: int, piece: CandidateBuffers, judge_only: bool) -> bool:
        plan, buffers = self.kernel.plan, self.buffers[thread]
        claims = slice(plan.claims, plan.claims + plan.claim_count)
        expand, block = self.kernel.expand, list[int]()
        if self.orders is not None:
            expand, block = self.kernel.expand_in_orders(), [self.orders.block(thread)]
        finished = expand(
            buffers.frame_place, self._stores_place, ranges, piece.records_place, piece.counts_place,
            buffers.recent_place, buffers.scratch_place, int(judge_only), *block,
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

    def _insert(self, one: ExpansionRound, shard: int) -> None:
        """Insert the candidates that a round has for a shard; a full shard cuts the search."""
        if not self.store.shards[shard].insert(*one.candidates, shard):
            self.cut = self._memory_cut()

    def _end_round(self, one: ExpansionRound) -> None:
        """Note the claims of a round that is inserted, and take its buffers back.

        Not sooner: whether a further round begins must not depend on how far the next one is.
        """
        for piece in one.pieces:
            self._note_claims(piece)
            piece.reset()
            self._idle.append(piece)

    def _memory_cut(self) -> str:
        if self.store.room is not None:
            return f"{OUT_OF_MEMORY}: address space for {self.store.room:,} states"
        return f"{OUT_OF_MEMORY} {self.limits.memory:,} bytes"

    def _take_piece(self) -> CandidateBuffers:
        try:
            return self._idle.pop()
        except IndexError:
            self.pieces.append(piece := CandidateBuffers(self.kernel))
            return piece
