"""`kraftcheck conform --kafka`: the model compared with the released classes, case by case."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from attrs import evolve, frozen

from kraftcheck.ci.conformance.kafka.change.cases import OUTSIDERS, exhaustive_changes, exhaustive_reassignments
from kraftcheck.ci.conformance.kafka.change.merges import REPLICAS, MergeModel, every_merge
from kraftcheck.ci.conformance.kafka.change.model import ChangeModel, ReassignmentModel
from kraftcheck.ci.conformance.kafka.change.ordered import OrderedModel, random_ordered
from kraftcheck.ci.conformance.kafka.change.random_cases import random_changes
from kraftcheck.ci.conformance.kafka.change.registrations import DIRECTORIES, RegistrationModel, every_registration
from kraftcheck.ci.conformance.kafka.columns import Rows
from kraftcheck.ci.conformance.kafka.differences import Cause, KafkaComparison, compare, shrink_cause
from kraftcheck.ci.conformance.kafka.java import Driver
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


Model = ChangeModel | OrderedModel | MergeModel | ReassignmentModel | RegistrationModel

CheckProgress = Callable[[str, int, int], None]
"""Called with progress: the check, its cases so far, its differences so far."""


def conform_with_kafka(version: str, rules: RuleSet, size: CheckSize, report: CheckProgress) -> Iterator[CheckRow]:
    """Ask a release and the model the same questions; one row for each check, as it ends.

    Raises:
        Refusal: where jars, Java, Maven or the network are missing.
        DriverError: when the process with Kafka's classes dies.
    """
    yield _row(version, "registration", rules, DIRECTORIES, 0, iter([every_registration()]), report)
    yield _row(version, "merge", rules, REPLICAS, MOST_EXHAUSTIVE + OUTSIDERS, iter([every_merge()]), report)
    for factor in range(1, MOST_EXHAUSTIVE + 1):
        slots = MOST_EXHAUSTIVE + OUTSIDERS
        yield _row(
            version, "reassignment", rules, factor, slots, exhaustive_reassignments(factor, slots, BATCH), report
        )
    for factor in range(1, size.exhaustive + 1):
        slots = MOST_EXHAUSTIVE + OUTSIDERS
        yield _row(version, "change", rules, factor, slots, exhaustive_changes(factor, slots, BATCH), report)
    for factor in range(size.exhaustive + 1, MAX_RANDOM_FACTOR + 1) if size.samples else ():
        slots = factor + 2 * OUTSIDERS
        tables = _random_tables(random_changes, size, slots, factor)
        yield _row(version, "change", rules, factor, slots, tables, report, is_random=True)
    if size.samples:
        slots = MAX_RANDOM_FACTOR + 2 * OUTSIDERS
        fewer = evolve(size, samples=-(-size.samples // FEWER_ORDERED))
        tables = _random_tables(random_ordered, fewer, slots, MAX_RANDOM_FACTOR)
        yield _row(version, "ordered", rules, MAX_RANDOM_FACTOR, slots, tables, report, is_random=True)


def _random_tables(draw: Callable[..., Rows], size: CheckSize, slots: int, factor: int) -> Iterator[Rows]:
    for batch, start in enumerate(range(0, size.samples, BATCH)):
        yield draw(size.seed + batch, slots, min(BATCH, size.samples - start), factor)


def _row(
    version: str,
    check: str,
    rules: RuleSet,
    factor: int,
    slots: int,
    tables: Iterator[Rows],
    report: CheckProgress,
    is_random: bool = False,
) -> CheckRow:
    model = _model(check, slots, rules)
    with Driver(version, check, slots, model.outputs) as kafka:
        start = time.monotonic()
        comparison = KafkaComparison(0, ())
        for comparison in compare(kafka, model, tables):
            report(f"{version} {check} of {factor}", comparison.cases, comparison.differences)
        seconds = time.monotonic() - start
        causes_shown = tuple(
            _shown_cause(model, shrink_cause(kafka, model, cause)) for cause in comparison.causes[:MOST_CAUSES]
        )
    if not comparison.cases:
        raise RuntimeError(f"no case of {check} with {factor} replicas was asked")
    return CheckRow(
        version, check, factor, is_random, comparison.cases, comparison.differences, seconds,
        len(comparison.causes), causes_shown,
    )  # fmt: skip


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


def lines(rows: list[CheckRow], rules: str) -> list[str]:
    """The rows for a reader: counts, then the shortest case of each cause, as Kafka's answer and the model's."""
    text = []
    for row in rows:
        extent = "drawn" if row.drawn else "all"
        rate = f"{row.cases / row.seconds:,.0f}/s" if row.seconds else ""
        text.append(
            f"Kafka {row.version} {row.check:<12} {row.factor} {_unit(row.check)}, {extent}: {row.cases:,} cases, "
            f"{row.differences:,} differences ({rate})"
        )
        for cause in row.shown:
            text.append(f"  {cause.cases:,} cases differ in {', '.join(cause.columns)}; the shortest:")
            text.append(f"    case: {_fields(cause.case)}")
            text.append(f"    expected (Kafka): {_fields(cause.expected)}")
            text.append(f"    actual (model):   {_fields(cause.actual)}")
        if row.causes > len(row.shown):
            text.append(f"  and {row.causes - len(row.shown)} more causes")
    cases, differences = sum(row.cases for row in rows), sum(row.differences for row in rows)
    text.append(f"{rules}: {cases:,} cases, {differences:,} differences")
    return text


def _unit(check: str) -> str:
    return "directories" if check == "registration" else "replicas"


def _fields(values: dict[str, Any]) -> str:
    return " ".join(f"{name}={value}".replace(" ", "") for name, value in values.items())
