"""The backward search of the Spark engine: the native verdicts, by arcs in memory or in files, and after a stop."""

import contextlib
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from attrs import define, evolve

from kraftcheck.ci.dataset.backward import arcs
from kraftcheck.ci.dataset.backward import search as listing
from kraftcheck.ci.dataset.backward.search import FOLDER, CommittedBackward
from kraftcheck.ci.dataset.jobs import Arrived, Stages, rows_here
from kraftcheck.ci.dataset.store.levelfiles import DamagedLevelError
from kraftcheck.ci.terminal.refusal import JobFailedError
from kraftcheck.model.language.system import System
from kraftcheck.properties.kinds import recovers
from kraftcheck.solvers.blocks.tasks import BlockSpec
from kraftcheck.solvers.exploration.explore import SearchBudget, conclude, explore
from kraftcheck.solvers.liveness.backward import Recoverability
from kraftcheck.solvers.program.program import Program
from tests import toys
from tests.ci.spark.levels import begun, finished, program_of

TWO_CLAIMS = evolve(
    toys.TWO_PHASE,
    properties=lambda setting: [
        recovers("undecided", "The decision can be undone.", lambda s: s.manager == toys.INIT),
        recovers("decided", "A decision can be made.", lambda s: s.manager != toys.INIT),
    ],
)
WAYS = evolve(
    toys.DIGRAPH,
    properties=lambda _: [
        recovers("five", "Node 5 can be reached.", lambda s: s.node == 5),
        recovers("two", "Node 2 can be reached.", lambda s: s.node == 2, when=lambda s: s.node != 3),
        recovers("nowhere", "There is no node 6 that is 7.", lambda s: s.node > 7),
    ],
)
"""A long way back, so that there are many rounds."""

SYSTEMS: list[tuple[System, str | None]] = [
    (toys.VALVE, "budget"), (toys.VALVE, "bound"), (WAYS, None), (TWO_CLAIMS, "3"),
]  # fmt: skip


@define
class Here:
    """Runs jobs in this process, on two cores; what they give may be lost, and goes through files where asked."""

    spec: BlockSpec
    cores: int = 2
    jobs: int = 0
    lost: int | None = None
    files: bool = False

    @property
    def shipped(self) -> Any:
        """As Spark's."""
        return lambda: self.spec

    @contextlib.contextmanager
    def exchange(self, where: Path) -> Iterator[Path | None]:
        """As Spark's."""
        if self.files:
            (where / "steps").mkdir()
        yield where / "steps" if self.files else None
        shutil.rmtree(where / "steps", ignore_errors=True)

    def rows(self, stages: Stages, label: str, stop: threading.Event, *, here: bool) -> Any:
        """Run a job; None once it is stopped."""
        if stop.is_set():
            return None
        self.jobs += 1
        rows = rows_here(stages)
        return (rows if self.jobs != self.lost else rows[1:]), {}


def committed(program: Program, out: Path, **limits: Any) -> Any:
    """A run whose levels are committed, and its spec."""
    run, runner = begun(program, out, **limits)
    run.expand(runner)
    return run, runner.spec


def judged(
    program: Program, run: Any, runner: Here, memory: int, most: int = 1 << 30
) -> tuple[Recoverability, CommittedBackward]:
    """The backward search, stopped after so many rounds."""
    stop = threading.Event()

    def report(rounds: int, rose: int) -> None:
        if rounds >= most:
            stop.set()

    backward = CommittedBackward(runner, run.log, run.commits, program, memory, report)
    return backward.run(stop), backward


def verdicts(run: Any, found: Recoverability) -> Any:
    """The verdicts of a run with what was found backward."""
    return conclude(run, run.kernel, 1.0, 0.0, finished(run).audit, found).verdicts


def assert_native(program: Program, run: Any, found: Recoverability) -> None:
    """What was found backward has the verdicts, depths and counts of the native engine."""
    native = explore(program, clock=lambda: 0.0)
    both = (verdicts(run, found), native.verdicts)
    mine, theirs = ([(v.claim, type(v.verdict), v.depth) for v in one if v.kind == "recovers"] for one in both)
    assert mine == theirs
    assert found.findings is not None
    assert native.recoverability.findings is not None
    names = ("concerned", "failing", "uncertain", "satisfied")
    for one, other in zip(found.findings, native.recoverability.findings, strict=True):
        assert [getattr(one, name) for name in names] == [getattr(other, name) for name in names]


def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs of many tasks, whose tables hold few states."""
    monkeypatch.setattr(listing, "HERE_TRANSITIONS", 0)
    monkeypatch.setattr(listing, "PART_TRANSITIONS", 8)
    monkeypatch.setattr(arcs, "SPLIT_STATES", 4)
    monkeypatch.setattr(arcs, "WINDOW_STATES", 2)
    monkeypatch.setattr(arcs, "GROUP_RECORDS", 16)


@pytest.fixture(autouse=True)
def jobs_of_small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test of this file has such jobs."""
    small_parts(monkeypatch)


@pytest.mark.parametrize(("memory", "files"), [(0, False), (1 << 30, True)], ids=["sweeps", "memory and files"])
@pytest.mark.parametrize("number", [0, 1, 2, pytest.param(3, marks=pytest.mark.slow)])
def test_recovery_is_judged_as_natively(number: int, memory: int, files: bool, tmp_path: Path) -> None:
    """By sweeps over files and by arcs in memory, with steps in rows and in files, verdicts and traces are native."""
    program = program_of(*SYSTEMS[number])
    run, spec = committed(program, tmp_path)
    found, backward = judged(program, run, Here(spec, files=files), memory)
    assert_native(program, run, found)
    assert backward.rounds >= 2
    assert not (tmp_path / FOLDER).exists()


