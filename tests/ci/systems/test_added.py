"""What a user adds to a shipped system, and the files of the tutorial with five proposals."""

import ast
import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from attrs import evolve

import kraftcheck as kc
from kraftcheck import testing
from kraftcheck.ci.explore.diff import sides
from kraftcheck.ci.explore.trace import PictureOptions, other_rules
from kraftcheck.ci.systems import added
from kraftcheck.ci.systems.added import ALL_OFF, DECIDED
from kraftcheck.ci.systems.overrides import is_a
from kraftcheck.ci.systems.subject import program, subject
from kraftcheck.ci.systems.switches import check_switches
from kraftcheck.model.language.terms import Graph
from kraftcheck.model.language.words import NOTED, RuleError
from kraftcheck.model.rules.vocabulary import vocabulary
from kraftcheck.properties.catalogue import FAIR_SYSTEMS, SYSTEMS
from kraftcheck.solvers.drawings.drawing import drawing
from kraftcheck.solvers.program.fingerprint import fingerprint
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.reference.interpreter import Integers
from kraftcheck.solvers.smt.theory import theory
from tests.ci.systems.waiting import ELR, enough, only_after_waiting, waiting
from tests.documentation.console import files_of
from tests.shared.commands import kraftcheck
from tests.shared.places import DOCS

ON = "fixed+elr-waits"
OTHERWISE = DECIDED + ELR.replace(".", "-")
CANDIDATE, RETURNS = "unfenced-candidate-leads", "leader-returns"


def plain() -> kc.ChangedSystem:
    """`elections`, to be changed."""
    return kc.kafka("elections", base="fixed")


def named_always(id_: str) -> kc.Property:
    """A property that says nothing of interest."""
    return kc.always(id_, "a leader is none or a broker", lambda s: s.leader >= -1)


def program_of(system: kc.System, rules: str | None = None) -> str:
    """What a system is at its smallest scope."""
    chosen = subject(system, "tiny", {}, rules)
    return fingerprint(trace(chosen.system, chosen.setting))


@functools.cache
def found(rules: str) -> kc.Result:
    """What a search says of the change under a rule set."""
    ids = [CANDIDATE, RETURNS, "wait-ends", *["taken-enough"] * (rules == ON)]
    return kc.explore(waiting(), scope="tiny", rules=rules, properties=ids)


def refuted(result: kc.Result) -> set[str]:
    """The ids of what a search refutes."""
    return {claim for claim, verdict in result.verdicts.items() if isinstance(verdict, kc.Refuted)}


def test_a_choice_of_ones_own_switches_its_parts() -> None:
    """Off, nothing is decided otherwise; on, the rule and the action of one's own are there, and break what they do."""
    assert refuted(found("fixed")) == set()
    assert refuted(found(ON)) == {CANDIDATE, RETURNS}
    assert isinstance(found(ON).verdict("taken-enough"), kc.Holds)
    off = [action.name for action in waiting().actions(subject(waiting(), "tiny", {}, "fixed").setting)]
    on = [action.name for action in waiting().actions(subject(waiting(), "tiny", {}, ON).setting)]
    assert on == [*off, "enough"]


def test_a_field_changes_as_its_rule_says() -> None:
    """What becomes of a field after each step is what its `then` says; without one, what actions say stays so."""
    assert isinstance(found(ON).verdict("wait-ends"), kc.Holds)
    kept = kc.explore(waiting(then=None), scope="tiny", rules=ON, properties=["wait-ends"])
    assert refuted(kept) == {"wait-ends"}
    told = kept.verdict("wait-ends")
    assert isinstance(told, kc.Refuted)
    assert [step.action for step in told.trace.steps].count("enough") == 1
    assert told.trace.initial.waited is False
    assert told.trace.steps[-1].state.waited is True


def test_ways_out_take_what_heals() -> None:
    """A property that asks for recovery by named actions may use one's own where that comes about by itself."""
    healed = kc.explore(waiting(heals=True), scope="tiny", rules=ON, properties=[RETURNS])
    assert isinstance(healed.verdict(RETURNS), kc.Holds)


