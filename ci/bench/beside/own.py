"""The native search of two-phase commit as a process: `python -m kraftcheck.ci.bench.beside.own MANAGERS THREADS`."""

from __future__ import annotations

import sys
import time

from kraftcheck.ci.bench.two_phase_commit import TWO_PHASE
from kraftcheck.solvers.exploration.explore import explore
from kraftcheck.solvers.program.trace import trace


def main(managers: int, threads: int) -> None:
    """Explore, and print the states and the seconds of the search."""
    program = trace(TWO_PHASE, TWO_PHASE.setting(str(managers)))
    found = explore(program, clock=time.perf_counter, threads=threads, keep=False)
    if found.cut is not None:
        raise RuntimeError(f"the search is incomplete: {found.cut}")
    print(f"states={found.distinct} seconds={found.seconds:.3f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
