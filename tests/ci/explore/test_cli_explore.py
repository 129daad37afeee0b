"""`kraftcheck explore`: exit codes, closing lines, documents, files."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.ci.run.result import REPORT
from kraftcheck.ci.systems import report
from kraftcheck.ci.terminal.files import MARK
from tests.shared.commands import kraftcheck

BAD_WORDS = ("refuted", "incomplete", "unknown", "vacuous")


@pytest.mark.parametrize(
    ("words", "code", "last"),
    [
        ("tests.toys:CLOCK", 0, "4 holds (exit 0)"),
        ("tests.toys:STUCK", 11, "1 refuted (exit 11)"),
        ("tests.toys:RESTING", 0, "2 holds (exit 0)"),
        ("tests.toys:DIGRAPH", 12, "2 refuted, 1 vacuous, 2 holds (exit 12)"),
        ("tests.toys:DIGRAPH --property never-5", 12, "1 refuted, 1 holds (exit 12)"),
        ("tests.toys:DIGRAPH --property reach-5", 0, "2 holds (exit 0)"),
        ("tests.toys:DIGRAPH --property reach-8", 21, "1 vacuous, 1 holds (exit 21)"),
        ("tests.toys:DIGRAPH --property deadlock", 0, "1 holds (exit 0)"),
        ("tests.toys:DIGRAPH --stop-at-first", 12, "1 refuted, 4 incomplete (exit 12)"),
        ("tests.toys:TWO_PHASE --managers 3 --max-depth 2", 20, "3 incomplete (exit 20)"),
        ("tests.toys:TWO_PHASE --managers=3 --max-states 5", 20, "3 incomplete (exit 20)"),
        ("--managers 3 tests.toys:TWO_PHASE --max-states 289", 0, "3 holds (exit 0)"),
        ("tests.toys:TWO_PHASE --managers 3 --workers 32", 0, "3 holds (exit 0)"),
        ("tests.toys:HASTY --scope 3", 12, "1 refuted, 2 holds (exit 12)"),
        ("tests.toys:TWO_PHASE --scope 7 --memory 2M", 20, "3 incomplete (exit 20)"),
        ("tests.toys:TWO_PHASE --managers 8 --memory 20M --property committed", 20, None),
    ],
)
def test_exit_code_and_closing_line(words: str, code: int, last: str | None) -> None:
    """The exit code is that of the worst verdict, and the closing line begins with the worst."""
    ran = kraftcheck("explore", *words.split(), "--quiet")
    assert (ran.code, ran.err) == (code, "")
    assert ran.last.endswith(f"(exit {code})")
    assert last in (None, ran.last)
    assert (code == 0) != any(word in ran.last for word in BAD_WORDS)
    assert code == 0 or not re.match(r"\d+ holds", ran.last)


def test_memory_limit_is_named() -> None:
    """A search that meets its memory budget says so, with the states it has seen."""
    ran = kraftcheck("explore", "tests.toys:TWO_PHASE", "--managers", 8, "--memory", "20M", "--quiet")
    assert ran.code == 20
    assert re.search(r"memory limit 20,971,520 bytes, after [\d,]+ states to depth \d+", ran.out)
    assert "incomplete: memory limit" in ran.out
    assert "bits, most of them in" in ran.out
    assert re.search(r"raise --memory; lower --managers to 7, which saves \d+ bits a state", ran.out)
    ran = kraftcheck("explore", "replication", "--scope", "tiny", "--memory", "1M", "--quiet")
    assert "most of them in brokers" in ran.out
    assert "or a budget (--unclean-stops, --fences, --shrinks), which makes fewer states" in ran.out


def test_limits_are_named() -> None:
    """Depth and state limits are named in the verdicts that they leave open."""
    assert "depth limit 2, after " in kraftcheck("explore", "tests.toys:TWO_PHASE", "--max-depth", 2, "--quiet").out
    assert "state limit 5, after " in kraftcheck("explore", "tests.toys:TWO_PHASE", "--max-states", 5, "--quiet").out


def document(*words: object) -> Any:
    """The JSON document of an exploration."""
    ran = kraftcheck("explore", *words, "--json", "-", "--quiet")
    assert ran.out.startswith("{")
    return ran.document()


def test_document_says_everything() -> None:
    """The document has counts, verdicts, coverage and versions of the run."""
    told = document("tests.toys:DIGRAPH")
    assert (told["version"], told["command"], told["engine"], told["system"]) == (
        1,
        "explore",
        "native",
        "tests.toys:DIGRAPH",
    )
    assert (told["scope"], told["bounds"], told["rules"], told["exit_code"]) == ("default", {}, None, 12)
    assert (told["complete"], told["cut"]) == (True, None)
    states = told["states"]
    assert (states["distinct"], states["generated"], states["depth"]) == (8, 11, 4)
    assert sum(states["levels"]) == 8
    assert len(states["levels"]) == 5
    assert told["fired"] == {"follow": 10, "escape": 0}
    assert told["guards"] == {"never_true": [["escape", "guard"]], "never_false": []}
    assert set(told["seconds"]) == {"explore", "backward", "compile", "audit", "cached", "liveness"}
    assert told["rates"]["generated"] > told["rates"]["distinct"] > 0
    assert re.fullmatch("[0-9a-f]{64}", told["digest"])
    assert {"kraftcheck", "python", "llvmlite", "numpy", "attrs"} <= set(told["versions"])


def test_report_tells_what_was_audited() -> None:
    """The report and the document tell how many states and transitions were compared with ints; of a toy all."""
    ran = kraftcheck("explore", "tests.toys:DIGRAPH", "--quiet")
    assert "\nassurance: audited 8 states and 10 transitions on ints, no difference; " in ran.out
    told = document("tests.toys:DIGRAPH")["audit"]
    assert set(told) == {"states", "transitions", "refused", "whole", "seed", "sample"}
    assert (told["states"], told["transitions"], told["whole"], told["seed"]) == (8, 10, True, 0)
    told = document("tests.toys:TWO_PHASE", "--scope", 5, "--audit", "12@7")["audit"]
    assert (told["states"], told["whole"], told["seed"]) == (12, True, 7)
    told = document("tests.toys:DIGRAPH", "--audit", "all")["audit"]
    assert (told["states"], told["transitions"], told["whole"]) == (8, 10, True)
    cut = kraftcheck("explore", "tests.toys:TWO_PHASE", "--scope", 7, "--max-states", 5, "--quiet")
    assert re.search(r"\nassurance: audited [1-9]\d* states and [1-9]\d* transitions on ints", cut.out)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("0", "--audit 0 would give a verdict without an audit"),
        ("none", "--audit takes a number of states such as 100, 100@SEED, or all, not 'none'"),
        ("-1", "not '-1'"),
        ("1.5", "not '1.5'"),
        ("", "--audit is empty"),
        ("5@", "not '5@'"),
        ("5@-1", "not '5@-1'"),
        ("all@x", "not 'all@x'"),
        ("99999999999999999999", "not '99999999999999999999'"),
    ],
)
def test_bad_audits_are_refused(given: str, says: str) -> None:
    """An audit of nothing, or of what is no number, is one line that says what can be given."""
    assert says in kraftcheck("explore", "tests.toys:CLOCK", f"--audit={given}").refusal()


def test_document_has_a_row_for_each_property() -> None:
    """Each property's row has id, kind, verdict, depth, bound and what failed."""
    rows = {row["id"]: row for row in document("tests.toys:DIGRAPH")["properties"]}
    assert list(rows) == ["never-5", "reach-5", "reach-8", "never-4-to-5", "deadlock"]
    never, reach, edge = rows["never-5"], rows["reach-5"], rows["never-4-to-5"]
    assert (never["kind"], never["verdict"], never["depth"], never["failing"]) == ("always", "refuted", 4, ["never-5"])
    assert (edge["kind"], edge["failing"]) == ("step", ["not from 4 to 5"])
    assert (reach["kind"], reach["verdict"], reach["depth"]) == ("sometimes", "holds", 4)
    assert reach["bound"] == "all 8 states of digraph"
    assert (rows["reach-8"]["verdict"], rows["reach-8"]["bound"]) == ("vacuous", None)
    assert rows["deadlock"]["verdict"] == "holds"


