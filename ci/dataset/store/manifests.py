"""Sealed documents, which bear their own digest, and manifests: the description of a committed level as one of them."""

from __future__ import annotations

import hashlib
import json
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from attrs import asdict, evolve, field, frozen

from kraftcheck.ci.dataset.documents import MOST_CLAIMS
from kraftcheck.ci.dataset.store.levelfiles import NO_ACTION, Groups, LevelFile
from kraftcheck.ci.dataset.store.objects import AnyPath, ObjectPath, PresentError
from kraftcheck.ci.dataset.values import (
    INT64,
    SHA256,
    Reader,
    as_it_is,
    listed,
    mapped,
    matching,
    number,
    one_of,
    read_fields,
    record,
    shown,
    whole,
)
from kraftcheck.ci.terminal.files import parse_json, read_json, replace
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.blocks.tasks import MOST_BUCKET_BITS

SEAL = "sha256"

MOST_BYTES = 1 << 24  # bytes of a document, at most: in memory it takes some thirty times that

T = TypeVar("T")


def digest(content: Mapping[str, Any]) -> str:
    """The SHA-256 of a document's content, whatever its layout in the file."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def write_sealed(path: AnyPath, content: Mapping[str, Any], check: Callable[[], None] = lambda: None) -> None:
    """Write a document through to the disk under another name, then rename it, and write its folder through.

    Args:
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
    """Write an object that is not there yet; if it is there with this content, an attempt before made it."""
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
    """The digest of a document, whatever it says; raises Refusal as `read_sealed` does."""
    return read_sealed(path, mend, lambda content: None)[1]


PLACE_BITS = 48


@frozen(order=True)
class StatePlace:
    """A state of a dataset."""

    depth: int
    id: int  # its number there: bucket and row

    @classmethod
    def of(cls, number: int) -> StatePlace:
        """The place that a query has as one number: depth << 48 | id."""
        return cls(number >> PLACE_BITS, number & (1 << PLACE_BITS) - 1)


@frozen
class PlacedOccurrence:
    """Where a claim first occurred."""

    state: StatePlace
    action: int  # the action instance taken there, or NO_ACTION for a claim about the state


@frozen
class Commit:
    """A committed level."""

    depth: int  # steps from the initial states
    # files, groups: its Parquet files, and for each bucket that has rows where they are
    files: tuple[LevelFile, ...]
    groups: Groups
    counters: tuple[int, ...] = field(repr=False)  # the frame of all expansions up to the level before, added up
    claims: Mapping[int, PlacedOccurrence]  # by number the first occurrence
    expanded: int  # states of the level before that were expanded to make it, as counted while they were
    engine: str = "native"  # `native`, `disk` or `spark`
    # seconds, tasks, candidates, bytes shuffled and spilled of the job that made it
    cost: Mapping[str, float] = field(factory=dict)

    @property
    def rows(self) -> int:
        """Its states."""
        return sum(file.rows for file in self.files)

    @property
    def bytes(self) -> int:
        """Bytes of its files."""
        return sum(file.bytes for file in self.files)

    @property
    def last(self) -> bool:
        """Whether it ends the run: it has no states, so that none is left to be expanded."""
        return not self.files


def content(level: Commit) -> dict[str, Any]:
    """A level as a document."""
    document = asdict(evolve(level, claims={}), filter=lambda attribute, _: attribute.name != "groups")
    document["claims"] = {
        n: [occurrence.state.depth, occurrence.state.id, occurrence.action] for n, occurrence in level.claims.items()
    }
    document["groups"], document["bucket_bits"] = level.groups.packed(), level.groups.bits
    return document


