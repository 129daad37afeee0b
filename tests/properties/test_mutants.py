"""The tables of mutants in docs/reference are what mutants come to, and every survivor is judged."""

import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from attrs import evolve

from kraftcheck.ci.mutants.operators import Alive, ExploreContext, OperatorRequest, SystemScore, judgement, score
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
from kraftcheck.model.language.system import Setting, System
from kraftcheck.properties.register.mutants import (
    CAMPAIGNS,
    JUDGEMENTS,
    KINDS,
    LEFT,
    OPERATOR_JUDGEMENTS,
    TABLES,
    MutantTable,
)
from kraftcheck.solvers.mutants.campaign import reached
from kraftcheck.solvers.mutants.explore import Killed, Survived, explain
from kraftcheck.solvers.mutants.mutate import DROPPED, GUARD, Mutant, Mutations, mutate
from kraftcheck.solvers.mutants.source import SourceMutant
from tests.ci.mutants.operator_page import read_scores
from tests.shared.places import DOCS

PLACE = DOCS / "reference" / "load-bearing.json"
PARTS = {part.system: part for part in read_parts(PLACE)}
SAMPLE = 12  # of the first table one mutant in so many is explored again

Key = tuple[str, str, str, str, str]


def key(mutant: Mutant) -> Key:
    """What tells a mutant from the others of its system, lines aside: those move with any change of a file."""
    return mutant.group, mutant.kind, mutant.part, mutant.call, mutant.change


def recorded(part: TablePart) -> dict[Key, MutantRow]:
    """The rows of a part by their mutants."""
    return {key(row.mutant): row for row in part.rows}


def of_table(table: MutantTable) -> tuple[Subject, Mutations]:
    """A table's system with its mutants."""
    chosen = subject(table.system, table.scope, table.bounds, "fixed")
    return chosen, mutate(chosen.system, chosen.setting, LEFT)


def keys_of(table: MutantTable) -> list[Key]:
    """The mutants of a table: those of its scope, and what only its further scopes have."""
    found: dict[tuple[str, str, str, str], list[Key]] = {}
    for scope, bounds in ((table.scope, table.bounds), *table.further):
        chosen = subject(table.system, scope, bounds, "fixed")
        more = mutate(chosen.system, chosen.setting, LEFT).mutants
        for one in [mutant for mutant in more if mutant.key not in found]:
            found.setdefault(one.key, []).append(key(one))
    return [one for several in found.values() for one in several]


def test_every_table_is_there_whole() -> None:
    """The document has a part for each table in their order, and reading it loses nothing."""
    assert list(PARTS) == [table.system for table in TABLES]
    content = read_json(PLACE)
    again = document(list(PARTS.values()), content["exit_code"])
    assert again["systems"] == content["systems"]
    assert content["left"] == dict(LEFT)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.system)
def test_every_mutant_is_in_the_table(table: MutantTable) -> None:
    """The table has a row for each mutant of each system, and no other; every survivor is judged, none by default."""
    chosen, mutations = of_table(table)
    part = PARTS[table.system]
    found = recorded(part)
    assert part.title == chosen.title()
    assert Counter(key(row.mutant) for row in part.rows) == Counter(keys_of(table)), (
        "run `kraftcheck explain --json docs/reference/load-bearing.json`"
    )
    assert [one for one, row in found.items() if isinstance(row.outcome, Survived) and row.judged[0] == OPEN] == []
    if not table.further:
        met = {key(mutant): set(mutations.actions_of.get(mutant.number, ())) for mutant in mutations.mutants}
        assert {one: set(row.actions) for one, row in found.items()} == met


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.system)
def test_a_row_quotes_the_properties_as_they_are(table: MutantTable) -> None:
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
        for row in PARTS[table.system].rows:
            mutant = row.mutant
            for one in JUDGEMENTS:
                if one.about(table.system, mutant.group, mutant.part, mutant.change):
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


SCORES = {one.system: one for one in read_scores(DOCS / "reference" / "operator-mutants.json")}
DRAWN = 20  # mutants that are drawn of those in the document, whatever system meets them

SLACK = 0.2
"""How much lower the score of all mutants of a system may be than that of those which are drawn for the document."""

LIMIT = 300_000


def request_of(system: str) -> OperatorRequest:
    """The request that a row of the document is made by."""
    return OperatorRequest(SCORES[system].sample or None, SCORES[system].seed)


def judged(
    system: str, mutants: Sequence[SourceMutant], drawn: Callable[[str], bool] = lambda name: False
) -> SystemScore:  # fmt: skip
    """The score now of mutants of a system, and of its conditions whose names are drawn."""
    context = ExploreContext(search_budget(1, 2 << 30, max_states=LIMIT), None, threading.Event(), threading.Event())
    chosen = subject(system, CAMPAIGNS[system], {}, "fixed")
    return score(system, chosen.title(), context.judge(chosen, mutants, None, drawn))


