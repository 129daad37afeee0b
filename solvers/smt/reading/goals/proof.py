"""Proofs of goals part by part, each from few premises.

A part that no choice of premises proves soon is cut into cases, and these once more;
only what is not cut any more has more time.
Each part has a solver of its own: what one that has read other parts knows besides makes it slower.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping, Sequence

from attrs import define, evolve, field

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.smt.answer import SolverAnswer
from kraftcheck.solvers.smt.places import Substitution
from kraftcheck.solvers.smt.queries import PREMISE, PROVEN, UNDECIDED, Effort, Premises
from kraftcheck.solvers.smt.reading.goals.cases import Cases
from kraftcheck.solvers.smt.reading.goals.conjuncts import Conjuncts
from kraftcheck.solvers.smt.reading.goals.frame import Frame
from kraftcheck.solvers.smt.reading.goals.replacement import Equal, consequences
from kraftcheck.solvers.smt.reading.goals.simplification import simplified
from kraftcheck.solvers.smt.reading.quantified.engine import GUARD, QuantifiedEngine

LIGHT, MEDIUM, HEAVY = 2_000_000, 25_000_000, 50_000_000
"""What Z3 may do for a part from each choice of premises.

Most parts that are proven at all need less than the least; so more choices are better than more time for one.
"""

FIRST = 4
"""Choices of premises that a part is asked from before it is cut."""

BEFORE_CUTS = ((LIGHT, 0, FIRST), (MEDIUM, 0, FIRST), (MEDIUM, 1, 1), (MEDIUM, 2, 1), (MEDIUM, 3, 1))
BETWEEN_CUTS = ((LIGHT, 0, FIRST),)
AFTER_CUTS = ((LIGHT, 0, None), (MEDIUM, 0, None), (MEDIUM, 1, FIRST), (HEAVY, 0, None))
"""How a part is asked: what Z3 may do, a seed, and from how many choices; None: all.

Where much is to be done, one seed in three finds nothing in time: then others are tried from what has proven the last
part, which most often suffices. To cut a part instead makes hundreds of some.
"""

MOST_LEARNED = 8
"""Sets of invariants that have proven parts, and are tried before what is given."""

CUTS = 5
"""A part is cut by places, and its cases by conditions, and by the places that are compared then."""


@define
class GoalProof:
    """Proves goals of one action.

    Attributes:
        substitution: of the graph of the goals.
        choices: premises, those to try first first; all of them have the guards of the action.
        effort: of each query.
        frame: what the step leaves as it is.
    """

    substitution: Substitution
    choices: tuple[Premises, ...]
    effort: Effort
    frame: Frame
    _learned: list[Premises] = field(factory=list)

    @functools.cached_property
    def _conjuncts(self) -> Conjuncts:
        return Conjuncts(self.substitution)

    @functools.cached_property
    def _cases(self) -> Cases:
        return Cases(self.substitution, self._conjuncts)

    @functools.cached_property
    def _guards(self) -> list[Equal]:
        return guard_facts(self.choices[0].terms)

    def parts(self, goals: Sequence[Term]) -> list[Term]:
        """Truths that all hold just where some goals do, after a step that has the guards and the frame."""
        framed = (simplified(self.substitution, goal, self.frame.facts) for goal in goals)
        conjuncts = (part for goal in framed for part in self._conjuncts.of(goal))
        return [part for conjunct in conjuncts for part in self._simplest(conjunct)]

    def _simplest(self, truth: Term) -> list[Term]:
        return self._conjuncts.of(simplified(self.substitution, truth, self._guards))

    def cut(self, part: Term, cuts: int) -> list[Term]:
        """The cases of a part that was cut some times."""
        cases = [part] if cuts == 0 else self._cases.by_condition(part)
        return [simplest for case in cases for one in self._cases.by_place(case) for simplest in self._simplest(one)]

    def answer(self, goals: Sequence[Term]) -> SolverAnswer:
        """The answer to whether some goals hold: proven if all their parts are."""
        answer = self._of_all(self.parts(goals), 0)
        guards = (name for name in self.choices[0].terms if name.startswith(GUARD))
        core = {*self.frame.core, *guards, *answer.core} if answer.result == PROVEN else ()
        return evolve(answer, core=tuple(sorted(core)))

    def _of_all(self, parts: Sequence[Term], cuts: int) -> SolverAnswer:
        core = set[str]()
        for part in parts:
            answer = self._of_part(part, cuts)
            if answer.result != PROVEN:
                return answer
            core.update(answer.core)
        return SolverAnswer(PROVEN, core=tuple(core))

    def _of_part(self, part: Term, cuts: int) -> SolverAnswer:
        answer = self._from_any(part, BETWEEN_CUTS if cuts else BEFORE_CUTS)
        if answer.result == PROVEN:
            return answer
        for done in range(cuts, CUTS):
            cases = self.cut(part, done)
            if len(cases) != 1 or cases[0] is not part:
                return self._of_all(cases, done + 1)
        return self._from_any(part, AFTER_CUTS)

    def _from_any(self, part: Term, attempts: Sequence[tuple[int, int, int | None]]) -> SolverAnswer:
        """The answer to a part from the first attempt, and the first choice of premises, that proves it."""
        answer, order = SolverAnswer(UNDECIDED), self._order()
        for resources, seed, premises in ((r, s, p) for r, s, count in attempts for p in order[:count]):
            effort = evolve(self.effort, resources=resources, seed=self.effort.seed + seed)
            answer = QuantifiedEngine(premises, effort).refute([part])
            if answer.result == PROVEN:
                self._learned = _each_once([premises, needed(premises, answer.core), *self._learned])[:MOST_LEARNED]
                break
        return answer

    def _order(self) -> list[Premises]:
        """The choices: what has proven parts, the last of it first, also without what it does not need; then others."""
        return _each_once([*self._learned, *self.choices])


def _each_once(choices: Iterable[Premises]) -> list[Premises]:
    distinct = dict[frozenset[str], Premises]()
    for premises in choices:
        distinct.setdefault(frozenset(premises.truths), premises)
    return [*distinct.values()]


def needed(premises: Premises, core: Collection[str]) -> Premises:
    """Premises without the invariants that a proof has not used."""

    def used(name: str) -> bool:
        return name in core or not name.startswith(PREMISE)

    truths = {name: truth for name, truth in premises.truths.items() if used(name)}
    return evolve(premises, truths=truths, terms={name: term for name, term in premises.terms.items() if used(name)})


def guard_facts(terms: Mapping[str, Term]) -> list[Equal]:
    """What is known of a step by its guards, among named premises."""
    guards = (term for name, term in terms.items() if name.startswith(GUARD))
    return [fact for guard in guards for fact in consequences(guard, True)]
