"""`kraftcheck check` in several processes: the same rows in the same order, and nothing lost is a pass."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.ci.run import fanout
from kraftcheck.ci.run.fanout import LostPart
from kraftcheck.ci.run.questions import search_budget
from kraftcheck.ci.terminal.interrupts import Interrupted, descendants
from kraftcheck.ci.verdicts.command import check_rows
from kraftcheck.ci.verdicts.proofs import ProofRow
from kraftcheck.ci.verdicts.row import ExploredRow, RowOptions, RowPart
from kraftcheck.properties.register.verdicts import EXPECTED, Row
from kraftcheck.solvers.audit.audit import Audit
from tests.shared.commands import kraftcheck, start

SHORT, PROVEN = ("zk-jbod", "jobs", "kip"), ("zk-jbod", "jobs", "fixed")
OPTIONS = RowOptions(search_budget(2, 1 << 30), quiet=True, place=None, documented=False)


def explored(row: Row) -> ExploredRow:
    """A search of a row that found nothing."""
    return ExploredRow(row, (), 1, 1, 0, 0.0, 0.0, (), None, Audit(0, 0, 0, 0, True, ""))


def proof(row: Row) -> ProofRow:
    """A proof of nothing about a row."""
    return ProofRow(row, {}, 0, 0.0, stopped=False)


class Answers:
    """A pool whose processes have answered already, but for rows of which there is no answer."""

    _processes: Mapping[int, Any] = {}

    def __init__(self, answers: Mapping[Row, Sequence[RowPart]], submitted: Callable[[], None] = lambda: None) -> None:
        self.answers, self.submitted = answers, submitted

    def __call__(self, *words: object) -> Answers:
        """The pool, as its class makes it."""
        return self

    def submit(self, task: object, row: Row, *words: object) -> Future[Sequence[RowPart]]:
        """The answer about a row."""
        self.submitted()
        answer: Future[Sequence[RowPart]] = Future()
        if row in self.answers:
            answer.set_result(self.answers[row])
        return answer

    def shutdown(self, cancel_futures: bool) -> None:
        """Nothing is to be ended."""


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
    assert [line.split()[2] for line in outputs[0].splitlines()[:3]] == ["kip", "fixed", "fixed"]


class Fatal:
    """A value that ends the process that reads it."""

    def __reduce__(self) -> Any:
        """End."""
        return os._exit, (3,)


def test_a_process_that_ends_is_no_pass() -> None:
    """Where a process has ended there is an error that names a row, and no verdict."""
    options = RowOptions(OPTIONS.budget, quiet=True, place=Fatal(), documented=False)  # type: ignore[arg-type]
    with pytest.raises(LostPart, match=r"the process that was asked about .*zk-jbod.* has ended"):
        list(check_rows([SHORT, PROVEN], (), options))


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
    monkeypatch.setattr(fanout, "ProcessPoolExecutor", Answers(answers))
    with pytest.raises(LostPart, match="has not told every part of it"):
        list(check_rows([SHORT, PROVEN], [PROVEN], OPTIONS))


def test_rows_are_shown_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows with proofs are begun first; all are shown in the order that was asked for."""
    answers = {row: (explored(row), *[proof(row)] * (row == PROVEN)) for row in EXPECTED if row[0] == "zk-jbod"}
    monkeypatch.setattr(fanout, "ProcessPoolExecutor", Answers(answers))
    assert [*check_rows([*answers], [PROVEN], OPTIONS)] == [part for row in answers for part in answers[row]]


def test_a_stop_leaves_out_what_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a signal the rows that are ready are shown, and no other."""
    monkeypatch.setattr(fanout, "ProcessPoolExecutor", Answers({SHORT: (explored(SHORT),)}))
    parts = check_rows([SHORT, PROVEN], (), OPTIONS)
    assert next(parts) == explored(SHORT)
    signal.raise_signal(signal.SIGTERM)
    assert [*parts] == []


def test_a_stop_before_all_rows_has_nothing_to_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no row is ready the work is interrupted."""
    pool = Answers({}, lambda: signal.raise_signal(signal.SIGTERM))
    monkeypatch.setattr(fanout, "ProcessPoolExecutor", pool)
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
