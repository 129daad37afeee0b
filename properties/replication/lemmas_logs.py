"""Lemmas of `replication` about logs, and about the leaders' knowledge of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Conjuncts, Property, Setting
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate
from kraftcheck.model.systems.replication.log import VACANT, Claim, Log, larger
from kraftcheck.model.systems.replication.state import ACCEPTED, STOPPED_UNCLEAN, Broker, Replication
from kraftcheck.properties.kinds import always
from kraftcheck.properties.replication.durability import untouched


def lemmas(setting: Setting) -> tuple[Property, ...]:
    """The lemmas at a setting; each is true in every reachable state while ELR is on, and explored as such."""
    return (
        always("lemma-elr-as-configured", "ELR stays on or off",
               lambda s: s.controller.elr_enabled == (bool(setting["elr"]) and setting.rules.partition.elr_available)),
        always("lemma-new-members-are-stated", "a request states the broker epochs of those it adds", _stated),
        always("lemma-ends-are-of-replicas", "a current leader knows log ends of replicas only", _ends_of_replicas),
        always("lemma-requests-name-replicas", "a request asks for replicas, and the partition has a leader",
               lambda s: any_of(s.request.isr.is_empty(),
                                all_of(s.request.isr.within(s.controller.replicas), s.controller.leader >= 0))),
        always("lemma-leader-goes-by-min-isr",
               "a leader that has applied all metadata goes by the controller's min ISR, or a larger one",
               _goes_by_min_isr),
        always("lemma-logs-sorted", "a log has no gap, and its epochs never fall", _sorted),
        always("lemma-no-record-of-the-future", "no record is of an epoch that is not, nor of one its broker has not",
               _no_future),
        always("lemma-log-matching", "logs with the same record have the same records below it", _matching),
        always("lemma-leader-has-its-epoch", "a leader has every record of its epoch, and none is before it leads",
               _has_epoch),
        always("lemma-ends-within-log", "what a leader knows of a follower's log end is within its own", _ends_within),
        always("lemma-fetched-means-applied", "a running follower has applied the epoch of a leader it fetched from",
               _fetched),
        always("lemma-candidates-hold-committed",
               "an ISR or ELR member that did not stop uncleanly holds every committed record", _hold),
        always("lemma-fetched-is-held", "a current leader and a follower agree below the end the leader knows",
               _fetched_is_held),
        always("lemma-committed-is-known", "what is committed is below a current leader's watermark or older than it",
               _known),
        always("lemma-proposed-has-caught-up", "who is proposed for the ISR holds what is committed", _caught_up),
        always("lemma-shown-is-committed", "what is below a watermark is committed, of a stopped broker too", _shown),
        always("lemma-acknowledged-is-committed", "what is acknowledged is committed",
               lambda s: s.acknowledged <= s.committed.end()),
        always("lemma-deaths-are-counted", "who has stopped uncleanly has spent an unclean stop",
               lambda s: BrokerSet(_dead(s)).size() + s.left.unclean_stops <= setting["unclean-stops"]),
        always("lemma-living-quorum", "min ISR candidates have not stopped uncleanly, less one for each unclean stop",
               lambda s: _living(s, setting)),
    )  # fmt: skip


def eligible(s: Replication) -> BrokerSet:
    """ISR and ELR."""
    return s.controller.isr.plus(s.controller.elr)


def asked(s: Replication) -> BrokerSet:
    """Whom a request in flight would add; its leader may be dead by then."""
    return BrokerSet(choose(s.request.stale, 0, s.request.isr.mask))


def candidates(s: Replication) -> BrokerSet:
    """Whom the controller may elect, now or once a request has come."""
    return eligible(s).plus(asked(s))


def _stated(s: Replication) -> Truth:
    new = s.request.isr.minus(s.controller.isr).minus(s.controller.isr.just(s.controller.leader))
    return any_of(s.request.stale, new.within(s.request.stated))


def _ends_of_replicas(s: Replication) -> Conjuncts:
    return {
        f"broker {n}": implies(
            all_of(leads, b.epoch == s.leader_epoch), b.fetchers().within(s.controller.replicas)
        )
        for n, b, leads in leading(s)
    }  # fmt: skip


def _goes_by_min_isr(s: Replication) -> Conjuncts:
    """A larger one: to lower it is no change of the partition."""
    return {
        f"broker {n}": implies(
            all_of(leads, b.epoch == s.leader_epoch, any_of(b.current, b.answer == ACCEPTED)),
            b.min_isr >= s.controller.effective_min_isr(),
        )
        for n, b, leads in leading(s)
    }


def _logs(s: Replication) -> dict[str, tuple[Log, Truth]]:
    """Each log, and whether it is one: after a loss what was committed is of several histories."""
    disks: dict[str, tuple[Log, Truth]] = {f"broker {n}": (b.log, True) for n, b in enumerate(s.brokers)}
    return {**disks, "committed": (s.committed, negate(s.lossy))}


def _sorted(s: Replication) -> Conjuncts:
    return {name: log.in_order(one) for name, (log, one) in _logs(s).items()}


def _no_future(s: Replication) -> Conjuncts:
    return {"committed": all_of(*s.committed.each(lambda _, entry: entry <= s.leader_epoch + 1))} | {
        f"broker {n}": all_of(b.log.last() <= s.leader_epoch + 1, implies(b.running(), b.log.last() <= b.epoch + 1))
        for n, b in enumerate(s.brokers)
    }


def _matching(s: Replication) -> Conjuncts:
    """Nor does an epoch begin at two offsets."""
    return {
        f"{i} and {j}": implies(all_of(one, also), all_of(a.same_below(b), b.same_below(a)))
        for (i, (a, one)), (j, (b, also)) in combinations(_logs(s).items(), 2)
    }


def _has_epoch(s: Replication) -> Conjuncts:
    """Of each epoch whose leader runs and has not passed it."""
    logs = {**{f"broker {n}": b.log for n, b in enumerate(s.brokers)}, "committed": s.committed}
    return {
        f"{name}, led by {n}": all_of(*log.each(_leader_has(s, n)))
        for name, log in logs.items() for n in range(len(s.brokers))
    }  # fmt: skip


def _leader_has(s: Replication, number: int) -> Claim:
    """The claim that a record is in the log of its epoch's leader, if that is a broker, and that it leads by then."""
    leader = s.brokers[number]

    def has(offset: Word, entry: Word) -> Truth:
        epoch = entry - 1
        led = all_of(entry > VACANT, s.leader_at(epoch) == number, leader.running(), leader.epoch <= epoch)
        return implies(led, all_of(leader.epoch == epoch, leader.log.at(offset) == entry))

    return has


