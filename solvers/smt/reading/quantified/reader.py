"""Terms as Z3 expressions with quantifiers: a claim about every place is one, what a binder names a constant.

Every truth and word without a free place has a constant of its own, so that a
quantifier says it once, and does not name witnesses anew for each place.
"""

from __future__ import annotations

from typing import Any

import z3

from kraftcheck.model.language.layout import UNBOUNDED
from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.solvers.smt.places import Substitution
from kraftcheck.solvers.smt.reading.quantified.sets import CountedSet, SetShapes
from kraftcheck.solvers.smt.z3terms import Z3Reader, is_number

NAMED = ("ite", "every", "and", "or")
"""Operators whose terms have a constant of their own where no place in them is free."""


class QuantifiedReader(Z3Reader):
    """Z3 expressions of the terms of one graph, in a context of its own.

    Attributes:
        meanings: truths that say what constants stand for.
        sets: the sets whose sizes are asked for, by the term of their claim.
    """

    def __init__(self, graph: Graph) -> None:
        super().__init__(z3.Context())
        self.meanings: list[Any] = []
        self.sets: dict[int, CountedSet] = {}
        self._substitution = Substitution(graph)
        self._shapes = SetShapes(self._substitution)
        self._symbols: dict[int, Term] = {}

    def ranges(self) -> list[Any]:
        """Truths that every word of the sequences that were read is in its domain."""
        return [truth for symbol in self._symbols.values() for truth in self._range(symbol)]

    def _range(self, symbol: Term) -> list[Any]:
        if symbol.is_truth:
            return []
        places = [z3.Int(f"place {number}", self.context) for number in range(symbol.args[0].value)]
        word = self._substitution.named_word(f"word of {symbol.lo}..{symbol.hi}", symbol.lo, symbol.hi)
        self.bind(word, self.expression(symbol)(*places))
        number = symbol.graph.notes.below.get(symbol.index)
        reached = [] if number is None else [self.expression(word) < self.expression(number)]
        return [z3.ForAll(places, z3.And(self.within(word, symbol.lo, symbol.hi), *reached))]

    def _read(self, node: Term) -> Any:
        read = super()._read(node)
        if node.op not in NAMED or self._substitution.free(node):
            return read
        constant = z3.Const(f"term {node.index}", read.sort())
        self.meanings.append(constant == read)
        return constant

    def _place_operator(self, node: Term) -> Any:
        match node.op:
            case "bound":
                return super()._place_operator(node)
            case "read":
                self._symbols[node.args[0].index] = node.args[0]
                return super()._place_operator(node)
            case "every":
                place = self.expression(node.args[0])
                return z3.ForAll([place], z3.Implies(place >= 0, self.expression(node.args[1])))
            case "cardinality":
                return self._size(node)
        word = super()._place_operator(node)
        self.meanings += self._named_word(node, word)
        return word

    def _named_word(self, node: Term, word: Any) -> list[Any]:
        """What a word that a binder names is: `kraftcheck.model.language.sequences` defines each."""
        place, inside = (self.expression(arg) for arg in node.args[:2])
        of_word, least = z3.substitute(inside, (place, word)), node.lo
        member = z3.And(place >= 0, inside)
        result = [word >= least]
        if node.hi < UNBOUNDED:
            result.append(word <= node.hi)
        match node.op:
            case "least":
                limit = self._as_int(node.args[2])
                end = z3.If(limit < 0, z3.IntVal(0, self.context), limit)
                before = z3.ForAll([place], z3.Not(z3.And(member, place < word)))
                return [*result, word <= end, z3.Or(word == end, of_word), before]
            case "greatest":
                limit = self._as_int(node.args[2])
                after = z3.ForAll([place], z3.Implies(z3.And(member, place <= limit), place <= word))
                return [*result, z3.Or(word == -1, z3.And(word <= limit, of_word)), after]
            case "least_by":
                key = self._as_int(node.args[2])
                smallest = z3.And(word >= 0, z3.substitute(key, (place, word)) <= key)
                return [*result, z3.Or(word == -1, of_word), z3.ForAll([place], z3.Implies(member, smallest))]
            case _:
                return [*result, z3.ForAll([place], z3.Implies(member, place < word))]

    def _size(self, node: Term) -> Any:
        """The size of a set: of one of two sets by a condition that is the same at every place, else a function."""
        if (condition := self._shapes.condition(node)) is not None:
            chosen = (self._shapes.assuming(node, condition, holds) for holds in (True, False))
            return z3.If(self.expression(condition), *map(self.expression, chosen))
        shape = self._shapes.of(node)
        values = [self._as_sort_of(blank, term) for term, blank in shape.parameters]
        if shape.claim is None:
            return self._function(f"size {node.index}", values)
        if shape.claim.index not in self.sets:
            parameters = [self.expression(blank) for _, blank in shape.parameters]
            place, claim = self.expression(shape.place), self.expression(shape.claim)
            size = self._function(f"size {shape.claim.index}", parameters)
            self.sets[shape.claim.index] = CountedSet(len(self.sets), size, tuple(parameters), place, claim)
        return self._function(f"size {shape.claim.index}", values)

    def _as_sort_of(self, blank: Term, term: Term) -> Any:
        """The expression of a term in the sort of the blank that stands for it."""
        value = self.expression(term)
        return self._as_int(term) if is_number(blank) else value

    def _function(self, name: str, arguments: list[Any]) -> Any:
        if not arguments:
            return z3.Int(name, self.context)
        return z3.Function(name, *(value.sort() for value in arguments), z3.IntSort(self.context))(*arguments)
