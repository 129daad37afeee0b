"""docs/reference/operator-mutants.json is what operator mutants come to, and a sample of each day agrees with it."""

from __future__ import annotations

import datetime
import threading

import pytest

from kraftcheck.ci.mutants.context import ExploreContext
from kraftcheck.ci.mutants.operators import OperatorRequest
from kraftcheck.ci.mutants.score import Alive, SystemScore, judgement, read, score
from kraftcheck.ci.systems.subject import subject
from kraftcheck.model.language.system import Setting, System
from kraftcheck.properties.mutants.operators import OPERATOR_JUDGEMENTS
from kraftcheck.properties.mutants.tables import CAMPAIGNS
from kraftcheck.solvers.mutants.campaign import Memory
from kraftcheck.solvers.mutants.explore import MutantBudget
from kraftcheck.solvers.mutants.operators import reached
from tests.shared.places import DOCS

SCORES = {one.system: one for one in read(DOCS / "reference" / "operator-mutants.json")}
TODAY = datetime.datetime.now(tz=datetime.UTC).date()
SAMPLE = 30
"""Mutants that are drawn of those in the document, whatever system meets them."""

LIMIT = 300_000


def judged(system: str, day: int | None = None) -> SystemScore:
    """The score today of a system's mutants in the document, or of those that a day draws."""
    told = SCORES[system]
    mutants = OperatorRequest(told.sample or None, told.seed).mutants()
    if day is not None:
        of_system = reached(*of(system), mutants)
        drawn = OperatorRequest(SAMPLE, day).drawn([one.name for one in of_system])
        mutants = [one for one in of_system if one.name in drawn]
    context = ExploreContext(MutantBudget(1, 2 << 30, LIMIT), True, threading.Event(), threading.Event())
    chosen = subject(system, CAMPAIGNS[system], {}, "fixed")
    return score(system, chosen.title(), context.judge(chosen, mutants, Memory()))


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
    """Each judgement is about a mutant that lives in its system, names the change whole, and has a reason."""
    alive = [(one.system, row) for one in SCORES.values() for row in one.alive]
    given = {id(judgement(system, row)) for system, row in alive}
    stale = [one for one in OPERATOR_JUDGEMENTS if id(one) not in given]
    assert stale == []
    assert [one for one in OPERATOR_JUDGEMENTS if len(one.why.split()) < 5] == []


def test_no_mutant_drawn_today_is_a_new_survivor() -> None:
    """Of the mutants that the date draws, of one system a day, none survives that the document does not know."""
    day = TODAY.toordinal()
    system = list(SCORES)[day % len(SCORES)]
    found = judged(system, day)
    assert changes(found) - changes(SCORES[system]) == set(), "a property is missing, or the document is out of date"
    assert found.mutants > 0


@pytest.mark.slow
@pytest.mark.parametrize("system", SCORES)
def test_no_mutant_is_a_new_survivor(system: str) -> None:
    """Of all mutants of a system's row, judged again, none survives that the document does not know."""
    found = judged(system)
    assert changes(found) - changes(SCORES[system]) == set(), "a property is missing, or the document is out of date"
    assert found.mutants > 0


def test_a_new_survivor_would_be_seen() -> None:
    """A mutant that lives and is not in the document is a change that the sample names."""
    row = Alive("partition.elr:populate:negate:1", "a", "b")
    known = SystemScore("gate", "gate", 5, 0, 0, 0, 0, {}, {}, ())
    assert changes(SystemScore("gate", "gate", 5, 0, 0, 0, 0, {}, {}, (row,))) - changes(known) == {
        ("kraftcheck.model.partition.elr:populate", "a", "b")
    }
