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
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from kraftcheck.ci.bench.benchmark import Benchmark, WrongSpaceError, column
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
    """One run of one engine; of the native one only what both have.

    Attributes:
        rate: transitions a second.
        share: of the native engine's rate with as many threads.
        levels, level_seconds: levels by Spark, and the median seconds of those with few states.
        shuffled, spilled, packed, peak: bytes: through the shuffle, to disks, of the visited states, and the most that
            the JVM and its workers took.
        disk: bytes a state in files.
        check_seconds: to open the dataset and compare all digests.
        ratio: of the backward search's seconds to the forward one's.
    """

    case: str = column("case", "<20")
    engine: str = column("engine", "<7")
    cores: int = column("cores", "5")
    distinct: int = column("distinct", "12,")
    generated: int = column("generated", "13,")
    depth: int = column("depth", "5")
    seconds: float = column("seconds", "8.1f")
    rate: float = column("M gen./s", "9.2f", 1e6)
    share: float | None = column("of native", "9.2f")
    levels: int | None = column("levels", "6")
    level_seconds: float | None = column("s/level", "7.2f")
    shuffled: float | None = column("shuffled", "10,.0f", 1e6)
    spilled: float | None = column("spilled", "9,.0f", 1e6)
    disk: float | None = column("B/state", "7.1f")
    packed: int | None = column("visited", "9,.0f", 1e6)
    peak: int | None = column("peak", "9,.0f", 1e6)
    load: float = column("load", "5.1f")
    check_seconds: float | None = column("check", "6.2f")
    backward_seconds: float = column("back s", "7.1f")
    ratio: float = column("ratio", "5.2f")


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
    seconds, backward = result.seconds, result.recoverability.seconds
    return SparkRow(
        case.name, "native", cores, result.distinct, result.generated, result.depth, seconds,
        result.generated / seconds, load=os.getloadavg()[0], backward_seconds=backward, ratio=backward / seconds,
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
        return evolve(_row(case, run, cores, seconds, peak()), check_seconds=check_seconds)


@contextmanager
def _log(place: str) -> Iterator[CommitLog]:
    with lease_on(Path(place)) as lease:
        yield CommitLog(Path(place), lease)


def _row(case: SparkCase, run: DatasetRun, cores: int, seconds: float, peak: int) -> SparkRow:
    costs = [level.cost for level in run.commits if level.engine == "spark"]
    sizes = [run.commits[level.depth - 1].rows + level.rows for level in run.commits if level.engine == "spark"]
    small = [cost["seconds"] for cost, size in zip(costs, sizes, strict=True) if size < SMALL]
    backward = run.recoverability.seconds
    return SparkRow(
        case.name, "spark", cores, run.distinct, run.generated, len(run.levels) - 1, seconds, run.generated / seconds,
        levels=len(costs), level_seconds=statistics.median(small) if small else 0.0,
        shuffled=sum(cost["shuffled"] for cost in costs), spilled=sum(cost["spilled"] for cost in costs),
        disk=run.bytes_in_use() / max(1, run.distinct), packed=8 * run.blocks.spec.words * run.distinct, peak=peak,
        load=os.getloadavg()[0], backward_seconds=backward, ratio=backward / seconds,
    )  # fmt: skip


def measure(name: str, runs: int) -> Iterator[SparkRow]:
    """One run of both engines on one case for each number of cores, whatever the number of runs.

    Raises:
        WrongSpaceError: when the engines differ in distinct, generated or depth.
    """
    case = next(case for case in CASES if case.name == name)
    chosen = subject(case.system, case.scope, {}, case.rules)
    with tempfile.TemporaryDirectory(prefix="kraftcheck-cache-") as cache:
        for cores in case.cores:
            pair = [engine(case, chosen, cores, Path(cache)) for engine in (native, spark)]
            if len({(row.distinct, row.generated, row.depth) for row in pair}) != 1:
                raise WrongSpaceError(f"{case.name}: {pair}")
            yield pair[0]
            yield evolve(pair[1], share=pair[0].seconds / pair[1].seconds)


BENCHMARK = Benchmark(
    SparkRow, tuple(case.name for case in CASES), measure, DEFAULT_CASES,
    "one run each; shuffled, spilled, visited (packed) and peak (JVM and workers) in MB; s/level: median of levels "
    f"with fewer than {SMALL:,} states; check: seconds to open the dataset and compare all digests; back s: of the "
    "backward search, and its ratio to the forward one",
)  # fmt: skip
