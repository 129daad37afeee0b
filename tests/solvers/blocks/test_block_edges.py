"""Blocks of a distributed search where hashes meet, batches end, and results are missing."""

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from attrs import asdict

from kraftcheck.ci.dataset.store.levelfiles import LevelFile
from kraftcheck.ci.spark.jobs import job_result
from kraftcheck.ci.terminal.refusal import JobFailedError
from kraftcheck.model.language.system import System
from kraftcheck.solvers.blocks.kernel import block_spec
from kraftcheck.solvers.blocks.tasks import BATCH, BlockKernel, BlockSpec, CandidateSet, Words, load_block_kernel
from kraftcheck.solvers.exploration.explore import explore
from kraftcheck.solvers.machine_code.objectcode import ObjectCache
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import PackedRun
from tests import toys
from tests.shared.edges import grid

BITS = (1 << 64) - 1
ODD = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
BUCKET_BITS = 3


def spec_of(system: System) -> BlockSpec:
    """What a worker needs for a system."""
    return block_spec(trace(system, system.setting()), BUCKET_BITS, ObjectCache(None))


def unshifted(value: int, shift: int) -> int:
    """What gave a value when it was combined with itself shifted right."""
    result = value
    for _ in range(64 // shift):
        result = value ^ result >> shift
    return result


def of_hash(hashed: int) -> int:
    """The word whose hash this is: the hash of one word is a bijection."""
    value = unshifted(hashed, 31)
    for shift, factor in ((27, ODD[2]), (30, ODD[1])):
        value = unshifted(value * pow(factor, -1, 1 << 64) & BITS, shift)
    return value - ODD[0] & BITS


def second_of_hash(first: int, hashed: int) -> int:
    """The second word of a state with this first word and this hash."""
    mixed = first * ODD[0] & BITS
    return of_hash(hashed) ^ mixed ^ mixed >> 32


LIKE = [0x1234_5678_0000_0005 | number << 20 for number in range(4)]
"""Hashes of one tag (their upper halves) and of one slot in any table of at most 2**20."""


def records(states: list[tuple[int, ...]]) -> Words:
    """Records of states, marked with their places."""
    return np.array([(*state, number) for number, state in enumerate(states)], dtype=np.uint64)


CASES = [
    (toys.CLOCK, [(of_hash(hashed),) for hashed in LIKE]),
    (grid(x_first=False), [(77, second_of_hash(77, hashed)) for hashed in LIKE]),
]


@pytest.mark.parametrize(("system", "alike"), CASES, ids=["one word", "the second of two words"])
def test_states_whose_hashes_meet_stay_apart(system: System, alike: list[tuple[int, ...]]) -> None:
    """States of one tag, one slot (and one first word) are held once, and struck and found by themselves alone."""
    kernel = BlockKernel(spec_of(system))
    buckets = kernel.by_bucket(records(alike))[1]
    assert buckets.tolist() == [len(alike) if n == LIKE[0] >> 64 - BUCKET_BITS else 0 for n in range(8)]
    held, other = alike[:3], alike[3]
    for struck in (*range(3), None):
        candidates = CandidateSet(kernel, 4 * BATCH)
        candidates.gather(records([*held, *held]))
        assert [tuple(row[:-1]) for row in candidates.records.tolist()] == held
        assert candidates.records[:, -1].tolist() == [0, 1, 2]
        known = np.zeros(3, dtype=np.uint8)
        candidates.mark_duplicates(np.array([other if struck is None else held[struck]], dtype=np.uint64), known)
        assert known.tolist() == [int(struck == n) for n in range(3)]
    assert candidates.find(records([other, *held[::-1], other])).tolist() == [-1, 2, 1, 0, -1]


@pytest.mark.parametrize("count", [1, BATCH - 1, BATCH, BATCH + 1, 3 * BATCH])
def test_batches_lose_nothing(count: int) -> None:
    """Of any number of records each is held in order, each is struck and found, and sorted to its bucket."""
    kernel = BlockKernel(spec_of(toys.CLOCK))
    hashes = [(number * 0x0123_4567_89AB_CDEF + 99) & BITS for number in range(count)]
    block = records([(of_hash(hashed),) for hashed in hashes])
    candidates = CandidateSet(kernel, count + BATCH)
    candidates.gather(block)
    assert candidates.records.tolist() == block.tolist()
    known = np.zeros(count, dtype=np.uint8)
    candidates.mark_duplicates(np.ascontiguousarray(block[:, :1]), known)
    assert known.tolist() == [1] * count
    assert candidates.find(np.ascontiguousarray(block[::-1])).tolist() == list(range(count))[::-1]
    ordered, counts = kernel.by_bucket(block)
    buckets = [hashed >> 64 - BUCKET_BITS for hashed in hashes]
    assert counts.tolist() == [buckets.count(bucket) for bucket in range(8)]
    assert [row[1] for row in ordered.tolist()] == sorted(range(count), key=lambda number: buckets[number])


def test_each_spec_has_its_own_kernel() -> None:
    """A worker that is given another kernel runs that one, and the first again when it is asked for."""
    load_block_kernel.cache_clear()  # as a worker that has just been started
    specs = [spec_of(system) for system in (toys.COUNTER, toys.STUCK)]
    for _ in range(2):
        assert [load_block_kernel(spec).spec for spec in specs] == specs
    succeeding = [load_block_kernel(spec).transitions(np.array([[0]], dtype=np.uint64))[1].tolist() for spec in specs]
    assert succeeding == [[2], [1]]


def fixpoint(kernel: BlockKernel, states: Words) -> list[int]:
    """The marks of states once all has flowed back, round by round."""
    marks = kernel.marks(states).tolist()
    place = {tuple(state): number for number, state in enumerate(states.tolist())}
    records, counts, leaves = kernel.exits_of(states)
    owners = np.repeat(np.arange(len(states)), counts).tolist()
    marks = [mark | int(left) for mark, left in zip(marks, leaves.tolist(), strict=True)]
    grown = True
    while grown:
        before = list(marks)
        for owner, (*state, way) in zip(owners, records.tolist(), strict=True):
            marks[owner] |= way & marks[place[tuple(state)]]
        grown = marks != before
    return marks


@pytest.mark.parametrize("scope", ["budget", "bound"])
def test_what_flows_back_is_what_the_native_search_finds(scope: str) -> None:
    """Of each claim about recovery, lost, uncertain and concerned states are those of the native backward search."""
    program = trace(toys.VALVE, toys.VALVE.setting(scope))
    explored = explore(program, clock=lambda: 0.0)
    kernel, states = BlockKernel(block_spec(program, BUCKET_BITS, ObjectCache(None))), explored.packed()
    n, marks = len(program.recovers), fixpoint(kernel, states)
    assert explored.recoverability.findings is not None
    assert explored.store is not None
    places = [explored.store.identify(state) for state in states.tolist()]
    depth_of = [len(explored.store.path(place)[1]) for place in places if place is not None]
    for number, one in enumerate(explored.recoverability.findings):
        reach, leaves, about = (1 << number + group * n for group in range(3))
        told = [mark & (reach | leaves | about) for mark in marks]
        assert sum(mark & about > 0 for mark in told) == one.concerned
        for bits, shallowest in ((about, one.unrecoverable), (about | leaves, one.uncertain)):
            depths = [depth for depth, mark in zip(depth_of, told, strict=True) if mark == bits]
            wanted = len(shallowest.instances) if isinstance(shallowest, PackedRun) else shallowest
            assert min(depths, default=None) == wanted
    kinds = {type(v.verdict).__name__ for v in explored.verdicts if v.kind == "recovers"}
    assert kinds == ({"Holds", "Refuted", "Vacuous"} if scope == "budget" else {"Unknown"})


def result(bucket: int, claims: dict[int, int]) -> Any:
    """The result of a task that wrote one bucket of two states."""
    file = LevelFile(f"part-{bucket}.parquet", 2, 100, "0" * 64)
    told = {"file": asdict(file), "groups": [[bucket, 0, 2, 0]], "claims": claims, "candidates": 3}
    return SimpleNamespace(kind="file", payload=json.dumps(told).encode())


def frame(*values: int) -> Any:
    """The counters of a task; the last two count the candidates that it gave and the states that it expanded."""
    return SimpleNamespace(kind="frame", payload=np.array(values, dtype=np.int64).tobytes())


COST = {"expand_tasks": 2, "sift_tasks": 2}


def test_the_results_of_a_level_are_put_together() -> None:
    """Frames, files, groups and candidates of all tasks are there, and of each claim the first state."""
    level = job_result([frame(1, 2, 4, 7), result(0, {5: 9}), result(3, {5: 4, 6: 7}), frame(3, 4, 2, 2)], COST, 3)
    assert level.frames.tolist() == [[1, 2], [3, 4]]
    assert level.expanded == 9
    assert [(group.bucket, group.file) for group in level.groups] == [(0, "part-0.parquet"), (3, "part-3.parquet")]
    assert level.claims == {5: 4, 6: 7}
    assert level.cost["candidates"] == 6


@pytest.mark.parametrize(
    "rows",
    [
        [frame(3, 1), result(0, {}), result(1, {})],
        [frame(3, 1), frame(3, 1), frame(3, 1), result(0, {}), result(1, {})],
        [frame(3, 1), frame(3, 1), result(0, {})],
        [frame(3, 1), frame(3, 1), result(0, {}), result(1, {}), result(2, {})],
        [frame(3, 1), frame(3, 1), result(1, {}), result(1, {})],
    ],
    ids=["no frame", "a frame twice", "no result", "a result twice", "a bucket twice"],
)
def test_results_that_are_missing_or_twice_end_the_run(rows: list[Any]) -> None:
    """A level counts only when each task brought back one result and each bucket is in one file."""
    with pytest.raises(JobFailedError, match="brought back"):
        job_result(rows, COST, 3)


def test_candidates_that_do_not_arrive_end_the_run() -> None:
    """A level counts only when the second stage got as many candidates as the first gave."""
    with pytest.raises(JobFailedError, match="gave 7 candidates, of which 6 arrived"):
        job_result([frame(3, 1), frame(4, 1), result(0, {}), result(1, {})], COST, 3)
