"""Levels as tasks: the same as native, deterministic, exactly once whatever attempt is lost, restartable."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from attrs import evolve

from kraftcheck.ci.dataset import jobs
from kraftcheck.ci.dataset.store import levelfiles
from kraftcheck.ci.dataset.store.commits import lease_on
from kraftcheck.ci.dataset.store.levelfiles import DamagedLevelError, verify
from kraftcheck.ci.dataset.store.manifests import StatePlace
from kraftcheck.ci.spark import tasks
from kraftcheck.ci.systems.subject import program as subject_program
from kraftcheck.ci.systems.subject import subject
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.system import System
from kraftcheck.properties.kinds import recovers
from kraftcheck.solvers.exploration.explore import SearchBudget, explore
from kraftcheck.solvers.machine_code.compile import load_kernel
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import Refuted
from tests import toys
from tests.ci.spark.levels import InProcess, begun, facts, finished, native_facts, program_of

TOYS: list[tuple[System, str | None]] = [
    (toys.CLOCK, None), (toys.DIGRAPH, None), (toys.COUNTER, None), (toys.STUCK, None), (toys.RESTING, None),
    (toys.TWO_PHASE, "3"), (toys.HASTY, "5"),
]  # fmt: skip


def explored(program: Program, out: Path, **options: Any) -> Any:
    """A whole run without Spark, every level as tasks unless a handover is given."""
    run, runner = begun(program, out, **options)
    run.expand(runner)
    return run


@pytest.mark.parametrize(("system", "scope"), TOYS, ids=lambda value: getattr(value, "name", value))
@pytest.mark.parametrize("handover", [0, 3, 50])
def test_the_same_is_found_as_natively(system: System, scope: str | None, handover: int, tmp_path: Path) -> None:
    """Counts, levels, coverage, verdicts and trace lengths equal the native engine's, wherever it hands over."""
    program = program_of(system, scope)
    assert facts(finished(explored(program, tmp_path, handover=handover))) == native_facts(program)


def test_the_last_level_is_handed_over_only_when_it_is_large(tmp_path: Path) -> None:
    """A run whose levels stay small is native throughout; else the result says where Spark took over."""
    program = program_of(toys.HASTY, "5")
    assert explored(program, tmp_path / "small", handover=10_000).handed_over is None
    large = explored(program, tmp_path / "large", handover=500)
    assert large.handed_over == next(depth for depth, rows in enumerate(large.levels) if rows >= 500)
    assert {level.engine for level in large.commits[: large.handed_over + 1]} == {"native"}
    assert {level.engine for level in large.commits[large.handed_over + 1 :]} == {"spark"}


def rows_of(out: Path) -> list[Any]:
    """Every row of every level, in order."""
    levels = sorted((out / "levels").glob("*.json"))
    return [
        pq.read_table(out / "levels" / f"depth={int(place.stem[1:])}" / file["name"], partitioning=None).to_pydict()
        for place in levels
        for file in json.loads(place.read_text())["files"]
    ]


