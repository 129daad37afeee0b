"""The rows of `kraftcheck check`, one after another or in several processes: their time is Python's for the most part.

What is shown comes in the order of the rows, whichever was ready first.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

from attrs import define, evolve, field

from kraftcheck.ci.terminal import time_limit
from kraftcheck.ci.terminal.interrupts import Interrupted, Stop, announce, descendants, stop_requested
from kraftcheck.ci.terminal.progress import progress_tally, stop_flag
from kraftcheck.ci.verdicts.row import ExploredRow, RowOptions, RowPart, row_parts
from kraftcheck.properties.register.proofs import ANY_NUMBER, LONG
from kraftcheck.properties.register.verdicts import EXPECTED, Row

STOP_SECONDS = 1.0
"""How long a lost process waits to be explained by a stop."""

Show = Callable[[RowPart], None]
"""Called with each part of each row, in their order."""


class LostRow(RuntimeError):
    """A row of which no verdict, or not every verdict, came back from the process that checked it."""


def check_rows(rows: Sequence[Row], planned: Collection[Row], options: RowOptions, show: Show) -> None:
    """Check rows with as many workers as the budget has, up to the moment at which the work is stopped.

    Args:
        rows: in the order in which they are shown.
        planned: those that are proven at their scope's bounds.
        options: for all rows.
        show: is given each part.

    Raises:
        LostRow: when a process ended before its time.
        Interrupted: when a signal stopped the work before there was anything to report.
    """
    workers = options.budget.workers
    small = all(row in EXPECTED and not (row in LONG and row in planned) for row in rows)
    count = min(workers, len(rows)) if small else 1
    if count == 1:
        _one_by_one(rows, planned, options, show)
    elif not stop_requested() and not time_limit.passed():
        budget = evolve(options.budget, workers=workers // count)
        _Rows(rows, planned, evolve(options, budget=budget), show).check(count)


def _one_by_one(rows: Sequence[Row], planned: Collection[Row], options: RowOptions, show: Show) -> None:
    """Check rows in this process; a large one takes all its threads, and memory."""
    for row in rows:
        if stop_requested() or time_limit.passed():  # when the search of the row before was complete
            return
        try:
            for part in row_parts(row, row in planned, options):
                show(part)
                if part.stopped:
                    return
        except Interrupted:
            if not time_limit.passed():
                raise
            return


@define
class _Rows:
    """Rows that processes check.

    Attributes:
        rows, planned, options, show: as `check_rows` takes them.
    """

    rows: Sequence[Row]
    planned: Collection[Row]
    options: RowOptions
    show: Show
    _found: dict[Row, Sequence[RowPart]] = field(factory=dict)
    _shown: int = 0

    def check(self, count: int) -> None:
        """Check the rows in so many processes; those with proofs first, since they take longest."""
        with stop_flag(awaits_report=True) as stop, progress_tally(self.options.quiet, "rows") as tally:
            pool = ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), _start)
            try:
                first = sorted(self.rows, key=lambda row: not self._proofs(row))
                futures = {pool.submit(_parts, row, row in self.planned, self._apart()): row for row in first}
                pending = set(futures)
                while pending and not stop.is_set():
                    finished, pending = wait(pending, timeout=0.1, return_when=FIRST_COMPLETED)
                    if not all(self._receive(futures[future], future, stop) for future in finished):
                        break
                    if tally is not None:
                        tally(len(self._found), len(self.rows))
                        tally.meter.close()
                    self._show_next()
            finally:
                _end(pool)
            self._conclude(stop)

    def _apart(self) -> RowOptions:
        """The options of a row in a process of its own: progress is that of all rows."""
        return evolve(self.options, quiet=True)

    def _proofs(self, row: Row) -> int:
        return (row in self.planned) + (row in ANY_NUMBER)

    def _receive(self, row: Row, future: Future[Sequence[RowPart]], stop: Stop) -> bool:
        """Take what a process found of a row; False where a stop has ended the process."""
        try:
            parts = future.result()
        except BrokenProcessPool as error:
            if stop.wait(STOP_SECONDS):  # what asks this process to stop may ask its workers too
                return False
            raise LostRow(f"the process that checked {' '.join(row)} has ended; is there enough memory?") from error
        kinds = [isinstance(part, ExploredRow) for part in parts]
        whole = kinds == [True] + [False] * self._proofs(row) or any(part.stopped for part in parts)
        if not whole or any(part.row != row for part in parts):
            raise LostRow(f"the process that checked {' '.join(row)} has not told every part of it")
        self._found[row] = parts
        return True

    def _show_next(self) -> None:
        """Show the rows whose turn it is."""
        while self._shown < len(self.rows) and self.rows[self._shown] in self._found:
            for part in self._found[self.rows[self._shown]]:
                self.show(part)
            self._shown += 1

    def _conclude(self, stop: Stop) -> None:
        """Show what is ready and was not shown: rows that came before it were stopped."""
        if stop.asked_by is not None and not self._found:
            if stop.asked_by == signal.SIGINT:
                announce()
                raise KeyboardInterrupt
            raise Interrupted("stopped before there was anything to report")
        for row in self.rows[self._shown :]:
            for part in self._found.get(row, ()):
                self.show(part)


def _start() -> None:
    """Prepare a process: the one that started it decides what a Ctrl-C ends, and is not outlived."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_after, args=(parent.sentinel,), daemon=True).start()


def _end_after(sentinel: int) -> None:
    multiprocessing.connection.wait([sentinel])
    os._exit(1)


def _parts(row: Row, proven: bool, options: RowOptions) -> Sequence[RowPart]:
    return tuple(row_parts(row, proven, options))


def _end(pool: ProcessPoolExecutor) -> None:
    """End the processes, and what they started: rows that are not ready are not waited for."""
    for process in list((pool._processes or {}).values()):
        assert process.pid is not None
        for number in (*descendants(process.pid), process.pid):
            with contextlib.suppress(OSError):  # it has ended
                os.kill(number, signal.SIGKILL)
    pool.shutdown(cancel_futures=True)
