"""Reports of proofs: tables for people, documents for machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

import z3
from rich.table import Table

from kraftcheck.ci.systems import assurance, report
from kraftcheck.ci.systems.subject import Subject
from kraftcheck.ci.terminal.console import Screen, escape
from kraftcheck.solvers.program.verdict import Holds, Refuted
from kraftcheck.solvers.smt.bounds import beyond_text, leaves_text
from kraftcheck.solvers.smt.induction import Proof
from kraftcheck.solvers.smt.queries import PROVEN, Effort
from kraftcheck.solvers.smt.verdicts import Judged
from kraftcheck.solvers.traces.render import lines


def print_proof(
    screen: Screen, proof: Proof, judged: Sequence[Judged], seconds: float, flags: Mapping[str, Any]
) -> None:
    """Show verdicts, counterexamples, and what the user asked for besides."""
    screen.print(_table(proof, judged))
    if flags["core"]:
        _print_cores(screen, proof)
    if flags["times"]:
        for asked, answer in proof.answers.items():
            screen.plain(f"{answer.seconds:8.3f} s  {answer.result:13}  {asked.claim}, {asked.action}")
    _print_counterexamples(screen, proof, judged, flags["shown"])
    for line in summary(proof, seconds, flags["solver"]):
        screen.plain(line)
    capped = [path for path in proof.bounded() if path not in proof.faults()]
    screen.plain(assurance.of_proof(version(flags["solver"]), flags["second"], proof.faults(), capped))


def _table(proof: Proof, judged: Sequence[Judged]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("claim", "verdict", "queries", "seconds", "slowest", "says"):
        table.add_column(column, overflow="fold", justify="right" if column in ("queries", "seconds") else "left")
    for one in judged:
        found = one.verdict
        word = report.WORDS[type(found.verdict)]
        answers = proof.of(found.claim)
        slowest = max(answers, key=lambda answer: answer.seconds, default=None)
        named = slowest.obligation.action if slowest is not None else ""
        said = proof.theory.claim(found.claim).sentence
        told = "proven" if isinstance(found.verdict, Holds) else word
        table.add_row(
            escape(found.claim), f"[{report.STYLES[word]}]{told}[/]", str(len(answers)),
            f"{sum(answer.seconds for answer in answers):.2f}", escape(named),
            escape(said if isinstance(found.verdict, Holds) else f"{said}: {report.detail(found)}"),
        )  # fmt: skip
    return table


def _print_cores(screen: Screen, proof: Proof) -> None:
    screen.plain("\nwhat each proof used")
    for name in proof.claims:
        by_group: dict[str, list[str]] = {}
        for premise in proof.used(name):
            group, _, rest = premise.partition(": ")
            if rest != name:
                by_group.setdefault(group, []).append(rest)
        told = [f"{group}s {', '.join(names)}" for group, names in by_group.items() if group in ("invariant", "guard")]
        screen.plain(f"  {name}: " + ("; ".join(told) or "the rules alone"))


def _print_counterexamples(screen: Screen, proof: Proof, judged: Sequence[Judged], number: int) -> None:
    broken = [one for one in judged if one.counterexample is not None]
    for one in broken[:number]:
        found, cti = one.verdict, one.counterexample
        assert cti is not None
        screen.plain(f"\n{found.claim}: counterexample to induction, {cti.reach} ({cti.where})")
        if isinstance(found.verdict, Refuted):
            screen.plain(f"  a run of {len(found.verdict.trace.steps)} steps from an initial state refutes it:")
            screen.plain("\n".join(lines(found.verdict.trace)))
        else:
            screen.plain("  the state it starts from is one that the proven invariants allow:")
            screen.plain("\n".join(lines(cti.step)).replace("initial state", "some state", 1))
    if len(broken) > number:
        rest = ", ".join(one.verdict.claim for one in broken[number:])
        screen.plain(f"\nalso with a counterexample (--traces {len(broken)} shows all): {rest}")


def summary(proof: Proof, seconds: float, solver: str) -> list[str]:
    """Size and speed, what is bounded, and lemmas that no proof uses."""
    answers = list(proof.answers.values())
    done = sum(answer.result == PROVEN for answer in answers)
    solving = sum(answer.seconds for answer in answers)
    told = [
        f"\n{len(answers):,} queries, {done:,} proven, in {seconds:.1f} s ({solving:.1f} s in "
        f"{version(solver)}); rounds: {proof.rounds}"
    ]
    told += [beyond_text(path) for path in proof.bounded() if path not in proof.faults()]
    told += [f"incomplete: {leaves_text([path])}" for path in proof.faults()]
    told += [f"{claim} rests on {', '.join(names)}, proven too" for claim, names in supports(proof).items()]
    told += [f"lemma that no proof uses: {name}" for name in proof.idle_lemmas()]
    return told


def supports(proof: Proof) -> dict[str, list[str]]:
    """For each proven claim that was asked for, what was not asked for and is proven because the claim rests on it."""
    besides = {claim: [name for name in proof.support(claim) if name not in proof.asked] for claim in proof.asked}
    return {claim: names for claim, names in besides.items() if names and proof.proven(claim)}


def _first(effort: Effort) -> dict[str, str]:
    return {} if effort.solver == "z3" else {effort.solver: metadata.version(effort.solver)}


def version(solver: str) -> str:
    """A solver with its version."""
    return f"Z3 {z3.get_version_string()}" if solver == "z3" else f"{solver} {metadata.version(solver)}"


def document(
    subject: Subject, proof: Proof, judged: Sequence[Judged], seconds: float, effort: Effort, code: int
) -> dict[str, Any]:
    """One proof as plain values."""
    return {
        "version": report.DOCUMENT_VERSION,
        "command": "prove",
        "engine": effort.solver,
        "system": subject.name,
        "scope": subject.setting.scope,
        "bounds": subject.setting.told(),
        "rules": subject.rules,
        "exit_code": code,
        "complete": not proof.stopped,
        "timeout": effort.timeout,
        "seed": effort.seed,
        "seconds": seconds,
        "claims": [_claim(proof, one) for one in judged],
        "bounded_by": proof.bounded(),
        "undeclared": proof.faults(),
        "idle_lemmas": proof.idle_lemmas(),
        "versions": {**report.versions(), "z3": z3.get_version_string(), **_first(effort)},
    }


def _claim(proof: Proof, one: Judged) -> dict[str, Any]:
    found, cti = one.verdict, one.counterexample
    return {
        "id": found.claim,
        "kind": "lemma" if found.claim in proof.theory.lemmas else found.kind,
        "verdict": report.WORDS[type(found.verdict)],
        "bound": found.verdict.bound if isinstance(found.verdict, Holds) else None,
        "detail": report.detail(found),
        "depth": found.depth,
        "used": proof.used(found.claim),
        "rests_on": proof.support(found.claim),
        "counterexample": None if cti is None else {"reach": cti.reach, "where": cti.where},
        "queries": [
            {"action": a.obligation.action, "result": a.result, "seconds": a.seconds, "reason": a.reason}
            for a in proof.of(found.claim)
        ],
    }
