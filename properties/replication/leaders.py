"""Claims about leaders: of a fixed number of brokers about each of them, of any number about the leader of each epoch.

Whoever believes that it leads is the leader of the epoch that it has applied. So both say the same, and of any
number of brokers there are as many leaders to speak of as there are epochs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kraftcheck.model.language.anynumber import PerBroker, each_record, record_of
from kraftcheck.model.language.sequences import Sequence
from kraftcheck.model.language.system import Conjuncts
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, choose, implies, negate
from kraftcheck.model.systems.replication.log import first_kept, kept_at, of_each
from kraftcheck.model.systems.replication.state import Broker, Replication
from kraftcheck.properties.elections.stated import needed_isr

EpochClaim = Callable[[Word, Word, Word], Truth]
"""A claim about a broker, an epoch and its leader."""

LeaderClaim = Callable[[Word, Word, Broker], Truth]
"""A claim about a broker that believes that it leads: of its number, its epoch and its record."""


def endless(s: Replication) -> bool:
    """Whether there are any number of brokers and of epochs."""
    return isinstance(s.brokers, PerBroker) and isinstance(s.leaders, Sequence)


def needed_isr_at(s: Replication, epoch: Word) -> Word:
    """How many ISR members a commit of a leader epoch needs, by the controller's last word in that epoch."""
    past: Word = kept_at(s.minimums, epoch, first_kept(s.minimums))
    return choose(epoch == s.leader_epoch, needed_isr(s.controller), past)


def leading(s: Replication) -> Iterator[tuple[str, Word, Word, Broker, Truth]]:
    """Each broker that may believe that it leads, by a name, with its epoch and record, and whether it does."""
    if not isinstance(s.brokers, PerBroker):
        for n, b in enumerate(s.brokers):
            yield f"broker {n}", n, b.epoch, b, s.leads(n, b)
        return
    for epoch, leader in enumerate(s.leaders):
        b = record_of(s.brokers, leader)
        yield f"leader of epoch {epoch}", leader, epoch, b, all_of(leader >= 0, b.running(), b.epoch == epoch)


def each_leading(s: Replication, claim: LeaderClaim) -> Conjuncts:
    """A claim about each broker that believes that it leads, of its epoch and its record."""
    if endless(s):
        return each_record(s.brokers, lambda n, b: implies(s.leads(n, b), claim(n, b.epoch, b)))
    return {name: implies(leads, claim(n, epoch, b)) for name, n, epoch, b, leads in leading(s)}


def each_follower(s: Replication, claim: Callable[[Word, Word, Broker, Word, Broker], Truth]) -> Conjuncts:
    """A claim about each broker that believes that it leads, as above, and each other broker."""
    if endless(s):
        return each_leading(s, lambda n, epoch, b: all_of(
            *each_other(s, n, lambda f, other: claim(n, epoch, b, f, other)).values()))  # fmt: skip
    parts: dict[str, Truth] = {}
    for name, n, epoch, b, leads in leading(s):
        others = each_other(s, n, lambda f, other, n=n, epoch=epoch, b=b: claim(n, epoch, b, f, other))  # type: ignore[misc]
        parts |= {f"{name} of {other}": implies(leads, truth) for other, truth in others.items()}
    return parts


def each_other(s: Replication, number: Word, claim: Callable[[Word, Broker], Truth]) -> Conjuncts:
    """A claim about every broker but one."""
    if isinstance(s.brokers, PerBroker):
        return each_record(s.brokers, lambda f, other: implies(negate(number == f), claim(f, other)))
    return {f"broker {f}": claim(f, other) for f, other in enumerate(s.brokers) if f != number}


def each_led(s: Replication, claim: EpochClaim) -> Conjuncts:
    """A claim about every broker and epoch; of any number of brokers only about the leader of each epoch."""
    if endless(s):
        return each_record(s.brokers, lambda n, _: all_of(
            *of_each(s.leaders, lambda epoch, leader: claim(n, epoch, leader)).values()))  # fmt: skip
    if isinstance(s.brokers, PerBroker):
        return of_each(s.leaders, lambda epoch, leader: implies(leader >= 0, claim(leader, epoch, leader)))
    numbers = range(len(s.brokers))
    parts = {n: of_each(s.leaders, lambda epoch, leader, n=n: claim(n, epoch, leader)) for n in numbers}  # type: ignore[misc]
    return {f"broker {n}, {name}": truth for n, of in parts.items() for name, truth in of.items()}