def test_rules_beside_have_their_own_ways_out() -> None:
    """Beside a run with the choice, a picture sets the rules without it, whose ways out name no action that is gone."""
    picture = PictureOptions({"html": Path("a.html")}, None)
    other = other_rules(subject(waiting(heals=True), "tiny", {}, ON, [RETURNS]), picture)
    assert other is not None
    (recovers,) = (one for one in program(other, compared=False).recovers if one.claim.id == RETURNS)
    assert recovers.claim.by
    assert "enough" not in recovers.claim.by


def test_what_one_decides_by_passes_is_reported() -> None:
    """What is decided by the controller's passes reports records and epochs; a state alone reports none."""
    chosen = subject(waiting(), "tiny", {}, ON)
    of = Integers(chosen.system, chosen.setting)
    steps = [step for step in _walk(of, 5) if step.action == "enough"]
    led = [step for step in steps if step.after.leader >= 0]
    assert led
    assert all(isinstance(one.event, kc.kafka.Event) for one in steps)
    assert all((one.event.records, one.event.leader_epoch_bumps) == (1, 1) for one in led)
    assert any(one.event.from_elr for one in led)
    silent = plain().action(kc.Action("seat", lambda state: evolve(state, leader=1), lambda state: state.isr.has(1)))
    run = kc.explore(silent, scope="tiny", properties=["taken-seat", "new-leader-new-epoch"])
    assert refuted(run) == {"new-leader-new-epoch"}, "a leader that changes without a record raises no epoch"


def _walk(of: Integers, depth: int) -> list[kc.Step]:
    level, seen, steps = set(of.initial), set(of.initial), list[kc.Step]()
    for _ in range(depth):
        taken = [of.take(state, move).step for state in level for move in of.enabled(state)]
        steps += taken
        level = {step.after for step in taken} - seen
        seen |= level
    return steps


def test_each_change_is_another_program() -> None:
    """Digests of changed systems differ from each other and from the shipped one, which stays as it is."""
    before = program_of(plain())
    resting = plain().action(kc.Action("rest", lambda state: state))
    more = plain().property(named_always("mine"))
    variants = [plain(), plain().field("waited", kc.truth(), False), waiting(), resting, more]
    programs = [program_of(one) for one in variants] + [program_of(waiting(), ON)]
    assert len(set(programs)) == len(programs)
    assert program_of(plain()) == before == program_of(SYSTEMS["elections"], "fixed")


def test_a_prover_takes_any_number_of_brokers() -> None:
    """A field and an action of one's own are part of the theory of any number of brokers, from the start on."""
    of = subject(waiting(), "tiny", {"brokers": kc.ANY}, ON, proof=True)
    made = theory(of.system, of.setting).program
    assert "enough" in [kind.action.name for kind in made.kinds]
    assert [slot.path for slot in made.layout.slots][-1] == "waited"
    assert "waited is as at the start" in made.initially


def test_walks_and_proofs_read_what_is_added() -> None:
    """Random walks refute what the search refutes, and a proof of what `then` gives is about the field."""
    walked = kc.simulate(waiting(), scope="tiny", rules=ON, properties=[CANDIDATE], runs=200, steps=30, threads=1)
    assert refuted(walked) == {CANDIDATE}
    proven = kc.prove(waiting(), scope="tiny", rules=ON, properties=["wait-ends"])
    assert isinstance(proven.verdict("wait-ends"), kc.Holds)


def test_a_guard_is_one_more_condition() -> None:
    """An action is possible where it was, and its guard of one's own, which reads all of the state, holds as well."""

    def both_in_sync(state: Any) -> Any:
        return state.isr.size() > 1

    chosen = subject(plain().guard("elect_preferred", both_in_sync), "tiny", {}, None)
    shipped, own = (Integers(of, chosen.setting) for of in (SYSTEMS["elections"], chosen.system))
    seen = set()
    for step in _walk(shipped, 5):
        move = shipped.move_of("elect_preferred", {})
        assert move is not None
        was, now = (of.is_enabled(step.after, move) for of in (shipped, own))
        assert now == (was and step.after.isr.size() > 1)
        seen.add((was, now))
    assert seen == {(False, False), (True, False), (True, True)}


