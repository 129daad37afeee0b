"""Every rule has an id, a sentence, a source, and a property or the reason why there is none; the page lists them."""

from __future__ import annotations

import re
from pathlib import Path

import attrs

from kraftcheck.ci.systems.lookup import Entry, entries, every_property, names_in
from kraftcheck.model.rules.ruleset import variants
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.register.rules import UNCOVERED
from tests.properties.register.rules_page import page

RULES = entries()
BY_ID = {entry.rule.id: entry for entry in RULES}
CLAIMS = {(check.system, check.claim.id): check.claim for entry in RULES for check in entry.checks}


def uncovered_faults(checked: dict[str, bool], reasons: dict[str, str]) -> list[str]:
    """Rules that neither a property nor a reason covers, and reasons of no use."""
    bare = [name for name, some in checked.items() if not some and name not in reasons]
    faults = [f"{name}: no property and no reason" for name in bare]
    faults += [f"{name}: a reason, and a property" for name in reasons if checked.get(name)]
    return faults + [f"{name}: a reason for no rule" for name in reasons if name not in checked]


def test_ids_are_unique() -> None:
    """No two functions note a rule of one id."""
    ids = [entry.rule.id for entry in RULES]
    assert len(ids) == len(set(ids))
    assert len(ids) > 200


def test_every_rule_is_a_sentence() -> None:
    """A rule says something, in a sentence with its full stop."""
    assert [name for name, entry in BY_ID.items() if not re.fullmatch(r"[A-Z].{15,}\.", entry.rule.says)] == []


def test_every_rule_is_where_the_index_says() -> None:
    """The line that the index gives is the one that has the id."""
    for entry in RULES:
        assert f'"{entry.rule.id}"' in entry.file.read_text(encoding="utf-8").splitlines()[entry.line - 1]


def test_every_choice_changes_a_rule() -> None:
    """Each choice of the rule sets is a switch of some rule, and each switch is a choice."""
    switches = {name for entry in RULES for name in entry.rule.switches}
    assert switches == set(variants())


def test_a_switch_is_read_beside_its_rule() -> None:
    """The code that reads a choice is in the folder of each function that names it as a switch."""
    texts: dict[Path, str] = {}
    unread = []
    for entry in RULES:
        folder = entry.file.parent
        if folder not in texts:
            texts[folder] = "\n".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
        unread += [
            f"{entry.rule.id}: {name}"
            for name in entry.rule.switches
            if not re.search(rf"\.{name.replace('-', '_')}\b", texts[folder])
        ]
    assert unread == []


def test_every_rule_is_checked_or_has_a_reason() -> None:
    """A rule that no property names has a reason, and no reason outlives its cause."""
    assert uncovered_faults({name: bool(entry.checks) for name, entry in BY_ID.items()}, UNCOVERED) == []
    assert [name for name, reason in UNCOVERED.items() if len(reason) < 40] == []


def test_a_rule_without_property_and_reason_is_found() -> None:
    """The check can fail: a rule alone, a reason too many, and a reason for a rule that is gone."""
    assert uncovered_faults({"a.b": False}, {}) == ["a.b: no property and no reason"]
    assert uncovered_faults({"a.b": True}, {"a.b": "because"}) == ["a.b: a reason, and a property"]
    assert uncovered_faults({}, {"a.b": "because"}) == ["a.b: a reason for no rule"]
    assert uncovered_faults({"a.b": False, "c.d": True}, {"a.b": "because"}) == []


def switched_by(variant: str) -> set[str]:
    """The rules that a variant switches."""
    return {entry.rule.id for entry in RULES if names_in(variant) & set(entry.rule.switches)}


def test_a_property_names_the_rules_that_its_variants_break() -> None:
    """Each variant that refutes a property switches a rule that the property names, and each rule named exists."""
    for where, claim in CLAIMS.items():
        assert set(claim.rules) <= BY_ID.keys(), where
        assert len(claim.rules) == len(set(claim.rules)), where
        for variant in claim.refuted_by:
            assert switched_by(variant) & set(claim.rules), (where, variant)


def test_every_claim_that_can_be_refuted_names_a_rule() -> None:
    """No property of a shipped system is about nothing that the model states."""
    silent = [
        f"{name} {claim.id}"
        for name, system in SYSTEMS.items()
        for claim in every_property(name, system).values()
        if claim.refuted_by and not claim.rules
    ]
    assert silent == []


def test_the_page_of_rules_has_each() -> None:
    """Every rule can be linked to on its page."""
    written = page()
    assert [name for name in BY_ID if f'id="{name}"' not in written] == []


def test_an_entry_shows_its_file_from_where_one_stands(tmp_path: Path) -> None:
    """Below the folder where one stands a file is shown relative to it, elsewhere in full."""
    entry = RULES[0]
    assert entry.shown_file(entry.file.parent) == entry.file.name
    moved: Entry = attrs.evolve(entry, file=entry.file)
    assert moved.shown_file(tmp_path) == str(entry.file)
