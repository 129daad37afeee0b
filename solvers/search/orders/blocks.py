"""The arrays that the kernel's reduction of orders works with: tables of a program, and a block for each thread."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from kraftcheck.solvers.machine_code.objectcode import address
from kraftcheck.solvers.machine_code.search_kernel import (
    BLOCK_WORDS,
    CONTROLS,
    ENDS,
    FIRSTS,
    HIDDEN,
    LEFT_OUT,
    PARTS,
    REDUCED,
    ROWS,
    WORK,
    work_words,
)
from kraftcheck.solvers.program.orders import Orders, as_words


@frozen
class OrdersFound:
    """What was left out.

    Attributes:
        reduced: states of which some successors were not followed.
        left_out: successors that were not followed.
    """

    reduced: int
    left_out: int

    def text(self) -> str:
        """What was left out, in a line of a report."""
        if not self.reduced:
            return "orders: in no state were steps independent enough to leave one out"
        states = "1 state" if self.reduced == 1 else f"{self.reduced:,} states"
        steps = "1 step" if self.left_out == 1 else f"{self.left_out:,} steps"
        return f"orders: of {states} {steps} not followed, as another order of independent steps; traces may be longer"

    def document(self) -> dict[str, int]:
        """The same as plain values."""
        return {"reduced": self.reduced, "left_out": self.left_out}


@define
class OrderBlocks:
    """What the threads of a search share, and what each has of its own.

    Attributes:
        orders: the independence of the program.
        threads: how many.
        controls: the address of each shard's control block.
        ends: for each shard the states up to the end of the level that is expanded.
        blocks: one row for each thread.
    """

    orders: Orders
    threads: int
    controls: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64] = field(init=False)
    blocks: npt.NDArray[np.int64] = field(init=False)
    _kept: list[npt.NDArray[np.generic]] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        """Lay out the tables, and tell each block where they are."""
        self.ends = np.zeros(len(self.controls), dtype=np.int64)
        self.blocks = np.zeros((self.threads, BLOCK_WORDS), dtype=np.int64)
        guards = self.orders.guards
        firsts = np.concatenate([[0], np.cumsum([len(one) for one in guards])]).astype(np.int64)
        parts = np.array([part for one in guards for part in one] or [0], dtype=np.int64)
        hidden = as_words([~self.orders.visible & (1 << len(guards)) - 1], self.orders.words)
        work = np.zeros((self.threads, work_words(self.orders)), dtype=np.uint64)
        shared = {CONTROLS: self.controls, ENDS: self.ends, ROWS: self.orders.rows(), FIRSTS: firsts, PARTS: parts,
                  HIDDEN: hidden}  # fmt: skip
        for entry, array in shared.items():
            self.blocks[:, entry] = address(array)
        for thread in range(self.threads):
            self.blocks[thread, WORK] = address(work[thread])
        self._kept = [*shared.values(), work]  # the blocks hold only addresses

    def begin_level(self, ends: Sequence[int]) -> None:
        """States up to these numbers, by shard, are expanded now or were before."""
        self.ends[:] = ends

    def block(self, thread: int) -> int:
        """The address of a thread's block."""
        return address(self.blocks[thread])

    def found(self) -> OrdersFound:
        """What all threads left out."""
        return OrdersFound(int(self.blocks[:, REDUCED].sum()), int(self.blocks[:, LEFT_OUT].sum()))
