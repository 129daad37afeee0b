"""How commands are timed beside each other: each is a process of its own, which is seen from outside.

A case is a list of contenders. What they say of what they found has to agree; what they took is told in medians.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from attrs import field, frozen

from kraftcheck.ci.terminal.interrupts import descendants
from kraftcheck.ci.terminal.machine import process_status, processor_seconds
from kraftcheck.ci.terminal.refusal import Refusal

Figures: TypeAlias = Mapping[str, float]
"""What a process took and said, by name.

`seconds` of the clock, `processor` seconds of all processors, those of `java` among them, `peak` bytes of memory,
`kept` bytes in its folder, `load` of the machine; and the numbers of its document, their keys joined by dots. Those in
the entries of a list or of a numbered table are added up, and its own name has how many there are.
"""

ENDS = frozenset({0, 10, 12, 13, 14, 20, 21, 22})
"""Exit codes of commands that did what they were asked to, whatever the verdict."""


class WrongSpaceError(AssertionError):
    """Something found another space than the others, or than there is: nothing is measured."""


class MissingToolError(Exception):
    """A program that cannot be run here; the message names it and the mend."""


@frozen
class Contender:
    """A command that is timed."""

    name: str
    # those of `kraftcheck`, or what makes a whole command in an empty folder; `{out}` is a folder of its own, `{place}`
    # that of the case
    words: Sequence[str] | Callable[[Path], Sequence[str]]
    # a pattern by the name of each figure that is read from its output; none: it prints a JSON document
    told: Mapping[str, str] = field(factory=dict)
    at_once: int = 1  # how many processes of it run at the same time, each on a processor of its own

    def command(self, folder: Path, place: Path) -> list[str]:
        """The command in a folder; raises MissingToolError for a program that is not on this machine."""
        own = [sys.executable, "-m", "kraftcheck"]
        words = self.words(folder) if callable(self.words) else [*own, *self.words]
        return [one.replace("{out}", str(folder / "out")).replace("{place}", str(place)) for one in words]


@frozen
class Contest:
    """What is timed beside each other."""

    contenders: Sequence[Contender]  # the first is what the others are compared with
    states: int | None = None  # the distinct states that each has to find; None: they have to agree
    # what is made once for all of them, in the folder of the case
    before: Callable[[Path], object] = lambda place: None


@frozen
class Figure:
    """A column of the table: its title, the format of its numbers, and which figure it shows."""

    title: str
    form: str
    figure: str
    by: str = ""  # the figure that it is divided by, if any
    times: bool = False  # whether it is divided by the same of the first contender
    scale: float = 1  # what it is divided by

    def value(self, own: Figures, first: Figures) -> float | None:
        """The number; None where it was not measured."""
        if self.times:
            mine, its = (Figure("", "", self.figure, self.by).value(figures, figures) for figures in (own, first))
            return None if mine is None or not its else mine / its
        number, divisor = own.get(self.figure), own.get(self.by, 0.0) if self.by else 1.0
        return None if number is None or not divisor else number / divisor / self.scale

    @property
    def width(self) -> int:
        """How wide it is."""
        return max(len(self.title), int(re.match(r"\d+", self.form)[0]))  # type: ignore[index]


@frozen
class Benchmark:
    """What can be measured."""

    about: str  # what it is, in a line
    columns: Sequence[Figure]  # of the table, behind case and contender
    cases: Mapping[str, Contest]  # by name
    same: Sequence[str] = ()  # the figures in which contenders of a case have to agree
    default: Sequence[str] = ()  # the cases that are measured where none is named; none: all
    note: str = ""  # what the table's reader must know, with `{runs}` where their number stands

    def run(self, names: Sequence[str], runs: int) -> list[dict[str, Any]]:
        """Measure cases, and print the table as its rows come; a program that is missing is named."""
        print(f"{'case':<22}{'':<13}{' '.join(f'{one.title:>{one.width}}' for one in self.columns)}")
        rows = []
        for name in names or self.default or self.cases:
            for row in self.rows(name, runs):
                rows.append(row)
                cells = (_cell(one, row[one.title]) for one in self.columns)
                print(f"{name:<22}{row['contender']:<13}{' '.join(cells)}".rstrip(), flush=True)
        if self.note:
            print("\n" + self.note.format(runs=runs))
        return rows

    def rows(self, name: str, runs: int) -> Iterator[dict[str, Any]]:
        """The rows of a case; raises WrongSpaceError when two runs differ, RuntimeError for a command that fails."""
        case, found, missing = self.cases[name], list[Figures](), set[str]()
        first: Figures | None = None
        with tempfile.TemporaryDirectory(prefix="kraftcheck-bench-") as place:
            case.before(Path(place))
            for one in case.contenders:
                try:
                    mine = [figures for _ in range(runs) for figures in figures_of(one, Path(place))]
                except MissingToolError as error:
                    if str(error) not in missing:
                        print(f"missing: {error}")
                    missing.add(str(error))
                    continue
                found += mine
                self._check(name, case, found)
                shown = {key: statistics.median(each[key] for each in mine) for key in mine[0]}
                first = shown if first is None else first
                yield {"case": name, "contender": one.name, **{c.title: c.value(shown, first) for c in self.columns}}

    def _check(self, name: str, case: Contest, found: Sequence[Figures]) -> None:
        for key in self.same:
            numbers = {figures[key] for figures in found if key in figures}
            wanted = {case.states} if case.states is not None and key == self.same[0] else numbers
            if len(numbers) > 1 or numbers - wanted:
                told = " and ".join(f"{number:,.0f}" for number in sorted(numbers))
                raise WrongSpaceError(f"{name}: {key} is {told} instead of {wanted}")


def _cell(column: Figure, value: float | None) -> str:
    form = f">{column.width}{column.form.lstrip('0123456789')}"
    return " " * column.width if value is None else f"{value:{form}}"


def figures_of(one: Contender, place: Path) -> list[Figures]:
    """What a contender took and said; raises MissingToolError, Refusal for few processors, RuntimeError for a fault."""
    processors = sorted(os.sched_getaffinity(0))
    if one.at_once > len(processors):
        raise Refusal(f"{one.at_once} commands at the same time need as many processors, and there is one")
    with tempfile.TemporaryDirectory(prefix="kraftcheck-bench-") as folder:
        started = []
        try:
            for number in range(one.at_once):
                own = Path(folder, str(number))
                own.mkdir()
                if one.at_once > 1:
                    os.sched_setaffinity(0, {processors[number]})
                started.append(WatchedProcess.start(one.command(own, place), own))
        finally:
            os.sched_setaffinity(0, processors)
        taken = [process.ended() for process in started]
        return [figures | said(process, one.told) for process, figures in zip(started, taken, strict=True)]


@frozen
class WatchedProcess:
    """A process that was started, and who watches it: what each process below it took."""

    process: subprocess.Popen[bytes]
    folder: Path
    begun: float
    watched: Callable[[], dict[str, float]]
    stack: Any

    @classmethod
    def start(cls, words: Sequence[str], folder: Path) -> WatchedProcess:
        """Start a command in a folder."""
        with (folder / "output.txt").open("wb") as output, (folder / "errors.txt").open("wb") as errors:
            begun = time.perf_counter()
            process = subprocess.Popen(words, cwd=folder, stdout=output, stderr=errors)
        stack = watching(process.pid)
        return cls(process, folder, begun, stack.__enter__(), stack)

    def text(self) -> str:
        """All that it has written."""
        return "".join((self.folder / name).read_text("utf-8", "replace") for name in ("output.txt", "errors.txt"))

    def ended(self) -> dict[str, float]:
        """What it took, once it has ended; raises RuntimeError when it fails, with the end of what it says."""
        _, status, used = os.wait4(self.process.pid, 0)
        seconds = time.perf_counter() - self.begun
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.stack.__exit__(None, None, None)
        if self.process.returncode not in ENDS:
            text = self.text()[-1000:]
            raise RuntimeError(f"{self.process.args!s:.300} ended with {self.process.returncode}: {text}")
        below = self.watched()
        kept = sum(path.stat().st_size for path in (self.folder / "out").rglob("*") if path.is_file())
        return {
            "seconds": seconds, "processor": max(used.ru_utime + used.ru_stime, below["processor"]),
            "java": below["java"], "peak": max(1024 * used.ru_maxrss, below["peak"]), "kept": kept,
            "load": os.getloadavg()[0],
        }  # fmt: skip


def said(process: WatchedProcess, told: Mapping[str, str]) -> dict[str, float]:
    """The figures that a process tells of; raises RuntimeError where its output has none."""
    text = process.text()
    if not told:
        output = (process.folder / "output.txt").read_text(encoding="utf-8")
        return numbers(json.loads(output)) if output.startswith("{") else {}
    found = {name: re.search(pattern, text) for name, pattern in told.items()}
    if missing := [told[name] for name, match in found.items() if match is None]:
        raise RuntimeError(f"no {missing[0]!r} in the output: {text[-1000:]}")
    return {name: float(match[1].replace(",", "")) for name, match in found.items() if match is not None}


def numbers(document: Any, name: str = "") -> dict[str, float]:
    """The numbers in a document, as `Figures` have them."""
    if isinstance(document, int | float) and not isinstance(document, bool):
        return {name: document}
    if isinstance(document, dict) and not all(key.isdigit() for key in document):
        parts = (numbers(value, f"{name}.{key}" if name else key) for key, value in document.items())
        return dict(itertools.chain.from_iterable(part.items() for part in parts))
    if not isinstance(document, dict | list):
        return {}
    entries = [*document.values()] if isinstance(document, dict) else document
    added: dict[str, float] = {}
    for entry in entries if all(isinstance(one, dict) for one in entries) else ():
        for key, value in numbers(entry, name).items():
            added[key] = added.get(key, 0) + value
    return {name: len(entries), **added}


@contextmanager
def watching(process: int) -> Iterator[Callable[[], dict[str, float]]]:
    """Meanwhile: what a process and those below it take, those that have ended too; to be read at any time."""
    ended, seconds, peak = threading.Event(), dict[int, tuple[float, str]](), [0]

    def look() -> None:
        tree = {process, *descendants(process)}
        peak[0] = max(peak[0], sum(map(resident, tree)))
        for one in tree:
            took, name = processor(one)
            seconds[one] = max(seconds.get(one, (0.0, "")), (took, name))

    def watch() -> None:
        while not ended.wait(0.5):
            look()

    def read() -> dict[str, float]:
        java = sum(took for took, name in seconds.values() if name == "java")
        return {"processor": sum(took for took, _ in seconds.values()), "java": java, "peak": peak[0]}

    watcher = threading.Thread(target=watch, name="watcher", daemon=True)
    watcher.start()
    try:
        yield read
    finally:
        ended.set()
        watcher.join()


def resident(process: int) -> int:
    """Bytes of a process in memory; 0 once it has ended."""
    fields = process_status(process)
    return int(fields[23]) * os.sysconf("SC_PAGE_SIZE") if fields else 0


def processor(process: int) -> tuple[float, str]:
    """Seconds that a process has had a processor, and its name; 0 once it has ended."""
    fields = process_status(process)
    return (processor_seconds(fields), fields[1]) if fields else (0.0, "")


def contenders(words: Iterable[str], **others: Iterable[str]) -> list[Contender]:
    """Contenders that add some words each to the words of one command, by name; `_` in a name stands for a space."""
    return [Contender(name.replace("_", " "), (*words, *added)) for name, added in others.items()]
