"""Runs of a bounded number of steps in Z3: bounded model checking and k-induction.

Biere et al., "Symbolic Model Checking without BDDs" (1999); Sheeran et al.,
"Checking Safety Properties Using Induction and a SAT-Solver" (2000).
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
from kraftcheck.solvers.program.verdict import Holds, Incomplete, Refuted, Trace, Unknown, Verdict
from kraftcheck.solvers.smt.bounds import faultless, leaves_text, left_out
from kraftcheck.solvers.smt.countermodels import Taken, trace_on_ints
from kraftcheck.solvers.smt.queries import Effort, Questions, new_solver
from kraftcheck.solvers.smt.theory import Theory
from kraftcheck.solvers.smt.z3terms import Reader, conjunction, disjunction, value_of


@frozen
class Choice:
    """One action in one step of an unrolling: the literal that takes it, and its argument symbols."""

    action: str
    taken: Any
    arguments: tuple[Any, ...]
    names: tuple[Term, ...]


class Unrolling:
    """States s0 .. sn with a step between each two, in one solver.

    Attributes:
        length: steps so far.
        solver: holds the domains of all states and the steps between them.
    """

    _held: list[Any]

    def __init__(self, subject: Theory, effort: Effort, initial: bool) -> None:
        self.subject, self.length = subject, 0
        program, graph = subject.program, subject.program.graph
        self._after = tuple(
            graph.truth_variable(f"{s.path}'") if t.is_truth else graph.variable(f"{s.path}'", s.domain.lo, s.domain.hi)
            for t, s in zip(program.state, program.layout.slots, strict=True)
        )
        given = Questions(subject).premises(program.kinds[0].action.name, ())
        self._new = functools.partial(new_solver, given, effort, z3.main_ctx())
        self.solver, self._held = self._new(), []
        self._readers: list[Reader] = []
        self._states: list[tuple[Any, ...]] = []
        self._choices: list[list[Choice]] = []
        self._begin()
        if initial:
            self.hold(disjunction([self._is(state) for state in program.initial]))

    def hold(self, *truths: Any) -> None:
        """Let truths hold of every run."""
        self._held += truths
        self.solver.add(*truths)

    def _begin(self) -> None:
        """Symbols for one more state, within their domains."""
        reader, depth = Reader(), len(self._states)
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
            taken = z3.Bool(f"{kind.action.name}@{depth}")
            symbols, parts = self._instance(kind, reader, depth)
            graph = self.subject.program.graph
            equal = [graph.lift(graph.apply("eq", a, b)) for a, b in zip(self._after, kind.after, strict=True)]
            self.hold(z3.Implies(taken, conjunction([*parts, *map(reader.expression, equal)])))
            choices.append(Choice(kind.action.name, taken, symbols, kind.variables))
        literals = [choice.taken for choice in choices]
        self.hold(disjunction(literals), z3.AtMost(*literals, 1))
        self._choices.append(choices)
        self.length += 1

    @staticmethod
    def _instance(kind: Kind, reader: Reader, depth: int) -> tuple[tuple[Any, ...], list[Any]]:
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
            kept = faultless(self.subject.program, kind)
            _, parts = self._instance(kind, reader, self.length) if kept else ((), [])
            for path, term in kept.items():
                leaving.setdefault(path, []).append(conjunction([*parts, z3.Not(reader.expression(term))]))
        if not leaving or not self._may(disjunction([one for ways in leaving.values() for one in ways])):
            return []
        return [path for path, ways in leaving.items() if self._may(disjunction(ways))]

    def _may(self, truth: Any) -> bool:
        """Whether a truth can hold of a run, as far as Z3 can tell."""
        self.solver.push()
        self.solver.add(truth)
        found = self.solver.check()
        self._pop(found)
        return bool(found != z3.unsat)

    def _pop(self, found: Any) -> None:
        """Forget what was asked; a solver that was cut while it read its assertions may have lost some of them."""
        self.solver.pop()
        if found == z3.unknown:
            self.solver = self._new()
            self.solver.add(*self._held)

    def assume(self, claims: Sequence[str]) -> None:
        """Let claims hold of the last state and step."""
        self.hold(conjunction([self.truth(claim, self.length) for claim in claims]))

    def truth(self, claim: str, depth: int) -> Any:
        """The truth of a claim: of the state at a depth, or of the step that leads to it."""
        if self.subject.claim(claim).kind == "always":
            return self._readers[depth].expression(self.subject.now()[claim])
        program, reader = self.subject.program, self._readers[depth - 1]
        return conjunction([
            z3.Implies(choice.taken, reader.expression(self.subject.then(kind, claim)))
            for kind, choice in zip(program.kinds, self._choices[depth - 1], strict=True)
        ])  # fmt: skip

    def broken(self, claim: str) -> Trace | str | None:
        """A run whose last state or step breaks a claim, on ints; None when there is none; why, if Z3 gave up."""
        self.solver.push()
        self.solver.add(z3.Not(self.truth(claim, self.length)))
        found = self.solver.check()
        result: Trace | str | None = self._run(claim) if found == z3.sat else None
        if found == z3.unknown:
            result = str(self.solver.reason_unknown())
        self._pop(found)
        return result

    def _run(self, claim: str) -> Trace:
        model = self.solver.model()
        first = [value_of(model, t, s) for t, s in zip(self.subject.program.state, self._states[0], strict=True)]
        taken = [next(self._taken(model, choices)) for choices in self._choices]
        return trace_on_ints(self.subject, self.subject.claim(claim), first, taken)

    @staticmethod
    def _taken(model: z3.ModelRef, choices: Sequence[Choice]) -> Iterator[Taken]:
        for choice in choices:
            if z3.is_true(model.eval(choice.taken, model_completion=True)):
                pairs = zip(choice.names, choice.arguments, strict=True)
                yield Taken(choice.action, tuple(value_of(model, term, symbol) for term, symbol in pairs))


Told = Callable[[int, int], None]
"""Told the depth reached, and the depth wanted."""


@define
class Search:
    """What bounded model checking has found so far.

    Attributes:
        verdicts: by claim; claims without one are still looked for.
        claims: all of them.
        reached: length of the runs that were looked at; -1: none.
        fault: why longer runs than a certain length were not all looked at; None where all were.
    """

    claims: tuple[str, ...]
    verdicts: dict[str, Verdict]
    reached: int = -1
    fault: str | None = None

    def open(self) -> list[str]:
        """Claims without a verdict."""
        return [claim for claim in self.claims if claim not in self.verdicts]

    def judge(self, unrolled: Unrolling, steps_too: bool) -> None:
        """Look for a claim that the last state or step breaks."""
        for name in self.open():
            if unrolled.subject.claim(name).kind == "step" and not steps_too:
                continue
            found = unrolled.broken(name)
            if isinstance(found, Trace):
                self.verdicts[name] = Refuted(found)
            elif found is not None:
                self.verdicts[name] = Unknown(f"no answer at depth {unrolled.length}: {found}")


def check_bounded(
    subject: Theory, claims: Sequence[str], depth: int, effort: Effort, stop: threading.Event,
    told: Told = lambda now, last: None,
) -> dict[str, Verdict]:  # fmt: skip
    """Bounded model checking: runs of at most `depth` steps from the initial states.

    A counterexample is a shortest one. Claims without one are Incomplete.

    Args:
        subject, claims: what to look for.
        depth: most steps.
        effort: limits of each query.
        stop: once set, nothing more is asked.
        told: told how far it is.
    """
    search = _searched(subject, claims, depth, effort, stop, told)
    cut = Incomplete(search.fault or f"no counterexample of at most {search.reached} steps")
    return {claim: search.verdicts.get(claim, cut) for claim in claims}


def _searched(
    subject: Theory, claims: Sequence[str], depth: int, effort: Effort, stop: threading.Event, told: Told
) -> Search:
    """Runs of at most `depth` steps, and the first step of them that leaves a domain and should not."""
    unrolled, search = Unrolling(subject, effort, initial=True), Search(tuple(claims), {})
    for now in range(depth + 1):
        if stop.is_set() or not search.open():
            break
        if now:
            faults = unrolled.faults() if search.fault is None else []
            if faults:
                search.fault = f"no counterexample of at most {now - 1} steps; {leaves_text(faults, f'in step {now}')}"
            unrolled.extend()
        told(now, depth)
        search.judge(unrolled, steps_too=now > 0)
        search.reached = now
    return search


def check_inductive(
    subject: Theory, claims: Sequence[str], k: int, effort: Effort, stop: threading.Event
) -> dict[str, Verdict]:
    """k-induction: claims that hold for k steps from the initial states, and after any k steps in which they held.

    Claims are assumed together; those that fail are dropped, and the rest is tried again.

    Args:
        subject, claims: what to prove.
        k: length of the runs, from 1.
        effort, stop: as in `check_bounded`.
    """
    based = _searched(subject, claims, k, effort, stop, lambda now, last: None)
    verdicts, left = based.verdicts, based.open()
    if based.fault is not None:
        return {claim: verdicts.get(claim, Incomplete(based.fault)) for claim in claims}
    held = Holds("; ".join([f"any number of steps, by {k}-induction", *left_out(subject.program)]))
    while left and not stop.is_set():
        unrolled, faults = _held(subject, left, k, effort)
        failed = {claim: found for claim in left if (found := unrolled.broken(claim)) is not None}
        if not failed and faults:
            where = f"in step {k} from some state"
            unshown = Unknown(f"not {k}-inductive: {leaves_text(faults, where)}")
            return {claim: verdicts.get(claim, unshown) for claim in claims}
        if not failed:
            return {claim: verdicts.get(claim, held) for claim in claims}
        for claim, found in failed.items():
            why = found if isinstance(found, str) else f"a run of {k} steps from some state breaks it"
            verdicts[claim] = Unknown(f"not {k}-inductive: {why}")
        left = [claim for claim in left if claim not in failed]
    return {claim: verdicts.get(claim, Incomplete("stopped on request")) for claim in claims}


def _held(subject: Theory, claims: Sequence[str], k: int, effort: Effort) -> tuple[Unrolling, list[str]]:
    """k steps from any state, the claims true of all but the last state and step; what that step may take out."""
    unrolled, faults = Unrolling(subject, effort, initial=False), list[str]()
    for depth in range(k):
        if depth:
            unrolled.assume(claims)
        else:
            unrolled.assume([claim for claim in claims if subject.claim(claim).kind == "always"])
        faults = unrolled.faults() if depth == k - 1 else []
        unrolled.extend()
    return unrolled, faults
