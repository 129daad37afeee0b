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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import pairwise
from pathlib import Path, PurePath
from typing import TypeAlias, TypeVar

from attrs import define, field, frozen

from kraftcheck.ci.dataset.store.objects import AnyPath, ObjectPath
from kraftcheck.ci.logs.format import beside, described, pasted, segments, texts
from kraftcheck.ci.logs.format.aliases import Aliases
from kraftcheck.ci.logs.format.fields import WireError
from kraftcheck.ci.terminal.files import MAX_JSON_BYTES, read_bytes
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.logs.explain.explain import FOOTER, HEADER
from kraftcheck.solvers.logs.explain.state import Batch, CompactBatch
from kraftcheck.solvers.logs.memo.ledger import compact

BINARY = (".log", ".checkpoint")  # names of segments and snapshots

TEXT = (".txt", ".jsonl", ".ndjson")
"""Names of what the dump tool or others wrote; looked for in folders without segments."""

MAX_LOG_BYTES = 4 << 30  # the largest file of a log that is read; Kafka begins a new segment after 1 GB at most
_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")  # how Kafka lets a topic be called, but for `.` and `..`
NAMED = 3  # lines of a text that are named of those that nobody understands

_SEGMENT = re.compile(r"(\d+)\.log")
_SNAPSHOT = re.compile(r"(\d+)-(\d+)\.checkpoint")


class LogError(Refusal):
    """A log that cannot be read; the message names the place."""


@define
class SkipCount:
    """Counts what is skipped, and refuses more than is allowed."""

    allowed: int  # how many lines or batches may be undecodable
    places: list[str] = field(factory=list)  # those, each with the reason
    in_snapshot: int = 0  # batches of segments that the snapshot before them already holds
    noise: int = 0  # lines of the JVM, of logging, and of a terminal
    notes: dict[str, None] = field(factory=dict)  # what a reader must know of the form of the text, each once
    # whether the log is being written: what ends within a batch of its last segment is not written yet
    grows: bool = False
    aliases: Aliases | None = None  # the names that stand for those of the log; None: they stay
    described: str = ""  # whether it shows a cluster as kafka-topics --describe does, WHOLE or IN_PART; else empty
    starting: frozenset[int] = frozenset()  # the brokers that such a text shows to be up, and still not to lead
    silent: frozenset[int] = frozenset()  # the nodes that it shows not to keep up with the quorum
    incomplete: dict[str, None] = field(factory=dict)  # why there may be more than was read, each once, in a few words

    def note(self, text: str) -> None:
        """Note what a reader must know."""
        self.notes[text] = None

    def lacks(self, what: str, text: str) -> None:
        """Note that something is missing: in a few words, which are said first, and in full."""
        self.incomplete[what] = None
        self.note(text)

    def not_known(self, name: str, lines: Mapping[int, str]) -> None:
        """Note lines of a text that are no data, and not known to be harmless: they may tell what nobody has read."""
        if not lines:
            return
        words = {n: f": {' '.join(line.split())[:120]}" if self.aliases is None else "" for n, line in lines.items()}
        told = [f"line {number}{text}" for number, text in words.items()]
        more = f", and {len(told) - NAMED} more" if len(told) > NAMED else ""
        what = f"{len(told)} {'line is' if len(told) == 1 else 'lines are'} not understood"
        self.lacks(what, f"WARNING: {name}: passed over, and not known to be harmless: {', '.join(told[:NAMED])}{more}")

    def problem(self, place: str, what: str) -> None:
        """Note one line or batch that cannot be decoded; raises LogError when more are skipped than allowed."""
        self.places.append(f"{place}: {what}" if self.aliases is None else place)
        if len(self.places) > self.allowed and self.aliases is not None:
            raise LogError(f"{place}: cannot be read; without --anonymise it is said why, with words of the line")
        if len(self.places) > self.allowed:
            more = f"; --allow-skipped {len(self.places)} passes over this, too" if self.allowed else ""
            raise LogError(f"{place}: {what}{more}")
        self.incomplete[SKIPPED] = None


@frozen
class LogFiles:
    """The files of one log, in the order of their offsets."""

    name: str
    files: tuple[AnyPath, ...]


META = "meta.properties"
"""The file in which a node notes the id of its cluster, beside the folder of the log (`MetaPropertiesEnsemble`)."""


