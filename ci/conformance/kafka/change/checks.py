"""The model compared with the released classes; differences are grouped by cause, each with its shortest case."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from attrs import define, evolve, frozen

from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.change.cases import (
    DIRECTORIES,
    OUTSIDERS,
    REPLICAS,
    every_merge,
    every_registration,
    exhaustive_changes,
    exhaustive_reassignments,
    random_changes,
    random_ordered,
    well_formed,
)
from kraftcheck.ci.conformance.kafka.change.models import Model, model_of
from kraftcheck.ci.conformance.kafka.columns import NO_LEADER, VACANT, Columns, Rows, answer_lines, named
from kraftcheck.ci.conformance.kafka.drivers import Driver, DriverError, JavaProcess
from kraftcheck.ci.terminal.interrupts import OutOfTime, passed
from kraftcheck.model.rules.ruleset import RuleSet

AFTER = "after."  # what columns of the state after the replay start with; a record that differs is the nearer cause


class DriverDeath(DriverError):
    """The process died while it answered some rows."""

    def __init__(self, reason: DriverError, rows: Rows) -> None:
        super().__init__(str(reason))
        self.rows = rows  # those that it was asked


class KafkaOracle(Protocol):
    """Kafka's classes, which answer rows of questions."""

    def ask(self, rows: Rows) -> Rows:
        """One answer for each question."""


@define
class Cause:
    """Differences in the same columns."""

    columns: tuple[str, ...]  # names of what differs
    cases: int  # how many cases there are
    case: Rows  # the shortest one seen
    # expected, actual: Kafka's answer to it, and the model's
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


def compare(kafka: KafkaOracle, model: Model, tables: Iterable[Rows]) -> Iterator[KafkaComparison]:
    """Compare answers to tables, and yield the comparison after each; raises DriverDeath; two tables are in memory."""
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
                yield KafkaComparison(cases, tuple(sorted(causes.values(), key=lambda cause: -cause.cases)))
            previous = current


def _answers(expected: Future[Rows], rows: Rows) -> Rows:
    try:
        return expected.result()
    except DriverError as reason:
        raise DriverDeath(reason, rows) from None


def first_killer(dies: Callable[[int], bool], count: int) -> int | None:
    """The first question without which a process that is asked those before lives; None where it lives through all."""
    if not dies(count):
        return None
    lives, killed = 0, count
    while killed - lives > 1:
        middle = (lives + killed) // 2
        lives, killed = (lives, middle) if dies(middle) else (middle, killed)
    return killed - 1


def killer(driver: Callable[[], JavaProcess], questions: Callable[[int], Rows], count: int, death: DriverError) -> int:
    """The question that killed a process; raises DriverError where a new one dies of none, or answers all of them."""
    with driver() as kafka:
        kafka.check_end()
    place = first_killer(lambda first: dies_of(driver, questions(first)), count)
    if place is None:
        raise DriverError(f"{death}; a new process answers the same questions") from None
    return place


def dies_of(driver: Callable[[], JavaProcess], rows: Rows) -> bool:
    """Whether a new process dies of questions."""
    try:
        with driver() as kafka:
            kafka.ask(rows)
    except DriverError:
        return True
    return False


def _with_end(tables: Iterable[Rows]) -> Iterator[Rows | None]:
    yield from tables
    yield None


