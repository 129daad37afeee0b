"""`kraftcheck check`: strict in both directions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.ci.terminal.files import MARK
from kraftcheck.ci.verdicts import command
from kraftcheck.ci.verdicts.command import last_line
from kraftcheck.properties.register.proofs import NOT_PROVEN
from kraftcheck.properties.register.verdicts import EXPECTED
from kraftcheck.solvers.exploration import explore as explorer
from kraftcheck.solvers.smt.queries import Effort
from tests.shared.commands import kraftcheck

FIXED = ("elections", "tiny", "fixed")
SNAPSHOT = ("elections", "tiny", "kafka-4.0")


def checked(row: tuple[str, str, str], *words: object) -> Any:
    """The check of one row."""
    return kraftcheck("check", row[0], "--scope", row[1], "--rules", row[2], "--quiet", *words)


def test_every_tiny_row_is_as_expected(tmp_path: Path) -> None:
    """`check elections --scope tiny` exits 0 over all rule sets; its table has their verdicts side by side."""
    ran = kraftcheck("check", "elections", "--scope", "tiny", "--quiet", "--json", tmp_path / "told.json")
    assert (ran.code, ran.err) == (0, "")
    columns = [rules for system, scope, rules in EXPECTED if (system, scope) == ("elections", "tiny")]
    assert ran.out.count("  as expected\n") == len(columns) + 1  # the rows, and what is proven of one
    assert "UNEXPECTED" not in ran.out
    head = next(line for line in ran.out.splitlines() if line.startswith("property "))
    assert head.split() == ["property", *columns]
    row = next(line for line in ran.out.splitlines() if line.startswith("controller-stays "))
    cells = ["refuted 4", "holds", "refuted 4", "holds", "refuted 7", "holds"]
    assert " ".join(row.split()) == " ".join(["controller-stays", *cells])
    told = json.loads((tmp_path / "told.json").read_text())
    assert (told["version"], told["command"], told["exit_code"], told["unexpected"]) == (1, "check", 0, [])
    rows = [key[1:] for key in EXPECTED if key[:2] == ("elections", "tiny")]
    assert [(run["scope"], run["rules"]) for run in told["runs"]] == rows
    judged = sum(len(run["properties"]) for run in told["runs"])
    proofs = [(proof["system"], proof["scope"], proof["rules"]) for proof in told["proofs"]]
    judged += sum(len(proof["proven"]) for proof in told["proofs"])
    judged += sum(len(NOT_PROVEN.get(row, ())) for row in proofs)
    assert ran.last == f"{judged} verdicts, 0 unexpected (exit 0)"


@pytest.mark.parametrize(
    ("row", "claim", "wanted", "got", "code"),
    [
        (FIXED, "leader-active", "refuted 3", "holds", 21),
        (SNAPSHOT, "leader-active", None, "refuted 1", 12),
        (SNAPSHOT, "leader-active", "refuted 2", "refuted 1", 12),
        (SNAPSHOT, "elr-registered", "vacuous", "refuted 2", 12),
        (FIXED, "no-such-property", "refuted 1", "not judged", 21),
        (FIXED, "deadlock", "refuted 5", "holds", 21),
    ],
)
def test_a_surprise_fails_in_either_direction(
    row: tuple[str, str, str], claim: str, wanted: str | None, got: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A defect no longer found, a new one, another trace length and an unjudged property each fail the check."""
    expected = {key: value for key, value in EXPECTED[row].items() if key != claim}
    monkeypatch.setitem(EXPECTED, row, expected if wanted is None else {**expected, claim: wanted})  # type: ignore[arg-type]
    ran = checked(row)
    assert ran.code == code
    assert f"UNEXPECTED {' '.join(row)} {claim}: expected {wanted or 'holds'}, got {got}" in ran.out
    assert "1 UNEXPECTED\n" in ran.out
    assert ran.last.startswith("1 UNEXPECTED of ")
    assert ran.last.endswith(f"(exit {code})")


