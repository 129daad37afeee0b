"""The commit log of a run: which levels are complete, and what was explored.

    OUT/run.json                what is explored
    OUT/levels/depth=12/*.parquet   the states found at depth 12
    OUT/levels/_00012.json       its manifest: written last, under another name, then renamed
    OUT/.driver.lease           who writes here, while somebody does

A level counts once its manifest is there. Files that no manifest names are
what is left of attempts that did not finish; `sweep` removes them.

A manifest bears the digest of its content, that of the manifest before (the
first: of run.json), and the size and digest of its files: none of them can be
changed, lost but at the end, or taken from elsewhere without being noticed.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from attrs import field, frozen

from kraftcheck.ci.dataset.documents import FORMAT, DecodingTable, RunDocument
from kraftcheck.ci.dataset.store import manifests, objects
from kraftcheck.ci.dataset.store.levelfiles import Sight, StoredLevel, names, owner_of
from kraftcheck.ci.dataset.store.manifests import check
from kraftcheck.ci.dataset.values import shown
from kraftcheck.ci.systems.subject import Subject
from kraftcheck.ci.terminal.files import check_local
from kraftcheck.ci.terminal.machine import process_status
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.machine_code.regular import open_regular
from kraftcheck.solvers.program.program import Program

NAME = ".driver.lease"
_BOOT = Path("/proc/sys/kernel/random/boot_id")


@frozen
class Lease:
    """A lease that this driver took."""

    path: objects.AnyPath
    token: str  # drawn when it was taken; nobody else's

    def holds(self) -> bool:
        """Whether the file still names this driver."""
        return names(self.path, self.token)

    def check(self) -> None:
        """Refuse to write once another driver may have taken over: the file is gone or names another."""
        if not self.holds():
            raise Refusal(f"{self.path} is gone or another driver's: this driver stops; what it committed stays")

    def sight(self) -> Sight:
        """The view that a task of this driver has to have."""
        return str(objects.absolute(self.path)), self.token


@contextlib.contextmanager
def lease_on(folder: objects.AnyPath) -> Iterator[Lease]:
    """Take the lease on a folder, and release it at the end; raises Refusal when another driver has or left it."""
    if isinstance(folder, objects.ObjectPath):
        with _lease_of_objects(folder) as lease:
            yield lease
        return
    objects.refuse_links(folder)
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


BEAT_SECONDS = 10.0  # how often a driver writes its lease in a bucket anew
MISSED = 6  # so many beats without a new version, and a driver that is not seen from here is taken for dead


@contextlib.contextmanager
def _lease_of_objects(folder: objects.ObjectPath) -> Iterator[Lease]:
    """The lease of a store: an object that is made if it is absent, and given back by an empty owner.

    It has no lock that dies with its driver. A driver of this machine that is not among its processes any more is
    dead. In a bucket any other is dead once its lease has had no new version for some beats, which who comes next
    counts; elsewhere it is honoured until somebody removes it. No two clocks are compared. A driver that was taken for
    dead and lives finds the lease another's before its next commit, and stops.
    """
    path = folder / NAME
    check_conditions(path)
    token = uuid.uuid4().hex
    try:
        data, version = path.read_version()
    except FileNotFoundError:
        data, version = b"", None
    owner = owner_of(data)
    if owner and not _is_dead(owner):
        _await_beats(path, owner, version)
    document = _document(token)
    try:
        version = path.put_new(document) if version is None else path.put_instead(document, version)
    except objects.PresentError as error:
        raise Refusal(f"{folder} is in use by another driver, which came first; choose another --out") from error
    held = [version]
    try:
        with _beating(path, token, held) if path.replaces_at_once else contextlib.nullcontext():
            yield Lease(path, token)
    finally:
        with contextlib.suppress(objects.PresentError, OSError):
            path.put_instead(b"{}", held[0])


@contextlib.contextmanager
def _beating(path: objects.ObjectPath, token: str, held: list[Any]) -> Iterator[None]:
    """Have the lease written anew meanwhile; `held` is its version."""
    ends = threading.Event()
    beats = threading.Thread(target=_beat, args=(path, token, held, ends), daemon=True)
    beats.start()
    try:
        yield
    finally:
        ends.set()
        beats.join()


def _beat(path: objects.ObjectPath, token: str, held: list[Any], ends: threading.Event) -> None:
    """Write the lease anew from time to time, as long as it is this driver's."""
    beats = 0
    while not ends.wait(BEAT_SECONDS):
        beats += 1
        try:
            held[0] = path.put_instead(_document(token, beats), held[0])
        except objects.PresentError:
            try:
                data, held[0] = path.read_version()  # an answer may have been lost
            except OSError:
                continue
            if owner_of(data).get("token") != token:
                return
        except OSError:
            continue  # each commit asks the store too, and fails where it does not answer


