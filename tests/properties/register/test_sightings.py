"""What is listed beside the matrix of defects is true: a variant refutes a property, which holds without it."""

from __future__ import annotations

import time
from collections.abc import Mapping

import pytest
from attrs import evolve

from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.model.rules.ruleset import parse, variants
from kraftcheck.properties.catalogue import find
from kraftcheck.properties.register.defects import BESIDE, BUGS, SEEN, Bug
from kraftcheck.solvers.exploration.explore import SearchBudget, explore
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds, PropertyVerdict, Refuted
from tests.shared.samples import one_in


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
