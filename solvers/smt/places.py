"""Substitution of places of endless sequences for bound variables."""

from __future__ import annotations

from attrs import define, field

from kraftcheck.model.language.layout import UNBOUNDED
from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.solvers.machine_code.lower import closure

BINDERS = ("every", "least", "greatest", "least_by", "above", "cardinality")
"""Operators that speak of any place."""

LAST_GENERATION = 1
"""How many witnesses of witnesses are named."""


@define
class Substitution:
    """Puts places in for bound ones, in the terms of one graph, and names places.

    Attributes:
        graph: holds every term.
    """

    graph: Graph
    _free: dict[int, frozenset[int]] = field(factory=dict)
    _memo: dict[tuple[int, int, int], Term] = field(factory=dict)
    _names: dict[str, Term] = field(factory=dict)
    _deepest: dict[int, int] = field(factory=dict)
    _generations: dict[int, int] = field(factory=dict)

    def free(self, term: Term) -> frozenset[int]:
        """The numbers of the bound places that a term depends on."""
        if term.index not in self._free:
            for node in closure([term], self._free):
                self._free[node.index] = self._free_of(node)
        return self._free[term.index]

    def _free_of(self, node: Term) -> frozenset[int]:
        if node.op == "bound":
            return frozenset((node.value,))
        free = frozenset[int]().union(*(self._free[arg.index] for arg in node.args))
        return free - {node.args[0].value} if node.op in BINDERS else free

    def at(self, claim: Term, place: Term) -> Term:
        """The body of a binder at a place that depends on no bound one."""
        bound, body = claim.args[:2]
        return self._with(body, bound, place)

    def key_at(self, claim: Term, place: Term) -> Term:
        """The key of a `least_by` at a place that depends on no bound one."""
        return self._with(claim.args[2], claim.args[0], place)

    def deepest(self, term: Term) -> int:
        """The largest number of a bound place in a term, free or not; -1 where there is none."""
        if term.index not in self._deepest:
            for node in closure([term], self._deepest):
                own = node.value if node.op == "bound" else -1
                self._deepest[node.index] = max([own, *(self._deepest[arg.index] for arg in node.args)])
        return self._deepest[term.index]

    def _with(self, term: Term, bound: Term, place: Term) -> Term:
        """A term with a place for a bound one, and a number less for those that are bound within.

        So a claim has the same numbers as if it had been made of the place.
        """
        if term is bound:
            return place
        if bound.value > self.deepest(term) or (term.op in BINDERS and term.args[0] is bound):
            return term
        if term.op == "bound":
            return self.graph.intern("bound", (), term.value - (term.value > bound.value), term.lo, term.hi, False)
        key = (term.index, bound.value, place.index)
        if key not in self._memo:
            self._memo[key] = self.rebuilt(term, tuple(self._with(arg, bound, place) for arg in term.args))
        return self._memo[key]

    def rebuilt(self, term: Term, args: tuple[Term, ...]) -> Term:
        """The operator of a term with other arguments."""
        graph = self.graph
        if term.op == "read" or term.op in BINDERS:
            return graph.intern(term.op, args, 0, term.lo, term.hi, term.is_truth)
        if term.op != "ite":
            return graph.lift(graph.apply(term.op, *args))
        condition, consequent, otherwise = args
        if condition.op == "const":
            return consequent if condition.value else otherwise
        return graph.lift(graph.ite(condition, consequent, otherwise))

    def named_place(self, name: str, truth: bool = False) -> Term:
        """The place (or truth) with a name, always the same term. A place may turn out negative."""
        if truth and name not in self._names:
            self._names[name] = self.graph.truth_variable(name)
        return self.named_word(name, -UNBOUNDED, UNBOUNDED)

    def named_word(self, name: str, lo: int, hi: int) -> Term:
        """The word with a name, always the same term."""
        if name not in self._names:
            self._names[name] = self.graph.variable(name, lo, hi)
        return self._names[name]

    def witness(self, name: str, *claims: Term) -> Term | None:
        """The place with a name where claims fail or have members; None where that is too far from what is asked.

        Where each broker has a set of others, a witness has one as well, and so on without end.
        """
        generation = max(map(self.generation, claims)) + 1
        if generation > LAST_GENERATION:
            return None
        place = self.named_place(name)
        self._generations[place.index] = generation
        return place

    def near(self, claim: Term, place: Term) -> bool:
        """Whether an instance of a claim at a place is not too far from what is asked."""
        return self.generation(claim) + self.generation(place) <= LAST_GENERATION

    def generation(self, term: Term) -> int:
        """How many witnesses of witnesses a term names; 0 where it names none."""
        if term.index not in self._generations:
            for node in closure([term], self._generations):
                self._generations[node.index] = max((self._generations[arg.index] for arg in node.args), default=0)
        return self._generations[term.index]

    def within(self, word: Term) -> list[Term]:
        """Truths that a word is in its interval, written out although that says so, and below its number."""
        graph = self.graph
        number = graph.notes.below.get(word.args[0].index) if word.op == "read" else None
        ends = [(word, graph.constant(word.lo))]
        if word.hi < UNBOUNDED:
            ends.append((graph.constant(word.hi), word))
        outside = [graph.intern("lt", pair, 0, 0, 1, True) for pair in ends]
        inside = [] if number is None else [graph.lift(word < number)]
        return [*(graph.intern("not", (truth,), 0, 0, 1, True) for truth in outside), *inside]
