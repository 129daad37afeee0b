"""`kraftcheck conform --kafka`: the model compared with the released classes, case by case."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from attrs import evolve, frozen

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
)
from kraftcheck.ci.conformance.kafka.change.models import (
    ChangeModel,
    MergeModel,
    OrderedModel,
    ReassignmentModel,
    RegistrationModel,
)
from kraftcheck.ci.conformance.kafka.columns import Rows
from kraftcheck.ci.conformance.kafka.differences import (
    Cause,
    DriverDeath,
    KafkaComparison,
    compare,
    first_killer,
    shrink_cause,
)
from kraftcheck.ci.conformance.kafka.jars import Driver, DriverError
from kraftcheck.model.rules.ruleset import RuleSet

BATCH = 1 << 16
"""About how many cases are asked at a time."""

MAX_RANDOM_FACTOR = 5
"""The largest replication factor whose cases are drawn."""

FEWER_ORDERED = 50
"""Of so many drawn cases one is asked with any ids: on lists of ints, which are so much slower than compiled rows."""

MOST_EXHAUSTIVE = 3
"""The largest replication factor of which every case can be asked."""

MOST_CAUSES = 8
"""How many causes of a check are shown, with a shortest case each."""

DRIVER = "driver"
"""Stands for the columns of a case that killed the process with Kafka's classes."""


@frozen
class CheckSize:
    """How many cases are compared.

    Attributes:
        exhaustive: every case up to this replication factor.
        samples: cases drawn for each larger one, up to `MAX_RANDOM_FACTOR`.
        seed: of the draw.
    """

    exhaustive: int
    samples: int
    seed: int


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
    """One check of one version: `factor` replicas (or directories), every case or some drawn ones.

    Attributes:
        seconds: from the first question to the last answer, with the model's time and the comparison's.
        causes: how many groups of differences there are; `shown` has the largest.
        died: whether a case killed the process with Kafka's classes; what would have followed it was not asked.
    """

    version: str
    check: str
    factor: int
    drawn: bool
    cases: int
    differences: int
    seconds: float
    causes: int
    shown: tuple[ShownCause, ...]
    died: bool = False


@frozen
class CheckFault:
    """A check that ended without a verdict.

    Attributes:
        error: a Refusal where jars, Java, Maven or the network are missing; a DriverError where the process with
            Kafka's classes died, and no question is to blame; else a fault of kraftcheck.
    """

    version: str
    check: str
    factor: int
    error: Exception


Model = ChangeModel | OrderedModel | MergeModel | ReassignmentModel | RegistrationModel

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
    version: str, rules: RuleSet, size: CheckSize, report: CheckProgress
) -> Iterator[CheckRow | CheckFault]:
    """Ask a release and the model the same questions; one row for each check, as it ends.

    A check that ends without a verdict does not end the others.
    """
    for check in _checks(size):
        try:
            row: CheckRow | CheckFault = _row(version, check, rules, report)
        except Exception as error:  # whatever it is, it is reported with the check's name
            row = CheckFault(version, check.name, check.factor, error)
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


def _row(version: str, check: _Check, rules: RuleSet, report: CheckProgress) -> CheckRow:
    model, comparison, death = _model(check.name, check.slots, rules), KafkaComparison(0, ()), None
    start = time.monotonic()

    def driver() -> Driver:
        return Driver(version, check.name, check.slots, model.outputs)

    try:
        with driver() as kafka:
            for comparison in compare(kafka, model, check.tables):
                report(f"{version} {check.name} of {check.factor}", comparison.cases, comparison.differences)
    except DriverDeath as reason:
        death = _shown_death(driver, model, reason)
    seconds = time.monotonic() - start
    causes = comparison.causes[: MOST_CAUSES - (death is not None)]
    shown = tuple(_shortest(driver, model, causes)) if causes else ()
    if not comparison.cases and death is None:
        raise RuntimeError(f"no case of {check.name} with {check.factor} replicas was asked")
    killed = death is not None
    return CheckRow(
        version, check.name, check.factor, check.is_random, comparison.cases + killed, comparison.differences + killed,
        seconds, len(comparison.causes) + killed, (*((death,) if death is not None else ()), *shown), killed,
    )  # fmt: skip


def _shortest(driver: Callable[[], Driver], model: Model, causes: Sequence[Cause]) -> Iterator[ShownCause]:
    """The causes, each with a shortest case; one whose shorter cases kill the process stays as it was found."""
    for cause in causes:
        try:
            with driver() as kafka:
                yield _shown_cause(model, shrink_cause(kafka, model, cause))
        except DriverError:
            yield _shown_cause(model, cause)


def _shown_death(driver: Callable[[], Driver], model: Model, death: DriverDeath) -> ShownCause:
    """The case that killed the process: no driver answers all cases up to it.

    Raises:
        DriverError: where a driver that is asked nothing dies too, or a new one answers all.
    """

    def dies(count: int) -> bool:
        try:
            with driver() as kafka:
                kafka.ask(death.rows[:count])
        except DriverError:
            return True
        return False

    with driver() as kafka:
        kafka.check_end()
    place = first_killer(dies, len(death.rows))
    if place is None:
        raise DriverError(f"{death}; a new process answers the same questions") from None
    case = death.rows[place]
    answer = model.outputs.read(model.answer(case[None])[0])
    return ShownCause((DRIVER,), 1, model.inputs.read(case), {DRIVER: f"died: {death}"}, answer)


def _model(check: str, slots: int, rules: RuleSet) -> Model:
    if check == "registration":
        return RegistrationModel(rules)
    if check == "merge":
        return MergeModel(slots, rules)
    if check == "ordered":
        return OrderedModel(slots, rules)
    return ChangeModel(slots, rules) if check == "change" else ReassignmentModel(slots, rules)


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
        f"Kafka {row.version} {row.check:<12} {row.factor} {_unit(row.check)}, {extent}: {row.cases:,} cases, "
        f"{row.differences:,} differences ({rate})"
    ]
    if row.died:
        text.append("  the driver died of the last case, and the rest of this check was not asked")
    for cause in row.shown:
        text.append(f"  {cause.cases:,} cases differ in {', '.join(cause.columns)}; the shortest:")
        text.append(f"    case: {_fields(cause.case)}")
        text.append(f"    expected (Kafka): {_fields(cause.expected)}")
        text.append(f"    actual (model):   {_fields(cause.actual)}")
    if row.causes > len(row.shown):
        text.append(f"  and {row.causes - len(row.shown)} more causes")
    return text


def total_line(rows: Sequence[CheckRow], rules: str) -> str:
    """The counts of all rows of one release."""
    cases, differences = sum(row.cases for row in rows), sum(row.differences for row in rows)
    return f"{rules}: {cases:,} cases, {differences:,} differences"


def _unit(check: str) -> str:
    return "directories" if check == "registration" else "replicas"


def _fields(values: dict[str, Any]) -> str:
    shown = ((name, value if isinstance(value, str) else str(value).replace(" ", "")) for name, value in values.items())
    return " ".join(f"{name}={value}" for name, value in shown)
