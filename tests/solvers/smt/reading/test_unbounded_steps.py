"""Steps of `replication` without any bound: claims of which instances have no answer, and what they rest on."""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence

import pytest

from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.model.language.system import ANY
from kraftcheck.solvers.smt.queries import PROVEN, Effort, Obligation
from kraftcheck.solvers.smt.theory import DOMAINS, Theory
from kraftcheck.solvers.smt.worker import proof_worker
from tests.shared.samples import one_in
from tests.solvers.smt.reading.test_premises import ACTIONS

EFFORT = Effort(timeout=600)
"""Some queries take minutes."""

pytestmark = pytest.mark.xdist_group("unbounded-steps")  # one process makes the theory

REQUEST = ProofRequest("replication", "tiny", {"brokers": ANY, "unbounded": 1}, "fixed")

QUICK = (
    ("receive_answer", "lemma-leaders-hold-committed"),
    ("produce", "leader-complete"),
    ("alter_partition", "lemma-commits-are-applied"),
)
"""Steps and claims that take seconds, and rest on each other: of a commit, and of who has heard of it."""


@functools.cache
def endless() -> Theory:
    """The theory of any number of brokers, records and leader epochs."""
    return REQUEST.build()


def answers(action: str, claims: Sequence[str]) -> dict[str, str]:
    """The result of each claim of an action, asked with quantifiers as the command asks."""
    of = proof_worker(endless(), REQUEST.builders(), EFFORT, time.monotonic)
    asked = [Obligation(claim, action) for claim in claims]
    return {one.obligation.claim: one.result for one in of.answer(asked, [one.id for one in endless().invariants])}


@pytest.mark.parametrize("step", one_in(3, QUICK), ids="-".join)
def test_a_claim_is_kept_without_any_bound(step: tuple[str, str]) -> None:
    """The claim is proven of the step."""
    action, claim = step
    assert answers(action, [claim]) == {claim: PROVEN}


@pytest.mark.slow
@pytest.mark.parametrize("action", ACTIONS)
def test_every_claim_is_kept_without_any_bound(action: str) -> None:
    """All claims are proven of each action."""
    claims = [claim.id for claim in endless().claims]
    assert answers(action, claims) == dict.fromkeys(claims, PROVEN)


@pytest.mark.parametrize("action", one_in(len(ACTIONS), ACTIONS))
def test_no_field_leaves_its_domain_without_any_bound(action: str) -> None:
    """A worker proves that no field leaves its domain under the action, from short invariants."""
    of = proof_worker(endless(), REQUEST.builders(), EFFORT, time.monotonic)
    assumed = [one.id for one in endless().invariants]
    (answer,) = of.answer([Obligation(DOMAINS[0], action)], assumed)
    assert (answer.result, answer.fields, answer.faults) == (PROVEN, (), ())


def test_few_brokers_have_records_to_order() -> None:
    """Where records have no bound, each of few brokers has a log of two; where the scope bounds them, as it says."""
    bounded = ProofRequest("replication", "tiny", {"brokers": ANY, "epochs": 1}, "fixed")
    paths = [[slot.path for slot in of.few().program.layout.slots] for of in (REQUEST, bounded)]
    logs = [[path for path in some if path.startswith("brokers[2].log[")] for some in paths]
    assert logs == [["brokers[2].log[0]", "brokers[2].log[1]"], ["brokers[2].log[0]"]]


def test_two_brokers_without_bounds_are_asked_too() -> None:
    """Where any number frees nothing else, few are asked alone; here two brokers without bounds as well."""
    assert [build().endless for build in REQUEST.builders()] == [False, True]
    bounded = ProofRequest("replication", "tiny", {"brokers": ANY, "epochs": 1}, "fixed")
    assert [build().endless for build in bounded.builders()] == [False]
    assert ProofRequest("replication", "tiny", {}, "fixed").builders() == []
