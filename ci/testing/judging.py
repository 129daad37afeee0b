"""Judgements for test items: each system is judged once in a run of the tests, by the first worker that needs it."""

from __future__ import annotations

import fcntl
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from attrs import asdict, field, frozen

from kraftcheck.ci.explore.trace import html
from kraftcheck.ci.run.judged import JudgedProperty, JudgedRun
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
from kraftcheck.ci.systems.subject import Subject, program, refuse_liveness, subject
from kraftcheck.ci.systems.switches import check_switches
from kraftcheck.ci.terminal.files import folder, write
from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.system import System
from kraftcheck.model.nearest import nearest
from kraftcheck.solvers.drawings.drawing import drawing
from kraftcheck.solvers.program.fingerprint import fingerprint
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import DEADLOCK, Holds, Trace
from kraftcheck.solvers.traces import itf
from kraftcheck.solvers.walks.walker import WalkPlan


def write_artefacts(place: Path, trace: Trace, program: Program, chosen: Subject, shortest: bool) -> dict[str, str]:
    """Write both files below a folder; returns their paths by kind.

    Args:
        place: the folder, made if need be.
        trace, program, chosen: the counterexample, and what it is of.
        shortest: whether no shorter one exists.
    """
    stem = quote(trace.claim, safe=" +")
    content = itf.document(trace, program, chosen.name, chosen.rules, shortest)
    texts = {"itf": itf.text(content), "html": html(drawing(trace, program, chosen.title()))}
    paths = {"itf": folder(place) / f"{stem}.itf.json", "html": place / f"{stem}.html"}
    for kind, text in texts.items():
        write(paths[kind], text)
    return {kind: str(path) for kind, path in paths.items()}


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
        symmetry, reduce: the reductions of an exploration, as the options have them.
        fingerprint: of a system that does not come with kraftcheck, for two of these may have one name.
        folder: where its module is found, seen from the working folder; empty: there.
    """

    chosen: Subject
    expect: Mapping[str, str]
    engine: str
    threads: int
    runs: int
    steps: int
    seed: int
    strict: bool = False
    symmetry: str = OFF
    reduce: str = NONE
    fingerprint: str = ""
    folder: str = ""

    @classmethod
    def of(
        cls, system: str | System, *, scope: str | None = None, rules: str | None = None,
        bounds: Mapping[str, int] | None = None, expect: Mapping[str, str] | None = None, engine: str = "explore",
        threads: int = 1, runs: int = 1000, steps: int = 1000, seed: int = 1, strict: bool = False,
        symmetry: bool | str = False, reduce: str = NONE,
    ) -> JudgementRequest:  # fmt: skip
        """The arguments of a marker, checked.

        Raises:
            Refusal: naming what is unknown or out of range.
        """
        if not isinstance(engine, str) or engine not in ENGINES:
            raise Refusal(f"unknown engine {engine!r}; {nearest(str(engine), ENGINES)}")
        chosen = subject(system, scope, bounds or {}, rules)
        check_switches(chosen)
        if engine == "simulate":
            refuse_liveness(chosen, "the engine simulate judges")
            if symmetry or reduce != NONE:
                raise Refusal("symmetry and reduce are of the engine explore; leave them out")
        own = "" if chosen.shipped else fingerprint(program(chosen))
        how = symmetry_of(symmetry), reduce
        request = cls(chosen, expect or {}, engine, threads, runs, steps, seed, strict, *how, own)
        names = properties(request)
        for name in request.expect:
            if name in unjudged(request):
                raise Refusal(f"expect names {name!r}, which walks do not judge; leave one of the two out")
            if name not in names:
                raise Refusal(f"expect names the unknown property {name!r}; {nearest(name, names)}")
        return request

    def key(self) -> str:
        """Names what is judged: equal for items that one exploration judges."""
        setting = self.chosen.setting
        facts = (
            self.chosen.name, dict(setting.bounds), self.chosen.rules, self.engine, self.strict,
            self.symmetry, self.reduce, self.fingerprint,
        )  # fmt: skip
        effort = (self.runs, self.steps, self.seed) if self.engine == "simulate" else ()
        return f"{self.chosen.name}-{hashlib.sha256(repr((facts, effort)).encode()).hexdigest()[:16]}"


def properties(request: JudgementRequest) -> list[str]:
    """The properties that are items, deadlock last."""
    chosen = request.chosen
    return [*(claim.id for claim in properties_of(chosen.name, chosen.system, chosen.setting)), DEADLOCK]


def unjudged(request: JudgementRequest) -> list[str]:
    """The properties that the engine does not judge: of walks those about all runs at once. Their items are skipped."""
    chosen = request.chosen
    claims = chosen.system.properties(chosen.setting) if request.engine == "simulate" else ()
    return [claim.id for claim in claims if claim.kind not in WALKED]


@frozen
class PropertyJudgement:
    """A property, judged.

    Attributes:
        claim, kind: the property.
        verdict: in words: `holds`, `refuted 3`, `vacuous`, `nothing found`.
        engine, bound, states, seed: what the verdict is about; the seed is `none` for an exploration.
        text: why the item fails: the sentence, the trace, the files, the command that judges it again.
        passed: whether the verdict is the one it must be.
        judged_by: the worker whose exploration it was.
        files: paths of the counterexample, by kind: `itf`, `html`.
        again: the command.
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
    files: Mapping[str, str] = field(factory=dict)
    again: str = ""