def cluster_id(log: LogFiles) -> str | None:
    """The cluster's id, as a log's node has noted it; None where the log is alone; raises Refusal for no such note."""
    first = log.files[0]
    folder = first.absolute().parent if isinstance(first, Path) else first.parent
    for place in (folder, folder.parent):
        if first.suffix in BINARY and (data := _read_beside(place / META)) is not None:
            pairs = (line.partition("=") for line in data.decode("utf-8", "replace").splitlines())
            return next((value.strip() for key, _, value in pairs if key.strip() == "cluster.id"), None)
    return None


def _read_beside(place: AnyPath) -> bytes | None:
    """A small file that a node writes beside a log; None where there is none; raises Refusal if it cannot be read."""
    is_there = place.is_file() if isinstance(place, Path) else place.exists()
    return _read(place, MAX_JSON_BYTES) if is_there else None


def _read(place: AnyPath, limit: int = MAX_LOG_BYTES) -> bytes:
    """A file, or an object of a store; raises Refusal where it cannot be read, or is larger."""
    if isinstance(place, Path):
        return read_bytes(place, limit)
    try:
        if (size := place.size()) <= limit:
            return place.read_bytes()
    except OSError as error:
        raise LogError(f"cannot read {place}: {error.strerror or error}") from error
    raise LogError(f"{place}: it has {size >> 20:,} MB, and {limit >> 20:,} MB are the most that is read")


def find(paths: Sequence[AnyPath]) -> list[LogFiles]:
    """The logs that paths and URLs name; raises LogError for what is not there, or a folder without logs."""
    log_files: list[LogFiles] = []
    for path in paths:
        if path == STDIN:
            log_files.append(LogFiles("standard input", (path,)))
        elif isinstance(path, ObjectPath):
            log_files += _logs_below(path)
        elif path.is_dir():
            log_files += list(_logs_in(path, set())) or _no_log(path)
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
    yield from _log_of(folder, sorted(path for path in folder.iterdir() if not path.is_dir()))
    for sub in sorted(path for path in folder.iterdir() if path.is_dir()):
        yield from _logs_in(sub, seen)


def _log_of(folder: AnyPath, files: Sequence[AnyPath]) -> Iterator[LogFiles]:
    """The log that the files of a folder are, if they are one: segments and snapshots, else texts."""
    binary = [path for path in files if path.suffix in BINARY and path.stem[:1].isdigit()]
    if binary:
        yield LogFiles(str(folder), _in_order(binary, lambda path: segments.end_offset(_read(path))))
    elif text := [path for path in files if path.suffix in TEXT]:
        yield LogFiles(str(folder), tuple(text))


def _logs_below(place: ObjectPath) -> list[LogFiles]:
    """The log that an object is, or those of the folders below a URL; raises LogError where there is none."""
    try:
        names = [name for name, _ in place.entries()]
        if not names:
            return [LogFiles(str(place), (place,))] if place.exists() else _no_log(place)
    except OSError as error:
        raise LogError(f"cannot read {place}: {error.strerror or error}") from error
    folders: dict[str, list[AnyPath]] = {}
    for name in sorted(names):
        folders.setdefault(name.rpartition("/")[0], []).append(place / name)
    of_folders = ((place / name if name else place, files) for name, files in sorted(folders.items()))
    return [log for folder, files in of_folders for log in _log_of(folder, files)] or _no_log(place)


def _no_log(place: AnyPath) -> list[LogFiles]:
    raise LogError(f"{place}: no log is there; a log ends in {', '.join((*BINARY, *TEXT))}")


File = TypeVar("File", bound=AnyPath)


def _in_order(files: Sequence[File], end: Callable[[File], int]) -> tuple[File, ...]:
    """The segments, by their `end`, after the newest snapshot where they do not begin at 0, or lack some before it."""
    logs = [path for path in files if path.suffix == ".log"]
    ends = {path: int(match[1]) for path in files if (match := _SNAPSHOT.fullmatch(path.name))}
    if not ends:
        return tuple(logs or files)
    newest = max(ends, key=ends.__getitem__)
    is_ahead = bool(logs) and int(logs[-1].stem) < ends[newest] and end(logs[-1]) < ends[newest]
    upto = [path for path in logs if int(path.stem) <= ends[newest]]
    bridges = any(end(before) < int(after.stem) for before, after in pairwise(upto))
    return tuple(logs) if logs and int(logs[0].stem) == 0 and not (is_ahead or bridges) else (newest, *logs)


