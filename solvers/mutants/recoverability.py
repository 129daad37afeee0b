"""Recoverability and liveness of mutants: `recovers` and fair behaviours, judged on the explored graph of a mutant.

They need the whole graph, so they are judged only for mutants that nothing else
kills. The backward search is that of `kraftcheck.solvers.search.backward`; ints confirm the
state it names, and the nearest states that the way out leads to. They confirm a lasso as
they do for the rules as they are.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from attrs import evolve, frozen

from kraftcheck.solvers.liveness.judge import LivenessFinding, search_liveness
from kraftcheck.solvers.mutants.counterexamples import Disproof, calls, confirm_on_rules, run
from kraftcheck.solvers.mutants.mutate import Mutant, Mutations
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.recovers import RecoversClaim
from kraftcheck.solvers.reference import terms as interpret
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.search.backward import BackwardSearch, RecoverabilityFinding
from kraftcheck.solvers.search.levels import Search
from kraftcheck.solvers.traces.path import PackedRun
from kraftcheck.solvers.traces.render import call

CLOSURE = 40
"""States after a counterexample that ints look at; a state takes tens of milliseconds."""

Findings = tuple[RecoverabilityFinding, ...]
LivenessFindings = tuple[LivenessFinding, ...]


@frozen
class RecoverabilityChange:
    """The difference in recoverability, or in liveness, between a mutant and the unmutated rules.

    Attributes:
        disproofs: the properties it refutes, each with a trace to a state that never recovers, or a lasso.
        idle: properties that no state has to recover, or to wait, for any more.
        uncertain: properties that may hold only beyond a bound.
    """

    disproofs: tuple[Disproof, ...]
    idle: tuple[str, ...]
    uncertain: tuple[str, ...]


def graph_findings(search: Search, stop: threading.Event) -> Findings | None:
    """The findings of a complete search about each `recovers` property; None when stopped."""
    if not search.kernel.program.recovers:
        return ()
    return BackwardSearch(search.kernel, search.store, 1, stop, lambda sweep, queue: None).run()


def fair_findings(search: Search, mutations: Mutations) -> LivenessFindings | None:
    """The findings of a complete search about each liveness property; None when stopped.

    The rules on ints have to be those of the mutant meanwhile.
    """
    if not search.kernel.program.liveness.claims:
        return ()
    search.kernel = evolve(search.kernel, program=mutations.on_ints(search.kernel.program))
    return search_liveness(search, lambda search, sweep, queue: None, lambda: 0.0).findings


def compare_liveness(program: Program, findings: LivenessFindings, base: LivenessFindings) -> RecoverabilityChange:
    """Compare what fair behaviours of a mutant do with those of the rules as they are."""
    claims = [one.claim.id for one in program.liveness.claims]
    pairs = [
        (claim, finding, base_finding)
        for claim, finding, base_finding in zip(claims, findings, base, strict=True) if base_finding.trace is None
    ]  # fmt: skip
    return RecoverabilityChange(
        tuple(
            Disproof(claim, tuple(call(step.action, step.arguments) for step in finding.trace.steps))
            for claim, finding, _ in pairs if finding.trace is not None
        ),
        tuple(claim for claim, finding, before in pairs if before.answer.waiting and not finding.answer.waiting),
        tuple(claim for claim, finding, before in pairs if finding.uncertain is not None and before.uncertain is None),
    )  # fmt: skip


def compare_recoverability(
    search: Search, mutations: Mutations, mutant: Mutant, findings: Findings, base: Findings
) -> RecoverabilityChange:
    """Compare a mutant's findings with those of the rules as they are.

    Raises:
        EngineDisagreement: when ints do not confirm a counterexample.
    """
    pairs = [
        (n, finding, base_finding)
        for n, (finding, base_finding) in enumerate(zip(findings, base, strict=True))
        if base_finding.unrecoverable is None
    ]
    return RecoverabilityChange(
        tuple(
            _disproof(search, mutations, mutant, n, finding.unrecoverable)
            for n, finding, _ in pairs
            if finding.unrecoverable is not None
        ),
        tuple(finding.claim.id for _, finding, base_finding in pairs if base_finding.failing and not finding.failing),
        tuple(
            finding.claim.id
            for _, finding, base_finding in pairs
            if finding.uncertain is not None and base_finding.uncertain is None
        ),
    )


def _disproof(search: Search, mutations: Mutations, mutant: Mutant, number: int, path: PackedRun) -> Disproof:
    """The run to a state that never recovers, confirmed on ints."""
    program = search.kernel.program
    recovers = program.recovers[number]
    instances = [*path.instances]
    states = run(program, path.initial, instances)
    if interpret.packed(program, states[-1]) != path.end:
        raise EngineDisagreement(f"mutant {mutant.key}: the engine and ints reach different states")
    if not interpret.holds(recovers.when, program, states[-1]):
        raise EngineDisagreement(f"mutant {mutant.key}: {recovers.claim.id} does not concern the state on ints")
    _confirm_never(program, mutant, recovers, states[-1])
    confirm_on_rules(program, mutations, mutant, recovers.claim.id, states, instances)
    return Disproof(recovers.claim.id, calls(program, instances))


def _confirm_never(program: Program, mutant: Mutant, recovers: RecoversClaim, start: Sequence[int]) -> None:
    """Look, on ints, at the nearest states that the way out leads to: none satisfies the claim."""
    instances = [number for number in range(program.instances) if recovers.allowed[number]]
    visited, queue = {tuple(start)}, [tuple(start)]
    for state in queue:
        if interpret.holds(recovers.goal, program, state):
            raise EngineDisagreement(f"mutant {mutant.key}: {recovers.claim.id} recovers on ints")
        for number in instances:
            if not interpret.enabled(program, number, state):
                continue
            after = interpret.successor(program, number, state)
            if interpret.fields_outside(program, after):
                raise EngineDisagreement(f"{calls(program, [number])[0]} leaves a domain on ints")
            if after not in visited and len(visited) < CLOSURE:
                visited.add(after)
                queue.append(after)
