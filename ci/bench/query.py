"""The benchmark of questions about a space: `python -m kraftcheck.ci.bench --query [CASE ...]`.

A dataset is made natively, then each question is a command of its own, so that its start counts too.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import frozen

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

    case: str
    question: str
    seconds: float
    processor: float
    load: float


def command(*words: object) -> tuple[float, float]:
    """Seconds and processor seconds of a command; those that refute a property are no failure."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    ran = subprocess.run(
        [sys.executable, "-m", "kraftcheck.ci.main", *map(str, words)], capture_output=True, text=True, check=False
    )
    if ran.returncode not in (0, 12):
        raise RuntimeError(ran.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - start, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured(cases: Sequence[str], runs: int) -> list[QueryRow]:
    """Measure the cases, the first by default, and print the table."""
    print(f"{'case':20} {'question':24} {'seconds':>8} {'processor':>10} {'load':>6}")
    rows = []
    for case in cases or tuple(CASES)[:1]:
        with tempfile.TemporaryDirectory(prefix="kraftcheck-bench-") as place:
            out = Path(place) / "out"
            command("explore", *CASES[case], "--engine", "disk", "--handover", 10**12, "--quiet", "--out", out)
            for question, sql in QUESTIONS.items():
                times = [command("query", out, sql) for _ in range(runs)]
                seconds, processor = (statistics.median(column) for column in zip(*times, strict=True))
                rows.append(QueryRow(case, question, seconds, processor, os.getloadavg()[0]))
                print(f"{case:20} {question:24} {seconds:8.2f} {processor:10.2f} {rows[-1].load:6.1f}", flush=True)
    return rows
