"""`kraftcheck bugs`: each defect is refuted by exactly the properties named for it, each finding in its release."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click
from attrs import evolve, frozen

from kraftcheck.ci.conformance.findings.search import (
    Evidence,
    ReleaseSearch,
    UndecidedFinding,
    recorded,
    search,
    wanted,
)
from kraftcheck.ci.conformance.kafka.jars import known_versions
from kraftcheck.ci.prove.broken import attempt_any, broken_proofs
from kraftcheck.ci.run.fanout import NATIVE, Cluster, cluster_of, fan_out, fan_out_options
from kraftcheck.ci.run.questions import run_to_end, search_budget
from kraftcheck.ci.systems import report
from kraftcheck.ci.systems.subject import program, subject
from kraftcheck.ci.terminal import options
from kraftcheck.ci.terminal.commands import check_idle
from kraftcheck.ci.terminal.console import console
from kraftcheck.ci.terminal.files import check_writable, write_json
from kraftcheck.ci.terminal.interrupts import Interrupted
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.nearest import nearest
from kraftcheck.properties.register.defects import BUGS, Bug
from kraftcheck.properties.register.findings import FINDINGS, Finding
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget
from kraftcheck.solvers.program.verdict import EXIT_INCOMPLETE, EXIT_SAFETY, EXIT_VACUOUS, Holds, Refuted


def release_defects(names: Sequence[str], release: str, budget: SearchBudget, target: str | None, quiet: bool) -> int:
    """Search findings by a release's rules: refuted in the recorded steps, not once mended; the exit code."""
    chosen = _findings(names)
    if release not in known_versions():
        raise Refusal(f"--kafka: no evidence of Kafka {release}; known: {', '.join(known_versions())}")
    if target is not None:
        check_writable(target)
    screen, evidence, rows = console(to_stderr=target == "-"), recorded(), list[dict[str, Any]]()
    for finding in chosen:
        try:
            one = search(finding, release, budget, quiet)
        except UndecidedFinding as reason:
            screen.plain(f"undecided: {reason}")
            return EXIT_INCOMPLETE
        faults = list(_faults(one, evidence[finding.id, release]))
        shown = "holds" if one.steps is None else f"refuted in {one.steps}"
        shown += "; without the defect it holds" if one.mend_suffices else ""
        screen.plain(f"{finding.id:28} {one.subject.rules}")
        screen.plain(f"    {one.subject.name} {wanted(finding).scope}, native: {wanted(finding).property} {shown}")
        for fault in faults:
            screen.plain(f"    UNEXPECTED {fault}")
        rows.append(_release_row(one, faults))
    faulty = sum(bool(row["faults"]) for row in rows)
    code = EXIT_SAFETY if faulty else 0
    if target is not None:
        write_json(target, report.told("bugs", code, findings=rows))
    screen.plain(f"{len(rows)} findings with the rules of {release}, {faulty} not as expected (exit {code})")
    return code


def _findings(names: Sequence[str]) -> list[Finding]:
    by_id = {finding.id: finding for finding in FINDINGS if finding.search is not None}
    for name in names:
        if name not in by_id:
            near = nearest(name, by_id, "kraftcheck findings")
            raise Refusal(f"no finding {name!r} that an explored system shows; {near}")
    return [by_id[name] for name in names] or list(by_id.values())


def _faults(one: ReleaseSearch, expected: Evidence) -> Iterator[str]:
    if one.steps != expected.steps:
        yield f"{wanted(one.finding).property}: expected {expected.steps or 'holds'}, got {one.steps or 'holds'}"
    if one.mend_suffices is False:
        yield f"{wanted(one.finding).property} is refuted without the defect too"


def _release_row(one: ReleaseSearch, faults: Sequence[str]) -> dict[str, Any]:
    place = wanted(one.finding)
    return {
        "finding": one.finding.id, "release": one.release, "system": place.system, "scope": place.scope,
        "bounds": dict(place.bounds), "rules": one.subject.rules, "property": place.property, "steps": one.steps,
        "mend_suffices": one.mend_suffices, "faults": list(faults),
    }  # fmt: skip