def parse(document: Any) -> tuple[Commit, str]:
    """A manifest's content as a commit, and the digest before it; raises ValueError for what does not fit."""
    values = read_fields(document, _MANIFEST)
    files, depth = values["files"], values["depth"]
    names = [file.name for file in files]
    if len(set(names)) < len(names):
        raise ValueError("files: one of them is there twice")
    groups = Groups.unpacked(names, values["groups"], values["bucket_bits"])
    rows = np.bincount(groups.table["file"], groups.table["rows"], len(files))
    if rows.tolist() != [file.rows for file in files]:
        raise ValueError("its groups and its files differ in rows")
    claims = {}
    for claim, (level, identity, action) in values["claims"].items():
        if level > depth:
            raise ValueError(f"claims: {claim}: it occurred in level {level}")
        claims[int(claim)] = PlacedOccurrence(StatePlace(level, identity), action)
    plain = {name: values[name] for name in ("depth", "files", "counters", "engine", "cost", "expanded")}
    return Commit(groups=groups, claims=claims, **plain), values["previous"]


def _occurrence(value: Any) -> tuple[int, int, int]:
    """Depth, id and action instance of the first occurrence of a claim."""
    if not isinstance(value, list) or len(value) != len(_OCCURRENCE):
        raise ValueError(f"takes a list of {len(_OCCURRENCE)}, not {shown(value)}")
    depth, identity, action = (read(one) for read, one in zip(_OCCURRENCE, value, strict=True))
    return depth, identity, action


MOST_DEPTH, MOST_FILES, MOST_COUNTERS = 10**8, 1 << 16, 1 << 20
_OCCURRENCE = (whole(0, MOST_DEPTH), whole(0, (1 << PLACE_BITS) - 1), whole(0, NO_ACTION))
_MANIFEST: Mapping[str, Reader[Any]] = {
    "depth": whole(0, MOST_DEPTH),
    "files": listed(record(LevelFile), MOST_FILES),
    "counters": listed(whole(*INT64), MOST_COUNTERS),
    "claims": mapped(matching(re.compile("0|[1-9][0-9]{0,4}", re.ASCII)), _occurrence, MOST_CLAIMS),
    "engine": one_of("native", "disk", "spark"),
    "cost": mapped(matching(re.compile("[a-z_]{1,30}")), number, 1 << 6),
    "expanded": whole(0, 1 << 56),
    "groups": as_it_is,  # read with the table that it is
    "bucket_bits": whole(0, MOST_BUCKET_BITS),
    "previous": matching(SHA256),
}


def check(levels: Sequence[Commit], folder: AnyPath) -> None:
    """Check that the last level follows the one before; raises ValueError where not, OSError for a file unseen."""
    level = levels[-1]
    if level.depth != len(levels) - 1:
        raise ValueError(f"it is of depth {level.depth}")
    if level.depth == 0 and level.last:
        raise ValueError("it has no initial state")
    before = levels[-2].rows if len(levels) > 1 else 0
    if level.expanded != before or (len(levels) > 1 and levels[-2].last):
        raise ValueError(f"{level.expanded:,} of {before:,} states of the level before were expanded")
    if level.last and folder.exists() and any(folder.iterdir()):
        raise ValueError(f"it says that there are no states, and {folder} has files")


def check_sizes(level: Commit, folder: AnyPath) -> None:
    """Check that the files of a level have their sizes; raises ValueError for another, OSError where none is seen."""
    sizes = folder.sizes() if isinstance(folder, ObjectPath) and level.files else None
    for file in level.files:
        size = _size(folder / file.name, sizes)
        if size != file.bytes:
            raise ValueError(f"{folder / file.name} has {size:,} bytes instead of {file.bytes:,}")


def _size(file: AnyPath, sizes: Mapping[str, int] | None) -> int:
    """The size of a file; of objects all of a folder are known."""
    if isinstance(file, ObjectPath):
        return file.size() if sizes is None or file.name not in sizes else sizes[file.name]
    status = file.lstat()
    if not stat.S_ISREG(status.st_mode):
        raise ValueError(f"{file} is no regular file")
    return status.st_size


def reason(error: ValueError | OSError) -> str:
    """The reason of an error, in a few words."""
    return f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)
