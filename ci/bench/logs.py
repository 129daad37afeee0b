"""The benchmark of metadata logs: `python -m kraftcheck.ci.bench --logs [--runs N] [--json FILE] [CASE ...]`.

The cases `million` and `ten-millions` replay a synthetic log of one cluster, `kraftcheck.ci.bench.synthetic`;
with `-spark` behind the name in one task of Spark, which writes the datasets.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from attrs import frozen

from kraftcheck.ci.bench.synthetic import SyntheticLog, SyntheticSize
from kraftcheck.ci.logs.command import replay
from kraftcheck.ci.logs.format.read import LogFiles, SkipCount, find, read
from kraftcheck.ci.logs.replaying import ReplayOptions
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.logs.explain.entries import CompactBatch
from kraftcheck.solvers.logs.explain.replay import ReplayedBatch
from kraftcheck.solvers.logs.memo.lookup import MemoisedBatch

LOG = Path(__file__).resolve().parents[2] / "tests" / "captured" / "elr"
"""The log that is measured: 226 records of a real cluster, 12 partitions."""

COPIES = {"read": 200, "replay": 20, "spark": 200}
"""How many copies of it each case takes."""

CORES = 2
"""Cores of the Spark case; a single log takes one."""


SYNTHETIC = {
    "million": SyntheticSize(records=1_000_000),
    "ten-millions": SyntheticSize(brokers=12, topics=80, partitions=25, records=10_000_000),
}
"""Clusters and lengths of the synthetic logs."""

WRITTEN = {f"{name}-spark": name for name in SYNTHETIC}
"""A synthetic log under Spark, and which."""


@frozen
class LogRow:
    """Medians of one case; seconds of one core where it has one, else of the clock.

    Attributes:
        start: seconds before, in which Spark and its workers start.
        processor: seconds of all processors meanwhile, those of Spark too.
        later: records a second of the second half of a synthetic log, when every situation has been met.
    """

    case: str
    records: int
    seconds: float
    per_second_and_core: float
    later: float | None = None
    start: float | None = None
    processor: float | None = None


class UnexplainedError(AssertionError):
    """The log is not explained: nothing is measured."""


def _captured() -> LogFiles:
    """The captured log.

    Raises:
        Refusal: where the sources are not those of a checkout, which has it among its tests.
    """
    if not LOG.is_dir():
        raise Refusal(f"no captured log at {LOG}: run this case in a checkout, or measure {', '.join(SYNTHETIC)}")
    return find((LOG,))[0]


def _read(copies: int) -> int:
    log = _captured()
    return sum(len(batch.entries) for _ in range(copies) for batch in read(log, SkipCount(0)))


def _replay(copies: int) -> int:
    log = _captured()
    summaries = [replay(log, None) for _ in range(copies)]
    if any(summary.exit_code() for summary in summaries):
        raise UnexplainedError(str(LOG))
    return sum(summary.records for summary in summaries)


def _spark(copies: int) -> int:
    from kraftcheck.ci.logs.spark.pipeline import replay_with_spark

    folder = Path(_captured().name)
    with tempfile.TemporaryDirectory(prefix="kraftcheck-") as place:
        for number in range(copies):
            shutil.copytree(folder, Path(place, "logs", str(number)))
        results = replay_with_spark(find((Path(place, "logs"),)), ReplayOptions(None), Path(place, "out"), (), CORES)
    if any(result.code for result in results):
        raise UnexplainedError(str(LOG))
    return sum(int(result.document["records"]) for result in results)


CASES: dict[str, tuple[Callable[[int], int], Callable[[], float], int]] = {
    "read": (_read, time.process_time, 1),
    "replay": (_replay, time.process_time, 1),
    "spark": (_spark, time.perf_counter, CORES),
}
"""The work, the clock and the cores of each case; Spark's includes its start."""


EVERY = (*CASES, *SYNTHETIC, *WRITTEN)
"""The names of all cases."""


def _segment(case: str, folder: Path) -> LogFiles:
    """The synthetic log of a case, written to a folder."""
    with (folder / f"{0:020}.log").open("wb") as segment:
        segment.writelines(SyntheticLog(SYNTHETIC[case]).batches())
    return find((folder,))[0]


