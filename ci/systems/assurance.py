"""The assurance line of a report: the checks that were made beside the search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from kraftcheck.solvers.audit.audit import Audit
from kraftcheck.solvers.program.trace import Pruning
from kraftcheck.solvers.program.verdict import Holds, PropertyVerdict, Refuted, Trace, Verdict


class Assured(Protocol):
    """The checks of an exploration, with or without the program."""

    @property
    def verdicts(self) -> Sequence[PropertyVerdict]:
        """Of each property."""

    @property
    def audit(self) -> Audit:
        """The comparison with the rules on ints."""

    @property
    def prunings(self) -> Sequence[Pruning]:
        """The transitions that domains cut."""


def of_explorations(results: Sequence[Assured]) -> str:
    """The assurance of explorations: the extent of their audits, and the bounds that cut transitions."""
    states, transitions = (sum(getattr(result.audit, name) for result in results) for name in ("states", "transitions"))
    traces = _traces(results)
    audited = f"audited {_count(states, 'state')} and {_count(transitions, 'transition')} on ints, no difference"
    return _line(audited, traces, [pruning for result in results for pruning in result.prunings])


def of_answers(result: Assured) -> str:
    """The same of an exploration of Kafka's own classes: every answer is compared with the rules, a report says how."""
    replayed = f"{_count(_traces([result]), 'trace')} replayed on Kafka's classes"
    declared = sum(bool(pruning.cap) for pruning in result.prunings)
    return f"assurance: {replayed}; {_bounds(declared, len(result.prunings) - declared)}"


def _traces(results: Sequence[Assured]) -> int:
    return sum(_trace(verdict.verdict) is not None for result in results for verdict in result.verdicts)


def of_walks(traces: int, prunings: Sequence[Pruning]) -> str:
    """The same of random walks, which are not audited: what they report is replayed."""
    return _line("no audit of walks", traces, prunings)


def of_proof(solver: str, second: str | None, domains: Sequence[str], capped: Sequence[str]) -> str:
    """Who answered, a second one too, and which bounds the proof rests on: domains without cap, and caps that cut."""
    answered = f"answered by {solver} alone" if second is None else f"answered by {solver} and {second}, which agree"
    return f"assurance: {answered}; {_bounds(len(capped), len(domains))}"


def of_bounded(verdicts: Sequence[Verdict]) -> str:
    """The same of bounded runs, k-induction and Spacer; each verdict says up to which length, or bound, it speaks."""
    traces = sum(_trace(verdict) is not None for verdict in verdicts)
    return f"assurance: answered by Z3 alone; {_count(traces, 'trace')} replayed on ints"


def _line(first: str, traces: int, prunings: Sequence[Pruning]) -> str:
    declared = sum(bool(pruning.cap) for pruning in prunings)
    replayed = f"{_count(traces, 'trace')} replayed on ints"
    return f"assurance: {first}; {replayed}; {_bounds(declared, len(prunings) - declared)}"


def _bounds(declared: int, undeclared: int) -> str:
    parts = [f"{declared} declared"] * (declared > 0) + [f"{undeclared} undeclared"] * (undeclared > 0)
    return f"bounds that left steps out: {' and '.join(parts) or 'none'}"


def _trace(verdict: Verdict) -> Trace | None:
    match verdict:
        case Refuted(trace):
            return trace
        case Holds(_, witness):
            return witness
    return None


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def document(audit: Audit) -> dict[str, Any]:
    """An audit as plain values, its time aside."""
    return {
        "states": audit.states,
        "transitions": audit.transitions,
        "refused": audit.refused,
        "whole": audit.exhaustive,
        "seed": audit.seed,
        "sample": audit.sample,
    }
