"""Lassos in an unrolled run: fair behaviours that end in a cycle and break a liveness property.

Biere et al., "Symbolic Model Checking without BDDs" (1999). A run of k steps is a lasso where its last state is one of
its states again: that one and what follows is the cycle. It may be the last state itself: then the behaviour stays
there, as a stuttering step of TLA+ does. Fairness is judged on the cycle.

A step counts by the states before and after it, whatever action led there, and an action is enabled where some
instance of it changes the state: so each constraint becomes two truths, of a state and of a pair of states, over all
instances that it is about.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import z3
from attrs import frozen

from kraftcheck.model.language.layout import leaves
from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.program.program import FairConstraint, Kind, LivenessClaim
from kraftcheck.solvers.program.verdict import Trace
from kraftcheck.solvers.reference.confirm import lasso_trace
from kraftcheck.solvers.smt.runs.unrolling import Unrolling
from kraftcheck.solvers.smt.verdicts import run_on_ints
from kraftcheck.solvers.smt.z3terms import Z3Reader, conjunction, disjunction


@frozen
class FairTruths:
    """A fairness constraint in Z3.

    Attributes:
        enabled: truth of the state `now`: a step of it can be taken there, and it is not excused.
        taken: truth of the states `now` and `after`: what leads from one to the other is a step of it.
    """

    enabled: Any
    taken: Any


class FairReader:
    """Reads fairness constraints into Z3, over symbols that stand for any two states.

    Attributes:
        now, after: those symbols.
    """

    def __init__(self, unrolling: Unrolling) -> None:
        self._program, self._after = unrolling.subject.program, unrolling.after
        self._read = Z3Reader()
        self.now = self._symbols(self._program.state, "now ")
        self.after = self._symbols(self._after, "after ")

    def _symbols(self, terms: Sequence[Term], prefix: str) -> tuple[Any, ...]:
        slots = self._program.layout.slots
        symbols = tuple(self._read.variable(t, slot.path, prefix) for t, slot in zip(terms, slots, strict=True))
        for term, symbol in zip(terms, symbols, strict=True):
            self._read.bind(term, symbol)
        return symbols

    def truths(self, constraint: FairConstraint) -> FairTruths:
        """The truths of a constraint."""
        can, does = [], []
        for kind in self._program.kinds:
            if kind.action.name in constraint.steps.fairness.actions:
                for possible, leads in self._instances(kind, constraint):
                    can.append(possible)
                    does.append(z3.And(possible, leads))
        bound = z3.Not(self._read.expression(constraint.excused))
        return FairTruths(*(z3.simplify(z3.And(bound, disjunction(parts))) for parts in (can, does)))

    def _instances(self, kind: Kind, constraint: FairConstraint) -> Iterator[tuple[Any, Any]]:
        """Of each instance: that it is enabled and changes the state, and that it leads to the state after."""
        read, graph = self._read, self._program.graph
        guard = conjunction([read.expression(term) for term in kind.guard.values()])
        pairs = list(zip(kind.after, self._program.state, self._after, strict=True))
        same = conjunction([read.expression(graph.lift(graph.apply("eq", new, old))) for new, old, _ in pairs])
        leads = conjunction([read.expression(graph.lift(graph.apply("eq", after, new))) for new, _, after in pairs])
        symbols = [read.expression(variable) for variable in kind.variables]
        names = list(kind.action.parameters)
        for row in itertools.product(*kind.action.parameters.values()):
            if constraint.steps.covers(kind.action.name, dict(zip(names, row, strict=True))):
                values = [value for _, value in leaves(tuple(row))]
                constants = [read.constant(v, x) for v, x in zip(kind.variables, values, strict=True)]
                pinned = list(zip(symbols, constants, strict=True))
                yield z3.substitute(z3.And(guard, z3.Not(same)), *pinned), z3.substitute(leads, *pinned)


class Lassos:
    """Looks for lassos whose last state is the last one of an unrolled run."""

    def __init__(self, unrolling: Unrolling) -> None:
        self._unrolling = unrolling
        program = unrolling.subject.program
        self._claims = {one.claim.id: one for one in program.liveness.claims}
        self._constraints = program.liveness.constraints
        self._reader = FairReader(unrolling) if self._claims else None
        self._truths: dict[int, FairTruths] = {}
        self._enabled: dict[int, list[Any]] = {}
        self._taken: dict[int, list[Any]] = {}

    def broken(self, name: str) -> Trace | str | None:
        """A lasso that breaks a liveness property, on ints; None when there is none; why, if Z3 gave up."""
        live, last = self._claims[name], self._unrolling.length
        begins = [z3.Bool(f"the cycle from {number} to {last}") for number in range(last + 1)]
        states = self._unrolling.states
        closed = [
            z3.Implies(begin, conjunction([a == b for a, b in zip(states[number], states[last], strict=True)]))
            for number, begin in enumerate(begins)
        ]
        within = [disjunction(begins[: number + 1]) for number in range(last + 1)]
        fair = [self._fair(number, within) for number in live.constraints]

        def read(model: z3.ModelRef) -> Trace:
            start = next(n for n, begin in enumerate(begins) if z3.is_true(model.eval(begin, model_completion=True)))
            first, steps = run_on_ints(self._unrolling.subject, *self._unrolling.run(model))
            return lasso_trace(self._unrolling.subject.program, live.claim, first, steps, start)

        return self._unrolling.satisfying([disjunction(begins), *closed, *fair, self._breaks(live, within)], read)

    def _breaks(self, live: LivenessClaim, within: Sequence[Any]) -> Any:
        """The truth that a lasso breaks a property, by the states that are within its cycle."""
        readers = self._unrolling.readers
        bad = [z3.Not(reader.expression(live.goal)) for reader in readers]
        if live.claim.kind == "eventually_always":
            return disjunction([z3.And(inside, one) for inside, one in zip(within, bad, strict=True)])
        never_again = [z3.Implies(inside, one) for inside, one in zip(within, bad, strict=True)]
        if live.claim.kind == "always_eventually":
            return conjunction(never_again)
        if live.claim.kind == "eventually":
            return conjunction(bad)
        waits = [conjunction([reader.expression(live.premise), *bad[number:]]) for number, reader in enumerate(readers)]
        return conjunction([*never_again, disjunction(waits)])

    def _fair(self, number: int, within: Sequence[Any]) -> Any:
        """The truth that a cycle satisfies a constraint: it takes a step of it, or cannot, as the constraint asks."""
        enabled, taken = self._along(number)
        steps = [z3.And(inside, one) for inside, one in zip(within, taken, strict=False)]
        if self._constraints[number].strong:
            never = [z3.Implies(inside, z3.Not(one)) for inside, one in zip(within, enabled, strict=True)]
            return disjunction([*steps, conjunction(never)])
        idle = [z3.And(inside, z3.Not(one)) for inside, one in zip(within, enabled, strict=True)]
        return disjunction([*steps, *idle])

    def _along(self, number: int) -> tuple[list[Any], list[Any]]:
        """Of each state that a constraint is enabled there, and of each step that it is one of it."""
        assert self._reader is not None
        states, reader = self._unrolling.states, self._reader
        if number not in self._truths:
            self._truths[number] = reader.truths(self._constraints[number])
        truths = self._truths[number]
        enabled, taken = self._enabled.setdefault(number, []), self._taken.setdefault(number, [])
        for state in states[len(enabled) :]:
            enabled.append(z3.substitute(truths.enabled, *zip(reader.now, state, strict=True)))
        for depth in range(len(taken), len(states) - 1):
            both = zip((*reader.now, *reader.after), (*states[depth], *states[depth + 1]), strict=True)
            taken.append(z3.substitute(truths.taken, *both))
        return enabled, taken