def _await_beats(path: objects.ObjectPath, owner: dict[str, Any], version: Any) -> None:
    """Wait for a sign of life of a driver that is not seen from here; raises Refusal where it may live."""
    if _is_seen(owner) or not path.replaces_at_once:
        mend = f"wait until it ends, or choose another --out; if it has ended, remove {path}, then go on"
        raise Refusal(f"{path.parent} is {_owner_text(owner)}; {mend}")
    seconds = round(MISSED * BEAT_SECONDS)
    click.echo(f"{path.parent} is {_owner_text(owner)}; it is taken for dead in {seconds} s without a sign", err=True)
    for _ in range(MISSED):
        time.sleep(BEAT_SECONDS)
        try:
            is_same = path.read_version()[1] == version
        except FileNotFoundError:
            is_same = False
        if not is_same:
            raise Refusal(f"{path.parent} is {_owner_text(owner)}; wait until it ends, or choose another --out")


def check_conditions(path: objects.ObjectPath) -> None:
    """Refuse a store that heeds no conditions, where drivers cannot exclude each other: each is broken once."""
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
    except objects.PresentError:
        return True
    return False


def _document(token: str, beats: int = 0) -> bytes:
    """This process as an owner, which has written its lease so often anew."""
    owner = {"host": socket.gethostname(), "boot": _boot(), "pid": os.getpid(), "token": token, "beats": beats}
    return json.dumps({**owner, "processes": _processes(), "started": _started(os.getpid())}).encode()


def _is_dead(owner: dict[str, Any]) -> bool:
    """Whether a driver was a process of this machine, of those that are seen from here, and is none any more."""
    if not _is_seen(owner):
        return False
    try:
        os.kill(int(owner["pid"]), 0)
    except ProcessLookupError:
        return True
    except (OSError, KeyError, ValueError):
        return False
    started = _started(int(owner["pid"]))
    return started is not None and started != owner.get("started")


def _is_seen(owner: dict[str, Any]) -> bool:
    """Whether a driver is, or was, of this machine and of those of its processes that are seen from here."""
    same_machine = bool(_boot()) and owner.get("boot") == _boot()
    return same_machine and bool(_processes()) and owner.get("processes") == _processes()


def _processes() -> str:
    """The name of the set of processes that this one sees."""
    return os.readlink("/proc/self/ns/pid") if os.path.islink("/proc/self/ns/pid") else ""


def _started(pid: int) -> int | None:
    """When a process was started, in ticks since the machine was; 0 when it ended already, None when nobody says."""
    status = process_status(pid)
    if not status:
        return None
    return 0 if status[2] in "ZX" else int(status[21])


