"""Finished runs: the folder that `explore --out` wrote, with its counterexamples and its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import field, frozen

from kraftcheck.ci.conformance.findings.causes import record
from kraftcheck.ci.explore.trace import load, replayed
from kraftcheck.ci.run.result import REPORT, TRACE
from kraftcheck.ci.systems.subject import Subject, subject
from kraftcheck.ci.terminal.files import check_named, parse_json, read_json
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.rules.ruleset import RuleSet, variants
from kraftcheck.properties.register.findings import BY_ID, SEVERITIES
from kraftcheck.solvers.program.program import Kind, Program
from kraftcheck.solvers.program.verdict import Trace
from kraftcheck.solvers.stepping.session import Session, StepRefused
from kraftcheck.solvers.traces import itf
from kraftcheck.solvers.traces.render import BrokenTrace, fairness_texts, repeated_text

MOST_STEPS = 1000  # steps of the longest path
MOST_NUMBER = 1 << 31  # no number of a question is as large


class QuestionRefused(ValueError):
    """A question that has no answer; the message is one line."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status  # of HTTP: 400 for what is malformed, 422 for what does not fit the system


@frozen
class PathQuestion:
    """A path of the system, and the step of it that is looked at."""

    start: int  # number of the initial state
    # for each step the number of the action, and for each argument the number of its value
    steps: tuple[tuple[int, ...], ...]
    at: int  # number of the step; 0 is the initial state


def parsed(body: bytes) -> Mapping[str, Any]:
    """The object that a request holds; raises QuestionRefused where it holds none."""
    try:
        question = parse_json("the request", body or b"{}")
    except Refusal as error:
        raise QuestionRefused(error.message) from error
    if not isinstance(question, dict):
        raise QuestionRefused("the request is no JSON object")
    return question


def number(question: Mapping[str, Any], key: str, default: int, most: int, least: int = 0) -> int:
    """A number of a question; raises QuestionRefused for what is no int in the range."""
    value = question.get(key, default)
    if type(value) is not int or not least <= value <= most:
        raise QuestionRefused(f"{key} takes a number from {least} to {most:,}")
    return value


def text(question: Mapping[str, Any], key: str) -> str | None:
    """A text of a question, None where absent; raises QuestionRefused for another kind, or a text beyond 2,000."""
    value = question.get(key)
    if value is not None and not (isinstance(value, str) and 0 < len(value) <= 2000 and "\n" not in value):
        raise QuestionRefused(f"{key} takes a line of text")
    return value


