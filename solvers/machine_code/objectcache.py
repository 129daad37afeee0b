"""A cache of compiled object code on disk, keyed by content.

An entry is named by a hash of everything the code depends on. It is written
to a temporary name and renamed; its own checksum, of key and code, tells
whether it is whole and in its place. A checksum says nothing of who wrote it:
so an entry counts only where nobody but this user can have written it.
Nothing here fails: what cannot be read or written is a warning.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from pathlib import Path

from attrs import define, field

from kraftcheck.solvers.machine_code.regular import open_folder, open_regular

_MAGIC = b"kraftcheck object 2\n"
_SUFFIX, _DRAFT = ".o", ".tmp"

MOST_BYTES = 1 << 29
"""Bytes that a cache holds; beyond them the entries that were not used for longest go."""

MOST_ENTRY_BYTES = 1 << 27
"""Bytes of an entry; none of a larger file is read."""


@define
class ObjectCache:
    """A folder of object files.

    Attributes:
        folder: where they are; None: keep none.
        warnings: one line for each thing that went wrong.
        most_bytes: what they take at most.
    """

    folder: Path | None
    warnings: list[str] = field(factory=list)
    most_bytes: int = MOST_BYTES

    def get(self, key: str) -> bytes | None:
        """The object code of a key; None when there is none, it is damaged, or others could have written it."""
        if self.folder is None or not self._is_own():
            return None
        path = self._path(self.folder, key)
        try:
            handle = open_regular(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._warn(f"cannot read compiled code {path}: {error.strerror}; compiling again")
            return None
        with os.fdopen(handle, "rb") as file:
            status = os.fstat(handle)
            fault, content = _foreign(status), b""
            if not fault and status.st_size <= MOST_ENTRY_BYTES:
                content = file.read(status.st_size)
                with contextlib.suppress(OSError):
                    os.utime(handle)  # it is used: others go before it
        code = content[len(_MAGIC) + 32 :]
        if content[: len(_MAGIC) + 32] != _head(key, code):
            self._warn(f"compiled code {path} {fault or 'is damaged'}; compiling again")
            return None
        return code

    def put(self, key: str, code: bytes) -> None:
        """Keep the object code of a key."""
        if self.folder is None:
            return
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            self.folder.mkdir(mode=0o700, exist_ok=True)
            if not self._is_own():
                return
            handle, name = tempfile.mkstemp(dir=self.folder, suffix=_DRAFT)  # nobody else may read or write it
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_head(key, code) + code)
                os.replace(name, self._path(self.folder, key))
            except OSError:
                os.unlink(name)
                raise
            self._evict(self.folder)
        except OSError as error:
            self._warn(f"cannot keep compiled code in {self.folder}: {error.strerror}")

    def _path(self, folder: Path, key: str) -> Path:
        return folder / f"{key}{_SUFFIX}"

    def _is_own(self) -> bool:
        """Whether the folder is there and this user's alone, once what others may do in it is taken from them."""
        try:
            handle = open_folder(self.folder or Path())
        except FileNotFoundError:
            return False
        except OSError as error:
            self._warn(f"compiled code is not kept in {self.folder}: {error.strerror}")
            return False
        try:
            status = os.fstat(handle)
            if status.st_uid != os.geteuid():
                self._warn(f"compiled code is not kept in {self.folder}, which {_foreign(status)}")
                return False
            if stat.S_IMODE(status.st_mode) & 0o077:
                os.fchmod(handle, 0o700)  # an entry that others have put there is still theirs
            return True
        except OSError as error:
            self._warn(f"compiled code is not kept in {self.folder}: {error.strerror}")
            return False
        finally:
            os.close(handle)

    def _evict(self, folder: Path) -> None:
        """Remove entries, those that were used last at last, until the others take less than the most."""
        files = []
        for name in os.listdir(folder):
            try:
                status = os.lstat(folder / name)
            except FileNotFoundError:  # another process has removed it, or has given a draft its name
                continue
            if stat.S_ISREG(status.st_mode) and name.endswith((_SUFFIX, _DRAFT)):
                files.append((status.st_mtime_ns, name, status.st_size))
        total = sum(size for _, _, size in files)
        for _, name, size in sorted(files)[:-1]:
            if total <= self.most_bytes:
                return
            (folder / name).unlink(missing_ok=True)  # another process may have done so
            total -= size

    def _warn(self, line: str) -> None:
        if line not in self.warnings:
            self.warnings.append(line)


def _head(key: str, code: bytes) -> bytes:
    """The beginning of an entry: a mark, and the checksum of its key and its code."""
    return _MAGIC + hashlib.sha256(f"{key}\n".encode() + code).digest()


def _foreign(status: os.stat_result) -> str:
    """Why others may have written a file; empty where they cannot have."""
    if status.st_uid != os.geteuid():
        return f"belongs to another user ({status.st_uid})"
    return "may be written by other users" if stat.S_IMODE(status.st_mode) & 0o022 else ""
