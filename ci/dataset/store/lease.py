"""The lease of a run's folder: one driver at a time writes there.

The lease is a file that its driver keeps locked (flock). The system releases
the lock when the driver dies, however it dies, so that a run on the same
machine resumes without further ado. Locks of another machine are not seen on
every shared file system: a lease that a driver of another machine left is
honoured until somebody removes the file. A driver whose lease is gone stops
at its next commit.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import frozen

from kraftcheck.ci.terminal.refusal import Refusal

NAME = ".driver.lease"
_BOOT = Path("/proc/sys/kernel/random/boot_id")


@frozen
class Lease:
    """A lease that this driver took.

    Attributes:
        path: the file.
        token: drawn when it was taken; nobody else's.
    """

    path: Path
    token: str

    def holds(self) -> bool:
        """Whether the file still names this driver."""
        try:
            return _owner(self.path.read_bytes()).get("token") == self.token
        except OSError:
            return False

    def check(self) -> None:
        """Refuse to write once another driver may have taken over.

        Raises:
            Refusal: when the file is gone or names another.
        """
        if not self.holds():
            raise Refusal(f"{self.path} is gone or another driver's: this driver stops; what it committed stays")


@contextlib.contextmanager
def lease_on(folder: Path) -> Iterator[Lease]:
    """Take the lease on a folder, and release it at the end.

    Raises:
        Refusal: when another driver has it, or left it on another machine.
    """
    path = folder / NAME
    handle = _open_locked(path)
    try:
        before = _owner(os.pread(handle, 1 << 12, 0))
        if before and not _same_machine(before):
            raise Refusal(
                f"{folder} is {_owner_text(before)}, and its lock cannot be seen from here; "
                f"if that driver has ended, remove {path}, then go on"
            )
        lease = Lease(path, uuid.uuid4().hex)
        owner = {"host": socket.gethostname(), "boot": _boot(), "pid": os.getpid(), "token": lease.token}
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps(owner).encode(), 0)
        os.fsync(handle)
        try:
            yield lease
        finally:
            if lease.holds():
                path.unlink()
    finally:
        os.close(handle)


def _open_locked(path: Path) -> int:
    """The file, open and locked."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            owner = _owner_text(_owner(os.pread(handle, 1 << 12, 0)))
            os.close(handle)
            raise Refusal(f"{path.parent} is {owner}; wait until it ends, or choose another --out") from error
        except OSError as error:
            os.close(handle)
            raise Refusal(f"{path} cannot be locked ({error.strerror or error}); choose an --out with locks") from error
        if _is(handle, path):
            return handle
        os.close(handle)  # its driver removed it meanwhile


def _is(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _owner(data: bytes) -> dict[str, Any]:
    """Whom a lease names; nobody when it names none."""
    try:
        owner = json.loads(data)
    except ValueError:
        return {}
    return owner if isinstance(owner, dict) else {}


def _owner_text(owner: dict[str, Any]) -> str:
    if not owner:
        return "in use by another driver"
    return f"in use by another driver (process {owner.get('pid')} on {owner.get('host')})"


def _same_machine(owner: dict[str, Any]) -> bool:
    """Whether locks of that driver's are seen here: on this machine since it was started, or before."""
    return owner.get("host") == socket.gethostname() or (bool(_boot()) and owner.get("boot") == _boot())


def _boot() -> str:
    return _BOOT.read_text(encoding="ascii").strip() if _BOOT.exists() else ""
