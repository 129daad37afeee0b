"""Lemmas of `replication` about logs, and about the leaders' knowledge of them.

Lemmas about steps of `replication`: what an event of the controller makes of the partition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from kraftcheck.model.language.anynumber import PerBroker, all_records, brokers_where, each_pair, each_record
from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Conjuncts, Property, Setting, Step
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate
from kraftcheck.model.systems.replication.log import VACANT, Claim, Log, larger
from kraftcheck.model.systems.replication.state import ACCEPTED, STOPPED_UNCLEAN, Broker, Replication
from kraftcheck.properties.elections.outsiders import needed_isr
from kraftcheck.properties.kinds import always, step
from kraftcheck.properties.replication.durability import each_follower, each_leading, endless
from kraftcheck.properties.replication.loss import died, quorum

COMMITS_REST_ON = (
    ("lemma-commits-reach-candidates", "lemma-history-is-current", "lemma-controller-leader-is-replica"),
)
"""What proofs of lemmas about committed records need without bounds, where a leader that is behind commits at once."""


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
        always("lemma-logs-sorted", "a log has no gap, and its epochs never fall",
               lambda s: _each_log(s, lambda log, one: log.in_order(one)),
               rests_on=(("lemma-logs-sorted", "lemma-commits-reach-candidates", "lemma-history-is-current"),)),
        always("lemma-no-record-of-the-future", "no record is of an epoch that is not, nor of one its broker has not",
               _no_future),
        always("lemma-log-matching", "logs with the same record have the same records below it", _matching,
               rests_on=COMMITS_REST_ON),
        always("lemma-leader-has-its-epoch", "a leader has every record of its epoch, and none is before it leads",
               _has_epoch),
        always("lemma-ends-within-log", "what a leader knows of a follower's log end is within its own",
               lambda s: each_leading(s, lambda _, __, b: all_records(b.ends, lambda ___, end: end <= b.log.end()))),
        always("lemma-fetched-means-applied", "a running follower has applied the epoch of a leader it fetched from",
               _fetched),
        always("lemma-candidates-hold-committed",
               "an ISR or ELR member that did not stop uncleanly holds every committed record", _hold,
               rests_on=COMMITS_REST_ON),
        always("lemma-fetched-is-held", "a current leader and a follower agree below the end the leader knows",
               _fetched_is_held),
        always("lemma-committed-is-known", "what is committed is below a current leader's watermark or older than it",
               _known, rests_on=COMMITS_REST_ON),
        always("lemma-proposed-has-caught-up", "who is proposed for the ISR holds what is committed", _caught_up),
        always("lemma-shown-is-committed", "what is below a watermark is committed, of a stopped broker too", _shown,
               rests_on=COMMITS_REST_ON),
        always("lemma-acknowledged-is-committed", "what is acknowledged is committed",
               lambda s: s.acknowledged <= s.committed.end()),
        always("lemma-deaths-are-counted", "who has stopped uncleanly has spent an unclean stop",
               lambda s: dead(s).size() <= died(s, setting)),
        always("lemma-living-quorum", "min ISR candidates have not stopped uncleanly, less one for each unclean stop",
               lambda s: _living(s, setting),
               rests_on=(("lemma-living-candidates-stay", "lemma-epoch-rises-with-leader", "lemma-deaths-are-counted",
                          "lemma-elr-as-configured"),
                         ("lemma-living-quorum", "lemma-controller-isr-within-replicas", "lemma-elr-as-configured",
                          "lemma-controller-elr-within-replicas", "lemma-controller-isr-elr-disjoint",
                          "lemma-controller-elr-empty-at-min-isr", "lemma-controller-leader-in-isr"),)),
    )  # fmt: skip


def eligible(s: Replication) -> BrokerSet:
    """ISR and ELR."""
    return s.controller.isr.plus(s.controller.elr)


def asked(s: Replication) -> BrokerSet:
    """The brokers that a request in flight would add; its leader may be dead by then."""
    return choose(s.request.stale, s.request.isr.none(), s.request.isr)


def candidates(s: Replication) -> BrokerSet:
    """The brokers that the controller may elect, now or once a request has come."""
    return eligible(s).plus(asked(s))


def _stated(s: Replication) -> Truth:
    new = s.request.isr.minus(s.controller.isr).minus(s.controller.isr.just(s.controller.leader))
    return any_of(s.request.stale, new.within(s.request.stated))


def _ends_of_replicas(s: Replication) -> Conjuncts:
    return each_leading(
        s, lambda _, epoch, b: implies(epoch == s.leader_epoch, b.fetchers().within(s.controller.replicas))
    )


def _goes_by_min_isr(s: Replication) -> Conjuncts:
    """A larger one: to lower it is no change of the partition."""
    return each_leading(s, lambda _, epoch, b: implies(
        all_of(epoch == s.leader_epoch, any_of(b.current, b.answer == ACCEPTED)),
        b.min_isr >= needed_isr(s.controller),
    ))  # fmt: skip


def _each_log(s: Replication, claim: Callable[[Log, Truth], Truth]) -> Conjuncts:
    """Of each log, and whether it is one: after a loss what was committed is of several histories."""
    disks = each_record(s.brokers, lambda _, b: claim(b.log, True))
    return {**disks, "committed": claim(s.committed, negate(s.lossy))}


def _no_future(s: Replication) -> Conjuncts:
    return {"committed": all_of(*s.committed.each(lambda _, entry: entry <= s.leader_epoch + 1))} | each_record(
        s.brokers,
        lambda _, b: all_of(b.log.last() <= s.leader_epoch + 1, implies(b.running(), b.log.last() <= b.epoch + 1)),
    )


def _matching(s: Replication) -> Conjuncts:
    """Nor does an epoch begin at two offsets."""

    def match(a: Log, b: Log) -> Truth:
        return all_of(a.same_below(b), b.same_below(a))

    committed = each_record(s.brokers, lambda _, b: implies(negate(s.lossy), match(b.log, s.committed)))
    return {
        **each_pair(s.brokers, lambda _, a, __, b: match(a.log, b.log)),
        **{f"{name} and committed": truth for name, truth in committed.items()},
    }


def _has_epoch(s: Replication) -> Conjuncts:
    """Of each epoch whose leader runs and has not passed it."""
    if endless(s):
        return each_record(s.brokers, lambda n, b: _has_all(s, _leader_has(partial(_leads_at, s, n), b)))
    parts: dict[str, Truth] = {}
    for name, has in _leaders_have(s):
        of_logs = _each_log(s, lambda log, _, has=has: all_of(*log.each(has)))  # type: ignore[misc]
        parts |= {f"{log}, led by {name}": truth for log, truth in of_logs.items()}
    return parts


def _has_all(s: Replication, has: Claim) -> Truth:
    return all_of(*_each_log(s, lambda log, _: all_of(*log.each(has))).values())


def _leaders_have(s: Replication) -> Iterator[tuple[str, Claim]]:
    """Of each broker, or the leader of each epoch, by a name, that it has a record of an epoch that it leads."""
    if isinstance(s.brokers, PerBroker):
        for epoch, number in enumerate(s.leaders):
            yield f"leader of epoch {epoch}", _leader_has(partial(_leads_only, epoch, number), s.broker(number))
    else:
        for number, leader in enumerate(s.brokers):
            yield f"broker {number}", _leader_has(partial(_leads_at, s, number), leader)


def _leads_only(epoch: int, leader: Word, asked: Word) -> Truth:
    """Whether an epoch is one that is led by a broker."""
    return all_of(asked == epoch, leader >= 0)


def _leads_at(s: Replication, number: Word, asked: Word) -> Truth:
    """Whether an epoch is led by a broker."""
    return s.leader_at(asked) == number


def _leader_has(led: Callable[[Word], Truth], leader: Broker) -> Claim:
    """The claim that a record is in the log of its epoch's leader, if that is a broker, and that it leads by then."""

    def has(offset: Word, entry: Word) -> Truth:
        epoch = entry - 1
        runs = all_of(entry > VACANT, led(epoch), leader.running(), leader.epoch <= epoch)
        return implies(runs, all_of(leader.epoch == epoch, leader.log.at(offset) == entry))

    return has


