"""Liveness of `replication`: what the published KIP-966 specification promises, and what produced records come to.

`FAIR_REPLICATION` is the system with these properties alone: `explore` judges them. Faults have budgets, so they end.
"""

from __future__ import annotations

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Fairness, Property, Setting
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import all_of, any_of, implies, negate
from kraftcheck.model.systems.replication.log import Log
from kraftcheck.model.systems.replication.state import Broker, Replication
from kraftcheck.model.systems.replication.system import REPLICATION
from kraftcheck.properties.kinds import fair_system, leads_to, weak_fairness
from kraftcheck.properties.replication.loss import excused, forgiven


def fairness(setting: Setting) -> list[Fairness]:
    """What the specification is weakly fair to: brokers start, are unfenced, fetch, hear of metadata, get answers.

    Fairness of a fetch is of one that brings records; of the ISR, of each proposal to add a follower.
    """
    each = ["broker"]
    listed = [
        weak_fairness("register", each=each),
        weak_fairness("unfence", each=each),
        weak_fairness("apply_metadata", each=each),
        weak_fairness("alter_partition"),
        weak_fairness("receive_answer", each=each),
        weak_fairness("propose_expand", each=["broker", "follower"]),
        weak_fairness("fetch", each=["follower", "leader"], having={"received": setting["records"]}),
    ]
    return [*listed, weak_fairness("stop", each=each)] if setting["clean-stops"] else listed


def properties(setting: Setting) -> list[Property]:
    """What finally comes about."""
    return [*_published(), *_of_records(setting)]


def _published() -> list[Property]:
    """What the published specification promises of metadata and proposals; of all brokers together."""
    return [
        leads_to("proposal-is-settled", "a proposal of a leader is finally committed, refused or superseded",
                 _proposes, lambda s: negate(_proposes(s)),
                 "KIP-966 specification, AlterPartitionEpochEventuallyReachedOrZero; invariant 46",
                 ("refusal-keeps-proposal", "metadata-needs-new-epoch"),
                 ("proposal.refusal-ends-it", "metadata.only-newer")),
        leads_to("metadata-converges", "every running broker finally has the controller's metadata",
                 lambda s: negate(_converged(s)), _converged,
                 "KIP-966 specification, EventuallyMetadataConverges",
                 ("metadata-needs-new-epoch", "refusal-taken-for-success"),
                 ("metadata.only-newer", "proposal.refusal-ends-it")),
    ]  # fmt: skip


def _of_records(setting: Setting) -> list[Property]:
    """What comes of records: acknowledged, below the watermark, everywhere."""
    return [
        leads_to("isr-is-refilled", "a leader finally has every replica in its ISR",
                 lambda s: s.controller.leader >= 0, _full, "KIP-497",
                 ("refusal-keeps-proposal", "noop-truncation-keeps-epochs"),
                 ("proposal.refusal-ends-it", "follower.truncation-drops-empty-epochs")),
        leads_to("replicas-catch-up", "every replica finally has the log of its leader",
                 lambda s: negate(_level(s)), _level, "KIP-101; KIP-320",
                 ("noop-truncation-keeps-epochs",), ("follower.truncation-drops-empty-epochs",)),
        leads_to("watermark-reaches-end", "the high watermark of a leader finally reaches the end of its log",
                 lambda s: negate(_reached(s)), _reached, "KAFKA-15021; KAFKA-13091",
                 ("refusal-keeps-proposal", "metadata-needs-new-epoch"),
                 ("proposal.refusal-ends-it", "metadata.only-newer")),
        leads_to("record-is-answered", "a record in a log is finally acknowledged, or cut from every log",
                 lambda s: negate(_answered(s)), _answered,
                 "KIP-966 specification, EventuallyWriteIsAcceptedOrRejected",
                 ("refusal-keeps-proposal", "hw-advances-under-min-isr"),
                 ("proposal.refusal-ends-it", "watermark.frozen-below-min-isr")),
        leads_to("acknowledged-is-everywhere", "an acknowledged record is finally in the log of each replica",
                 lambda s: negate(_everywhere(s, setting)), lambda s: _everywhere(s, setting),
                 "KIP-966 specification, EventuallyAcknowledgedValueFullyReplicated",
                 ("hw-uses-proposed-isr", "no-leader-epoch-start-check"),
                 ("watermark.waits-for-maximal-isr", "isr.join.past-start-of-epoch")),
    ]  # fmt: skip


def _proposes(s: Replication) -> Truth:
    """A leader, or who takes itself for one, waits for an answer."""
    return any_of(*(all_of(s.leads(n, b), b.pending()) for n, b in enumerate(s.brokers)))


def _converged(s: Replication) -> Truth:
    """Each running broker has the leader epoch of the controller; a leader also has its partition epoch and ISR."""
    return all_of(*(implies(b.running(), _knows(s, n, b)) for n, b in enumerate(s.brokers)))


def _knows(s: Replication, number: int, broker: Broker) -> Truth:
    latest = all_of(broker.current, broker.isr.same(s.controller.isr))
    return all_of(broker.epoch == s.leader_epoch, implies(s.leads(number, broker), latest))


def _full(s: Replication) -> Truth:
    return all_of(s.controller.leader >= 0, BrokerSet(s.controller.replicas.mask).within(s.controller.isr))


def _level(s: Replication) -> Truth:
    """Every broker of a scope without reassignments is a replica."""
    rows = [
        implies(s.controller.leader == n, all_of(*(_same(b.log, other.log) for other in s.brokers)))
        for n, b in enumerate(s.brokers)
    ]
    return all_of(s.controller.leader >= 0, *rows)


def _same(log: Log, other: Log) -> Truth:
    return all_of(log.end() == other.end(), log.agrees(other, log.end()))


def _reached(s: Replication) -> Truth:
    rows = [
        implies(s.controller.leader == n, all_of(s.leads(n, b), b.high_watermark == b.log.end()))
        for n, b in enumerate(s.brokers)
    ]
    return all_of(s.controller.leader >= 0, *rows)


def _answered(s: Replication) -> Truth:
    """No log is longer than what was acknowledged."""
    return all_of(*(b.log.end() <= s.acknowledged for b in s.brokers))


def _everywhere(s: Replication, setting: Setting) -> Truth:
    """Judged while no record may be lost: each replica has as many records as were acknowledged."""
    given_up = forgiven(s, excused(s, setting))
    return any_of(given_up, all_of(*(b.log.end() >= s.acknowledged for b in s.brokers)))


FAIR_REPLICATION = fair_system(
    REPLICATION, "where what was begun is finished: what brokers and records finally come to", properties, fairness
)
"""The system with its liveness."""
