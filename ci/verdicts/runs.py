"""The runs of a user's table: each is judged by its engine, and compared with what the table expects."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from kraftcheck.ci.explore.trace import write_drawn
from kraftcheck.ci.prove.question import MOST_STATES, ProofQuestion, check_only
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.run.fanout import WHOLE, Cluster, Shard, fan_out
from kraftcheck.ci.run.judged import NOT_JUDGED, JudgedProperty, JudgedRun, every_id, expecting, not_judged
from kraftcheck.ci.run.questions import SearchQuestion, WalkQuestion, run, search_budget
from kraftcheck.ci.run.reports import unwritten
from kraftcheck.ci.run.result import Result
from kraftcheck.ci.run.walks import WALKED, walk
from kraftcheck.ci.systems import report
from kraftcheck.ci.systems.subject import Subject, program, subject
from kraftcheck.ci.systems.switches import check_switches
from kraftcheck.ci.terminal import interrupts
from kraftcheck.ci.terminal.commands import EXIT_USAGE
from kraftcheck.ci.terminal.console import Screen
from kraftcheck.ci.terminal.files import results
from kraftcheck.ci.terminal.interrupts import Interrupted, stop_requested, within
from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.ci.verdicts.run_table import ConfiguredRun, RunTable
from kraftcheck.model.language.system import System
from kraftcheck.model.nearest import nearest
from kraftcheck.solvers.expressions.expression import Expressions
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import DEADLOCK, EXIT_INCOMPLETE, EXIT_SAFETY, EXIT_UNKNOWN, worst_first
from kraftcheck.solvers.smt.queries import Effort
from kraftcheck.solvers.smt.theory import theory
from kraftcheck.solvers.walks.walker import WalkPlan


@frozen
class PreparedRun:
    """A run that can be executed."""

    configured: ConfiguredRun  # the row of the table
    name: str | System  # the system, as it is found from the working folder; or itself, on another machine
    subject: Subject  # the system at its setting
    ids: tuple[str, ...]  # the properties that are judged
    folder: str = ""  # where the system is found, seen from the working folder; empty: there

    def request(self) -> ProofRequest:
        """The request to a prover."""
        one, added = self.configured, _expressions(self.configured)
        return ProofRequest(self.name, one.scope, one.bounds, one.rules, added.invariants, added.names)

    def judged(self, properties: Sequence[Any], seconds: float, options: tuple[str, ...]) -> JudgedRun:
        """The verdicts beside the expected ones; what was to be judged and was not is no pass."""
        expect = self.configured.expect
        rows = tuple(expecting(one, expect.get(one.id, one.expected)) for one in properties)
        missing = [id_ for id_ in self.ids if id_ not in {one.id for one in rows}]
        rows += not_judged(self.subject, missing, "the engine has no verdict about it")
        title, engine = self.configured.title, self.configured.engine
        return JudgedRun(self.subject, engine, rows, seconds, options, folder=self.folder, name=title)


@frozen
class ExecutedRun:
    """A run with its verdicts."""

    prepared: PreparedRun  # the run
    judged: JudgedRun  # its verdicts
    document: Mapping[str, Any]  # the engine's report as plain values
    size: str  # what was covered, in words
    program: Program | None  # what was judged, for drawings of traces; None where that is on another machine


KEYS = ("system", "scope", "rules", "bounds", "invariants", "properties")  # of a run, in the order of what they hang on


def prepare(table: RunTable, number: int) -> PreparedRun:
    """A run of the table, once all that it names is there; raises Refusal with file, line, key and the nearest name."""
    one = table.runs[number]
    name, folder = found_from_here(table, one.system)
    for key in KEYS:
        given = {word: getattr(one, word) if _upto(word, key) else None for word in ("scope", "rules")}
        bounds = one.bounds if _upto("bounds", key) else {}
        only = one.properties if key == "properties" and one.engine != "prove" else ()
        try:
            added = _expressions(one) if _upto("invariants", key) else Expressions()
            proof = one.engine == "prove"
            chosen = subject(name, given["scope"], bounds, given["rules"], only, proof=proof, expressions=added)
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
    return KEYS.index(word) <= KEYS.index(key)


def _expressions(one: ConfiguredRun) -> Expressions:
    return Expressions(tuple(one.invariants.values()), names=tuple(one.invariants))


def _ids(prepared: PreparedRun) -> list[str]:
    one, chosen = prepared.configured, prepared.subject
    if one.engine == "prove":
        built = prepared.request().build()
        only = check_only(one.system, built, one.properties, tuple(one.invariants))
        return list(only) or [claim.id for claim in built.claims]
    if one.engine == "explore":
        return every_id(chosen)
    kinds = {claim.id: claim.kind for claim in chosen.system.properties(chosen.setting)}
    for id_ in one.properties:
        if kinds.get(id_, DEADLOCK) not in WALKED:
            raise Refusal(f"random walks do not judge {id_}, which is of the kind {kinds[id_]}; ask explore")
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
    """Judge a run; raises Interrupted when it was stopped before there was a verdict."""
    result = _answered(prepared, workers, memory, quiet)
    judged_run = prepared.judged(result.rows, result.seconds, result.options)
    return ExecutedRun(prepared, judged_run, result.document, result.size, result.program)


def _answered(prepared: PreparedRun, workers: int, memory: int, quiet: bool) -> Result:
    one, chosen = prepared.configured, prepared.subject
    if one.engine == "prove":
        budget = search_budget(1, memory, max_states=MOST_STATES, keep=True)
        only = prepared.ids if one.properties else ()
        asked = (prepared.request(), Effort(within(float(one.timeout))), only, workers, budget)
        return ProofQuestion(*asked, quiet=quiet).answer().result()
    if one.engine == "simulate":
        plan = WalkPlan(one.runs, one.steps, one.seed, threads=workers, cache_dir=cache_folder(), strict=one.strict)
        return WalkQuestion(chosen, plan).result(program(chosen), functools.partial(walk, quiet=quiet))
    question = SearchQuestion(chosen, search_budget(workers, memory, strict=one.strict))
    return question.result(question.traced(), functools.partial(run, quiet=quiet))


def folder_name(prepared: PreparedRun) -> str:
    """The folder of a run's counterexamples: its title in characters that every file system takes."""
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in prepared.configured.title).strip(".") or "run"


