"""The reader of logs in files and folders, in any of their forms.

A file is a log. A folder that holds log files is one log, its files in the order of their offsets; another folder is
searched for such folders. Besides segments there are two forms of text: the output of Kafka's own tool (kafka-dump-log
--cluster-metadata-decoder --files SEGMENT), and JSON lines, one object a line with `offset`, `type`, `version`, `data`.
Records with the same `batch` were written together; without it each record is a batch of its own. `epoch` is that of
the quorum's leader, 0 unless given.

Texts are read as people paste them, see `kraftcheck.ci.logs.format.pasted`; what `kafka-topics --describe` prints is
read as a snapshot, see `kraftcheck.ci.logs.format.described`. A text may end anywhere: a batch of which the end is
missing is left out, and that is said.
"""

from __future__ import annotations

import codecs
import functools
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NoReturn, TypeAlias

from attrs import define, evolve, field, frozen

from kraftcheck.ci.logs.format import described, pasted, segments
from kraftcheck.ci.logs.format.aliases import Aliases
from kraftcheck.ci.logs.format.fields import WireError, unknown_kind
from kraftcheck.ci.logs.format.segments import Problem
from kraftcheck.ci.terminal.files import has_surrogate, once, read_bytes
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.logs.explain.explain import FOOTER, HEADER
from kraftcheck.solvers.logs.explain.state import Batch, CompactBatch, LogEntry
from kraftcheck.solvers.logs.memo.ledger import compact

_BATCH = re.compile(
    r"baseOffset: (-?\d+) lastOffset: (-?\d+) count: (\d+) .*?partitionLeaderEpoch: (-?\d+) .*?"
    r"isControl: (\w+) .*?(?:(?:Create|LogAppend)Time: (-?\d{1,20}) .*)?isvalid: (\w+)"
)
_RECORD = re.compile(r"\| offset: (\d+) ")
_PAYLOAD = re.compile(r" payload: (\{.*\})$")
_CONTROL = re.compile(r" controlType: (\w+)\((-?\d+)\)| (\w+):? (\{.*\})$")
_LEADER = re.compile(r'"leaderId":(-?\d+)')
_CONTROL_NAMES = {
    "LeaderChange": "LEADER_CHANGE",
    "SnapshotHeader": "SNAPSHOT_HEADER", "SnapshotFooter": "SNAPSHOT_FOOTER",
    "KRaftVersion": "KRAFT_VERSION", "KRaftVoters": "KRAFT_VOTERS",
}  # fmt: skip
_OTHER_LINES = re.compile(r"Dumping |(?:Log s|S)tarting offset: |Snapshot end offset: |KRaft bootstrap snapshot|\s*$")
_DUMPING = re.compile(r"Dumping (?:.*[/\\])?(\d+(?:\.log|-\d+\.checkpoint))\s*$")
_BARE = re.compile(r"\| (?:key: .* )?payload: (\{.*\})$")
"""A record of the tool with `--skip-record-metadata`: its offset follows from the batch."""

def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON number")


DECODER = json.JSONDecoder(object_pairs_hook=once, parse_constant=_no_number)
"""Reads one record; Python takes NaN, Infinity and a repeated key for JSON."""


