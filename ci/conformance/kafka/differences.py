"""Differences between Kafka's answers and the model's, grouped by cause, each with its shortest case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

import numpy as np
import numpy.typing as npt
from attrs import define, frozen

from kraftcheck.ci.conformance.kafka.change.cases import well_formed
from kraftcheck.ci.conformance.kafka.columns import NO_LEADER, VACANT, Columns, Rows
from kraftcheck.ci.conformance.kafka.jars import DriverError

AFTER = "after."
"""What columns of the state after the replay start with; a record that differs is the nearer cause."""


class DriverDeath(DriverError):
    """The process died while it answered some rows.

    Attributes:
        rows: those that it was asked.
    """

    def __init__(self, reason: DriverError, rows: Rows) -> None:
        super().__init__(str(reason))
        self.rows = rows


class KafkaOracle(Protocol):
    """Kafka's classes, which answer rows of questions."""

    def ask(self, rows: Rows) -> Rows:
        """One answer for each question."""


class ModelOracle(Protocol):
    """The model, which answers rows of questions."""

    inputs: Columns
    outputs: Columns

    def answer(self, rows: Rows) -> npt.NDArray[np.int64]:
        """One answer for each question."""


@define
class Cause:
    """Differences in the same columns.

    Attributes:
        columns: names of what differs.
        cases: how many cases there are.
        case: the shortest one seen.
        expected, actual: Kafka's answer to it, and the model's.
    """

    columns: tuple[str, ...]
    cases: int
    case: Rows
    expected: Rows
    actual: npt.NDArray[np.int64]


@frozen
class KafkaComparison:
    """The result of one check of one version: the number of cases, and the causes of differences."""

    cases: int
    causes: tuple[Cause, ...]

    @property
    def differences(self) -> int:
        """How many cases differ."""
        return sum(cause.cases for cause in self.causes)


def compare(kafka: KafkaOracle, model: ModelOracle, tables: Iterable[Rows]) -> Iterator[KafkaComparison]:
    """Compare the answers to tables of questions; yields the comparison so far after each table.

    Kafka answers a table while the model does, and while the next one is made; memory is that of two tables.

    Raises:
        DriverDeath: when the process with Kafka's classes dies.
    """
    causes: dict[tuple[str, ...], Cause] = {}
    cases = 0
    with ThreadPoolExecutor(1) as model_pool, ThreadPoolExecutor(1) as kafka_pool:
        previous: tuple[Rows, Future[Rows], Future[npt.NDArray[np.int64]]] | None = None
        for table in _with_end(tables):
            current = None
            if table is not None:
                current = table, kafka_pool.submit(kafka.ask, table), model_pool.submit(model.answer, table)
            if previous is not None:
                rows, expected, actual = previous
                _collect_causes(causes, model, rows, _answers(expected, rows), actual.result())
                cases += len(rows)
                yield KafkaComparison(cases, _sorted(causes))
            previous = current


def _answers(expected: Future[Rows], rows: Rows) -> Rows:
    try:
        return expected.result()
    except DriverError as reason:
        raise DriverDeath(reason, rows) from None


def first_killer(dies: Callable[[int], bool], count: int) -> int | None:
    """The place of the first question without which a process that is asked all before it lives.

    Args:
        dies: whether a new process dies of so many first questions.
        count: how many there are.

    Returns:
        None where a new process lives through all of them.
    """
    if not dies(count):
        return None
    lives, killed = 0, count
    while killed - lives > 1:
        middle = (lives + killed) // 2
        lives, killed = (lives, middle) if dies(middle) else (middle, killed)
    return killed - 1


def _with_end(tables: Iterable[Rows]) -> Iterator[Rows | None]:
    yield from tables
    yield None


def _sorted(causes: dict[tuple[str, ...], Cause]) -> tuple[Cause, ...]:
    return tuple(sorted(causes.values(), key=lambda cause: -cause.cases))


