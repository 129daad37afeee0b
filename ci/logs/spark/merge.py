"""The verdict of a log that was spread over tasks: what its shares noted, what their records add up to, and the rest.

Batches that no share can explain are explained here, by one that follows the
whole log.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import define, field, frozen

from kraftcheck.ci.logs.format.read import LogFiles, Skipped, read_compact
from kraftcheck.ci.logs.spark.join import Counted
from kraftcheck.ci.logs.spark.rows import Row, batch_row, rows_of, violation_rows
from kraftcheck.ci.logs.summary import Summary, called
from kraftcheck.solvers.logs.explain.entries import Batch, Compact
from kraftcheck.solvers.logs.explain.judge import Violation
from kraftcheck.solvers.logs.explain.replay import Replayed
from kraftcheck.solvers.logs.memo.follow import Follower


class DivergedError(AssertionError):
    """Shares of a log do not fit together: a defect of the replay."""


@frozen
class Happened:
    """An event of a broker, or changes after which something does not hold.

    Attributes:
        base, last, place: of the batch.
        names, actions: the events that fit.
        violations: what does not hold after the first of them.
    """

    base: int
    last: int
    place: str
    names: tuple[str, ...]
    actions: tuple[str, ...]
    violations: tuple[Violation, ...]


@define
class Noted:
    """What the shares of one log noted.

    Attributes:
        gave_up: why a share cannot be replayed; the log is then replayed as a whole.
        whole: first offsets of the batches that are to be explained as a whole.
        totals: of the first share.
        blocks: the blocks that some share has records in.
        events: events of brokers that fit in every share.
        violated: changes after which something does not hold.
    """

    gave_up: str | None = None
    whole: frozenset[int] = frozenset()
    totals: Mapping[str, Any] = field(factory=dict)
    blocks: tuple[int, ...] = ()
    events: list[Happened] = field(factory=list)
    violated: list[Happened] = field(factory=list)


def noted(notes: Iterable[str], shares: int) -> Noted:
    """The notes of all shares of a log, in one.

    Raises:
        DivergedError: when a share is missing.
    """
    rows = [json.loads(note) for note in notes]
    reasons = [row["gave up"] for row in rows if "gave up" in row]
    ends = sorted(row["end"] for row in rows if "end" in row)
    if ends != list(range(shares)):
        raise DivergedError(f"of {shares} shares {ends} ended")
    if reasons:
        return Noted(gave_up=reasons[0])
    found = Noted(totals=next(row["totals"] for row in rows if row.get("end") == 0))
    found.blocks = tuple(sorted({block for row in rows for block in row.get("blocks", ())}))
    fits: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        if "event" in row:
            fits.setdefault(row["event"], []).append(row)
    whole = {row["whole"] for row in rows if "whole" in row}
    for base, told in sorted(fits.items()):
        happened = _happened(base, told) if len(told) == shares and base not in whole else None
        if happened is None:
            whole.add(base)
        else:
            found.events.append(happened)
    found.whole = frozenset(whole)
    violated = [row for row in rows if "violated" in row and row["violated"] not in whole]
    for base in sorted({row["violated"] for row in violated}):
        told = [row for row in violated if row["violated"] == base]
        listed = sorted((row for one in told for row in one["rows"]), key=lambda row: row[0])
        places = tuple(_violation(row[1:]) for row in listed)
        found.violated.append(Happened(base, told[0]["last"], told[0]["place"], (), (), places))
    return found


def _happened(base: int, told: Sequence[Mapping[str, Any]]) -> Happened | None:
    """The events that fit in every share; None where there is none."""
    by_name = [{fit["name"]: fit for fit in row["fits"]} for row in told]
    names = [name for name in by_name[0] if all(name in fits for fits in by_name)]
    if not names:
        return None
    listed = sorted((row for fits in by_name for row in fits[names[0]]["violations"]), key=lambda row: row[:2])
    actions = tuple(by_name[0][name]["action"] for name in names)
    last, place = told[0]["last"], told[0]["place"]
    return Happened(base, last, place, tuple(names), actions, tuple(_violation(row[2:]) for row in listed))


def _violation(row: Sequence[Any]) -> Violation:
    return Violation(row[0], row[1], row[2], tuple(row[3]))


class Merge:
    """The summary of one log, put together.

    Args:
        log: its files.
        summary: to be filled.
        found: what its shares noted.
        counted: what their records add up to.
    """

    def __init__(self, log: LogFiles, summary: Summary, found: Noted, counted: Counted) -> None:
        self._log, self.summary, self._found, self._counted = log, summary, found, counted
        self._firsts: dict[str, int] = {}
        self._times: Counter[str] = Counter()
        self._violations: list[tuple[int, Batch | Compact, Violation]] = []

    def rows(self, follow: Callable[[frozenset[int]], Follower]) -> Iterator[Row]:
        """The rows of batches that are no changes by themselves, and of all violations; the summary is then complete.

        Raises:
            DivergedError: when a batch is not explained that a share found to be one to explain.
        """
        whole = self._found.whole
        seen = set()
        for replayed in follow(whole).replay(read_compact(self._log, Skipped(0))):
            seen.add(replayed.batch.base_offset)
            self._explained(replayed)
            yield from rows_of(self._log.name, replayed, timelines=False)
        if seen != whole:
            raise DivergedError(f"{self._log.name}: {len(whole ^ seen)} batches are not explained")
        for happened in self._found.events:
            yield batch_row(self._log.name, happened.base, "", happened.last - happened.base + 1, len(happened.names),
                            [happened.names[0]])  # fmt: skip
            self._count(called(happened.names[0], happened.actions[0]), 1, happened.base)
            if len(happened.names) > 1:
                self.summary.ambiguous[len(happened.names)] += 1
        for happened in (*self._found.events, *self._found.violated):
            batch = Batch(happened.base, happened.last, 0, (), happened.place)
            self._violations += [(happened.base, batch, v) for v in happened.violations]
            yield from violation_rows(self._log.name, happened.base, happened.violations)
        self._complete()

    def _explained(self, replayed: Replayed) -> None:
        """Count a batch that was explained as a whole."""
        found = replayed.explanation
        assert found is not None
        self.summary.add(replayed)
        self._violations += [(found.batch.base_offset, found.batch, v) for v in replayed.violations]
        for step in found.steps:
            self._count(called(step.name, step.guess.action), 1, found.batch.base_offset + step.start)

    def _count(self, action: str, times: int, first: int) -> None:
        self._times[action] += times
        self._firsts[action] = min(first, self._firsts.get(action, first))

    def _complete(self) -> None:
        """Everything in the order of the log, as one machine counts it."""
        summary, totals = self.summary, self._found.totals
        for action, (times, first) in self._counted.actions.items():
            self._count(action, times, first)
        summary.events = Counter({a: self._times[a] for a in sorted(self._times, key=self._firsts.__getitem__)})
        for explanations, times in self._counted.ambiguous.items():
            summary.ambiguous[explanations] += times
        summary.violations = [(b, v) for _, b, v in sorted(self._violations, key=lambda found: found[0])]
        summary.passed = Counter(totals["passed"])
        summary.judged = summary.judged or totals["judged"]
        summary.batches, summary.records = totals["batches"], totals["records"]
        summary.control, summary.loaded = totals["control"], totals["loaded"]
