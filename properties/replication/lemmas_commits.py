"""Lemmas of `replication` about the records that leaders, stale ones included, may yet commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from attrs import frozen

from kraftcheck.model.language.anynumber.brokers import PerBroker
from kraftcheck.model.language.anynumber.maps import each_record, some_records
from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Conjuncts, Property
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, concrete, implies, negate
from kraftcheck.model.systems.replication.history import is_some, last_kept, of_each, until
from kraftcheck.model.systems.replication.log import Log, larger
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
from kraftcheck.properties.replication.leaders import each_led, each_other, endless, leading
from kraftcheck.properties.replication.lemmas_logs import asked, candidates, eligible


def lemmas() -> tuple[Property, ...]:
    """The lemmas; each is true in every reachable state while ELR is on, and explored as such."""
    return (
        always("lemma-commits-reach-candidates",
               "what a leader may yet commit is in the logs of all who are, or were elected, after it", _reach),
        always("lemma-leaders-hold-committed", "who leads an epoch after which nothing was committed holds what was",
               _follow),
    )  # fmt: skip


@frozen
class View:
    """What a leader may commit with: now, once an answer has come, or once it leads.

    Attributes:
        leader, epoch, log: who, in which epoch, with which records.
        able: whether it is such a leader and at min ISR.
        quorum: who must have a record.
        end_of: what it knows of their log ends.
        refused: whether the request in flight is its own, and gone by then.
    """

    leader: Word
    epoch: Word
    log: Log
    able: Truth
    quorum: BrokerSet
    end_of: Callable[[Word], Word]
    refused: Truth = False

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
    now = View(n, epoch, b.log, enough, b.maximal_isr(), b.end_of)
    accepted = any_of(b.answer == ACCEPTED, b.answer == OVERTAKEN)
    known = choose(accepted, b.proposed, b.isr)
    able = all_of(leads, any_of(accepted, b.answer == INELIGIBLE), known.size() >= b.min_isr)
    refused = all_of(b.answer == INELIGIBLE, epoch == s.leader_epoch)
    return now, View(n, epoch, b.log, able, known, b.end_of, refused)


def _once_it_leads(s: Replication, n: Word, epoch: Word, leader: Word) -> View:
    """What a broker may commit with in an epoch that it is yet to lead."""
    b, isr = s.broker(n), s.isr_at(epoch)
    waits = all_of(leader == n, b.running(), b.epoch < epoch, s.leader_epoch >= epoch)
    return View(n, epoch, b.log, all_of(waits, isr.size() >= s.minimum_at(epoch)), isr, lambda _: UNKNOWN)


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
    room = s.committed.beyond(*_logs_beside(s, v))
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
        below = choose(v.quorum.has(x), v.end_of(x), room)
        return implies(counts(x, other), v.agrees(s, other.log, below))

    parts = {"agrees": implies(able, v.agrees(s, s.committed, s.committed.end()))}
    parts |= {f"and {x}, counted": truth for x, truth in each_other(s, v.leader, waited_for).items()}
    return parts | {f"and {x} agree": truth for x, truth in each_other(s, v.leader, agrees).items()}


def _logs_beside(s: Replication, v: View) -> list[Log]:
    """The logs that have what a leader may yet commit: of any number of brokers its own, which has all of it."""
    return [v.log] if isinstance(s.brokers, PerBroker) else [b.log for b in s.brokers]


def _follow(s: Replication) -> Conjuncts:
    idle_after = nothing_after(s)

    def follows(number: Word, epoch: Word, leader: Word) -> Truth:
        b = s.broker(number)
        leads = all_of(leader == number, b.running(), b.epoch <= epoch, s.leader_epoch >= epoch, negate(s.lossy))
        return implies(all_of(leads, idle_after(epoch)), b.log.agrees(s.committed, s.committed.end()))

    return each_led(s, follows)


def nothing_after(s: Replication) -> Callable[[Word], Truth]:
    """Whether nothing was committed by the leader of an epoch later than a given one.

    A reason that the leader of an epoch has committed nothing is a running broker that
    has not passed the epoch and for which it must wait: a candidate, or who is elected in
    that epoch or later and has not heard of it. Each broker is a reason for the epochs
    after its own, up to the last of these.

    There need not be one up to the newest epoch, but only up to one whose leader may commit
    and waits for nobody that has passed it: all who may be elected later wait with it.
    """
    if endless(s):
        return _nothing_after_of_any(s)
    last_led = _last_led(s)

    def last(n: Word) -> Word:
        return choose(candidates(s).has(n), s.leader_epoch, last_led(n))

    def next_has_reason(epoch: Word) -> Truth:
        return any_of(*some_records(
            s.brokers, lambda n, b: all_of(b.running(), b.epoch <= epoch, last(n) > epoch)
        ))  # fmt: skip

    now = [view for _, view in _views(s)]

    def needs_no_more(epoch: Word, leader: Word) -> Truth:
        views = [*now, *(_once_it_leads(s, n, epoch, leader) for n in _leaders_of(s, leader))]
        waits = [all_of(v.able, v.epoch == epoch, negate(v.stuck(s))) for v in views]
        return any_of(epoch >= s.leader_epoch, *waits)

    lasts = [] if isinstance(s.brokers, PerBroker) else [last(n) for n in range(len(s.brokers))]
    return until(s.leaders, needs_no_more, next_has_reason, lasts)


def _nothing_after_of_any(s: Replication) -> Callable[[Word], Truth]:
    """As `nothing_after`, of any number of brokers and of epochs."""
    led_after = _led_after(s)

    def has_reason(epoch: Word) -> Truth:
        def is_reason(n: Word, b: Broker) -> Truth:
            later = any_of(all_of(candidates(s).has(n), s.leader_epoch > epoch), led_after(n, epoch, 0))
            return all_of(b.running(), b.epoch <= epoch, later)

        return any_of(*some_records(s.brokers, is_reason))

    def needs_no_more(epoch: Word, leader: Word) -> Truth:
        b = s.broker(leader)
        leads = all_of(leader >= 0, b.running(), b.epoch == epoch)
        views = [*_views_of(s, leader, epoch, b, leads), _once_it_leads(s, leader, epoch, leader)]
        return any_of(epoch >= s.leader_epoch, *(all_of(v.able, negate(v.stuck(s))) for v in views))

    def reaches(epoch: Word, later: Word) -> Truth:
        between = of_each(s.leaders, lambda e, _: implies(all_of(epoch <= e, e < later), has_reason(e)))
        return all_of(epoch <= later, *between.values())

    return lambda epoch: is_some(s.leaders, lambda later, leader: all_of(
        needs_no_more(later, leader), reaches(epoch, later)))  # fmt: skip


def _leaders_of(s: Replication, leader: Word) -> Sequence[Word]:
    """Who may be the leader of an epoch: any of a fixed number of brokers; of any number only its leader."""
    return [leader] if isinstance(s.brokers, PerBroker) else range(len(s.brokers))
