"""The benchmark of the Spark engine: `python -m kraftcheck.ci.bench --spark [CASE ...]`.

Explores each case natively and under Spark in one run of the machine, so that
their ratio means something even where seconds do not, and prints the machine's
load beside.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from kraftcheck.ci.bench.disk import WrongSpaceError
from kraftcheck.ci.dataset.decoding import decoding
from kraftcheck.ci.dataset.search.bounds import HANDOVER, Bounds
from kraftcheck.ci.dataset.search.compaction import MOST_PARTS, Compaction
from kraftcheck.ci.dataset.search.run import DatasetRun
from kraftcheck.ci.dataset.store.commits import CommitLog, identity
from kraftcheck.ci.dataset.store.digests import check_locally
from kraftcheck.ci.dataset.store.lease import lease_on
from kraftcheck.ci.spark.backward.search import SparkBackward
from kraftcheck.ci.spark.explore import check_on
from kraftcheck.ci.spark.jobs import SparkCluster
from kraftcheck.ci.spark.session import ATTEMPTS, start_session
from kraftcheck.ci.spark.small import SMALL as SMALL_LEVEL
from kraftcheck.ci.systems.subject import Subject, program, subject
from kraftcheck.solvers.blocks.kernel import block_spec
from kraftcheck.solvers.blocks.tasks import load_block_kernel
from kraftcheck.solvers.exploration.explore import explore
from kraftcheck.solvers.machine_code.compile import load_kernel
from kraftcheck.solvers.machine_code.objectcache import ObjectCache

BUCKET_BITS = 6
SMALL = 20_000
"""A level with fewer states measures the fixed cost of a level."""


@frozen
class SparkCase:
    """What to explore with both engines.

    Attributes:
        name: as on the command line.
        system, scope, rules: what is explored.
        handover: states of the first level left to Spark.
        cores: how many, in turn.
        conf: settings of Spark's.
        small: levels with fewer states are expanded in the driver.
        memory: bytes that the arcs of the backward search may take in the driver; None: it is left out.
        most: parts of the visited states, above which old levels are merged.
    """

    name: str
    system: str
    scope: str
    rules: str
    handover: int = HANDOVER
    cores: tuple[int, ...] = (2,)
    conf: Mapping[str, str] = field(factory=lambda: {"spark.driver.memory": "1g"})
    small: int = 0
    memory: int | None = 1 << 30
    most: int = MOST_PARTS


CASES = (
    SparkCase("fixed-cost", "elections", "tiny", "kafka-4.0", handover=0),
    SparkCase("small-levels", "elections", "tiny", "kafka-4.0", handover=0, small=SMALL_LEVEL),
    SparkCase("one-million", "elections", "directories", "kafka-4.0", handover=20_000, cores=(1, 2)),
    SparkCase("two-million", "elections", "default", "fixed", handover=20_000),
    SparkCase("without-merges", "elections", "default", "fixed", handover=20_000, most=1 << 30),
    SparkCase("rounds-of-jobs", "elections", "directories", "kafka-4.0", handover=20_000, memory=0),
    SparkCase("twenty-five-million", "elections", "default", "kafka-4.0", small=SMALL_LEVEL, memory=2 << 30),
    SparkCase("beyond-memory", "replication", "one-crash", "fixed", conf={"spark.driver.memory": "480m"}),
)
DEFAULT_CASES = ("fixed-cost", "small-levels", "one-million", "two-million", "twenty-five-million")


@frozen
class SparkRow:
    """One run of one engine."""

    case: str
    engine: str
    cores: int
    distinct: int
    generated: int
    depth: int
    seconds: float
    levels: int = 0
    level_seconds: float = 0.0
    shuffled: float = 0.0
    spilled: float = 0.0
    disk: float = 0.0
    packed: int = 0
    peak: int = 0
    load: float = 0.0
    check_seconds: float = 0.0
    backward_seconds: float = 0.0


def children(of: int) -> Iterator[int]:
    """All processes below one."""
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
            if parent == of:
                yield int(place.name)
                yield from children(int(place.name))


def resident(process: int) -> int:
    """Bytes of a process in memory; 0 once it has ended."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


