"""What a proof with few participants uses is assumed first for any number, and changes no verdict."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.model.language.system import ANY
from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.smt import worker as module
from kraftcheck.solvers.smt.induction import obligations
from kraftcheck.solvers.smt.queries import (
    PROVEN,
    UNDECIDED,
    Clock,
    Effort,
    Obligation,
    ObligationAnswer,
    Premises,
    Questions,
    SolverAnswer,
)
from kraftcheck.solvers.smt.reading.goals import prover
from kraftcheck.solvers.smt.reading.goals.proof import GoalProof
from kraftcheck.solvers.smt.reading.goals.prover import GoalProver
from kraftcheck.solvers.smt.reading.z3_endless import NOT_SHOWN, TIMEOUT
from kraftcheck.solvers.smt.theory import DOMAINS, Theory, theory
from kraftcheck.solvers.smt.worker import ProofWorker, SolverSession
from tests.shared.any_number import EWD_840, LEASE, NOBODY, TWO_PHASE, lease, two_phase


def of_number(system: kc.System, number: int) -> Theory:
    """The theory with a number of participants, or any."""
    bound = next(bound.name for bound in system.bounds if bound.takes_any)
    return theory(system, system.setting(None, {bound: number}, proof=True))


def worker(system: kc.System, few: kc.System | None = None) -> ProofWorker:
    """A worker about any number, that asks what few use of a system, if any."""
    asked = () if few is None else (Questions(of_number(few, 3)),)
    return ProofWorker(Questions(of_number(system, ANY)), Effort(timeout=30), time.monotonic, asked)


def results(of: ProofWorker, *claims: str) -> dict[Obligation, str]:
    """The result of each obligation, or of each about some claims."""
    subject = of.questions.subject
    assumed = [claim.id for claim in subject.invariants]
    asked = obligations(subject, claims or [claim.id for claim in subject.claims])
    return {one: of.answer([one], assumed)[0].result for one in asked}


@pytest.mark.parametrize("system", [LEASE, EWD_840], ids=lambda system: system.name)
def test_what_few_use_changes_no_result(system: kc.System) -> None:
    """Each obligation has the same result whether or not few were asked, and all are proven."""
    with_few = results(worker(system, system))
    assert with_few == results(worker(system))
    assert set(with_few.values()) == {PROVEN}


@pytest.mark.parametrize(("wrong", "right", "claim"), [
    (lease(forgets=True), LEASE, "leader-unfenced"), (two_phase(enough=2), TWO_PHASE, "decided-when-all-promised"),
])  # fmt: skip
def test_a_defect_is_not_proven_from_what_few_use(wrong: kc.System, right: kc.System, claim: str) -> None:
    """What fails for any number is not proven, even where few of the right system say what to assume."""
    found = results(worker(wrong, right), claim)
    assert {*found.values()} > {PROVEN}
    assert found == results(worker(wrong), claim)


def test_less_is_assumed_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first session of an obligation has the invariants of the proof with few, not all; it suffices here."""
    assumed: list[list[str]] = []

    class Noted(SolverSession):
        def __init__(self, questions: Questions, premises: Premises, *rest: Any) -> None:
            if questions is of.questions:
                assumed.append([name for name in premises.truths if name.startswith("invariant: ")])
            super().__init__(questions, premises, *rest)

    of = worker(TWO_PHASE, TWO_PHASE)
    monkeypatch.setattr(module, "SolverSession", Noted)
    everything = [claim.id for claim in of.questions.subject.invariants]
    (answer,) = of.answer([Obligation("heard-is-promised", "hear")], everything)
    assert answer.result == PROVEN
    assert assumed == [["invariant: heard-is-promised"]]
    assert len(everything) > 1


