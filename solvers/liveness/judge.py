"""Verdicts on liveness properties: the fair behaviours of what a search visited."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from attrs import frozen

from kraftcheck.solvers.liveness.behaviours import (
    Answer,
    Behaviours,
    Lasso,
    Question,
    bits_of,
    depths,
    excuses,
    initial_states,
)
from kraftcheck.solvers.liveness.fair import GROUP, Constraint, StoppedError, Sweeps, group_of
from kraftcheck.solvers.liveness.graph import CompiledEdges
from kraftcheck.solvers.machine_code.edge_kernel import kind_bit, truth_words
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.stop import is_stop, stop_reason
from kraftcheck.solvers.program.verdict import (
    Holds,
    Incomplete,
    PropertyVerdict,
    Refuted,
    Trace,
    Unknown,
    Vacuous,
    Verdict,
)
from kraftcheck.solvers.reference.lasso import confirm_lasso
from kraftcheck.solvers.search.levels import FIRST_VIOLATION, Search


@frozen
class LivenessFinding:
    """The result of the liveness search for one property.

    Attributes:
        answer: in numbers of states.
        trace: the lasso, confirmed on ints; None: there is none.
        uncertain: the depth of the shallowest state that waits, and whose behaviours may leave the bounds; None: none.
    """

    answer: Answer
    trace: Trace | None
    uncertain: int | None


@frozen
class Liveness:
    """The outcome of a liveness search.

    Attributes:
        findings: one for each liveness property; None: it did not take place, or not to its end.
        reason: why it did not.
        sweeps: how often it swept over states.
        seconds: how long it took.
        memory: bytes that it used besides what the search had visited.
    """

    findings: tuple[LivenessFinding, ...] | None
    reason: str = "this engine does not judge fair behaviours; explore with the native one"
    sweeps: int = 0
    seconds: float = 0.0
    memory: int = 0


NO_LIVENESS_SEARCH = Liveness(None)
"""Nothing was searched for fair behaviours."""

SYMMETRIC = Liveness(None, "states that differ by names alone were explored once, which fairness does not allow for")
"""What symmetry leaves open."""


def search_liveness(
    search: Search, report: Callable[[Search, int, int], None], clock: Callable[[], float]
) -> Liveness:
    """Search what a search visited for fair behaviours, unless there is no need or it was to end early.

    A stop on the way cuts the search.

    Raises:
        EngineDisagreement: when ints do not confirm a lasso.
    """
    program = search.kernel.program
    if not program.liveness.claims or is_stop(search.cut) or search.cut == FIRST_VIOLATION:
        return NO_LIVENESS_SEARCH
    if program.reduction is not None:
        return SYMMETRIC
    start = clock()
    budget = max(0, search.limits.memory - search.bytes_in_use())
    edges = CompiledEdges(search.kernel, search.store, search.threads, budget)
    sweeps = _sweeps(search, edges, lambda number: report(search, number, 0))
    try:
        findings = _findings(program, edges, sweeps)
    except StoppedError:
        search.cut = stop_reason(search.stop)
        return Liveness(None)
    arrays = [sweeps.cut, *(group.enabled for group in sweeps.groups)]
    each = 8 * (truth_words(program) + 2)  # the truths of a state, its parent and its depth
    memory = edges.kept + sum(array.nbytes for array in arrays) + edges.count * each
    return Liveness(findings, "", sweeps.sweeps, clock() - start, memory)


def _sweeps(search: Search, edges: CompiledEdges, report: Callable[[int], None]) -> Sweeps:
    """The sweeps over the graph under every constraint of the program."""
    program = search.kernel.program
    owner = [number for number, kind in enumerate(program.kinds) for _ in kind.instances]
    constraints = [
        Constraint(one.strong, one.instances, sum({kind_bit(owner[number]) for number in one.instances}))
        for one in program.liveness.constraints
    ]
    parts = [constraints[first : first + GROUP] for first in range(0, len(constraints), GROUP)]
    groups = tuple(group_of(part, edges.count) for part in parts)
    return Sweeps(edges, groups, search.threads, search.stop, report)


def _findings(program: Program, edges: CompiledEdges, sweeps: Sweeps) -> tuple[LivenessFinding, ...]:
    claims, declared = program.liveness.claims, program.liveness.constraints
    rows = edges.truths(truth_words(program))

    def excused(group: int, states: slice) -> Any:
        return excuses(rows, 2 * len(claims), declared, group, states, sweeps.groups[group].by_instance.dtype)

    sweeps.survey(excused)
    parents = edges.parents()
    behaviours = Behaviours(edges, sweeps, depths(parents))
    initial = initial_states(parents)
    findings = []
    for number, claim in enumerate(claims):
        premise, goal = bits_of(rows, 2 * number), bits_of(rows, 2 * number + 1)
        answer = behaviours.answer(Question(claim.claim.kind, premise, goal, initial, claim.constraints))
        trace = None if answer.lasso is None else _trace(program, number, edges, answer.lasso)
        depth = behaviours.depth[answer.uncertain].min(initial=np.iinfo(np.int64).max)
        findings.append(LivenessFinding(answer, trace, int(depth) if answer.uncertain.any() else None))
    return tuple(findings)


def _trace(program: Program, number: int, edges: CompiledEdges, lasso: Lasso) -> Trace:
    """The lasso as a trace, confirmed on ints."""
    run = edges.store.run_to(edges.identity(lasso.entry))
    instances = (*run.instances, *lasso.way, *lasso.cycle)
    claim = program.liveness.claims[number].claim
    return confirm_lasso(program, claim, run.initial, instances, len(instances) - len(lasso.cycle))


def liveness_verdicts(
    program: Program, liveness: Liveness, bound: str, cut: str | None
) -> Iterator[PropertyVerdict]:
    """The verdicts on the liveness properties.

    Args:
        program: what was explored.
        liveness: what the search for fair behaviours found.
        bound: what a property holds of.
        cut: why the search is incomplete.
    """
    for number, live in enumerate(program.liveness.claims):
        finding = None if liveness.findings is None else liveness.findings[number]
        verdict: Verdict
        if finding is not None and finding.trace is not None:
            verdict = Refuted(finding.trace)  # a lasso among visited states is one, also where the search was cut
        elif cut is not None:
            verdict = Incomplete(cut)
        elif finding is None:
            verdict = Unknown(liveness.reason)
        else:
            verdict = _unrefuted(program, number, finding, bound)
        depth = len(verdict.trace.steps) if isinstance(verdict, Refuted) else None
        yield PropertyVerdict(live.claim.id, live.claim.kind, verdict, depth)


def _unrefuted(program: Program, number: int, finding: LivenessFinding, bound: str) -> Verdict:
    """The verdict where every state was explored and no fair behaviour breaks the property."""
    live = program.liveness.claims[number]
    if not finding.answer.concerned:
        return Vacuous(live.claim.id, "its premise holds in no reachable state")
    if not finding.answer.waiting:
        return Vacuous(live.claim.id, "no reachable state has to wait for it")
    if finding.uncertain is not None:
        where = f"a behaviour from a state at depth {finding.uncertain}"
        return Unknown(f"{where} may leave the bounds before it satisfies it")
    fair = ", ".join(program.liveness.constraints[one].steps.name for one in live.constraints)
    return Holds(f"{bound}; every behaviour that satisfies {fair}" if fair else f"{bound}; every behaviour")
