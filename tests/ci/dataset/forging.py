"""Datasets that a stranger changed, all digests computed anew: nothing in them is an accident."""

from __future__ import annotations

import base64
import json
import random
import resource
import shutil
import signal
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kraftcheck.ci.dataset.store.sealed import SEAL, digest
from tests.shared.commands import Ran, kraftcheck

EXPLORE = ("explore", "broker-ids", "--scope", "tiny", "--engine", "disk", "--quiet", "--workers", "1")
COUNTS = "SELECT count(*) AS n FROM states"
STEPS = "SELECT count(*) AS n FROM transitions"
DEEPEST = "SELECT depth, id FROM states ORDER BY depth DESC, id LIMIT 1"

MOST_BYTES = 1 << 30
SECONDS = 120

Alter = Callable[[dict[str, Any]], object]


def manifests(out: Path) -> list[Path]:
    """The manifests of a dataset, by depth."""
    return sorted((out / "levels").glob("*.json"))


def forged(kept: Path, out: Path, run: Alter = lambda document: None, **levels: Alter) -> Path:
    """A copy of a dataset with changes in run.json, and in the manifests `level0`, `level1`, ...; all sealed again."""
    shutil.copytree(kept, out, symlinks=True)
    seal = _sealed(out / "run.json", run)
    for number, place in enumerate(manifests(out)):
        alter = levels.get(f"level{number}", lambda document: None)

        def change(document: dict[str, Any], alter: Alter = alter, before: str = seal) -> None:
            document["previous"] = before
            alter(document)

        seal = _sealed(place, change)
    return out


def _sealed(place: Path, alter: Alter) -> str:
    document = json.loads(place.read_text(encoding="utf-8"))
    del document[SEAL]
    alter(document)
    document = json.loads(json.dumps(document))
    seal = digest(document)
    place.write_text(json.dumps({**document, SEAL: seal}), encoding="utf-8")
    return seal


def bomb(size: int) -> str:
    """A table of a manifest that is small as text, and so many bytes once it is unpacked."""
    packer = zlib.compressobj(9)
    data = b"".join(packer.compress(bytes(1 << 20)) for _ in range(size >> 20)) + packer.flush()
    return base64.b64encode(data).decode()


def hostile(canary: Path) -> list[Any]:
    """Values that somebody would put into a document; each would write `canary` if it were believed."""
    sql = f"0 AS a FROM packed; COPY (SELECT 1) TO '{canary}'; CREATE VIEW b AS SELECT 0"
    return [
        None, True, False, -1, 0, 1, 7, 63, 64, 1 << 31, (1 << 63) - 1, 1 << 63, -(1 << 63) - 1, 10**30, 0.5, 1e308,
        -0.0, "", "x", "'", '"', "`", "\\", "a\nb", "\x00", "\x1b]0;x\x07", "\ud800", "${env:HOME}", "$$", "..", "../x",
        "/", str(canary), f"../../../../../../../../..{canary}", sql, f"'); {sql} --", f'"; {sql} --', "NaN", "é" * 500,
        "y" * 100_000, [], {}, [[]], {"": 0}, {"a": {"b": []}}, [0] * 5000, bomb(1 << 28), "0" * 64,
    ]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values in a document, from its root on."""
    if path:
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from places(one, (*path, key))


def mutation(draw: random.Random, canary: Path) -> Alter:
    """A change of a document, drawn at random: of one to three values or keys."""
    pool, count = hostile(canary), draw.choice((1, 1, 1, 2, 3))

    def alter(document: dict[str, Any]) -> None:
        for _ in range(count):
            every = list(places(document))
            path = draw.choice([draw.choice(every), draw.choice([one for one in every if len(one) == 1])])
            holder: Any = document
            for key in path[:-1]:
                holder = holder[key]
            _change(draw, holder, path[-1], pool)

    return alter


def _change(draw: random.Random, holder: Any, key: Any, pool: list[Any]) -> None:
    value, kind = holder[key], draw.randrange(6)
    if kind == 0 and isinstance(value, int):
        holder[key] = value + draw.choice((-1, 1, 2, -value, 1 << 20, 1 << 40))
    elif kind == 1:
        del holder[key]
    elif kind == 2 and isinstance(value, list) and value:
        holder[key] = value + value[:1]
    elif kind == 3 and isinstance(holder, dict):
        holder[str(draw.choice(pool))[:50]] = holder.pop(key)
    elif kind == 4 and isinstance(value, str) and value:
        at = draw.randrange(len(value))
        holder[key] = value[:at] + draw.choice("'\"\\/.$\n0Az") + value[at + 1 :]
    else:
        holder[key] = draw.choice(pool)


@contextmanager
def bounded() -> Iterator[None]:
    """Within this many seconds and bytes, or the test fails."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def late(*_: object) -> None:
        raise TimeoutError(f"it took more than {SECONDS} s")

    kept = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, kept)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
    assert grown < MOST_BYTES, f"{grown:,} bytes more"


def opened(out: Path) -> Iterator[tuple[str, Ran]]:
    """What each command that opens a dataset makes of this one; the last ones change it."""
    yield "count", kraftcheck("query", out, COUNTS)
    yield "transitions", kraftcheck("query", out, STEPS)
    yield "witness", kraftcheck("query", out, DEEPEST, "--witness")
    yield "plot", kraftcheck("query", out, "--plot", out.with_suffix(".svg"))
    yield "resume", kraftcheck(*EXPLORE, "--out", out, "--resume")
    yield "repair", kraftcheck(*EXPLORE, "--out", out, "--resume", "--repair")
