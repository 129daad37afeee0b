"""SARIF in detail: where properties, rules and steps are, and what is left out of a file that would be too large."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.ci.run.formats import ReportLimits, sarif
from kraftcheck.ci.run.judged import JudgedRun, judged
from kraftcheck.ci.run.questions import run, search_budget
from kraftcheck.ci.systems.subject import program, subject
from tests.ci.verdicts.reports.reading import read_sarif, valid_sarif
from tests.shared.commands import kraftcheck
from tests.shared.places import ROOT

LONG = """
import kraftcheck as kc
from attrs import frozen

@frozen
class Counter:
    count: kc.Word

COUNTER = kc.System(
    name="counter", summary="A counter.", layout=Counter(kc.ints(0, 40, cap="enough")), initial=[Counter(0)],
    actions=[
        kc.Action("add", lambda s: Counter(s.count + 1)),
    ],
    properties=[
        kc.always(
            "small", "The counter stays below 30.",
            lambda s: s.count < 30,
        ),
    ],
)
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a system of its own in a sub-folder, which is the working folder."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "a b").mkdir()
    (tmp_path / "a b" / "longcounter.py").write_text(LONG, encoding="utf-8")
    monkeypatch.chdir(tmp_path / "a b")
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    return tmp_path


def line_of(text: str) -> int:
    """The line of the system above that holds a text."""
    return next(number for number, line in enumerate(LONG.splitlines(), start=1) if text in line)


def uris(node: Any) -> Iterator[dict[str, str]]:
    """Every place in a document."""
    if isinstance(node, dict):
        if "artifactLocation" in node:
            yield node["artifactLocation"]
        node = list(node.values())
    for inner in node if isinstance(node, list) else ():
        yield from uris(inner)


def test_places_of_a_users_system_are_in_the_repository(repository: Path) -> None:
    """The result is at the line of the property, each step at the line of its action, relative to the root."""
    kraftcheck("explore", "longcounter:COUNTER", "--quiet", "--sarif", "out.sarif")
    run_ = read_sarif(Path("out.sarif"))
    (result,) = run_["results"]
    here = {"uri": "a%20b/longcounter.py", "uriBaseId": "%SRCROOT%"}
    place = result["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": here, "region": {"startLine": line_of("lambda s: s.count < 30")}}
    assert run_["originalUriBaseIds"]["%SRCROOT%"]["uri"] == repository.resolve().as_uri() + "/"
    steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert len(steps) == 31
    assert steps[1]["location"]["message"]["text"] == "1. add(): count: 0 -> 1"
    assert steps[1]["location"]["physicalLocation"]["region"]["startLine"] == line_of('"add"')
    assert steps[-1]["location"]["message"]["text"].endswith("; fails: small")
    assert "again: kraftcheck explore longcounter:COUNTER" in result["message"]["text"]