@frozen
class DefectJudgement:
    """A defect and what was found."""

    bug: Bug  # the defect
    refuted: Mapping[str, int]  # property to length of the shortest trace, with the defect
    base: Mapping[str, str]  # property to verdict where the right rules do not hold in its scope
    # distinct, seconds: size and time of the exploration with the defect
    distinct: int
    seconds: float
    cut: str | None = None  # why that exploration is incomplete; None when it is complete

    def faults(self) -> list[str]:
        """The deviations from the expectation, in words; none where the defect is refuted exactly as expected."""
        faults = [f"right rules: {claim} {verdict}" for claim, verdict in self.base.items()]
        if self.cut is not None:
            faults.append(f"incomplete: {self.cut}")
        if not self.refuted:
            faults.append("no property refutes it")
        for claim in sorted({*self.refuted, *self.bug.refutes}):
            expected, actual = self.bug.refutes.get(claim), self.refuted.get(claim)
            if expected != actual:
                faults.append(f"{claim}: expected {expected or 'holds'}, got {actual or 'holds'}")
        return faults


def choose(names: Sequence[str]) -> list[Bug]:
    """The defects with these variants, all of them for none; raises Refusal for an unknown name, with the nearest."""
    variants = [bug.variant for bug in BUGS]
    for name in names:
        if name not in variants:
            named = ", ".join(bug.variant for bug in BUGS if re.search(rf"\b{re.escape(name)}\b", bug.entry))
            near = f"it is of {named}" if named else nearest(name, variants, "kraftcheck list --variants")
            raise Refusal(f"no defect {name!r}; {near}")
    return [bug for bug in BUGS if not names or bug.variant in names]


def explore_defect(bug: Bug, rules: str, budget: SearchBudget, quiet: bool) -> Exploration:
    """The exploration of a defect's scope under a rule set; raises Interrupted when a signal stopped it."""
    return run_to_end(program(subject(bug.system, bug.scope, bug.bounds, rules)), budget, quiet, bug.variant)


def judge(bug: Bug, budget: SearchBudget, quiet: bool) -> DefectJudgement:
    """What is found of a defect, beside the right rules in its scope."""
    base = _base(bug.system, bug.scope, tuple(sorted(bug.bounds.items())), bug.base, budget, quiet)
    result = explore_defect(bug, bug.rules, budget, quiet)
    return DefectJudgement(bug, refutations(result), base, result.distinct, result.seconds, cut=result.cut)


@functools.lru_cache(maxsize=64)
def _base(
    system: str, scope: str, bounds: tuple[tuple[str, int], ...], rules: str, budget: SearchBudget, quiet: bool
) -> Mapping[str, str]:
    """The properties that the right rules break in a scope, which several defects have."""
    traced = program(subject(system, scope, dict(bounds), rules))
    return failing_properties(run_to_end(traced, budget, quiet, f"{rules} in the scope of defects"))


def _judged(
    bugs: Sequence[Bug], budget: SearchBudget, quiet: bool, cluster: Cluster | None
) -> Iterator[DefectJudgement]:
    """What is found of each defect, here or on a cluster; fewer where the work is stopped."""
    if cluster is None:
        yield from (judge(bug, budget, quiet) for bug in bugs)
        return
    ask = functools.partial(judge, budget=evolve(budget, threads=1), quiet=True)
    yield from (found for _, found in fan_out(cluster.executor(quiet), ask, bugs, "defects", quiet))


def refutations(result: Exploration) -> dict[str, int]:
    """The refuted properties with the lengths of their traces."""
    return {v.claim: v.depth or 0 for v in result.verdicts if isinstance(v.verdict, Refuted)}


def failing_properties(result: Exploration) -> dict[str, str]:
    """The properties that do not hold."""
    return {v.claim: report.word_of(v) for v in result.verdicts if not isinstance(v.verdict, Holds)}


@click.command("bugs")
@click.argument("variants", nargs=-1)
@functools.partial(fan_out_options, more={"z3": "each variant that refutes a proven property must break its proof."})
@click.option("--brokers", type=click.Choice(["any"]),
              help="With z3: it must break the proofs for any number of brokers, and be refuted with few.")  # fmt: skip