def dump_batches(lines: Iterable[str], name: str, problem: Problem, first: int = 1) -> Iterator[Batch]:
    """Every batch of the output.

    Args:
        lines: its lines.
        name: of the file.
        problem: called for every line that cannot be read.
        first: the number of the first line.
    """
    open_batch: Batch | None = None
    entries, due = list[LogEntry](), 0
    for number, line in enumerate(lines, first):
        place, text = f"{name}:{number}", line.rstrip("\r\n")
        head = _BATCH.match(text)
        if head is not None:
            yield from _finish(open_batch, entries, due, problem)
            base, last, count, epoch = map(int, head.group(1, 2, 3, 4))
            control, time = head.group(5) == "true", segments.time_of(int(head.group(6) or -1))
            open_batch, entries, due = Batch(base, last, epoch, (), place, control, time), [], count
            if count != last - base + 1:
                problem(place, f"a batch of {count} records from offset {base} to {last}")
            if head.group(7) != "true":
                problem(place, "the tool says that the batch is not valid")
        elif text.startswith("| "):
            if open_batch is None:
                problem(place, "a record before any batch")
                continue
            follows = open_batch.last_offset - due + 1
            entry = _entry(text, open_batch.control, follows, place, problem)
            due -= 1
            if entry is not None:
                if entry.offset != follows:
                    problem(place, f"offset {follows} should follow in the batch, but the record has {entry.offset}")
                entries.append(entry)
        elif not _OTHER_LINES.match(text):
            problem(place, f"not a line of the dump tool: {text[:60]!r}; give a segment, a checkpoint, or its dump")
    yield from _finish(open_batch, entries, due, problem)


def _finish(batch: Batch | None, entries: list[LogEntry], due: int, problem: Problem) -> Iterator[Batch]:
    if batch is None:
        return
    if due != 0:
        problem(batch.place, f"the batch at offset {batch.base_offset} counts {due:+d} records against its lines")
    yield evolve(batch, entries=tuple(entries))


def _entry(text: str, control: bool, follows: int, place: str, problem: Problem) -> LogEntry | None:
    """The record of a line; where that has no offset, the one that follows is meant."""
    bare, offset = _BARE.match(text), _RECORD.match(text)
    if bare is not None and not control:
        return entry_of(bare.group(1), follows, place, problem)
    if offset is None:
        problem(place, "a record without offset")
        return None
    if control:
        match = _CONTROL.search(text)
        if match is None or not (match.group(1) or match.group(3) in _CONTROL_NAMES):
            problem(place, "a control record of an unknown kind")
            return None
        name = match.group(1) or _CONTROL_NAMES[match.group(3)]
        leader = _LEADER.search(text) if name == "LEADER_CHANGE" else None
        return LogEntry(int(offset.group(1)), name, 0, {} if leader is None else {"leaderId": int(leader.group(1))})
    payload = _PAYLOAD.search(text)
    if payload is None:
        problem(place, "a record without a decoded payload; was --cluster-metadata-decoder given?")
        return None
    return entry_of(payload.group(1), int(offset.group(1)), place, problem)


def entry_of(text: str, offset: int, place: str, problem: Problem) -> LogEntry | None:
    """The record that a JSON object with `type`, `version`, `data` describes; None where it was skipped."""
    try:
        value = DECODER.decode(text)
    except (ValueError, RecursionError):
        problem(place, "not a record: its payload is no whole JSON; copy the line anew")
        return None
    if not isinstance(value, dict) or not {"type", "version", "data"} <= {*value}:
        problem(place, "not a record: its payload has no type, version or data; copy the line anew")
        return None
    name, version, data = value["type"], value["version"], value["data"]
    if not isinstance(name, str) or type(version) is not int or not isinstance(data, dict):
        problem(place, "a record's type is text, its version a number, its data an object")
        return None
    if "\\u" in text and has_surrogate([name, data]):
        problem(place, "a text holds a surrogate, which is no character")
        return None
    try:
        unknown = unknown_kind(name, version)
    except WireError as reason:
        problem(place, f"offset {offset}: {reason}")
        return None
    return LogEntry(offset, unknown or name, version, data)


KEYS = {"offset", "batch", "epoch", "type", "version", "data", "control"}
"""What a line may hold."""

PAYLOAD = {"type", "version", "data"}
"""What it holds where it is the payload alone."""

_Row = tuple[int, int, bool, LogEntry, str]


