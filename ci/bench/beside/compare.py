"""The benchmark beside other checkers: `python -m kraftcheck.ci.bench --beside [MANAGERS ...]`.

Each explores two-phase commit, on one thread and on two. Ratios are those of the seconds of the search.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from kraftcheck.ci.bench.beside.checkers import CHECKERS
from kraftcheck.ci.bench.beside.process import Checker, Found, MissingToolError
from kraftcheck.ci.bench.wrong_space import WrongSpaceError

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

    checker: str
    managers: int
    threads: int
    states: int
    seconds: float
    processor_seconds: float
    bytes_per_state: float
    times: float


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


def measure_cases(cases: Sequence[str], runs: int, checkers: Sequence[Checker] = CHECKERS) -> list[BesideRow]:
    """Measure and print; checkers that are not on this machine are named at the end."""
    print(HEADER)
    rows, missing = list[BesideRow](), dict[str, None]()
    for managers in cases or list(STATES)[-1:]:
        for threads in THREADS:
            first: float | None = None
            for checker in checkers:
                try:
                    found = [explored(checker, managers, threads) for _ in range(runs)]
                except MissingToolError as error:
                    missing[str(error)] = None
                    continue
                rows.append(row := _row(checker, managers, threads, found, first))
                first = row.seconds if first is None else first
                print(line(row), flush=True)
    for text in missing:
        print(f"missing: {text}")
    return rows


HEADER = (
    f"{'checker':12}{'managers':>9}{'threads':>8}{'states':>12}"
    f"{'search s':>10}{'CPU s':>9}{'bytes/state':>12}{'times':>8}"
)


def line(row: BesideRow) -> str:
    """A row of the table."""
    return (
        f"{row.checker:12}{row.managers:9}{row.threads:8}{row.states:12,}{row.seconds:10.2f}"
        f"{row.processor_seconds:9.2f}{row.bytes_per_state:12.1f}{row.times:8.1f}"
    )


def _row(checker: Checker, managers: str, threads: int, found: Sequence[Found], first: float | None) -> BesideRow:
    seconds = statistics.median(one.seconds for one in found)
    peak = statistics.median(one.ran.peak for one in found)
    states = found[0].states
    return BesideRow(
        checker.name, int(managers), threads, states, seconds,
        statistics.median(one.ran.processor_seconds for one in found), peak / states, seconds / (first or seconds),
    )  # fmt: skip
