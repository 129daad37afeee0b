"""Goals by cases: of whom a claim speaks, and by what a step is chosen.

A step is about a few brokers, which its arguments and words of the state name. A claim about every
broker is asked of each of them, and of all others, of whom the step changes little. And where
the effect is one thing or another by a condition, it is asked of each.
"""

from __future__ import annotations

from collections import deque

from attrs import define

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.smt.places import Substitution
from kraftcheck.solvers.smt.reading.goals.conjuncts import Conjuncts, flattened, joined, of_every, once
from kraftcheck.solvers.smt.reading.goals.replacement import consequences, replaced
from kraftcheck.solvers.smt.reading.goals.simplification import simplified

DEEPEST = 2
"""Conditions one after another by which a goal is cut."""


@define
class Cases:
    """Cuts goals of one graph into cases.

    Attributes:
        substitution: knows which terms depend on a bound place.
        conjuncts: of truths of the graph.
    """

    substitution: Substitution
    conjuncts: Conjuncts

    def by_place(self, truth: Term, asked: frozenset[tuple[int, int]] = frozenset()) -> list[Term]:
        """Truths that all hold just where a goal does: of each place that a word of the step names, and of the others.

        Args:
            truth: the goal.
            asked: pairs of a bound place and a word, by their numbers, that are told apart already.
        """
        if truth.op == "and":
            return once(case for part in truth.args for case in self.by_place(part, asked))
        if truth.op == "or":
            return self._of_disjunction(truth, asked)
        if truth.op != "every":
            return once([truth])
        place, body = truth.args
        if (comparison := self._comparison(place, body, asked)) is None:
            return once(of_every(self.substitution, truth, case) for case in self.by_place(body, asked))
        word = next(arg for arg in comparison.args if arg is not place)
        there = self.conjuncts.of(self._at(truth, word))
        body_elsewhere = replaced(self.substitution, body, consequences(comparison, False))
        elsewhere = of_every(self.substitution, truth, joined(truth.graph, "or", [comparison, body_elsewhere]))
        further = self.by_place(elsewhere, asked | {(place.index, word.index)})
        return once([*(case for part in there for case in self.by_place(part, asked)), *further])

    def _at(self, claim: Term, word: Term) -> Term:
        """A claim about every place of a word, where that is a place."""
        graph, there = claim.graph, self.substitution.at(claim, word)
        return joined(graph, "or", [graph.lift(word < 0), there])

    def _of_disjunction(self, truth: Term, asked: frozenset[tuple[int, int]]) -> list[Term]:
        """The cases of the one disjunct that has any; a disjunction of several with cases is left as it is."""
        disjuncts = flattened(truth, "or")
        cases = [self.by_place(one, asked) for one in disjuncts]
        if any(not some for some in cases):
            return []
        if sum(len(some) > 1 for some in cases) > 1:
            return [truth]
        many = max(range(len(cases)), key=lambda at: len(cases[at]))
        rest = [some[0] for at, some in enumerate(cases) if at != many]
        return once(joined(truth.graph, "or", [*rest, case]) for case in cases[many])

    def _comparison(self, place: Term, body: Term, asked: frozenset[tuple[int, int]]) -> Term | None:
        """The first comparison of a bound place with a variable that is not asked yet; None: there is none."""
        found: dict[int, Term] = {}
        pending, seen = [body], set[int]()
        while pending:
            term = pending.pop()
            if term.index in seen or place.value not in self.substitution.free(term):
                continue
            seen.add(term.index)
            pending.extend(term.args)
            if term.op == "eq" and any(arg is place for arg in term.args):
                found |= {arg.index: term for arg in term.args
                          if arg.op == "var" and (place.index, arg.index) not in asked}  # fmt: skip
        return found[min(found)] if found else None

    def by_condition(self, truth: Term, deepest: int = DEEPEST) -> list[Term]:
        """Truths that all hold just where a goal does: one for each choice of conditions without a free place."""
        condition = self._condition(truth) if deepest else None
        if condition is None:
            return once([truth])
        graph, cases = truth.graph, list[Term]()
        for holds, denial in ((True, graph.lift(graph.negate(condition))), (False, condition)):
            chosen = simplified(self.substitution, replaced(self.substitution, truth, consequences(condition, holds)))
            case = simplified(self.substitution, graph.lift(graph.apply("or", denial, chosen)))
            cases += self.by_condition(case, deepest - 1)
        return once(cases)

    def _condition(self, truth: Term) -> Term | None:
        """The outermost condition without a free place by which a part of a truth is chosen; None: there is none."""
        pending, seen = deque([truth]), set[int]()
        while pending:
            term = pending.popleft()
            if term.index in seen:
                continue
            seen.add(term.index)
            if term.op == "ite" and not self.substitution.free(term.args[0]):
                return term.args[0]
            pending.extend(term.args)
        return None
