"""Reports of random walks: lines for people, a document for machines."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from kraftcheck.ci.systems import assurance
from kraftcheck.ci.systems.report import DOCUMENT_VERSION, pruning_rows, versions
from kraftcheck.ci.systems.subject import Subject
from kraftcheck.solvers.program.verdict import EXIT_DEADLOCK, EXIT_INCOMPLETE, EXIT_SAFETY, EXIT_VACUOUS, worst_first
from kraftcheck.solvers.traces import render as traces
from kraftcheck.solvers.walks.findings import Finding
from kraftcheck.solvers.walks.walks import Point, Walks

POINTS = 8
"""Points of the curve that are printed."""


def exit_code(walks: Walks, found: Sequence[Finding]) -> int:
    """12 or 11 for what is refuted, 20 when stopped or a domain was left, 21 for a goal never reached, else 0."""
    codes = [EXIT_DEADLOCK if one.trace.kind == "deadlock" else EXIT_SAFETY for one in found]
    codes += [EXIT_INCOMPLETE] * (walks.cut is not None or walks.fault is not None)
    codes += [EXIT_VACUOUS] * bool(walks.missed)
    return worst_first(codes)


def lines(
    chosen: Subject, walks: Walks, found: Sequence[Finding], steps: int, schedule: str, shown: int
) -> Iterator[str]:
    """What a run tells, the last line aside.

    Args:
        chosen, walks, found: what was walked, and what came out.
        steps, schedule: as asked for.
        shown: most counterexamples to show.
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
    yield f"{len(walks.shown)} of {len(walks.shown) + len(walks.missed)} goals reached"
    yield from (f"never reached: {goal.id} ({goal.sentence})" for goal in walks.missed)
    idle = [name for name, count in walks.taken.items() if not count]
    if idle:
        yield f"actions never taken: {', '.join(idle)}"
    yield from (one.told() for one in walks.prunings)
    others = _unjudged(chosen)
    if others:
        yield f"not judged by walks: {', '.join(others)}"
    yield assurance.of_walks(len(found) + len(walks.shown), walks.prunings)
    yield from _counterexamples(chosen, found, shown)


def _unjudged(chosen: Subject) -> list[str]:
    walked = ("always", "step", "sometimes", "happens")
    return [claim.id for claim in chosen.system.properties(chosen.setting) if claim.kind not in walked]


def _curve(walks: Walks) -> Iterator[str]:
    """Distinct states by steps, and how much of the end was new."""
    if not walks.curve:
        return
    last = len(walks.curve) - 1
    chosen = sorted({round(last * part / (POINTS - 1)) for part in range(POINTS)})
    told = [f"{walks.curve[n].steps:,}: {walks.curve[n].distinct:,}" for n in chosen]
    yield f"distinct states by steps: {'; '.join(told)}"
    before: Point = walks.curve[last * 9 // 10]
    walked = walks.steps - before.steps
    if walked:
        share = (walks.distinct - before.distinct) / walked
        yield f"of the last {walked:,} steps {share:.1%} led to a new state"


def _counterexamples(chosen: Subject, found: Sequence[Finding], shown: int) -> Iterator[str]:
    sentences = {claim.id: claim.sentence for claim in chosen.system.properties(chosen.setting)}
    for one in found[:shown]:
        claim = one.trace.claim
        yield f"\n{claim} is refuted: {sentences.get(claim, 'a state that is not quiescent has no successor')}"
        yield f"  run {one.run}, {_steps(one.steps)}, shortened to {_steps(len(one.trace.steps))}"
        yield "\n".join(traces.lines(one.trace))
        yield f"     shortest: {chosen.command()} --property {shlex.quote(claim)}"
    if len(found) > shown:
        yield f"\nalso refuted (--traces {len(found)} shows all): {', '.join(one.trace.claim for one in found[shown:])}"


def _steps(count: int) -> str:
    return f"{count:,} step{'' if count == 1 else 's'}"


def last_line(walks: Walks, found: Sequence[Finding], code: int) -> str:
    """What came out, the worst first; that nothing was found is no proof."""
    told = [f"{len(found)} refuted"] if found else [f"nothing found in {walks.runs:,} runs, not a proof"]
    if walks.fault is not None:
        told.append("incomplete: steps were left out")
    if walks.cut is not None:
        told.append(walks.cut)
    if walks.missed:
        told.append(f"{len(walks.missed)} goal{'' if len(walks.missed) == 1 else 's'} never reached")
    return ", ".join(told) + f" (exit {code})"


def document(
    chosen: Subject, walks: Walks, found: Sequence[Finding], steps: int, schedule: str, code: int
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
            {"id": one.trace.claim, "kind": one.trace.kind, "run": one.run, "steps": one.steps,
             "shortened": len(one.trace.steps), "failing": list(one.trace.failing)}
            for one in found
        ],
        "goals": {
            **{where.claim.id: where.run for where in walks.shown if where.claim is not None},
            **{goal.id: None for goal in walks.missed},
        },
        "not_judged": _unjudged(chosen),
        "fired": dict(walks.taken),
        "pruned": dict(walks.pruned),
        "prunings": pruning_rows(walks.prunings),
        "curve": [[point.runs, point.steps, point.distinct, point.goals] for point in walks.curve],
        "seconds": {"walk": walks.seconds, "compile": walks.compile_seconds, "cached": walks.cached},
        "warnings": list(walks.warnings),
        "digest": walks.program.digest(),
        "versions": versions(),
    }  # fmt: skip
