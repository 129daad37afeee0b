"""Steps of `replication` without any bound: claims of which instances have no answer, and what they rest on."""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping

import pytest

from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.model.language.bound import ANY
from kraftcheck.solvers.smt.queries import DOMAINS, PROVEN, Effort, Obligation, Questions
from kraftcheck.solvers.smt.session import SolverSession
from kraftcheck.solvers.smt.theory import Theory
from kraftcheck.solvers.smt.worker import proof_worker
from tests.shared.samples import one_in
from tests.solvers.smt.reading.test_premises import ACTIONS

EFFORT = Effort(timeout=60)

REQUEST = ProofRequest("replication", "tiny", {"brokers": ANY, "unbounded": 1}, "fixed")

RESTS_ON: Mapping[tuple[str, str], str] = {
    ("alter_partition", "lemma-known-covers-candidates"):
        "lemma-controller-elr-empty-at-min-isr lemma-controller-leader-in-isr lemma-history-is-current "
        "lemma-nobody-is-ahead lemma-one-min-isr lemma-request-is-the-leaders metadata-match",
    ("apply_metadata", "candidates-complete"):
        "lemma-commits-reach-candidates lemma-controller-elr-empty-at-min-isr lemma-controller-elr-within-replicas "
        "lemma-controller-isr-within-replicas lemma-controller-leader-is-replica lemma-fetched-is-held "
        "lemma-history-is-current lemma-logs-sorted",
    ("apply_metadata", "leader-complete"):
        "lemma-commits-reach-candidates lemma-controller-leader-in-isr lemma-controller-leader-is-replica "
        "lemma-history-is-current",
    ("apply_metadata", "lemma-candidates-hold-committed"):
        "lemma-commits-reach-candidates lemma-controller-elr-empty-at-min-isr lemma-controller-elr-within-replicas "
        "lemma-controller-isr-within-replicas lemma-controller-leader-in-isr lemma-controller-leader-is-replica "
        "lemma-fetched-is-held lemma-history-is-current lemma-request-is-the-leaders lemma-requests-name-replicas",
    ("apply_metadata", "lemma-committed-is-known"):
        "lemma-commits-reach-candidates lemma-controller-leader-in-isr lemma-controller-leader-is-replica "
        "lemma-history-is-current lemma-leaders-hold-committed lemma-logs-sorted lemma-no-record-of-the-future "
        "watermark-within-log",
    ("apply_metadata", "lemma-known-covers-candidates"):
        "lemma-controller-elr-empty-at-min-isr lemma-one-min-isr",
    ("apply_metadata", "lemma-log-matching"):
        "lemma-leaders-hold-committed lemma-logs-sorted",
    ("apply_metadata", "quorum-superset"):
        "lemma-controller-elr-empty-at-min-isr",
    ("fetch", "acknowledged-survives"):
        "lemma-acknowledged-is-committed lemma-candidates-hold-committed lemma-commits-reach-candidates "
        "lemma-elr-as-configured lemma-ends-within-log lemma-history-is-current lemma-leaders-hold-committed "
        "lemma-living-quorum lemma-log-matching lemma-logs-sorted lemma-nobody-is-ahead lemma-shown-is-committed "
        "watermark-within-log",
    ("fetch", "candidates-complete"):
        "lemma-commits-reach-candidates lemma-history-is-current lemma-leaders-hold-committed lemma-log-matching "
        "lemma-logs-sorted",
    ("fetch", "consistent-reads"):
        "lemma-commits-reach-candidates lemma-log-matching lemma-logs-sorted lemma-shown-is-committed "
        "watermark-within-log",
    ("fetch", "leader-complete"):
        "lemma-commits-reach-candidates lemma-controller-leader-in-isr lemma-ends-within-log "
        "lemma-history-is-current lemma-leaders-hold-committed lemma-log-matching lemma-logs-sorted "
        "lemma-nobody-is-ahead",
    ("fetch", "lemma-candidates-hold-committed"):
        "lemma-commits-reach-candidates lemma-ends-within-log lemma-leaders-hold-committed lemma-log-matching "
        "lemma-logs-sorted lemma-nobody-is-ahead",
    ("fetch", "lemma-committed-is-known"):
        "lemma-commits-reach-candidates lemma-logs-sorted lemma-no-record-of-the-future lemma-nobody-is-ahead "
        "watermark-within-log",
    ("fetch", "lemma-fetched-is-held"):
        "lemma-ends-within-log lemma-fetched-means-applied lemma-log-matching lemma-logs-sorted "
        "lemma-nobody-is-ahead",
    ("fetch", "lemma-log-matching"):
        "lemma-commits-reach-candidates lemma-logs-sorted",
    ("fetch", "lemma-logs-sorted"):
        "lemma-commits-reach-candidates lemma-log-matching",
    ("fetch", "lemma-proposed-has-caught-up"):
        "lemma-ends-within-log lemma-fetched-is-held lemma-history-is-current lemma-logs-sorted "
        "lemma-request-is-the-leaders watermark-within-log",
    ("fetch", "lemma-shown-is-committed"):
        "lemma-commits-reach-candidates lemma-ends-within-log lemma-log-matching lemma-logs-sorted "
        "watermark-within-log",
    ("fetch", "logs-match"):
        "consistent-reads lemma-commits-reach-candidates lemma-log-matching lemma-logs-sorted "
        "lemma-shown-is-committed watermark-within-log",
    ("produce", "lemma-log-matching"):
        "lemma-commits-reach-candidates lemma-leader-has-its-epoch lemma-logs-sorted",
    ("propose_expand", "acknowledged-survives"):
        "lemma-acknowledged-is-committed lemma-candidates-hold-committed lemma-commits-reach-candidates "
        "lemma-elr-as-configured lemma-ends-within-log lemma-living-quorum lemma-logs-sorted "
        "lemma-shown-is-committed watermark-within-log",
    ("propose_expand", "lemma-candidates-hold-committed"):
        "lemma-commits-reach-candidates lemma-committed-is-known lemma-controller-leader-in-isr "
        "lemma-fetched-is-held lemma-history-is-current lemma-logs-sorted metadata-match",
    ("propose_expand", "lemma-committed-is-known"):
        "lemma-commits-reach-candidates lemma-logs-sorted lemma-no-record-of-the-future lemma-nobody-is-ahead",
    ("propose_expand", "lemma-log-matching"):
        "lemma-commits-reach-candidates lemma-logs-sorted",
    ("propose_expand", "lemma-logs-sorted"):
        "lemma-commits-reach-candidates",
    ("propose_expand", "logs-match"):
        "consistent-reads lemma-commits-reach-candidates lemma-logs-sorted watermark-within-log",
    ("propose_shrink", "lemma-candidates-hold-committed"):
        "lemma-commits-reach-candidates lemma-ends-within-log metadata-match",
    ("receive_answer", "acknowledged-survives"):
        "lemma-acknowledged-is-committed lemma-candidates-hold-committed lemma-commits-reach-candidates "
        "lemma-elr-as-configured lemma-ends-within-log lemma-living-quorum lemma-logs-sorted "
        "lemma-shown-is-committed watermark-within-log",
    ("receive_answer", "candidates-complete"):
        "lemma-commits-reach-candidates",
    ("receive_answer", "consistent-reads"):
        "lemma-commits-reach-candidates lemma-logs-sorted watermark-within-log",
    ("receive_answer", "leader-complete"):
        "lemma-commits-reach-candidates lemma-controller-leader-in-isr lemma-history-is-current",
    ("receive_answer", "lemma-candidates-hold-committed"):
        "lemma-commits-reach-candidates lemma-log-matching lemma-logs-sorted",
    ("receive_answer", "lemma-committed-is-known"):
        "lemma-commits-reach-candidates lemma-logs-sorted lemma-no-record-of-the-future lemma-nobody-is-ahead",
    ("receive_answer", "lemma-log-matching"):
        "lemma-commits-reach-candidates lemma-logs-sorted",
    ("receive_answer", "lemma-logs-sorted"):
        "lemma-commits-reach-candidates",
    ("receive_answer", "lemma-shown-is-committed"):
        "lemma-commits-reach-candidates lemma-logs-sorted watermark-within-log",
    ("receive_answer", "logs-match"):
        "consistent-reads lemma-commits-reach-candidates lemma-logs-sorted watermark-within-log",
    ("register", "lemma-leaders-hold-committed"):
        "candidates-complete lemma-controller-leader-in-isr lemma-elr-as-configured lemma-history-is-current",
    ("unfence", "lemma-living-quorum"):
        "lemma-controller-elr-within-replicas lemma-controller-last-known-is-no-vacancy lemma-deaths-are-counted "
        "recovery-quorum",
}  # fmt: skip
"""By action and claim the invariants that a proof used, besides the claim itself."""


