"""`--time-limit`: work ends in time, says what it has covered and why it ended, and is never a pass."""

import time
from pathlib import Path

import click
import pytest

from kraftcheck.ci.terminal import interrupts
from kraftcheck.ci.terminal.interrupts import Deadline, Interrupted
from kraftcheck.ci.terminal.progress import stop_flag
from kraftcheck.solvers.program.verdict import Holds, Incomplete, Unknown
from tests.ci.verdicts.reports.reading import cases, read_junit
from tests.shared.commands import kraftcheck, start


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("10m", 600), ("2h", 7200), ("1h30m", 5400), ("1m0.5s", 60.5), ("0.25s", 0.25)]
)
def test_durations(text: str, seconds: float) -> None:
    """Hours, minutes and seconds, in this order."""
    assert interrupts.duration(text) == seconds


@pytest.mark.parametrize("text", ["0s", "10", "m", "-5s", "5s3m", "1d", "1e3s", "\N{ARABIC-INDIC DIGIT THREE}s", "nan"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    """Anything else is refused in one line with examples."""
    ran = kraftcheck("explore", "tests.toys:CLOCK", f"--time-limit={text}")
    assert ran.refusal() == f"--time-limit takes a time such as 90s, 10m or 1h30m, not {text!r}"


def slow_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every round of a search takes a while."""
    from kraftcheck.solvers.search.levels import ExpansionRound, Search

    end = Search._end_round

    def slowly(self: Search, one: ExpansionRound) -> None:
        time.sleep(0.4)
        end(self, one)

    monkeypatch.setattr(Search, "_end_round", slowly)


def test_a_search_ends_incomplete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that has not ended in time is incomplete, with the limit and what was covered; exit code 20."""
    kraftcheck("explore", "tests.toys:CLOCK", "--quiet")  # the kernel is compiled
    slow_rounds(monkeypatch)
    words = ("--quiet", "--workers", "1", "--time-limit", "1s", "--junit", tmp_path / "a.xml", "--json", "-")
    ran = kraftcheck("explore", "tests.shared.capped:CAPPED", *words)
    told = ran.document()
    assert (ran.code, told["complete"], told["cut"]) == (20, False, "time limit of 1s")
    details = {row["detail"] for row in told["properties"] if row["verdict"] == "incomplete"}
    assert len(details) == 1
    assert details.pop().startswith("time limit of 1s, after ")
    assert "error incomplete" in cases(read_junit(tmp_path / "a.xml")).values()


def test_a_limit_that_is_not_reached_changes_nothing() -> None:
    """With time to spare every verdict is what it is without a limit."""
    ran = kraftcheck("explore", "tests.toys:CLOCK", "--quiet", "--time-limit", "1h")
    assert (ran.code, ran.last) == (0, "4 holds (exit 0)")


@pytest.mark.parametrize("command", ["explore", "prove"])
def test_work_that_has_not_begun_is_reported_as_not_judged(command: str, tmp_path: Path) -> None:
    """Where the time is over before there is a verdict, the exit code is 20 and each case of the reports an error."""
    words = ("--quiet", "--time-limit", "0.001s", "--junit", tmp_path / "a.xml")
    ran = start((command, "tests.toys:DIGRAPH", *words))
    out, err = ran.communicate(timeout=60)
    assert (ran.returncode, err) == (20, "")
    assert out == "incomplete: time limit of 0.001s between two parts of the work (exit 20)\n"
    assert set(cases(read_junit(tmp_path / "a.xml")).values()) == {"error not-judged"}


def test_the_check_leaves_out_the_rows_that_follow(tmp_path: Path) -> None:
    """Rows that were not checked in time are said to be, and are errors in the reports."""
    words = ("--scope", "tiny", "--quiet", "--time-limit", "0.001s", "--junit", tmp_path / "a.xml")
    ran = start(("check", "broker-ids", *words))
    out, err = ran.communicate(timeout=60)
    assert (ran.returncode, err) == (20, "")
    assert out.splitlines()[-1] == "stopped: 3 rows NOT checked, 0 verdicts, 0 unexpected (exit 20)"
    assert set(cases(read_junit(tmp_path / "a.xml")).values()) == {"error not-judged"}


@pytest.fixture
def late() -> click.Context:
    """The context of a command whose time is over."""
    context = click.Context(click.Command("late"))
    context.meta["kraftcheck.time_limit"] = Deadline(time.monotonic() - 1, "3s")
    return context


def test_no_part_of_the_work_begins_late(late: click.Context) -> None:
    """Once the time is over, a further part of the work ends before it begins."""
    with late, pytest.raises(Interrupted, match="time limit of 3s between two parts"), stop_flag():
        pass


def test_no_answer_in_time_is_incomplete(late: click.Context) -> None:
    """What a solver could not say is incomplete once the time is over; what it said stays."""
    with late:
        assert interrupts.overdue(Unknown("no answer")) == Incomplete("time limit of 3s; no answer")
        assert interrupts.overdue(Holds("all")) == Holds("all")
        assert interrupts.within(600) == 0.001
    assert interrupts.overdue(Unknown("no answer")) == Unknown("no answer")


def test_a_proof_ends_incomplete(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proof that is out of time is incomplete, and not unknown, whichever query was at work."""
    from kraftcheck.solvers.smt.induction import ProofWorker

    answer = ProofWorker.answer

    def slowly(self: ProofWorker, *words: object) -> object:
        time.sleep(0.6)
        return answer(self, *words)  # type: ignore[arg-type]

    monkeypatch.setattr(ProofWorker, "answer", slowly)
    ran = kraftcheck("prove", "tests.toys:DIGRAPH", "--quiet", "--workers", "1", "--time-limit", "1s")
    assert ran.code == 20
    assert ran.last == "2 incomplete (exit 20)"
    assert "time limit of 1s" in ran.out
