"""The backward search over an explored graph: it finds the states from which a `recovers` goal is unreachable.

The marks that `sweep` describes are swept over all states, level by level,
alternately from the deepest level to the first and back, until a sweep changes
none. They only rise, so their last values do not depend on the number of threads.
Where that takes many sweeps, as in long thin graphs, the steps by which marks may
still flow are listed by one of them, if there is room, and marks follow these.
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from kraftcheck.model.language.system import Property
from kraftcheck.solvers.machine_code.backward_sweep import OWNERS
from kraftcheck.solvers.machine_code.closure import MOST_WAYS, HeldArcs
from kraftcheck.solvers.machine_code.compile import Kernel
from kraftcheck.solvers.machine_code.objectcode import address
from kraftcheck.solvers.machine_code.search_kernel import SHARDS
from kraftcheck.solvers.machine_code.threads import ThreadPool
from kraftcheck.solvers.program.program import Program, recovery_action_bits
from kraftcheck.solvers.program.stop import is_stop, stop_reason
from kraftcheck.solvers.program.verdict import (
    Holds,
    Incomplete,
    PackedRun,
    PropertyVerdict,
    Refuted,
    Unknown,
    Vacuous,
    Verdict,
)
from kraftcheck.solvers.search.levels import FIRST_VIOLATION, Search
from kraftcheck.solvers.search.visited import VisitedSet
from kraftcheck.solvers.search.witness import witness

ARC_BYTES = 48  # bytes that an arc takes at most
LEAST_ROOM = 256 << 20  # bytes that listed steps may take however little the search took, within the limit of memory


PART = 4096  # most states of one job of a sweep
FEW_SWEEPS = 2  # the sweep that lists steps, which are followed if marks still rise in it
GROUP = 4 * SHARDS  # jobs between two reports of progress
Columns: TypeAlias = tuple[npt.NDArray[Any], ...]  # arrays with an element for each step
Job: TypeAlias = tuple[int, int, int]  # a shard, its first state and the state after its last


@frozen
class RecoverabilityFinding:
    """The result of a backward search for one property."""

    claim: Property
    concerned: int  # how many states the property is about
    failing: int  # of those concerned, how many do not satisfy it themselves
    # the run to the shallowest of those from which no run leads to a state that satisfies it
    unrecoverable: PackedRun | None
    uncertain: int | None  # the depth of the shallowest that recovers, if at all, only where the exploration did not go
    satisfied: bool  # whether any state at all satisfies it


@define
class ArcList:
    """The steps by which marks may still rise, as far as there is room for them; each thread lists its own."""

    left: int  # how many more there may be; negative once there were too many
    _room: int
    # addresses of the arrays that a sweep writes to: indices of sources, ids of targets, action instances
    places: npt.NDArray[np.int64] = field(init=False)
    count: npt.NDArray[np.int64] = field(factory=lambda: np.zeros(1, dtype=np.int64))  # how many it wrote
    _out: Columns = field(init=False)
    _parts: list[Columns] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        """Take room for what a sweep writes at once."""
        self._out = tuple(np.empty(self._room, dtype=kind) for kind in (np.uint32, np.uint32, np.uint16))
        self.places = np.array([address(array) for array in self._out], dtype=np.int64)

    def take(self, shard: int) -> None:
        """Keep what a sweep has written of a shard."""
        sources, targets, instances = (array[: int(self.count[0])] for array in self._out)
        self.left -= len(sources)
        if self.left >= 0:
            self._parts.append((sources * np.uint32(SHARDS) + np.uint32(shard), targets.copy(), instances.copy()))

    @classmethod
    def joined(cls, lists: Sequence[ArcList]) -> Columns | None:
        """Ids of targets and sources, and instances, of all; None where there was no room for some."""
        if min(one.left for one in lists) < 0:
            return None
        parts = [part for one in lists for part in one._parts]
        empty = np.empty(0, np.uint32), np.empty(0, np.uint32), np.empty(0, np.uint16)
        sources, targets, instances = (np.concatenate(columns) for columns in zip(empty, *parts, strict=True))
        return targets, sources, instances


@define
class BackwardSearch:
    """One backward search."""

    kernel: Kernel
    store: VisitedSet
    threads: int
    stop: threading.Event
    # called now and then with the number of the sweep and the states that wait in it
    report: Callable[[int, int], None]
    room: int = LEAST_ROOM  # bytes that listed steps may take
    sweeps: int = 0
    _lists: list[ArcList] = field(factory=list)
    _frames: list[npt.NDArray[np.int64]] = field(init=False)
    _scratch: list[npt.NDArray[np.uint64]] = field(init=False)
    _action_bits: npt.NDArray[np.uint64] = field(init=False)
    _controls: npt.NDArray[np.int64] = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Compute for each action instance which bits flow back through it."""
        program = self.kernel.program
        room = OWNERS * (self.kernel.geometry.instances + 1) * self.kernel.geometry.record
        self._frames = [np.zeros(self.kernel.plan.size, dtype=np.int64) for _ in range(self.threads)]
        self._scratch = [np.empty(room, dtype=np.uint64) for _ in range(self.threads)]
        self._action_bits = np.array(recovery_action_bits(program.recovers, program.instances), dtype=np.uint64)
        self._controls = np.array([address(shard.control) for shard in self.store.shards], dtype=np.int64)

    def _bits(self, number: int) -> tuple[int, int, int]:
        """The bits "reaches", "leaves" and "concerned" of a property."""
        n = len(self.kernel.program.recovers)
        return 1 << number, 1 << n + number, 1 << 2 * n + number

    def run(self) -> tuple[RecoverabilityFinding, ...] | None:
        """The finding about each property; None when stopped."""
        with ThreadPool(self.threads) as pool:
            pool.run(SHARDS, lambda _, shard: self.store.shards[shard].mark())
            numbers = range(len(self.kernel.program.recovers))
            own = [self._own(number) for number in numbers]
            jobs = self._jobs()
            while not self.stop.is_set():
                self.sweeps += 1
                if self.sweeps == FEW_SWEEPS:
                    self._lists = [self._list() for _ in range(self.threads)]
                if not self._sweep(pool, jobs[::-1] if self.sweeps % 2 == 1 else jobs):
                    break
                if self._lists and self._follow_arcs():
                    break
        return None if self.stop.is_set() else tuple(self._finding(number, *own[number]) for number in numbers)

    def _list(self) -> ArcList:
        """An empty list of steps."""
        return ArcList(self.room // ARC_BYTES // self.threads, PART * (self.kernel.geometry.instances + 1))

    def _follow_arcs(self) -> bool:
        """Raise the marks along listed steps until none can rise; false where there was no room for these."""
        ways, way = np.unique(self._action_bits, return_inverse=True)
        arcs, self._lists = ArcList.joined(self._lists), []
        if arcs is None or len(ways) > MOST_WAYS:
            return False
        *ends, instances = arcs
        targets, sources = (ids // SHARDS + self.store.offsets()[ids % SHARDS] for ids in ends)
        marks = np.concatenate([shard.marks for shard in self.store.shards])
        HeldArcs.of(ways, marks, (targets, sources, way[instances])).close(self.stop.is_set)
        for shard, first in zip(self.store.shards, self.store.offsets().tolist(), strict=True):
            shard.marks[:] = marks[first : first + shard.count]
        return True

    def _own(self, number: int) -> tuple[int, int, bool]:
        """Before any sweep: states concerned, those of them that fail, whether any state satisfies the claim."""
        reach, _, concerned = self._bits(number)
        marks = [shard.marks for shard in self.store.shards]
        failing = sum(int(np.count_nonzero(m & (reach | concerned) == concerned)) for m in marks)
        total = sum(int(np.count_nonzero(m & concerned)) for m in marks)
        return total, failing, any(bool((m & reach).any()) for m in marks)

    def _finding(self, number: int, concerned: int, failing: int, satisfied: bool) -> RecoverabilityFinding:
        reach, leaves, about = self._bits(number)
        every = reach | leaves | about
        unrecoverable = self._shallowest([shard.marks & every == about for shard in self.store.shards])
        uncertain = self._shallowest([shard.marks & every == about | leaves for shard in self.store.shards])
        claim = self.kernel.program.recovers[number].claim
        return RecoverabilityFinding(
            claim,
            concerned,
            failing,
            unrecoverable,
            None if uncertain is None else len(uncertain.instances),
            satisfied=satisfied,
        )

    def _shallowest(self, chosen: Sequence[npt.NDArray[np.bool_]]) -> PackedRun | None:
        """The run to the chosen state of least depth; a shard's states are in the order of discovery."""
        first = [int(states.argmax()) * SHARDS + shard for shard, states in enumerate(chosen) if states.any()]
        runs = [(self.store.run_to(identity), identity) for identity in first]
        return min(runs, key=lambda entry: (len(entry[0].instances), entry[1]), default=(None, 0))[0]

    def _jobs(self) -> Sequence[Job]:
        """Parts of the levels, from the first to the last: most steps lead one level on, so a sweep takes marks far."""
        jobs: list[Job] = []
        for begins, ends in itertools.pairwise([[0] * SHARDS, *self.store.ends, self.store.counts()]):
            for shard, (first, last) in enumerate(zip(begins, ends, strict=True)):
                jobs += ((shard, part, min(last, part + PART)) for part in range(first, last, PART))
        return jobs

    def _sweep(self, pool: ThreadPool, jobs: Sequence[Job]) -> int:
        """Renew every mark once; the number of those that rose."""
        sweep, down = self.kernel.library.function("sweep", 10), self.sweeps % 2 == 1
        changed = [0] * self.threads
        queue = sum(self.store.counts())

        def sweep_part(thread: int, job: int) -> None:
            arcs = self._lists[thread] if self._lists and self._lists[thread].left >= 0 else None
            out = (0, 0) if arcs is None else (address(arcs.places), address(arcs.count))
            changed[thread] += sweep(
                address(self._frames[thread]), address(self._controls), address(self._action_bits),
                address(self._scratch[thread]), *group[job], int(down), *out,
            )  # fmt: skip
            if arcs is not None:
                arcs.take(group[job][0])

        for start in range(0, len(jobs), GROUP):
            group = jobs[start : start + GROUP]
            pool.run(len(group), sweep_part, self.stop.is_set)
            queue -= sum(last - first for _, first, last in group)
            self.report(self.sweeps, queue)
        return sum(changed)


@frozen
class Recoverability:
    """The outcome of a backward search."""

    # one for each `recovers` property; None: it did not take place, or not to its end
    findings: tuple[RecoverabilityFinding, ...] | None
    sweeps: int = 0  # how often it swept over all states
    seconds: float = 0.0

    def warnings(self) -> tuple[str, ...]:
        """Properties that no reachable state satisfies: they may ask for too much."""
        hopeless = (finding.claim.id for finding in self.findings or () if not finding.satisfied)
        return tuple(f"{claim}: no reachable state satisfies it" for claim in hopeless)


NOT_SEARCHED = Recoverability(None)  # nothing was searched backward


def search_backward(
    search: Search, report: Callable[[Search, int, int], None], clock: Callable[[], float]
) -> Recoverability:
    """Search backward over what a search found, unless there is no need or it was to end early.

    A stop on the way cuts the search.
    """
    if not search.kernel.program.recovers or is_stop(search.cut) or search.cut == FIRST_VIOLATION:
        return Recoverability(None)

    start = clock()
    used = search.bytes_in_use()
    room = min(search.limits.memory - used, max(LEAST_ROOM, used))
    on_sweep = functools.partial(report, search)
    backward = BackwardSearch(search.kernel, search.store, search.threads, search.stop, on_sweep, room=room)
    findings = backward.run()
    if findings is None:
        search.cut = stop_reason(search.stop)
    return Recoverability(findings, backward.sweeps, clock() - start)


def recoverability_verdicts(
    program: Program, recoverability: Recoverability, bound: str, cut: str | None
) -> Iterator[PropertyVerdict]:
    """The verdicts on the `recovers` properties.

    Raises:
        EngineDisagreement: when ints do not confirm a counterexample.
    """
    for number, recovers in enumerate(program.recovers):
        finding = None if recoverability.findings is None else recoverability.findings[number]
        verdict: Verdict
        if finding is not None and finding.unrecoverable is not None:
            # All that can follow this state was explored, so it refutes even where the search was cut.
            verdict = Refuted(witness(program, finding.claim, finding.unrecoverable))
        elif cut is not None:
            verdict = Incomplete(cut)
        elif finding is None:
            verdict = Unknown("not searched backward")
        else:
            verdict = _unrefuted(finding, bound)
        depth = len(verdict.trace.steps) if isinstance(verdict, Refuted) else None
        yield PropertyVerdict(recovers.claim.id, recovers.claim.kind, verdict, depth)


def _unrefuted(finding: RecoverabilityFinding, bound: str) -> Verdict:
    """The verdict where every state was explored and none is lost."""
    if finding.uncertain is not None:
        where = f"a state at depth {finding.uncertain}"
        return Unknown(f"{where} recovers, if at all, only beyond a bound that pruned transitions")
    if not finding.concerned:
        return Vacuous(finding.claim.id, "it is about no reachable state")
    if not finding.failing:
        return Vacuous(finding.claim.id, "no reachable state has to recover")
    return Holds(bound, cases=finding.failing)
