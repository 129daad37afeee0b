"""Judgements for test items: each system is judged once in a run of the tests, by the first worker that needs it."""

from __future__ import annotations

import fcntl
import hashlib
import json
import time
from collections.abc import Mapping
from pathlib import Path

from attrs import asdict, field, frozen

from kraftcheck.ci.systems import report
from kraftcheck.ci.systems.liveness import refuse_liveness
from kraftcheck.ci.systems.lookup import properties_of
from kraftcheck.ci.systems.subject import Subject, program, subject
from kraftcheck.ci.systems.switches import check_switches
from kraftcheck.ci.terminal.cache import cache_folder
from kraftcheck.ci.terminal.files import write
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.nearest import nearest
from kraftcheck.model.language.system import System
from kraftcheck.solvers.program.fingerprint import fingerprint
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import DEADLOCK, Holds, Refuted
from kraftcheck.solvers.search.explore import explore
from kraftcheck.solvers.traces.render import lines
from kraftcheck.solvers.walks.findings import confirm_findings
from kraftcheck.solvers.walks.walks import simulate

ENGINES = ("explore", "simulate")


@frozen
class JudgementRequest:
    """The request of a marker.

    Attributes:
        chosen: the system at its setting.
        expect: property to the verdict it must have, in words; the others must hold.
        engine: `explore` every state, or `simulate`.
        threads: of the engine.
        runs, steps, seed: of a simulation.
        strict: whether steps that a declared cap leaves out make a verdict incomplete.
        fingerprint: of a system that does not come with kraftcheck, for two of these may have one name.
    """

    chosen: Subject
    expect: Mapping[str, str]
    engine: str
    threads: int
    runs: int
    steps: int
    seed: int
    strict: bool = False
    fingerprint: str = ""

    @classmethod
    def of(
        cls, system: str | System, *, scope: str | None = None, rules: str | None = None,
        bounds: Mapping[str, int] | None = None, expect: Mapping[str, str] | None = None, engine: str = "explore",
        threads: int = 1, runs: int = 1000, steps: int = 1000, seed: int = 1, strict: bool = False,
    ) -> JudgementRequest:  # fmt: skip
        """The arguments of a marker, checked.

        Raises:
            Refusal: naming what is unknown or out of range.
        """
        if engine not in ENGINES:
            raise Refusal(f"unknown engine {engine!r}; {nearest(engine, ENGINES)}")
        chosen = subject(system, scope, bounds or {}, rules)
        check_switches(chosen)
        if engine == "simulate":
            refuse_liveness(chosen, "the engine simulate judges")
        own = "" if chosen.shipped else fingerprint(program(chosen))
        request = cls(chosen, expect or {}, engine, threads, runs, steps, seed, strict, own)
        names = properties(request)
        for name in request.expect:
            if name not in names:
                raise Refusal(f"expect names the unknown property {name!r}; {nearest(name, names)}")
        return request

    def key(self) -> str:
        """Names what is judged: equal for items that one exploration judges."""
        setting = self.chosen.setting
        facts = (
            self.chosen.name, dict(setting.bounds), self.chosen.rules, self.engine, self.strict, self.fingerprint,
        )  # fmt: skip
        effort = (self.runs, self.steps, self.seed) if self.engine == "simulate" else ()
        return f"{self.chosen.name}-{hashlib.sha256(repr((facts, effort)).encode()).hexdigest()[:16]}"


def properties(request: JudgementRequest) -> list[str]:
    """The properties that are items, deadlock last; a simulation leaves out those about all runs at once."""
    chosen = request.chosen
    claims = properties_of(chosen.name, chosen.system, chosen.setting)
    return [*(c.id for c in claims if request.engine == "explore" or c.kind != "recovers"), DEADLOCK]


