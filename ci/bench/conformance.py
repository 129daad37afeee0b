"""The benchmark of conformance: `python -m kraftcheck.ci.bench --conform [--runs N] [--json FILE] [CASE ...]`.

Each case asks Kafka's change builder and the model as `kraftcheck conform` does, from the first question to the last
answer, and starts Java anew each time: what it compiles on the way is measured too.
"""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Iterator
from itertools import count

from attrs import frozen

from kraftcheck.ci.bench.benchmark import Benchmark, column, processor_seconds
from kraftcheck.ci.conformance.kafka.change.cases import OUTSIDERS, exhaustive_changes, random_changes
from kraftcheck.ci.conformance.kafka.change.checks import BATCH, MOST_EXHAUSTIVE
from kraftcheck.ci.conformance.kafka.change.model import ChangeModel
from kraftcheck.ci.conformance.kafka.columns import Rows
from kraftcheck.ci.conformance.kafka.differences import compare
from kraftcheck.ci.conformance.kafka.jars import Driver
from kraftcheck.model.rules.ruleset import parse

VERSION = "4.1.2"
JAVA = (resource.RUSAGE_CHILDREN,)
"""Processes that have ended: those with Kafka's classes."""

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

    case: str = column("case", "<14")
    cases: int = column("cases", "11,")
    seconds: float = column("seconds", "8.1f")
    per_second: float = column("cases/s", "9,.0f")
    model_seconds: float = column("model CPU s", "11.1f")
    kafka_seconds: float = column("Kafka CPU s", "11.1f")
    per_processor_second: float = column("cases/CPU s", "11,.0f")


class DifferenceError(AssertionError):
    """Kafka and the model differ: the release's preset is wrong, and nothing is measured."""


def measure(case: str, runs: int) -> Iterator[ConformanceRow]:
    """The medians of several runs.

    Raises:
        DifferenceError: when a case differs.
    """
    results = [_run(case) for _ in range(runs)]
    cases = results[0][0]
    seconds, model, kafka = (statistics.median(column) for column in list(zip(*results, strict=True))[1:])
    yield ConformanceRow(case, cases, seconds, cases / seconds, model, kafka, cases / (model + kafka))


def _run(case: str) -> tuple[int, float, float, float]:
    slots, tables = _questions(case)
    model = ChangeModel(slots, parse(f"kafka-{VERSION}"))
    own, java = time.process_time(), processor_seconds(JAVA)
    with Driver(VERSION, "change", slots, model.outputs) as kafka:
        start = time.perf_counter()
        for comparison in compare(kafka, model, tables):
            if comparison.differences:
                raise DifferenceError(f"{case}: {comparison.causes[0].columns} differ")
        seconds = time.perf_counter() - start
    return comparison.cases, seconds, time.process_time() - own, processor_seconds(JAVA) - java


def _questions(case: str) -> tuple[int, Iterator[Rows]]:
    if case == "exhaustive-3":
        slots = MOST_EXHAUSTIVE + OUTSIDERS
        return slots, _first(exhaustive_changes(3, slots, BATCH), CASES[case])
    slots = 5 + 2 * OUTSIDERS
    return slots, _first((random_changes(seed, slots, BATCH, 5) for seed in count()), CASES[case])


def _first(tables: Iterator[Rows], cases: int) -> Iterator[Rows]:
    asked = 0
    while asked < cases:
        table = next(tables)
        asked += len(table)
        yield table


BENCHMARK = Benchmark(ConformanceRow, tuple(CASES), measure,
                      note=f"Kafka {VERSION}, no difference; medians of {{runs}}")  # fmt: skip
