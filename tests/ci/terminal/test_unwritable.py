"""Places that cannot be written are refused before any work: permissions are no answer, so something is made there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.shared.captures import ELR
from tests.shared.commands import kraftcheck
from tests.shared.places import ROOT

PANICS = "tests.toys:PANICKER"
"""A system whose rules raise as soon as they are looked at: who refuses the place first has done nothing yet."""

WORDS = {
    "explore --out": ("explore", PANICS, "--out"),
    "explore --json": ("explore", PANICS, "--json"),
    "explore --junit": ("explore", PANICS, "--junit"),
    "explore --sarif": ("explore", PANICS, "--sarif"),
    "explore --engine disk --out": ("explore", PANICS, "--engine", "disk", "--out"),
    "explore --engine spark --out": ("explore", PANICS, "--engine", "spark", "--out"),
    "simulate --out": ("simulate", PANICS, "--out"),
    "simulate --json": ("simulate", PANICS, "--json"),
    "simulate --plot": ("simulate", PANICS, "--plot"),
    "prove --json": ("prove", PANICS, "--json"),
    "prove --junit": ("prove", PANICS, "--junit"),
    "prove --certificate": ("prove", PANICS, "--certificate"),
    "prove --smt2": ("prove", PANICS, "--smt2"),
    "prove --bmc --json": ("prove", PANICS, "--bmc", "3", "--json"),
    "check --out": ("check", "elections", "--out"),
    "check --json": ("check", "elections", "--json"),
    "check --junit": ("check", "elections", "--junit"),
    "bugs --json": ("bugs", "--json"),
    "explain --json": ("explain", PANICS, "--json"),
    "explain --markdown": ("explain", PANICS, "--markdown"),
    "explain --html": ("explain", PANICS, "--html"),
    "export --tla": ("export", PANICS, "--tla"),
    "replay --json": ("replay", ELR, "--json"),
    "replay --html": ("replay", ELR, "--html"),
    "replay --engine spark --out": ("replay", ELR, "--engine", "spark", "--out"),
    "status --json": ("status", ELR, "--json"),
    "whatif --json": ("whatif", ELR, "--json"),
    "whatif --prometheus": ("whatif", ELR, "--prometheus"),
    "conform --json": ("conform", "--vectors", ROOT / "tests" / "vectors", "--json"),
    "findings --json": ("findings", "--json"),
    "findings --run --out": ("findings", "--run", "--kafka", "4.4.0", "--out"),
    "where --json": ("where", "elr", "--json"),
    "list --json": ("list", "--json"),
}


def place_of(name: str, folder: str) -> str:
    """A name in a folder that suits the option."""
    return f"{folder}/" + {"export --tla": "Panicker.tla", "simulate --plot": "x.svg"}.get(name, "x")


@pytest.mark.parametrize("name", WORDS)
def test_a_folder_that_takes_no_files_is_refused_first(name: str) -> None:
    """/proc, where even root makes nothing: one line, and nothing was traced, explored or printed."""
    place = place_of(name, "/proc")
    assert place in kraftcheck(*WORDS[name], place).refusal()


@pytest.mark.parametrize("name", [name for name in WORDS if name.endswith(("--out", "--certificate", "--smt2"))])
def test_a_folder_below_one_that_takes_none_is_refused_first(name: str) -> None:
    """Folders that would have to be made are tried, too."""
    assert "/proc/x/y" in kraftcheck(*WORDS[name], "/proc/x/y").refusal()


@pytest.mark.parametrize("name", ["explore --out", "explore --json", "prove --certificate", "explain --html"])
def test_a_name_that_is_too_long_is_refused_first(name: str, tmp_path: Path) -> None:
    """A file system with room for names of 255 bytes has none for a longer one; nothing is left behind."""
    place = tmp_path / ("x" * 300)
    assert "name too long" in kraftcheck(*WORDS[name], place).refusal()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["explore --out", "explore --json", "simulate --out"])
def test_a_look_leaves_nothing_behind(name: str, tmp_path: Path) -> None:
    """Where the place can be written and the rules are refused, the folder is as it was."""
    before = os.stat(tmp_path).st_mode
    assert "panics" in kraftcheck(*WORDS[name], tmp_path / "new" if "--out" in name else tmp_path / "x").err
    assert (list(tmp_path.iterdir()), os.stat(tmp_path).st_mode) == ([], before)
