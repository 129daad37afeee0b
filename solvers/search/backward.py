"""Backward search over an explored graph: from which states can a `recovers` property still be met?

The marks that `sweep` describes are swept over all states, alternately from
the first found to the last and back, until a sweep changes none. They only
rise, so their last values do not depend on the number of threads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from kraftcheck.model.language.system import Property
from kraftcheck.solvers.machine_code.backward_sweep import OWNERS
from kraftcheck.solvers.machine_code.compile import Kernel
from kraftcheck.solvers.machine_code.objectcode import address
from kraftcheck.solvers.machine_code.search_kernel import SHARDS
from kraftcheck.solvers.machine_code.threads import Crew
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.recovers import way_bits
from kraftcheck.solvers.program.verdict import Holds, Incomplete, PropertyVerdict, Refuted, Unknown, Vacuous, Verdict
from kraftcheck.solvers.search.levels import FIRST_VIOLATION, STOPPED, Search
from kraftcheck.solvers.search.visited import Store
from kraftcheck.solvers.search.witness import witness
from kraftcheck.solvers.traces.path import Way

PART = 4096
"""Most states of one job of a sweep."""

GROUP = 4 * SHARDS
"""Jobs between two reports of progress."""

Job: TypeAlias = tuple[int, int, int]
"""A shard, its first state and the state after its last."""


@frozen
class Finding:
    """What a backward search found about one property.

    Attributes:
        claim: the property.
        concerned: states that it is about.
        failing: those of them that do not satisfy it themselves.
        lost: the way to the shallowest of them from which nothing leads to a state that does.
        uncertain: the depth of the shallowest that recovers, if at all, only where the exploration did not go.
        satisfied: whether any state at all satisfies it.
    """

    claim: Property
    concerned: int
    failing: int
    lost: Way | None
    uncertain: int | None
    satisfied: bool


@define
class Backward:
    """One backward search at work.

    Attributes:
        kernel: the compiled program.
        store: every state found.
        threads: how many threads.
        stop: set from outside to end it.
        report: called now and then with the number of the sweep and the states that wait in it.
        sweeps: how many sweeps there were.
    """

    kernel: Kernel
    store: Store
    threads: int
    stop: threading.Event
    report: Callable[[int, int], None]
    sweeps: int = 0
    _frames: list[npt.NDArray[np.int64]] = field(init=False)
    _scratch: list[npt.NDArray[np.uint64]] = field(init=False)
    _ways: npt.NDArray[np.uint64] = field(init=False)
    _controls: npt.NDArray[np.int64] = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Tell for each action instance which bits flow back through it."""
        program = self.kernel.program
        room = OWNERS * (self.kernel.geometry.instances + 1) * self.kernel.geometry.record
        self._frames = [np.zeros(self.kernel.plan.size, dtype=np.int64) for _ in range(self.threads)]
        self._scratch = [np.empty(room, dtype=np.uint64) for _ in range(self.threads)]
        self._ways = np.array(way_bits(program.recoveries, program.instances), dtype=np.uint64)
        self._controls = np.array([address(shard.control) for shard in self.store.shards], dtype=np.int64)

    def _bits(self, number: int) -> tuple[int, int, int]:
        """The bits "reaches", "leaves" and "concerned" of a property."""
        n = len(self.kernel.program.recoveries)
        return 1 << number, 1 << n + number, 1 << 2 * n + number

    def run(self) -> tuple[Finding, ...] | None:
        """What the explored graph says about each property; None when stopped."""
        with Crew(self.threads) as crew:
            crew.run(SHARDS, lambda _, shard: self.store.shards[shard].mark())
            numbers = range(len(self.kernel.program.recoveries))
            own = [self._own(number) for number in numbers]
            jobs = self._jobs()
            while not self.stop.is_set():
                self.sweeps += 1
                if not self._sweep(crew, jobs[::-1] if self.sweeps % 2 == 0 else jobs):
                    break
        return None if self.stop.is_set() else tuple(self._finding(number, *own[number]) for number in numbers)

    def _own(self, number: int) -> tuple[int, int, bool]:
        """Before any sweep: states concerned, those of them that fail, whether any state satisfies the claim."""
        reach, _, concerned = self._bits(number)
        marks = [shard.marks for shard in self.store.shards]
        failing = sum(int(np.count_nonzero(m & (reach | concerned) == concerned)) for m in marks)
        total = sum(int(np.count_nonzero(m & concerned)) for m in marks)
        return total, failing, any(bool((m & reach).any()) for m in marks)

    def _finding(self, number: int, concerned: int, failing: int, satisfied: bool) -> Finding:
        reach, leaves, about = self._bits(number)
        every = reach | leaves | about
        lost = self._shallowest([shard.marks & every == about for shard in self.store.shards])
        uncertain = self._shallowest([shard.marks & every == about | leaves for shard in self.store.shards])
        claim = self.kernel.program.recoveries[number].claim
        return Finding(
            claim, concerned, failing, lost, None if uncertain is None else len(uncertain.instances), satisfied
        )

    def _shallowest(self, chosen: Sequence[npt.NDArray[np.bool_]]) -> Way | None:
        """The way to the state of least depth among those chosen; a shard's states are in the order of discovery."""
        first = [int(found.argmax()) * SHARDS + shard for shard, found in enumerate(chosen) if found.any()]
        ways = [(self.store.way(identity), identity) for identity in first]
        return min(ways, key=lambda one: (len(one[0].instances), one[1]), default=(None, 0))[0]

    def _jobs(self) -> list[Job]:
        """Parts of the shards, about in the order of depth."""
        counts = self.store.counts()
        return [
            (shard, first, min(count, first + PART))
            for first in range(0, max(counts), PART)
            for shard, count in enumerate(counts)
            if first < count
        ]

    def _sweep(self, crew: Crew, jobs: Sequence[Job]) -> int:
        """Renew every mark once; the number of those that rose."""
        sweep, down = self.kernel.library.function("sweep", 8), self.sweeps % 2 == 0
        rose = [0] * self.threads
        waiting = sum(self.store.counts())

        def work(thread: int, job: int) -> None:
            rose[thread] += sweep(
                address(self._frames[thread]), address(self._controls), address(self._ways),
                address(self._scratch[thread]), *group[job], int(down),
            )  # fmt: skip

        for start in range(0, len(jobs), GROUP):
            group = jobs[start : start + GROUP]
            crew.run(len(group), work, self.stop.is_set)
            waiting -= sum(last - first for _, first, last in group)
            self.report(self.sweeps, waiting)
        return sum(rose)


