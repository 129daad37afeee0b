"""Recoverability of `replication`: claims AG (when -> EF goal), by actions that need no budget.

The controller may also fence: dead brokers for free, live ones while there is a
budget for it, which a claim about every state cannot rest on.

Liveness of `replication`: what the published KIP-966 specification promises, and what produced records come to.

`FAIR_REPLICATION` is the system with these properties alone: `explore` judges them. Faults have budgets, so they end.
"""

from __future__ import annotations

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Conjuncts, Fairness, Property, Setting
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate
from kraftcheck.model.systems.replication.log import Log
from kraftcheck.model.systems.replication.state import Broker, Replication
from kraftcheck.model.systems.replication.system import REPLICATION
from kraftcheck.properties.elections.healing import Way
from kraftcheck.properties.elections.outsiders import needed_isr
from kraftcheck.properties.kinds import fair_system, leads_to, recovers, weak_fairness
from kraftcheck.properties.replication.loss import excused, forgiven

SETTLING: Way = {"apply_metadata": {}, "alter_partition": {}, "receive_answer": {}}  # what is under way arrives
WORKING: Way = {**SETTLING, "fetch": {}, "propose_expand": {}}  # running brokers replicate
RETURNING: Way = {"unfence": {}, "register": {}, "elect_preferred": {}}  # stopped and fenced brokers come back


def properties(setting: Setting) -> list[Property]:
    """Claims of recovery for the setting."""
    healing = {**WORKING, **RETURNING}
    if setting["clean-stops"]:
        healing["stop"] = {}  # a shutdown that is granted ends before the broker returns
    return [
        recovers("proposals-settle", "every pending ISR change can be committed or superseded",
                 lambda s: {f"broker {n}": negate(all_of(s.leads(n, b), b.pending())) for n, b in enumerate(s.brokers)},
                 "invariant 46; KIP-497", ("refusal-keeps-proposal",),
                 rules=("proposal.refusal-ends-it", "metadata.only-newer"), by=SETTLING),
        recovers("watermark-reaches-end", "at min ISR, the high watermark can reach the log end though nobody returns",
                 _reached, "KAFKA-15021; KAFKA-13091", ("hw-waits-for-ineligible", "accepted-shrink-keeps-hw"),
                 rules=("watermark.ignores-ineligible", "proposal.acceptance-moves-watermark",
                        "follower.truncation-drops-empty-epochs", "min-isr.at-most-replication"),
                 when=_isr_runs, by={**WORKING, "fence": {}}),
        recovers("isr-refills", "while there is a leader, every replica can be in the ISR again", _full,
                 "KIP-497", ("refusal-keeps-proposal",),
                 rules=("proposal.refusal-ends-it", "metadata.only-newer", "follower.truncation-drops-empty-epochs"),
                 when=_led, by=healing),
    ]  # fmt: skip


def _led(s: Replication) -> Truth:
    return s.controller.leader >= 0


def _isr_runs(s: Replication) -> Truth:
    running = BrokerSet.of(())
    for n, b in enumerate(s.brokers):
        running = running.plus(BrokerSet(choose(b.running(), 1 << n, 0)))
    isr = s.controller.isr
    return all_of(_led(s), isr.within(running), isr.size() >= needed_isr(s.controller))


def _reached(s: Replication) -> Conjuncts:
    marks = {
        f"broker {n}": implies(s.controller.leader == n, all_of(s.leads(n, b), b.high_watermark == b.log.end()))
        for n, b in enumerate(s.brokers)
    }
    return {"a leader": _led(s), **marks}


def _full(s: Replication) -> Truth:
    return all_of(_led(s), BrokerSet(s.controller.replicas.mask).within(s.controller.isr))


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


def liveness(setting: Setting) -> list[Property]:
    """The liveness properties."""
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
                 lambda s: negate(_at_end(s)), _at_end, "KAFKA-15021; KAFKA-13091",
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


def _level(s: Replication) -> Truth:
    """Every broker of a scope without reassignments is a replica."""
    rows = [
        implies(s.controller.leader == n, all_of(*(_same(b.log, other.log) for other in s.brokers)))
        for n, b in enumerate(s.brokers)
    ]
    return all_of(s.controller.leader >= 0, *rows)


def _same(log: Log, other: Log) -> Truth:
    return all_of(log.end() == other.end(), log.agrees(other, log.end()))


def _at_end(s: Replication) -> Truth:
    return all_of(*_reached(s).values())


def _answered(s: Replication) -> Truth:
    """No log is longer than what was acknowledged."""
    return all_of(*(b.log.end() <= s.acknowledged for b in s.brokers))


def _everywhere(s: Replication, setting: Setting) -> Truth:
    """Judged while no record may be lost: each replica has as many records as were acknowledged."""
    given_up = forgiven(s, excused(s, setting))
    return any_of(given_up, all_of(*(b.log.end() >= s.acknowledged for b in s.brokers)))


FAIR_REPLICATION = fair_system(
    REPLICATION, "where what was begun is finished: what brokers and records finally come to", liveness, fairness
)
"""The system with its liveness."""
