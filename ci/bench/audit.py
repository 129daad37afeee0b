"""The benchmark of the audit: `python -m kraftcheck.ci.bench --audit [--runs N] [--json FILE] [CASE ...]`.

Its share is that of one run: processor time of the audit beside that of tracing, compiling, searching and auditing.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

from attrs import frozen

from kraftcheck.ci.bench.benchmark import Benchmark, column
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

    case: str = column("system", "<22")
    distinct: int = column("distinct", "10,")
    states: int = column("states", "7,")
    transitions: int = column("transitions", "11,")
    whole_seconds: float = column("run s", "7.2f")
    audit_seconds: float = column("audit s", "8.3f")
    share: float = column("share", "6.1%")


def measure(case: str, runs: int) -> Iterator[AuditRow]:
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
    yield AuditRow(
        case, result.distinct, audits[0].states, audits[0].transitions, statistics.median(run_seconds),
        statistics.median(audit.seconds for audit in audits), statistics.median(shares),
    )  # fmt: skip


BENCHMARK = Benchmark(AuditRow, tuple(CASES), measure, note=(
    "seconds of processor time, one thread, nothing cached; medians of {runs}; share of the audit in the run"
))  # fmt: skip
