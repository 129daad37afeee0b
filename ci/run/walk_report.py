"""Reports of random walks: lines for people, a document for machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kraftcheck.ci.systems import assurance
from kraftcheck.ci.systems.report import DOCUMENT_VERSION, pruning_rows, steps_text, versions
from kraftcheck.ci.systems.subject import Subject
from kraftcheck.solvers.program.premises.cases import checks_nothing
from kraftcheck.solvers.program.verdict import (
    EXIT_DEADLOCK,
    EXIT_INCOMPLETE,
    EXIT_SAFETY,
    EXIT_UNKNOWN,
    EXIT_VACUOUS,
    worst_first,
)
from kraftcheck.solvers.traces import render as traces
from kraftcheck.solvers.traces.plain import trace_document
from kraftcheck.solvers.walks.findings import WalkFinding
from kraftcheck.solvers.walks.walks import WalkProgress, Walks

POINTS = 8
"""Points of the curve that are printed."""


def exit_code(walks: Walks, findings: Sequence[WalkFinding]) -> int:
    """12 or 11 for what is refuted, 20 when stopped or a domain was left, 22 for liveness, which walks do not judge.

    Else 21 for a goal never reached or a property that checks nothing, and 0.
    """
    codes = [EXIT_DEADLOCK if finding.trace.kind == "deadlock" else EXIT_SAFETY for finding in findings]
    codes += [EXIT_INCOMPLETE] * (walks.cut is not None or walks.fault is not None)
    codes += [EXIT_UNKNOWN] * bool(walks.program.liveness.claims)
    codes += [EXIT_VACUOUS] * bool(walks.goals_missed or checks_nothing(walks.program))
    return worst_first(codes)


def lines(
    chosen: Subject, walks: Walks, findings: Sequence[WalkFinding], steps: int, schedule: str, limit: int
) -> Iterator[str]:
    """The lines of a report, without the last one.

    Args:
        chosen, walks, findings: what was walked, and what came out.
        steps, schedule: as asked for.
        limit: most counterexamples to show.
    """
    yield chosen.title()
    yield from (f"warning: {warning}" for warning in walks.warnings)
    rate = walks.steps / max(walks.seconds, 1e-9)
    yield (
        f"{walks.runs:,} runs of at most {steps:,} steps, seed {walks.seed}, schedule {schedule}: "
        f"{walks.steps:,} steps, {walks.distinct:,} distinct states (by fingerprint), in {walks.seconds:.1f} s "
        f"({rate:,.0f} steps/s); compiled in {walks.compile_seconds:.1f} s" + (" (from cache)" if walks.cached else "")
    )
    yield from _curve(walks)
    yield f"{len(walks.goals_shown)} of {len(walks.goals_shown) + len(walks.goals_missed)} goals reached"
    yield from (f"never reached: {goal.id} ({goal.sentence})" for goal in walks.goals_missed)
    yield from (f"{claim} is vacuous: {reason}" for claim, reason in checks_nothing(walks.program).items())
    idle = [name for name, count in walks.steps_by_action.items() if not count]
    if idle:
        yield f"actions never taken: {', '.join(idle)}"
    yield from (pruning.text() for pruning in walks.prunings)
    unjudged = _unjudged(chosen)
    if unjudged:
        yield f"not judged by walks: {', '.join(unjudged)}"
    yield assurance.of_walks(len(findings) + len(walks.goals_shown), walks.prunings)
    yield from _counterexamples(chosen, findings, limit)
    yield from _suspects(chosen, walks, limit)


def _unjudged(chosen: Subject) -> list[str]:
    kinds = ("always", "step", "sometimes", "happens")
    return [claim.id for claim in chosen.system.properties(chosen.setting) if claim.kind not in kinds]


def _curve(walks: Walks) -> Iterator[str]:
    """Distinct states by steps, and how much of the end was new."""
    if not walks.curve:
        return
    last = len(walks.curve) - 1
    chosen = sorted({round(last * part / (POINTS - 1)) for part in range(POINTS)})
    points = [f"{walks.curve[n].steps:,}: {walks.curve[n].distinct:,}" for n in chosen]
    yield f"distinct states by steps: {'; '.join(points)}"
    before: WalkProgress = walks.curve[last * 9 // 10]
    steps = walks.steps - before.steps
    if steps:
        share = (walks.distinct - before.distinct) / steps
        yield f"of the last {steps:,} steps {share:.1%} led to a new state"


def _counterexamples(chosen: Subject, findings: Sequence[WalkFinding], limit: int) -> Iterator[str]:
    sentences = {claim.id: claim.sentence for claim in chosen.system.properties(chosen.setting)}
    for finding in findings[:limit]:
        claim = finding.trace.claim
        yield f"\n{claim} is refuted: {sentences.get(claim, 'a state that is not quiescent has no successor')}"
        yield f"  run {finding.run}, {steps_text(finding.steps)}, shortened to {steps_text(len(finding.trace.steps))}"
        yield "\n".join(traces.lines(finding.trace))
        yield f"     shortest: {chosen.again(claim)}"
    if len(findings) > limit:
        others = ", ".join(finding.trace.claim for finding in findings[limit:])
        yield f"\nalso refuted (--traces {len(findings)} shows all): {others}"


def _suspects(chosen: Subject, walks: Walks, limit: int) -> Iterator[str]:
    """The suspected lassos: walks leave the property unknown, and say who judges it."""
    for suspect in walks.suspects[:limit]:
        claim = suspect.trace.claim
        yield f"\n{claim} is unknown, and suspected to fail: a walk seems to show a lasso"
        yield f"  run {suspect.run}, {steps_text(suspect.steps)}, shortened to {steps_text(len(suspect.trace.steps))}"
        yield "\n".join(traces.lines(suspect.trace))
        yield f"     judged by: {chosen.again(claim)}"
    if len(walks.suspects) > limit:
        others = ", ".join(suspect.trace.claim for suspect in walks.suspects[limit:])
        yield f"\nalso suspected (--traces {len(walks.suspects)} shows all): {others}"


def last_line(walks: Walks, findings: Sequence[WalkFinding], code: int) -> str:
    """The result, the worst first; the absence of findings is no proof."""
    parts = [f"{len(findings)} refuted"] if findings else [f"nothing found in {walks.runs:,} runs, not a proof"]
    if walks.fault is not None:
        parts.append("incomplete: steps were left out")
    if walks.cut is not None:
        parts.append(walks.cut)
    live, suspects = len(walks.program.liveness.claims), len(walks.suspects)
    if live:
        suspected = f", of which {suspects} {'is' if suspects == 1 else 'are'} suspected to fail" if suspects else ""
        parts.append(f"{live} liveness propert{'y' if live == 1 else 'ies'} unknown{suspected}")
    if empty := checks_nothing(walks.program):
        parts.append(f"{len(empty)} vacuous")
    if walks.goals_missed:
        parts.append(f"{len(walks.goals_missed)} goal{'' if len(walks.goals_missed) == 1 else 's'} never reached")
    return ", ".join(parts) + f" (exit {code})"


def document(
    chosen: Subject, walks: Walks, findings: Sequence[WalkFinding], steps: int, schedule: str, code: int
) -> dict[str, Any]:
    """The walks as plain values; no property is said to hold."""
    return {
        "version": DOCUMENT_VERSION,
        "command": "simulate",
        "engine": "walks",
        "system": chosen.name,
        "scope": chosen.setting.scope,
        "bounds": dict(chosen.setting.bounds),
        "rules": chosen.rules,
        "exit_code": code,
        "runs": walks.runs,
        "longest": steps,
        "steps": walks.steps,
        "seed": walks.seed,
        "schedule": schedule,
        "cut": walks.cut,
        "distinct": walks.distinct,
        "refuted": [
            {"id": finding.trace.claim, "kind": finding.trace.kind, "run": finding.run, "steps": finding.steps,
             "shortened": len(finding.trace.steps), "failing": list(finding.trace.failing),
             "trace": trace_document(finding.trace)}
            for finding in findings
        ],
        "goals": {
            **{occurrence.claim.id: occurrence.run for occurrence in walks.goals_shown if occurrence.claim is not None},
            **{goal.id: None for goal in walks.goals_missed},
        },
        "not_judged": _unjudged(chosen),
        "vacuous": checks_nothing(walks.program),
        "suspected": [
            {"id": suspect.trace.claim, "kind": suspect.trace.kind, "run": suspect.run, "steps": suspect.steps,
             "trace": trace_document(suspect.trace)}
            for suspect in walks.suspects
        ],
        "fired": dict(walks.steps_by_action),
        "pruned": dict(walks.pruned),
        "prunings": pruning_rows(walks.prunings),
        "curve": [[point.runs, point.steps, point.distinct, point.goals] for point in walks.curve],
        "seconds": {"walk": walks.seconds, "compile": walks.compile_seconds, "cached": walks.cached},
        "warnings": list(walks.warnings),
        "digest": walks.program.digest(),
        "versions": versions(),
    }  # fmt: skip
