"""What leaving out orders gains: `python -m tests.solvers.search.orders.bench [SYSTEM...]`, in one thread.

Prints rows of docs/explanation/adr/0018-orders-are-derived.md: states with all orders and with some, and seconds of the
processor for the search and its audit. Each pair is measured in one run, one search after the other.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence

from kraftcheck.ci.bench.systems import TWO_PHASE
from kraftcheck.ci.systems.subject import program, subject
from kraftcheck.model.language.system import System
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget, explore
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.search.orders import by_orders
from tests.examples.lamport_mutex import LAMPORT_MUTEX
from tests.solvers.search.orders.ports import LOCK, NO_LOCK, READERS_WRITERS, WALKING

CASES: Mapping[str, tuple[str | System, str | None, Mapping[str, int], str | None]] = {
    "two-phase-commit": (TWO_PHASE, "7", {}, None),
    "lamport-mutex": (LAMPORT_MUTEX, None, {}, None),
    "replication": ("replication", "tiny", {}, "fixed"),
    "walking": (WALKING, None, {"processes": 8}, None),
    "lock": (LOCK, None, {"processes": 8}, None),
    "no-lock": (NO_LOCK, None, {"processes": 8}, None),
    "readers-writers": (READERS_WRITERS, None, {"processes": 8}, None),
}
"""By name: the system, its scope, bounds and rules."""


def of_safety(name: str) -> Program:
    """A case traced, with the properties that the reduction keeps."""
    system, scope, bounds, rules = CASES[name]
    whole = subject(system, scope, bounds, rules)
    kept = [one.id for one in whole.system.properties(whole.setting) if one.kind in ("always", "step", "sometimes")]
    return program(subject(system, scope, bounds, rules, kept))


def measured(traced: Program) -> tuple[Exploration, float]:
    """A search, and its seconds of the processor without those that compiled it."""
    begun = time.process_time()
    found = explore(traced, SearchBudget(keep=False), clock=time.process_time)
    return found, time.process_time() - begun - found.compile_seconds


def row(name: str) -> str:
    """A row of the table."""
    traced = of_safety(name)
    (whole, all_seconds), (some, some_seconds) = measured(traced), measured(by_orders(traced))
    assert [type(one.verdict) for one in some.verdicts] == [type(one.verdict) for one in whole.verdicts], name
    return f"| {name} | {whole.distinct:,} | {some.distinct:,} | {all_seconds:.2f} | {some_seconds:.2f} |"


def main(words: Sequence[str]) -> None:
    """Print a row for each case, or for those that are named."""
    print("| system | states, all orders | states, some | seconds, all | seconds, some |\n|---|---|---|---|---|")
    for name in words or CASES:
        print(row(name), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
