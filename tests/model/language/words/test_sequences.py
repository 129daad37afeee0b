"""Sequences: the word at a place, which claims about other places may make."""

from __future__ import annotations

from kraftcheck.model.language.layout import UNBOUNDED
from kraftcheck.model.language.sequences import Sequence, every
from kraftcheck.model.language.terms import Graph, Truth, Word
from kraftcheck.solvers.audit.numbers import Places


def test_a_word_that_speaks_of_every_place_is_of_the_place_it_is_read_at() -> None:
    """Its domain is asked for at any place first; read at each place afterwards, it tells the two apart."""
    graph = Graph()
    numbers = Sequence.of_state(graph, "numbers", 0, UNBOUNDED)

    def least(at: Word) -> Truth:
        return every(graph, lambda other: numbers.at(at) <= numbers.at(other))

    is_least = Sequence(graph, least)
    is_least.anywhere()
    all_least = graph.lift(every(graph, is_least.at))
    assert [Places(2, {"numbers": words}).value(all_least) for words in ([4, 4], [4, 7])] == [1, 0]
