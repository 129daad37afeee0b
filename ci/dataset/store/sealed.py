"""Sealed documents: JSON with its own digest, replaced atomically.

A document bears the SHA-256 of its content. That is no signature: it shows
accidents and edits by hand, not what somebody computes anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kraftcheck.ci.terminal.files import read_json, replace
from kraftcheck.ci.terminal.refusal import Refusal

SEAL = "sha256"


def digest(content: Mapping[str, Any]) -> str:
    """The SHA-256 of a document's content, whatever its layout in the file."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def write_sealed(path: Path, content: Mapping[str, Any]) -> None:
    """Write a document through to the disk under another name, then rename it, and write its folder through.

    Raises:
        Refusal: in one line, when the place cannot be written.
    """
    plain = json.loads(json.dumps(content))
    text = json.dumps({**plain, SEAL: digest(plain)}, indent=1) + "\n"
    try:
        replace(path, text, durable=True)
    except OSError as error:
        raise Refusal(f"cannot write {path}: {error.strerror or error}; mend that, then --resume") from error


def read_sealed(
    path: Path, mend: str, check: Callable[[Any], None] = lambda document: None
) -> tuple[dict[str, Any], str]:
    """The content of a document, and its digest.

    Args:
        path: the file.
        mend: what to do when it is not what was written.
        check: refuses what this version cannot read, before the digest is looked at.

    Raises:
        Refusal: naming the file and the mend, when it cannot be read or was changed.
    """
    try:
        content = read_json(path)
    except Refusal as error:
        raise Refusal(f"{error.message}; {mend}") from error
    check(content)
    seal = content.pop(SEAL, None) if isinstance(content, dict) else None
    if seal is None or seal != digest(content):
        raise Refusal(f"{path}: it is not what was written (SHA-256 differs); {mend}")
    return content, seal
