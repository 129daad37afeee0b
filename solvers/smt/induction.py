"""Proofs by induction: which claims hold of every reachable state and step, for any number of steps.

An invariant is proven when it holds initially and every action keeps it; a
step property, when every transition from a state with the proven invariants
has it. Invariants are assumed together. One that fails is assumed no longer,
and every proof that used it is made anew, until those that are left support
each other (Flanagan and Leino, "Houdini", 2001).
"""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

from attrs import define, evolve, field, frozen

from kraftcheck.solvers.smt.queries import DOMAINS, INITIATION, PROVEN, Answer, Clock, Effort, Obligation, Questions
from kraftcheck.solvers.smt.session import Session
from kraftcheck.solvers.smt.theory import Theory

Build = Callable[[], Theory]
"""Makes the theory anew in a worker process; it must be picklable."""

CHUNK = 10
"""Obligations given to a worker at a time."""


@frozen
class Proof:
    """What induction found.

    Attributes:
        theory: what was to be proven.
        asked: ids of what was asked for: what is judged.
        claims: ids of what was to be proven: what was asked for, and the invariants that this rests on.
        answers: the last answer to each obligation.
        dropped: invariants that are not proven, in the order in which they fell.
        rounds: how often proofs were made anew, and 1.
        stopped: whether it was asked to stop before it was finished.
    """

    theory: Theory
    asked: tuple[str, ...]
    claims: tuple[str, ...]
    answers: Mapping[Obligation, Answer]
    dropped: tuple[str, ...]
    rounds: int
    stopped: bool = False

    def of(self, claim: str) -> list[Answer]:
        """The answers about a claim, initiation first."""
        return [answer for asked, answer in self.answers.items() if asked.claim == claim]

    def proven(self, claim: str) -> bool:
        """Whether a claim is proven: inductive, and no step is left out but where a cap says that this is meant."""
        return self.inductive(claim) and not self.faults()

    def inductive(self, claim: str) -> bool:
        """Whether a claim holds for any number of steps within the domains; nothing while the proof is unfinished."""
        if self.stopped or claim in self.dropped:
            return False
        wanted = {asked.action for asked in obligations(self.theory, [claim])}
        return {answer.obligation.action for answer in self.of(claim) if answer.result == PROVEN} == wanted

    def assumed(self) -> list[str]:
        """The invariants that the proofs may rest on."""
        return [claim.id for claim in self.theory.invariants if claim.id not in self.dropped]

    def failures(self, claim: str) -> list[Answer]:
        """The answers that keep a claim from being proven."""
        return [answer for answer in self.of(claim) if answer.result != PROVEN]

    def used(self, claim: str) -> list[str]:
        """The premises that the proofs of a claim used, as `group: name`."""
        return sorted({name for answer in self.of(claim) for name in answer.used})

    def support(self, claim: str) -> list[str]:
        """The other invariants that the proof of a claim rests on, at any remove."""
        found, pending = {claim}, [claim]
        while pending:
            below = {name for answer in self.of(pending.pop()) for name in rests_on(answer)} - found
            found |= below
            pending += below
        return sorted(found - {claim})

    def idle_lemmas(self) -> list[str]:
        """Proven lemmas that no proof of another claim used."""
        spent = {name for asked, a in self.answers.items() for name in rests_on(a) if name != asked.claim}
        return sorted(self.theory.lemmas.intersection(self.claims) - spent - set(self.dropped))

    def bounded(self) -> list[str]:
        """Fields whose bound a step might leave, so that such steps are left out: what the proof is bounded by."""
        return list(dict.fromkeys(path for answer in self.of(DOMAINS[0]) for path in answer.fields))

    def faults(self) -> list[str]:
        """Those fields of `bounded` whose bound is not declared to be meant."""
        return list(dict.fromkeys(path for answer in self.of(DOMAINS[0]) for path in answer.faults))


def obligations(subject: Theory, claims: Sequence[str]) -> list[Obligation]:
    """Everything to show about some claims (and about domains, where these are named), in a fixed order."""
    actions = [kind.action.name for kind in subject.program.kinds]
    listed = [Obligation(claim.id, INITIATION) for claim in subject.invariants if claim.id in claims]
    known = [*(claim.id for claim in subject.claims), *DOMAINS]
    return listed + [Obligation(name, action) for action in actions for name in known if name in claims]


@define
class Worker:
    """Answers obligations about one theory."""

    questions: Questions
    effort: Effort
    clock: Clock

    def answer(self, asked: Sequence[Obligation], assumed: Sequence[str]) -> list[Answer]:
        """The answers to obligations about one action, in order."""
        given = self.questions.premises(asked[0].action, assumed, asked[0].claim not in DOMAINS)
        session = Session(self.questions, given, self.effort, self.clock)
        found = [session.ask(one) for one in asked]
        return [self._located(session, a) if a.obligation.claim in DOMAINS and a.result != PROVEN else a for a in found]

    @staticmethod
    def _located(session: Session, answer: Answer) -> Answer:
        """An answer about domains, with the fields that may leave theirs."""
        action = answer.obligation.action
        fields, faults = session.leaving(action), session.leaving(action, beyond_cap=True)
        return evolve(answer, fields=tuple(fields), faults=tuple(faults))


