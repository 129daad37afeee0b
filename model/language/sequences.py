"""Endless sequences of words, and claims about each of their places; only provers read them.

A sequence is a rule from a place (0, 1, 2, ...) to a word. One of the state is
a symbol; an effect makes another rule of it. So no term stands for a whole
sequence: terms read single words of those of the state, at places that may be
bound by `every`, `some` or `first_place`.

`first_place` names the first place at which something holds, up to a place that is
named if there is none: what provers assume of it is true of some number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from kraftcheck.model.language.layout import UNBOUNDED
from kraftcheck.model.language.symbolic import Symbolic
from kraftcheck.model.language.terms import Graph, Term, Truth, Word
from kraftcheck.model.language.words import all_of, choose, negate

Places = Callable[[Word], Truth]  # a claim about a place


class Sequence(Symbolic):
    """An endless sequence of words; whether two are equal is asked place by place.

    Args:
        graph: where its words are terms.
        read: the word at a place; called once for each term that names one.
        number: how many of its places there are: what it has at others is nothing; None: each place is one.
    """

    graph: Graph

    def __init__(self, graph: Graph, read: Callable[[Word], Any], number: Term | None = None) -> None:
        self.graph = graph
        self.number = number
        self._read = read
        self._words: dict[int, Any] = {}

    @classmethod
    def of_state(
        cls, graph: Graph, name: str, lo: int, hi: int, truths: bool = False, numbers: Iterable[Term | None] = (None,)
    ) -> Sequence:
        """A sequence of arbitrary words in lo..hi, or of arbitrary truths; a number for each place that names one."""
        first, *more = numbers
        graph.variables.append(name)
        symbol = graph.intern("sequence", (graph.constant(1 + len(more)),), len(graph.variables) - 1, lo, hi, truths)
        sequence = cls._after(symbol, (), first, more)
        sequence.symbol = symbol
        return sequence

    @classmethod
    def _after(cls, symbol: Term, given: tuple[Word, ...], number: Term | None, more: list[Term | None]) -> Sequence:
        """What a symbol names once some of its places are given."""
        if not more:
            return cls(symbol.graph, lambda at: word_at(symbol, *given, at), number)
        return cls(symbol.graph, lambda at: cls._after(symbol, (*given, at), more[0], more[1:]), number)

    def __eq__(self, other: object) -> NoReturn:
        """Refuse to be compared: for whom the places count is not known here."""
        raise self.graph.refusal("sets or maps of any number are compared; use same() of sets, and of maps each() of "
                                 "their keys, with get() of both")  # fmt: skip

    __hash__ = Symbolic.__hash__

    def described(self) -> str:
        """See `Symbolic`."""
        return f"a sequence ({self.anywhere().described()} at any place)"

    symbol: Term | None = None
    """The term that names the sequence, where it is one of a state."""

    def at(self, place: Word) -> Any:
        """The word at a place; of a sequence of sequences, the sequence there."""
        key = self.graph.lift(place).index
        if key not in self._words:
            self._words[key] = self._read(place)
        return self._words[key]

    def anywhere(self) -> Term:
        """The word at a place (or at several) that is bound by nothing."""
        place = _place(self.graph)
        self.graph.binders += 1  # what the word binds itself is another place
        try:
            word = self.at(place)
            return word.anywhere() if isinstance(word, Sequence) else self.graph.lift(word)
        finally:
            self.graph.binders -= 1

    def chosen_by_place(self, condition: Truth, other: Sequence) -> Sequence:
        """This sequence where the condition holds, else the other; each is nothing beyond its own number."""
        if self.number is other.number:
            return Sequence(self.graph, lambda at: choose(condition, self.at(at), other.at(at)), self.number)
        return Sequence(self.graph, lambda at: choose(condition, self.within(at), other.within(at)))

    def within(self, place: Word) -> Truth:
        """The truth at a place, false where it is none of the sequence's.

        Raises:
            UntraceableRule: for a sequence of words, which are nothing there.
        """
        truth = self.at(place)
        if not isinstance(truth, bool) and not (isinstance(truth, Term) and truth.is_truth):
            raise self.graph.refusal("choose() between maps of two bounds; choose between their values")
        return all_of(is_one_of(place, self.number), truth)

    def member_number(self, places: int) -> Term | None:
        """How many places there are of the last that names a truth."""
        if places == 1:
            return self.number
        place = _place(self.graph)
        self.graph.binders += 1
        try:
            inner: Sequence = self.at(place)
            return inner.member_number(places - 1)
        finally:
            self.graph.binders -= 1

    def of_members(self, places: int) -> Sequence:
        """The same where the last place that names a truth may be any, and it is false where it is none."""
        if places == 1:
            return Sequence(self.graph, self.within)
        return Sequence(self.graph, lambda at: self.at(at).of_members(places - 1), self.number)


def is_one_of(place: Word, number: Term | None) -> Truth:
    """Whether a place that is not negative is one of so many; of None every place is."""
    return True if number is None else place < number


def number_of(graph: Graph, bound: str | None) -> Term | None:
    """How many there are of what a bound leaves any number of: the same word wherever it is asked; None of None."""
    known, least = graph.notes.numbers, graph.notes.least
    if bound is not None and bound not in known:
        name, lo = graph.free_name(f"how many {bound}"), least.get(bound, min(least.values(), default=0))
        known[bound] = graph.variable(name, lo, UNBOUNDED)
    return None if bound is None else known[bound]


def symbol_of(value: Term | Sequence) -> Term:
    """The term that names what stands for a leaf of a state or of an argument."""
    if isinstance(value, Term):
        return value
    assert value.symbol is not None
    return value.symbol


def word_at(symbol: Term, *places: Word) -> Term:
    """The word (or truth) at a place of the sequence that a term names, or at as many as name one of its words."""
    graph = symbol.graph
    if symbol.lo == symbol.hi:
        return graph.constant(bool(symbol.lo) if symbol.is_truth else symbol.lo)
    return graph.intern("read", (symbol, *map(graph.lift, places)), 0, symbol.lo, symbol.hi, symbol.is_truth)


def every(graph: Graph, claim: Places) -> Truth:
    """Whether a claim holds of every place 0, 1, 2, ...; of a conjunction, whether each conjunct does."""
    bound, body = _bound(graph, claim)
    if not isinstance(body, Term):
        return body
    parts = body.args if body.op == "and" else (body,)
    return all_of(*(graph.intern("every", (bound, part), 0, 0, 1, True) for part in parts))


def some(graph: Graph, claim: Places) -> Truth:
    """Whether a claim holds of some place."""
    return negate(every(graph, lambda at: negate(claim(at))))


def first_place(graph: Graph, claim: Places, before: Word) -> Word:
    """The first place at which a claim holds, if it is before a given one; else that one, or 0 if it is negative.

    Raises:
        UntraceableRule: within `every` or `some`.
    """
    return _extreme_place(graph, "least", 0, claim, before)


def _extreme_place(graph: Graph, op: str, lo: int, claim: Places, limit: Word) -> Term:
    bound, body = _bound(graph, claim)
    if graph.binders:
        function = "first_place" if op == "least" else "last_place"
        raise graph.refusal(f"{function}() of any number within each() or some(); ask for it before")
    return graph.intern(op, (bound, graph.lift(body), graph.lift(limit)), 0, lo, bound.hi, False)


def last_place(graph: Graph, claim: Places, last: Word) -> Word:
    """The last place at which a claim holds, up to a given one, which is not negative; -1 where there is none.

    Raises:
        UntraceableRule: within `every` or `some`.
    """
    return _extreme_place(graph, "greatest", -1, claim, last)


def cardinality(graph: Graph, claim: Places) -> Word:
    """How many places a claim holds of; only where they are finitely many, as the members of a set are."""
    bound, body = _bound(graph, claim)
    return 0 if body is False else graph.intern("cardinality", (bound, graph.lift(body)), 0, 0, bound.hi, False)


def least_by(graph: Graph, claim: Places, key: Callable[[Word], Word]) -> Word:
    """A place that a claim holds of and whose key is smallest; -1 where there is none.

    Raises:
        UntraceableRule: within `every` or `some`.
    """
    bound, body = _bound(graph, claim)
    return _single_word(graph, "least_by", -1, (bound, body), key(bound))


def above(graph: Graph, claim: Places) -> Word:
    """A number that is larger than every place a claim holds of; only where they are finitely many.

    Raises:
        UntraceableRule: within `every` or `some`.
    """
    return _single_word(graph, "above", 0, _bound(graph, claim))


def _single_word(graph: Graph, op: str, lo: int, claim: tuple[Term, Truth], *more: Word) -> Word:
    bound, body = claim
    if graph.binders:
        asked = "a first or smallest member" if op == "least_by" else "ascending()"
        raise graph.refusal(
            f"{asked} of any number within each() or some(); ask for it before where it does not depend on the member"
        )
    if body is False:
        return lo
    return graph.intern(op, (bound, graph.lift(body), *map(graph.lift, more)), 0, lo, bound.hi, False)


def _bound(graph: Graph, claim: Places) -> tuple[Term, Truth]:
    """A place that stands for any, and the claim about it. How deep it is nested names it, so equal claims are one."""
    bound = _place(graph)
    graph.binders += 1
    try:
        return bound, claim(bound)
    finally:
        graph.binders -= 1


def _place(graph: Graph) -> Term:
    return graph.intern("bound", (), graph.binders, 0, UNBOUNDED, False)
