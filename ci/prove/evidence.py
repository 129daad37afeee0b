"""The search beside a proof: whether counterexamples are reachable, and whether a run shows what a claim speaks of."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from attrs import evolve

from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.prove.smallest import smallest_steps
from kraftcheck.ci.systems.subject import Subject, program
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.ci.terminal.time_limit import passed
from kraftcheck.model.language.layout import LayoutError
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.search.explore import Exploration
from kraftcheck.solvers.smt.cti import locate
from kraftcheck.solvers.smt.induction import Proof
from kraftcheck.solvers.smt.queries import REFUTED
from kraftcheck.solvers.smt.theory import Theory
from kraftcheck.solvers.smt.verdicts import SearchEvidence, unshown

NO_SEARCH = "--search 0"
"""Why nothing was explored, where the user says so."""

Explorer = Callable[[Program], Exploration]


def search_evidence(request: ProofRequest, proof: Proof, most: int, explore: Explorer) -> SearchEvidence:
    """The search that a proof needs; none where there are no counterexamples, and nothing has to be shown.

    Args:
        request, proof: the claims to be proven, and their answers.
        most: states to explore; 0: none.
        explore: stops there.
    """
    of_any = request.of_any()
    wanted = of_any or any(answer.result == REFUTED for claim in proof.targets for answer in proof.of(claim))
    if not wanted and not needs_case(proof.theory, proof.targets):
        return SearchEvidence()
    if proof.stopped:
        return SearchEvidence(reason=proof.stop_reason)
    if not most or passed():
        none = SearchEvidence(reason=NO_SEARCH if not most else "no time is left")
        return with_smallest(request, proof, none, {}) if of_any and not passed() else none
    return _of_numbers(request, proof, explore) if of_any else of_scope(request, explore)


def needs_case(subject: Theory, claims: Iterable[str]) -> bool:
    """Whether a run has to show what one of some claims speaks of; of shipped claims other scopes show it."""
    premises, lenient = subject.program.premises, subject.program.lenient
    return any((name in premises and name not in lenient) or subject.claim(name).case for name in claims)


def of_scope(request: ProofRequest, explore: Explorer) -> SearchEvidence:
    """The search of the scope that was proven."""
    try:
        explored_program = program(with_lemmas(request.subject(proof=False)))
    except (Refusal, LayoutError) as error:
        return SearchEvidence(reason=f"the explorer has no such scope: {error}")
    return SearchEvidence(explore(explored_program))


def _of_numbers(request: ProofRequest, proof: Proof, explore: Explorer) -> SearchEvidence:
    """Searches with few brokers, for a proof about any number: the fewest always, one more where claims stay open.

    What is proven for any number has to hold there too. What is not may be refuted there. A claim is open also while no
    run shows what it speaks of. Where a counterexample to induction needs more brokers, so many are explored as well.
    """
    searches: dict[int, Exploration] = {}
    theory = proof.theory

    def is_open(claim: str, evidence: SearchEvidence) -> bool:
        if not proof.proven(claim):
            return evidence.refutation(claim) is None
        return unshown(theory.program, theory.claim(claim), evidence, claim in theory.lemmas) is not None

    for more in (0, 1):
        searches[more] = explore(program(with_lemmas(request.of_more(more))))
        evidence = SearchEvidence(others=tuple(searches.values()))
        if not any(is_open(claim, evidence) for claim in proof.targets):
            return evidence
    return with_smallest(request, proof, evidence, searches, explore)


def with_smallest(
    request: ProofRequest, proof: Proof, evidence: SearchEvidence, searches: dict[int, Exploration],
    explore: Explorer | None = None,
) -> SearchEvidence:  # fmt: skip
    """Evidence with the smallest counterexample to induction of each claim that it leaves open.

    Args:
        request, proof: for any number of brokers.
        evidence: of searches with few.
        searches: those, by how many brokers there are more than the fewest.
        explore: for numbers that were not explored; None: they are not.
    """
    unproven = [claim for claim in proof.targets if not proof.inductive(claim) and evidence.refutation(claim) is None]
    steps = smallest_steps(request, proof, unproven)
    for more in sorted({more for more, _ in steps.values()} - {*searches}):
        if explore is not None and not passed():
            searches[more] = explore(program(with_lemmas(request.of_more(more))))
    located = {}
    for claim, (more, step) in steps.items():
        numbers = request.of_more(more).setting.text()
        located[claim] = locate(step, proof.theory.claim(claim), searches.get(more), evidence.reason, numbers)
    return evolve(evidence, others=tuple(searches.values()), smallest=located)


def with_lemmas(chosen: Subject) -> Subject:
    """The subject with its lemmas as properties, so that the explorer judges them too."""
    both = (*chosen.system.properties(chosen.setting), *chosen.system.lemmas(chosen.setting))
    return evolve(chosen, system=evolve(chosen.system, properties=lambda _: both))
