"""Values of terms in some states: what is false in one of them needs no proof that it is not always true."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define, field

from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.solvers.reference.terms import value_of


@define
class SampleValues:
    """Evaluates the terms of a graph in given states; a value that is known is kept.

    Attributes:
        graph: of which terms.
        rows: for each state the values of the graph's variables, in the order in which they were made.
    """

    graph: Graph
    rows: Sequence[Sequence[int]]
    _known: list[list[int]] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        """Nothing is known yet."""
        self._known = [[] for _ in self.rows]

    def always(self, truth: Term) -> bool:
        """Whether a truth holds in all of the states."""
        return all(self._value(known, row, truth) for known, row in zip(self._known, self.rows, strict=True))

    def _value(self, known: list[int], row: Sequence[int], term: Term) -> int:
        for node in self.graph.nodes[len(known) : term.index + 1]:
            args = [known[arg.index] for arg in node.args]
            known.append(int(row[node.value]) if node.op == "var" else value_of(node, args))
        return known[term.index]


def scattered(spans: Sequence[tuple[int, int]], count: int) -> list[list[int]]:
    """Rows of values from all over their spans (both ends included): the same at every call.

    >>> scattered([(0, 9), (-1, 1)], 2)
    [[8, 0], [3, 0]]
    """
    number, rows = 1, list[list[int]]()
    for _ in range(count):
        rows.append([])
        for lo, hi in spans:
            number = (number * 6364136223846793005 + 1442695040888963407) % (1 << 64)  # Knuth's MMIX
            rows[-1].append(lo + (number >> 32) % (hi - lo + 1))
    return rows
