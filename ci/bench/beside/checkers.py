"""The checkers that the benchmark compares: this one, SPIN, Stateright and TLC."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from attrs import frozen

from kraftcheck.ci.bench.beside.process import Checker, Found, MissingToolError, Ran, need, run
from kraftcheck.ci.bench.beside.tlc import tlc_jar
from kraftcheck.ci.terminal.machine import cache_folder

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
