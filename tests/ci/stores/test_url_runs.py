"""Runs whose dataset is at a URL: the same as natively, resumed after any death, refused after any damage."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import evolve

from kraftcheck.ci.dataset.backward.files import document_of
from kraftcheck.ci.dataset.backward.search import FOLDER
from kraftcheck.ci.dataset.liveness import FOLDER as FAIR_FOLDER
from kraftcheck.ci.dataset.store.commits import NAME
from kraftcheck.ci.dataset.store.dataset import Dataset
from kraftcheck.ci.dataset.store.levelfiles import SightError
from kraftcheck.ci.dataset.store.objects import ObjectPath
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.exploration.explore import conclude
from tests import toys
from tests.ci.dataset.test_liveness import claims, natively
from tests.ci.dataset.test_liveness import judged as judged_fair
from tests.ci.spark.levels import HELD, AttemptLostError, begun, facts, finished, native_facts, program_of
from tests.ci.spark.test_spark_backward import WAYS, Here, assert_native, committed, judged, small_parts
from tests.shared.commands import kraftcheck
from tests.shared.places import ROOT
from tests.solvers.liveness.toys import DOOR

WORDS = ("explore", "tests.toys:HASTY", "--scope", "3", "--engine", "disk", "--handover", "20", "--quiet", "--out")
COUNT = "SELECT depth, count(*) AS states, sum(id % 7) AS ids FROM states GROUP BY depth ORDER BY depth"


def whole(out: ObjectPath) -> None:
    """A whole run whose later levels are of tasks."""
    run, runner = begun(program_of(toys.HASTY, "3"), out, handover=40)
    run.expand(runner)
    assert {level.engine for level in run.commits} == {"native", "spark"}
    assert facts(finished(run)) == native_facts(program_of(toys.HASTY, "3"))


KEPT: dict[str, bytes] = {}  # the objects of a whole run, once it was explored


def copied(out: ObjectPath) -> None:
    """The objects of a whole run, in a folder of their own."""
    if not KEPT:
        whole(out)
        KEPT.update({place.key.removeprefix(out.key + "/"): place.read_bytes() for place in out.below()})
        run_over(out)
    for name, data in KEPT.items():
        if name != NAME:
            (out / name).put(data)


def run_over(out: ObjectPath) -> None:
    """The run of this process that has the lease on a folder is over."""
    HELD.pop(out).close()


def compare_with_folder(store: ObjectPath, here: Path) -> None:
    """Explore into a store and into a folder: space, report and answers are the same."""
    answers = []
    for out in (store, here / "out"):
        ran = kraftcheck(*WORDS, out)
        asked = kraftcheck("query", out, COUNT, "--system", "tests.toys:HASTY")
        assert asked.code == 0, asked.err
        answers.append((ran.code, ran.last, asked.out))
    assert answers[0] == answers[1]


def test_a_run_at_a_url_is_the_one_in_a_folder(store: ObjectPath, tmp_path: Path) -> None:
    """Explored into a store, space, report and answers are those of a folder; a second run there is refused."""
    compare_with_folder(store, tmp_path)
    assert "holds an exploration already" in kraftcheck(*WORDS, store).refusal()
    again, expected = kraftcheck(*WORDS, store, "--resume"), kraftcheck(*WORDS, tmp_path / "out", "--resume")
    assert (again.code, again.last) == (expected.code, expected.last)
    some = "SELECT depth, id FROM states WHERE depth = 3 LIMIT 1"
    shown = kraftcheck("query", store, some, "--witness", "--system", "tests.toys:HASTY")
    assert shown.code == 0
    assert "  3  RM" in shown.out


def test_tasks_at_a_url_find_what_is_found_natively(store: ObjectPath) -> None:
    """Levels of native start and tasks in a store give the counts, verdicts and traces of the native engine."""
    whole(store)
    assert Dataset.open(store).complete


def test_recovery_is_judged_at_a_url(store: ObjectPath, monkeypatch: pytest.MonkeyPatch) -> None:
    """A backward search whose rounds are objects goes on after a stop, and gives the native verdicts."""
    small_parts(monkeypatch)
    program = program_of(WAYS)
    run, spec = committed(program, store)
    cut, _ = judged(program, run, Here(spec), 0, 1)
    assert cut.findings is None
    assert [place.name for place in (store / FOLDER).glob("*.json")] == [document_of(1)]
    found, second = judged(program, run, Here(spec), 0)
    assert second.resumed == 1
    assert_native(program, run, found)
    assert not (store / FOLDER).exists()


def test_fair_behaviours_are_judged_at_a_url(store: ObjectPath, monkeypatch: pytest.MonkeyPatch) -> None:
    """A liveness search whose rounds are objects goes on after a stop, and gives the native verdict."""
    small_parts(monkeypatch)
    program = program_of(DOOR, "enough")
    run, spec = committed(program, store)
    cut, first = judged_fair(program, run, spec, 0, 1)
    assert (cut.findings, first.computed) == (None, 1)
    found, second = judged_fair(program, run, spec, 0)
    assert second.computed == second.rounds - 1
    assert claims(conclude(run, run.kernel, 1.0, 0.0, finished(run).audit, liveness=found)) == natively(program)
    assert not (store / FAIR_FOLDER).exists()


@pytest.mark.parametrize("seed", [0])
def test_a_run_killed_at_random_resumes_to_the_same(seed: int, store: ObjectPath, tmp_path: Path) -> None:
    """A driver that is killed at a random moment, and again, loses nothing: resumed it says what one run says."""
    expected, rng = kraftcheck(*WORDS, tmp_path / "out"), random.Random(seed)
    environment, started = {**os.environ, "PYTHONPATH": str(ROOT)}, False
    for _ in range(2):
        more = ["--resume"] if (store / "run.json").exists() else []
        words = [sys.executable, "-m", "kraftcheck", *WORDS, str(store), *more]
        with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as driver:
            while not (store / NAME).exists() and driver.poll() is None:
                time.sleep(0.01)
            time.sleep(rng.random() * 0.6)
            driver.send_signal(signal.SIGKILL)
        started = True
    more = ["--resume"] if (store / "run.json").exists() else []
    ran = kraftcheck(*WORDS, store, *more)
    assert started
    assert (ran.code, ran.last) == (expected.code, expected.last), ran.err


@pytest.mark.parametrize("at", [0, 9, 16])
def test_an_attempt_that_dies_leaves_nothing_that_counts(at: int, store: ObjectPath) -> None:
    """A driver that ends between two writes of a level resumes to the same, and leftovers are removed."""
    writes = 0
    put = type(store).put_new

    def failing(place: ObjectPath, data: bytes) -> object:
        nonlocal writes
        writes += 1
        if writes == at + 4:
            raise AttemptLostError
        return put(place, data)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(store), "put_new", failing)
        with contextlib.suppress(AttemptLostError):
            whole(store)
    if (store / "run.json").exists():
        (store / "levels" / "depth=9" / "part-of-an-attempt.parquet").put(b"half")
    run, runner = begun(program_of(toys.HASTY, "3"), store, resume=(store / "run.json").exists(), handover=40)
    run.expand(runner)
    assert facts(finished(run)) == native_facts(program_of(toys.HASTY, "3"))
    named = {run.log.folder(level.depth) / file.name for level in run.commits for file in level.files}
    assert {place for place in (store / "levels").below() if place.name.endswith(".parquet")} == named


DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "a bit is changed": lambda data: data[:40] + bytes([data[40] ^ 1]) + data[41:],
    "it is cut": lambda data: data[: len(data) // 2],
    "it is empty": lambda data: b"",
    "it is gone": lambda data: None,
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", ["run.json", "levels/_00002.json", "levels/depth=2", "levels/depth=6"])
def test_a_damaged_object_is_refused(name: str, damage: str, store: ObjectPath) -> None:
    """Whatever is done to an object that counts, opening the dataset or a resume names it in one line."""
    copied(store)
    place = store / name
    place = next(place.glob("*.parquet")) if "=" in name else place
    data = DAMAGES[damage](place.read_bytes())
    if data is None:
        place.unlink()
    else:
        place.put(data)
    for use in (lambda: Dataset.open(store), lambda: begun(program_of(toys.HASTY, "3"), store, resume=True)):
        with pytest.raises(Refusal) as refused:
            use()
        assert str(store) in refused.value.message


def test_objects_of_another_place_are_refused(store: ObjectPath) -> None:
    """Two files of levels that change places, each with its own bytes, are noticed; so is a lost round."""
    copied(store)
    one, two = (next((store / "levels" / f"depth={depth}").glob("*.parquet")) for depth in (5, 6))
    data = one.read_bytes(), two.read_bytes()
    one.put(data[1])
    two.put(data[0])
    with pytest.raises(Refusal, match="depth=5"):
        Dataset.open(store)
    one.put(data[0])
    two.put(data[1])
    assert Dataset.open(store).complete
    (store / "levels" / "_00004.json").unlink()
    with pytest.raises(Refusal, match=r"_00004.json is missing although _00005.json is there"):
        Dataset.open(store)


def test_a_damaged_level_is_derived_again(store: ObjectPath) -> None:
    """`--repair` explores the first level with a damaged or lost object again, and all later ones."""
    expected = kraftcheck(*WORDS, store)
    for depth in (1, 4, 5):
        place = next((store / "levels" / f"depth={depth}").glob("*.parquet"))
        place.unlink() if depth == 4 else place.put(place.read_bytes()[:-9])
    assert "--resume --repair" in kraftcheck(*WORDS, store, "--resume").refusal()
    ran = kraftcheck(*WORDS, store, "--resume", "--repair")
    assert (ran.code, ran.last) == (expected.code, expected.last), ran.err
    assert "repaired: level 1 and later ones are explored again" in ran.err
    assert Dataset.open(store).complete


def test_a_driver_whose_commit_another_made_stops(store: ObjectPath) -> None:
    """A manifest that is there already is not written over, even by a driver that still thinks it has the lease."""
    run, runner = begun(program_of(toys.HASTY, "3"), store, handover=0, max_depth=3)
    run.expand(runner)
    run.cut, run.budget = None, evolve(run.budget, max_depth=None)
    place = run.log.manifest(4)
    place.put(b"another's")
    with pytest.raises(Refusal, match="is another driver's: this driver stops"):
        run.expand(runner)
    assert place.read_bytes() == b"another's"


def test_a_task_that_does_not_see_the_run_writes_nothing(store: ObjectPath, tmp_path: Path) -> None:
    """A task of a run whose lease is another's, or not seen where it runs, fails before it writes; so in a folder."""
    for out in (store, tmp_path / "out"):
        run, runner = begun(program_of(toys.HASTY, "3"), out, handover=0, max_depth=2)
        run.expand(runner)
        run.cut, run.budget = None, evolve(run.budget, max_depth=None)
        before = {str(place) for place in (run.log.out / "levels").iterdir()}
        runner.sees = True
        runner.before = lambda _, run=run: (run.log.out / NAME).unlink()
        with pytest.raises(SightError, match="does not see the driver's"):
            run.expand(runner)
        assert {str(place) for place in (run.log.out / "levels").iterdir()} == before


def test_the_native_engine_writes_no_url(store: ObjectPath) -> None:
    """The native engine, whose results are a folder, refuses a URL in one line."""
    assert "--engine disk and spark write to" in kraftcheck("explore", "tests.toys:CLOCK", "--out", store).refusal()
