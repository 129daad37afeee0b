"""Clocks of the wall and of the processor together."""

from __future__ import annotations

import time

from kraftcheck.solvers.search.explore import Exploration


class Clocks:
    """A wall clock that records the processor time with each reading.

    On a machine with other work only the processor's tells what a search takes.
    """

    def __init__(self) -> None:
        self.readings: list[tuple[float, float]] = []

    def __call__(self) -> float:
        """Seconds of the wall; noted."""
        self.readings.append((time.perf_counter(), time.process_time()))
        return self.readings[-1][0]

    def processor(self, result: Exploration) -> float:
        """Seconds of all processors in the search: those up to its end, less those between readings for compiling."""
        wall, start = self.readings[0]
        end = next(n for n, (at, _) in enumerate(self.readings) if at - wall - result.compile_seconds == result.seconds)
        compiling = sum(self.readings[n + 1][1] - self.readings[n][1] for n in range(1, end, 2))
        return self.readings[end][1] - start - compiling
