"""Values in ITF's encoding (Apalache ADR-015): one text for each value, and TLA+'s spelling of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

_INTEGER = re.compile(r"-?[0-9]+")


def encoded(value: Any) -> Any:
    """A plain value as JSON in ITF's encoding.

    Args:
        value: of truths, texts, ints, lists, frozensets, and `SimpleNamespace`s as records.

    Raises:
        TypeError: when ITF has no such value.
    """
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return {"#bigint": str(value)}
    if isinstance(value, list):
        return [encoded(item) for item in value]
    if isinstance(value, frozenset):
        return {"#set": _ordered([encoded(item) for item in value])}
    if isinstance(value, SimpleNamespace):
        return {name: encoded(item) for name, item in vars(value).items()}
    raise TypeError(f"ITF has no value for {value!r}")


def normal(document: Any) -> Any:
    """The JSON of a value with one text for each value: sets ascending and without repeats, every int a `#bigint`.

    Raises:
        ValueError: when it is not ITF; the message names the part.
    """
    if isinstance(document, bool | str):
        return document
    if isinstance(document, int):
        return {"#bigint": str(document)}
    if isinstance(document, list):
        return [normal(item) for item in document]
    if not isinstance(document, dict):
        raise ValueError(f"{_short(document)} is no value")
    marks = [name for name in document if name.startswith("#")]
    if not marks:
        return {name: normal(item) for name, item in document.items()}
    if len(document) > 1 or marks[0] not in _MARKED:
        raise ValueError(f"{_short(document)}: one key of {', '.join(_MARKED)} is expected")
    return {marks[0]: _MARKED[marks[0]](document[marks[0]])}


def _integer(content: Any) -> str:
    if not isinstance(content, str) or not _INTEGER.fullmatch(content):
        raise ValueError(f"#bigint {_short(content)} is no text of a whole number")
    return str(int(content))


def _members(content: Any) -> list[Any]:
    if not isinstance(content, list):
        raise ValueError(f"{_short(content)} is no list of members")
    return [normal(item) for item in content]


def _set(content: Any) -> list[Any]:
    return _ordered(_members(content))


def _pairs(content: Any) -> list[Any]:
    pairs = _members(content)
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2:
            raise ValueError(f"{_short(pair)} in a #map is no pair")
    if len({json.dumps(key) for key, _ in pairs}) < len(pairs):
        raise ValueError(f"{_short(pairs)}: a #map has a key twice")
    return pairs


def _text(content: Any) -> str:
    if not isinstance(content, str):
        raise ValueError(f"#unserializable {_short(content)} is no text")
    return content


_MARKED: Mapping[str, Callable[[Any], Any]] = {
    "#bigint": _integer, "#tup": _members, "#set": _set, "#map": _pairs, "#unserializable": _text,
}  # fmt: skip
"""The key that marks a value which JSON lacks, and the normal form of its content."""


def _ordered(items: list[Any]) -> list[Any]:
    """Members in the order of their texts, each once."""
    texts = {json.dumps(item): item for item in items}
    return [texts[text] for text in sorted(texts)]


def _short(document: Any) -> str:
    text = json.dumps(document)
    return text if len(text) <= 40 else f"{text[:40]}..."


def spelled(value: Any) -> str:
    """A value of `normal` in TLA+'s spelling, sets in the order of their texts.

    >>> spelled(normal({"isr": {"#set": [2, 1]}, "tag": "a"}))
    '[isr |-> {1, 2}, tag |-> "a"]'
    """
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return "<<" + ", ".join(map(spelled, value)) + ">>"
    match value:
        case {"#bigint": text}:
            return str(text)
        case {"#unserializable": text}:
            return str(text)
        case {"#tup": items}:
            return spelled(items)
        case {"#set": items}:
            return "{" + ", ".join(sorted(map(spelled, items))) + "}"
        case {"#map": pairs}:
            return "(" + " @@ ".join(f"{spelled(key)} :> {spelled(item)}" for key, item in pairs) + ")"
        case {"tag": str(tag), "value": content} if len(value) == 2:
            return f"Variant({spelled(tag)}, {spelled(content)})"
    return "[" + ", ".join(f"{name} |-> {spelled(item)}" for name, item in value.items()) + "]"
