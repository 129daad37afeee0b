"""Documents of `--json` with verdicts: valid against the schema in the documentation, with the steps of each trace."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kraftcheck.ci.explore.trace import claim_of
from kraftcheck.ci.systems.subject import program, subject
from kraftcheck.solvers.traces import itf
from kraftcheck.solvers.traces.itf import trace_document
from kraftcheck.solvers.traces.render import replay_trace
from tests.shared.commands import kraftcheck
from tests.shared.places import ROOT

SCHEMA = json.loads((ROOT / "docs" / "reference" / "schemas" / "verdicts-1.schema.json").read_text(encoding="utf-8"))


def faults(document: Any) -> list[str]:
    """What the schema has against a document."""
    return [fault.message for fault in Draft202012Validator(SCHEMA).iter_errors(document)]


@pytest.mark.parametrize(
    "words",
    [
        ("explore", "tests.toys:DIGRAPH"),
        ("explore", "tests.toys:DIGRAPH", "--max-depth", "1"),
        ("explore", "tests.toys:VALVE", "--scope", "budget"),
        ("explore", "tests.toys:STUCK"),
        ("explore", "tests.toys:HASTY"),
        ("prove", "tests.toys:DIGRAPH"),
        ("prove", "tests.toys:DIGRAPH", "--k", "1"),
        ("prove", "tests.toys:DIGRAPH", "--bmc", "5"),
        ("explore", "tests.solvers.liveness.toys:LIFT", "--scope", "weak"),
        ("prove", "tests.solvers.liveness.toys:LIFT", "--scope", "weak", "--bmc", "4"),
        ("simulate", "tests.solvers.liveness.toys:LIFT", "--scope", "weak", "--runs", "9"),
        ("simulate", "tests.toys:DIGRAPH", "--runs", "9", "--steps", "9"),
        ("check", "broker-ids", "--scope", "tiny", "--rules", "kip"),
    ],
)
def test_documents_are_as_the_schema_says(words: tuple[str, ...]) -> None:
    """Each command's document is valid, with a trace for each refutation and for nothing else."""
    assert faults(kraftcheck(*words, "--quiet", "--workers", "1", "--json", "-").document()) == []


def test_the_schema_is_one_and_can_fail() -> None:
    """The schema is valid, and refuses a refutation without a trace, a trace of what holds, and another version."""
    Draft202012Validator.check_schema(SCHEMA)
    document = kraftcheck("explore", "tests.toys:DIGRAPH", "--quiet", "--json", "-").document()
    refuted, held = document["properties"][0], document["properties"][1]
    for change in (
        {"version": 2},
        {"properties": [{**refuted, "trace": None}]},
        {"properties": [{**held, "trace": refuted["trace"]}]},
        {"properties": [{**refuted, "trace": {**refuted["trace"], "steps": [{"action": "follow"}]}}]},
    ):
        assert faults({**document, **change}) != []


def test_the_steps_are_those_of_the_trace(tmp_path: Path) -> None:
    """The trace in the document is the one that `--out` writes: the same actions, arguments, states and events."""
    words = ("--scope", "tiny", "--rules", "kafka-4.0", "--property", "controller-stays", "--quiet", "--json", "-")
    document = kraftcheck("explore", "elections", *words, "--out", tmp_path / "out").document()
    found = next(row for row in document["properties"] if row["id"] == "controller-stays")["trace"]
    traced = program(subject("elections", "tiny", {}, "kafka-4.0"))
    recipe = itf.recipe(json.loads((tmp_path / "out" / "controller-stays.itf.json").read_text(encoding="utf-8")))
    trace = replay_trace(traced, claim_of(recipe, traced), *itf.instances(recipe, traced))
    assert found == json.loads(json.dumps(trace_document(trace)))
    assert [step["action"] for step in found["steps"]] == ["enable_elr", "reassign", "fence", "reassign"]
    assert found["initial"]["replicas"] == [0, 1]
    assert found["steps"][2]["arguments"] == {"broker": 1}
    assert [step["state"]["leader"] for step in found["steps"]] == [0, 1, -1, -1]
    assert found["steps"][1]["state"]["isr"] == [1]
