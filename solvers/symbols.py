"""What stands for the leaves of a state: a term, or a sequence of them."""

from __future__ import annotations

from typing import Any

from model.layout import Endless, Flag, Slot
from model.sequences import Sequence
from model.terms import Graph, Term
from solvers.arguments import SystemFault


def named(symbol: Term | Sequence) -> Term:
    """The term that names what stands for a leaf."""
    if isinstance(symbol, Term):
        return symbol
    assert symbol.symbol is not None
    return symbol.symbol


def word_of(what: str, path: str, value: Any, domain: Endless) -> Term:
    """The word of a sequence at any place: what stands for the sequence after an effect.

    Raises:
        SystemFault: when it is no sequence, or its words may leave their domain: nobody shows that they do not.
    """
    if not isinstance(value, Sequence):
        raise SystemFault(f"{what} set {path} to {value!r}, not a sequence")
    word = value.anywhere()
    if not domain.lo <= word.lo <= word.hi <= domain.hi:
        raise SystemFault(f"{what} may take {path} from {domain.lo}..{domain.hi} to {word.lo}..{word.hi}")
    return word


def symbol(graph: Graph, slot: Slot) -> Any:
    """What stands for a leaf of the state: a term, or a sequence of them."""
    lo, hi = slot.domain.lo, slot.domain.hi
    if isinstance(slot.domain, Flag):
        return graph.truth_variable(slot.path)
    if isinstance(slot.domain, Endless):
        return Sequence.of_state(graph, slot.path, lo, hi)
    return graph.variable(slot.path, lo, hi)
