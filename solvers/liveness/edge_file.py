"""Edges for which memory has no room, in a file that has no name and ends with its process."""

from __future__ import annotations

import mmap
import os
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from attrs import define, field

ALIGNMENT = 8
"""Each array begins at a multiple of so many bytes."""

SHARE = 0.5
"""The share of the free bytes of the disk that the file may take."""

Arrays = tuple[npt.NDArray[Any], ...]


@define(eq=False)
class EdgeFile:
    """Arrays in a file; one thread at a time writes and reads.

    Attributes:
        folder: where the file is, which no other process sees.
        size: bytes written.
    """

    folder: Path
    size: int = 0
    _file: IO[bytes] | None = None
    _left: int = 0
    _mapped: mmap.mmap | None = None
    _places: dict[int, list[tuple[int, int, Any]]] = field(factory=dict)

    def put(self, number: int, arrays: Sequence[npt.NDArray[Any]]) -> bool:
        """Write the arrays of a block; false when the disk has no room for them, or there is no such folder."""
        written, places = b"", []
        for array in arrays:
            places.append((self.size + len(written), len(array), array.dtype))
            written += array.tobytes() + bytes(-array.nbytes % ALIGNMENT)
        try:
            file = self._file or self._open()
            # at its own place: what a full disk took of another block is written over, and never read
            if len(written) > self._left or os.pwrite(file.fileno(), written, self.size) < len(written):
                return False
        except OSError:
            return False
        self.size, self._left = self.size + len(written), self._left - len(written)
        self._places[number] = places
        return True

    def get(self, number: int) -> Arrays | None:
        """The arrays of a block, which stay in the file; None: it has none."""
        places = self._places.get(number)
        if places is None or self._file is None:
            return None
        if self._mapped is None or places[-1][0] + places[-1][1] * places[-1][2].itemsize > len(self._mapped):
            self._mapped = mmap.mmap(self._file.fileno(), self.size, access=mmap.ACCESS_READ)
        whole = self._mapped
        return tuple(np.frombuffer(whole, kind, length, first) for first, length, kind in places)

    def _open(self) -> IO[bytes]:
        self._file = file = tempfile.TemporaryFile(dir=self.folder, buffering=0)  # noqa: SIM115  closed with this object
        weakref.finalize(self, file.close)
        self._left = int(shutil.disk_usage(self.folder).free * SHARE)
        return file
