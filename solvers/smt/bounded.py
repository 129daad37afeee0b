"""Bounded model checking and k-induction: runs of a bounded number of steps, unrolled in Z3.

Biere et al., "Symbolic Model Checking without BDDs" (1999);
Sheeran et al., "Checking Safety Properties Using Induction and a SAT-Solver" (2000).
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import z3
from attrs import define, frozen

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.program.program import Kind
from kraftcheck.solvers.program.stop import stop_reason
from kraftcheck.solvers.program.verdict import Holds, Incomplete, Refuted, Trace, Unknown, Verdict
from kraftcheck.solvers.smt.bounds import capped_texts, domain_obligations, leaves_text
from kraftcheck.solvers.smt.countermodels import ModelAction, trace_on_ints
from kraftcheck.solvers.smt.queries import Effort, Questions, new_solver
from kraftcheck.solvers.smt.theory import Theory
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
    """

    _assertions: list[Any]

    def __init__(self, subject: Theory, effort: Effort, initial: bool) -> None:
        self.subject, self.length = subject, 0
        program, graph = subject.program, subject.program.graph
        self._after = tuple(
            graph.truth_variable(f"{s.path}'") if t.is_truth else graph.variable(f"{s.path}'", s.domain.lo, s.domain.hi)
            for t, s in zip(program.state, program.layout.slots, strict=True)
        )
        premises = Questions(subject).premises(program.kinds[0].action.name, ())
        self._new = functools.partial(new_solver, premises, effort, z3.main_ctx())
        self.solver, self._assertions = self._new(), []
        self._readers: list[Z3Reader] = []
        self._states: list[tuple[Any, ...]] = []
        self._choices: list[list[ActionChoice]] = []
        self._begin()
        if initial:
            self.hold(disjunction([self._is(state) for state in program.initial]))

    def hold(self, *truths: Any) -> None:
        """Let truths hold of every run."""
        self._assertions += truths
        self.solver.add(*truths)

    def _begin(self) -> None:
        """Symbols for one more state, within their domains."""
        reader, depth = Z3Reader(), len(self._states)
        program = self.subject.program
        symbols = tuple(
            reader.variable(term, f"{slot.path}@{depth}")
            for term, slot in zip(program.state, program.layout.slots, strict=True)
        )
        for term, slot, symbol in zip(program.state, program.layout.slots, symbols, strict=True):
            reader.bind(term, symbol)
            self.hold(reader.within(term, slot.domain.lo, slot.domain.hi))
        self._readers.append(reader)
        self._states.append(symbols)

    def _is(self, state: Sequence[int]) -> Any:
        terms = self.subject.program.state
        reader = self._readers[0]
        return conjunction([s == reader.constant(t, v) for s, t, v in zip(self._states[0], terms, state, strict=True)])

    def extend(self) -> None:
        """One more step, of any action."""
        reader, depth = self._readers[-1], self.length
        self._begin()
        for term, symbol in zip(self._after, self._states[-1], strict=True):
            reader.bind(term, symbol)
        choices = []
        for kind in self.subject.program.kinds:
            literal = z3.Bool(f"{kind.action.name}@{depth}")
            symbols, parts = self._instance(kind, reader, depth)
            graph = self.subject.program.graph
            equal = [graph.lift(graph.apply("eq", a, b)) for a, b in zip(self._after, kind.after, strict=True)]
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
        reader, leaving = self._readers[-1], dict[str, list[Any]]()
        for kind in self.subject.program.kinds:
            stays = domain_obligations(self.subject.program, kind)
            _, parts = self._instance(kind, reader, self.length) if stays else ((), [])
            for path, term in stays.items():
                leaving.setdefault(path, []).append(conjunction([*parts, z3.Not(reader.expression(term))]))
        if not leaving or not self._possible(disjunction([exit_ for exits in leaving.values() for exit_ in exits])):
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
            return self._readers[depth].expression(self.subject.state_truths()[claim])
        program, reader = self.subject.program, self._readers[depth - 1]
        return conjunction([
            z3.Implies(choice.literal, reader.expression(self.subject.step_truth(kind, claim)))
            for kind, choice in zip(program.kinds, self._choices[depth - 1], strict=True)
        ])  # fmt: skip

    def broken(self, claim: str) -> Trace | str | None:
        """A run whose last state or step breaks a claim, on ints; None when there is none; why, if Z3 gave up."""
        self.solver.push()
        self.solver.add(z3.Not(self.truth(claim, self.length)))
        answer = self.solver.check()
        result: Trace | str | None = self._run(claim) if answer == z3.sat else None
        if answer == z3.unknown:
            result = str(self.solver.reason_unknown())
        self._pop(answer)
        return result

    def _run(self, claim: str) -> Trace:
        model = self.solver.model()
        first = [value_of(model, t, s) for t, s in zip(self.subject.program.state, self._states[0], strict=True)]
        actions = [next(self._actions_of(model, choices)) for choices in self._choices]
        return trace_on_ints(self.subject, self.subject.claim(claim), first, actions)

    @staticmethod
    def _actions_of(model: z3.ModelRef, choices: Sequence[ActionChoice]) -> Iterator[ModelAction]:
        for choice in choices:
            if z3.is_true(model.eval(choice.literal, model_completion=True)):
                pairs = zip(choice.names, choice.arguments, strict=True)
                yield ModelAction(choice.action, tuple(value_of(model, term, symbol) for term, symbol in pairs))


DepthReport = Callable[[int, int], None]
"""Told the depth reached, and the depth wanted."""


@define
class BoundedSearch:
    """The progress of bounded model checking.

    Attributes:
        verdicts: by claim; claims without one are still looked for.
        claims: all of them.
        depth: length of the runs that were checked; -1: none.
        fault: why runs beyond a certain length were not all checked; None where all were.
    """

    claims: tuple[str, ...]
    verdicts: dict[str, Verdict]
    depth: int = -1
    fault: str | None = None

    def open(self) -> list[str]:
        """Claims without a verdict."""
        return [claim for claim in self.claims if claim not in self.verdicts]

    def judge(self, unrolling: Unrolling, with_steps: bool) -> None:
        """Look for a claim that the last state or step breaks."""
        for name in self.open():
            if unrolling.subject.claim(name).kind == "step" and not with_steps:
                continue
            broken = unrolling.broken(name)
            if isinstance(broken, Trace):
                self.verdicts[name] = Refuted(broken)
            elif broken is not None:
                self.verdicts[name] = Unknown(f"no answer at depth {unrolling.length}: {broken}")


def check_bounded(
    subject: Theory, claims: Sequence[str], depth: int, effort: Effort, stop: threading.Event,
    report: DepthReport = lambda now, last: None,
) -> dict[str, Verdict]:  # fmt: skip
    """Bounded model checking: runs of at most `depth` steps from the initial states.

    A counterexample is a shortest one. Claims without one are Incomplete.

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
    unrolling, search = Unrolling(subject, effort, initial=True), BoundedSearch(tuple(claims), {})
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
        search.judge(unrolling, with_steps=length > 0)
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
    holds = Holds("; ".join([f"any number of steps, by {k}-induction", *capped_texts(subject.program)]))
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
