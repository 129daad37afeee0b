"""What GitHub Actions is told: annotations at files and lines, ten at most, and a summary of the job."""

import os
import re
from pathlib import Path

import pytest

from kraftcheck.ci.run.reports import MOST_BYTES
from tests.ci.fuzz.bounds import bounded
from tests.ci.verdicts.reports.reading import LIGHT
from tests.shared.commands import kraftcheck

SUMMARY = Path("summary.md")


@pytest.fixture(autouse=True)
def step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step of a workflow, in a repository with systems of its own."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(SUMMARY.absolute()))
    for name in ("manylights", "fewlights"):
        Path(f"{name}.py").write_text(
            LIGHT % RED.replace("NUMBER", "12" if name == "manylights" else "2"), encoding="utf-8"
        )


RED = 'kc.always(f"red-{n}", f"100% red, {n}:\\nalways | <b>", lambda s: s.colour != 0) for n in range(NUMBER)'


def errors(out: str) -> list[str]:
    """The workflow commands among lines."""
    return [line for line in out.splitlines() if line.startswith("::error")]


def test_each_failure_is_annotated_at_its_line() -> None:
    """An annotation names file, line and property, escaped; the message holds sentence and command."""
    ran = kraftcheck("explore", "fewlights:LIGHT", "--quiet")
    first, second = errors(ran.out)
    assert re.match(r"::error file=fewlights\.py,line=12,title=fewlights%3ALIGHT red-0::refuted 0: ", first)
    assert "100%25 red, 0:%0Aalways | <b>%0A" in first
    assert first.endswith("%0Aagain: kraftcheck explore fewlights:LIGHT --scope default --property red-0")
    assert "red-1" in second


def test_no_more_than_ten_and_the_rest_is_counted() -> None:
    """GitHub shows ten errors of a step: with twelve failures there are nine, and a tenth that counts three more."""
    found = errors(kraftcheck("explore", "manylights:LIGHT", "--quiet").out)
    assert len(found) == 10
    assert found[-1] == "::error title=kraftcheck::3 more verdicts that are no pass: see the summary of the job"
    assert all(f"red-{number} |" in SUMMARY.read_text(encoding="utf-8") for number in range(12))


def test_a_document_on_standard_output_stays_one() -> None:
    """With --json - standard output is the document alone, and the annotations go to standard error."""
    ran = kraftcheck("explore", "fewlights:LIGHT", "--quiet", "--json", "-")
    assert ran.document()["exit_code"] == 12
    assert len(errors(ran.err)) == 2


def test_the_summary_is_markdown_with_the_traces() -> None:
    """The summary has the closing line, a row for each failure with its text escaped, and each trace in a fence."""
    kraftcheck("explore", "fewlights:LIGHT", "--quiet")
    text = SUMMARY.read_text(encoding="utf-8")
    assert "2 refuted, 1 holds (exit 12)" in text
    assert text.count("| fewlights:LIGHT, scope default | red-") == 2
    assert "100% red, 0: always \\| &lt;b&gt; |" in text
    assert text.count("<details>") == text.count("```text\n") == 2
    assert "1 of 3 verdicts are as they must be." in text


def test_the_summary_of_earlier_commands_stays() -> None:
    """A second command of the step adds to the summary; where there is no room, it says so, or leaves it as it is."""
    SUMMARY.write_text("before\n", encoding="utf-8")
    kraftcheck("explore", "tests.toys:CLOCK", "--quiet")
    text = SUMMARY.read_text(encoding="utf-8")
    assert text.startswith("before\n## kraftcheck\n\n4 holds (exit 0)\n")
    for room, told in ((500, "The table is left out"), (5, "")):
        SUMMARY.write_text("x" * (MOST_BYTES - room), encoding="utf-8")
        kraftcheck("explore", "manylights:LIGHT", "--quiet")
        rest = SUMMARY.read_text(encoding="utf-8").lstrip("x")
        assert len(SUMMARY.read_bytes()) <= MOST_BYTES
        assert told in rest
        assert bool(rest) == bool(told)


def test_a_summary_that_is_no_text_or_no_file() -> None:
    """Letters of another encoding stay as they are; a pipe in the place of the file is refused, and nobody waits."""
    SUMMARY.write_bytes(b"\xff\xfe\n")
    assert kraftcheck("explore", "tests.toys:CLOCK", "--quiet").code == 0
    assert SUMMARY.read_bytes().startswith(b"\xff\xfe\n## kraftcheck\n")
    SUMMARY.unlink()
    os.mkfifo(SUMMARY)
    with bounded(10):
        ran = kraftcheck("explore", "tests.toys:CLOCK", "--quiet")
    refused = ran.err.splitlines(keepends=True)[0]
    assert (ran.code, refused) == (2, f"kraftcheck: cannot write {SUMMARY.absolute()}: it is a pipe or a device; "
                                      "GITHUB_STEP_SUMMARY names it\n")  # fmt: skip


def test_what_passes_is_not_annotated() -> None:
    """A run that passes has no annotation; outside of GitHub Actions a failure has none either."""
    assert errors(kraftcheck("explore", "tests.toys:CLOCK", "--quiet").out) == []


def test_elsewhere_nothing_is_annotated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside of GitHub Actions there are no annotations and no summary."""
    monkeypatch.delenv("GITHUB_ACTIONS")
    assert errors(kraftcheck("explore", "fewlights:LIGHT", "--quiet").out) == []
    assert not SUMMARY.exists()
