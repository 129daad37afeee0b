"""The end of a metadata log or snapshot: the state there, and what the log tells of how it came about."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from attrs import frozen

from kraftcheck.ci.logs.format.read import LogFiles, find, read
from kraftcheck.ci.logs.releases import WRITER, line_of, writer_of
from kraftcheck.ci.logs.report import ReplayOptions, Summary, diagnosis_lines, passed_lines, settings_of, taken_lines
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.controller.state import Controller
from kraftcheck.model.language.system import ScopeError
from kraftcheck.model.records.replay import ReplayError
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.solvers.logs.explain.explain import FOOTER, HEADER, ReplayedBatch
from kraftcheck.solvers.logs.explain.state import EntryError, State, Undone, effective, elected, empty, loading
from kraftcheck.solvers.logs.history import History
from kraftcheck.solvers.logs.memo.ledger import MemoisedBatch
from kraftcheck.solvers.logs.whatif import NO_HISTORY, Holders


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


Asked = Callable[[State, Holders, History], frozenset[int]]
"""Of which records the events are wanted, by their offsets."""


def cluster_end(
    path: Path, options: ReplayOptions, asked: Asked = lambda state, holders, history: frozenset()
) -> ClusterEnd:
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
    try:
        state, holders, history = followed(logs[0], options)
    except (EntryError, ReplayError) as reason:
        raise Refusal(f"{path}: {reason}") from None
    wanted, events = sorted(asked(state, holders, history)), dict[int, str]()
    summary = options.replay(
        logs[0], lambda batch: events.update(_events(batch, wanted)), detailed=False, explains=False, diagnoses=True
    )
    rules = options.rules or writer_of(state).preset
    return ClusterEnd(state, holders, history, events, summary, rules)


def followed(log: LogFiles, options: ReplayOptions) -> tuple[State, Holders, History]:
    """The state after the last record, with what was followed on the way; a transaction is one step."""
    state = settled = empty(Controller(settings=settings_of(options.static)))
    skipped, chosen = options.skips(), parse(options.rules or line_of(None).preset)
    holders, history, in_snapshot, read_any = NO_HISTORY, History(), False, False
    for batch in effective(read(log, skipped)):
        read_any = True
        if isinstance(batch, Undone):
            history.open(batch.batch, in_snapshot)
            continue
        whole = batch.whole()
        kinds = {entry.type for entry in whole.entries} if whole.control else set()
        in_snapshot = in_snapshot or HEADER in kinds
        history.open(whole, in_snapshot)
        if whole.control:
            state, in_snapshot = elected(state, whole), in_snapshot and FOOTER not in kinds
            continue
        for _, after in loading(state.at(whole.base_offset), whole, chosen):
            state = after
            if state.transaction is None:
                holders = holders.after(settled.controller, state.controller)
                offset = None if in_snapshot else state.controller.image.next_offset - 1
                history.note(settled.controller, state.controller, offset)
                settled = state
    if not read_any:
        raise Refusal(f"{log.name}: no record batch was read; is it a metadata log or snapshot?")
    return state, holders, history


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
