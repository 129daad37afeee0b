"""`kraftcheck check`: strict in both directions, in several processes, with proofs, and of nothing."""

from __future__ import annotations

import functools
import json
import operator
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from kraftcheck.ci.run.fanout import LostPart, LostProcess, fan_out, processes
from kraftcheck.ci.run.judged import JudgedProperty
from kraftcheck.ci.run.questions import search_budget
from kraftcheck.ci.terminal.files import MARK
from kraftcheck.ci.terminal.interrupts import Interrupted, descendants
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.ci.verdicts import command
from kraftcheck.ci.verdicts import row as row_module
from kraftcheck.ci.verdicts.command import check_rows, last_line, unexpected_code
from kraftcheck.ci.verdicts.row import ExploredRow, ProofRow, RowOptions, RowPart
from kraftcheck.properties.register import verdicts as nothing
from kraftcheck.properties.register.verdicts import ANY_NUMBER, CERTIFIED, EXPECTED, LONG, NOT_PROVEN, Row, proofs_named
from kraftcheck.solvers.audit.audit import Audit
from kraftcheck.solvers.exploration import explore as explorer
from kraftcheck.solvers.smt.queries import Effort
from tests.ci.verdicts.reports.reading import cases, read_junit
from tests.shared.commands import Ran, kraftcheck, start

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
    monkeypatch.setattr("kraftcheck.ci.verdicts.row.EFFORT", Effort(timeout=0.001))
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
    assert refusal == "no row has expected verdicts for this system, scope and rule set together; leave one out"


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


SHORT, PROVEN = ("zk-jbod", "jobs", "kip"), ("zk-jbod", "jobs", "fixed")
OPTIONS = RowOptions(search_budget(2, 1 << 30), quiet=True, place=None, documented=False)


def explored(row: Row) -> ExploredRow:
    """A search of a row that found nothing."""
    return ExploredRow(row, (), 1, 1, 0, 0.0, 0.0, (), None, Audit(0, 0, 0, 0, True, ""))


def proof(row: Row) -> ProofRow:
    """A proof of nothing about a row."""
    return ProofRow(row, {}, 0, 0.0, stopped=False)


class Answers:
    """A pool whose processes have answered already, or are lost, but for rows of which there is no answer."""

    def __init__(
        self, answers: Mapping[Row, Sequence[RowPart] | LostProcess], submitted: Callable[[], None] = lambda: None
    ) -> None:
        self.answers, self.submitted = answers, submitted

    def __call__(self, count: int) -> nullcontext[Answers]:
        """The pool, as it is made."""
        return nullcontext(self)

    def submit(self, task: object, row: Row, *words: object) -> Future[Sequence[RowPart]]:
        """The answer about a row."""
        self.submitted()
        answer: Future[Sequence[RowPart]] = Future()
        match self.answers.get(row):
            case LostProcess() as lost:
                answer.set_exception(lost)
            case parts if parts is not None:
                answer.set_result(parts)
        return answer


def plain(text: str) -> str:
    """An output without its times."""
    return re.sub(r"[ +]+\d+\.\d s", " T", text)


def test_two_processes_say_what_one_says(tmp_path: Path) -> None:
    """Rows, their order, their proofs, the document, the traces and the exit code are those of one process."""
    outputs, documents = [], []
    for workers in (1, 2):
        place = tmp_path / str(workers)
        words = ("--scope", "jobs", "-v", "--quiet", "--json", place.with_suffix(".json"), "--out", place)
        ran = kraftcheck("check", "zk-jbod", *words, "--workers", workers)
        assert (ran.code, ran.err) == (0, "")
        outputs.append(plain(ran.out))
        found = json.loads(place.with_suffix(".json").read_text())
        for run in found["runs"]:
            del run["seconds"], run["rates"], run["states"]["bytes_per_state"]
        documents.append((found, {str(path.relative_to(place)) for path in place.rglob("*.itf.json")}))
    assert outputs[0] == outputs[1]
    assert documents[0] == documents[1]
    assert [line.split()[2] for line in outputs[0].splitlines()[1:4]] == ["kip", "fixed", "fixed"]


