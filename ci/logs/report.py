"""Reports of replayed logs: one of each log, and the exit code and the document of several."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import asdict, define, field, frozen

from kraftcheck.ci.logs import known
from kraftcheck.ci.logs.format.aliases import Aliases
from kraftcheck.ci.logs.format.fields import is_unknown
from kraftcheck.ci.logs.format.read import IN_PART, LogFiles, SkipCount, read_compact
from kraftcheck.ci.logs.releases import HIGHEST, rules_of, writer_of
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.controller.state import MIN_ISR, UNCLEAN_ELECTION, Settings, is_valid, trimmed
from kraftcheck.model.nearest import nearest
from kraftcheck.model.records.replay import ReplayError
from kraftcheck.model.rules.ruleset import RuleSet, parse, variants
from kraftcheck.model.visible import visible
from kraftcheck.solvers.logs.diagnosis import Diagnosis, diagnose
from kraftcheck.solvers.logs.explain.explain import Difference, Explanation, NearestEvent, ReplayedBatch
from kraftcheck.solvers.logs.explain.judge import LogViolation, log_properties
from kraftcheck.solvers.logs.explain.state import (
    ELR_SETTING,
    END,
    FATES,
    METADATA_VERSION,
    UNENDED,
    Batch,
    CompactBatch,
    EntryError,
    State,
    Undone,
    UnreadRecord,
    is_unread,
)
from kraftcheck.solvers.logs.memo.ledger import MemoisedBatch
from kraftcheck.solvers.logs.memo.replay import MemoisedReplay
from kraftcheck.solvers.logs.spells import SpellFollower
from kraftcheck.solvers.program.verdict import EXIT_INCOMPLETE, EXIT_SAFETY, worst_first

NON_CONFORMANT = 23  # exit code when a batch is not explained
DOCUMENT_VERSION = 1  # version of the JSON document


@define
class Summary:
    """The summary of one log."""

    name: str  # of the log
    rules: str | None  # the rule set
    batches: int = 0  # how many batches were to be explained
    snapshot_records: int = 0  # how many records of a snapshot were taken as they are
    records: int = 0  # how many records the batches hold
    control_batches: int = 0  # how many batches the quorum wrote for itself
    properties_checked: int = 0
    # the explaining events by what `elections` calls them, else by their words
    events: Counter[str] = field(factory=Counter)
    unread: Counter[str] = field(factory=Counter)  # records that replica logic does not read, by kind
    # batches by the number of their explanations, where there are several
    ambiguous: Counter[int] = field(factory=Counter)
    unexplained: list[Explanation] = field(factory=list)  # the batches that are not explained
    # properties that do not hold, with the batch after which they first do not; what a release does on purpose is none
    violations: list[tuple[Batch | CompactBatch, LogViolation]] = field(factory=list)
    diagnosis: tuple[Diagnosis, ...] = ()  # rule sets that explain batches which the one taken does not, the best first
    # the rows of `kraftcheck.ci.logs.known` on what does not hold, purpose or not
    causes: list[dict[str, Any]] = field(factory=list)
    detailed: bool = True  # whether `rows` are wanted
    rows: list[dict[str, Any]] = field(factory=list)  # one a batch, for the document
    skips: SkipCount = field(factory=lambda: SkipCount(0))  # what was passed over, and what the form of the text tells
    undone: Counter[str] = field(factory=Counter)  # transactions that have not happened, by the reason
    undone_records: int = 0  # how many records they hold
    unreplayed: int = 0  # batches after the one with which the replay ends
    incomplete: tuple[str, ...] = ()  # why there may be more than was read, in a few words each
    notes: tuple[str, ...] = ()  # what a reader must know of how the rule set was chosen
    state: State | None = None  # after the last batch

    @property
    def level(self) -> int | None:
        """The metadata version, if the log names one."""
        return None if self.state is None or self.skips.described else self.state.levels.get(METADATA_VERSION)

    @property
    def unknown(self) -> dict[str, int]:
        """Of the records that are not read those of an unknown kind or version."""
        return {kind: count for kind, count in self.unread.items() if is_unknown(kind)}

    def left_out(self) -> Iterator[str]:
        """What was read and does not count, or may mean something else, in a few words each."""
        if self.undone[UNENDED]:
            yield "a transaction has not ended, and is left out"
        if self.unknown:
            yield "records of unknown kinds are passed over"
        if self.level is not None and self.level > HIGHEST:
            yield f"metadata version {self.level} is not known"

    @property
    def in_part(self) -> bool:
        """Whether there may be more than was read."""
        return bool(self.incomplete) or self.skips.described == IN_PART

    def unless_in_part(self, code: int) -> int:
        """The exit code of a command, which of a log that was read in part is never 0."""
        return code or (EXIT_INCOMPLETE if self.in_part else 0)

    def exit_code(self) -> int:
        """0 when all is explained and every property holds; what is not explained comes before what is violated."""
        return NON_CONFORMANT if self.unexplained else self.unless_in_part(EXIT_SAFETY if self.violations else 0)

    def transactions(self) -> dict[str, int]:
        """How many transactions ended, and how many have not happened."""
        ended = self.unread[END.type]
        return {"ended": ended, **{fate: self.undone[fate] for fate in FATES}, "records undone": self.undone_records}

    def add(self, batch: ReplayedBatch | MemoisedBatch) -> None:
        """Count one more batch."""
        if isinstance(batch, MemoisedBatch):
            self._add_memoised(batch)
            return
        explanation = batch.explanation
        if batch.undone is not None:
            self._add_undone(batch.undone)
            return
        if explanation is None:
            self._add_as_it_is(batch.batch)
            return
        self.unread.update(record.type for record in explanation.records if isinstance(record, UnreadRecord))
        self.events.update(event_kind(step.name, step.candidate.action) for step in explanation.steps)
        if not explanation.explained:
            self.unexplained.append(explanation)
        self.properties_checked = len(log_properties(batch.rules))
        self._count(batch, len(explanation.records), explanation.count, lambda: _row(explanation))

    def _count(
        self, batch: ReplayedBatch | MemoisedBatch, records: int, count: int, row: Callable[[], dict[str, Any]]
    ) -> None:
        """Count one more batch, with so many records and explanations, and keep its row where rows are wanted."""
        if not self.properties_checked:
            self.properties_checked = len(log_properties(batch.rules))
        self.batches += 1
        self.records += records
        if count > 1:
            self.ambiguous[count] += 1
        self.violations += [(batch.batch, violation) for violation in batch.violations]
        if self.detailed:
            self.rows.append(row() | _violation_rows(batch.violations))

    def _add_undone(self, undone: Undone) -> None:
        self.undone[undone.fate] += undone.begins
        self.undone_records += len(undone.batch.entries)
        if self.detailed:
            self.rows.append({**_batch_row(undone.batch, len(undone.batch.entries), 0, ()), "undone": undone.fate})

    def _add_as_it_is(self, batch: Batch) -> None:
        """Count what the quorum wrote for itself, or a part of a snapshot, with what of it is not read."""
        self.control_batches += batch.control
        if not batch.control:
            self.snapshot_records += len(batch.entries)
            self.unread.update(entry.type for entry in batch.entries if is_unread(entry))

    def _add_memoised(self, memoised: MemoisedBatch) -> None:
        for body in memoised.batch.bodies if None in memoised.batch.keys else ():
            if isinstance(body, str):
                self.unread[body] += 1
        for event in memoised.events():
            self.events[event_kind(event.name, event.action)] += 1
        self._count(memoised, len(memoised.batch), memoised.count, lambda: _memoised_row(memoised))

    def document(self) -> dict[str, Any]:
        """The summary as plain values."""
        return {
            "log": self.name,
            "rules": self.rules,
            "notes": list(self.notes),
            "batches": self.batches,
            "records": self.records,
            "snapshot_records": self.snapshot_records,
            "control_batches": self.control_batches,
            "explained": self.batches - len(self.unexplained),
            "unexplained": len(self.unexplained),
            "ambiguous": sum(self.ambiguous.values()),
            "passed_through": dict(self.unread),
            "unknown": dict(self.unknown),
            "skipped": list(self.skips.places),
            "incomplete": list(self.incomplete),
            "noise": self.skips.noise,
            "in_snapshot": self.skips.in_snapshot,
            "transactions": self.transactions(),
            "unreplayed": self.unreplayed,
            "events": dict(self.events),
            "properties": self.properties_checked,
            "violations": len(self.violations),
            "diagnosis": [asdict(one) for one in self.diagnosis],
            "causes": self.causes,
            "rows": self.rows,
        }


def event_kind(name: str, action: str) -> str:
    """What kind of event a name is of: what `elections` calls it, else its words without names and numbers."""
    if action:
        return action
    kinds = ("create topic", "delete topic", "registers", "amends", "not read by replica logic", "bootstrap", "add ")
    return next((kind.strip() for kind in kinds if kind in name), name)


def _batch_row(batch: Batch | CompactBatch, records: int, explanations: int, events: Iterable[Any]) -> dict[str, Any]:
    return {
        "place": batch.place, "base_offset": batch.base_offset, "records": records, "explanations": explanations,
        "events": [{"event": name, "records": [start, end]} for name, start, end in events],
    }  # fmt: skip


def _row(explanation: Explanation) -> dict[str, Any]:
    events = ((step.name, step.start, step.end) for step in explanation.steps)
    row = _batch_row(explanation.batch, len(explanation.records), explanation.count, events)
    if not explanation.explained:
        row["explained_prefix"] = explanation.prefix
        row["cannot_replay"] = explanation.replay_error
        row["nearest"] = None if explanation.nearest is None else _nearest_row(explanation.nearest)
    return row


def _memoised_row(memoised: MemoisedBatch) -> dict[str, Any]:
    """The row of a batch that was explained from the memo: one event for each record, or one for all."""
    names, size = memoised.names(), len(memoised.batch)
    length = size // len(names)
    events = ((name, start, start + length) for name, start in zip(names, range(0, size, length), strict=True))
    return _batch_row(memoised.batch, size, memoised.count, events)


def _violation_rows(violations: tuple[LogViolation, ...]) -> dict[str, Any]:
    if not violations:
        return {}
    rows = (
        {"property": v.property, "topic": v.topic, "partition": v.partition, "parts": list(v.parts)} for v in violations
    )
    return {"violations": list(rows)}


def _nearest_row(nearest: NearestEvent) -> dict[str, Any]:
    rows = [{"field": d.field, "required": d.prediction, "observed": d.observed} for d in nearest.differences]
    return {"event": nearest.name, "refused": nearest.refusal, "differences": rows}


SHOWN_DIFFERENCES = 8  # differences of one batch that are listed for readers; the document has all


def lines(summary: Summary, verbose: bool = False) -> list[str]:
    """The summary for a reader, each line as it may be shown."""
    explained = summary.batches - len(summary.unexplained)
    text = [f"{summary.name}: {summary.batches} batches, {summary.records} records, rules {summary.rules}"]
    text += [f"  {note}" for note in summary.notes]
    text += taken_lines(summary)
    if verbose:
        text += [_line(row) for row in summary.rows]
    text += passed_lines(summary)
    if summary.events:
        text.append("  events: " + ", ".join(f"{n} {name}" for name, n in summary.events.most_common()))
    ambiguous = sum(summary.ambiguous.values())
    most = f" (up to {max(summary.ambiguous)} explanations)" if ambiguous else ""
    text.append(f"  explained {explained} of {summary.batches} batches, {ambiguous} of them ambiguous{most}")
    for explanation in summary.unexplained:
        text += unexplained_lines(explanation)
    text += [f"  {line}" for line in diagnosis_lines(summary)]
    if summary.unreplayed:
        text.append(f"  {summary.unreplayed} batches after that are not replayed")
    if summary.batches:
        text.append(f"  properties: {summary.properties_checked} checked, {len(summary.violations)} violations")
    text += known.lines(summary.causes, verbose)
    for batch, violation in summary.violations if verbose else ():
        parts = ", ".join(violation.parts)
        text.append(
            f"  violated: {violation.property} by {violation.topic}-{violation.partition} after offset "
            f"{batch.last_offset} ({batch.place}): {parts}"
        )
    return [visible(line.rstrip()) for line in text]


def diagnosis_lines(summary: Summary) -> Iterator[str]:
    """Which releases or choices explain the batches that are not explained, those alike in one line."""
    best = summary.diagnosis[0] if summary.diagnosis else None
    if best is None:
        return
    kind = best.explained, best.is_release
    alike = [one.change for one in summary.diagnosis if (one.explained, one.is_release) == kind]
    base = (summary.rules or "").partition(" ")[0]
    entry = None if best.is_release else variants()[best.change[1:]].metadata
    about = f" ({entry['source']}: {entry['text']})" if entry is not None else ""
    asked = best.change if best.is_release else base + best.change
    yield (
        f"DIAGNOSIS: {best.explained} of {best.tried} of these batches are explained by {' or '.join(alike)}{about}; "
        f"try --rules {asked}"
    )


def taken_lines(summary: Summary) -> list[str]:
    """What was not explained because it is taken as it is, or has not happened."""
    text = []
    if summary.snapshot_records:
        held = f"; it holds {count} batches of segments, passed over" if (count := summary.skips.in_snapshot) else ""
        text.append(f"  snapshot: {summary.snapshot_records} records taken as they are{held}")
    if summary.undone:
        fates = ", ".join(f"{count} {fate}" for fate, count in summary.undone.items())
        text.append(
            f"  transactions: {fates}; their {summary.undone_records} records have not happened, "
            "and are neither explained nor judged"
        )
    return text


def passed_lines(summary: Summary) -> list[str]:
    """The lines on batches passed through or skipped."""
    text = []
    if count := summary.skips.noise:
        lines = "1 line" if count == 1 else f"{count} lines"
        text.append(f"  passed over: {lines} of the JVM, of logging or of a terminal")
    if summary.unread:
        text.append(f"  passed through: {_counts(summary.unread)}")
    if summary.unknown:
        text.append(
            f"  WARNING: not known, and passed through unread: {_counts(summary.unknown)}; "
            "if they concern partitions, brokers or configurations, what follows is judged without them"
        )
    return text + [f"  skipped {place}" for place in summary.skips.places]


def _counts(kinds: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))


def _line(row: dict[str, Any]) -> str:
    if "undone" in row:
        return f"  offset {row['base_offset']}, {row['records']} records, transaction {row['undone']}"
    events = "; ".join(event["event"] for event in row["events"])
    return f"  offset {row['base_offset']}, {row['records']} records, {row['explanations']} explanations: {events}"


def unexplained_lines(explanation: Explanation) -> list[str]:
    """Why a batch is not explained: the nearest event, and the fields in which it differs."""
    batch = explanation.batch
    text = [
        f"  UNEXPLAINED batch at offset {batch.base_offset} ({batch.place}): "
        f"{explanation.prefix} of {len(explanation.records)} records explained"
    ]
    if explanation.replay_error:
        text.append(f"    it cannot be replayed, and the replay ends here: {explanation.replay_error}")
    if explanation.nearest is not None:
        text.append(
            f"    nearest: {explanation.nearest.name}"
            + (f", refused: {explanation.nearest.refusal}" if explanation.nearest.refusal else "")
        )
        shown = explanation.nearest.differences[:SHOWN_DIFFERENCES]
        text += [f"      {_difference(difference)}" for difference in shown]
        if len(explanation.nearest.differences) > len(shown):
            text.append(f"      and {len(explanation.nearest.differences) - len(shown)} differences more")
    return text


def _difference(difference: Difference) -> str:
    required, observed = (json.dumps(value, default=str) for value in (difference.prediction, difference.observed))
    return f"{difference.field}: observed {observed}, required {required}"


@frozen
class LogReport:
    """The report of one log: the document, under Spark without its rows; the lines for a reader; the exit code."""

    document: dict[str, Any]
    lines: tuple[str, ...]
    code: int


def report_of(summary: Summary, verbose: bool = False) -> LogReport:
    """The report of a replayed log."""
    return LogReport(summary.document(), tuple(lines(summary, verbose)), summary.exit_code())


def exit_code(reports: Sequence[LogReport]) -> int:
    """The worst exit code: a batch that is not explained comes before a property that does not hold."""
    codes = {report.code for report in reports}
    return NON_CONFORMANT if NON_CONFORMANT in codes else worst_first(codes)


def total_line(reports: Sequence[LogReport]) -> str:
    """The exit code, with both its reasons where there are two."""
    counts = {name: sum(report.document[name] for report in reports) for name in ("unexplained", "violations")}
    both = f"{counts['unexplained']} batches not explained, {counts['violations']} violations " if all(
        counts.values()
    ) else ""  # fmt: skip
    return f"{both}(exit {exit_code(reports)})"


def document(reports: Sequence[LogReport]) -> dict[str, Any]:
    """All logs as plain values."""
    logs = [report.document for report in reports]
    counts = {name: sum(log[name] for log in logs) for name in ("unexplained", "violations")}
    return {"version": DOCUMENT_VERSION, "command": "replay", "exit": exit_code(reports), **counts, "logs": logs}


STATIC_KEYS = (MIN_ISR, UNCLEAN_ELECTION, ELR_SETTING)  # the keys of the configuration file that a rule reads


def settings_of(texts: tuple[str, ...]) -> Settings:
    """The static configuration of `KEY=VALUE` texts; raises Refusal for others, unread keys, bad values, repeats."""
    pairs = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise Refusal(f"--static {text}: KEY=VALUE is wanted, as in min.insync.replicas=2")
        if key not in STATIC_KEYS:
            raise Refusal(f"--static {text}: no rule reads {key!r}; {nearest(key, STATIC_KEYS)}")
        if not is_valid(UNCLEAN_ELECTION if key == ELR_SETTING else key, value):
            expected = "a whole number from 1" if key == MIN_ISR else "true or false"
            raise Refusal(f"--static {text}: {key} takes {expected}")
        if key in pairs:
            raise Refusal(f"--static {text}: {key} is given twice; give it once")
        pairs[key] = trimmed(value)
    return Settings(static=pairs)


@frozen
class ReplayOptions:
    """The options of one command; they are sent to workers unchanged."""

    rules: str | None  # rule set, `PRESET[+VARIANT...]`; None takes the preset of the log's metadata version
    static: tuple[str, ...] = ()  # the controller's configuration file, as `KEY=VALUE`
    allow_skipped: int = 0  # how many lines or batches may be undecodable
    grows: bool = False  # whether the log is being written, so that its last batch need not be whole yet
    anonymise: bool = False  # whether other names stand for those of the log
    lost: tuple[int, ...] = ()  # brokers that never come back

    def skips(self) -> SkipCount:
        """A fresh count of what is passed over."""
        aliases = Aliases() if self.anonymise else None
        return SkipCount(self.allow_skipped, grows=self.grows, aliases=aliases)

    def name(self, log: LogFiles) -> str:
        """The name of a log."""
        return Path(log.name).name if self.anonymise else log.name

    def replay(
        self, log: LogFiles, observe: Callable[[ReplayedBatch | MemoisedBatch], None] = lambda batch: None,
        detailed: bool = True, explains: bool = True, diagnoses: bool = False,
    ) -> Summary:  # fmt: skip
        """Read one log and explain it.

        Args:
            observe: called with each batch once it is replayed.
            detailed: whether the summary gets a row for each batch.
            explains: whether a log in which nothing is to be explained is refused.
            diagnoses: whether other rule sets are tried where batches are not explained.

        Raises:
            Refusal: naming the place of what cannot be read, and for a log without batches.
            ScopeError: for an unknown rule set.
        """
        skipped = self.skips()
        summary = Summary(self.name(log), self.rules, detailed=detailed, skips=skipped)
        replay = MemoisedReplay(self._rules(), settings_of(self.static))
        broken = SpellFollower(lambda: replay.state)
        try:
            for batch in replay.replay(read_compact(log, skipped)):
                summary.add(batch)
                broken.follow(batch)
                observe(batch)
        except (EntryError, ReplayError) as reason:
            raise Refusal(f"{log.name}: {reason}") from None
        summary.state, summary.unreplayed = replay.state, replay.unreplayed
        summary.incomplete = (*skipped.incomplete, *summary.left_out())
        if explains and not summary.batches:
            only = "no record batch"
            if summary.snapshot_records or summary.undone:
                only = "only a snapshot" if summary.snapshot_records else "only a transaction that has not happened"
            raise Refusal(f"{log.name}: {only} was read, so there is nothing to explain; is it a metadata log?")
        if self.rules is None:
            line = writer_of(replay.state)
            summary.rules, summary.notes = f"{line.preset} (metadata version {summary.level})", tuple(line.notes())
        summary.notes = (*summary.notes, *skipped.notes)
        if summary.unexplained and diagnoses:
            rules_at = self._rules()
            summary.diagnosis = diagnose(summary.unexplained, lambda state: rules_at(state.supported_level()))
        summary.causes = known.by_cause(broken.spells, (summary.rules or "").partition(" ")[0])
        summary.violations = [one for one in summary.violations if not known.is_meant(broken.spells, *one)]
        return summary

    def _rules(self) -> Callable[[int | None], RuleSet]:
        fixed = None if self.rules is None else parse(self.rules)
        return rules_of if fixed is None else lambda level: fixed
