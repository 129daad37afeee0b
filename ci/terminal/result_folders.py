"""Folders of results: a run replaces the results of an earlier run, and nothing else.

A run writes into a folder beside the place, which takes the place at the end. It replaces a folder only where a
mark says that a run of kraftcheck wrote it, and only while it holds nothing else.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from kraftcheck.ci.terminal.files import probe, read_bytes, umask, write
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.ci.terminal.urls import check_local

MARK = ".kraftcheck"
"""The file that lists what a run wrote, one path a line."""

MOST_MARK_BYTES = 1 << 24

_FIRST = "kraftcheck wrote these files, and replaces this folder:"


@contextlib.contextmanager
def results(option: str, place: Path) -> Iterator[Path]:
    """A new folder to write into, which takes the place once the block ends; after an error all is as before.

    Args:
        option: which option named the place, for refusals.
        place: where the results shall be.

    Raises:
        Refusal: for a place that cannot be replaced; see `check_results`.
    """
    check_results(option, place)
    target = place.resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        new_folder = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    except OSError as error:
        raise _refusal(option, place, error.strerror or str(error)) from error
    try:
        os.chmod(new_folder, 0o777 & ~umask())
        yield new_folder
        names = sorted(str(path.relative_to(new_folder)) for path in _files(new_folder))
        write(new_folder / MARK, "\n".join([_FIRST, *names]) + "\n")
        check_results(option, place)
        _replace(new_folder, target)
    except OSError as error:
        raise _refusal(option, place, error.strerror or str(error)) from error
    finally:
        shutil.rmtree(new_folder, ignore_errors=True)


def check_results(option: str, place: Path | None, *others: str | Path | None) -> None:
    """Refuse a folder that this run could not replace, before work is spent.

    Args:
        option: which option named the place.
        place: the folder; None passes.
        others: files that the run writes besides, which may not lie in it; None and `-` pass.

    Raises:
        Refusal: for a URL, a file, a folder that no run made or that holds other files, one that cannot be replaced.
    """
    for name in (place, *others):
        if name is not None:
            check_local(name)
    if place is None:
        return
    target = place.resolve()
    for path in others:
        if path is not None and str(path) != "-" and Path(path).resolve().is_relative_to(target):
            raise Refusal(f"{path} lies in the folder of {option}, which this run replaces; choose another place")
    if not target.exists():
        parent = next(ancestor for ancestor in target.parents if ancestor.exists())
        if not parent.is_dir():
            raise Refusal(f"cannot make the folder {place}: {parent} is no folder; choose another {option}")
        _probe(option, place, target)
        return
    if not target.is_dir():
        raise Refusal(f"cannot make the folder {place}: it is a file; choose another {option}")
    if Path.cwd().is_relative_to(target) or target.is_mount():
        folder_kind = "a file system of its own" if target.is_mount() else "the current folder or above it"
        raise _refusal(option, place, f"it is {folder_kind}, and a run replaces the whole folder")
    _probe(option, place, target)
    _probe(option, place, target / MARK)
    _check_ours(option, place, target)


def _probe(option: str, place: Path, target: Path) -> None:
    """Refuse a folder where nothing can be made, by trying."""
    try:
        probe(target)
    except OSError as error:
        raise _refusal(option, place, error.strerror or str(error)) from error


def _check_ours(option: str, place: Path, target: Path) -> None:
    """Refuse a folder with files that no run wrote; an empty one is anybody's."""
    try:
        present = {str(path.relative_to(target)) for path in _files(target)}
        lines = _mark(target / MARK).splitlines() if MARK in present else []
    except (OSError, UnicodeDecodeError) as error:
        raise _refusal(option, place, f"it cannot be read ({error})") from error
    own = {MARK, *lines[1:]} if lines[:1] == [_FIRST] else set()
    if foreign := sorted(present - own):
        raise _refusal(option, place, f"it holds {foreign[0]}, which no run of kraftcheck wrote there")


def _mark(path: Path) -> str:
    return read_bytes(path, MOST_MARK_BYTES, follow=False).decode("utf-8")


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()]


def _replace(new_folder: Path, target: Path) -> None:
    """Rename; an old folder stays beside until the new one is in its place."""
    if not target.exists() or not any(target.iterdir()):
        os.replace(new_folder, target)
        return
    old = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.old."))
    os.replace(target, old)
    try:
        os.replace(new_folder, target)
    except BaseException:
        os.replace(old, target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _refusal(option: str, place: Path, reason: str) -> Refusal:
    return Refusal(f"cannot write into the folder {place}: {reason}; choose another {option}")
