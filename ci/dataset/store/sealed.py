"""Sealed documents: JSON with its own digest, replaced atomically.

A document bears the SHA-256 of its content. That is no signature: it shows
accidents and edits by hand, not what somebody computes anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from kraftcheck.ci.dataset.documents.values import as_it_is
from kraftcheck.ci.dataset.store.objects import AnyPath, ObjectPath, PresentError
from kraftcheck.ci.terminal.files import parse_json, read_json, replace
from kraftcheck.ci.terminal.refusal import Refusal

SEAL = "sha256"

MOST_BYTES = 1 << 24
"""Bytes of a document, at most: in memory it takes some thirty times that."""

T = TypeVar("T")


def digest(content: Mapping[str, Any]) -> str:
    """The SHA-256 of a document's content, whatever its layout in the file."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def write_sealed(path: AnyPath, content: Mapping[str, Any], check: Callable[[], None] = lambda: None) -> None:
    """Write a document through to the disk under another name, then rename it, and write its folder through.

    Args:
        path: the place.
        content: the document.
        check: whether this driver may still write. It is asked between both, for who takes over removes what was not
            renamed: so a driver that stood still in between cannot rename it any more.

    Raises:
        Refusal: in one line, when the place cannot be written.
    """
    plain = json.loads(json.dumps(content))
    text = json.dumps({**plain, SEAL: digest(plain)}, indent=1) + "\n"
    if len(text) > MOST_BYTES:
        raise Refusal(f"cannot write {path}: it would have {len(text):,} bytes, and {MOST_BYTES:,} are the most")
    try:
        if isinstance(path, ObjectPath):
            check()
            _make(path, text.encode())
        else:
            replace(path, text, durable=True, check=check)
    except OSError as error:
        check()
        raise Refusal(f"cannot write {path}: {error.strerror or error}; mend that, then --resume") from error


def _make(path: ObjectPath, data: bytes) -> None:
    """Write an object that is not there yet; if it is there with this content, an attempt before made it.

    Raises:
        Refusal: when another driver made it.
    """
    try:
        path.put_new(data)
    except PresentError as error:
        if path.read_bytes() != data:
            raise Refusal(f"{path} is another driver's: this driver stops; what it committed stays") from error


def _json(path: AnyPath) -> Any:
    """The JSON in a document, whose size is looked at first."""
    if not isinstance(path, ObjectPath):
        return read_json(path, MOST_BYTES, follow=False)
    try:
        if (size := path.size()) > MOST_BYTES:
            raise Refusal(f"cannot read {path}: it has {size:,} bytes, and {MOST_BYTES:,} are the most")
        return parse_json(path, path.read_bytes())
    except OSError as error:
        raise Refusal(f"cannot read {path}: {error.strerror or error}") from error


def read_sealed(
    path: AnyPath, mend: str, parse: Callable[[Any], T] = as_it_is, check: Callable[[Any], None] = lambda document: None
) -> tuple[T, str]:
    """What a document says, and its digest.

    Args:
        path: the file.
        mend: what to do when it is not what was written.
        parse: makes of its content what it says, or raises ValueError: anybody can compute a digest. Without one the
            content is as it is, and the caller reads it.
        check: refuses what this version cannot read, before the digest is looked at.

    Raises:
        Refusal: naming the file and the mend, when it cannot be read, was changed, or says what nobody writes.
    """
    try:
        content = _json(path)
    except Refusal as error:
        raise Refusal(f"{error.message}; {mend}") from error
    check(content)
    seal = content.pop(SEAL, None) if isinstance(content, dict) else None
    if seal is None or seal != digest(content):
        raise Refusal(f"{path}: it is not what was written (SHA-256 differs); {mend}")
    try:
        return parse(content), seal
    except ValueError as error:
        raise Refusal(f"{path}: {error}; {mend}") from error


def seal_of(path: AnyPath, mend: str) -> str:
    """The digest of a document, whatever it says.

    Raises:
        Refusal: as `read_sealed` does.
    """
    return read_sealed(path, mend, lambda content: None)[1]
