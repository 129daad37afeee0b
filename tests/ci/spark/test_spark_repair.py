"""A damaged dataset is mended on request: the files have the committed digests again, and the result is native."""

from __future__ import annotations

import contextlib
import json
import shutil
import threading
from pathlib import Path

import pytest
from attrs import evolve

from kraftcheck.ci.dataset.search.committed import Repaired, repair
from kraftcheck.ci.dataset.search.run import DatasetRun
from kraftcheck.ci.dataset.store.commits import CommitLog, lease_on
from kraftcheck.ci.dataset.store.dataset import Dataset
from kraftcheck.ci.terminal.refusal import Refusal
from tests import toys
from tests.ci.spark.levels import HELD, InProcess, begun, facts, finished, native_facts, program_of
from tests.ci.spark.test_spark_damage import DAMAGES, Whole, explored, level_files, manifests
from tests.shared.commands import kraftcheck


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """A run with native levels and levels of tasks, and a foreign one."""
    return explored(tmp_path_factory.mktemp("whole"))


def mended(out: Path, run: DatasetRun, runner: InProcess) -> tuple[Repaired, DatasetRun]:
    """What a repair did, and the run that was taken up after it and ended."""
    with lease_on(out) as lease:
        log, never = CommitLog(out, lease), threading.Event()
        again = DatasetRun(run.kernel, run.blocks, log, run.budget, never, lambda *_: None, handover=run.handover)
        did = repair(again, lambda: contextlib.nullcontext(runner))
        assert again.resume()
        if not again.commits:
            again.start()
        again.expand(runner)
    return did, again


def committed(out: Path) -> dict[str, bytes]:
    """The bytes of every level file, by level and name."""
    return {f"{path.parent.name}/{path.name}": path.read_bytes() for path in level_files(out)}


@pytest.mark.parametrize("damage", ["flipped at 0.5", "cut to 0", "cut to 0.99", "deleted", "swapped", "replaced"])
def test_level_files_are_derived_again(damage: str, whole: Whole, tmp_path: Path) -> None:
    """Files of native levels and of tasks, damaged in any way, have their bytes again, and the facts are native."""
    engines = [level.engine for level in whole.run.commits]
    out = Path(shutil.copytree(whole.out, tmp_path / "out"))
    files, before = level_files(out), committed(out)
    places = (engines.index("spark") - 2, engines.index("spark") + 1)
    for at in places:
        DAMAGES[damage](files[at], files[at + 1], level_files(whole.foreign)[at])
    after = committed(out)
    changed = {int(name[6:11]) for name in before if after.get(name) != before[name]}
    assert {whole.run.commits[depth].engine for depth in changed} >= {"spark"}
    with pytest.raises(Refusal, match="derive it again: explore --resume --repair"):
        Dataset.open(out)
    did, run = mended(out, whole.run, whole.runner)
    assert set(did.files) == changed
    assert did.given_up is None
    assert committed(out) == before
    assert facts(finished(run)) == native_facts(program_of(toys.HASTY, "3"))
    assert Dataset.open(out).complete
    assert mended(out, whole.run, whole.runner)[0] == Repaired({}, None)


@pytest.mark.parametrize("damage", ["flipped at 0.5", "cut to 0.5", "deleted", "swapped", "replaced"])
@pytest.mark.parametrize("depth", [0, 2, 7])
def test_a_damaged_manifest_costs_its_level_and_later_ones(
    depth: int, damage: str, whole: Whole, tmp_path: Path
) -> None:
    """Its level and all later ones are explored again; those before it stay as they are, and the facts are native."""
    out = Path(shutil.copytree(whole.out, tmp_path / "out"))
    before = committed(out)
    place = manifests(out)[depth]
    DAMAGES[damage](place, manifests(out)[depth + 1], manifests(whole.foreign)[depth])
    did, run = mended(out, whole.run, whole.runner)
    assert did == Repaired({}, depth)
    assert facts(finished(run)) == native_facts(program_of(toys.HASTY, "3"))
    kept = {name: data for name, data in before.items() if int(name[6:11]) < depth}
    assert {name: committed(out).get(name) for name in kept} == kept
    assert Dataset.open(out).complete


def test_a_lost_run_file_is_not_made_up(whole: Whole, tmp_path: Path) -> None:
    """Without run.json nothing says what the levels are of: a repair is refused, and nothing is removed."""
    out = Path(shutil.copytree(whole.out, tmp_path / "out"))
    before = committed(out)
    (out / "run.json").write_bytes(b"{}")
    with pytest.raises(Refusal, match=r"run.json.*explore again into another --out"):
        mended(out, whole.run, whole.runner)
    assert committed(out) == before


def test_other_bytes_are_refused(whole: Whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is derived again has to have the digest of the manifest: else the file stays as it is, and that is said."""
    out = Path(shutil.copytree(whole.out, tmp_path / "out"))
    path = level_files(out)[9]
    path.write_bytes(b"damaged")
    monkeypatch.setattr("kraftcheck.ci.dataset.store.levelfiles.COMPRESSION", "snappy")
    with pytest.raises(Refusal, match=f"{path.name}: derived again it has other bytes than were committed"):
        mended(out, whole.run, whole.runner)
    assert path.read_bytes() == b"damaged"
    assert not list((out / "levels").glob(".swept-*"))


def test_a_level_is_planned_for_the_cores_that_made_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repair on other cores gives the bytes that were committed, for the job is planned as it was then."""
    monkeypatch.setattr("kraftcheck.ci.dataset.search.levels.SMALL_SPLIT_ROWS", 50)
    program = program_of(toys.HASTY, "5")
    run, runner = begun(program, tmp_path, max_depth=8)
    run.expand(runner)
    before, level = committed(tmp_path), run.commits[7]
    assert {commit.cost["cores"] for commit in run.commits[1:]} == {runner.cores}
    for file in level.files:
        (run.log.folder(7) / file.name).unlink()
    HELD.pop(tmp_path).close()
    mended(tmp_path, run, evolve(runner, cores=7))
    assert committed(tmp_path) == before


def test_the_command_line_repairs(tmp_path: Path) -> None:
    """`explore --resume --repair` mends what query refuses; without --resume, or of nothing damaged, it says so."""
    words = ("explore", "tests.toys:HASTY", "--scope", 3, "--engine", "spark", "--quiet", "--out", tmp_path / "out")
    first = kraftcheck(*words)
    files = level_files(tmp_path / "out")
    files[3].unlink()
    ask = ("query", tmp_path / "out", "SELECT count(*) AS n FROM states", "--system", "tests.toys:HASTY")
    assert "explore --resume --repair" in kraftcheck(*ask).refusal()
    assert kraftcheck(*words, "--repair").refusal() == "--repair mends the --out of an earlier run; give --resume too"
    ran = kraftcheck(*words, "--resume", "--repair", "--json", tmp_path / "told.json")
    assert (ran.code, ran.err) == (first.code, "repaired: 1 file(s) of level 3\n")
    assert json.loads((tmp_path / "told.json").read_text())["states"]["distinct"] == 348
    assert kraftcheck(*ask).code == 0
    assert kraftcheck(*words, "--resume", "--repair").err == "repaired: nothing was damaged\n"
