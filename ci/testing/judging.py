"""What tests of systems ask: verdicts of an exploration, and state machines of Hypothesis."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import asdict, evolve, field, frozen
from hypothesis import HealthCheck, seed, settings

from kraftcheck.ci.explore.trace import write_drawn
from kraftcheck.ci.run.judged import NOTHING_FOUND, SHOWN, JudgedProperty, JudgedRun, RunsEvidence, judged_by_runs
from kraftcheck.ci.run.questions import (
    NONE,
    OFF,
    SearchQuestion,
    WalkQuestion,
    argument,
    search,
    search_budget,
    symmetry_of,
)
from kraftcheck.ci.run.result import Result
from kraftcheck.ci.run.walks import WALKED, walks_of
from kraftcheck.ci.systems.lookup import properties_of
from kraftcheck.ci.systems.report import WORDS
from kraftcheck.ci.systems.subject import Subject, bounds_of, program, refuse_liveness, subject
from kraftcheck.ci.systems.switches import check_switches
from kraftcheck.ci.terminal.files import write
from kraftcheck.ci.terminal.interrupts import duration, limited
from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.ci.terminal.progress import interruptible
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.system import ScopeError, Setting, System
from kraftcheck.model.nearest import nearest
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget
from kraftcheck.solvers.hypothesis.machine import Implementation, LeavesDomainError, SystemMachine, Violation, run
from kraftcheck.solvers.hypothesis.machine import machine as machine_of
from kraftcheck.solvers.hypothesis.tally import Tally
from kraftcheck.solvers.program.fingerprint import fingerprint
from kraftcheck.solvers.program.premises import checks_nothing
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import DEADLOCK, Holds, Trace
from kraftcheck.solvers.reference.interpreter import Integers
from kraftcheck.solvers.walks.walker import WalkPlan
from kraftcheck.solvers.walks.walks import Walks

RUNS, STEPS = 1000, 1000  # walks, and their longest, where a request names none

VERDICTS = (*WORDS.values(), SHOWN, NOTHING_FOUND)
"""What may be expected of a property; `refuted 3` of a trace of three steps besides."""

ENGINES = ("explore", "simulate", "hypothesis")


@frozen
class JudgementRequest:
    """The request of a marker."""

    chosen: Subject  # the system at its setting
    expect: Mapping[str, str]  # property to the verdict it must have, in words; the others must hold
    engine: str  # `explore` every state, `simulate` random walks in compiled code, or `hypothesis`, which draws on ints
    threads: int  # of the engine
    # runs, steps: how many runs, and the longest; None: 1,000 of walks, and the profile's of Hypothesis
    runs: int | None
    steps: int | None
    seed: int  # of what is drawn
    strict: bool = False  # whether steps that a declared cap leaves out make a verdict incomplete
    # symmetry, reduce: the reductions of an exploration, as the options have them
    symmetry: str = OFF
    reduce: str = NONE
    fingerprint: str = ""  # of a system that does not come with kraftcheck, for two of these may have one name
    folder: str = ""  # where its module is found, seen from the working folder; empty: there
    time_limit: str | None = None  # such as `90s`, after which a verdict is incomplete; None: no limit

    @classmethod
    def of(
        cls, system: str | System, *, scope: str | None = None, rules: str | None = None,
        bounds: Mapping[str, int] | None = None, properties: Sequence[str] = (),
        expect: Mapping[str, str] | None = None, engine: str = "explore", threads: int = 1, runs: int | None = None,
        steps: int | None = None, seed: int = 1, strict: bool = False, symmetry: bool | str = False, reduce: str = NONE,
        time_limit: str | None = None,
    ) -> JudgementRequest:  # fmt: skip
        """The arguments of a marker, checked; raises Refusal naming what is unknown or out of range.

        `properties` names those that are judged besides deadlock; empty: all.
        """
        if not isinstance(engine, str) or engine not in ENGINES:
            raise Refusal(f"unknown engine {engine!r}; {nearest(str(engine), ENGINES)}")
        chosen = subject(system, scope, bounds or {}, rules, properties)
        check_switches(chosen)
        if engine != "explore":
            refuse_liveness(chosen, f"the engine {engine} judges")
            if symmetry or reduce != NONE:
                raise Refusal("symmetry and reduce are of the engine explore; leave them out")
            if time_limit is not None and engine == "hypothesis":
                raise Refusal("time_limit is of the engines explore and simulate; leave it out")
        if time_limit is not None:
            duration(time_limit, "time_limit")
        own = "" if chosen.shipped else fingerprint(program(chosen))
        how = symmetry_of(symmetry), reduce
        request = cls(chosen, expect or {}, engine, threads, runs, steps, seed, strict, *how, own, "", time_limit)
        names = items_of(request)
        for name, verdict in request.expect.items():
            if verdict not in VERDICTS and not str(verdict).removeprefix("refuted ").isdigit():
                raise Refusal(f"expect gives {name} the verdict {verdict!r}; {nearest(str(verdict), VERDICTS)}")
            if name in unjudged(request):
                raise Refusal(f"expect names {name!r}, which {engine} does not judge; leave one of the two out")
            if name not in names:
                raise Refusal(f"expect names the unknown property {name!r}; {nearest(name, names)}")
        return request

    def key(self) -> str:
        """Names what is judged: equal for items that one exploration judges."""
        setting = self.chosen.setting
        facts = (
            self.chosen.name, dict(setting.bounds), self.chosen.rules, self.engine, self.strict,
            self.symmetry, self.reduce, self.fingerprint, self.time_limit, items_of(self),
        )  # fmt: skip
        effort = () if self.engine == "explore" else (self.runs, self.steps, self.seed)
        return f"{self.chosen.name}-{hashlib.sha256(repr((facts, effort)).encode()).hexdigest()[:16]}"


def items_of(request: JudgementRequest) -> list[str]:
    """The properties that are items, deadlock last."""
    chosen = request.chosen
    return [*(claim.id for claim in properties_of(chosen.name, chosen.system, chosen.setting)), DEADLOCK]


def unjudged(request: JudgementRequest) -> list[str]:
    """The properties that the engine does not judge: of runs those about all of them. Their items are skipped."""
    chosen = request.chosen
    claims = () if request.engine == "explore" else chosen.system.properties(chosen.setting)
    return [claim.id for claim in claims if claim.kind not in WALKED]


@frozen
class PropertyJudgement:
    """A property, judged."""

    # claim, kind: the property
    claim: str
    kind: str
    verdict: str  # in words: `holds`, `refuted 3`, `vacuous`, `nothing found`
    # engine, bound, states, seed: what the verdict is about; an exploration has no seed, and Hypothesis counts no
    # states: `none`
    engine: str
    bound: str
    states: int | str
    seed: str
    text: str  # why the item fails: the sentence, the trace, the files, the command that judges it again
    passed: bool  # whether the verdict is the one it must be
    judged_by: str = field(default="main")  # the worker whose exploration it was
    files: Mapping[str, str] = field(factory=dict)  # paths of the counterexample, by kind: `itf`, `html`
    again: str = ""  # the command


def judgement(request: JudgementRequest, name: str, folder: Path, worker: str, artefacts: Path) -> PropertyJudgement:
    """The judgement of a property, from the file that the run's first worker to need it wrote.

    Args:
        folder: shared by the workers of one run of the tests.
        artefacts: where counterexamples are written, a folder for each system at its setting.
    """
    stem = request.key().replace(":", "-").replace("/", "-")
    target = folder / f"kraftcheck-{stem}.json"
    with open(folder / f"kraftcheck-{stem}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            judgements = _judged(request, worker, artefacts / stem)
            write(target, json.dumps([asdict(judgement_) for judgement_ in judgements]))
    rows = {row["claim"]: PropertyJudgement(**row) for row in json.loads(target.read_text(encoding="utf-8"))}
    return _with_expected(rows[name], request.expect.get(name))


def _with_expected(judgement: PropertyJudgement, expected: str | None) -> PropertyJudgement:
    if expected is None:
        return judgement
    same = judgement.verdict == expected or expected == "refuted" == judgement.verdict.partition(" ")[0]
    text = judgement.text
    if not same:
        text = f"{judgement.claim}: expected {expected}, got {judgement.verdict}\n{text}"
    return PropertyJudgement(**{**asdict(judgement), "passed": same, "text": text})


def _judged(request: JudgementRequest, worker: str, place: Path) -> list[PropertyJudgement]:
    """Judge a system as the request says; counterexamples are written below a folder."""
    answered = _by_machine(request) if request.engine == "hypothesis" else _by_compiled_code(request)
    return [_judgement(request, answered, one, worker, place) for one in answered.run.properties]


@frozen
class _Answered:
    """What an engine answered: verdicts, what they are of, how many states, and of a verdict that holds which."""

    run: JudgedRun
    program: Program
    size: str
    states: int | str
    shortest: bool = False
    bounds: Mapping[str, str] = field(factory=dict)


def _by_machine(request: JudgementRequest) -> _Answered:
    try:
        from kraftcheck.ci.testing.judging import evidence
    except ModuleNotFoundError as error:
        raise Refusal("engine='hypothesis' needs the package hypothesis: pip install hypothesis") from error
    chosen, traced = request.chosen, program(request.chosen)
    shown = evidence(chosen, traced, request.seed, request.runs, request.steps, request.strict)
    run = JudgedRun(chosen, "explore", judged_by_runs(chosen, shown), folder=request.folder)
    return _Answered(run, traced, f"{shown.size} of {chosen.title()}", "none")


def result_of(request: JudgementRequest) -> Result:
    """The verdicts of compiled code on all properties: by a search of all states, or by random walks.

    Raises:
        Refusal: of the engine hypothesis, which has no such result.
    """
    chosen = request.chosen

    def explored(traced: Program, budget: SearchBudget) -> Exploration:
        return interruptible(lambda stop: search(traced, budget, stop))

    def walked(traced: Program, plan: WalkPlan) -> Walks:
        return interruptible(lambda stop: walks_of(traced, plan, stop))

    with limited(request.time_limit):
        if request.engine == "explore":
            budget, how = search_budget(request.threads, strict=request.strict), (request.symmetry, request.reduce)
            question = SearchQuestion(chosen, budget, "native", *how, spelled=argument)
            return question.result(question.traced(), explored)
        if request.engine != "simulate":
            raise Refusal("the engine hypothesis judges by a machine, and has no result; take 'explore' or 'simulate'")
        plan = WalkPlan(request.runs or RUNS, request.steps or STEPS, request.seed, threads=request.threads,
                        cache_dir=cache_folder(), strict=request.strict)  # fmt: skip
        return WalkQuestion(chosen, plan).result(program(chosen), walked)


def _by_compiled_code(request: JudgementRequest) -> _Answered:
    chosen, found = request.chosen, result_of(request)
    if found.exploration is not None:
        bounds = {one.claim: one.verdict.bound for one in found.judged if isinstance(one.verdict, Holds)}
        reached = found.exploration.distinct
        return _Answered(found.run(request.folder), found.program, chosen.title(), reached, found.shortest, bounds)
    assert found.walked is not None
    walks = found.walked.walks
    size = f"{walks.runs:,} runs, {walks.steps:,} steps of {chosen.title()}"
    return _Answered(found.run(request.folder), found.program, size, walks.distinct)


def _judgement(
    request: JudgementRequest, answered: _Answered, one: JudgedProperty, worker: str, place: Path
) -> PropertyJudgement:
    """A verdict as an item says it, with the files of its counterexample."""
    run, traces = answered.run, [] if one.trace is None else [one.trace]
    files = write_drawn(place, request.chosen, answered.program, traces, answered.shortest).get(one.id, {})
    text = "\n".join([run.text(one), *(f"{kind}: {path}" for kind, path in files.items())])
    seed = "none" if request.engine == "explore" else str(request.seed)
    return PropertyJudgement(
        one.id, one.kind, one.verdict, request.engine, answered.bounds.get(one.id, answered.size), answered.states,
        seed, text, one.passed, worker, files, run.again(one.id),
    )  # fmt: skip


def assert_holds(system: str | System, *, out: str | os.PathLike[str] | None = None, **asked: Any) -> None:
    """Fail unless every property of a system has the verdict that it must have.

    Args:
        system: a name from `kraftcheck list`, `module:attribute`, or a system.
        out: a folder for the counterexamples; a temporary one by default.
        asked: the other arguments of the marker `kraftcheck_system`, such as `scope`, `expect` and `engine`.

    Raises:
        AssertionError: with the sentence, the verdict and the trace of each property that fails.
        Refusal: in one line, for what cannot be asked.
    """
    request = JudgementRequest.of(system, **asked)
    if skipped := unjudged(request):
        raise Refusal(f"{request.chosen.name}: the engine {request.engine} does not judge {', '.join(skipped)}; take "
                      "the engine explore, or name the others in `properties`")  # fmt: skip
    place = Path(tempfile.mkdtemp(prefix="kraftcheck-")) if out is None else Path(out)
    judged = [_with_expected(one, request.expect.get(one.claim)) for one in _judged(request, "main", place)]
    if failed := [one.text for one in judged if not one.passed]:
        raise AssertionError("\n\n".join(failed))


def machine(
    system: str | System, *, scope: str | None = None, rules: str | None = None, starts: Sequence[Any] = (),
    weights: Mapping[str, int] | None = None, tally: Tally | None = None, name: str | None = None,
    implementation: Implementation | None = None, **bounds: int,
) -> type[SystemMachine]:  # fmt: skip
    """A Hypothesis machine of a system: its `TestCase` is a test, and `run` runs it and sees that it shows something.

    Args:
        system: a name from `kraftcheck list`, `module:attribute`, or a system, which may be a changed one.
        scope, rules: as `kraftcheck.explore` takes them.
        starts: states to begin in; the initial states by default.
        weights: how often to prefer an action, by name; 1 where it is not named.
        tally: what has to occur; every action and every goal by default.
        name: of the class, as failures show it.
        implementation: a class or function of the state that a run begins in. What it gives is called with each `Step`
            to take it too, and raises where it then differs; nothing by default.
        bounds: single bounds by name, with `_` for `-`; they may be larger than a search takes them.

    Raises:
        Refusal: in one line, for what cannot be asked.
        ValueError: for liveness properties, which no finite run judges, and for a start outside its domains.
    """
    engine = integers(system, scope=scope, rules=rules, **bounds)
    return machine_of(engine, starts, weights, tally, name, implementation)


def integers(system: str | System, *, scope: str | None = None, rules: str | None = None, **bounds: int) -> Integers:
    """A system that runs on plain ints, for strategies such as `moves` and `reachable`; arguments as of `machine`.

    Raises:
        Refusal: in one line, for what cannot be asked.
    """
    chosen = subject(system, scope, {}, rules)
    check_switches(chosen)
    try:
        setting = chosen.system.unlimited_setting(chosen.setting.scope, bounds_of(bounds), chosen.setting.rules)
    except ScopeError as error:
        raise Refusal(str(error)) from error
    return Integers(chosen.system, setting)


def evidence(
    chosen: Subject, traced: Program, number: int, runs: int | None, steps: int | None, strict: bool
) -> RunsEvidence:
    """What examples of a machine show; when a property is broken, they are drawn again without it.

    Args:
        number: the seed of the draws.
        runs, steps: examples, and steps of each; those of the profile of Hypothesis by default.
        strict: whether steps that a declared cap leaves out make a verdict incomplete.
    """
    plan = settings(deadline=None, database=None, suppress_health_check=tuple(HealthCheck))
    plan = settings(plan, max_examples=runs or plan.max_examples, stateful_step_count=steps or plan.stateful_step_count)
    tally, traces, reason, goes_on = Tally(), dict[str, Trace](), None, True
    while goes_on:
        goes_on, drawn = False, machine_of(Integers(_unrefuted(chosen, traces), chosen.setting), tally=tally)
        try:
            run(seed(number)(drawn), chosen=plan)
        except Violation as violation:
            goes_on, traces[violation.broken.claim] = True, violation.trace
        except LeavesDomainError as error:
            reason = str(error)
    if strict and tally.cut and reason is None:
        reason = "strict: " + ", ".join(f"bound on {path} cut {count:,} steps" for path, count in tally.cut.items())
    taken = sum(count for (kind, _), count in tally.counts.items() if kind == "action")
    size = f"{tally.examples:,} examples, {taken:,} steps"
    goals = {claim.id for claim in traced.claims if claim.kind in ("sometimes", "happens")}
    missed = {goal for goal in goals if not tally.counts["goal", goal]}
    return RunsEvidence(size, traces, missed, checks_nothing(traced), reason)


def _unrefuted(chosen: Subject, refuted: Mapping[str, Trace]) -> System:
    """The system with what runs judge, but for what is refuted."""
    system = chosen.system

    def left(setting: Setting) -> Sequence[Any]:
        return [one for one in system.properties(setting) if one.kind in WALKED and one.id not in refuted]

    return evolve(system, properties=left, quiescent=(lambda _: True) if DEADLOCK in refuted else system.quiescent)
