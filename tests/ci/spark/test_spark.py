"""The Spark engine on a real Spark: the same as native, one shuffle a level, what users see when it cannot run.

One session serves all tests of this group; `-m "not spark"` leaves them out.
"""

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle

from kraftcheck.ci.dataset.search.levels import plan
from kraftcheck.ci.dataset.store.commits import CommitLog
from kraftcheck.ci.spark.jobs import SparkCluster
from kraftcheck.ci.spark.tasks import level_stages
from kraftcheck.ci.systems.subject import program as subject_program
from kraftcheck.ci.systems.subject import subject
from kraftcheck.solvers.audit.audit import FLOOR
from kraftcheck.solvers.blocks.kernel import block_spec
from kraftcheck.solvers.exploration.explore import SearchBudget, explore
from kraftcheck.solvers.machine_code.objectcode import ObjectCache
from tests import toys
from tests.ci.spark.levels import begun, facts, finished, native_facts, program_of
from tests.shared.commands import kraftcheck

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


def counts(document: Any) -> Any:
    """What must be equal in the documents of two engines: all of a property but which shortest trace is shown."""
    states = {name: document["states"][name] for name in ("distinct", "generated", "depth", "levels")}
    shown = ("trace", "closure", "loop")
    verdicts = [{name: value for name, value in p.items() if name not in shown} for p in document["properties"]]
    return states, verdicts, document["fired"], document["guards"], document["prunings"], document["complete"]


@pytest.mark.parametrize(
    "words",
    ["tests.toys:HASTY --scope 3 --handover 0", "tests.toys:DIGRAPH --handover 0",
     pytest.param("tests.shared.capped:DRAINED --handover 0", marks=pytest.mark.slow),
     pytest.param("tests.shared.capped:CAPPED --strict --handover 0", marks=pytest.mark.slow),
     pytest.param("tests.toys:VALVE --handover 0", marks=pytest.mark.slow),
     "tests.toys:VALVE --scope bound --max-depth 3 --handover 0",
     pytest.param("elections --scope tiny --rules kafka-3.9 --handover 1500", marks=pytest.mark.slow),
     *(pytest.param(f"{words} --handover {states}", marks=pytest.mark.slow) for words, states in (
         ("replication --scope tiny", 1000), ("features --scope bootstrap", 0), ("images --scope crashes", 0),
         ("directories --scope takeovers", 0), ("directories --scope cordons", 2000), ("future-logs --scope small", 0),
         ("kraft --scope repairs", 70_000),
     ))],
)  # fmt: skip
@pytest.mark.usefixtures("shared")
def test_spark_finds_what_native_finds(words: str, tmp_path: Path) -> None:
    """Counts, verdicts, trace lengths, coverage and exit code are those of the native engine."""
    system, _, handover = words.partition(" --handover ")
    native = kraftcheck("explore", *system.split(), "--json", "-", "--quiet").document()
    ran = kraftcheck("explore", *system.split(), "--handover", handover, "--engine", "spark", "--out", tmp_path / "out",
                     "--json", "-", "--quiet")  # fmt: skip
    told = ran.document()
    assert counts(told) == counts(native)
    assert told["engine"] == "spark"
    assert told["spark"]["handed_over"] is not None
    assert min(told["states"]["distinct"], FLOOR) <= told["audit"]["states"] <= told["states"]["distinct"]
    assert not re.search(r"WARN|INFO|Stage", ran.err)


