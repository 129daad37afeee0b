"""Symbols for the leaves of a state: a term for each, or an endless sequence of terms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kraftcheck.model.language.collections.names import enum_of, variable
from kraftcheck.model.language.layout import UNBOUNDED, Domain, Endless, Flag, cap_of, rebuild
from kraftcheck.model.language.packing import Layout, Slot
from kraftcheck.model.language.sequences import Sequence, every, symbol_of
from kraftcheck.model.language.symbolic import described
from kraftcheck.model.language.terms import Graph, Term, Truth, Word
from kraftcheck.model.language.words import all_of
from kraftcheck.solvers.program.arguments import SystemFault


def word_of(what: str, path: str, value: Any) -> Term:
    """The word of a sequence at any place: what stands for the sequence after an effect.

    Raises:
        SystemFault: when it is no sequence.
    """
    if not isinstance(value, Sequence):
        raise SystemFault(f"{what} set {path} to {described(value)}, not a sequence")
    return value.anywhere()


def in_domain(word: Term, domain: Domain, or_capped: bool = False) -> Term:
    """The truth that a word of a state is in its domain; of what stands for a sequence, that all its words are.

    With `or_capped` it may also be beyond a declared cap: then it is false of faults alone.
    """
    graph = word.graph
    if isinstance(domain, Endless) and domain.truths:
        return graph.constant(True)
    open_above = domain.hi >= UNBOUNDED or (or_capped and bool(cap_of(domain)))

    def within(value: Word) -> Truth:
        return all_of(value >= domain.lo, True if open_above else value <= domain.hi)

    if not isinstance(domain, Endless):
        return graph.lift(within(word))
    return graph.lift(_at_every_place(graph, domain.places, lambda: within(word)))


def _at_every_place(graph: Graph, places: int, claim: Callable[[], Truth]) -> Truth:
    return claim() if places == 0 else every(graph, lambda _: _at_every_place(graph, places - 1, claim))


def symbol(graph: Graph, slot: Slot) -> Any:
    """The symbol of a leaf of the state: a term, or an endless sequence of terms."""
    lo, hi = slot.domain.lo, slot.domain.hi
    if isinstance(slot.domain, Flag):
        return graph.truth_variable(slot.path)
    if isinstance(slot.domain, Endless):
        return Sequence.of_state(graph, slot.path, lo, hi, slot.domain.truths, slot.domain.places)
    return variable(graph, slot.path, lo, hi, enum_of(slot.domain))


def state_symbols(graph: Graph, layout: Layout) -> tuple[tuple[Term, ...], Any]:
    """The terms that name the leaves of a state, and a state of what stands for them."""
    symbols = [symbol(graph, slot) for slot in layout.slots]
    # A field of one value is a constant: rules that read it are traced the smaller for it.
    feed = iter([v if s.domain.bits else _only_value(s.domain) for v, s in zip(symbols, layout.slots, strict=True)])
    return tuple(map(symbol_of, symbols)), rebuild(layout.shape, lambda: next(feed))


def _only_value(domain: Domain) -> int:
    return bool(domain.lo) if isinstance(domain, Flag) else domain.lo
