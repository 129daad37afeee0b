"""The rounds of a level: what waits for what, whatever the number of threads."""

import threading
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from attrs import define, field

from kraftcheck.solvers.exploration.explore import explore
from kraftcheck.solvers.machine_code.threads import ThreadPool
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.search import levels
from kraftcheck.solvers.search.levels import ExpansionRound, Rounds
from kraftcheck.solvers.search.orders import by_orders
from tests import toys

CHUNKS, SHARDS, COUNT = 3, 4, 6
THREADS = pytest.mark.parametrize("threads", [1, 2, 3])


def nothing(*_: object) -> None:
    """Do nothing."""


@define
class Work:
    """The work on a level whose rounds have `CHUNKS` chunks and candidates for `SHARDS` shards, and a log of it."""

    # on_chunk, on_shard, on_report: called within a job, or at the end of a round, by the numbers
    on_chunk: Callable[[int, int], None] = nothing
    on_shard: Callable[[int, int], None] = nothing
    on_report: Callable[[], None] = nothing
    enough: int = COUNT  # the round after whose end no further one begins
    ahead: int = 1
    stop: threading.Event = field(factory=threading.Event)  # whether what has not begun is left out
    log: list[tuple[str, int, int]] = field(factory=list)  # what began and ended: a word, the round, the chunk or shard

    def make(self, number: int) -> ExpansionRound:
        """A round that has candidates for each shard, and logs when they are counted."""
        log = self.log

        class Counted(ExpansionRound):
            def count(self) -> Sequence[int]:
                """See `ExpansionRound`."""
                log.append(("count", number, 0))
                self.receiving = range(SHARDS * any(entry[:2] == ("expand", number) for entry in log))
                self.waiting = max(1, len(self.receiving))
                return self.receiving

        return Counted(number, np.zeros((CHUNKS, SHARDS, 2), dtype=np.int64), CHUNKS)

    def expand(self, _: int, one: ExpansionRound, chunk: int) -> None:
        """Log an expansion."""
        self.log.append(("expand", one.number, chunk))
        self.on_chunk(one.number, chunk)
        self.log.append(("expansion ends", one.number, chunk))

    def insert(self, one: ExpansionRound, shard: int) -> None:
        """Log an insertion."""
        self.log.append(("insert", one.number, shard))
        self.on_shard(one.number, shard)
        self.log.append(("insertion ends", one.number, shard))

    def end(self, one: ExpansionRound) -> bool:
        """Log the end of a round."""
        self.log.append(("end", one.number, 0))
        return one.number >= self.enough

    def run(self, threads: int) -> bool:
        """Do it."""
        rounds = Rounds(COUNT, CHUNKS, self.make, self.expand, self.insert, self.end, self.stop.is_set,
                        self.on_report, self.ahead)  # fmt: skip
        with ThreadPool(threads) as pool:
            return rounds.run(pool, threads)

    def place(self, word: str, number: int, part: int = 0) -> int:
        """Where in the log something stands."""
        return self.log.index((word, number, part))

    def numbers(self, word: str) -> list[tuple[int, int]]:
        """The rounds and parts of all that the log has of a word, in order."""
        return [(number, part) for name, number, part in self.log if name == word]


@THREADS
@pytest.mark.parametrize("ahead", [0, 1])
def test_a_round_is_inserted_after_its_chunks_and_the_round_before(threads: int, ahead: int) -> None:
    """Every job is done once; insertion begins after all chunks of its round and after the end of the one before."""
    work = Work(ahead=ahead)
    assert work.run(threads)
    assert work.numbers("count") == work.numbers("end") == [(number, 0) for number in range(COUNT)]
    for word, parts in (("expand", CHUNKS), ("insert", SHARDS)):
        assert sorted(work.numbers(word)) == [(number, part) for number in range(COUNT) for part in range(parts)]
    for number in range(COUNT):
        chunks = [work.place("expansion ends", number, chunk) for chunk in range(CHUNKS)]
        starts = [work.place("insert", number, shard) for shard in range(SHARDS)]
        ends = [work.place("insertion ends", number, shard) for shard in range(SHARDS)]
        assert max(chunks) < work.place("count", number) < min(starts)
        assert max(ends) < work.place("end", number)
        assert number == 0 or work.place("end", number - 1) < min(starts)
        if number > ahead:
            first = min(work.place("expand", number, chunk) for chunk in range(CHUNKS))
            assert work.place("end", number - ahead - 1) < first


