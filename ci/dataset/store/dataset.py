"""An explored space: the folder that an exploration left, opened to be read. Its files are compared with digests."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from attrs import frozen

from kraftcheck.ci.dataset.documents import DecodingTable, decoding
from kraftcheck.ci.dataset.options import check_readable
from kraftcheck.ci.dataset.store.commits import REPAIR, CommitLog, identity
from kraftcheck.ci.dataset.store.levelfiles import DamagedLevelError, LevelFile, verify
from kraftcheck.ci.dataset.store.manifests import Commit
from kraftcheck.ci.dataset.store.objects import AnyPath, refuse_links
from kraftcheck.ci.dataset.store.stores import place_of
from kraftcheck.ci.systems.subject import Subject, program, subject
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.machine_code.transition import NO_ACTION, FramePlan
from kraftcheck.solvers.program.program import Program


def check_files(log: CommitLog, commits: Sequence[Commit]) -> None:
    """Check committed files byte by byte, in this process; raises Refusal, naming the first that is another."""
    with ThreadPoolExecutor() as pool:
        refuse_damage(pool.map(lambda entry: verify(place_of(entry[0]), entry[1]), entries(log, commits)))


def entries(log: CommitLog, commits: Sequence[Commit]) -> list[tuple[str, LevelFile]]:
    """The committed files: folder, and the file as its manifest has it."""
    return [(str(log.folder(level.depth)), file) for level in commits for file in level.files]


def refuse_damage(results: Iterable[str | None]) -> None:
    """Refuse the first of the damages that were found; None is none."""
    damages = sorted(result for result in results if result is not None)
    if damages:
        raise Refusal(f"{damages[0]}; {REPAIR}")


@contextlib.contextmanager
def damage_refused() -> Iterator[None]:
    """Meanwhile a level that is not what its manifest says is refused; raises Refusal, naming it."""
    try:
        yield
    except DamagedLevelError as error:
        raise Refusal(f"{error}; {REPAIR}") from error


@frozen
class Dataset:
    """A folder that an exploration left."""

    log: CommitLog
    commits: tuple[Commit, ...]
    table: DecodingTable
    of: Mapping[str, Any]  # what was explored, by name

    @classmethod
    def open(cls, out: AnyPath, *, verify: bool = True) -> Dataset:
        """The dataset in a folder, manifests and sizes checked; `verify`: digests too; raises Refusal."""
        check_readable(out)
        if isinstance(out, Path) and out.exists() and not out.is_dir():
            raise Refusal(f"{out} is no folder; name the folder of an exploration")
        refuse_links(out)
        log = CommitLog(out)
        run = log.read_run()
        commits = tuple(log.commits())
        if not commits:
            raise Refusal(f"{out} has no committed level yet; `kraftcheck explore ... --resume` goes on with it")
        if verify:
            check_files(log, commits)
        return cls(log, commits, run.table, run.identity)

    def files(self) -> list[AnyPath]:
        """The level files; those that no manifest names are not among them."""
        return [self.log.folder(level.depth) / file.name for level in self.levels for file in level.files]

    @property
    def levels(self) -> tuple[Commit, ...]:
        """The levels with states."""
        return tuple(level for level in self.commits if not level.last)

    @property
    def complete(self) -> bool:
        """Whether it holds every reachable state: the last level was expanded and gave no state that is new."""
        return self.commits[-1].last

    def traced(self) -> tuple[Subject, Program]:
        """The system that was explored, traced again; raises Refusal when it is not the same any more."""
        bounds = {name.removeprefix("bound "): value for name, value in self.of.items() if name.startswith("bound ")}
        whole_subject = subject(self.of["system"], self.of["scope"], bounds, self.of["rules"])
        known = {claim.id for claim in whole_subject.system.properties(whole_subject.setting)}
        ids = [one for one in (text.split(" ", 1)[1] for text in self.of["properties"]) if one in known]
        chosen = subject(self.of["system"], self.of["scope"], bounds, self.of["rules"], ids) if ids else whole_subject
        traced = program(chosen)
        self.log.check_same(identity(chosen, traced, self.bucket_bits), decoding(traced))
        check_fit(self.log, self.commits, traced, self.bucket_bits)
        return chosen, traced

    @property
    def bucket_bits(self) -> int:
        """Of the number of a bucket of the first level."""
        return int(self.of["buckets"]).bit_length() - 1

    def transitions(self, traced: Program) -> list[int]:
        """For each level the transitions that were taken to find it: those from the level before."""
        plan = FramePlan(traced)
        sums = [sum(level.counters[plan.fired : plan.pruned]) for level in self.levels]
        return [here - before for before, here in itertools.pairwise([0, *sums])]

    def fired(self, traced: Program) -> dict[str, int]:
        """Transitions taken, by action."""
        plan, counters = FramePlan(traced), self.commits[-1].counters
        counts: dict[str, int] = {}
        for number, kind in enumerate(traced.kinds):
            counts[kind.action.name] = counts.get(kind.action.name, 0) + counters[plan.fired + number]
        return counts


def check_fit(log: CommitLog, commits: Sequence[Commit], traced: Program, bits: int) -> None:
    """Refuse the first manifest of a level that is not of a program, as `unfit` finds it."""
    for level in unfit(commits, traced, bits):
        raise Refusal(f"{log.manifest(level.depth)}: its counters, claims or buckets are another run's; {REPAIR}")


def unfit(commits: Sequence[Commit], traced: Program, bits: int) -> Iterator[Commit]:
    """Levels whose counters, claims or buckets no exploration has of a program, with so many bits at first."""
    plan = FramePlan(traced)
    for level in commits:
        actions = [one.action for one in level.claims.values() if one.action != NO_ACTION]
        has = len(level.counters), max(level.claims, default=0), max(actions, default=0)
        if has[0] != plan.size or has[1] >= plan.claim_count or has[2] >= traced.instances or level.groups.bits < bits:
            yield level
