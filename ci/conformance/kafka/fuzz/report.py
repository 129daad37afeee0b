"""A fuzz of one release: run until enough steps, differences by cause, each shown by its shortest sequence."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

from attrs import field, frozen

from kraftcheck.ci.conformance.kafka.fuzz.draws import drawn_plan
from kraftcheck.ci.conformance.kafka.fuzz.run import REQUESTS, FuzzCounts, FuzzDifference, FuzzProcess, fuzzed
from kraftcheck.ci.conformance.kafka.fuzz.shrink import shortened
from kraftcheck.ci.conformance.kafka.java import FUZZ, compile_driver
from kraftcheck.model.rules.ruleset import RuleSet

LENGTH = 120
"""Steps that are drawn for a sequence; a few of them suit no state, and ask nothing."""

MOST_CAUSES = 3
"""How many causes are shortened and shown."""

FuzzProgress = Callable[[str, int, int], None]


@frozen
class FuzzCause:
    """Differences of one cause: in how many sequences, and the shortest that is known.

    Attributes:
        request: the kind of the request that is answered differently.
        sequences: how many end with it.
        steps: the shortest, request by request with Kafka's answers; the last one differs.
        expected, actual: Kafka's answer and the model's.
    """

    request: str
    sequences: int
    steps: tuple[str, ...]
    expected: str
    actual: str


@frozen
class FuzzRow:
    """The fuzz of one release.

    Attributes:
        steps, sequences: how many were executed on both sides; steps up to the first difference of a sequence.
        answers: for each kind of request how often each kind of answer was given.
        differing: sequences that end with a difference.
    """

    version: str
    seed: int
    steps: int
    sequences: int
    answers: dict[str, dict[str, int]]
    differing: int
    seconds: float
    causes: tuple[FuzzCause, ...] = field(factory=tuple)


def fuzz_with_kafka(version: str, rules: RuleSet, steps: int, seed: int, report: FuzzProgress) -> FuzzRow:
    """Put drawn sequences of requests to the managers of a release, and to the model.

    Args:
        version: the release.
        rules: the rule set.
        steps: as many at least are executed, unless the sequences drawn have twice as many, and most differ early.
        seed: of the draw.
        report: of progress: what, how many steps, how many sequences differ.

    Raises:
        Refusal: where jars, Java, Maven or the network are missing.
        DriverError: when the process with Kafka's classes ends.
    """
    compile_driver(version, FUZZ)
    start, counts = time.monotonic(), FuzzCounts()
    plans = (drawn_plan(seed, number, LENGTH) for number in itertools.count())
    shortest: dict[tuple[str, ...], FuzzDifference] = {}
    frequency: dict[tuple[str, ...], int] = {}

    def enough() -> bool:
        report(f"{version} fuzz", counts.steps, sum(frequency.values()))
        return counts.steps >= steps or counts.sequences * LENGTH >= 2 * steps

    for difference in fuzzed(version, rules, plans, counts, enough):
        frequency[difference.cause] = frequency.get(difference.cause, 0) + 1
        known = shortest.get(difference.cause, difference)
        shortest[difference.cause] = min(known, difference, key=lambda one: len(one.exchanges))
    seconds = time.monotonic() - start
    causes = []
    if shortest:
        with FuzzProcess(version) as kafka:
            for cause in sorted(shortest, key=lambda cause: -frequency[cause])[:MOST_CAUSES]:
                causes.append(_cause(shortened(kafka, version, rules, shortest[cause]), frequency[cause]))
    return FuzzRow(
        version, seed, counts.steps, counts.sequences, counts.by_request(), sum(frequency.values()), seconds,
        tuple(causes),
    )  # fmt: skip


def _cause(difference: FuzzDifference, sequences: int) -> FuzzCause:
    *before, last = difference.exchanges
    steps = [difference.begin, *(f"{exchange.request.line} -> {exchange.kafka}" for exchange in before)]
    return FuzzCause(last.request.kind, sequences, (*steps, last.request.line), last.kafka, last.model)


def fuzz_lines(row: FuzzRow, rules: str) -> list[str]:
    """The fuzz for a reader."""
    text = [
        f"Kafka {row.version} fuzz of whole controllers, seed {row.seed}: {row.steps:,} steps "
        f"in {row.sequences:,} sequences, {row.seconds:.0f} s",
    ]
    for request, answers in row.answers.items():
        counted = ", ".join(f"{name} {count:,}" for name, count in sorted(answers.items(), key=_by_count))
        text.append(f"  {request}: {counted}")
    missed = [kind for kind in REQUESTS if kind not in row.answers]
    text += [f"  not executed at all: {', '.join(missed)}"] if missed else []
    text.append(f"{rules}: {row.differing:,} sequences differ")
    for cause in row.causes:
        text.append(f"  {cause.sequences:,} in the answer to {cause.request}; the shortest that is known:")
        text += [f"    {number}. {step}" for number, step in enumerate(cause.steps)]
        text.append(f"    expected (Kafka): {cause.expected}")
        text.append(f"    actual (model):   {cause.actual}")
    if sum(cause.sequences for cause in row.causes) < row.differing:
        text.append("  and others")
    return text


def _by_count(item: tuple[str, Any]) -> Any:
    return -item[1]
