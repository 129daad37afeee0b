"""Proofs of goals part by part, each from few premises.

A part that no choice of premises proves soon is cut into cases, and these once more;
only what is not cut any more has all the time that there is.
Each part has a solver of its own: what one that has read other parts knows besides makes it slower.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence

from attrs import define, evolve, field, frozen

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.smt.answer import SolverAnswer
from kraftcheck.solvers.smt.places import Substitution
from kraftcheck.solvers.smt.queries import PROVEN, UNDECIDED, Effort, Premises
from kraftcheck.solvers.smt.reading.goals.cases import Cases
from kraftcheck.solvers.smt.reading.goals.conjuncts import Conjuncts
from kraftcheck.solvers.smt.reading.goals.frame import Frame
from kraftcheck.solvers.smt.reading.goals.parts import Parts
from kraftcheck.solvers.smt.reading.goals.premises import CHOSEN, PremiseParts, chosen
from kraftcheck.solvers.smt.reading.goals.relevance import Relevance
from kraftcheck.solvers.smt.reading.goals.replacement import Equal, consequences
from kraftcheck.solvers.smt.reading.goals.simplification import simplified
from kraftcheck.solvers.smt.reading.quantified.engine import GUARD, QuantifiedEngine

LIGHT, MEDIUM, HEAVY = 2_000_000, 25_000_000, 50_000_000
"""What Z3 may do for a part from each choice of premises.

Most parts that are proven at all need less than the least; so more choices are better than more time for one.
"""


@frozen
class Attempt:
    """How a part is asked.

    Attributes:
        resources: what Z3 may do.
        seed: of its choices.
        choices: of premises, so many of the first; None: all.
    """

    resources: int
    seed: int
    choices: int | None


SOON = (Attempt(LIGHT, 0, 10),)
LONGER = (Attempt(MEDIUM, 0, 8),)
LAST = (Attempt(LIGHT, 0, None), Attempt(MEDIUM, 0, None), Attempt(MEDIUM, 1, 6), Attempt(HEAVY, 0, None))
"""How every part is asked, one that has been cut, and one that cannot be cut any more.

Where much is to be done, one seed in three finds nothing in time: then others are tried.
"""

CUTS = 5
"""A part is cut by conditions, its cases by places, and these in turn once more."""

RELEVANT = (4, 10)
"""So many parts of each invariant are assumed first, and then."""

GROUPS = 3
"""Choices of premises that are asked with few parts of each invariant."""

FAILURES = 2
"""So often in a row it may be in vain that parts that are cut so often are asked for longer."""


@define(slots=False)
class GoalProof:
    """Proves goals of one action.

    Attributes:
        substitution: of the graph of the goals.
        choices: premises in parts, those to try first first; all of them have the guards of the action.
        premises: knows whose parts they are.
        effort: of each query.
        frame: what the step leaves as it is.
    """

    substitution: Substitution
    choices: tuple[Premises, ...]
    premises: PremiseParts
    effort: Effort
    frame: Frame
    _used: set[str] = field(factory=set)
    _last: tuple[str, ...] = ()
    _failures: dict[int, int] = field(factory=dict)

    @functools.cached_property
    def _cases(self) -> Cases:
        return Cases(self.substitution, Conjuncts(self.substitution))

    @functools.cached_property
    def _parts(self) -> Parts:
        return Parts(self.substitution, guard_facts(self.choices[0].terms))

    def parts(self, goals: Sequence[Term]) -> list[Term]:
        """Truths that all hold just where some goals do, after a step that has the guards and the frame."""
        framed = (simplified(self.substitution, goal, self.frame.facts) for goal in goals)
        return self._parts.of_all(framed)

    def cut(self, part: Term, cuts: int) -> list[Term]:
        """The cases of a part that was cut some times."""
        return self._parts.of_all(self._cases.by_place(part) if cuts % 2 else self._cases.by_condition(part))

    def answer(self, goals: Sequence[Term]) -> SolverAnswer:
        """The answer to whether some goals hold: proven if all their parts are."""
        answer = self._of_all(self.parts(goals), 0)
        guards = (name for name in self.choices[0].terms if name.startswith(GUARD))
        core = {*self.frame.core, *guards, *map(self.premises.whole, answer.core)} if answer.result == PROVEN else ()
        return evolve(answer, core=tuple(sorted(core)))

    def _of_all(self, parts: Sequence[Term], cuts: int) -> SolverAnswer:
        """The answer to some parts: what has proven the easy ones is tried for the others."""
        core, hard = set[str](), list[Term]()
        for part in parts:
            answer = self._from_any(part, SOON)
            core.update(answer.core)
            if answer.result != PROVEN:
                hard.append(part)
        for part in hard:
            answer = self._of_part(part, cuts)
            if answer.result != PROVEN:
                return answer
            core.update(answer.core)
        return SolverAnswer(PROVEN, core=tuple(core))

    def _of_part(self, part: Term, cuts: int) -> SolverAnswer:
        """The answer to a part that was not proven soon."""
        if (answer := self._for_longer(part, cuts)).result == PROVEN:
            return answer
        for done in range(cuts, CUTS):
            cases = self.cut(part, done)
            if len(cases) != 1 or cases[0] is not part:
                return self._of_all(cases, done + 1)
        return self._from_any(part, LAST)

    def _for_longer(self, part: Term, cuts: int) -> SolverAnswer:
        """The answer to a part that was cut some times, unless too many of these were asked in vain."""
        if self._failures.get(cuts, 0) == FAILURES:
            return SolverAnswer(UNDECIDED)
        answer = self._from_any(part, LONGER)
        self._failures[cuts] = 0 if answer.result == PROVEN else self._failures.get(cuts, 0) + 1
        return answer

    def _from_any(self, part: Term, attempts: Sequence[Attempt]) -> SolverAnswer:
        """The answer to a part from the first attempt, and the first choice of premises, that proves it."""
        answer = SolverAnswer(UNDECIDED)
        for attempt, premises in ((one, some) for one in attempts for some in self._tried(part, one)):
            effort = evolve(self.effort, resources=attempt.resources, seed=self.effort.seed + attempt.seed)
            answer = QuantifiedEngine(premises, effort).refute([part])
            if answer.result == PROVEN:
                self._last = answer.core
                self._used.update(name for name in answer.core if name.startswith(CHOSEN))
                break
        return answer

    def _tried(self, part: Term, attempt: Attempt) -> list[Premises]:
        """The choices of an attempt: first what has proven parts before; few parts of invariants if time is short."""
        every = self.choices[-1]
        last, used = ([chosen(every, names)] if names else [] for names in ({*self._last}, self._used))
        if attempt.resources > LIGHT:
            return _each_once([*used, *self.choices])[: attempt.choices]
        few = [self._relevance.most(some, part, count) for count in RELEVANT for some in self.choices[:GROUPS]]
        return _each_once([*last, *few, *used, *self.choices])[: attempt.choices]

    @functools.cached_property
    def _relevance(self) -> Relevance:
        return Relevance(self.choices[-1], self.premises.whole)


def _each_once(choices: Iterable[Premises]) -> list[Premises]:
    distinct = dict[frozenset[str], Premises]()
    for premises in choices:
        distinct.setdefault(frozenset(premises.truths), premises)
    return [*distinct.values()]


def guard_facts(terms: Mapping[str, Term]) -> list[Equal]:
    """What is known of a step by its guards, among named premises."""
    guards = (term for name, term in terms.items() if name.startswith(GUARD))
    return [fact for guard in guards for fact in consequences(guard, True)]
