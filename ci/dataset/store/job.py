"""The job that expands a level, as workers see it.

They look for their driver's lease, and read committed levels.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any, TypeAlias

from attrs import field, frozen

from kraftcheck.ci.dataset.store.levelfiles import BucketRange, Groups, read_states
from kraftcheck.ci.dataset.store.objects import AnyPath
from kraftcheck.ci.dataset.store.stores import place_of
from kraftcheck.solvers.blocks.expansion import Descent
from kraftcheck.solvers.blocks.tasks import Words

Sight: TypeAlias = tuple[str, str]
"""A driver's lease as workers look at it: where it is, and its token."""


_KINDS: dict[str, Any] = {
    "host": str, "boot": str, "pid": int, "token": str, "processes": str, "started": int | None,
}  # fmt: skip
"""The keys of a lease, and what they hold."""

_MOST_PID = 1 << 30


class SightError(RuntimeError):
    """A worker that does not see the run of its driver; the message is a refusal."""


def owner_of(data: bytes) -> dict[str, Any]:
    """Whom a lease names, by its keys and their kinds; nobody when it names none."""
    try:
        owner = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    fits = isinstance(owner, dict) and all(isinstance(value, _KINDS.get(key, ())) for key, value in owner.items())
    return owner if fits and 0 <= owner.get("pid", 0) <= _MOST_PID else {}


def names(lease: AnyPath, token: str) -> bool:
    """Whether a lease can be read and names the driver with this token."""
    try:
        return owner_of(lease.read_bytes()).get("token") == token
    except OSError:
        return False


def check_sight(sight: Sight | None) -> None:
    """Refuse to work for a run whose lease this process does not see: it would write elsewhere, or for a dead driver.

    Raises:
        SightError: naming this machine.
    """
    if sight is not None and not names(place_of(sight[0]), sight[1]):
        raise SightError(
            f"the worker on {socket.gethostname()} does not see the driver's {sight[0]}; "
            "choose an --out that all workers share, or look whether its driver lives"
        )


@frozen
class StoredLevel:
    """A committed level as workers see it: its folder, and where its rows are."""

    folder: str
    groups: Groups

    @property
    def rows(self) -> int:
        """Its states."""
        return self.groups.rows

    @property
    def bits(self) -> int:
        """Of the number of one of its buckets."""
        return self.groups.bits

    def blocks(self, chosen: BucketRange, words: int) -> Iterator[tuple[int, Words]]:
        """The states of some buckets, each block with its own bucket; of coarser buckets others too.

        Raises:
            DamagedLevelError: see `read_states`.
        """
        for group, states in read_states(place_of(self.folder), self.groups.within(chosen), words):
            yield group.bucket, states


@frozen
class LevelJob:
    """One level's job.

    Attributes:
        depth: of the states that it finds.
        folder: where they go.
        frontier: the level that is expanded.
        splits: for each task of the first stage the groups that it expands.
        targets: tasks of the second stage.
        bits: of the number of a bucket of the states that it finds.
        cores: that it was planned for; the order of the rows depends on it.
        sight: what a task has to see of the run before it writes; None: nothing.
        descent: the digests of the level that is expanded and of the one before; None: workers keep no memo for it.
    """

    depth: int
    folder: str
    frontier: str
    splits: tuple[Groups, ...] = field(eq=False)
    visited: tuple[StoredLevel, ...]
    targets: int
    bits: int
    cores: int
    sight: Sight | None = None
    descent: Descent | None = None
