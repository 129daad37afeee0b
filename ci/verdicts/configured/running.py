"""The runs of a user's table: each is judged by its engine, and compared with what the table expects."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from kraftcheck.ci.prove.question import MOST_STATES, ProofQuestion, check_only
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.run.judged import JudgedRun, every_id, expecting, not_judged
from kraftcheck.ci.run.questions import SearchQuestion, WalkQuestion
from kraftcheck.ci.run.result import Result
from kraftcheck.ci.run.search import SearchBudget, run
from kraftcheck.ci.run.walks import WALKED, WalkPlan, walk
from kraftcheck.ci.systems.subject import Subject, program, subject
from kraftcheck.ci.systems.switches import check_switches
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.ci.terminal.time_limit import within
from kraftcheck.ci.verdicts.configured.reading import ConfiguredRun, RunTable
from kraftcheck.model.nearest import nearest
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import DEADLOCK
from kraftcheck.solvers.smt.queries import Effort
from kraftcheck.solvers.smt.theory import theory


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
    result = _answered(prepared, workers, memory, quiet)
    judged_run = prepared.judged(result.rows, result.seconds, result.options)
    return ExecutedRun(prepared, judged_run, result.document, result.size, result.program)


def _answered(prepared: PreparedRun, workers: int, memory: int, quiet: bool) -> Result:
    """The answer of the run's engine."""
    one, chosen = prepared.configured, prepared.subject
    if one.engine == "prove":
        budget = SearchBudget(1, memory, max_states=MOST_STATES, keep=True)
        effort = Effort(within(float(one.timeout)))
        return ProofQuestion(prepared.request(), effort, one.properties, workers, budget, quiet).answer().result()
    if one.engine == "simulate":
        plan = WalkPlan(one.runs, one.steps, one.seed, workers=workers, strict=one.strict)
        return WalkQuestion(chosen, plan).result(program(chosen), functools.partial(walk, quiet=quiet))
    question = SearchQuestion(chosen, SearchBudget(workers, memory, strict=one.strict))
    return question.result(question.traced(), functools.partial(run, quiet=quiet))


def folder_name(prepared: PreparedRun) -> str:
    """The folder of a run's counterexamples: its title in characters that every file system takes."""
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in prepared.configured.title).strip(".") or "run"


