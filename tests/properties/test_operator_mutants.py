"""docs/reference/operator-mutants.json is what operator mutants come to, and a sample at each change agrees with it."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence

import pytest
from attrs import evolve

from kraftcheck.ci.mutants.operators import Alive, ExploreContext, OperatorRequest, SystemScore, judgement, score
from kraftcheck.ci.run.questions import search_budget
from kraftcheck.ci.systems.subject import subject
from kraftcheck.model.language.system import Setting, System
from kraftcheck.properties.register.mutants import CAMPAIGNS, OPERATOR_JUDGEMENTS
from kraftcheck.solvers.mutants.campaign import reached
from kraftcheck.solvers.mutants.source import SourceMutant
from tests.ci.mutants.scores import read_scores
from tests.shared.places import DOCS

SCORES = {one.system: one for one in read_scores(DOCS / "reference" / "operator-mutants.json")}
SAMPLE = 20
"""Mutants that are drawn of those in the document, whatever system meets them."""

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
    context = ExploreContext(search_budget(1, 2 << 30, max_states=LIMIT), True, threading.Event(), threading.Event())
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
    drawn = OperatorRequest(SAMPLE, lot).drawn([one.name for one in of_system])
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
