"""The reader of logs in files and folders, in any of their forms.

A file is a log. A folder that holds log files is one log, its files in the
order of their offsets; another folder is searched for such folders.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from attrs import define, field, frozen

from kraftcheck.ci.logs.format import dumptext, jsonlines, segments
from kraftcheck.ci.terminal.files import read_bytes
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.logs.explain.entries import Batch, CompactBatch
from kraftcheck.solvers.logs.memo.compact import compact

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
    """Counts what is skipped, and refuses more than is allowed."""

    allowed: int
    places: list[str] = field(factory=list)

    def problem(self, place: str, what: str) -> None:
        """Note one line or batch that cannot be decoded.

        Raises:
            LogError: once more are skipped than allowed.
        """
        self.places.append(f"{place}: {what}")
        if len(self.places) > self.allowed:
            more = f" (the {len(self.places)}th; --allow-skipped {self.allowed})" if self.allowed else ""
            raise LogError(f"{place}: {what}{more}")


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
        if path.is_dir():
            logs = list(_logs_in(path))
            if not logs:
                raise LogError(f"{path}: no log in this folder; a log ends in {', '.join((*BINARY, *TEXT))}")
            log_files += logs
        elif path.exists():
            log_files.append(LogFiles(str(path), (path,)))
        else:
            raise LogError(f"{path}: no such file or folder")
    return log_files


def _logs_in(folder: Path) -> Iterator[LogFiles]:
    files = sorted(path for path in folder.iterdir() if path.is_file())
    binary = [path for path in files if path.suffix in BINARY and path.stem[:1].isdigit()]
    if binary:
        yield LogFiles(str(folder), _in_order(binary))
    else:
        text = [path for path in files if path.suffix in TEXT]
        if text:
            yield LogFiles(str(folder), tuple(text))
    for sub in sorted(path for path in folder.iterdir() if path.is_dir()):
        yield from _logs_in(sub)


def _in_order(files: list[Path]) -> tuple[Path, ...]:
    """The segments, after the newest snapshot where the log does not begin at 0."""
    logs = [path for path in files if path.suffix == ".log"]
    snapshots = [path for path in files if _SNAPSHOT.fullmatch(path.name)]
    if (logs and int(logs[0].stem) == 0) or not snapshots:
        return tuple(logs or files)
    newest = max(snapshots, key=lambda path: int(path.name.split("-")[0]))
    return (newest, *logs)


def read(log: LogFiles, skipped: SkipCount) -> Iterator[Batch]:
    """Every batch of a log, decoded; what a snapshot already holds is passed over.

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
    due: int | None = None
    epoch = 0
    for path in log.files:
        snapshot = _SNAPSHOT.fullmatch(path.name)
        for batch in _file(path, skipped, compact_form):
            if snapshot is None:
                if due is not None and batch.last_offset < due:
                    continue
                _check_order(batch, due, epoch, skipped)
                due, epoch = batch.last_offset + 1, batch.epoch
            _check_names(batch, skipped)
            yield batch
        if snapshot is not None:
            due = int(snapshot.group(1))


def _check_order(batch: Batch | CompactBatch, due: int | None, epoch: int, skipped: SkipCount) -> None:
    """Report offsets that are missing before a batch, and an epoch that falls."""
    if due is not None and batch.base_offset != due:
        skipped.problem(batch.place, f"offset {due} should follow, but the batch begins at {batch.base_offset}")
    if batch.epoch < epoch:
        skipped.problem(batch.place, f"epoch {batch.epoch} after {epoch}: a leader's epoch never falls")


def _check_names(batch: Batch | CompactBatch, skipped: SkipCount) -> None:
    """Report topics that Kafka would not have made: no cluster wrote such a log."""
    entries = batch.entries if isinstance(batch, Batch) else (batch.other,)
    for entry in entries:
        if entry is not None and entry.type == "TOPIC_RECORD" and entry.data is not None:
            name = entry.data.get("name")
            if isinstance(name, str) and (not _TOPIC.fullmatch(name) or name in (".", "..")):
                skipped.problem(batch.place, f"Kafka refuses the topic name {name[:60]!r}")


def _file(path: Path, skipped: SkipCount, compact_form: bool) -> Iterator[Batch | CompactBatch]:
    data = read_bytes(path, MAX_LOG_BYTES)
    if path.suffix in BINARY and not data.startswith((b"Dumping", b"SLF4J", b"{")):
        yield from segments.batches(data, str(path), skipped.problem, compact_form)
        return
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise LogError(f"{path}: neither text nor a file named as a segment ({', '.join(BINARY)})") from None
    reader = dumptext if dumptext.is_dump(text[:4096]) else jsonlines
    yield from reader.batches(text.splitlines(), str(path), skipped.problem)
