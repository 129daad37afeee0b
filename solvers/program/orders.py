"""What a search must know of independence to leave out orders: tables over action instances and guard conjuncts.

Sets of action instances are Python ints, bit n for instance n.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
from attrs import frozen

from kraftcheck.model.language.terms import Term


@frozen
class Orders:
    """The independence of a program's action instances."""

    # the variables of the conjuncts, one for each layout slot; their graph is not the program's
    state: tuple[Term, ...]
    conjuncts: tuple[Term, ...]  # every truth that some instance's guard consists of
    # for each instance the numbers of its conjuncts, those first that fewest instances can make true
    guards: tuple[tuple[int, ...], ...]
    dependent: tuple[int, ...]  # for each instance those that write what it reads or writes, or read what it writes
    enabling: tuple[int, ...]  # for each conjunct the instances that write what it reads: no other makes it true
    visible: int  # the instances that write what an invariant, a goal or the constraint reads

    @property
    def instances(self) -> int:
        """Number of action instances."""
        return len(self.guards)

    @property
    def words(self) -> int:
        """64-bit words of a set of instances."""
        return max(1, -(-self.instances // 64))

    def described(self) -> str:
        """The conjuncts as text, for a digest of what is compiled."""
        if not self.conjuncts:
            return "orders"
        nodes = self.conjuncts[0].graph.nodes
        text = [f"{n.op} {n.value} {n.lo} {n.hi} {[a.index for a in n.args]}" for n in nodes]
        return f"orders {text} {[one.index for one in self.state]} {[one.index for one in self.conjuncts]}"

    def rows(self) -> npt.NDArray[np.uint64]:
        """The sets, one a row: `dependent` of each instance, then `enabling` of each conjunct."""
        return as_words((*self.dependent, *self.enabling), self.words)


def as_words(sets: Iterable[int], words: int) -> npt.NDArray[np.uint64]:
    """Sets of instances as rows of 64-bit words."""
    rows = [[one >> 64 * n & (1 << 64) - 1 for n in range(words)] for one in sets]
    return np.array(rows, dtype=np.uint64).reshape(len(rows), words)
