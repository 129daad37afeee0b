"""`conform --kafka` from the question to the exit code, with the model under other rules in Kafka's place."""

import itertools
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import numpy as np
import pytest

from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.change import checks
from kraftcheck.ci.conformance.kafka.change.checks import first_killer
from kraftcheck.ci.conformance.kafka.columns import Columns, Rows
from kraftcheck.ci.conformance.kafka.drivers import DriverError
from kraftcheck.model.rules.ruleset import parse
from tests.shared.commands import Ran, kraftcheck
from tests.shared.samples import one_in

EVERY = {"registration", "merge", "reassignment", "change", "ordered"}

RULES = "kafka-4.1.2"

Answer = Callable[[str, Rows, Rows], Rows]  # Kafka's answers to rows of a check, given the model's


def wrong_everywhere(check: str, rows: Rows, answers: Rows) -> Rows:
    """Answers that are wrong in the first column for every third row, as its sum tells."""
    wrong = answers.copy()
    wrong[rows.sum(axis=1) % 3 == 0, 0] += 1
    return wrong


def right(check: str, rows: Rows, answers: Rows) -> Rows:
    """The model's own answers."""
    return answers


def dying_of(*checks_given: str) -> Answer:
    """Kafka's process dies of rows of these checks whose sum is a multiple of 5."""

    def answer(check: str, rows: Rows, answers: Rows) -> Rows:
        if check in checks_given and (rows.sum(axis=1) % 5 == 0).any():
            raise DriverError("the process ended with code 1: it choked")
        return answers

    return answer


def faulty_in(*checks_given: str) -> Answer:
    """kraftcheck itself has a fault in these checks; the others differ."""

    def answer(check: str, rows: Rows, answers: Rows) -> Rows:
        if check in checks_given:
            raise KeyError(6)
        return wrong_everywhere(check, rows, answers)

    return answer


class FakeDriver:
    """A driver that asks the model, and passes its answers through a function."""

    answer: Answer = staticmethod(right)
    models: dict[tuple[str, int], Any] = {}  # noqa: RUF012

    def __init__(self, build: Build, check: str, slots: int, columns: Columns) -> None:
        self._check = check
        if (check, slots) not in self.models:
            self.models[check, slots] = checks.model_of(check, slots, parse(RULES))
        self._model = self.models[check, slots]

    def __enter__(self) -> Self:
        """The driver."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Nothing to end."""

    def check_end(self) -> None:
        """It ends well."""

    def ask(self, rows: Rows) -> Rows:
        """The answers."""
        return type(self).answer(self._check, rows, self._model.answer(rows).astype(np.int32))


@pytest.fixture
def conform(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """The command, with a function in Kafka's place, on some cases of each check."""
    every = checks._checks

    def few(size: checks.CheckSize) -> Any:
        for check in every(size):
            tables = (table[:: 1 + len(table) // 400] for table in check.tables)
            yield checks.evolve(check, tables=itertools.islice(tables, 1))

    def run(answer: Answer, *words: str, rules: str = RULES) -> Ran:
        monkeypatch.setattr(FakeDriver, "answer", staticmethod(answer))
        monkeypatch.setattr(checks, "Driver", FakeDriver)
        monkeypatch.setattr(checks, "_checks", few)
        size = ("--samples", "2000", "--exhaustive", "1", "--quiet")
        return kraftcheck("conform", "--kafka", "4.1.2", "--rules", rules, *size, *words)

    return run


def test_a_difference_in_every_check_is_shown(conform: Callable[..., Ran]) -> None:
    """Where each check differs, each prints its count and a shortest case, and the exit code is 23."""
    ran = conform(wrong_everywhere)
    assert (ran.code, ran.err) == (23, "")
    rows = [line.split() for line in ran.out.splitlines() if line.startswith("Kafka 4.1.2")]
    assert {words[2] for words in rows} == EVERY
    assert all(words[-4] != "0" for words in rows)
    assert ran.out.count("    case: ") >= len(rows) == 11


def test_equal_answers_end_with_0(conform: Callable[..., Ran]) -> None:
    """Where nothing differs, every check says so, and the exit code is 0."""
    ran = conform(right, "--json", "-")
    document = ran.document()
    assert (ran.code, document["faults"], len(document["rows"])) == (0, [], 11)
    assert not any(row["differences"] or row["died"] for row in document["rows"])


@pytest.mark.parametrize("rules", one_in(4, ["kafka-4.0.2", "kafka-3.9.2", "kafka-4.4.0", "kafka-4.0", "fixed"]))
def test_other_rules_differ_and_end_with_23(conform: Callable[..., Ran], rules: str) -> None:
    """Under the rules of another release the command ends with 23 and the cases that show it, not with a fault."""
    ran = conform(right, rules=rules)
    assert ran.code == 23
    assert "fault of kraftcheck" not in ran.out + ran.err
    assert "    the rules answer:   " in ran.out


@pytest.mark.parametrize("check", sorted(EVERY))
def test_a_fault_in_one_check_loses_no_other(conform: Callable[..., Ran], check: str) -> None:
    """A fault names its check; the other checks are reported, and what differs there decides the exit code."""
    ran = conform(faulty_in(check), "--json", "-")
    document = ran.document()
    assert ran.code == 23
    assert {row["check"] for row in document["rows"]} == EVERY - {check}
    assert {fault["check"] for fault in document["faults"]} == {check}
    assert f"{check:<12}" in ran.err
    assert "fault of kraftcheck, no verdict: KeyError: 6" in ran.err


def test_a_fault_without_a_difference_is_no_pass(conform: Callable[..., Ran]) -> None:
    """Where no check differs and one has a fault, the exit code is that of a fault."""

    def answer(check: str, rows: Rows, answers: Rows) -> Rows:
        if check == "merge":
            raise KeyError(6)
        return answers

    ran = conform(answer)
    assert ran.code == 255
    assert "1 checks without a verdict (exit 255)" in ran.last


@pytest.mark.parametrize("check", sorted(EVERY))
def test_a_dying_driver_shows_its_case(conform: Callable[..., Ran], check: str) -> None:
    """The case that kills the driver is shown with the reason, and the exit code is 23; other checks go on."""
    ran = conform(dying_of(check), "--json", "-")
    rows = ran.document()["rows"]
    assert (ran.code, ran.document()["faults"]) == (23, [])
    assert {row["check"] for row in rows if row["died"]} == {check}
    assert all(row["differences"] == row["died"] for row in rows)
    (shown,) = next(row["shown"] for row in rows if row["died"])
    assert (shown["columns"], shown["expected"]) == (
        ["process"], {"process": "died: the process ended with code 1: it choked"}
    )  # fmt: skip


def test_a_driver_that_dies_of_nothing_is_no_difference(
    conform: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a driver dies that was asked nothing, no case is to blame: no verdict, exit code 2."""

    def ends_badly(self: FakeDriver) -> None:
        raise DriverError("the process ended with code 1: no such class")

    monkeypatch.setattr(FakeDriver, "check_end", ends_badly)
    ran = conform(dying_of(*EVERY))
    assert ran.code == 2
    assert ran.out.count("no verdict: the process ended with code 1: no such class") == 11


@pytest.mark.parametrize("killer", range(9))
def test_the_first_killer_is_found(killer: int) -> None:
    """Of nine questions each may be the one; where a new process lives through all of them, none is."""
    assert first_killer(lambda count: count > killer, 9) == killer
    assert first_killer(lambda count: False, 9) is None