def line_batches(lines: Iterable[str], name: str, problem: Problem) -> Iterator[Batch]:
    """Every batch; `problem` is called for each line that is no record."""
    for (base, epoch, control), rows in groupby(_rows(lines, name, problem), itemgetter(0, 1, 2)):
        group = list(rows)
        for due, row in zip((base, *(row[3].offset + 1 for row in group)), group, strict=False):
            if row[3].offset != due:
                problem(row[4], f"offset {due} should follow in the batch, not {row[3].offset}")
        entries = tuple(row[3] for row in group)
        yield Batch(base, entries[-1].offset, epoch, entries, group[0][4], control)


def _rows(lines: Iterable[str], name: str, problem: Problem) -> Iterator[_Row]:
    follows = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        place, line = f"{name}:{number}", line.removeprefix("payload: ")
        try:
            value = DECODER.decode(line)
        except (ValueError, RecursionError) as reason:
            problem(place, f"not JSON: {reason}")
            continue
        if isinstance(value, dict) and value.keys() == PAYLOAD:
            value["offset"] = follows
        if not isinstance(value, dict) or type(value.get("offset")) is not int:
            problem(place, "a line is an object with a whole number `offset`")
            continue
        if unknown := sorted(value.keys() - KEYS):
            problem(place, f"unknown key {unknown[0]!r}; there are {', '.join(sorted(KEYS))}")
            continue
        offset = value["offset"]
        follows = offset + 1
        base, epoch, control = value.get("batch", offset), value.get("epoch", 0), value.get("control", False)
        if type(base) is not int or type(epoch) is not int or type(control) is not bool:
            problem(place, "`batch` and `epoch` are whole numbers, `control` is true or false")
            continue
        entry = entry_of(line, offset, place, problem)
        if entry is not None:
            yield base, epoch, control, entry, place


BINARY = (".log", ".checkpoint")
"""Names of segments and snapshots."""

TEXT = (".txt", ".jsonl", ".ndjson")
"""Names of what the dump tool or others wrote; looked for in folders without segments."""

MAX_LOG_BYTES = 4 << 30
"""The largest file of a log that is read; Kafka begins a new segment after 1 GB at most."""

_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")
"""How Kafka lets a topic be called, but for `.` and `..`."""

_SNAPSHOT = re.compile(r"(\d+)-(\d+)\.checkpoint")


class LogError(Refusal):
    """A log that cannot be read; the message names the place."""


@define
class SkipCount:
    """Counts what is skipped, and refuses more than is allowed.

    Attributes:
        allowed: how many lines or batches may be undecodable.
        places: those, each with the reason.
        in_snapshot: batches of segments that the snapshot before them already holds.
        noise: lines of the JVM, of logging, and of a terminal.
        notes: what a reader must know of the form of the text, each once.
        grows: whether the log is being written: what ends within a batch of its last segment is not written yet.
        aliases: the names that stand for those of the log; None: they stay.
        described: whether it shows a cluster as kafka-topics --describe does, WHOLE or IN_PART; else empty.
        starting: the brokers that such a text shows to be up, and still not to lead.
        incomplete: why there may be more than was read, each once, in a few words.
    """

    allowed: int
    places: list[str] = field(factory=list)
    in_snapshot: int = 0
    noise: int = 0
    notes: dict[str, None] = field(factory=dict)
    grows: bool = False
    aliases: Aliases | None = None
    described: str = ""
    starting: frozenset[int] = frozenset()
    incomplete: dict[str, None] = field(factory=dict)

    def note(self, text: str) -> None:
        """Note what a reader must know."""
        self.notes[text] = None

    def lacks(self, what: str, text: str) -> None:
        """Note that something is missing: in a few words, which are said first if there are any, and in full."""
        self.incomplete.update({what: None} if what else {})
        self.note(text)

    def problem(self, place: str, what: str) -> None:
        """Note one line or batch that cannot be decoded.

        Raises:
            LogError: once more are skipped than allowed.
        """
        self.places.append(f"{place}: {what}" if self.aliases is None else place)
        if len(self.places) > self.allowed and self.aliases is not None:
            raise LogError(f"{place}: cannot be read; without --anonymise it is said why, with words of the line")
        if len(self.places) > self.allowed:
            more = f" (the {len(self.places)}th; --allow-skipped {self.allowed})" if self.allowed else ""
            raise LogError(f"{place}: {what}{more}")
        self.incomplete[SKIPPED] = None


