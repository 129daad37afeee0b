"""Files that appear whole or not at all, and the errors a user sees."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from ci.refusal import Refusal


def write(path: Path, text: str) -> None:
    """Write a file under a temporary name, then rename it.

    Raises:
        Refusal: in one line, when the place cannot be written.
    """
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent or Path(), prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(text)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise Refusal(f"cannot write {path}: {error.strerror or error}; choose another place") from error


def write_json(target: str, document: Any) -> None:
    """Write a JSON document to a file, or to standard output for `-`."""
    text = json.dumps(document, indent=2, default=str) + "\n"
    if target == "-":
        sys.stdout.write(text)
    else:
        write(Path(target), text)


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


def folder(path: Path) -> Path:
    """The folder, made if need be; a one-line usage error where it cannot be."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Refusal(f"cannot make the folder {path}: {error.strerror or error}") from error
    return path
