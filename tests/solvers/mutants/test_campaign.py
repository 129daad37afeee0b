"""Operator mutants: each has a name that lasts, changes one expression, and is judged as the rules with it."""

import random
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from attrs import evolve

from kraftcheck.ci.mutants.table import Outcomes
from kraftcheck.ci.systems.subject import subject
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.system import Fairness, Property, System
from kraftcheck.model.language.terms import Graph
from kraftcheck.model.language.words import any_of, negate
from kraftcheck.model.triggers.table import effective_min_isr
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
from kraftcheck.solvers.mutants.operators import OPERATORS
from kraftcheck.solvers.mutants.source import (
    SourceMutant,
    StaleMutantError,
    applied,
    of_rule,
    source_mutant,
    source_mutants,
)
from kraftcheck.solvers.program.fingerprint import Meaning
from kraftcheck.solvers.program.trace import trace
from tests.gates import GATE, LOCK, MOST, Gate
from tests.solvers.mutants import operands

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


OPERANDS = "tests.solvers.mutants.operands"


def found(function: str) -> list[tuple[str, str, str]]:
    """What each operator makes of a function of the operands."""
    every = source_mutants(modules=[OPERANDS])
    return [(one.operator, one.before, one.after) for one in every if one.function == function]


def named(function: str, operator: str) -> SourceMutant:
    """The first mutant of an operator in a function of the operands."""
    return next(m for m in source_mutants(modules=[OPERANDS]) if (m.function, m.operator) == (function, operator))


def test_each_operator_makes_what_it_says() -> None:
    """The operators change a comparison, a list of conditions, a set, a record, a call and a choice as they say."""
    assert found("size") == [
        ("negate", "members.size() >= 2", "members.size() < 2"),
        ("off-by-one", "members.size() >= 2", "members.size() > 2"),
    ]
    assert found("both") == [
        ("drop-condition", "all_of(a, b)", "all_of(b)"),
        ("drop-condition", "all_of(a, b)", "all_of(a)"),
        ("negate", "all_of(a, b)", "negate(all_of(a, b))"),
        ("and-or", "all_of(a, b)", "any_of(a, b)"),
        ("negate", "a", "negate(a)"),
        ("negate", "b", "negate(b)"),
    ]
    assert found("Sets.left") == [
        ("neighbour", "self.isr.minus(self.elr)", "self.isr.plus(self.elr)"),
        ("neighbour", "self.isr.minus(self.elr)", "self.isr.keep(self.elr)"),
        ("drop-call", "self.isr.minus(self.elr)", "self.isr"),
        ("neighbour", "self.isr", "self.elr"),
        ("neighbour", "self.isr", "self.replicas"),
        ("neighbour", "self.elr", "self.isr"),
        ("neighbour", "self.elr", "self.replicas"),
    ]
    assert found("pair") == [
        ("skip-field", "evolve(state, isr=a, elr=b)", "evolve(state, elr=b)"),
        ("skip-field", "evolve(state, isr=a, elr=b)", "evolve(state, isr=a)"),
        ("swap-arguments", "evolve(state, isr=a, elr=b)", "evolve(state, isr=b, elr=a)"),
    ]
    assert found("either") == [
        ("one-branch", "choose(a, one, 5)", "one"),
        ("one-branch", "choose(a, one, 5)", "5"),
        ("off-by-one", "choose(a, one, 5)", "choose(a, one, 6)"),
        ("swap-branches", "choose(a, one, 5)", "choose(a, 5, one)"),
    ]
    assert found("guard") == [
        ("drop-guard", "{'open': a, 'shut': negate(b)}", "{'shut': negate(b)}"),
        ("drop-guard", "{'open': a, 'shut': negate(b)}", "{'open': a}"),
        ("negate", "negate(b)", "b"),
    ]
    assert {one.operator for one in source_mutants(modules=[OPERANDS])} == set(OPERATORS)


def test_a_mutant_is_there_only_meanwhile() -> None:
    """Within `applied` a function answers as the changed text says, in its callers too; before and after as written."""
    mutant = named("either", "swap-branches")
    assert operands.twice(True) == 2
    with applied(mutant):
        assert operands.twice(True) == 10
    with pytest.raises(RuntimeError, match="given up"), applied(mutant):
        raise RuntimeError("given up")
    assert operands.twice(True) == 2
    assert not [name for name in vars(operands) if name.startswith("__mutant")]


