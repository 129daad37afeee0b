"""Who proves obligations with quantifiers: part by part, from few invariants of the state before, or from others after.

A claim that is said to follow from others in every state is shown to do just that. Any other is
asked from what its proofs with few participants use, then from the groups that it is said to rest on.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence

from attrs import define, evolve, field

from kraftcheck.model.language.terms import Term
from kraftcheck.properties.kinds import STAYS
from kraftcheck.solvers.program.evaluation import closure
from kraftcheck.solvers.smt.queries import (
    PROVEN,
    UNDECIDED,
    Clock,
    Effort,
    FieldsLeft,
    Obligation,
    ObligationAnswer,
    Premises,
    Questions,
    SolverAnswer,
    fields_left,
)
from kraftcheck.solvers.smt.reading.goals.proof import STEP, Frame, GoalProof, Parts, PremiseParts, frame_of
from kraftcheck.solvers.smt.reading.goals.truths import Decisions, decided_sets
from kraftcheck.solvers.smt.reading.quantified.engine import QuantifiedEngine
from kraftcheck.solvers.smt.theory import DOMAINS, INITIATION
from kraftcheck.solvers.smt.z3terms import Substitution

SHORT = 30  # terms of an invariant that is assumed second: it says little, and that of all participants alike
LONG = 150  # terms of an invariant that is assumed only where few participants use it, or all are
DEEP = 3  # places of which a claim speaks together, where its instances at all places of interest are too many

NO_LEMMAS: Mapping[str, Term] = {}

NOT_IN_PARTS = "a part of it was not proven in time from any choice of invariants"


@define
class GoalProver:
    """Proves obligations about one theory."""

    # questions, effort, clock: of the theory, of each query, and the seconds from any origin
    questions: Questions
    effort: Effort
    clock: Clock
    _frames: dict[tuple[str, tuple[str, ...]], Frame] = field(factory=dict)
    _consequences: dict[str, SolverAnswer] = field(factory=dict)
    _lemmas: dict[tuple[str, str, tuple[str, ...]], ObligationAnswer] = field(factory=dict)
    _named: dict[str, Decisions] = field(factory=dict)

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
            used, more: what its proofs with few participants use, with other bounds and without.
            strangers: invariants that few participants do not have.
            assumed: what may be assumed.
        """
        frame = self._frame(obligation.action, assumed)
        claim = self.questions.subject.claim(obligation.claim)
        lemmas = self.questions.subject.rests_on_steps(claim)
        plain = [group for group in claim.rests_on if not {*lemmas} & {*group}]
        if lemmas:
            of_steps = [group for group in claim.rests_on if {*lemmas} & {*group}]
            choices = self._choices(claim.id, [*of_steps, *plain], used, more, strangers)
            if (answer := self._by_lemmas(obligation, lemmas, choices, assumed, frame)) is not None:
                return answer
        choices = self._choices(claim.id, plain, used, more, strangers)
        return self._answer(obligation, self.questions.goals(obligation), choices, assumed, frame)

    def _by_lemmas(
        self, obligation: Obligation, names: Sequence[str], choices: Sequence[Collection[str]],
        assumed: Sequence[str], frame: Frame,
    ) -> ObligationAnswer | None:  # fmt: skip
        """A proof from lemmas about the step, whatever else it decides; None where there is none."""
        start, action = self.clock(), obligation.action
        goal = self.questions.of_any_outcome(action, obligation.claim)
        if goal is self.questions.goals(obligation)[0]:
            return None
        lemmas = {name: self._lemma(action, name, assumed, frame) for name in names}
        cores = {STEP + name: answer.core for name, answer in lemmas.items() if answer.result == PROVEN}
        terms = {name: self.questions.of_any_outcome(action, name.removeprefix(STEP)) for name in cores}
        for after, before in frame.facts:
            name = f"{STEP}{before.graph.variables[before.value]} stays"
            terms[name] = after.graph.lift(after.graph.apply("eq", after, before))
            cores[name] = tuple(frame.core)
        named = self._decisions(action).named
        answer = self._answer(
            obligation, [named(goal)], choices, assumed, Frame(), {name: named(term) for name, term in terms.items()}
        )
        if answer.result != PROVEN:
            return None
        core = {*answer.core}.union(*(cores[name] for name in answer.core if name in cores))
        return evolve(answer, core=tuple(sorted(core)), seconds=self.clock() - start)

    def _lemma(self, action: str, name: str, assumed: Sequence[str], frame: Frame) -> ObligationAnswer:
        """The answer to whether a claim about a step holds, from what it rests on, and invariants that are not long."""
        key = (action, name, tuple(assumed))
        if key not in self._lemmas:
            obligation = Obligation(name.removesuffix(STAYS), action)
            own = {obligation.claim}
            groups = [own.union(group) for group in self.questions.subject.claim(obligation.claim).rests_on]
            choices = [*groups, self.short(assumed), own | self._plain]
            self._lemmas[key] = self._answer(obligation, self.questions.goals(obligation), choices, assumed, frame)
        return self._lemmas[key]

    def _decisions(self, action: str) -> Decisions:
        if action not in self._named:
            questions, outcome = self.questions, self.questions.subject.outcome
            assert outcome is not None
            names = outcome.names(action)
            sets = decided_sets(self._substitution, questions.fields_after(action), names)
            self._named[action] = Decisions(self._substitution, sets, questions.arguments(action))
        return self._named[action]

    def domains(self, obligation: Obligation, assumed: Sequence[str]) -> ObligationAnswer:
        """The answer to whether no field leaves its domain, from short invariants."""
        goals = self.questions.goals(obligation)
        return self._answer(obligation, goals, [self.short(assumed)], assumed, Frame())

    def fields_left(self, obligation: Obligation, assumed: Sequence[str], or_capped: bool = False) -> FieldsLeft:
        """The fields that a step is not shown to leave within their domain, or (`or_capped`) its caps."""
        bounds, short = self.questions.bounds_of(obligation.action, or_capped), [self.short(assumed)]
        answers = {name: self._answer(obligation, [term], short, assumed, Frame()) for name, term in bounds.items()}
        return fields_left(answers)

    def _answer(
        self, obligation: Obligation, goals: Sequence[Term], choices: Sequence[Collection[str]],
        assumed: Sequence[str], frame: Frame, lemmas: Mapping[str, Term] = NO_LEMMAS,
    ) -> ObligationAnswer:  # fmt: skip
        """The answer to whether some goals hold after a step, part by part, from choices of what may be assumed.

        That the step stays in the layout is assumed last: it says all of the effect once more, and is seldom needed.
        """
        action, start = obligation.action, self.clock()
        names = dict.fromkeys(tuple(name for name in assumed if name in some) for some in choices)
        premises = [self._in_parts(action, some, False, lemmas) for some in names]
        if obligation.claim not in DOMAINS:
            premises.append(self._in_parts(action, [*names][-1], True, lemmas))
        answer = GoalProof(self._substitution, tuple(premises), self._premises, self.effort, frame).answer(goals)
        if answer.result != PROVEN:
            return ObligationAnswer(obligation, UNDECIDED, self.clock() - start, reason=NOT_IN_PARTS)
        return ObligationAnswer(obligation, PROVEN, self.clock() - start, answer.core)

    def _choices(
        self, claim: str, rests_on: Sequence[Sequence[str]], used: Sequence[str], more: Sequence[str],
        strangers: Collection[str],
    ) -> list[set[str]]:  # fmt: skip
        """What is assumed at a time; of what few use without bounds first that which counts no set."""
        countless = {name for name in more if not any(node.op == "cardinality" for node in self._parts[name])}
        groups = [{claim, *group} for group in rests_on]
        first = {claim, *used}
        apart, every = [first | {name} for name in strangers], first.union(more, strangers, *groups)
        return [*groups, first, first | countless, *apart, every, every | self._plain]

    def _frame(self, action: str, assumed: Sequence[str]) -> Frame:
        """What a step of an action leaves as it is, by the invariants that are not long."""
        plain = tuple(name for name in assumed if name in self._plain)
        if (action, plain) not in self._frames:  # what has fallen since may be assumed no longer
            self._frames[action, plain] = frame_of(self.questions, action, plain)
        return self._frames[action, plain]

    def _in_parts(self, action: str, assumed: Sequence[str], within: bool, lemmas: Mapping[str, Term]) -> Premises:
        premises = self.questions.premises(action, assumed, within)
        return self._premises.of(evolve(premises, terms={**premises.terms, **lemmas}))

    @functools.cached_property
    def _premises(self) -> PremiseParts:
        return PremiseParts(Parts(self._substitution), self.questions.read.expression)

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
