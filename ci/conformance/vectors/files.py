"""Reading of vector files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from attrs import frozen

from kraftcheck.ci.conformance.vectors.core import Vector
from kraftcheck.ci.terminal.files import MAX_JSON_BYTES, parse_json, read_bytes
from kraftcheck.model.records.fields import Fields, FormError, items, text


class VectorError(ValueError):
    """Vectors that cannot be read: one line that names file, vector and key."""


@frozen
class VectorFile:
    """A file of vectors."""

    path: Path
    vectors: tuple[Vector, ...]


def find(paths: tuple[Path, ...]) -> list[Path]:
    """The files named, and the JSON files below the folders named, each once.

    Raises:
        VectorError: when a path does not exist, or a folder holds no JSON file.
    """
    files: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            below = sorted(path.rglob("*.json"))
            if not below:
                raise VectorError(f"no vectors in {path}")
            files.update(dict.fromkeys(below))
        elif path.exists():
            files[path] = None
        else:
            raise VectorError(f"{path}: no such file or folder")
    return list(files)


def read(path: Path) -> VectorFile:
    """The vectors of one file.

    Raises:
        Refusal: when it cannot be read or is no JSON.
        VectorError: when it is malformed.
    """
    try:
        entries = items(parse_json(path, read_bytes(path, MAX_JSON_BYTES), _once), "the file")
    except FormError as reason:
        raise VectorError(f"{path}: {reason}") from None
    vectors: dict[str, Vector] = {}
    for position, item in enumerate(entries):
        vector = _vector(path, position, item)
        if vector.id in vectors:
            raise VectorError(f"{path}: {vector.id}: id: used twice")
        vectors[vector.id] = vector
    return VectorFile(path, tuple(vectors.values()))


def _vector(path: Path, position: int, item: Any) -> Vector:
    name = item.get("id") if isinstance(item, dict) else None
    try:
        fields = Fields.of(item)
        return Vector(
            id=fields.read("id", text),
            function=fields.read("function", text),
            given=fields.read("given", Fields.of),
            when=fields.read("when", Fields.of),
            then=fields.read("then", Fields.of),
            given_continues=fields.read_or("given_continues", text, None),
        )
    except FormError as reason:
        raise VectorError(f"{path}: {name or f'vector {position}'}: {reason}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, once no key of it is repeated."""
    result = dict(pairs)
    if len(result) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"key {next(key for key in keys if keys.count(key) > 1)!r} is repeated in one object")
    return result
