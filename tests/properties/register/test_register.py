"""The register is true: its coverage, sightings and gaps are shown; odd entries are refused with place and mend."""

import ast
import contextlib
import functools
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

import pytest
from attrs import evolve, frozen

from kraftcheck.ci.conformance.vectors import run_vector
from kraftcheck.ci.conformance.vectors.core import FAILED, PASSED, Vector, read
from kraftcheck.ci.systems.lookup import entries, names_in
from kraftcheck.ci.systems.where import claims, shown
from kraftcheck.ci.terminal import commands
from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.model.register import RegisterError, content
from kraftcheck.model.rules import choice as choices
from kraftcheck.model.rules import ruleset
from kraftcheck.model.rules.choice import described, entries_of
from kraftcheck.model.rules.ruleset import CHOICES, GROUPS, parse, variants
from kraftcheck.properties.catalogue import find
from kraftcheck.properties.register import coverage, defects, findings, mutants, verdicts
from kraftcheck.properties.register.coverage import CHECKED, DOCUMENTS, LEFT_OUT, UNJUDGED, Statement
from kraftcheck.properties.register.defects import BESIDE, BUGS, SEEN, Bug, with_variant
from kraftcheck.properties.register.rules import UNCOVERED
from kraftcheck.solvers.exploration.explore import SearchBudget, explore
from kraftcheck.solvers.mutants.source import applied, of_rule, source_mutant
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds, PropertyVerdict, Refuted
from tests.documentation.register.coverage import TESTED
from tests.properties.broken_rules import VARIABLE
from tests.properties.register.rules_page import NOTICED
from tests.shared.places import ROOT, TESTS
from tests.shared.samples import one_in

STATEMENTS = {one.id: one for document in DOCUMENTS for one in document.statements}

SIZES = {
    "JBOD KIP on ZooKeeper": 36,
    "KIP-858": 56,
    "early controller design": 35,
    "broker-id KIP": 25,
    "unclean-recovery KIP": 37,
    "invariant": 48,
    "behaviour": 19,
    "finding": 10,
    "catalogue": 72,
    "sibling": 20,
    "later": 43,
}
"""How many statements a reader of each document counts; the last two lists are ours, and may grow."""


@functools.cache
def rule_ids() -> frozenset[str]:
    """The ids of all rules."""
    return frozenset(entry.rule.id for entry in entries())


def fault_of_place(place: str) -> str | None:
    """Why a place leads nowhere: the file has to be there, and a Python file has to define the name."""
    file, _, name = place.partition(": ")
    if not (ROOT / file).is_file():
        return f"there is no {file}"
    text = (ROOT / file).read_text(encoding="utf-8")
    if not file.endswith(".py"):
        return None if name in text else f"{file} does not have {name!r}"
    defined = {getattr(node, "name", "") for node in ast.walk(ast.parse(text))}
    assigned = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    return None if name in defined | assigned else f"{file} does not define {name}"


def faults(one: Statement) -> list[str]:
    """What is wrong with a row."""
    told = [f"no rule {rule}" for rule in one.rules if rule not in rule_ids()]
    told += [f"no property {claim}" for claim in one.properties if claim not in claims()]
    told += [f"no variant {v}" for v in one.variants if not names_in(v) <= set(variants())]
    told += [fault for place in one.places if (fault := fault_of_place(place)) is not None]
    if one.kind == CHECKED:
        told += unshown(one)
    if not one.says.endswith(".") or (one.reason and not one.reason.endswith(".")):
        told.append("a sentence ends with a full stop")
    return told


def unshown(one: Statement) -> list[str]:
    """Which properties, variants and rules of a row of class b no sighting of the row has, by a rule that both name."""
    pairs = shown(one)
    told = [f"{c} is refuted by no variant of the row" for c in {*one.properties} - {pair.claim for pair in pairs}]
    told += [f"{v} refutes no property of the row" for v in {*one.variants} - {pair.seen.variant for pair in pairs}]
    between = {rule for pair in pairs for rule in pair.rules}
    return [*told, *(f"{rule} is no rule of what is refuted" for rule in one.rules if rule not in between)]


