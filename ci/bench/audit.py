"""The benchmark of the audit: `python -m kraftcheck.ci.bench --audit [--runs N] [--json FILE] [CASE ...]`.

Its share is that of one run: processor time of the audit beside that of tracing, compiling, searching and auditing.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

from attrs import frozen

from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import find
from kraftcheck.solvers.exploration.explore import explore
from kraftcheck.solvers.program.trace import trace

CASES = {
    "elections-tiny": ("elections", "tiny", "fixed", None),
    "elections-directories": ("elections", "directories", "fixed", None),
    "elections": ("elections", "default", "kafka-4.0", 5_000_000),
    "replication-tiny": ("replication", "tiny", "fixed", None),
    "replication-small": ("replication", "small", "kip", None),
    "directories-tiny": ("directories", "tiny", "fixed", None),
    "kraft-tiny": ("kraft", "tiny", "fixed", None),
    "zk-controller-tiny": ("zk-controller", "tiny", "fixed", None),
}
"""System, scope, rules and most states by the name of the case."""


@frozen
class AuditRow:
    """Medians of one case, in seconds of processor time, one thread, nothing cached."""

    case: str
    distinct: int
    states: int
    transitions: int
    whole_seconds: float
    audit_seconds: float
    share: float


def measure(case: str, runs: int) -> AuditRow:
    """The medians of several runs.

    Raises:
        RuntimeError: when two of them audited different samples.
    """
    system, scope, rules, max_states = CASES[case]
    subject = find(system)
    run_seconds, audits = list[float](), []
    for _ in range(runs):
        start = time.process_time()
        program = trace(subject, subject.setting(scope, rules=parse(rules)))
        result = explore(program, clock=time.process_time, max_states=max_states, keep=False)
        run_seconds.append(time.process_time() - start)
        audits.append(result.audit)
    if len({audit.sample for audit in audits}) > 1:
        raise RuntimeError(f"{case}: the samples of several runs differ")
    shares = [audit.seconds / seconds for audit, seconds in zip(audits, run_seconds, strict=True)]
    return AuditRow(
        case, result.distinct, audits[0].states, audits[0].transitions, statistics.median(run_seconds),
        statistics.median(audit.seconds for audit in audits), statistics.median(shares),
    )  # fmt: skip


def measure_cases(cases: Sequence[str], runs: int) -> list[AuditRow]:
    """Measure the cases, all by default, and print the table."""
    print(f"{'system':22} {'distinct':>10} {'states':>7} {'transitions':>11} {'run s':>7} {'audit s':>8} {'share':>6}")
    rows = []
    for case in cases or CASES:
        rows.append(measure(case, runs))
        row = rows[-1]
        print(
            f"{row.case:22} {row.distinct:10,} {row.states:7,} {row.transitions:11,} {row.whole_seconds:7.2f} "
            f"{row.audit_seconds:8.3f} {row.share:6.1%}",
            flush=True,
        )
    print(f"\nseconds of processor time, one thread, nothing cached; medians of {runs}; share of the audit in the run")
    return rows
