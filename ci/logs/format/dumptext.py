"""The output of Kafka's own dump tool, with the decoder for metadata.

kafka-dump-log --cluster-metadata-decoder --files SEGMENT
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import NoReturn

from attrs import evolve

from kraftcheck.ci.logs.format.fields import WireError, unknown_kind
from kraftcheck.ci.logs.format.segments import Problem
from kraftcheck.ci.terminal.files import has_surrogate, once
from kraftcheck.solvers.logs.explain.entries import Batch, LogEntry

_BATCH = re.compile(
    r"baseOffset: (-?\d+) lastOffset: (-?\d+) count: (\d+) .*?partitionLeaderEpoch: (-?\d+) .*?"
    r"isControl: (\w+) .*isvalid: (\w+)"
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
_OTHER_LINES = re.compile(r"Dumping |Log starting offset: |Snapshot end offset: |KRaft bootstrap snapshot|SLF4J: |\s*$")


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON number")


DECODER = json.JSONDecoder(object_pairs_hook=once, parse_constant=_no_number)
"""Reads one record; Python takes NaN, Infinity and a repeated key for JSON."""


def is_dump(head: str) -> bool:
    """Whether text begins as the tool's output does."""
    lines = [line for line in head.splitlines() if not line.startswith("SLF4J") and line.strip()]
    return bool(lines) and lines[0].startswith(("Dumping ", "Log starting offset", "baseOffset:", "Snapshot end"))


def batches(lines: Iterable[str], name: str, problem: Problem) -> Iterator[Batch]:
    """Every batch of the output.

    Args:
        lines: its lines.
        name: of the file.
        problem: called for every line that cannot be read.
    """
    open_batch: Batch | None = None
    entries, due = list[LogEntry](), 0
    for number, line in enumerate(lines, 1):
        place, text = f"{name}:{number}", line.rstrip("\r\n")
        head = _BATCH.match(text)
        if head is not None:
            yield from _finish(open_batch, entries, due, problem)
            base, last, count, epoch = map(int, head.group(1, 2, 3, 4))
            open_batch, entries, due = Batch(base, last, epoch, (), place, head.group(5) == "true"), [], count
            if count != last - base + 1:
                problem(place, f"a batch of {count} records from offset {base} to {last}")
            if head.group(6) != "true":
                problem(place, "the tool says that the batch is not valid")
        elif text.startswith("| "):
            if open_batch is None:
                problem(place, "a record before any batch")
                continue
            entry = _entry(text, open_batch.control, place, problem)
            follows = open_batch.last_offset - due + 1
            due -= 1
            if entry is not None:
                if entry.offset != follows:
                    problem(place, f"offset {follows} should follow in the batch, but the record has {entry.offset}")
                entries.append(entry)
        elif not _OTHER_LINES.match(text):
            problem(place, f"not a line of the dump tool: {text[:60]!r}")
    yield from _finish(open_batch, entries, due, problem)


def _finish(batch: Batch | None, entries: list[LogEntry], due: int, problem: Problem) -> Iterator[Batch]:
    if batch is None:
        return
    if due != 0:
        problem(batch.place, f"the batch at offset {batch.base_offset} counts {due:+d} records against its lines")
    yield evolve(batch, entries=tuple(entries))


def _entry(text: str, control: bool, place: str, problem: Problem) -> LogEntry | None:
    offset = _RECORD.match(text)
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
        name, version, data = value["type"], value["version"], value["data"]
    except (ValueError, KeyError, TypeError, RecursionError) as reason:
        problem(place, f"not a record: {type(reason).__name__}: {reason}")
        return None
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
