"""Properties: the catalogue is honest, and every property of `elections` can fail."""

from __future__ import annotations

from typing import Any

import pytest

from kraftcheck.model.language.layout import cap_of, leaves
from kraftcheck.model.language.system import Property, Setting
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import SYSTEMS, find
from kraftcheck.properties.kinds import CatalogueError, always, happens, sometimes, step, validate
from kraftcheck.properties.register import verdicts as expected_verdicts

ELECTIONS = SYSTEMS["elections"]

SCOPES = ("tiny", "small", "directories")
"""Scopes in the order of their size; between them they have every action."""


def setting(scope: str, rules: str = "fixed") -> Setting:
    """A setting of `elections`."""
    return ELECTIONS.setting(scope, rules=parse(rules))


def all_claims() -> dict[str, Property]:
    """Every property of any scope, by id."""
    return {claim.id: claim for scope in SCOPES for claim in ELECTIONS.properties(setting(scope, "kip"))}


CLAIMS = all_claims()


def holds(state: Any) -> bool:
    """A predicate that says nothing."""
    return True


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ([always("a", "A.", holds, "x", ("v",)), step("a", "B.", holds, "x", ("v",))], "property a is listed twice"),
        ([always("a", "A.", holds, "x", ("w",))], "property a names the unknown variant w"),
        ([step("a", "A.", holds, "x", ("v+w",))], "property a names the unknown variant w"),
        ([always("a", "A.", holds)], "property a names no variant that refutes it"),
        ([step("a", "A.", holds)], "property a names no variant that refutes it"),
    ],
)
def test_a_dishonest_catalogue_is_refused(claims: list[Property], message: str) -> None:
    """Duplicates, unknown variants and claims that nothing is known to refute are errors by id."""
    with pytest.raises(CatalogueError, match=message.replace("+", r"\+")):
        validate(claims, {"v"})


def test_an_honest_catalogue_is_kept_in_order() -> None:
    """Goals need no refuting variant; combinations of known variants are welcome."""
    claims = [
        always("a", "A.", holds, "x", ("v", "v+u")),
        sometimes("b", "B.", holds),
        happens("c", "C.", holds),
        step("d", "D.", holds, "x", ("u",)),
    ]
    assert list(validate(claims, {"u", "v"})) == claims
    assert [claim.kind for claim in claims] == ["always", "sometimes", "happens", "step"]


def test_every_property_says_what_it_claims() -> None:
    """A property has a sentence, and a claim of safety has a source and a refuting variant."""
    for claim in CLAIMS.values():
        assert len(claim.sentence) > 15, claim.id
        assert not claim.sentence.endswith("."), claim.id
        if claim.kind in ("always", "step", "recovers"):
            assert claim.source, claim.id
            assert claim.refuted_by, claim.id


def test_unknown_systems_get_the_nearest_name() -> None:
    """`find` knows every system by name and suggests one for a misspelling."""
    assert {name: find(name) for name in SYSTEMS} == SYSTEMS
    with pytest.raises(ValueError, match="did you mean elections"):
        find("election")


@pytest.mark.parametrize("scope", SCOPES)
def test_every_property_is_expected_to_hold_under_the_mended_rules(scope: str) -> None:
    """`kraftcheck check` explores the scope under `fixed` and expects nothing but `holds`; no cap may cut it short."""
    assert expected_verdicts.EXPECTED["elections", scope, "fixed"] == {}
    assert [path for path, domain in leaves(ELECTIONS.layout(setting(scope))) if cap_of(domain)] == []
