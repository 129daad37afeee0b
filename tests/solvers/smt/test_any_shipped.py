"""Proofs of `elections`, `replication` and `directories` for any number of brokers, and what defects do to them."""

import itertools
import time
from collections.abc import Sequence

import pytest

from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.model.language.system import ANY
from kraftcheck.solvers.smt.induction import obligations
from kraftcheck.solvers.smt.queries import PROVEN, UNDECIDED, Effort, Obligation
from kraftcheck.solvers.smt.smtlib import ActionQueries, second_answer
from kraftcheck.solvers.smt.theory import DOMAINS, INITIATION
from kraftcheck.solvers.smt.worker import proof_worker
from tests.shared.samples import one_in
from tests.solvers.smt.asking import is_possible, of_any, open_claims, session

SCOPES = {"elections": None, "replication": "tiny", "directories": "tiny"}

ONE_EPOCH = ("epochs", 1)  # the only change of the leader epoch that quick tests of `replication` look at

SAMPLE = [
    ("elections", "fence", ("isr-within-replicas", "leader-in-isr", "elr-within-replicas", "leader-active",
                            "clean-candidate-kept")),
    ("elections", INITIATION, ("leader-in-isr",)),
    ("replication", INITIATION, ()),
    ("replication", "produce", ("leader-complete", "consistent-reads", "acknowledged-survives")),
    ("directories", INITIATION, ()), ("directories", "apply_metadata", ()), ("directories", "promote", ()),
]  # fmt: skip
"""Actions, and what they keep; all invariants where nothing is named. All of all actions are proven by night."""


@pytest.mark.parametrize(("system", "action", "claims"), SAMPLE, ids=lambda one: one if isinstance(one, str) else "")
def test_an_action_keeps_what_is_claimed(system: str, action: str, claims: Sequence[str]) -> None:
    """Of any number of brokers a step, or a new topic, has the claims, and is possible at all."""
    of = of_any(system, SCOPES[system], "fixed", *[ONE_EPOCH] * (system == "replication"))
    assert open_claims(of, action, claims or [claim.id for claim in of.invariants]) == []
    assert is_possible(of, action)


@pytest.mark.slow
@pytest.mark.parametrize("system", SCOPES)
def test_every_action_is_possible_with_any_number(system: str) -> None:
    """From what the proofs about an action assume, false does not follow; columns of the table prove every claim.

    A move cannot be cancelled where only one is left.
    """
    of = of_any(system, SCOPES[system], "fixed", *[ONE_EPOCH] * (system == "replication"))
    for action in {one.action: None for one in obligations(of, [claim.id for claim in of.claims])}:
        assert is_possible(of, action) or action == "cancel_move", action


def test_the_time_of_a_query_is_that_of_all_its_rounds() -> None:
    """A query that needs several rounds is undecided where these together take longer than a query may."""
    of, asked, seconds = of_any("elections"), Obligation("elr-empty-at-min-isr", "assign"), itertools.count(step=20)
    assert session(of, "assign").ask(asked).result == PROVEN
    hurried = session(of, "assign", clock=lambda: next(seconds)).ask(asked)
    assert (hurried.result, hurried.reason) == (UNDECIDED, "timeout")


@pytest.mark.slow
def test_cvc5_confirms_queries_for_any_number() -> None:
    """A query in nine of `elections`, of every action some, is refuted by cvc5 too; so is none that denies nothing."""
    pytest.importorskip("cvc5")
    of, effort = of_any("elections"), Effort(timeout=60)
    named = [claim.id for claim in of.invariants]
    wanted = [o for o in obligations(of, [claim.id for claim in of.claims]) if o.claim not in DOMAINS]
    actions = {o.action: [one for one in wanted if one.action == o.action] for o in wanted}
    for action, asked in actions.items():
        queries = ActionQueries(of, action, True, named, effort, time.monotonic)
        sample = [queries.text(one) for one in asked[::9]]
        assert {second_answer("cvc5", text, effort) for text in sample} == {"unsat"}, action
    possible = sample[0].partition("(assert")[0] + "(check-sat)\n"
    assert second_answer("cvc5", possible, effort) == "sat"


ACTIONS = (
    "produce", "produce_acks_1", "fetch", "apply_metadata", "propose_expand", "propose_shrink", "receive_answer",
    "alter_partition", "fence", "unfence", "register", "elect_preferred", "crash",
)  # fmt: skip
"""All actions of `replication`."""


