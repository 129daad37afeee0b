"""What a worker looks at before it works: whether it sees its driver's lease. Workers have no click."""

from __future__ import annotations

import json
import socket
from typing import Any, TypeAlias

from kraftcheck.ci.dataset.store.objects import AnyPath
from kraftcheck.ci.dataset.store.stores import place_of

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
