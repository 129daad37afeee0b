"""Properties judged for test items: each system once in a run of the tests, whichever worker comes first."""

from __future__ import annotations

import fcntl
import hashlib
import json
import time
from collections.abc import Mapping
from pathlib import Path

from attrs import asdict, field, frozen

from kraftcheck.ci.systems import report
from kraftcheck.ci.systems.lookup import properties_of
from kraftcheck.ci.systems.subject import Subject, program, rule_set, subject
from kraftcheck.ci.systems.switches import check_switches
from kraftcheck.ci.terminal.cache import cache_folder
from kraftcheck.ci.terminal.files import write
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.nearest import nearest
from kraftcheck.model.language.system import ScopeError, System
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import DEADLOCK, Holds, Refuted
from kraftcheck.solvers.search.explore import explore
from kraftcheck.solvers.traces.render import lines
from kraftcheck.solvers.walks.findings import findings
from kraftcheck.solvers.walks.walks import simulate

ENGINES = ("explore", "simulate")


@frozen
class Asked:
    """What a marker asks for.

    Attributes:
        chosen: the system at its setting.
        expect: property to the verdict it must have, in words; the others must hold.
        engine: `explore` every state, or `simulate`.
        threads: of the engine.
        runs, steps, seed: of a simulation.
        strict: whether steps that a declared cap leaves out count as not looked at.
    """

    chosen: Subject
    expect: Mapping[str, str]
    engine: str
    threads: int
    runs: int
    steps: int
    seed: int
    strict: bool = False

    @classmethod
    def of(
        cls, system: str | System, *, scope: str | None = None, rules: str | None = None,
        bounds: Mapping[str, int] | None = None, expect: Mapping[str, str] | None = None, engine: str = "explore",
        threads: int = 1, runs: int = 1000, steps: int = 1000, seed: int = 1, strict: bool = False,
    ) -> Asked:  # fmt: skip
        """The arguments of a marker, checked.

        Raises:
            Refusal: naming what is unknown or out of range.
        """
        if engine not in ENGINES:
            raise Refusal(f"unknown engine {engine!r}; {nearest(engine, ENGINES)}")
        chosen = _subject(system, scope, bounds or {}, rules)
        check_switches(chosen)
        asked = cls(chosen, expect or {}, engine, threads, runs, steps, seed, strict)
        known = properties(asked)
        for name in asked.expect:
            if name not in known:
                raise Refusal(f"expect names the unknown property {name!r}; {nearest(name, known)}")
        return asked

    def key(self) -> str:
        """Names what is judged: equal for items that one exploration judges."""
        setting = self.chosen.setting
        facts = (self.chosen.name, dict(setting.bounds), self.chosen.rules, self.engine, self.strict)
        effort = (self.runs, self.steps, self.seed) if self.engine == "simulate" else ()
        return f"{self.chosen.name}-{hashlib.sha256(repr((facts, effort)).encode()).hexdigest()[:16]}"


def _subject(system: str | System, scope: str | None, bounds: Mapping[str, int], rules: str | None) -> Subject:
    if isinstance(system, str):
        return subject(system, scope, bounds, rules)
    try:
        text, parsed = rule_set(system.name, system, rules)
        return Subject(system.name, system, system.setting(scope, bounds, parsed), text, system)
    except ScopeError as error:
        raise Refusal(str(error)) from error


def properties(asked: Asked) -> list[str]:
    """The properties that are items, deadlock last; a simulation leaves out those about all runs at once."""
    chosen = asked.chosen
    claims = properties_of(chosen.name, chosen.system, chosen.setting)
    return [*(c.id for c in claims if asked.engine == "explore" or c.kind != "recovers"), DEADLOCK]


@frozen
class Judgement:
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


def judgement(asked: Asked, name: str, folder: Path, worker: str) -> Judgement:
    """The judgement of a property, from the file that the run's first worker to need it wrote.

    Args:
        asked: what is judged.
        name: the property.
        folder: shared by the workers of one run of the tests.
        worker: who asks.
    """
    stem = asked.key().replace(":", "-").replace("/", "-")
    target = folder / f"kraftcheck-{stem}.json"
    with open(folder / f"kraftcheck-{stem}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            found = _explored(asked, worker) if asked.engine == "explore" else _walked(asked, worker)
            write(target, json.dumps([asdict(one) for one in found]))
    rows = {row["claim"]: Judgement(**row) for row in json.loads(target.read_text(encoding="utf-8"))}
    return _expected(rows[name], asked.expect.get(name))


def _expected(found: Judgement, wanted: str | None) -> Judgement:
    if wanted is None:
        return found
    same = found.verdict == wanted
    text = found.text if same else f"{found.claim}: expected {wanted}, got {found.verdict}\n{found.text}"
    return Judgement(**{**asdict(found), "passed": same, "text": text})


def _explored(asked: Asked, worker: str) -> list[Judgement]:
    result = explore(
        program(asked.chosen), clock=time.monotonic, threads=asked.threads, cache_dir=cache_folder(), keep=False,
        strict=asked.strict,
    )
    made = []
    for found in result.verdicts:
        told = f"{found.claim}: {report.word_of(found)} {report.detail(found)}".rstrip()
        if isinstance(found.verdict, Refuted):
            told += "\n" + "\n".join(lines(found.verdict.trace)) + f"\nagain: {asked.chosen.command()}"
        bound = found.verdict.bound if isinstance(found.verdict, Holds) else asked.chosen.title()
        made.append(
            Judgement(found.claim, found.kind, report.word_of(found), "explore", bound, result.distinct, "none", told,
                      isinstance(found.verdict, Holds), worker)
        )  # fmt: skip
    return made


def _walked(asked: Asked, worker: str) -> list[Judgement]:
    traced: Program = program(asked.chosen)
    walks = simulate(
        traced, asked.runs, asked.steps, asked.seed, clock=time.monotonic, threads=asked.threads,
        cache_dir=cache_folder(), strict=asked.strict,
    )  # fmt: skip
    refuted = {one.trace.claim: one.trace for one in findings(walks)}
    missed = {goal.id for goal in walks.missed}
    bound = f"{walks.runs:,} runs, {walks.steps:,} steps of {asked.chosen.title()}"
    kinds = {claim.id: claim.kind for claim in asked.chosen.system.properties(asked.chosen.setting)}
    made = []
    for name in properties(asked):
        word, told = ("shown", "") if kinds.get(name) in ("sometimes", "happens") else ("nothing found", "")
        if name in refuted:
            word = f"refuted {len(refuted[name].steps)}"
            told = "\n".join(lines(refuted[name]))
        elif walks.fault is not None and (word == "nothing found" or name in missed):
            word, told = "incomplete", walks.fault
        elif name in missed:
            word = "vacuous"
        made.append(
            Judgement(name, kinds.get(name, DEADLOCK), word, "simulate", bound, walks.distinct, str(walks.seed),
                      f"{name}: {word} in {bound}\n{told}", word in ("shown", "nothing found"), worker)
        )  # fmt: skip
    return made
