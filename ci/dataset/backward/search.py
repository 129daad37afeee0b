"""`recovers` properties of a committed run: marks flow backward over the transitions of its states.

Arcs are listed once, by a job, and kept beside the run. Where there is memory for all of them this process raises the
marks itself, along the arcs to what rose; else each round is a job. A checkpoint names the files of the last finished
round, so that a search that was killed goes on after it. The marks are those of
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
from kraftcheck.ci.dataset.backward.files import is_whole, read_groups
from kraftcheck.ci.dataset.backward.listing import Listing, arcs_in
from kraftcheck.ci.dataset.backward.rounds import (
    PartFiles,
    RoundJob,
    described,
    files_of,
    marks_of,
    part_files,
    raised_round,
)
from kraftcheck.ci.dataset.jobs.stages import JobRunner
from kraftcheck.ci.dataset.search.levels import CommittedOrigins
from kraftcheck.ci.dataset.store.commits import CommitLog
from kraftcheck.ci.dataset.store.manifests import Commit, StatePlace, read_sealed, write_sealed
from kraftcheck.ci.dataset.store.objects import AnyPath, by_name, remove_folder, remove_others
from kraftcheck.ci.dataset.values import as_it_is, listed, read_fields, whole
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.blocks.closure import ARC_BYTES, MOST_STATES, MOST_WAYS, STATE_BYTES, HeldArcs
from kraftcheck.solvers.blocks.tasks import load_block_kernel
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.search.backward import Recoverability, RecoverabilityFinding

FOLDER = "backward"
"""Below a run's folder, until every property is judged."""

@frozen
class Progress:
    """How far a search is.

    Attributes:
        rounds: finished rounds; 0: the arcs are listed.
        parts: the files.
        own: for each property states concerned, those of them that fail by themselves, how many parts have one that
            satisfies it.
    """

    rounds: int
    parts: tuple[PartFiles, ...]
    own: Sequence[Sequence[int]]


def document_of(rounds: int) -> str:
    """The name of the document of a round."""
    return f"round-{rounds:05}.json"


def _progress(document: Any) -> tuple[Any, Progress]:
    """What a checkpoint belongs to, and what it says."""
    counts = listed(listed(whole(0, 1 << 56), 1 << 16), 1 << 16)
    readers = {"of": as_it_is, "rounds": whole(0, 1 << 40), "parts": listed(part_files, 1 << 16), "own": counts}
    values = read_fields(document, readers)
    return values["of"], Progress(values["rounds"], values["parts"], values["own"])


