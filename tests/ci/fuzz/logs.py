"""Metadata logs changed at random, in each of their forms, for `replay`, `status` and `whatif`."""

import json
import random
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from kraftcheck.ci.logs.format.read import LogError, SkipCount, find, read, read_compact
from kraftcheck.solvers.logs.explain.state import Batch, CompactBatch
from tests.ci.fuzz.batches import RawBatch, changed, cut
from tests.ci.fuzz.bounds import spoken
from tests.ci.fuzz.mutations import SIGNS, list_changed, mutation, pool, text_changed
from tests.shared.captures import EVERY, batches, json_lines

FIRST = 30  # batches of a captured log that a case takes at most: they hold brokers, topics and elections

_PAYLOAD = re.compile(r" payload: (\{.*\})$")
_HEAD = re.compile(r"baseOffset: (\d+) lastOffset: (\d+) count: (\d+) ")


@cache
def _segment(folder: Path) -> list[RawBatch]:
    return cut(next(folder.glob("00000000000000000000.log")).read_bytes())


@cache
def _snapshots() -> list[Path]:
    return sorted(place for folder in EVERY for place in folder.glob("*.checkpoint"))


def commands(draw: random.Random, log: Path, place: Path) -> Iterator[Sequence[object]]:
    """A command that reads a log and writes all that it can, or another one; what it wrote can be read."""
    page, target, gauges = place / "log.html", place / "out.json", place / "gauges.txt"
    chosen = draw.choice((
        ("replay", log, "--verbose", "--html", page, "--json", target),
        ("replay", log, "--rules", draw.choice(("fixed", "kafka-3.9.2"))),
        ("status", log, "--describe", "--all", "--json", target),
        ("whatif", log, "--faults", "1", "--json", target, "--prometheus", gauges),
    ))  # fmt: skip
    yield (*chosen, *(("--allow-skipped", 1000) if draw.randrange(3) == 0 else ()))
    if target.exists():
        json.loads(target.read_bytes())
    if gauges.exists():
        assert not spoken(gauges.read_text(encoding="utf-8"))
    if page.exists():
        assert page.read_text(encoding="utf-8").count("</script>") == 2


def segments(draw: random.Random, place: Path) -> Iterator[Sequence[object]]:
    """A segment, or a snapshot alone or before its segment; both ways of reading it say the same."""
    folder = place / "log"
    folder.mkdir()
    if draw.randrange(3):
        whole = _segment(draw.choice(EVERY))
        log = folder / "00000000000000000000.log"
        log.write_bytes(changed(draw, whole[: draw.randrange(3, FIRST) if draw.randrange(8) else None]))
    else:
        snapshot = draw.choice(_snapshots())
        after = [one for one in _segment(snapshot.parent) if one.header[0] >= int(snapshot.name.split("-")[0])]
        held, log = cut(snapshot.read_bytes()), folder / snapshot.name
        which = draw.randrange(3) if after else 2
        log.write_bytes(changed(draw, held) if which else b"".join(one.mended() for one in held))
        if which < 2:
            more = changed(draw, after[:FIRST]) if which == 0 else b"".join(one.mended() for one in after[:FIRST])
            (folder / f"{after[0].header[0]:020d}.log").write_bytes(more)
            log = folder
    found = _read(log, compact=False)
    assert found == _read(log, compact=True)
    if log.is_file() and all(isinstance(one, Batch) for one in found):
        batches_held = cut(log.read_bytes())
        assert [len(batch.entries) for batch in found] == [batch.walked() for batch in batches_held]
    yield from commands(draw, log, place)


def _read(path: Path, compact: bool) -> list[Any]:
    """What a reader makes of a log, up to where it refuses it, and the reason."""
    found: list[Any] = []
    try:
        batch: Batch | CompactBatch
        for batch in (read_compact if compact else read)(find((path,))[0], SkipCount(0)):
            found.append(batch.whole() if isinstance(batch, CompactBatch) else batch)
    except LogError as refused:
        found.append(str(refused))
    return found


