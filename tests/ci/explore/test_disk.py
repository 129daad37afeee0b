"""The search of one machine with levels in files: the same as natively, whatever interrupts it."""

from pathlib import Path
from typing import Any

import pytest

from kraftcheck.ci.dataset import disk as disk
from kraftcheck.ci.dataset.disk import DiskRunner, RoundProgress
from kraftcheck.ci.dataset.jobs import CandidateFile, LocalJobs
from kraftcheck.ci.dataset.search.run import DatasetRun
from kraftcheck.ci.dataset.store.commits import CommitLog
from kraftcheck.ci.terminal.refusal import JobFailedError
from kraftcheck.model.language.system import System
from kraftcheck.solvers.blocks.tasks import Sorted
from kraftcheck.solvers.program.program import Program
from tests import toys
from tests.ci.spark.levels import begun, facts, finished, native_facts, program_of
from tests.ci.spark.test_spark import counts
from tests.ci.spark.test_spark_backward import WAYS, committed, judged, small_parts
from tests.ci.spark.test_spark_levels import rows_of
from tests.shared.commands import kraftcheck
from tests.shared.edges import grid

ROOMY = 1 << 30


def explored(program: Program, out: Path, threads: int = 1, memory: int = ROOMY, **options: Any) -> DatasetRun:
    """A run to its end, from the initial states on."""
    run, _ = begun(program, out, **options)
    run.expand(DiskRunner(run.blocks, threads, memory))
    return run


@pytest.mark.parametrize("handover", [0, 50])
@pytest.mark.parametrize(
    ("system", "scope"), [(toys.HASTY, "5"), (toys.DIGRAPH, None), (toys.VALVE, None), (grid(x_first=False), None)],
    ids=["hasty", "digraph", "valve", "grid"],
)  # fmt: skip
def test_the_same_is_found_as_natively(system: System, scope: str | None, handover: int, tmp_path: Path) -> None:
    """Counts, verdicts, trace lengths, coverage and pruned steps are those of the native search."""
    program = program_of(system, scope)
    assert facts(finished(explored(program, tmp_path, handover=handover))) == native_facts(program)


def test_files_do_not_depend_on_threads_or_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three threads, and rounds of one small job, write the rows that one thread writes, each state once."""
    program = program_of(toys.HASTY, "5")
    run = explored(program, tmp_path / "one")
    explored(program, tmp_path / "three", threads=3)
    monkeypatch.setattr(disk, "JOB_ROWS", 7)
    monkeypatch.setattr(disk, "ROUND", 1)
    small = explored(program, tmp_path / "small", threads=2)
    assert rows_of(tmp_path / "three") == rows_of(tmp_path / "one")
    assert max(len(level.files) for level in small.commits) > 1

    def by_place(out: Path) -> list[tuple[Any, ...]]:
        names = ("id", "parent", "action", "w0")
        return sorted(row for part in rows_of(out) for row in zip(*(part[name] for name in names), strict=True))

    assert by_place(tmp_path / "small") == by_place(tmp_path / "one")
    assert len({row[3] for row in by_place(tmp_path / "one")}) == len(by_place(tmp_path / "one")) == run.distinct


@pytest.mark.parametrize(
    ("system", "scope", "level"), [(toys.HASTY, "5", 1), (toys.HASTY, "5", 11), (toys.VALVE, None, 3)],
    ids=["begin", "end", "with ways back"],
)  # fmt: skip
def test_a_run_that_dies_within_a_level_resumes_to_the_same(
    system: System, scope: str | None, level: int, tmp_path: Path
) -> None:
    """What a driver had found of a level when it died is forgotten; the run resumes with equal counts."""
    program = program_of(system, scope)

    def die(progress: RoundProgress) -> None:
        if progress.depth == level:
            raise KeyboardInterrupt

    run, _ = begun(program, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run.expand(DiskRunner(run.blocks, 1, ROOMY, die))
    again, _ = begun(program, tmp_path, resume=True)
    assert len(again.commits) == level
    again.expand(DiskRunner(again.blocks, 2, ROOMY))
    assert facts(finished(again)) == native_facts(program)


@pytest.mark.parametrize("first", ["disk", "tasks"])
def test_engines_go_on_with_each_others_runs(first: str, tmp_path: Path) -> None:
    """Levels of one engine are those of the other: begun by either and ended by the other, a run finds the same."""
    program = program_of(toys.HASTY, "5")
    run, tasks = begun(program, tmp_path, max_depth=6)
    run.expand(tasks if first == "tasks" else DiskRunner(run.blocks, 1, ROOMY))
    assert run.cut == "depth limit 6"
    again, tasks = begun(program, tmp_path, resume=True)
    again.expand(tasks if first == "disk" else DiskRunner(again.blocks, 1, ROOMY))
    assert facts(finished(again)) == native_facts(program)


def test_levels_say_what_memory_they_took(tmp_path: Path) -> None:
    """A level has the bytes of the visited set, which never shrinks, and of all that was in use, which is more."""
    out = tmp_path / "out"
    words = ("explore", "tests.toys:HASTY", "--scope", 5, "--engine", "disk", "--handover", 0, "--out", out, "--quiet")
    kraftcheck(*words)
    ran = kraftcheck("query", out, "SELECT visited_bytes, memory_bytes FROM levels WHERE seconds > 0 ORDER BY depth",
                     "--system", "tests.toys:HASTY", "--json", "-")  # fmt: skip
    rows = ran.document()["rows"]
    assert len(rows) > 3
    assert [visited for visited, _ in rows] == sorted(visited for visited, _ in rows)
    assert all(0 < visited < memory for visited, memory in rows)


def test_too_little_memory_is_incomplete(tmp_path: Path) -> None:
    """A run that would need more memory than it may take is incomplete after whole levels, and goes on with more."""
    program = program_of(toys.HASTY, "5")
    cut = explored(program, tmp_path, memory=20_000)
    assert cut.cut == "memory limit 20,000 bytes"
    assert 1 < len(cut.levels) < 12
    assert {type(v.verdict).__name__ for v in finished(cut).verdicts} <= {"Incomplete", "Holds"}
    again, _ = begun(program, tmp_path, resume=True)
    again.expand(DiskRunner(again.blocks, 1, ROOMY))
    assert facts(finished(again)) == native_facts(program)


@pytest.mark.parametrize(
    "words",
    ["tests.toys:HASTY --scope 3", "tests.shared.capped:CAPPED --strict", "tests.shared.shelf:UNSAID",
     "tests.toys:VALVE --scope bound --max-depth 3", "tests.toys:VALVE", "tests.toys:VALVE --scope bound",
     "tests.ci.spark.test_spark_backward:WAYS",
     "elections --scope tiny --rules kafka-3.9 --property leader-active --property isr-within-replicas",
     "fair-future-logs --scope tiny", "fair-broker-ids --scope tiny --rules kafka-4.4.0",
     *(pytest.param(f"{system} --scope tiny --rules kafka-4.4.0", marks=pytest.mark.slow)
       for system in ("features", "directories", "fair-directories", "healing-features", "fair-elections"))],
)  # fmt: skip
def test_the_command_finds_what_native_finds(words: str, tmp_path: Path) -> None:
    """Counts, all of a property but its trace, coverage and exit code are the native engine's; memory is named."""
    native = kraftcheck("explore", *words.split(), "--json", "-", "--quiet")
    ran = kraftcheck("explore", *words.split(), "--handover", 0, "--engine", "disk", "--out", tmp_path / "out",
                     "--json", "-", "--quiet")  # fmt: skip
    assert counts(ran.document()) == counts(native.document())
    assert ran.code == native.code
    assert ran.document()["engine"] == "disk"
    assert ran.document()["disk"]["handed_over"] == 0
    assert "MB of visited states, " in ran.err


