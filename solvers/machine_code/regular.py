"""Files opened as what they are: never a pipe or a device, whose end may not come, and no link where none is wanted."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

LINK = "it is a link, which is not followed"
NO_FILE = "it is a pipe or a device"


def open_regular(path: Path, flags: int = os.O_RDONLY, mode: int = 0o666, *, follow: bool = False) -> int:
    """A regular file, opened without waiting for anybody.

    Args:
        flags, mode: as `os.open` takes them.
        follow: whether it may be what a link in its place names.

    Raises:
        OSError: for anything else, and as `os.open` does.
    """
    own = os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    try:
        handle = os.open(path, flags | own, mode)
    except OSError as error:
        said = {errno.ELOOP: LINK, errno.ENXIO: NO_FILE}.get(error.errno or 0)
        raise OSError(error.errno, said or error.strerror, str(path)) from error
    status = os.fstat(handle)
    if flags & (os.O_WRONLY | os.O_RDWR) and status.st_nlink > 1 and not follow:
        os.close(handle)
        raise OSError(errno.EMLINK, "it is another file too, by a hard link", str(path))
    kind = status.st_mode
    if not stat.S_ISREG(kind):
        os.close(handle)
        fault = (errno.EISDIR, os.strerror(errno.EISDIR)) if stat.S_ISDIR(kind) else (errno.EINVAL, NO_FILE)
        raise OSError(*fault, str(path))
    return handle


def open_folder(path: Path | str, within: int | None = None) -> int:
    """A folder, opened without following a link in its place.

    Args:
        within: the open folder that it is in; None: the path says all.

    Raises:
        OSError: for anything else, and as `os.open` does.
    """
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=within)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR) and is_link(path, within):
            raise OSError(errno.ELOOP, LINK, str(path)) from error
        raise


def is_link(path: Path | str, within: int | None = None) -> bool:
    """Whether a link is in a place."""
    try:
        return stat.S_ISLNK(os.stat(path, dir_fd=within, follow_symlinks=False).st_mode)
    except OSError:
        return False
