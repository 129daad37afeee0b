"""Decisions in goals: long words that depend on no bound place, of which a goal may know nothing but their interval.

By how much a step raises an epoch is a word of hundreds of terms, and all that depends on it asks only whether
that is 0. A goal that holds of every word in its place holds. So it does of every set in the place of
one that is decided, wherever it asks what its members are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import define, field

from kraftcheck.model.language.layout import UNBOUNDED
from kraftcheck.model.language.sequences import word_at
from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.program.evaluation import closure
from kraftcheck.solvers.smt.z3terms import BINDERS, Substitution

Equal = tuple[Term, Term]
"""A term, and one that it is equal to where a goal is asked; of a truth that is known, a constant."""


def consequences(truth: Term, holds: bool) -> list[Equal]:
    """What follows at once from a truth that holds, or does not: itself, its conjuncts, and the value of a word."""
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


LONG = 60
"""Terms of a word that a name is shorter than."""

SHORT = 40
"""Terms of a word that is left as it is where its parts have names."""

CHOICES = ("ite", "least_by", "least", "greatest")
"""Operators of words that are chosen, of which their interval says most."""


@define
class Decisions:
    """Puts names in for decisions, in truths of one graph.

    Attributes:
        substitution: of the graph.
        sets: sets that are decided: the truth that a bound place, the first, is a member, and the name of the set.
        arguments: of the action; those that are places are asked for as members too.
    """

    substitution: Substitution
    sets: Sequence[tuple[Term, Term]] = ()
    arguments: Sequence[Term] = ()
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
