"""The formats that CI systems read: JUnit XML and SARIF, each made of what was judged."""

from __future__ import annotations

import functools
import gzip
import hashlib
import html
import json
import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from attrs import evolve, frozen

from kraftcheck import model
from kraftcheck.ci.run.judged import HOLDS, NOT_JUDGED, JudgedProperty, JudgedRun, SourceLine
from kraftcheck.ci.systems import report
from kraftcheck.ci.systems.added import is_on
from kraftcheck.ci.systems.changed import parts_of
from kraftcheck.ci.systems.lookup import entries
from kraftcheck.ci.systems.subject import Subject
from kraftcheck.model.language import system as language
from kraftcheck.model.language.system import Property
from kraftcheck.solvers.program.verdict import Trace
from kraftcheck.solvers.traces.render import call, changes, fairness_texts, fields, repeated_text, show

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_MARKDOWN = re.compile(r"([\\`*_\[\]#|~$])")


def xml_text(text: str) -> str:
    r"""Text of characters that XML 1.0 can hold; the others are spelled out.

    >>> xml_text("a\0b")
    'a\\x00b'
    """
    return _NOT_IN_XML.sub(lambda found: repr(found.group())[1:-1], text)


def token(text: str) -> str:
    """Text on one line, as attributes of names take it."""
    return " ".join(xml_text(text).split()) or "-"


def command_data(text: str) -> str:
    r"""The message of a workflow command.

    >>> command_data("50%\nof all")
    '50%25%0Aof all'
    """
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def command_property(text: str) -> str:
    """The value of a property of a workflow command.

    >>> command_property("a:b,c")
    'a%3Ab%2Cc'
    """
    return command_data(text).replace(":", "%3A").replace(",", "%2C")


def markdown(text: str) -> str:
    """Text on one line that Markdown shows as it is, in a cell of a table too.

    >>> markdown("a|b <i>")
    'a\\\\|b &lt;i&gt;'
    """
    return html.escape(_MARKDOWN.sub(r"\\\1", " ".join(text.split())), quote=False)


def fenced(text: str) -> str:
    """A block of code, whose fence is longer than any in the text."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


REPOSITORY, PACKAGE = "%SRCROOT%", "KRAFTCHECK"
"""What a path is relative to: the root of the repository, or the folder that holds the installed package."""

LAYERS = ("model", "properties", "solvers", "ci")


def repository() -> Path:
    """The root of the repository around the working folder; the working folder itself where there is none."""
    here = Path.cwd().resolve()
    workspace = os.environ.get("GITHUB_WORKSPACE")
    if workspace and here.is_relative_to(Path(workspace).resolve()):
        return Path(workspace).resolve()
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


def package() -> Path:
    """The folder that holds the package `kraftcheck`."""
    return Path(model.__file__).absolute().parent.parent.parent  # the layers of a checkout are links


def place(file: str | Path, line: int) -> SourceLine:
    """A file as reports name it: in a checkout as any, of an installed package by `kraftcheck/...`."""
    return _place(str(Path(file).absolute()), line, repository())


@functools.lru_cache(maxsize=1024)
def _place(file: str, line: int, root: Path) -> SourceLine:
    path, home = Path(file).resolve(), package()
    if root != home:
        for layer in LAYERS:
            folder = (home / "kraftcheck" / layer).resolve()
            if path.is_relative_to(folder):
                return SourceLine(f"kraftcheck/{layer}/{path.relative_to(folder).as_posix()}", line, PACKAGE)
    if path.is_relative_to(root):
        return SourceLine(path.relative_to(root).as_posix(), line, REPOSITORY)
    return SourceLine(path.as_posix(), line, "")


def place_of(function: Any) -> SourceLine | None:
    """Where a function is written; None for what has no source, such as a builtin."""
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if code is None or code.co_filename in ("<string>", "<stdin>", language.__file__):
        return None
    return place(code.co_filename, code.co_firstlineno)


def place_of_property(chosen: Subject, claim: Property | None) -> SourceLine | None:
    """Where a property is written; for deadlock, and where that is unknown, a place of its system."""
    places = (place_of(function) for function in _functions(chosen, claim))
    return next((found for found in places if found is not None), None)


def place_of_judged(run: JudgedRun, one: JudgedProperty) -> SourceLine | None:
    """Where a verdict is to be looked at: the source that decides so, or the property; of a shipped one the change."""
    stated = place_of_property(run.subject, one.claim)
    if one.at is not None or (stated is not None and stated.base == REPOSITORY):
        return one.at or stated
    return next(iter(_places_of_changes(run.subject)), stated)


def _places_of_changes(chosen: Subject) -> list[SourceLine]:
    """Where the user's changes that are there at the setting are written, as far as that is in the repository."""
    parts = [one for one in parts_of(chosen.whole) if is_on(one, chosen.setting)]
    given = [getattr(one, "by", getattr(one, "given", None)) for one in parts]
    places = [place_of(getattr(one, "effect", one)) for one in given]
    return [one for one in places if one is not None and one.base == REPOSITORY]


