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
    """Counts what is skipped, and refuses more than is allowed.

    Attributes:
        allowed: how many lines or batches may be undecodable.
        places: those, each with the reason.
        in_snapshot: batches of segments that the snapshot before them already holds.
    """

    allowed: int
    places: list[str] = field(factory=list)
    in_snapshot: int = 0

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
        snapshot = _SNAPSHOT.fullmatch(path.name)
        if snapshot is not None:
            order = _Order(skipped, int(snapshot.group(1)))
        for batch in _file(path, skipped, compact_form):
            if snapshot is not None or order.admits(batch):
                _check_names(batch, skipped)
                yield batch


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
        """Whether a batch is one of the log; what is left out is counted, and so is what is missing before it."""
        if self._due is None and self.snapshot_end is not None:
            if batch.last_offset < self.snapshot_end:
                self.skipped.in_snapshot += 1
                return False
            self._due = self.snapshot_end
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