@pytest.mark.parametrize(("row", "code"), [(("broker-ids", "tiny", "kip"), 21), (("broker-ids", "tiny", "fixed"), 2)])
def test_a_full_disk_hides_no_surprise(row: Row, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its counterexamples cannot be written, a row that is not as expected is reported all the same."""

    def full(*words: object) -> None:
        raise Refusal("the disk is full")

    monkeypatch.setattr(row_module, "write_traces", full)
    monkeypatch.setitem(EXPECTED, row, {**EXPECTED[row], **({"deadlock": "refuted 1"} if code == 21 else {})})
    ran = checked(row, "--out", tmp_path / "out")
    assert (ran.code, ran.err) == (code, "kraftcheck: the disk is full\n")
    assert ("UNEXPECTED broker-ids tiny kip deadlock: expected refuted 1, got holds" in ran.out) == (code == 21)


class Fatal:
    """A value that ends the process that reads it."""

    def __reduce__(self) -> Any:
        """End."""
        return os._exit, (3,)


def test_a_process_that_ends_is_no_pass() -> None:
    """Where a process has ended there is a reason that names the row, and no verdict."""
    options = RowOptions(OPTIONS.budget, quiet=True, place=Fatal(), documented=False)  # type: ignore[arg-type]
    lost = dict[Row, str]()
    assert list(check_rows([SHORT, PROVEN], (), options, lost=lost.__setitem__)) == []
    assert lost == {row: f"{' '.join(row)}: its process ended with the exit code 3" for row in (SHORT, PROVEN)}
    with pytest.raises(Interrupted, match=r"zk-jbod jobs .*: its process ended with the exit code 3"):
        list(check_rows([SHORT, PROVEN], (), options))


def test_a_process_that_is_killed_costs_one_answer() -> None:
    """What the system kills for want of memory has no answer and says so; the other parts are answered."""
    killed = functools.partial(signal.raise_signal, signal.SIGKILL)
    parts = [functools.partial(abs, -1), killed, functools.partial(abs, -2), functools.partial(abs, -3)]
    lost = list[str]()
    found = fan_out(processes(2), operator.call, parts, "calls", quiet=True, lost=lambda part, why: lost.append(why))
    assert [answer for _, answer in found] == [1, 2, 3]
    assert [why.partition(": its ")[2] for why in lost] == [
        "process was ended by SIGKILL, as a system does that is short of memory: give fewer --workers"
    ]


def test_the_check_goes_on_without_a_lost_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row whose process is lost is an error of the reports, exit 20; the others keep their verdicts."""
    rows = [row for row in EXPECTED if row[:2] == ("broker-ids", "tiny")]
    answers = {row: tuple(row_module.row_parts(row, False, OPTIONS)) for row in rows[1:]}
    monkeypatch.setattr(command, "processes", Answers({**answers, rows[0]: LostProcess(rows[0], -9)}))
    ran = kraftcheck("check", "broker-ids", "--scope", "tiny", "--quiet", "--workers", 2, "--junit", tmp_path / "a.xml")
    assert (ran.code, ran.last.startswith("stopped: 1 row NOT checked, ")) == (20, True)
    assert f"NO VERDICT of {' '.join(rows[0])}: its process was ended by SIGKILL" in ran.out
    suites = [
        {fault.get("type") for fault in suite.iter("error", "failure")} for suite in read_junit(tmp_path / "a.xml")
    ]
    assert suites == [{"not-judged"}, *[set()] * len(answers)]


@pytest.mark.parametrize(
    "parts",
    [
        (),
        (explored(PROVEN),),
        (proof(PROVEN),),
        (explored(PROVEN), proof(SHORT)),
        (explored(SHORT), proof(SHORT)),
        (explored(PROVEN), proof(PROVEN), proof(PROVEN)),
    ],
    ids=["nothing", "no-proof", "no-search", "another-proof", "another-row", "two-proofs"],
)
def test_a_row_that_is_not_whole_is_an_error(parts: Sequence[RowPart], monkeypatch: pytest.MonkeyPatch) -> None:
    """A search and the proofs that are expected, all of the row that was asked for: nothing else counts."""
    answers = {SHORT: (explored(SHORT),), PROVEN: parts}
    monkeypatch.setattr(command, "processes", Answers(answers))
    with pytest.raises(LostPart, match="has not told every part of it"):
        list(check_rows([SHORT, PROVEN], [PROVEN], OPTIONS))


def test_rows_are_shown_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows with proofs are begun first; all are shown in the order that was asked for."""
    answers = {row: (explored(row), *[proof(row)] * (row == PROVEN)) for row in EXPECTED if row[0] == "zk-jbod"}
    monkeypatch.setattr(command, "processes", Answers(answers))
    assert [*check_rows([*answers], [PROVEN], OPTIONS)] == [part for row in answers for part in answers[row]]


def test_a_stop_leaves_out_what_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a signal the rows that are ready are shown, and no other."""
    monkeypatch.setattr(command, "processes", Answers({SHORT: (explored(SHORT),)}))
    parts = check_rows([SHORT, PROVEN], (), OPTIONS)
    assert next(parts) == explored(SHORT)
    signal.raise_signal(signal.SIGTERM)
    assert [*parts] == []


def test_a_stop_before_all_rows_has_nothing_to_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no row is ready the work is interrupted."""
    pool = Answers({}, lambda: signal.raise_signal(signal.SIGTERM))
    monkeypatch.setattr(command, "processes", pool)
    with pytest.raises(Interrupted, match="before there was anything to report"):
        list(check_rows([SHORT, PROVEN], (), OPTIONS))


@pytest.mark.slow
def test_processes_do_not_outlive_the_check() -> None:
    """Where the check is killed, which it cannot hear, its processes end too."""
    check = start(("check", "--quiet", "--workers", 2))
    deadline = time.monotonic() + 60
    while len(children := descendants(check.pid)) < 3 and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(3)
    check.kill()
    check.communicate()
    assert len(children) >= 3
    while any(Path(f"/proc/{child}").exists() for child in children) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert [child for child in children if Path(f"/proc/{child}").exists()] == []


BUDGET = search_budget(1, 1 << 30)


def faults(part: RowPart) -> list[JudgedProperty]:
    """What is not as expected of a search or a proof."""
    return [one for one in part.run().properties if not one.passed]


def proved(row: tuple[str, str, str]) -> Ran:
    """The check of one row, without its exploration's details."""
    return kraftcheck("check", row[0], "--scope", row[1], "--rules", row[2], "--quiet", "--workers", "1")


def test_a_theorem_for_any_number_is_part_of_the_check() -> None:
    """A row of the check is proven for any number of brokers too, from the claims named and nothing else."""
    (row,) = ANY_NUMBER
    assert row in EXPECTED
    proof_row = row_module._of_any_number(row, BUDGET, quiet=True)
    assert proof_row.proven == [*proof_row.proofs] == list(ANY_NUMBER[row])
    assert {one.passed for one in proof_row.run().properties} == {True}
    assert evolve(proof_row.subject().setting, told=True).text().split(",")[0] == "brokers any"
    assert "and of brokers (so with 2, 3, 5), " in proof_row.line("as expected")


def test_what_is_not_proven_for_any_number_fails_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim that does not follow from those named is no pass: exit 22."""
    (row,) = ANY_NUMBER
    monkeypatch.setitem(ANY_NUMBER, row, ("leader-active",))  # type: ignore[arg-type]
    (one,) = faults(row_module._of_any_number(row, BUDGET, quiet=True))
    assert (one.id, one.expected, one.verdict, unexpected_code(one)) == ("leader-active", "holds", "unknown", 22)


@pytest.mark.slow
def test_a_certificate_is_part_of_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """cvc5 confirms the certificate of one proof; where it does not, the check ends with exit 24."""
    pytest.importorskip("cvc5")
    assert CERTIFIED in NOT_PROVEN
    ran = proved(CERTIFIED)
    assert ran.code == 0
    assert ", confirmed by cvc5 " in ran.out
    broken = subprocess.CompletedProcess([], 1, "0001-a.smt2: sat, not unsat\n", "")
    monkeypatch.setattr(row_module, "check_certificate", lambda place: _of_a_folder(place, broken))
    ran = proved(CERTIFIED)
    assert ran.code == 24
    assert "cvc5 does not confirm the certificate: 0001-a.smt2: sat, not unsat" in ran.err


def _of_a_folder(place: Path, answer: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    """An answer about a certificate that was written."""
    assert (place / "index.json").exists()
    return answer


def test_without_cvc5_the_check_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A certificate that nobody proved is no confirmed one."""
    monkeypatch.setattr(row_module, "installed", lambda name: False)
    ran = proved(CERTIFIED)
    assert ran.code == 0
    assert "cvc5 is not installed, and was not asked" in ran.text
    assert "confirmed" not in ran.out


def test_long_proofs_are_left_to_checks_that_name_a_scope() -> None:
    """A check that names no scope proves every row but the long ones; one that does proves those too."""
    assert proofs_named(()) == NOT_PROVEN.keys() - LONG
    assert proofs_named(("small",)) == NOT_PROVEN.keys() > LONG


@pytest.mark.slow
@pytest.mark.parametrize("row", sorted(LONG), ids=" ".join)
def test_a_long_proof_is_as_expected(row: tuple[str, str, str]) -> None:
    """A check that names the scope proves a long row, and finds the claims proven that it expects."""
    ran = proved(row)
    assert ran.code == 0
    assert " queries for any number of steps, " in ran.out


ROW = ("check", "elections", "--scope", "small", "--rules", "kafka-3.9", "--built-in", "--quiet", "-v")


def test_a_claim_without_a_case_is_vacuous_in_its_cell() -> None:
    """Below ELR no member of one can be lost: the cells say so, and the row is as expected."""
    ran = kraftcheck(*ROW)
    cells = {line.split()[0]: line.split()[1:] for line in ran.out.splitlines() if line and "  " in line}
    assert cells["elr-within-replicas"] == cells["clean-restart-keeps-elr"] == ["vacuous"]
    assert ran.code == 0


def test_a_claim_that_has_a_case_is_not_taken_for_vacuous(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the data says that a claim holds of nothing and a state is a case of it, the check and its report fail."""
    monkeypatch.setitem(nothing.OF_NOTHING, ("elections", "kafka-3.9"), ("leader-in-isr",))  # type: ignore[arg-type]
    ran = kraftcheck(*ROW, "--junit", tmp_path / "out.xml")
    assert ran.code == 21
    assert cases(read_junit(tmp_path / "out.xml"))["leader-in-isr"] == "failure unexpected"
    assert "UNEXPECTED elections small kafka-3.9 leader-in-isr: expected vacuous, got holds of some case" in ran.out


def test_what_holds_of_nothing_in_every_row_is_said_in_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim that no row of its rule set has a case of is no pass, unless the data says that it holds of nothing."""
    row = ("elections", "small", "kafka-3.9")
    monkeypatch.setattr(row_module, "EXPECTED", {row: nothing.EXPECTED[row]})
    said = {claim: line for line in kraftcheck(*ROW).out.splitlines() for claim in line.split() if "UNEXPECTED" in line}
    assert said["completes-in-sync:"].endswith("expected holds, got vacuous")
    assert "elr-within-replicas:" not in said
    monkeypatch.delitem(nothing.OF_NOTHING, ("elections", "kafka-3.9"))  # type: ignore[arg-type]
    ran = kraftcheck(*ROW)
    assert ran.code == 21
    assert f"UNEXPECTED {' '.join(row)} elr-within-replicas: expected holds, got vacuous" in ran.out