def _synthetic(case: str, runs: int) -> LogRow:
    """A synthetic log, made once; its reading, explanation and judgement are measured."""
    seconds, later, records = [], [], 0
    with tempfile.TemporaryDirectory(prefix="kraftcheck-") as place:
        log = _segment(case, Path(place))
        for _ in range(runs):
            clock = _Halfway(SYNTHETIC[case].records // 2)
            start_time = time.process_time()
            summary = replay(log, None, observe=clock, detailed=False)
            end = time.process_time()
            if summary.exit_code():
                raise UnexplainedError(case)
            records = summary.records
            seconds.append(end - start_time)
            later.append((records - clock.records) / (end - clock.at))
    median = statistics.median(seconds)
    return LogRow(case, records, median, records / median, statistics.median(later))


def _written(case: str, runs: int) -> LogRow:
    """Seconds of the clock, and apart from them those in which Spark's session and workers start."""
    from kraftcheck.ci.bench.spark import processor_time
    from kraftcheck.ci.logs.spark.pipeline import replay_with_spark

    seconds, starts, busy, records = [], [], [], 0
    with tempfile.TemporaryDirectory(prefix="kraftcheck-") as place, processor_time() as processor:
        logs = Path(place, "log")
        logs.mkdir()
        log = _segment(WRITTEN[case], logs)
        for run in range(runs):
            readings: list[tuple[float, float]] = []
            start_time, out = time.perf_counter(), Path(place, f"out-{run}")
            (result,) = replay_with_spark([log], ReplayOptions(None), out, (), 1, partial(_note, readings, processor))
            _note(readings, processor)
            (ready_time, before), (end, after) = readings
            seconds.append(end - ready_time)
            starts.append(ready_time - start_time)
            busy.append(after - before)
            if result.code:
                raise UnexplainedError(case)
            records = int(result.document["records"])
    median = statistics.median(seconds)
    start, processor_seconds = statistics.median(starts), statistics.median(busy)
    return LogRow(case, records, median, records / median, start=start, processor=processor_seconds)


def _note(readings: list[tuple[float, float]], processor: Callable[[], float]) -> None:
    """Note both clocks."""
    readings.append((time.perf_counter(), processor()))


class _Halfway:
    """Notes the processor's time at which so many records are replayed."""

    def __init__(self, half: int) -> None:
        self.records, self.at, self._half = 0, 0.0, half

    def __call__(self, replayed: ReplayedBatch | MemoisedBatch) -> None:
        """Count one more batch."""
        if not self.at:
            batch = replayed.batch
            self.records += len(batch if isinstance(batch, CompactBatch) else batch.entries)
            if self.records >= self._half:
                self.at = time.process_time()


def measure_cases(cases: Sequence[str], runs: int) -> list[LogRow]:
    """Measure the cases, `read` and `replay` by default, and print the table."""
    head = f"{'case':12} {'records':>10} {'seconds':>8} {'records/s and core':>19} {'second half':>12} "
    print(f"{head}{'start':>6} {'CPU s':>7}")
    rows = []
    for case in cases or ("read", "replay"):
        if case in SYNTHETIC or case in WRITTEN:
            rows.append(_synthetic(case, runs) if case in SYNTHETIC else _written(case, runs))
            _tell(rows[-1])
            continue
        replay_copies, clock, cores = CASES[case]
        seconds, records = [], 0
        for _ in range(runs):
            start_time = clock()
            records = replay_copies(COPIES[case])
            seconds.append(clock() - start_time)
        median = statistics.median(seconds)
        rows.append(LogRow(case, records, median, records / median / cores))
        _tell(rows[-1])
    print(f"\ncopies of {LOG.name}, or synthetic; medians of {runs}; processor seconds, of spark seconds of the clock "
          "after its start, of the case spark with it")  # fmt: skip
    return rows


def _tell(row: LogRow) -> None:
    later = "" if row.later is None else f"{row.later:,.0f}"
    start, busy = ("" if value is None else f"{value:.1f}" for value in (row.start, row.processor))
    text = f"{row.case:12} {row.records:10,} {row.seconds:8.2f} {row.per_second_and_core:19,.0f} {later:>12} {start:>6}"
    text += f" {busy:>7}"
    print(text.rstrip(), flush=True)
