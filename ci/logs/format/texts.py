"""The batches of texts: what Kafka's own tool prints of a log, and JSON lines, whose forms `...format.read` tells."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NoReturn

from attrs import evolve

from kraftcheck.ci.logs.format import segments
from kraftcheck.ci.logs.format.fields import WireError, unknown_kind
from kraftcheck.ci.logs.format.segments import Problem
from kraftcheck.ci.terminal.files import has_surrogate, once
from kraftcheck.solvers.logs.explain.state import Batch, LogEntry

BATCH = re.compile(
    r"baseOffset: (-?\d+) lastOffset: (-?\d+) count: (\d+) .*?partitionLeaderEpoch: (-?\d+) .*?"
    r"isControl: (\w+) .*?(?:(?:Create|LogAppend)Time: (-?\d{1,20}) .*)?isvalid: (\w+)"
)
_RECORD = re.compile(r"\| offset: (\d+) (?:(?:Create|LogAppend)Time: (-?\d{1,20}) )?")
_PAYLOAD = re.compile(r" payload: (\{.*\})$")
_CONTROL = re.compile(r" controlType: (\w+)\((-?\d+)\)| (\w+):? (\{.*\})$")
_LEADER, _VOTER = re.compile(r'"leaderId":(-?\d+)'), re.compile(r'"voterId":(\d+)')
_CONTROL_NAMES = {
    "LeaderChange": "LEADER_CHANGE",
    "SnapshotHeader": "SNAPSHOT_HEADER", "SnapshotFooter": "SNAPSHOT_FOOTER",
    "KRaftVersion": "KRAFT_VERSION", "KRaftVoters": "KRAFT_VOTERS",
}  # fmt: skip
_OTHER_LINES = re.compile(
    r"Dumping |(?:Log s|S)tarting offset: |Snapshot end offset: |KRaft bootstrap snapshot|Found \d+ invalid bytes |\s*$"
)
CUT_OFF = re.compile(r"Found \d+ invalid bytes at the end of ")
"""What the tool says below a segment that was copied while it was written."""

_START = re.compile(r"(?:Log s|S)tarting offset: (\d+)")
_UNDECODED = re.compile(r" payload: (Error at \d+, skipping\. (?:Unknown metadata record type (\d+))?.*)$")
"""A record that the tool cannot decode, perhaps since its kind is newer than the tool."""

DUMPING = re.compile(r"Dumping (?:.*[/\\])?(\d+(?:\.log|-\d+\.checkpoint))\s*$")
_BARE = re.compile(r"\| (?:key: .* )?payload: (\{.*\})$")
"""A record of the tool with `--skip-record-metadata`: its offset follows from the batch."""


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON number")


DECODER = json.JSONDecoder(object_pairs_hook=once, parse_constant=_no_number)
"""Reads one record; Python takes NaN, Infinity and a repeated key for JSON."""


def dump_batches(lines: Iterable[str], name: str, problem: Problem, first: int = 1) -> Iterator[Batch]:
    """Every batch of the output from line `first` on; `problem` is told of what cannot be read."""
    open_batch: Batch | None = None
    entries, due = list[LogEntry](), 0
    for number, line in enumerate(lines, first):
        place, text = f"{name}:{number}", line.rstrip("\r\n")
        head = BATCH.match(text)
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
            broken = "if a terminal has broken the line, write the output to a file; else "
            mend = f"{broken if text.startswith('baseOffset') else ''}{GIVE}"
            problem(place, f"not a line of the dump tool: {text[:60]!r}; {mend}")
    yield from _finish(open_batch, entries, due, problem)


def begins_a_log(line: str) -> bool:
    """Whether the line of a record is the first of a log: of its first offset, or of that behind the quorum's own."""
    record = _RECORD.match(line)
    return record is not None and int(record.group(1)) <= 1


