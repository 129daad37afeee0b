"""JUnit XML: a suite for each run, a test case for each property.

A refuted, vacuous or unexpected verdict is a failure. One that says neither yes nor no (incomplete, unknown, not
judged) is an error. What passes says in the suite's output what the verdict rests on.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence

from kraftcheck.ci.run.judged import HOLDS, JudgedProperty, JudgedRun
from kraftcheck.ci.run.reports.escaping import token, xml_text
from kraftcheck.ci.systems import report

HOST = "localhost"
"""The format wants a host; which one it was says nothing about verdicts."""


def junit(runs: Sequence[JudgedRun], moment: str) -> str:
    """The document.

    Args:
        runs: what was judged.
        moment: when it was, `YYYY-MM-DDTHH:MM:SS`.
    """
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
    names = [run.subject.name, run.subject.setting.scope, run.subject.rules or ""]
    case = ET.SubElement(suite, "testcase", {
        "name": token(one.id), "classname": token(" ".join(filter(None, names))), "time": "0",
    })  # fmt: skip
    if not one.passed:
        tag = "error" if _is_error(one) else "failure"
        message = f"{one.outcome()} ({one.sentence})"
        verdict = one.verdict.rstrip(" 0123456789").replace(" ", "-") if one.expected == HOLDS else "unexpected"
        element = ET.SubElement(case, tag, {"type": verdict, "message": xml_text(message)})
        element.text = xml_text(run.text(one))


def _is_error(one: JudgedProperty) -> bool:
    return not one.passed and one.undecided