def lot_of(mutants: Sequence[SourceMutant]) -> int:
    """A number that is the same until the rules change."""
    text = "\n".join(f"{one.name} {one.before} {one.after}" for one in mutants)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4])


def share(one: SystemScore) -> float:
    """The part that is killed in its scope, of what could be."""
    killed = sum(one.killed.values()) + sum(one.lost.values())
    return killed / (killed + len(one.alive))


def of(system: str) -> tuple[System, Setting]:
    """A system in the scope of its campaign."""
    chosen = subject(system, CAMPAIGNS[system], {}, "fixed")
    return chosen.system, chosen.setting


def changes(one: SystemScore) -> set[tuple[str, str, str]]:
    """The changes that nothing notices; lines and numbers move with any edit of a file."""
    return {(row.group, row.before, row.after) for row in one.alive}


def test_the_document_is_of_the_systems_that_are_judged() -> None:
    """Each part is of a system that campaigns have, in its scope, and they are in one order."""
    assert list(SCORES) == [name for name in CAMPAIGNS if name in SCORES]
    for name, one in SCORES.items():
        assert one.title == subject(name, CAMPAIGNS[name], {}, "fixed").title()
        assert len({row.name for row in one.alive}) == len(one.alive) < one.mutants


def test_no_judgement_of_an_operator_mutant_is_stale() -> None:
    """Each judgement is about a mutant that lives, or is not drawn; it names the change whole, and has a reason."""
    alive = [(one.system, row) for one in SCORES.values() for row in one.alive]
    given = {id(judgement(system, row)) for system, row in alive}
    drawn = {one.name for system in SCORES for one in request_of(system).mutants()}
    every = [Alive(one.name, one.before, one.after) for one in OperatorRequest().mutants() if one.name not in drawn]
    others = {(one.group, one.before, one.after) for one in every}
    given |= {id(one) for one in OPERATOR_JUDGEMENTS if (one.group, one.part, one.change) in others}
    stale = [one for one in OPERATOR_JUDGEMENTS if id(one) not in given]
    assert stale == []
    assert [one for one in OPERATOR_JUDGEMENTS if len(one.why.split()) < 5] == []


@pytest.mark.each_change
def test_no_mutant_that_is_drawn_is_a_new_survivor() -> None:
    """Of mutants of a system, both drawn by the text of the rules, none survives that the document does not know."""
    every = OperatorRequest().mutants()
    lot = lot_of(every)
    system = list(SCORES)[lot % len(SCORES)]
    of_system = reached(*of(system), request_of(system).mutants())
    drawn = OperatorRequest(DRAWN, lot).drawn([one.name for one in of_system])
    found = judged(system, [one for one in of_system if one.name in drawn])
    assert changes(found) - changes(SCORES[system]) == set(), "a property is missing, or the document is out of date"
    assert found.mutants > 0


@pytest.mark.slow
@pytest.mark.parametrize("system", SCORES)
def test_no_mutant_is_a_new_survivor(system: str) -> None:
    """Of all mutants of a system's row, judged again, none survives that the document does not know."""
    request = request_of(system)
    found = judged(system, request.mutants(), request.shared(request.mutants()))
    assert changes(found) - changes(SCORES[system]) == set(), "a property is missing, or the document is out of date"
    assert found.mutants > 0


@pytest.mark.slow
@pytest.mark.parametrize("system", SCORES)
def test_what_kills_the_drawn_kills_the_others(system: str) -> None:
    """Of every mutant of the rules that a system meets as large a part is killed there as of those drawn, or nearly."""
    found = judged(system, OperatorRequest().mutants())
    assert share(found) >= share(SCORES[system]) - SLACK
    assert found.mutants > SCORES[system].mutants


def test_the_lot_depends_on_the_rules_alone() -> None:
    """The same rules draw the same mutants, and others as soon as an expression is another."""
    every = OperatorRequest().mutants()
    assert lot_of(every) == lot_of([*every])
    assert lot_of(every) != lot_of([evolve(every[0], before="another"), *every[1:]])


def test_a_new_survivor_would_be_seen() -> None:
    """A mutant that lives and is not in the document is a change that the sample names."""
    row = Alive("partition.election:populate:negate:1", "a", "b")
    known = SystemScore("gate", "gate", 5, 0, 0, 0, 0, {}, {}, ())
    assert changes(SystemScore("gate", "gate", 5, 0, 0, 0, 0, {}, {}, (row,))) - changes(known) == {
        ("kraftcheck.model.partition.election:populate", "a", "b")
    }
