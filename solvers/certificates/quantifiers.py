"""Claims about every place as quantifiers, and sizes of sets as functions of what their definitions are given."""

from __future__ import annotations

from typing import Any

import z3
from attrs import frozen

from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.solvers.smt.z3terms import Substitution, Z3Reader


class NotDefined(ValueError):
    """A word that a certificate has no definition of."""


def places(count: int) -> list[Any]:
    """The symbols of so many bound places, the outermost first."""
    return [z3.Int(f"bound {number}") for number in range(count)]


@frozen
class DefinedSet:
    """A set whose size is asked for."""

    name: str  # of its definition
    size: Any  # of it, where it is given the outer places
    given: tuple[Any, ...]  # the outer places that it depends on, and a place
    member: Any  # the truth that the place is a member


class DefiningReader(Z3Reader):
    """Z3 expressions with quantifiers.

    Attributes:
        sets: those whose sizes were asked for, parts first.
    """

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.sets: list[DefinedSet] = []
        self._substitution = Substitution(graph)

    def within(self, variable: Term, lo: int, hi: int) -> Any:
        """As of a word; of a sequence, that each of its words is."""
        if variable.op != "sequence" or variable.is_truth:
            return super().within(variable, lo, hi)
        given = places(variable.args[0].value)
        word = self._substitution.named_word(f"word of {variable.index}", variable.lo, variable.hi)
        self.bind(word, self.expression(variable)(*given))
        below = self.below_number(variable, self.expression(word), given)
        inside = z3.And(super().within(word, lo, hi), *below)
        return z3.ForAll(given, z3.Implies(z3.And(*(place >= 0 for place in given)), inside))

    def _place_operator(self, node: Term) -> Any:
        if node.op == "every":
            place, claim = map(self.expression, node.args)
            return z3.ForAll([place], z3.Implies(place >= 0, claim))
        if node.op == "cardinality":
            return self._size(node)
        if node.op in ("bound", "read"):
            return super()._place_operator(node)
        raise NotDefined("it asks for a first or smallest member of a set of any number, or for a first or last place")

    def _size(self, node: Term) -> Any:
        place, claim = map(self.expression, node.args)
        outer = [z3.Int(f"bound {number}") for number in sorted(self._substitution.free(node))]
        name, sorts = f"set {len(self.sets) + 1}", [z3.IntSort()] * (len(outer) + 1)
        size = z3.Function(f"size of {name}", *sorts)(*outer) if outer else z3.Int(f"size of {name}")
        self.sets.append(DefinedSet(name, size, (*outer, place), z3.And(place >= 0, claim)))
        return size