@frozen
class LogFiles:
    """The files of one log, in the order of their offsets."""

    name: str
    files: tuple[Path, ...]


def find(paths: tuple[Path, ...]) -> list[LogFiles]:
    """The logs that paths name.

    Raises:
        LogError: for a path that is not there, or a folder without logs.
    """
    log_files: list[LogFiles] = []
    for path in paths:
        if path == STDIN:
            log_files.append(LogFiles("standard input", (path,)))
        elif path.is_dir():
            logs = list(_logs_in(path, set()))
            if not logs:
                raise LogError(f"{path}: no log in this folder; a log ends in {', '.join((*BINARY, *TEXT))}")
            log_files += logs
        elif path.exists():
            log_files.append(LogFiles(str(path), (path,)))
        else:
            raise LogError(f"{path}: no such file or folder")
    return log_files


def _logs_in(folder: Path, seen: set[Path]) -> Iterator[LogFiles]:
    """The logs of a folder and of those below it, each once; what is no file has a name too, and is refused if read."""
    if (real := folder.resolve()) in seen:
        return
    seen.add(real)
    files = sorted(path for path in folder.iterdir() if not path.is_dir())
    binary = [path for path in files if path.suffix in BINARY and path.stem[:1].isdigit()]
    if binary:
        yield LogFiles(str(folder), _in_order(binary))
    else:
        text = [path for path in files if path.suffix in TEXT]
        if text:
            yield LogFiles(str(folder), tuple(text))
    for sub in sorted(path for path in folder.iterdir() if path.is_dir()):
        yield from _logs_in(sub, seen)


def _in_order(files: list[Path]) -> tuple[Path, ...]:
    """The segments, after the newest snapshot where the log does not begin at 0."""
    logs = [path for path in files if path.suffix == ".log"]
    snapshots = [path for path in files if _SNAPSHOT.fullmatch(path.name)]
    if (logs and int(logs[0].stem) == 0) or not snapshots:
        return tuple(logs or files)
    newest = max(snapshots, key=lambda path: int(path.name.split("-")[0]))
    return (newest, *logs)


def read(log: LogFiles, skipped: SkipCount) -> Iterator[Batch]:
    """Every batch of a log, decoded; what a snapshot already holds is passed over, and counted.

    Raises:
        LogError: see `read_compact`.
    """
    return (batch.whole() if isinstance(batch, CompactBatch) else batch for batch in _batches(log, skipped, False))


def read_compact(log: LogFiles, skipped: SkipCount) -> Iterator[Batch | CompactBatch]:
    """Every batch of a log, compact where it has the shape.

    Raises:
        LogError: naming the place of what cannot be decoded, and of offsets that are missing.
    """
    return (batch if isinstance(batch, CompactBatch) else compact(batch) for batch in _batches(log, skipped, True))


def _batches(log: LogFiles, skipped: SkipCount, compact_form: bool) -> Iterator[Batch | CompactBatch]:
    order = _Order(skipped)
    for path in log.files:
        lives = Path(log.name) == path.parent
        for part, found in _file(path, skipped, compact_form, path == log.files[-1], lives):
            snapshot = _SNAPSHOT.fullmatch(part)
            if snapshot is not None:
                order = _Order(skipped, int(snapshot.group(1)))
            for batch in _whole_snapshots(found, skipped):
                if snapshot is not None or order.admits(batch):
                    _check_names(batch, skipped)
                    yield batch if skipped.aliases is None else skipped.aliases.batch(batch.whole())