def judgement(request: JudgementRequest, name: str, folder: Path, worker: str, artefacts: Path) -> PropertyJudgement:
    """The judgement of a property, from the file that the run's first worker to need it wrote.

    Args:
        request: what is judged.
        name: the property.
        folder: shared by the workers of one run of the tests.
        worker: who asks.
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
    same = judgement.verdict == expected
    text = judgement.text
    if not same:
        text = f"{judgement.claim}: expected {expected}, got {judgement.verdict}\n{text}"
    return PropertyJudgement(**{**asdict(judgement), "passed": same, "text": text})


def _judged(request: JudgementRequest, worker: str, place: Path) -> list[PropertyJudgement]:
    """Judge a system as the request says."""
    chosen = request.chosen
    if request.engine == "explore":
        budget = search_budget(request.threads, strict=request.strict)
        question = SearchQuestion(chosen, budget, symmetry=request.symmetry, reduce=request.reduce, spelled=argument)
        result = question.result(question.traced(), search)
    else:
        plan = WalkPlan(request.runs, request.steps, request.seed, threads=request.threads, cache_dir=cache_folder(),
                        strict=request.strict)  # fmt: skip
        result = WalkQuestion(chosen, plan).result(program(chosen), walks_of)
    run, bounds = result.run(request.folder), {}
    if result.walked is not None:
        walks = result.walked.walks
        states, size = walks.distinct, f"{walks.runs:,} runs, {walks.steps:,} steps of {chosen.title()}"
    else:
        assert result.exploration is not None
        states, size = result.exploration.distinct, chosen.title()
        bounds = {one.claim: one.verdict.bound for one in result.judged if isinstance(one.verdict, Holds)}
    return [
        _judgement(request, result, run, one, (bounds.get(one.id, size), states), worker, place)
        for one in run.properties
    ]


def _judgement(
    request: JudgementRequest, result: Result, run: JudgedRun, one: JudgedProperty, covered: tuple[str, int],
    worker: str, place: Path,
) -> PropertyJudgement:  # fmt: skip
    """A verdict as an item says it, with the files of its counterexample."""
    files = {}
    if one.trace is not None:
        files = write_artefacts(place, one.trace, result.program, request.chosen, result.shortest)
    text = "\n".join([run.text(one), *(f"{kind}: {path}" for kind, path in files.items())])
    seed = str(request.seed) if request.engine == "simulate" else "none"
    return PropertyJudgement(
        one.id, one.kind, one.verdict, request.engine, *covered, seed, text, one.passed, worker, files,
        run.again(one.id),
    )  # fmt: skip
