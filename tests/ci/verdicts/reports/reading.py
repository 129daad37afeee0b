"""Reports as tests read them: validated against the published schemas, then as plain values."""

import functools
import json
from pathlib import Path
from typing import Any

from jsonschema import Draft4Validator
from lxml import etree

from tests.shared.places import TESTS

SCHEMAS = TESTS / "ci" / "verdicts" / "schemas"

LIGHT = """
import kraftcheck as kc
from attrs import frozen

@frozen
class Light:
    colour: kc.Word

LIGHT = kc.System(
    name="light", summary="A light.", layout=Light(kc.ints(0, 1)), initial=[Light(0)],
    actions=[kc.Action("stay", lambda s: s)],
    properties=[%s],
)
"""  # a user's module, but for the properties of its system; line 12 has them


@functools.cache
def _junit_schema() -> etree.XMLSchema:
    return etree.XMLSchema(etree.parse(SCHEMAS / "JUnit.xsd"))


@functools.cache
def _sarif_schema() -> Draft4Validator:
    schema = json.loads((SCHEMAS / "sarif-schema-2.1.0.json").read_text(encoding="utf-8"))
    Draft4Validator.check_schema(schema)
    return Draft4Validator(schema)


def read_junit(path: Path) -> etree._Element:
    """The root of a JUnit file, once it is valid and no two of its cases are called alike."""
    tree = etree.parse(path)
    _junit_schema().assertValid(tree)
    names = [(case.get("classname"), case.get("name")) for case in tree.iter("testcase")]
    assert len({*names}) == len(names)
    return tree.getroot()


def read_sarif(path: Path) -> Any:
    """The only run of a SARIF file, once it is valid."""
    return valid_sarif(path.read_text(encoding="utf-8"))


def valid_sarif(text: str) -> Any:
    """The only run of a SARIF document, once it is valid and every index leads somewhere."""
    document = json.loads(text)
    faults = [f"{list(fault.absolute_path)}: {fault.message}" for fault in _sarif_schema().iter_errors(document)]
    assert faults == []
    (run,) = document["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
    return run


def cases(root: etree._Element) -> dict[str, str]:
    """Of each test case its outcome: `pass`, or the tag and the type of what is wrong."""
    found = {}
    for case in root.iter("testcase"):
        faults = [f"{fault.tag} {fault.get('type')}" for fault in case]
        found[case.get("name")] = faults[0] if faults else "pass"
    return found


def results(run: Any) -> dict[str, str]:
    """The verdict of each result by the property; passes have none."""
    return {
        run["tool"]["driver"]["rules"][result["ruleIndex"]]["name"]: result["properties"]["verdict"]
        for result in run["results"]
    }