def test_every_row_is_true() -> None:
    """What a row names exists, and each checked property is refuted in some scope, by a rule of its row."""
    assert {one.id: told for one in STATEMENTS.values() if (told := faults(one))} == {}


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (Statement("x 1", "S.", rules=("no.rule",)), "no rule no.rule"),
        (Statement("x 1", "S.", properties=("elections no-such",)), "no property elections no-such"),
        (Statement("x 1", "S.", variants=("no-variant",), reason="R."), "no variant no-variant"),
        (Statement("x 1", "S.", properties=("elections leader-active",), variants=("elr-keeps-isr-members",)),
         "elections leader-active is refuted by no variant of the row"),
        (Statement("x 1", "S.", properties=("elections isr-elr-disjoint",),
                   variants=("elr-keeps-isr-members", "fetch-unfenced")),
         "fetch-unfenced refutes no property of the row"),
        (Statement("x 1", "S.", properties=("directories fenced-until-settled",),
                   variants=("unknown-directory-hides-log",)),
         "directories fenced-until-settled is refuted by no variant of the row"),
        (Statement("x 1", "S.", rules=("unfence.assignments-settled", "catchup.one-table"),
                   properties=("directories fenced-until-settled",), variants=("unfence-ignores-assignments",)),
         "catchup.one-table is no rule of what is refuted"),
        (Statement("x 1", "S.", properties=("directories fenced-until-settled",),
                   variants=("one-directory-awaits-nothing",), within="migration"),
         "one-directory-awaits-nothing refutes no property of the row"),
        (Statement("x 1", "S.", places=("model/nowhere.py: f",)), "there is no model/nowhere.py"),
        (Statement("x 1", "S.", places=("properties/kinds.py: nothing_like_it",)),
         "properties/kinds.py does not define nothing_like_it"),
        (Statement("x 1", "S.", reason="because"), "a sentence ends with a full stop"),
    ],
)  # fmt: skip
def test_an_untrue_row_is_found(row: Statement, fault: str) -> None:
    """The check can fail: for what does not exist, for a variant that refutes nothing of the row, or by no rule of it.

    `unknown-directory-hides-log` does refute `fenced-until-settled`, and shares no rule with it.
    """
    assert fault in faults(row)


def test_every_test_of_a_statement_exists() -> None:
    """The list of tests names statements of the table, and tests that are there."""
    assert [one for one in TESTED if one not in STATEMENTS] == []
    assert [fault for tests in TESTED.values() for one in tests if (fault := fault_of_place(one)) is not None] == []


def test_every_statement_is_judged() -> None:
    """A row has a rule, a property or a place, or a reason."""
    assert [one.id for one in STATEMENTS.values() if one.kind == UNJUDGED] == []


def test_every_document_is_there_whole() -> None:
    """No id is there twice, each begins with its document's name, and each document has all its statements."""
    ids = [one.id for document in DOCUMENTS for one in document.statements]
    assert len(ids) == len(set(ids))
    assert {document.name: len(document.statements) for document in DOCUMENTS} == SIZES
    for document in DOCUMENTS:
        assert [one.id for one in document.statements if not one.id.startswith(f"{document.name} ")] == []


def test_what_is_left_out_names_nothing() -> None:
    """A row of class c has no variant either: a switch of the rules would mean that it is modelled."""
    assert [one.id for one in STATEMENTS.values() if one.kind == LEFT_OUT and one.variants] == []


def name_of(row: Bug) -> str:
    """How a row is called in a test's name."""
    return f"{row.system} {row.scope} {row.variant}"


OF_NOTHING = {("broker-ids", name) for name in ("id-stays-with-its-disk", "lost-disk-gets-its-id")}
"""Promises of ids that are found: without a rule that finds any they are not asked."""


def judged(row: Bug, rules: str) -> Mapping[str, PropertyVerdict]:
    """The verdicts of the properties that a row names, explored to the end."""
    system = find(row.system)
    at = system.setting(row.scope, row.bounds, parse(rules))
    claims = tuple(claim for claim in system.properties(at) if claim.id in row.refutes)
    unasked = set(row.refutes) - {claim.id for claim in claims}
    assert {(row.system, claim) for claim in unasked} <= (OF_NOTHING if rules == row.base else set())
    if not claims:
        return {}
    program = trace(evolve(system, properties=lambda _: claims), at)
    found = explore(program, SearchBudget(threads=1, cache_dir=cache_folder(), keep=False), clock=time.perf_counter)
    assert found.cut is None
    return {verdict.claim: verdict for verdict in found.verdicts if verdict.claim in row.refutes}


@pytest.mark.parametrize("row", one_in(13, BESIDE), ids=name_of)
def test_a_sighting_is_seen(row: Bug) -> None:
    """With the variant each named property breaks, with shortest traces of just these lengths."""
    found = judged(row, row.rules)
    assert {claim: (type(v.verdict), v.depth) for claim, v in found.items()} == {
        claim: (Refuted, length) for claim, length in row.refutes.items()
    }


