"""The benchmark of conformance: `python -m kraftcheck.ci.bench --conform [--runs N] [--json FILE] [CASE ...]`.

Each case asks Kafka's change builder and the model as `kraftcheck conform` does, from the first question to the last
answer, and starts Java anew each time: what it compiles on the way is measured too.
"""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable, Iterator, Sequence

from attrs import frozen

from kraftcheck.ci.conformance.kafka.change.cases import OUTSIDERS, exhaustive_changes, random_changes
from kraftcheck.ci.conformance.kafka.change.checks import BATCH, MOST_EXHAUSTIVE
from kraftcheck.ci.conformance.kafka.change.model import ChangeModel
from kraftcheck.ci.conformance.kafka.columns import Rows
from kraftcheck.ci.conformance.kafka.differences import compare
from kraftcheck.ci.conformance.kafka.jars import Driver
from kraftcheck.model.rules.ruleset import parse

VERSION = "4.1.2"

CASES = {"exhaustive-3": 12_000_000, "drawn-5": 2_500_000}
"""About how many cases of 3 replicas are asked in order, and of 5 replicas, drawn."""


@frozen
class ConformanceRow:
    """Medians of one case.

    Attributes:
        seconds: of the clock.
        model_seconds: of processors, for making questions, the model's answers and the comparison.
        kafka_seconds: of processors, for the process with Kafka's classes, with its start.
        per_processor_second: cases for each second of one processor, all in all.
    """

    case: str
    cases: int
    seconds: float
    per_second: float
    model_seconds: float
    kafka_seconds: float
    per_processor_second: float


class DifferenceError(AssertionError):
    """Kafka and the model differ: the release's preset is wrong, and nothing is measured."""


def measure(case: str, runs: int) -> ConformanceRow:
    """The medians of several runs.

    Raises:
        DifferenceError: when a case differs.
    """
    results = [_run(case) for _ in range(runs)]
    cases = results[0][0]
    seconds, model, kafka = (statistics.median(column) for column in list(zip(*results, strict=True))[1:])
    return ConformanceRow(case, cases, seconds, cases / seconds, model, kafka, cases / (model + kafka))


def _run(case: str) -> tuple[int, float, float, float]:
    slots, tables = _questions(case)
    model = ChangeModel(slots, parse(f"kafka-{VERSION}"))
    own, java = time.process_time(), _children_seconds()
    with Driver(VERSION, "change", slots, model.outputs) as kafka:
        start = time.perf_counter()
        for comparison in compare(kafka, model, tables):
            if comparison.differences:
                raise DifferenceError(f"{case}: {comparison.causes[0].columns} differ")
        seconds = time.perf_counter() - start
    return comparison.cases, seconds, time.process_time() - own, _children_seconds() - java


def _questions(case: str) -> tuple[int, Iterator[Rows]]:
    if case == "exhaustive-3":
        slots = MOST_EXHAUSTIVE + OUTSIDERS
        return slots, _first(exhaustive_changes(3, slots, BATCH), CASES[case])
    slots = 5 + 2 * OUTSIDERS
    return slots, _first(_endless(lambda seed: random_changes(seed, slots, BATCH, 5)), CASES[case])


def _endless(make: Callable[[int], Rows]) -> Iterator[Rows]:
    seed = 0
    while True:
        yield make(seed)
        seed += 1


def _first(tables: Iterator[Rows], cases: int) -> Iterator[Rows]:
    count = 0
    while count < cases:
        table = next(tables)
        count += len(table)
        yield table


def _children_seconds() -> float:
    """Seconds of processors that processes took which this one started and that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure_cases(cases: Sequence[str], runs: int) -> list[ConformanceRow]:
    """Measure the cases, all by default, and print the table."""
    print(f"{'case':14} {'cases':>11} {'seconds':>8} {'cases/s':>9} {'model CPU s':>11} {'Kafka CPU s':>11} "
          f"{'cases/CPU s':>11}")  # fmt: skip
    rows = []
    for case in cases or CASES:
        row = measure(case, runs)
        rows.append(row)
        print(
            f"{row.case:14} {row.cases:11,} {row.seconds:8.1f} {row.per_second:9,.0f} {row.model_seconds:11.1f} "
            f"{row.kafka_seconds:11.1f} {row.per_processor_second:11,.0f}",
            flush=True,
        )
    print(f"\nKafka {VERSION}, no difference; medians of {runs}")
    return rows
