"""The page of mistakes shows what kraftcheck says of each, word by word."""

import re
from pathlib import Path

import pytest

from tests.documentation.mistakes.hall import program
from tests.documentation.mistakes.mistake import Mistake
from tests.documentation.mistakes.page import MISTAKES, page
from tests.shared.commands import Ran, kraftcheck
from tests.shared.places import DOCS

slow = pytest.mark.slow


def written(name: str, rules: str, folder: Path) -> Ran:
    """What `kraftcheck explore` says of the hall with some rules; the name of the file is that of the page again."""
    module = f"hall_{re.sub(r'[^a-z]', '_', name.lower())}"
    (folder / f"{module}.py").write_text(program(rules))
    ran = kraftcheck("explore", f"{module}:HALL", "--quiet", "-v")
    out, err = (text.replace(f"{folder}/", "").replace(module, "hall") for text in (ran.out, ran.err))
    return Ran(ran.code, out, err)


def refused(mistake: Mistake) -> bool:
    """Whether a mistake is an error."""
    return mistake.code == 2


@pytest.mark.parametrize("mistake", [one for one in MISTAKES if refused(one)], ids=lambda one: one.title)
def test_a_mistake_is_refused_in_one_line(mistake: Mistake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line names the file, the line or the part of the system, and what to write; the exit code is 2."""
    monkeypatch.chdir(tmp_path)
    said = written(mistake.title, mistake.wrong, tmp_path).refusal()
    expected = re.escape(mistake.says).replace(re.escape("{one}"), r"\d+").replace(re.escape("{other}"), r"\d+")
    assert re.fullmatch(expected, said), said


@pytest.mark.parametrize("mistake", [one for one in MISTAKES if not refused(one)], ids=lambda one: one.title)
def test_what_is_not_checked_is_said(mistake: Mistake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim that is checked in vain or in part is vacuous, incomplete, or has a warning."""
    monkeypatch.chdir(tmp_path)
    ran = written(mistake.title, mistake.wrong, tmp_path)
    words = " ".join((ran.err + ran.out).split())
    assert ran.code == mistake.code
    assert all(word in words for word in mistake.says.split()), words
    assert mistake.says.split(" in ")[0] in words


@slow
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: one.title)
def test_the_mend_is_taken(mistake: Mistake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the page advises is explored; whether the hall is right then is another question."""
    monkeypatch.chdir(tmp_path)
    ran = written(f"{mistake.title} mended", mistake.right, tmp_path)
    assert ran.code != 2, ran.err
    assert "warning" not in ran.err + ran.out


def test_the_page_is_made_of_them() -> None:
    """docs/how-to/mistakes.md has every mistake with its message."""
    assert (DOCS / "how-to" / "mistakes.md").read_text(encoding="utf-8") == page()
    assert len(MISTAKES) > 20
