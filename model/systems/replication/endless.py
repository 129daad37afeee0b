"""Logs without a largest offset, which proofs for any number of records use instead of a tuple."""

from __future__ import annotations

from typing import Any

from attrs import evolve, frozen

from kraftcheck.model.language.sequences import Sequence, every, first_place
from kraftcheck.model.language.system import Setting
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate
from kraftcheck.model.systems.replication.log import VACANT, Claim, Log, larger, smaller


def unbounded(setting: Setting) -> bool:
    """Whether logs have no bound."""
    return setting["unbounded"] > 0


def allows(setting: Setting, budget: str) -> bool:
    """Whether a budget, by the name of its bound, lets anything happen: it has no bound, or is not 0."""
    return budget in setting.freed or setting[budget] > 0


@frozen
class EndlessLog(Log):
    """A log as its end and what is at each offset; from the end on that says nothing.

    Every method means what it does for a `Log` without gaps and, for `count_to` and
    `largest_to`, with epochs that never fall: `lemma-logs-sorted` is that of brokers.
    """

    entries: Any
    length: Word

    def __str__(self) -> str:
        """How many records there are: which ones has no end."""
        return f"[{self.length} records]"

    def end(self) -> Word:
        """The log end offset."""
        return self.length

    def at(self, offset: Word) -> Word:
        """The entry at an offset."""
        entry: Word = self._sequence().at(offset)
        return choose(self.length > offset, entry, VACANT)

    def _sequence(self) -> Sequence:
        found: Sequence = self.entries
        return found

    def _before(self, offset: Word) -> Word:
        """The entry before an offset, VACANT when there is none."""
        return choose(offset > 0, self.at(offset - 1), VACANT)

    def last(self) -> Word:
        """The entry of the last record, VACANT when there is none."""
        return self._before(self.length)

    def is_full(self) -> Truth:
        """Never."""
        return False

    def append(self, entry: Word) -> EndlessLog:
        """The log with one more record."""
        end, old = self.length, self._sequence()
        return EndlessLog(Sequence(old.graph, lambda at: choose(end == at, entry, old.at(at))), end + 1)

    def truncate(self, to: Word) -> EndlessLog:
        """The log cut at an offset."""
        return evolve(self, length=smaller(self.length, larger(to, 0)))

    def count_to(self, entry: Word) -> Word:
        """The first offset whose entry is larger; where there is none, the end."""
        sequence = self._sequence()
        return first_place(sequence.graph, lambda at: sequence.at(at) > entry, self.length)

    def counts_from(self, entry: Word, offset: Word) -> Truth:
        """See `Log.counts_from`; said of every offset, so that it can be asked within a claim about every broker."""
        return all_of(offset <= self.length, *self.each(lambda at, old: implies(offset > at, old <= entry)))

    def counts_within(self, entry: Word, offset: Word) -> Truth:
        """See `Log.counts_within`; where epochs never fall, it is asked of the entry at the offset."""
        return any_of(self.length <= offset, self.at(offset) > entry)

    def largest_to(self, entry: Word) -> Word:
        """The last entry before the first that is larger than the given one."""
        return self._before(self.count_to(entry))

    def copy_of(self, other: Log) -> EndlessLog:
        """This log followed by what the other holds beyond its end."""
        end, old = self.length, self._sequence()
        copied = Sequence(old.graph, lambda at: choose(end > at, old.at(at), other.at(at)))
        return EndlessLog(copied, larger(end, other.end()))

    def extended(self, other: Log, to: Word, when: Truth) -> EndlessLog:
        """This log and, when so, what the other holds from its end to an offset."""
        end, old = self.length, self._sequence()
        grown = Sequence(old.graph, lambda at: choose(all_of(when, end <= at, to > at), other.at(at), old.at(at)))
        return EndlessLog(grown, choose(all_of(when, to > end), to, end))

    def each(self, claim: Claim) -> list[Truth]:
        """One truth: that the claim holds at every offset, vacant ones included."""
        return [every(self._sequence().graph, lambda at: claim(at, self.at(at)))]

    def in_order(self, never_falls: Truth) -> Truth:
        """Whether there is no gap, and, where asked for, epochs never fall: of any two records, not only neighbours."""
        return all_of(
            *self.each(lambda at, entry: implies(self.length > at, entry != VACANT)),
            implies(never_falls, all_of(*self.each(self._not_above_later))),
        )

    def _not_above_later(self, offset: Word, entry: Word) -> Truth:
        return all_of(
            *self.each(lambda later, other: implies(all_of(offset <= later, self.length > later), entry <= other))
        )

    def same_below(self, other: Log) -> Truth:
        """Whether both agree up to each record of this log that the other holds there, or later."""

        def shared(offset: Word, entry: Word) -> Truth:
            again = every(
                self._sequence().graph, lambda later: implies(offset <= later, negate(entry == other.at(later)))
            )
            return any_of(entry == VACANT, again, self.agrees(other, offset + 1))

        return all_of(*self.each(shared))

    def beyond(self) -> Word:
        """Its end."""
        return self.length
