"""JUnit and SARIF of every command with verdicts: valid, complete, and never a pass for what is none."""

from pathlib import Path

import pytest

from kraftcheck.properties.register.verdicts import EXPECTED
from tests.ci.verdicts.reports.reading import LIGHT, cases, read_junit, read_sarif, results
from tests.shared.commands import Ran, kraftcheck

QUIET = ("--quiet", "--workers", "1")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command runs in a folder of the test."""
    monkeypatch.chdir(tmp_path)


def reported(*words: str) -> tuple[Ran, dict[str, str], dict[str, str]]:
    """A command with both reports: what it did, the cases of JUnit, the results of SARIF."""
    ran = kraftcheck(*words, *QUIET, "--junit", "out.xml", "--sarif", "out.sarif")
    assert "wrote out.xml\nwrote out.sarif\n" in ran.out
    return ran, cases(read_junit(Path("out.xml"))), results(read_sarif(Path("out.sarif")))


def test_refuted_and_vacuous_are_failures() -> None:
    """Each property is a case; what is refuted or vacuous is a failure with a result, what holds a pass without."""
    ran, junit, sarif = reported("explore", "tests.toys:DIGRAPH")
    assert ran.code == 12
    assert junit == {
        "never-5": "failure refuted", "never-4-to-5": "failure refuted", "reach-8": "failure vacuous",
        "reach-5": "pass", "deadlock": "pass",
    }  # fmt: skip
    assert sarif == {"never-5": "refuted 4", "never-4-to-5": "refuted 4", "reach-8": "vacuous"}


@pytest.mark.parametrize(
    ("words", "code", "wrong"),
    [
        (("explore", "tests.toys:DIGRAPH", "--max-depth", "1"), 20, ("error", "incomplete")),
        (("explore", "tests.shared.capped:UNCAPPED"), 20, ("error", "incomplete")),
        (("prove", "tests.toys:DIGRAPH", "--search", "0"), 22, ("error", "unknown")),
        (("prove", "tests.toys:DIGRAPH", "--k", "1"), 22, ("error", "unknown")),
        (("prove", "tests.toys:DIGRAPH", "--bmc", "2"), 20, ("error", "incomplete")),
        (("prove", "tests.toys:DIGRAPH", "--pdr"), 22, ("error", "unknown")),
        (("prove", "tests.toys:DIGRAPH"), 12, ("failure", "refuted")),
        (("explore", "tests.toys:STUCK"), 11, ("failure", "refuted")),
        (("explore", "tests.toys:VALVE", "--scope", "budget"), 13, ("failure", "refuted")),
        (("simulate", "tests.toys:DIGRAPH", "--runs", "9", "--steps", "9"), 12, ("failure", "vacuous")),
        (("simulate", "tests.shared.capped:UNCAPPED", "--runs", "5", "--steps", "9"), 20, ("error", "incomplete")),
    ],
)
def test_no_other_verdict_passes(words: tuple[str, ...], code: int, wrong: tuple[str, str]) -> None:
    """Incomplete and unknown are errors; SARIF has a result for each case that does not pass, at the level error."""
    ran, junit, sarif = reported(*words)
    assert ran.code == code
    assert " ".join(wrong) in junit.values()
    assert sarif.keys() == {name for name, outcome in junit.items() if outcome != "pass"}
    run = read_sarif(Path("out.sarif"))
    assert {result["level"] for result in run["results"]} == {"error"}
    assert run["invocations"][0]["exitCode"] == code
    undecided = any(outcome.startswith("error") for outcome in junit.values())
    assert run["invocations"][0]["executionSuccessful"] is not undecided


def test_all_that_holds_is_no_result() -> None:
    """Where every property holds, JUnit has passes alone, and SARIF no result, but the rules and a count."""
    ran, junit, sarif = reported("explore", "tests.toys:CLOCK")
    assert (ran.code, sarif) == (0, {})
    assert set(junit.values()) == {"pass"}
    run = read_sarif(Path("out.sarif"))
    assert [rule["name"] for rule in run["tool"]["driver"]["rules"]] == list(junit)
    notes = [note["message"]["text"] for note in run["invocations"][0]["toolExecutionNotifications"]]
    assert notes == ["4 of 4 verdicts are as they must be, and have no result here."]


def test_walks_do_not_say_that_anything_holds() -> None:
    """What walks did not refute passes as `nothing found`, not as `holds`; the output of the suite says so."""
    ran, junit, sarif = reported("simulate", "tests.toys:CLOCK", "--runs", "3", "--steps", "5")
    assert (ran.code, set(junit.values()), sarif) == (0, {"pass"}, {})
    text = read_junit(Path("out.xml")).findtext("testsuite/system-out")
    assert "in-range: nothing found: 3 runs, 15 steps, not a proof" in text
    assert "noon: shown" in text
    assert "holds" not in text


def test_the_check_reports_what_is_expected() -> None:
    """A defect that is expected and comes is a pass; the reports hold every row and every verdict of the check."""
    ran, _, sarif = reported("check", "broker-ids", "--scope", "tiny", "--rules", "kip")
    assert (ran.code, sarif) == (0, {})
    root = read_junit(Path("out.xml"))
    assert sum(int(suite.get("tests")) for suite in root) == int(ran.last.split()[0])
    assert "refuted" in "".join(suite.findtext("system-out") for suite in root)


def test_a_surprise_of_the_check_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """A verdict that is not the expected one fails, also where it holds; the message has both."""
    row = ("broker-ids", "tiny", "fixed")
    monkeypatch.setitem(EXPECTED, row, {"deadlock": "refuted 5", "no-such": "refuted 1"})  # type: ignore[arg-type]
    ran, junit, sarif = reported("check", "broker-ids", "--scope", "tiny", "--rules", "fixed")
    assert ran.code == 21
    assert junit["deadlock"] == "failure unexpected"
    assert junit["no-such"] == "error not-judged"
    assert sarif == {"deadlock": "holds", "no-such": "not judged"}
    texts = [result["message"]["text"] for result in read_sarif(Path("out.sarif"))["results"]]
    assert any("expected refuted 5, got holds" in text for text in texts)


def test_text_that_xml_cannot_hold_is_spelled_out() -> None:
    """Names with markup, and sentences with control characters and lone surrogates, come out readable, in valid
    files."""
    Path("odd.py").write_text(ODD, encoding="utf-8")
    ran, junit, sarif = reported("explore", "odd:LIGHT")
    assert ran.code == 12
    assert junit == {"a < b & ]": "failure refuted", "deadlock": "pass"}
    assert "\\x07 \\ud800" in Path("out.xml").read_text(encoding="utf-8")
    assert list(sarif.values()) == ["refuted 0"]


def test_no_file_of_a_counterexample_is_hidden() -> None:
    """A trace and a page of a property whose id begins with a dot, or has a folder in it, are seen in their folder."""
    for number, id_ in enumerate(("../odd", ".odd", "..")):
        Path(f"dotted{number}.py").write_text(ODD.replace("a < b & ]", id_), encoding="utf-8")
        out = Path(f"traces{number}")
        assert reported("explore", f"dotted{number}:LIGHT", "--out", out)[0].code == 12
        assert [one.name for one in out.glob("*.itf.json") if one.name.startswith("%2E")] == [
            f"{id_.replace('.', '%2E', 1).replace('/', '%2F')}.itf.json"
        ]
        assert [one.name for one in out.glob(".*")] == [".kraftcheck"]


ODD = LIGHT % 'kc.always("a < b & ]", "]]> \\x07 \\ud800 <b>", lambda s: s.colour != 0)'


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("explore", "tests.toys:CLOCK", "--junit", "a", "--sarif", "./a"), "--junit and --sarif cannot both write"),
        (("simulate", "tests.toys:CLOCK", "--json", "a", "--sarif", "a"), "--json and --sarif cannot both write to a"),
        (("explore", "tests.toys:CLOCK", "--junit", "none/a.xml"), "there is no folder"),
        (("prove", "tests.toys:CLOCK", "--junit", "out/a.xml", "--smt2", "out"), "there is no folder"),
        (("explore", "tests.toys:CLOCK", "--junit", "out/a.xml", "--out", "out"), "lies in the folder of --out"),
    ],
)
def test_places_are_refused_before_work(words: tuple[str, ...], told: str) -> None:
    """Two outputs in one file, and files that cannot be written, are refused in one line; nothing is written."""
    if told.startswith("lies"):
        Path("out").mkdir()
    assert told in kraftcheck(*words).refusal()
    assert [path.name for path in Path().iterdir() if path.name != "out"] == []
