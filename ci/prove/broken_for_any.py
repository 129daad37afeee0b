"""`kraftcheck bugs --engine z3 --brokers any`: what a variant breaks with few brokers is not proven for any number.

A run with few brokers ends in a step that breaks the property. Before it every
invariant of the run's states held. Whatever part of the invariants is inductive
under the variant is among those that held all along: so if that one step is not
proven to keep the property from those, no induction proves the property.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from attrs import evolve

from kraftcheck.ci.prove.broken_proofs import BrokenClaim, BrokenProof, is_answered
from kraftcheck.ci.prove.proof_rows import BrokenProofRow, Place
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.run.search import SearchBudget, run_to_end
from kraftcheck.ci.systems.subject import program, subject
from kraftcheck.ci.terminal.machine import default_memory
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.bound import ANY
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.register.proofs import ANY_PLACES
from kraftcheck.solvers.program.verdict import Refuted, Trace
from kraftcheck.solvers.smt.queries import INITIATION, PROVEN, Effort, Obligation, ObligationAnswer, Questions
from kraftcheck.solvers.smt.session import SolverSession
from kraftcheck.solvers.smt.theory import Theory

EFFORT = Effort(timeout=10)
"""No answer in this time is no proof."""


def freed(system: str, bounds: Mapping[str, int]) -> dict[str, int]:
    """The bounds with any number where a bound takes any, and without those that this frees."""
    free = {bound.name: ANY for bound in SYSTEMS[system].bounds if bound.takes_any}
    without = {bound.name for bound in SYSTEMS[system].bounds if bound.freed_by in free}
    return {name: number for name, number in bounds.items() if name not in without} | free


def attempt_any(row: BrokenProofRow, workers: int, quiet: bool) -> BrokenProof:
    """Look for runs with few brokers in which a variant refutes properties, and try to prove their last steps.

    The first place decides that has a run of a property and can be asked: a step that is proven there is false.

    Raises:
        Interrupted: when a signal stopped it.
    """
    broken: dict[str, BrokenClaim | None] = {}
    refused: dict[str, str] = {}
    for place in places(row):
        open_claims = [claim for claim in row.claims if claim not in broken]
        if open_claims:
            few = ProofRequest(row.system, place.scope, place.bounds, row.rules)
            traces = refutations(few, open_claims, SearchBudget(workers, default_memory()), quiet)
            try:
                broken |= _broken(few, place, traces)
            except Refusal as refusal:
                refused = dict.fromkeys(traces, f"{refusal} (refuted in {place.words()})") | refused
    shown = tuple(one for one in broken.values() if one is not None)
    return BrokenProof(row, shown, {claim: why for claim, why in refused.items() if claim not in broken})


def places(row: BrokenProofRow) -> list[Place]:
    """Where runs are looked for: where the proofs are made with few brokers, and then where the matrix shows it."""
    return row.places_after([Place(scope, bounds) for scope, bounds in ANY_PLACES[row.system]])


def _broken(few: ProofRequest, place: Place, traces: Mapping[str, Trace]) -> dict[str, BrokenClaim | None]:
    """The claims that are refuted with few brokers, with the steps that break them; None for one that is proven.

    Raises:
        Refusal: for a system that provers do not take with any number of brokers there.
    """
    if not traces:
        return {}
    of = evolve(few, bounds=freed(str(few.name), few.bounds)).build()
    broken: dict[str, BrokenClaim | None] = {}
    for claim, trace in traces.items():
        last = trace.steps[-1].action if trace.steps else INITIATION
        answer = answer_there(of, claim, last, held_before(of, trace))
        by = f"{last} for any number, and by {len(trace.steps)} steps in {place.words()}"
        broken[claim] = None if answer.result == PROVEN else BrokenClaim(claim, by, is_answered(answer))
    return broken


def refutations(few: ProofRequest, claims: Sequence[str], budget: SearchBudget, quiet: bool) -> Mapping[str, Trace]:
    """The shortest traces of the claims that a variant refutes with few brokers."""
    chosen = few.subject(proof=False)
    offered = [claim.id for claim in chosen.system.properties(chosen.setting) if claim.id in claims]
    if not offered:
        return {}
    judged = subject(few.name, few.scope, few.bounds, few.rules, offered)
    result = run_to_end(program(judged), budget, quiet, str(few.rules))
    return {one.claim: one.verdict.trace for one in result.verdicts
            if isinstance(one.verdict, Refuted) and one.claim in offered}  # fmt: skip


def held_before(of: Theory, trace: Trace) -> list[str]:
    """The invariants that hold in every state of a run but its last one."""
    states = [trace.initial, *(step.state for step in trace.steps)][:-1]
    return [claim.id for claim in of.invariants if all(_holds(claim.predicate(state)) for state in states)]


def _holds(value: object) -> bool:
    return all(value.values()) if isinstance(value, Mapping) else bool(value)


def answer_there(of: Theory, claim: str, action: str, assumed: Sequence[str]) -> ObligationAnswer:
    """Whether an action is proven to keep a claim, for any number of brokers, where some invariants hold."""
    questions = Questions(of)
    session = SolverSession(questions, questions.premises(action, assumed), EFFORT, time.monotonic)
    return session.ask(Obligation(claim, action))
