"""Entries of the register that say something odd are refused, with their place and the mend."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import frozen

from kraftcheck.ci.terminal import commands
from kraftcheck.model.register import RegisterError, content
from kraftcheck.model.rules import choice as choices
from kraftcheck.model.rules import ruleset
from kraftcheck.model.rules.choice import described, entries_of
from kraftcheck.model.rules.ruleset import CHOICES, GROUPS, variants
from kraftcheck.properties.register import coverage, defects, findings, mutants, verdicts

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
        choices.record(choices.Entry, {"sais": "s"}, "partition.toml: [elr-downgrade]")

    monkeypatch.setattr(commands.cli, "main", broken)
    assert commands.run() == 2
    said = capsys.readouterr().err.strip()
    assert "partition.toml: [elr-downgrade]: unknown key 'sais'; did you mean says" in said
    assert "\n" not in said
