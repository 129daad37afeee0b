"""Lemmas of `replication` about the records that leaders, stale ones included, may yet commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from attrs import frozen

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Conjuncts, Property
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate
from kraftcheck.model.systems.replication.history import last_kept, of_each, until
from kraftcheck.model.systems.replication.log import Log, smaller
from kraftcheck.model.systems.replication.state import ACCEPTED, INELIGIBLE, OVERTAKEN, STOPPED_UNCLEAN, Replication
from kraftcheck.properties.kinds import always
from kraftcheck.properties.replication.lemmas_logs import asked, candidates, eligible, leading


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
        ends: what it knows of their log ends.
        refused: whether the request in flight is its own, and gone by then.
    """

    leader: int
    epoch: Word
    log: Log
    able: Truth
    quorum: BrokerSet
    ends: tuple[Word, ...]
    refused: Truth = False

    def past(self, s: Replication) -> Truth:
        """Whether its epoch is over."""
        return self.epoch < s.leader_epoch

    def frozen(self, s: Replication, number: int) -> Truth:
        """Whether a broker that it waits for will never fetch from it again."""
        b = s.brokers[number]
        gone = any_of(negate(b.running()), self.epoch < b.epoch)
        return all_of(self.past(s), self.quorum.has(number), gone) if number != self.leader else False

    def stuck(self, s: Replication) -> Truth:
        """Whether there is such a broker."""
        return any_of(*(self.frozen(s, number) for number in range(len(s.brokers))))


def _views(s: Replication) -> Iterator[tuple[str, View]]:
    for n, b, leads in leading(s):
        enough = all_of(leads, b.isr.size() >= b.min_isr)
        yield f"broker {n}", View(n, b.epoch, b.log, enough, b.maximal_isr(), b.ends)
        accepted = any_of(b.answer == ACCEPTED, b.answer == OVERTAKEN)
        known = choose(accepted, b.proposed, b.isr)
        able = all_of(leads, any_of(accepted, b.answer == INELIGIBLE), known.size() >= b.min_isr)
        yield f"broker {n}, answered", View(
            n, b.epoch, b.log, able, known, b.ends, all_of(b.answer == INELIGIBLE, b.epoch == s.leader_epoch)
        )  # fmt: skip


def _once_it_leads(s: Replication, n: int, epoch: Word, leader: Word) -> View:
    """What a broker may commit with in an epoch that it is yet to lead."""
    b, isr = s.brokers[n], s.isr_at(epoch)
    waits = all_of(leader == n, b.running(), b.epoch < epoch, s.leader_epoch >= epoch)
    return View(n, epoch, b.log, all_of(waits, isr.size() >= s.minimum_at(epoch)), isr, (-1,) * len(s.brokers))


def _last_led(s: Replication) -> list[Word]:
    """The last epoch that each broker leads, has led, or has yet to hear that it leads; NEVER: none is remembered."""

    def of(number: int) -> Word:
        return last_kept(s.leaders, lambda leader: leader == number, s.leader_epoch)

    return [of(number) for number in range(len(s.brokers))]


def _reach(s: Replication) -> Conjuncts:
    parts: dict[str, Truth] = {}
    led = _last_led(s)

    def once_it_leads(number: int) -> Conjuncts:
        return of_each(s.leaders, lambda epoch, leader: all_of(
            *_reached(s, _once_it_leads(s, number, epoch, leader), led).values()))  # fmt: skip

    for name, view in _views(s):
        parts |= {f"{name} {part}": truth for part, truth in _reached(s, view, led).items()}
    for number in range(len(s.brokers)):
        parts |= {f"broker {number}, {name}": truth for name, truth in once_it_leads(number).items()}
    return parts


def _reached(s: Replication, v: View, led: Sequence[Word]) -> dict[str, Truth]:
    """Of one view: its log agrees with what is committed, and with the log of each other broker that counts."""
    room = s.committed.beyond(*(b.log for b in s.brokers))
    bound: Word = room
    for g in range(len(s.brokers)):
        bound = choose(v.frozen(s, g), smaller(bound, v.ends[g]), bound)
    able = all_of(v.able, negate(s.lossy))
    parts = {"agrees": implies(able, v.log.agrees(s.committed, smaller(bound, s.committed.end())))}
    for x, other in enumerate(s.brokers):
        if x != v.leader:
            known = any_of(eligible(s).has(x), all_of(asked(s).has(x), negate(v.refused)))
            candidate = all_of(known, other.status != STOPPED_UNCLEAN)
            elected_after = all_of(other.running(), led[x] > v.epoch, led[x] >= other.epoch)
            counts = all_of(able, any_of(candidate, elected_after))
            inside = v.quorum.has(x)
            below = smaller(choose(inside, v.ends[x], room), bound)
            late = all_of(other.running(), other.epoch < v.epoch)
            parts[f"and {x}, counted"] = implies(counts, any_of(inside, all_of(v.stuck(s), negate(late))))
            parts[f"and {x} agree"] = implies(counts, v.log.agrees(other.log, below))
    return parts


def _follow(s: Replication) -> Conjuncts:
    idle_after = nothing_after(s)

    def follows(number: int, epoch: Word, leader: Word) -> Truth:
        b = s.brokers[number]
        leads = all_of(leader == number, b.running(), b.epoch <= epoch, s.leader_epoch >= epoch, negate(s.lossy))
        return implies(all_of(leads, idle_after(epoch)), b.log.agrees(s.committed, s.committed.end()))

    def of(number: int) -> Conjuncts:
        return of_each(s.leaders, lambda epoch, leader: follows(number, epoch, leader))

    return {
        f"broker {number}, {name}": truth for number in range(len(s.brokers)) for name, truth in of(number).items()
    }


def nothing_after(s: Replication) -> Callable[[Word], Truth]:
    """Whether nothing was committed by the leader of an epoch later than a given one.

    A reason that the leader of an epoch has committed nothing is a running broker that
    has not passed the epoch and for which it must wait: a candidate, or who is elected in
    that epoch or later and has not heard of it. Each broker is a reason for the epochs
    after its own, up to the last of these.

    There need not be one up to the newest epoch, but only up to one whose leader may commit
    and waits for nobody that has passed it: all who may be elected later wait with it.
    """
    led = _last_led(s)
    lasts = [choose(candidates(s).has(n), s.leader_epoch, last) for n, last in enumerate(led)]

    def next_has_reason(epoch: Word) -> Truth:
        return any_of(*(
            all_of(b.running(), b.epoch <= epoch, last > epoch) for b, last in zip(s.brokers, lasts, strict=True)
        ))  # fmt: skip

    now = [view for _, view in _views(s)]

    def needs_no_more(epoch: Word, leader: Word) -> Truth:
        views = [*now, *(_once_it_leads(s, n, epoch, leader) for n in range(len(s.brokers)))]
        waits = [all_of(v.able, v.epoch == epoch, negate(v.stuck(s))) for v in views]
        return any_of(epoch >= s.leader_epoch, *waits)

    return until(s.leaders, needs_no_more, next_has_reason, lasts)