def test_titles_and_documents_name_what_is_added() -> None:
    """The title, the document and the list of choices say what is added, where it is written, and with which choice."""
    for text in ("the field waited of waiting.py:", f"{ELR} of waiting.py:", "the action enough of waiting.py:"):
        assert text in str(found(ON))
        assert any(text in one for one in found(ON).document["changes"])
    assert "if elr-waits" in str(found(ON))
    words = vocabulary(waiting())
    assert words is not None
    assert (words.group("elr-waits"), words.value("fixed", "elr-waits")) == ("", False)
    assert words.parse(ON).own.elr_waits is True


def test_an_action_of_ones_own_is_drawn() -> None:
    """A run through an action that the shipped legend does not know is drawn: it happens in the controller's lane."""
    (shown,) = [one for one in found(ON).judged if one.claim == "taken-enough"]
    assert isinstance(shown.verdict, kc.Holds)
    assert shown.verdict.witness is not None
    drawn = drawing(shown.verdict.witness, found(ON).program, "it")
    (column,) = [one for one in drawn.columns if one.action == "enough()"]
    assert [drawn.lanes[arrow.source] for arrow in column.arrows] == ["controller"]


def test_a_scope_of_ones_own_bounds_the_search() -> None:
    """Bounds that a scope of one's own leaves out are as in the first scope of the system."""
    own = plain().scope("pair", brokers=2, replication=2)
    assert dict(own.scopes["pair"]) == {**own.scopes["default"], "brokers": 2, "replication": 2}
    assert subject(own, "pair", {}, None).setting["brokers"] == 2


def test_fairness_of_ones_own_makes_something_happen() -> None:
    """A partition that waits gets a leader in the end only where the end of the wait is fair."""

    def live(*fair: kc.Fairness) -> kc.Result:
        over = kc.leads_to("wait-is-over", "a wait ends, or its cause does", lambda s: s.isr.is_empty(),
                           lambda s: kc.any_of(s.waited, kc.negate(s.isr.is_empty())))  # fmt: skip
        own = waiting().property(over)
        return kc.explore(own.fair(*fair) if fair else own, scope="tiny", rules=ON, properties=["wait-is-over"])

    assert refuted(live()) == {"wait-is-over"}
    assert refuted(live(kc.weak_fairness("enough"))) == set()


@pytest.mark.parametrize(("system", "rules", "fault"), [
    (lambda: plain().choice("elr-waits", "nothing"), ON, "elr-waits changes nothing in elections --scope tiny"),
    (lambda: plain().field("waited", kc.truth(), False), None, r"test_added.py:\d+: nothing reads the field waited in"),
    (lambda: plain().field("waited", kc.ints(0, 3), 0).property(kc.always("a", "a", lambda s: s.waited == 0)), None,
     r"test_added.py:\d+: no step changes the field waited in elections.*; give it `then`, or an action"),
    (lambda: plain().guard("cancel", _is_anything), None, "as a guard of cancel it changes nothing in"),
    (lambda: plain().choice("on", "it is").override(ELR, lambda self, rules, rule: rule(self, rules), when="on"),
     "fixed+on", "on changes nothing in elections"),
    (lambda: plain().choice("idle", "nothing"), None, r"test_added.py:\d+: nothing reads the choice idle in elections"),
    (lambda: plain().action(lambda setting: []), None, r"test_added.py:\d+: the function gives no kraftcheck.Action"),
    (lambda: plain().property(lambda setting: []), None, "the function gives no kraftcheck.Property"),
    (lambda: plain().fair(lambda setting: []), None, "the function gives no kraftcheck.Fairness"),
])  # fmt: skip
def test_what_changes_nothing_is_refused(system: Callable[[], kc.System], rules: str | None, fault: str) -> None:
    """A choice that nothing reads, a field that nothing reads and a rule that is as it was are no change."""
    with pytest.raises(kc.Refusal, match=fault):
        check_switches(subject(system(), "tiny", {}, rules))


