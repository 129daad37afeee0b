"""The rounds of a level as jobs for threads: while one round is inserted, the next is expanded.

A job expands one chunk of a round, or inserts the candidates of a round into one shard. A thread takes an insertion
where there is one, else the first chunk that is left of the rounds that are open. What is expanded lies in a level that
is whole, and no state moves; so only the insertion waits for something, for all chunks of its round and for the round
before. Rounds are inserted in their order, and of each shard only one at a time. How many threads take jobs decides
when a job is done, not what it does.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence

import numpy as np
from attrs import define, field

from kraftcheck.solvers.machine_code.objectcode import address
from kraftcheck.solvers.machine_code.threads import ThreadPool
from kraftcheck.solvers.search.buffers import CandidateBuffers, Counters

Job = Callable[[int], None]
"""Takes the number of the thread that does it."""


@define(eq=False)
class Round:
    """Some chunks of a level, their candidates, and how far the work on them is.

    Attributes:
        number: of the round in its level.
        ranges: for each chunk and shard the first state, and the one behind the last.
        chunks: how many are expanded; fewer once the search is stopped.
        batches: for each chunk the buffers that it filled.
        places: for each chunk the address of its ranges.
        candidates: addresses of the buffers' addresses and of the numbers of records, and how many buffers.
        receiving: the shards that have candidates; None before they are counted.
    """

    number: int
    ranges: Counters
    chunks: int
    batches: list[list[CandidateBuffers]] = field(init=False)
    places: list[int] = field(init=False)
    candidates: tuple[int, int, int] = field(init=False)
    receiving: Sequence[int] | None = None
    _places: Counters = field(init=False)
    _counts: Counters = field(init=False)
    _chunk_starts: int = 0
    _chunk_ends: int = 0
    _shard_starts: int = 0
    _shard_ends: int = 0

    def __attrs_post_init__(self) -> None:
        """Begin with no candidates."""
        self.batches = [[] for _ in range(self.chunks)]
        first, step = address(self.ranges), self.ranges.strides[0]
        self.places = [first + step * chunk for chunk in range(self.chunks)]

    @classmethod
    def of(cls, pieces: Sequence[CandidateBuffers]) -> Round:
        """A round whose only chunk filled these buffers."""
        self = cls(0, np.empty((1, 0, 2), dtype=np.int64), 1)
        self.batches[0].extend(pieces)
        self.count()
        return self

    @property
    def pieces(self) -> list[CandidateBuffers]:
        """All buffers, in the order of the chunks."""
        return [piece for batch in self.batches for piece in batch]

    def count(self) -> None:
        """Note where the candidates are, in the order of the chunks, and which shards receive any."""
        pieces = self.pieces
        self._places = np.array([piece.records_place for piece in pieces], dtype=np.int64)
        self._counts = np.array([piece.counts for piece in pieces], dtype=np.int64)
        self.candidates = (address(self._places), address(self._counts), len(pieces))
        self.receiving = np.flatnonzero(self._counts.any(axis=0)).tolist() if pieces else []

    def next_chunk(self) -> int | None:
        """A chunk that nobody expands yet."""
        if self._chunk_starts == self.chunks:
            return None
        self._chunk_starts += 1
        return self._chunk_starts - 1

    def next_shard(self) -> int | None:
        """A shard that nobody inserts into yet."""
        if self.receiving is None or self._shard_starts == len(self.receiving):
            return None
        self._shard_starts += 1
        return self.receiving[self._shard_starts - 1]

    def truncate(self) -> None:
        """Let no further chunk be expanded."""
        self.chunks = self._chunk_starts

    def end_chunk(self) -> None:
        """Note that a chunk is expanded."""
        self._chunk_ends += 1

    def end_shard(self) -> None:
        """Note that a shard has its candidates."""
        self._shard_ends += 1

    @property
    def needs_expansion(self) -> bool:
        """Whether some chunk is not expanded."""
        return self._chunk_ends < self.chunks

    @property
    def needs_insertion(self) -> bool:
        """Whether some shard lacks candidates, or they are not counted."""
        return self.receiving is None or self._shard_ends < len(self.receiving)


@define(eq=False)
class Rounds:
    """The work on a level.

    Attributes:
        count: rounds of the level.
        make: makes a round by its number.
        expand: expands a chunk: (thread, round, chunk).
        gather: called for each round once it is expanded, in order; counts its candidates.
        insert: inserts what a round has for a shard.
        end: called for each round once it is inserted, in order; true: no further round shall begin.
        is_stopped: whether what has not begun shall be left out.
        report: called by the caller's thread from time to time, when rounds have ended.
        ahead: rounds that may be expanded while one is inserted.
    """

    count: int
    make: Callable[[int], Round]
    expand: Callable[[int, Round, int], None]
    gather: Callable[[Round], None]
    insert: Callable[[Round, int], None]
    end: Callable[[Round], bool]
    is_stopped: Callable[[], bool]
    report: Callable[[], None]
    ahead: int
    _next: int = 0
    _open: deque[Round] = field(factory=deque)
    _enough: bool = False
    _report_due: bool = False
    _errors: list[BaseException] = field(factory=list)
    _state: threading.Condition = field(factory=threading.Condition)

    def run(self, pool: ThreadPool, threads: int) -> bool:
        """Do the work on so many threads at most; whether every round was begun. Raises what a job raised."""
        for _ in range(1 + self.ahead):
            self._begin()
        pool.run(threads, lambda thread, _: self._work(thread))
        if self._errors:
            raise self._errors[0]
        self._report()
        return self._next == self.count

    def _work(self, thread: int) -> None:
        try:
            while (job := self._take()) is not None:
                job(thread)
                if thread == 0:
                    self._report()
        except BaseException as error:
            with self._state:
                self._errors.append(error)
                self._state.notify_all()

    def _report(self) -> None:
        if self._report_due:
            self._report_due = False
            self.report()

    def _take(self) -> Job | None:
        """The next job; waits where there is none yet, and ends where there will be none."""
        with self._state:
            while self._open and not self._errors:
                if not self._enough and self.is_stopped():
                    self._stop()
                    continue
                if (job := self._insertion() or self._expansion()) is not None:
                    return job
                self._state.wait()
        return None

    def _insertion(self) -> Job | None:
        first = self._open[0]
        shard = first.next_shard()
        if shard is None:
            return None

        def work(_: int) -> None:
            self.insert(first, shard)
            with self._state:
                first.end_shard()
                self._advance()

        return work

    def _expansion(self) -> Job | None:
        for one in self._open:
            chunk = one.next_chunk()
            if chunk is not None:
                return self._expand(one, chunk)
        return None

    def _expand(self, one: Round, chunk: int) -> Job:
        def work(thread: int) -> None:
            self.expand(thread, one, chunk)
            with self._state:
                one.end_chunk()
                self._advance()

        return work

    def _stop(self) -> None:
        """Leave out what is not begun."""
        self._enough = True
        for one in self._open:
            one.truncate()
        self._advance()

    def _advance(self) -> None:
        """Gather what is expanded, and end what is inserted."""
        moved = False
        while self._open:
            for one in self._open:
                if one.receiving is None:
                    if one.needs_expansion:
                        break
                    self.gather(one)
                    moved = True
            if self._open[0].needs_insertion:
                break
            self._enough = self.end(self._open.popleft()) or self._enough
            self._report_due = moved = True
            self._begin()
        if moved:
            self._state.notify_all()

    def _begin(self) -> None:
        if self._next < self.count and not self._enough:
            self._open.append(self.make(self._next))
            self._next += 1