def read(log: LogFiles, skipped: SkipCount) -> Iterator[Batch]:
    """Every batch of a log, decoded; what a snapshot holds is passed over, and counted; raises as `read_compact`."""
    return (batch.whole() if isinstance(batch, CompactBatch) else batch for batch in _batches(log, skipped, False))


def read_compact(log: LogFiles, skipped: SkipCount) -> Iterator[Batch | CompactBatch]:
    """Every batch of a log, compact where it has the shape; raises LogError, naming the place of faults and gaps."""
    return (batch if isinstance(batch, CompactBatch) else compact(batch) for batch in _batches(log, skipped, True))


def _batches(log: LogFiles, skipped: SkipCount, compact_form: bool) -> Iterator[Batch | CompactBatch]:
    order = _Order(skipped)
    for path in log.files:
        for part, found in _file(path, skipped, compact_form, path == log.files[-1]):
            snapshot, is_empty = _SNAPSHOT.fullmatch(part), True
            if snapshot is not None:
                order = _Order(skipped, int(snapshot.group(1)), epoch=int(snapshot.group(2)))
            for batch in _whole_snapshots(found, skipped):
                is_empty = False
                if snapshot is not None or order.admits(batch):
                    _check_names(batch, skipped)
                    yield batch if skipped.aliases is None else skipped.aliases.batch(batch.whole())
            if is_empty and (segment := _SEGMENT.fullmatch(part)):
                order.note_gap(int(segment.group(1)), part)
    order.note_lateness()
    if log.files[-1].suffix in BINARY:
        _note_quorum(log.files[-1].parent / "quorum-state", order.epoch, skipped)


def _note_quorum(place: AnyPath, epoch: int, skipped: SkipCount) -> None:
    """Note where the node whose folder it is knows of no leader, or of a newer one than the log that it has.

    Source: `FileQuorumStateStore`.
    """
    if (data := _read_beside(place)) is None:
        return
    try:
        state = json.loads(data)
        leader, known = int(state["leaderId"]), int(state["leaderEpoch"])
    except (ValueError, TypeError, KeyError, RecursionError):
        skipped.lacks("quorum-state cannot be read", f"WARNING: {place.name}: not what a node of the quorum writes")
        return
    if leader < 0:
        what = "the node of this folder knows no leader of the quorum"
        skipped.lacks(what, f"WARNING: {place.name}: {what}, in epoch {known}: others may have more records")
    elif known > epoch:
        what = f"quorum-state is of epoch {known}, and the log ends in epoch {epoch}"
        skipped.lacks(what, f"WARNING: {what}: records of the newer leader are missing")


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
    """The order in which the batches of segments follow each other."""

    skipped: SkipCount  # where what does not follow is counted
    # the first offset that the snapshot before them does not hold; None without a snapshot
    snapshot_end: int | None = None
    epoch: int = 0  # of the last batch, or of the snapshot
    _due: int | None = None
    _passed: int = 0  # how many were passed over before the last batch

    def admits(self, batch: Batch | CompactBatch) -> bool:
        """Whether a batch is the log's; others and gaps are counted; raises LogError for no beginning."""
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
        if batch.epoch < self.epoch:
            self.skipped.problem(batch.place, f"epoch {batch.epoch} after {self.epoch}: a leader's epoch never falls")
        self._due, self.epoch, self._passed = batch.last_offset + 1, batch.epoch, len(self.skipped.places)
        return True

    def note_gap(self, first: int, part: str) -> None:
        """Note a segment without a batch whose name says that there are more records before it than were read."""
        due = self.snapshot_end if self._due is None else self._due
        if due is not None and first > due:
            missing = f"{part} is empty, and begins at offset {first}: records from offset {due} on are missing"
            self.skipped.lacks(CUT, f"WARNING: {missing}")

    def note_lateness(self) -> None:
        """Note that all segments end before the snapshot: it is what is known of the cluster."""
        if self._due is None and self.snapshot_end is not None and self.skipped.in_snapshot:
            self.skipped.note(
                f"WARNING: the segments end before offset {self.snapshot_end}, with which the snapshot ends: they are "
                "older than it, and passed over; a folder that is copied while it is written may be so"
            )

    def _misplaced(self, batch: Batch | CompactBatch, due: int) -> None:
        follows = f"offset {due} should follow, but the batch begins at {batch.base_offset}"
        if batch.base_offset < due:
            follows += ": another log begins here, or a part of this one again; give each log a file of its own"
        elif len(self.skipped.places) > self._passed:  # what is missing is what was passed over
            self.skipped.note(f"WARNING: {batch.place}: {follows}: what is between was passed over")
            return
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


