"""A dataset that was damaged or edited: refused in one line, incomplete, or answered as if nothing had happened."""

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve, frozen

from kraftcheck.ci.dataset.search.run import DatasetRun
from kraftcheck.ci.dataset.store.commits import CommitLog, lease_on
from kraftcheck.ci.dataset.store.dataset import Dataset
from kraftcheck.ci.dataset.store.levelfiles import Groups
from kraftcheck.ci.dataset.store.manifests import SEAL, digest
from kraftcheck.ci.terminal.refusal import Refusal
from tests import toys
from tests.ci.spark.levels import InProcess, begun, facts, finished, program_of
from tests.shared.commands import kraftcheck

Damage = Callable[[Path, Path, Path], None]


@frozen
class Whole:
    """A whole run, and another one of a system with the same layout."""

    run: DatasetRun
    runner: InProcess
    foreign: Path
    of: dict[str, Any]

    @property
    def out(self) -> Path:
        """The run's folder."""
        return self.run.log.out


def explored(place: Path) -> Whole:
    """Runs of hasty two-phase commit, and of the right one: the first levels native, the others as tasks."""
    made = []
    for system in (toys.HASTY, toys.TWO_PHASE):
        run, runner = begun(program_of(system, "3"), place / system.name / "out", handover=40)
        run.expand(runner)
        assert {level.engine for level in run.commits} == {"native", "spark"}
        made.append((run, runner))
    (run, runner), (other, _) = made
    return Whole(run, runner, other.log.out, dict(run.log.read_run().identity))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """The runs, once for all tests."""
    return explored(tmp_path_factory.mktemp("whole"))


def flipped(at: float) -> Damage:
    """One byte at a share of the file's length is changed in one bit."""

    def damage(path: Path, _: Path, __: Path) -> None:
        data = bytearray(path.read_bytes())
        data[int(at * (len(data) - 1))] ^= 1
        path.write_bytes(data)

    return damage


def cut(share: float) -> Damage:
    """Only a share of the file is left."""
    return lambda path, _, __: path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)]) and None


def deleted(path: Path, _: Path, __: Path) -> None:
    """The file is gone."""
    path.unlink()


def swapped(path: Path, sibling: Path, _: Path) -> None:
    """It and the same of another level have changed places."""
    one, other = path.read_bytes(), sibling.read_bytes()
    path.write_bytes(other)
    sibling.write_bytes(one)