@pytest.mark.usefixtures("shared")
def test_spark_is_audited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that is another on ints ends a run under Spark without a verdict, whichever engine expanded."""
    monkeypatch.setattr(
        "kraftcheck.ci.systems.subject.check_sample", lambda *_: None
    )  # which finds it before Spark starts
    for handover in (0, 1000):
        ran = kraftcheck(
            "explore", "tests.shared.faulty:TWO_FACED", "--engine", "spark", "--handover", handover, "--quiet"
        )
        assert (ran.code, ran.out) == (24, "")
        assert "the engine disagrees with the rules, no verdict: two-faced is true on ints" in ran.err
    told = kraftcheck("explore", "tests.toys:HASTY", "--scope", 3, "--engine", "spark", "--handover", 0, "--quiet",
                      "--audit", "9@4", "--json", "-").document()  # fmt: skip
    assert (told["audit"]["states"], told["audit"]["seed"], told["audit"]["whole"]) == (9, 4, True)


def test_a_level_is_one_shuffle_of_candidates_only(session: Any, tmp_path: Path) -> None:
    """The plan of a level has one exchange, above the expansion; metrics count one shuffle, of candidates."""
    program = program_of(toys.TWO_PHASE, "5")
    run, _ = begun(program, tmp_path)
    spec = block_spec(program, 3, ObjectCache(None))
    cluster = SparkCluster.of(session, spec, tmp_path / "log")
    run.expand(cluster)
    assert facts(finished(run)) == native_facts(program)
    level = plan(cluster, run.log, run.commits[:6])
    text = cluster.frame(level_stages(cluster.shipped, level))._jdf.queryExecution().executedPlan().toString()
    operators = re.findall(r"(Exchange|MapInArrow|Scan|Sort|Range)\b", text)
    assert operators == ["MapInArrow", "Sort", "Exchange", "MapInArrow", "Range"], text
    for commit in run.commits[1:]:
        cost = commit.cost
        assert cost["shuffles"] == 1
        record = 8 * (spec.words + 1)
        frames = cost["expand_tasks"] * 8 * spec.frame
        assert cost["shuffled"] < 2 * (cost["candidates"] * record + frames) + 100 * (
            cost["expand_tasks"] * spec.buckets
        )
        visited = sum(one.rows for one in run.commits[: commit.depth])
        if commit.rows == 0:
            assert cost["shuffled"] < visited * 8 * spec.words / 10


@pytest.mark.slow
def test_workers_keep_a_memo_where_spark_keeps_workers(session: Any, tmp_path: Path) -> None:
    """Two runs in the same workers find what native finds, of fewer candidates than where no worker outlives a task."""
    settings = session.sparkContext._jsc.sc().conf()
    before = settings.get("spark.python.worker.reuse")
    program = subject_program(subject("elections", "tiny", {}, "kafka-4.0"))
    native = explore(program, SearchBudget(keep=False), clock=lambda: 0.0).levels
    candidates = {}
    try:
        for name, reuse in (("without", "false"), ("first", "true"), ("second", "true")):
            settings.set("spark.python.worker.reuse", reuse)
            run, runner = begun(program, tmp_path / name, max_depth=7)
            run.expand(SparkCluster.of(session, runner.spec, tmp_path / name / "log"))
            assert run.levels == list(native[: len(run.levels)])
            candidates[name] = sum(level.cost["candidates"] for level in run.commits[1:])
    finally:
        settings.set("spark.python.worker.reuse", before)
    assert max(candidates["first"], candidates["second"]) < 0.9 * candidates["without"], candidates


def test_a_job_goes_to_each_worker_once(session: Any, tmp_path: Path) -> None:
    """What Spark sends with each task is small, and the same however many levels and groups a job is about."""
    run, runner = begun(program_of(toys.TWO_PHASE, "5"), tmp_path)
    cluster = SparkCluster.of(session, runner.spec, tmp_path / "log")
    run.expand(runner)
    sizes = []
    for depth in (3, len(run.commits) - 2):
        level = plan(runner, run.log, run.commits[: depth + 1])
        with cluster.sent(level_stages(cluster.shipped, level)) as sent:
            sizes.append([len(cloudpickle.dumps(task)) for task in (sent.first, sent.second)])
            session.sparkContext._pickled_broadcast_vars.clear()  # noted for a next job, which there is not
    assert sizes[0] == sizes[1]
    assert max(sizes[0]) < 4096


def test_the_shuffle_of_a_level_is_freed(session: Any, tmp_path: Path) -> None:
    """Once the levels are committed, no file of their shuffles is left on the scratch disks."""
    run, _ = begun(program_of(toys.TWO_PHASE, "3"), tmp_path)
    cluster = SparkCluster.of(session, block_spec(run.kernel.program, 3, ObjectCache(None)), tmp_path / "log")
    scratch = Path(session.conf.get("spark.local.dir"))
    before = set(scratch.rglob("shuffle_*"))
    run.expand(cluster)
    assert sum(level.cost["shuffled"] for level in run.commits[1:]) > 0
    deadline = time.monotonic() + 20
    while left := set(scratch.rglob("shuffle_*")) - before:
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


@pytest.mark.usefixtures("shared")
def test_a_run_goes_on_where_it_was_cut(tmp_path: Path) -> None:
    """Cut by a depth limit, then resumed, a run ends with the counts of an uninterrupted one; then it is finished."""
    words = ("explore", "tests.toys:HASTY", "--scope", 5, "--engine", "spark", "--handover", 300, "--quiet")
    out = tmp_path / "out"
    assert kraftcheck(*words, "--out", out, "--max-depth", 8).code == 20
    assert "holds an exploration already; --resume" in kraftcheck(*words, "--out", out).refusal()
    told = kraftcheck(*words, "--out", out, "--resume", "--json", "-").document()
    native = kraftcheck("explore", "tests.toys:HASTY", "--scope", 5, "--quiet", "--json", "-").document()
    assert counts(told) == counts(native)
    assert told["spark"]["resumed"] == 8
    assert CommitLog(out).commits()[-1].last


@pytest.mark.usefixtures("shared")
def test_a_damaged_dataset_does_not_resume(tmp_path: Path) -> None:
    """A committed file with one altered byte is found by its digest before anything is expanded."""
    words = ("explore", "tests.toys:HASTY", "--scope", 5, "--engine", "spark", "--handover", 300, "--quiet")
    out = tmp_path / "out"
    assert kraftcheck(*words, "--out", out, "--max-depth", 7).code == 20
    path = next((out / "levels" / "depth=5").glob("*.parquet"))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    told = kraftcheck(*words, "--out", out, "--resume").refusal()
    assert str(path) in told
    assert "SHA-256 differs" in told


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--engine native --resume", "--resume is an option of --engine disk or spark"),
        ("--engine spark --resume", "--resume needs the --out of the run"),
        ("--engine spark --buckets 65", "--buckets takes a power of two, such as 128, not 65"),
        ("--engine spark --conf memory=1g", "--conf takes spark.KEY=VALUE, not 'memory=1g'"),
        ("--engine spark --out {out} --resume", "holds no exploration"),
    ],
)
def test_bad_options_are_one_line(words: str, message: str, tmp_path: Path) -> None:
    """Options that do not fit are refused before anything is explored."""
    typed = words.format(out=tmp_path).split()
    assert message in kraftcheck("explore", "tests.toys:CLOCK", *typed).refusal()


def test_missing_java_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without Java, or with one that is too old, the refusal names it and the mend; small systems need none."""
    words = ("explore", "tests.toys:HASTY", "--scope", 3, "--engine", "spark", "--quiet")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert "needs Java and there is none at" in kraftcheck(*words, "--handover", 0).refusal()
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_392\"' >&2\n")
    java.chmod(0o755)
    assert "needs Java 17 or newer and" in kraftcheck(*words, "--handover", 0).refusal()
    assert kraftcheck(*words).code == 12


def test_the_document_tells_the_cost_of_levels(tmp_path: Path, shared: None) -> None:
    """Each level that Spark made has seconds, tasks, candidates and bytes shuffled and spilled."""
    target = tmp_path / "told.json"
    kraftcheck("explore", "tests.toys:HASTY", "--scope", 5, "--engine", "spark", "--handover", 1200, "--quiet",
               "--json", target)  # fmt: skip
    levels = json.loads(target.read_text())["spark"]["levels"]
    assert min(map(int, levels)) == 8
    names = {"seconds", "cores", "expand_tasks", "sift_tasks", "candidates", "shuffled", "spilled", "shuffles"}
    assert all(set(level) == names for level in levels.values())
