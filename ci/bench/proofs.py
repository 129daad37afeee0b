"""The benchmark of proofs for any number of brokers: `python -m kraftcheck.ci.bench --proofs [CASE ...]`.

Each case is a whole command's work, with two processes where it takes them, and has a budget of seconds on two idle
processors. A case that finds anything but proofs, or defects that break them, measures nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping

from attrs import frozen

from kraftcheck.ci.bench.benchmark import Benchmark, column, medians, spending
from kraftcheck.ci.prove.broken import attempt_any, every_row
from kraftcheck.ci.prove.question import run_proof
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.model.language.system import ANY
from kraftcheck.solvers.smt.queries import Effort

WORKERS = 2


class UnprovenError(AssertionError):
    """A proof that fails, or does not break where it must."""


@frozen
class ProofsRow:
    """A case: how many queries or variants, median seconds of the clock and of processors, its budget, and the load."""

    case: str = column("case", "<16")
    count: int = column("count", "6")
    seconds: float = column("seconds", "8.1f")
    processor: float = column("processor", "10.1f")
    budget: int = column("budget", "7")
    load: float = column("load", "6.1f")


def proven(system: str, scope: str | None = None) -> int:
    """Prove every claim of a system for any number of brokers; how many queries that takes.

    Raises:
        UnprovenError: where a claim is not proven, or the proof was stopped.
    """
    proof = run_proof(ProofRequest(system, scope, {"brokers": ANY}, "fixed"), Effort(), (), WORKERS, quiet=True)
    if proof.stopped:
        raise UnprovenError(f"{system}: {proof.stop_reason}")
    if unproven := [claim for claim in proof.targets if not proof.proven(claim)]:
        raise UnprovenError(f"{system}: {', '.join(unproven)} not proven")
    return len(proof.answers)


def broken(system: str, most: int | None = None) -> int:
    """Break the proofs of a system by each variant, or the first few; how many there are.

    Raises:
        UnprovenError: where a variant breaks no proof that it must break.
    """
    variants = [row for row in every_row() if row.system == system][:most]
    for row in variants:
        if standing := attempt_any(row, WORKERS, quiet=True).faults:
            raise UnprovenError(f"{system}+{row.variant}: {', '.join(standing)} proven all the same")
    return len(variants)


CASES: Mapping[str, tuple[Callable[[], int], int]] = {
    "elections": (lambda: proven("elections"), 120),
    "elections-bugs": (lambda: broken("elections"), 300),
}
"""What is done, and its budget in seconds, by case."""


def measure(case: str, runs: int) -> Iterator[ProofsRow]:
    """The medians of several runs of one case."""
    work, budget = CASES[case]
    count, times = 0, []
    for _ in range(runs):
        with spending() as spent:
            count = work()
        times.append(spent)
    yield ProofsRow(case, count, *medians(times), budget, os.getloadavg()[0])


BENCHMARK = Benchmark(ProofsRow, tuple(CASES), measure)
