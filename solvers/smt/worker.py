"""Workers: who answers obligations, and with which premises first.

A claim about any number of participants is proven from few invariants, and each
that is assumed besides costs instances at every place of interest. Which are
needed a proof with few participants tells at once: its unsat core. So those are
assumed first, then those that are short as well, and all only in the end. A
proof from fewer premises is a proof; what none of them proves is asked from all.
Where claims speak of three places together, they are quantifiers of Z3 at first,
which chooses places from its models, and are asked part by part (`kraftcheck.solvers.smt.reading.goals`);
their instances are asked after that. There a second proof with few participants, without the
bounds of the first, tells what else is needed: what the bounds said by themselves.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence

from attrs import define, evolve, field

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.machine_code.lower import closure
from kraftcheck.solvers.smt.places import Substitution
from kraftcheck.solvers.smt.queries import (
    DOMAINS,
    INITIATION,
    PROVEN,
    Clock,
    Effort,
    Obligation,
    ObligationAnswer,
    Questions,
)
from kraftcheck.solvers.smt.reading.goals.frame import Frame, frame_of
from kraftcheck.solvers.smt.reading.goals.proof import GoalProof
from kraftcheck.solvers.smt.session import SolverSession
from kraftcheck.solvers.smt.theory import Theory

TheoryBuilder = Callable[[], Theory]
"""Makes the theory anew in a worker process; it must be picklable."""

PREMISE = "invariant: "
"""Group of the premises that are invariants."""

SHORT = 30
"""Terms of an invariant that is assumed second: it says little, and that of all participants alike."""

LONG = 150
"""Terms of an invariant that is assumed only where few participants use it, or all are."""

DEEP = 3
"""Places of which a claim speaks together, where its instances at all places of interest are too many."""

FEW_SECONDS = 10.0
"""How long a query with few participants may take: it only saves time."""


@define
class ProofWorker:
    """Answers obligations about one theory.

    Attributes:
        questions, effort, clock: of the theory, of each query, and the seconds from any origin.
        few: questions about the same system with few participants, and, for claims about three places, with few and
            without other bounds; none: all invariants are assumed at once.
    """

    questions: Questions
    effort: Effort
    clock: Clock
    few: tuple[Questions, ...] = ()
    _frames: dict[str, Frame] = field(factory=dict)

    def answer(self, batch: Sequence[Obligation], assumed: Sequence[str]) -> list[ObligationAnswer]:
        """The answers to obligations about one action, in order."""
        used = self._used_by(self.few[0], batch, assumed) if self.few else {}
        more = self._used_by(self.few[1], batch, assumed) if self.few[1:] and self._is_quantified() else {}
        start, whole, answers = self.clock(), list[SolverSession](), list[ObligationAnswer]()
        for obligation in batch:
            some = used.get(obligation), more.get(obligation)
            first = self._from_some(obligation, *some, assumed) if some != (None, None) else None
            if obligation.claim in DOMAINS and self.few and self._is_quantified():
                first = self._domains_from_short(obligation, assumed)
            if first is None and not whole:
                whole.append(self._session(batch[0].action, assumed, batch[0].claim not in DOMAINS))
            answers.append(whole[0].ask(obligation) if first is None else evolve(first, seconds=self.clock() - start))
            start = self.clock()
        return [
            self._with_fields(whole[0], a) if a.obligation.claim in DOMAINS and a.result != PROVEN else a
            for a in answers
        ]

    def _session(self, action: str, assumed: Sequence[str], within: bool = True) -> SolverSession:
        premises = self.questions.premises(action, assumed, within)
        return SolverSession(self.questions, premises, self.effort, self.clock)

    def _by_parts(
        self, obligation: Obligation, assumed: Sequence[str], choices: Sequence[Collection[str]], frame: Frame
    ) -> ObligationAnswer | None:
        """A proof with quantifiers, part by part; None where no choice of the assumed invariants suffices.

        That the step stays in the layout is assumed last: it says all of the effect once more, and is seldom needed.
        """
        action, questions = obligation.action, self.questions
        names = dict.fromkeys(tuple(name for name in assumed if name in some) for some in choices)
        premises = tuple(questions.premises(action, some, within=False) for some in names)
        if obligation.claim not in DOMAINS:
            premises += (questions.premises(action, [*names][-1], within=True),)
        start, goals = self.clock(), questions.goals(obligation)
        found = GoalProof(self._substitution, premises, self.effort, frame).answer(goals)
        if found.result != PROVEN:
            return None
        return ObligationAnswer(obligation, PROVEN, self.clock() - start, found.core)

    @functools.cached_property
    def _substitution(self) -> Substitution:
        return Substitution(self.questions.subject.program.graph)

    def _frame(self, action: str, assumed: Sequence[str]) -> Frame:
        """What a step of an action leaves as it is, by the invariants that are not long."""
        if action not in self._frames:
            self._frames[action] = frame_of(self.questions, action, assumed, self._plain)
        return self._frames[action]

    def _domains_from_short(self, obligation: Obligation, assumed: Sequence[str]) -> ObligationAnswer | None:
        """A proof that no field leaves its domain, from short invariants; None where these do not suffice."""
        return self._by_parts(obligation, assumed, [self._short(assumed)], Frame())

    def _short(self, assumed: Sequence[str]) -> set[str]:
        """The invariants that say little."""
        return {name for name in assumed if len(self._parts[name]) < SHORT}

    @functools.cached_property
    def _plain(self) -> set[str]:
        """The invariants that are not long."""
        return {name for name, nodes in self._parts.items() if len(nodes) < LONG}

    @functools.cached_property
    def _parts(self) -> Mapping[str, Sequence[Term]]:
        """The terms of each truth about a state."""
        return {name: closure([truth]) for name, truth in self.questions.subject.state_truths().items()}

    def _used_by(
        self, few: Questions, batch: Sequence[Obligation], assumed: Sequence[str]
    ) -> Mapping[Obligation, list[str]]:
        """The invariants that the proof of each obligation with few participants uses, if it is proven there."""
        action, of = batch[0].action, few.subject
        if action == INITIATION or batch[0].claim in DOMAINS:
            return {}
        if action not in {kind.action.name for kind in of.program.kinds}:
            return {}
        known, claims = [claim.id for claim in of.invariants if claim.id in assumed], {claim.id for claim in of.claims}
        effort = Effort(min(FEW_SECONDS, self.effort.timeout), self.effort.seed, minimise=True)
        session = SolverSession(few, few.premises(action, known), effort, self.clock)
        answers = [session.ask(obligation) for obligation in batch if obligation.claim in claims]
        strangers = {obligation: list[str]() for obligation in batch if obligation.claim not in claims}
        return strangers | {answer.obligation: rests_on(answer) for answer in answers if answer.result == PROVEN}

    def _from_some(
        self, obligation: Obligation, used: Sequence[str] | None, more: Sequence[str] | None, assumed: Sequence[str]
    ) -> ObligationAnswer | None:
        """A proof from some of the invariants that may be assumed; None where no choice of them suffices.

        Args:
            obligation: what to prove.
            used, more: what its proofs with few participants use; None where they are not proven.
            assumed: what may be assumed.
        """
        shared = {claim.id for claim in self.few[0].subject.invariants}
        strangers = {name for name in assumed if name not in shared}
        first = {obligation.claim, *(used or ()), *strangers}
        short = self._short(assumed)
        if self._is_quantified():
            frame = self._frame(obligation.action, assumed)
            answer = self._by_parts(obligation, assumed, self._choices(obligation.claim, used, more), frame)
            if answer is not None:
                return answer
        for chosen in [] if used is None else [first, first | short]:
            session = self._session(obligation.action, [name for name in assumed if name in chosen])
            if (told := session.ask(obligation)).result == PROVEN:
                return told
        return None

    def _is_quantified(self) -> bool:
        """Whether quantifiers are asked: not where no claim is about three places, for instances are few there."""
        return self.effort.quantifiers and any(
            node.op == "bound" and node.value + 1 >= DEEP for nodes in self._parts.values() for node in nodes
        )

    def _choices(self, claim: str, used: Sequence[str] | None, more: Sequence[str] | None) -> list[set[str]]:
        """What is assumed with quantifiers; of what few use without bounds first that which counts no set."""
        countless = {name for name in more or () if not any(node.op == "cardinality" for node in self._parts[name])}
        first, groups = {claim, *(used or ())}, self.questions.subject.claim(claim).rests_on
        return [first | countless, *map(set, groups), first.union(more or (), *groups), first | self._plain]

    @staticmethod
    def _with_fields(session: SolverSession, answer: ObligationAnswer) -> ObligationAnswer:
        """An answer about domains, with the fields that may leave theirs."""
        action = answer.obligation.action
        fields, faults = session.fields_left(action), session.fields_left(action, or_capped=True)
        return evolve(answer, fields=tuple(fields), faults=tuple(faults))


def proof_worker(subject: Theory, few: Sequence[TheoryBuilder], effort: Effort, clock: Clock) -> ProofWorker:
    """A worker for a theory, which makes those with few participants itself."""
    return ProofWorker(Questions(subject), effort, clock, tuple(Questions(build()) for build in few))


def rests_on(answer: ObligationAnswer) -> list[str]:
    """The invariants that a proof used."""
    return [name.removeprefix(PREMISE) for name in answer.core if name.startswith(PREMISE)]