def test_words_need_no_import() -> None:
    """A mutant may use a word of the language that its module does not import."""
    assert not hasattr(operands, "any_of")
    with applied(named("both", "and-or")):
        assert operands.both(True, False) is True


def test_a_method_is_changed_on_its_class() -> None:
    """A mutant of a method reaches the records that exist already."""
    sets = operands.Sets(*map(operands.BrokerSet, (0b011, 0b001, 0b111)))
    mutant = named("Sets.left", "drop-call")
    assert sets.left() == operands.BrokerSet(0b010)
    with applied(mutant):
        assert sets.left() == sets.isr


@pytest.mark.parametrize(
    ("function", "before", "after"),
    [
        ("partition.election:_last_known_electable", "all_of(c.isr.is_empty(), c.elr.is_empty(), "
         "c.last_known.size() == 1)", "all_of(c.isr.is_empty(), c.last_known.size() == 1)"),
        ("triggers.table:effective_min_isr", "choose(factor < configured, factor, configured)", "configured"),
        ("triggers.table:elect_unclean", "evolve(ordinary(p, permits), unclean=allowed)", "ordinary(p, permits)"),
    ],
)  # fmt: skip
def test_what_people_thought_of_is_among_them(function: str, before: str, after: str) -> None:
    """Changes that people made by hand are among the mutants that nobody chose."""
    module, _, name = function.partition(":")
    every = [m for m in source_mutants() if (m.module, m.function) == (f"kraftcheck.model.{module}", name)]
    assert [m for m in every if (m.before, m.after) == (before, after)]


def test_a_mutant_knows_its_rules() -> None:
    """The mutants of a rule are those of the functions that state it, and each is found by its name."""
    rule = "min-isr.at-most-replication"
    mutants = of_rule(rule)
    assert {m.function for m in mutants} == {"effective_min_isr"}
    assert all(rule in m.rules and source_mutant(m.name) == m for m in mutants)
    assert of_rule("no.such-rule") == ()
    uncapped = next(m for m in mutants if m.after == "configured")
    with applied(uncapped):
        assert effective_min_isr(5, 3) == 5
    assert effective_min_isr(5, 3) == 3


def test_a_name_that_no_mutant_has_is_refused() -> None:
    """A name out of date is told as such, and nothing is changed in silence."""
    for name in ("partition.election:elect:negate:99", "partition.nothing:elect:negate:1", "elect"):
        with pytest.raises(StaleMutantError, match="no mutant"):
            source_mutant(name)


def test_what_is_left_has_no_mutants() -> None:
    """A module, a class or a function can be left as it is."""
    every = source_mutants()
    for left in ("kraftcheck.model.partition.election", "kraftcheck.model.partition.election:Candidates"):
        gone = {m.name for m in every} - {m.name for m in source_mutants([left])}
        assert gone == {m.name for m in every if f"{m.module}:{m.function}".startswith(left)} != set()


def test_names_tell_mutants_apart() -> None:
    """No two mutants have one name or make the same of one expression, and each differs from what is written."""
    every = source_mutants()
    assert len({m.name for m in every}) == len(every) > 5000
    assert len({(m.module, m.place, m.after) for m in every}) == len(every)
    assert [m.name for m in every if m.before == m.after] == []


def test_a_sample_of_the_mutants_compiles() -> None:
    """Each of a sample can be put into the rules, and changes the code of its function."""
    for mutant in random.Random(20261127).sample(source_mutants(), 60):
        right = code_of(mutant)
        with applied(mutant):
            assert code_of(mutant) != right, mutant.name
        assert code_of(mutant) == right


def code_of(mutant: SourceMutant) -> CodeType:
    """The code that a mutant's function has now, be it a property or a class method."""
    thing: Any = sys.modules[mutant.module]
    for name in mutant.function.split("."):
        thing = vars(thing)[name]
    function = getattr(thing, "fget", None) or getattr(thing, "__func__", None) or thing
    code: CodeType = function.__code__
    return code


def test_a_program_traced_within_is_the_mutants() -> None:
    """What is traced within `applied` is another program; afterwards it is the one of the rules again."""
    chosen = subject("elections", "tiny", {}, "fixed")
    right = trace(chosen.system, chosen.setting).digest()
    with applied(of_rule("election.clean.keeps-valid-leader")[0]):
        assert trace(chosen.system, chosen.setting).digest() != right
    assert trace(chosen.system, chosen.setting).digest() == right
