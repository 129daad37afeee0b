"""docs/reference/load-bearing.md is what the mutants amount to, and every survivor on it is judged."""

from __future__ import annotations

import re

import pytest

from kraftcheck.ci.mutants.page import Tally, anchor, cell, condition, summary
from kraftcheck.ci.mutants.table import ELSEWHERE, NO_EFFECT, OPEN, STEPS_ONLY, MutantRow, judge_survivors, rows
from kraftcheck.ci.systems.subject import Subject, subject
from kraftcheck.ci.terminal.cache import cache_folder
from kraftcheck.properties.mutants.survivors import JUDGEMENTS, KINDS
from kraftcheck.properties.mutants.tables import LEFT, TABLES, Table
from kraftcheck.solvers.mutants.explore import MutantBudget, explain
from kraftcheck.solvers.mutants.mutate import DROPPED, GUARD, Mutant, Mutations, mutate
from kraftcheck.solvers.mutants.outcome import Killed, Survived
from tests.shared.places import DOCS

TEXT = (DOCS / "reference" / "load-bearing.md").read_text(encoding="utf-8")
PARTS = re.findall(r"^## (\S+), scope (\S+) .*?\n(.*?)(?=^## )", TEXT, flags=re.MULTILINE | re.DOTALL)
SAMPLE = 12
"""Of the first table one mutant in so many is explored again."""


def shown(system: str) -> dict[tuple[str, str, str], str]:
    """The cells of a system's part: group, condition and mutant to what breaks."""
    [body] = [body for name, _, body in PARTS if name == system]
    found: dict[tuple[str, str, str], str] = {}
    groups = re.compile(r"^\*\*`(?:action )?([^`]*)`\*\*.*?\n\n(.*?)(?=\n\n)", re.MULTILINE | re.DOTALL)
    for group, table in groups.findall(body):
        for line in table.splitlines()[2:]:
            part, change, told = re.split(r" (?<!\\)\| ", line[2:-2])
            found[re.sub(r":\d+\)$", ")", group), part, change] = told
    return found


def place(row: MutantRow) -> tuple[str, str, str]:
    """Where a row is on the page, lines aside."""
    module, _, rule = row.mutant.group.partition(":")
    path = module.removeprefix("kraftcheck.").replace(".", "/")
    group = module if row.mutant.kind == GUARD else f"{rule} ({path}.py)"
    return group, condition(row), row.change()


def of_table(table: Table) -> tuple[Subject, Mutations]:
    """A table's system with its mutants."""
    chosen = subject(table.system, table.scope, table.bounds, "fixed")
    return chosen, mutate(chosen.system, chosen.setting, LEFT)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.system)
def test_every_mutant_is_on_the_page(table: Table) -> None:
    """The page has a row for each mutant of each table, and no other; every survivor is judged, none by default."""
    chosen, mutations = of_table(table)
    blank = [MutantRow(chosen.name, table.scope, mutant, Survived("none"), {}) for mutant in mutations.mutants]
    cells = shown(table.system)
    assert {place(row) for row in blank} == set(cells), (
        "run `kraftcheck explain --markdown docs/reference/load-bearing.md`"
    )
    assert [key for key, told in cells.items() if f"nothing; {OPEN}" in told] == []


def test_no_judgement_is_stale() -> None:
    """Each judgement is the reason given for some survivor on the page, and for no other outcome."""
    given: dict[tuple[str, str, str, str, str], bool] = {}
    for table in TABLES:
        chosen, mutations = of_table(table)
        cells = shown(table.system)
        for mutant in mutations.mutants:
            told = cells[place(MutantRow(chosen.name, table.scope, mutant, Survived("none"), {}))]
            for one in JUDGEMENTS:
                if one.about(chosen.name, mutant.group, mutant.part, mutant.change):
                    key = (one.system, one.group, one.part, one.change, one.why)
                    given[key] = given.get(key, False) or told == f"nothing; {one.kind}: {one.why}"
    stale = [one for one in JUDGEMENTS if not given.get((one.system, one.group, one.part, one.change, one.why))]
    assert stale == []
    assert {one.kind for one in JUDGEMENTS} == set(KINDS)


