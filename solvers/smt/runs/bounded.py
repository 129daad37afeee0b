"""Runs of bounded length in Z3: unrolled steps, bounded model checking, k-induction, and lassos."""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import z3
from attrs import define, frozen

from kraftcheck.model.language.layout import leaves
from kraftcheck.model.language.system import LIVENESS
from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.program.program import FairConstraint, Kind, LivenessClaim
from kraftcheck.solvers.program.stop import stop_reason
from kraftcheck.solvers.program.verdict import Holds, Incomplete, Refuted, Trace, Unknown, Verdict
from kraftcheck.solvers.reference.confirm import lasso_trace
from kraftcheck.solvers.smt.queries import Effort, Questions, new_solver
from kraftcheck.solvers.smt.runs.starts import check_described
from kraftcheck.solvers.smt.spacer import cap_text, capped, domain_obligations, leaves_text
from kraftcheck.solvers.smt.theory import Theory
from kraftcheck.solvers.smt.verdicts import ModelAction, run_on_ints, trace_on_ints
from kraftcheck.solvers.smt.z3terms import Z3Reader, conjunction, disjunction, value_of


@frozen
class ActionChoice:
    """One action in one step of an unrolling: the literal that takes it, and its argument symbols."""

    action: str
    literal: Any
    arguments: tuple[Any, ...]
    names: tuple[Term, ...]