@contextmanager
def peak_memory() -> Iterator[Callable[[], int]]:
    """Meanwhile, the most memory that the processes below this one (the JVM and its workers) took together."""
    ended, peak = threading.Event(), [0]

    def watch() -> None:
        while not ended.wait(0.5):
            peak[0] = max(peak[0], sum(resident(child) for child in set(children(os.getpid()))))

    watcher = threading.Thread(target=watch, name="memory", daemon=True)
    watcher.start()
    try:
        yield lambda: peak[0]
    finally:
        ended.set()
        watcher.join()


def processor(process: int) -> float:
    """Seconds that a process has had a processor; 0 once it has ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def processor_time() -> Iterator[Callable[[], float]]:
    """Meanwhile, the seconds that this process and those below it have had processors, those that have ended too."""
    ended = threading.Event()
    seconds: dict[int, float] = {}

    def total() -> float:
        for process in {os.getpid(), *children(os.getpid())}:
            seconds[process] = max(seconds.get(process, 0.0), processor(process))
        return sum(seconds.values())

    def watch() -> None:
        while not ended.wait(0.5):
            total()

    watcher = threading.Thread(target=watch, name="processor", daemon=True)
    watcher.start()
    try:
        yield total
    finally:
        ended.set()
        watcher.join()


def native(case: SparkCase, chosen: Subject, cores: int, cache: Path) -> SparkRow:
    """The native engine on a case."""
    result = explore(
        program(chosen), clock=time.perf_counter, threads=cores, cache_dir=cache, keep=False, memory=12 << 30
    )
    load = os.getloadavg()[0]
    return SparkRow(
        case.name, "native", cores, result.distinct, result.generated, result.depth, result.seconds, load=load,
        backward_seconds=result.recoverability.seconds,
    )  # fmt: skip


def embedded(cores: int, conf: Mapping[str, str], log: Path) -> Any:
    """A session whose tasks run in processes of the driver's."""
    return start_session(f"local[{cores},{ATTEMPTS}]", cores, conf, log, schedules_only=True)


def spark(
    case: SparkCase, chosen: Subject, cores: int, cache: Path, use: Callable[[DatasetRun], None] = lambda run: None,
    start_on: Callable[[int, Mapping[str, str], Path], Any] = embedded,
) -> SparkRow:  # fmt: skip
    """The Spark engine on a case; a warm session, as the first level would else be charged with its start."""
    traced = program(chosen)
    kernel, spec = load_kernel(traced, cache), block_spec(traced, BUCKET_BITS, ObjectCache(cache))
    with tempfile.TemporaryDirectory(prefix="kraftcheck-bench-") as place, peak_memory() as peak, _log(place) as log:
        log.begin(identity(chosen, traced, BUCKET_BITS), decoding(traced))
        session = start_on(cores, case.conf, Path(place) / "spark.log")
        try:
            session.range(0, cores, 1, cores).mapInArrow(lambda batches: batches, "id bigint").collect()
            bounds = Bounds(case.handover, 4 << 30, cores)
            run = DatasetRun(kernel, load_block_kernel(spec), log, bounds, threading.Event(), lambda *_: None)
            start = time.perf_counter()
            run.start()
            cluster = SparkCluster.of(session, spec, Path(place) / "spark.log", case.small)
            run.expand(cluster, Compaction(log, spec.words, cluster.merge, run.stop, case.most))
            seconds = time.perf_counter() - start
            if case.memory is not None:
                backward = SparkBackward(cluster, log, run.commits, traced, case.memory, lambda *_: None)
                run.search_backward(lambda: backward.run(run.stop))
            use(run)
            start = time.perf_counter()
            commits = log.commits()
            if not check_locally(log, commits):
                check_on(session, log, commits, Path(place) / "spark.log")
            check_seconds = time.perf_counter() - start
        finally:
            session.stop()
        return evolve(_row(case, run, cores, seconds, peak()), check_seconds=check_seconds,
                      backward_seconds=run.recoverability.seconds)  # fmt: skip