def test_other_seeds_are_tried_where_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has no answer in a part of the time is asked with another seed; premises that are too weak are not."""
    tries: list[tuple[int, float, int]] = []

    class Slow(SolverSession):
        def __init__(self, questions: Questions, premises: Premises, effort: Effort, clock: Clock) -> None:
            self.of_any = questions is of.questions
            if self.of_any:
                tries.append((effort.seed, effort.timeout, len(premises.truths)))
            super().__init__(questions, premises, effort, clock)

        def ask(self, obligation: Obligation) -> ObligationAnswer:
            answer = super().ask(obligation)
            if not self.of_any or len(tries) == 5:
                return answer
            return evolve(answer, result=UNDECIDED, reason=NOT_SHOWN if len(tries) == 1 else TIMEOUT)

    of = worker(TWO_PHASE, TWO_PHASE)
    monkeypatch.setattr(module, "SolverSession", Slow)
    everything = [claim.id for claim in of.questions.subject.invariants]
    (answer,) = of.answer([Obligation("heard-is-promised", "hear")], everything)
    assert answer.result == PROVEN
    fewest, more, whole = tries[0][2], tries[1][2], tries[4][2]
    assert tries == [(0, 7.5, fewest), (0, 7.5, more), (1, 7.5, more), (2, 30, more), (0, 30, whole)]
    assert fewest < more


@pytest.mark.parametrize("quantifiers", [True, False])
def test_quantifiers_are_asked_where_they_may_be(quantifiers: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claims are asked with quantifiers first, and with instances alone where texts are to show what is proven."""
    asked: list[bool] = []

    class Instances(SolverSession):
        def __init__(self, questions: Questions, *rest: Any) -> None:
            if questions is of.questions:
                asked.append(False)
            super().__init__(questions, *rest)

    class Parts(GoalProof):
        def answer(self, goals: Sequence[Term]) -> SolverAnswer:
            asked.append(True)
            return super().answer(goals)

    monkeypatch.setattr(prover, "DEEP", 1)
    of = evolve(worker(TWO_PHASE, TWO_PHASE), effort=Effort(timeout=30, quantifiers=quantifiers))
    monkeypatch.setattr(module, "SolverSession", Instances)
    monkeypatch.setattr(prover, "GoalProof", Parts)
    everything = [claim.id for claim in of.questions.subject.invariants]
    (answer,) = of.answer([Obligation("heard-is-promised", "hear")], everything)
    assert answer.result == PROVEN
    assert asked == [quantifiers]


def test_nothing_is_assumed_that_may_not_be() -> None:
    """A claim that few do not have, and that is its own premise, is not proven where it may not be assumed."""
    claimless = evolve(LEASE, properties=lambda setting: [])
    of, obligation = worker(LEASE, claimless), Obligation("leader-unfenced", "unfence")
    assert of.answer([obligation], ["leader-unfenced"])[0].result == PROVEN
    assert of.answer([obligation], [])[0].result != PROVEN


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("guarded", [True, False])
def test_only_a_field_that_stays_in_its_domain_is_proven_to(
    guarded: bool, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With quantifiers too, domains are shown of a step that keeps them, and of no other, whose fields are named."""
    monkeypatch.setattr(GoalProver, "is_needed", True)

    def fall(state: Ranked) -> Ranked:
        falls = state.leader > NOBODY if guarded else True
        leader, rank = kc.choose(falls, state.leader - 1, state.leader), kc.choose(state.rank > 0, state.rank - 1, 0)
        return Ranked(state.fenced, leader, rank, state.capped if guarded else state.capped + 1)

    def layout(setting: kc.Setting) -> Ranked:
        of: Any = LEASE.layout(setting)
        return Ranked(of.fenced, of.leader, kc.ints(0, 4), kc.ints(0, 4, cap="drawn so"))

    falling = evolve(
        LEASE, layout=layout, properties=[], actions=lambda _: [kc.Action("fall", fall, lambda state: True)],
        initial=lambda setting: [kc.all_where(lambda state: {"nobody leads": state.leader == NOBODY})]
        if setting["brokers"] == ANY else [Ranked(kc.IntSet(), NOBODY, 0, 0)],
    )  # fmt: skip
    of = worker(falling, falling)
    (answer,) = evolve(of, few=of.few * times).answer([Obligation(DOMAINS[0], "fall")], [])
    assert answer.result == PROVEN if guarded else answer.result != PROVEN
    assert (answer.fields, answer.faults) == (((), ()) if guarded else (("leader", "capped"), ("leader",)))


@frozen
class Ranked:
    """A lease with two words that have bounds: one of these is capped."""

    fenced: Any
    leader: Any
    rank: Any
    capped: Any
