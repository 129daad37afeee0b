"""Truths of goals: their conjuncts, through claims about every place and disjunctions, and names for decisions in them.

A claim about every place whose body is a conjunction is one claim for each conjunct, and a disjunction with a
conjunction in it is a conjunction of disjunctions. A solver that proves them one by one has less to refute each time.

By how much a step raises an epoch is a word of hundreds of terms, and all that depends on it asks only whether that is
0. A goal that holds of every word in its place holds. So it does of every set in the place of one that is decided,
wherever it asks what its members are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import define, field

from kraftcheck.model.language.layout import UNBOUNDED
from kraftcheck.model.language.sequences import word_at
from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.solvers.program.evaluation import closure
from kraftcheck.solvers.smt.z3terms import BINDERS, Substitution

MOST = 8  # disjunctions that one is made of, at most: distributed without end, they are thousands


@define
class Conjuncts:
    """Finds the conjuncts of truths of one graph."""

    substitution: Substitution  # knows which terms depend on a bound place
    _memo: dict[tuple[int, bool], list[Term]] = field(factory=dict)

    def of(self, truth: Term, holds: bool = True) -> list[Term]:
        """Truths that all hold just where a truth does, or (not `holds`) where it does not."""
        key = (truth.index, holds)
        if key not in self._memo:
            self._memo[key] = self._of(truth, holds)
        return self._memo[key]

    def _of(self, truth: Term, holds: bool) -> list[Term]:
        graph = truth.graph
        if truth.op == "const":
            return [] if bool(truth.value) == holds else [graph.constant(False)]
        if truth.op == "not":
            return self.of(truth.args[0], not holds)
        if truth.op in ("and", "or"):
            return self._of_connective(truth, holds)
        if truth.op == "every" and holds:
            return once(of_every(self.substitution, truth, part) for part in self.of(truth.args[1]))
        return [truth if holds else graph.lift(graph.negate(truth))]

    def _of_connective(self, truth: Term, holds: bool) -> list[Term]:
        parts = [self.of(arg, holds) for arg in truth.args]
        if (truth.op == "and") == holds:
            return once(part for some in parts for part in some)
        found = parts[0]
        for other in parts[1:]:
            found = self._distributed(truth.graph, found, other)
        return found

    def _distributed(self, graph: Graph, some: list[Term], others: list[Term]) -> list[Term]:
        """The conjuncts of the disjunction of two conjunctions; of the shorter, or of both, as a whole if too many."""
        if len(some) * len(others) > MOST:
            longer, shorter = sorted((some, others), key=len, reverse=True)
            kept = longer if len(longer) <= MOST else shorter if len(shorter) <= MOST else None
            some, others = (part if part is kept else [joined(graph, "and", part)] for part in (some, others))
        return once(graph.lift(graph.apply("or", one, other)) for one in some for other in others)


def of_every(substitution: Substitution, claim: Term, body: Term) -> Term:
    """The claim about every place with another body; the body itself where that does not depend on the place."""
    if claim.args[0].value not in substitution.free(body):
        return body
    return claim.graph.intern("every", (claim.args[0], body), claim.value, claim.lo, claim.hi, True)


def once(truths: Iterable[Term]) -> list[Term]:
    """Truths, each once, without those that always hold."""
    return [truth for truth in {truth.index: truth for truth in truths}.values() if not holds_always(truth)]


def holds_always(truth: Term) -> bool:
    """Whether a truth is the constant that holds."""
    return truth.op == "const" and bool(truth.value)


def joined(graph: Graph, op: str, truths: Iterable[Term]) -> Term:
    """The conjunction or disjunction of some truths."""
    found = graph.constant(op == "and")
    for truth in truths:
        found = graph.lift(graph.apply(op, found, truth))
    return found


def flattened(truth: Term, op: str) -> list[Term]:
    """The parts of a nested conjunction or disjunction."""
    return [part for arg in truth.args for part in flattened(arg, op)] if truth.op == op else [truth]


Equal = tuple[Term, Term]
"""A term, and one that it is equal to where a goal is asked; of a truth that is known, a constant."""


def consequences(truth: Term, holds: bool) -> list[Equal]:
    """The consequences of a truth that holds, or does not: itself, its conjuncts, and the value of a word."""
    if truth.op == "not":
        return consequences(truth.args[0], not holds)
    whole = [(truth, truth.graph.constant(holds))]
    if truth.op == ("and" if holds else "or"):
        return whole + [fact for part in truth.args for fact in consequences(part, holds)]
    if truth.op == "eq" and holds:
        one, other = truth.args
        return whole + [(a, b) for a, b in ((one, other), (other, one)) if b.op == "const" and a.op != "const"]
    return whole


def replaced(substitution: Substitution, term: Term, facts: Sequence[Equal]) -> Term:
    """A term with each left side of some facts replaced by the right one.

    A binder that binds a place of a left side hides it: within, the same term is another one.
    """
    table = {left.index: right for left, right in facts}
    bound = {left.index: substitution.free(left) for left, _ in facts}
    memo: dict[tuple[int, frozenset[int]], Term] = {}

    def within(node: Term, seen: frozenset[int]) -> Term:
        if node.index in seen:
            return table[node.index]
        if not node.args or not seen:
            return node
        key = (node.index, seen)
        if key not in memo:
            memo[key] = rebuilt(node, seen)
        return memo[key]

    def rebuilt(node: Term, seen: frozenset[int]) -> Term:
        first = int(node.op in BINDERS)
        if first:
            seen = frozenset(index for index in seen if node.args[0].value not in bound[index])
        args = (*node.args[:first], *(within(arg, seen) for arg in node.args[first:]))
        if all(one is other for one, other in zip(args, node.args, strict=True)):
            return node
        return substitution.rebuilt(node, args)

    return within(term, frozenset(table))


LONG = 60  # terms of a word that a name is shorter than
SHORT = 40  # terms of a word that is left as it is where its parts have names

CHOICES = ("ite", "least_by", "least", "greatest")
"""Operators of words that are chosen, of which their interval says most."""


@define
class Decisions:
    """Puts names in for decisions, in truths of one graph."""

    substitution: Substitution  # of the graph
    # sets that are decided: the truth that a bound place, the first, is a member, and the name of the set
    sets: Sequence[tuple[Term, Term]] = ()
    arguments: Sequence[Term] = ()  # of the action; those that are places are asked for as members too
    _deepest: int = -1
    _members: dict[int, Term] = field(factory=dict)
    _memo: dict[int, Term] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        """Note what it is for an argument to be a member."""
        self._note(argument for argument in self.arguments if not argument.is_truth and argument.lo >= 0)

    def named(self, term: Term) -> Term:
        """A term with the same name for each decision wherever it is in it, or in another one."""
        deepest = self.substitution.deepest(term)
        self._note(_place(term, number) for number in range(self._deepest + 1, deepest + 1))
        self._deepest = max(deepest, self._deepest)
        return self._within(term)

    def _note(self, places: Iterable[Term]) -> None:
        for place in places:
            for member, name in self.sets:
                at = replaced(self.substitution, member, [(_place(member, 0), place)])
                self._members[at.index] = word_at(name, place)

    def _within(self, term: Term) -> Term:
        if term.index in self._members:
            return self._members[term.index]
        if term.index not in self._memo:
            self._memo[term.index] = self._named(term)
        return self._memo[term.index]

    def _named(self, term: Term) -> Term:
        if not term.args:
            return term
        first = int(term.op in BINDERS)
        args = (*term.args[:first], *map(self._within, term.args[first:]))
        same = all(one is other for one, other in zip(args, term.args, strict=True))
        new = term if same else self.substitution.rebuilt(term, args)
        if self._is_decision(term) and len(closure([new])) > SHORT:
            return self._name_of(term)
        return new

    def _is_decision(self, term: Term) -> bool:
        return term.op in CHOICES and not self.substitution.free(term) and len(closure([term])) >= LONG

    def _name_of(self, term: Term) -> Term:
        name = f"decision {term.index}"
        if term.is_truth:
            return self.substitution.named_place(name, truth=True)
        return self.substitution.named_word(name, term.lo, term.hi)


def decided_sets(
    substitution: Substitution, after: Mapping[str, Term], names: Mapping[str, Term]
) -> list[tuple[Term, Term]]:
    """The sets among the fields of a state after a step that have names: their members, and the names.

    Left out is one whose members are asked for by a claim about other places: this would bind another place anew.
    """
    pairs = [(after[path], name) for path, name in names.items() if name.op == "sequence"]
    return [(member, name) for member, name in pairs if substitution.free(member) == {0} and not any(
        node.op in BINDERS and substitution.free(node) for node in closure([member]))]  # fmt: skip


def _place(term: Term, number: int) -> Term:
    return term.graph.intern("bound", (), number, 0, UNBOUNDED, False)
