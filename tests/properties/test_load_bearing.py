"""docs/reference/load-bearing.json is what the mutants amount to, and every survivor in it is judged."""

from __future__ import annotations

from collections import Counter

import pytest

from kraftcheck.ci.mutants.table import (
    ELSEWHERE,
    NO_EFFECT,
    OPEN,
    STEPS_ONLY,
    MutantRow,
    TablePart,
    document,
    judge_survivors,
    read_parts,
    row_document,
    rows,
)
from kraftcheck.ci.run.questions import search_budget
from kraftcheck.ci.systems.subject import Subject, subject
from kraftcheck.ci.terminal.files import read_json
from kraftcheck.properties.register.mutants import JUDGEMENTS, KINDS, LEFT, TABLES, Table
from kraftcheck.solvers.mutants.explore import Killed, Survived, explain
from kraftcheck.solvers.mutants.mutate import DROPPED, GUARD, Mutant, Mutations, mutate
from tests.shared.places import DOCS

PLACE = DOCS / "reference" / "load-bearing.json"
PARTS = {part.system: part for part in read_parts(PLACE)}
SAMPLE = 12
"""Of the first table one mutant in so many is explored again."""

Key = tuple[str, str, str, str, str]


def key(mutant: Mutant) -> Key:
    """What tells a mutant from the others of its system, lines aside: those move with any change of a file."""
    return mutant.group, mutant.kind, mutant.part, mutant.call, mutant.change


def recorded(part: TablePart) -> dict[Key, MutantRow]:
    """The rows of a part by their mutants."""
    return {key(row.mutant): row for row in part.rows}


def of_table(table: Table) -> tuple[Subject, Mutations]:
    """A table's system with its mutants."""
    chosen = subject(table.system, table.scope, table.bounds, "fixed")
    return chosen, mutate(chosen.system, chosen.setting, LEFT)


def test_every_table_is_there_whole() -> None:
    """The document has a part for each table in their order, and reading it loses nothing."""
    assert list(PARTS) == [table.system for table in TABLES]
    content = read_json(PLACE)
    again = document(list(PARTS.values()), content["exit_code"])
    assert again["systems"] == content["systems"]
    assert content["left"] == dict(LEFT)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.system)
def test_every_mutant_is_in_the_table(table: Table) -> None:
    """The table has a row for each mutant of each system, and no other; every survivor is judged, none by default."""
    chosen, mutations = of_table(table)
    part = PARTS[table.system]
    found = recorded(part)
    assert part.title == chosen.title()
    assert Counter(key(row.mutant) for row in part.rows) == Counter(map(key, mutations.mutants)), (
        "run `kraftcheck explain --json docs/reference/load-bearing.json`"
    )
    assert [one for one, row in found.items() if isinstance(row.outcome, Survived) and row.judged[0] == OPEN] == []
    if not table.further:
        met = {key(mutant): set(mutations.actions_of.get(mutant.number, ())) for mutant in mutations.mutants}
        assert {one: set(row.actions) for one, row in found.items()} == met


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.system)
def test_a_row_quotes_the_properties_as_they_are(table: Table) -> None:
    """The sentences in the table are those of the properties today, and each row names properties of its part."""
    chosen, _ = of_table(table)
    part = PARTS[table.system]
    today = {claim.id: claim.sentence for claim in chosen.system.properties(chosen.setting)}
    for scope, bounds in table.further:
        other = subject(table.system, scope, bounds, "fixed")
        today |= {claim.id: claim.sentence for claim in other.system.properties(other.setting)}
    assert {name: text for name, text in part.sentences.items() if name in today} == {
        name: text for name, text in today.items() if name in part.sentences
    }
    named = {name for row in part.rows for name in row.properties()}
    assert named <= set(part.sentences)
    assert set(part.sentences) <= {*today, "deadlock"}


def test_no_judgement_is_stale() -> None:
    """Each judgement is the reason given for some survivor in the table, and for no other outcome."""
    given: dict[tuple[str, str, str, str, str], bool] = {}
    for table in TABLES:
        chosen, mutations = of_table(table)
        found = recorded(PARTS[table.system])
        for mutant in mutations.mutants:
            row = found[key(mutant)]
            for one in JUDGEMENTS:
                if one.about(chosen.name, mutant.group, mutant.part, mutant.change):
                    name = (one.system, one.group, one.part, one.change, one.why)
                    is_given = isinstance(row.outcome, Survived) and row.judged == (one.kind, one.why)
                    given[name] = given.get(name, False) or is_given
    stale = [one for one in JUDGEMENTS if not given.get((one.system, one.group, one.part, one.change, one.why))]
    assert stale == []
    assert {one.kind for one in JUDGEMENTS} == set(KINDS)


def test_judgements_follow_from_the_outcomes() -> None:
    """What the table says of a survivor is what the other rows and the judgements of today make of it."""
    every = [row for part in PARTS.values() for row in part.rows]
    assert [row.judgement for row in judge_survivors(every)] == [row.judgement for row in every]


@pytest.mark.slow
def test_a_sample_is_what_the_table_says() -> None:
    """Mutants of the first table, explored again, have the same outcome, trace and effect as in the table."""
    table = TABLES[0]
    chosen = subject(table.system, table.scope, table.bounds, "fixed")
    found = explain(chosen.system, chosen.setting, search_budget(1, 1 << 29, max_states=1_000_000), leave=LEFT,
                    selected=lambda _, mutant: mutant.number % SAMPLE == 0)  # fmt: skip
    part, listed = recorded(PARTS[table.system]), rows(chosen, found, table.scope)
    assert len(listed) > 15
    judged_later = ("line", "judgement", "why")
    for row in listed:
        now, before = row_document(row), row_document(part[key(row.mutant)])
        assert {name: value for name, value in now.items() if name not in judged_later} == {
            name: value for name, value in before.items() if name not in judged_later
        }
        if isinstance(row.outcome, Survived):
            told = part[key(row.mutant)].judged[0]
            assert (row.outcome.effect == "none") >= (told == NO_EFFECT)
            assert (row.outcome.effect == "transitions") >= (told == STEPS_ONLY)


def test_guards_of_one_name_are_told_apart() -> None:
    """What kills a guard elsewhere says nothing of another system's action of the same name."""
    mutant = Mutant(1, "apply_metadata", GUARD, "broker runs", DROPPED, "broker runs", 0)
    killed = MutantRow("replication", "tiny", mutant, Killed(("x",), (), True), {"x": "y"})
    judgements = {
        name: judge_survivors([killed, MutantRow(name, "tiny", mutant, Survived("none"), {})])[1].judgement
        for name in ("directories", "kraft")
    }
    assert judgements == {"directories": (NO_EFFECT, ""), "kraft": (ELSEWHERE, "see replication")}
