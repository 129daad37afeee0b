"""Proofs by induction: the claims that hold of every reachable state and step, for any number of steps.

An invariant is proven when it holds initially and every action keeps it; a
step property, when every transition from a state with the proven invariants
has it. Invariants are assumed together. One that fails is assumed no longer,
and every proof that used it is made anew, until those that are left support
each other (Flanagan and Leino, "Houdini", 2001).
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import multiprocessing
import signal
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

from attrs import define, field, frozen

from kraftcheck.model.nearest import nearest
from kraftcheck.solvers.program.fingerprint import Meaning
from kraftcheck.solvers.program.parts import SystemFault
from kraftcheck.solvers.program.stop import STOPPED, stop_reason
from kraftcheck.solvers.smt.queries import PROVEN, Clock, Effort, Obligation, ObligationAnswer
from kraftcheck.solvers.smt.runs.starts import check_described, is_of_few
from kraftcheck.solvers.smt.theory import DOMAINS, INITIATION, Theory
from kraftcheck.solvers.smt.worker import ProofWorker, TheoryBuilder, cites, proof_worker, rests_on

CHUNK = 10  # obligations given to a worker at a time


@frozen
class Proof:
    """The result of a proof by induction."""

    theory: Theory  # what was to be proven
    targets: tuple[str, ...]  # ids of the claims that are judged
    claims: tuple[str, ...]  # ids of the claims to be proven: the targets, and the invariants that they rest on
    answers: Mapping[Obligation, ObligationAnswer]  # the last answer to each obligation
    unproven: tuple[str, ...]  # invariants that are not proven, in the order in which they fell
    rounds: int  # how often proofs were made anew, and 1
    stopped: bool = False  # whether it was asked to stop before it was finished
    stop_reason: str = STOPPED  # why, if it was
    # tells whether a state is known to be initial, for where no search shows one; of none everything holds
    begins: Callable[[], bool] = lambda: True

    def of(self, claim: str) -> list[ObligationAnswer]:
        """The answers about a claim, initiation first."""
        return [answer for obligation, answer in self.answers.items() if obligation.claim == claim]

    def proven(self, claim: str) -> bool:
        """Whether a claim is proven: inductive, and no step is left out but where a cap says that this is meant."""
        return self.inductive(claim) and not self.faults()

    def inductive(self, claim: str) -> bool:
        """Whether a claim holds for any number of steps within the domains; nothing while the proof is unfinished."""
        required = {obligation.action for obligation in obligations(self.theory, [claim])}
        if self.stopped or claim in self.unproven:
            return False
        return {answer.obligation.action for answer in self.of(claim) if answer.result == PROVEN} == required

    def assumed(self) -> list[str]:
        """The invariants that the proofs may rest on."""
        return [claim.id for claim in self.theory.invariants if claim.id not in self.unproven]

    def failures(self, claim: str) -> list[ObligationAnswer]:
        """The answers that keep a claim from being proven."""
        return [answer for answer in self.of(claim) if answer.result != PROVEN]

    def core(self, claim: str) -> list[str]:
        """The premises that the proofs of a claim used, as `group: name`."""
        return sorted({name for answer in self.of(claim) for name in answer.core})

    def support(self, claim: str) -> list[str]:
        """The other invariants that the proof of a claim rests on, at any remove."""
        support, pending = {claim}, [claim]
        while pending:
            further = {name for answer in self.of(pending.pop()) for name in rests_on(answer)} - support
            support |= further
            pending += further
        return sorted(support - {claim})

    def idle_lemmas(self) -> list[str]:
        """Proven lemmas that no proof of another claim used."""
        cited = {name for obligation, a in self.answers.items() for name in cites(a) if name != obligation.claim}
        return sorted(lemma for lemma in self.theory.lemmas.intersection(self.claims) - cited if self.inductive(lemma))

    def bounded(self) -> list[str]:
        """Fields whose bound a step might leave, so that such steps are left out: what the proof is bounded by."""
        return list(dict.fromkeys(path for answer in self.of(DOMAINS[0]) for path in answer.fields))

    def faults(self) -> list[str]:
        """The fields of `bounded` whose bound is not declared to be meant."""
        return list(dict.fromkeys(path for answer in self.of(DOMAINS[0]) for path in answer.faults))


def obligations(subject: Theory, claims: Sequence[str]) -> list[Obligation]:
    """Everything to show about some claims (and about domains, where these are named), in a fixed order.

    Raises:
        KeyError: for a name that is no claim, of which there is nothing to show, with those that are.
    """
    names = [*(claim.id for claim in subject.claims), *DOMAINS]
    if strangers := [name for name in claims if name not in names]:
        raise KeyError(f"no claim {strangers[0]!r}; {nearest(strangers[0], names)}")
    actions = [kind.action.name for kind in subject.program.kinds]
    starting = [*(claim.id for claim in subject.invariants), *subject.program.starts]
    result = [Obligation(name, INITIATION) for name in starting if name in claims]
    return result + [Obligation(name, action) for action in actions for name in names if name in claims]


def _is_open_again(answer: ObligationAnswer, failed: Sequence[str]) -> bool:
    """Whether an answer is asked for anew: it used what has failed, or names fields, of which there may be more now."""
    of_fields = answer.obligation.claim in DOMAINS and answer.result != PROVEN
    return bool(failed) and (of_fields or not {*failed}.isdisjoint(rests_on(answer)))


def checked(answer: ObligationAnswer, assumed: Sequence[str]) -> ObligationAnswer:
    """An answer that rests on nothing but what may be assumed; raises AssertionError for another, which is a defect."""
    if strangers := {*rests_on(answer)} - {*assumed}:
        raise AssertionError(f"the proof of {answer.obligation} rests on what is not assumed: {sorted(strangers)}")
    return answer


_BEGUN: dict[str, ProofWorker] = {}  # the worker of this process, by the proof: there is one at most


@frozen
class WorkerPlan:
    """The plan by which another process makes its worker, when it is first asked."""

    proof: str  # another for each proof
    meaning: str  # of the theory of the process that asks
    # build, few, effort, clock: as `prove` takes them
    build: TheoryBuilder
    few: Sequence[TheoryBuilder]
    effort: Effort
    clock: Clock

    def answer(self, batch: Sequence[Obligation], assumed: Sequence[str]) -> list[ObligationAnswer]:
        """The answers of this process, which makes the theory anew.

        Raises:
            SystemFault: where it is of another meaning.
        """
        if self.proof not in _BEGUN:
            _BEGUN.clear()
            subject = self.build()
            if Meaning.of(subject.program).whole != self.meaning:
                raise SystemFault(
                    "a worker process made another system of the same module; let it depend on its source and the"
                    " setting alone (no order of a set, no time, no process, nothing kept of another setting)"
                )
            _BEGUN[self.proof] = proof_worker(subject, self.few, self.effort, self.clock)
        return _BEGUN[self.proof].answer(batch, assumed)


STOP_SECONDS = 1.0  # how long a lost worker waits to be explained by a stop
ProofProgress = Callable[[int, int], None]  # called with the number of answered obligations, and of all


LOST = "a worker process was killed, perhaps for want of memory; give fewer --workers"


class WorkerLost(MemoryError):
    """A worker process that has ended before its answers; the message says what to do."""


@define
class ProofPool:
    """Where obligations are answered: worker processes, or this one."""

    pool: Executor | None  # the processes; None for this one
    ask: Callable[[Sequence[Obligation], Sequence[str]], list[ObligationAnswer]]  # answers some obligations there
    stop: threading.Event  # once set, no further obligation is answered
    progress: ProofProgress  # called with the number of answers in this round, and of obligations
    _futures: set[Future[list[ObligationAnswer]]] = field(factory=set)

    def answers(self, batch: Sequence[Obligation], assumed: Sequence[str]) -> Iterator[ObligationAnswer]:
        """The answers in the order in which they arrive; fewer than obligations once `stop` is set."""
        chunks, count = list(chunks_of(batch)), 0
        for chunk_answers in self._chunks(chunks, assumed):
            count += len(chunk_answers)
            self.progress(count, len(batch))
            yield from chunk_answers

    def _chunks(
        self, chunks: Iterable[Sequence[Obligation]], assumed: Sequence[str]
    ) -> Iterator[list[ObligationAnswer]]:
        if self.pool is None:
            for chunk in chunks:
                if self.stop.is_set():
                    return
                answers = self.ask(chunk, assumed)
                if self.stop.is_set():  # the time of a query ends with the time limit: it was not asked to its end
                    return
                yield answers
            return
        self._futures = {self.pool.submit(self.ask, chunk, assumed) for chunk in chunks}
        while self._futures:
            if self.stop.is_set():
                return
            finished, self._futures = wait(self._futures, timeout=0.2, return_when=FIRST_COMPLETED)
            try:
                yield from [future.result() for future in finished]
            except BrokenProcessPool as error:
                if self.stop.wait(STOP_SECONDS):
                    return  # what asks this process to stop may ask its workers too
                raise WorkerLost(LOST) from error


def chunks_of(batch: Sequence[Obligation]) -> Iterator[Sequence[Obligation]]:
    """Obligations about one action at a time, a few of them; those about domains apart."""
    for _, group in itertools.groupby(batch, key=lambda obligation: (obligation.action, obligation.claim in DOMAINS)):
        same_action = list(group)
        yield from (same_action[i : i + CHUNK] for i in range(0, len(same_action), CHUNK))


Elsewhere = Callable[[], contextlib.AbstractContextManager[Executor]]  # opens an executor on other machines


@contextlib.contextmanager
def proof_pool(
    subject: Theory, build: TheoryBuilder, few: Sequence[TheoryBuilder], effort: Effort, clock: Clock,
    workers: int | Elsewhere, stop: threading.Event, progress: ProofProgress,
) -> Iterator[ProofPool]:  # fmt: skip
    """A pool with so many worker processes, or elsewhere, which make the theory anew; with one, this process works.

    Raises:
        SystemFault: with an answer, where a worker made a program of another meaning.
    """
    if workers == 1:
        yield ProofPool(None, proof_worker(subject, few, effort, clock).answer, stop, progress)
        return
    ask = WorkerPlan(uuid.uuid4().hex, Meaning.of(subject.program).whole, build, few, effort, clock).answer
    if not isinstance(workers, int):
        with workers() as executor:
            yield ProofPool(executor, ask, stop, progress)
        return
    # This process decides what a Ctrl-C ends, and no worker.
    ignores = signal.signal, (signal.SIGINT, signal.SIG_IGN)
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), *ignores)
    try:
        yield ProofPool(pool, ask, stop, progress)
    finally:
        # A query cannot be interrupted from here: without this the end would wait for its timeout.
        if stop.is_set():
            for process in list((pool._processes or {}).values()):
                process.terminate()
        pool.shutdown(wait=not stop.is_set(), cancel_futures=True)


def prove(
    build: TheoryBuilder, *, effort: Effort, clock: Clock, only: Sequence[str] = (), workers: int | Elsewhere = 1,
    stop: threading.Event | None = None, progress: ProofProgress = lambda count, total: None,
    few: Sequence[TheoryBuilder] = (),
) -> Proof:  # fmt: skip
    """Prove the claims of a theory.

    Args:
        build: makes the theory.
        effort: limits of each query.
        clock: seconds, from any origin; picklable.
        only: ids of the claims wanted; what they rest on is proven too. Empty: all claims.
        workers: processes; or opens an executor on other machines, which answer instead.
        stop: once set, the proof ends unfinished.
        progress: called with the number of answers in each round, and of obligations.
        few: make theories of the same system with few participants, for a proof about any number; see `ProofWorker`.
    """
    halt, subject = stop or threading.Event(), build()
    check_described(subject, effort)
    targets = tuple(dict.fromkeys(only)) or tuple(claim.id for claim in subject.claims)
    claims = [*targets, *DOMAINS]
    answers: dict[Obligation, ObligationAnswer] = {}
    unproven: list[str] = []
    pending, rounds = obligations(subject, claims), 0
    with proof_pool(subject, build, few, effort, clock, workers, halt, progress) as pool:
        while pending and not halt.is_set():
            rounds += 1
            assumed = [claim.id for claim in subject.invariants if claim.id not in unproven]
            answers |= {answer.obligation: checked(answer, assumed) for answer in pool.answers(pending, assumed)}
            failing = {answer.obligation.claim for answer in answers.values() if answer.result != PROVEN}
            failed = [name for name in assumed if name in failing]
            unproven += failed
            claims += sorted({name for a in answers.values() for name in rests_on(a)} - {*claims, *unproven})
            required = [obligation for obligation in obligations(subject, claims) if obligation.claim not in unproven]
            pending = [one for one in required if one not in answers or _is_open_again(answers[one], failed)]
    order = {targets: answers[targets] for targets in obligations(subject, claims) if targets in answers}
    begins = functools.cache(functools.partial(is_of_few, subject, few, effort))
    return Proof(
        subject, targets, tuple(claims), order, tuple(unproven), rounds, halt.is_set(), stop_reason(halt), begins
    )
