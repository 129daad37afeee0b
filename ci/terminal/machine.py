"""What this machine gives: memory, processors, a folder for compiled code. Writes that survive its crash."""

from __future__ import annotations

import math
import os
import resource
from collections.abc import Iterator, Sequence
from pathlib import Path

OWN_MEMORY = 192 << 20  # bytes that Python, the solvers' libraries and the compiler take beside the states of a search
LEAST_MEMORY = 16 << 20  # bytes that a search is given at least
MOST_CORES = 256  # workers that a command takes at most

ROOT = Path("/")


def memory(root: Path = ROOT) -> int:
    """Bytes that this process may take: of the machine, of its control groups, of its own limits."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), *_memory_limits(root)]
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        limits.append(soft)
    return min(limits)


def default_memory() -> int:
    """Half of what is left for the states of a search."""
    return max(LEAST_MEMORY, (memory() - OWN_MEMORY) // 2)


def cores(root: Path = ROOT) -> int:
    """Processors that this process may keep at work, at least one."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([MOST_CORES, allowed, *(math.ceil(share) for share in _shares(root))]))


def _memory_limits(root: Path) -> Iterator[int]:
    for folder in _folders(root, "memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            text = _read(folder / name)
            if text.isdecimal():
                yield int(text)


def _shares(root: Path) -> Iterator[float]:
    """How many processors' time each control group allows."""
    for folder in _folders(root, "cpu"):
        quota, _, period = _read(folder / "cpu.max").partition(" ")
        for a, b in ((quota, period), (_read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us"))):
            if a.isdecimal() and b.isdecimal() and int(b) > 0:
                yield int(a) / int(b)


def _folders(root: Path, controller: str) -> Iterator[Path]:
    """The control groups of this process, its own before those above; in a container the mount may be its own group."""
    mount = root / "sys/fs/cgroup"
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        names, _, path = rest.partition(":")
        if names and controller not in names.split(","):
            continue
        top = mount / controller if names else mount
        group = top / path.strip("/")
        yield from (folder for folder in (group, *group.parents) if folder == top or top in folder.parents)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


NOWHERE = Path(os.devnull)  # where nothing can be kept, which a run does without: the place of a user who has no home


def process_status(process: int) -> list[str]:
    """The fields of /proc/PID/stat, the number of a process and its name first; none where the system does not say."""
    try:
        number, _, rest = Path(f"/proc/{process}/stat").read_text(errors="replace").partition(" (")
    except OSError:
        return []
    name, _, rest = rest.rpartition(") ")
    return [number, name, *rest.split()]


def processor_seconds(status: Sequence[str]) -> float:
    """How long a process of this status has had a processor, in seconds."""
    return (int(status[13]) + int(status[14])) / os.sysconf("SC_CLK_TCK")


def cache_folder() -> Path:
    """Where compiled kernels are kept: `kraftcheck` in `XDG_CACHE_HOME`, by default in `~/.cache`."""
    named = os.environ.get("XDG_CACHE_HOME")
    try:
        home = Path(named) if named else Path.home() / ".cache"
    except RuntimeError:
        home = NOWHERE
    return home / "kraftcheck"


def cache_of(cache: bool) -> Path | None:
    """The folder of compiled code, if it is to be kept."""
    return cache_folder() if cache else None


def sync(path: Path) -> None:
    """Write a file or a folder through to the disk; of a folder the names in it survive then."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