def _collect_causes(
    causes: dict[tuple[str, ...], Cause], model: Model, rows: Rows, expected: Rows, actual: npt.NDArray[np.int64]
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


def shrink_cause(kafka: KafkaOracle, model: Model, cause: Cause) -> Cause:
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


BATCH = 1 << 16  # about how many cases are asked at a time
MAX_RANDOM_FACTOR = 5  # the largest replication factor whose cases are drawn

FEWER_ORDERED = 50
"""Of so many drawn cases one is asked with any ids: on lists of ints, which are so much slower than compiled rows."""

MOST_EXHAUSTIVE = 3  # the largest replication factor of which every case can be asked
MOST_CAUSES = 8  # how many causes of a check are shown, with a shortest case each
DRIVER = "process"  # stands for the columns of a case that killed the process with Kafka's classes


@frozen
class CheckSize:
    """How many cases are compared."""

    exhaustive: int  # every case up to this replication factor
    samples: int  # cases drawn for each larger one, up to `MAX_RANDOM_FACTOR`
    seed: int  # of the draw


@frozen
class ShownCause:
    """One cause with its shortest case by column name, and the fields that differ."""

    columns: tuple[str, ...]
    cases: int
    case: dict[str, Any]
    expected: dict[str, Any]
    actual: dict[str, Any]


@frozen
class CheckRow:
    """One check of one version: `factor` replicas (or directories), every case or some drawn ones."""

    version: str
    check: str
    factor: int
    drawn: bool
    cases: int
    differences: int
    seconds: float  # from the first question to the last answer, with the model's time and the comparison's
    causes: int  # how many groups of differences there are; `shown` has the largest
    shown: tuple[ShownCause, ...]
    # whether a case killed the process with Kafka's classes; what would have followed it was not asked
    died: bool = False


@frozen
class CheckFault:
    """A check that ended without a verdict."""

    version: str
    check: str
    factor: int
    # a Refusal where jars, Java, Maven or the network are missing; a DriverError where the process with Kafka's classes
    # died, and no question is to blame; else a fault of kraftcheck
    error: Exception


CheckProgress = Callable[[str, int, int], None]
"""Called with progress: the check, its cases so far, its differences so far."""


@frozen
class _Check:
    """One check: its name, replicas (or directories), slots of a list, and its cases as tables."""

    name: str
    factor: int
    slots: int
    tables: Iterator[Rows]
    is_random: bool = False


def conform_with_kafka(
    build: Build, rules: RuleSet, size: CheckSize, report: CheckProgress
) -> Iterator[CheckRow | CheckFault]:
    """Ask a build and the model the same; a row for each check as it ends, none begun once time is over."""
    for check in _checks(size):
        if passed():
            return
        try:
            row: CheckRow | CheckFault = _row(build, check, rules, report)
        except Exception as error:  # whatever it is, it is reported with the check's name
            row = CheckFault(str(build), check.name, check.factor, error)
        yield row


def _checks(size: CheckSize) -> Iterator[_Check]:
    slots = MOST_EXHAUSTIVE + OUTSIDERS
    yield _Check("registration", DIRECTORIES, 0, iter([every_registration()]))
    yield _Check("merge", REPLICAS, slots, iter([every_merge()]))
    for factor in range(1, MOST_EXHAUSTIVE + 1):
        yield _Check("reassignment", factor, slots, exhaustive_reassignments(factor, slots, BATCH))
    for factor in range(1, size.exhaustive + 1):
        yield _Check("change", factor, slots, exhaustive_changes(factor, slots, BATCH))
    for factor in range(size.exhaustive + 1, MAX_RANDOM_FACTOR + 1) if size.samples else ():
        tables = _random_tables(random_changes, size, factor + 2 * OUTSIDERS, factor)
        yield _Check("change", factor, factor + 2 * OUTSIDERS, tables, True)
    if size.samples:
        slots = MAX_RANDOM_FACTOR + 2 * OUTSIDERS
        fewer = evolve(size, samples=-(-size.samples // FEWER_ORDERED))
        tables = _random_tables(random_ordered, fewer, slots, MAX_RANDOM_FACTOR)
        yield _Check("ordered", MAX_RANDOM_FACTOR, slots, tables, True)


def _random_tables(draw: Callable[..., Rows], size: CheckSize, slots: int, factor: int) -> Iterator[Rows]:
    for batch, start in enumerate(range(0, size.samples, BATCH)):
        yield draw(size.seed + batch, slots, min(BATCH, size.samples - start), factor)


def _row(build: Build, check: _Check, rules: RuleSet, report: CheckProgress) -> CheckRow:
    model, comparison, death = model_of(check.name, check.slots, rules), KafkaComparison(0, ()), None
    start = time.monotonic()

    def driver() -> Driver:
        return Driver(build, check.name, check.slots, model.outputs)

    try:
        with driver() as kafka:
            for comparison in compare(kafka, model, check.tables):
                report(f"{build} {check.name} of {check.factor}", comparison.cases, comparison.differences)
                if passed():
                    break
    except OutOfTime:
        if not comparison.cases:
            raise
    except DriverDeath as reason:
        death = _shown_death(driver, model, reason)
    seconds = time.monotonic() - start
    causes = comparison.causes[: MOST_CAUSES - (death is not None)]
    shown = tuple(_shortest(driver, model, causes)) if causes else ()
    if not comparison.cases and death is None:
        raise RuntimeError(f"no case of {check.name} with {check.factor} replicas was asked")
    killed = death is not None
    return CheckRow(
        str(build), check.name, check.factor, check.is_random,
        comparison.cases + killed, comparison.differences + killed, seconds, len(comparison.causes) + killed,
        (*((death,) if death is not None else ()), *shown), killed,
    )  # fmt: skip


def _shortest(driver: Callable[[], Driver], model: Model, causes: Sequence[Cause]) -> Iterator[ShownCause]:
    """The causes, each with a shortest case as far as there is time and the process lives."""
    for cause in causes:
        try:
            if passed():
                raise OutOfTime
            with driver() as kafka:
                yield _shown_cause(model, shrink_cause(kafka, model, cause))
        except (DriverError, OutOfTime):
            yield _shown_cause(model, cause)


def _shown_death(driver: Callable[[], Driver], model: Model, death: DriverDeath) -> ShownCause:
    """The case that killed the process; raises DriverError where none is to blame, see `killer`."""
    case = death.rows[killer(driver, lambda count: death.rows[:count], len(death.rows), death)]
    answer = model.outputs.read(model.answer(case[None])[0])
    return ShownCause((DRIVER,), 1, model.inputs.read(case), {DRIVER: f"died: {death}"}, answer)


def _shown_cause(model: Model, cause: Cause) -> ShownCause:
    expected, actual = model.outputs.read(cause.expected), model.outputs.read(cause.actual)
    differing = [name for name in model.outputs if expected[name] != actual[name]]
    return ShownCause(
        cause.columns, cause.cases, model.inputs.read(cause.case),
        {name: expected[name] for name in differing}, {name: actual[name] for name in differing},
    )  # fmt: skip


def row_lines(row: CheckRow) -> list[str]:
    """A row for a reader: counts, then the shortest case of each cause, as Kafka's answer and the model's."""
    extent = "drawn" if row.drawn else "all"
    rate = f"{row.cases / row.seconds:,.0f}/s" if row.seconds else ""
    text = [
        f"Kafka {row.version} {row.check:<12} {row.factor} {_unit(row)}, {extent}: {row.cases:,} cases, "
        f"{row.differences:,} differences ({rate})"
    ]
    if row.died:
        text.append("  the process died of the last case, and the rest of this check was not asked")
    for cause in row.shown:
        text.append(f"  {cause.cases:,} cases differ in {', '.join(cause.columns)}; the shortest:")
        text.append(f"    case: {named(cause.case)}")
        text += answer_lines(named(cause.expected), named(cause.actual))
    if row.causes > len(row.shown):
        text.append(f"  and {row.causes - len(row.shown)} more causes")
    return text


def total_line(rows: Sequence[CheckRow], rules: str) -> str:
    """The counts of all rows of one release."""
    cases, differences = sum(row.cases for row in rows), sum(row.differences for row in rows)
    return f"{rules}: {cases:,} cases, {differences:,} differences"


def _unit(row: CheckRow) -> str:
    if row.check == "registration":
        return "directory" if row.factor == 1 else "directories"
    return f"replica{'s' * (row.factor != 1)}"
