"""Situations and steps by number, for compiled code."""

from __future__ import annotations

import numpy as np

from kraftcheck.solvers.logs.memo.situation import Situation, Step
from kraftcheck.solvers.logs.runs.kernel import BITS, HIGH, NO_FIT, NONE, Steps, put, refill, triple_of

_FIRST = 1 << 12
_MOST = (1 << BITS) - 2
_MOST_SITUATIONS = 1 << 63 - HIGH


class Tables:
    """Situations and steps by number; no number is ever taken away.

    Attributes:
        situations: by number.
        steps: by number.
        leaderless: by number of a situation whether it has no leader, and room for more.
        arrays: for compiled code.
    """

    def __init__(self) -> None:
        self.situations: list[Situation] = []
        self.steps: list[Step] = []
        self.leaderless = np.zeros(_FIRST, np.bool_)
        self._numbers: dict[Situation, int] = {}
        self._noted: set[int] = set()
        self.arrays = _steps(_FIRST, _FIRST)

    def number(self, at: Situation) -> int:
        """Of a situation."""
        found = self._numbers.setdefault(at, len(self.situations))
        if found == len(self.situations):
            self.situations.append(at)
            if found == len(self.leaderless):
                self.leaderless = np.append(self.leaderless, np.zeros(found, np.bool_))
            self.leaderless[found] = at.leaderless
        return found

    def fits(self, events: int, bodies: int) -> bool:
        """Whether so many numbers can be told apart, with the situations that there are."""
        return max(events, bodies) < _MOST and len(self.situations) < _MOST_SITUATIONS

    def note(self, at: int, event: int, body: int, step: Step) -> bool:
        """Keep what an event, or a change by itself, comes to; whether it can be kept.

        It cannot where the code that tells of violations must see it, or where the situation behind it names other
        brokers. That an event does not fit is kept too.

        Args:
            at: the number of the situation.
            event: that of the event; 0: whichever explains the change.
            body: that of the change, or ABSENT.
            step: what it comes to.
        """
        after, number = step.after, len(self.steps)
        if (after is None and not event) or step.violations:
            return False
        if after is not None and not after.brokers() <= self.situations[at].brokers():
            return False
        triple = int(triple_of(at, event, body))
        if triple in self._noted:
            return True
        if number == len(self.arrays.after) or 2 * len(self._noted) >= len(self.arrays.triples):
            self._grow()
        self._noted.add(triple)
        if after is None:
            put(self.arrays, triple, NO_FIT)
            return True
        put(self.arrays, triple, number)
        self.steps.append(step)
        self.arrays.after[number] = self.number(after)
        self.arrays.leader[number], self.arrays.partition[number] = step.leader_epoch, step.partition_epoch
        return True

    def forget(self) -> None:
        """What everything comes to, as when rules or features are others."""
        self.arrays.triples[:] = NONE
        self._noted.clear()

    def _grow(self) -> None:
        old, count = self.arrays, len(self.steps)
        self.arrays = _steps(2 * len(old.triples), 2 * len(old.after))
        for name in ("after", "leader", "partition"):
            getattr(self.arrays, name)[:count] = getattr(old, name)[:count]
        refill(old, self.arrays)


def _steps(triples: int, steps: int) -> Steps:
    return Steps(
        np.full(triples, NONE, np.int64), np.zeros(triples, np.int32), np.zeros(steps, np.int32),
        np.zeros(steps, np.int64), np.zeros(steps, np.int64),
    )  # fmt: skip


__all__ = ["Tables"]
