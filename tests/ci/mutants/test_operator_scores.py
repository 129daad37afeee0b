"""Scores of operator mutants: from outcomes to a table, to a file and back, and the command that makes them."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from kraftcheck.ci.mutants import operators
from kraftcheck.ci.mutants.operators import (
    Alive,
    OperatorRequest,
    SystemScore,
    alive,
    judgement,
    score,
    text,
    with_others,
)
from kraftcheck.ci.mutants.table import Outcomes
from kraftcheck.ci.systems.subject import subject
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.properties.register.mutants import JUDGEMENTS, LEFT, REDUNDANT, Judgement
from kraftcheck.solvers.machine_code.lower import LoweringError
from kraftcheck.solvers.mutants.campaign import Campaign, ConditionMutant
from kraftcheck.solvers.mutants.explore import (
    GoalLost,
    Killed,
    LeavesDomain,
    MutantOutcome,
    Refused,
    Same,
    Survived,
    Undecided,
)
from kraftcheck.solvers.mutants.mutate import GUARD, Mutant, mutate
from kraftcheck.solvers.mutants.source import source_mutants
from kraftcheck.solvers.program.fingerprint import Meaning
from tests.ci.fuzz.bounds import bounded
from tests.ci.mutants.operator_page import counted, kind, page, percent, read_scores
from tests.shared.commands import kraftcheck

MUTANTS = source_mutants(modules=["tests.gates"])
OUTCOMES: tuple[MutantOutcome, ...] = (
    Killed(("empty-when-shut",), ("open()",), True), GoalLost(("full",)), Refused("no"), Same(), Survived("none"),
    LeavesDomain(("inside",), (), True), Survived("states"), Undecided("state limit 3"),
)  # fmt: skip


def a_campaign(*outcomes: MutantOutcome) -> Campaign:
    """A campaign in which the first mutants of the gates come to these outcomes."""
    return Campaign(Meaning("", {}), 5, tuple(zip(MUTANTS, outcomes, strict=False)))


def a_score(*outcomes: MutantOutcome) -> SystemScore:
    """Its score."""
    return score("gate", "gate, rules fixed", a_campaign(*outcomes))


def test_every_outcome_is_counted_once() -> None:
    """Each outcome is in one column, and the columns come to the number of mutants."""
    found = a_score(*OUTCOMES)
    assert counted(found) == {
        "mutants": 8, "refused": 1, "left": 1, "same": 1, "none": 1, "killed": 1, "lost": 1, "open": 1, "undecided": 1,
    }  # fmt: skip
    assert found.killed == {"empty-when-shut": 1}
    assert found.lost == {"full": 1}
    assert [row.name for row in found.alive] == [MUTANTS[6].name, MUTANTS[7].name]


def test_the_score_is_of_what_could_be_killed() -> None:
    """Refused mutants, the same program, no effect and a left domain raise no score; undecided ones lower it."""
    assert percent(counted(a_score(*OUTCOMES))) == "50.0 %"
    assert percent(counted(a_score(Refused(""), Same(), Survived("none"), LeavesDomain((), (), True)))) == ""
    assert percent(counted(a_score(Undecided("cut"), OUTCOMES[0]))) == "50.0 %"
    assert percent(counted(a_score(OUTCOMES[0], OUTCOMES[1]))) == "100.0 %"


def test_another_system_kills_what_lives_in_one() -> None:
    """A mutant that lives names the system that kills it; one that no system kills stays open."""
    one, other = a_campaign(Survived("states"), Survived("states")), a_campaign(OUTCOMES[0], Undecided("cut"))
    scores = with_others([score("a", "a", one), score("b", "b", other)], {"a": one, "b": other})
    assert [[(row.elsewhere, kind(s.system, row)) for row in s.alive] for s in scores] == [
        [("b", "elsewhere"), ("", "open")], [("", "undecided")],
    ]  # fmt: skip


def test_what_is_killed_elsewhere_is_not_undecided() -> None:
    """A mutant that a limit cut in one system, and another kills, is killed; a further scope is asked of the others."""
    one, other = a_campaign(Undecided("cut"), Survived("states"), Undecided("cut")), a_campaign(OUTCOMES[0])
    found = with_others([score("a", "a", one)], {"a": one, "a small": other})
    assert [kind("a", row) for row in found[0].alive] == ["elsewhere", "open", "undecided"]
    assert alive([one, other]) == {MUTANTS[1].name, MUTANTS[2].name}


def test_a_condition_is_named_in_every_system_alike_and_a_guard_in_its_own() -> None:
    """Dropped conditions of a rule are one mutant wherever it is met; those of a guard are of the system's action."""
    named: list[dict[str, Mutant]] = []
    for name in ("elections", "elr-index"):
        of = subject(name, "tiny", {}, "fixed")
        mutants = mutate(of.system, of.setting, LEFT).mutants
        named.append({ConditionMutant.of(of.system, one).name: one for one in mutants})
        assert len(named[-1]) == len(mutants)
    both = set(named[0]) & set(named[1])
    assert len(both) > 50
    assert not any(named[0][name].kind == GUARD for name in both)
    for name, one in named[0].items():
        row = Alive(name, one.part, one.change)
        assert (row.group, row.is_condition) == (one.group, True)