@pytest.mark.slow
@pytest.mark.parametrize("action", ACTIONS)
def test_every_claim_is_kept_with_two_changes_of_the_leader_epoch(action: str) -> None:
    """All of `replication` is proven of the action, from what three brokers use first; with one change by the table.

    No field leaves its domain, but that an election after the last leader epoch is left out.
    """
    request = ProofRequest("replication", "tiny", {"brokers": ANY, "epochs": 2}, "fixed")
    of = proof_worker(request.build(), request.builders(), Effort(timeout=300), time.monotonic)
    subject = of.questions.subject
    assumed = [claim.id for claim in subject.invariants]
    answers = of.answer([Obligation(claim.id, action) for claim in subject.claims], assumed)
    assert [answer.obligation.claim for answer in answers if answer.result != PROVEN] == []
    (answer,) = of.answer([Obligation(DOMAINS[0], action)], assumed)
    assert {*answer.fields} <= {"leader_epoch", "brokers.epoch"}
    assert answer.faults == ()


def test_the_actions_are_all_that_there_are() -> None:
    """No action of `replication` is left out of the proof."""
    of = of_any("replication", "tiny", "fixed", ONE_EPOCH)
    assert sorted(kind.action.name for kind in of.program.kinds) == sorted(ACTIONS)


BROKEN = [
    ("elections", "removed-replicas-stay-in-elr", "elr-within-replicas", ""),
    ("elections", "elr-keeps-isr-members", "isr-elr-disjoint", ""),
    ("elections", "elr-kept-at-min-isr", "elr-empty-at-min-isr", ""),
    ("elections", "every-restart-is-unclean", "clean-restart-keeps-elr", ""),
    ("elections", "dead-last-known-leader-electable", "leader-active", ""),
    ("elections", "fenced-leader-acceptable", "leader-active", ""),
    ("elections", "unregister-keeps-elr", "elr-registered", ""),
    ("elections", "retarget-keeps-old-reassignment", "adding-removing-disjoint", ""),
    ("directories", "promotion-ignores-offsets", "moves-keep-the-copy", "promote"),
    ("directories", "assignment-unauthorized", "assigned-by-its-broker", "intrude"),
    ("directories", "unfence-unasked", "unfenced-when-caught-up", "unfence"),
    ("directories", "unfence-ignores-assignments", "fenced-until-settled", "unfence"),
]
"""What a variant of a system breaks with few brokers, and by which action, if by one alone."""


@pytest.mark.parametrize("row", one_in(12, BROKEN), ids="-".join)
def test_a_defect_is_not_proven_away(row: tuple[str, str, str, str]) -> None:
    """What a rule variant breaks with few brokers is not proven for any number under it."""
    system, variant, claim, by = row
    of = of_any(system, SCOPES[system], f"fixed+{variant}")
    actions = [by] if by else [one.action for one in obligations(of, [claim])]
    assert any(open_claims(of, action, [claim], 5.0) for action in actions)


BROKEN_REPLICATION = [
    ("hw-uses-committed-isr-only", "fetch", "lemma-candidates-hold-committed"),
    ("truncation-keeps-watermark", "fetch", "watermark-within-log"),
    ("no-leader-epoch-start-check", "propose_expand", "lemma-proposed-has-caught-up"),
    ("refusal-taken-for-success", "receive_answer", "metadata-match"),
    ("leader-change-keeps-epoch", "elect_preferred", "epochs-monotone"),
    ("fenced-may-join-isr", "alter_partition", "isr-active"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("variant", "action", "claim"), BROKEN_REPLICATION)
def test_a_defect_of_replication_is_not_proven_away(variant: str, action: str, claim: str) -> None:
    """What a variant breaks is not proven for any number under it, and is by the right rules."""
    wrong, right = (of_any("replication", "tiny", rules, ONE_EPOCH) for rules in (f"fixed+{variant}", "fixed"))
    assert (open_claims(wrong, action, [claim]), open_claims(right, action, [claim])) == ([claim], [])


@pytest.mark.slow
def test_a_new_topic_without_any_bound_has_every_invariant() -> None:
    """Of any number of brokers, records and leader epochs a new topic satisfies every invariant, and can be."""
    of = of_any("replication", "tiny", "fixed", ("unbounded", 1))
    assert open_claims(of, INITIATION, [claim.id for claim in of.invariants]) == []
    assert is_possible(of, INITIATION)
    few = ProofRequest("replication", "tiny", {"brokers": ANY, "unbounded": 1}, "fixed").few()
    judged = [[claim.id for claim in one.claims if claim.id not in one.lemmas] for one in (few, of)]
    assert (judged[0], few.endless) == (judged[1], False)  # explorers take the epochs of few