@define
class BackwardLog:
    """The folder of a search, and its checkpoint.

    Attributes:
        out: the run's folder.
        check: refuses to write once another driver may have taken over.
    """

    out: AnyPath
    check: Callable[[], None]
    _of: Any = field(default=None)

    @property
    def folder(self) -> AnyPath:
        """Where its files are."""
        return self.out / FOLDER

    def read(self, of: Any) -> Progress | None:
        """How far a search of the same was; None, and nothing left of another, where none is whole.

        Args:
            of: what it belongs to.
        """
        self._of = of
        for place in reversed(by_name(self.folder.glob("*.json"))):
            progress = self._read(place)
            if progress is not None:
                self._sweep(progress)
                return progress
        self.remove()
        self.folder.mkdir()
        return None

    def _read(self, place: AnyPath) -> Progress | None:
        """What a document says; None where it or one of its files is not what was written, or of another search."""
        try:
            (of, progress), _ = read_sealed(place, "", _progress)
        except Refusal:
            return None
        if of != self._of or place.name != document_of(progress.rounds):
            return None
        return progress if all(is_whole(self.folder, file) for file in files_of(progress.parts)) else None

    def write(self, progress: Progress) -> None:
        """Note a finished round; files of rounds before it go."""
        document = {
            "of": self._of, "rounds": progress.rounds, "parts": described(progress.parts), "own": progress.own,
        }  # fmt: skip
        write_sealed(self.folder / document_of(progress.rounds), document, self.check)
        self._sweep(progress)

    def _sweep(self, progress: Progress) -> None:
        """Remove what the checkpoint does not name, such as files of lost attempts."""
        named = {document_of(progress.rounds), *(file.name for file in files_of(progress.parts))}
        remove_others(self.folder, named)

    def remove(self) -> None:
        """Forget the search."""
        self.check()
        remove_folder(self.folder)


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
        rounds: rounds so far; all that are done in memory are one.
        resumed: rounds of them that were there from a search before; None: not even arcs were.
    """

    runner: JobRunner
    log: CommitLog
    commits: Sequence[Commit]
    program: Program
    memory: int
    report: Callable[[int, int], None]
    rounds: int = 0
    resumed: int | None = None
    _kept: BackwardLog = field(init=False)
    _bits: Bits = field(init=False)
    _listing: Listing = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Lay out the marks."""
        self._kept = BackwardLog(self.log.out, self.log.check_lease)
        self._bits = Bits(len(self.program.recovers))
        self._listing = Listing(self.runner, self.log, self.commits, self.program)

    def run(self, stop: threading.Event) -> Recoverability:
        """The recoverability of the explored graph; without findings when it was stopped.

        Raises:
            JobFailedError: when a job fails on all attempts; finished rounds stay.
        """
        start = time.monotonic()
        of = [self.log.read_run().run, self.runner.spec.recovers, *([one.depth, one.rows] for one in self.commits)]
        progress = self._kept.read(of)
        self.resumed = None if progress is None else progress.rounds
        progress = self._listed(stop) if progress is None else progress
        marks = None if progress is None else self._closed(progress, stop)
        if progress is None or marks is None:
            return Recoverability(None, self.rounds, time.monotonic() - start)
        findings = self._findings(self._numbering(progress), progress.own, marks)
        self._kept.remove()
        return Recoverability(findings, self.rounds, time.monotonic() - start)

    def _numbering(self, progress: Progress) -> Numbering:
        return self._listing.numbering(len(progress.parts))

    def _listed(self, stop: threading.Event) -> Progress | None:
        """List the arcs; None when stopped."""
        listed = self._listing.listed(self._kept.folder, "arcs backward", stop)
        if listed is None:
            return None
        progress = Progress(0, *listed)
        self._kept.write(progress)
        return progress

    def _closed(self, progress: Progress, stop: threading.Event) -> Iterator[tuple[int, Numbers]] | None:
        """All marks once none can rise, as (first number, marks of states from it on); None when stopped."""
        numbering, self.rounds = self._numbering(progress), progress.rounds
        if self._fits(progress, numbering):
            marks = self._here(progress, numbering, stop)
            self.rounds += 1
            self.report(self.rounds, 0)
            return None if stop.is_set() else _in_pieces(marks)
        rose = 1
        while rose:
            if stop.is_set() or (after := self._round(progress, numbering, stop)) is None:
                return None
            progress, rose = after
            self.rounds = progress.rounds
            self.report(self.rounds, rose)
        return self._read_marks(progress, numbering)

    def _fits(self, progress: Progress, numbering: Numbering) -> bool:
        """Whether the driver has memory for all arcs."""
        size = ARC_BYTES * arcs_in(progress.parts) + STATE_BYTES * numbering.count
        return size <= self.memory and numbering.count < MOST_STATES and len(ways_of(self.runner.spec)) <= MOST_WAYS

    def _here(self, progress: Progress, numbering: Numbering, stop: threading.Event) -> Marks:
        """Raise all marks in the driver, along arcs in memory."""
        spec, folder = self.runner.spec, self._kept.folder
        marks = np.empty(numbering.count, dtype=f"u{spec.mark_bytes}")
        for first, part in self._read_marks(progress, numbering):
            marks[first : first + len(part)] = part
        held = HeldArcs(load_block_kernel(spec), ways_of(spec), marks, arcs_in(progress.parts))
        for number, files in enumerate(progress.parts):
            first, last = numbering.states_of(number)
            for (targets,) in read_groups(folder, files.arcs, "target"):
                held.count(first, last, targets)
            if not progress.rounds:
                for numbers, bits in read_groups(folder, files.leaves, "number", "bits"):
                    np.bitwise_or.at(marks, numbers, bits.astype(marks.dtype))
        groups = (read_groups(folder, files.arcs, "target", "source", "way") for files in progress.parts)
        held.take(itertools.chain.from_iterable(groups))
        held.close(stop.is_set)
        return marks

    def _read_marks(self, progress: Progress, numbering: Numbering) -> Iterator[tuple[int, Numbers]]:
        for number, part in enumerate(progress.parts):
            first, last = numbering.states_of(number)
            yield first, marks_of(self._kept.folder, part, last - first)

    def _round(self, progress: Progress, numbering: Numbering, stop: threading.Event) -> tuple[Progress, int] | None:
        """One round by a job, and how many marks rose; None when stopped."""
        is_first, parts = progress.rounds == 0, dict(enumerate(progress.parts))
        flowing = [n for n, part in parts.items() if (part.risen if not is_first else part.marks or part.leaves)]
        job = RoundJob(str(self._kept.folder), numbering, is_first, parts, tuple(flowing))
        done = raised_round(self.runner, job, f"backward round {progress.rounds + 1}", stop)
        if done is None:
            return None
        after = Progress(progress.rounds + 1, done[0], progress.own)
        if flowing:
            self._kept.write(after)
        return after, done[1]

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