def replaced(path: Path, _: Path, foreign: Path) -> None:
    """It is that of another run of the same."""
    shutil.copyfile(foreign, path)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A dataset that the command line made, natively throughout."""
    out = tmp_path / "kept"
    assert kraftcheck(*EXPLORE, "--out", out).code == 12
    return out


EXPLORE = ("explore", "tests.toys:HASTY", "--scope", 3, "--engine", "spark", "--quiet")


DAMAGES: dict[str, Damage] = {
    **{f"flipped at {at}": flipped(at) for at in (0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1)},
    **{f"cut to {share}": cut(share) for share in (0, 0.5, 0.99)},
    "deleted": deleted, "swapped": swapped, "replaced": replaced,
}  # fmt: skip


def manifests(out: Path) -> list[Path]:
    """The manifests in a folder, by depth."""
    return sorted((out / "levels").glob("*.json"))


def level_files(out: Path) -> list[Path]:
    """The level files in a folder, by depth."""
    return sorted((out / "levels").glob("*/*.parquet"), key=lambda file: (int(file.parent.name[6:]), file))


KINDS: dict[str, Callable[[Path], list[Path]]] = {
    "run.json": lambda out: [out / "run.json"], "manifest": manifests, "level file": level_files
}  # fmt: skip


def copies(whole: Whole, place: Path, count: int) -> Iterator[Path]:
    """Copies of the dataset."""
    for number in range(count):
        yield Path(shutil.copytree(whole.out, place / str(number)))


def answered(out: Path, whole: Whole) -> str:
    """What a query would start from: `refused`, `incomplete` or `whole`, and never a wrong level among them."""
    message, data = "", None
    try:
        data = Dataset.open(out)
    except Refusal as error:
        message = error.message
    if data is None:
        assert "\n" not in message
        assert str(out) in message
        assert any(mend in message for mend in ("restore", "--resume", "explore")), message
        return "refused"
    assert list(data.commits) == whole.run.commits[: len(data.commits)]
    assert data.table == whole.run.log.read_run().table
    assert data.complete == (len(data.commits) == len(whole.run.commits))
    return "whole" if data.complete else "incomplete"


def resumed(out: Path, whole: Whole) -> str:
    """Go on with a run: `refused`, or `finished` with what is true."""
    try:
        with lease_on(out) as lease:
            log = CommitLog(out, lease)
            run = DatasetRun(whole.run.kernel, whole.run.blocks, log, whole.run.budget, threading.Event(),
                      lambda *_: None, handover=whole.run.handover)  # fmt: skip
            run.log.check_same(whole.of)
            run.resume()
            if not run.commits:
                run.start()
            run.expand(whole.runner)
    except Refusal:
        return "refused"
    assert facts(finished(run)) == facts(finished(whole.run))
    assert Dataset.open(out).complete
    return "finished"


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_no_damage_gives_a_wrong_answer(kind: str, damage: str, whole: Whole, tmp_path: Path) -> None:
    """Each file of each level, damaged in each way: refused, or told to be incomplete, or answered rightly."""
    count = len(KINDS[kind](whole.out))
    seen = []
    for number, out in enumerate(copies(whole, tmp_path, count)):
        mine, sibling = KINDS[kind](out)[number], KINDS[kind](out)[(number + 1) % count]
        others = KINDS[kind](whole.foreign)
        foreign = others[min(number, len(others) - 1)]
        if damage == "swapped" and mine == sibling:
            continue
        same = damage == "replaced" and foreign.read_bytes() == mine.read_bytes()
        DAMAGES[damage](mine, sibling, foreign)
        told = answered(out, whole)
        seen.append(told)
        if kind == "level file":
            assert told == ("whole" if same else "refused"), mine
        if (kind, damage, number) == ("manifest", "deleted", count - 1):
            assert told == "incomplete"
        assert resumed(out, whole) == ("refused" if told == "refused" else "finished")
    assert "refused" in seen or (kind, damage) == ("run.json", "swapped")


def change(path: Path, alter: Callable[[dict[str, Any]], None], *, sealed: bool) -> None:
    """Edit a document by hand; sealed: with the digest made anew."""
    document = json.loads(path.read_text())
    alter(document)
    if sealed:
        del document[SEAL]
        document[SEAL] = digest(document)
    path.write_text(json.dumps(document))


def _emptied(document: dict[str, Any]) -> None:
    document["files"], document["groups"] = [], Groups.empty(3).packed()


EDITS: dict[str, tuple[str, Callable[[dict[str, Any]], object]]] = {
    "the rules": ("run.json", lambda d: d["identity"].update(rules="kafka-4.0")),
    "a bound": ("run.json", lambda d: d["identity"].update({"bound managers": 4})),
    "where a field is": ("run.json", lambda d: d["fields"][0].update(shift=d["fields"][0]["shift"] + 1)),
    "which claim is which": ("run.json", lambda d: d["claims"].reverse()),
    "names of actions": ("run.json", lambda d: d["actions"].reverse()),
    "the last level": ("manifest", lambda d: d.update(last=True)),
    "no states": ("manifest", _emptied),
    "the depth": ("manifest", lambda d: d.update(depth=d["depth"] + 1)),
    "states expanded": ("manifest", lambda d: d.update(expanded=d["expanded"] - 1)),
    "counters": ("manifest", lambda d: d.update(counters=[n + 1 for n in d["counters"]])),
    "occasions of claims": ("manifest", lambda d: d.update(claims={"0": [0, 0, 65535]})),
    "rows": ("manifest", lambda d: d.update(files=[{**f, "rows": f["rows"] + 1} for f in d["files"]])),
    "the chain": ("manifest", lambda d: d.update(previous="0" * 64)),
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("sealed", [False, True], ids=["as it is", "with a new digest"])
def test_no_edit_gives_a_wrong_answer(edit: str, sealed: bool, whole: Whole, tmp_path: Path) -> None:
    """A plausible edit of run.json or of any manifest but the last is refused, even with its digest made anew."""
    kind, alter = EDITS[edit]
    count = len(KINDS[kind](whole.out))
    for number, out in enumerate(copies(whole, tmp_path, count)):
        path = KINDS[kind](out)[number]
        before = json.loads(path.read_text())
        change(path, alter, sealed=sealed)
        if json.loads(path.read_text()) == before or (sealed and kind == "manifest" and number == count - 1):
            continue
        assert answered(out, whole) == "refused", (edit, number)
        assert resumed(out, whole) == "refused"


def test_completeness_is_read_off_the_levels(whole: Whole, tmp_path: Path) -> None:
    """Without an expansion that found nothing a run is incomplete; no key of a manifest says otherwise.

    A level that is emptied in its manifest is betrayed by its folder, and one that was expanded in part by the count.
    """
    first, second, third = copies(whole, tmp_path, 3)
    end = manifests(first)[-1]
    end.unlink()
    assert answered(first, whole) == "incomplete"
    change(manifests(first)[-1], lambda d: d.update(last=True), sealed=True)
    assert answered(first, whole) == "refused"
    manifests(second)[-1].unlink()
    change(manifests(second)[-1], _emptied, sealed=True)
    assert answered(second, whole) == resumed(second, whole) == "refused"
    change(manifests(third)[-1], lambda d: d.update(expanded=d["expanded"] - 1), sealed=True)
    with pytest.raises(Refusal, match=r"\d+ of \d+ states of the level before were expanded"):
        Dataset.open(third)


def test_a_task_that_expands_too_little_fails_the_level(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job whose tasks expanded fewer states than the level has is not committed."""
    program = program_of(toys.HASTY, "3")
    run, runner = begun(program, tmp_path, max_depth=4)
    run.expand(runner)
    known = len(run.commits)
    run, runner = begun(program, tmp_path, resume=True)
    original = runner.run

    def less(level: Any, stop: Any) -> Any:
        kept = tuple(part[:-1] for part in level.splits)
        return original(evolve(level, splits=kept), stop)

    monkeypatch.setattr(InProcess, "run", lambda self, level, stop: less(level, stop))
    with pytest.raises(Refusal, match=r"expanded \d+ of \d+ states"):
        run.expand(runner)
    assert len(run.log.commits()) == known