def _fetched(s: Replication) -> Conjuncts:
    return each_follower(
        s, lambda _, epoch, b, f, other: implies(all_of(b.end_of(f) >= 0, other.running()), epoch <= other.epoch)
    )


def _hold(s: Replication) -> Conjuncts:
    return each_record(s.brokers, lambda n, b: implies(
        all_of(candidates(s).has(n), b.status != STOPPED_UNCLEAN, negate(s.lossy)),
        b.log.agrees(s.committed, s.committed.end()),
    ))  # fmt: skip


def _fetched_is_held(s: Replication) -> Conjuncts:
    return each_follower(s, lambda _, epoch, b, f, other: implies(
        all_of(epoch == s.leader_epoch, other.status != STOPPED_UNCLEAN,
               any_of(candidates(s).has(f), negate(b.stale.has(f)))),
        b.log.agrees(other.log, b.end_of(f)),
    ))  # fmt: skip


def _known(s: Replication) -> Conjuncts:
    return each_leading(s, lambda _, epoch, b: implies(
        all_of(epoch == s.leader_epoch, negate(s.lossy)),
        _below_mark_or_epoch(s, b, epoch, s.committed.end()),
    ))  # fmt: skip


def _caught_up(s: Replication) -> Conjuncts:
    wanted = negate(s.request.isr.is_empty())

    def caught_up(b: Broker, epoch: Word, f: Word) -> Truth:
        held = _past_mark_and_epoch(s, b, epoch, b.end_of(f))
        return any_of(s.request.stale, all_of(held, s.request.stated.has(f), negate(b.stale.has(f))))

    return each_follower(s, lambda _, epoch, b, f, __: implies(
        all_of(wanted, epoch == s.leader_epoch, s.request.isr.has(f), negate(s.controller.isr.has(f))),
        caught_up(b, epoch, f),
    ))  # fmt: skip