def record_batches(lines: Iterable[str], name: str, problem: Problem) -> Iterator[Batch]:
    """The batches of the output without the lines that begin them, as `grep payload` leaves it.

    Records that follow each other, and were written at the same time, are taken as one batch; a single offset that is
    missing as a record of the quorum itself, which has no payload.
    """
    found = [(record, f"{name}:{number}") for number, line in enumerate(lines, 1) if (record := _RECORD.match(line))]
    numbered = (((int(one[0].group(1)) - index, one[0].group(2)), one) for index, one in enumerate(found))
    due = 0
    for (_, time), group in groupby(numbered, itemgetter(0)):
        rows = [row for _, row in group]
        base, place = int(rows[0][0].group(1)), rows[0][1]
        if base == due + 1:
            yield Batch(due, due, 0, (LogEntry(due, "LEADER_CHANGE", 0, {}),), place, True)
        control = _PAYLOAD.search(rows[0][0].string) is None
        read = [_entry(record.string.rstrip(), control, base, at, problem) for record, at in rows]
        due, entries = base + len(rows), tuple(entry for entry in read if entry is not None)
        yield Batch(base, due - 1, 0, entries, place, control, segments.time_of(int(time or -1)))


def _finish(batch: Batch | None, entries: list[LogEntry], due: int, problem: Problem) -> Iterator[Batch]:
    if batch is None:
        return
    if due == batch.last_offset - batch.base_offset + 1:
        without = f"the batch at offset {batch.base_offset} shows none of its records"
        problem(batch.place, f"{without}; dump the segment with --cluster-metadata-decoder")
    elif due != 0:
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
        voters = [int(voter) for voter in _VOTER.findall(text.partition('"grantingVoters"')[0])]
        data = {} if leader is None else {"leaderId": int(leader.group(1))}
        return LogEntry(int(offset.group(1)), name, 0, {**data, "voters": voters} if voters else data)
    payload, undecoded = _PAYLOAD.search(text), _UNDECODED.search(text)
    if undecoded is not None and undecoded.group(2):
        return LogEntry(int(offset.group(1)), f"UNKNOWN_{undecoded.group(2)}", 0, None)
    if undecoded is not None:
        mend = "dump it with a newer release, or --allow-skipped 1 passes over it"
        problem(place, f"a record that the tool could not decode: {undecoded.group(1)[:80]}; {mend}")
        return None
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


KEYS = {"offset", "batch", "epoch", "type", "version", "data", "control"}  # what a line may hold
PAYLOAD = {"type", "version", "data"}  # what it holds where it is the payload alone

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
            problem(place, f"not JSON: {getattr(reason, 'msg', reason)}")
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


def odd_starts(lines: Sequence[str]) -> Iterator[int]:
    """The lines of batches that are the first of a segment, and not of the offset that it says to begin with."""
    due: int | None = None
    for number, line in enumerate(lines, 1):
        if start := _START.match(line):
            due = int(start.group(1))
        elif head := BATCH.match(line):
            if due is not None and int(head.group(1)) != due:
                yield number
            due = None


def ends_in_a_head(lines: Sequence[str]) -> bool:
    """Whether the last line is one that begins a segment: what follows it is not shown, or there is nothing yet."""
    last = next((line for line in reversed(lines) if line.strip()), "")
    return last.startswith("Dumping ") or _START.match(last) is not None


def without_tail(lines: Sequence[str]) -> Sequence[str]:
    """The lines of a dump without a last batch of which the end is missing."""
    text = [number for number, line in enumerate(lines) if line.strip()]
    heads = [number for number in text if "baseOffset:".startswith(lines[number][:11])]
    if not heads:
        return lines
    first, head = heads[-1], BATCH.match(lines[heads[-1]])
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


def form_of(line: str) -> str:
    """Whether a line is one of the tool's output, of a record alone, or of neither."""
    if line.startswith(("baseOffset:", "|")) or (line.strip() and _OTHER_LINES.match(line)):
        return DUMP
    return RECORD_LINE if line.startswith(("{", "payload: {")) else ""


DUMP, RECORD_LINE = "dump", "record"  # forms of lines
GIVE = "give a segment, a checkpoint, its dump, or what kafka-topics --describe prints"