def test_a_run_whose_identity_is_lost_is_not_written_over(whole: Whole, tmp_path: Path) -> None:
    """Without run.json there is nothing to ask, and nothing is begun among the levels that are left."""
    (out,) = copies(whole, tmp_path, 1)
    (out / "run.json").unlink()
    assert "holds no exploration" in kraftcheck("query", out, "SELECT 1").refusal()
    words = ("explore", "tests.toys:CLOCK", "--engine", "spark", "--out", out)
    assert "run.json is missing although" in kraftcheck(*words).refusal()
    assert len(level_files(out)) == len(level_files(whole.out))


def test_the_commands_refuse_damage_in_one_line(kept: Path, tmp_path: Path) -> None:
    """`query`, `sweep` and `explore --resume` name the damaged file and the mend before Spark starts."""
    again = (*EXPLORE, "--resume", "--out", kept)
    assert kraftcheck(*again).code == 12
    path = level_files(kept)[3]
    flipped(0.5)(path, path, path)
    ask = ("query", kept, "SELECT count(*) FROM states", "--system", "tests.toys:HASTY")
    for words in (ask, (*ask, "--engine", "spark"), ("sweep", kept), again):
        told = kraftcheck(*words).refusal()
        assert str(path) in told
        assert "SHA-256 differs); restore it, or derive it again: explore --resume --repair" in told


def test_a_query_of_a_part_is_incomplete(kept: Path, tmp_path: Path) -> None:
    """Of a dataset that lacks its last levels a query says so, and ends with exit code 20."""
    words = ("query", kept, "--system", "tests.toys:HASTY", "--plot", tmp_path / "levels.svg")
    assert kraftcheck(*words).code == 0
    manifests(kept)[-1].unlink()
    ran = kraftcheck(*words)
    assert ran.code == 20
    assert ran.out.startswith(f"incomplete: levels 0 to {len(manifests(kept)) - 1} only")
