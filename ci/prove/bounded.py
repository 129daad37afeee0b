"""`kraftcheck prove --bmc`, `--k` and `--pdr`: proofs without lemmas."""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import z3
from attrs import evolve, frozen

from kraftcheck.ci.prove.evidence import NO_SEARCH, needs_case, of_scope
from kraftcheck.ci.prove.report import not_judged, not_judged_lines
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.run.judged import judged
from kraftcheck.ci.run.reports.files import finish
from kraftcheck.ci.run.result import Result
from kraftcheck.ci.run.search import SearchBudget, run
from kraftcheck.ci.systems import assurance, report
from kraftcheck.ci.systems.subject import Subject, faults_refused, traced
from kraftcheck.ci.terminal import time_limit
from kraftcheck.ci.terminal.console import console
from kraftcheck.ci.terminal.progress import progress_tally, stop_flag
from kraftcheck.solvers.program.stop import StopFlag
from kraftcheck.solvers.program.verdict import (
    Holds,
    Incomplete,
    PropertyVerdict,
    Refuted,
    Unknown,
    Verdict,
    worst_exit_code,
)
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.smt.queries import Effort
from kraftcheck.solvers.smt.runs.bounded import check_bounded, check_inductive
from kraftcheck.solvers.smt.spacer import Inference, infer
from kraftcheck.solvers.smt.theory import Theory, theory
from kraftcheck.solvers.smt.verdicts import SearchEvidence, unshown
from kraftcheck.solvers.traces.plain import trace_document
from kraftcheck.solvers.traces.render import lines


@frozen
class BoundedResult:
    """Verdicts by claim, and lemmas that were inferred."""

    verdicts: Mapping[str, Verdict]
    lemmas: Mapping[str, str]


def run_bounded(request: ProofRequest, effort: Effort, flags: Mapping[str, Any]) -> NoReturn:
    """Check as the flags say, report, and end with the exit code."""
    start, chosen = time.monotonic(), request.subject()
    subject = traced(chosen, functools.partial(theory, use_lemmas=False, use_liveness=flags["bmc"] is not None))
    claims = [c.id for c in subject.claims if not flags["only"] or c.id in flags["only"]]
    with faults_refused(chosen.name):
        found = _search(subject, claims, effort, flags)
        found = evolve(found, verdicts=_with_cases(request, subject, found.verdicts, flags))
    verdicts = tuple(_property_verdict(subject, claim, time_limit.overdue(found.verdicts[claim])) for claim in claims)
    code = worst_exit_code(verdict.verdict for verdict in verdicts)
    notes = (*not_judged_lines(chosen, flags["only"]), assurance.of_bounded([one.verdict for one in verdicts]))
    result = Result(
        chosen, "prove", verdicts, tuple(subject.claims), notes, code, _document(chosen, verdicts, found, flags, code),
        program=subject.program, rows=judged(chosen, verdicts), last_line=report.last_line(verdicts, code),
        size="", seconds=time.monotonic() - start, options=_engine_flag(flags),
    )  # fmt: skip
    screen = console(to_stderr=flags["target"] == "-")
    screen.plain(chosen.title())
    report.print_verdicts(screen, verdicts, subject.claims, flags["verbose"])
    for claim, lemma in found.lemmas.items():
        screen.plain(f"\nSpacer's strengthening of {claim}, checked to be inductive:\n{lemma}")
    for trace in result.traces()[: flags["number"]]:
        screen.plain(f"\n{trace.claim} is refuted")
        screen.plain("\n".join(lines(trace)))
    for line in notes:
        screen.plain(line)
    finish(screen, result, flags["target"], flags["reports"])


def _with_cases(
    request: ProofRequest, subject: Theory, verdicts: Mapping[str, Verdict], flags: Mapping[str, Any]
) -> dict[str, Verdict]:
    """The verdicts, where what is proven holds only if a search shows what it speaks of.

    Raises:
        EngineDisagreement: when the search refutes what is proven.
    """
    proven = [claim for claim, verdict in verdicts.items() if isinstance(verdict, Holds)]
    if not needs_case(subject, proven):
        return dict(verdicts)
    budget = SearchBudget(1, flags["memory"], max_states=flags["search"], keep=True)
    explore = functools.partial(run, budget=budget, quiet=flags["quiet"])
    evidence = of_scope(request, explore) if flags["search"] else SearchEvidence(reason=NO_SEARCH)
    for claim in proven:
        if evidence.refutation(claim) is not None:
            raise EngineDisagreement(f"{claim} is proven, and a run refutes it")
    cases = {claim: unshown(subject.program, subject.claim(claim), evidence) for claim in proven}
    return {claim: cases.get(claim) or verdict for claim, verdict in verdicts.items()}


def _engine_flag(flags: Mapping[str, Any]) -> tuple[str, ...]:
    numbers = (f"--{name}={flags[name]}" for name in ("bmc", "k") if flags[name] is not None)
    return (*numbers, *["--pdr"] * flags["pdr"])


def _search(subject: Theory, claims: Sequence[str], effort: Effort, flags: Mapping[str, Any]) -> BoundedResult:
    with stop_flag() as stop, progress_tally(flags["quiet"], "steps deep") as tally:
        if flags["bmc"] is not None:
            report = tally if tally is not None else _no_progress
            return BoundedResult(check_bounded(subject, claims, flags["bmc"], effort, stop, report), {})
        if flags["k"] is not None:
            return BoundedResult(check_inductive(subject, claims, flags["k"], effort, stop), {})
        invariants = [claim for claim in claims if subject.claim(claim).kind == "always"]
        inferences = {claim: _inferred(subject, claim, effort, stop) for claim in invariants}
    steps: dict[str, Verdict] = {
        c: Unknown("Spacer is asked for invariants only") for c in claims if c not in inferences
    }
    verdicts = steps | {claim: inference.verdict for claim, inference in inferences.items()}
    return BoundedResult(
        verdicts, {claim: inference.lemma for claim, inference in inferences.items() if inference.lemma}
    )


def _inferred(subject: Theory, claim: str, effort: Effort, stop: StopFlag) -> Inference:
    """The inference of one claim, or none once the work is stopped."""
    if stop.is_set():
        return Inference(Incomplete(stop.reason))
    return infer(subject, claim, evolve(effort, timeout=time_limit.within(effort.timeout)))


def _no_progress(done: int, total: int) -> None:
    """Report no progress."""


def _property_verdict(subject: Theory, claim: str, verdict: Verdict) -> PropertyVerdict:
    depth = len(verdict.trace.steps) if isinstance(verdict, Refuted) else None
    return PropertyVerdict(claim, subject.claim(claim).kind, verdict, depth)


def _document(
    chosen: Subject, verdicts: Sequence[PropertyVerdict], result: BoundedResult, flags: Mapping[str, Any], code: int
) -> dict[str, Any]:
    return {
        "version": report.DOCUMENT_VERSION,
        "command": "prove",
        "engine": "bmc" if flags["bmc"] is not None else "k-induction" if flags["k"] is not None else "spacer",
        **chosen.document(),
        "exit_code": code,
        "claims": [
            {"id": verdict.claim, "kind": verdict.kind, "verdict": report.WORDS[type(verdict.verdict)],
             "depth": verdict.depth, "trace": trace_document(verdict.verdict),
             "detail": report.detail(verdict), "lemma": result.lemmas.get(verdict.claim)}
            for verdict in verdicts
        ],
        "not_judged": [claim.id for claim in not_judged(chosen, flags["only"])],
        "versions": {**report.versions(), "z3": z3.get_version_string()},
    }  # fmt: skip