@contextmanager
def _log(place: str) -> Iterator[CommitLog]:
    with lease_on(Path(place)) as lease:
        yield CommitLog(Path(place), lease)


def _row(case: SparkCase, run: DatasetRun, cores: int, seconds: float, peak: int) -> SparkRow:
    costs = [level.cost for level in run.commits if level.engine == "spark"]
    sizes = [run.commits[level.depth - 1].rows + level.rows for level in run.commits if level.engine == "spark"]
    small = [cost["seconds"] for cost, size in zip(costs, sizes, strict=True) if size < SMALL]
    return SparkRow(
        case.name, "spark", cores, run.distinct, run.generated, len(run.levels) - 1, seconds, len(costs),
        statistics.median(small) if small else 0.0, sum(cost["shuffled"] for cost in costs),
        sum(cost["spilled"] for cost in costs), run.bytes_in_use() / max(1, run.distinct),
        8 * run.blocks.spec.words * run.distinct, peak, os.getloadavg()[0],
    )  # fmt: skip


HEADER = (
    f"{'case':20} {'engine':7} {'cores':>5} {'distinct':>12} {'generated':>13} {'seconds':>8} {'M gen./s':>9} "
    f"{'of native':>9} {'levels':>6} {'s/level':>7} {'shuffled':>10} {'spilled':>9} {'B/state':>7} {'visited':>9} "
    f"{'peak':>9} {'load':>5} {'check':>6} {'back s':>7} {'ratio':>5}"
)


def line(row: SparkRow, native_row: SparkRow) -> str:
    """A row of the table; megabytes; the share of the native engine's rate with as many threads."""
    mega = [f"{value / 1e6:,.0f}" for value in (row.shuffled, row.spilled, row.packed, row.peak)]
    text = (
        f"{row.case:20} {row.engine:7} {row.cores:5} {row.distinct:12,} {row.generated:13,} {row.seconds:8.1f} "
        f"{row.generated / row.seconds / 1e6:9.2f}"
    )
    if row.engine == "native":
        back = f"{row.backward_seconds:7.1f} {row.backward_seconds / row.seconds:5.2f}"
        return f"{text} {'':9} {'':6} {'':7} {'':10} {'':9} {'':7} {'':9} {'':9} {row.load:5.1f} {'':6} {back}"
    return (
        f"{text} {native_row.seconds / row.seconds:9.2f} {row.levels:6} {row.level_seconds:7.2f} {mega[0]:>10} "
        f"{mega[1]:>9} {row.disk:7.1f} {mega[2]:>9} {mega[3]:>9} {row.load:5.1f} {row.check_seconds:6.2f} "
        f"{row.backward_seconds:7.1f} {row.backward_seconds / row.seconds:5.2f}"
    )


def measure(names: Sequence[str]) -> list[SparkRow]:
    """Measure cases (the default ones for none) and print a table as they come.

    Raises:
        WrongSpaceError: when the engines differ in distinct, generated or depth.
    """
    print(HEADER)
    rows = []
    with tempfile.TemporaryDirectory(prefix="kraftcheck-cache-") as cache:
        for case in CASES:
            if case.name not in (names or DEFAULT_CASES):
                continue
            chosen = subject(case.system, case.scope, {}, case.rules)
            for cores in case.cores:
                pair = [engine(case, chosen, cores, Path(cache)) for engine in (native, spark)]
                if len({(row.distinct, row.generated, row.depth) for row in pair}) != 1:
                    raise WrongSpaceError(f"{case.name}: {pair}")
                for row in pair:
                    print(line(row, pair[0]), flush=True)
                rows += pair
    print(
        "\nshuffled, spilled, visited (packed) and peak (JVM and workers) in MB; s/level: median of levels with fewer "
        f"than {SMALL:,} states; check: seconds to open the dataset and compare all digests; "
        "back s: of the backward search, and its ratio to the forward one"
    )
    return rows
