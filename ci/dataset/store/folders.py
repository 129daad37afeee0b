"""Folders of a dataset, changed as each kind of store can: names written through to the disk, moves, removal."""

from __future__ import annotations

import re
import shutil
import uuid
from collections.abc import Set
from pathlib import Path

from kraftcheck.ci.dataset.store.objects import AnyPath, ObjectPath
from kraftcheck.ci.terminal.sync import sync

GONE = ".swept-"
"""How the names of folders begin whose content counts for nothing."""

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
        source.replace(target)
        sync(target.parent)
        sync(target.parent.parent)
    else:
        raise RuntimeError(f"{source} and {target} are in different stores")


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
    folders = {file.parent for file in named}
    for place in sorted(levels.iterdir()):
        if _HALF.match(place.name):
            place.unlink(missing_ok=True)
        elif place in folders:
            for file in place.iterdir():
                if file not in named:
                    file.unlink(missing_ok=True)
        elif _FOLDER.fullmatch(place.name) or place.name.startswith(GONE):
            moved_folder = place.with_name(f"{GONE}{uuid.uuid4().hex}")
            place.rename(moved_folder)  # tasks that outlive a dead driver for a moment write no more into it
            shutil.rmtree(moved_folder)
