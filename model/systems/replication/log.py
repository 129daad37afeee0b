"""Logs of replicas, the leader epoch of each record by offset, and the history of leader epochs.

A record is known by its offset and its leader epoch: a leader writes each
offset of its epoch once. Entry 0 is vacant, entry e + 1 is a record of epoch
e; epochs never fall along a log.

Source: KIP-101, KIP-279, KIP-320; `LeaderEpochFileCache`, `AbstractFetcherThread`.

The history of leader epochs: a tuple, or an endless sequence in proofs about any number of epochs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from attrs import frozen

from kraftcheck.model.language.anynumber import PerBroker
from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.sequences import Sequence as Endless
from kraftcheck.model.language.sequences import every, last_place
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, concrete, implies, negate, pick, word

VACANT = 0

Claim = Callable[[Word, Word], Truth]  # a claim about an offset and the entry there


@frozen
class Log:
    """The log as a fixed number of entries."""

    entries: tuple[Word, ...]

    def __str__(self) -> str:
        """The epochs of the records: `[0 0 1]`."""
        told = [str(e - 1) for e in self.entries if e is not VACANT]
        return f"[{' '.join(told)}]"

    def end(self) -> Word:
        """The log end offset."""
        total: Word = 0
        for entry in self.entries:
            total = total + word(entry > VACANT)
        return total

    def last(self) -> Word:
        """The entry of the last record, VACANT when there is none."""
        found: Word = VACANT
        for entry in self.entries:
            found = choose(entry > VACANT, entry, found)
        return found

    def is_full(self) -> Truth:
        """Whether no entry is vacant."""
        return self.entries[-1] > VACANT

    def append(self, entry: Word) -> Log:
        """The log with one more record; a full log stays."""
        end = self.end()
        return Log(tuple(choose(end == offset, entry, old) for offset, old in enumerate(self.entries)))

    def truncate(self, to: Word) -> Log:
        """The log cut at an offset."""
        return Log(tuple(choose(to > offset, old, VACANT) for offset, old in enumerate(self.entries)))

    def count_to(self, entry: Word) -> Word:
        """End offset of the largest epoch that is at most the given one."""
        total: Word = 0
        for old in self.entries:
            total = total + word(all_of(old > VACANT, old <= entry))
        return total

    def counts_from(self, entry: Word, offset: Word) -> Truth:
        """Whether the end offset of the largest epoch that is at most the given one is at an offset, or beyond it."""
        return offset <= self.count_to(entry)

    def counts_within(self, entry: Word, offset: Word) -> Truth:
        """Whether that end offset is at an offset, or before it."""
        return self.count_to(entry) <= offset

    def largest_to(self, entry: Word) -> Word:
        """The largest entry that is at most the given one, VACANT when there is none."""
        found: Word = VACANT
        for old in self.entries:
            found = choose(all_of(old > VACANT, old <= entry), old, found)
        return found

    def copy_of(self, other: Log) -> Log:
        """This log followed by what the other holds beyond its end."""
        end = self.end()
        return Log(tuple(choose(end > offset, old, other.entries[offset]) for offset, old in enumerate(self.entries)))

    def agrees(self, other: Log, below: Word) -> Truth:
        """Whether both hold the same records below an offset."""
        return all_of(*self.each(lambda offset, old: implies(below > offset, old == other.at(offset))))

    def extended(self, other: Log, to: Word, when: Truth) -> Log:
        """This log and, when so, what the other holds from its end to an offset."""
        known = self.end()
        return Log(
            tuple(
                choose(all_of(when, known <= offset, to > offset), entry, old)
                for offset, (entry, old) in enumerate(zip(other.entries, self.entries, strict=True))
            )
        )

    def at(self, offset: Word) -> Word:
        """The entry at an offset; an index of the tuple."""
        return self.entries[concrete(offset)]

    def each(self, claim: Claim) -> list[Truth]:
        """Truths that together say that a claim holds at every offset, vacant ones included."""
        return [claim(offset, entry) for offset, entry in enumerate(self.entries)]

    def in_order(self, never_falls: Truth) -> Truth:
        """Whether there is no gap, and, where asked for, epochs never fall."""
        return all_of(
            *(any_of(b == VACANT, all_of(a != VACANT, implies(never_falls, a <= b))) for a, b in pairwise(self.entries))
        )

    def same_below(self, other: Log) -> Truth:
        """Whether both agree up to each record of this log that the other holds there, or later."""
        places = range(len(self.entries))
        return all_of(*(
            implies(all_of(self.entries[o] == other.entries[later], self.entries[o] != VACANT),
                    self.agrees(other, o + 1))
            for o in places for later in places if o <= later
        ))  # fmt: skip

    def beyond(self) -> Word:
        """An offset that is not below the end of the log."""
        return len(self.entries)


def smaller(a: Word, b: Word) -> Word:
    """The smaller of two words."""
    return choose(a < b, a, b)


def larger(a: Word, b: Word) -> Word:
    """The larger of two words."""
    return choose(a < b, b, a)


Kept = Any  # a tuple by leader epoch, or a `model.language.sequences.Sequence`; of sets of brokers that has their masks
Rule = Callable[[Word, Any], Any]  # what is kept of an epoch from now on, by the epoch and what was
NEVER = -1  # the epoch where there is none


def has_no_end(kept: Kept) -> bool:
    """Whether there are any number of epochs."""
    return isinstance(kept, Endless)


def kept_at(kept: Kept, epoch: Word, otherwise: Any) -> Any:
    """What is kept of an epoch; `otherwise` where none can be."""
    if isinstance(kept, Endless):
        return choose(epoch >= 0, kept.at(epoch), otherwise)
    return pick(kept, epoch, otherwise)


def isr_kept_at(kept: Kept, epoch: Word) -> BrokerSet:
    """The ISR that is kept of an epoch."""
    if isinstance(kept, PerBroker):
        return kept.at(epoch)  # type: ignore[no-any-return]
    if isinstance(kept, Endless):
        return BrokerSet(kept.at(epoch))
    found: BrokerSet = pick(kept, epoch, kept[0])
    return found


def first_kept(kept: Kept) -> Any:
    """What is kept of the first epoch."""
    return kept.at(0) if isinstance(kept, Endless) else kept[0]


def rewritten(kept: Kept, rule: Rule) -> Kept:
    """What is kept, after a rule."""
    if isinstance(kept, Endless):
        return Endless(kept.graph, lambda epoch: rule(epoch, kept.at(epoch)))
    return tuple(rule(epoch, old) for epoch, old in enumerate(kept))


def isrs_rewritten(kept: Kept, rule: Rule) -> Kept:
    """As `rewritten`, of ISRs."""
    if isinstance(kept, PerBroker):
        return kept.rewritten(rule)
    if isinstance(kept, Endless):
        return Endless(kept.graph, lambda epoch: rule(epoch, BrokerSet(kept.at(epoch))).mask)
    return rewritten(kept, rule)


def of_each(kept: Kept, claim: Callable[[Word, Any], Truth]) -> dict[str, Truth]:
    """For each epoch, by a name of its own, whether a claim holds; one truth where they have no end."""
    if isinstance(kept, Endless | PerBroker):
        return {"every epoch": every(kept.graph, lambda epoch: claim(epoch, kept.at(epoch)))}
    return {f"epoch {epoch}": claim(epoch, old) for epoch, old in enumerate(kept)}


def is_some(kept: Kept, claim: Callable[[Word, Any], Truth]) -> Truth:
    """Whether a claim holds of some epoch and what is kept of it."""
    return negate(all_of(*of_each(kept, lambda epoch, old: negate(claim(epoch, old))).values()))


def last_kept(kept: Kept, claim: Callable[[Any], Truth], newest: Word) -> Word:
    """The last epoch, up to the newest, of which is kept what a claim holds of; NEVER: none."""
    if isinstance(kept, Endless):
        return last_place(kept.graph, lambda epoch: claim(kept.at(epoch)), newest)
    last: Word = NEVER
    for epoch, old in enumerate(kept):
        last = choose(all_of(newest >= epoch, claim(old)), epoch, last)
    return last


def newest_of(epoch: Word, other: Word, when: Truth) -> Word:
    """An epoch or, when so and it is newer, another one."""
    return choose(all_of(when, epoch < other), other, epoch)


def until(
    kept: Sequence[Any], goal: Callable[[Word, Any], Truth], step: Callable[[Word], Truth]
) -> Callable[[Word], Truth]:
    """Of an epoch of a bounded number: whether it or a later one is the goal, and a step is possible from each before.

    Args:
        kept: of each epoch.
        goal: of an epoch and what is kept of it.
        step: from an epoch to the next.
    """
    found: list[Truth] = []
    after: Truth = False
    for epoch in reversed(range(len(kept))):
        after = any_of(goal(epoch, kept[epoch]), all_of(step(epoch), after))
        found.insert(0, after)
    return lambda epoch: found[concrete(epoch)]