@pytest.mark.parametrize("files", [False, True], ids=["rows", "files"])
@pytest.mark.parametrize("stage", ["expand", "sift"])
def test_a_lost_attempt_changes_nothing(
    stage: str, files: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When first attempts die after any of their batches, the rows are the same, and no other file is left."""
    monkeypatch.setattr("kraftcheck.ci.dataset.search.levels.SMALL_SPLIT_ROWS", 100)
    program = program_of(toys.HASTY, "5")
    calm = explored(program, tmp_path / "calm")
    run, runner = begun(program, tmp_path / "lost")
    run.expand(evolve(runner, lost=lambda at, task, batch: at == stage and batch == task % 3, files=files))
    assert max(len(level.splits) for level in runner.levels) > 3
    assert facts(finished(run)) == facts(finished(calm)) == native_facts(program)
    assert rows_of(tmp_path / "lost") == rows_of(tmp_path / "calm")
    named = {file.name for level in run.commits for file in level.files}
    assert {path.name for path in (tmp_path / "lost").rglob("*.parquet")} == named


@pytest.mark.parametrize("size", [0, 1 << 18])
def test_a_memo_changes_no_level(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a memo that loses nearly all it is given, or little, the rows are those of a run without one."""
    monkeypatch.setattr("kraftcheck.ci.dataset.search.levels.SMALL_SPLIT_ROWS", 100)
    monkeypatch.setattr("kraftcheck.ci.spark.tasks.MEMO_BYTES", size)
    monkeypatch.setattr("kraftcheck.ci.spark.tasks._memos", {})
    chosen = subject_program(subject("elections", "tiny", {}, "kafka-4.0"))
    run = explored(chosen, tmp_path / "memo", max_depth=7)
    monkeypatch.setattr(tasks, "memo_of", lambda spec, level: None)
    without = explored(chosen, tmp_path / "without", max_depth=7)
    native = explore(chosen, SearchBudget(keep=False), clock=lambda: 0.0).levels
    assert run.levels == without.levels == list(native[: len(run.levels)])
    assert rows_of(tmp_path / "memo") == rows_of(tmp_path / "without")
    spared, plain = (sum(level.cost["candidates"] for level in one.commits[1:]) for one in (run, without))
    assert spared < 0.7 * plain if size else spared > 0.7 * plain, (spared, plain)


@pytest.mark.parametrize("depth", [3, 6, 10])
def test_two_runs_in_one_worker_share_no_memo(depth: int, tmp_path: Path) -> None:
    """A worker that explores the same system for another run in between, and further, loses no state of either."""
    program = program_of(toys.HASTY, "5")

    def explore_another(job: Any) -> None:
        if job.depth == depth:
            other, runner = begun(program, tmp_path / "other", max_depth=depth + 3)
            other.expand(runner)
            assert other.levels == list(native_facts(program)["levels"][: depth + 4])

    run, runner = begun(program, tmp_path / "run")
    run.expand(evolve(runner, before=explore_another))
    assert facts(finished(run)) == native_facts(program)


@pytest.mark.parametrize("files", [False, True], ids=["rows", "files"])
def test_small_sets_and_blocks_give_the_same_states(
    files: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sets that overflow, blocks of one record and groups of one bucket change no count and no verdict."""
    program = program_of(toys.HASTY, "5")
    monkeypatch.setattr(jobs, "BLOCK_BYTES", 1)
    monkeypatch.setattr(jobs, "BATCH_BYTES", 1)
    monkeypatch.setattr(jobs, "GROUP_RECORDS", 1)
    monkeypatch.setattr("kraftcheck.solvers.blocks.expansion.CANDIDATES", 1)
    monkeypatch.setattr(tasks, "Expansion", lambda kernel, memo: _small(kernel, memo))
    run, runner = begun(program, tmp_path)
    run.expand(evolve(runner, files=files))
    assert facts(finished(run)) == native_facts(program)


def _small(kernel: Any, memo: Any) -> Any:
    from kraftcheck.solvers.blocks.expansion import Expansion

    return Expansion(kernel, capacity=1, memo=memo)


@pytest.mark.parametrize("level", [1, 5, 11])
def test_a_run_killed_within_a_level_resumes_to_the_same(level: int, tmp_path: Path) -> None:
    """A level that is half written when the driver dies is discarded; the run resumes with equal counts."""
    program = program_of(toys.HASTY, "5")

    def die(job: Any) -> None:
        if job.depth == level:
            Path(job.folder).mkdir(exist_ok=True)
            (Path(job.folder) / "part-00000-0.parquet").write_bytes(b"half a file")
            raise KeyboardInterrupt

    run, runner = begun(program, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run.expand(evolve(runner, before=die))
    again, runner = begun(program, tmp_path, resume=True)
    assert len(again.commits) == level
    assert not list((tmp_path / "levels").glob(f"depth={level}/*"))
    again.expand(runner)
    assert facts(finished(again)) == native_facts(program)
    whole, _ = begun(program, tmp_path, resume=True)
    assert whole.finished
    assert facts(finished(whole)) == native_facts(program)


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ((toys.TWO_PHASE, "5"), "explored with system hasty-commit, now it is two-phase-commit"),
        ((toys.HASTY, "3"), "explored with scope 5, now it is 3"),
    ],
)
def test_another_model_or_scope_does_not_resume(other: tuple[System, str], named: str, tmp_path: Path) -> None:
    """Resuming a run of something else is refused, naming the first difference."""
    explored(program_of(toys.HASTY, "5"), tmp_path, max_depth=2)
    with pytest.raises(Refusal, match=named):
        begun(program_of(*other), tmp_path, resume=True)


def test_a_part_of_the_properties_is_named_as_such(tmp_path: Path) -> None:
    """A run is resumed with its properties: of fewer, more and others the refusal says what they are."""
    log = explored(program_of(toys.HASTY, "3"), tmp_path, max_depth=1).log
    run = log.read_run()
    of = {**run.identity, "properties": ["always a", "always b", "always c", "always d", "always e"]}
    log = evolve(log, out=tmp_path / "more")
    (tmp_path / "more").mkdir()
    with lease_on(log.out) as lease:
        evolve(log, lease=lease).begin(of, run.table)
    for properties, said in (
        (["always e"], "there were 5, now it is only 1 of them, without always a, always b, always c and 1 more;"),
        ([*of["properties"], "always f"], "there were 5, now it is those and always f;"),
        (["always a", "always b", "always c", "always d", "sometimes e"], "always e, now it is sometimes e;"),
        (of["properties"][::-1], "properties in one order, now it is in another;"),
    ):
        with pytest.raises(Refusal, match=said):
            log.check_same({**of, "properties": properties})


def test_a_changed_rule_does_not_resume(tmp_path: Path) -> None:
    """The same names with another guard are another term graph, and refused as such."""
    explored(program_of(toys.HASTY, "5"), tmp_path, max_depth=2)
    changed = evolve(toys.TWO_PHASE, name="hasty-commit")
    with pytest.raises(Refusal, match=r"model \(digest of the term graph\)"):
        begun(program_of(changed, "5"), tmp_path, resume=True)


def test_limits_cut_between_levels(tmp_path: Path) -> None:
    """Depth, state and first-violation limits give Incomplete, with whole levels only."""
    program = program_of(toys.HASTY, "5")
    deep = explored(program, tmp_path / "depth", max_depth=3)
    assert (deep.cut, len(deep.levels)) == ("depth limit 3", 4)
    many = explored(program, tmp_path / "states", max_states=500)
    assert many.cut == "state limit 500"
    first = explored(program, tmp_path / "first", stop_at_first=True)
    assert first.cut == "stopped at the first violation"
    assert facts(finished(first))["verdicts"][0][2:] == ("Refuted", 11)
    for run in (deep, many):
        assert {type(v.verdict).__name__ for v in finished(run).verdicts} <= {"Incomplete", "Holds"}
        assert finished(run).verdicts[0].depth is None


@pytest.mark.parametrize("cut", [True, False], ids=["truncated", "altered"])
def test_a_damaged_file_is_noticed(cut: bool, tmp_path: Path) -> None:
    """Truncated or altered bytes of a committed file fail its digest, and reading its states while exploring."""
    run = explored(program_of(toys.HASTY, "5"), tmp_path, max_depth=5)
    level = run.commits[4]
    path = run.log.folder(4) / level.files[0].name
    assert verify(run.log.folder(4), level.files[0]) is None
    again, runner = begun(program_of(toys.HASTY, "5"), tmp_path, resume=True)
    data = path.read_bytes()
    footer = pq.read_metadata(path).row_group(0)
    words = next(footer.column(i) for i in range(footer.num_columns) if footer.column(i).path_in_schema == "w0")
    end = words.data_page_offset + words.total_compressed_size
    path.write_bytes(data[:-9] if cut else data[: end - 2] + bytes([data[end - 2] ^ 255]) + data[end - 1 :])
    levelfiles.footer.cache_clear()
    told = verify(run.log.folder(4), level.files[0])
    assert told is not None
    assert str(path) in told
    with pytest.raises(DamagedLevelError, match="part-"):
        again.expand(runner)


def test_parents_are_of_the_level_before(tmp_path: Path) -> None:
    """Every row's parent is a row of the level before, and its action leads from there to it."""
    program = program_of(toys.HASTY, "3")
    run = explored(program, tmp_path)
    origins, kernel = run.store, load_kernel(program)
    seen = 0
    for level in run.commits[:-1]:
        for group in level.groups:
            for row in range(group.rows):
                at = StatePlace(level.depth, group.bucket << 32 | row)
                way = origins.run_to(at)
                assert len(way.instances) == level.depth
                assert way.initial in program.initial
                if way.instances:
                    parent = origins.row(StatePlace(level.depth - 1, origins.row(at).parent)).state
                    assert (way.instances[-1], way.end) in list(kernel.successors(parent))
                seen += 1
    assert seen == 348


UNDECIDED = evolve(
    toys.TWO_PHASE,
    properties=lambda _: [recovers("undecided", "The decision can be undone.", lambda s: s.manager == toys.INIT)],
)


@pytest.mark.parametrize("system", [toys.VALVE, UNDECIDED], ids=["valve", "undecided"])
def test_without_a_handover_recovery_is_refuted_as_natively(system: System, tmp_path: Path) -> None:
    """Where nothing was handed over, states that never recover have the verdicts and closures of the native engine."""
    program = program_of(system)
    run, runner = begun(program, tmp_path, handover=1 << 30)
    run.expand(runner)
    assert run.handed_over is None
    native = explore(program, SearchBudget(keep=False), clock=lambda: 0.0).verdicts
    told, expected = (
        [(v.claim, v.depth, v.verdict.trace.closure if isinstance(v.verdict, Refuted) else v.verdict) for v in verdicts]
        for verdicts in (finished(run).verdicts, native)
    )
    assert told == expected
    assert any(v.kind == "recovers" and isinstance(v.verdict, Refuted) and v.depth for v in native)


def test_no_state_is_known_to_the_driver(tmp_path: Path) -> None:
    """What a level's job brings back grows with its files, not with its states."""
    run, runner = begun(program_of(toys.TWO_PHASE, "5"), tmp_path)
    sizes: list[int] = []
    original = InProcess._attempts

    def weighed(self: InProcess, stage: str, task: int, work: Any) -> Any:
        rows = original(self, stage, task, work)
        if stage == "sift":
            sizes.append(sum(len(row["payload"]) for row in rows))
        return rows

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InProcess, "_attempts", weighed)
        run.expand(runner)
    frame = 8 * runner.spec.frame
    assert max(run.levels) > 100 * runner.spec.buckets
    assert max(sizes) < frame * 8 + 60 * runner.spec.buckets
    assert int(np.sum(run.levels)) == 8_832
