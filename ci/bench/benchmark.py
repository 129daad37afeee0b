"""A benchmark: its cases, the rows that measuring one gives, and the table that is printed row by row."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import define, field, fields, frozen


class WrongSpaceError(AssertionError):
    """An engine found another space than the others, or than there is: nothing is measured."""


def column(title: str, form: str, scale: float = 1) -> Any:
    """A field of a row: the title of its column, the format of its numbers, and what they are divided by."""
    return field(default=None, metadata={"title": title, "form": form, "scale": scale})


def head(row: type) -> str:
    """The titles of the columns, as wide as their numbers."""
    columns = [one.metadata for one in fields(row) if "title" in one.metadata]
    return " ".join(f"{one['title']:{_width(one['form'])}}" for one in columns)


def line(row: Any) -> str:
    """A row of the table; what is not measured is left blank."""
    cells = []
    for one in fields(type(row)):
        if "title" in one.metadata:
            value, form = getattr(row, one.name), one.metadata["form"]
            scaled = value / one.metadata["scale"] if one.metadata["scale"] != 1 and value is not None else value
            cells.append(f"{'':{_width(form)}}" if value is None else f"{scaled:{form}}")
    return " ".join(cells).rstrip()


def _width(form: str) -> str:
    """Alignment and width of a format: texts stand left, numbers right."""
    digits = "".join(one for one in form.partition(".")[0] if one.isdigit())
    return f"<{digits}" if form.startswith("<") else f">{digits}"


@frozen
class Benchmark:
    """What can be measured.

    Attributes:
        row: the class of its rows, whose columns are the table's.
        cases: the names of all cases.
        measure: the rows of one case, of which each is the median of so many runs.
        default: the cases that are measured where none is named; None: all.
        note: what the table's reader must know, with `{runs}` where their number stands.
    """

    row: type
    cases: Sequence[str]
    measure: Callable[[str, int], Iterable[Any]]
    default: Sequence[str] | None = None
    note: str = ""

    def run(self, names: Sequence[str], runs: int) -> list[Any]:
        """Measure cases, and print the table as its rows come."""
        print(head(self.row))
        rows = []
        for name in names or (self.cases if self.default is None else self.default):
            for row in self.measure(name, runs):
                rows.append(row)
                print(line(row), flush=True)
        if self.note:
            print("\n" + self.note.format(runs=runs))
        return rows


@define
class Spent:
    """Seconds of the clock and of processors, those of processes that have ended too."""

    clock: float = 0.0
    processor: float = 0.0


@contextmanager
def spending() -> Iterator[Spent]:
    """Meanwhile: what is spent; to be read afterwards."""
    spent, clock, processor = Spent(), time.perf_counter(), processor_seconds()
    yield spent
    spent.clock, spent.processor = time.perf_counter() - clock, processor_seconds() - processor


def processor_seconds(who: Iterable[int] = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) -> float:
    """Seconds of processors of this process, and of those of its processes that have ended."""
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, who))


def medians(runs: Iterable[Spent]) -> tuple[float, float]:
    """The medians of seconds of the clock and of processors."""
    clock, processor = zip(*((one.clock, one.processor) for one in runs), strict=True)
    return statistics.median(clock), statistics.median(processor)


def command(words: Sequence[object], cwd: Path | None = None) -> Spent:
    """What a command takes in a process of its own; one that refutes a property has not failed.

    Raises:
        RuntimeError: when it fails, with what it says.
    """
    with spending() as spent:
        ran = subprocess.run([sys.executable, "-m", "kraftcheck", *map(str, words)], capture_output=True, text=True,
                             check=False, cwd=cwd)  # fmt: skip
    if ran.returncode not in (0, 12):
        raise RuntimeError(ran.stderr)
    return spent