def _below_mark_or_epoch(s: Replication, b: Broker, epoch: Word, offset: Word) -> Truth:
    """Whether an offset is at most a leader's high watermark, or the end of earlier epochs' records."""
    if endless(s):
        return any_of(offset <= b.high_watermark, b.log.counts_from(epoch, offset))
    return offset <= larger(b.high_watermark, b.log.count_to(epoch))


def _past_mark_and_epoch(s: Replication, b: Broker, epoch: Word, offset: Word) -> Truth:
    """Whether an offset is neither below a leader's high watermark nor before the end of earlier epochs' records."""
    if endless(s):
        return all_of(offset >= b.high_watermark, b.log.counts_within(epoch, offset))
    return offset >= larger(b.high_watermark, b.log.count_to(epoch))


def _shown(s: Replication) -> Conjuncts:
    return each_record(s.brokers, lambda _, b: implies(negate(s.lossy), b.log.agrees(s.committed, b.high_watermark)))


def dead(s: Replication) -> BrokerSet:
    """The brokers that have stopped uncleanly."""
    found: BrokerSet = brokers_where(s.brokers, lambda n: s.broker(n).status == STOPPED_UNCLEAN)
    return found


def _living(s: Replication, setting: Setting) -> Truth:
    """One, once somebody has reassigned or configured; none, where that empties an ELR without an ISR."""
    living = s.controller.isr.plus(s.controller.elr).minus(dead(s))
    clears = setting.rules.partition.min_isr_change_clears_every_elr
    emptied = all_of(clears, s.left.config_changes < setting["config-changes"])
    minimum = choose(emptied, 0, quorum(s, setting))
    return implies(all_of(s.controller.elr_enabled, negate(s.lossy)), living.size() + died(s, setting) >= minimum)


