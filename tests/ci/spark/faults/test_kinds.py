"""Files of every kind, flipped, cut, deleted, swapped and replaced: what is found is true, or nothing is said.

Those of a run itself (run.json, manifests, level files) are in `test_spark_damage`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.ci.dataset.backward.search import FOLDER
from kraftcheck.ci.dataset.jobs import LostCandidatesError
from kraftcheck.ci.dataset.liveness import FOLDER as FAIR_FOLDER
from kraftcheck.ci.dataset.store.commits import NAME, CommitLog
from kraftcheck.ci.terminal.refusal import Refusal
from tests import toys
from tests.ci.dataset.test_liveness import judged as judged_fair
from tests.ci.spark.levels import begun, facts, finished, native_facts, only, program_of
from tests.ci.spark.test_spark_backward import WAYS, Here, committed, judged, small_parts
from tests.ci.spark.test_spark_damage import DAMAGES
from tests.ci.spark.test_spark_exchange import arrived, drained, sent
from tests.shared.commands import kraftcheck
from tests.solvers.liveness.toys import LIFT


def contents(folder: Path) -> dict[Path, bytes]:
    """Every file below a folder, in order."""
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def damaged(files: dict[Path, bytes], kept: dict[Path, bytes], damage: str, foreign: Path) -> Iterator[Path]:
    """Each file in turn, damaged among whole ones; `kept` is all there is, and `foreign` takes another of the kind."""
    for path, data in files.items():
        others = [other for other in files if other.parent == path.parent and other != path] or [path]
        alike = [other for other in others if other.name.partition("-")[0] == path.name.partition("-")[0]]
        sibling = (alike or others)[0]
        foreign.write_bytes(kept[sibling][: len(data)].ljust(len(data), b"\0"))
        for one, whole in kept.items():
            one.parent.mkdir(parents=True, exist_ok=True)
            one.write_bytes(whole)
        DAMAGES[damage](path, sibling, foreign)
        if not path.exists() or path.read_bytes() != data:
            yield path


@pytest.mark.parametrize("damage", DAMAGES)
def test_candidates_arrive_as_they_were_sent_or_not_at_all(damage: str, tmp_path: Path) -> None:
    """A damaged file of candidates ends its task, unless nothing of it is read."""
    folder = tmp_path / "candidates"
    folder.mkdir()
    rows = sent([[drained(list(range(60)), 0)], [drained(list(range(30, 90)), 500)]], folder)
    expected, files = arrived(rows, folder), contents(folder)
    assert len(files) == 2
    for path in damaged(files, files, damage, tmp_path / "foreign"):
        with pytest.raises((LostCandidatesError, FileNotFoundError), match=r"part-0000\d-\w+.candidates"):
            arrived(rows, folder)
        path.unlink(missing_ok=True)
    assert all(expected)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_driver_whose_lease_is_damaged_finds_the_truth_or_stops(damage: str, tmp_path: Path) -> None:
    """A lease that is damaged under its driver stops it, or changes nothing; then the run resumes to the same."""
    program, foreign = program_of(toys.HASTY, "3"), tmp_path / "foreign"
    foreign.write_text('{"token": "another"}')
    out = tmp_path / "out"
    run, runner = begun(program, out)

    def harm(level: Any) -> None:
        if level.depth == 5:
            DAMAGES[damage](out / NAME, foreign, foreign)

    runner.before = harm
    try:
        run.expand(runner)
    except Refusal:
        assert len(CommitLog(out).commits()) == 5
        (out / NAME).unlink(missing_ok=True)  # as the refusal of another driver's lease says
    else:
        assert facts(finished(run)) == native_facts(program)
    again, runner = begun(program, out, resume=True)
    again.expand(runner)
    assert facts(finished(again)) == native_facts(program)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_not_believed(damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file of a backward search that was stopped, damaged: its end is that of a search that was not stopped."""
    small_parts(monkeypatch)
    program = program_of(WAYS)
    run, spec = committed(program, tmp_path / "out")
    whole, _ = judged(program, run, Here(spec), 0)
    judged(program, run, Here(spec), 0, 1)
    files, seen = contents(tmp_path / "out" / FOLDER), 0
    assert {path.name.partition("-")[0] for path in files} >= {"rounds", "arcs", "marks"}
    for path in damaged(files, files, damage, tmp_path / "foreign"):
        found, second = judged(program, run, Here(spec), 0)
        assert found.findings == whole.findings, path.name
        assert second.resumed is None, path.name
        seen += 1
    assert seen


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_round_is_computed_again(damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file of a liveness search that was stopped, damaged: it begins anew, and its end is the same."""
    small_parts(monkeypatch)
    program = program_of(only(LIFT, "up"), "idle")
    run, spec = committed(program, tmp_path / "out")
    whole, _ = judged_fair(program, run, spec, 0)
    judged_fair(program, run, spec, 0, 1)
    files, seen = contents(tmp_path / "out" / FAIR_FOLDER), 0
    assert {path.name.partition("-")[0] for path in files} >= {"rounds", "arcs", "nodes"}
    for path in damaged(files, files, damage, tmp_path / "foreign"):
        found, second = judged_fair(program, run, spec, 0)
        assert [one.trace for one in found.findings or ()] == [one.trace for one in whole.findings or ()], path.name
        assert second.computed == second.rounds, path.name
        seen += 1
    assert seen


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.usefixtures("shared")
def test_nothing_rests_on_logs_and_times(tmp_path: Path) -> None:
    """Spark's log and its settings, damaged in any way, change no answer and no later run."""
    out = tmp_path / "out"
    words = ("explore", "tests.toys:HASTY", "--scope", 3, "--engine", "spark", "--handover", 40, "--quiet",
             "--out", out)  # fmt: skip
    ask = ("query", out, "SELECT depth, count(*) AS n FROM states GROUP BY depth ORDER BY depth",
           "--system", "tests.toys:HASTY")  # fmt: skip
    assert kraftcheck(*words).code == 12
    (out / "spark.log").write_text("a line of a log\n" * 20)
    answer, kept = kraftcheck(*ask).out, contents(out)
    files = {path: data for path, data in kept.items() if path.parent == out and path.name != "run.json" and data}
    assert {path.name for path in files} >= {"spark.log"}
    for damage in ("flipped at 0.5", "cut to 0.5", "deleted", "swapped"):
        for path in damaged(files, kept, damage, tmp_path / "foreign"):
            assert kraftcheck(*ask).out == answer, (damage, path)
            assert kraftcheck(*words, "--resume").code == 12, (damage, path)