def test_places_of_a_shipped_system_are_modules(repository: Path) -> None:
    """Outside of kraftcheck's own repository its properties, rules and actions are named by their modules."""
    words = ("--scope", "tiny", "--rules", "kafka-4.0", "--property", "leader-active", "--quiet", "--sarif", "a.sarif")
    kraftcheck("explore", "elections", *words)
    run_ = read_sarif(Path("a.sarif"))
    (result,) = run_["results"]
    places = list(uris(result))
    assert {place["uriBaseId"] for place in places} == {"KRAFTCHECK"}
    assert all((ROOT / place["uri"]).is_file() for place in places)
    assert result["relatedLocations"]
    rule = run_["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert rule["shortDescription"]["text"] == "the leader is registered, unfenced and not shutting down"
    first = result["relatedLocations"][0]["message"]["text"]
    assert f"Rule {first.split(':')[0]}: " in rule["help"]["text"]


def test_in_its_own_repository_kraftcheck_is_a_project_as_any(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In a checkout the files of kraftcheck are relative to its root, and are there."""
    monkeypatch.chdir(ROOT / "docs")
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    kraftcheck("explore", "tests.toys:DIGRAPH", "--quiet", "--sarif", tmp_path / "a.sarif")
    places = list(uris(read_sarif(tmp_path / "a.sarif")["results"]))
    assert {place["uri"] for place in places} == {"tests/toys.py"}


@pytest.fixture
def judged_run(repository: Path, monkeypatch: pytest.MonkeyPatch) -> JudgedRun:
    """A run with a counterexample of 30 steps."""
    monkeypatch.syspath_prepend(str(Path.cwd()))
    chosen = subject("longcounter:COUNTER", None, {}, None)
    return JudgedRun(chosen, "explore", judged(chosen, run(program(chosen), search_budget(1, 1 << 28), True).verdicts))


def test_a_long_trace_is_shortened_in_the_middle(judged_run: JudgedRun) -> None:
    """With room for ten steps the first and the last five are kept, and the message says how many are left out."""
    (result,) = valid_sarif(sarif([judged_run], 12, ReportLimits(steps=10)))["results"]
    orders = [step["executionOrder"] - 1 for step in result["codeFlows"][0]["threadFlows"][0]["locations"]]
    assert orders == [0, 1, 2, 3, 4, 5, 26, 27, 28, 29, 30]
    assert "20 of 30 steps are left out of the thread flow" in result["message"]["text"]


def test_results_beyond_the_limit_are_counted(judged_run: JudgedRun) -> None:
    """Of three results two are kept, and a notification of the run says that one is left out."""
    run_ = valid_sarif(sarif([judged_run] * 3, 12, ReportLimits(results=2)))
    assert len(run_["results"]) == 2
    assert any("1 of 3 results are left out" in json.dumps(note) for note in run_["invocations"])


def test_a_file_that_is_too_large_loses_steps_first(judged_run: JudgedRun) -> None:
    """The file is made to fit: steps go before results, and each result still says how many steps there were."""
    whole, most = sarif([judged_run] * 20, 12), 2500
    text = sarif([judged_run] * 20, 12, most_bytes=most)
    assert len(text) < len(whole)
    run_ = valid_sarif(text)
    assert len(run_["results"]) == 20
    assert all("steps are left out" in result["message"]["text"] for result in run_["results"])
    assert len(valid_sarif(sarif([judged_run] * 20, 12, most_bytes=10))["results"]) == 0


def test_a_finding_keeps_its_identity(judged_run: JudgedRun, repository: Path) -> None:
    """The same finding has the same fingerprint wherever its lines move, and another setting another one."""
    (before,) = valid_sarif(sarif([judged_run], 12))["results"]
    moved = JudgedRun(judged_run.subject, "prove", judged_run.properties)
    (other,) = valid_sarif(sarif([moved], 12))["results"]
    (same,) = valid_sarif(sarif([judged_run], 12))["results"]
    assert before["partialFingerprints"] == same["partialFingerprints"] != other["partialFingerprints"]


CHANGED = '''
import kraftcheck as kc


def valid(self, rules):
    """ELR members beside those of the ISR."""
    return self.isr.plus(self.elr).keep(self.acceptable)


KIP = kc.kafka("elections").override("election.elr.only-when-isr-empty", valid)
'''


def test_what_a_change_breaks_is_at_the_change(repository: Path) -> None:
    """A shipped property that a user's rule breaks is shown at that rule; the property is a related location."""
    Path("mykip.py").write_text(CHANGED, encoding="utf-8")
    words = ("--scope", "tiny", "--property", "elr-elected-last", "--quiet", "--sarif", "out.sarif")
    assert kraftcheck("explore", "mykip.py:KIP", *words).code == 12
    (result,) = read_sarif(Path("out.sarif"))["results"]
    here = {"uri": "a%20b/mykip.py", "uriBaseId": "%SRCROOT%"}
    line = 1 + CHANGED.splitlines().index("def valid(self, rules):")
    assert [one["physicalLocation"] for one in result["locations"]] == [
        {"artifactLocation": here, "region": {"startLine": line}}
    ]
    assert result["relatedLocations"][0]["message"]["text"].startswith("elr-elected-last: ")
