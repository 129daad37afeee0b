"""The fair behaviours of an answered system: the steps that a search kept, for the judge of liveness."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from attrs import define, field

from kraftcheck.ci.conformance.kafka.tour.search import AnsweredSearch, Found, Numbers
from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.solvers.liveness.fair import StoppedError, SweepControl
from kraftcheck.solvers.liveness.graph import MOST_STATES, ListedEdges, Truths
from kraftcheck.solvers.liveness.judge import NO_LIVENESS_SEARCH, ClaimSearch, Liveness
from kraftcheck.solvers.machine_code.compile import RowFunction
from kraftcheck.solvers.machine_code.graph_kernels import OUTSIDE
from kraftcheck.solvers.program.stop import is_stop, stop_reason
from kraftcheck.solvers.search.levels import FIRST_VIOLATION

ANY_KIND = np.uint64(0xFFFF_FFFF_FFFF_FFFF)  # the cut bits of a state of which it is not known where all its steps lead


@define(eq=False)
class AnsweredSpace:
    """What an answered search visited; see `kraftcheck.solvers.liveness.graph.ExploredSpace`."""

    search: AnsweredSearch  # numbers of states are those of discovery, so that they ascend with depth
    places: npt.NDArray[np.uint32] = field(init=False)  # for each state its number in the region that is used
    # starts, targets, instances: the steps of each state, as in a `Block`; none leads to its own state
    starts: Numbers = field(init=False)
    targets: Numbers = field(init=False)
    instances: Numbers = field(init=False)
    cuts: npt.NDArray[np.uint64] = field(init=False)  # for each state its cut bits

    def __attrs_post_init__(self) -> None:
        """List the steps by the states that they leave."""
        before, by, after = self.search.edges()
        moves = before != after
        order = np.argsort(before[moves], kind="stable")
        self.targets, self.instances = after[moves][order], by[moves][order]
        self.starts = np.searchsorted(before[moves][order], np.arange(self.count + 1))
        self.places = np.full(self.count, OUTSIDE, dtype=np.uint32)
        self.cuts = np.where(self.search.unfollowed(), ANY_KIND, np.uint64(0))

    @property
    def count(self) -> int:
        """Number of states."""
        return self.search.distinct

    @property
    def store(self) -> Found:
        """The runs to states."""
        return self.search.store

    def truths(self, words: int) -> Iterator[tuple[slice, npt.NDArray[np.uint64]]]:
        """The truths of `LivenessClaims.terms` of all states, a bit each, a part of the states at a time."""
        program, model = self.search.program, self.search.answered.model
        judge = RowFunction(program.graph, list(program.state), list(program.liveness.terms), cache_folder())
        for first in range(0, self.count, MOST_STATES):
            states = slice(first, min(self.count, first + MOST_STATES))
            bits = judge(model.unpack(np.array(self.store.packed[states], dtype=np.uint64))) != 0
            rows = np.zeros((len(bits), words), dtype=np.uint64)
            for term in range(bits.shape[1]):
                rows[:, term // 64] |= bits[:, term].astype(np.uint64) << np.uint64(term % 64)
            yield states, rows

    def initial(self, states: slice) -> Truths:
        """Which of some states are initial."""
        found: Truths = np.array(self.store.parents[states]) < 0
        return found

    def region(self, states: Truths, threads: int) -> ListedEdges:
        """The steps among some states, and those that lead out of them."""
        own, before = np.flatnonzero(states), [0, *np.cumsum(states).tolist()]
        self.places[:] = OUTSIDE
        self.places[own] = np.arange(len(own), dtype=np.uint32)
        chosen = np.repeat(states, np.diff(self.starts))
        starts = np.concatenate([[0], np.cumsum(np.diff(self.starts)[own])])
        levels = [before[end] for end in (0, *sorted({*self.store.ends, self.count}))]
        targets, instances = self.places[self.targets[chosen]], self.instances[chosen].astype(np.uint16)
        return ListedEdges(own, levels, starts, targets, instances, self.cuts[own])


def search_answered(search: AnsweredSearch, threads: int) -> Liveness:
    """Search what was visited for fair behaviours, as `search_liveness`; raises EngineDisagreement for no lasso."""
    claims = search.program.liveness.claims
    if not claims or is_stop(search.cut) or search.cut == FIRST_VIOLATION:
        return NO_LIVENESS_SEARCH
    begin, space = time.monotonic(), AnsweredSpace(search)
    control, room = SweepControl(threads, search.stop), max(0, search.limits.memory - search.bytes_in_use())
    try:
        judged = [ClaimSearch(search.program, number, space, control, room, spare=0) for number in range(len(claims))]
        findings = tuple(one.finding() for one in judged)
    except StoppedError:
        search.cut = stop_reason(search.stop)
        return Liveness(None)
    memory = search.bytes_in_use() + max(one.nbytes for one in judged)
    return Liveness(findings, "", control.sweeps, time.monotonic() - begin, memory)
