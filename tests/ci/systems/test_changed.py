"""Shipped systems with rules of a user: changed there, nowhere else, on every engine."""

from __future__ import annotations

import inspect
import itertools
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

import kraftcheck as kc
from kraftcheck.ci.prove import request
from kraftcheck.ci.systems.added import DECIDED
from kraftcheck.ci.systems.subject import program, subject
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.words import NOTED, RuleError
from kraftcheck.solvers.audit import traced_sample
from kraftcheck.solvers.program.fingerprint import fingerprint
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.reference.interpreter import Integers
from kraftcheck.solvers.smt.theory import theory
from tests.shared.commands import kraftcheck

RULE = "election.elr.only-when-isr-empty"


def isr_and_elr(self: Any, rules: Any, rule: Any) -> Any:
    """Members of the ELR may lead beside members of the ISR."""
    return rule(self, rules).plus(self.elr.keep(self.acceptable))


def as_it_is(self: Any, rules: Any, rule: Any) -> Any:
    """What the rule says."""
    return rule(self, rules)


def changed(by: Any = isr_and_elr, rule: str = RULE) -> Any:
    """`elections` with one rule replaced."""
    return kc.kafka("elections", base="fixed").override(rule, by)


def program_of(system: kc.System) -> str:
    """What a system is at its smallest scope, without the goals that a change shows something."""
    chosen = subject(system, "tiny", {}, "fixed")
    claims = [claim for claim in chosen.system.properties(chosen.setting) if not claim.id.startswith(DECIDED)]
    return fingerprint(trace(evolve(chosen.system, properties=lambda _: claims), chosen.setting))


def test_a_replaced_rule_breaks_what_rests_on_it() -> None:
    """A search judges the rule of the user, on compiled code and on ints, and says in the title where it is written."""
    found = kc.explore(changed(), scope="tiny")
    refuted = {claim for claim, verdict in found.verdicts.items() if isinstance(verdict, kc.Refuted)}
    assert refuted == {"isr-leavers-stay-eligible", "elr-elected-last"}
    assert f"rules fixed with {RULE} of test_changed.py:" in str(found)
    assert found.document["changes"] == [changed().changes[0]]