class Unrolling:
    """States s0 .. sn with a step between each two, in one solver.

    Attributes:
        length: steps so far.
        solver: holds the domains of all states and the steps between them.
        after: terms that stand for the state after a step.
        states: the symbols of each state.
        readers: reads terms of each state.
    """

    _assertions: list[Any]

    def __init__(self, subject: Theory, effort: Effort, initial: bool) -> None:
        self.subject, self.length = subject, 0
        program, graph = subject.program, subject.program.graph
        self.after = tuple(
            graph.truth_variable(f"{s.path}'") if t.is_truth else graph.variable(f"{s.path}'", s.domain.lo, s.domain.hi)
            for t, s in zip(program.state, program.layout.slots, strict=True)
        )
        premises = Questions(subject).premises(program.kinds[0].action.name, ())
        self._new = functools.partial(new_solver, premises, effort, z3.main_ctx())
        self.solver, self._assertions = self._new(), []
        self.readers: list[Z3Reader] = []
        self.states: list[tuple[Any, ...]] = []
        self._choices: list[list[ActionChoice]] = []
        self._begin()
        if initial:
            self.hold(*map(self.readers[0].expression, program.initially.values()))
            if not program.initially:
                self.hold(disjunction([self._is(state) for state in program.initial]))

    def hold(self, *truths: Any) -> None:
        """Let truths hold of every run."""
        self._assertions += truths
        self.solver.add(*truths)

    def _begin(self) -> None:
        """Symbols for one more state, within their domains."""
        reader, depth = Z3Reader(), len(self.states)
        program = self.subject.program
        symbols = tuple(
            reader.variable(term, f"{slot.path}@{depth}")
            for term, slot in zip(program.state, program.layout.slots, strict=True)
        )
        for term, slot, symbol in zip(program.state, program.layout.slots, symbols, strict=True):
            reader.bind(term, symbol)
            self.hold(reader.within(term, slot.domain.lo, slot.domain.hi))
        self.readers.append(reader)
        self.states.append(symbols)

    def _is(self, state: Sequence[int]) -> Any:
        terms = self.subject.program.state
        reader = self.readers[0]
        return conjunction([s == reader.constant(t, v) for s, t, v in zip(self.states[0], terms, state, strict=True)])

    def extend(self) -> None:
        """One more step, of any action."""
        reader, depth = self.readers[-1], self.length
        self._begin()
        for term, symbol in zip(self.after, self.states[-1], strict=True):
            reader.bind(term, symbol)
        choices = []
        for kind in self.subject.program.kinds:
            literal = z3.Bool(f"take {kind.action.name}@{depth}")
            symbols, parts = self._instance(kind, reader, depth)
            graph = self.subject.program.graph
            equal = [graph.lift(graph.apply("eq", a, b)) for a, b in zip(self.after, kind.after, strict=True)]
            self.hold(z3.Implies(literal, conjunction([*parts, *map(reader.expression, equal)])))
            choices.append(ActionChoice(kind.action.name, literal, symbols, kind.variables))
        literals = [choice.literal for choice in choices]
        self.hold(disjunction(literals), z3.AtMost(*literals, 1))
        self._choices.append(choices)
        self.length += 1

    @staticmethod
    def _instance(kind: Kind, reader: Z3Reader, depth: int) -> tuple[tuple[Any, ...], list[Any]]:
        """Symbols for the arguments of an action at a depth, and what makes it an enabled instance."""
        symbols = tuple(reader.variable(v, f"{v.graph.variables[v.value]}@{depth}") for v in kind.variables)
        for variable, symbol in zip(kind.variables, symbols, strict=True):
            reader.bind(variable, symbol)
        parts = [reader.within(v, v.lo, v.hi) for v in kind.variables]
        return symbols, parts + [reader.expression(t) for t in (*kind.allowed.values(), *kind.guard.values())]

    def faults(self) -> list[str]:
        """The fields that a step from the last state may take out of their domain, no cap declared; no run has it."""
        reader, leaving = self.readers[-1], dict[str, list[Any]]()
        for kind in self.subject.program.kinds:
            stays = domain_obligations(self.subject.program, kind)
            _, parts = self._instance(kind, reader, self.length) if stays else ((), [])
            for path, term in stays.items():
                leaving.setdefault(path, []).append(conjunction([*parts, z3.Not(reader.expression(term))]))
        if not self._possible(disjunction([exit_ for exits in leaving.values() for exit_ in exits])):
            return []
        return [path for path, exits in leaving.items() if self._possible(disjunction(exits))]

    def _possible(self, truth: Any) -> bool:
        """Whether a truth can hold of a run, as far as Z3 can tell."""
        self.solver.push()
        self.solver.add(truth)
        result = self.solver.check()
        self._pop(result)
        return bool(result != z3.unsat)

    def _pop(self, result: Any) -> None:
        """Drop the last query; a solver that was cut while it read its assertions is replaced."""
        self.solver.pop()
        if result == z3.unknown:
            self.solver = self._new()
            self.solver.add(*self._assertions)

    def assume(self, claims: Sequence[str]) -> None:
        """Let claims hold of the last state and step."""
        self.hold(conjunction([self.truth(claim, self.length) for claim in claims]))

    def truth(self, claim: str, depth: int) -> Any:
        """The truth of a claim: of the state at a depth, or of the step that leads to it."""
        if self.subject.claim(claim).kind == "always":
            return self.readers[depth].expression(self.subject.state_truths()[claim])
        if depth == 0:
            return self.readers[depth].expression(self.subject.start_truth(claim))
        program, reader = self.subject.program, self.readers[depth - 1]
        return conjunction([
            z3.Implies(choice.literal, reader.expression(self.subject.step_truth(kind, claim)))
            for kind, choice in zip(program.kinds, self._choices[depth - 1], strict=True)
        ])  # fmt: skip

    def broken(self, claim: str) -> Trace | str | None:
        """A run whose last state or step breaks a claim, on ints; None when there is none; why, if Z3 gave up."""
        return self.satisfying([z3.Not(self.truth(claim, self.length))], lambda model: self._trace(claim, model))

    def satisfying(self, truths: Sequence[Any], read: Callable[[z3.ModelRef], Trace]) -> Trace | str | None:
        """A run that satisfies truths, as it is read from a model; None when there is none; why, if Z3 gave up."""
        self.solver.push()
        self.solver.add(*truths)
        answer = self.solver.check()
        result: Trace | str | None = read(self.solver.model()) if answer == z3.sat else None
        if answer == z3.unknown:
            result = str(self.solver.reason_unknown())
        self._pop(answer)
        return result

    def run(self, model: z3.ModelRef) -> tuple[list[int], list[ModelAction]]:
        """The leaves of the state that a model begins in, and its actions."""
        first = [value_of(model, t, s) for t, s in zip(self.subject.program.state, self.states[0], strict=True)]
        return first, [next(self._actions_of(model, choices)) for choices in self._choices]

    def _trace(self, claim: str, model: z3.ModelRef) -> Trace:
        return trace_on_ints(self.subject, self.subject.claim(claim), *self.run(model))

    @staticmethod
    def _actions_of(model: z3.ModelRef, choices: Sequence[ActionChoice]) -> Iterator[ModelAction]:
        for choice in choices:
            if z3.is_true(model.eval(choice.literal, model_completion=True)):
                pairs = zip(choice.names, choice.arguments, strict=True)
                yield ModelAction(choice.action, tuple(value_of(model, term, symbol) for term, symbol in pairs))


@frozen
class FairTruths:
    """A fairness constraint in Z3."""

    enabled: Any  # truth of the state `now`: a step of it can be taken there, and it is not excused
    taken: Any  # truth of the states `now` and `after`: what leads from one to the other is a step of it


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


DepthReport = Callable[[int, int], None]  # told the depth reached, and the depth wanted