@click.option(
    "--kafka",
    "release",
    metavar="VERSION",
    help="Instead each finding (or those named) with the rules of this release, and with its mend.",
)
@options.workers
@options.memory
@options.document
@options.quiet
def bugs_command(variants: tuple[str, ...], target: str | None, quiet: bool, **flags: Any) -> None:
    """Explore every defect of the matrix (or the VARIANTS named), and the right rules in the same scope.

    A defect must be refuted by exactly the properties named for it, with traces
    of the expected lengths; the right rules must hold everything. With --kafka, each
    finding must show (or hold) in that release as `kraftcheck findings` says.

    \b
    Exit codes: 0 all as expected, 12 a defect breaks other properties or right
    rules fail, 20 a search was cut, 21 a defect that nothing refutes, 2 bad input.

    \b
    Examples:
      kraftcheck bugs
      kraftcheck bugs hw-advances-under-min-isr
      kraftcheck bugs --engine z3
      kraftcheck bugs --engine z3 --brokers any
      kraftcheck bugs --kafka 4.4.0
      kraftcheck bugs --engine spark --master spark://host:7077
    """
    engine, release, workers = flags["engine"], flags["release"], flags["workers"]
    cluster = cluster_of(flags)
    if engine == "z3":
        check_idle("is of --engine native", "memory", "release", "shard")
        attempt = None if flags["brokers"] is None else attempt_any
        sys.exit(broken_proofs(variants, workers, target, quiet, attempt))
    check_idle("is of --engine z3", "brokers")
    if release is not None:
        check_idle("is of the matrix of defects, and --kafka asks for findings", "shard", "master", "conf")
        if cluster is not None:
            raise Refusal("--kafka searches findings on this machine; leave out --engine spark")
        sys.exit(release_defects(variants, release, search_budget(workers, flags["memory"]), target, quiet))
    selected = flags["shard"].of_parts(choose(variants))
    if target is not None:
        check_writable(target)
    screen, budget = console(to_stderr=target == "-"), search_budget(workers, flags["memory"])
    judgements = []
    for judgement in _judged(selected, budget, quiet, cluster):
        judgements.append(judgement)
        for line in _row(judgement):
            screen.plain(line)
    if len(judgements) < len(selected):
        raise Interrupted(f"stopped after {len(judgements)} of {len(selected)} defects")
    code = _exit_code(judgements)
    if target is not None:
        write_json(target, {**document(judgements, code), **flags["shard"].told})
    faulty = sum(bool(judgement.faults()) for judgement in judgements)
    screen.plain(f"{flags['shard'].words}{len(judgements)} defects, {faulty} not as expected (exit {code})")
    sys.exit(code)


def _exit_code(judgements: Sequence[DefectJudgement]) -> int:
    if any(judgement.cut is not None for judgement in judgements):
        return EXIT_INCOMPLETE
    if any(judgement.faults() and judgement.refuted for judgement in judgements) or any(
        judgement.base for judgement in judgements
    ):
        return EXIT_SAFETY
    return EXIT_VACUOUS if any(judgement.faults() for judgement in judgements) else 0


def _row(judgement: DefectJudgement) -> list[str]:
    bug = judgement.bug
    broken = ", ".join(f"{claim} {length}" for claim, length in judgement.refuted.items()) or "nothing"
    lines = [
        f"{bug.entry:28} {bug.variant}",
        f"    {bug.system} {bug.scope}, {NATIVE}: {judgement.distinct:,} states in {judgement.seconds:.1f} s; "
        f"refutes {broken}",
    ]
    return lines + [f"    UNEXPECTED {fault}" for fault in judgement.faults()]


def document(judgements: Sequence[DefectJudgement], code: int) -> dict[str, object]:
    """The matrix as plain values."""
    rows = [
        {"entry": bug.entry, "variant": bug.variant, "system": bug.system, "scope": bug.scope,
         "bounds": dict(bug.bounds), "rules": bug.rules, "engine": NATIVE, "refutes": dict(one.refuted),
         "faults": one.faults(), "distinct": one.distinct, "seconds": one.seconds}
        for one in judgements for bug in [one.bug]
    ]  # fmt: skip
    return report.told("bugs", code, bugs=rows)
