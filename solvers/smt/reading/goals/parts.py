"""Truths in parts: the simplest conjuncts that all hold just where a truth does.

What is a conjunct of its own may be simpler than it was among others, and have conjuncts again once it is.
Both are done in turn, a few times: for ever it would only change the order of disjuncts, of some.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import define, field

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.smt.places import Substitution
from kraftcheck.solvers.smt.reading.goals.conjuncts import Conjuncts, once
from kraftcheck.solvers.smt.reading.goals.replacement import Equal
from kraftcheck.solvers.smt.reading.goals.simplification import simplified

MOST_TIMES = 3
"""How often conjuncts are made simpler, and taken apart."""


@define
class Parts:
    """Finds the parts of truths of one graph, where some facts hold.

    Attributes:
        substitution: knows which terms depend on a bound place.
        facts: what holds wherever a truth is asked.
    """

    substitution: Substitution
    facts: Sequence[Equal] = ()
    _conjuncts: Conjuncts = field(init=False)
    _memo: dict[int, list[Term]] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self._conjuncts = Conjuncts(self.substitution)

    def of(self, truth: Term) -> list[Term]:
        """The parts of a truth; none where it always holds."""
        if truth.index not in self._memo:
            parts = [truth]
            for _ in range(MOST_TIMES):
                before, parts = parts, once(part for one in parts for part in self._conjuncts_of(one))
                if len(before) == len(parts) and all(one is other for one, other in zip(before, parts, strict=True)):
                    break
            self._memo[truth.index] = parts
        return self._memo[truth.index]

    def _conjuncts_of(self, truth: Term) -> list[Term]:
        return self._conjuncts.of(simplified(self.substitution, truth, self.facts))

    def of_all(self, truths: Iterable[Term]) -> list[Term]:
        """The parts of some truths, each once."""
        return once(part for truth in truths for part in self.of(truth))