@frozen
class Recovered:
    """The outcome of a backward search.

    Attributes:
        findings: one for each `recovers` property; None: it did not take place, or not to its end.
        sweeps: how often it swept over all states.
        seconds: how long it took.
    """

    findings: tuple[Finding, ...] | None
    sweeps: int = 0
    seconds: float = 0.0

    def warnings(self) -> tuple[str, ...]:
        """Properties that no reachable state satisfies: they may ask for too much."""
        hopeless = (one.claim.id for one in self.findings or () if not one.satisfied)
        return tuple(f"{claim}: no reachable state satisfies it" for claim in hopeless)


NOT_RECOVERED = Recovered(None)
"""Nothing was searched backward."""


def recover(search: Search, report: Callable[[Search, int, int], None], clock: Callable[[], float]) -> Recovered:
    """Search backward over what a search found, unless there is no need or it was to end early.

    A stop on the way cuts the search.
    """
    if not search.kernel.program.recoveries or search.cut in (STOPPED, FIRST_VIOLATION):
        return Recovered(None)

    def swept(sweep: int, left: int) -> None:
        report(search, sweep, left)

    begun = clock()
    backward = Backward(search.kernel, search.store, search.threads, search.stop, swept)
    findings = backward.run()
    if findings is None:
        search.cut = STOPPED
    return Recovered(findings, backward.sweeps, clock() - begun)


def recovery_verdicts(
    program: Program, recovered: Recovered, bound: str, cut: str | None
) -> Iterator[PropertyVerdict]:
    """The verdicts on the `recovers` properties.

    Args:
        program: what was explored.
        recovered: what the backward search found.
        bound: what a property holds of.
        cut: why the search is incomplete.

    Raises:
        EngineDisagreement: when ints do not confirm a counterexample.
    """
    for number, one in enumerate(program.recoveries):
        found = None if recovered.findings is None else recovered.findings[number]
        verdict: Verdict
        if found is not None and found.lost is not None:
            # All that can follow this state was explored, so it refutes even where the search was cut.
            verdict = Refuted(witness(program, found.claim, found.lost))
        elif cut is not None:
            verdict = Incomplete(cut)
        elif found is None:
            verdict = Unknown("not searched backward")
        else:
            verdict = _unrefuted(found, bound)
        depth = len(verdict.trace.steps) if isinstance(verdict, Refuted) else None
        yield PropertyVerdict(one.claim.id, one.claim.kind, verdict, depth)


def _unrefuted(found: Finding, bound: str) -> Verdict:
    """The verdict where every state was explored and none is lost."""
    if found.uncertain is not None:
        where = f"a state at depth {found.uncertain}"
        return Unknown(f"{where} recovers, if at all, only beyond a bound that pruned transitions")
    if not found.concerned:
        return Vacuous(found.claim.id, "it is about no reachable state")
    if not found.failing:
        return Vacuous(found.claim.id, "no reachable state has to recover")
    return Holds(bound, cases=found.failing)
