"""Who proves obligations with quantifiers: part by part, from few invariants of the state before, or from others after.

A claim that is said to follow from others in every state is shown to do just that. Any other is
asked from what its proofs with few participants use, then from the groups that it is said to rest on.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence

from attrs import define, field

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.machine_code.lower import closure
from kraftcheck.solvers.smt.answer import SolverAnswer
from kraftcheck.solvers.smt.places import Substitution
from kraftcheck.solvers.smt.queries import (
    BOUND,
    DOMAINS,
    INITIATION,
    PROVEN,
    UNDECIDED,
    Clock,
    Effort,
    Obligation,
    ObligationAnswer,
    Questions,
)
from kraftcheck.solvers.smt.reading.goals.frame import Frame, frame_of
from kraftcheck.solvers.smt.reading.goals.proof import GoalProof
from kraftcheck.solvers.smt.reading.quantified.engine import QuantifiedEngine

SHORT = 30
"""Terms of an invariant that is assumed second: it says little, and that of all participants alike."""

LONG = 150
"""Terms of an invariant that is assumed only where few participants use it, or all are."""

DEEP = 3
"""Places of which a claim speaks together, where its instances at all places of interest are too many."""

NOT_IN_PARTS = "a part of it was not proven in time from any choice of invariants"


@define
class GoalProver:
    """Proves obligations about one theory.

    Attributes:
        questions, effort, clock: of the theory, of each query, and the seconds from any origin.
    """

    questions: Questions
    effort: Effort
    clock: Clock
    _frames: dict[tuple[str, tuple[str, ...]], Frame] = field(factory=dict)
    _consequences: dict[str, SolverAnswer] = field(factory=dict)

    @functools.cached_property
    def is_needed(self) -> bool:
        """Whether quantifiers are asked: not where no claim is about three places, for instances are few there."""
        return self.effort.quantifiers and any(
            node.op == "bound" and node.value + 1 >= DEEP for nodes in self._parts.values() for node in nodes
        )

    def from_others(self, obligation: Obligation, assumed: Collection[str]) -> ObligationAnswer | None:
        """A proof that a claim follows from others in the state after a step; None where it is not asked, or not shown.

        That these hold after the step is to be shown too, so it may be assumed: no claim follows from itself.
        """
        claim, start = obligation.claim, self.clock()
        if obligation.action == INITIATION or claim in DOMAINS or not self.is_needed:
            return None
        others = self.questions.subject.claim(claim).follows_from
        if not others or not {*others} <= {*assumed}:
            return None
        if claim not in self._consequences:
            engine = QuantifiedEngine(self.questions.of_state(others), self.effort)
            self._consequences[claim] = engine.refute([self.questions.subject.state_truths()[claim]])
        answer = self._consequences[claim]
        if answer.result != PROVEN:
            return None
        return ObligationAnswer(obligation, PROVEN, self.clock() - start, answer.core)

    def from_before(
        self, obligation: Obligation, used: Sequence[str], more: Sequence[str], strangers: Collection[str],
        assumed: Sequence[str],
    ) -> ObligationAnswer:  # fmt: skip
        """The answer to an obligation, from some of the invariants that may be assumed before the step.

        Args:
            obligation: what to prove.
            used, more: what its proofs with few participants use, with other bounds and without.
            strangers: invariants that few participants do not have.
            assumed: what may be assumed.
        """
        frame = self._frame(obligation.action, assumed)
        choices = self._choices(obligation.claim, used, more, strangers)
        return self._answer(obligation, self.questions.goals(obligation), choices, assumed, frame)

    def domains(self, obligation: Obligation, assumed: Sequence[str]) -> ObligationAnswer:
        """The answer to whether no field leaves its domain, from short invariants."""
        goals = self.questions.goals(obligation)
        return self._answer(obligation, goals, [self.short(assumed)], assumed, Frame())

    def fields_left(self, obligation: Obligation, assumed: Sequence[str], or_capped: bool = False) -> tuple[str, ...]:
        """The fields that a step is not shown to leave within their domain, or (`or_capped`) its caps."""
        bounds, short = self.questions.bounds_of(obligation.action, or_capped), [self.short(assumed)]
        answers = {name: self._answer(obligation, [term], short, assumed, Frame()) for name, term in bounds.items()}
        return tuple(name.removeprefix(BOUND) for name, answer in answers.items() if answer.result != PROVEN)

    def _answer(
        self, obligation: Obligation, goals: Sequence[Term], choices: Sequence[Collection[str]],
        assumed: Sequence[str], frame: Frame,
    ) -> ObligationAnswer:  # fmt: skip
        """The answer to whether some goals hold after a step, part by part, from choices of what may be assumed.

        That the step stays in the layout is assumed last: it says all of the effect once more, and is seldom needed.
        """
        action, questions, start = obligation.action, self.questions, self.clock()
        names = dict.fromkeys(tuple(name for name in assumed if name in some) for some in choices)
        premises = [questions.premises(action, some, within=False) for some in names]
        if obligation.claim not in DOMAINS:
            premises.append(questions.premises(action, [*names][-1], within=True))
        answer = GoalProof(self._substitution, tuple(premises), self.effort, frame).answer(goals)
        if answer.result != PROVEN:
            return ObligationAnswer(obligation, UNDECIDED, self.clock() - start, reason=NOT_IN_PARTS)
        return ObligationAnswer(obligation, PROVEN, self.clock() - start, answer.core)

    def _choices(
        self, claim: str, used: Sequence[str], more: Sequence[str], strangers: Collection[str]
    ) -> list[set[str]]:
        """What is assumed at a time; of what few use without bounds first that which counts no set."""
        countless = {name for name in more if not any(node.op == "cardinality" for node in self._parts[name])}
        groups = [{claim, *group} for group in self.questions.subject.claim(claim).rests_on]
        first = {claim, *used}
        apart, every = [first | {name} for name in strangers], first.union(more, strangers, *groups)
        return [*groups, first, first | countless, *apart, every, every | self._plain]

    def _frame(self, action: str, assumed: Sequence[str]) -> Frame:
        """What a step of an action leaves as it is, by the invariants that are not long."""
        plain = tuple(name for name in assumed if name in self._plain)
        if (action, plain) not in self._frames:  # what has fallen since may be assumed no longer
            self._frames[action, plain] = frame_of(self.questions, action, plain)
        return self._frames[action, plain]

    def short(self, assumed: Sequence[str]) -> set[str]:
        """The invariants that say little."""
        return {name for name in assumed if len(self._parts[name]) < SHORT}

    @functools.cached_property
    def _substitution(self) -> Substitution:
        return Substitution(self.questions.subject.program.graph)

    @functools.cached_property
    def _plain(self) -> set[str]:
        """The invariants that are not long."""
        return {name for name, nodes in self._parts.items() if len(nodes) < LONG}

    @functools.cached_property
    def _parts(self) -> Mapping[str, Sequence[Term]]:
        """The terms of each truth about a state."""
        return {name: closure([truth]) for name, truth in self.questions.subject.state_truths().items()}
