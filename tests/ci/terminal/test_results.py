"""Folders of results hold what one run wrote and nothing else, or what an earlier one did; foreign files stay."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kraftcheck.ci.run.result import REPORT
from kraftcheck.ci.terminal import files as under_test
from kraftcheck.ci.terminal.files import MARK, check_results, results
from kraftcheck.ci.terminal.refusal import Refusal
from tests.shared.commands import kraftcheck

TOY = ("explore", "tests.toys:DIGRAPH", "--quiet", "--traces", 0)


def names(folder: Path) -> list[str]:
    """What is in a folder, hidden or not."""
    return sorted(path.name for path in folder.iterdir())


def run(place: Path, *written: str) -> None:
    """A run that writes these files."""
    with results("--out", place) as made:
        for name in written:
            (made / name).parent.mkdir(exist_ok=True)
            (made / name).write_text(name)


def test_a_second_run_leaves_nothing_of_the_first(tmp_path: Path) -> None:
    """The folder holds exactly the last run's files, below folders too, and nothing is left beside it."""
    place = tmp_path / "deep" / "out"
    run(place, "a", "b/c")
    assert names(place) == [MARK, "a", "b"]
    run(place, "d")
    assert names(place) == [MARK, "d"]
    run(place)
    assert names(place) == [MARK]
    assert names(place.parent) == ["out"]


def test_counterexamples_are_of_this_run(tmp_path: Path) -> None:
    """A run that judges another property replaces the counterexamples of the run before."""
    for claim in ("never-5", "never-4-to-5"):
        assert kraftcheck(*TOY, "--property", claim, "--out", tmp_path / "out").code == 12
        assert names(tmp_path / "out") == [MARK, f"{claim}.itf.json", REPORT]


@pytest.mark.parametrize("error", [KeyboardInterrupt, Refusal("no"), OSError(28, "No space left on device")])
def test_a_failure_leaves_the_old_results(error: BaseException, tmp_path: Path) -> None:
    """Whatever ends a run while it writes, the results before it stay whole, and nothing is left beside them."""
    place = tmp_path / "out"
    run(place, "old")

    def fail() -> None:
        with results("--out", place) as made:
            (made / "half").write_text("half")
            raise error

    with pytest.raises((KeyboardInterrupt, Refusal)):
        fail()
    assert names(place) == [MARK, "old"]
    assert names(tmp_path) == ["out"]


def test_a_failure_between_the_two_renames_gives_the_old_results_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the new folder cannot take the place of the old one, the old one is put back."""
    place = tmp_path / "out"
    run(place, "old")
    replace, done = os.replace, list[str]()

    def second_fails(source: Path, target: Path) -> None:
        done.append(str(target))
        if len(done) == 2:
            raise KeyboardInterrupt
        replace(source, target)

    def renamed() -> None:
        with results("--out", place) as made:
            (made / "new").write_text("new")
            monkeypatch.setattr(under_test, "write", lambda path, text: path.write_text(text))
            monkeypatch.setattr(os, "replace", second_fails)

    with pytest.raises(KeyboardInterrupt):
        renamed()
    assert len(done) == 3
    assert names(place) == [MARK, "old"]
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("existing", [["notes.txt"], [MARK, "notes.txt"], ["a.itf.json"], [".git/config"]])
def test_foreign_files_are_never_touched(existing: list[str], tmp_path: Path) -> None:
    """A folder with a file that no run wrote there is refused before any work, and stays as it is."""
    for name in existing:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("mine")
    told = kraftcheck(*TOY, "--out", tmp_path).refusal()
    assert told.endswith("which no run of kraftcheck wrote there; choose another --out")
    assert [(tmp_path / name).read_text() for name in existing] == ["mine"] * len(existing)


def test_a_file_put_into_the_results_protects_them(tmp_path: Path) -> None:
    """What a user adds to a folder of results, even during the run, is not deleted with them."""
    run(tmp_path / "out", "old")

    def overtaken() -> None:
        with results("--out", tmp_path / "out"):
            (tmp_path / "out" / "notes.txt").write_text("mine")

    with pytest.raises(Refusal, match=r"it holds notes\.txt, which no run of kraftcheck wrote"):
        overtaken()
    assert names(tmp_path / "out") == [MARK, "notes.txt", "old"]
    assert names(tmp_path) == ["out"]


def test_a_link_to_results_stays_a_link(tmp_path: Path) -> None:
    """The folder that a link leads to is replaced, and not the link."""
    run(tmp_path / "real", "old")
    (tmp_path / "link").symlink_to("real")
    run(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert names(tmp_path / "real") == [MARK, "new"]


def test_the_current_folder_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder and those above it are refused, although they are empty otherwise."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for place in (".", "..", tmp_path):
        assert "it is the current folder or above it" in kraftcheck(*TOY, "--out", place).refusal()
    assert names(tmp_path) == ["here"]


def test_other_results_do_not_go_into_the_folder(tmp_path: Path) -> None:
    """A document or picture in the folder that is replaced would make it foreign; it is refused before any work."""
    out = tmp_path / "out"
    out.mkdir()
    told = kraftcheck(*TOY, "--out", out, "--json", out / "told.json").refusal()
    assert "lies in the folder of --out, which this run replaces" in told
    with pytest.raises(Refusal, match=r"curve\.svg lies in the folder of --out"):
        check_results("--out", out, "-", None, out / "curve.svg")


COMMANDS = [
    "explore tests.toys:CLOCK --out", "explore tests.toys:CLOCK --engine spark --out", "check elections --out",
    "simulate tests.toys:CLOCK --out", "prove elections --scope tiny --smt2",
    "prove tests.toys:CLOCK --certificate",
    "trace tests/traces/B4.itf.json --export junit --out",
]  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_refuses_foreign_folders_and_none(words: str, tmp_path: Path) -> None:
    """An empty name, and a folder of other files, are refused by each command that writes a folder, before any work."""
    (tmp_path / "thesis.tex").write_text("years")
    option = words.split()[-1]
    assert kraftcheck(*words.split(), "").refusal() == f"{option} is empty; give a value, or leave it out"
    told = kraftcheck(*words.split(), tmp_path).refusal()
    assert "holds thesis.tex" in told
    assert told.endswith(f"; choose another {option}")
    assert names(tmp_path) == ["thesis.tex"]
