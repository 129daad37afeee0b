"""The backward search over an explored graph: it finds the states from which a `recovers` goal is unreachable.

The marks that `sweep` describes are swept over all states, level by level,
alternately from the deepest level to the first and back, until a sweep changes
none. They only rise, so their last values do not depend on the number of threads.
Where that takes many sweeps, as in long thin graphs, the steps by which marks may
still flow are listed instead, if there is room, and marks follow them one by one.
"""

from __future__ import annotations

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
from kraftcheck.solvers.program.verdict import Holds, Incomplete, PropertyVerdict, Refuted, Unknown, Vacuous, Verdict
from kraftcheck.solvers.search.levels import FIRST_VIOLATION, Search
from kraftcheck.solvers.search.visited import VisitedSet
from kraftcheck.solvers.search.witness import witness
from kraftcheck.solvers.traces.path import PackedRun

ARC_BYTES = 48
"""Bytes that an arc takes at most."""

LEAST_ROOM = 256 << 20
"""Bytes that listed steps may take however little the search took, within the limit of memory."""


def listed_arcs(
    kernel: Kernel, store: VisitedSet, parts: Sequence[tuple[int, int, int]], most: int, stopped: Callable[[], bool]
) -> tuple[npt.NDArray[Any], ...] | None:
    """The steps by which marks of the backward search may still rise: targets, sources and action instances.

    The number of a state is its index in its shard + the states in the shards before.

    Args:
        kernel, store: what was explored, its states marked.
        parts: all states: a shard, the first state, the one after the last.
        most: how many there may be; None is returned where there are more, or it is stopped.
        stopped: whether it is.
    """
    size, program = max(last - first for _, first, last in parts) * (kernel.geometry.instances + 1), kernel.program
    out = np.empty(size, np.uint32), np.empty(size, np.uint32), np.empty(size, np.uint16)
    places = np.array([address(array) for array in out], dtype=np.int64)
    controls = np.array([address(shard.control) for shard in store.shards], dtype=np.int64)
    frame = np.zeros(kernel.plan.size, dtype=np.int64)
    scratch = np.empty((kernel.geometry.instances + 1) * kernel.geometry.record, dtype=np.uint64)
    offsets, reaches = store.offsets(), np.uint64((1 << len(program.recovers)) - 1)
    arcs = [(out[0][:0], out[1][:0], out[2][:0])]
    for shard, first, last in parts:
        missing = ~store.shards[shard].marks[first:last].astype(np.uint64) & reaches
        used = kernel.library.function("arcs", 8)(
            address(frame), address(controls), address(scratch), address(places), address(missing), shard, first, last
        )
        most -= used
        if most < 0 or stopped():
            return None
        targets = (out[1][:used] // SHARDS + offsets[out[1][:used] % SHARDS]).astype(np.uint32)
        arcs.append((targets, out[0][:used] + np.uint32(offsets[shard] + first), out[2][:used].copy()))
    return tuple(np.concatenate(columns) for columns in zip(*arcs, strict=True))


PART = 4096
"""Most states of one job of a sweep."""

FEW_SWEEPS = 2
"""Sweeps after which steps are listed, if marks still rise."""

GROUP = 4 * SHARDS
"""Jobs between two reports of progress."""

Job: TypeAlias = tuple[int, int, int]
"""A shard, its first state and the state after its last."""


@frozen
class RecoverabilityFinding:
    """The result of a backward search for one property.

    Attributes:
        claim: the property.
        concerned: states that it is about.
        failing: those of them that do not satisfy it themselves.
        unrecoverable: the run to the shallowest of them from which no run leads to a state that satisfies it.
        uncertain: the depth of the shallowest that recovers, if at all, only where the exploration did not go.
        satisfied: whether any state at all satisfies it.
    """

    claim: Property
    concerned: int
    failing: int
    unrecoverable: PackedRun | None
    uncertain: int | None
    satisfied: bool


@define
class BackwardSearch:
    """One backward search.

    Attributes:
        kernel: the compiled program.
        store: every state found.
        threads: how many threads.
        stop: set from outside to end it.
        report: called now and then with the number of the sweep and the states that wait in it.
        room: bytes that listed steps may take.
        sweeps: how many sweeps there were.
    """

    kernel: Kernel
    store: VisitedSet
    threads: int
    stop: threading.Event
    report: Callable[[int, int], None]
    room: int = LEAST_ROOM
    sweeps: int = 0
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
                if not self._sweep(pool, jobs[::-1] if self.sweeps % 2 == 1 else jobs):
                    break
                if self.sweeps == FEW_SWEEPS and self._follow_arcs(jobs):
                    break
        return None if self.stop.is_set() else tuple(self._finding(number, *own[number]) for number in numbers)

    def _follow_arcs(self, jobs: Sequence[Job]) -> bool:
        """Raise the marks along listed steps until none can rise; false where there is no room for these."""
        ways, way = np.unique(self._action_bits, return_inverse=True)
        if len(ways) > MOST_WAYS:
            return False
        arcs = listed_arcs(self.kernel, self.store, jobs, self.room // ARC_BYTES, self.stop.is_set)
        if arcs is None:
            return False
        targets, sources, instances = arcs
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
            claim, concerned, failing, unrecoverable, None if uncertain is None else len(uncertain.instances),
            satisfied=satisfied
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
        sweep, down = self.kernel.library.function("sweep", 8), self.sweeps % 2 == 1
        changed = [0] * self.threads
        queue = sum(self.store.counts())

        def sweep_part(thread: int, job: int) -> None:
            changed[thread] += sweep(
                address(self._frames[thread]), address(self._controls), address(self._action_bits),
                address(self._scratch[thread]), *group[job], int(down),
            )  # fmt: skip

        for start in range(0, len(jobs), GROUP):
            group = jobs[start : start + GROUP]
            pool.run(len(group), sweep_part, self.stop.is_set)
            queue -= sum(last - first for _, first, last in group)
            self.report(self.sweeps, queue)
        return sum(changed)


@frozen
class Recoverability:
    """The outcome of a backward search.

    Attributes:
        findings: one for each `recovers` property; None: it did not take place, or not to its end.
        sweeps: how often it swept over all states.
        seconds: how long it took.
    """

    findings: tuple[RecoverabilityFinding, ...] | None
    sweeps: int = 0
    seconds: float = 0.0

    def warnings(self) -> tuple[str, ...]:
        """Properties that no reachable state satisfies: they may ask for too much."""
        hopeless = (finding.claim.id for finding in self.findings or () if not finding.satisfied)
        return tuple(f"{claim}: no reachable state satisfies it" for claim in hopeless)


NOT_SEARCHED = Recoverability(None)
"""Nothing was searched backward."""


def search_backward(
    search: Search, report: Callable[[Search, int, int], None], clock: Callable[[], float]
) -> Recoverability:
    """Search backward over what a search found, unless there is no need or it was to end early.

    A stop on the way cuts the search.
    """
    if not search.kernel.program.recovers or is_stop(search.cut) or search.cut == FIRST_VIOLATION:
        return Recoverability(None)

    def on_sweep(sweep: int, queue: int) -> None:
        report(search, sweep, queue)

    start = clock()
    used = search.bytes_in_use()
    room = min(search.limits.memory - used, max(LEAST_ROOM, used))
    backward = BackwardSearch(search.kernel, search.store, search.threads, search.stop, on_sweep, room=room)
    findings = backward.run()
    if findings is None:
        search.cut = stop_reason(search.stop)
    return Recoverability(findings, backward.sweeps, clock() - start)


def recoverability_verdicts(
    program: Program, recoverability: Recoverability, bound: str, cut: str | None
) -> Iterator[PropertyVerdict]:
    """The verdicts on the `recovers` properties.

    Args:
        program: what was explored.
        recoverability: what the backward search found.
        bound: what a property holds of.
        cut: why the search is incomplete.

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
