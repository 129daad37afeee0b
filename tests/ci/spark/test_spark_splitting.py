"""Buckets are split when a level outgrows them: what is found stays the same, and every part is taken by some task."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.ci.dataset.backward import search as listing
from kraftcheck.ci.dataset.disk import DiskRunner
from kraftcheck.ci.dataset.jobs import LostCandidatesError, Stages, rows_here
from kraftcheck.ci.dataset.search import levels
from kraftcheck.ci.dataset.search.levels import bucket_bits
from kraftcheck.ci.dataset.store.levelfiles import read_states
from kraftcheck.ci.spark import tasks
from kraftcheck.ci.spark.tasks import expand_task, sift_task
from kraftcheck.solvers.blocks.tasks import BlockKernel, Words, load_block_kernel
from tests.ci.spark.levels import BUCKET_BITS, begun, facts, finished, native_facts, program_of
from tests.ci.spark.test_spark_backward import Here, assert_native, judged
from tests.ci.spark.test_spark_small import cluster


@frozen
class Switches:
    """The switches that are on."""

    on: Any


WELDED = 5


def _may_turn(state: Switches, switch: kc.Word) -> Any:
    return {"not welded": kc.negate(kc.all_of(*[state.on.has(one) for one in range(WELDED)], switch < WELDED))}


def _turn(state: Switches, switch: kc.Word) -> Switches:
    one = state.on.just(switch)
    return Switches(kc.choose(state.on.has(switch), state.on.minus(one), state.on.plus(one)))


def _may_pass(state: Switches, switch: kc.Word) -> Any:
    return {**_may_turn(state, switch), "on": state.on.has(switch), "next is off": kc.negate(state.on.has(switch + 1))}


def _pass(state: Switches, switch: kc.Word) -> Switches:
    return Switches(state.on.minus(state.on.just(switch)).plus(state.on.just(switch + 1)))


SWITCHES = kc.System(
    name="switches",
    summary="Eleven switches, each turned on and off, or off for the next; once the first five are on, they stay on.",
    layout=lambda setting: Switches(kc.set_below(11)),
    initial=lambda setting: [Switches(kc.IntSet())],
    actions=lambda setting: [
        kc.Action("turn", _turn, _may_turn, {"switch": kc.numbers_below(11)}),
        kc.Action("pass", _pass, _may_pass, {"switch": kc.numbers_below(10)}),
    ],
    properties=[
        kc.sometimes("all-on", "all switches are on", lambda state: state.on.size() == 11),
        kc.recovers("all-off", "all switches can be turned off", lambda state: state.on.is_empty()),
        kc.recovers("last-on", "the last switch can be turned on", lambda state: state.on.has(10)),
    ],
)

PROGRAM = program_of(SWITCHES)
DEEP = 20  # a depth that the search does not reach, unless it takes a visited state for a new one


def few_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks that take few candidates, so that a small space needs many, on workers without a memo of visited states."""
    monkeypatch.setattr(tasks, "MEMO_BYTES", 0)
    monkeypatch.setattr(tasks, "_memos", {})
    monkeypatch.setattr(levels, "TARGET_CANDIDATES", 256)
    monkeypatch.setattr(levels, "SMALL_SPLIT_ROWS", 8)


def bits_of(run: Any) -> list[int]:
    """Bits of the number of a bucket of each level."""
    return [level.groups.bits for level in run.commits]


def test_buckets_follow_the_tasks() -> None:
    """A level has at least two buckets for each task, never fewer than the level before, and never too many."""
    assert [bucket_bits(6, targets, 16) for targets in (1, 32, 33, 64, 65, 1000)] == [6, 6, 7, 7, 8, 11]
    assert bucket_bits(9, 2, 16) == 9
    assert bucket_bits(6, 1 << 20, 16) == 16
    assert bucket_bits(6, 1000, 6) == 6


