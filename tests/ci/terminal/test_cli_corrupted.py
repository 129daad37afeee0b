"""Files that are broken in seeded ways: one line and exit code 2, or a legitimate verdict, never a fault."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.shared.commands import kraftcheck
from tests.shared.places import ROOT
from tests.shared.samples import one_in

TRACE = ROOT / "tests" / "traces" / "B4.itf.json"
VECTORS = ROOT / "tests" / "vectors" / "reassignment_revert.json"
OUTAGE = ROOT / "tests" / "snapshots" / "outage.json"
SEGMENT = next((ROOT / "tests" / "captured" / "elr").glob("*.log"))

ODD: tuple[Any, ...] = (
    None, True, -1, 0, 2**31, 2**63, 10**40, 1.5, 1e308, "", "x", "9" * 5000, "\ud800", "\0", [], {}, [[]], {"": None},
    ["x", 1, None], {"#bigint": "x"}, {"#bigint": "1" * 40}, {"#set": [1, "x"]}, {"#map": [[1]]}, {"#tup": 3},
)  # fmt: skip
"""Values of wrong types, shapes and sizes."""

RAW = ("NaN", "-Infinity", "1e999", "[" * 2000 + "]" * 2000, '{"a":1,"a":2}', "")
"""What Python reads as JSON, or nearly, and nobody should."""


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to everything within a document."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [path for key in keys for path in [(*at, key), *places(value[key], (*at, key))]]


def within(document: Any, path: Sequence[Any]) -> Any:
    """What a path leads to."""
    for key in path:
        document = document[key]
    return document


def broken_text(data: bytes, draw: random.Random) -> bytes:
    """Bytes cut off, flipped, left out, repeated or put in."""
    at, size = draw.randrange(len(data)), draw.randrange(1, 40)
    return draw.choice([
        data[:at], data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :],
        data[:at] + data[at + size :], data[:at] + data[at : at + size] + data[at:],
        data[:at] + draw.randbytes(size) + data[at:], data[:at] + b"\xff\xfe" + data[at:],
    ])  # fmt: skip


def broken_document(data: bytes, draw: random.Random) -> bytes:
    """A JSON document with something in it left out, doubled, swapped, or of another type or shape."""
    document = json.loads(data)
    path = draw.choice(places(document))
    holder, key = within(document, path[:-1]), path[-1]
    how = draw.choice(["odd", "odd", "odd", "raw", "drop", "other"])
    if how == "drop":
        del holder[key]
    elif how == "other":
        holder[key] = within(document, draw.choice(places(document)))
    else:
        holder[key] = draw.choice(ODD) if how == "odd" else "@raw@"
    try:
        text = json.dumps(document)
    except (ValueError, RecursionError):  # a part of itself
        return b"[]"
    return text.replace('"@raw@"', draw.choice(RAW)).encode("utf-8", "surrogatepass")


def broken_lines(data: bytes, draw: random.Random) -> bytes:
    """Lines of JSON with one of them broken, left out, or doubled."""
    lines = data.splitlines(keepends=True)
    at = draw.randrange(len(lines))
    made = draw.choice([
        b"", lines[at] * 2, broken_document(lines[at], draw) + b"\n", broken_document(lines[at], draw) + b"\n",
        broken_text(lines[at], draw),
    ])  # fmt: skip
    return b"".join([*lines[:at], made, *lines[at + 1 :]])


def segment_lines() -> bytes:
    """A short log as lines of JSON: a topic of two partitions on two brokers, a fencing, and a new leader."""
    from kraftcheck.ci.logs.format.read import SkipCount, find, read

    (log,) = find((SEGMENT.parent,))
    rows = [
        {"offset": entry.offset, "batch": batch.base_offset, "epoch": batch.epoch, "type": entry.type,
         "version": entry.version, "data": entry.data, **({"control": True} if batch.control else {})}
        for batch in read(log, SkipCount(0)) for entry in batch.entries
    ]  # fmt: skip
    return "".join(json.dumps(row, default=str) + "\n" for row in rows[:60]).encode()


def mixed(*ways: Callable[[bytes, random.Random], bytes]) -> Callable[[bytes, random.Random], bytes]:
    """One of several ways to break a file."""
    return lambda data, draw: draw.choice(ways)(data, draw)


KINDS: dict[str, tuple[tuple[str, ...], str, Callable[[], bytes], Callable[[bytes, random.Random], bytes]]] = {
    "trace": (("trace",), "a.itf.json", TRACE.read_bytes, mixed(broken_document, broken_document, broken_text)),
    "start": (("simulate", "elections", "--scope", "tiny", "--rules", "kafka-4.1.2", "--runs", "1", "--steps", "2",
               "--workers", "1", "--from"), "a.itf.json", TRACE.read_bytes, mixed(broken_document, broken_text)),
    "vectors": (("conform", "--vectors"), "a.json", VECTORS.read_bytes, mixed(broken_document, broken_text)),
    "segment": (("replay",), f"{0:020}.log", SEGMENT.read_bytes, broken_text),
    "lines": (("replay",), "a.jsonl", segment_lines, broken_lines),
    "condition": (("status",), "a.jsonl", segment_lines, broken_lines),
    "image": (("whatif", "--faults", "0"), "a.jsonl", segment_lines, broken_lines),
    "snapshot": (("unclean-recovery", "--all-offline-partitions", "--show-replica-info", "--snapshot"), "a.json",
                 OUTAGE.read_bytes, mixed(broken_document, broken_document, broken_text)),
}  # fmt: skip
"""By name: a command, the name of its file, how the file is made, and how it is broken."""

ENDS = {0, 1, 10, 11, 12, 14, 20, 21, 22, 23}
"""Exit codes of legitimate ends."""


def check_broken(kind: str, seeds: range, folder: Path) -> None:
    """Run a command on broken files."""
    words, name, made, broken = KINDS[kind]
    sound = made()
    place = folder / name
    place.write_bytes(sound)
    assert kraftcheck(*words, place).code in ENDS
    refused = 0
    for seed in seeds:
        place.write_bytes(broken(sound, random.Random(f"{kind} {seed}")))
        ran = kraftcheck(*words, place)
        told = f"{kind}, seed {seed}: {ran.code} {ran.err[:500]}"
        assert ran.code in ENDS or (ran.code == 2 and ran.err.count("\n") == 1), told
        assert "fault of kraftcheck" not in ran.err, told
        refused += ran.code == 2
    assert refused >= len(seeds) // 4


@pytest.mark.parametrize("kind", one_in(3, KINDS))
def test_broken_files_are_refused_or_judged(kind: str, tmp_path: Path) -> None:
    """Thirty files broken at random end in one line or a verdict; many of them in a line."""
    check_broken(kind, range(30), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_many_broken_files_are_refused_or_judged(kind: str, tmp_path: Path) -> None:
    """So do a thousand."""
    check_broken(kind, range(30, 1030), tmp_path)
