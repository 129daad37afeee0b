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
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from attrs import frozen

from kraftcheck.ci.dataset.store.folders import refuse_links
from kraftcheck.ci.dataset.store.objects import AnyPath, ObjectPath, PresentError
from kraftcheck.ci.dataset.store.sight import Sight, names, owner_of
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.machine_code.regular import open_regular

NAME = ".driver.lease"
_BOOT = Path("/proc/sys/kernel/random/boot_id")


@frozen
class Lease:
    """A lease that this driver took.

    Attributes:
        path: the file.
        token: drawn when it was taken; nobody else's.
    """

    path: AnyPath
    token: str

    def holds(self) -> bool:
        """Whether the file still names this driver."""
        return names(self.path, self.token)

    def check(self) -> None:
        """Refuse to write once another driver may have taken over.

        Raises:
            Refusal: when the file is gone or names another.
        """
        if not self.holds():
            raise Refusal(f"{self.path} is gone or another driver's: this driver stops; what it committed stays")

    def sight(self) -> Sight:
        """What a task of this driver has to see."""
        return str(self.path if isinstance(self.path, ObjectPath) else self.path.absolute()), self.token


@contextlib.contextmanager
def lease_on(folder: AnyPath) -> Iterator[Lease]:
    """Take the lease on a folder, and release it at the end.

    Raises:
        Refusal: when another driver has it, or left it on another machine.
    """
    if isinstance(folder, ObjectPath):
        with _lease_of_objects(folder) as lease:
            yield lease
        return
    refuse_links(folder)
    path = folder / NAME
    handle = _open_locked(path)
    try:
        data = os.pread(handle, 1 << 12, 0)
        before = owner_of(data)
        if data and not before:
            raise Refusal(f"{path} is no lease of a driver; remove it, or choose another --out")
        if before and not _same_machine(before):
            raise Refusal(
                f"{folder} is {_owner_text(before)}, and its lock cannot be seen from here; "
                f"if that driver has ended, remove {path}, then go on"
            )
        lease = Lease(path, uuid.uuid4().hex)
        os.ftruncate(handle, 0)
        os.pwrite(handle, _document(lease.token), 0)
        os.fsync(handle)
        try:
            yield lease
        finally:
            if lease.holds():
                path.unlink()
    finally:
        os.close(handle)


@contextlib.contextmanager
def _lease_of_objects(folder: ObjectPath) -> Iterator[Lease]:
    """The lease of a store: an object that is made if it is absent, and given back by an empty owner.

    It has no lock that dies with its driver. A driver of this machine that is not among its processes any more is
    dead; what any other left is honoured until somebody removes it. No clock is asked.
    """
    path = folder / NAME
    check_conditions(path)
    lease = Lease(path, uuid.uuid4().hex)
    try:
        data, version = path.read_version()
    except FileNotFoundError:
        data, version = b"", None
    owner = owner_of(data)
    if owner and not _is_dead(owner):
        mend = f"wait until it ends, or choose another --out; if it has ended, remove {path}, then go on"
        raise Refusal(f"{folder} is {_owner_text(owner)}; {mend}")
    document = _document(lease.token)
    try:
        version = path.put_new(document) if version is None else path.put_instead(document, version)
    except PresentError as error:
        raise Refusal(f"{folder} is in use by another driver, which came first; choose another --out") from error
    try:
        yield lease
    finally:
        with contextlib.suppress(PresentError, OSError):
            path.put_instead(b"{}", version)


def check_conditions(path: ObjectPath) -> None:
    """Refuse a store that heeds no conditions: there drivers cannot exclude each other.

    Either condition is broken once, and the second one kept once.

    Raises:
        Refusal: in one line; also where nothing can be written.
    """
    probe = path.parent / f"{path.name}.{uuid.uuid4().hex}"
    try:
        before = probe.put_new(b"1")
        replaced = not _is_refused(lambda: probe.put_instead(b"2", before))
        attempts = (lambda: probe.put_new(b"3"), lambda: probe.put_instead(b"4", before))
        kept = sum(_is_refused(attempt) for attempt in attempts)
        whole = replaced and probe.read_bytes() == b"2"
        probe.unlink()
    except OSError as error:
        raise Refusal(f"cannot write {path.parent}: {error.strerror or error}") from error
    if kept != len(attempts) or not whole:
        raise Refusal(
            f"{path.parent}: its store does not write on a condition as it is asked to (if absent, if unchanged), "
            "so that drivers could not exclude each other; choose another --out"
        )


def _is_refused(attempt: Callable[[], Any]) -> bool:
    try:
        attempt()
    except PresentError:
        return True
    return False


def _document(token: str) -> bytes:
    """This process as an owner."""
    owner = {"host": socket.gethostname(), "boot": _boot(), "pid": os.getpid(), "token": token}
    return json.dumps({**owner, "processes": _processes(), "started": _started(os.getpid())}).encode()


def _is_dead(owner: dict[str, Any]) -> bool:
    """Whether a driver was a process of this machine, of those that are seen from here, and is none any more."""
    if not (_boot() and owner.get("boot") == _boot() and _processes() and owner.get("processes") == _processes()):
        return False
    try:
        os.kill(int(owner["pid"]), 0)
    except ProcessLookupError:
        return True
    except (OSError, KeyError, ValueError):
        return False
    started = _started(int(owner["pid"]))
    return started is not None and started != owner.get("started")


def _processes() -> str:
    """The name of the set of processes that this one sees."""
    return os.readlink("/proc/self/ns/pid") if os.path.islink("/proc/self/ns/pid") else ""


def _started(pid: int) -> int | None:
    """When a process was started, in ticks since the machine was; 0 when it ended already, None when nobody says."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return 0 if fields[0] in "ZX" else int(fields[19])


def _open_locked(path: Path) -> int:
    """The file, open and locked."""
    while True:
        handle = _open(path)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            owner = _owner_text(owner_of(os.pread(handle, 1 << 12, 0)))
            os.close(handle)
            raise Refusal(f"{path.parent} is {owner}; wait until it ends, or choose another --out") from error
        except OSError as error:
            os.close(handle)
            raise Refusal(f"{path} cannot be locked ({error.strerror or error}); choose an --out with locks") from error
        if _is(handle, path):
            return handle
        os.close(handle)  # its driver removed it meanwhile


def _open(path: Path) -> int:
    """The file, open.

    Raises:
        Refusal: for a link, or what is no file.
    """
    try:
        return open_regular(path, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise Refusal(
            f"cannot write {path}: {error.strerror or error}; remove it, or choose another --out"
        ) from error


def _is(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.lstat())
    except FileNotFoundError:
        return False


def _owner_text(owner: dict[str, Any]) -> str:
    if not owner:
        return "in use by another driver"
    return f"in use by another driver (process {owner.get('pid')} on {owner.get('host')})"


def _same_machine(owner: dict[str, Any]) -> bool:
    """Whether locks of that driver's are seen here: on this machine since it was started, or before."""
    return owner.get("host") == socket.gethostname() or (bool(_boot()) and owner.get("boot") == _boot())


def _boot() -> str:
    return _BOOT.read_text(encoding="ascii").strip() if _BOOT.exists() else ""