def _file(path: AnyPath, skipped: SkipCount, compact_form: bool, last: bool) -> Iterator[Part]:
    data, suffix, is_whole = _standard_input() if path == STDIN else _read(path), path.suffix, True
    name = "standard input" if path == STDIN else str(path) if skipped.aliases is None else path.name
    if data.startswith(_GZIP):
        try:
            data, is_whole = segments.unpacked(data, MAX_LOG_BYTES)
        except WireError as reason:
            raise LogError(f"{name}: {reason}") from None
        suffix = PurePath(path.stem).suffix if suffix == ".gz" else suffix
        if not is_whole:
            skipped.lacks(CUT, f"WARNING: {name}: the compressed file is cut off: what it held behind is missing")
    if kind := segments.archive_of(data):
        raise LogError(f"{name}: {kind}; unpack it, and give the folder or file that was in it")
    encoding = pasted.encoding_of(data)
    is_named = suffix in BINARY and (b"\0" in data[:_HEAD] or not pasted.is_of_a_log(data[:_HEAD].decode("latin-1")))
    segment = is_named or (path == STDIN and b"\0" in data[:_HEAD] and encoding == "utf-8-sig")
    if segment and not data.startswith((b"Dumping", b"SLF4J", b"{")):
        whole = segments.whole_size(data) if last else len(data)
        is_cut, is_blank = segments.is_cut(data, whole), not any(data[whole:])
        if not is_cut and not is_blank:  # damage, which is refused where it is met
            whole = len(data)
        elif whole < len(data) and not skipped.grows:
            left = "are no whole batch: the file is cut off here; left out"
            left = "are zeros: what was to be written here is lost" if is_blank else left
            skipped.lacks(CUT, f"WARNING: {name}: byte {whole}: {len(data) - whole} bytes {left}")
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
    kinds = [described.form_of(line) or texts.form_of(line) for line in lines]
    of_batches = any(map(texts.BATCH.match, lines))  # whose counts tell whether a line of theirs is missing
    talk = {
        number: line for number, (line, kind) in enumerate(zip(lines, kinds, strict=True), 1)
        if (pasted.is_talk(line) and not beside.is_unreached(line)) or (of_batches and line.strip() and not kind)
    }  # fmt: skip
    lines = ["" if number in talk else line for number, line in enumerate(lines, 1)]
    asked = any(map(described.asks_for_a_part, text.splitlines()))
    others = {number: line for number, line in talk.items() if not described.asks_for_a_part(line)}
    of_tools = texts.DUMP not in kinds and any(beside.is_of_log_ends(line) for line in lines)
    if {described.TOPICS, described.QUORUM} & {*kinds} or of_tools:
        kept = _without_cut_row(lines, text.endswith("\n"), name, skipped)
        if asked:
            skipped.note("WARNING: the command above the lines asks for a part: other partitions are not shown")
        is_all, topics = is_whole and not asked and len(kept) == len(lines), beside.asked_topics(text.splitlines())
        yield part, _described(kept, name, skipped, is_all, others, topics)
        return
    if not any(kinds):
        _check_kind(text.splitlines(), lines, name)
    skipped.not_known(name, talk)
    if texts.DUMP in kinds or texts.RECORD_LINE not in kinds:
        yield from _dump(lines, name, skipped, part)
        return
    if not any('"offset"' in line for line in lines):
        skipped.lacks("the records have no offsets", NO_OFFSETS)
    if not text.endswith("\n") and lines[-1].count("{") > lines[-1].count("}"):
        skipped.lacks(CUT, f"WARNING: {name}:{len(lines)}: the text ends within a record, which is left out")
        lines = lines[:-1]
    yield part, texts.line_batches(lines, name, skipped.problem)


def _check_kind(text: Sequence[str], lines: Sequence[str], name: str) -> None:
    """Refuse a text without a line of a log: by the first that says what it is, or else the first."""
    told = {number: line for number, line in enumerate(text, 1) if line.strip()}
    by_look = (
        (beside.is_failure, "the tool failed, as where it reaches no broker; copy the folder of a controller's log"),
        (pasted.is_of_a_log, "a program's log; `kraftcheck findings WORDS` finds what tells of such a message"),
        (pasted.holds_data, "cut off what stands before each line"),
    )
    for is_such, mend in by_look:
        if number := next((number for number, line in told.items() if is_such(line)), 0):
            raise LogError(f"{name}:{number}: no line of a metadata log: {told[number][:60]!r}; {mend}")


