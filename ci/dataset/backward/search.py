"""`recovers` properties of a committed run: marks flow backward over the transitions of its states.

Arcs are listed once, by a job, and kept beside the run. Where there is memory for all of them marks rise along the arcs
to what rose; else by sweeps over the arcs in their files, with the marks alone in memory. The marks are those of
`kraftcheck.solvers.machine_code.backward_sweep`, so is the fixpoint, and so are the verdicts.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from kraftcheck.ci.dataset.backward.arcs import Numbering, ways_of
from kraftcheck.ci.dataset.backward.files import PartFiles, Round, RoundLog, read_groups
from kraftcheck.ci.dataset.backward.listing import Listing, arcs_in
from kraftcheck.ci.dataset.jobs import JobRunner
from kraftcheck.ci.dataset.search.levels import CommittedOrigins
from kraftcheck.ci.dataset.store.commits import CommitLog
from kraftcheck.ci.dataset.store.manifests import Commit, StatePlace
from kraftcheck.solvers.liveness.fair import StoppedError
from kraftcheck.solvers.machine_code.closure import ARC_BYTES, MOST_STATES, MOST_WAYS, STATE_BYTES, HeldArcs
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
        """Rounds so far: the listing of arcs is one, each sweep is one, and all that is done in memory is one."""
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
        """List the arcs; None when stopped."""
        listed = self._listing.listed(self._rounds.folder, "arcs backward", stop)
        return None if listed is None else Round(listed[0], (0, *itertools.chain.from_iterable(listed[1])))

    def _fits(self, listed: Round, numbering: Numbering) -> bool:
        """Whether this process has memory for all arcs."""
        size = ARC_BYTES * arcs_in(listed.parts) + STATE_BYTES * numbering.count
        return size <= self.memory and numbering.count < MOST_STATES and len(ways_of(self.runner.spec)) <= MOST_WAYS

    def _tell(self, rose: int) -> None:
        self._rounds.rounds += 1
        self.report(self.rounds, rose)

    def _own_marks(self, parts: Sequence[PartFiles], numbering: Numbering) -> Marks:
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
        self, parts: Sequence[PartFiles], numbering: Numbering, marks: Marks, stop: threading.Event
    ) -> None:  # fmt: skip
        """Raise all marks along arcs in memory."""
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
        self, numbering: Numbering, own: Sequence[Sequence[int]], marks: Marks
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
