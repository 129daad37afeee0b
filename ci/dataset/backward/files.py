"""The files of a backward search, which workers write and the checkpoint names."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from attrs import asdict, define, field, frozen

from kraftcheck.ci.dataset.jobs.stages import JobFailedError
from kraftcheck.ci.dataset.store.levelfiles import COMPRESSION, DamagedLevelError, LevelFile, source_of, verify
from kraftcheck.ci.dataset.store.objects import AnyPath, ObjectPath, WrittenFile, new_file
from kraftcheck.ci.dataset.values import optional, record


@frozen
class PartFile(LevelFile):
    """A file that counts once a checkpoint names it."""

    def document(self) -> dict[str, Any]:
        """For a result row or a checkpoint."""
        return asdict(self)


@define
class PartWriter(WrittenFile):
    """Writes columns of numbers, some row groups.

    Attributes:
        kind: what they are, for the name; attempts of the same task have different names.
    """

    kind: str
    _writer: Any = field(init=False, default=None)
    _rows: int = 0

    def __attrs_post_init__(self) -> None:
        """Draw the name."""
        self._name = f"{self.kind}-{uuid.uuid4().hex}.parquet"

    def finish(self) -> None:
        """See `WrittenFile`."""
        self._writer.close()

    def let_go(self) -> None:
        """See `WrittenFile`."""
        if self._writer is not None:
            self._writer.close()

    def write(self, **columns: Any) -> None:
        """Add a row group; none of no rows."""
        table = pa.table({name: pa.array(values) for name, values in columns.items()})
        if not table.num_rows:
            return
        if self._file is None:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._file = new_file(self.folder / self._name)
            self._writer = pq.ParquetWriter(
                pa.PythonFile(self._file, mode="w"), table.schema, compression=COMPRESSION, use_dictionary=False,
                write_page_checksum=True,
            )  # fmt: skip
        self._writer.write_table(table, row_group_size=table.num_rows)
        self._rows += table.num_rows

    def result(self) -> PartFile | None:
        """The finished file; None when nothing was written."""
        if self._file is None:
            return None
        return PartFile(self._name, self._rows, self._file.size, self._file.hexdigest())


def written_file(folder: AnyPath, kind: str, **columns: Any) -> PartFile | None:
    """A file of one row group; None of no rows."""
    with PartWriter(folder, kind) as writer:
        writer.write(**columns)
    return writer.result()


def read_groups(folder: AnyPath, file: PartFile | None, *names: str) -> Iterator[list[Any]]:
    """The row groups of a file, as arrays.

    Raises:
        DamagedLevelError: when it is missing, fails its checksums, or has other rows than it had.
    """
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


def file_of(document: Any) -> PartFile | None:
    """The file that a document names.

    Raises:
        ValueError: for what is not as it is written.
    """
    return optional(record(PartFile))(document)


def check_written(folder: AnyPath, file: PartFile | None) -> None:
    """Check that the driver sees a file that a job wrote.

    Raises:
        JobFailedError: when it does not, as where workers wrote to disks of their own.
    """
    if file is not None and not _is_there(folder, file):
        mend = "the workers do not share this disk; choose another --out"
        raise JobFailedError(f"a job left no file {file.name} in {folder}: {mend}")


def _is_there(folder: AnyPath, file: PartFile) -> bool:
    """Whether a file is there with its size."""
    path = folder / file.name
    try:
        return (path.size() if isinstance(path, ObjectPath) else path.stat().st_size) == file.bytes
    except OSError:
        return False


def is_whole(folder: AnyPath, file: PartFile | None) -> bool:
    """Whether a file has the bytes that were written."""
    return file is None or verify(folder, file) is None