def leading(s: Replication) -> Iterator[tuple[int, Broker, Truth]]:
    """Each broker, and whether it believes that it leads."""
    for n, b in enumerate(s.brokers):
        yield n, b, s.leads(n, b)


def _ends_within(s: Replication) -> Conjuncts:
    return {
        f"broker {n}": implies(leads, all_of(*(end <= b.log.end() for end in b.ends))) for n, b, leads in leading(s)
    }


def _fetched(s: Replication) -> Conjuncts:
    return {
        f"{n} of {f}": implies(all_of(leads, b.ends[f] >= 0, other.running()), b.epoch <= other.epoch)
        for n, b, leads in leading(s) for f, other in enumerate(s.brokers) if f != n
    }  # fmt: skip


def _hold(s: Replication) -> Conjuncts:
    return {
        f"broker {n}": implies(
            all_of(candidates(s).has(n), b.status != STOPPED_UNCLEAN, negate(s.lossy)),
            b.log.agrees(s.committed, s.committed.end()),
        )
        for n, b in enumerate(s.brokers)
    }


def _fetched_is_held(s: Replication) -> Conjuncts:
    return {
        f"{n} of {f}": implies(
            all_of(leads, b.epoch == s.leader_epoch, other.status != STOPPED_UNCLEAN,
                   any_of(candidates(s).has(f), negate(b.stale.has(f)))),
            b.log.agrees(other.log, b.ends[f]),
        )
        for n, b, leads in leading(s) for f, other in enumerate(s.brokers) if f != n
    }  # fmt: skip


def _known(s: Replication) -> Conjuncts:
    return {
        f"broker {n}": implies(
            all_of(leads, b.epoch == s.leader_epoch, negate(s.lossy)),
            s.committed.end() <= larger(b.high_watermark, b.log.count_to(b.epoch)),
        )
        for n, b, leads in leading(s)
    }


def _caught_up(s: Replication) -> Conjuncts:
    wanted = negate(s.request.isr.is_empty())
    return {
        f"{n} of {f}": implies(
            all_of(wanted, leads, b.epoch == s.leader_epoch, s.request.isr.has(f), negate(s.controller.isr.has(f))),
            any_of(
                s.request.stale,
                all_of(
                    b.ends[f] >= larger(b.high_watermark, b.log.count_to(b.epoch)),
                    s.request.stated.has(f), negate(b.stale.has(f)),
                ),
            ),
        )
        for n, b, leads in leading(s) for f in range(len(s.brokers)) if f != n
    }  # fmt: skip


def _shown(s: Replication) -> Conjuncts:
    return {
        f"broker {n}": implies(negate(s.lossy), b.log.agrees(s.committed, b.high_watermark))
        for n, b in enumerate(s.brokers)
    }


def _dead(s: Replication) -> Word:
    dead: Word = 0
    for n, b in enumerate(s.brokers):
        dead = dead | choose(b.status == STOPPED_UNCLEAN, 1 << n, 0)
    return dead


def _living(s: Replication, setting: Setting) -> Truth:
    """One, once somebody has reassigned; none, once somebody has configured, which empties an ELR without an ISR."""
    living = s.controller.isr.plus(s.controller.elr).minus(BrokerSet(_dead(s)))
    configured = s.left.config_changes < setting["config-changes"]
    minimum = choose(configured, 0, choose(untouched(s, setting), s.controller.effective_min_isr(), 1))
    died = setting["unclean-stops"] - s.left.unclean_stops
    return implies(all_of(s.controller.elr_enabled, negate(s.lossy)), living.size() + died >= minimum)
