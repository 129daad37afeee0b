"""Doubts: words of a collection that may have lost something are what they say only where it has not.

A step that stores such a collection leaves its layout, for the collection marks it. A truth, a guard or a word that is
computed from one has no such mark. So its words carry the condition under which they are right, and whoever traces a
rule asks whether the rule reads one where the condition may be false (`kraftcheck.solvers.program.premises.doubtful`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kraftcheck.model.language.terms import Graph, Term, Truth, Word, lower
from kraftcheck.model.language.untraceable import place

AWAY = 1 << 16
"""How far a number may be from what it would be, had nothing been lost: a comparison is not decided by its ends."""


def doubted(words: Iterable[Any], right: Truth, what: str, away: int = 0) -> tuple[Any, ...]:
    """Words that are right where a truth is; themselves where it is true, or where all is known.

    Args:
        words: words of one collection.
        right: whether it has lost nothing.
        what: the collection, and what may have happened to it.
        away: how far they may be from right ones; 0 for masks, which are never negative.
    """
    if not isinstance(right, Term):
        return tuple(words)
    graph, said = right.graph, f"{place()}: {what}"
    return tuple(_doubted(graph, graph.lift(word), right, said, away) for word in words)


def _doubted(graph: Graph, word: Term, right: Term, said: str, away: int) -> Term:
    """A word of its own: an equal one may come from elsewhere, where nothing was lost. Of a truth: whether it is 1."""
    if word.is_truth:
        one = graph.lift(graph.ite(word, 1, 0))
        return graph.lift(graph.apply("eq", _doubted(graph, one, right, said, 1), graph.constant(1)))
    lo, hi = word.lo - away, word.hi + away
    twin = graph.intern("narrow", (word, graph.constant(lo), graph.constant(hi)), 0, lo, hi, False, right.index)
    graph.notes.doubts.setdefault(twin.index, (right, said))
    return twin


def undoubted(words: Iterable[Any]) -> tuple[Any, ...]:
    """The words without the doubts about them, for an operation to which what may be lost makes no difference."""
    return tuple(word.args[0] if is_doubted(word) else word for word in words)


def is_doubted(word: Any) -> bool:
    """Whether a word is right under a condition only."""
    return isinstance(word, Term) and word.index in word.graph.notes.doubts


def has_bit(mask: Word, place: int) -> Truth:
    """Whether a mask has a bit, said of the masks that it is made of: most are known to be too small for it."""
    if not isinstance(mask, Term):
        return mask >> place & 1 == 1
    if mask.hi < 1 << place:
        return False
    graph, parts = mask.graph, [has_bit(lower(arg), place) for arg in mask.args if not arg.is_truth]
    match mask.op:
        case "narrow":
            return parts[0]
        case "ite":
            return graph.ite(mask.args[0], graph.lift(parts[0]), graph.lift(parts[1]))  # type: ignore[return-value]
        case "bor":
            return lower(graph.lift(graph.apply("or", *map(graph.lift, parts))))  # type: ignore[no-any-return]
        case "bclear":
            return lower(graph.lift(graph.apply("and", graph.lift(parts[0]), graph.lift(graph.negate(parts[1])))))  # type: ignore[no-any-return]
    return graph.apply("member", mask, graph.constant(place))