@frozen
class CheckOptions:
    """The options of the check that a table takes."""

    # systems, scopes, rules: which of its runs; empty: all
    systems: Sequence[str]
    scopes: Sequence[str]
    rules: Sequence[str]
    # workers, memory: of each run
    workers: int
    memory: int
    out: Path | None = None  # the folder for counterexamples
    quiet: bool = True  # no progress
    documented: bool = True  # whether the document is wanted
    shard: Shard = WHOLE  # which part of the runs
    cluster: Cluster | None = None  # where runs are executed; None: here, one by one


@frozen
class FinishedCheck:
    """A check that has ended: verdicts beside the expected ones, exit code, closing line, and all as plain values."""

    runs: Sequence[JudgedRun]
    code: int
    last_line: str
    document: Mapping[str, Any]


def check_table(table: RunTable, wanted: CheckOptions, screen: Screen) -> FinishedCheck:
    """Execute the runs of a table, and report.

    It is 12 where a verdict is another than the expected one, 20 and 22 where an engine could not tell, 2 where a run
    is refused when its turn comes, as for a property that raises; the others keep their verdicts.

    Raises:
        Refusal: for a fault in the table, before anything is executed, and where no run has a verdict.
    """
    chosen = wanted.shard.of_parts(_chosen(table, wanted))
    screen.plain(_first_line(table, chosen))
    sys.stdout.flush()  # an imported module may end the process
    prepared = [prepare(table, number) for number in chosen]
    executed, refused = list[ExecutedRun](), dict[str, str]()
    out = nullcontext() if wanted.out is None else results("--out", wanted.out)
    with unwritten(lambda: any(not one.passed for done in executed for one in done.judged.properties)), out as place:
        _execute_all(screen, prepared, wanted, place, executed, refused)
    if refused and not executed:
        raise Refusal(next(iter(refused.values())))
    for title, reason in refused.items():
        screen.plain(f"{title}: NO VERDICT: {reason}")
    rest = [one for one in prepared if all(one is not done.prepared for done in executed)]
    runs = [one.judged for one in executed] + [_left_out(one, refused) for one in rest]
    faulty = sum(not one.passed for judged in runs for one in judged.properties)
    codes = [exit_code(one) for done in executed for one in done.judged.properties if not one.passed]
    code = worst_first(codes + [EXIT_USAGE if one.configured.title in refused else EXIT_INCOMPLETE for one in rest])
    for text in (text for one in executed for text in _texts(one.judged)):
        screen.plain(f"\n{text}")
    closing = wanted.shard.words + last_line(runs, faulty, len(rest), code)
    return FinishedCheck(runs, code, closing, document(table, executed, rest, code))


def _texts(of: JudgedRun) -> Iterator[str]:
    """What is to be said of each verdict that is no pass; of those that an engine left open for one reason, once."""
    faulty = [one for one in of.properties if not one.passed and one.verdict != NOT_JUDGED]
    for one in faulty:
        alike = [other.id for other in faulty if one.undecided and other.outcome() == one.outcome()]
        if alike[:1] in ([], [one.id]):
            yield of.text(one) + "".join(f"\nthe same of {', '.join(alike[1:])}" for _ in alike[1:2])


def _first_line(table: RunTable, chosen: Sequence[int]) -> str:
    """The table that is executed, and the modules of users whose code is run for it: none of them is imported yet."""
    names = [found_from_here(table, table.runs[number].system)[0] for number in chosen]
    modules = dict.fromkeys(name.rpartition(":")[0] for name in names if ":" in name)
    return f"runs of {table.path}" + (f", which run the code of {', '.join(modules)}" if modules else "")


