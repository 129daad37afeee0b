"""One share of a log under Spark: its partitions' records with what explains them, and notes of the rest."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import asdict, define, field

from kraftcheck.ci.logs.format.read import LogFiles, Skipped, read_stretches
from kraftcheck.ci.logs.spark.records import Records
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.records.replay import ReplayError
from kraftcheck.solvers.logs.explain.entries import Batch, Compact
from kraftcheck.solvers.logs.explain.state import METADATA_VERSION, EntryError
from kraftcheck.solvers.logs.runs.runs import Run
from kraftcheck.solvers.logs.runs.shares import Part, ShareReplay
from kraftcheck.solvers.logs.runs.stretches import UNREAD

Put = Callable[[int, pa.Table], None]
"""Takes one block of a share."""


@define
class Totals:
    """What the first share counts for the whole log."""

    batches: int = 0
    records: int = 0
    control: int = 0
    loaded: int = 0
    judged: int = 0
    level: int | None = None
    passed: Counter[str] = field(factory=Counter)

    def add_run(self, run: Run) -> None:
        """Count the batches of a run."""
        stretch = run.stretch
        start, end = (int(stretch.starts[batch]) for batch in (run.first, run.last))
        self.batches += run.last - run.first
        self.records += end - start
        self.judged = self.judged or run.judged
        bodies = stretch.bodies[start:end][stretch.keys[start:end] == UNREAD]
        for body, times in zip(*(c.tolist() for c in np.unique(bodies, return_counts=True)), strict=True):
            self.passed[stretch.names.bodies[body]] += times

    def add(self, part: Part) -> None:
        """Count one more batch."""
        batch = part.batch
        size = len(batch) if isinstance(batch, Compact) else len(batch.entries)
        if part.taken:
            control = isinstance(batch, Batch) and batch.control
            self.control += control
            self.loaded += 0 if control else size
            return
        self.batches += 1
        self.records += size
        self.judged = self.judged or part.judged
        self.passed.update(part.passed)
        if part.quick is not None:
            self.passed.update(body for body in part.quick.batch.bodies if isinstance(body, str))


def share_notes(log: LogFiles, replay: ShareReplay, share: int, put: Put) -> Iterator[str]:
    """What is to be told of one share of a log; if it cannot be replayed, the log must be replayed in another way.

    Args:
        log: its files.
        replay: of the share.
        share: its number.
        put: takes the records, block by block.
    """
    records, notes, totals, blocks = Records(log.name), [], Totals(), []
    try:
        for part in replay.parts(read_stretches(log, Skipped(0))):
            if isinstance(part, Run):
                records.ran(part, share == 0)
                if share == 0:
                    totals.add_run(part)
                if part.fits:
                    notes.append(_happened(part))
            else:
                notes += _told(part, records, totals, share)
            for block, table in records.blocks(part.last_offset + 1):
                put(block, table)
                blocks.append(block)
    except (Refusal, EntryError, ReplayError) as reason:
        notes = [{"gave up": str(reason)}]
    totals.level = replay.state.levels.get(METADATA_VERSION)
    for block, table in records.blocks():
        put(block, table)
        blocks.append(block)
    end = {"end": share, "blocks": blocks, "totals": _plain(totals) if share == 0 else None}
    yield from (json.dumps(note) for note in (*notes, end))


def _told(part: Part, records: Records, totals: Totals, share: int) -> list[dict[str, Any]]:
    """What is to be told of a batch by itself, its records apart."""
    if share == 0:
        totals.add(part)
    if part.quick is not None and not part.fits:
        records.looked_up(part, part.quick, share == 0)
        return _violated(part)
    records.moved(part)
    return _noted(part) + _violated(part)


def _plain(totals: Totals) -> dict[str, Any]:
    """The totals as plain values."""
    return asdict(totals) | {"passed": dict(totals.passed)}


def _happened(run: Run) -> dict[str, Any]:
    """What is to be told of an event of a broker after which everything holds."""
    fits = [{"name": name, "action": action, "violations": []} for name, action in run.fits]
    stretch = run.stretch
    return {"event": stretch.base_offset, "last": stretch.last_offset, "place": stretch.place(0), "fits": fits}


def _noted(part: Part) -> list[dict[str, Any]]:
    """What is to be told of a batch that is more than changes by themselves."""
    if part.taken:
        return []
    batch = part.batch
    if part.quick is None:
        return [{"whole": batch.base_offset}]
    fits = [
        {"name": fit.name, "action": fit.action,
         "violations": [[*rank, v.property, v.topic, v.partition, v.parts] for rank, v in fit.violations]}
        for fit in part.fits
    ]  # fmt: skip
    return [{"event": batch.base_offset, "last": batch.last_offset, "place": batch.place, "fits": fits}]


def _violated(part: Part) -> list[dict[str, Any]]:
    quick = part.quick
    if quick is None or part.fits or not quick.violations:
        return []
    assert isinstance(quick.steps, list)
    told, batch = iter(quick.violations), quick.batch
    rows = [
        [place, v.property, v.topic, v.partition, v.parts]
        for place, step in enumerate(quick.steps)
        for _, v in zip(step.violations if step is not None else (), told, strict=False)
    ]
    return [{"violated": batch.base_offset, "last": batch.last_offset, "place": batch.place, "rows": rows}]
