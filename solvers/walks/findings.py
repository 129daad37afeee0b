"""Findings of random walks, shortened and confirmed on ints."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import DEADLOCK, Trace
from kraftcheck.solvers.reference.confirm import confirm
from kraftcheck.solvers.reference.interpreter import Integers, Move
from kraftcheck.solvers.reference.shrink import BUDGET, shrink
from kraftcheck.solvers.traces.path import PackedRun
from kraftcheck.solvers.walks.walks import Occurrence, Walks

SMALL_BUDGET = 1_000
"""Steps for shrinking what is not shown."""


@frozen
class WalkFinding:
    """A property that a walk broke, or a goal that it reached.

    Attributes:
        run: number of the run.
        steps: steps from the initial state to the occurrence, as walked.
        trace: a shortened one, confirmed on ints.
    """

    run: int
    steps: int
    trace: Trace


def moves_of(program: Program, instances: Sequence[int]) -> list[Move]:
    """Instance numbers as the engine on ints names them."""
    owner = [(number, kind.first) for number, kind in enumerate(program.kinds) for _ in kind.instances]
    return [Move(owner[instance][0], instance - owner[instance][1]) for instance in instances]


def confirm_occurrence(
    program: Program, engine: Integers, occurrence: Occurrence, runs: Sequence[PackedRun], budget: int
) -> WalkFinding:
    """The finding of an occurrence: shortened, and confirmed on ints.

    Args:
        program, engine: the system, traced and on ints.
        occurrence: the occurrence.
        runs: to states that runs may have begun in, besides the initial ones.
        budget: steps for shrinking.

    Raises:
        EngineDisagreement: when ints do not confirm it.
    """
    claim = occurrence.claim.id if occurrence.claim is not None else DEADLOCK
    before = next(
        (run_ for run_ in runs if run_.end == occurrence.start), PackedRun(occurrence.start, (), occurrence.start)
    )
    instances = (*before.instances, *occurrence.instances)
    confirm(program, occurrence.claim, before.initial, instances, None)
    starts = [program.layout.unpack(initial) for initial in program.initial]
    run = shrink(engine, program.layout.unpack(before.initial), moves_of(program, instances), claim, starts, budget)
    short = [program.kinds[move.action].first + move.row for move in run.moves]
    trace = confirm(program, occurrence.claim, program.layout.pack(run.start), short, None)
    return WalkFinding(occurrence.run, len(instances), trace)


def confirm_findings(walks: Walks, runs: Sequence[PackedRun] = (), long_searches: int = 3) -> tuple[WalkFinding, ...]:
    """The findings that break a property, shortest first; raises as `confirm_occurrence` does.

    Args:
        walks: what was walked.
        runs: to states that runs may have begun in.
        long_searches: how many are worth a long search for a shorter run: those that were walked in the fewest steps.
    """
    engine = Integers(walks.program.system, walks.program.setting)
    by_length = sorted(walks.broken, key=lambda where: len(where.instances))
    findings_ = [
        confirm_occurrence(walks.program, engine, where, runs, BUDGET if number < long_searches else SMALL_BUDGET)
        for number, where in enumerate(by_length)
    ]
    return tuple(sorted(findings_, key=lambda finding_: (len(finding_.trace.steps), finding_.trace.claim)))


def witnesses(walks: Walks, runs: Sequence[PackedRun] = ()) -> tuple[WalkFinding, ...]:
    """The findings that show a goal; raises as `confirm_occurrence` does."""
    engine = Integers(walks.program.system, walks.program.setting)
    return tuple(confirm_occurrence(walks.program, engine, where, runs, SMALL_BUDGET) for where in walks.goals_shown)