def _dump(lines: Sequence[str], name: str, skipped: SkipCount, part: str) -> Iterator[Part]:
    """The batches of what the tool prints, or of the lines of its records alone."""
    begin = next((line for line in lines if texts.form_of(line) == texts.DUMP), "")
    if begin.startswith("|") and not begin.startswith(("| offset:", "| key:", "| payload:")):
        raise LogError(f"{name}: the lines of a table, which Kafka's tools do not print; give what they print")
    if texts.begins_a_log(begin):
        skipped.lacks("the lines of batches are missing", f"WARNING: {name}: {_NO_BATCHES}")
        yield part, texts.record_batches(lines, name, skipped.problem)
        return
    if begin.startswith("|"):
        raise LogError(f"{name}: the text begins within a batch, so that what was before is missing; {_WHOLE}")
    for number in (number for number, line in enumerate(lines, 1) if texts.CUT_OFF.match(line)):
        skipped.lacks(CUT, f"WARNING: {name}:{number}: the segment ends within a batch, which the tool left out")
    for number in texts.odd_starts(lines):
        what = "the lines of a segment do not begin where it says"
        skipped.lacks(what, f"WARNING: {name}:{number}: {what}: records are missing, or of another file")
    whole = texts.without_tail(lines)
    if texts.ends_in_a_head(whole):
        skipped.lacks(CUT, f"WARNING: {name}:{len(whole)}: the text ends with the first lines of a segment")
    if len(whole) < len(lines):
        left = "the text ends within the batch that begins here; left out"
        skipped.lacks(CUT, f"WARNING: {name}:{len(whole) + 1}: {left}")
    for dumped, first, end in _dumped(whole, part):
        yield dumped, texts.dump_batches(whole[first:end], name, skipped.problem, first + 1)


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


def _described(
    lines: Sequence[str],
    name: str,
    skipped: SkipCount,
    is_whole: bool,
    talk: Mapping[int, str],
    asked: Mapping[str, Set[str]],
) -> Iterator[Batch]:
    """The snapshot that kafka-topics --describe shows, between lines that are talk; of a text that is cut, in part."""
    if dumped := next((number for number, line in enumerate(lines, 1) if line.startswith(("baseOffset:", "|"))), 0):
        beside = "what kafka-dump-log prints, beside what kafka-topics or kafka-metadata-quorum prints"
        raise LogError(f"{name}:{dumped}: {beside}; give each a file of its own")
    shown = described.shown(lines, name, skipped.problem, asked)
    if not shown.rows:
        raise LogError(f"{name}: no partition is shown; give what kafka-topics --describe prints too")
    skipped.described = WHOLE if is_whole and not any(shown.in_part()) else IN_PART
    skipped.starting, skipped.silent = frozenset(shown.starting), frozenset(shown.late)
    skipped.not_known(name, dict(sorted({**talk, **shown.not_known}.items())))
    if skipped.aliases is not None:
        shown.named = skipped.aliases.topic
    for what in shown.quiet():
        skipped.lacks(what, f"WARNING: {what}")
    for note in shown.notes():
        skipped.note(note)
    yield from shown.batches(name)


def _dumped(lines: Sequence[str], part: str) -> Iterator[tuple[str, int, int]]:
    """The files of a log in a text: name, first and last line, in order; one file where they are not named once."""
    heads = [(match, number) for number, line in enumerate(lines) if (match := texts.DUMPING.match(line))]
    ends = [*(number for _, number in heads[1:]), len(lines)]
    parts = {Path(match.group(1)): (number, end) for (match, number), end in zip(heads, ends, strict=False)}
    if len(parts) < len(heads) or not heads or any(line.strip() for line in lines[: heads[0][1]]):
        yield part, 0, len(lines)
        return

    def end(path: Path) -> int:
        first, last = parts[path]
        return max((int(head[2]) + 1 for line in lines[first:last] if (head := texts.BATCH.match(line))), default=0)

    for path in _in_order(sorted(parts), end):
        yield path.name, *parts[path]


WHOLE, IN_PART = "whole", "in part"
"""Whether all partitions of the topics that a text shows are shown, with their configuration."""

_WHOLE = "give all of the log, or a snapshot and what follows it"

CUT = "the log is cut off"  # what is said first of a log of which the end is missing
SKIPPED = "what cannot be decoded is skipped"  # the same where that was allowed

_NO_BATCHES = "records of one time are taken as a batch, and there are no epochs of the quorum's leader"

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
