"""Recoverability of mutants: `recovers` properties, judged on the explored graph of a mutant.

They need the whole graph, so they are judged only for mutants that nothing else
kills. The backward search is that of `kraftcheck.solvers.search.backward`; ints confirm the
state it names, and the nearest states that the way out leads to.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from attrs import frozen

from kraftcheck.solvers.mutants.counterexamples import Disproof, calls, confirm_on_rules, run
from kraftcheck.solvers.mutants.mutate import Mutant, Mutations
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.recovers import RecoversClaim
from kraftcheck.solvers.reference import terms as interpret
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.search.backward import BackwardSearch, RecoverabilityFinding
from kraftcheck.solvers.search.levels import Search
from kraftcheck.solvers.traces.path import PackedRun

CLOSURE = 40
"""States after a counterexample that ints look at; a state takes tens of milliseconds."""

Findings = tuple[RecoverabilityFinding, ...]


@frozen
class RecoverabilityChange:
    """The difference in recoverability between a mutant and the unmutated rules.

    Attributes:
        disproofs: the properties it refutes, each with the shortest trace to a state that never recovers.
        idle: properties that no state has to recover for any more.
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