@pytest.mark.parametrize("memory", [0, 1 << 30], ids=["sweeps", "memory"])
def test_what_was_cut_is_uncertain(memory: int, tmp_path: Path) -> None:
    """Where a limit cut the exploration, a state whose way back may lead beyond it is not lost."""
    program = program_of(TWO_CLAIMS, "3")
    run, spec = committed(program, tmp_path, max_depth=3)
    found, _ = judged(program, run, Here(spec), memory)
    native = explore(program, SearchBudget(max_depth=3), clock=lambda: 0.0)
    assert native.recoverability.findings is not None
    assert found.findings is not None
    for mine, theirs in zip(found.findings, native.recoverability.findings, strict=True):
        assert (mine.uncertain, mine.unrecoverable is None) == (theirs.uncertain, theirs.unrecoverable is None)
    assert any(one.uncertain is not None for one in found.findings)


def test_a_search_that_was_stopped_lists_no_arcs_again(tmp_path: Path) -> None:
    """Stopped once arcs are listed, a search goes on without any job, and ends as one that was not stopped."""
    program = program_of(WAYS)
    run, spec = committed(program, tmp_path)
    whole, calm = judged(program, run, Here(spec), 0)
    cut, first = judged(program, run, Here(spec), 0, 1)
    assert (cut.findings, first.rounds) == (None, 1)
    runner = Here(spec)
    again, second = judged(program, run, runner, 0)
    assert (second.resumed, second.rounds, runner.jobs) == (1, calm.rounds, 0)
    assert again.findings == whole.findings


def test_an_altered_file_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An arc that is altered on the disk during a search fails its page's checksum: no verdict is told."""
    program = program_of(WAYS)
    run, spec = committed(program, tmp_path)
    original = Here.rows

    def altered(self: Here, *words: Any, **options: Any) -> Any:
        done = original(self, *words, **options)
        for path in (tmp_path / FOLDER).glob("arcs-*"):
            source = pq.read_metadata(path).row_group(0).column(1)
            data = bytearray(path.read_bytes())
            data[source.data_page_offset + source.total_compressed_size - 8] ^= 1  # the last arc is another state's
            path.write_bytes(data)
        return done

    monkeypatch.setattr(Here, "rows", altered)
    with pytest.raises(DamagedLevelError, match="arcs-"):
        judged(program, run, Here(spec), 0)


def test_a_split_that_is_not_expanded_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the tasks did not expand every state, there is no verdict, but an error."""
    run, spec = committed(program := program_of(WAYS), tmp_path)
    monkeypatch.setattr(listing, "splits_of", lambda visited: arcs.splits_of(visited)[:-1])
    with pytest.raises(JobFailedError, match="expanded 7 of 8 states"):
        judged(program, run, Here(spec), 0)


@pytest.mark.parametrize("files", [False, True], ids=["rows", "files"])
def test_steps_that_do_not_arrive_are_an_error(files: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a step is lost on the way to the part of its target, there is no verdict, but an error."""
    run, spec = committed(program := program_of(WAYS), tmp_path)
    within, lost = Arrived.within, [1]

    def without_one(self: Arrived, lo: int, hi: int) -> Iterator[Any]:
        for block in within(self, lo, hi):
            some = min(lost[0], len(block))
            lost[0] -= some
            yield block[some:]

    monkeypatch.setattr(Arrived, "within", without_one)
    with pytest.raises(JobFailedError, match=r"brought back \d+ of \d+ parts, \d+ of \d+ steps"):
        judged(program, run, Here(spec, files=files), 1 << 30)
    assert not lost[0]


def test_a_lost_result_fails_the_search(tmp_path: Path) -> None:
    """Where a task's result did not come back there is no verdict, but an error."""
    program = program_of(WAYS)
    run, spec = committed(program, tmp_path)
    with pytest.raises(JobFailedError, match="brought back"):
        judged(program, run, Here(spec, lost=1), 0)


def test_files_that_were_written_elsewhere_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where workers write to disks of their own, the driver says so instead of reading no arcs."""
    program = program_of(WAYS)
    run, spec = committed(program, tmp_path)
    original = Here.rows

    def elsewhere(self: Here, *words: Any, **options: Any) -> Any:
        done = original(self, *words, **options)
        for path in (tmp_path / FOLDER).glob("arcs-*"):
            path.unlink()
        return done

    monkeypatch.setattr(Here, "rows", elsewhere)
    with pytest.raises(JobFailedError, match="the workers do not share this disk"):
        judged(program, run, Here(spec), 0)


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("memory", [0, 1 << 30], ids=["sweeps", "memory"])
def test_jobs_of_spark_judge_as_natively(memory: int, session: Any, tmp_path: Path) -> None:
    """Under a real Spark the verdicts are those of jobs in this process."""
    from kraftcheck.ci.spark.jobs import SparkCluster

    program = program_of(*SYSTEMS[0])
    run, spec = committed(program, tmp_path)
    cluster = SparkCluster.of(session, spec, tmp_path / "log")
    found, _ = judged(program, run, cluster, memory)  # type: ignore[arg-type]
    assert found.findings == judged(program, run, Here(spec), memory)[0].findings
