"""Workers: who answers obligations, and with which premises first.

A claim about any number of participants is proven from few invariants, and each
that is assumed besides costs instances at every place of interest. Which are
needed a proof with few participants tells at once: its unsat core. So those are
assumed first, then those that are short as well, and all only in the end. A
proof from fewer premises is a proof; what none of them proves is asked from all.
Where claims speak of three places together, they are quantifiers of Z3 at first,
which chooses places from its models, and are asked part by part (`kraftcheck.solvers.smt.reading.goals`);
their instances are asked after that. Claims about any epoch and offset too have no such instances, for
these are too many. There a second proof with few participants, without the bounds of the first,
tells what else is needed: what the bounds said by themselves.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence

from attrs import define, evolve

from kraftcheck.model.language.system import Property
from kraftcheck.properties.kinds import STAYS
from kraftcheck.solvers.smt.queries import (
    AFTER,
    DOMAINS,
    INITIATION,
    PREMISE,
    PROVEN,
    Clock,
    Effort,
    Obligation,
    ObligationAnswer,
    Questions,
)
from kraftcheck.solvers.smt.reading.goals.premises import STEP
from kraftcheck.solvers.smt.reading.goals.prover import GoalProver
from kraftcheck.solvers.smt.reading.z3_endless import NOT_SHOWN
from kraftcheck.solvers.smt.session import SolverSession
from kraftcheck.solvers.smt.theory import Theory

TheoryBuilder = Callable[[], Theory]
"""Makes the theory anew in a worker process; it must be picklable."""

SHARES = (0.25, 0.25, 1)
"""Of the time of a query, what each seed has: what takes one seed minutes takes another seconds."""

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

    def answer(self, batch: Sequence[Obligation], assumed: Sequence[str]) -> list[ObligationAnswer]:
        """The answers to obligations about one action, in order."""
        following = {obligation: self._goals.from_others(obligation, assumed) for obligation in batch}
        answers = {obligation: answer for obligation, answer in following.items() if answer is not None}
        rest = [obligation for obligation in batch if obligation not in answers]
        answers |= {answer.obligation: answer for answer in self._from_before(rest, assumed)} if rest else {}
        return [answers[obligation] for obligation in batch]

    @functools.cached_property
    def _goals(self) -> GoalProver:
        return GoalProver(self.questions, self.effort, self.clock)

    def _from_before(self, batch: Sequence[Obligation], assumed: Sequence[str]) -> list[ObligationAnswer]:
        """The answers to obligations about one action, from what holds before it."""
        used = self._used_by(self.few[0], batch, assumed) if self.few else {}
        more = self._used_by(self.few[1], batch, assumed) if self._has_no_instances() else {}
        start, whole, answers = self.clock(), list[SolverSession](), list[ObligationAnswer]()
        for obligation in batch:
            first = self._from_some(obligation, used.get(obligation), more.get(obligation), assumed)
            if first is None and not whole:
                whole.append(self._session(batch[0].action, assumed, self.effort, batch[0].claim not in DOMAINS))
            answers.append(whole[0].ask(obligation) if first is None else evolve(first, seconds=self.clock() - start))
            start = self.clock()
        undecided = {a.obligation for a in answers if a.obligation.claim in DOMAINS and a.result != PROVEN}
        return [self._with_fields(whole, a, assumed) if a.obligation in undecided else a for a in answers]

    def _has_no_instances(self) -> bool:
        """Whether only quantifiers are asked: the instances of claims about any epoch and offset are too many."""
        return bool(self.few[1:]) and self._goals.is_needed

    def _session(self, action: str, assumed: Sequence[str], effort: Effort, within: bool = True) -> SolverSession:
        premises = self.questions.premises(action, assumed, within)
        return SolverSession(self.questions, premises, effort, self.clock)

    def _used_by(
        self, few: Questions, batch: Sequence[Obligation], assumed: Sequence[str]
    ) -> Mapping[Obligation, list[str]]:
        """The invariants that the proof of each obligation with few participants uses, if it is proven there."""
        action, of = batch[0].action, few.subject
        if action == INITIATION or batch[0].claim in DOMAINS:
            return {}
        if action not in {kind.action.name for kind in of.program.kinds}:
            return {}
        known = [claim.id for claim in of.invariants if claim.id in assumed and not self._follows(claim)]
        claims = {claim.id for claim in of.claims}
        effort = Effort(min(FEW_SECONDS, self.effort.timeout), self.effort.seed, minimise=True)
        session = SolverSession(few, few.premises(action, known), effort, self.clock)
        answers = [session.ask(obligation) for obligation in batch if obligation.claim in claims]
        strangers = {obligation: list[str]() for obligation in batch if obligation.claim not in claims}
        return strangers | {answer.obligation: rests_on(answer) for answer in answers if answer.result == PROVEN}

    def _follows(self, claim: Property) -> bool:
        """Whether a claim says no more than others do, which are assumed instead of it where claims are long."""
        return bool(claim.follows_from) and self._goals.is_needed

    def _from_some(
        self, obligation: Obligation, used: Sequence[str] | None, more: Sequence[str] | None, assumed: Sequence[str]
    ) -> ObligationAnswer | None:
        """An answer from some of the invariants that may be assumed; None where all are to be.

        Args:
            obligation: what to prove.
            used, more: what its proofs with few participants use; None where they are not proven.
            assumed: what may be assumed.
        """
        if self._is_in_parts(obligation, used):
            answer = self._in_parts(obligation, used, more, assumed)
            if answer.result == PROVEN or self._has_no_instances():
                return answer
        if used is None:
            return None
        first = {obligation.claim, *used, *self._strangers(assumed)}
        return self._from_choices(obligation, (first, first | self._goals.short(assumed)), assumed)

    def _from_choices(
        self, obligation: Obligation, choices: Sequence[Collection[str]], assumed: Sequence[str]
    ) -> ObligationAnswer | None:
        """A proof from one of some choices of invariants, by one of several seeds."""
        open_choices = [[name for name in assumed if name in choice] for choice in choices]
        for number, share in enumerate(SHARES):
            effort = evolve(self.effort, seed=self.effort.seed + number, timeout=self.effort.timeout * share)
            undecided = list[list[str]]()
            for chosen in open_choices:
                answer = self._session(obligation.action, chosen, effort).ask(obligation)
                if answer.result == PROVEN:
                    return answer
                if answer.reason != NOT_SHOWN:  # premises that are too weak are so for every seed
                    undecided.append(chosen)
            open_choices = undecided
        return None

    def _is_in_parts(self, obligation: Obligation, used: Sequence[str] | None) -> bool:
        """Whether an obligation is asked with quantifiers: where instances may be asked, only what few also prove."""
        asked = self._has_no_instances() or used is not None or obligation.claim in DOMAINS
        return asked and bool(self.few) and self._goals.is_needed and obligation.action != INITIATION

    def _in_parts(
        self, obligation: Obligation, used: Sequence[str] | None, more: Sequence[str] | None, assumed: Sequence[str]
    ) -> ObligationAnswer:
        """The answer with quantifiers, from some of the invariants."""
        if obligation.claim in DOMAINS:
            return self._goals.domains(obligation, assumed)
        return self._goals.from_before(obligation, used or (), more or (), self._strangers(assumed), assumed)

    def _strangers(self, assumed: Sequence[str]) -> list[str]:
        """The invariants that few participants do not have."""
        shared = {claim.id for claim in self.few[0].subject.invariants}
        return [name for name in assumed if name not in shared]

    def _with_fields(
        self, whole: Sequence[SolverSession], answer: ObligationAnswer, assumed: Sequence[str]
    ) -> ObligationAnswer:
        """An answer about domains, with the fields that may leave theirs."""
        def left(or_capped: bool) -> Sequence[str]:
            if whole:
                return whole[0].fields_left(answer.obligation.action, or_capped)
            return self._goals.fields_left(answer.obligation, assumed, or_capped)

        return evolve(answer, fields=tuple(left(False)), faults=tuple(left(True)))


def proof_worker(subject: Theory, few: Sequence[TheoryBuilder], effort: Effort, clock: Clock) -> ProofWorker:
    """A worker for a theory, which makes those with few participants itself."""
    return ProofWorker(Questions(subject), effort, clock, tuple(Questions(build()) for build in few))


def rests_on(answer: ObligationAnswer) -> list[str]:
    """The invariants that a proof used."""
    names = (name.removeprefix(group) for group in (PREMISE, AFTER) for name in answer.core if name.startswith(group))
    return [*dict.fromkeys(names)]


def cites(answer: ObligationAnswer) -> list[str]:
    """The claims that a proof used: the invariants, and what was proven of the step."""
    names = (name.removeprefix(STEP).removesuffix(STAYS) for name in answer.core if name.startswith(STEP))
    return [*dict.fromkeys([*rests_on(answer), *names])]
