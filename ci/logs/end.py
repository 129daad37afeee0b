"""The end of a metadata log or snapshot: the state there, and what the log tells of how it came about."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from attrs import frozen

from kraftcheck.ci.logs.format.read import IN_PART, LogFiles, find
from kraftcheck.ci.logs.releases import WRITER, writer_of
from kraftcheck.ci.logs.report import ReplayOptions, Summary, diagnosis_lines, passed_lines, taken_lines
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.controller.state import Controller
from kraftcheck.model.language.system import ScopeError
from kraftcheck.model.rules.ruleset import RuleSet, parse, without
from kraftcheck.solvers.logs.explain.explain import FOOTER, HEADER, Explanation, ReplayedBatch
from kraftcheck.solvers.logs.explain.state import Batch, State
from kraftcheck.solvers.logs.history import History
from kraftcheck.solvers.logs.memo.ledger import MemoisedBatch
from kraftcheck.solvers.logs.recovery import down
from kraftcheck.solvers.logs.whatif import Holders, changed_brokers

_FIRST = "min-isr-from-first-partition"
_OWN_MIN_ISR = f"-{_FIRST}"  # what a rule set ends with that counts it by each partition's own replicas
LEAST_EVENTS = 10_000  # so many events are remembered before those are forgotten that began nothing that lasts


@frozen
class ClusterEnd:
    """The end of a log or snapshot."""

    state: State  # the state there
    holders: Holders  # who holds the data of each partition
    history: History  # since when what is as it is
    events: dict[int, str]  # what wrote the records that a reader asked about, in words, by their offsets
    summary: Summary  # what a replay says of the log
    rules: str  # the rule set
    dead: frozenset[int] = frozenset()  # brokers that the operator says never come back

    @property
    def voters(self) -> frozenset[int]:
        """The nodes that vote in the quorum; where no record of it names them, the controllers there are."""
        return self.history.voters or frozenset(self.state.controller.controllers)

    def doubts(self) -> Iterator[str]:
        """The doubts about a log that a reader must know before he believes the rest."""
        summary = self.summary
        yield from (note for note in summary.notes if note.startswith(("WARNING", WRITER)))
        if summary.skips.described == IN_PART and self.rules.endswith(_OWN_MIN_ISR):
            yield "WARNING: partition 0 need not be shown: the min ISR of each partition is counted by its own replicas"
        usual = ("  passed through: ", "  passed over: ", "  snapshot: ")
        notes = (*taken_lines(summary), *passed_lines(summary))
        yield from (line.strip() for line in notes if not line.startswith(usual))
        if summary.unexplained:
            count = len(summary.unexplained)
            batches = "1 batch is" if count == 1 else f"{count} batches are"
            yield f"{batches} not what these rules write; run kraftcheck replay {summary.name}"
            yield from diagnosis_lines(summary)


Observe = Callable[[ReplayedBatch | MemoisedBatch], None]  # called with each batch, before the next is replayed


def cluster_end(path: Path, options: ReplayOptions, observe: Observe = lambda batch: None) -> ClusterEnd:
    """The end of a log or snapshot; raises Refusal for what cannot be read, and where nothing is."""
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
    follower = _Follower()

    def follow(batch: ReplayedBatch | MemoisedBatch) -> None:
        observe(batch)
        follower.follow(batch)

    summary = options.replay(log, follow, detailed, explains, diagnoses=True)
    follower.end()
    if not follower.any or summary.state is None:
        raise Refusal(f"{log.name}: no record batch was read; is it a metadata log or snapshot?")
    rules = options.rules or writer_of(summary.state).preset
    if summary.skips.described == IN_PART:  # partition 0 need not be shown, by which releases count the min ISR
        rules = without(rules, (_FIRST,))
    dead = frozenset(options.lost)
    for broker in dead:
        known = summary.state.controller.registration(broker)
        if known is None or known.is_active():
            word = "is not registered" if known is None else "is live"
            able = ", ".join(map(str, down(summary.state.controller))) or "none is"
            raise Refusal(
                f"--lost {broker}: the broker {word} at the end of {summary.name}; it takes one that is down: {able}"
            )
    return ClusterEnd(summary.state, follower.holders, follower.history, follower.events, summary, rules, dead)


class _Follower:
    """What is followed on the way through a log; a transaction is one step, and so is a snapshot.

    Attributes:
        any: whether anything was read.
        events: what wrote the records with which something began that lasts, in words, by their offsets.
    """

    def __init__(self) -> None:
        self.holders, self.history, self.events, self.any = Holders(), History(), dict[int, str](), False
        self._settled, self._in_snapshot, self._most = Controller(), False, LEAST_EVENTS
        self._loaded: tuple[Controller, RuleSet] | None = None

    def follow(self, replayed: ReplayedBatch | MemoisedBatch) -> None:
        """Follow one more batch, before the next is replayed."""
        self.any, batch = True, replayed.batch
        kinds = {entry.type for entry in batch.entries} if isinstance(batch, Batch) and batch.control else set()
        self._in_snapshot = self._in_snapshot or HEADER in kinds
        self.history.open(batch, self._in_snapshot)
        if isinstance(replayed, MemoisedBatch):
            began = [*self._memoised(replayed)]
        elif self._in_snapshot:
            self._settled = replayed.state.controller if HEADER in kinds else self._settled
            self._loaded = replayed.state.controller, replayed.rules
            self._in_snapshot = FOOTER not in kinds
            if not self._in_snapshot:
                self.end()
            return
        elif replayed.explanation is None:
            return
        else:
            began = [*self._explained(replayed.explanation, replayed.rules)]
        self.events.update(_events(replayed, began))
        if len(self.events) > self._most:
            kept = self.history.offsets() | {*self.holders.losses.values()}
            self.events = {offset: text for offset, text in self.events.items() if offset in kept}
            self._most = max(LEAST_EVENTS, 2 * len(self.events))

    def end(self) -> None:
        """Follow what a snapshot holds, as its last record is read, or the log ends."""
        if self._loaded is not None:
            after, rules = self._loaded
            self.holders.follow(self._settled, after)
            for key, p in ((key, after.image.partition(*key)) for key in [*self.holders.members]):
                self.holders.follow_partition(key, p, p, after, after.image.next_offset - 1)  # by its own min ISR now
            self.history.note(self._settled, after, None, rules)
            self._settled, self._loaded = after, None

    def _explained(self, explanation: Explanation, rules: RuleSet) -> Iterator[int]:
        """The offsets of the records of a batch with which something begins."""
        if explanation.replay_error:
            raise Refusal(
                f"{explanation.batch.place}: {explanation.replay_error}; give all of the log, or the newest snapshot "
                "and what follows it"
            )
        states = explanation.states
        self._settled = states[0].controller if states[0].transaction is None else self._settled
        for record, (before, after) in zip(explanation.records, pairwise(states), strict=True):
            if after.transaction is not None:
                continue
            one = record if before.transaction is None else None
            was, now = self._settled, after.controller
            offset = now.image.next_offset - 1
            lost = self.holders.follow(was, now, one)
            if self.history.note(was, now, offset, rules, one) or lost:
                yield offset
            self._settled = now

    def _memoised(self, replayed: MemoisedBatch) -> Iterator[int]:
        """The same of a batch whose partitions need no other state than that of each."""
        batch, after, holders, history = replayed.batch, replayed.controller, self.holders, self.history
        if batch.other is not None and batch.other_first:
            yield from self._broker(replayed)
        for place, key, old, p in replayed.changes():
            offset = batch.base_offset + place
            lost = holders.follow_partition(key, old, p, after, offset)
            if history.note_partition(key, old, p, after, offset, replayed.rules) or lost:
                yield offset
        if batch.other is not None and not batch.other_first:
            yield from self._broker(replayed)

    def _broker(self, replayed: MemoisedBatch) -> Iterator[int]:
        """The same of the one record of such a batch that changes a registration."""
        other, before, after = replayed.batch.other, replayed.before, replayed.controller
        for broker in changed_brokers(before, after):
            known, now = before.registration(broker), after.registration(broker)
            self.holders.follow_broker(broker, known, now, lambda key: replayed.partition_now(*key))
            if other is not None and self.history.note_broker(broker, after, other.offset):
                yield other.offset


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
