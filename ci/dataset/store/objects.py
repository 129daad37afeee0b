"""Places of a dataset: paths of a file system, and objects of a store, which a URL names.

A store has no locks. An object is read in parts and written whole at once. It is made or replaced on a condition
that the store itself checks: that it is absent, or that it still is the one that was read.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import re
import shutil
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Set
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO, ClassVar, Self, TypeAlias

from attrs import evolve, frozen

from kraftcheck.ci.terminal.machine import sync
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.machine_code.regular import open_folder, open_regular


class PresentError(Exception):
    """An object that was to be made is there, or one that was to be replaced has changed."""


@frozen(order=True)
class ObjectPath(ABC):
    """An object of a store, or the folder that its name is a prefix of; its errors are those of files."""

    store: str
    key: str  # the object's name there, without slashes around it
    replaces_at_once: ClassVar[bool] = True  # whether an object that is replaced is never absent meanwhile

    def __str__(self) -> str:
        return f"{self.store}/{self.key}"

    def __truediv__(self, name: str) -> Self:
        return evolve(self, key=f"{self.key}/{name}")

    @property
    def name(self) -> str:
        """The last part of its name."""
        return self.key.rpartition("/")[2]

    @property
    def stem(self) -> str:
        """That without the ending behind its last dot."""
        return PurePosixPath(self.key).stem

    @property
    def suffix(self) -> str:
        """That ending, with its dot."""
        return PurePosixPath(self.key).suffix

    @property
    def parent(self) -> Self:
        """The folder that it is in."""
        return evolve(self, key=self.key.rpartition("/")[0])

    @abstractmethod
    def entries(self) -> Iterator[tuple[str, int]]:
        """All objects below it, those of folders in it too: the rest of the name, and the size."""

    def sizes(self) -> dict[str, int]:
        """The sizes of the objects of a folder, by name."""
        return {name: size for name, size in self.entries() if "/" not in name}

    def below(self) -> list[Self]:
        """All objects below it, those of folders in it too."""
        return [self / name for name, _ in sorted(self.entries())]

    def glob(self, pattern: str) -> Iterator[Self]:
        """The objects of a folder whose names match."""
        return (self / name for name in self.sizes() if fnmatchcase(name, pattern))

    def iterdir(self) -> Iterator[Self]:
        """The objects and folders of a folder."""
        return (self / name for name in dict.fromkeys(name.partition("/")[0] for name, _ in sorted(self.entries())))

    def is_dir(self) -> bool:
        """Whether there are objects below it."""
        return any(True for _ in self.entries())

    def exists(self) -> bool:
        """Whether there is such an object, or one below it."""
        try:
            self.size()
        except FileNotFoundError:
            return self.is_dir()
        return True

    @abstractmethod
    def size(self) -> int:
        """The bytes of the object."""

    def mkdir(self, **_: Any) -> None:  # noqa: B027, of no kind of store
        """Nothing: a folder is there once an object is."""

    def read_bytes(self) -> bytes:
        """The content."""
        return self.read_version()[0]

    @abstractmethod
    def read_version(self) -> tuple[bytes, Any]:
        """The content, and the version that it is of."""

    @abstractmethod
    def read_part(self, start: int, end: int) -> bytes:
        """The bytes start..end-1."""

    @abstractmethod
    def put(self, data: bytes | IO[bytes]) -> None:
        """Write the object, whatever is there."""

    @abstractmethod
    def put_new(self, data: bytes | IO[bytes]) -> Any:
        """Write the object if there is none; its version; raises PresentError when there is one."""

    @abstractmethod
    def put_instead(self, data: bytes, version: Any) -> Any:
        """Write the object if it still is of a version; its new one; raises PresentError when it is not."""

    @abstractmethod
    def unlink(self, missing_ok: bool = False) -> None:
        """Remove the object; a store does not say whether it was there."""

    def remove_below(self) -> None:
        """Remove all objects below it."""
        for one in self.below():
            one.unlink()

    def opened(self) -> ObjectReader:
        """The object as a file that is read in parts."""
        return ObjectReader(self)


class ObjectReader(io.RawIOBase):
    """An object as a file: each read is one request."""

    def __init__(self, place: ObjectPath) -> None:
        self._place, self._at, self._size = place, 0, place.size()

    def seekable(self) -> bool:
        """It is."""
        return True

    def readable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """Where the next read begins."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go elsewhere."""
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        return self._at

    def read(self, size: int = -1) -> bytes:
        """The next bytes; fewer at the end."""
        end = self._size if size < 0 else min(self._size, self._at + size)
        if end <= self._at:
            return b""
        data = self._place.read_part(self._at, end)
        self._at += len(data)
        return data


AnyPath: TypeAlias = Path | ObjectPath  # a file or a folder of a dataset: on a file system, or in a store


def absolute(place: AnyPath) -> AnyPath:
    """A place as processes with other working folders find it."""
    return place if isinstance(place, ObjectPath) else place.absolute()


def by_name(places: Iterable[AnyPath]) -> list[AnyPath]:
    """Places in the order of their names."""
    return sorted(places, key=str)