@functools.cache
def endless() -> Theory:
    """The theory of any number of brokers, records and leader epochs."""
    return REQUEST.build()


@pytest.mark.parametrize("step", one_in(len(RESTS_ON), RESTS_ON), ids="-".join)
def test_a_claim_is_kept_without_any_bound(step: tuple[str, str]) -> None:
    """The claim is proven of the step, with quantifiers, from the invariants that it rests on."""
    of, (action, claim) = endless(), step
    questions, names = Questions(of), {claim, *RESTS_ON[action, claim].split()}
    assumed = [one.id for one in of.invariants if one.id in names]
    assert {*assumed} | {claim} == names
    session = SolverSession(questions, questions.premises(action, assumed), EFFORT, time.monotonic, quantified=True)
    assert session.ask(Obligation(claim, action)).result == PROVEN


@pytest.mark.parametrize("action", one_in(len(ACTIONS), ACTIONS))
def test_no_field_leaves_its_domain_without_any_bound(action: str) -> None:
    """A worker proves that no field leaves its domain under the action, from short invariants."""
    of = proof_worker(endless(), REQUEST.builders(), EFFORT, time.monotonic)
    assumed = [one.id for one in endless().invariants]
    (answer,) = of.answer([Obligation(DOMAINS[0], action)], assumed)
    assert (answer.result, answer.fields, answer.faults) == (PROVEN, (), ())


def test_two_brokers_without_bounds_are_asked_too() -> None:
    """Where any number frees nothing else, few are asked alone; here two brokers without bounds as well."""
    assert [build().endless for build in REQUEST.builders()] == [False, True]
    bounded = ProofRequest("replication", "tiny", {"brokers": ANY, "epochs": 1}, "fixed")
    assert [build().endless for build in bounded.builders()] == [False]
    assert ProofRequest("replication", "tiny", {}, "fixed").builders() == []
