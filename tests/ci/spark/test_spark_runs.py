"""Old levels merged to runs: what is found stays the same, few parts are read, and a damaged run gives no result."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import define

from kraftcheck.ci.dataset.jobs.stages import JobFailedError
from kraftcheck.ci.dataset.search import levels as parts
from kraftcheck.ci.dataset.search.levels import Compaction, LostRunError, first_merged
from kraftcheck.ci.dataset.store import job
from kraftcheck.ci.dataset.store.dataset import Dataset
from kraftcheck.ci.dataset.store.job import DamagedRunError, LevelJob, RunWriter, StoredRun
from kraftcheck.ci.dataset.store.levelfiles import BucketRange
from kraftcheck.ci.dataset.store.manifests import SEAL, digest
from kraftcheck.ci.spark import jobs as spark_jobs
from kraftcheck.ci.spark.jobs import SparkCluster
from kraftcheck.solvers.blocks.tasks import BlockSpec
from tests import toys
from tests.ci.spark.levels import BUCKET_BITS, begun, facts, finished, native_facts, program_of
from tests.ci.spark.test_spark_small import cluster, digests

PROGRAM = program_of(toys.HASTY, "5")


MOST = 2
"""More than so many parts are merged."""


@define
class Watched:
    """What runs the jobs of levels in the driver; `watch` is called before each, and may fail."""

    cluster: SparkCluster
    watch: Callable[[LevelJob], object]

    @property
    def spec(self) -> BlockSpec:
        """The cluster's."""
        return self.cluster.spec

    @property
    def most_bits(self) -> int:
        """The cluster's."""
        return self.cluster.most_bits

    @property
    def cores(self) -> int:
        """The cluster's."""
        return self.cluster.cores

    def run(self, level: LevelJob, stop: threading.Event) -> Any:
        """Run the job of a level."""
        self.watch(level)
        return self.cluster.run(level, stop)


def compacted(out: Path, *, resume: bool = False, **limits: Any) -> tuple[Any, Compaction, list[Any]]:
    """A run whose levels are expanded in the driver, what merged them, and the jobs of merges and of levels."""
    run, runner = begun(PROGRAM, out, resume=resume, **limits)
    here = cluster(runner, out)
    jobs: list[Any] = []
    merge = here.merge

    def noted(job: Any, label: str, stop: threading.Event) -> Any:
        jobs.append(job)
        return merge(job, label, stop)

    made = Compaction(run.log, runner.spec.words, noted, run.stop, MOST)
    made.open(run.commits)
    run.expand(Watched(here, jobs.append), made)
    return run, made, jobs