def texts(question: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """A list of texts of a question; empty where it is absent; raises QuestionRefused for what is no list of texts."""
    value = question.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise QuestionRefused(f"{key} takes a list of texts")
    return tuple(value)


def path_of(question: Mapping[str, Any]) -> PathQuestion:
    """The path of a question; raises QuestionRefused for a malformed one; with status 413 for a long one."""
    steps = question.get("steps", [])
    if not isinstance(steps, list):
        raise QuestionRefused("steps takes a list")
    if len(steps) > MOST_STEPS:
        raise QuestionRefused(f"a path has at most {MOST_STEPS:,} steps, not {len(steps):,}", 413)
    for place, step in enumerate(steps, start=1):
        if not _is_step(step):
            raise QuestionRefused(f"step {place} takes the number of an action and of its arguments' values")
    start = number(question, "start", 0, MOST_NUMBER)
    at = number(question, "at", len(steps), len(steps))
    return PathQuestion(start, tuple(tuple(step) for step in steps), at)


def _is_step(step: Any) -> bool:
    return (
        isinstance(step, Sequence)
        and not isinstance(step, str)
        and len(step) > 0
        and all(type(part) is int and 0 <= part < MOST_NUMBER for part in step)
    )


def system_key(chosen: Subject) -> str:
    """The words that an address names its system by: system, scope, the bounds that differ from it, rules."""
    preset = chosen.system.scopes.get(chosen.setting.scope, {})
    bounds = [f"{name}={value}" for name, value in chosen.setting.bounds.items() if preset.get(name) != value]
    return ",".join([chosen.name, chosen.setting.scope, *bounds, *filter(None, [chosen.rules])])


def instance_of(program: Program, step: Sequence[int]) -> int:
    """The action instance of a step; raises QuestionRefused for an unknown action, or argument of it."""
    action, *values = step
    if action >= len(program.kinds):
        raise QuestionRefused(f"there is no action {action}; the system has actions 0..{len(program.kinds) - 1}", 422)
    kind = program.kinds[action]
    sizes = _sizes(kind)
    if len(values) != len(sizes):
        raise QuestionRefused(f"{kind.action.name} takes {len(sizes)} arguments, not {len(values)}", 422)
    row = 0
    for (name, size), value in zip(sizes.items(), values, strict=True):
        if value >= size:
            raise QuestionRefused(f"{kind.action.name} has no value {value} of {name}; there are {size}", 422)
        row = row * size + value
    return kind.first + row


def step_of(program: Program, instance: int) -> list[int]:
    """The step of an action instance."""
    number, kind = next(
        (number, kind) for number, kind in enumerate(program.kinds)
        if kind.first <= instance < kind.first + len(kind.instances)
    )  # fmt: skip
    rest, values = instance - kind.first, list[int]()
    for size in reversed(_sizes(kind).values()):
        rest, value = divmod(rest, size)
        values.insert(0, value)
    return [number, *values]


def path_of_trace(program: Program, trace: Trace) -> dict[str, Any]:
    """The number of the initial state of a trace, and its steps, as addresses have them."""
    kinds = {kind.action.name: kind for kind in program.kinds}
    steps = []
    for step in trace.steps:
        kind = kinds[step.action]
        steps.append(step_of(program, kind.first + kind.instances.index(step.arguments)))
    return {"start": program.initial.index(program.layout.pack(trace.initial)), "steps": steps}


def _sizes(kind: Kind) -> dict[str, int]:
    return {name: len(values) for name, values in kind.action.parameters.items()}


@frozen
class Opened:
    """What the command line names."""

    chosen: Subject  # the subject
    traces: tuple[Path, ...] = ()  # the files of its counterexamples
    # the report of a finished run; None without one
    document: Mapping[str, Any] | None = field(default=None, repr=False)


def opened_trace(path: Path, system: str | None) -> Opened:
    """The subject of a trace file; raises Refusal as `trace` does."""
    return Opened(load(path, system)[0], (path,))


def opened_run(place: Path, system: str | None) -> Opened:
    """The subject of what `explore --out` wrote; raises Refusal without traces and report, or with those of several."""
    traces = tuple(sorted(place.glob(f"*{TRACE}")))
    report = read_json(place / REPORT) if (place / REPORT).is_file() else None
    if report is not None:
        chosen = _subject_of(place / REPORT, report, system)
    elif traces:
        chosen = load(traces[0], system)[0]
    else:
        raise Refusal(f"{place} holds neither a trace nor {REPORT}; give the folder of explore --out")
    for path in traces:
        of = load(path, system)[0]
        if of.title() != chosen.title():
            raise Refusal(f"{path}: of {of.title()}, not of {chosen.title()}; serve one run at a time")
    return Opened(chosen, traces, report)


def _subject_of(path: Path, report: Any, system: str | None) -> Subject:
    """The subject that a report names; the keys are those of `explore --json`."""
    if not isinstance(report, dict) or report.get("command") != "explore":
        raise Refusal(f"{path}: no report of explore; give the folder of explore --out, or its --json")
    name, scope, bounds, rules = (report.get(key) for key in ("system", "scope", "bounds", "rules"))
    fits = isinstance(name, str) and isinstance(scope, str) and isinstance(rules, str | None)
    if not fits or not isinstance(bounds, dict) or not all(type(value) is int for value in bounds.values()):
        raise Refusal(f"{path}: keys system, scope, bounds, rules: not those of a report of explore")
    check_named(path, str(name), system)
    try:
        return subject(str(name), scope, bounds, rules)
    except Refusal as error:
        raise Refusal(f"{path}: {error.message}") from error


def counterexample(path: Path, program: Program) -> dict[str, Any]:
    """A trace file as the page lists it: property, steps and cycle, or in one line why it does not fit."""
    name = path.name.removesuffix(TRACE)
    try:
        recipe = itf.recipe(read_json(path))
        session = Session.of_recipe(program, recipe)
        cycle = _cycle(program, recipe)
    except (Refusal, itf.TraceError, StepRefused, BrokenTrace) as error:
        return {"name": name, "property": name, "fault": f"{path}: {error}"}
    steps = [step_of(program, instance) for instance in session.instances]
    return {
        "name": name, "property": recipe.property, "shortest": recipe.shortest, "cycle": cycle,
        "start": session.start, "steps": steps,
    }  # fmt: skip


def by_cause(examples: Sequence[dict[str, Any]], program: Program, chosen: Subject) -> list[dict[str, Any]]:
    """The counterexamples by cause, with sentences: costly causes first, unknown ones last, then the shortest."""
    sentences = {claim.id: claim.sentence for claim in program.claims}
    known = {one["property"]: _cause(chosen, one["property"]) for one in examples}
    ranks = {cause["name"]: (cause["rank"], len(known)) for cause in known.values()}
    for one in examples:
        name, length = known[one["property"]]["name"], len(one.get("steps", ()))
        ranks[name] = min(ranks[name], (ranks[name][0], length))
    listed = [{**x, "sentence": sentences.get(x["property"], ""), "cause": known[x["property"]]} for x in examples]
    return sorted(listed, key=lambda one: (
        "fault" in one, ranks[one["cause"]["name"]], one["cause"]["name"], len(one.get("steps", ())),
    ))  # fmt: skip


def _cause(chosen: Subject, claim: str) -> dict[str, Any]:
    """What breaks a property, and what that costs; without a name where nothing that is recorded does."""
    rules, cell = chosen.setting.rules, (chosen.name, chosen.setting.scope)
    names = record().alone_in(rules, cell, claim) if isinstance(rules, RuleSet) else []
    finding = next((BY_ID[name] for name in names if name in BY_ID), None)
    if finding is not None:
        rank = [*SEVERITIES].index(finding.severity)
        return {"name": finding.id, "title": finding.title, "costs": SEVERITIES[finding.severity], "rank": rank}
    title = variants()[names[0]].metadata["text"] if names else ""
    return {"name": names[0] if names else "", "title": title, "costs": "", "rank": len(SEVERITIES) + (not names)}


def _cycle(program: Program, recipe: itf.Recipe) -> dict[str, Any] | None:
    """The cycle of a lasso; None for another trace; raises TraceError, BrokenTrace for a lasso that is none."""
    trace = replayed(recipe, program)[1] if recipe.loop is not None else None
    if trace is None or trace.loop is None:
        return None
    text = repeated_text(trace.loop.start, len(trace.steps))
    return {"start": trace.loop.start, "text": text, "fairness": fairness_texts(trace.loop)}
