"""The benchmark of metadata logs: `python -m ci.bench --logs [--runs N] [--json FILE] [CASE ...]`."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from attrs import frozen

from ci.logs.reading import Skipped, find, read
from ci.replay import replay, tell_last

LOG = Path(__file__).parent.parent / "tests" / "captured" / "elr"
"""The log that is measured: 226 records of a real cluster, 12 partitions."""

COPIES = {"read": 200, "replay": 20, "spark": 200}
"""How many copies of it each case takes."""

CORES = 2
"""Cores of the Spark case."""


@frozen
class Row:
    """Medians of one case; seconds of one core where it has one, else of the clock."""

    case: str
    records: int
    seconds: float
    per_second_and_core: float


class UnexplainedError(AssertionError):
    """The log is not explained: nothing is measured."""


def _read(copies: int) -> int:
    log = find((LOG,))[0]
    return sum(len(batch.entries) for _ in range(copies) for batch in read(log, Skipped(0)))


def _replay(copies: int) -> int:
    log = find((LOG,))[0]
    found = [replay(log, None) for _ in range(copies)]
    if any(summary.exit_code() for summary in found):
        raise UnexplainedError(str(LOG))
    return sum(summary.records for summary in found)


def _spark(copies: int) -> int:
    from ci.logs.pipeline import replay_with_spark

    with tempfile.TemporaryDirectory(prefix="kraftcheck-") as place:
        for number in range(copies):
            shutil.copytree(LOG, Path(place, "logs", str(number)))
        work = partial(tell_last, rules=None, static=(), allow_skipped=0)
        told = replay_with_spark(find((Path(place, "logs"),)), work, Path(place, "out"), (), CORES)
    if any(one.code for one in told):
        raise UnexplainedError(str(LOG))
    return sum(int(one.document["records"]) for one in told)


CASES: dict[str, tuple[Callable[[int], int], Callable[[], float], int]] = {
    "read": (_read, time.process_time, 1),
    "replay": (_replay, time.process_time, 1),
    "spark": (_spark, time.perf_counter, CORES),
}
"""The work, the clock and the cores of each case; Spark's includes its start."""


def measured(cases: Sequence[str], runs: int) -> list[Row]:
    """Measure the cases, `read` and `replay` by default, and print the table."""
    print(f"{'case':8} {'records':>9} {'seconds':>8} {'records/s and core':>19}")
    rows = []
    for case in cases or ("read", "replay"):
        work, clock, cores = CASES[case]
        seconds, records = [], 0
        for _ in range(runs):
            begun = clock()
            records = work(COPIES[case])
            seconds.append(clock() - begun)
        median = statistics.median(seconds)
        rows.append(Row(case, records, median, records / median / cores))
        print(f"{case:8} {records:9,} {median:8.2f} {rows[-1].per_second_and_core:19,.0f}", flush=True)
    print(f"\ncopies of {LOG.name}, medians of {runs}; processor seconds, of spark seconds of the clock with its start")
    return rows
