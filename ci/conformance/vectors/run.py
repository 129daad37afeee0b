"""The run of vectors: each is given to the function that runs it, and judged; the judgements are reported."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

from kraftcheck.ci.conformance.vectors import brokers, partitions, scenarios
from kraftcheck.ci.conformance.vectors.core import (
    FAILED,
    PASSED,
    UNSUPPORTED,
    Function,
    Vector,
    VectorDifference,
    VectorError,
    VectorOutcome,
    find,
    judge,
    read,
)
from kraftcheck.ci.conformance.vectors.forms import read_partition, write_partition
from kraftcheck.model.partition.registration import DirectoryMismatch
from kraftcheck.model.records.fields import FormError
from kraftcheck.model.rules.ruleset import RuleSet, parse
from kraftcheck.model.visible import visible

NON_CONFORMANT = 23  # exit code when a vector failed, or was not run and nobody allowed that
DOCUMENT_VERSION = 1  # version of the JSON document

FUNCTIONS: Mapping[str, Function] = {**partitions.FUNCTIONS, **brokers.FUNCTIONS, **scenarios.FUNCTIONS}
"""Every function that is supported, by name."""


def function_of(vector: Vector) -> Function | None:
    """The function that runs a vector, or None; of those that share a name, by what is given."""
    function = FUNCTIONS.get(vector.function)
    for subject in ("partition", "registration"):
        if function is None and vector.given.has(subject):
            function = FUNCTIONS.get(f"{subject}.{vector.function}")
    return function


def run_vector(vector: Vector, rules: RuleSet, before: Vector | None = None) -> VectorOutcome:
    """Run one vector under a rule set, `before` being the one that it starts from; raises FormError, naming the key."""
    function = function_of(vector)
    if function is None:
        return VectorOutcome(UNSUPPORTED, reason=f"unknown function {vector.function}")
    outcome = judge(function, vector, rules)
    if before is None or outcome.status == UNSUPPORTED:
        return outcome
    broken = _broken_chain(vector, before, rules)
    return VectorOutcome(FAILED, (*outcome.differences, *broken)) if broken else outcome


def _broken_chain(vector: Vector, before: Vector, rules: RuleSet) -> tuple[VectorDifference, ...]:
    """Where the state that a vector starts from is not what the vector before leads to."""
    try:
        state = partitions.state_after(before, rules)
    except DirectoryMismatch as mismatch:
        return (VectorDifference("given.partition", "the state before", str(mismatch)),)
    if state is None:
        return ()
    expected, actual = write_partition(vector.given.read("partition", read_partition)), write_partition(state)
    differing = (key for key in expected if expected[key] != actual[key])
    return tuple(VectorDifference(f"given.partition.{key}", expected[key], actual[key]) for key in differing)


@frozen
class VectorRow:
    """One vector and its judgement."""

    path: Path
    vector: Vector
    outcome: VectorOutcome


@frozen
class VectorReport:
    """The judgement of every vector read, in the order of the files."""

    rules: str  # name of the rule set
    files: tuple[Path, ...]  # the files read, empty ones included
    rows: tuple[VectorRow, ...]  # one a vector

    def counts(self, path: Path | None = None) -> Counter[str]:
        """How many passed, failed and were unsupported, of one file or of all."""
        return Counter(row.outcome.status for row in self.rows if path in (None, row.path))

    def exit_code(self, allow_unsupported: bool) -> int:
        """0 when every vector passed, or was unsupported and that is allowed."""
        counts = self.counts()
        return NON_CONFORMANT if counts[FAILED] or (counts[UNSUPPORTED] and not allow_unsupported) else 0

    def document(self) -> dict[str, Any]:
        """The report as plain values."""
        return {
            "version": DOCUMENT_VERSION,
            "command": "conform",
            "rules": self.rules,
            "totals": {status: self.counts()[status] for status in (PASSED, FAILED, UNSUPPORTED)},
            "rows": [
                {
                    "file": str(row.path),
                    "id": row.vector.id,
                    "function": row.vector.function,
                    "status": row.outcome.status,
                    "reason": row.outcome.reason,
                    "differences": [asdict(difference) for difference in row.outcome.differences],
                }
                for row in self.rows
            ],
        }


def conform(paths: tuple[Path, ...], rules: str = "kafka-4.0") -> VectorReport:
    """Run every vector of files and folders; raises VectorError for malformed ones or none, ScopeError."""
    chosen = parse(rules)
    files = tuple(find(paths))
    rows = tuple(row for path in files for row in _run_file(path, chosen))
    if not rows:
        raise VectorError(f"no vectors in {', '.join(map(str, paths)) or 'no path at all'}")
    return VectorReport(rules, files, rows)


def _run_file(path: Path, rules: RuleSet) -> list[VectorRow]:
    vectors = read(path)
    rows = []
    for vector in vectors.values():
        try:
            outcome = run_vector(vector, rules, vectors.get(vector.given_continues or ""))
        except FormError as reason:
            raise VectorError(f"{path}: {vector.id}: {reason}") from None
        rows.append(VectorRow(path, vector, outcome))
    return rows


def vector_lines(report: VectorReport) -> list[str]:
    """The report for a reader: counts per file, then what went wrong field by field."""
    text = []
    for path in report.files:
        counts = report.counts(path)
        text.append(f"{path}: {counts[PASSED]} passed, {counts[FAILED]} failed, {counts[UNSUPPORTED]} unsupported")
    for row in report.rows:
        if row.outcome.status == FAILED:
            text.append(f"FAILED {row.vector.id} ({row.vector.function}, {row.path})")
            for difference in row.outcome.differences:
                expected, actual = _json_text(difference.expected), _json_text(difference.actual)
                text.append(f"  {difference.field}: expected {expected}, actual {actual}")
    unsupported = Counter(row.outcome.reason for row in report.rows if row.outcome.status == UNSUPPORTED)
    text += [f"UNSUPPORTED {number} x {reason}" for reason, number in sorted(unsupported.items())]
    counts = report.counts()
    text.append(f"{report.rules}: {counts[PASSED]} passed, {counts[FAILED]} failed, {counts[UNSUPPORTED]} unsupported")
    return list(map(visible, text))


def _json_text(value: Any) -> str:
    return json.dumps(value, default=str)
