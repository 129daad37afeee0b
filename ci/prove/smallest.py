"""The smallest counterexamples to induction of claims about any number of participants.

What is not proven for any number shows no state: what is told to the solver allows more than there is. So
the same step is asked with few participants, from the invariants that the proof assumed, the fewest first. There a
countermodel is a state, and is replayed on ints.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence

from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.systems.subject import traced
from kraftcheck.ci.terminal.time_limit import passed, within
from kraftcheck.solvers.program.verdict import Trace
from kraftcheck.solvers.smt.cti import replay_countermodel
from kraftcheck.solvers.smt.induction import Proof, obligations
from kraftcheck.solvers.smt.queries import REFUTED, Effort, ObligationAnswer, Questions
from kraftcheck.solvers.smt.session import SolverSession
from kraftcheck.solvers.smt.theory import Theory, theory

MOST_MORE = 3
"""So many participants more than the fewest are tried."""

SECONDS = 10.0
"""How long one query may take."""


def smallest_steps(request: ProofRequest, proof: Proof, claims: Sequence[str]) -> Mapping[str, tuple[int, Trace]]:
    """For each claim that has one, the step that breaks it with few participants, and how many more than the fewest.

    Args:
        request, proof: for any number.
        claims: not proven.

    Raises:
        EngineDisagreement: when ints do not confirm a step.
    """
    steps: dict[str, tuple[int, Trace]] = {}
    for more in range(MOST_MORE + 1):
        if not (pending := [claim for claim in claims if claim not in steps]) or passed():
            break
        few = traced(request.of_more(more), theory)
        for answer in _refuted(few, proof, pending):
            steps.setdefault(answer.obligation.claim, (more, replay_countermodel(few, answer, _known(few, proof))))
    return steps


def _known(few: Theory, proof: Proof) -> list[str]:
    """The invariants that the proof assumes, of those that there are with few participants."""
    assumed = proof.assumed()
    return [claim.id for claim in few.invariants if claim.id in assumed]


def _refuted(few: Theory, proof: Proof, claims: Sequence[str]) -> Iterator[ObligationAnswer]:
    """The answers of few participants that have a countermodel, to what is not proven of some claims."""
    known, questions = _known(few, proof), Questions(few)
    failing = {answer.obligation for claim in claims for answer in proof.failures(claim)}
    pending = [obligation for obligation in obligations(few, claims) if obligation in failing]
    for action, group in itertools.groupby(pending, key=lambda obligation: obligation.action):
        effort = Effort(within(SECONDS))
        session = SolverSession(questions, questions.premises(action, known), effort, time.monotonic)
        yield from (answer for obligation in group if (answer := session.ask(obligation)).result == REFUTED)
