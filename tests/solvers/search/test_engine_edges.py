"""Engines agree with a search on ints at the edges of what they pack: words, tables, domains, filters, rounds."""

import functools
import threading
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.model.language.system import System
from kraftcheck.solvers.exploration.explore import Exploration
from kraftcheck.solvers.machine_code import visited_table
from kraftcheck.solvers.machine_code.compile import load_kernel
from kraftcheck.solvers.machine_code.threads import ThreadPool
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds, Refuted
from kraftcheck.solvers.search import levels as search
from tests import toys
from tests.ci.spark.levels import begun, finished
from tests.shared.edges import DOORS, HOTEL, LEAPS, LIFT, ROAD, ROAD_LENGTH, SIDE, STRIDES, found_on_ints, grid
from tests.shared.explored import explored

SYSTEMS = [
    (grid(x_first=False), None), (grid(x_first=True), None), (LIFT, None), (HOTEL, None), (toys.CLOCK, None),
    (toys.DIGRAPH, None), (toys.COUNTER, None), (toys.STUCK, None), (toys.HASTY, "3"), (toys.RESTING, None),
    (toys.TWO_PHASE, None),
]  # fmt: skip


@functools.lru_cache
def by_ints(name: str, scope: str | None) -> dict[str, Any]:
    """What ints find, computed once."""
    return found_on_ints(next(system for system, at in SYSTEMS if (system.name, at) == (name, scope)), scope)


def told(found: Exploration) -> dict[str, Any]:
    """What a search on ints finds too."""
    names = ("distinct", "generated", "levels", "depth", "fired", "pruned")
    seen = [v for v in found.verdicts if v.depth is not None and isinstance(v.verdict, Refuted | Holds)]
    never = {name: set(getattr(found, name)) for name in ("never_true", "never_false")}
    return {**{name: getattr(found, name) for name in names}, "depths": {v.claim: v.depth for v in seen}, **never}


@pytest.mark.parametrize(("system", "scope"), SYSTEMS, ids=lambda value: getattr(value, "name", value))
def test_the_native_engine_finds_what_ints_find(system: System, scope: str | None) -> None:
    """Sizes, transitions by action, pruned ones, coverage and lengths of shortest traces are those of ints."""
    assert told(explored(system, scope)) == by_ints(system.name, scope)


@pytest.mark.parametrize(("system", "scope"), SYSTEMS[:4], ids=lambda value: getattr(value, "name", value))
def test_the_distributed_engine_finds_what_ints_find(system: System, scope: str | None, tmp_path: Path) -> None:
    """So are those of the tasks of a distributed search."""
    run, runner = begun(trace(system, system.setting(scope)), tmp_path)
    run.expand(runner)
    assert told(finished(run)) == by_ints(system.name, scope)


def test_the_toys_are_as_large_as_they_should_be() -> None:
    """A grid has a state for each place and leaps of each length; a hotel's rooms but one are entered at once."""
    ways = 4 * SIDE * sum(SIDE - leap for leap in LEAPS)
    for name in ("grid-x", "grid-y"):
        assert (by_ints(name, None)["distinct"], by_ints(name, None)["generated"]) == (SIDE * SIDE, ways + 1)
    assert by_ints("hotel", None)["levels"] == (1, DOORS - 2)
    assert by_ints("lift", None)["pruned"] == {"height": 4}


def test_a_visited_set_that_grows_forgets_nothing() -> None:
    """Where every state is met again after its table has grown, each is counted once, with all its transitions."""
    found = explored(ROAD)
    assert (found.distinct, sum(found.levels)) == (ROAD_LENGTH, ROAD_LENGTH)
    back = (len(STRIDES) + 1) * (ROAD_LENGTH - 1)
    assert found.generated == 1 + 2 * sum(ROAD_LENGTH - stride for stride in STRIDES) + back


@pytest.mark.parametrize(("system", "scope"), SYSTEMS[:2], ids=lambda value: getattr(value, "name", value))
def test_states_of_one_tag_are_told_apart(system: System, scope: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all states have the same tag they are compared whole, and the search finds what ints find."""
    monkeypatch.setattr(visited_table, "TAG_SHIFT", 64 - 1)
    assert told(explored(system, scope)) == by_ints(system.name, scope)


@pytest.mark.parametrize("threads", [1, 2])
def test_small_slices_and_rounds_find_the_same(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Levels of many rounds, each of a few chunks of a few states, have the known sizes."""
    monkeypatch.setattr(search, "SLICE", 2)
    monkeypatch.setattr(search, "CHUNKS", 3)
    found = explored(toys.TWO_PHASE, "5", threads=threads)
    assert (found.distinct, found.generated) == (8_832, 37_346)


def test_what_every_thread_counted_counts() -> None:
    """Transitions are added up over the threads, coverage bits are joined, and of claims the first mark stays."""
    program = trace(toys.COUNTER, toys.COUNTER.setting())
    work = search.Search(load_kernel(program), search.Limits(1 << 30), 3, threading.Event(), lambda _: None)
    plan = work.kernel.plan
    for number, hand in enumerate(work.buffers):
        hand.frame[plan.fired] = 10 + number
        hand.frame[plan.pruned] = number
        hand.frame[plan.covered[-1]] = 1 << number
        hand.frame[plan.claims] = (0, 9, 7)[number]
    together = work.counters()
    assert (together[plan.fired], work.generated) == (33, 33 + len(program.initial))
    assert (together[plan.pruned], together[plan.covered[-1]], together[plan.claims]) == (3, 0b111, 7)


def test_what_fails_in_a_thread_fails_the_run() -> None:
    """An error in whichever job ends the run with that error, also when it is not the caller's thread that meets it."""
    with ThreadPool(2) as crew:
        for bad in range(4):
            barrier = threading.Barrier(2, timeout=10)

            def work(thread: int, job: int, bad: int = bad, barrier: threading.Barrier = barrier) -> None:
                if job < 2:
                    barrier.wait()
                if job == bad:
                    raise ZeroDivisionError(job)

            with pytest.raises(ZeroDivisionError, match=str(bad)):
                crew.run(4, work)


def test_every_job_is_done_once() -> None:
    """Any number of jobs on any number of threads is done, each once."""
    for threads in (1, 2, 3):
        with ThreadPool(threads) as crew:
            for jobs in range(6):
                done: list[int] = []
                crew.run(jobs, lambda thread, job, done=done: done.append(job))  # type: ignore[misc]
                assert sorted(done) == list(range(jobs))
