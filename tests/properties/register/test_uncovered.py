"""Each rule that no property checks has a variant, and a vector of Kafka's own tests, or a test, notices it."""

from __future__ import annotations

import contextlib
import functools
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from kraftcheck.ci.conformance.vectors import run_vector
from kraftcheck.ci.conformance.vectors.core import FAILED, PASSED, Vector, read
from kraftcheck.ci.systems.lookup import entries
from kraftcheck.model.rules.ruleset import parse, variants
from kraftcheck.properties.register.defects import with_variant
from kraftcheck.properties.register.rules import UNCOVERED
from kraftcheck.solvers.mutants.source import applied, of_rule, source_mutant
from tests.properties.broken_rules import VARIABLE
from tests.properties.register.rules_page import NOTICED
from tests.shared.places import ROOT, TESTS
from tests.shared.samples import one_in

RULES = "kafka-4.0"
OF_VECTORS = {rule: row for rule, row in NOTICED.items() if ".py::" not in row[1]}
OF_TESTS = {rule: row for rule, row in NOTICED.items() if ".py::" in row[1]}
SWITCHES = {entry.rule.id: entry.rule.switches for entry in entries()}


@functools.cache
def vectors() -> Mapping[str, Vector]:
    """Every vector by its id."""
    return {name: one for path in sorted((TESTS / "vectors").glob("*.json")) for name, one in read(path).items()}


def judged(vector: str, variant: str) -> str:
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
    assert (judged(vector, ""), judged(vector, variant)) == (PASSED, FAILED)


@pytest.mark.parametrize("rule", one_in(6, OF_TESTS))
def test_a_test_notices_the_variant(rule: str) -> None:
    """The test, which passes in this run, fails with the variant."""
    variant, test = OF_TESTS[rule]
    assert " failed" in run_of(test, variant)


def test_a_variant_that_nobody_notices_is_found() -> None:
    """The check can fail: of a vector or a test of another rule."""
    vector = OF_VECTORS["placement.unfenced-leader"][1]
    assert judged(vector, "controller.alter_configs:_fixed_by_elr:negate:1") == PASSED
    test = "tests/model/partition/test_change.py::test_the_last_known_leader_of_later_releases"
    assert " failed" not in run_of(test, "controller.alter_configs:_fixed_by_elr:negate:1")
