"""There is no third kind: each property that a release refutes has a finding, or a reason; the record is derived."""

import attrs
import pytest

from kraftcheck.ci.conformance.findings.causes import (
    CELLS,
    LINES,
    WHOLE,
    Alone,
    Broken,
    Cell,
    causes,
    in_turn,
    lines,
    observe,
    put_back,
    record,
    refuted,
)
from kraftcheck.model.rules.ruleset import MENDED, NEWEST
from kraftcheck.properties.register.findings import FINDINGS
from kraftcheck.properties.register.verdicts import EVERY
from tests.shared.commands import kraftcheck

RECORD = record()
NEWEST_RELEASE = NEWEST.removeprefix("kafka-")

AT_EACH_CHANGE = (("sessions", "tiny"),)
"""The scope whose rows are derived again at each change; the others are by night."""

IN_SECONDS = (*AT_EACH_CHANGE, ("elr-index", "tiny"), ("directories", "torn"), ("replication", "tiny"))
"""The scopes in which each line is explored again at each change."""


def slow(cells: tuple[Cell, ...], quick: tuple[Cell, ...]) -> list[object]:
    """Cells as parameters; those that are not quick are by night."""
    return [pytest.param(cell, id="-".join(cell), marks=[pytest.mark.slow] * (cell not in quick)) for cell in cells]


def test_every_refuted_property_has_a_finding_or_a_reason() -> None:
    """Of the newest release of each line no refuted property in any scope is of a third kind, where it is asked."""
    assert RECORD.unexplained() == []
    asked = {(row.system, row.scope, row.release) for row in RECORD.broken}
    assert asked == {(*cell, release) for cell in CELLS for release in lines(cell)}
    assert {release for *_, release in asked} == {*LINES}


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        (Broken(NEWEST_RELEASE, "elections", "tiny", {"unheard-of": 1}, {}), "unheard-of"),
        (Broken(NEWEST_RELEASE, "elections", "tiny", {"unheard-of": 1}, {"unheard-of": ["elr-downgrade"]}),
         "unheard-of by elr-downgrade"),
        (Broken(NEWEST_RELEASE, "elections", "tiny", {"unheard-of": 1},
                {"unheard-of": ["elr-downgrade", "completion-tolerates-stragglers"]}),
         "unheard-of by completion-tolerates-stragglers by elr-downgrade"),
    ],
    ids=["no cause", "a reason that does not name it", "reasons of several that do not name it"],
)  # fmt: skip
def test_a_third_kind_is_named(row: Broken, kind: str) -> None:
    """A property without a cause, and one that a deliberate choice breaks whose reason does not say so, are named."""
    faulty = attrs.evolve(RECORD, broken=(*RECORD.broken, row))
    assert faulty.unexplained() == [f"{NEWEST_RELEASE} elections tiny: {kind}"]


def test_the_newest_release_refutes_what_its_verdicts_say() -> None:
    """The record has the properties and lengths of the expected verdicts, which `kraftcheck check` compares."""
    for row in RECORD.broken:
        if row.release == NEWEST_RELEASE:
            said = EVERY[row.system, row.scope, NEWEST]
            assert {claim: f"refuted {steps}" for claim, steps in row.refuted.items()} == said


def test_what_the_mended_release_refutes_has_no_finding() -> None:
    """No finding alone is the cause of what stays refuted with every finding mended."""
    found = {finding.id for finding in FINDINGS}
    for row in RECORD.broken:
        if row.release == NEWEST_RELEASE:
            kept = EVERY[row.system, row.scope, MENDED]
            assert [c for c in kept if {cause.name for cause in RECORD.of(row, c)} & found] == []


def test_a_finding_page_says_what_it_breaks() -> None:
    """A page lists what its defect breaks alone, with the lengths of the traces, and what it breaks with others."""
    text = kraftcheck("findings", "slow-return").out
    assert "- `sessions tiny`: `fenced-broker-may-return` 2" in text
    text = kraftcheck("findings", "nobody-last-known").out
    assert "- `elections tiny`: `unclean-request-is-granted`, with `dead-last-known-leader`" in text


@pytest.mark.parametrize("cell", [one for one in CELLS if one not in WHOLE], ids="-".join)
def test_no_cause_is_tried_before_one_that_is_known_to_do(cell: Cell) -> None:
    """While the record of a scope has a cause of a property that is left, no other is tried; without any left, none."""
    for row in RECORD.broken:
        left, ends = {*row.refuted}, list[bool]()
        for one in in_turn(row.release, cell, (), left) if (row.system, row.scope) == cell else ():
            assert left
            broken = RECORD.alone.get((put_back([one]), *cell), {}).keys() & left
            ends.append(not broken)
            left -= broken
        assert ends == sorted(ends)


@pytest.mark.parametrize("cell", slow(CELLS, IN_SECONDS))
def test_lines_refute_what_is_recorded(cell: Cell) -> None:
    """Each release that is asked in a scope refutes what is recorded, in as many steps."""
    rows = [row for row in RECORD.broken if (row.system, row.scope) == cell]
    assert {row.release: refuted(cell, f"kafka-{row.release}") for row in rows} == {
        row.release: row.refuted for row in rows
    }


@pytest.mark.parametrize("cell", slow(WHOLE, AT_EACH_CHANGE))
def test_the_record_is_derived(cell: Cell) -> None:
    """The rows of a scope are what searches say: of each line, of each cause alone, and of causes together."""
    broken, alone = observe(cell)
    assert broken == [row for row in RECORD.broken if (row.system, row.scope) == cell]
    assert alone == _alone(cell)


@pytest.mark.parametrize("cell", slow(CELLS, IN_SECONDS))
def test_causes_break_what_is_recorded(cell: Cell) -> None:
    """In right rules each recorded cause refutes alone what is recorded, and causes together their property."""
    for one in _alone(cell):
        assert refuted(cell, one.rules) == one.refuted, one.rules
    for row in RECORD.broken:
        for claim, names in row.together.items() if (row.system, row.scope) == cell else ():
            together = [cause for cause in causes(row.release) if cause.name in names]
            assert claim in refuted(cell, put_back(together), (claim,))


def _alone(cell: Cell) -> list[Alone]:
    return [Alone(rules, *place, steps) for (rules, *place), steps in RECORD.alone.items() if tuple(place) == cell]