def _open_locked(path: Path) -> int:
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
    try:
        return open_regular(path, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise Refusal(f"cannot write {path}: {error.strerror or error}; remove it, or choose another --out") from error


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


REPAIR = "restore it, or derive it again: explore --resume --repair"
"""The mend of what follows from the levels before it."""


def identity(chosen: Subject, traced: Program, bucket_bits: int) -> dict[str, Any]:
    """The identity of a run; a run is resumed only where all of it is the same."""
    bounds = {f"bound {name}": value for name, value in sorted(chosen.setting.bounds.items())}
    return {
        "format": FORMAT,
        "system": chosen.name,
        "scope": chosen.setting.scope,
        **bounds,
        "rules": chosen.rules,
        "buckets": 1 << bucket_bits,
        "properties": [f"{claim.kind} {claim.id}" for claim in traced.claims],
        "actions": [f"{kind.action.name} x {len(kind.instances)}" for kind in traced.kinds],
        "fields": [f"{s.path} {s.domain.lo}..{s.domain.hi} at {s.word}:{s.shift}" for s in traced.layout.slots],
        "model (digest of the term graph)": traced.digest(),
    }


@frozen
class CommitLog:
    """The log in a folder."""

    out: objects.AnyPath = field(
        converter=objects.absolute
    )  # the run's folder; absolute, as workers have working folders of their own
    lease: Lease | None = None  # this driver's lease on it; None: it is only read

    @property
    def run_file(self) -> objects.AnyPath:
        """Where the identity is."""
        return self.out / "run.json"

    def folder(self, depth: int) -> objects.AnyPath:
        """Where the files of a level are: named as a partition, so that readers of Parquet skip the others."""
        return self.out / "levels" / f"depth={depth}"

    def manifest(self, depth: int) -> objects.AnyPath:
        """Where the manifest of a level is; readers of Parquet skip names that begin so."""
        return self.out / "levels" / f"_{depth:05}.json"

    def exists(self) -> bool:
        """Whether a run was begun here."""
        return self.run_file.exists()

    def begin(self, of: Mapping[str, Any], table: DecodingTable) -> None:
        """Begin a run; raises Refusal over levels of a lost identity, or for a name that is not read again."""
        self.check_lease()
        levels = self.out / "levels"
        levels.mkdir(exist_ok=True)
        if any(levels.iterdir()):
            raise Refusal(f"{self.run_file} is missing although {levels} is not empty; restore it, or remove {levels}")
        objects.durable(self.out)
        manifests.write_sealed(self.run_file, RunDocument.written(of, uuid.uuid4().hex, table))

    def read_run(self) -> RunDocument:
        """The identity and the decoding table; raises Refusal for no run, another format, or what was changed."""
        return self._read_run()[0]

    def _read_run(self) -> tuple[RunDocument, str]:
        if not isinstance(self.out, objects.ObjectPath):
            check_local(self.out)
        if not self.exists():
            raise Refusal(
                f"{self.out} holds no exploration; run `kraftcheck explore SYSTEM --engine spark --out` first"
            )
        mend = "restore it, or explore again into another --out"
        return manifests.read_sealed(self.run_file, mend, RunDocument.of, self._check_format)

    def _check_format(self, document: Any) -> None:
        version = document.get("identity") if isinstance(document, dict) else None
        version = version.get("format") if isinstance(version, dict) else None
        if version != FORMAT:
            raise Refusal(
                f"{self.run_file} has format {shown(version)} and this version reads {FORMAT}; explore again into "
                "another --out"
            )

    def check_same(self, of: Mapping[str, Any], table: DecodingTable | None = None) -> None:
        """Refuse, naming the first difference, to go on with a run of another identity or decoding table."""
        before = (run := self.read_run()).identity
        for name in dict.fromkeys((*before, *of)):
            if before.get(name) != of.get(name):
                before_text, now_text = _difference(before.get(name), of.get(name))
                raise Refusal(
                    f"--resume: {self.out} was explored with {name} {before_text}, now it is {now_text}; "
                    "explore into another --out"
                )
        if table is not None and run.table != table:
            raise Refusal(f"{self.run_file}: it decodes other states than the system's; explore into another --out")

    def commits(self) -> list[manifests.Commit]:
        """The levels from depth 0, each checked against the one before and file sizes; raises Refusal with the mend."""
        levels: list[manifests.Commit] = []
        for level in self._read_levels():
            levels.append(level)
            try:
                manifests.check_sizes(level, self.folder(level.depth))
            except (ValueError, OSError) as error:
                raise Refusal(f"{self.manifest(level.depth)}: {manifests.reason(error)}; {REPAIR}") from error
        return levels

    def undamaged_manifests(self) -> tuple[list[manifests.Commit], int | None]:
        """The levels up to the first changed manifest, and its depth; no files are looked at; raises for run.json."""
        self.read_run()
        levels: list[manifests.Commit] = []
        try:
            levels.extend(self._read_levels())
        except Refusal:
            return levels, len(levels)
        return levels, None

    def _read_levels(self) -> Iterator[manifests.Commit]:
        """The levels as their manifests say, each checked against the one before."""
        levels: list[manifests.Commit] = []
        seal = self._read_run()[1]
        while self._follows(len(levels)):
            place = self.manifest(len(levels))
            mend = f"restore it, or give up this level and every later one: {REPAIR.partition(', or ')[2]}"
            (level, previous), digest = manifests.read_sealed(place, mend, manifests.parse)
            if previous != seal:
                raise Refusal(f"{place}: it does not follow what is before it, or is another run's; {mend}")
            seal = digest
            levels.append(level)
            try:
                check(levels, self.folder(len(levels) - 1))
            except (ValueError, OSError) as error:
                raise Refusal(f"{place}: {manifests.reason(error)}; {mend}") from error
            yield levels[-1]

    def _follows(self, depth: int) -> bool:
        """Whether there is a manifest of this level; raises Refusal when there is none, but one of a later level."""
        place = self.manifest(depth)
        later = sorted(other.name for other in place.parent.glob("*.json") if other.name > place.name)
        if later and not place.exists():  # asked in this order: a driver may be at work
            raise Refusal(
                f"{place} is missing although {later[0]} is there; "
                f"restore it, or give up every later one: {REPAIR.partition(', or ')[2]}"
            )
        return place.exists()

    def commit(self, level: manifests.Commit) -> None:
        """Make a level count, at once or not at all; raises Refusal for a lost lease, a level changed, no room."""
        self.check_lease()
        document = manifests.content(level)
        before = self.manifest(level.depth - 1)
        mend = "explore again into another --out"
        document["previous"] = manifests.seal_of(before, mend) if level.depth else self._read_run()[1]
        if level.files:
            objects.durable(self.folder(level.depth))
        objects.durable(self.manifest(0).parent)
        manifests.write_sealed(self.manifest(level.depth), document, self.check_lease)

    def forget(self, depth: int) -> None:
        """Give up a level and every later one: the last manifest goes first, so that what is left is a run."""
        self.check_lease()
        for place in reversed(objects.by_name(self.manifest(0).parent.glob("*.json"))):
            if place.name >= self.manifest(depth).name:
                place.unlink()
        objects.durable(self.manifest(0).parent)

    def seal(self, depth: int) -> str:
        """The digest of a level's manifest, and so of every level up to it; raises Refusal for a changed one."""
        return manifests.seal_of(self.manifest(depth), REPAIR)

    def check_lease(self) -> None:
        """Refuse to write here without being the driver; raises Refusal when the lease is lost."""
        if self.lease is None:
            raise RuntimeError(f"{self.out} is written without a lease")
        self.lease.check()

    def stored(self, level: manifests.Commit) -> StoredLevel:
        """A level as workers see it."""
        return StoredLevel(str(self.folder(level.depth)), level.groups)

    def sweep(self, commits: Sequence[manifests.Commit]) -> None:
        """Remove files and folders of levels that no manifest names, and documents that were not renamed."""
        self.check_lease()
        named = {self.folder(level.depth) / file.name for level in commits for file in level.files}
        objects.remove_unnamed(self.out / "levels", named)


def _difference(before: Any, now: Any) -> tuple[str, str]:
    """Two values in few words: of lists only what differs, and whether one is a part of the other."""
    if isinstance(before, list) and isinstance(now, list):
        lost, added = ([item for item in one if item not in two] for one, two in ((before, now), (now, before)))
        if lost and added:
            return _few(lost), _few(added)
        if lost:
            return f"of which there were {len(before)}", f"only {len(now)} of them, without {_few(lost)}"
        if added:
            return f"of which there were {len(before)}", f"those and {_few(added)}"
        return "in one order", "in another"
    short = (str(value)[:40] if value is not None else "absent" for value in (before, now))
    return next(short), next(short)


def _few(items: list[str]) -> str:
    return ", ".join(items[:3]) + (f" and {len(items) - 3} more" if len(items) > 3 else "")
