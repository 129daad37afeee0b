"""Reports of proofs: tables for people, documents for machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

import z3
from attrs import frozen
from rich.text import Text

from kraftcheck.ci.run.judged import judged
from kraftcheck.ci.run.result import Result
from kraftcheck.ci.systems import assurance, report
from kraftcheck.ci.systems.subject import Subject
from kraftcheck.ci.terminal.console import Screen
from kraftcheck.ci.terminal.table import Column, Table
from kraftcheck.model.language.fairness import LIVENESS
from kraftcheck.model.language.system import Property
from kraftcheck.solvers.program.fingerprint import Meaning
from kraftcheck.solvers.program.verdict import Holds, Refuted, worst_exit_code
from kraftcheck.solvers.smt.bounds import cap_text, leaves_text
from kraftcheck.solvers.smt.induction import Proof
from kraftcheck.solvers.smt.queries import PROVEN, Effort
from kraftcheck.solvers.smt.verdicts import ClaimJudgement
from kraftcheck.solvers.traces.plain import trace_document
from kraftcheck.solvers.traces.render import lines


@frozen
class ProofAnswer:
    """The answer of a prover.

    Attributes:
        subject: what was proven.
        proof: every query with its answer.
        judgements: one for each claim that was asked for.
        seconds: of the proof.
        effort: of each query.
        only: the claims that were asked for; none: all.
        workers: processes.
        second: the solver that answered every query too, if one did.
    """

    subject: Subject
    proof: Proof
    judgements: tuple[ClaimJudgement, ...]
    seconds: float
    effort: Effort
    only: tuple[str, ...]
    workers: int
    second: str | None = None

    def result(self) -> Result:
        """The record of which every report is made."""
        verdicts = tuple(one.verdict for one in self.judgements)
        code, notes = worst_exit_code(one.verdict for one in verdicts), tuple(line.strip() for line in self.notes())
        return Result(
            self.subject, "prove", verdicts, tuple(self.proof.theory.claims), notes, code,
            document(self, code), program=self.proof.theory.program, rows=judged(self.subject, verdicts),
            last_line=report.last_line(verdicts, code), size=f"{len(self.proof.answers):,} queries",
            seconds=self.seconds,
        )  # fmt: skip

    def notes(self) -> list[str]:
        """What is said of a proof beside its verdicts."""
        solver = self.effort.solver
        lines_ = [*summary(self.proof, self.seconds, solver), *not_judged_lines(self.subject, self.only)]
        return [*lines_, assurance_line(self.proof, solver, self.second)]


def print_proof(screen: Screen, answer: ProofAnswer, flags: Mapping[str, Any]) -> None:
    """Print what was proven, verdicts, counterexamples, and the optional parts: cores and times."""
    proof, judgements = answer.proof, answer.judgements
    screen.plain(answer.subject.title())
    by_claim = {judgement.verdict.claim: judgement for judgement in judgements}
    worst_first = report.in_order([judgement.verdict for judgement in judgements], flags["verbose"])
    listed = [by_claim[verdict.claim] for verdict in worst_first]
    if listed:
        screen.table(_table(proof, listed))
    if len(judgements) > len(listed):
        screen.plain(report.held(len(judgements) - len(listed), "are proven"))
    if flags["core"]:
        _print_cores(screen, proof)
    if flags["times"]:
        for obligation, one in proof.answers.items():
            screen.plain(f"{one.seconds:8.3f} s  {one.result:13}  {obligation.claim}, {obligation.action}")
    _print_counterexamples(screen, proof, judgements, flags["number"])
    for line in answer.notes():
        screen.plain(line)


def not_judged(subject: Subject, only: Sequence[str]) -> list[Property]:
    """The properties that proofs say nothing of, unless others were asked for by name."""
    claims = () if only else subject.system.properties(subject.setting)
    return [claim for claim in claims if claim.kind not in ("always", "step", *LIVENESS)]


def not_judged_lines(subject: Subject, only: Sequence[str]) -> list[str]:
    """A line about them, if there are any."""
    claims = not_judged(subject, only)
    named = [claim.id for claim in claims if claim.kind == "recovers"]
    goals = len(claims) - len(named)
    parts = [f"{', '.join(named)} (recovers)"] * bool(named) + [f"{goals} goal{'s' * (goals > 1)}"] * bool(goals)
    return [f"not judged by proofs: {' and '.join(parts)}; `kraftcheck explore` judges them"] if parts else []


def assurance_line(proof: Proof, solver: str, second: str | None) -> str:
    """Who answered the queries of a proof, and which bounds it rests on."""
    capped = [path for path in proof.bounded() if path not in proof.faults()]
    return assurance.of_proof(version(solver), second, proof.faults(), capped)


def _table(proof: Proof, judgements: Sequence[ClaimJudgement]) -> Table:
    numbers = [Column(name, to_right=True) for name in ("queries", "seconds")]
    table = Table((Column("claim"), Column("verdict"), *numbers, Column("slowest"), Column("says", is_prose=True)))
    for judgement in judgements:
        property_verdict = judgement.verdict
        word = report.WORDS[type(property_verdict.verdict)]
        answers = proof.of(property_verdict.claim)
        slowest = max(answers, key=lambda answer: answer.seconds, default=None)
        action = slowest.obligation.action if slowest is not None else ""
        sentence = proof.theory.claim(property_verdict.claim).sentence
        holds = isinstance(property_verdict.verdict, Holds)
        verdict_text = "proven" if holds else word
        says = sentence if holds else f"{sentence}: {report.detail(property_verdict)}"
        table.add(
            property_verdict.claim, Text(verdict_text, style=report.STYLES[word]), str(len(answers)),
            f"{sum(answer.seconds for answer in answers):.2f}", action, says,
        )  # fmt: skip
    return table


def _print_cores(screen: Screen, proof: Proof) -> None:
    screen.plain("\nwhat each proof used")
    for name in proof.claims:
        by_group: dict[str, list[str]] = {}
        for premise in proof.core(name):
            group, _, rest = premise.partition(": ")
            if rest != name:
                by_group.setdefault(group, []).append(rest)
        groups = [
            f"{group}s {', '.join(names)}" for group, names in by_group.items() if group in ("invariant", "guard")
        ]
        screen.plain(f"  {name}: " + ("; ".join(groups) or "the rules alone"))


def _print_counterexamples(screen: Screen, proof: Proof, judgements: Sequence[ClaimJudgement], number: int) -> None:
    broken = [judgement for judgement in judgements if judgement.counterexample is not None]
    for judgement in broken[:number]:
        property_verdict, cti = judgement.verdict, judgement.counterexample
        assert cti is not None
        few = f" with {cti.numbers}" if cti.numbers else ""
        screen.plain(f"\n{property_verdict.claim}: counterexample to induction{few}, {cti.reach} ({cti.where})")
        if isinstance(property_verdict.verdict, Refuted):
            screen.plain(
                f"  a run of {len(property_verdict.verdict.trace.steps)} steps from an initial state refutes it:"
            )
            screen.plain("\n".join(lines(property_verdict.verdict.trace)))
        else:
            screen.plain("  the state it starts from is one that the proven invariants allow:")
            screen.plain("\n".join(lines(cti.step)).replace("initial state", "some state", 1))
    if len(broken) > number:
        others = ", ".join(judgement.verdict.claim for judgement in broken[number:])
        screen.plain(f"\nalso with a counterexample (--traces {len(broken)} shows all): {others}")


def summary(proof: Proof, seconds: float, solver: str) -> list[str]:
    """Size and speed, what is bounded, and lemmas that no proof uses."""
    answers = list(proof.answers.values())
    proven = sum(answer.result == PROVEN for answer in answers)
    solving = sum(answer.seconds for answer in answers)
    text = [
        f"\n{len(answers):,} queries, {proven:,} proven, in {seconds:.1f} s ({solving:.1f} s in "
        f"{version(solver)}); rounds: {proof.rounds}"
    ]
    text += [cap_text(path) for path in proof.bounded() if path not in proof.faults()]
    text += [f"incomplete: {leaves_text([path])}" for path in proof.faults()]
    text += [f"{claim} rests on {', '.join(names)}, proven too" for claim, names in supports(proof).items()]
    text += [f"lemma that no proof uses: {name}" for name in proof.idle_lemmas()]
    return [*text, *_unasked_premises(proof)]


def _unasked_premises(proof: Proof) -> list[str]:
    """A line about the proven claims that come with kraftcheck and speak of some states or steps only, if any do."""
    program = proof.theory.program
    only_some = program.lenient.intersection(program.premises) - proof.theory.lemmas
    count = sum(proof.proven(claim) for claim in proof.targets if claim in only_some)
    what = "1 proven claim has a premise" if count == 1 else f"{count} proven claims have premises"
    return [f"{what} of which no run was asked for; `kraftcheck explore` warns where none satisfies one"] * bool(count)


def supports(proof: Proof) -> dict[str, list[str]]:
    """For each proven target, the claims that are no targets and are proven because it rests on them."""
    supports_ = {claim: [name for name in proof.support(claim) if name not in proof.targets] for claim in proof.targets}
    return {claim: names for claim, names in supports_.items() if names and proof.proven(claim)}


def _first(effort: Effort) -> dict[str, str]:
    return {} if effort.solver == "z3" else {effort.solver: metadata.version(effort.solver)}


def version(solver: str) -> str:
    """A solver with its version."""
    return f"Z3 {z3.get_version_string()}" if solver == "z3" else f"{solver} {metadata.version(solver)}"


def document(answer: ProofAnswer, code: int) -> dict[str, Any]:
    """A proof as plain values."""
    subject, proof, effort = answer.subject, answer.proof, answer.effort
    meaning = Meaning.of(proof.theory.program)
    return {
        "version": report.DOCUMENT_VERSION,
        "command": "prove",
        "engine": effort.solver,
        **subject.document(),
        "exit_code": code,
        "complete": not proof.stopped,
        "timeout": effort.timeout,
        "seed": effort.seed,
        "seconds": answer.seconds,
        "behaviour": meaning.behaviour,
        "claims": [_claim(proof, judgement, meaning) for judgement in answer.judgements],
        "bounded_by": proof.bounded(),
        "undeclared": proof.faults(),
        "idle_lemmas": proof.idle_lemmas(),
        "not_judged": [claim.id for claim in not_judged(subject, answer.only)],
        "versions": {**report.versions(), "z3": z3.get_version_string(), **_first(effort)},
    }


def _claim(proof: Proof, judgement: ClaimJudgement, meaning: Meaning) -> dict[str, Any]:
    property_verdict, cti = judgement.verdict, judgement.counterexample
    return {
        "id": property_verdict.claim,
        "kind": "lemma" if property_verdict.claim in proof.theory.lemmas else property_verdict.kind,
        "digest": meaning.claims.get(property_verdict.claim),
        "verdict": report.WORDS[type(property_verdict.verdict)],
        "bound": property_verdict.verdict.bound if isinstance(property_verdict.verdict, Holds) else None,
        "detail": report.detail(property_verdict),
        "depth": property_verdict.depth,
        "trace": trace_document(property_verdict.verdict),
        "used": proof.core(property_verdict.claim),
        "rests_on": proof.support(property_verdict.claim),
        "counterexample": None if cti is None else {"reach": cti.reach, "where": cti.where},
        "queries": [
            {"action": a.obligation.action, "result": a.result, "seconds": a.seconds, "reason": a.reason}
            for a in proof.of(property_verdict.claim)
        ],
    }
