"""`recovers` properties of a committed run: marks flow backward over the transitions of its states.

Arcs are listed once, by a job, and kept beside the run. Where there is memory for all of them this process raises the
marks itself, along the arcs to what rose; else each round is a job. The marks are those of
`kraftcheck.solvers.machine_code.backward_sweep`, so is the fixpoint, and so are the verdicts.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from kraftcheck.ci.dataset.backward.arcs import Numbering, Numbers, ways_of
from kraftcheck.ci.dataset.backward.files import PartFiles, Round, RoundLog, read_groups
from kraftcheck.ci.dataset.backward.rounds import Listing, arcs_in, closed, marks_of
from kraftcheck.ci.dataset.jobs import JobRunner
from kraftcheck.ci.dataset.search.levels import CommittedOrigins
from kraftcheck.ci.dataset.store.commits import CommitLog
from kraftcheck.ci.dataset.store.manifests import Commit, StatePlace
from kraftcheck.solvers.blocks.closure import ARC_BYTES, MOST_STATES, MOST_WAYS, STATE_BYTES, HeldArcs
from kraftcheck.solvers.blocks.tasks import load_block_kernel
from kraftcheck.solvers.liveness.fair import StoppedError
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.search.backward import Recoverability, RecoverabilityFinding

FOLDER = "backward"
"""Below a run's folder, until every property is judged."""

PIECE = 1 << 20
"""Marks that are looked at together."""

Marks = npt.NDArray[Any]
"""The marks of states by their number, as narrow as the kernel keeps them."""


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
    """One backward search over a committed run.

    Attributes:
        runner: runs the jobs.
        log, commits: the run.
        program: what was explored.
        memory: bytes that arcs may take in this process.
        report: called after each round with its number and how many marks rose in it.
        resumed: rounds that were there from a search before; None: not even arcs were.
    """

    runner: JobRunner
    log: CommitLog
    commits: Sequence[Commit]
    program: Program
    memory: int
    report: Callable[[int, int], None]
    resumed: int | None = None
    _rounds: RoundLog = field(init=False)
    _bits: Bits = field(init=False)
    _listing: Listing = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Lay out the marks."""
        self._bits = Bits(len(self.program.recovers))
        self._listing = Listing(self.runner, self.log, self.commits, self.program)

    @property
    def rounds(self) -> int:
        """Rounds so far: the listing of arcs is one, and all that are done in memory are one."""
        return self._rounds.rounds

    def run(self, stop: threading.Event) -> Recoverability:
        """The recoverability of the explored graph; without findings when it was stopped.

        Raises:
            JobFailedError: when a job fails on all attempts; finished rounds stay.
        """
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
        """The findings, once no mark can rise.

        Raises:
            StoppedError: when it is stopped.
        """
        done = self._rounds.round("arcs", lambda: self._listed(stop))
        numbering = self._listing.numbering(len(done.parts))
        if self._fits(done, numbering):
            marks = _in_pieces(self._here(done, numbering, stop))
            self._rounds.rounds += 1
            self.report(self.rounds, 0)
            if stop.is_set():
                raise StoppedError
        else:
            raised, _ = closed(self.runner, self._rounds, "backward", numbering, done.parts)
            marks = self._read_marks(raised, numbering)
        own = np.array(done.counts[1:], dtype=np.int64).reshape(-1, 3).tolist()
        return self._findings(numbering, own, marks)

    def _listed(self, stop: threading.Event) -> Round | None:
        """List the arcs; None when stopped."""
        listed = self._listing.listed(self._rounds.folder, "arcs backward", stop)
        return None if listed is None else Round(listed[0], (0, *itertools.chain.from_iterable(listed[1])))

    def _fits(self, listed: Round, numbering: Numbering) -> bool:
        """Whether this process has memory for all arcs."""
        size = ARC_BYTES * arcs_in(listed.parts) + STATE_BYTES * numbering.count
        return size <= self.memory and numbering.count < MOST_STATES and len(ways_of(self.runner.spec)) <= MOST_WAYS

    def _here(self, listed: Round, numbering: Numbering, stop: threading.Event) -> Marks:
        """Raise all marks in this process, along arcs in memory."""
        spec, folder, parts = self.runner.spec, self._rounds.folder, listed.parts
        marks = np.empty(numbering.count, dtype=f"u{spec.mark_bytes}")
        for first, part in self._read_marks(parts, numbering):
            marks[first : first + len(part)] = part
        held = HeldArcs(load_block_kernel(spec), ways_of(spec), marks, arcs_in(parts))
        for number, files in enumerate(parts):
            first, last = numbering.states_of(number)
            for (targets,) in read_groups(folder, files.arcs, "target"):
                held.count(first, last, targets)
            for numbers, bits in read_groups(folder, files.leaves, "number", "bits"):
                np.bitwise_or.at(marks, numbers, bits.astype(marks.dtype))
        groups = (read_groups(folder, files.arcs, "target", "source", "way") for files in parts)
        held.take(itertools.chain.from_iterable(groups))
        held.close(stop.is_set)
        return marks

    def _read_marks(self, parts: Sequence[PartFiles], numbering: Numbering) -> Iterator[tuple[int, Numbers]]:
        """All marks, as (first number, marks of states from it on)."""
        for number, part in enumerate(parts):
            first, last = numbering.states_of(number)
            yield first, marks_of(self._rounds.folder, part, last - first)

    def _findings(
        self, numbering: Numbering, own: Sequence[Sequence[int]], marks: Iterator[tuple[int, Numbers]]
    ) -> tuple[RecoverabilityFinding, ...]:
        """The verdicts of the fixpoint: the first place, by depth, that is lost or uncertain."""
        least: dict[tuple[int, int], int] = {}
        for first, part in marks:
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


def _in_pieces(marks: Marks) -> Iterator[tuple[int, Numbers]]:
    """Marks as the rounds of jobs have them, some at a time."""
    for at in range(0, len(marks), PIECE):
        yield at, marks[at : at + PIECE].astype(np.int64)