def _whole_snapshots(found: Iterable[Batch | CompactBatch], skipped: SkipCount) -> Iterator[Batch | CompactBatch]:
    """The batches; a snapshot without its end is a problem: it lacks partitions, and looks like a smaller cluster."""
    open_at: str | None = None
    for batch in found:
        kinds = {entry.type for entry in batch.entries} if isinstance(batch, Batch) and batch.control else set()
        open_at = None if FOOTER in kinds else batch.place if HEADER in kinds else open_at
        yield batch
    if open_at is not None:
        skipped.problem(open_at, "the snapshot that begins here is cut off: it lacks its end, and records before that")


@define
class _Order:
    """The order in which the batches of segments follow each other.

    Attributes:
        skipped: where what does not follow is counted.
        snapshot_end: the first offset that the snapshot before them does not hold; None without a snapshot.
    """

    skipped: SkipCount
    snapshot_end: int | None = None
    _due: int | None = None
    _epoch: int = 0

    def admits(self, batch: Batch | CompactBatch) -> bool:
        """Whether a batch is one of the log; what is left out is counted, and so is what is missing before it.

        Raises:
            LogError: where the first batch is not that of offset 0, and no snapshot is before it.
        """
        if self._due is None and self.snapshot_end is not None:
            if batch.last_offset < self.snapshot_end:
                self.skipped.in_snapshot += 1
                return False
            self._due = self.snapshot_end
        if self._due is None and batch.base_offset:
            raise LogError(
                f"{batch.place}: the log begins at offset {batch.base_offset}, and no snapshot precedes it: topics and "
                "brokers before that are not known; add the newest .checkpoint, or the segments before"
            )
        if self._due is not None and batch.base_offset != self._due:
            self._misplaced(batch, self._due)
            if batch.base_offset < self._due:
                return False
        if batch.epoch < self._epoch:
            self.skipped.problem(
                batch.place, f"epoch {batch.epoch} after {self._epoch}: a leader's epoch never falls"
            )
        self._due, self._epoch = batch.last_offset + 1, batch.epoch
        return True

    def _misplaced(self, batch: Batch | CompactBatch, due: int) -> None:
        follows = f"offset {due} should follow, but the batch begins at {batch.base_offset}"
        if batch.base_offset < due:
            follows += ": another log begins here, or a part of this one again; give each log a file of its own"
        self.skipped.problem(batch.place, follows)


def _check_names(batch: Batch | CompactBatch, skipped: SkipCount) -> None:
    """Report topics that Kafka would not have made: no cluster wrote such a log."""
    entries = batch.entries if isinstance(batch, Batch) else (batch.other,)
    for entry in entries:
        if entry is not None and entry.type == "TOPIC_RECORD" and entry.data is not None:
            name = entry.data.get("name")
            if isinstance(name, str) and (not _TOPIC.fullmatch(name) or name in (".", "..")):
                skipped.problem(batch.place, f"Kafka refuses the topic name {name[:60]!r}")


Part: TypeAlias = tuple[str, Iterator[Batch | CompactBatch]]
"""What a file holds of one file of a log: its name, and its batches."""


