"""Every link from a rule to a property is shown by a variant that refutes the property, or named as not shown yet."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from attrs import evolve

from kraftcheck.model.language.words import Rule
from kraftcheck.model.rules.ruleset import parse, variants
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.register.defects import with_variant
from kraftcheck.solvers.mutants.source import StaleMutantError, source_mutant
from tests.ci.mutants.witnesses import Link, Witness, document, links, read_witnesses, steps_again
from tests.shared.places import DOCS
from tests.shared.samples import one_in

PLACE = DOCS / "reference" / "witnesses.json"
WITNESSES = read_witnesses(PLACE)
LINKS = links()
AGAIN = "run `python -m tests.ci.mutants.witnesses`"


def of_each_link(declared: Mapping[Link, Rule], shown: list[Link]) -> list[str]:
    """What is wrong between the links and the witnesses: each link has one."""
    faults = [f"{one}: no witness; {AGAIN}" for one in declared if one not in shown]
    faults += [f"{one}: a witness of no link" for one in shown if one not in declared]
    return faults + [f"{one}: shown twice" for one in declared if shown.count(one) > 1]


def faults_of(one: Witness) -> list[str]:
    """What is wrong with a witness before it is explored: names that nothing has, or a variant of another rule."""
    rule = LINKS[one.link]
    if one.is_mutant:
        try:
            told = [] if one.rule in source_mutant(one.variant).rules else [f"{one.variant} is of another rule"]
        except StaleMutantError as error:
            told = [f"{error}; {AGAIN}"]
        rules = one.base
    else:
        name, rules = one.variant.removeprefix("-"), with_variant(one.base, one.variant)
        told = [] if name in variants() and name in rule.switches else [f"{name} is no switch of {one.rule}"]
        told += [f"{one.variant} changes nothing"] * (parse(rules) == parse(one.base))
    system = SYSTEMS[one.system]
    claims = {claim.id: claim for claim in system.properties(system.setting(one.scope, one.bounds, parse(rules)))}
    if one.claim not in claims:
        return [*told, f"{one.claim} is no property of {one.system} there"]
    return told + ["no step"] * (one.steps == 0 and claims[one.claim].kind == "step")


def test_every_link_has_a_witness() -> None:
    """No link is without a witness, and no witness is of what is no link."""
    assert of_each_link(LINKS, [one.link for one in WITNESSES]) == []
    assert len(WITNESSES) > 300


def test_a_link_without_a_witness_is_found() -> None:
    """The check can fail: for a link that nobody shows, for one that is gone, and for one that is shown twice."""
    one, other = list(LINKS)[:2]
    declared = {one: LINKS[one]}
    assert of_each_link(declared, []) == [f"{one}: no witness; {AGAIN}"]
    assert of_each_link(declared, [one, other]) == [f"{other}: a witness of no link"]
    assert of_each_link(declared, [one, one]) == [f"{one}: shown twice"]


def test_witnesses_agree_with_the_sources() -> None:
    """Each names a variant of its rule, a scope and a property that are there today."""
    assert {one.link: told for one in WITNESSES if (told := faults_of(one))} == {}


def test_a_stale_witness_is_found() -> None:
    """The check can fail: for a choice of another rule, a mutant that is gone, and a property that is not there."""
    one = next(one for one in WITNESSES if not one.is_mutant and one.system == "elections" and one.base == "fixed")
    other = next(name for name in variants() if name not in LINKS[one.link].switches)
    assert faults_of(evolve(one, variant=other))[0] == f"{other} is no switch of {one.rule}"
    assert "no mutant" in faults_of(evolve(one, variant="triggers.table:effective_min_isr:negate:99"))[0]
    placed = next(one for one in WITNESSES if (one.system, one.scope) == ("elections", "directories"))
    absent = evolve(placed, rule="isr.join.directory-online", claim="isr-directory-online", scope="tiny")
    assert faults_of(absent)[-1] == "isr-directory-online is no property of elections there"


def test_the_table_is_written_as_it_is_read() -> None:
    """Reading and writing the file loses nothing, and its order is that of the links."""
    assert [Witness(**row) for row in document(WITNESSES)["witnesses"]] == list(WITNESSES)
    assert [one.link for one in WITNESSES] == sorted(one.link for one in WITNESSES)


@pytest.mark.parametrize("one", one_in(72, WITNESSES), ids=lambda one: f"{one.rule} {one.system} {one.claim}")
def test_a_witness_shows_its_link_again(one: Witness) -> None:
    """With the variant the property is refuted in so many steps, and without it is not."""
    assert steps_again(one) == (one.steps, True)


def test_a_witness_that_shows_nothing_is_found() -> None:
    """The check can fail: leader-returns holds although an unfenced ELR member is not elected."""
    one = Witness("unfence.retries-leaderless", "elections", "leader-returns", "unfence-retries-isr-only", "tiny", {},
                  "fixed", 1)  # fmt: skip
    assert steps_again(one) == (None, True)
