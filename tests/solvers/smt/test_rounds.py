"""Rounds and workers of a proof: what supports itself is left, and what few participants use is assumed first."""

from __future__ import annotations

import functools
import itertools
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import pytest
from attrs import define, evolve, field, frozen

import kraftcheck as kc
from kraftcheck.model.language.system import ANY, Action, Property, System
from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.program.parts import SystemFault
from kraftcheck.solvers.program.stop import StopFlag
from kraftcheck.solvers.smt import induction
from kraftcheck.solvers.smt import worker as module
from kraftcheck.solvers.smt.induction import CHUNK, Proof, WorkerLost, chunks_of, obligations, prove
from kraftcheck.solvers.smt.queries import (
    AFTER,
    PREMISE,
    PROVEN,
    REFUTED,
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
from kraftcheck.solvers.smt.reading.goals.proof import STEP, GoalProof
from kraftcheck.solvers.smt.reading.goals.prover import GoalProver
from kraftcheck.solvers.smt.reading.z3_endless import NOT_SHOWN, TIMEOUT
from kraftcheck.solvers.smt.theory import DOMAINS, INITIATION, Theory, theory
from kraftcheck.solvers.smt.worker import ProofWorker, SolverSession
from tests import toys
from tests.shared.any_number import EWD_840, LEASE, NOBODY, TWO_PHASE, lease, two_phase

INVARIANTS, LEMMAS, STEPS = ("a", "b", "c", "d", "e", "f"), ("l", "m"), ("s", "t")
ACTIONS = ("one", "two", "three")

Reasons = Mapping[Obligation, Sequence[frozenset[str]]]
"""By obligation the sets of invariants of which each suffices to prove it."""


def _claims(names: Sequence[str], kind: str) -> list[Property]:
    return [Property(name, kind, "Says something.", lambda seen: True) for name in names]


def _begins(claim: Property) -> Property:
    """The last step property says something of initial states too."""
    return evolve(claim, initially=lambda state: True) if claim.id == STEPS[-1] else claim


SYSTEM: System = evolve(
    toys.CLOCK,
    actions=lambda setting: [Action(name, lambda state: toys.Clock(1 - state.hand)) for name in ACTIONS],
    properties=lambda setting: [*_claims(INVARIANTS, "always"), *map(_begins, _claims(STEPS, "step"))],
    lemmas=lambda setting: _claims(LEMMAS, "always"),
)
SUBJECT = theory(SYSTEM, SYSTEM.setting())
EVERY = (*INVARIANTS, *LEMMAS, *STEPS)


def drawn(dice: random.Random) -> Reasons:
    """Reasons of every obligation: a few sets of invariants, which are small in every second drawing; of some none."""
    names, sizes = (*INVARIANTS, *LEMMAS), dice.choice(((0, 1, 1, 2, 3), (0,) * 12 + (1, 2)))
    return {
        one: [frozenset(dice.sample(names, dice.choice(sizes))) for _ in range(dice.choice((0,) + (1, 2) * 9))]
        for one in asked_of((*EVERY, *DOMAINS))
    }


def asked_of(claims: Sequence[str]) -> list[Obligation]:
    """What is to be shown of claims: how the system begins, of those that say something of that, and each action."""
    starting = [Obligation(name, INITIATION) for name in (*INVARIANTS, *LEMMAS, STEPS[-1]) if name in claims]
    names = [name for name in (*INVARIANTS, *LEMMAS, *STEPS, *DOMAINS) if name in claims]
    return starting + [Obligation(name, action) for action in ACTIONS for name in names]


@define
class Drawn:
    """A worker whose answers are drawn, and what it was asked."""

    reasons: Reasons  # of each obligation
    watch: Callable[[Sequence[Obligation]], None] = lambda batch: None  # called with each batch before it is answered
    asked: list[Obligation] = field(factory=list)  # the obligations, in order

    def answer(self, batch: Sequence[Obligation], assumed: Sequence[str]) -> list[ObligationAnswer]:
        """Proven where some reason may be assumed, of which half is said to hold after the step, and a lemma of it."""
        self.watch(batch)
        self.asked += batch
        return [self._answer(one, assumed) for one in batch]

    def _answer(self, one: Obligation, assumed: Sequence[str]) -> ObligationAnswer:
        reason = next((reason for reason in self.reasons[one] if reason <= {*assumed}), None)
        if reason is not None:
            core = [(AFTER if place % 2 else PREMISE) + name for place, name in enumerate(sorted(reason))]
            return ObligationAnswer(one, PROVEN, 0.0, (*core, "guard: g", f"{STEP}s"))
        fields = ("x", "y") if one.claim in DOMAINS else ()
        faults = fields[1:] if "a" not in assumed else ()
        return ObligationAnswer(one, REFUTED if len(one.action) % 2 else UNDECIDED, 0.0, fields=fields, faults=faults)


def supported(reasons: Reasons) -> set[str]:
    """The claims that hold by the reasons: the largest set of invariants that support each other, and what they do."""
    held = {*INVARIANTS, *LEMMAS}

    def holds(claim: str) -> bool:
        return all(any(reason <= held for reason in reasons[one]) for one in asked_of([claim]))

    while kept := {claim for claim in held if not holds(claim)}:
        held -= kept
    return held | {claim for claim in (*STEPS, *DOMAINS) if holds(claim)}


class Threads(ThreadPoolExecutor):
    """A pool of threads that is made, and has processes, as one of processes."""

    made: list[Threads] = []  # noqa: RUF012

    def __init__(self, count: int, context: Any, start: Callable[..., Any], given: tuple[Any, ...]) -> None:
        super().__init__(1)
        assert context.get_start_method() == "spawn"
        start(*given)
        self.count, self.ended, self.shut = count, list[str](), dict[str, bool]()
        self._processes = {number: Process(self.ended, str(number)) for number in range(count)}
        Threads.made.append(self)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Note how it is asked, and end."""
        self.shut = {"wait": wait, "cancel_futures": cancel_futures}
        super().shutdown(wait=True, cancel_futures=True)


@frozen
class Process:
    """A process that notes that it is ended."""

    ended: list[str]
    name: str

    def terminate(self) -> None:
        """End it."""
        self.ended.append(self.name)


@pytest.fixture(params=[1, 3], ids=["here", "processes"])
def workers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """How many processes; those of more than one are threads."""
    monkeypatch.setattr(induction, "ProcessPoolExecutor", Threads)
    monkeypatch.setattr(induction, "STOP_SECONDS", 0.05)
    signals = list[Any]()
    monkeypatch.setattr(signal, "signal", lambda number, way: signals.append((number, way)))
    Threads.made.clear()
    yield request.param
    assert {*signals} == ({(signal.SIGINT, signal.SIG_IGN)} if request.param > 1 else set())


def proof_by(
    worker: Drawn, workers: int, monkeypatch: pytest.MonkeyPatch, few: Sequence[Any] = (), **options: Any
) -> Proof:
    """A proof with a worker whose answers are drawn."""
    effort, clock = Effort(), lambda: 0.0

    def made(*given: object) -> Drawn:
        assert given == (SUBJECT, few, effort, clock)
        return worker

    monkeypatch.setattr(induction, "proof_worker", made)
    return prove(lambda: SUBJECT, effort=effort, clock=clock, workers=workers, few=few, **options)


def test_just_what_supports_itself_is_proven(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of forty drawings, whatever is asked for: no claim that fails is proven, and each that is supported is."""
    counted = {True: 0, False: 0}
    for seed in range(40):
        dice = random.Random(seed)
        reasons, only = drawn(dice), dice.sample(EVERY, dice.choice((0, 1, 2)))
        told, wanted, worker = list[tuple[int, int]](), supported(reasons), Drawn(reasons)
        proof = proof_by(worker, workers, monkeypatch, [seed], only=[*only, *only], progress=noted(told))
        assert proof.targets == (tuple(only) or (*INVARIANTS, *LEMMAS, *STEPS))
        assert {*proof.claims} >= {*proof.targets, *DOMAINS}
        for claim in proof.claims:
            counted[claim in wanted] += 1
            assert proof.inductive(claim) == (claim in wanted), (seed, claim)
            is_left = DOMAINS[0] not in wanted and "a" in proof.unproven
            assert proof.proven(claim) == (claim in wanted and not is_left)
        assert [*proof.answers] == [one for one in asked_of(proof.claims) if one in proof.answers]
        assert {*worker.asked} == {*proof.answers}
        rests_on_what_stands(proof, reasons)
        told_in_rounds(told, len(worker.asked), proof.rounds)
        assert not proof.stopped
    assert min(counted.values()) > 50
    for pool in Threads.made:
        assert (pool.count, pool.ended, pool.shut) == (3, [], {"wait": True, "cancel_futures": True})


def noted(told: list[tuple[int, int]]) -> Callable[[int, int], None]:
    """What keeps progress as it is told."""
    return lambda count, total: told.append((count, total))


def rests_on_what_stands(proof: Proof, reasons: Reasons) -> None:
    """What a proof says of its claims is what the last answers say, and these are from nothing that fell."""
    standing = {*INVARIANTS, *LEMMAS} - {*proof.unproven}
    assert proof.assumed() == [claim.id for claim in SUBJECT.invariants if claim.id in standing]
    failing = {answer.obligation.claim for answer in proof.answers.values() if answer.result != PROVEN}
    assert {*proof.unproven} == failing & {*INVARIANTS, *LEMMAS}
    for claim in {*proof.claims} - {*proof.unproven}:
        names = {name.split(": ")[1] for answer in proof.of(claim) for name in answer.core if "invariant" in name}
        assert names <= standing & {*proof.claims}
        assert {*proof.support(claim)} >= names - {claim}
        assert proof.failures(claim) == [one for one in proof.of(claim) if one.result != PROVEN]
        assert proof.core(claim) == sorted({name for one in proof.of(claim) for name in one.core})
        assert claim not in proof.support(claim)
        for further in proof.support(claim):
            assert {*proof.support(further)} - {claim} <= {*proof.support(claim)}
    cited = {name for one, answer in proof.answers.items() for name in ["s", *_names(answer)] if name != one.claim}
    lemmas = [lemma for lemma in LEMMAS if lemma in proof.claims and lemma not in proof.unproven]
    assert proof.idle_lemmas() == [lemma for lemma in lemmas if lemma not in cited]
    leaves = any(answer.result != PROVEN for answer in proof.of(DOMAINS[0]))
    assert proof.bounded() == (["x", "y"] if leaves else [])
    assert proof.faults() == (["y"] if leaves and "a" not in standing else [])
    assert all(one in reasons for one in proof.answers)


def _names(answer: ObligationAnswer) -> list[str]:
    return [name.split(": ")[1] for name in answer.core if "invariant" in name]


def told_in_rounds(told: Sequence[tuple[int, int]], asked: int, rounds: int) -> None:
    """Progress rises in each round from its first answers to all of them."""
    ends = [total for count, total in told if count == total]
    assert len(ends) == rounds
    assert sum(ends) == asked
    for (before, of), (count, total) in itertools.pairwise(told):
        assert count > before if before < of else count <= total
        assert 0 < count <= total


@pytest.mark.parametrize("when", range(0, 30, 3))
def test_a_proof_that_is_stopped_proves_nothing(when: int, workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever it is: what is answered meanwhile is dropped, no more is asked, and the reason is told."""
    halt, reasons = StopFlag(), {one: [frozenset[str]()] for one in asked_of((*EVERY, *DOMAINS))}
    halt.reason = "time limit of 5 s"
    worker, batches = Drawn(reasons), list[Sequence[Obligation]]()

    def watch(batch: Sequence[Obligation]) -> None:
        batches.append(batch)
        if len(batches) > when:
            halt.set()

    worker.watch = watch
    if not when:
        halt.set()
    proof = proof_by(worker, workers, monkeypatch, stop=halt)
    ended = len(batches) > when or not when
    assert (proof.stopped, proof.stop_reason) == ((True, "time limit of 5 s") if ended else (False, halt.reason))
    assert any(map(proof.inductive, EVERY)) != ended
    if workers == 1 and ended:
        assert len(proof.answers) == sum(map(len, batches[:when]))
        assert len(batches) == (when + 1 if when else 0)
    for pool in Threads.made:
        assert pool.ended == (["0", "1", "2"] if ended else [])
        assert pool.shut == {"wait": not ended, "cancel_futures": True}


@pytest.mark.parametrize("stopping", [False, True])
def test_a_worker_that_dies_ends_a_proof_that_is_stopped_and_no_other(
    stopping: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stops a process may stop its workers too, a moment before; any other death is an error."""
    halt = threading.Event()
    monkeypatch.setattr(induction, "ProcessPoolExecutor", Threads)
    monkeypatch.setattr(signal, "signal", lambda number, way: None)
    monkeypatch.setattr(induction, "STOP_SECONDS", 0.3 if stopping else 0.01)

    def die(batch: Sequence[Obligation]) -> None:
        if stopping:
            threading.Timer(0.05, halt.set).start()
        raise BrokenProcessPool("gone")

    worker = Drawn({}, die)
    if stopping:
        assert proof_by(worker, 2, monkeypatch, stop=halt).stopped
    else:
        with pytest.raises(WorkerLost, match="a worker process was killed"):
            proof_by(worker, 2, monkeypatch, stop=halt)


def test_a_worker_that_makes_another_system_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it would prove is said of its own system: nothing is proven, and the error says what to mend."""
    monkeypatch.setattr(induction, "ProcessPoolExecutor", Threads)
    monkeypatch.setattr(signal, "signal", lambda number, way: None)
    reasons = {one: [frozenset[str]()] for one in asked_of((*EVERY, *DOMAINS))}
    monkeypatch.setattr(induction, "proof_worker", lambda *given: Drawn(reasons))

    def proof(*made: Theory) -> Proof:
        return prove(functools.partial(next, iter(made)), effort=Effort(), clock=lambda: 0.0, workers=2)

    assert proof(SUBJECT, SUBJECT).proven("a")
    with pytest.raises(SystemFault, match="another system of the same module; let it depend on its source"):
        proof(SUBJECT, theory(toys.CLOCK, toys.CLOCK.setting()))


def test_a_batch_is_cut_into_chunks_of_one_action() -> None:
    """In their order, none too long, and what is asked of domains apart, for which other premises hold."""
    wanted = [Obligation(f"claim {number}", action) for action in ("one", "two") for number in range(2 * CHUNK + 3)]
    wanted[4] = Obligation(DOMAINS[0], "one")
    chunks = [*chunks_of(wanted)]
    assert [one for chunk in chunks for one in chunk] == wanted
    assert [len(chunk) for chunk in chunks] == [4, 1, CHUNK, CHUNK - 2, CHUNK, CHUNK, 3]
    assert {len({one.action for one in chunk}) for chunk in chunks} == {1}


def test_what_is_to_be_shown_is_asked_once() -> None:
    """Of an invariant its start and each action, of a step property each action, of domains the actions alone."""
    for claims in (EVERY, (*EVERY, *DOMAINS), ("a", "s", *DOMAINS), ("m", "t")):
        assert obligations(SUBJECT, claims) == asked_of(claims)


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


@frozen
class Lamps:
    """Which of two lamps are on."""

    one: kc.Truth
    other: kc.Truth


def lit(initial: Sequence[Lamps], follow: Callable[[Lamps], Lamps], *only: str) -> Proof:
    """The proof that both lamps are on, or those that are asked for and what they rest on."""
    system = kc.System(
        name="lamps", summary="Two lamps.", layout=Lamps(kc.truth(), kc.truth()), initial=initial,
        actions=[kc.Action("follow", follow)], quiescent=lambda s: True,
        properties=[kc.always("one", "it is on", lambda s: s.one), kc.always("other", "it is on", lambda s: s.other)],
    )  # fmt: skip
    return prove(lambda: theory(system, system.setting()), effort=Effort(), clock=time.monotonic, only=only)


def test_each_initial_state_is_asked() -> None:
    """A claim that the first has, and not the last, is not proven; nor one that the last has alone."""
    proof = lit([Lamps(True, False), Lamps(True, True), Lamps(False, True)], lambda s: s)
    assert (proof.proven("one"), proof.proven("other")) == (False, False)


@pytest.mark.parametrize("falls", [True, False])
def test_what_a_step_makes_of_another_claim_rests_on_it(falls: bool) -> None:
    """A lamp that is as another one was is on while that stays on, and falls with it; also where it alone is asked."""
    for only in ((), ("one",)):
        proof = lit([Lamps(True, True)], lambda s: Lamps(s.other, kc.negate(falls)), *only)
        assert (proof.proven("one"), proof.proven("other")) == (not falls, not falls)
        assert proof.support("one") == ([] if falls else ["other"])


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