def _file(path: Path, skipped: SkipCount, compact_form: bool, last: bool, lives: bool) -> Iterator[Part]:
    """The batches of a file; `lives`: of a folder, the last batch of which a controller may be about to write."""
    data, suffix, is_whole = _standard_input() if path == STDIN else read_bytes(path, MAX_LOG_BYTES), path.suffix, True
    name = "standard input" if path == STDIN else str(path) if skipped.aliases is None else path.name
    if data.startswith(_GZIP):
        try:
            data, is_whole = segments.unpacked(data, MAX_LOG_BYTES)
        except WireError as reason:
            raise LogError(f"{name}: {reason}") from None
        suffix = Path(path.stem).suffix if suffix == ".gz" else suffix
        if not is_whole:
            skipped.lacks(CUT, f"WARNING: {name}: the compressed file is cut off: what it held behind is missing")
    encoding = pasted.encoding_of(data)
    segment = suffix in BINARY or (path == STDIN and b"\0" in data[:_HEAD] and encoding == "utf-8-sig")
    if segment and not data.startswith((b"Dumping", b"SLF4J", b"{")):
        whole = segments.whole_size(data) if last else len(data)
        if last and not skipped.grows:
            if segments.is_cut(data, whole):
                left = f"{len(data) - whole} bytes are no whole batch: the file is cut off here; left out"
                skipped.lacks("" if lives else CUT, f"WARNING: {name}: byte {whole}: {left}")
            else:  # zeros, or damage, which is refused where it is met
                whole = len(data)
        yield path.name, segments.batches(data[:whole], name, skipped.problem, compact_form)
        return
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        text = decoder.decode(data)
    except UnicodeDecodeError:
        named = f"a file named as a segment ({', '.join(BINARY)}); rename one"
        raise LogError(f"{name}: neither text nor {named}") from None
    if decoder.getstate()[0]:
        skipped.lacks(CUT, f"WARNING: {name}: the text ends within a character, which is left out")
    yield from _text(text if is_whole else text[: text.rfind("\n") + 1], name, skipped, path.name, is_whole)


def _text(text: str, name: str, skipped: SkipCount, part: str, is_whole: bool) -> Iterator[Part]:
    """The batches of a text; which form it has its lines say, whatever stands between them."""
    lines, noise = pasted.clean(text)
    skipped.noise += noise
    forms = {described.form_of(line) or _form(line) for line in lines}
    if described.TOPICS in forms or described.QUORUM in forms:
        kept = _without_cut_row(lines, text.endswith("\n"), name, skipped)
        yield part, _described(kept, name, skipped, is_whole and len(kept) == len(lines))
    elif _DUMP in forms or not forms & {_RECORD_LINE}:
        if next((line for line in lines if _form(line) == _DUMP), "").startswith("|"):
            raise LogError(f"{name}: the text begins within a batch, so that what was before is missing; {_WHOLE}")
        whole = _without_tail(lines)
        if len(whole) < len(lines):
            left = "the text ends within the batch that begins here; left out"
            skipped.lacks(CUT, f"WARNING: {name}:{len(whole) + 1}: {left}")
        for dumped, first, end in _dumped(whole, part):
            yield dumped, dump_batches(whole[first:end], name, skipped.problem, first + 1)
    else:
        if not any('"offset"' in line for line in lines):
            skipped.lacks("the records have no offsets", NO_OFFSETS)
        if not text.endswith("\n") and lines[-1].count("{") > lines[-1].count("}"):
            skipped.lacks(CUT, f"WARNING: {name}:{len(lines)}: the text ends within a record, which is left out")
            lines = lines[:-1]
        yield part, line_batches(lines, name, skipped.problem)


def _without_cut_row(lines: Sequence[str], ended: bool, name: str, skipped: SkipCount) -> Sequence[str]:
    """The lines of kafka-topics --describe without a last one that is cut off."""
    last = lines[-1].strip()
    if ended or not last or (described.form_of(lines[-1]) != described.TOPICS and not "Topic:".startswith(last)):
        return lines
    is_cut = "Topic:".startswith(last) or described.is_cut(lines)
    told = "is cut off, and left out" if is_cut else "has no end: if the text is cut there, it tells less than it did"
    told += ", though it shows a partition WITHOUT A LEADER" if is_cut and described.is_leaderless(lines[-1]) else ""
    skipped.note(f"WARNING: {name}:{len(lines)}: the last line {told}")
    return lines[:-1] if is_cut else [*lines[:-1], described.trimmed(lines[-1])]