@pytest.mark.parametrize(
    ("not_proven", "code", "surprise"),
    [
        ((), 0, ""),
        (("leader-active",), 21, "leader-active: expected unknown, got holds by proof"),
        (("no-such-claim",), 21, "no-such-claim: expected unknown, got not judged by proof"),
    ],
)
def test_a_row_is_proven_as_well(
    not_proven: tuple[str, ...], code: int, surprise: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row with an expected proof is proven; a claim proven against expectation, or not judged, fails the check."""
    monkeypatch.setitem(NOT_PROVEN, FIXED, not_proven)  # type: ignore[arg-type]
    ran = checked(FIXED, "--workers", "1")
    assert ran.code == code
    assert " queries for any number of steps, " in ran.out
    assert surprise in ran.out
    assert ("UNEXPECTED" in ran.out) == bool(surprise)


def test_a_proof_that_fails_fails_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim that must be proven and is not is exit 22; what a check proves is in its document."""
    monkeypatch.setitem(NOT_PROVEN, FIXED, ())  # type: ignore[arg-type]
    monkeypatch.setattr("kraftcheck.ci.verdicts.proofs.EFFORT", Effort(timeout=0.001))
    ran = checked(FIXED, "--workers", "1", "--json", "-")
    told = ran.document()
    assert told["exit_code"] == ran.code == 22
    (proof,) = told["proofs"]
    assert (proof["system"], proof["scope"], proof["rules"]) == FIXED
    missing = {one["property"] for one in told["unexpected"]}
    assert missing
    assert not missing & set(proof["proven"])


def test_surprises_are_in_the_document(monkeypatch: pytest.MonkeyPatch) -> None:
    """The document lists what was expected and what was found; standard output is nothing else."""
    monkeypatch.setitem(EXPECTED, FIXED, {"leader-active": "refuted 3"})  # type: ignore[arg-type]
    ran = checked(FIXED, "--json", "-")
    told = ran.document()
    assert told["exit_code"] == ran.code == 21
    assert told["unexpected"] == [
        {"system": "elections", "scope": "tiny", "rules": "fixed", "property": "leader-active",
         "expected": "refuted 3", "actual": "holds"}
    ]  # fmt: skip
    assert "1 UNEXPECTED" in ran.err


def test_a_cut_search_is_no_success() -> None:
    """A search that meets its memory limit is incomplete, and so is the check."""
    ran = checked(FIXED, "--memory", "100K")
    assert ran.code == 20
    assert "UNEXPECTED" in ran.last
    assert "got incomplete" in ran.out


def test_a_stop_ends_the_whole_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C during a row leaves out the rest, and the closing line says how many rows were not checked."""
    real = explorer.explore

    def stopped(*words: Any, stop: Any, **options: Any) -> Any:
        stop.set()
        return real(*words, stop=stop, **options)

    monkeypatch.setattr("kraftcheck.ci.run.questions.explore", stopped)
    monkeypatch.setattr("kraftcheck.ci.terminal.progress.GRACE_SECONDS", 60)
    ran = kraftcheck("check", "elections", "--scope", "tiny", "--quiet", "--workers", 1)
    assert ran.code in (12, 20)
    left = sum(row[:2] == ("elections", "tiny") for row in EXPECTED) - 1
    assert ran.last.startswith(f"stopped: {left} rows NOT checked, ")


def test_out_has_a_folder_for_each_row(tmp_path: Path) -> None:
    """--out holds a folder for each row, with a file for each counterexample."""
    assert checked(SNAPSHOT, "--out", tmp_path).code == 0
    mark, folder = sorted(tmp_path.iterdir())
    assert mark.name == MARK
    assert folder.name == "elections-tiny-kafka-4.0"
    refuted = {claim for claim, verdict in EXPECTED[SNAPSHOT].items() if verdict.startswith("refuted")}
    assert {path.name.removesuffix(".itf.json") for path in folder.iterdir()} == refuted


def test_rows_that_do_not_exist_together_are_refused() -> None:
    """Names that are known, but in no row together, are refused rather than checked as nothing."""
    refusal = checked(("broker-ids", "tiny", "kafka-3.9")).refusal()
    assert refusal == "no row has expected verdicts for this system, scope and rule set together"


@pytest.mark.parametrize("skipped", [0, 2])
@pytest.mark.parametrize("odd", [0, 3])
def test_closing_line_leads_with_what_went_wrong(odd: int, skipped: int) -> None:
    """The closing line reads `0 unexpected` first only when nothing else went wrong."""
    line = last_line(50, odd, skipped, 0)
    assert line.startswith("50 verdicts, 0 unexpected") == (not odd and not skipped)


def test_a_check_of_everything_says_what_it_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is chosen the first line has the number of rows and how to choose; `--quiet` has no such line."""
    monkeypatch.setattr(command, "rows_named", lambda *_: [("zk-jbod", "jobs", "kip")])
    first, *_ = kraftcheck("check", "--built-in", "--workers", "1").out.splitlines()
    assert first.startswith("1 rows of what comes with kraftcheck, minutes in all: SYSTEM, --scope and --rules choose")
    assert "what comes with kraftcheck" not in kraftcheck("check", "--built-in", "--workers", "1", "--quiet").out
