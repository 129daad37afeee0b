"""One task's expansion of states into candidates."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from attrs import define, field

from kraftcheck.solvers.blocks.memo import SuccessorMemo
from kraftcheck.solvers.blocks.recordset import COUNT
from kraftcheck.solvers.blocks.tasks import BlockKernel, CandidateSet, Sorted, Words
from kraftcheck.solvers.machine_code.objectcode import address

CANDIDATES = 1 << 20
"""Records that one expansion holds before it is emptied into blocks."""


@define
class Expansion:
    """One task's expansion of states into blocks of candidates.

    Attributes:
        kernel: the functions.
        capacity: records held before they are emptied into blocks.
        memo: of successors generated before, begun for this expansion; None: without one.
        frame: counters, as `frame.FramePlan` lays them out.
    """

    kernel: BlockKernel
    capacity: int = CANDIDATES
    memo: SuccessorMemo | None = None
    frame: npt.NDArray[np.int64] = field(init=False)
    _set: CandidateSet = field(init=False)
    _filter: Words | None = field(init=False, default=None)
    _scratch: Words = field(init=False)
    _hashes: Words = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Start with nothing held: a retried task sees nothing of its first attempt."""
        spec = self.kernel.spec
        self.capacity = max(self.capacity, 3 * spec.instances + 3)
        self.frame = np.zeros(spec.frame, dtype=np.int64)
        self._set = CandidateSet(self.kernel, self.capacity)
        self._scratch = np.empty(2 * (spec.instances + 1) * spec.record, dtype=np.uint64)
        self._hashes = np.empty(2 * (spec.instances + 1), dtype=np.uint64)

    def take(self, states: Words, identity: int) -> Iterator[Sorted]:
        """Expand states whose ids follow each other; what is held whenever there is no room for more."""
        if not len(states):
            return
        if self._filter is None:
            # A state of the frontier is known, so that dropping it is sound.
            self._filter = np.tile(states[0], self.kernel.spec.filter_slots)
        at, memo = 0, 0 if self.memo is None else address(self.memo.control)
        expand = self.kernel.expand if self.memo is None else self.kernel.expand_with_memo
        while at < len(states):
            at = expand(
                address(self.frame), address(states), at, len(states), identity, address(self._set.control),
                address(self._filter), memo, address(self._scratch), address(self._hashes),
            )  # fmt: skip
            if at < len(states):
                yield self.empty()

    def empty(self) -> Sorted:
        """The records that are held; none is afterwards."""
        drained = self.kernel.by_bucket(self._set.records)
        if self.memo is None:
            self._set.clear()
        else:
            self._set.control[COUNT] = 0  # its table is empty: the memo says what is there
        return drained