_WORKER: list[Worker] = []
"""The worker of this process, once a pool has started it."""


def _start(build: Build, effort: Effort, clock: Clock) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one decides what a Ctrl-C ends
    _WORKER[:] = [Worker(Questions(build()), effort, clock)]


def _work(asked: Sequence[Obligation], assumed: Sequence[str]) -> list[Answer]:
    return _WORKER[0].answer(asked, assumed)


STOP_SECONDS = 1.0
"""How long a lost worker waits to be explained by a stop."""

Progress = Callable[[int, int], None]
"""Told how many obligations are answered, and of how many."""


@define
class Bench:
    """Where obligations are answered: worker processes, or this one.

    Attributes:
        pool: the processes; None for this one.
        worker: what answers here.
        stop: once set, nothing more is asked.
        progress: told how far a round is.
    """

    pool: ProcessPoolExecutor | None
    worker: Worker | None
    stop: threading.Event
    progress: Progress
    _waiting: set[Future[list[Answer]]] = field(factory=set)

    def answers(self, asked: Sequence[Obligation], assumed: Sequence[str]) -> Iterator[Answer]:
        """Answers as they come; fewer than asked once `stop` is set."""
        chunks, done = list(chunked(asked)), 0
        for answered in self._chunks(chunks, assumed):
            done += len(answered)
            self.progress(done, len(asked))
            yield from answered

    def _chunks(self, chunks: Iterable[Sequence[Obligation]], assumed: Sequence[str]) -> Iterator[list[Answer]]:
        if self.pool is None:
            assert self.worker is not None
            for chunk in chunks:
                if self.stop.is_set():
                    return
                yield self.worker.answer(chunk, assumed)
            return
        self._waiting = {self.pool.submit(_work, chunk, assumed) for chunk in chunks}
        while self._waiting:
            if self.stop.is_set():
                return
            ready, self._waiting = wait(self._waiting, timeout=0.2, return_when=FIRST_COMPLETED)
            try:
                yield from [one.result() for one in ready]
            except BrokenProcessPool:
                if self.stop.wait(STOP_SECONDS):
                    return  # what asks this process to stop may ask its workers too
                raise


def chunked(asked: Sequence[Obligation]) -> Iterator[Sequence[Obligation]]:
    """Obligations about one action at a time, a few of them; those about domains apart."""
    for _, group in itertools.groupby(asked, key=lambda one: (one.action, one.claim in DOMAINS)):
        listed = list(group)
        yield from (listed[i : i + CHUNK] for i in range(0, len(listed), CHUNK))


@contextlib.contextmanager
def bench(
    build: Build, effort: Effort, clock: Clock, workers: int, stop: threading.Event, progress: Progress
) -> Iterator[Bench]:
    """A bench with so many worker processes; with one, this process works."""
    if workers == 1:
        yield Bench(None, Worker(Questions(build()), effort, clock), stop, progress)
        return
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, spawn, _start, (build, effort, clock))
    try:
        yield Bench(pool, None, stop, progress)
    finally:
        # A query cannot be interrupted from here: without this the end would wait for its timeout.
        if stop.is_set():
            for process in list((pool._processes or {}).values()):
                process.terminate()
        pool.shutdown(wait=not stop.is_set(), cancel_futures=True)


def prove(
    build: Build, *, effort: Effort, clock: Clock, only: Sequence[str] = (), workers: int = 1,
    stop: threading.Event | None = None, progress: Progress = lambda done, total: None,
) -> Proof:  # fmt: skip
    """Prove the claims of a theory.

    Args:
        build: makes the theory.
        effort: limits of each query.
        clock: seconds, from any origin; picklable.
        only: ids of the claims wanted; what they rest on is proven too. Empty: all claims.
        workers: processes.
        stop: once set, the proof ends unfinished.
        progress: told how far each round is.
    """
    halt, subject = stop or threading.Event(), build()
    asked = tuple(dict.fromkeys(only)) or tuple(claim.id for claim in subject.claims)
    claims = [*asked, *DOMAINS]
    answers: dict[Obligation, Answer] = {}
    dropped: list[str] = []
    todo, rounds = obligations(subject, claims), 0
    with bench(build, effort, clock, workers, halt, progress) as place:
        while todo and not halt.is_set():
            rounds += 1
            assumed = [claim.id for claim in subject.invariants if claim.id not in dropped]
            answers |= {answer.obligation: answer for answer in place.answers(todo, assumed)}
            failing = {answer.obligation.claim for answer in answers.values() if answer.result != PROVEN}
            fallen = [name for name in assumed if name in failing]
            dropped += fallen
            claims += sorted({name for a in answers.values() for name in rests_on(a)} - {*claims, *dropped})
            wanted = [one for one in obligations(subject, claims) if one.claim not in dropped]
            todo = [one for one in wanted if one not in answers or {*fallen} & {*rests_on(answers[one])}]
    order = {asked: answers[asked] for asked in obligations(subject, claims) if asked in answers}
    return Proof(subject, asked, tuple(claims), order, tuple(dropped), rounds, halt.is_set())


def rests_on(answer: Answer) -> list[str]:
    """The invariants that a proof used."""
    return [name.removeprefix(PREMISE) for name in answer.used if name.startswith(PREMISE)]


PREMISE = "invariant: "
"""Group of the premises that are invariants."""
