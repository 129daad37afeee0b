"""`kraftcheck prove` without lemmas: bounded model checking, k-induction, Spacer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import z3
from attrs import frozen
from rich.table import Table

from kraftcheck.ci.systems import assurance, report
from kraftcheck.ci.systems.subject import Subject, traced
from kraftcheck.ci.terminal.console import Screen, console, escape
from kraftcheck.ci.terminal.files import write_json
from kraftcheck.ci.terminal.progress import stoppable, tallied
from kraftcheck.solvers.program.verdict import PropertyVerdict, Refuted, Unknown, Verdict, worst_exit_code
from kraftcheck.solvers.smt.bounded import check_bounded, check_inductive
from kraftcheck.solvers.smt.queries import Effort
from kraftcheck.solvers.smt.spacer import infer
from kraftcheck.solvers.smt.theory import Theory, theory
from kraftcheck.solvers.traces.render import lines


@frozen
class Found:
    """Verdicts by claim, and lemmas that were inferred."""

    verdicts: Mapping[str, Verdict]
    lemmas: Mapping[str, str]


def bounded(chosen: Subject, effort: Effort, flags: Mapping[str, Any]) -> int:
    """Check as the flags say, report, and return the exit code."""
    subject = traced(chosen, lambda system, setting: theory(system, setting, use_lemmas=False))
    claims = [c.id for c in subject.claims if not flags["only"] or c.id in flags["only"]]
    found = _found(subject, claims, effort, flags)
    judged = [_judged(subject, claim, found.verdicts[claim]) for claim in claims]
    code = worst_exit_code(one.verdict for one in judged)
    screen = console(to_stderr=flags["target"] == "-")
    screen.plain(chosen.title())
    screen.print(_table(subject, judged))
    for claim, lemma in found.lemmas.items():
        screen.plain(f"\nSpacer's strengthening of {claim}, checked to be inductive:\n{lemma}")
    _print_traces(screen, judged, flags["shown"])
    if flags["target"] is not None:
        write_json(flags["target"], _document(chosen, judged, found, flags, code))
    screen.plain(assurance.of_bounded([one.verdict for one in judged]))
    words = [report.WORDS[type(one.verdict)] for one in judged]
    counts = [f"{words.count(word)} {word}" for word in report.WORST_FIRST if word in words]
    screen.plain(", ".join(counts) + f" (exit {code})")
    return code


def _found(subject: Theory, claims: Sequence[str], effort: Effort, flags: Mapping[str, Any]) -> Found:
    with stoppable() as stop, tallied(flags["quiet"], "steps deep") as tally:
        if flags["bmc"] is not None:
            told = tally if tally is not None else _silent
            return Found(check_bounded(subject, claims, flags["bmc"], effort, stop, told), {})
        if flags["k"] is not None:
            return Found(check_inductive(subject, claims, flags["k"], effort, stop), {})
        inferred = {claim: infer(subject, claim, effort) for claim in claims if subject.claim(claim).kind == "always"}
    steps: dict[str, Verdict] = {c: Unknown("Spacer is asked for invariants only") for c in claims if c not in inferred}
    verdicts = steps | {claim: one.verdict for claim, one in inferred.items()}
    return Found(verdicts, {claim: one.lemma for claim, one in inferred.items() if one.lemma})


def _silent(done: int, total: int) -> None:
    """Tell nothing."""


def _judged(subject: Theory, claim: str, verdict: Verdict) -> PropertyVerdict:
    depth = len(verdict.trace.steps) if isinstance(verdict, Refuted) else None
    return PropertyVerdict(claim, subject.claim(claim).kind, verdict, depth)


def _table(subject: Theory, judged: Sequence[PropertyVerdict]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("property", "verdict", "", "says"):
        table.add_column(column, overflow="fold")
    for one in judged:
        word = report.WORDS[type(one.verdict)]
        said = subject.claim(one.claim).sentence
        table.add_row(escape(one.claim), f"[{report.STYLES[word]}]{word}[/]", escape(report.detail(one)), escape(said))
    return table


def _print_traces(screen: Screen, judged: Sequence[PropertyVerdict], number: int) -> None:
    refuted = [one for one in judged if isinstance(one.verdict, Refuted)]
    for one in refuted[:number]:
        assert isinstance(one.verdict, Refuted)
        screen.plain(f"\n{one.claim} is refuted")
        screen.plain("\n".join(lines(one.verdict.trace)))


def _document(
    chosen: Subject, judged: Sequence[PropertyVerdict], found: Found, flags: Mapping[str, Any], code: int
) -> dict[str, Any]:
    return {
        "version": report.DOCUMENT_VERSION,
        "command": "prove",
        "engine": "bmc" if flags["bmc"] is not None else "k-induction" if flags["k"] is not None else "spacer",
        "system": chosen.name,
        "scope": chosen.setting.scope,
        "bounds": dict(chosen.setting.bounds),
        "rules": chosen.rules,
        "exit_code": code,
        "claims": [
            {"id": one.claim, "kind": one.kind, "verdict": report.WORDS[type(one.verdict)], "depth": one.depth,
             "detail": report.detail(one), "lemma": found.lemmas.get(one.claim)}
            for one in judged
        ],
        "versions": {**report.versions(), "z3": z3.get_version_string()},
    }  # fmt: skip
