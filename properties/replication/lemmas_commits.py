"""Lemmas of `replication` about the records that leaders, stale ones included, may yet commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from attrs import frozen

from kraftcheck.model.language.anynumber import PerBroker, each_record, some_records
from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Conjuncts, Property, Setting
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, concrete, implies, negate
from kraftcheck.model.systems.replication.endless import unbounded
from kraftcheck.model.systems.replication.log import Log, has_no_end, is_some, larger, last_kept, until
from kraftcheck.model.systems.replication.state import (
    ACCEPTED,
    INELIGIBLE,
    OVERTAKEN,
    STOPPED_UNCLEAN,
    UNKNOWN,
    Broker,
    Replication,
)
from kraftcheck.properties.kinds import always
from kraftcheck.properties.replication.durability import each_led, each_other, endless, leading, needed_isr_at
from kraftcheck.properties.replication.lemmas_logs import COMMITS_REST_ON, STEPS, asked, candidates, eligible

REACH_RESTS_ON = (
    ("lemma-log-matching", "lemma-logs-sorted", "lemma-fetched-means-applied", "lemma-ends-within-log",
     "lemma-nobody-is-ahead"),
    ("lemma-log-matching", "lemma-logs-sorted", "lemma-ends-within-log", "lemma-nobody-is-ahead",
     "lemma-leaders-hold-committed", "lemma-commits-are-applied", "lemma-commits-leave-no-isr-behind"),
    ("lemma-ends-within-log", "lemma-fetched-means-applied", "lemma-logs-sorted",
     "lemma-nobody-is-ahead", "lemma-history-is-current", "lemma-commits-are-applied", "lemma-fetched-is-held",
     "lemma-no-record-of-the-future"),
    ("lemma-one-min-isr", "lemma-controller-elr-empty-at-min-isr", "metadata-match", "lemma-request-is-the-leaders",
     "lemma-accepted-while-current-is-known"),
    ("lemma-known-covers-candidates", "lemma-fetched-is-held", "lemma-history-is-current", "lemma-one-min-isr",
     "lemma-controller-elr-empty-at-min-isr", "metadata-match", "lemma-request-is-the-leaders"),
    (*STEPS, "lemma-candidates-hold-committed", "lemma-controller-leader-in-isr", "lemma-ends-within-log",
     "lemma-history-is-current", "lemma-nobody-is-ahead", "lemma-request-is-the-leaders"),
    (*STEPS, "lemma-candidates-hold-committed", "lemma-controller-leader-in-isr", "lemma-elr-as-configured",
     "lemma-history-is-current", "lemma-nobody-is-ahead", "lemma-request-is-the-leaders",
     "lemma-new-members-are-stated", "lemma-requests-name-replicas", "lemma-controller-isr-within-replicas",
     "lemma-controller-elr-within-replicas"),
    (*STEPS, "lemma-history-is-current", "lemma-nobody-is-ahead", "lemma-request-is-the-leaders",
     "lemma-fetched-is-held", "metadata-match", "lemma-controller-elr-empty-at-min-isr", "lemma-one-min-isr"),
)  # fmt: skip
"""What proofs of the first lemma need without bounds: of followers that fetch; of leaders that are behind; of those
whose request is answered while the ISR is at min ISR; and of what the controller decides."""


def lemmas(setting: Setting) -> tuple[Property, ...]:
    """The lemmas at a setting; each is true in every reachable state while ELR is on, and explored as such."""
    return (
        always("lemma-commits-reach-candidates",
               "what a leader may yet commit is in the logs of all who are, or were elected, after it", _reach,
               rests_on=REACH_RESTS_ON),
        always("lemma-leaders-hold-committed", "who leads an epoch after which nothing was committed holds what was",
               _follow,
               rests_on=(*COMMITS_REST_ON,
                         ("lemma-candidates-hold-committed", "candidates-complete", "lemma-controller-leader-in-isr",
                          "lemma-controller-elr-within-replicas", "lemma-history-is-current"))),
        *_of_any_number_of_epochs(setting),
    )  # fmt: skip


def _of_any_number_of_epochs(setting: Setting) -> tuple[Property, ...]:
    """What is said of the newest epoch with a commit, which is kept where epochs have no bound."""
    if not unbounded(setting):
        return ()
    return (
        always("lemma-commits-are-applied",
               "who may be elected, or is yet to lead, has applied the newest epoch with a commit",
               commits_are_applied,
               rests_on=(("lemma-commits-are-applied", "lemma-fetched-means-applied", "lemma-commits-reach-candidates",
                          "lemma-ends-within-log", "lemma-history-is-current", "lemma-nobody-is-ahead",
                          "metadata-match"),)),
        always("lemma-commits-leave-no-isr-behind",
               "nothing is committed later than an epoch that nobody of its ISR, at min ISR, has left behind",
               leave_no_isr_behind,
               rests_on=(("lemma-commits-reach-candidates", "lemma-commits-are-applied", "lemma-nobody-is-ahead",
                          "lemma-history-is-current"),)),
    )  # fmt: skip


@frozen
class View:
    """The ISR that a leader may commit with: now, once an answer has come, or once it leads."""

    # leader, epoch, log: who, in which epoch, with which records
    leader: Word
    epoch: Word
    log: Log
    able: Truth  # whether it is such a leader and at min ISR
    quorum: BrokerSet  # who must have a record
    end_of: Callable[[Word], Word]  # what it knows of their log ends
    refused: Truth = False  # whether the request in flight is its own, and gone by then

    def past(self, s: Replication) -> Truth:
        """Whether its epoch is over."""
        return self.epoch < s.leader_epoch

    def frozen(self, s: Replication, number: Word, b: Broker) -> Truth:
        """Whether a broker that it waits for will never fetch from it again."""
        gone = any_of(negate(b.running()), self.epoch < b.epoch)
        return all_of(negate(number == self.leader), self.past(s), self.quorum.has(number), gone)

    def stuck(self, s: Replication) -> Truth:
        """Whether there is such a broker."""
        return any_of(*some_records(s.brokers, lambda g, b: self.frozen(s, g, b)))

    def passes(self, s: Replication, offset: Word) -> Truth:
        """Whether it may commit the record at an offset: every such broker has fetched it."""
        lacks = some_records(s.brokers, lambda g, b: all_of(self.frozen(s, g, b), self.end_of(g) <= offset))
        return negate(any_of(*lacks))

    def agrees(self, s: Replication, other: Log, below: Word) -> Truth:
        """Whether another log has the records below an offset that it may commit."""
        return all_of(*self.log.each(lambda offset, entry: implies(
            all_of(below > offset, self.passes(s, offset)), entry == other.at(offset)
        )))  # fmt: skip


def _views(s: Replication) -> Iterator[tuple[str, View]]:
    for name, n, epoch, b, leads in leading(s):
        now, answered = _views_of(s, n, epoch, b, leads)
        yield from ((name, now), (f"{name}, answered", answered))


def _views_of(s: Replication, n: Word, epoch: Word, b: Broker, leads: Truth) -> tuple[View, View]:
    """What a broker that may lead may commit with: now, and once an answer has come."""
    enough = all_of(leads, b.isr.size() >= b.min_isr)
    now = View(n, epoch, b.log, enough, b.maximal_isr(), end_of=b.end_of)
    accepted = any_of(b.answer == ACCEPTED, b.answer == OVERTAKEN)
    known = choose(accepted, b.proposed, b.isr)
    able = all_of(leads, any_of(accepted, b.answer == INELIGIBLE), known.size() >= b.min_isr)
    refused = all_of(b.answer == INELIGIBLE, epoch == s.leader_epoch)
    return now, View(n, epoch, b.log, able, known, end_of=b.end_of, refused=refused)


def _once_it_leads(s: Replication, n: Word, epoch: Word, leader: Word) -> View:
    """What a broker may commit with in an epoch that it is yet to lead."""
    b, isr = s.broker(n), s.isr_at(epoch)
    waits = all_of(leader == n, b.running(), b.epoch < epoch, s.leader_epoch >= epoch)
    return View(n, epoch, b.log, all_of(waits, isr.size() >= needed_isr_at(s, epoch)), isr, end_of=lambda _: UNKNOWN)


def _led_after(s: Replication) -> Callable[[Word, Word, Word], Truth]:
    """Whether a broker leads, has led, or has yet to hear that it leads, an epoch after one and not before another."""
    if endless(s):
        newest = s.leader_epoch
        return lambda number, epoch, since: is_some(s.leaders, lambda at, leader: all_of(
            larger(epoch + 1, since) <= at, at <= newest, leader == number))  # fmt: skip
    last_led = _last_led(s)

    def led_after(number: Word, epoch: Word, since: Word) -> Truth:
        led = last_led(number)
        return all_of(led > epoch, led >= since)

    return led_after


def _last_led(s: Replication) -> Callable[[Word], Word]:
    """The last of these epochs; NEVER: none is remembered."""

    def of(number: Word) -> Word:
        return last_kept(s.leaders, lambda leader: leader == number, s.leader_epoch)

    if isinstance(s.brokers, PerBroker):
        return of
    found = [of(number) for number in range(len(s.brokers))]
    return lambda number: found[concrete(number)]


def _reach(s: Replication) -> Conjuncts:
    parts: dict[str, Truth] = {}
    led_after = _led_after(s)

    def reached(*views: View) -> Truth:
        return all_of(*(truth for view in views for truth in _reached(s, view, led_after).values()))

    if endless(s):
        parts = each_record(s.brokers, lambda n, b: reached(*_views_of(s, n, b.epoch, b, s.leads(n, b))))
    else:
        for name, view in _views(s):
            parts |= {f"{name} {part}": truth for part, truth in _reached(s, view, led_after).items()}
    yet_to_lead = each_led(s, lambda number, epoch, leader: reached(_once_it_leads(s, number, epoch, leader)))
    return {**parts, **{f"{name}, once it leads": truth for name, truth in yet_to_lead.items()}}


def _reached(s: Replication, v: View, led_after: Callable[[Word, Word, Word], Truth]) -> dict[str, Truth]:
    """Of one view: its log agrees with what is committed, and with the log of each other broker that counts."""
    able = all_of(v.able, negate(s.lossy))

    def counts(x: Word, other: Broker) -> Truth:
        known = any_of(eligible(s).has(x), all_of(asked(s).has(x), negate(v.refused)))
        candidate = all_of(known, other.status != STOPPED_UNCLEAN)
        elected_after = all_of(other.running(), led_after(x, v.epoch, other.epoch))
        return all_of(able, any_of(candidate, elected_after))

    def waited_for(x: Word, other: Broker) -> Truth:
        late = all_of(other.running(), other.epoch < v.epoch)
        return implies(counts(x, other), any_of(v.quorum.has(x), all_of(v.stuck(s), negate(late))))

    def agrees(x: Word, other: Broker) -> Truth:
        below = choose(v.quorum.has(x), v.end_of(x), v.log.beyond())
        return implies(counts(x, other), v.agrees(s, other.log, below))

    parts = {"agrees": implies(able, v.agrees(s, s.committed, s.committed.end()))}
    parts |= {f"and {x}, counted": truth for x, truth in each_other(s, v.leader, waited_for).items()}
    return parts | {f"and {x} agree": truth for x, truth in each_other(s, v.leader, agrees).items()}


def _follow(s: Replication) -> Conjuncts:
    idle_after = nothing_after(s)

    def follows(number: Word, epoch: Word, leader: Word) -> Truth:
        b = s.broker(number)
        leads = all_of(leader == number, b.running(), b.epoch <= epoch, s.leader_epoch >= epoch, negate(s.lossy))
        return implies(all_of(leads, idle_after(epoch)), b.log.agrees(s.committed, s.committed.end()))

    return each_led(s, follows)


def commits_are_applied(s: Replication) -> Conjuncts:
    """Who may be elected, or is yet to lead, has applied the newest epoch in which a leader has committed."""
    led_after = _led_after(s)

    def applied(n: Word, b: Broker) -> Truth:
        elected = any_of(candidates(s).has(n), led_after(n, b.epoch, s.commit_epoch))
        return implies(all_of(elected, b.running(), negate(s.lossy)), s.commit_epoch <= b.epoch)

    return {"the epoch exists": s.commit_epoch <= s.leader_epoch, **each_record(s.brokers, applied)}


def leave_no_isr_behind(s: Replication) -> Conjuncts:
    """While nobody of an ISR at min ISR has left its epoch behind, no later leader has committed anything."""

    def nothing_later(n: Word, epoch: Word, leader: Word) -> Truth:
        v = _once_it_leads(s, n, epoch, leader)
        return implies(all_of(v.able, negate(v.stuck(s)), negate(s.lossy)), s.commit_epoch <= epoch)

    return each_led(s, nothing_later)


def nothing_after(s: Replication) -> Callable[[Word], Truth]:
    """Whether nothing was committed by the leader of an epoch later than a given one.

    Where epochs have no bound, the state says so. Else it is told from what is under way: a
    reason that the leader of an epoch has committed nothing is a running broker that
    has not passed the epoch and for which it must wait: a candidate, or who is elected in
    that epoch or later and has not heard of it. Each broker is a reason for the epochs
    after its own, up to the last of these.

    There need not be one up to the newest epoch, but only up to one whose leader may commit
    and waits for nobody that has passed it: all who may be elected later wait with it.
    """
    if has_no_end(s.leaders):
        return lambda epoch: s.commit_epoch <= epoch
    last_led = _last_led(s)

    def last(n: Word) -> Word:
        return choose(candidates(s).has(n), s.leader_epoch, last_led(n))

    def next_has_reason(epoch: Word) -> Truth:
        return any_of(*some_records(s.brokers, lambda n, b: all_of(b.running(), b.epoch <= epoch, last(n) > epoch)))

    now = [view for _, view in _views(s)]

    def needs_no_more(epoch: Word, leader: Word) -> Truth:
        views = [*now, *(_once_it_leads(s, n, epoch, leader) for n in _leaders_of(s, leader))]
        waits = [all_of(v.able, v.epoch == epoch, negate(v.stuck(s))) for v in views]
        return any_of(epoch >= s.leader_epoch, *waits)

    return until(s.leaders, needs_no_more, next_has_reason)


def _leaders_of(s: Replication, leader: Word) -> Sequence[Word]:
    """Who may be the leader of an epoch: any of a fixed number of brokers; of any number only its leader."""
    return [leader] if isinstance(s.brokers, PerBroker) else range(len(s.brokers))