def test_the_shipped_system_stays_as_it_is() -> None:
    """Whoever replaces a rule changes his own system alone, also while another thread runs with his rule."""
    plain, own = subject("elections", "tiny", {}, "fixed"), changed()
    before = program_of(plain.system)
    found: list[str] = []
    threads = [threading.Thread(target=lambda s=one: found.append(program_of(s))) for one in (own, plain.system) * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found.count(before) == 2
    assert len(set(found)) == 2
    assert program_of(plain.system) == before


def test_two_changes_of_one_rule_stand_side_by_side() -> None:
    """Two systems replace the same rule by different ones, and each runs with its own."""

    def nobody(self: Any, rules: Any) -> Any:
        return self.isr.minus(self.isr)

    first, second = changed(), changed(nobody)
    programs = [program_of(one) for one in (first, second, first, second)]
    assert programs[:2] == programs[2:]
    assert programs[0] != programs[1]


def test_several_rules_are_replaced_in_one_system() -> None:
    """Overrides add up, and the title names each."""

    def no_member(c: Any, rules: Any) -> Any:
        return False

    both = changed().override("election.last-known.alive", no_member)
    assert len(both.changes) == 2
    assert len({program_of(one) for one in (both, changed(), changed(no_member, "election.last-known.alive"))}) == 3


def test_ints_take_the_rule() -> None:
    """Engines on ints step by the replaced rule: the trace of the search is one of theirs, and no shipped one."""
    own = subject(changed(), "tiny", {}, None, ["elr-elected-last"])
    broken = kc.explore(changed(), scope="tiny", properties=["elr-elected-last"]).verdicts["elr-elected-last"]
    assert isinstance(broken, kc.Refuted)
    ends = []
    for system in (own.system, subject("elections", "tiny", {}, "fixed").system):
        actions = {action.name: action for action in Integers(system, own.setting).actions}
        state = broken.trace.initial
        for step in broken.trace.steps:
            state = actions[step.action].outcome(state, step.arguments).state
        ends.append(state == broken.trace.steps[-1].state)
    assert ends == [True, False]


@pytest.mark.parametrize("bounds", [{}, {"brokers": kc.ANY}], ids=["two brokers", "any number"])
def test_a_proof_reads_the_rule(bounds: dict[str, int]) -> None:
    """What a prover reads of a changed system, for any number of brokers too, is another theory."""
    found = []
    for system in (changed(), kc.kafka("elections", base="fixed")):
        of = subject(system, "tiny", bounds, "fixed", proof=True)
        found.append(fingerprint(theory(of.system, of.setting).program))
    assert found[0] != found[1]


def by_shape(state: Any) -> Any:
    """Whether the leader is in the ISR, asked of states of few brokers alone."""
    return True if hasattr(state.replicas, "ranks") else kc.implies(state.leader >= 0, state.isr.has(state.leader))


def of_each(state: Any) -> Any:
    """The same of each state."""
    return kc.implies(state.leader >= 0, state.isr.has(state.leader))


PLAIN = kc.kafka("elections", base="fixed")
ASKED_BY_SHAPE = {
    "property led": PLAIN.property(kc.always("led", "the leader is in the ISR", by_shape)),
    "action fence, guard": PLAIN.guard("fence", lambda state, broker: by_shape(state)),
}
"""Systems with a part that says nothing of any number, by the part."""


@pytest.mark.parametrize("part", ASKED_BY_SHAPE)
def test_what_is_added_goes_one_way_for_any_number(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a user adds to a shipped system is compared with few for any number, where a rule goes another way there."""
    monkeypatch.setattr(request, "NUMBERS", 1)
    monkeypatch.setattr(traced_sample, "asked_of_shape", lambda way: "")
    with pytest.raises(Refusal, match=f"test_changed.py:[0-9]+: {part} goes another way with brokers 2"):
        request.ProofRequest(ASKED_BY_SHAPE[part], "tiny", {"brokers": kc.ANY}, "fixed").compare()


def test_a_rule_that_is_added_asks_no_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that tells any number by a shape is refused, also where it takes the same way."""
    monkeypatch.setattr(request, "NUMBERS", 1)
    few = kc.always("few", "at most 3 are in sync", lambda state: kc.any_of(
        kc.all_of(hasattr(state.replicas, "ranks"), of_each(state)), state.isr.size() <= 3))  # fmt: skip
    with pytest.raises(Refusal, match=r"test_changed.py:[0-9]+: it asks hasattr: property few may tell few from any"):
        request.ProofRequest(PLAIN.property(few), "tiny", {"brokers": kc.ANY}, "fixed").compare()


def test_a_property_of_ones_own_is_asked_for_any_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shipped system with a property added is compared with few brokers, whose states have other fields."""
    monkeypatch.setattr(request, "NUMBERS", 1)
    follow, few = traced_sample._Ways.compare_rules, list[int]()
    monkeypatch.setattr(traced_sample._Ways, "compare_rules",
                        lambda self, of: few.append(of.program.setting["brokers"]) or follow(self, of))  # fmt: skip
    own = PLAIN.property(kc.always("led", "the leader is in the ISR", of_each))
    request.ProofRequest(own, "tiny", {"brokers": kc.ANY}, "fixed").compare()
    assert few == [2]


def test_a_change_that_changes_nothing_is_refused(tmp_path: Path) -> None:
    """A verdict about a rule that is as it was would be one about the shipped system: the command refuses it."""
    (tmp_path / "mykip.py").write_text(
        "import kraftcheck as kc\n\n\ndef same(self, rules, rule):\n    return rule(self, rules)\n\n\n"
        f'KIP = kc.kafka("elections", base="fixed").override("{RULE}", same)\n'
    )
    ran = kraftcheck("explore", f"{tmp_path}/mykip.py:KIP", "--scope", "tiny", "--quiet")
    assert ran.refusal().startswith(f"mykip.py:4: in the place of {RULE} it changes nothing in ")
    assert f"with {RULE} of mykip.py:4" in kraftcheck("list", f"{tmp_path}/mykip.py:KIP").out


def _now_and_then(self: Any, rules: Any, rule: Any) -> Any:
    return self.elr if next(TICKS) % 2 else rule(self, rules)


def _leaderless(state: Any) -> Any:
    object.__setattr__(state, "leader", -1)
    return state


TICKS = itertools.count()
OWN = r"^test_changed.py:\d+: "


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda: changed(_now_and_then), "action .*, effect gave two answers to the same question.* calls$"),
        (lambda: changed(lambda self, rules, rule: self.elr if self.isr.is_empty() else rule(self, rules)),
         "a symbolic word was used as a condition"),
        (lambda: changed(lambda self, rules, rule: self.elr if type(self.leader) in (int,) else rule(self, rules)),
         ".* on ints"),
        (lambda: PLAIN.action(kc.Action("nap", _leaderless)), "action nap, effect changes the state"),
        (lambda: PLAIN.action(lambda setting: kc.Action("", _leaderless)), "'' is no name of an action"),
        (lambda: PLAIN.property(lambda setting: kc.always("a\tb", "", _leaderless)), "'a.*b' is no id of a property"),
        (lambda: PLAIN.scope("", brokers=2), "'' is no name of a scope"),
    ],
)
def test_a_fault_of_a_change_begins_with_its_line(make: Callable[[], kc.System], fault: str) -> None:
    """What tracing finds, in the change or in a shipped action that calls it, begins with the author's file and
    line."""
    with pytest.raises(kc.Refusal, match=OWN + fault) as refused:
        program(subject(make(), "tiny", {}, "fixed"))
    assert "triggers.py" not in str(refused.value)


@pytest.mark.parametrize(
    ("rule", "by", "fault"),
    [
        ("election.elr.only-when-isr-emtpy", isr_and_elr, f"no rule has the id .*did you mean {RULE}"),
        (RULE, lambda self: self.isr, r"which takes \(self, rules\), it takes \(self\); give it the same parameters"),
        (RULE, len, "is no function; write one with def or lambda"),
    ],
)
def test_what_cannot_replace_a_rule_is_refused(rule: str, by: Any, fault: str) -> None:
    """An unknown id, other parameters and what is no function are refused with the mend."""
    with pytest.raises(RuleError, match=fault):
        changed(by, rule)


def test_a_changed_system_says_what_it_is() -> None:
    """Its text names the system, the rule set and the change with its line, in one line."""
    assert re.fullmatch(rf"kraftcheck\.kafka\('elections', base='fixed'\) with {RULE} of test_changed\.py:\d+",
                        repr(changed()))  # fmt: skip


def test_a_rule_is_replaced_once() -> None:
    """A second function for the same rule is refused, by the place of the first."""
    with pytest.raises(RuleError, match=r"test_changed.py:\d+ replaces the rule .* already; replace it once"):
        changed().override(RULE, as_it_is)


@pytest.mark.parametrize(
    ("name", "base", "fault"),
    [("election", "fixed", "did you mean elections"), ("elections", "kafka-4.9", "unknown rule set")],
)
def test_a_base_that_there_is_not_is_refused(name: str, base: str, fault: str) -> None:
    """A system and a rule set that do not exist are refused with the nearest names."""
    with pytest.raises(kc.Refusal, match=fault):
        kc.kafka(name, base=base)


def test_a_rule_that_is_replaced_by_itself_is_the_same() -> None:
    """A function, a method and a rule with many parameters, replaced by what calls them, give the same program."""
    before = program_of(kc.kafka("elections", base="fixed"))
    kinds = ("election.clean.keeps-valid-leader", "elr.within-replicas", RULE)
    for rule in kinds:
        names = ", ".join(inspect.signature(NOTED[rule]).parameters)
        scope: dict[str, Any] = {}
        exec(f"def same({names}, rule):\n    return rule({names})\n", scope)
        assert program_of(changed(scope["same"], rule)) == before, rule
