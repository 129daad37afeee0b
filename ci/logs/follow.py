"""`kraftcheck status --follow`: the condition of a cluster whose controller goes on writing, a line for each change."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import click
from attrs import evolve

from kraftcheck.ci.logs.condition import EXIT_DANGER, condition_of
from kraftcheck.ci.logs.report import ReplayOptions
from kraftcheck.ci.terminal.progress import stop_flag
from kraftcheck.ci.terminal.refusal import Refusal

Row: TypeAlias = Mapping[str, Any]
Seen: TypeAlias = tuple[tuple[str, int, int], ...]

POLL_S = 1.0  # between two looks at the folder, in seconds
PATIENCE = 5  # looks after which what cannot be read is told: a controller writes, renames and deletes meanwhile


def follow(place: Path, options: ReplayOptions, tell: Callable[[Row | None, Row], None]) -> int:
    """Tell each condition with the one before, None at first, until Ctrl-C; the last one's exit; raises Refusal."""
    before: Row | None = None
    seen: Seen | None = None
    failures = still = highest = 0
    with stop_flag(awaits_report=True) as stop:
        while not stop.is_set():
            began, now = time.monotonic(), look(place)
            still = still + 1 if now == seen and not failures else 0
            if now != seen or failures or still == PATIENCE:
                try:  # what is not whole when nothing was written for a while never will be
                    found: Row = condition_of(place, options if still < PATIENCE else evolve(options, grows=False))
                except Refusal as reason:
                    failures += 1
                    if before is None and failures >= PATIENCE:
                        raise
                    if before is not None and failures == PATIENCE:
                        click.echo(f"cannot be read since {time.strftime('%H:%M:%S')}: {reason}", err=True)
                        lost = in_doubt(before, "the log cannot be read now")
                        tell(before, lost)
                        before = lost
                else:
                    end = found["offset"] or highest
                    if end < highest:
                        found = in_doubt(found, f"the log has gone back from offset {highest} to {end}: another copy?")
                    highest = max(highest, end)
                    tell(before, found)
                    before, seen, failures = found, now, 0
            stop.wait(max(POLL_S, time.monotonic() - began))
    return 0 if before is None else int(before["exit"])


def in_doubt(found: Row, why: str) -> Row:
    """A condition that may not be what the cluster is in, with the reason."""
    because = [*found["in_part_because"], why]
    return {**found, "in_part": True, "in_part_because": because, "exit": found["exit"] or EXIT_DANGER}


def look(place: Path) -> Seen:
    """The files of a place, their sizes and times: another answer means that something was written."""
    files = sorted(place.iterdir()) if place.is_dir() else [place]
    seen = []
    for file in files:
        try:
            state = file.stat()
        except OSError:  # deleted meanwhile, as old segments and snapshots are
            continue
        seen.append((file.name, state.st_size, state.st_mtime_ns))
    return tuple(seen)