@pytest.mark.parametrize("row", one_in(13, BESIDE), ids=name_of)
def test_without_the_variant_the_property_holds(row: Bug) -> None:
    """In the same scope, by the rules beside the variant, every named property holds, or speaks of nothing there."""
    found = {claim: type(v.verdict) for claim, v in judged(row, row.base).items()}
    assert found == dict.fromkeys(found, Holds)


def test_a_sighting_is_none_of_the_matrix() -> None:
    """Its variant is known, and no row of the matrix shows the same there."""
    matrix = [(bug.variant, bug.system, bug.scope, bug.bounds) for bug in BUGS]
    for row in BESIDE:
        assert {name.removeprefix("-") for name in row.variant.split("+")} <= set(variants()), name_of(row)
        assert (row.variant, row.system, row.scope, row.bounds) not in matrix, name_of(row)


def test_every_sighting_is_found_by_its_pair() -> None:
    """The index has each row of both tables under each of its properties, and nothing else."""
    listed = [(key, row) for key, rows in SEEN.items() for row in rows]
    assert len(listed) == sum(len(row.refutes) for row in (*BUGS, *BESIDE))
    assert all(key == (row.system, key[1], row.variant) and key[1] in row.refutes for key, row in listed)


RULES = "kafka-4.0"
OF_VECTORS = {rule: row for rule, row in NOTICED.items() if ".py::" not in row[1]}
OF_TESTS = {rule: row for rule, row in NOTICED.items() if ".py::" in row[1]}
SWITCHES = {entry.rule.id: entry.rule.switches for entry in entries()}


@functools.cache
def vectors() -> Mapping[str, Vector]:
    """Every vector by its id."""
    return {name: one for path in sorted((TESTS / "vectors").glob("*.json")) for name, one in read(path).items()}


def noticed_by(vector: str, variant: str) -> str:
    """What becomes of a vector under a variant of the rules; of none where it is empty."""
    around: Any = applied(source_mutant(variant)) if ":" in variant else contextlib.nullcontext()
    rules = with_variant(RULES, variant) if variant and ":" not in variant else RULES
    with around:
        return run_vector(vectors()[vector], parse(rules)).status