@frozen
class PropertyJudgement:
    """A property, judged.

    Attributes:
        claim, kind: the property.
        verdict: in words: `holds`, `refuted 3`, `vacuous`, `nothing found`.
        engine, bound, states, seed: what the verdict is about; the seed is `none` for an exploration.
        text: why the item fails, the trace included.
        passed: whether the verdict is the one it must be.
        judged_by: the worker whose exploration it was.
    """

    claim: str
    kind: str
    verdict: str
    engine: str
    bound: str
    states: int
    seed: str
    text: str
    passed: bool
    judged_by: str = field(default="main")


def judgement(request: JudgementRequest, name: str, folder: Path, worker: str) -> PropertyJudgement:
    """The judgement of a property, from the file that the run's first worker to need it wrote.

    Args:
        request: what is judged.
        name: the property.
        folder: shared by the workers of one run of the tests.
        worker: who asks.
    """
    stem = request.key().replace(":", "-").replace("/", "-")
    target = folder / f"kraftcheck-{stem}.json"
    with open(folder / f"kraftcheck-{stem}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            judge = _judge_exploration if request.engine == "explore" else _judge_walks
            judgements = judge(request, worker)
            write(target, json.dumps([asdict(judgement_) for judgement_ in judgements]))
    rows = {row["claim"]: PropertyJudgement(**row) for row in json.loads(target.read_text(encoding="utf-8"))}
    return _with_expected(rows[name], request.expect.get(name))


def _with_expected(judgement: PropertyJudgement, expected: str | None) -> PropertyJudgement:
    if expected is None:
        return judgement
    same = judgement.verdict == expected
    text = judgement.text
    if not same:
        text = f"{judgement.claim}: expected {expected}, got {judgement.verdict}\n{text}"
    return PropertyJudgement(**{**asdict(judgement), "passed": same, "text": text})


def _judge_exploration(request: JudgementRequest, worker: str) -> list[PropertyJudgement]:
    result = explore(
        program(request.chosen), clock=time.monotonic, threads=request.threads, cache_dir=cache_folder(), keep=False,
        strict=request.strict,
    )
    judgements = []
    for verdict in result.verdicts:
        text = f"{verdict.claim}: {report.word_of(verdict)} {report.detail(verdict)}".rstrip()
        if isinstance(verdict.verdict, Refuted):
            text += "\n" + "\n".join(lines(verdict.verdict.trace)) + f"\nagain: {request.chosen.command()}"
        bound = verdict.verdict.bound if isinstance(verdict.verdict, Holds) else request.chosen.title()
        judgements.append(
            PropertyJudgement(
                verdict.claim, verdict.kind, report.word_of(verdict), "explore", bound, result.distinct, "none", text,
                isinstance(verdict.verdict, Holds), worker,
            )
        )  # fmt: skip
    return judgements


def _judge_walks(request: JudgementRequest, worker: str) -> list[PropertyJudgement]:
    traced: Program = program(request.chosen)
    walks = simulate(
        traced, request.runs, request.steps, request.seed, clock=time.monotonic, threads=request.threads,
        cache_dir=cache_folder(), strict=request.strict,
    )  # fmt: skip
    refuted = {finding.trace.claim: finding.trace for finding in confirm_findings(walks)}
    goals_missed = {goal.id for goal in walks.goals_missed}
    bound = f"{walks.runs:,} runs, {walks.steps:,} steps of {request.chosen.title()}"
    kinds = {claim.id: claim.kind for claim in request.chosen.system.properties(request.chosen.setting)}
    judgements = []
    for name in properties(request):
        word, text = ("shown", "") if kinds.get(name) in ("sometimes", "happens") else ("nothing found", "")
        if name in refuted:
            word = f"refuted {len(refuted[name].steps)}"
            text = "\n".join(lines(refuted[name]))
        elif walks.fault is not None and (word == "nothing found" or name in goals_missed):
            word, text = "incomplete", walks.fault
        elif name in goals_missed:
            word = "vacuous"
        judgements.append(
            PropertyJudgement(
                name, kinds.get(name, DEADLOCK), word, "simulate", bound, walks.distinct, str(walks.seed),
                f"{name}: {word} in {bound}\n{text}", word in ("shown", "nothing found"), worker,
            )
        )  # fmt: skip
    return judgements