STEPS = (
    "lemma-epoch-rises-with-leader", "lemma-candidates-join-by-request", "lemma-elected-were-eligible",
    "lemma-change-ends-the-request", "lemma-min-isr-empties-elr", "lemma-restart-ends-leadership",
    "lemma-accepted-is-the-isr stays", "lemma-known-covers-candidates stays", "lemma-controller-leader-in-isr stays",
)  # fmt: skip
"""What the controller's decisions are known by: the lemmas, and invariants that stay."""


def step_lemmas() -> tuple[Property, ...]:
    """The lemmas; each is true of every step while ELR is on."""
    return (
        step("lemma-epoch-rises-with-leader", "another leader means a leader epoch more, and no loss is undone",
             _epoch),
        step("lemma-candidates-join-by-request", "who joins ISR or ELR was asked for, by a request that is accepted",
             _candidates),
        step("lemma-elected-were-eligible", "who is elected was in ISR or ELR, unless records are lost", _elected),
        step("lemma-change-ends-the-request", "a partition that changes ends the request in flight", _request),
        step("lemma-min-isr-empties-elr", "a step that leaves the ISR at min ISR leaves no ELR", _elr),
        step("lemma-living-candidates-stay", "who leaves ISR and ELR below min ISR has stopped uncleanly", _stay),
        step("lemma-restart-ends-leadership", "who is back leads nothing, and is no candidate after an unclean stop",
             _back),
    )  # fmt: skip


def _epoch(step: Step) -> Conjuncts:
    before, after = step.before, step.after
    same = after.leader_epoch == before.leader_epoch
    return {
        "not before": after.leader_epoch >= before.leader_epoch,
        "by one": after.leader_epoch <= before.leader_epoch + 1,
        "the leader": implies(same, after.controller.leader == before.controller.leader),
        "a loss": any_of(after.lossy, negate(before.lossy)),
    }


def _candidates(step: Step) -> Conjuncts:
    before, after = step.before, step.after
    new = eligible(after).minus(eligible(before))
    accepted = all_of(*each_leading(
        after, lambda _, epoch, b: implies(epoch == after.leader_epoch, b.answer == ACCEPTED)).values())  # fmt: skip
    return {
        "asked": any_of(after.lossy, new.within(asked(before))),
        "accepted": any_of(after.lossy, new.is_empty(), all_of(after.leader_epoch == before.leader_epoch, accepted)),
    }


def _elected(step: Step) -> Truth:
    leader = step.after.controller.leader
    stays = leader == step.before.controller.leader
    return any_of(step.after.lossy, leader < 0, stays, eligible(step.before).has(leader))


def _request(step: Step) -> Truth:
    before, after = step.before, step.after
    same = all_of(
        after.leader_epoch == before.leader_epoch, after.controller.isr.same(before.controller.isr),
        after.controller.elr.same(before.controller.elr),
    )  # fmt: skip
    return any_of(same, after.request.isr.is_empty())


def _elr(step: Step) -> Truth:
    controller = step.after.controller
    return any_of(controller.elr.is_empty(), controller.isr.size() < needed_isr(controller))


def _stay(step: Step) -> Truth:
    controller = step.after.controller
    at_min_isr = controller.isr.size() >= needed_isr(controller)
    leave = eligible(step.before).minus(eligible(step.after))
    return any_of(step.after.lossy, at_min_isr, leave.within(dead(step.before)))


def _back(step: Step) -> Conjuncts:
    before, after = step.before, step.after

    def loses(n: Word, b: Broker) -> Truth:
        back = all_of(negate(b.running()), after.broker(n).running())
        no_candidate = any_of(b.status != STOPPED_UNCLEAN, negate(candidates(after).has(n)))
        return any_of(after.lossy, implies(back, all_of(negate(after.controller.leader == n), no_candidate)))

    return each_record(before.brokers, loses)
