"""What a mutant can never come back from: `recovers` properties, asked of the explored graph of a mutant.

They need the whole graph, so they are asked only of mutants that nothing else
kills. The backward search is that of `kraftcheck.solvers.search.backward`; ints confirm the
state it names, and the nearest states that the way out leads to.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from attrs import frozen

from kraftcheck.solvers.mutants.counterexamples import Disproof, calls, on_rules, run
from kraftcheck.solvers.mutants.mutate import Mutant, Mutations
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.recovers import Recovery
from kraftcheck.solvers.reference import terms as interpret
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.search.backward import Backward, Finding
from kraftcheck.solvers.search.levels import Search
from kraftcheck.solvers.traces.path import Way

CLOSURE = 40
"""States after a counterexample that ints look at; a state takes tens of milliseconds."""

Findings = tuple[Finding, ...]


@frozen
class Judged:
    """What the graph of a mutant says, beyond what the rules as they are say.

    Attributes:
        disproofs: the properties it refutes, each with the shortest trace to a state that never recovers.
        idle: properties that no state has to recover for any more.
        uncertain: properties that may hold only beyond a bound.
    """

    disproofs: tuple[Disproof, ...]
    idle: tuple[str, ...]
    uncertain: tuple[str, ...]


def graph_findings(search: Search, stop: threading.Event) -> Findings | None:
    """What a complete search says about each `recovers` property; None when stopped."""
    if not search.kernel.program.recoveries:
        return ()
    return Backward(search.kernel, search.store, 1, stop, lambda sweep, waiting: None).run()


def judge_recovery(search: Search, mutations: Mutations, mutant: Mutant, found: Findings, base: Findings) -> Judged:
    """Compare a mutant's findings with those of the rules as they are.

    Raises:
        EngineDisagreement: when ints do not confirm a counterexample.
    """
    pairs = [(n, one, other) for n, (one, other) in enumerate(zip(found, base, strict=True)) if other.lost is None]
    return Judged(
        tuple(_stranded(search, mutations, mutant, n, one.lost) for n, one, _ in pairs if one.lost is not None),
        tuple(one.claim.id for _, one, other in pairs if other.failing and not one.failing),
        tuple(one.claim.id for _, one, other in pairs if one.uncertain is not None and other.uncertain is None),
    )


def _stranded(search: Search, mutations: Mutations, mutant: Mutant, number: int, way: Way) -> Disproof:
    """The way to a state that never recovers, confirmed on ints."""
    program = search.kernel.program
    one = program.recoveries[number]
    instances = [*way.instances]
    states = run(program, way.initial, instances)
    if interpret.packed(program, states[-1]) != way.end:
        raise EngineDisagreement(f"mutant {mutant.key}: the engine and ints reach different states")
    if not interpret.holds(one.when, program, states[-1]):
        raise EngineDisagreement(f"mutant {mutant.key}: {one.claim.id} does not concern the state on ints")
    _confirm_never(program, mutant, one, states[-1])
    on_rules(program, mutations, mutant, one.claim.id, states, instances)
    return Disproof(one.claim.id, calls(program, instances))


def _confirm_never(program: Program, mutant: Mutant, one: Recovery, start: Sequence[int]) -> None:
    """Look, on ints, at the nearest states that the way out leads to: none satisfies the claim."""
    ways = [number for number in range(program.instances) if one.allowed[number]]
    seen, waiting = {tuple(start)}, [tuple(start)]
    for state in waiting:
        if interpret.holds(one.goal, program, state):
            raise EngineDisagreement(f"mutant {mutant.key}: {one.claim.id} recovers on ints")
        for number in ways:
            if not interpret.enabled(program, number, state):
                continue
            after = interpret.successor(program, number, state)
            if interpret.outside(program, after):
                raise EngineDisagreement(f"{calls(program, [number])[0]} leaves a domain on ints")
            if after not in seen and len(seen) < CLOSURE:
                seen.add(after)
                waiting.append(after)
