"""Lemmas of `replication` about what leaders, stale ones included, may yet commit."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from model.brokersets import BrokerSet
from model.system import Conjuncts, Property
from model.systems.replication.log import Log, smaller
from model.systems.replication.state import ACCEPTED, INELIGIBLE, OVERTAKEN, STOPPED_UNCLEAN, Replication
from model.terms import Truth, Word
from model.words import all_of, any_of, choose, implies, negate
from properties.core import always
from properties.lemmas_logs import asked, candidates, eligible, leading


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
    for e, leader in enumerate(s.leaders):
        for n, b in enumerate(s.brokers):
            waits = all_of(leader == n, b.running(), b.epoch < e, s.leader_epoch >= e)
            able = all_of(waits, s.isr_at(e).size() >= s.minimum_at(e))
            yield f"broker {n}, epoch {e}", View(n, e, b.log, able, s.isr_at(e), (-1,) * len(s.brokers))


def _elected_after(s: Replication, number: int, epoch: Word) -> Truth:
    """Whether a running broker leads a later epoch, or has yet to hear that it does."""
    b = s.brokers[number]
    return any_of(*(
        all_of(leader == number, b.running(), b.epoch <= e, epoch < e, s.leader_epoch >= e)
        for e, leader in enumerate(s.leaders)
    ))  # fmt: skip


def _reach(s: Replication) -> Conjuncts:
    parts: dict[str, Truth] = {}
    room = s.committed.beyond(*(b.log for b in s.brokers))
    for name, v in _views(s):
        bound: Word = room
        for g in range(len(s.brokers)):
            bound = choose(v.frozen(s, g), smaller(bound, v.ends[g]), bound)
        able = all_of(v.able, negate(s.lossy))
        parts[f"{name} agrees"] = implies(able, v.log.agrees(s.committed, smaller(bound, s.committed.end())))
        for x, other in enumerate(s.brokers):
            if x != v.leader:
                known = any_of(eligible(s).has(x), all_of(asked(s).has(x), negate(v.refused)))
                candidate = all_of(known, other.status != STOPPED_UNCLEAN)
                counts = all_of(able, any_of(candidate, _elected_after(s, x, v.epoch)))
                inside = v.quorum.has(x)
                below = smaller(choose(inside, v.ends[x], room), bound)
                late = all_of(other.running(), other.epoch < v.epoch)
                parts[f"{name}, {x} counted"] = implies(counts, any_of(inside, all_of(v.stuck(s), negate(late))))
                parts[f"{name}, {x} agrees"] = implies(counts, v.log.agrees(other.log, below))
    return parts


def _nothing_after(s: Replication) -> list[Truth]:
    """For each leader epoch, a reason that nothing was committed by the leader of a later one.

    It is the newest; or its leader may commit and waits for nobody that has passed
    it; or a running broker has not passed it, that every later leader must wait for:
    a candidate, or the leader of a later epoch after which nothing was committed.
    """
    epochs = range(len(s.leaders))
    reasons: list[Truth] = [s.leader_epoch <= e for e in epochs]
    for _, v in _views(s):
        reasons = [any_of(r, all_of(v.able, v.epoch == e, negate(v.stuck(s)))) for e, r in enumerate(reasons)]
    for e in reversed(epochs):
        for n, b in enumerate(s.brokers):
            later = any_of(*(all_of(s.leaders[after] == n, reasons[after]) for after in epochs[e + 1 :]))
            waits = all_of(b.running(), b.epoch <= e, any_of(candidates(s).has(n), later))
            reasons[e] = any_of(reasons[e], waits)
    return reasons


def _follow(s: Replication) -> Conjuncts:
    end, nothing_after = s.committed.end(), _nothing_after(s)
    return {
        f"broker {n}, epoch {e}": implies(
            all_of(s.leaders[e] == n, b.running(), b.epoch <= e, s.leader_epoch >= e, negate(s.lossy), reason),
            b.log.agrees(s.committed, end),
        )
        for e, reason in enumerate(nothing_after) for n, b in enumerate(s.brokers)
    }  # fmt: skip
