"""The benchmark of questions about a space: `python -m kraftcheck.ci.bench --query [CASE ...]`.

A dataset is made natively, then each question is a command of its own, so that its start counts too.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from attrs import frozen

from kraftcheck.ci.bench.benchmark import Benchmark, column, command, medians

CASES: Mapping[str, tuple[str, ...]] = {
    "two-million": ("elections", "--rules", "fixed"),
    "twenty-five-million": ("elections", "--rules", "kafka-4.0"),
}
QUESTIONS: Mapping[str, str] = {
    "one level": "SELECT count(*) FROM states WHERE depth = 3",
    "all states": "SELECT depth, count(*) FROM states WHERE leader < 0 GROUP BY depth",
    "a few transitions": "SELECT count(*) FROM transitions WHERE depth = 1 AND leader < 0",
    "one level's transitions": "SELECT action, count(*) FROM transitions WHERE depth = 3 GROUP BY action",
}


@frozen
class QueryRow:
    """A question: median seconds of the clock and of processors, from the start of its command to its end."""

    case: str = column("case", "<20")
    question: str = column("question", "<24")
    seconds: float = column("seconds", "8.2f")
    processor: float = column("processor", "10.2f")
    load: float = column("load", "6.1f")


def measure(case: str, runs: int) -> Iterator[QueryRow]:
    """The medians of each question about one space."""
    with tempfile.TemporaryDirectory(prefix="kraftcheck-bench-") as place:
        out = Path(place) / "out"
        command(("explore", *CASES[case], "--engine", "disk", "--handover", 10**12, "--quiet", "--out", out))
        for question, sql in QUESTIONS.items():
            spent = medians(command(("query", out, sql)) for _ in range(runs))
            yield QueryRow(case, question, *spent, os.getloadavg()[0])


BENCHMARK = Benchmark(
    QueryRow, tuple(CASES), measure, default=tuple(CASES)[:1]
)
