"""Places of endless sequences put in for bound ones."""

from __future__ import annotations

from attrs import define, field

from kraftcheck.model.language.layout import UNBOUNDED
from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.solvers.machine_code.lower import closure

BINDERS = ("every", "least", "greatest")
"""Operators that speak of any place."""


@define
class Swap:
    """Puts places in for bound ones, in the terms of one graph, and names places.

    Attributes:
        graph: holds every term.
    """

    graph: Graph
    _free: dict[int, frozenset[int]] = field(factory=dict)
    _done: dict[tuple[int, int, int], Term] = field(factory=dict)
    _names: dict[str, Term] = field(factory=dict)

    def free(self, term: Term) -> frozenset[int]:
        """The numbers of the bound places that a term depends on."""
        if term.index not in self._free:
            for node in closure([term], self._free):
                self._free[node.index] = self._free_of(node)
        return self._free[term.index]

    def _free_of(self, node: Term) -> frozenset[int]:
        if node.op == "bound":
            return frozenset((node.value,))
        found = frozenset[int]().union(*(self._free[arg.index] for arg in node.args))
        return found - {node.args[0].value} if node.op in BINDERS else found

    def at(self, claim: Term, place: Term) -> Term:
        """What an `every`, `least` or `greatest` says of a place that depends on no bound one."""
        bound, body = claim.args[:2]
        return self._with(body, bound, place)

    def _with(self, term: Term, bound: Term, place: Term) -> Term:
        if term is bound:
            return place
        if bound.value not in self.free(term):
            return term
        key = (term.index, bound.value, place.index)
        if key not in self._done:
            self._done[key] = self._again(term, tuple(self._with(arg, bound, place) for arg in term.args))
        return self._done[key]

    def _again(self, term: Term, args: tuple[Term, ...]) -> Term:
        """The operator of a term with other arguments."""
        graph = self.graph
        if term.op == "read" or term.op in BINDERS:
            return graph.intern(term.op, args, 0, term.lo, term.hi, term.is_truth)
        if term.op != "ite":
            return graph.lift(graph.apply(term.op, *args))
        condition, then, otherwise = args
        if condition.op == "const":
            return then if condition.value else otherwise
        return graph.lift(graph.ite(condition, then, otherwise))

    def named(self, name: str, truth: bool = False) -> Term:
        """A place that has a name, or a truth; the same whenever it is asked for. A place may turn out negative."""
        if name not in self._names:
            graph = self.graph
            made = graph.truth_variable(name) if truth else graph.variable(name, -UNBOUNDED, UNBOUNDED)
            self._names[name] = made
        return self._names[name]

    def within(self, word: Term) -> list[Term]:
        """Truths that a word is in its interval, written out although that says so."""
        graph = self.graph
        ends = [(word, graph.constant(word.lo))]
        if word.hi < UNBOUNDED:
            ends.append((graph.constant(word.hi), word))
        beyond = [graph.intern("lt", pair, 0, 0, 1, True) for pair in ends]
        return [graph.intern("not", (one,), 0, 0, 1, True) for one in beyond]
