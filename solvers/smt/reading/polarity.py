"""Polarity: whether a truth is needed to hold, to fail, or is asked for both, where it stands in another."""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.model.language.terms import Term

POSITIVE, NEGATIVE = 1, 2
BOTH = POSITIVE | NEGATIVE
"""Where a truth stands in another: that one needs it to hold, to fail, or asks for both."""


def arguments_with_polarity(term: Term, polarity: int) -> Iterator[tuple[Term, int]]:
    """The arguments of a term that stands at a polarity, with theirs."""
    match term.op:
        case "not":
            yield term.args[0], (polarity & POSITIVE) << 1 | polarity >> 1
        case "and" | "or":
            yield from ((arg, polarity) for arg in term.args)
        case "ite" if term.is_truth:
            yield term.args[0], BOTH
            yield from ((arg, polarity) for arg in term.args[1:])
        case _:
            yield from ((arg, BOTH) for arg in term.args)
