"""Datasets that a stranger changed, all digests computed anew: nothing in them is an accident."""

import base64
import json
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kraftcheck.ci.dataset.store.manifests import SEAL, digest
from tests.ci.fuzz.mutations import VALUES, Alter
from tests.shared.commands import Ran, kraftcheck

EXPLORE = ("explore", "broker-ids", "--scope", "tiny", "--engine", "disk", "--quiet", "--workers", "1")
COUNTS = "SELECT count(*) AS n FROM states"
STEPS = "SELECT count(*) AS n FROM transitions"
DEEPEST = "SELECT depth, id FROM states ORDER BY depth DESC, id LIMIT 1"


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
    """Values that somebody would put into a document; some would write `canary` if they were believed."""
    sql = f"0 AS a FROM packed; COPY (SELECT 1) TO '{canary}'; CREATE VIEW b AS SELECT 0"
    return [
        *VALUES,
        str(canary),
        f"../../../../../../../../..{canary}",
        sql,
        f"'); {sql} --",
        f'"; {sql} --',
        bomb(1 << 28),
    ]


def opening(out: Path) -> dict[str, tuple[object, ...]]:
    """Each command that opens a dataset; the last ones change it."""
    return {
        "count": ("query", out, COUNTS),
        "transitions": ("query", out, STEPS),
        "witness": ("query", out, DEEPEST, "--witness"),
        "plot": ("query", out, "--plot", out.with_suffix(".svg")),
        "resume": (*EXPLORE, "--out", out, "--resume"),
        "repair": (*EXPLORE, "--out", out, "--resume", "--repair"),
    }


def opened(out: Path) -> Iterator[tuple[str, Ran]]:
    """What each command that opens a dataset makes of this one."""
    return ((name, kraftcheck(*words)) for name, words in opening(out).items())
