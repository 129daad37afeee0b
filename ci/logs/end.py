"""The end of a metadata log or snapshot: the state there, and what the log tells of how it came about."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from attrs import frozen

from kraftcheck.ci.logs.format.read import IN_PART, LogFiles, find
from kraftcheck.ci.logs.releases import WRITER, line_of, rules_of, writer_of
from kraftcheck.ci.logs.report import ReplayOptions, Summary, diagnosis_lines, passed_lines, settings_of, taken_lines
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.controller.state import Controller
from kraftcheck.model.language.system import ScopeError
from kraftcheck.model.records.replay import ReplayError
from kraftcheck.model.rules.ruleset import parse, without
from kraftcheck.solvers.logs.explain.explain import FOOTER, HEADER, ReplayedBatch
from kraftcheck.solvers.logs.explain.state import Batch, ModelRecord, State, elected, empty, loading
from kraftcheck.solvers.logs.history import History
from kraftcheck.solvers.logs.memo.ledger import MemoisedBatch
from kraftcheck.solvers.logs.whatif import Holders

LEAST_EVENTS = 10_000
"""So many events are remembered before those are forgotten that began nothing that lasts."""


@frozen
class ClusterEnd:
    """The end of a log or snapshot.

    Attributes:
        state: the state there.
        holders: who holds the data of each partition.
        history: since when what is as it is.
        events: what wrote the records that a reader asked about, in words, by their offsets.
        summary: what a replay says of the log.
        rules: the rule set.
    """

    state: State
    holders: Holders
    history: History
    events: dict[int, str]
    summary: Summary
    rules: str

    def doubts(self) -> Iterator[str]:
        """What a reader must know of the log before what follows from it is believed."""
        summary = self.summary
        yield from (note for note in summary.notes if note.startswith(("WARNING", WRITER)))
        usual = ("  passed through: ", "  passed over: ", "  snapshot: ")
        notes = (*taken_lines(summary), *passed_lines(summary))
        yield from (line.strip() for line in notes if not line.startswith(usual))
        if summary.unexplained:
            count = len(summary.unexplained)
            batches = "1 batch is" if count == 1 else f"{count} batches are"
            yield f"{batches} not what these rules write; run kraftcheck replay {summary.name}"
            yield from diagnosis_lines(summary)


Observe = Callable[[ReplayedBatch | MemoisedBatch], None]
"""Called with each batch, before the next is replayed."""


def cluster_end(path: Path, options: ReplayOptions, observe: Observe = lambda batch: None) -> ClusterEnd:
    """The end of a log or snapshot: its records are taken as they are, and replayed too, to know what explains them.

    Raises:
        Refusal: for what cannot be read, and where nothing is.
    """
    try:
        if options.rules is not None:
            parse(options.rules)
    except ScopeError as reason:
        raise Refusal(str(reason)) from None
    logs = find((path,))
    if len(logs) > 1:
        raise Refusal(f"{path}: {len(logs)} logs; name one of them, such as {logs[0].name}")
    return log_end(logs[0], options, observe)


def log_end(
    log: LogFiles, options: ReplayOptions, observe: Observe = lambda batch: None, detailed: bool = False,
    explains: bool = False,
) -> ClusterEnd:  # fmt: skip
    """The same, of the files of one log, which are read once; `detailed` and `explains` as of `replay`."""
    follower = _Follower(options)

    def follow(batch: ReplayedBatch | MemoisedBatch) -> None:
        observe(batch)
        follower.follow(batch)

    summary = options.replay(log, follow, detailed, explains, diagnoses=True)
    if not follower.any:
        raise Refusal(f"{log.name}: no record batch was read; is it a metadata log or snapshot?")
    rules = options.rules or writer_of(follower.state).preset
    if summary.described == IN_PART:  # partition 0 need not be shown, by which releases count the min ISR
        rules = without(rules, ("min-isr-from-first-partition",))
    return ClusterEnd(follower.state, follower.holders, follower.history, follower.events, summary, rules)


class _Follower:
    """The state after the last record, with what was followed on the way; a transaction is one step.

    Attributes:
        any: whether anything was read.
        events: what wrote the records with which something began that lasts, in words, by their offsets.
    """

    def __init__(self, options: ReplayOptions) -> None:
        self.state = self._settled = empty(Controller(settings=settings_of(options.static)))
        self.holders, self.history, self.events, self.any = Holders(), History(), dict[int, str](), False
        self._rules, self._in_snapshot, self._most = parse(options.rules or line_of(None).preset), False, LEAST_EVENTS
        self._asked = options.rules is not None

    def follow(self, replayed: ReplayedBatch | MemoisedBatch) -> None:
        """Follow one more batch."""
        self.any, history = True, self.history
        if isinstance(replayed, ReplayedBatch) and replayed.undone is not None:
            history.open(replayed.batch, self._in_snapshot)
            return
        batch = replayed.batch.whole()
        kinds = {entry.type for entry in batch.entries} if batch.control else set()
        self._in_snapshot = self._in_snapshot or HEADER in kinds
        history.open(batch, self._in_snapshot)
        if batch.control:
            self.state = elected(self.state, batch)
            self._in_snapshot = self._in_snapshot and FOOTER not in kinds
            return
        began = [offset for offset in self._load(batch) if offset is not None]
        self.events.update(_events(replayed, began))
        if len(self.events) > self._most:
            kept = self.history.offsets() | {*self.holders.losses.values()}
            self.events = {offset: text for offset, text in self.events.items() if offset in kept}
            self._most = max(LEAST_EVENTS, 2 * len(self.events))

    def _load(self, batch: Batch) -> Iterator[int | None]:
        """Take a batch's records as they are; the offsets of those with which something begins."""
        rules = self._rules if self._asked else rules_of(self.state.supported_level())
        for before, after, record in self._loading(batch):
            self.state = after
            if after.transaction is not None:
                continue
            one = record if before.transaction is None else None
            was, now = self._settled.controller, after.controller
            offset = None if self._in_snapshot else now.image.next_offset - 1
            lost = self.holders.follow(was, now, one)
            if self.history.note(was, now, offset, rules, one) or lost:
                yield offset
            self._settled = after

    def _loading(self, batch: Batch) -> Iterator[tuple[State, State, ModelRecord]]:
        """The steps of a batch that is taken as it is; raises Refusal for a record that does not fit those before."""
        try:
            yield from loading(self.state.at(batch.base_offset), batch, self._rules)
        except ReplayError as reason:
            raise Refusal(
                f"{batch.place}: {reason}; give all of the log, or the newest "
                "snapshot and what follows it"
            ) from None


def _events(batch: ReplayedBatch | MemoisedBatch, wanted: Sequence[int]) -> Iterator[tuple[int, str]]:
    """The events that wrote the wanted records of a batch, as far as one explains them."""
    first = batch.batch.base_offset
    inside = wanted[bisect_left(wanted, first) : bisect_right(wanted, batch.batch.last_offset)]
    places = [offset - first for offset in inside]
    if not places:
        return
    if isinstance(batch, MemoisedBatch):
        names = batch.names()
        found = [(place, names[place * len(names) // len(batch.batch)]) for place in places]
        count = batch.count
    else:
        steps = () if batch.explanation is None else batch.explanation.steps
        found = [(place, step.name) for place in places for step in steps if step.start <= place < step.end]
        count = 1 if batch.explanation is None else batch.explanation.count
    for place, name in found:
        yield first + place, name if count == 1 else f"{name}, or what writes the same"
