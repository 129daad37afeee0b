"""Claims that follow from others in every state, and fields of any number that may leave their domain."""

import time
from collections.abc import Sequence
from typing import Any

import pytest
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.model.language.layout import Range
from kraftcheck.model.language.system import ANY
from kraftcheck.solvers.program.parts import SystemFault
from kraftcheck.solvers.smt.induction import checked, prove
from kraftcheck.solvers.smt.queries import PROVEN, Effort, Obligation, ObligationAnswer, Questions
from kraftcheck.solvers.smt.reading.goals.prover import GoalProver
from kraftcheck.solvers.smt.theory import DOMAINS, INITIATION, theory
from kraftcheck.solvers.smt.worker import rests_on
from tests.shared.any_number import LEASE, NOBODY, Lease, lease
from tests.solvers.smt.asking import any_theory

EFFORT = Effort(timeout=30)


def _fenced_means_nobody(state: Lease) -> kc.Truth:
    return kc.implies(state.fenced.has(state.leader), state.leader == NOBODY)


def with_claim(
    follows_from: Sequence[str], claim: object = _fenced_means_nobody, system: kc.System = LEASE
) -> kc.System:
    """A lease with one more invariant, `more`, that is said to follow from others."""
    more = kc.always("more", "more of the lease", claim, follows_from=tuple(follows_from))  # type: ignore[arg-type]
    return evolve(system, properties=lambda setting: [*system.properties(setting), more])


def consequence(system: kc.System, *assumed: str) -> ObligationAnswer | None:
    """The answer to whether `more` follows after `fence`, where some invariants may be assumed."""
    asked = GoalProver(Questions(any_theory(system)), EFFORT, time.monotonic)
    return asked.from_others(Obligation("more", "fence"), assumed)