@define
class BoundedSearch:
    """The progress of bounded model checking."""

    claims: tuple[str, ...]  # all of them
    verdicts: dict[str, Verdict]  # by claim; claims without one are still looked for
    depth: int = -1  # length of the runs that were checked; -1: none
    fault: str | None = None  # why runs beyond a certain length were not all checked; None where all were

    def open(self) -> list[str]:
        """Claims without a verdict."""
        return [claim for claim in self.claims if claim not in self.verdicts]

    def judge(self, unrolling: Unrolling, lassos: Lassos, with_steps: bool) -> None:
        """Look for a claim that the last state or step breaks, or a lasso that ends in the last state."""
        for name in self.open():
            kind = unrolling.subject.claim(name).kind
            if kind == "step" and not with_steps and name not in unrolling.subject.program.starts:
                continue
            broken = lassos.broken(name) if kind in LIVENESS else unrolling.broken(name)
            if isinstance(broken, Trace):
                self.verdicts[name] = Refuted(broken)
            elif broken is not None:
                self.verdicts[name] = Unknown(f"no answer at depth {unrolling.length}: {broken}")


def check_bounded(
    subject: Theory, claims: Sequence[str], depth: int, effort: Effort, stop: threading.Event,
    report: DepthReport = lambda now, last: None,
) -> dict[str, Verdict]:  # fmt: skip
    """Bounded model checking: runs of at most `depth` steps from the initial states.

    A counterexample is a shortest one; to liveness it is a lasso, of at most so many steps with its cycle.
    Claims without one are Incomplete: nothing holds.

    Args:
        subject, claims: what to look for.
        depth, effort: most steps, and the limits of each query.
        stop: once set, no further query is made.
        report: called with the depth that is reached, and the depth that is wanted.
    """
    search = _search(subject, claims, depth, effort, stop, report)
    cut = f"{stop_reason(stop)}; " if stop.is_set() else ""
    incomplete = Incomplete(cut + (search.fault or f"no counterexample of at most {search.depth} steps"))
    return {claim: search.verdicts.get(claim, incomplete) for claim in claims}


def _search(
    subject: Theory, claims: Sequence[str], depth: int, effort: Effort, stop: threading.Event, report: DepthReport
) -> BoundedSearch:
    """Runs of at most `depth` steps, and the first step of them that leaves a domain and should not."""
    check_described(subject, effort)
    unrolling, search = Unrolling(subject, effort, initial=True), BoundedSearch(tuple(claims), {})
    lassos = Lassos(unrolling)
    for length in range(depth + 1):
        if stop.is_set() or not search.open():
            break
        if length:
            faults = unrolling.faults() if search.fault is None else []
            if faults:
                where = leaves_text(faults, f"in step {length}")
                search.fault = f"no counterexample of at most {length - 1} steps; {where}"
            unrolling.extend()
        report(length, depth)
        search.judge(unrolling, lassos, with_steps=length > 0)
        search.depth = length
    return search


def check_inductive(
    subject: Theory, claims: Sequence[str], k: int, effort: Effort, stop: threading.Event
) -> dict[str, Verdict]:
    """k-induction: claims that hold for k steps from the initial states, and after any k steps in which they held.

    Claims are assumed together; those that fail are dropped, and the rest is tried again.

    Args:
        subject, claims, effort, stop: as in `check_bounded`.
        k: length of the runs, from 1.
    """
    base = _search(subject, claims, k, effort, stop, lambda now, last: None)
    verdicts, open_claims = base.verdicts, base.open()
    if base.fault is not None:
        return {claim: verdicts.get(claim, Incomplete(base.fault)) for claim in claims}
    holds = Holds("; ".join([f"any number of steps, by {k}-induction", *map(cap_text, capped(subject.program))]))
    while open_claims and not stop.is_set():
        unrolling, faults = _unroll_assuming(subject, open_claims, k, effort)
        failed = {claim: broken for claim in open_claims if (broken := unrolling.broken(claim)) is not None}
        if not failed and faults:
            where = f"in step {k} from some state"
            unknown = Unknown(f"not {k}-inductive: {leaves_text(faults, where)}")
            return {claim: verdicts.get(claim, unknown) for claim in claims}
        if not failed:
            return {claim: verdicts.get(claim, holds) for claim in claims}
        breaks = f"a run of {k} steps from some state breaks it"
        for claim, broken in failed.items():
            verdicts[claim] = Unknown(f"not {k}-inductive: {broken if isinstance(broken, str) else breaks}")
        open_claims = [claim for claim in open_claims if claim not in failed]
    return {claim: verdicts.get(claim, Incomplete(stop_reason(stop))) for claim in claims}


def _unroll_assuming(subject: Theory, claims: Sequence[str], k: int, effort: Effort) -> tuple[Unrolling, list[str]]:
    """k steps from any state, the claims true of all but the last state and step; what that step may take out."""
    unrolling, faults = Unrolling(subject, effort, initial=False), list[str]()
    for depth in range(k):
        # of the first state nothing but invariants can be assumed: no step leads to it
        unrolling.assume([claim for claim in claims if depth or subject.claim(claim).kind == "always"])
        faults = unrolling.faults() if depth == k - 1 else []
        unrolling.extend()
    return unrolling, faults
