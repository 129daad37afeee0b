"""Each lemma is refuted by a variant of the rules, or `lemmas.toml` says why none is known to."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import groupby

import pytest
from attrs import evolve

from kraftcheck.ci.prove.lemmas import SHOWN, shown
from kraftcheck.ci.prove.table import ProofRun, read_runs
from kraftcheck.model.language.system import Property, Setting
from kraftcheck.model.register import RegisterError
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.register import lemmas as register
from kraftcheck.properties.register.defects import with_variant
from kraftcheck.properties.register.lemmas import REFUTED, UNREFUTED, Refuter, reason, refuter
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget, explore
from kraftcheck.solvers.program.fingerprint import Meaning
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds, Refuted, Vacuous
from tests.shared.places import DOCS

PLACES = {"elections": ("tiny", "small", "directories"), "directories": ("tiny", "small"), "replication": ("tiny",)}
"""Scopes that have all the lemmas of each system, but for those of any number of brokers."""

DATA = shown(read_runs(DOCS / "reference" / "proofs.json"))

Case = tuple[str, str, str, tuple[tuple[str, int], ...]]
"""System, variant, scope, bounds."""


def case(row: Refuter) -> Case:
    """Where one exploration shows a refutation."""
    return row.system, row.variant, row.scope, tuple(row.bounds.items())


CASES = {
    where: {lemma: row.steps for (_, lemma), row in rows}
    for where, rows in groupby(sorted(REFUTED.items(), key=lambda one: case(one[1])), key=lambda one: case(one[1]))
}
"""For each exploration, the lemmas that it refutes, with steps."""

QUICK = {("elections", "fences-share-one-base"), ("directories", "assignment-unauthorized"),
         ("replication", "leader-change-keeps-epoch")}  # fmt: skip
"""A system and a variant whose explorations are small, run at each change."""


def lemmas_of(system: str) -> dict[str, Property]:
    """The lemmas of a system in its small scopes, under the right rules."""
    settings = (SYSTEMS[system].setting(scope, rules=parse("fixed")) for scope in PLACES[system])
    return {lemma.id: lemma for setting in settings for lemma in SYSTEMS[system].lemmas(setting)}


def explored(where: Case, rules: str, names: Sequence[str], depth: int | None = None) -> Exploration:
    """What an exploration says of lemmas as they are under the right rules."""
    name, _, scope, bounds = where
    system = SYSTEMS[name]

    def setting(of: str) -> Setting:
        return system.setting(scope, dict(bounds), parse(of))

    asked = [lemma for lemma in system.lemmas(setting("fixed")) if lemma.id in names]
    program = trace(evolve(system, properties=lambda _: asked), setting(rules))
    return explore(program, SearchBudget(max_depth=depth, keep=False), clock=time.perf_counter)


@pytest.mark.parametrize("system", SHOWN)
def test_each_lemma_is_refuted_or_a_frame(system: str) -> None:
    """Each lemma has a variant that refutes it, or a reason why there is none, and not both."""
    lemmas = lemmas_of(system)
    told = {lemma: (refuter(system, lemma) is not None, reason(system, lemma) is not None) for lemma in lemmas}
    assert len(lemmas) > 8
    assert {lemma: both for lemma, both in told.items() if sum(both) != 1} == {}


def test_each_row_names_a_lemma() -> None:
    """A row that says something of no lemma is none."""
    known = {(system, lemma) for system in PLACES for lemma in lemmas_of(system)}
    assert {*REFUTED, *UNREFUTED} - known == set()
    assert all(len(why) > 15 for why in UNREFUTED.values())


@pytest.mark.parametrize("words", ["tiny 3", "some-variant tiny three", "some-variant tiny 3 --moves"])
def test_an_odd_row_is_refused(words: str) -> None:
    """A row that lacks the variant, the steps or a number is refused with its place."""
    with pytest.raises(RegisterError, match=r"lemmas\.toml: .*lemma-odd|lemmas\.toml: lemma-odd"):
        register._refuter("elections", "lemma-odd", words)


@pytest.mark.parametrize("where", [
    pytest.param(where, marks=() if where[:2] in QUICK else pytest.mark.slow) for where in CASES
], ids=lambda where: " ".join(map(str, where[:3])))  # fmt: skip
def test_a_variant_refutes_the_lemma(where: Case) -> None:
    """The shortest run to a state that breaks the lemma has the named number of steps."""
    expected = CASES[where]
    found = explored(where, with_variant("fixed", where[1]), [*expected], depth=max(expected.values()))
    depths = {one.claim: one.depth for one in found.verdicts if isinstance(one.verdict, Refuted)}
    assert {lemma: depths.get(lemma) for lemma in expected} == expected


@pytest.mark.slow
@pytest.mark.parametrize("place", dict.fromkeys((one[0], *one[2:]) for one in CASES), ids=lambda place: " ".join(
    map(str, place[:2])))  # fmt: skip
def test_the_lemma_holds_there_by_the_right_rules(place: tuple[str, str, tuple[tuple[str, int], ...]]) -> None:
    """What a variant refutes in a scope, no reachable state breaks there under `fixed`."""
    names = [lemma for where, lemmas in CASES.items() if (where[0], *where[2:]) == place for lemma in lemmas]
    system, scope, bounds = place
    found = explored((system, "", scope, bounds), "fixed", names)
    verdicts = {one.claim: one.verdict for one in found.verdicts if one.claim in names}
    assert {*verdicts} == {*names}
    assert [claim for claim, verdict in verdicts.items() if not isinstance(verdict, (Holds, Vacuous))] == []


@pytest.mark.parametrize("row", DATA, ids=lambda row: row.system)
def test_the_graph_is_of_the_claims_that_there_are(row: ProofRun) -> None:
    """A run that is shown was of today's states and steps, and of today's lemmas and invariants."""
    asked = row.request().build()
    claims = {claim.id for claim in asked.claims}
    assert {*row.used} == claims
    assert {name for used in row.used.values() for name in used.split()} <= claims
    again = "run `kraftcheck prove` again, as docs/reference/proofs.md says"
    assert row.behaviour == Meaning.of(asked.program).behaviour, again
