"""The files of the tutorial with five proposals: what a user writes, and what is said of it."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import kraftcheck as kc
from tests.documentation.console import files_of
from tests.shared.commands import kraftcheck
from tests.shared.places import DOCS

FILES = files_of((DOCS / "tutorial" / "five-proposals.md").read_text(encoding="utf-8"))
MOST_LINES = 60


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files, as a user has them."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        monkeypatch.delitem(sys.modules, name.removesuffix(".py"), raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", FILES)
def test_a_proposal_is_short_and_takes_public_names_alone(name: str) -> None:
    """Each is at most sixty lines, and imports nothing but the package itself and attrs."""
    assert len(FILES) == 5
    assert 10 <= len(FILES[name].splitlines()) <= MOST_LINES
    imports = [node for node in ast.walk(ast.parse(FILES[name])) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert {ast.unparse(node).partition(" ")[2].split()[0] for node in imports} <= {"kraftcheck", "attrs"}


@pytest.mark.slow
@pytest.mark.parametrize(("system", "base", "scope", "broken"), [
    ("waits.py:HASTY", "kafka-4.4.0-mended", "tiny",
     {"unfenced-candidate-leads", "recovering-after-unclean-election", "isr-leavers-stay-eligible",
      "elr-leavers-have-a-reason", "unclean-only-when-allowed"}),
    ("waits.py:PATIENT", "kafka-4.4.0-mended", "tiny", {"unfenced-candidate-leads", "unclean-request-is-granted"}),
    ("cordon.py:GENTLE", "kafka-4.4.0-mended", "tiny",
     {"no-leader-on-cordoned", "last-known-is-remembered", "reassignment-keeps-a-leader", "leader-stays",
      "unclean-only-when-allowed"}),
    ("offline.py:NEVER", "kafka-4.4.0", "lost", set()),
    ("offline.py:ALWAYS", "kafka-4.4.0", "lost", {"isr-leavers-stay-eligible", "unclean-only-when-allowed"}),
])  # fmt: skip
def test_a_proposal_breaks_what_the_page_says(
    system: str, base: str, scope: str, broken: set[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The promises that a change breaks, and no others."""
    monkeypatch.chdir(folder)
    found = kc.diff(base, system, scope=scope, threads=1).document
    assert {one["id"] for one in found["properties"] if one["change"] == "broken"} == broken
    assert found["equal"] is False


def test_an_upgrade_is_blocked_and_mended(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Registrations that stay block an upgrade for ever; marks mend it, unless they outlive a return."""
    monkeypatch.chdir(folder)
    marked = "base+marked-are-ignored"
    for rules, refuted in (("base", {"level-can-be-raised"}), (marked, set()),
                           (f"{marked}+mark-survives-return", {"voters-understand"})):  # fmt: skip
        verdicts = kc.explore("features.py:FEATURES", rules=rules).verdicts
        assert {claim for claim, verdict in verdicts.items() if isinstance(verdict, kc.Refuted)} == refuted


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.usefixtures("shared")
def test_a_changed_system_is_the_same_on_spark(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers explore the system with its field, event and rule: the same states and verdicts as here."""
    monkeypatch.chdir(folder)
    words = ("explore", "waits.py:HASTY", "--scope", "tiny", "--quiet", "--json", "-")
    here, there = (kraftcheck(*words, *on).document() for on in ((), ("--engine", "spark", "--out", folder / "out")))
    for document in (here, there):
        document["states"].pop("bytes_per_state")
    assert (here["states"], here["exit_code"]) == (there["states"], there["exit_code"])
    verdicts = [{one["id"]: one["verdict"] for one in document["properties"]} for document in (here, there)]
    assert verdicts[0] == verdicts[1]
