"""Runs unrolled in Z3: a state for each step, and a step of any action between each two."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import z3
from attrs import frozen

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.program.program import Kind
from kraftcheck.solvers.program.verdict import Trace
from kraftcheck.solvers.smt.queries import Effort, Questions, new_solver
from kraftcheck.solvers.smt.spacer import domain_obligations
from kraftcheck.solvers.smt.theory import Theory
from kraftcheck.solvers.smt.verdicts import ModelAction, trace_on_ints
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
