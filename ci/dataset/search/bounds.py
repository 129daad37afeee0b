"""Where a search that is committed level by level may be cut."""

from __future__ import annotations

from attrs import frozen

HANDOVER = 200_000
"""States of the first level that the native start leaves to the engine, unless `--handover` says otherwise."""

BUCKETS = 64
"""Parts of the visited set on one machine, unless `--buckets` says otherwise."""


@frozen
class Bounds:
    """Where a run may be cut; between levels only.

    Attributes:
        handover: states of the first level that is left to the engine.
        memory: bytes that the native start may use.
        threads: of the native start.
        max_depth, max_states, stop_at_first, strict: as `explore` takes them.
    """

    handover: int
    memory: int
    threads: int
    max_depth: int | None = None
    max_states: int | None = None
    stop_at_first: bool = False
    strict: bool = False