class DigestingFile:
    """A new file that hashes what is written to it; no link leads elsewhere."""

    closed = False

    def __init__(self, path: Path) -> None:
        folder = open_folder(path.parent)
        try:
            handle = os.open(path.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666, dir_fd=folder)
        finally:
            os.close(folder)
        self._file: BinaryIO = os.fdopen(handle, "wb")
        self._digest = hashlib.sha256()
        self.size = 0

    def write(self, data: Any) -> int:
        """Write and hash."""
        view = memoryview(data)
        self._digest.update(view)
        self.size += view.nbytes
        self._file.write(view)
        return view.nbytes

    def tell(self) -> int:
        """Bytes written."""
        return self.size

    def flush(self) -> None:
        """Hand over to the operating system."""
        self._file.flush()

    def close(self) -> None:
        """Write through to the disk."""
        if not self._file.closed:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()

    def abandon(self) -> None:
        """Close without writing through."""
        self._file.close()

    def hexdigest(self) -> str:
        """The SHA-256 of all that was written."""
        return self._digest.hexdigest()


class _DigestingObject(DigestingFile):
    """An object that hashes what is written to it; it is made at once when it is closed."""

    def __init__(self, place: ObjectPath) -> None:
        self._place, self._file = place, io.BytesIO()
        self._digest = hashlib.sha256()
        self.size = 0

    def close(self) -> None:
        """Make the object."""
        if not self._file.closed:
            self._file.seek(0)
            self._place.put_new(self._file)
            self._file.close()


def new_file(place: AnyPath) -> DigestingFile:
    """A file that is not there yet, and hashes what is written to it."""
    return _DigestingObject(place) if isinstance(place, ObjectPath) else DigestingFile(place)


def opened(place: AnyPath) -> IO[bytes] | ObjectReader:
    """A file or an object, to be read in parts; raises OSError for a link, or what is no file."""
    return place.opened() if isinstance(place, ObjectPath) else os.fdopen(open_regular(place), "rb", buffering=0)


GONE = ".swept-"  # how the names of folders begin whose content counts for nothing
OWN = re.compile(r"levels|backward|liveness|\..*")  # the names of the folders in a run's folder that are its own

_FOLDER = re.compile(r"depth=\d+")
_HALF = re.compile(r"\._\d{5,}\.json\.")


def durable(folder: AnyPath) -> None:
    """Write the names in a folder through to the disk; a store of objects has done so when it answers."""
    if isinstance(folder, Path):
        sync(folder)


@contextlib.contextmanager
def opened_folder(place: Path | str, within: int | None = None) -> Iterator[int]:
    """A folder whose names are looked up in itself, wherever its path leads meanwhile; raises OSError for a link."""
    handle = open_folder(place, within)
    try:
        yield handle
    finally:
        os.close(handle)


def refuse_links(out: AnyPath) -> None:
    """Refuse a run's folder with anything but folders and files in it: a link leads elsewhere, a pipe nowhere."""
    if isinstance(out, ObjectPath) or not out.is_dir():
        return
    waiting = [out]
    while waiting:
        folder = waiting.pop()
        with os.scandir(folder) as found:
            entries = list(found)
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                waiting += [folder / entry.name] if folder != out or OWN.fullmatch(entry.name) else []
            elif not entry.is_file(follow_symlinks=False):
                kind = "a link" if entry.is_symlink() else "a pipe or a device"
                raise Refusal(f"{folder / entry.name} is {kind}, which no run leaves there; remove it, or name "
                              "another --out")  # fmt: skip


def remove_others(folder: AnyPath, names: Set[str]) -> None:
    """Remove the files of a folder that have none of these names."""
    if isinstance(folder, ObjectPath):
        for one in list(folder.iterdir()):
            if one.name not in names:
                one.unlink()
        return
    with opened_folder(folder) as handle:
        for name in sorted(os.listdir(handle)):
            if name not in names:
                _unlink(name, handle)


def _unlink(name: str, folder: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def remove_folder(folder: AnyPath) -> None:
    """Remove a folder with all that is in it; what cannot be removed stays."""
    if isinstance(folder, Path):
        shutil.rmtree(folder, ignore_errors=True)
    else:
        folder.remove_below()


def remove_unnamed(levels: AnyPath, named: Set[AnyPath]) -> None:
    """Remove the files of levels that are not named, and documents that were not renamed; manifests stay."""
    if isinstance(levels, ObjectPath):
        for one in levels.below():
            if one not in named and (one.parent != levels or one.name.startswith(".")):
                one.unlink()
        return
    kept: dict[str, set[str]] = {}
    for file in named:
        kept.setdefault(file.parent.name, set()).add(file.name)
    with opened_folder(levels) as top:
        for name in sorted(os.listdir(top)):
            if _HALF.match(name):
                _unlink(name, top)
            elif name in kept:
                with opened_folder(name, top) as folder:
                    for lost in set(os.listdir(folder)) - kept[name]:
                        _unlink(lost, folder)
            elif _FOLDER.fullmatch(name) or name.startswith(GONE):
                moved = f"{GONE}{uuid.uuid4().hex}"
                os.rename(name, moved, src_dir_fd=top, dst_dir_fd=top)
                shutil.rmtree(moved, dir_fd=top)  # tasks that outlive a dead driver for a moment write no more into it