def place_of_action(chosen: Subject, name: str) -> SourceLine | None:
    """Where the effect of an action is written."""
    actions = chosen.system.actions(chosen.setting)
    return next((place_of(action.effect) for action in actions if action.name == name), None)


def _functions(chosen: Subject, claim: Property | None) -> Iterator[Any]:
    """The function that states a property, then those of its system."""
    if claim is not None:
        yield claim.predicate
        yield chosen.whole.properties
    yield chosen.system.quiescent
    yield from (action.effect for action in chosen.system.actions(chosen.setting))


@frozen
class CheckedRule:
    """A rule that a property checks."""

    id: str
    says: str
    source: str
    place: SourceLine


def checked_rules(one: JudgedProperty) -> list[CheckedRule]:
    """The rules that a property names; none for a user's property, which names none of them."""
    if one.claim is None or not one.claim.rules:
        return []
    by_id = {entry.rule.id: entry for entry in entries()}
    found = [by_id[id_] for id_ in one.claim.rules if id_ in by_id]
    return [CheckedRule(one.rule.id, one.rule.says, one.rule.source, place(one.file, one.line)) for one in found]


def _lines(one: JudgedProperty, plain: bool) -> list[str]:
    def shown(text: str) -> str:
        return text if plain else markdown(text)

    lines = [shown(one.sentence)]
    if one.claim is not None and one.claim.source:
        lines.append(shown(f"Source: {one.claim.source}."))
    if one.claim is not None and one.claim.refuted_by:
        lines.append(shown(f"Variants that break it: {', '.join(one.claim.refuted_by)}."))
    for rule in checked_rules(one):
        line = shown(f"Rule {rule.id}: {rule.says} ({rule.source}; {rule.place.path}:{rule.place.line})")
        lines.append(line if plain else f"- {line}")
    return lines


SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
MOST_BYTES = 10_000_000  # compressed bytes of a file that GitHub takes


@frozen
class ReportLimits:
    """The numbers that are kept; by default those that GitHub shows."""

    results: int = 5000  # of a run
    steps: int = 1000  # of a thread flow
    related: int = 100  # places of the rules that a result names
    text: int = 10_000  # characters of a message


def sarif(
    runs: Sequence[JudgedRun], code: int, limits: ReportLimits = ReportLimits(), most_bytes: int = MOST_BYTES
) -> str:
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


def document(runs: Sequence[JudgedRun], code: int, limits: ReportLimits) -> dict[str, Any]:
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
        "help": {"text": "\n".join(_lines(one, plain=True)), "markdown": "\n\n".join(_lines(one, plain=False))},
        "properties": {"tags": [one.kind], "problem.severity": "error"},
    }


def _result(run: JudgedRun, one: JudgedProperty, number: int, limits: ReportLimits) -> dict[str, Any]:
    title, written = run.subject.title(), place_of_judged(run, one)
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
    related = [(rule.place, f"{rule.id}: {rule.says}") for rule in checked_rules(one)]
    if (stated := place_of_property(run.subject, one.claim)) not in (None, written):
        related.insert(0, (stated, f"{one.id}: {one.sentence}"))
    if related:
        result["relatedLocations"] = [
            {"id": position, "physicalLocation": _location(place), "message": {"text": text}}
            for position, (place, text) in enumerate(related[: limits.related])
        ]
    if one.trace is not None:
        result["codeFlows"] = [{"threadFlows": [{"locations": _flow(run, one, one.trace, limits)}]}]
    return result


