"""The `replication` system keeps no message without effect: what it drops, the controller in full refuses."""

from __future__ import annotations

import itertools

import pytest
from attrs import evolve

from kraftcheck.model.controller.partitions import AlterPartitionRequest, Proposal, alter_partition
from kraftcheck.model.language.system import Conjuncts
from kraftcheck.model.language.words import all_of, implies, negate
from kraftcheck.model.systems.replication.state import ACCEPTED, NONE, Replication
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.kinds import always
from kraftcheck.solvers.program.verdict import Holds
from tests.model.controller.controllers import changed, cluster, with_topic
from tests.model.systems.replication.test_replication_settled import FEW, explored, setting

REPLICATION = SYSTEMS["replication"]

LEADER_EPOCH, PARTITION_EPOCH = 2, 3


@pytest.mark.parametrize("rules", ["fixed", "kafka-4.0", "kafka-3.9"])
def test_requests_of_the_past_are_refused_and_change_nothing(rules: str) -> None:
    """Whoever sends whatever ISR with an older epoch: an error that a leader only waits on, and no record."""
    controller = changed(
        with_topic(cluster(3), "foo", (0, 1, 2)), leader_epoch=LEADER_EPOCH, partition_epoch=PARTITION_EPOCH
    )
    topic, told = controller.topic_id("foo"), set[str]()
    sets = [some for n in range(4) for some in itertools.combinations(range(3), n)]
    older = [(e, p) for e in range(LEADER_EPOCH + 1) for p in range(PARTITION_EPOCH + 1)]
    older.remove((LEADER_EPOCH, PARTITION_EPOCH))
    for (leader_epoch, partition_epoch), isr, sender in itertools.product(older, sets, range(3)):
        proposal = Proposal(topic, 0, leader_epoch, partition_epoch, tuple((b, 100 + b) for b in isr))
        request = AlterPartitionRequest(sender, 100 + sender, (proposal,))
        outcome = alter_partition(controller, request, setting(rules, {}).rules)
        (answer,) = outcome.response
        assert (tuple(outcome.records), outcome.soft) == ((), controller.soft)
        told.add(answer.error)
    # INVALID_REQUEST: the sender is not the leader. A leader stays pending on each of the three.
    assert told == {"FENCED_LEADER_EPOCH", "INVALID_UPDATE_VERSION", "INVALID_REQUEST"}


def says_what_was_proposed(state: Replication) -> Conjuncts:
    """An accepting answer, until it is overtaken, stands for the ISR that its leader proposed."""
    return {
        f"broker {n}": implies(b.answer == ACCEPTED, b.proposed.same(state.controller.isr))
        for n, b in enumerate(state.brokers)
    }


def waits_for_it(state: Replication) -> Conjuncts:
    """Where an answer is under way, its proposal is pending at a broker that leads."""
    return {
        f"broker {n}": implies(b.answer > NONE, all_of(state.leads(n, b), b.pending()))
        for n, b in enumerate(state.brokers)
    }


def is_current(state: Replication) -> Conjuncts:
    """A request is there only while a leader may be heard: in office, and registered."""
    leader = state.controller.leader
    return {"leader": implies(negate(state.request.isr.is_empty()), leader >= 0)}


@pytest.mark.parametrize(
    "bounds", [{}, {"unclean-stops": 0, "reassignments": 1, "fences": 0}, {**FEW, "config-changes": 1}],
    ids=str,
)  # fmt: skip
def test_an_answer_needs_neither_epochs_nor_isr(bounds: dict[str, int]) -> None:
    """In every reachable state an accepting answer says what was proposed, and belongs to a pending proposal."""
    checks = (says_what_was_proposed, waits_for_it, is_current)
    claims = [always(check.__name__, str(check.__doc__), check) for check in checks]
    found = explored(evolve(REPLICATION, properties=lambda _: claims), setting("fixed", bounds))
    assert [type(v.verdict) for v in found.verdicts] == [Holds] * 4
    assert min(found.fired[name] for name in ("alter_partition", "receive_answer")) > 0
