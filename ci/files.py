"""Files that appear whole or not at all, and the errors a user sees."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn

from ci.refusal import Refusal
from ci.screen import OutputClosed


def write(path: Path, text: str) -> None:
    """Write a file under a temporary name, then rename it.

    A link stays a link; a device or a pipe is written as it is.

    Raises:
        Refusal: in one line, when the place cannot be written.
    """
    try:
        place = path.resolve() if path.is_symlink() else path
        if place.exists() and not place.is_file() and not place.is_dir():
            place.write_text(text, encoding="utf-8")
        else:
            _replace(place, text)
    except OSError as error:
        _refuse(path, error.strerror or str(error), error)


def _replace(path: Path, text: str) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            os.fchmod(handle, 0o666 & ~_umask())
            stream.write(text)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _refuse(path: Path, why: str, cause: Exception | None = None) -> NoReturn:
    raise Refusal(f"cannot write {path}: {why}; choose another place") from cause


def check_writable(target: str | None) -> None:
    """Refuse a file that cannot be written, before work is spent on what it shall hold; `-` and None pass.

    Raises:
        Refusal: in one line.
    """
    if target is None or target == "-":
        return
    path = Path(target)
    if path.is_dir() or not path.name:
        _refuse(path, "it is a folder")
    if not path.parent.is_dir():
        _refuse(path, f"there is no folder {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        _refuse(path, "permission denied")


def write_json(target: str, document: Any) -> None:
    """Write a JSON document to a file, or to standard output for `-`."""
    text = json.dumps(document, indent=2, default=str) + "\n"
    if target != "-":
        write(Path(target), text)
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise OutputClosed from None


def read_json(path: Path) -> Any:
    """The JSON document in a file.

    Raises:
        Refusal: naming the file, and the line where it is malformed.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Refusal(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise Refusal(f"{path}: not UTF-8 text") from error
    except json.JSONDecodeError as error:
        raise Refusal(f"{path}: line {error.lineno}: not JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise Refusal(f"{path}: not usable JSON: {error}") from error


def folder(path: Path) -> Path:
    """The folder, made if need be; a one-line usage error where it cannot be made or written."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Refusal(f"cannot make the folder {path}: {error.strerror or error}") from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise Refusal(f"cannot write into the folder {path}: permission denied")
    return path