def test_a_sample_is_what_the_page_says() -> None:
    """Mutants of the first table, explored again, break what the page says; survivors survive."""
    table = TABLES[0]
    chosen = subject(table.system, table.scope, table.bounds, "fixed")
    found = explain(chosen.system, chosen.setting, MutantBudget(1, 1 << 29, 1_000_000), leave=LEFT,
                    selected=lambda _, mutant: mutant.number % SAMPLE == 0, cache_dir=cache_folder())  # fmt: skip
    cells, listed = shown(table.system), rows(chosen, found, table.scope)
    assert len(listed) > 15
    for row in listed:
        told = cells[place(row)]
        if isinstance(row.outcome, Survived):
            assert told.startswith("nothing; ")
            assert (row.outcome.effect == "none") >= (NO_EFFECT in told)
            assert (row.outcome.effect == "transitions") >= (STEPS_ONLY in told)
        else:
            assert told == cell(row)


def test_counts_on_the_page_add_up() -> None:
    """The head of each part counts its rows."""
    for name, _, body in PARTS:
        head = re.search(r"(\d+) mutants: (.*)\.\n", body)
        assert head is not None
        told = {word: int(number) for number, word in re.findall(r"(\d+) ([a-z ]+)", head[2])}
        cells = list(shown(name).values())
        assert (int(head[1]), sum(told.values())) == (len(cells), len(cells))
        assert told["survives"] == sum(text.startswith("nothing; ") for text in cells)
        assert told["goal lost"] == sum("is not reached any more" in t or "has no case any more" in t for t in cells)


def tally_of(name: str, scope: str, body: str) -> Tally:
    """The numbers of a part, counted from its rows and from its list of survivors."""
    cells = list(shown(name).values())
    survivors = {kind: int(number) for kind, number in re.findall(r"^\* ([a-z ]+): (\d+)$", body, re.MULTILINE)}
    lost = sum("is not reached any more" in told or "has no case any more" in told for told in cells)
    left = sum("takes a value that it cannot have" in told for told in cells)
    unclear = sum(told.startswith("undecided") for told in cells)
    killed = len(cells) - lost - left - unclear - sum(survivors.values())
    outcomes = {
        "killed": killed, "leaves its domain": left, "goal lost": lost, "survives": sum(survivors.values()),
        "undecided": unclear,
    }  # fmt: skip
    section = re.findall(r"^### (.*)$", body, re.MULTILINE)[0]
    return Tally(f"{name}, scope {scope} (", section, outcomes, survivors)


def test_the_summary_counts_the_rows() -> None:
    """The table at the head of the page is what its parts add up to, and leads to each of them."""
    [told] = re.findall(r"^## Summary\n\n(.*?)\n\n", TEXT, flags=re.MULTILINE | re.DOTALL)
    tallies = [tally_of(*part) for part in PARTS]
    assert told.splitlines() == list(summary(tallies))
    headings = [anchor(heading) for heading in re.findall(r"^#+ (.*)$", TEXT, re.MULTILINE)]
    links = re.findall(r"\(#([^)]+)\)", told)
    assert len(links) == len(PARTS) == len(TABLES)
    assert [link for link in links if headings.count(link) != 1] == []


def test_guards_of_one_name_are_told_apart() -> None:
    """What kills a guard elsewhere says nothing of another system's action of the same name."""
    mutant = Mutant(1, "apply_metadata", GUARD, "broker runs", DROPPED, "broker runs", 0)
    killed = MutantRow("replication", "tiny", mutant, Killed(("x",), (), True), {"x": "y"})
    judgements = {
        name: judge_survivors([killed, MutantRow(name, "tiny", mutant, Survived("none"), {})])[1].judgement
        for name in ("directories", "kraft")
    }
    assert judgements == {"directories": (NO_EFFECT, ""), "kraft": (ELSEWHERE, "see replication")}