def test_a_round_is_expanded_while_one_is_inserted() -> None:
    """An insertion that waits for an expansion of the round that follows gets it from the other thread."""
    reached = threading.Event()

    def chunk(number: int, _: int) -> None:
        if number:
            reached.set()

    def shard(number: int, part: int) -> None:
        if (number, part) == (0, SHARDS - 1):
            assert reached.wait(10)

    assert Work(chunk, shard).run(2)


def test_chunks_that_end_early_wait_for_those_before() -> None:
    """A round of which chunks are expanded before the last of the one ahead is counted after it."""
    reached = threading.Event()

    def chunk(number: int, part: int) -> None:
        if (number, part) == (0, CHUNKS - 1):
            assert reached.wait(10)
        elif (number, part) == (1, 0):
            reached.set()

    work = Work(chunk)
    assert work.run(2)
    assert work.place("expansion ends", 0, CHUNKS - 1) < work.place("count", 0) < work.place("count", 1)


@THREADS
def test_what_has_begun_is_carried_through_at_a_limit(threads: int) -> None:
    """After a limit no further round begins, and those that are open are expanded and inserted, whoever does it."""
    work = Work(enough=2)
    assert not work.run(threads)
    assert work.numbers("end") == [(number, 0) for number in range(4)]
    assert len(work.numbers("insert")) == 4 * SHARDS


@THREADS
def test_a_stop_leaves_out_what_has_not_begun(threads: int) -> None:
    """Chunks that were expanded by then are inserted, and no other is begun but those that threads had taken."""
    work = Work()
    work.on_chunk = lambda number, chunk: work.stop.set() if (number, chunk) == (1, 1) else None
    assert not work.run(threads)
    chunks = work.numbers("expand")
    assert CHUNKS + 2 <= len(chunks) <= CHUNKS + 1 + threads
    rounds = {number for number, _ in chunks}
    assert set(work.numbers("insert")) == {(number, shard) for number in rounds for shard in range(SHARDS)}
    assert rounds <= {number for number, _ in work.numbers("end")} < set(range(COUNT))


@THREADS
@pytest.mark.parametrize("job", ["on_chunk", "on_shard"])
def test_what_fails_in_a_job_fails_the_level(threads: int, job: str) -> None:
    """An error in any job ends the work with it, and no thread waits for ever."""

    def fail(number: int, part: int) -> None:
        if (number, part) == (1, 2):
            raise ZeroDivisionError

    work = Work()
    setattr(work, job, fail)
    with pytest.raises(ZeroDivisionError):
        work.run(threads)
    assert (COUNT - 1, 0) not in work.numbers("end")


@pytest.mark.parametrize(("orders", "ahead"), [(False, 1), (True, 0)], ids=["every order", "some orders"])
def test_a_search_in_some_orders_expands_nothing_meanwhile(
    orders: bool, ahead: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What looks into the visited set to choose among successors is expanded when nobody inserts."""
    seen: list[int] = []

    class Spy(Rounds):
        def run(self, pool: ThreadPool, threads: int) -> bool:
            """Note how many rounds are expanded while one is inserted."""
            seen.append(self.ahead)
            return super().run(pool, threads)

    monkeypatch.setattr(levels, "Rounds", Spy)
    program = trace(toys.TWO_PHASE, toys.TWO_PHASE.setting("3"))
    explore(by_orders(program) if orders else program, clock=lambda: 0.0)
    assert set(seen) == {ahead}


@THREADS
def test_reports_come_from_the_caller(threads: int) -> None:
    """Progress is reported by the thread that asked for the work, the last time when all is done."""
    seen: list[tuple[int, int]] = []
    work = Work()
    work.on_report = lambda: seen.append((threading.get_ident(), len(work.numbers("end"))))
    work.run(threads)
    assert {thread for thread, _ in seen} == {threading.get_ident()}
    assert seen[-1][1] == COUNT
