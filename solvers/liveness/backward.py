"""The backward search over an explored graph: it finds the states from which a `recovers` goal is unreachable.

`recovers` is liveness without fairness: the bits "reaches" of all properties rise together, by the sweeps of liveness,
along the steps that each property allows; then, of the states that lack some, the bits "leaves".
"""

from __future__ import annotations

import functools
from bisect import bisect_right
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from kraftcheck.model.language.system import Property
from kraftcheck.solvers.liveness.constraints import Bits
from kraftcheck.solvers.liveness.fair import LEAST_ROOM, Marking, StoppedError, SweepControl, Sweeps
from kraftcheck.solvers.liveness.graph import ExploredSpace, Listed, RegionEdges, Truths
from kraftcheck.solvers.liveness.runs import states_of
from kraftcheck.solvers.machine_code.compile import Kernel
from kraftcheck.solvers.machine_code.graph_kernels import OUTSIDE
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
class WaysBack(Sweeps):
    """Sweeps along the steps by which bits that states lack may flow back, a bit for each property."""

    claims: int = field(kw_only=True)  # how many properties
    flows: Bits = field(kw_only=True)  # for each class of steps the properties whose way out may use them
    reaches: Bits = field(kw_only=True)  # for each state those that it satisfies, or from which a way leads out
    leaves: Bits = field(kw_only=True)  # those that it may satisfy where the exploration did not go

    @property
    def every(self) -> int:
        """The bits of all properties."""
        return (1 << self.claims) - 1

    def close(self) -> None:
        """Raise all bits until none can rise; raises StoppedError when it is stopped."""
        every, kept = self.every, np.ones_like(self.cut)
        self._rise(self.reaches, kept)
        if self.leaves.any():
            np.not_equal(self.reaches & every, every, out=kept)
            self._rise(self.leaves, kept)
        self.check_stop()

    def _rise(self, marks: Bits, kept: Truths) -> None:
        self._close(Marking(marks, kept, marks, np.zeros_like(self.flows), 0, self.every, flows=self.flows))

    def _computed(self, thread: int, number: int, wanted: Truths) -> Listed:
        """The steps by which bits that wanted states of a block lack may flow back; what leaves is noted."""
        states = states_of(self.edges, number)
        missing = np.where(wanted, ~self.reaches[states] & self.flows.dtype.type(self.every), 0)
        block = self.edges.block(thread, number, missing, inner=False)
        if block.cuts.any():
            self.leaves[states] |= (block.cuts >> np.uint64(self.claims)).astype(self.leaves.dtype)
        kinds = self.kinds[block.instances]
        bits, out = self.flows[kinds], block.targets == OUTSIDE
        if out.any():
            np.bitwise_or.at(self.leaves, block.owners()[out], bits[out])
        chosen = (bits != 0) & ~out
        if chosen.all():
            return block.starts, block.targets, kinds
        places = np.concatenate([[0], np.cumsum(chosen)]).astype(np.uint32)
        return places[block.starts], block.targets[chosen], kinds[chosen]


@define
class BackwardSearch:
    """One backward search."""

    kernel: Kernel
    store: VisitedSet
    control: SweepControl  # how it goes; the budget is for steps, and what each state needs
    _space: ExploredSpace = field(init=False)
    _edges: RegionEdges = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Number the states."""
        self._space = ExploredSpace(self.kernel, self.store, "ways_back")
        self._edges = self._space.region(np.ones(self._space.count, dtype=np.bool_), self.control.threads)

    def run(self) -> tuple[RecoverabilityFinding, ...] | None:
        """The finding about each property; None when stopped."""
        program, count = self.kernel.program, len(self.kernel.program.recovers)
        every = (1 << count) - 1
        ways, way = np.unique(
            [bits & every for bits in recovery_action_bits(program.recovers, program.instances)], return_inverse=True
        )
        marks = self._own()
        kind: Any = np.dtype(f"u{next(size for size in (1, 2, 4) if count <= 8 * size)}").type
        reaches = (marks & every).astype(kind)
        used = self._edges.nbytes + marks.nbytes + 2 * reaches.nbytes + len(marks)  # "leaves", kept
        self.control.budget = max(0, self.control.budget - used)
        kinds = way.astype(np.uint8 if len(ways) <= 256 else np.uint16)
        sweeps = WaysBack(
            self._edges, kinds, (), self.control, claims=count, flows=ways.astype(kind), reaches=reaches,
            leaves=np.zeros(len(marks), dtype=kind),
        )  # fmt: skip
        try:
            sweeps.close()
        except StoppedError:
            return None
        return tuple(self._finding(number, marks, sweeps) for number in range(count))

    def _own(self) -> npt.NDArray[Any]:
        """The marks that states have by themselves."""
        self._edges.enter()
        kind, survey = f"u{self.kernel.geometry.mark}", self.kernel.library.function("survey", 3)
        found = np.empty(self._space.count, dtype=kind)

        def of_shard(_: int, number: int) -> None:
            shard, first = self.store.shards[number], int(self._space.offsets[number])
            marks = np.empty(shard.count, dtype=kind)
            survey(address(shard.states), address(marks), len(marks))
            found[self._space.places[first : first + len(marks)]] = marks

        with ThreadPool(self.control.threads) as pool:
            pool.run(SHARDS, of_shard)
        return found

    def _finding(self, number: int, marks: Bits, sweeps: WaysBack) -> RecoverabilityFinding:
        bit = 1 << number
        about, satisfied = marks & (bit << 2 * sweeps.claims) != 0, marks & bit != 0
        open_, leaves = about & (sweeps.reaches & bit == 0), sweeps.leaves & bit != 0
        uncertain = self._shallowest(open_ & leaves)
        return RecoverabilityFinding(
            self.kernel.program.recovers[number].claim,
            int(np.count_nonzero(about)),
            int(np.count_nonzero(about & ~satisfied)),
            self._shallowest(open_ & ~leaves),
            None if uncertain is None else len(uncertain.instances),
            satisfied=bool(satisfied.any()),
        )

    def _shallowest(self, chosen: Truths) -> PackedRun | None:
        """The run to the chosen state of least depth, the first by id."""
        if not chosen.any():
            return None
        depth = bisect_right(self._edges.levels, int(chosen.argmax()))
        first, last = self._edges.levels[depth - 1 : depth + 1]
        return self.store.run_to(int(self._edges.identities(first, last)[chosen[first:last]].min()))


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
    search: Search, report: Callable[[Search, int, int], None], clock: Callable[[], float], scratch: Path | None = None
) -> Recoverability:
    """Search backward over what a search found, unless there is no need or it was to end early.

    A stop on the way cuts the search. `scratch` is a folder for a file of steps that have no room in memory.
    """
    if not search.kernel.program.recovers or is_stop(search.cut) or search.cut == FIRST_VIOLATION:
        return Recoverability(None)

    start, used = clock(), search.bytes_in_use()
    search.release()
    left = search.limits.memory - used
    room = min(left, max(LEAST_ROOM, used))
    spare = max(0, min(left - room, LEAST_ROOM))
    control = SweepControl(search.threads, search.stop, functools.partial(report, search), room, scratch, spare)
    findings = BackwardSearch(search.kernel, search.store, control).run()
    if findings is None:
        search.cut = stop_reason(search.stop)
    return Recoverability(findings, control.sweeps, clock() - start)


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