def _described(lines: Sequence[str], name: str, skipped: SkipCount, is_whole: bool) -> Iterator[Batch]:
    """The snapshot that kafka-topics --describe shows; of a text that is cut off, in part."""
    if dumped := next((number for number, line in enumerate(lines, 1) if line.startswith(("baseOffset:", "|"))), 0):
        beside = "what kafka-dump-log prints, beside what kafka-topics or kafka-metadata-quorum prints"
        raise LogError(f"{name}:{dumped}: {beside}; give each a file of its own")
    shown = described.shown(lines, name, skipped.problem)
    if not shown.rows:
        raise LogError(f"{name}: no partition is shown; give what kafka-topics --describe prints too")
    skipped.described = WHOLE if is_whole and not any(shown.in_part()) else IN_PART
    skipped.starting = frozenset(shown.starting)
    if skipped.aliases is not None:
        shown.named = skipped.aliases.topic
    for note in shown.notes():
        skipped.note(note)
    yield from shown.batches(name)


def _dumped(lines: Sequence[str], part: str) -> Iterator[tuple[str, int, int]]:
    """The files of a log that a text shows: name, and first and last line, from the newest snapshot on, in order.

    A text that does not name each of them once is one file, in the order in which it stands.
    """
    heads = [(match, number) for number, line in enumerate(lines) if (match := _DUMPING.match(line))]
    ends = [*(number for _, number in heads[1:]), len(lines)]
    parts = {Path(match.group(1)): (number, end) for (match, number), end in zip(heads, ends, strict=False)}
    if len(parts) < len(heads) or not heads or any(line.strip() for line in lines[: heads[0][1]]):
        yield part, 0, len(lines)
        return
    for path in _in_order(sorted(parts)):
        yield path.name, *parts[path]


def _without_tail(lines: Sequence[str]) -> Sequence[str]:
    """The lines of a dump without a last batch of which the end is missing."""
    text = [number for number, line in enumerate(lines) if line.strip()]
    heads = [number for number in text if "baseOffset:".startswith(lines[number][:11])]
    if not heads:
        return lines
    first, head = heads[-1], _BATCH.match(lines[heads[-1]])
    if head is None:
        return lines[:first] if first == text[-1] else lines
    records = [number for number in text if number > first and lines[number].startswith("|")]
    base, count, control = int(head.group(1)), int(head.group(3)), head.group(5) == "true"
    wrong: list[str] = []
    if records and records[-1] == text[-1]:
        _entry(lines[records[-1]], control, base + len(records) - 1, "", lambda place, what: wrong.append(what))
    whole = [_RECORD.match(lines[number]) for number in (records[:-1] if wrong else records)]
    in_order = all(one is None or int(one.group(1)) == base + place for place, one in enumerate(whole))
    return lines[:first] if len(whole) < count and in_order else lines


def _form(line: str) -> str:
    """Whether a line is one of the tool's output, of a record alone, or of neither."""
    if line.startswith(("baseOffset:", "|")) or (line.strip() and _OTHER_LINES.match(line)):
        return _DUMP
    return _RECORD_LINE if line.startswith(("{", "payload: {")) else ""


WHOLE, IN_PART = "whole", "in part"
"""Whether all partitions of the topics that a text shows are shown, with their configuration."""

_DUMP, _RECORD_LINE = "dump", "record"

_WHOLE = "give all of the log, or a snapshot and what follows it"

CUT = "the log is cut off"
"""What is said first of a log of which the end is missing."""

SKIPPED = "what cannot be decoded is skipped"
"""The same where that was allowed."""

NO_OFFSETS = (
    "WARNING: the records have no offsets, which are counted from 0: what compares them with epochs of brokers is not "
    "explained, and there are no times, no batches and no leaders of the quorum"
)


STDIN = Path("-")
_GZIP, _HEAD = b"\x1f\x8b", 64


@functools.cache
def _standard_input() -> bytes:
    """All of it: a log is read more than once."""
    data = sys.stdin.buffer.read(MAX_LOG_BYTES + 1)
    if len(data) > MAX_LOG_BYTES:
        raise LogError(f"standard input: more than {MAX_LOG_BYTES >> 30} GB; give a file")
    return data