@pytest.mark.parametrize("rows", [1 << 20, 1, 5], ids=["large", "of one state", "of five"])
def test_runs_change_nothing(rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With levels merged files, counts and verdicts are the same, whatever is read at once; at the end the runs go."""
    for module, name in ((job, "BLOCK_ROWS"), (job, "READ_ROWS"), (spark_jobs, "WINDOW_ROWS")):
        monkeypatch.setattr(module, name, rows)
    plain, runner = begun(PROGRAM, tmp_path / "plain")
    plain.expand(runner)
    run, _, jobs = compacted(tmp_path / "runs")
    assert digests(run) == digests(plain)
    assert facts(finished(run)) == native_facts(PROGRAM)
    levels = [job for job in jobs if not isinstance(job, parts.MergeJob)]
    assert len(jobs) - len(levels) > 3
    assert max(len(level.visited) for level in levels) == MOST
    assert [sum(part.rows for part in level.visited) for level in levels] == np.cumsum(run.levels).tolist()
    assert not (tmp_path / "runs" / "runs").exists()


def test_runs_are_taken_up(tmp_path: Path) -> None:
    """A run that was cut goes on with the runs that it had; its dataset is read without them."""
    cut, before, _ = compacted(tmp_path, max_depth=8)
    assert before.runs
    assert [level.rows for level in Dataset.open(tmp_path).levels] == cut.levels
    (tmp_path / "runs" / "part-00000-lost.states").write_bytes(b"of a lost attempt")
    run, runner = begun(PROGRAM, tmp_path, resume=True)
    again = Compaction(run.log, runner.spec.words, before.merge, run.stop, MOST)
    again.open(run.commits)
    assert again.runs == before.runs
    assert not (tmp_path / "runs" / "part-00000-lost.states").exists()
    run, _, jobs = compacted(tmp_path, resume=True)
    read = [job.parts if isinstance(job, parts.MergeJob) else job.visited for job in jobs[:2]]
    assert any(before.runs[-1] in some for some in read)
    assert facts(finished(run)) == native_facts(PROGRAM)


def _edited(place: Path, alter: Callable[[dict[str, Any]], object]) -> None:
    document = json.loads(place.read_text())
    alter(document)
    del document[SEAL]
    place.write_text(json.dumps({**document, SEAL: digest(document)}))


def _flipped(place: Path, at: float) -> None:
    data = bytearray(place.read_bytes())
    data[int(at * (len(data) - 1))] ^= 1
    place.write_bytes(data)


def _states(out: Path) -> list[Path]:
    return sorted((out / "runs").glob("*.states"))


def _document(out: Path) -> Path:
    return next((out / "runs").glob("*.json"))


DAMAGES: dict[str, Callable[[Path], object]] = {
    "first byte": lambda out: _flipped(_states(out)[0], 0),
    "last byte": lambda out: _flipped(_states(out)[0], 1),
    "cut": lambda out: _states(out)[0].write_bytes(_states(out)[0].read_bytes()[:-8]),
    "emptied": lambda out: _states(out)[0].write_bytes(b""),
    "file lost": lambda out: _states(out)[0].unlink(),
    "document lost": lambda out: _document(out).unlink(),
    "document edited": lambda out: _flipped(_document(out), 0.5),
    "all lost": lambda out: shutil.rmtree(out / "runs"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_run_is_made_again(damage: str, tmp_path: Path) -> None:
    """Whatever happens to a run between two drivers, the levels after it are what they would have been."""
    run, before, _ = compacted(tmp_path, max_depth=8)
    assert before.runs
    DAMAGES[damage](tmp_path)
    run, _, jobs = compacted(tmp_path, resume=True)
    assert facts(finished(run)) == native_facts(PROGRAM)
    assert any(isinstance(job, parts.MergeJob) for job in jobs)


@pytest.mark.parametrize("less", [0, 1], ids=["of another run", "of other levels"])
def test_a_run_of_something_else_is_dropped(less: int, tmp_path: Path) -> None:
    """A run of other levels than it says, or of another exploration, is removed and not read, though sealed."""
    run, before, _ = compacted(tmp_path, max_depth=8)
    last = before.runs[0].last - less
    seal = run.log.seal(last - 1) if less else "0" * 64
    _edited(tmp_path / "runs" / f"00000-{before.runs[0].last:05}.json", lambda d: d.update(last=last, of=seal))
    before.open(run.commits)
    assert [one for one in before.runs if one.first == 0] == []
    assert not list((tmp_path / "runs").glob("00000-*"))


def test_damage_while_levels_are_made(tmp_path: Path) -> None:
    """A run that is damaged again and again while its driver lives is left out of one level, and then made again."""
    run, runner = begun(PROGRAM, tmp_path)
    here = cluster(runner, tmp_path)
    seen: list[int] = []

    def damaging(level: LevelJob) -> None:
        seen.append(sum(isinstance(part, StoredRun) for part in level.visited))
        for place in _states(tmp_path) if level.depth % 3 == 0 else []:
            _flipped(place, 0.5)

    run.expand(Watched(here, damaging), Compaction(run.log, runner.spec.words, here.merge, run.stop, MOST))
    assert facts(finished(run)) == native_facts(PROGRAM)
    assert seen.count(0) > 3
    assert len(seen) > len(run.commits)


def test_an_error_that_stays_ends_the_run(tmp_path: Path) -> None:
    """What fails without any run fails for good, and names the mend."""
    run, runner = begun(PROGRAM, tmp_path)
    here = cluster(runner, tmp_path)

    def failing(level: LevelJob) -> None:
        raise LostRunError("runs/part-0: lost; remove the folder of the runs, then --resume")

    with pytest.raises(JobFailedError, match="then --resume"):
        run.expand(Watched(here, failing), Compaction(run.log, runner.spec.words, here.merge, run.stop, MOST))


def test_a_stopped_merge_leaves_the_parts(tmp_path: Path) -> None:
    """A merge that is stopped gives no run, and the levels are read as they are."""
    run, runner = begun(PROGRAM, tmp_path, max_depth=5)
    run.expand(runner)
    made = Compaction(run.log, runner.spec.words, lambda *_: None, run.stop, MOST)
    assert [part.rows for part in made.parts(run.commits, BUCKET_BITS)] == run.levels
    assert made.runs == []


def written(out: Path) -> StoredRun:
    """A run of three buckets in two files."""
    files = []
    for task, buckets in enumerate(([1, 2], [7])):
        with RunWriter(out, task) as writer:
            for bucket in buckets:
                writer.write(bucket, np.full((5, 2), bucket, dtype=np.uint64))
        made = writer.result()
        assert made is not None
        files.append(made)
    return StoredRun.of(out, 0, 2, files, BUCKET_BITS)


def blocks(run: StoredRun, lo: int, hi: int) -> Iterator[tuple[int, int]]:
    """Each state of some buckets, as its bucket and its first word."""
    for bucket, states in run.blocks(BucketRange(lo, hi, BUCKET_BITS), 2):
        yield from ((bucket, int(word)) for word in states[:, 0])


def test_a_run_is_read_by_buckets(tmp_path: Path) -> None:
    """Of each bucket there are the states that were written for it, and of no other."""
    run = written(tmp_path)
    assert run.rows == 15
    assert list(blocks(run, 0, 8)) == [(bucket, bucket) for bucket in (1, 2, 7) for _ in range(5)]
    assert list(blocks(run, 2, 7)) == [(2, 2)] * 5
    assert list(blocks(run, 3, 7)) == []
    place = tmp_path / run.files[0]
    _flipped(place, 0.9)
    assert list(blocks(run, 1, 2)) == [(1, 1)] * 5
    with pytest.raises(DamagedRunError, match=f"{place.name}: the states of bucket 2"):
        list(blocks(run, 1, 3))


def test_an_attempt_that_fails_leaves_no_file(tmp_path: Path) -> None:
    """What a task began is removed when it fails."""

    def attempt() -> None:
        with RunWriter(tmp_path, 0) as writer:
            writer.write(0, np.zeros((1, 1), dtype=np.uint64))
            raise ValueError("no space")

    with pytest.raises(ValueError, match="no space"):
        attempt()
    assert list(tmp_path.iterdir()) == []


SHAPES = {
    "level": [1_000] * 200,
    "growing": [2**depth for depth in range(40)],
    "shrinking": [2**depth for depth in range(40)][::-1],
    "a hill": [int(1e6 * np.exp(-(((depth - 30) / 10) ** 2))) + 1 for depth in range(80)],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_parts_are_few_and_states_are_seldom_written_again(shape: str) -> None:
    """Whatever the sizes of levels, there are never more parts than allowed, and few states are written again."""
    held: list[int] = []
    again = 0
    for rows in SHAPES[shape]:
        held.append(rows)
        at = first_merged(held, 8)
        if at is not None:
            held[at:] = [sum(held[at:])]
            again += held[-1]
        assert len(held) <= 8
    assert sum(held) == sum(SHAPES[shape])
    assert again < 5 * sum(held)