def test_a_condition_is_judged_as_in_the_load_bearing_table() -> None:
    """A judgement of the table is one of the same condition here, and of no operator that changes the same text."""
    judged = next(one for one in JUDGEMENTS if ":" in one.group and one.part and one.change)
    where = judged.group.removeprefix("kraftcheck.model.")
    condition = Alive(f"{where}:conjunct:abc", judged.part, judged.change)
    assert judgement(judged.system or "elections", condition) == judged
    assert judgement(judged.system or "elections", evolve(condition, name=f"{where}:negate:1")) is None


def test_as_large_a_share_of_conditions_is_drawn() -> None:
    """A sample draws conditions by the same lot as operator mutants; without one every condition is judged."""
    names = [f"condition {number}" for number in range(3000)]
    request, every = OperatorRequest(700, 1), len(OperatorRequest().mutants())
    share = sum(map(request.shared(request.mutants()), names)) / len(names)
    assert abs(share - 700 / every) < 0.03
    smaller = OperatorRequest(100, 1)
    assert set(filter(smaller.shared(smaller.mutants()), names)) < set(filter(request.shared(request.mutants()), names))
    assert all(map(OperatorRequest().shared([]), names))


def test_only_the_exact_change_is_judged() -> None:
    """A judgement takes a mutant out of the open ones where it names the change as a whole, and no property misses."""
    row = Alive("partition.election:populate:negate:1", "a == b", "a != b")
    place = ("kraftcheck.model.partition.election:populate", "a == b", "a != b")
    exact = Judgement(REDUNDANT, "", *place, "so")
    assert judgement("elections", row, [exact]) == exact
    others = [
        evolve(exact, part=""), evolve(exact, change=""), evolve(exact, change="b"),
        evolve(exact, system="kraft"), evolve(exact, group="kraftcheck.model.partition.election:clear_elr"),
    ]  # fmt: skip
    assert [judgement("elections", row, [one]) for one in others] == [None] * len(others)


def test_a_file_holds_the_scores(tmp_path: Path) -> None:
    """The document reads back as it was written, with a line for each mutant that lives."""
    place, found = tmp_path / "scores.json", [a_score(*OUTCOMES), a_score()]
    place.write_text(text(found), encoding="utf-8")
    assert read_scores(place) == found
    assert sum(MUTANTS[6].name in line for line in text(found).splitlines()) == 1


def test_the_page_lists_what_is_open() -> None:
    """The page names every operator, what kills, and each mutant that is open, and no other."""
    written = page([a_score(*OUTCOMES)])
    assert "| all | 8 | 1 | 1 | 1 | 1 | 1 | 1 | 0 | 0 | 1 | 1 | 50.0 % |" in written
    assert written.count(MUTANTS[6].before) >= 1
    assert "`empty-when-shut` 1, `full` 1" in written
    assert "| `drop-call` |" in written