def test_a_system_whose_changes_are_all_off_is_no_pass() -> None:
    """It is the shipped one, so a search of it is vacuous, and a comparison where neither side has one is refused."""
    off = kc.explore(waiting(), scope="tiny", properties=["leader-active"])
    assert isinstance(off.verdict(ALL_OFF), kc.Vacuous)
    assert off.exit_code == 21
    assert "a change is on where --rules names +elr-waits" in str(off)
    assert ALL_OFF not in found(ON).verdicts
    with pytest.raises(kc.Refusal, match=r"changes are off on both sides; name FILE.py:SYSTEM\+elr-waits as a side"):
        kc.diff("fixed", waiting(), scope="tiny")


def test_a_rule_that_decides_nothing_otherwise_is_no_pass() -> None:
    """A rule that differs only where no run comes is vacuous in a search and in walks; a comparison says that it is
    equal."""

    def where_no_run_comes(self: Any, rules: Any, now: Any, rule: Any) -> Any:
        outside = kc.all_of(now.leader >= 0, kc.negate(now.replicas.has(now.leader)))
        return kc.choose(outside, self.isr.none(), rule(self, rules))

    idle = plain().override(ELR, where_no_run_comes)
    few = {"brokers": 2, "replication": 1, "reassignment": 0}
    runs = [kc.explore(idle, properties=["leader-active"], **few),
            kc.simulate(idle, properties=["leader-active"], runs=20, steps=20, **few)]  # fmt: skip
    assert isinstance(runs[0].verdict(OTHERWISE), kc.Vacuous)
    assert [one.exit_code for one in runs] == [21, 21]
    assert kc.diff("fixed", idle, **few).document["equal"] is True