def _collect_causes(
    causes: dict[tuple[str, ...], Cause],
    model: ModelOracle,
    rows: Rows,
    expected: Rows,
    actual: npt.NDArray[np.int64],
) -> None:
    differing = np.flatnonzero((expected != actual).any(axis=1))
    if not len(differing):
        return
    differs = expected[differing] != actual[differing]
    names = list(model.outputs)
    by_name = np.stack([differs[:, model.outputs.slice(name)].any(axis=1) for name in names], axis=1)
    patterns, pattern_of = np.unique(by_name, axis=0, return_inverse=True)
    weights = weight(model.inputs, rows[differing])
    for number, pattern in enumerate(patterns):
        rows_of_pattern = np.flatnonzero(pattern_of.ravel() == number)
        shortest = differing[rows_of_pattern[np.argmin(weights[rows_of_pattern])]]
        cause = Cause(
            _nearest_columns(names, pattern),
            len(rows_of_pattern),
            rows[shortest].copy(),
            expected[shortest].copy(),
            actual[shortest].copy(),
        )
        _merge(causes, model.inputs, cause)


def _nearest_columns(names: list[str], pattern: npt.NDArray[np.bool_]) -> tuple[str, ...]:
    """The record's columns; those of the state after it only where the record is the same."""
    columns = [name for name, differs in zip(names, pattern, strict=True) if differs]
    record = [name for name in columns if not name.startswith(AFTER)]
    return tuple(dict.fromkeys(name.rstrip("?") for name in record or columns))


def _merge(causes: dict[tuple[str, ...], Cause], columns: Columns, new: Cause) -> None:
    old = causes.setdefault(new.columns, new)
    if old is new:
        return
    cases = old.cases + new.cases
    both = np.stack([old.case, new.case])
    shorter = new if np.argmin(weight(columns, both)) == 1 else old
    shorter.cases = cases
    causes[new.columns] = shorter


def weight(columns: Columns, rows: Rows) -> npt.NDArray[np.int64]:
    """How long cases are: members of lists and sets, and everything that is not as in a plain ISR election."""
    total = np.zeros(len(rows), dtype=np.int64)
    for name in columns:
        values = columns.get(rows, name)
        if columns.is_list(name):
            total += (values != VACANT).sum(axis=1)
        elif name in ("removing", "adding", "target_removing", "target_adding", "acceptable", "unclean_shutdown"):
            total += np.bitwise_count(values.astype(np.int64))
        else:
            total += np.abs(values - PLAIN.get(name, 0))
    return total


PLAIN = {
    "last_known": -2, "placed": 1, "min_isr": 1, "assigned": VACANT, "leader": NO_LEADER,
    "record.leader": -2, "record.recovery": -1, "record.last_known": -2,
}  # fmt: skip
"""The plainest value of single columns, 0 for the others."""


def shrink_cause(kafka: KafkaOracle, model: ModelOracle, cause: Cause) -> Cause:
    """The shortest case of the same cause that dropping members and settings one at a time leads to."""
    while True:
        shorter = _neighbours(model.inputs, cause.case)
        if not len(shorter):
            return cause
        causes: dict[tuple[str, ...], Cause] = {}
        _collect_causes(causes, model, shorter, kafka.ask(shorter), model.answer(shorter))
        shorter_cause = causes.get(cause.columns)
        if shorter_cause is None:
            return cause
        shorter_cause.cases = cause.cases
        cause = shorter_cause


def _neighbours(columns: Columns, case: Rows) -> Rows:
    """Well-formed cases that are shorter by one member of a list or set, or by one setting made plain."""
    rows: list[Rows] = []
    for name in columns:
        place = columns.slice(name)
        values: list[int] = case[place].tolist()
        for shorter_values in _shorter(name, values, columns.is_list(name)):
            row = case.copy()
            row[place] = shorter_values
            if well_formed(columns, row):
                rows.append(row)
    table = np.array(rows, dtype=np.int32).reshape(-1, columns.width)
    lighter: Rows = table[weight(columns, table) < weight(columns, case[None])[0]]
    return lighter


def _shorter(name: str, values: list[int], is_list: bool) -> Iterator[list[int]]:
    if is_list:
        if name in ("ids", "replicas", "target_replicas", "target"):
            return  # everything else refers to them
        for at, value in enumerate(values):
            if value != VACANT:
                yield [*values[:at], *values[at + 1 :], VACANT]
        return
    yield [PLAIN.get(name, 0)]
    for bit in range(values[0].bit_length() if values[0] > 0 else 0):
        yield [values[0] & ~(1 << bit)]