def run_of(test: str, variant: str) -> str:
    """The last line of a run of one test while a variant is put into the rules."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "tests.properties.broken_rules", test],
        cwd=ROOT, env={**os.environ, VARIABLE: variant}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout.splitlines()[-1]


def test_every_rule_without_a_property_has_a_variant() -> None:
    """The two tables have the same rules, and each variant is a choice that the rule names, or a mutant of it."""
    assert sorted(NOTICED) == sorted(UNCOVERED)
    strange = [
        rule
        for rule, (variant, _) in NOTICED.items()
        if variant not in {one.name for one in of_rule(rule)} and variant.removeprefix("-") not in SWITCHES[rule]
    ]
    assert strange == []
    chosen = {variant.removeprefix("-") for variant, _ in NOTICED.values() if ":" not in variant}
    assert chosen <= set(variants())


@pytest.mark.parametrize("rule", OF_VECTORS)
def test_a_vector_notices_the_variant(rule: str) -> None:
    """The vector passes under the rules as they are, and fails with the variant."""
    variant, vector = OF_VECTORS[rule]
    assert (noticed_by(vector, ""), noticed_by(vector, variant)) == (PASSED, FAILED)


@pytest.mark.parametrize("rule", one_in(6, OF_TESTS))
def test_a_test_notices_the_variant(rule: str) -> None:
    """The test, which passes in this run, fails with the variant."""
    variant, test = OF_TESTS[rule]
    assert " failed" in run_of(test, variant)


def test_a_variant_that_nobody_notices_is_found() -> None:
    """The check can fail: of a vector or a test of another rule."""
    vector = OF_VECTORS["placement.unfenced-leader"][1]
    assert noticed_by(vector, "controller.alter_configs:_fixed_by_elr:negate:1") == PASSED
    test = "tests/model/partition/test_change.py::test_the_last_known_leader_of_later_releases"
    assert " failed" not in run_of(test, "controller.alter_configs:_fixed_by_elr:negate:1")


PROPERTIES = "write at with a system and a scope, and properties with steps"


def test_every_choice_has_one_entry() -> None:
    """Each choice is in the file of its group, and nothing else is."""
    listed = [name for group in GROUPS for name in entries_of(group.replace("_", "-"))]
    assert sorted(listed) == sorted(variants())


def test_a_choice_that_only_one_place_has_is_named() -> None:
    """A record and a file with other choices do not go together."""
    with pytest.raises(RegisterError, match=r"zk-jbod\.toml and Short of groups\.py: only one has .*; give it to both"):

        @frozen(field_transformer=described("zk-jbod"))
        class Short:
            jobs_without_lock: bool = False


@pytest.mark.parametrize("span", ["4.9", "4.0.0 to 9", "kip to 4.0", "4.0.0 - 4.1.0"])
def test_a_span_of_presets_is_understood_or_refused(span: str) -> None:
    """Presets are named as they are, or as the first and the last."""
    field = CHOICES["elr_downgrade"]
    assert "kafka-4.1.2" in ruleset._having(field)
    with pytest.raises(RegisterError, match=f"elr-downgrade: has names '{span}'; write kip, fixed, FIRST to LAST, or"):
        ruleset._having(field.evolve(metadata={**field.metadata, "has": (span,)}))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"at": "replication", "properties": ["isr-active 5"]}, PROPERTIES),
        ({"at": "replication tiny", "properties": []}, PROPERTIES),
        ({"at": "replication tiny", "properties": ["isr-active 5"], "off": "B1"}, PROPERTIES),
        ({"at": "replication tiny", "properties": ["isr-active"]}, "'isr-active' is no name with a number"),
        ({"at": "replication tiny --fences", "properties": ["isr-active 5"]}, "is no scope with bounds"),
    ],
)
def test_an_odd_row_of_a_defect_is_refused(row: dict[str, Any], message: str) -> None:
    """A row has a place, and properties with steps."""
    with pytest.raises(RegisterError) as refused:
        defects._bug(row, "fenced-may-join-isr", "data-plane.toml: [[fenced-may-join-isr.breaks]]")
    assert str(refused.value).startswith("data-plane.toml: [[fenced-may-join-isr.breaks]]: ")
    assert message in str(refused.value)


def test_verdicts_may_be_those_of_an_earlier_rule_set() -> None:
    """A name stands for what is listed above it, in the same scope."""
    table: dict[str, Any] = {"elections": {"tiny": {"kip": ["leader-active 2"], "fixed": "kip"}}}
    assert verdicts._rows(table, "v.toml")["elections", "tiny", "fixed"] == {"leader-active": "refuted 2"}
    table["elections"]["tiny"]["fixed"] = "kipp"
    with pytest.raises(RegisterError, match=r"v\.toml\.elections\.tiny: fixed: there is no rule set 'kipp' above"):
        verdicts._rows(table, "v.toml")


def test_a_search_of_a_finding_is_whole() -> None:
    """A search has a system, a scope and a property."""
    table = dict(content("kraftcheck.properties.register", "findings.toml")["ghost-elr-member"])
    found = findings._finding("ghost-elr-member", dict(table))
    assert found == findings.FINDINGS[0]
    table["search"] = "replication"
    with pytest.raises(RegisterError, match=r"\[ghost-elr-member\]: search names a system and a scope"):
        findings._finding("ghost-elr-member", table)


@pytest.mark.parametrize(
    "row",
    [
        {"redundant": "r", "scope": "s", "places": [["a", "b", "c"]]},
        {"redundant": "r", "places": [["a", "b"]]},
        {"redundant": "r", "places": [["a", "b", "c"]], "systems": "kraft"},
    ],
)
def test_an_odd_judgement_is_refused(row: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A judgement is of one kind, with places of three strings."""
    monkeypatch.setattr(mutants, "content", lambda *_: {"condition": [row]})
    with pytest.raises(RegisterError, match=r"m\.toml: condition 1: write redundant or scope"):
        tuple(mutants._judgements("m.toml", "condition"))


def test_a_statement_about_one_defect_says_what_the_defect_says() -> None:
    """The sentence of a defect is written once; a statement of its own has its own."""
    told = coverage._told({"variants": ["fenced-may-join-isr"]})
    assert told["says"] == "AlterPartition accepts fenced members."
    assert coverage._told({"says": "S.", "variants": ["fenced-may-join-isr"]})["says"] == "S."
    assert "says" not in coverage._told({"variants": ["a", "b"]})


def test_a_broken_register_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A command that reads an entry that it does not understand ends with 2, and says where."""

    def broken(*_: Any, **__: Any) -> None:
        choices.record(choices.ChoiceEntry, {"sais": "s"}, "partition.toml: [elr-downgrade]")

    monkeypatch.setattr(commands.cli, "main", broken)
    assert commands.run() == 2
    said = capsys.readouterr().err.strip()
    assert "partition.toml: [elr-downgrade]: unknown key 'sais'; did you mean says" in said
    assert "\n" not in said
