"""The coverage table is true: what a row names exists, and what it calls checked is refuted by a variant it names."""

from __future__ import annotations

import ast
import functools

import pytest

from kraftcheck.ci.systems.lookup import entries, names_in
from kraftcheck.ci.systems.where import claims, shown
from kraftcheck.model.rules.ruleset import variants
from kraftcheck.properties.register.coverage import CHECKED, DOCUMENTS, LEFT_OUT, UNJUDGED, Statement
from tests.documentation.coverage import TESTED
from tests.shared.places import ROOT

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
    "later": 32,
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
