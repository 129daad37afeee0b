"""A damaged dataset is mended on request: its first damaged level and later ones are explored again, as natively."""

import json
import shutil
import threading
from pathlib import Path

import pytest

from kraftcheck.ci.dataset.search.committed import repair
from kraftcheck.ci.dataset.search.run import DatasetRun
from kraftcheck.ci.dataset.store.commits import CommitLog, lease_on
from kraftcheck.ci.dataset.store.dataset import Dataset
from kraftcheck.ci.terminal.refusal import Refusal
from tests import toys
from tests.ci.spark.levels import InProcess, facts, finished, native_facts, program_of
from tests.ci.spark.test_spark_damage import DAMAGES, Whole, explored, level_files, manifests
from tests.shared.commands import kraftcheck


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """A run with native levels and levels of tasks, and a foreign one."""
    return explored(tmp_path_factory.mktemp("whole"))


def mended(out: Path, run: DatasetRun, runner: InProcess) -> tuple[str, DatasetRun]:
    """What a repair says, and the run that was taken up after it and ended."""
    with lease_on(out) as lease:
        log, never = CommitLog(out, lease), threading.Event()
        again = DatasetRun(run.kernel, run.blocks, log, run.budget, never, lambda *_: None, handover=run.handover)
        said = repair(again)
        again.resume()
        if not again.commits:
            again.start()
        again.expand(runner)
    return said, again


def committed(out: Path) -> dict[str, bytes]:
    """The bytes of every level file, by level and name."""
    return {f"{path.parent.name}/{path.name}": path.read_bytes() for path in level_files(out)}


PLACES = [
    ("manifest", depth, damage)
    for depth in (0, 2, 7)
    for damage in ("flipped at 0.5", "cut to 0.5", "deleted", "swapped", "replaced")
]
PLACES += [("file", 7, damage) for damage in ("flipped at 0.5", "cut to 0", "cut to 0.99", "deleted", "swapped",
                                              "replaced")] + [("file", 2, "deleted")]  # fmt: skip


@pytest.mark.parametrize(("kind", "depth", "damage"), PLACES)
def test_a_damaged_level_and_later_ones_are_explored_again(
    kind: str, depth: int, damage: str, whole: Whole, tmp_path: Path
) -> None:
    """Of a damaged manifest or file; the levels before it stay as they are, and the facts are native."""
    out = Path(shutil.copytree(whole.out, tmp_path / "out"))
    before, listed = committed(out), manifests if kind == "manifest" else level_files
    DAMAGES[damage](listed(out)[depth], listed(out)[depth + 1], listed(whole.foreign)[depth])
    with pytest.raises(Refusal, match="derive it again: explore --resume --repair"):
        Dataset.open(out)
    said, run = mended(out, whole.run, whole.runner)
    assert said.startswith(f"repaired: level {depth} and later ones are explored again: ")
    assert facts(finished(run)) == native_facts(program_of(toys.HASTY, "3"))
    kept = {name: data for name, data in before.items() if int(name[6:].partition("/")[0]) < depth}
    assert {name: committed(out).get(name) for name in kept} == kept
    assert Dataset.open(out).complete
    assert mended(out, whole.run, whole.runner)[0] == "repaired: nothing was damaged"


def test_a_lost_run_file_is_not_made_up(whole: Whole, tmp_path: Path) -> None:
    """Without run.json nothing says what the levels are of: a repair is refused, and nothing is removed."""
    out = Path(shutil.copytree(whole.out, tmp_path / "out"))
    before = committed(out)
    (out / "run.json").write_bytes(b"{}")
    with pytest.raises(Refusal, match=r"run.json.*explore again into another --out"):
        mended(out, whole.run, whole.runner)
    assert committed(out) == before


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
    assert ran.code == first.code
    assert ran.err.startswith("repaired: level 3 and later ones are explored again: ")
    assert json.loads((tmp_path / "told.json").read_text())["states"]["distinct"] == 348
    assert kraftcheck(*ask).code == 0
    assert kraftcheck(*words, "--resume", "--repair").err == "repaired: nothing was damaged\n"
