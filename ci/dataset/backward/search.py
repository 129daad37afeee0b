"""`recovers` properties of a committed run: marks flow backward over the transitions of its states.

Arcs are listed once, by a job, and kept beside the run. Where there is memory for all of them marks rise along the arcs
to what rose; else by sweeps over the arcs in their files, with the marks alone in memory. The marks are those of
`kraftcheck.solvers.machine_code.ways_back`, so is the fixpoint, and so are the verdicts.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from kraftcheck.ci.dataset.backward.arcs import ArcsJob, StateNumbering, arcs_task, exits_task, splits_of, ways_of
from kraftcheck.ci.dataset.backward.files import NAMES, PartFiles, Round, RoundLog, check_written, files_of, read_groups
from kraftcheck.ci.dataset.jobs import JobRunner, Stages
from kraftcheck.ci.dataset.search.levels import CommittedOrigins
from kraftcheck.ci.dataset.store.commits import CommitLog
from kraftcheck.ci.dataset.store.manifests import Commit, StatePlace
from kraftcheck.ci.dataset.store.objects import AnyPath
from kraftcheck.ci.terminal.refusal import JobFailedError
from kraftcheck.solvers.blocks.tasks import RegionQuestion
from kraftcheck.solvers.liveness.backward import Recoverability, RecoverabilityFinding
from kraftcheck.solvers.liveness.fair import StoppedError
from kraftcheck.solvers.machine_code.closure import ARC_BYTES, MOST_STATES, MOST_WAYS, STATE_BYTES, HeldArcs
from kraftcheck.solvers.machine_code.transition import FramePlan
from kraftcheck.solvers.program.program import Program

PART_TRANSITIONS = 1 << 23  # transitions of the explored states for each task that lists arcs, about

HERE_TRANSITIONS = 1 << 20
"""Transitions up to which one thread of this process lists the arcs: a job of many tasks would take longer."""


@frozen
class Listing:
    """The listing of the arcs of a committed run."""

    runner: JobRunner
    log: CommitLog
    commits: Sequence[Commit]
    program: Program

    def numbering(self, parts: int) -> StateNumbering:
        """The numbering of the states, in so many parts."""
        return StateNumbering.of(self.commits, self.runner.spec.buckets, parts)

    def listed(
        self, folder: AnyPath, label: str, stop: threading.Event, question: RegionQuestion | None = None
    ) -> tuple[tuple[PartFiles, ...], list[list[int]]] | None:
        """List arcs, of a region if asked: files of parts, and sums; None if stopped; raises JobFailedError."""
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


FOLDER = "backward"  # below a run's folder, until every property is judged
PIECE = 1 << 20  # marks that are looked at together
Marks = npt.NDArray[Any]  # the marks of states by their number, as narrow as the kernel keeps them


@frozen
class Bits:
    """The groups of bits of a mark, for n properties."""

    n: int

    def patterns(self, number: int) -> tuple[int, int, int]:
        """All bits of a property; those of a state that is lost; those of one that recovers beyond a bound, if ever."""
        reach, leaves, about = (1 << number + group * self.n for group in range(3))
        return reach | leaves | about, about, about | leaves


@define
class CommittedBackward:
    """One backward search over a committed run."""

    runner: JobRunner
    log: CommitLog
    commits: Sequence[Commit]
    program: Program
    memory: int  # bytes that arcs may take in this process
    report: Callable[[int, int], None]  # called after each round with its number and how many marks rose in it
    resumed: int | None = None  # rounds that were there from a search before; None: not even arcs were
    _rounds: RoundLog = field(init=False)
    _bits: Bits = field(init=False)
    _listing: Listing = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Lay out the marks."""
        self._bits = Bits(len(self.program.recovers))
        self._listing = Listing(self.runner, self.log, self.commits, self.program)

    @property
    def rounds(self) -> int:
        """Rounds so far: the listing of arcs is one, each sweep is one, and all that is done in memory is one."""
        return self._rounds.rounds

    def run(self, stop: threading.Event) -> Recoverability:
        """The recoverability of the graph, without findings if stopped; raises JobFailedError; finished rounds stay."""
        start = time.monotonic()
        of = [self.log.read_run().run, self.runner.spec.recovers, *([one.depth, one.rows] for one in self.commits)]
        self._rounds = RoundLog(self.log.out / FOLDER, of, stop, self.report, self.log.check_lease)
        self.resumed = self.rounds or None
        try:
            findings = self._judged(stop)
        except StoppedError:
            return Recoverability(None, self.rounds, time.monotonic() - start)
        self._rounds.remove()
        return Recoverability(findings, self.rounds, time.monotonic() - start)

    def _judged(self, stop: threading.Event) -> tuple[RecoverabilityFinding, ...]:
        """The findings, once no mark can rise; raises StoppedError when it is stopped."""
        done = self._rounds.round("arcs", lambda: self._listed(stop))
        numbering = self._listing.numbering(len(done.parts))
        marks = self._own_marks(done.parts, numbering)
        if self._fits(done, numbering):
            self._follow(done.parts, numbering, marks, stop)
            self._tell(0)
        else:
            self._sweep(done.parts, marks, stop)
        if stop.is_set():
            raise StoppedError
        own = np.array(done.counts[1:], dtype=np.int64).reshape(-1, 3).tolist()
        return self._findings(numbering, own, marks)

    def _listed(self, stop: threading.Event) -> Round | None:
        listed = self._listing.listed(self._rounds.folder, "arcs backward", stop)
        return None if listed is None else Round(listed[0], (0, *itertools.chain.from_iterable(listed[1])))

    def _fits(self, listed: Round, numbering: StateNumbering) -> bool:
        """Whether this process has memory for all arcs."""
        size = ARC_BYTES * arcs_in(listed.parts) + STATE_BYTES * numbering.count
        return size <= self.memory and numbering.count < MOST_STATES and len(ways_of(self.runner.spec)) <= MOST_WAYS

    def _tell(self, rose: int) -> None:
        self._rounds.rounds += 1
        self.report(self.rounds, rose)

    def _own_marks(self, parts: Sequence[PartFiles], numbering: StateNumbering) -> Marks:
        """The marks that states have by themselves, and by what leads out of the explored states or of a domain."""
        folder = self._rounds.folder
        marks = np.empty(numbering.count, dtype=f"u{self.runner.spec.mark_bytes}")
        for number, part in enumerate(parts):
            first, last = numbering.states_of(number)
            own = [bits for (bits,) in read_groups(folder, part.marks, "bits")]
            if sum(map(len, own)) != last - first:
                raise RuntimeError(f"{sum(map(len, own)):,} marks of {last - first:,} states in {folder}")
            marks[first:last] = np.concatenate([np.zeros(0, dtype=np.int64), *own])
        for part in parts:
            for numbers, bits in read_groups(folder, part.leaves, "number", "bits"):
                np.bitwise_or.at(marks, numbers, bits.astype(marks.dtype))
        return marks

    def _follow(
        self, parts: Sequence[PartFiles], numbering: StateNumbering, marks: Marks, stop: threading.Event
    ) -> None:
        spec, folder = self.runner.spec, self._rounds.folder
        held = HeldArcs(ways_of(spec), marks, arcs_in(parts))
        for number, files in enumerate(parts):
            for (targets,) in read_groups(folder, files.arcs, "target"):
                held.count(*numbering.states_of(number), targets)
        groups = (read_groups(folder, files.arcs, "target", "source", "way") for files in parts)
        held.take(itertools.chain.from_iterable(groups))
        held.close(stop.is_set)

    def _sweep(self, parts: Sequence[PartFiles], marks: Marks, stop: threading.Event) -> None:
        """Raise all marks by sweeps over the arcs in their files, until in one of them none rises."""
        flows, rose = ways_of(self.runner.spec).astype(marks.dtype), 1
        while rose and not stop.is_set():
            rose = 0
            for part in reversed(parts):
                for targets, sources, ways in read_groups(self._rounds.folder, part.arcs, "target", "source", "way"):
                    if stop.is_set():
                        return
                    new = flows[ways] & marks[targets] & ~marks[sources]
                    rising = np.flatnonzero(new)
                    np.bitwise_or.at(marks, sources[rising], new[rising])
                    rose += len(rising)
            self._tell(rose)

    def _findings(
        self, numbering: StateNumbering, own: Sequence[Sequence[int]], marks: Marks
    ) -> tuple[RecoverabilityFinding, ...]:
        """The verdicts of the fixpoint: the first place, by depth, that is lost or uncertain."""
        least: dict[tuple[int, int], int] = {}
        for first in range(0, len(marks), PIECE):
            part = marks[first : first + PIECE].astype(np.int64)
            for number in range(self._bits.n):
                every, *patterns = self._bits.patterns(number)
                for which, pattern in enumerate(patterns):
                    found = np.flatnonzero(part & every == pattern)
                    if len(found):
                        place = int(numbering.places(found + first).min())
                        least[number, which] = min(place, least.get((number, which), place))
        origins = CommittedOrigins(self.log, self.commits, self.runner.spec.words)
        findings = []
        for n, (claim, (concerned, failing, satisfied)) in enumerate(zip(self.program.recovers, own, strict=True)):
            lost, uncertain = (None if (n, i) not in least else StatePlace.of(least[n, i]) for i in range(2))
            findings.append(
                RecoverabilityFinding(
                    claim.claim, concerned, failing, None if lost is None else origins.run_to(lost),
                    None if uncertain is None else uncertain.depth, satisfied=bool(satisfied),
                )
            )  # fmt: skip
        return tuple(findings)
