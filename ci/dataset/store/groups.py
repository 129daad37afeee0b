"""Where the rows of a level are, bucket by bucket: as columns, so that there is no object for each of many buckets."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt
from attrs import cmp_using, field, frozen

PLACE = np.dtype([("bucket", "<u2"), ("file", "<u4"), ("group", "<u4"), ("rows", "<u4"), ("first", "<u4")])
"""A row of the table: see `RowGroup`; files by number."""

Table = npt.NDArray[np.void]


@frozen
class BucketRange:
    """Neighbouring buckets: all states whose hashes begin with the bits of one of them.

    Attributes:
        lo, hi: the first, and the one after the last.
        bits: of a bucket's number.
    """

    lo: int
    hi: int
    bits: int

    def of(self, bits: int) -> BucketRange:
        """The buckets whose numbers have so many bits, as few as hold all states of these."""
        finer, coarser = max(0, bits - self.bits), max(0, self.bits - bits)
        return BucketRange(self.lo << finer >> coarser, -(-(self.hi << finer) >> coarser), bits)


@frozen
class RowGroup:
    """Where the rows of one bucket of a level are: in a row group of a file, `rows` of it from row `first` on."""

    bucket: int
    file: str
    group: int
    rows: int
    first: int = 0


@frozen
class Groups(Sequence[RowGroup]):
    """The places of the buckets of a level.

    Attributes:
        files: names of files.
        table: for each bucket that has rows a `PLACE`, with the number of its file among them.
        bits: of a bucket's number; a later level may have more of them.
    """

    files: tuple[str, ...]
    table: Table = field(eq=cmp_using(eq=np.array_equal), repr=False)
    bits: int

    @classmethod
    def empty(cls, bits: int) -> Groups:
        """Those of a level without states."""
        return cls((), np.zeros(0, PLACE), bits)

    @classmethod
    def of(cls, groups: Iterable[RowGroup], bits: int) -> Groups:
        """The columns of groups."""
        rows = list(groups)
        number = {name: at for at, name in enumerate(dict.fromkeys(group.file for group in rows))}
        places = [(group.bucket, number[group.file], group.group, group.rows, group.first) for group in rows]
        return cls(tuple(number), np.array(places, dtype=PLACE), bits)

    @classmethod
    def joined(cls, parts: Sequence[Groups], bits: int) -> Groups:
        """Those of files that have different names, one after the other."""
        tables, files = [cls.empty(bits).table], list[str]()
        for part in parts:
            tables.append(part.table.copy())
            tables[-1]["file"] += len(files)
            files += part.files
        return cls(tuple(files), np.concatenate(tables), bits)

    def __len__(self) -> int:
        return len(self.table)

    @overload
    def __getitem__(self, at: int) -> RowGroup: ...

    @overload
    def __getitem__(self, at: slice) -> Groups: ...

    def __getitem__(self, at: int | slice) -> RowGroup | Groups:
        if isinstance(at, slice):
            return Groups(self.files, self.table[at], self.bits)
        bucket, file, *place = self.table[at].item()
        return RowGroup(bucket, self.files[file], *place)

    def __iter__(self) -> Iterator[RowGroup]:
        return map(self.__getitem__, range(len(self.table)))

    @property
    def rows(self) -> int:
        """The rows of all of them."""
        return int(self.table["rows"].sum(dtype=np.int64))

    def within(self, chosen: BucketRange) -> Groups:
        """Those that hold the states of some buckets; of coarser buckets they hold others too."""
        mine, buckets = chosen.of(self.bits), self.table["bucket"]
        return Groups(self.files, self.table[(buckets >= mine.lo) & (buckets < mine.hi)], self.bits)

    def packed(self) -> str:
        """The table as text."""
        return pack(self.table)

    @classmethod
    def unpacked(cls, files: Sequence[str], text: str, bits: int) -> Groups:
        """The groups of a table that was packed.

        Raises:
            ValueError: when it is no such text, or names a file or a bucket that is not there, or a bucket twice.
        """
        table = unpack(text, PLACE, len(files), 1 << bits)
        if len(np.unique(table["bucket"])) != len(table):
            raise ValueError("its table has a bucket twice")
        if len(table) and int(table["bucket"].max()) >> bits:
            raise ValueError(f"its table has a bucket whose number has more than {bits} bits")
        return cls(tuple(files), table, bits)


def pack(table: Table) -> str:
    """A table as text: base64 of what zlib makes of all first bytes of its rows, then all second ones, ..."""
    planes = table.view(np.uint8).reshape(-1, table.dtype.itemsize).T
    return base64.b64encode(zlib.compress(planes.tobytes())).decode()


def unpack(text: Any, kind: np.dtype[np.void], files: int, most: int) -> Table:
    """The table that was packed, whose rows, so many at most, are of a kind and name one of so many files each.

    Raises:
        ValueError: when it is no such text, or names a file that is not there.
    """
    if not isinstance(text, str):
        raise ValueError("its table is no text")
    size, reader = most * kind.itemsize, zlib.decompressobj()
    try:
        data = reader.decompress(base64.b64decode(text, validate=True), size + 1)
    except zlib.error as error:
        raise ValueError(f"its table cannot be read ({error})") from error
    if len(data) > size or not reader.eof or reader.unused_data:
        raise ValueError(f"its table has more than {most:,} rows, or is cut")
    if len(data) % kind.itemsize:
        raise ValueError("its table ends within a row")
    planes = np.frombuffer(data, np.uint8).reshape(kind.itemsize, -1)
    table: Table = np.ascontiguousarray(planes.T).view(kind).reshape(-1)
    if len(table) and int(table["file"].max()) >= files:
        raise ValueError("its table is of a file that it does not name")
    if not table["rows"].all():
        raise ValueError("its table has a row of no states")
    return table
