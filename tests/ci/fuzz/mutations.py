"""Changes of documents, texts and bytes, drawn at random: what a stranger, or an accident, may put in their place."""

import random
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any

Alter = Callable[[dict[str, Any]], object]

NUMBERS = (
    -1, 0, 1, 2, 7, 63, 64, 127, 128, 255, 1 << 15, (1 << 31) - 1, 1 << 31, -(1 << 31), (1 << 63) - 1, 1 << 63,
    -(1 << 63), 10**30,
)  # fmt: skip
"""Numbers at which a width or a count ends."""

SIGNS = (
    "'", '"', "`", "\\", "a\nb", "\r", "\x00", "\x1b]0;x\x07", "\x1b[2J", "\n::error::a", "\u202e", "\u2028",
    "\ud800", "\udfff", "${env:HOME}", "$$", "..", "../x", "/", "%%{init: {}}%%", "]]>", "<!--", "</script>", "&#0;",
    ";", "é" * 500,
)  # fmt: skip
"""Texts that mean something to a terminal, a page, a shell, a path or a parser."""

VALUES: tuple[Any, ...] = (
    None, True, False, *NUMBERS, 0.5, 1e308, -0.0, "", "x", *SIGNS, "NaN", "0", "-1", "y" * 100_000, "0" * 64, [], {},
    [[]], {"": 0}, {"a": {"b": []}}, {"#set": [1]}, {"#bigint": "9" * 5000}, [0] * 5000,
)  # fmt: skip
"""Values for any place of a document."""

MILD: tuple[Any, ...] = (
    -1, 0, 1, 2, 3, 100, [], [0], [1, 2], [2, 1, 0], [2, 2], [-1], [3, 4, 5], [*range(40)], None, True, False, "",
    "true", "2", "AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAQ",
)  # fmt: skip
"""Values that a record of a log could have: what is wrong with them shows only once the record is replayed."""

BYTES = (b"\x00", b"\x01", b"\x7f", b"\x80", b"\xff", b"\xff\xff\xff\xff\x0f", b"\xff" * 9 + b"\x01", b"\x80" * 12)
"""Bytes at which a length or a varint ends, or does not."""


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values in a document, from its root on."""
    if path:
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from places(one, (*path, key))


def pool(draw: random.Random) -> Sequence[Any]:
    """The values of a case: those of a record, texts, or any."""
    return draw.choice((MILD, SIGNS, VALUES))


def mutation(draw: random.Random, values: Sequence[Any] = VALUES) -> Alter:
    """A change of a document: of one to three values or keys."""
    count = draw.choice((1, 1, 1, 2, 3))

    def alter(document: dict[str, Any]) -> None:
        for _ in range(count):
            every = list(places(document))
            if not every:
                return
            path = draw.choice([draw.choice(every), draw.choice([one for one in every if len(one) == 1])])
            holder: Any = document
            for key in path[:-1]:
                holder = holder[key]
            _change(draw, holder, path[-1], values)

    return alter


def _change(draw: random.Random, holder: Any, key: Any, values: Sequence[Any]) -> None:
    value, kind = holder[key], draw.randrange(7)
    if kind == 0 and isinstance(value, int):
        holder[key] = value + draw.choice((-1, 1, 2, -value, 1 << 20, 1 << 40))
    elif kind == 1:
        del holder[key]
    elif kind == 2 and isinstance(value, list) and value:
        holder[key] = value + deepcopy(value[:1])
    elif kind == 3 and isinstance(holder, dict):
        holder[str(draw.choice(values))[:50]] = holder.pop(key)
    elif kind == 4 and isinstance(value, str) and value:
        holder[key] = text_changed(draw, value, (*SIGNS, *"'\"\\/.$\n0Az"))
    elif kind == 5:  # what stands elsewhere in its own kind of place
        holder[key] = deepcopy(draw.choice(list(holder.values() if isinstance(holder, dict) else holder)))
    else:
        holder[key] = deepcopy(draw.choice(values))


def text_changed(draw: random.Random, text: str, pieces: Sequence[str] = SIGNS) -> str:
    """The text with one to three pieces dropped, repeated, exchanged or put in."""
    for _ in range(draw.choice((1, 1, 2, 3))):
        start = draw.randrange(len(text) + 1)
        end = min(len(text), start + draw.choice((0, 0, 1, 1, 2, 5, 20)))
        piece = draw.choice((draw.choice(pieces), text[start:end] * 2, "", str(draw.choice(NUMBERS))))
        text = text[:start] + piece + text[end:]
    return text


def bytes_changed(draw: random.Random, data: bytes) -> bytes:
    """The bytes with one to three of them flipped, dropped, repeated or put in."""
    for _ in range(draw.choice((1, 1, 2, 3))):
        start = draw.randrange(len(data) + 1)
        end = min(len(data), start + draw.choice((0, 1, 1, 1, 2, 5, 20)))
        piece = draw.choice((draw.choice(BYTES), data[start:end] * 2, b"", draw.randbytes(end - start)))
        data = data[:start] + piece + data[end:]
    return data


def list_changed(draw: random.Random, items: Sequence[Any]) -> list[Any]:
    """The items with one of them dropped, repeated, moved, or all from there on dropped."""
    changed = list(items)
    at, kind = draw.randrange(len(changed)), draw.randrange(4)
    if kind == 0:
        del changed[at]
    elif kind == 1:
        changed.insert(at, deepcopy(changed[at]))
    elif kind == 2:
        changed.insert(draw.randrange(len(changed)), changed.pop(at))
    else:
        del changed[at:]
    return changed