def test_steps_that_are_lost_on_the_way_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file between the stages that was altered is no verdict, but an error that says how to go on."""
    small_parts(monkeypatch)
    program = program_of(WAYS)
    run, spec = committed(program, tmp_path)
    whole = CandidateFile.write

    def torn(self: CandidateFile, drained: Sorted) -> None:
        whole(self, drained)
        for file in self.folder.glob("*.candidates"):
            file.write_bytes(file.read_bytes()[:-1])

    monkeypatch.setattr(CandidateFile, "write", torn)
    with pytest.raises(JobFailedError, match="--resume goes on"):
        judged(program, run, LocalJobs(spec, 2), 0)


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    """A committed file with another byte is found by its digest."""
    words = ("explore", "tests.toys:HASTY", "--scope", 5, "--engine", "disk", "--handover", 300, "--quiet")
    out = tmp_path / "out"
    assert kraftcheck(*words, "--out", out, "--max-depth", 7).code == 20
    [file, *_] = sorted(CommitLog(out).folder(6).glob("*.parquet"))
    data = file.read_bytes()
    file.write_bytes(data[:40] + bytes([data[40] ^ 1]) + data[41:])
    assert "SHA-256 differs" in kraftcheck(*words, "--out", out, "--resume").refusal()
    ran = kraftcheck(*words, "--out", out, "--resume", "--repair", "--max-depth", 7)
    assert (ran.code, file.exists()) == (20, False)
    assert f"repaired: level 6 and later ones are explored again: {file}: its bytes are not" in ran.err
    assert kraftcheck(*words, "--out", out, "--resume").code == 12


def test_options_of_clusters_are_refused(tmp_path: Path) -> None:
    """What only a cluster understands is refused, and what only a dataset has by the native engine."""
    told = kraftcheck("explore", "tests.toys:HASTY", "--engine", "disk", "--master", "local[2]").refusal()
    assert "--master is an option of --engine spark" in told
    told = kraftcheck("explore", "tests.toys:HASTY", "--resume").refusal()
    assert "--resume is an option of --engine disk or spark" in told
    told = kraftcheck("explore", "tests.toys:HASTY", "--engine", "disk", "--resume").refusal()
    assert "--resume needs the --out" in told