def _identity(run: JudgedRun, one: JudgedProperty) -> str:
    """What makes a finding the same one in another run, whatever line it has moved to."""
    setting = run.subject.setting
    facts = (run.subject.name, setting.scope, sorted(setting.bounds.items()), run.subject.rules, run.engine, one.id,
             *[run.name] * bool(run.name))  # fmt: skip
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


def _location(written: SourceLine) -> dict[str, Any]:
    base = {"uriBaseId": written.base} if written.base else {}
    uri = quote(written.path) if written.base else f"file://{quote(written.path)}"
    return {"artifactLocation": {"uri": uri, **base}, "region": {"startLine": written.line}}


def _flow(run: JudgedRun, one: JudgedProperty, trace: Trace, limits: ReportLimits) -> list[dict[str, Any]]:
    """The steps, each at its action; the initial state at the property."""
    here = place_of_property(run.subject, one.claim)
    state = "; ".join(f"{name} = {show(value)}" for name, value in fields(trace.initial).items())
    flow = [_step(here, f"0. initial state: {state}", 0, limits)]
    head, tail = limits.steps // 2, limits.steps - limits.steps // 2
    places: dict[str, SourceLine | None] = {}
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


def _step(written: SourceLine | None, text: str, number: int, limits: ReportLimits) -> dict[str, Any]:
    location: dict[str, Any] = {"message": {"text": _cut(text, limits.text)}}
    if written is not None:
        location["physicalLocation"] = _location(written)
    return {"location": location, "executionOrder": number + 1}


def _left_out(trace: Trace, limits: ReportLimits) -> str:
    count = len(trace.steps) - limits.steps
    return f"{count} of {len(trace.steps)} steps are left out of the thread flow, which would be too large."


def _cut(text: str, most: int) -> str:
    mark = " ... (shortened)"
    return text if len(text) <= most else text[: max(0, most - len(mark))] + mark


HOST = "localhost"  # the format wants a host; which one it was says nothing about verdicts


def junit(runs: Sequence[JudgedRun], moment: str) -> str:
    """The document, at a moment `YYYY-MM-DDTHH:MM:SS`."""
    root = ET.Element("testsuites")
    for number, run in enumerate(runs):
        _suite(root, run, number, moment)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(root: ET.Element, run: JudgedRun, number: int, moment: str) -> None:
    faulty = [one for one in run.properties if not one.passed]
    errors = sum(_is_error(one) for one in faulty)
    suite = ET.SubElement(root, "testsuite", {
        "package": token(run.subject.name), "id": str(number), "name": token(f"{run.subject.title()}, {run.engine}"),
        "timestamp": moment, "hostname": HOST, "tests": str(len(run.properties)),
        "failures": str(len(faulty) - errors), "errors": str(errors), "time": f"{run.seconds:.3f}",
    })  # fmt: skip
    facts = ET.SubElement(suite, "properties")
    for name, value in _facts(run).items():
        ET.SubElement(facts, "property", {"name": name, "value": xml_text(value)})
    for one in run.properties:
        _case(suite, run, one)
    passed = [f"{one.id}: {one.outcome()}" for one in run.properties if one.passed]
    ET.SubElement(suite, "system-out").text = xml_text("\n".join(passed))
    ET.SubElement(suite, "system-err")


def _facts(run: JudgedRun) -> dict[str, str]:
    setting = run.subject.setting
    return {
        "engine": run.engine,
        "system": run.subject.name,
        "scope": setting.scope,
        "bounds": setting.text(),
        "rules": run.subject.rules or "none",
        **{f"version of {name}": version for name, version in report.versions().items()},
    }


def _case(suite: ET.Element, run: JudgedRun, one: JudgedProperty) -> None:
    case = ET.SubElement(suite, "testcase", {"name": token(one.id), "classname": token(run.title()), "time": "0"})
    if not one.passed:
        tag = "error" if _is_error(one) else "failure"
        message = f"{one.outcome()} ({one.sentence})"
        named = one.expected == HOLDS or one.verdict == NOT_JUDGED
        verdict = one.verdict.rstrip(" 0123456789").replace(" ", "-") if named else "unexpected"
        element = ET.SubElement(case, tag, {"type": verdict, "message": xml_text(message)})
        element.text = xml_text(run.text(one))


def _is_error(one: JudgedProperty) -> bool:
    return not one.passed and one.undecided
