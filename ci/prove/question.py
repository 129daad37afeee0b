"""A question to a prover, as every door asks it, and its answer."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Sequence

from attrs import evolve, field, frozen

from kraftcheck.ci.prove.evidence import search_evidence
from kraftcheck.ci.prove.report import ProofAnswer
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.run.search import SearchBudget, run, search
from kraftcheck.ci.systems.expressions import with_added
from kraftcheck.ci.systems.subject import faults_refused
from kraftcheck.ci.terminal.progress import interruptible, progress_tally, run_interruptibly, stop_flag
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.ci.terminal.time_limit import overdue
from kraftcheck.model.nearest import nearest
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.search.explore import Exploration
from kraftcheck.solvers.smt.induction import Proof, prove
from kraftcheck.solvers.smt.queries import Effort
from kraftcheck.solvers.smt.theory import Theory
from kraftcheck.solvers.smt.verdicts import judge
from kraftcheck.solvers.smt.worker import TheoryBuilder

MOST_STATES = 5_000_000
"""States explored for runs to counterexamples, and to what a claim speaks of, unless the user says otherwise."""


def run_proof(
    request: ProofRequest, effort: Effort, only: Sequence[str], workers: int, quiet: bool | None
) -> Proof:
    """Prove with progress on standard error; Ctrl-C and SIGTERM cut it. `quiet` is None where Python asks."""
    build: TheoryBuilder = functools.partial(ProofRequest.build, request)
    ask = functools.partial(
        prove, build, effort=effort, clock=time.monotonic, only=only, workers=workers, few=request.builders()
    )
    with faults_refused(request.name):
        if quiet is None:
            return interruptible(lambda stop: ask(stop=stop))
        with stop_flag() as stop, progress_tally(quiet, "queries") as tally:
            begun = threading.Event()
            begun.set()
            told = ask if tally is None else functools.partial(ask, progress=tally)
            return run_interruptibly(lambda: told(stop=stop), stop, begun)


def check_only(name: str, subject_: Theory, only: Sequence[str], invariants: Sequence[str] = ()) -> tuple[str, ...]:
    """The ids to judge, those of expressions too; refuses ids that are no claim, and a theory without claims."""
    claims = [claim.id for claim in subject_.claims]
    if not claims:
        raise Refusal(f"{name} has no claim to prove: prove judges neither goals nor `recovers`; "
                      "give it one of `always` or `step`, or ask `kraftcheck explore`")  # fmt: skip
    for id_ in only:
        if id_ not in claims:
            raise Refusal(f"{name} has nothing to prove named {id_!r} at this setting; {nearest(id_, claims)}")
    return with_added(only, [text.strip() for text in invariants])


@frozen
class ProofQuestion:
    """The question for a prover: which claims hold after any number of steps.

    Attributes:
        request: what is to be proven.
        effort: of each query.
        only: the claims that are asked for; none: all.
        workers: processes.
        budget: of the search beside the proof; its `max_states` is 0 for none.
        quiet: whether no progress is shown; None where Python asks, whose Ctrl-C is raised in the caller.
    """

    request: ProofRequest
    effort: Effort
    only: Sequence[str] = ()
    workers: int = 1
    budget: SearchBudget = field(factory=lambda: SearchBudget(max_states=MOST_STATES, keep=True))
    quiet: bool | None = None

    def answer(self) -> ProofAnswer:
        """The proof with its judgements; the seconds are those of the proof alone.

        Raises:
            Refusal: for a fault of the system.
            EngineDisagreement: when ints do not confirm what compiled code or a solver says.
        """
        start = time.monotonic()
        proof = run_proof(self.request, self.effort, self.only, self.workers, self.quiet)
        seconds = time.monotonic() - start
        judgements = judge(proof, search_evidence(self.request, proof, self.budget.max_states or 0, self._explore))
        timely = [evolve(one, verdict=evolve(one.verdict, verdict=overdue(one.verdict.verdict))) for one in judgements]
        chosen = self.request.subject()
        return ProofAnswer(chosen, proof, tuple(timely), seconds, self.effort, tuple(self.only), self.workers)

    def _explore(self, traced: Program) -> Exploration:
        if self.quiet is None:
            return interruptible(lambda stop: search(traced, self.budget, stop))
        return run(traced, self.budget, self.quiet)