def quantify(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every theory is asked with quantifiers."""
    monkeypatch.setattr(GoalProver, "is_needed", True)


def test_what_follows_is_proven_and_rests_on_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """A weaker claim follows, and its proof names what it rests on, after the step."""
    quantify(monkeypatch)
    answer = consequence(with_claim(["leader-unfenced"]), "leader-unfenced", "more")
    assert answer is not None
    assert (answer.result, answer.core) == (PROVEN, ("invariant after the step: leader-unfenced",))
    assert rests_on(answer) == ["leader-unfenced"]


@pytest.mark.parametrize(("follows_from", "assumed"), [((), ("leader-unfenced",)), (("leader-unfenced",), ("more",))])
def test_nothing_follows_from_what_is_not_assumed(
    follows_from: Sequence[str], assumed: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A claim that follows from nothing, or from what has fallen, has no such answer."""
    quantify(monkeypatch)
    assert consequence(with_claim(follows_from), *assumed) is None


def test_what_does_not_follow_is_not_said_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim that the others do not imply has no such answer."""
    quantify(monkeypatch)
    stronger = with_claim(["leader-unfenced"], lambda state: state.leader == NOBODY)
    assert consequence(stronger, "leader-unfenced", "more") is None


def test_initial_states_are_asked_for_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the others imply after a step says nothing of initial states."""
    quantify(monkeypatch)
    asked = GoalProver(Questions(any_theory(with_claim(["leader-unfenced"]))), EFFORT, time.monotonic)
    assert asked.from_others(Obligation("more", INITIATION), ["leader-unfenced"]) is None


def test_few_claims_are_asked_of_each_action() -> None:
    """Where quantifiers are not needed no claim is shown to follow from others."""
    assert consequence(with_claim(["leader-unfenced"]), "leader-unfenced", "more") is None


@pytest.mark.parametrize("forgets", [False, True])
def test_what_follows_falls_with_the_others(forgets: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim is proven with the one that it follows from, and not where that is refuted."""
    quantify(monkeypatch)
    system = with_claim(["leader-unfenced"], system=lease(forgets))
    few = theory(system, system.setting(None, {}))
    proof = prove(lambda: any_theory(system), effort=EFFORT, clock=time.monotonic, few=[lambda: few])
    assert [proof.proven(name) for name in ("leader-unfenced", "more")] == [not forgets] * 2


def test_a_claim_asked_for_alone_falls_with_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a claim follows from is asked too where only that claim is wanted, and it falls with these."""
    quantify(monkeypatch)
    system = with_claim(["leader-unfenced"], system=lease(forgets=True))
    few = theory(system, system.setting(None, {}))
    proof = prove(lambda: any_theory(system), effort=EFFORT, clock=time.monotonic, few=[lambda: few], only=["more"])
    assert not proof.proven("more")
    assert "leader-unfenced" in proof.unproven


@pytest.mark.parametrize("around", [["more"], ["leader-unfenced", "more"]])
def test_claims_that_follow_from_each_other_are_refused(around: list[str]) -> None:
    """What follows from itself would be proven of nothing; the error names the claims."""
    system = with_claim(around)
    with pytest.raises(SystemFault, match=r"follow from each other prove nothing: more <- more; leave one"):
        any_theory(system)


def test_a_proof_rests_on_nothing_that_has_fallen_since() -> None:
    """What a step leaves as it is was shown by invariants that are assumed no longer: so it is shown anew."""
    subject = ProofRequest("replication", "tiny", {"brokers": ANY, "unbounded": 1}, "fixed").build()
    asked, names = GoalProver(Questions(subject), EFFORT, time.monotonic), [one.id for one in subject.invariants]
    obligation = Obligation("lemma-nobody-is-ahead", "alter_partition")
    before = asked.from_before(obligation, [], [], [], names)
    assert {*rests_on(before)} - {obligation.claim}
    after = asked.from_before(obligation, [], [], [], [obligation.claim])
    assert {*rests_on(after)} <= {obligation.claim}


def test_a_proof_that_rests_on_what_is_not_assumed_is_a_defect() -> None:
    """Such an answer ends the proof, before or after the step; one that rests on what is assumed does not."""
    obligation = Obligation("more", "fence")
    for core in ("invariant: fallen", "invariant after the step: fallen"):
        answer = ObligationAnswer(obligation, PROVEN, 0.0, (core,))
        assert checked(answer, ["fallen"]) is answer
        with pytest.raises(AssertionError, match="fallen"):
            checked(answer, ["more"])


def test_what_is_said_to_follow_does_so_of_any_number() -> None:
    """Every claim of `replication` that is said to follow from others does, without any bound."""
    subject = ProofRequest("replication", "tiny", {"brokers": ANY, "unbounded": 1}, "fixed").build()
    asked, names = GoalProver(Questions(subject), EFFORT, time.monotonic), [one.id for one in subject.invariants]
    following = [one for one in subject.invariants if one.follows_from]
    answers = [asked.from_others(Obligation(one.id, "fetch"), names) for one in following]
    assert [answer.result for answer in answers if answer is not None] == [PROVEN] * 7
    assert [{*rests_on(answer)} for answer in answers if answer] == [{*one.follows_from} for one in following]


CAP = "more of it is not looked at"


@frozen
class Tank:
    """Who may open it, its level, which must stay in its domain, and what is spilt, which is looked at up to a cap."""

    keys: Any
    level: Any
    spilt: Any


STEPS = {
    "keep": lambda s: evolve(s, level=kc.choose(s.level < 3, s.level + 1, 0)),
    "over": lambda s: evolve(s, level=s.level + 1),
    "spill": lambda s: evolve(s, spilt=s.spilt + 1),
    "all": lambda s: evolve(s, level=s.level + 1, spilt=s.spilt + 1),
    "under": lambda s: evolve(s, spilt=s.spilt - 1),
    "double": lambda s: evolve(s, level=s.level + s.level),
}


def prover() -> GoalProver:
    """What proves goals about any number of keys."""
    system = kc.System(
        name="tank", summary="A tank.", bounds=[kc.Bound("n", 1, 5, "how many keys", takes_any=True)],
        layout=lambda at: Tank(kc.set_below(at["n"]), Range(0, 3), Range(0, 2, cap=CAP)),
        initial=lambda setting: [kc.all_where(lambda s: {"empty": kc.all_of(s.level == 0, s.spilt == 0)})],
        properties=[kc.always("low", "the level is low", lambda s: s.level <= 1)],
        actions=[kc.Action(name, step) for name, step in STEPS.items()], scopes={"default": {"n": 2}},
    )  # fmt: skip
    return GoalProver(Questions(any_theory(system)), Effort(), time.monotonic)


@pytest.mark.parametrize(("action", "assumed", "left", "beyond_caps"), [
    ("keep", [], (), ()), ("over", [], ("level",), ("level",)), ("over", ["low"], (), ()),
    ("spill", [], ("spilt",), ()), ("all", [], ("level", "spilt"), ("level",)), ("all", ["low"], ("spilt",), ()),
    ("under", [], ("spilt",), ("spilt",)), ("double", [], ("level",), ("level",)), ("double", ["low"], (), ()),
])  # fmt: skip
def test_just_the_fields_that_a_step_may_take_out_of_their_domains_are_told(
    action: str, assumed: Sequence[str], left: tuple[str, ...], beyond_caps: tuple[str, ...]
) -> None:
    """That no field leaves is proven just where none does, from what may be assumed; beyond a cap a field may go."""
    asked, obligation = prover(), Obligation(DOMAINS[0], action)
    answer = asked.domains(obligation, assumed)
    assert (answer.result == PROVEN, rests_on(answer)) == (
        not beyond_caps, list(assumed) if not beyond_caps else [])  # fmt: skip
    assert asked.fields_left(obligation, assumed)[0] == left
    assert asked.fields_left(obligation, assumed, or_capped=True)[0] == beyond_caps
