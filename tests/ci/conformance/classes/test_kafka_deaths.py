"""A process with Kafka's managers that dies: the sequence that killed it is shown, and the exit code is 23."""

import itertools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.ci.conformance.kafka import drivers
from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.columns import Rows
from kraftcheck.ci.conformance.kafka.drivers import (
    CHECKS,
    FUZZ,
    TOUR,
    DriverError,
    DriverProcess,
    JavaProcess,
    compile_driver,
)
from kraftcheck.ci.conformance.kafka.fuzz import run
from kraftcheck.ci.conformance.kafka.fuzz.requests import drawn_plan
from kraftcheck.ci.conformance.kafka.fuzz.run import DIED, FuzzProcess, Played
from kraftcheck.ci.conformance.kafka.tour import run as tours
from kraftcheck.ci.conformance.kafka.tour.model import TourModel
from kraftcheck.model.rules.ruleset import parse
from tests.shared.commands import kraftcheck

pytestmark = pytest.mark.xdist_group("kafka")

NEWEST = "4.4.0"


class Dying(FuzzProcess):
    """The managers of a release in a process that dies of the second reassignment of a sequence."""

    restarts = 0  # how often one was restarted

    def __init__(self, build: Build) -> None:
        super().__init__(build)
        self._sent: list[Sequence[str]] = []

    def restart(self) -> None:
        """Go on: this process has not died in truth, but what it was sent since is lost."""
        while self._sent:
            super().answers(len(self._sent.pop(0)) - 1)
        Dying.restarts += 1

    def send(self, lines: Sequence[str]) -> None:
        """Put a sequence to the managers."""
        self._sent.append(lines)
        super().send(lines)

    def answers(self, count: int) -> list[str]:
        """Its answers up to its death."""
        requests = self._sent.pop(0)[1:]
        answers = super().answers(count)
        moves = [number for number, line in enumerate(requests) if line.startswith("reassign")]
        return answers if len(moves) < 2 else [*answers[: moves[1]], f"{DIED}: of its second reassignment"]


def test_a_sequence_that_kills_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fuzz whose driver dies goes on with a new one, and shows the shortest sequence that kills it; exit code 23."""
    monkeypatch.setattr(run, "FuzzProcess", Dying)
    monkeypatch.setattr(run, "FuzzProcess", Dying)
    ran = kraftcheck("conform", "--kafka", NEWEST, "--fuzz", "300", "--quiet", "--json", "-")
    (row,) = ran.document()["rows"]
    (cause,) = row["causes"]
    assert ran.code == 23
    assert cause["request"] == "reassign"
    assert cause["expected"] == f"{DIED}: of its second reassignment"
    assert [line.split()[0] for line in cause["steps"][1:]].count("reassign") == 2
    assert len(cause["steps"]) < 9
    assert row["sequences"] > row["differing"] > 1
    assert Dying.restarts > row["differing"]


def test_java_that_ends_at_once_is_no_fault(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where Java ends before it is asked anything, no case is to blame: each check says why, and the exit code is 2."""
    for driver in (CHECKS, FUZZ, TOUR):
        compile_driver(Build(NEWEST), driver)
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho no such machine >&2; exit 7\n")
    java.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    ran = kraftcheck("conform", "--kafka", NEWEST, "--exhaustive", "1", "--samples", "1", "--json", "-")
    document = ran.document()
    assert (ran.code, document["rows"]) == (2, [])
    assert {fault["fault"] for fault in document["faults"]} == {
        "no verdict: the process ended with code 7: no such machine"}  # fmt: skip
    for asked in (("--fuzz", "300"), ("--tour", "kraft", "--sample", "50")):
        refusal = kraftcheck("conform", "--kafka", NEWEST, *asked).refusal()
        assert refusal == "the process ended with code 7: no such machine"


def test_the_end_of_a_process_is_an_answer() -> None:
    """Of a process that ends within a sequence the answers before its end are read, and the end is the next one."""
    played = Played.of(NEWEST, parse(f"kafka-{NEWEST}"), drawn_plan(1, 1, 30))
    with FuzzProcess(Build(NEWEST)) as kafka:
        kafka.send(played.lines)
        first = kafka.answers(2)
        kafka._process.kill()
        rest = kafka.answers(len(played.exchanges))
        assert not any(answer.startswith(DIED) for answer in (*first, *rest[:-1]))
        assert rest[-1].startswith(f"{DIED}: the process ended with code -9")
        kafka.restart()
        kafka.send(played.lines[:2])
        assert kafka.answers(1) == first[:1]


class Choking(JavaProcess):
    """The managers of a release in a process that dies of the first row of a sequence like the one it first saw."""

    poison: Rows | None = None

    def ask(self, rows: Rows) -> Rows:
        """Its answers."""
        if Choking.poison is None:
            Choking.poison = rows[len(rows) // 2].copy()
        if (rows == Choking.poison).all(axis=1).any():
            raise DriverError("the process ended with code 1: it choked")
        return super().ask(rows)


def test_a_tour_that_kills_shows_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tour whose managers die shows the steps up to the one that killed them; exit code 23."""
    begin = tours.managers

    def managers(build: Build, model: TourModel, start: str = tours.RECORDS) -> Any:
        kafka = begin(build, model, start)
        kafka.__class__ = Choking
        return kafka

    monkeypatch.setattr(tours, "managers", managers)
    ran = kraftcheck("conform", "--kafka", NEWEST, "--tour", "elections", "--sample", "60", "--json", "-")
    (row,) = ran.document()["rows"]
    (death,) = row["deaths"]
    assert (ran.code, row["differing"]) == (23, 0)
    assert death["reason"] == "the process ended with code 1: it choked"
    assert death["alone"]
    assert death["sequence"]
    assert "the process died, and the rest was not asked" in ran.err


class Sleeper(DriverProcess):
    """A process that says nothing for two seconds, and ends."""

    SILENCE = 1.0

    def __init__(self) -> None:
        self._command = ["sleep", "2"]
        self._begin()


@pytest.mark.parametrize(("used", "code"), [(0.0, 0), (1.0, -9)])
def test_a_silent_process_hangs_only_where_it_has_a_processor(
    monkeypatch: pytest.MonkeyPatch, used: float, code: int
) -> None:
    """On a machine that is too busy to run it, it is awaited for longer; one that runs and says nothing is stopped."""
    seconds = itertools.count(0.0, used)
    monkeypatch.setattr(drivers, "processor_seconds", lambda process: next(seconds))
    with Sleeper() as process, process._limited():
        assert process._process.wait() == code
