"""`kraftcheck conform --kafka`: the model against the released classes, case by case."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from attrs import frozen

from kraftcheck.ci.conformance.kafka.change.cases import OUTSIDERS, exhaustive_changes, exhaustive_reassignments
from kraftcheck.ci.conformance.kafka.change.drawn import drawn_changes
from kraftcheck.ci.conformance.kafka.change.merges import REPLICAS, MergeModel, every_merge
from kraftcheck.ci.conformance.kafka.change.model import ChangeModel, ReassignmentModel
from kraftcheck.ci.conformance.kafka.change.registrations import DIRECTORIES, RegistrationModel, every_registration
from kraftcheck.ci.conformance.kafka.columns import Rows
from kraftcheck.ci.conformance.kafka.differences import Cause, Comparison, compare, shrunk
from kraftcheck.ci.conformance.kafka.java import Driver
from kraftcheck.model.rules.ruleset import RuleSet

BATCH = 1 << 16
"""About how many cases are asked at a time."""

MOST_DRAWN = 5
"""The largest replication factor whose cases are drawn."""

MOST_EXHAUSTIVE = 3
"""The largest replication factor of which every case can be asked."""

MOST_CAUSES = 8
"""How many causes of a check are shown, with a shortest case each."""


@frozen
class Size:
    """How much is asked.

    Attributes:
        exhaustive: every case up to this replication factor.
        samples: cases drawn for each larger one, up to `MOST_DRAWN`.
        seed: of the draw.
    """

    exhaustive: int
    samples: int
    seed: int


@frozen
class Shown:
    """One cause with its shortest case, by name: what was asked, and the fields that differ."""

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
    shown: tuple[Shown, ...]


Model = ChangeModel | MergeModel | ReassignmentModel | RegistrationModel

Told = Callable[[str, int, int], None]
"""Told of progress: the check, its cases so far, its differences so far."""


def conform_with_kafka(version: str, rules: RuleSet, size: Size, told: Told) -> Iterator[CheckRow]:
    """Ask a release and the model the same questions; one row for each check, as it ends.

    Raises:
        Refusal: where jars, Java, Maven or the network are missing.
        DriverError: when the process with Kafka's classes dies.
    """
    yield _row(version, "registration", rules, DIRECTORIES, 0, iter([every_registration()]), told)
    yield _row(version, "merge", rules, REPLICAS, MOST_EXHAUSTIVE + OUTSIDERS, iter([every_merge()]), told)
    for factor in range(1, MOST_EXHAUSTIVE + 1):
        slots = MOST_EXHAUSTIVE + OUTSIDERS
        yield _row(version, "reassignment", rules, factor, slots, exhaustive_reassignments(factor, slots, BATCH), told)
    for factor in range(1, size.exhaustive + 1):
        slots = MOST_EXHAUSTIVE + OUTSIDERS
        yield _row(version, "change", rules, factor, slots, exhaustive_changes(factor, slots, BATCH), told)
    for factor in range(size.exhaustive + 1, MOST_DRAWN + 1) if size.samples else ():
        slots = factor + 2 * OUTSIDERS
        yield _row(version, "change", rules, factor, slots, _drawn(size, slots, factor), told, drawn=True)


def _drawn(size: Size, slots: int, factor: int) -> Iterator[Rows]:
    for batch, start in enumerate(range(0, size.samples, BATCH)):
        yield drawn_changes(size.seed + batch, slots, min(BATCH, size.samples - start), factor)


def _row(
    version: str,
    check: str,
    rules: RuleSet,
    factor: int,
    slots: int,
    tables: Iterator[Rows],
    told: Told,
    drawn: bool = False,
) -> CheckRow:
    model = _model(check, slots, rules)
    with Driver(version, check, slots, model.outputs) as kafka:
        begun = time.monotonic()
        found = Comparison(0, ())
        for found in compare(kafka, model, tables):
            told(f"{version} {check} of {factor}", found.cases, found.differences)
        seconds = time.monotonic() - begun
        shown = tuple(_shown(model, shrunk(kafka, model, cause)) for cause in found.causes[:MOST_CAUSES])
    if not found.cases:
        raise RuntimeError(f"no case of {check} with {factor} replicas was asked")
    return CheckRow(
        version, check, factor, drawn, found.cases, found.differences, seconds,
        len(found.causes), shown,
    )  # fmt: skip


def _model(check: str, slots: int, rules: RuleSet) -> Model:
    if check == "registration":
        return RegistrationModel(rules)
    if check == "merge":
        return MergeModel(slots, rules)
    return ChangeModel(slots, rules) if check == "change" else ReassignmentModel(slots, rules)


def _shown(model: Model, cause: Cause) -> Shown:
    expected, actual = model.outputs.read(cause.expected), model.outputs.read(cause.actual)
    differing = [name for name in model.outputs if expected[name] != actual[name]]
    return Shown(
        cause.columns, cause.cases, model.inputs.read(cause.case),
        {name: expected[name] for name in differing}, {name: actual[name] for name in differing},
    )  # fmt: skip


def lines(rows: list[CheckRow], rules: str) -> list[str]:
    """The rows for a reader: counts, then the shortest case of each cause, as Kafka's answer and the model's."""
    text = []
    for row in rows:
        many = "drawn" if row.drawn else "all"
        rate = f"{row.cases / row.seconds:,.0f}/s" if row.seconds else ""
        text.append(
            f"Kafka {row.version} {row.check:<12} {row.factor} {_what(row.check)}, {many}: {row.cases:,} cases, "
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


def _what(check: str) -> str:
    return "directories" if check == "registration" else "replicas"


def _fields(values: dict[str, Any]) -> str:
    return " ".join(f"{name}={value}".replace(" ", "") for name, value in values.items())
