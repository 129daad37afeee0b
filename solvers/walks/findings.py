"""What random walks found, shortened and confirmed on ints."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import DEADLOCK, Trace
from kraftcheck.solvers.reference.confirm import confirm
from kraftcheck.solvers.reference.interpreter import Integers, Move
from kraftcheck.solvers.reference.shrink import BUDGET, shrink
from kraftcheck.solvers.traces.path import Way
from kraftcheck.solvers.walks.walks import Occasion, Walks

SMALL_BUDGET = 1_000
"""Steps for shrinking what is not shown."""


@frozen
class Finding:
    """A property that a walk broke, or a goal that it reached.

    Attributes:
        run: number of the run.
        steps: steps from the initial state to the occasion, as walked.
        trace: a shortened one, confirmed on ints.
    """

    run: int
    steps: int
    trace: Trace


def moves_of(program: Program, instances: Sequence[int]) -> list[Move]:
    """Instance numbers as the engine on ints names them."""
    owner = [(number, kind.first) for number, kind in enumerate(program.kinds) for _ in kind.instances]
    return [Move(owner[instance][0], instance - owner[instance][1]) for instance in instances]


def finding(program: Program, engine: Integers, where: Occasion, ways: Sequence[Way], budget: int) -> Finding:
    """An occasion as a finding.

    Args:
        program, engine: the system, traced and on ints.
        where: the occasion.
        ways: to states that runs may have begun in, besides the initial ones.
        budget: steps for shrinking.

    Raises:
        EngineDisagreement: when ints do not confirm it.
    """
    claim = where.claim.id if where.claim is not None else DEADLOCK
    before = next((way for way in ways if way.end == where.start), Way(where.start, (), where.start))
    whole = (*before.instances, *where.instances)
    confirm(program, where.claim, before.initial, whole, None)
    starts = [program.layout.unpack(initial) for initial in program.initial]
    run = shrink(engine, program.layout.unpack(before.initial), moves_of(program, whole), claim, starts, budget)
    short = [program.kinds[move.action].first + move.row for move in run.moves]
    trace = confirm(program, where.claim, program.layout.pack(run.start), short, None)
    return Finding(where.run, len(whole), trace)


def findings(walks: Walks, ways: Sequence[Way] = (), shown: int = 3) -> tuple[Finding, ...]:
    """What breaks a property, shortest first; raises as `finding` does.

    Args:
        walks: what was walked.
        ways: to states that runs may have begun in.
        shown: how many are worth a long search for a shorter run: those that were walked in the fewest steps.
    """
    engine = Integers(walks.program.system, walks.program.setting)
    soonest = sorted(walks.broken, key=lambda where: len(where.instances))
    found = [
        finding(walks.program, engine, where, ways, BUDGET if number < shown else SMALL_BUDGET)
        for number, where in enumerate(soonest)
    ]
    return tuple(sorted(found, key=lambda one: (len(one.trace.steps), one.trace.claim)))


def witnesses(walks: Walks, ways: Sequence[Way] = ()) -> tuple[Finding, ...]:
    """What shows a goal; raises as `finding` does."""
    engine = Integers(walks.program.system, walks.program.setting)
    return tuple(finding(walks.program, engine, where, ways, SMALL_BUDGET) for where in walks.shown)