@pytest.mark.parametrize("files", [False, True], ids=["rows", "files"])
def test_a_search_with_split_buckets_is_the_native_one(
    files: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Levels get finer buckets as they grow; counts and verdicts are native; a state is in the bucket of its hash."""
    few_candidates(monkeypatch)
    run, runner = begun(PROGRAM, tmp_path, max_depth=DEEP)
    runner.files = files
    run.expand(runner)
    assert facts(finished(run)) == native_facts(PROGRAM)
    bits = bits_of(run)
    assert (bits[0], sorted(bits)) == (BUCKET_BITS, bits)
    assert len(set(bits)) > 2
    words = runner.spec.words
    for level in run.commits:
        kernel = load_block_kernel(runner.spec.with_bits(level.groups.bits))
        for group, states in read_states(run.log.folder(level.depth), level.groups, words):
            assert buckets_of(kernel, states) == [group.bucket]


def test_candidates_of_another_bucket_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the first stage sends candidates by other buckets than the second sifts, the job fails."""
    few_candidates(monkeypatch)
    run, runner = begun(PROGRAM, tmp_path, max_depth=4)
    run.expand(runner)
    level = evolve(levels.plan(runner, run.log, run.commits), sight=None)
    assert level.bits > BUCKET_BITS
    sent = expand_task(lambda: runner.spec, evolve(level, bits=BUCKET_BITS))
    stages = Stages(len(level.splits), level.targets, sent, sift_task(lambda: runner.spec, level))
    with pytest.raises(LostCandidatesError, match="are of other buckets"):
        rows_here(stages)


def test_lost_attempts_with_split_buckets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Second attempts of tasks find what the first would have found, though a memo has the first ones' successors."""
    few_candidates(monkeypatch)
    monkeypatch.setattr(tasks, "MEMO_BYTES", 1 << 18)
    plain, runner = begun(PROGRAM, tmp_path / "plain")
    plain.expand(runner)
    run, lossy = begun(PROGRAM, tmp_path / "lossy")
    lossy.lost = lambda stage, task, batch: task % 2 == 0 and batch == task // 2 % 2
    run.expand(lossy)
    assert bits_of(run) == bits_of(plain)
    assert facts(finished(run)) == facts(finished(plain))


def buckets_of(kernel: BlockKernel, states: Words) -> list[int]:
    """The buckets that have some of the states."""
    records = np.column_stack([states, np.zeros(len(states), dtype=np.uint64)])
    return np.flatnonzero(kernel.by_bucket(records)[1]).tolist()


def test_small_levels_may_have_finer_buckets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where levels get finer buckets as they grow, the driver finds what is found natively."""
    few_candidates(monkeypatch)
    run, runner = begun(PROGRAM, tmp_path, max_depth=DEEP)
    run.expand(cluster(runner, tmp_path))
    assert run.commits[-1].last
    assert len(set(bits_of(run))) > 2
    assert facts(finished(run)) == native_facts(PROGRAM)


@pytest.mark.parametrize("memory", [0, 1 << 30], ids=["sweeps", "memory"])
def test_recovery_is_judged_on_split_buckets(memory: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The backward search gives the native verdicts, counts and depths where levels have buckets of several widths."""
    few_candidates(monkeypatch)
    monkeypatch.setattr(listing, "HERE_TRANSITIONS", 0)
    monkeypatch.setattr(listing, "PART_TRANSITIONS", 1 << 11)
    run, runner = begun(PROGRAM, tmp_path)
    run.expand(runner)
    assert len(set(bits_of(run))) > 2
    found, _ = judged(PROGRAM, run, Here(runner.spec), memory)
    assert_native(PROGRAM, run, found)
    assert found.findings is not None
    lost = found.findings[0].unrecoverable
    assert lost is not None
    assert lost.end[0] & 31 == 31, "the switches that stay on are on"


def test_another_engine_goes_on_with_split_levels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk engine, which does not split, reads split levels and ends with the native result, and back again."""
    few_candidates(monkeypatch)
    run, runner = begun(PROGRAM, tmp_path / "out", max_depth=4)
    run.expand(runner)
    assert bits_of(run)[-1] > BUCKET_BITS
    shutil.copytree(tmp_path / "out", tmp_path / "both")
    taken, _ = begun(PROGRAM, tmp_path / "out", resume=True)
    taken.expand(DiskRunner(taken.blocks, 1, 1 << 28))
    assert facts(finished(taken)) == native_facts(PROGRAM)
    assert bits_of(taken)[-1] == BUCKET_BITS
    part, _ = begun(PROGRAM, tmp_path / "both", resume=True, max_depth=4)
    part.expand(DiskRunner(part.blocks, 1, 1 << 28))
    last, runner = begun(PROGRAM, tmp_path / "both", resume=True)
    last.expand(runner)
    assert facts(finished(last)) == native_facts(PROGRAM)
