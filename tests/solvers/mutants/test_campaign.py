"""Campaigns: each operator mutant of a system is judged as the rules with it, run on ints, would be."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import evolve

from kraftcheck.ci.mutants.table import Outcomes
from kraftcheck.ci.systems.subject import subject
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.system import Fairness, Property, System
from kraftcheck.model.language.terms import Graph
from kraftcheck.model.language.words import any_of, negate
from kraftcheck.properties.kinds import leads_to
from kraftcheck.solvers.exploration.explore import SearchBudget
from kraftcheck.solvers.machine_code.compile import load_kernel
from kraftcheck.solvers.mutants.campaign import TOGETHER, apart, campaign, join, reached, told
from kraftcheck.solvers.mutants.explore import (
    GoalLost,
    Killed,
    LeavesDomain,
    MutantOutcome,
    MutantRun,
    Refused,
    Same,
    Survived,
    Undecided,
    baseline,
    outcome,
)
from kraftcheck.solvers.mutants.source import SourceMutant, applied, of_rule, source_mutants
from kraftcheck.solvers.program.fingerprint import Meaning
from kraftcheck.solvers.program.trace import trace
from tests.gates import GATE, LOCK, MOST, Gate

LIMIT = 1000
BUDGET = SearchBudget(1 << 28, max_states=LIMIT)
MUTANTS = source_mutants(modules=["tests.gates"])
SETTING = GATE.setting(None)


def naive(mutant: SourceMutant) -> type:
    """The outcome of a mutant of the gate, from every state that its rules reach on ints."""
    with applied(mutant):
        actions, states, left, stuck = GATE.actions(SETTING), {Gate(0, False)}, False, False
        queue = [*states]
        for state in queue:
            moves = [action for action in actions if all(action.guards(state, {}).values())]
            stuck = stuck or not moves
            for action in moves:
                after = action.outcome(state, {}).state
                left = left or not 0 <= after.inside <= MOST
                if 0 <= after.inside <= MOST and after not in states:
                    states.add(after)
                    queue.append(after)
    if stuck or any(state.inside and not state.open for state in states):
        return Killed
    if left:
        return LeavesDomain
    return Survived if any(state.inside == MOST for state in states) else GoalLost


def test_outcomes_are_those_of_the_rules_on_ints() -> None:
    """Each mutant of a toy breaks, leaves, loses or keeps what its rules do on ints, and every outcome occurs."""
    found = campaign(GATE, SETTING, BUDGET, MUTANTS).outcomes
    explored = {mutant.name: type(result) for mutant, result in found if not isinstance(result, Same | Refused)}
    assert explored == {mutant.name: naive(mutant) for mutant, _ in found if mutant.name in explored}
    assert {Killed, LeavesDomain, GoalLost, Survived} == set(explored.values())
    assert {mutant.function for mutant, _ in found} == {"room", "enter", "leave", "actions"}
    assert [m.name for m, result in found if isinstance(result, Refused) and not result.why] == []


def test_what_is_the_same_program_is_not_explored() -> None:
    """A mutant whose program is that of the rules is told as the same; it does the same on ints."""
    rule = "min-isr.at-most-replication"
    mutants = [m for m in of_rule(rule) if m.operator in ("off-by-one", "swap-branches")]
    chosen = subject("elections", "tiny", {}, "fixed")
    right = Meaning.of(trace(chosen.system, chosen.setting, graph=Graph()))
    same = {m.after: told(chosen.system, chosen.setting, m).meaning == right for m in mutants}
    assert same["choose(factor < configured, configured, factor)"] is False
    twice = told(chosen.system, chosen.setting, mutants[0]).meaning
    assert twice == told(chosen.system, chosen.setting, mutants[0]).meaning


def test_only_what_a_system_meets_is_judged() -> None:
    """A mutant in code that the trace of a system does not compute is left out."""
    assert {m.function for m in reached(GATE, SETTING, MUTANTS)} == {"room", "enter", "leave", "actions"}
    assert {m.function for m in reached(LOCK, LOCK.setting(None), MUTANTS)} == {"close"}


def test_one_kernel_judges_as_many_do() -> None:
    """A mutant that is explored with others in one kernel has the outcome that it has by itself."""
    chosen = subject("elections", "tiny", {}, "fixed")
    kinds = ("swap-branches", "negate", "neighbour")
    mutants = [m for m in of_rule("election.clean.keeps-valid-leader") if m.operator in kinds][::4]
    sources = dict(enumerate(mutants, start=1))
    mutations, left = join(chosen.system, chosen.setting, sources, TOGETHER)
    kernel = load_kernel(mutations.program, None)
    budget, stop = SearchBudget(1 << 30, max_states=200_000), threading.Event()
    base = baseline(mutations, kernel, budget, stop)
    assert len(left) < len(sources) > 2
    for mutant in mutations.mutants[:2]:
        together = outcome(MutantRun(mutations, kernel, mutant, base, stop), budget)
        alone = apart(chosen.system, chosen.setting, mutant.number, sources[mutant.number], TOGETHER)
        own = load_kernel(alone.program, None)
        by_itself = outcome(MutantRun(alone, own, alone.mutants[0], base, stop), budget)
        assert _told(by_itself) == _told(together)


def _told(result: MutantOutcome) -> object:
    return (type(result), result.by) if isinstance(result, Killed) else result


def with_claim(predicate: Callable[[Gate], object]) -> System:
    """The gate, with one more property."""
    more = Property("more", "always", "One more thing.", predicate)
    return evolve(GATE, properties=lambda setting: [*GATE.properties(setting), more])


def test_a_campaign_goes_on_with_what_is_known(tmp_path: Path) -> None:
    """What a file has is not asked again; one more property asks of survivors again, and of nothing that is killed."""
    place = tmp_path / "outcomes.jsonl"
    first = campaign(GATE, SETTING, BUDGET, MUTANTS, memory=Outcomes(place, LIMIT))
    rows = len(place.read_text(encoding="utf-8").splitlines())
    again = campaign(GATE, SETTING, BUDGET, MUTANTS, memory=Outcomes(place, LIMIT))
    assert again == first
    assert len(place.read_text(encoding="utf-8").splitlines()) == rows > 10
    more = with_claim(lambda state: any_of(state.open, state.inside < MOST))
    third = campaign(more, SETTING, BUDGET, MUTANTS, memory=Outcomes(place, LIMIT))
    asked = len(place.read_text(encoding="utf-8").splitlines()) - rows
    alive = {told_.whole for m, result in first.outcomes if isinstance(result, Survived | GoalLost | LeavesDomain)
             and (told_ := told(GATE, SETTING, m).meaning) is not None}  # fmt: skip
    assert asked == len(alive) > 0
    kinds = [Counter(type(result) for _, result in one.outcomes) for one in (first, third)]
    assert kinds[0] == kinds[1]


def test_a_new_property_kills_what_survived(tmp_path: Path) -> None:
    """A property that comes later is asked of the survivors in the file, and kills those that it refutes."""
    place = tmp_path / "outcomes.jsonl"
    campaign(GATE, SETTING, BUDGET, MUTANTS, memory=Outcomes(place, LIMIT))
    strict = with_claim(lambda state: state.inside <= MOST - 1)
    weak = campaign(strict, SETTING, BUDGET, MUTANTS, memory=Outcomes(place, LIMIT))
    fresh = campaign(strict, SETTING, BUDGET, MUTANTS)
    assert [(m.name, type(result)) for m, result in weak.outcomes] == [
        (m.name, type(result)) for m, result in fresh.outcomes
    ]


def test_a_larger_budget_asks_again_of_what_was_cut(tmp_path: Path) -> None:
    """What a limit cut is known to who has the same limit or a lower one, and asked again with a higher one."""
    right, mutant = (Meaning(name, {"": name}) for name in "ab")
    cut = Undecided("state limit 10")
    place = tmp_path / "outcomes.jsonl"
    Outcomes(place, 10).note(right, mutant, cut)
    known = {limit: Outcomes(place, limit).recall(right, mutant) for limit in (5, 10, 20)}
    assert known == {5: cut, 10: cut, 20: None}


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    """A line that is no outcome is named with its place."""
    place = tmp_path / "notes.txt"
    place.write_text("hello\n", encoding="utf-8")
    with pytest.raises(Refusal, match=r"notes\.txt:1: line 1: not JSON"):
        Outcomes(place, 1)


def draining(unless: Callable[[Gate], object]) -> System:
    """The gate with a claim about fair behaviours alone: a full room drains, as long as people may leave."""
    drains = leads_to("drains", "A full room drains.", lambda s: s.inside == MOST, lambda s: s.inside < MOST)
    fairness = [Fairness(("leave",), unless=unless)]
    return evolve(GATE, properties=lambda setting: [drains], fairness=lambda setting: fairness)


def test_fair_behaviours_are_asked() -> None:
    """A mutant after which nobody can leave a full room breaks liveness; without fairness nothing is to blame on it."""
    fair = campaign(draining(lambda state: negate(state.open)), SETTING, BUDGET, MUTANTS).outcomes
    killed = {m.after for m, result in fair if isinstance(result, Killed) and result.by == ("drains",)}
    assert "state.inside" in killed
    assert len(killed) < len(fair)
    assert all(result.steps for _, result in fair if isinstance(result, Killed) and result.by == ("drains",))
    excused = campaign(draining(lambda state: True), SETTING, BUDGET, MUTANTS).outcomes
    assert [m.name for m, result in excused if isinstance(result, Killed) and result.by == ("drains",)] == []


def test_a_premise_that_is_never_met_is_a_lost_goal() -> None:
    """Where a mutant leaves no state that has to wait, the claim about fair behaviours has no case any more."""
    found = campaign(draining(lambda state: negate(state.open)), SETTING, BUDGET, MUTANTS).outcomes
    idle = {m.after for m, result in found if isinstance(result, GoalLost) and result.idle == ("drains",)}
    assert "choose(room(state), state.inside, state.inside + 1)" in idle
