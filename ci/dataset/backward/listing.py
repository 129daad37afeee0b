"""The listing of arcs by a job, for the ways back of a run or for the region of a liveness property."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Sequence

import numpy as np
from attrs import frozen

from kraftcheck.ci.dataset.backward.arcs import ArcsJob, Numbering, arcs_task, exits_task, splits_of
from kraftcheck.ci.dataset.backward.files import NAMES, PartFiles, check_written, files_of
from kraftcheck.ci.dataset.jobs import JobRunner, Stages
from kraftcheck.ci.dataset.store.commits import CommitLog
from kraftcheck.ci.dataset.store.manifests import Commit
from kraftcheck.ci.dataset.store.objects import AnyPath
from kraftcheck.ci.terminal.refusal import JobFailedError
from kraftcheck.solvers.blocks.regions import RegionQuestion
from kraftcheck.solvers.machine_code.transition import FramePlan
from kraftcheck.solvers.program.program import Program

PART_TRANSITIONS = 1 << 23
"""Transitions of the explored states for each task that lists arcs, about."""

HERE_TRANSITIONS = 1 << 20
"""Transitions up to which one thread of this process lists the arcs: a job of many tasks would take longer."""


@frozen
class Listing:
    """The listing of the arcs of a committed run."""

    runner: JobRunner
    log: CommitLog
    commits: Sequence[Commit]
    program: Program

    def numbering(self, parts: int) -> Numbering:
        """The numbering of the states, in so many parts."""
        return Numbering.of(self.commits, self.runner.spec.buckets, parts)

    def listed(
        self, folder: AnyPath, label: str, stop: threading.Event, question: RegionQuestion | None = None
    ) -> tuple[tuple[PartFiles, ...], list[list[int]]] | None:
        """List the arcs: the files of each part, and its counts added up; None when stopped.

        Args:
            folder: where files go.
            label: what the job is called.
            stop: cancels it.
            question: the liveness property whose region is listed; None: the ways back are.

        Raises:
            JobFailedError: when it fails on all attempts, or what it gave is not whole.
        """
        plan, spec, runner = FramePlan(self.program), self.runner.spec, self.runner
        transitions = int(np.array(self.commits[-1].counters)[plan.fired : plan.pruned].sum())
        here = transitions <= HERE_TRANSITIONS
        parts = 1 if here else -(-(transitions // PART_TRANSITIONS + 1) // runner.cores) * runner.cores
        numbering = self.numbering(min(spec.buckets, parts))
        visited = tuple(self.log.stored(level) for level in self.commits)
        job = ArcsJob(str(folder), numbering, visited, splits_of(visited), question)
        with contextlib.nullcontext() if here else runner.exchange(folder) as files:
            first, second = exits_task(runner.shipped, job, files), arcs_task(runner.shipped, job, files)
            done = runner.rows(Stages(len(job.splits), numbering.parts, first, second), label, stop, here=here)
        if done is None:
            return None
        made = sorted((json.loads(bytes(row.payload)) for row in done[0]), key=lambda part: int(part["part"]))
        sent, came, expanded = (sum(part[name] for part in made) for name in ("sent", "came", "expanded"))
        if [part["part"] for part in made] != list(range(numbering.parts)) or sent != came:
            whole = f"{len(made)} of {numbering.parts} parts, {came:,} of {sent:,} steps"
            raise JobFailedError(f"the job {label} brought back {whole}; --resume goes on")
        if expanded != numbering.count:
            raise JobFailedError(f"the job {label} expanded {expanded:,} of {numbering.count:,} states")
        parts_made = tuple(PartFiles(*(part.get(name) for name in NAMES)) for part in made)
        for file in files_of(parts_made):
            check_written(folder, file)
        total: list[list[int]] = np.array([part["own"] for part in made], dtype=np.int64).sum(axis=0).tolist()
        return parts_made, total


def arcs_in(parts: Sequence[PartFiles]) -> int:
    """How many arcs parts have."""
    return sum(part.arcs.rows for part in parts if part.arcs is not None)