def dumps(draw: random.Random, place: Path) -> Iterator[Sequence[object]]:
    """The output of Kafka's dump tool, with other records, other lines or other letters."""
    lines = _first_lines(draw.choice([folder for folder in EVERY if (folder / "decoded.txt").exists()]))
    lines = lines[: draw.randrange(20, len(lines))]
    for _ in range(draw.choice((1, 1, 2, 3))):
        at = draw.randrange(len(lines))
        kind = draw.randrange(8)
        if kind < 6:
            lines[at] = _PAYLOAD.sub(lambda found: _record_changed(draw, found.group(1)), lines[at])
        elif kind < 7:
            lines[at] = text_changed(draw, lines[at])
        else:
            lines = list_changed(draw, lines) or lines
    if draw.randrange(2):
        lines = _counted(lines)
    log = place / draw.choice(("decoded.txt", "00000000000000000000.log"))
    log.write_text("\n".join(lines), encoding="utf-8", errors="surrogatepass")
    yield from commands(draw, log, place)


def _record_changed(draw: random.Random, text: str) -> str:
    try:
        document = json.loads(text)
    except ValueError:  # an earlier change has its letters
        return f" payload: {text}"
    mutation(draw, pool(draw))(document)
    return f" payload: {_json(draw, document)}"


@cache
def _all_lines(folder: Path) -> list[str]:
    return (folder / "decoded.txt").read_text(encoding="utf-8").splitlines()


def _first_lines(folder: Path) -> list[str]:
    return _all_lines(folder)[:120]


def _counted(lines: Sequence[str]) -> list[str]:
    """The lines with counts and offsets that fit the records that are there."""
    made: list[str] = []
    offset, head = 0, -1
    for line in lines:
        if _HEAD.match(line):
            head = len(made)
            made.append(_HEAD.sub(f"baseOffset: {offset} lastOffset: {offset - 1} count: 0 ", line))
        elif line.startswith("| offset: ") and head >= 0:
            base = int(re.findall(r"\d+", made[head])[0])
            made.append(re.sub(r"^\| offset: \d*", f"| offset: {offset}", line))
            fitting = f"baseOffset: {base} lastOffset: {offset} count: {offset - base + 1} "
            made[head] = re.sub(r"baseOffset: \d+ lastOffset: -?\d+ count: \d+ ", fitting, made[head])
            offset += 1
        else:
            made.append(line)
    return made


def _json(draw: random.Random, document: Any) -> str:
    return json.dumps(document, ensure_ascii=bool(draw.randrange(2)), separators=(",", ":"))


@cache
def _rows(folder: Path) -> str:
    return json_lines(batches(folder)[:FIRST])


def lines(draw: random.Random, place: Path) -> Iterator[Sequence[object]]:
    """JSON lines with other values, other lines or other letters."""
    text = _rows(draw.choice(EVERY)).splitlines()
    rows = [json.loads(line) for line in text[: draw.randrange(10, len(text))]]
    for _ in range(draw.choice((1, 1, 2, 3))):
        row = draw.choice(rows)
        mutation(draw, pool(draw))(row["data"] if draw.randrange(3) and isinstance(row.get("data"), dict) else row)
    if draw.randrange(4) == 0:
        rows = list_changed(draw, rows) or rows
        if draw.randrange(2):
            rows = [{**row, "offset": number, "batch": number} for number, row in enumerate(rows)]
    made = "\n".join(_json(draw, row) for row in rows)
    if draw.randrange(4) == 0:
        made = text_changed(draw, made, (*SIGNS, "NaN", "1e400", "[" * 5000, '{"a":' * 2000, "\n", ",", "}"))
    log = place / draw.choice(("log.jsonl", "0.log", "0.checkpoint"))
    log.write_text(made, encoding="utf-8", errors="surrogatepass")
    yield from commands(draw, log, place)