def _chosen(table: RunTable, wanted: CheckOptions) -> list[int]:
    """The numbers of the runs that the command line chooses; a name that no run has is refused."""
    numbers = list(range(len(table.runs)))
    for noun, key, names in (("system", "system", wanted.systems), ("scope", "scope", wanted.scopes),
                             ("rule set", "rules", wanted.rules)):  # fmt: skip
        offered = {number: {getattr(table.runs[number], key), *([table.runs[number].name] * (key == "system"))}
                   for number in range(len(table.runs))}  # fmt: skip
        every = sorted({value for values in offered.values() for value in values if value})
        for name in names:
            if name not in every:
                raise Refusal(f"{table.path}: no run has the {noun} {name!r}; {nearest(name, every)}")
        numbers = [number for number in numbers if not names or offered[number] & set(names)]
    if not numbers:
        raise Refusal(f"{table.path}: no run has this system, scope and rule set together; leave one out")
    return numbers


def _execute_all(
    screen: Screen, prepared: Sequence[PreparedRun], wanted: CheckOptions, place: Path | None,
    executed: list[ExecutedRun], refused: dict[str, str],
) -> None:  # fmt: skip
    """Execute run by run until stopped; `executed` gets those with verdicts, `refused` reasons by title."""
    for done in _executed(prepared, wanted, refused):
        executed.append(done)
        wrong = sum(not row.passed for row in done.judged.properties)
        outcome = f"{wrong} UNEXPECTED" if wrong else "as expected"
        title = done.prepared.configured.title
        screen.plain(f"{title}: {done.size}, {_verdicts(len(done.judged.properties))}, {outcome}")
        if place is not None:
            assert done.program is not None
            judged, shortest = done.judged, done.judged.engine == "explore"
            traces = [one.trace for one in judged.properties if one.trace is not None]
            write_drawn(place / folder_name(done.prepared), judged.subject, done.program, traces, shortest)


def _executed(prepared: Sequence[PreparedRun], wanted: CheckOptions, refused: dict[str, str]) -> Iterator[ExecutedRun]:
    """The runs as they end, here or on a cluster; fewer where the work is stopped or the time is over."""
    if wanted.cluster is not None:
        ask = functools.partial(_execute_there, memory=wanted.memory)
        executor = wanted.cluster.executor(wanted.quiet)
        answers = fan_out(executor, ask, prepared, "runs", wanted.quiet)
        yield from (evolve(done, prepared=one) for one, done in answers)
        return
    for one in prepared:
        if stop_requested() or interrupts.passed():
            return
        try:
            yield execute(one, wanted.workers, wanted.memory, wanted.quiet)
        except Refusal as error:
            refused[one.configured.title] = error.message
        except Interrupted:
            if not interrupts.passed():
                raise
            return


def _execute_there(prepared: PreparedRun, memory: int) -> ExecutedRun:
    """Execute a run on another machine, which has no file of a user's; terms are of one process, and stay there."""
    name = prepared.subject.name
    carried = evolve(prepared, name=prepared.subject.whole if ":" in name else name)
    done = execute(carried, 1, memory, quiet=True)
    return evolve(done, program=None, document={**done.document, "system": name})


def _verdicts(count: int) -> str:
    return f"{count} verdict{'s' * (count != 1)}"


def _left_out(prepared: PreparedRun, refused: Mapping[str, str]) -> JudgedRun:
    reason = refused.get(prepared.configured.title, "the check ended before this run")
    return prepared.judged(not_judged(prepared.subject, prepared.ids, reason), 0.0, ())


def exit_code(one: JudgedProperty) -> int:
    """The exit code of a verdict that is not the expected one."""
    if one.verdict == "unknown":
        return EXIT_UNKNOWN
    return EXIT_INCOMPLETE if one.undecided else EXIT_SAFETY


def last_line(runs: Sequence[JudgedRun], faulty: int, left_out: int, code: int) -> str:
    """The closing line: failures first, then the counts."""
    count = sum(len(run.properties) for run in runs)
    parts = [f"stopped: {left_out} run{'s' * (left_out != 1)} NOT checked"] * (left_out > 0)
    parts.append(f"{faulty} UNEXPECTED of {_verdicts(count)}" if faulty else f"{_verdicts(count)}, 0 unexpected")
    return ", ".join(parts) + f" (exit {code})"


def document(
    table: RunTable, executed: Sequence[ExecutedRun], left_out: Sequence[PreparedRun], code: int
) -> dict[str, Any]:
    """The whole check as plain values: of each run the document of its engine, and the name of the run."""
    unexpected = [
        {"name": one.prepared.configured.title, "system": of.name, "scope": of.setting.scope, "rules": of.rules,
         "property": row.id, "expected": row.expected, "actual": row.verdict}
        for one in executed for of in [one.judged.subject] for row in one.judged.properties if not row.passed
    ]  # fmt: skip
    runs = [{**one.document, "name": one.prepared.configured.title} for one in executed]
    left = [one.configured.title for one in left_out]
    return report.told("check", code, configuration=str(table.path), runs=runs, proofs=[], left_out=left,
                       unexpected=unexpected)  # fmt: skip
