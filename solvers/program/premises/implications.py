"""Premises: where a claim says something, by the implications that its conjuncts are.

`implies(premise, conclusion)` says something of a state that satisfies the premise, and so does
`any_of(negate(premise), conclusion)`. A claim all of whose conjuncts are implications says nothing where no premise
holds; where that is so in every reachable state, it checks nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kraftcheck.model.language.terms import Graph, Term, Truth
from kraftcheck.model.language.words import all_of, any_of


def says_something(graph: Graph, truth: Term) -> Truth:
    """The truth that a claim says something of a state: some conjunct is no implication, or has a premise that holds.

    Args:
        graph: which noted the implications of this claim.
        truth: the claim. A constant claim says nothing.
    """
    return any_of(*(_of_conjunct(graph, part) for part in _conjuncts(truth)))


def _conjuncts(truth: Term) -> Iterator[Term]:
    pending, seen = [truth], set[int]()
    while pending:
        term = pending.pop()
        if term.index in seen:
            continue
        seen.add(term.index)
        if term.op == "and":
            pending += reversed(term.args)
        elif term.op != "const" or not term.value:
            yield term


def _of_conjunct(graph: Graph, part: Term) -> Truth:
    noted = graph.implications.parts.get(part.index)
    if noted is None:
        return True
    return any_of(*(all_of(*premises, *_of_conclusion(graph, conclusion)) for premises, conclusion in noted))


def _of_conclusion(graph: Graph, conclusion: Sequence[Truth]) -> tuple[Truth, ...]:
    """That a conclusion says something; of several, none is asked: they are no implication."""
    return tuple(says_something(graph, graph.lift(one)) for one in conclusion) if len(conclusion) == 1 else ()
