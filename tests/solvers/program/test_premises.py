"""A claim whose premise nothing reachable satisfies is vacuous: it says nothing, and is no pass."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve

import kraftcheck as kc
from kraftcheck.model.language.system import Action, Property
from kraftcheck.solvers.audit.sampling import Sampling
from kraftcheck.solvers.exploration.explore import SearchBudget, explore
from kraftcheck.solvers.program.premises import NO_CONTENT, NO_STATE, NO_STEP, hidden_goals, without_premises
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds, Refuted, Vacuous, Verdict, exit_code
from kraftcheck.solvers.walks.walker import WalkPlan
from kraftcheck.solvers.walks.walks import simulate
from tests.shared.shelf import COUNT, SHELF, Shelf, claiming, doing, explored

Claim = Callable[[Any], Any]


def never(s: Shelf) -> Any:
    """A truth that no reachable state of the shelf has, and that its domains allow: y stays 7."""
    return s.y == 3


def judged(claim: Claim, kind: str = "always") -> Verdict:
    """The verdict of one claim about the shelf, each state and step of which is compared with ints."""
    system = claiming(claim, kind)
    found = explore(trace(system, system.setting()), SearchBudget(sampling=Sampling(states=1000)), clock=time.monotonic)
    return found.verdict("claim").verdict


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        (lambda s: kc.implies(never(s), s.x == 0), Vacuous),
        (lambda s: kc.implies(s.x == 7, s.y == 7), Holds),
        (lambda s: kc.implies(s.x == 7, s.y == 6), Refuted),
        (lambda s: kc.implies(s.x > 1, kc.implies(s.x < 5, s.y == 7)), Holds),
        (lambda s: kc.implies(s.x == 1, kc.implies(s.x == 2, s.y == 6)), Vacuous),
        (lambda s: kc.implies(s.x == 7, kc.all_of(kc.implies(never(s), s.flag), kc.negate(s.flag))), Holds),
        (lambda s: kc.all_of(kc.implies(never(s), s.flag), kc.implies(s.flag, s.x == 0)), Vacuous),
        (lambda s: kc.all_of(kc.implies(never(s), s.flag), kc.implies(s.x == 2, s.y == 7)), Holds),
        (lambda s: {"one": kc.implies(never(s), s.flag), "two": s.y == 7}, Holds),
        (lambda s: {"one": kc.implies(never(s), s.flag), "two": kc.implies(s.flag, s.x == 1)}, Vacuous),
        (lambda s: kc.each(s.members, lambda m: kc.implies(s.pair[1] == 2, m == 0)), Vacuous),
        (lambda s: kc.each(s.members, lambda m: m == 0), Holds),
        (lambda s: kc.implies(s.flag, False), Holds),
        (lambda s: kc.any_of(kc.negate(never(s)), s.flag), Vacuous),
        (lambda s: kc.any_of(s.flag, kc.negate(s.x == 7), kc.negate(never(s)), s.x == 1), Vacuous),
        (lambda s: kc.any_of(s.y == 6, kc.negate(s.x == 7), s.y == 7), Holds),
        (lambda s: kc.any_of(kc.negate(never(s)), kc.negate(s.x == 1)), Holds),
        (lambda s: kc.any_of(kc.negate(never(s)), kc.negate(s.flag)), Vacuous),
        (lambda s: kc.any_of(kc.negate(s.x == 1), kc.implies(s.x == 2, s.y == 6)), Vacuous),
        (lambda s: kc.any_of(s.y != 3, s.flag), Holds),
        (lambda s: s.x <= 7, Vacuous),
        (lambda s: True, Vacuous),
    ],
    ids=[
        "never", "once", "refuted", "nested", "nested, never both", "a conjunct below", "two that are never",
        "one of two", "a part without a premise", "parts that are never", "each, never", "each", "a negation",
        "a disjunction, never", "both never", "a disjunction", "negations, once", "negations, never",
        "a disjunction, nested", "unequal",
        "the domains", "a constant",
    ],
)  # fmt: skip
def test_a_claim_needs_a_state_that_it_speaks_of(claim: Claim, verdict: type) -> None:
    """It is vacuous where no state satisfies a premise of it; a refuted one stays refuted, and any other holds."""
    assert type(judged(claim)) is verdict


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        (lambda t: kc.implies(never(t.before), t.after.x == 0), Vacuous),
        (lambda t: kc.implies(t.before.x == 7, t.after.x == 0), Holds),
        (lambda t: kc.implies(t.before.x == 7, t.after.x == 1), Refuted),
        (lambda t: kc.implies(t.action == "count", kc.implies(t.after.flag, t.after.x == 0)), Vacuous),
        (lambda t: kc.implies(t.before.x < 7, t.after.x == t.before.x + 1), Holds),
        (lambda t: kc.any_of(kc.negate(never(t.before)), t.after.x == 0), Vacuous),
        (lambda t: t.after.y == t.before.y, Holds),
    ],
    ids=["never", "once", "refuted", "of an action, never", "by the rule", "a disjunction, never", "by the rule alone"],
)
def test_a_claim_needs_a_step_that_it_speaks_of(claim: Claim, verdict: type) -> None:
    """It is vacuous where no step satisfies a premise; what the rules alone make true of each step holds."""
    assert type(judged(claim, "step")) is verdict


def test_an_action_that_never_happens_is_no_case() -> None:
    """A claim about the steps of one action is vacuous where that action is never enabled, and holds where it is."""
    for enabled, verdict in ((lambda s: s.y == 3, Vacuous), (lambda s: s.x < 3, Holds)):
        system = evolve(
            doing(lambda s: evolve(s, x=s.x + 1), guard=enabled), properties=lambda setting: [
                Property("claim", "step", "C.", lambda t: kc.implies(t.action == "act", t.before.order.has(0))),
            ],
        )  # fmt: skip
        system = evolve(system, actions=lambda setting, one=system: [*one.actions(setting), *SHELF.actions(setting)])
        assert type(explored(system).verdict("claim").verdict) is verdict


def test_another_claim_shows_nothing_of_this_one() -> None:
    """The contraposition of a claim is the same term; what it speaks of is no case of the claim."""
    claims = [
        Property("one", "always", "O.", lambda s: kc.implies(never(s), s.flag)),
        Property("other", "always", "O.", lambda s: kc.implies(kc.negate(s.flag), kc.negate(never(s)))),
    ]
    for order in (claims, claims[::-1]):
        found = explored(evolve(SHELF, properties=lambda setting, order=order: order))
        assert [type(found.verdict(claim.id).verdict) for claim in claims] == [Vacuous, Holds]


def test_what_a_rule_makes_true_has_a_premise_too() -> None:
    """A claim that one action satisfies by its rule speaks of its steps where their premise holds."""
    other = Action("act", lambda s: evolve(s, y=kc.choose(s.x == 3, 7, 6)), guard=lambda s: s.x == 3)
    for reached, verdict in ((1, Holds), (9, Vacuous)):
        claim = Property("claim", "step", "C.", lambda t, x=reached: kc.implies(
            kc.all_of(t.before.x == x % 8, t.before.y == (7 if x < 8 else 3)), t.after.y == t.before.y))  # fmt: skip
        system = evolve(SHELF, actions=lambda setting: [COUNT, other], properties=lambda setting, one=claim: [one])
        assert type(explored(system).verdict("claim").verdict) is verdict


def test_the_reason_and_the_exit_code_are_those_of_a_vacuous_claim() -> None:
    """The verdict says what was not reached, and its exit code is 21."""
    reasons = {}
    for kind, claim in (
        ("always", lambda s: kc.implies(never(s), s.flag)),
        ("step", lambda t: kc.implies(never(t.after), t.after.flag)),
        ("always ", lambda s: s.x < 8),
    ):  # fmt: skip
        verdict = judged(claim, kind.strip())
        assert isinstance(verdict, Vacuous)
        assert exit_code(verdict) == 21
        reasons[kind] = verdict.reason
    assert reasons == {"always": NO_STATE, "step": NO_STEP, "always ": NO_CONTENT}


def test_a_search_that_was_cut_says_nothing_of_premises() -> None:
    """Where states were left out the premise may hold in one of them: incomplete, not vacuous."""
    system = claiming(lambda s: kc.implies(s.x == 7, s.y == 7))
    cut = explore(trace(system, system.setting()), SearchBudget(max_depth=2), clock=time.monotonic)
    assert exit_code(cut.verdict("claim").verdict) == 20


def test_claims_of_a_shipped_system_hold_with_a_warning() -> None:
    """A claim that is judged leniently holds, and the warning names it; any other claim of the system is vacuous."""
    claims = [
        Property(name, "always", "O.", lambda s, flag=flag: kc.implies(never(s), s.flag == flag))
        for name, flag in (("ours", True), ("theirs", False))
    ]
    system = evolve(SHELF, properties=lambda setting: claims)
    program = evolve(trace(system, system.setting()), lenient=frozenset({"ours"}))
    found = explore(program, clock=time.monotonic)
    assert [type(found.verdict(claim.id).verdict) for claim in claims] == [Holds, Vacuous]
    assert found.warnings == (f"ours holds of nothing here: {NO_STATE}",)


def test_goals_of_premises_are_hidden() -> None:
    """They are judged beside the claims, and are no claim, no verdict, and no goal of random walks."""
    system = claiming(lambda s: kc.implies(never(s), s.flag))
    program = trace(system, system.setting())
    assert [goal.id for goal in hidden_goals(program)] == ["premise of claim"]
    assert [claim.id for claim in program.claims] == ["claim"]
    bare = without_premises(program)
    assert (hidden_goals(bare), bare.sometimes, bare.premises) == ((), (), {})
    assert [one.claim for one in explore(program, clock=time.monotonic).verdicts] == ["claim", "deadlock"]
    assert simulate(program, WalkPlan(2, 3, 1), clock=time.monotonic).goals_missed == ()