def invoke(*words: str) -> tuple[int, str]:
    """What the command prints, with its exit code."""
    ran = kraftcheck("explain", *words)
    return ran.code, ran.out + ran.err


def test_a_sample_is_judged_and_written(tmp_path: Path) -> None:
    """A sample is the same for one seed, is kept in a file of outcomes, and is written as a document."""
    place, outcomes = tmp_path / "scores.json", tmp_path / "outcomes.jsonl"
    words = ["elr-index", "--scope", "tiny", "--operators", "--sample", "100", "--seed", "3", "--quiet"]
    code, printed = invoke(*words, "--results", str(outcomes), "--json", str(place))
    assert code == 0
    assert "every mutant is decided" in printed
    found = read_scores(place)
    assert [one.system for one in found] == ["elr-index"]
    assert found[0].mutants > 5
    rows = outcomes.read_text(encoding="utf-8")
    assert invoke(*words, "--results", str(outcomes)) == (code, printed)
    assert outcomes.read_text(encoding="utf-8") == rows
    assert json.loads(rows.splitlines()[0])["kind"]


KILLED: dict[str, Any] = {
    "right": "a", "mutant": "b", "whole": ["c", "d"], "says": ["e", None], "limit": 9, "kind": "Killed",
    "of": {"by": ["x"], "steps": [], "shortest": True},
}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [{key: value} for key in KILLED for value in (None, 7, -1, True, "\ud800", [], [["a"]], {})
     if (key, value) not in (("limit", 7), ("says", []), ("whole", []))]
    + [{"of": {**KILLED["of"], key: value}} for key in KILLED["of"] for value in (None, 7, "x", [1], {})]
    + [{"of": {**KILLED["of"], "by": []}}, {"more": 1}, {"kind": "Survived"}, {"limit": "9"}],
)  # fmt: skip
def test_an_outcome_that_nobody_writes_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    """A value of another kind in any place, a key too few or too many: a line that names file and line."""
    place = tmp_path / "outcomes.jsonl"
    place.write_text(f"{json.dumps(KILLED)}\n", encoding="utf-8")
    Outcomes(place, 9)
    place.write_text(f"{json.dumps(KILLED)}\n{json.dumps({**KILLED, **change})}\n", encoding="utf-8")
    with pytest.raises(Refusal, match=r"^[^\n]*outcomes.jsonl:2: [^\n]*$"):
        Outcomes(place, 9)


@pytest.mark.parametrize("content", [b"\xff\n", b"[" * 100_000, b"NaN", None],
                         ids=["encoding", "nested", "number", "pipe"])  # fmt: skip
def test_a_file_of_outcomes_that_cannot_be_read_is_refused(content: bytes | None, tmp_path: Path) -> None:
    """Letters of another encoding, JSON without an end, and a pipe, for which nobody waits."""
    place = tmp_path / "outcomes.jsonl"
    os.mkfifo(place) if content is None else place.write_bytes(content)
    with bounded(10), pytest.raises(Refusal, match=r"^[^\n]*outcomes.jsonl[^\n]*$"):
        Outcomes(place, 9)


def test_a_term_that_is_too_wide_is_refused_at_both_doors(monkeypatch: pytest.MonkeyPatch) -> None:
    """What machine code cannot hold is a line that names the system, for conditions and for operators."""

    def refuse(*arguments: Any, **options: Any) -> None:
        raise LoweringError("a term is too wide")

    monkeypatch.setattr(operators, "explain", refuse)
    monkeypatch.setattr(operators, "campaign", refuse)
    for more in ((), ("--operators",)):
        assert invoke("elr-index", "--scope", "tiny", *more) == (2, "kraftcheck: elr-index: a term is too wide\n")
