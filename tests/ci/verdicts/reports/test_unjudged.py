"""Reports of a command that ends without a verdict: nothing passes in them, and those of an earlier run are gone."""

import sys
from pathlib import Path

import click
import pytest

from kraftcheck.ci.explore import command
from kraftcheck.ci.terminal.commands import cli
from tests.ci.verdicts.reports.reading import LIGHT, cases, read_junit, read_sarif
from tests.shared.commands import kraftcheck, start

REPORTS = ("--junit", "out.xml", "--sarif", "out.sarif", "--json", "out.json")

MODULES = {
    "lost": "import nothing_of_this_name\n",
    "broken": "def (:\n",
    "ends": "raise SystemExit(0)\n",
    "vanishes": "import os\nos._exit(0)\n",
    "raises": LIGHT % 'kc.always("dark", "it is dark", lambda s: s.color == 0)',
}


@pytest.fixture(autouse=True)
def green(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository in which an earlier run has left reports that pass."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    for name, text in MODULES.items():
        monkeypatch.delitem(sys.modules, name, raising=False)
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    (tmp_path / "table.toml").write_text('[[runs]]\nsystem = "none.py:LAMP"\n', encoding="utf-8")
    assert kraftcheck("explore", "tests.toys:CLOCK", "--quiet", *REPORTS).code == 0
    assert set(cases(read_junit(Path("out.xml"))).values()) == {"pass"}
    return tmp_path


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("check", "--nothing"), "No such option '--nothing'"),
        (("check", "--config", "table.toml"), "table.toml: line 2: runs[1].system: there is no file none.py"),
        (("check", "--config", "none.toml"), "cannot read none.toml"),
        (("check", "--shard", "3/2"), "--shard takes K/N"),
        (("explore", "none.py:LAMP"), "there is no file none.py"),
        (("explore", "lost.py:LAMP"), "nothing_of_this_name"),
        (("explore", "broken.py:LAMP"), "broken.py"),
        (("explore", "ends.py:LAMP"), "SystemExit"),
        (("explore", "raises.py:LIGHT"), "raises.py:12: property dark raised AttributeError"),
        (("explore", "tests.toys:CLOCK", "--scope", "none"), "no scope 'none'"),
        (("simulate", "raises.py:LIGHT"), "raises.py:12: property dark raised AttributeError"),
        (("prove", "raises.py:LIGHT"), "raises.py:12: property dark stays raised AttributeError"),
        (("branch", "none"), "none"),
    ],
    ids=str,
)
def test_bad_input_leaves_no_pass(words: tuple[str, ...], told: str) -> None:
    """Whatever is wrong, the one case of JUnit is an error that says so, SARIF has no success, the document is gone."""
    ran = kraftcheck(*words, *REPORTS)
    assert (ran.code, ran.err.count("\n"), told in ran.err) == (2, 1, True)
    root, found = read_junit(Path("out.xml")), read_sarif(Path("out.sarif"))
    assert cases(root) == {"verdict": "error not-judged"}
    assert told in root.find(".//error").get("message")
    assert [one["executionSuccessful"] for one in found["invocations"]] == [False]
    assert [(one["level"], told in one["message"]["text"]) for one in found["results"]] == [("error", True)]
    assert not Path("out.json").exists()


def test_a_fault_leaves_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """So does what is no input's fault: exit 255."""
    monkeypatch.setattr(command, "budget_of", lambda flags: 1 // 0)
    assert kraftcheck("explore", "tests.toys:CLOCK", *REPORTS).code == 255
    assert cases(read_junit(Path("out.xml"))) == {"verdict": "error not-judged"}
    assert not read_sarif(Path("out.sarif"))["invocations"][0]["executionSuccessful"]


def test_what_ends_the_process_leaves_nothing(green: Path) -> None:
    """A module that ends the process with success ends it without a report."""
    with start(["explore", "vanishes.py:LAMP", *REPORTS], green) as process:
        process.communicate(timeout=60)
    assert process.returncode == 0
    assert sorted(path.name for path in green.glob("out.*")) == []


def with_documents() -> list[str]:
    """The commands that write a document."""
    context = click.Context(cli)
    found = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    return [name for name, one in found.items() if one and any("--json" in part.opts for part in one.params)]


@pytest.mark.parametrize("name", with_documents())
def test_no_command_leaves_an_older_document(name: str) -> None:
    """Before anything else, the document of an earlier run is removed."""
    assert kraftcheck(name, "--json", "out.json", "--no-such-option").code == 2
    assert not Path("out.json").exists()


@pytest.mark.parametrize("option", ["--junit", "--sarif", "--json"])
def test_what_is_no_report_stays(option: str) -> None:
    """A file of another kind that is named by mistake, as the table itself, is as it was."""
    before = Path("table.toml").read_bytes()
    assert kraftcheck("check", "--config", "table.toml", option, "table.toml").code == 2
    assert Path("table.toml").read_bytes() == before


def test_the_annotation_is_at_the_line_of_the_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under GitHub Actions one error names the file and the line that the refusal names; so does SARIF."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    ran = kraftcheck("check", "--config", "table.toml", *REPORTS)
    assert "::error file=table.toml,line=2,title=kraftcheck check verdict::not judged: table.toml: line 2: " in ran.err
    (result,) = read_sarif(Path("out.sarif"))["results"]
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 2}