def test_document_tells_what_a_bound_pruned() -> None:
    """A field whose domain cut transitions is named, with their number, and the bound says so."""
    told = document("tests.toys:COUNTER")
    assert (told["pruned"], [one["declared"] for one in told["prunings"]]) == ({"count": 5}, [True])
    assert "bound on count pruned 5 transitions: the toy counts to five" in told["properties"][0]["bound"]


def test_document_and_table_agree(tmp_path: Path) -> None:
    """The counts of the document are those that are printed."""
    path = tmp_path / "told.json"
    ran = kraftcheck("explore", "tests.toys:TWO_PHASE", "--scope", "5", "--quiet", "--json", path)
    told = json.loads(path.read_text())
    states = told["states"]
    assert (
        f"{states['distinct']:,} distinct states, {states['generated']:,} generated, depth {states['depth']}" in ran.out
    )
    assert ran.code == told["exit_code"] == 0
    assert [entry.name for entry in tmp_path.iterdir()] == ["told.json"]


@pytest.mark.parametrize("words", [("tests.toys:HASTY", "--scope", "5"), ("elections", "--scope", "tiny")])
def test_documents_do_not_depend_on_workers(words: tuple[str, ...]) -> None:
    """One and four threads give the same document, apart from times and memory."""
    one, four = document(*words, "--workers", 1), document(*words, "--workers", 4)
    for told in (one, four):
        del told["seconds"], told["rates"], told["states"]["bytes_per_state"]
    assert one == four


