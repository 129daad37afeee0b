"""The commit log of a run: which levels are whole, and of what they were explored.

    OUT/run.json                what is explored
    OUT/levels/00012/*.parquet  the states found at depth 12
    OUT/levels/00012.json       its manifest: written last, under another name, then renamed

A level counts once its manifest is there. Files that no manifest names are
what is left of attempts that did not finish; `sweep` removes them.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import asdict, evolve, field, frozen

from ci.files import read_json, write
from ci.refusal import Refusal
from ci.settings import Subject
from ci.spark.levelfiles import Group, LevelFile
from ci.spark.places import Occasion, Place
from ci.spark.tasks import Stored
from solvers.program import Program

FORMAT = 2


@frozen
class Commit:
    """A committed level.

    Attributes:
        depth: steps from the initial states.
        files, groups: its Parquet files and their row groups, one for each bucket that has rows.
        counters: the frame of all expansions up to the level before, added up.
        claims: by number the first occasion.
        engine: `native` or `spark`.
        cost: seconds, tasks, candidates, bytes shuffled and spilled of the job that made it.
        last: whether no further level follows.
    """

    depth: int
    files: tuple[LevelFile, ...]
    groups: tuple[Group, ...]
    counters: tuple[int, ...] = field(repr=False)
    claims: Mapping[int, Occasion]
    engine: str
    cost: Mapping[str, float]
    last: bool = False

    @property
    def rows(self) -> int:
        """Its states."""
        return sum(file.rows for file in self.files)


def identity(chosen: Subject, traced: Program, bucket_bits: int) -> dict[str, Any]:
    """What a run is of; a run goes on only where all of it is the same."""
    bounds = {f"bound {name}": value for name, value in sorted(chosen.setting.bounds.items())}
    return {
        "format": FORMAT,
        "system": chosen.name,
        "scope": chosen.setting.scope,
        **bounds,
        "rules": chosen.rules,
        "buckets": 1 << bucket_bits,
        "properties": [f"{claim.kind} {claim.id}" for claim in traced.claims],
        "actions": [f"{kind.action.name} x {len(kind.instances)}" for kind in traced.kinds],
        "fields": [f"{s.path} {s.domain.lo}..{s.domain.hi} at {s.word}:{s.shift}" for s in traced.layout.slots],
        "model (digest of the term graph)": traced.digest(),
    }


@frozen
class CommitLog:
    """The log in a folder.

    Attributes:
        out: the run's folder.
    """

    out: Path

    @property
    def run_file(self) -> Path:
        """Where the identity is."""
        return self.out / "run.json"

    def folder(self, depth: int) -> Path:
        """Where the files of a level are."""
        return self.out / "levels" / f"{depth:05}"

    def manifest(self, depth: int) -> Path:
        """Where the manifest of a level is."""
        return self.out / "levels" / f"{depth:05}.json"

    def exists(self) -> bool:
        """Whether a run was begun here."""
        return self.run_file.exists()

    def begin(self, of: Mapping[str, Any], table: Mapping[str, Any]) -> None:
        """Begin a run.

        Args:
            of: its identity.
            table: what a reader needs to decode its states.
        """
        (self.out / "levels").mkdir(parents=True, exist_ok=True)
        _write(self.run_file, {"identity": of, **table})

    def read_run(self) -> dict[str, Any]:
        """The identity and the decoding table.

        Raises:
            Refusal: when there is no run, or of another format.
        """
        if not self.exists():
            raise Refusal(
                f"{self.out} holds no exploration; run `kraftcheck explore SYSTEM --engine spark --out` first"
            )
        found = read_json(self.run_file)
        made = found.get("identity", {}).get("format") if isinstance(found, dict) else None
        if made != FORMAT:
            raise Refusal(f"{self.run_file} has format {made!r} and this version reads {FORMAT}; explore again")
        return dict(found)

    def check_same(self, of: Mapping[str, Any]) -> None:
        """Refuse to go on with a run of something else.

        Raises:
            Refusal: naming the first difference.
        """
        before = self.read_run()["identity"]
        for name in dict.fromkeys((*before, *of)):
            if before.get(name) != of.get(name):
                was, now = _difference(before.get(name), of.get(name))
                raise Refusal(
                    f"--resume: {self.out} was explored with {name} {was}, now it is {now}; explore into another --out"
                )

    def commits(self) -> list[Commit]:
        """The committed levels, from depth 0.

        Raises:
            Refusal: when a manifest is malformed.
        """
        found: list[Commit] = []
        while self.manifest(len(found)).exists():
            place = self.manifest(len(found))
            try:
                found.append(_commit(read_json(place)))
            except (KeyError, TypeError, ValueError) as error:
                raise Refusal(
                    f"{place} is no manifest ({type(error).__name__}: {error}); remove it to resume before it"
                ) from error
        return found

    def commit(self, level: Commit) -> None:
        """Make a level count, at once or not at all."""
        told = asdict(evolve(level, groups=(), claims={}))
        told["claims"] = {n: [one.state.depth, one.state.id, one.action] for n, one in level.claims.items()}
        told["groups"] = [[g.bucket, g.file, g.group, g.rows] for g in level.groups]
        _write(self.manifest(level.depth), told)

    def stored(self, level: Commit) -> Stored:
        """A level as workers see it."""
        return Stored.of(self.folder(level.depth), level.groups)

    def sweep(self, commits: Sequence[Commit]) -> None:
        """Remove files and folders of levels that no manifest names."""
        whole = {self.folder(level.depth): {file.name for file in level.files} for level in commits}
        for place in sorted((self.out / "levels").iterdir()):
            if not place.is_dir():
                continue
            if place not in whole:
                shutil.rmtree(place)
                continue
            for file in place.iterdir():
                if file.name not in whole[place]:
                    file.unlink()


def _difference(was: Any, now: Any) -> tuple[str, str]:
    """Two values in few words: of lists only what differs."""
    if isinstance(was, list) and isinstance(now, list):
        only = [[item for item in one if item not in other] for one, other in ((was, now), (now, was))]
        return ", ".join(only[0][:3]) or "in another order", ", ".join(only[1][:3]) or "in another order"
    short = (str(value)[:40] if value is not None else "absent" for value in (was, now))
    return next(short), next(short)


def _write(path: Path, content: Mapping[str, Any]) -> None:
    """Write, then write through to the disk: file by file the order is kept."""
    write(path, json.dumps(content, indent=1) + "\n")
    for place in (path, path.parent):
        handle = os.open(place, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _commit(told: Mapping[str, Any]) -> Commit:
    files = tuple(LevelFile(**file) for file in told["files"])
    groups = tuple(Group(*row) for row in told["groups"])
    if sum(group.rows for group in groups) != sum(file.rows for file in files):
        raise ValueError("its groups and its files differ in rows")
    claims = {int(number): Occasion(Place(int(d), int(i)), int(a)) for number, (d, i, a) in told["claims"].items()}
    return Commit(
        int(told["depth"]), files, groups, tuple(told["counters"]), claims, told["engine"], told["cost"],
        bool(told["last"]),
    )  # fmt: skip
