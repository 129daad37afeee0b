"""Folders of a dataset, changed as each kind of store can: names written through to the disk, moves, removal."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import uuid
from collections.abc import Iterator, Set
from pathlib import Path

from kraftcheck.ci.dataset.store.objects import AnyPath, ObjectPath, refusal
from kraftcheck.ci.terminal.sync import sync
from kraftcheck.solvers.machine_code.regular import open_folder

GONE = ".swept-"
"""How the names of folders begin whose content counts for nothing."""

OWN = re.compile(r"levels|runs|backward|liveness|\..*")
"""The names of the folders in a run's folder that are its own."""

_FOLDER = re.compile(r"depth=\d{5,}")
_HALF = re.compile(r"\.\d{5,}\.json\.")


def durable(folder: AnyPath) -> None:
    """Write the names in a folder through to the disk; a store of objects has done so when it answers."""
    if isinstance(folder, Path):
        sync(folder)


def move(source: AnyPath, target: AnyPath) -> None:
    """Put a file in the place of another, at once."""
    if isinstance(source, ObjectPath) and isinstance(target, ObjectPath):
        source.move_to(target)
    elif isinstance(source, Path) and isinstance(target, Path):
        with opened_folder(target.parent) as folder:
            os.rename(source, target.name, dst_dir_fd=folder)
            os.fsync(folder)
        sync(target.parent.parent)
    else:
        raise RuntimeError(f"{source} and {target} are in different stores")


@contextlib.contextmanager
def opened_folder(place: Path | str, within: int | None = None) -> Iterator[int]:
    """A folder whose names are looked up in itself, wherever its path leads meanwhile.

    Raises:
        OSError: for a link in its place.
    """
    handle = open_folder(place, within)
    try:
        yield handle
    finally:
        os.close(handle)


def refuse_links(out: AnyPath) -> None:
    """Refuse a run's folder with anything in it but folders and files: a link leads elsewhere, and a pipe nowhere.

    Raises:
        Refusal: naming the first.
    """
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
                raise refusal(f"{folder / entry.name} is {kind}, which no run leaves there; remove it, or name "
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
