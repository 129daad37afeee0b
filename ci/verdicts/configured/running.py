"""The runs of a user's table: each is judged by its engine, and compared with what the table expects."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from kraftcheck.ci.explore.simulate import WalkPlan, walk
from kraftcheck.ci.prove import report as proof_report
from kraftcheck.ci.prove.command import check_only, proof_judgements
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.run import walk_report
from kraftcheck.ci.run.judged import WALKED, JudgedRun, every_id, expecting, judged, judged_by_walks, not_judged
from kraftcheck.ci.run.search import SearchBudget, run
from kraftcheck.ci.systems import report
from kraftcheck.ci.systems.subject import Subject, program, subject
from kraftcheck.ci.systems.switches import check_switches
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.ci.terminal.time_limit import within
from kraftcheck.ci.verdicts.configured.reading import ConfiguredRun, RunTable
from kraftcheck.model.nearest import nearest
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import DEADLOCK, worst_exit_code
from kraftcheck.solvers.smt.queries import Effort
from kraftcheck.solvers.smt.theory import theory
from kraftcheck.solvers.walks.findings import confirm_findings
from kraftcheck.solvers.walks.suspects import with_suspects

MOST_STATES = 5_000_000
"""States explored to tell whether a counterexample to induction is reachable, as `kraftcheck prove` does."""


@frozen
class PreparedRun:
    """A run that can be executed.

    Attributes:
        configured: the row of the table.
        name: the system, as it is found from the working folder.
        subject: the system at its setting.
        ids: the properties that are judged.
        folder: where the system is found, seen from the working folder; empty: there.
    """

    configured: ConfiguredRun
    name: str
    subject: Subject
    ids: tuple[str, ...]
    folder: str = ""

    def request(self) -> ProofRequest:
        """What a prover is asked for."""
        one = self.configured
        return ProofRequest(self.name, one.scope, one.bounds, one.rules)

    def judged(self, properties: Sequence[Any], seconds: float, options: tuple[str, ...]) -> JudgedRun:
        """The verdicts beside the expected ones; what was to be judged and was not is no pass."""
        expect = self.configured.expect
        rows = tuple(expecting(one, expect.get(one.id, one.expected)) for one in properties)
        missing = [id_ for id_ in self.ids if id_ not in {one.id for one in rows}]
        rows += not_judged(self.subject, missing, "the engine has no verdict about it")
        return JudgedRun(self.subject, self.configured.engine, rows, seconds, options, self.folder)


@frozen
class ExecutedRun:
    """A run with its verdicts.

    Attributes:
        prepared: the run.
        judged: its verdicts.
        document: the engine's report as plain values.
        size: what was covered, in words.
        program: what was judged, for drawings of traces.
    """

    prepared: PreparedRun
    judged: JudgedRun
    document: Mapping[str, Any]
    size: str
    program: Program


def prepare(table: RunTable, number: int) -> PreparedRun:
    """A run of the table, once all that it names is there.

    Raises:
        Refusal: with file, line, key and the nearest name.
    """
    one = table.runs[number]
    name, folder = found_from_here(table, one.system)
    for key in ("system", "scope", "rules", "bounds", "properties"):
        given = {word: getattr(one, word) if _upto(word, key) else None for word in ("scope", "rules")}
        bounds = one.bounds if _upto("bounds", key) else {}
        only = one.properties if key == "properties" and one.engine != "prove" else ()
        try:
            chosen = subject(name, given["scope"], bounds, given["rules"], only, proof=one.engine == "prove")
        except Refusal as error:
            table.refuse(number, key, error.message)
    try:
        check_switches(chosen, theory) if one.engine == "prove" else check_switches(chosen)
    except Refusal as error:
        table.refuse(number, "rules" if one.rules else "bounds", error.message)
    prepared = PreparedRun(one, name, chosen, (), folder)
    try:
        ids = _ids(prepared)
    except Refusal as error:
        table.refuse(number, "properties", error.message)
    for property_ in one.expect:
        if property_ not in ids:
            table.refuse(number, f"expect.{property_}", f"the run judges no such property; {nearest(property_, ids)}")
    return evolve(prepared, ids=tuple(ids))


def _upto(word: str, key: str) -> bool:
    """Whether a key is looked at by now: they are added one by one, so that the one at fault is named."""
    order = ("system", "scope", "rules", "bounds", "properties")
    return order.index(word) <= order.index(key)


def _ids(prepared: PreparedRun) -> list[str]:
    one, chosen = prepared.configured, prepared.subject
    if one.engine == "prove":
        built = prepared.request().build()
        check_only(one.system, built, one.properties)
        return list(one.properties) or [claim.id for claim in built.claims]
    if one.engine == "explore":
        return every_id(chosen)
    kinds = {claim.id: claim.kind for claim in chosen.system.properties(chosen.setting)}
    for id_ in one.properties:
        if kinds.get(id_, DEADLOCK) not in WALKED:
            raise Refusal(f"random walks do not judge {id_}, which is of the kind {kinds[id_]}")
    return [id_ for id_ in every_id(chosen) if kinds.get(id_, DEADLOCK) in WALKED]


def found_from_here(table: RunTable, system: str) -> tuple[str, str]:
    """The system as it is found from the working folder, and the folder where a module of it is found."""
    home = table.path.absolute().parent
    module, colon, attribute = system.partition(":")
    if not colon:
        return system, ""
    if module.endswith(".py"):
        return f"{os.path.relpath(home / module)}:{attribute}", ""
    if str(home) not in sys.path:
        sys.path.insert(0, str(home))
    return system, "" if os.path.samefile(home, os.getcwd()) else os.path.relpath(home)


def execute(prepared: PreparedRun, workers: int, memory: int, quiet: bool) -> ExecutedRun:
    """Judge a run.

    Raises:
        Interrupted: when it was stopped before there was a verdict.
    """
    engines = {"explore": _explored, "prove": _proven, "simulate": _walked}
    return engines[prepared.configured.engine](prepared, workers, memory, quiet)


def _explored(prepared: PreparedRun, workers: int, memory: int, quiet: bool) -> ExecutedRun:
    strict = prepared.configured.strict
    result = run(program(prepared.subject), SearchBudget(workers, memory, strict=strict), quiet)
    judged_run = prepared.judged(
        judged(prepared.subject, result.verdicts), result.seconds, ("--strict",) if strict else ()
    )
    size = f"{result.distinct:,} distinct states, depth {result.depth}"
    return ExecutedRun(prepared, judged_run, report.document(prepared.subject, result), size, result.program)


def _proven(prepared: PreparedRun, workers: int, memory: int, quiet: bool) -> ExecutedRun:
    request, one = prepared.request(), prepared.configured
    effort = Effort(within(float(one.timeout)))
    flags = {"only": one.properties, "workers": workers, "memory": memory, "search": MOST_STATES, "quiet": quiet}
    proof, judgements, seconds = proof_judgements(request, effort, flags)
    verdicts = [judgement.verdict for judgement in judgements]
    code = worst_exit_code(verdict.verdict for verdict in verdicts)
    document = proof_report.document(prepared.subject, proof, judgements, seconds, effort, code, one.properties)
    judged_run = prepared.judged(judged(prepared.subject, verdicts), seconds, ())
    return ExecutedRun(prepared, judged_run, document, f"{len(proof.answers):,} queries", proof.theory.program)


def _walked(prepared: PreparedRun, workers: int, memory: int, quiet: bool) -> ExecutedRun:
    one, chosen = prepared.configured, prepared.subject
    plan = WalkPlan(one.runs, one.steps, one.seed, "both", {}, (), workers, True, one.strict)
    walks = with_suspects(walk(program(chosen), plan, quiet))
    findings = confirm_findings(walks)
    code = walk_report.exit_code(walks, findings)
    document = walk_report.document(chosen, walks, findings, one.steps, "both", code)
    judged_run = prepared.judged(judged_by_walks(chosen, walks, findings), walks.seconds, plan.flags())
    size = f"{walks.runs:,} random walks, {walks.steps:,} steps"
    return ExecutedRun(prepared, judged_run, document, size, walks.program)


def folder_name(prepared: PreparedRun) -> str:
    """The folder of a run's counterexamples: its title in characters that every file system takes."""
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in prepared.configured.title).strip(".") or "run"


