"""SARIF 2.1.0: a rule for each property, a result for each verdict that is no pass, the trace as a thread flow.

GitHub takes no more than the numbers of `Limits`, and ten megabytes of compressed text. What is left out is said in
the result, and in a notification of the run. Every result is an error: with a lower level GitHub would let a change
pass whose verdicts are incomplete.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from attrs import evolve, frozen

from kraftcheck.ci.systems import report
from kraftcheck.ci.verdicts.reports.judged import JudgedProperty, JudgedRun
from kraftcheck.ci.verdicts.reports.places import (
    PACKAGE,
    REPOSITORY,
    Place,
    package,
    place_of_action,
    place_of_property,
    repository,
)
from kraftcheck.ci.verdicts.reports.rule_help import checked_rules, help_markdown, help_text
from kraftcheck.solvers.program.verdict import Trace
from kraftcheck.solvers.traces.cycles import fairness_texts, repeated_text
from kraftcheck.solvers.traces.render import call, changes, fields, show

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
MOST_BYTES = 10_000_000
"""Compressed bytes of a file that GitHub takes."""


@frozen
class Limits:
    """The numbers that are kept; by default those that GitHub shows.

    Attributes:
        results: of a run.
        steps: of a thread flow.
        related: places of the rules that a result names.
        text: characters of a message.
    """

    results: int = 5000
    steps: int = 1000
    related: int = 100
    text: int = 10_000


def sarif(runs: Sequence[JudgedRun], code: int, limits: Limits = Limits(), most_bytes: int = MOST_BYTES) -> str:
    """The document as text that is small enough: traces are shortened until it is, then results are left out."""
    while True:
        text = json.dumps(document(runs, code, limits), indent=1) + "\n"
        if len(gzip.compress(text.encode())) <= most_bytes or (limits.steps, limits.results) == (0, 0):
            return text
        limits = (
            evolve(limits, steps=limits.steps // 4)
            if limits.steps
            else evolve(limits, results=limits.results // 2, text=limits.text // 2)
        )


def document(runs: Sequence[JudgedRun], code: int, limits: Limits) -> dict[str, Any]:
    """The document as plain values."""
    every = [(run, one) for run in runs for one in run.properties]
    rules: dict[str, dict[str, Any]] = {}
    for run, one in every:
        if _rule_id(run, one) not in rules:
            rules[_rule_id(run, one)] = _rule(run, one)
    numbers = {id_: number for number, id_ in enumerate(rules)}
    faulty = [(run, one) for run, one in every if not one.passed]
    results = [_result(run, one, numbers[_rule_id(run, one)], limits) for run, one in faulty[: limits.results]]
    remarks = [f"{len(every) - len(faulty)} of {len(every)} verdicts are as they must be, and have no result here."]
    if len(faulty) > limits.results:
        remarks.append(f"{len(faulty) - limits.results} of {len(faulty)} results are left out: the file would be too "
                       "large. The exit code and the other reports count them all.")  # fmt: skip
    invocation = {
        "executionSuccessful": not any(one.undecided for _, one in faulty),
        "exitCode": code,
        "toolExecutionNotifications": [{"level": "note", "message": {"text": text}} for text in remarks],
    }
    version = report.versions()["kraftcheck"]
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "kraftcheck", "version": version, "rules": list(rules.values())}},
            "invocations": [invocation],
            "originalUriBaseIds": {
                REPOSITORY: {"uri": repository().as_uri() + "/", "description": {"text": "The repository."}},
                PACKAGE: {"uri": package().as_uri() + "/", "description": {
                    "text": "The folder of the installed package kraftcheck, which is not in the repository: "
                            "a path below it is the name of a module."}},
            },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    }  # fmt: skip


def _rule_id(run: JudgedRun, one: JudgedProperty) -> str:
    return f"{run.subject.name}/{one.id}"


def _rule(run: JudgedRun, one: JudgedProperty) -> dict[str, Any]:
    return {
        "id": _rule_id(run, one),
        "name": one.id,
        "shortDescription": {"text": _cut(one.sentence, 1024)},
        "fullDescription": {"text": _cut(one.sentence, 1024)},
        "defaultConfiguration": {"level": "error"},
        "help": {"text": help_text(one), "markdown": help_markdown(one)},
        "properties": {"tags": [one.kind], "problem.severity": "error"},
    }


def _result(run: JudgedRun, one: JudgedProperty, number: int, limits: Limits) -> dict[str, Any]:
    title, written = run.subject.title(), place_of_property(run.subject, one.claim)
    text = f"{one.id}: {one.outcome()}. {one.sentence}\n{title}, {run.engine}\nagain: {run.again(one.id)}"
    if one.trace is not None and len(one.trace.steps) > limits.steps:
        text += f"\n{_left_out(one.trace, limits)}"
    result = {
        "ruleId": _rule_id(run, one),
        "ruleIndex": number,
        "kind": "fail",
        "level": "error",
        "message": {"text": _cut(text, limits.text)},
        "partialFingerprints": {"primaryLocationLineHash": f"{_identity(run, one)}:1"},
        "properties": {"verdict": one.verdict, "expected": one.expected, "engine": run.engine, "setting": title},
    }
    if written is not None:
        result["locations"] = [{"physicalLocation": _location(written)}]
    related = checked_rules(one)[: limits.related]
    if related:
        result["relatedLocations"] = [
            {"id": position, "physicalLocation": _location(rule.place), "message": {"text": f"{rule.id}: {rule.says}"}}
            for position, rule in enumerate(related)
        ]
    if one.trace is not None:
        result["codeFlows"] = [{"threadFlows": [{"locations": _flow(run, one, one.trace, limits)}]}]
    return result


def _identity(run: JudgedRun, one: JudgedProperty) -> str:
    """What makes a finding the same one in another run, whatever line it has moved to."""
    setting = run.subject.setting
    facts = (run.subject.name, setting.scope, sorted(setting.bounds.items()), run.subject.rules, run.engine, one.id)
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


def _location(written: Place) -> dict[str, Any]:
    base = {"uriBaseId": written.base} if written.base else {}
    uri = quote(written.path) if written.base else f"file://{quote(written.path)}"
    return {"artifactLocation": {"uri": uri, **base}, "region": {"startLine": written.line}}


def _flow(run: JudgedRun, one: JudgedProperty, trace: Trace, limits: Limits) -> list[dict[str, Any]]:
    """The steps, each at its action; the initial state at the property."""
    here = place_of_property(run.subject, one.claim)
    state = "; ".join(f"{name} = {show(value, name)}" for name, value in fields(trace.initial).items())
    flow = [_step(here, f"0. initial state: {state}", 0, limits)]
    head, tail = limits.steps // 2, limits.steps - limits.steps // 2
    places: dict[str, Place | None] = {}
    before = trace.initial
    for number, step in enumerate(trace.steps, start=1):
        if number <= head or number > len(trace.steps) - tail:
            if step.action not in places:
                places[step.action] = place_of_action(run.subject, step.action)
            change = "; ".join(changes(before, step.state)) or "the state does not change"
            text = f"{number}. {call(step.action, step.arguments)}: {change}"
            flow.append(_step(places[step.action] or here, text, number, limits))
        before = step.state
    if flow[1:] or not trace.steps:
        flow[-1]["location"]["message"]["text"] += f"; {_end(one, trace)}"
    flow[-1]["importance"] = "essential"
    return flow


def _end(one: JudgedProperty, trace: Trace) -> str:
    """What is wrong at the end of a trace: what fails there, or what is repeated for ever and yet is fair."""
    if trace.loop is None:
        return f"fails: {', '.join(trace.failing) or one.id}"
    fair = "".join(f"; fair: {text}" for text in fairness_texts(trace.loop))
    return f"for ever: {repeated_text(trace.loop.start, len(trace.steps))}{fair}"


def _step(written: Place | None, text: str, number: int, limits: Limits) -> dict[str, Any]:
    location: dict[str, Any] = {"message": {"text": _cut(text, limits.text)}}
    if written is not None:
        location["physicalLocation"] = _location(written)
    return {"location": location, "executionOrder": number + 1}


def _left_out(trace: Trace, limits: Limits) -> str:
    count = len(trace.steps) - limits.steps
    return f"{count} of {len(trace.steps)} steps are left out of the thread flow, which would be too large."


def _cut(text: str, most: int) -> str:
    mark = " ... (shortened)"
    return text if len(text) <= most else text[: max(0, most - len(mark))] + mark
