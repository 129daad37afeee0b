"""The files of a backward search, and its finished rounds: a search that was killed lists no arcs again.

Workers write the files. A search asks for its rounds by name, always the same ones in the same order. What a log has
under a name is taken again, if its files are those that were written; else it is computed, and a new document notes it
with those before.
"""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from attrs import asdict, define, field, fields, frozen

from kraftcheck.ci.dataset.store.levelfiles import DamagedLevelError, LevelFile, ParquetFile, source_of, verify
from kraftcheck.ci.dataset.store.manifests import read_sealed, write_sealed
from kraftcheck.ci.dataset.store.objects import AnyPath, ObjectPath, by_name, remove_folder, remove_others
from kraftcheck.ci.dataset.values import as_it_is, listed, mapped, matching, optional, read_fields, record, whole
from kraftcheck.ci.terminal.refusal import JobFailedError, Refusal
from kraftcheck.solvers.liveness.fair import StoppedError


@define
class PartWriter(ParquetFile):
    """Writes columns of numbers, some row groups."""

    kind: str  # what they are, for the name; attempts of the same task have different names

    def __attrs_post_init__(self) -> None:
        """Draw the name."""
        self._name = f"{self.kind}-{uuid.uuid4().hex}.parquet"

    def write(self, **columns: Any) -> None:
        """Add a row group; none of no rows."""
        table = pa.table({name: pa.array(values) for name, values in columns.items()})
        if table.num_rows:
            self.begin(table.schema, use_dictionary=False)
            self.write_group(table)


def written_file(folder: AnyPath, kind: str, **columns: Any) -> LevelFile | None:
    """A file of one row group; None of no rows."""
    with PartWriter(folder, kind) as writer:
        writer.write(**columns)
    return writer.result()


def read_groups(folder: AnyPath, file: LevelFile | None, *names: str) -> Iterator[list[Any]]:
    """The row groups of a file, as arrays; raises DamagedLevelError where it is not what was written."""
    if file is None:
        return
    path, rows = folder / file.name, 0
    try:
        with pq.ParquetFile(source_of(path), page_checksum_verification=True) as source:
            for number in range(source.num_row_groups):
                table = source.read_row_group(number, columns=list(names), use_threads=False)
                rows += table.num_rows
                yield [table.column(name).to_numpy() for name in names]
    except (OSError, pa.ArrowException) as error:
        raise DamagedLevelError(f"{path}: {error}") from error
    if rows != file.rows:
        raise DamagedLevelError(f"{path}: {rows:,} rows instead of {file.rows:,}")


def check_written(folder: AnyPath, file: LevelFile) -> None:
    """Check that the driver sees a file that a job wrote; raises JobFailedError where disks are the workers' own."""
    path = folder / file.name
    try:
        is_there = (path.size() if isinstance(path, ObjectPath) else path.stat().st_size) == file.bytes
    except OSError:
        is_there = False
    if not is_there:
        mend = "the workers do not share this disk; choose another --out"
        raise JobFailedError(f"a job left no file {file.name} in {folder}: {mend}")


def _file(document: Any) -> LevelFile | None:
    return optional(record(LevelFile))(document)


@frozen
class PartFiles:
    """The files of a part."""

    arcs: LevelFile | None = field(converter=_file)  # those to its states
    # of its states, in the order of their numbers; None: it has no states
    marks: LevelFile | None = field(converter=_file)
    # what leads out of the explored states or out of a domain, of any part
    leaves: LevelFile | None = field(converter=_file)
    nodes: LevelFile | None = field(converter=_file)  # the states of a region


NAMES = tuple(one.name for one in fields(PartFiles))


def files_of(parts: Iterable[PartFiles]) -> Iterator[LevelFile]:
    """The files of parts."""
    return (file for part in parts for name in NAMES if (file := getattr(part, name)) is not None)


def document_of(rounds: int) -> str:
    """The name of the document of so many rounds; in a store nothing is written twice under a name."""
    return f"rounds-{rounds:06}.json"


@frozen
class Round:
    """The files of a round."""

    parts: tuple[PartFiles, ...]
    counts: tuple[int, ...]  # numbers that the search needs of it; the first is that of its rows


def _rounds(document: Any) -> tuple[tuple[Any, int], dict[str, Round]]:
    """What a document of rounds belongs to, how many were finished by then, and what it says."""
    readers = {"of": as_it_is, "number": whole(0, 1 << 40), "rounds": mapped(_NAME, _round, 1 << 20)}
    values = read_fields(document, readers)
    return (values["of"], values["number"]), values["rounds"]


def _round(document: Any) -> Round:
    readers = {"parts": listed(record(PartFiles), 1 << 16), "counts": listed(whole(0, 1 << 56), 1 << 16)}
    return Round(**read_fields(document, readers))


_NAME = matching(re.compile("[a-z0-9][a-z0-9_-]{0,99}", re.ASCII))


@define
class RoundLog:
    """The rounds of a search."""

    folder: AnyPath
    of: Any  # what they belong to; those of anything else are dropped
    stop: threading.Event  # set from outside; then no further round is computed, but StoppedError raised
    # called after each round that is computed with how many there were, and the rows of this one
    report: Callable[[int, int], None]
    check: Callable[[], None]  # refuses to write once another driver may have taken over
    rounds: int = 0  # finished so far, those before a stop among them
    computed: int = 0  # those that were not
    _kept: dict[str, Round] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        """Read what there is, and drop what belongs to something else or is not what was written."""
        for place in reversed(by_name(self.folder.glob("*.json"))):
            kept = self._read(place)
            if kept is not None:
                self._kept = kept
                self._sweep()
                return
        self.remove()
        self.folder.mkdir()

    def _read(self, place: AnyPath) -> dict[str, Round] | None:
        """The rounds that a document has; None where it or a file is not what was written, or of something else."""
        try:
            ((of, number), kept), _ = read_sealed(place, "", _rounds)
        except Refusal:
            return None
        if of != self.of or place.name != document_of(number):
            return None
        files = {file for one in kept.values() for file in files_of(one.parts)}
        if any(verify(self.folder, file) for file in files):
            return None
        self.rounds = number
        return kept

    def _sweep(self) -> None:
        files = {file.name for one in self._kept.values() for file in files_of(one.parts)}
        remove_others(self.folder, {document_of(self.rounds), *files})

    def round(self, name: str, compute: Callable[[], Round | None]) -> Round:
        """What a round left, computed unless the log has it; raises StoppedError when it is stopped."""
        if name not in self._kept:
            if self.stop.is_set():
                raise StoppedError
            self.check()
            done = compute()
            if done is None:
                raise StoppedError
            self._kept |= {name: done}
            self.rounds, self.computed = self.rounds + 1, self.computed + 1
            rounds = {one: asdict(kept) for one, kept in self._kept.items()}
            document = {"of": self.of, "number": self.rounds, "rounds": rounds}
            write_sealed(self.folder / document_of(self.rounds), document, self.check)
            self._sweep()
            self.report(self.rounds, done.counts[0])
        return self._kept[name]

    def remove(self) -> None:
        """Forget all rounds."""
        self.check()
        remove_folder(self.folder)
        self._kept = {}