@pytest.mark.parametrize(("rule", "kind"), [(ELR, "happens"), ("leader.unfenced", "sometimes")])
def test_a_search_shows_a_decision_that_no_drawn_run_shows(
    rule: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no drawn run shows it, the search does, of what is done and of what is possible; else no goal is judged."""

    def with_broker_1(*arguments: Any, rule: Any) -> Any:
        given = rule(*arguments)
        return given.plus(given.just(1))

    changed = {ELR: lambda self, rules, rule: with_broker_1(self, rules, rule=rule),
               "leader.unfenced": lambda cluster, offline, barred, counted, rules, rule:
               with_broker_1(cluster, offline, barred, counted, rules, rule=rule)}  # fmt: skip
    goal = DECIDED + rule.replace(".", "-")
    drawn = plain().override(rule, changed[rule])
    setting = subject(drawn, "tiny", {}, None).setting
    assert goal not in [claim.id for claim in drawn.properties(setting)]
    monkeypatch.setattr(added, "DRAWN", 0)
    searched = plain().override(rule, changed[rule])
    assert [claim.kind for claim in searched.properties(setting) if claim.id == goal] == [kind]
    seen = kc.explore(searched, scope="tiny", properties=["replicas-distinct"], max_depth=5)
    assert isinstance(seen.verdict(goal), kc.Holds)


@pytest.mark.parametrize(("change", "goal"), [
    (lambda of: of.action(kc.Action("never", lambda s: evolve(s, leader=0), lambda s: s.leader < -1)), "taken-never"),
    pytest.param(lambda of: of.action(kc.Action("idle", lambda s: evolve(s, isr=s.isr.plus(s.isr)))), "taken-idle",
                 marks=pytest.mark.slow),
    pytest.param(lambda of: of.guard("fence", lambda state, broker: False), "taken-fence", marks=pytest.mark.slow),
    (lambda of: of.guard("fence", lambda s, broker: kc.implies(s.isr.has(broker), s.replicas.has(broker))),
     "refused-fence"),
])  # fmt: skip
def test_what_shows_nothing_is_no_pass(change: Callable[[Any], kc.System], goal: str) -> None:
    """An action that never changes anything, and a guard that allows nothing, or all that is possible, are vacuous,
    whichever properties are asked for, in a search, a comparison, walks and a test."""
    system = change(plain())
    found = kc.explore(system, properties=["leader-active"], scope="tiny")
    walked = kc.simulate(system, runs=20, steps=20, properties=["leader-active"], scope="tiny")
    compared = kc.diff("fixed", system, scope="tiny")
    assert isinstance(found.verdict(goal), kc.Vacuous)
    assert [one["id"] for one in compared.document["properties"] if one["b"] == "vacuous"] == [goal]
    assert [one.exit_code for one in (found, walked, compared)] == [21, 21, 21]
    with pytest.raises(AssertionError, match=f"{goal}: "):
        testing.assert_holds(system, scope="tiny")


@pytest.mark.parametrize(("change", "fault"), [
    (lambda of: of.choice("elr-downgrade", "x"), "there is a elr-downgrade already"),
    (lambda of: of.choice("fixed", "x"), "there is a fixed already"),
    (lambda of: of.choice("two words", "x"), "no name of a choice"),
    (lambda of: of.choice("mine", "x").choice("mine", "x"), "there is a mine already"),
    (lambda of: of.field("isr", kc.truth(), False), "elections has 'isr' already"),
    (lambda of: of.field("x", 3, 7), "the domain of 'x' is 3; give one such as"),
    (lambda of: of.field("partition", kc.truth(), False), "elections has 'partition' already"),
    (lambda of: of.field("a", kc.truth(), False).field("a", kc.truth(), False), "elections has 'a' already"),
    (lambda of: of.field("a b", kc.truth(), False), "no name of a field"),
    (lambda of: of.field("class", kc.truth(), False), "no name of a field"),
    (lambda of: of.field(3, kc.truth(), False), "3 is no name of a field"),
    (lambda of: of.override(ELR, only_after_waiting, when=3), "there is no choice 3"),
    (lambda of: of.scope("tiny", brokers=2), "has a scope 'tiny' already"),
    (lambda of: of.scope("mine", brokers=77), "brokers = 77 is out of range"),
    (lambda of: of.scope("mine", borkers=2), "no bound 'borkers'; did you mean brokers"),
    (lambda of: of.override(ELR, only_after_waiting, when="elr-wait"), "there is no choice 'elr-wait'"),
    (lambda of: of.action(enough, when="elr-wait"), "there is no choice 'elr-wait'"),
    (lambda of: of.action("enough"), "'enough' is no action"),
    (lambda of: of.guard("fence", True), "True is no guard"),
    (lambda of: of.guard("fence", lambda state, broker: True, when="x"), "there is no choice 'x'"),
    (lambda of: of.field("a", kc.truth(), False, then=lambda a, b: a), r"`then` of a takes \(a, b\); .* take \(step\)"),
    (lambda of: of.field("a", kc.truth(), False, then=3), "`then` of a is 3; give a function of a step"),
    (lambda of: of.choice("mine", ""), "what is so when mine is on is ''; say it in words"),
    (lambda of: of.property("mine"), "'mine' is no kraftcheck.Property; give one"),
    (lambda of: of.fair(named_always("mine")), "a Property is no kraftcheck.Fairness; give one"),
    (lambda of: of.fairness(kc.weak_fairness("fence")), "`fair` adds what is"),
    (lambda of: of.scope("mine", brokers="2"), "scope mine: brokers takes an int, not '2'"),
    (lambda of: of.override(3, only_after_waiting), "no rule has the id 3; there are"),
    (lambda of: of.override(ELR, 3), "3 is no function; write one with def or lambda"),
    (lambda of: of.override(ELR, lambda self, rules, *, more: self.isr), r"takes \(self, rules, \*, more\)"),
    (lambda of: of.override(ELR, lambda self, rules, *, more=1: self.isr), r"takes \(self, rules, \*, more=1\)"),
    (lambda of: of.override(ELR, lambda self, *, rules: self.isr), r"takes \(self, \*, rules\); give it the same"),
    (lambda of: of.override(ELR, lambda self, rules, /: self.isr), r"takes \(self, rules, /\); give it the same"),
    (lambda of: of.property(), "`property` is given nothing; give it a kraftcheck.Property"),
    (lambda of: of.fair(), "`fair` is given nothing; give it a kraftcheck.Fairness"),
    (lambda of: of.override(ELR, _never_answers), "it gives no answer when it is called; write `def` without"),
    (lambda of: of.field("a", kc.truth(), False, then=_never_answers), "`then` of a gives no answer"),
])  # fmt: skip
def test_a_name_that_clashes_is_refused(change: Callable[[Any], Any], fault: str) -> None:
    """What has a name that there is, or names what there is not, is refused where it is written, in one line."""
    with pytest.raises(RuleError, match=fault) as error:
        change(plain())
    assert str(error.value).startswith("test_added.py:")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("change", "fault"), [
    (lambda of: of.action(kc.Action("fence", lambda state: state)), "there is an action 'fence' already"),
    (lambda of: of.action(kc.Action("a", lambda state: state, None, {"broker": range(2)})),
     r"the effect of a takes \(state\); make it take \(state, broker\)"),
    (lambda of: of.action(lambda setting: 3), "3 is no kraftcheck.Action; give one"),
    (lambda of: of.action(lambda: None), "it is taken for a function of the setting, and raised TypeError"),
    (lambda of: of.property(named_always("leader-active")), "there is a property 'leader-active' already"),
    (lambda of: of.property(named_always("a"), named_always("a")), "there is a property 'a' already"),
    (lambda of: of.property(lambda setting: [None]), "None is no kraftcheck.Property; give one"),
    (lambda of: of.field("a", kc.truth(), 2), "at the start a is 2, not a truth"),
    (lambda of: of.field("a", lambda setting: 3, 0), "the domain of 'a' is 3; give one such as"),
    (lambda of: of.field("a", kc.ints(0, 3), 0, then=lambda t: None), "`then` of a gives None, before it was"),
    (lambda of: of.guard("fence", lambda state: True), r"the guard of fence takes \(state\); .* \(state, broker\)"),
    (lambda of: of.guard("fence", lambda state, broker: state.isr), "the guard of fence gives IntSet.*not a truth"),
    (lambda of: of.guard("fence", lambda state, broker: [state.isr.has(broker)]), "of fence gives .* not a truth"),
    (lambda of: of.override(ELR, lambda self, rules: None), f"in the place of {ELR} it gives None; the rule gives a"),
    (lambda of: of.override(ELR, lambda self, rules: True), f"in the place of {ELR} it gives True; the rule gives a"),
    (lambda of: of.override("election.last-known.alive", lambda c, rules: 2), "it gives 2; the rule gives a Truth"),
    (lambda of: of.guard("fnce", lambda state: True), "there is no action 'fnce' here; did you mean fence"),
    (lambda of: of.guard(3, lambda state: True), "there is no action 3 here"),
    (lambda of: of.guard("cancel", _named_alike), "has a condition 'a reassignment is in progress' already"),
    (lambda of: of.fair(kc.weak_fairness("wake")), "fairness names the action 'wake'"),
    (lambda of: of.override("directory.default-for-new-replica", _asks_now), "it asks for now, and is called where"),
    (lambda of: of.action(_never_answers), "for a function of the setting, and gives no answer"),
    (lambda of: of.guard("fence", _never_answers), "the guard of fence gives no answer when it is called"),
    (lambda of: of.action(kc.Action("a", lambda state: kc.Outcome(state, 3))), "the effect of a reports 3; give a El"),
    (lambda of: of.action(kc.Action("a", lambda state: 1 // 0)), r"the effect of a raised ZeroDiv.*added.py:\d+\)"),
    (lambda of: of.guard("fence", lambda state, broker: state.isrr), "the guard of fence raised .*did you mean isr"),
    (lambda of: of.field("a", kc.ints(0, 3), 0, then=lambda t: t.afte.a), "`then` of a raised AttributeError"),
    (lambda of: of.override(ELR, _forgets), f"in the place of {ELR} it changes what it is given; make another"),
    (lambda of: of.override(ELR, _raises_lines), f"in the place of {ELR} it raised ValueError: two lines"),
])  # fmt: skip
def test_a_fault_of_what_is_added_is_refused(change: Callable[[Any], Any], fault: str) -> None:
    """A clash, other parameters, a value outside its domain, an answer of another kind: in one line, with its place."""
    with pytest.raises(kc.Refusal, match=fault) as error:
        kc.explore(change(plain()), scope="tiny", properties=["leader-active"])
    assert str(error.value).startswith("test_added.py:")
    assert "\n" not in str(error.value)


def test_an_effect_without_a_state_is_refused_at_its_line() -> None:
    """What an action of one's own gives is judged as of any system, at the line where it is written."""
    with pytest.raises(kc.Refusal, match=r"^test_added.py:\d+: action a gave .*it gave None: return the next state$"):
        kc.explore(plain().action(kc.Action("a", lambda state: None)), scope="tiny")


def test_what_every_rule_gives_can_be_told_from_what_it_does_not() -> None:
    """A class that has nothing to do with a rule is none of what any rule says that it gives."""
    shipped = {rule: function for rule, function in NOTED.items() if function.__module__.startswith("kraftcheck.")}
    assert len(shipped) > 200
    for rule, function in shipped.items():  # other tests note rules of their own
        assert not is_a(object(), get_type_hints(function)["return"]), rule


async def _never_answers(*_: Any) -> None: ...


def _raises_lines(self: Any, rules: Any) -> Any:
    raise ValueError("two\nlines")


def _forgets(self: Any, rules: Any, rule: Any) -> Any:
    object.__setattr__(self, "elr", self.elr.none())
    return rule(self, rules)


def _is_anything(state: Any) -> Any:
    return state.leader >= -1


def _named_alike(state: Any) -> Any:
    return {"a reassignment is in progress": True}


def _asks_now(registered: Any, count: Any, only: Any, supported: Any, rules: Any, now: Any, rule: Any) -> Any:
    return rule(registered, count, only, supported, rules)


def test_a_rule_set_is_compared_on_states_of_the_same_fields() -> None:
    """The side that is a rule set gets the fields, scopes and properties of the other one, and none of its rules."""
    own = waiting().scope("pair", brokers=2, replication=2)
    one, other = sides("fixed", own, "", "pair", {})
    assert [one.system.layout(one.setting)] == [other.system.layout(other.setting)]
    assert "enough" not in [action.name for action in one.system.actions(one.setting)]
    assert one.title().endswith("rules fixed with the field waited of " + one.title().rpartition(" ")[2])


@pytest.mark.parametrize("name", ["zk-controller", "zk-jbod", "broker-ids", "unclean-recovery", "elr-index", "kraft"])
def test_an_action_of_every_system_reports_nothing(name: str) -> None:
    """A field and an action that gives a state alone are traced with the promises of any system, which read events."""
    of = kc.kafka(name).field("flag", kc.truth(), False)
    flagged = of.action(kc.Action("flag", lambda state: evolve(state, flag=True), lambda state: kc.negate(state.flag)))
    made = trace(flagged, subject(flagged, None, {}, None).setting, graph=Graph())
    assert [kind.action.name for kind in made.kinds][-1] == "flag"
    assert made.layout.slots[-1].path == "flag"


def test_no_shipped_system_asks_a_rule_where_it_may_rest() -> None:
    """Rules are replaced in layouts, initial states, guards and effects: nothing else of a shipped system asks one."""
    codes = {function.__code__ for function in NOTED.values()}
    for system in (*SYSTEMS.values(), *FAIR_SYSTEMS.values()):
        assert system.within is None
        words = vocabulary(system)
        setting = system.setting(rules=words and words.parse(words.default))
        asked = Integers(system, setting).initial[0]
        assert not _called(codes, lambda system=system, asked=asked: system.quiescent and system.quiescent(asked))  # type: ignore[misc]


def _called(codes: set[Any], question: Callable[[], Any]) -> set[Any]:
    met = set[Any]()
    sys.setprofile(lambda frame, event, _: met.add(frame.f_code) if event == "call" else None)
    try:
        question()
    finally:
        sys.setprofile(None)
    return met & codes


FILES = files_of((DOCS / "tutorial" / "five-proposals.md").read_text(encoding="utf-8"))
MOST_LINES = 60


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files, as a user has them."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        monkeypatch.delitem(sys.modules, name.removesuffix(".py"), raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", FILES)
def test_a_proposal_is_short_and_takes_public_names_alone(name: str) -> None:
    """Each is at most sixty lines, and imports nothing but the package itself and attrs."""
    assert len(FILES) == 5
    assert 10 <= len(FILES[name].splitlines()) <= MOST_LINES
    imports = [node for node in ast.walk(ast.parse(FILES[name])) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert {ast.unparse(node).partition(" ")[2].split()[0] for node in imports} <= {"kraftcheck", "attrs"}


@pytest.mark.slow
@pytest.mark.parametrize(("system", "base", "scope", "broken"), [
    ("waits.py:HASTY", "kafka-4.4.0-mended", "tiny",
     {"unfenced-candidate-leads", "recovering-after-unclean-election", "isr-leavers-stay-eligible",
      "elr-leavers-have-a-reason", "unclean-only-when-allowed"}),
    ("waits.py:PATIENT", "kafka-4.4.0-mended", "tiny", {"unfenced-candidate-leads", "unclean-request-is-granted"}),
    ("cordon.py:GENTLE", "kafka-4.4.0-mended", "tiny",
     {"no-leader-on-cordoned", "last-known-is-remembered", "reassignment-keeps-a-leader", "leader-stays",
      "unclean-only-when-allowed"}),
    ("offline.py:NEVER", "kafka-4.4.0", "lost", set()),
    ("offline.py:ALWAYS", "kafka-4.4.0", "lost", {"isr-leavers-stay-eligible", "unclean-only-when-allowed"}),
])  # fmt: skip
def test_a_proposal_breaks_what_the_page_says(
    system: str, base: str, scope: str, broken: set[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The promises that a change breaks, and no others."""
    monkeypatch.chdir(folder)
    found = kc.diff(base, system, scope=scope, threads=1).document
    assert {one["id"] for one in found["properties"] if one["change"] == "broken"} == broken
    assert found["equal"] is False


def test_an_upgrade_is_blocked_and_mended(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Registrations that stay block an upgrade for ever; marks mend it, unless they outlive a return."""
    monkeypatch.chdir(folder)
    marked = "base+marked-are-ignored"
    for rules, refuted in (("base", {"level-can-be-raised"}), (marked, set()),
                           (f"{marked}+mark-survives-return", {"voters-understand"})):  # fmt: skip
        verdicts = kc.explore("features.py:FEATURES", rules=rules).verdicts
        assert {claim for claim, verdict in verdicts.items() if isinstance(verdict, kc.Refuted)} == refuted


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.usefixtures("shared")
def test_a_changed_system_is_the_same_on_spark(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers explore the system with its field, event and rule: the same states and verdicts as here."""
    monkeypatch.chdir(folder)
    words = ("explore", "waits.py:HASTY", "--scope", "tiny", "--quiet", "--json", "-")
    here, there = (kraftcheck(*words, *on).document() for on in ((), ("--engine", "spark", "--out", folder / "out")))
    for document in (here, there):
        document["states"].pop("bytes_per_state")
    assert (here["states"], here["exit_code"]) == (there["states"], there["exit_code"])
    verdicts = [{one["id"]: one["verdict"] for one in document["properties"]} for document in (here, there)]
    assert verdicts[0] == verdicts[1]