def test_document_of_a_cut_run_is_not_complete() -> None:
    """A run that was cut says so in its document, and no property of it holds without a witness."""
    told = document("tests.toys:TWO_PHASE", "--max-states", 5)
    assert (told["complete"], told["exit_code"]) == (False, 20)
    assert told["cut"] == "state limit 5"
    assert {row["verdict"] for row in told["properties"]} == {"incomplete"}


def test_json_to_a_terminal_leaves_the_report_on_stderr() -> None:
    """With --json - standard output is one document, and people read the table on standard error."""
    ran = kraftcheck("explore", "tests.toys:STUCK", "--json", "-")
    assert ran.document()["exit_code"] == ran.code == 11
    assert ran.err.endswith("1 refuted (exit 11)\n")


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When writing fails in the middle, the old document stays and no temporary file is left."""
    path = tmp_path / "told.json"
    path.write_text("old")

    def half(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", half)
    ran = kraftcheck("explore", "tests.toys:CLOCK", "--quiet", "--no-cache", "--json", path)
    assert ran.code == 2
    assert ran.err == f"kraftcheck: cannot write {path}: No space left on device; choose another place\n"
    assert "exit 0" not in ran.out
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("told.json", "old")]


def test_out_holds_every_counterexample(tmp_path: Path) -> None:
    """--out makes its folder and writes a file for each refuted property, named after it, and the report."""
    ran = kraftcheck("explore", "tests.toys:DIGRAPH", "--quiet", "--traces", 0, "--out", tmp_path / "a" / "b")
    assert sorted(path.name for path in (tmp_path / "a" / "b").iterdir()) == [
        MARK,
        "never-4-to-5.itf.json",
        "never-5.itf.json",
        REPORT,
    ]
    assert ran.out.count("wrote ") == 2
    assert "also refuted (--traces 2 shows all): never-4-to-5, never-5" in ran.out


def test_strange_names_are_shown_as_they_are(tmp_path: Path) -> None:
    """Markup, emoji names and slashes in a user's names neither vanish nor break tables and files."""
    ran = kraftcheck("explore", "tests.shared.faulty:STRANGE_WORDS", "--quiet", "--out", tmp_path)
    assert ran.code == 12
    assert "[bold]/odd id is refuted: A sentence [/] with :smile: [red]marks[/red]." in ran.out
    (path,) = tmp_path.glob("*.itf.json")
    assert kraftcheck("trace", path, "--system", "tests.shared.faulty:STRANGE_WORDS").code == 0
    again = shlex.split(next(line for line in ran.out.splitlines() if "again: " in line).partition("again: ")[2])
    assert kraftcheck(*again[1:]).code == 12


def test_versions_of_absent_packages_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package whose version cannot be found is named as not installed."""

    def absent(name: str) -> str:
        raise report.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(report.metadata, "version", absent)
    assert report.versions()["numpy"] == "not installed"
