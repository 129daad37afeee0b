"""Proof obligations as Z3 queries: premises by name, and the negation of what is to be shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import z3
from attrs import frozen

from model.layout import Counter
from model.terms import Term
from solvers.program import Kind
from solvers.theory import Theory
from solvers.z3reader import Reader, conjunction, disjunction, is_number, value_of

INITIATION = "initially"
"""Stands for the action in obligations about initial states."""

PROVEN, REFUTED, UNDECIDED = "proven", "not inductive", "unknown"


@frozen
class Obligation:
    """One thing to show: a claim initially, after an action, or (step properties) of it.

    Attributes:
        claim: id of the property or lemma.
        action: name of the action, or INITIATION.
    """

    claim: str
    action: str


@frozen
class Assignment:
    """Values of a countermodel.

    Attributes:
        state: leaves of the state before the action, or of the initial state.
        arguments: leaves of the action's arguments.
    """

    state: tuple[int, ...]
    arguments: tuple[int, ...] = ()


@frozen
class Answer:
    """What the solver said to an obligation.

    Attributes:
        obligation: what was asked.
        result: PROVEN, REFUTED or UNDECIDED.
        seconds: time of the query.
        used: premises of the proof as `group: name`; empty unless proven.
        counterexample: a countermodel; None unless refuted.
        reason: why it is undecided.
        fields: for domains, the fields that may leave theirs.
    """

    obligation: Obligation
    result: str
    seconds: float
    used: tuple[str, ...] = ()
    counterexample: Assignment | None = None
    reason: str = ""
    fields: tuple[str, ...] = ()


@frozen
class Effort:
    """How the solver is to work.

    Attributes:
        timeout: seconds for each query.
        seed: of every random choice.
        minimise: whether unsat cores are made small.
    """

    timeout: float = 60.0
    seed: int = 0
    minimise: bool = False


@frozen
class Premises:
    """What may be assumed, read into Z3.

    Attributes:
        truths: by `group: name`.
        symbols: the symbols of state and arguments.
        names: the terms behind them, state first.
        width: how many of them are the state's.
    """

    truths: Mapping[str, Any]
    symbols: tuple[Any, ...]
    names: tuple[Term, ...]
    width: int

    def numbers(self) -> bool:
        """Whether an unbounded word takes part, so that bit-vectors do not suffice."""
        return any(is_number(term) for term in self.names)


class Questions:
    """Reads the obligations of one theory into Z3, each term once."""

    def __init__(self, subject: Theory) -> None:
        self.subject = subject
        self._read = Reader()
        self._kinds = {kind.action.name: kind for kind in subject.program.kinds}

    def premises(self, action: str, assumed: Sequence[str], within: bool = True) -> Premises:
        """What may be assumed of a state, the step of an action, and (`within`) that the step stays in the layout.

        Args:
            action: its name; INITIATION for initial states.
            assumed: invariants that may be assumed before a step.
            within: False where it is to be shown that no field leaves its domain.
        """
        if action == INITIATION:
            return self._initially()
        kind, read, program = self._kinds[action], self._read, self.subject.program
        truths, now = self.domains(), self.subject.now()
        truths |= {f"invariant: {name}": read.expression(now[name]) for name in assumed}
        truths |= {f"argument: {v.graph.variables[v.value]}": read.within(v, v.lo, v.hi) for v in kind.variables}
        truths |= {f"argument: {name}": read.expression(term) for name, term in kind.allowed.items()}
        guards = {name: term for name, term in kind.guard.items() if term is not term.graph.constant(True)}
        truths |= {f"guard: {name}": read.expression(term) for name, term in guards.items()}
        truths |= self.bounds(kind) if within else {}
        names = (*program.state, *kind.variables)
        return Premises(truths, tuple(map(read.expression, names)), names, len(program.state))

    def goal(self, asked: Obligation) -> Any:
        """What is to be shown."""
        if asked.action == INITIATION:
            return self._read.expression(self.subject.now()[asked.claim])
        kind = self._kinds[asked.action]
        if asked.claim in DOMAINS:
            return conjunction(self.bounds(kind).values())
        return self._read.expression(self.subject.then(kind, asked.claim))

    def _initially(self) -> Premises:
        program, read = self.subject.program, self._read
        symbols = tuple(map(read.expression, program.state))
        starts = [
            conjunction([s == read.constant(t, v) for s, t, v in zip(symbols, program.state, state, strict=True)])
            for state in program.initial
        ]
        return Premises({"initial: state": disjunction(starts)}, symbols, program.state, len(symbols))

    def domains(self) -> dict[str, Any]:
        """Every field of the state is in its domain: the type of states."""
        program = self.subject.program
        return {
            f"domain: {slot.path}": self._read.within(term, slot.domain.lo, slot.domain.hi)
            for term, slot in zip(program.state, program.layout.slots, strict=True)
        }

    def bounds_of(self, action: str) -> dict[str, Any]:
        """As `bounds`, of an action by its name."""
        return self.bounds(self._kinds[action])

    def bounds(self, kind: Kind) -> dict[str, Any]:
        """Fields that the action might take out of their domain stay there; such a step is not taken."""
        slots = self.subject.program.layout.slots
        return {
            f"bound: {slots[i].path}": self._inside(kind.after[i], slots[i].domain.lo, slots[i].domain.hi)
            for i in kind.unchecked
            if not isinstance(slots[i].domain, Counter)
        }

    def _inside(self, term: Term, lo: int, hi: int) -> Any:
        graph = term.graph
        parts = [graph.negate(graph.apply("lt", term, graph.constant(lo)))]
        parts.append(graph.negate(graph.apply("lt", graph.constant(hi), term)))
        return conjunction([self._read.expression(graph.lift(part)) for part in parts])


DOMAINS = ("domains",)
"""Id of the built-in claim that no field leaves its domain."""

Clock = Callable[[], float]


class Session:
    """One solver for several obligations that share their premises.

    It has a Z3 context of its own, so that what was asked elsewhere does not
    weigh on it.
    """

    def __init__(self, questions: Questions, given: Premises, effort: Effort, clock: Clock) -> None:
        self._questions, self._given, self._clock = questions, given, clock
        self._context = z3.Context()
        truths = z3.And(z3.BoolVal(True), *given.truths.values()).translate(self._context).children()[1:]
        self._solver = new_solver(given, effort, self._context)
        self._tracked = {f"p{number}": name for number, name in enumerate(given.truths)}
        self._literals = [z3.Bool(mark, self._context) for mark in self._tracked]
        for literal, premise in zip(self._literals, truths, strict=True):
            self._solver.add(z3.Implies(literal, premise))

    def ask(self, asked: Obligation) -> Answer:
        """Z3's answer to an obligation."""
        begun, goal = self._clock(), self._questions.goal(asked)
        same = [name for name, premise in self._given.truths.items() if premise.eq(goal)]
        if same or z3.is_true(goal):
            return Answer(asked, PROVEN, self._clock() - begun, tuple(same))
        self._solver.push()
        self._solver.add(z3.Not(goal.translate(self._context)))
        answer = self._checked(asked, begun)
        self._solver.pop()
        return answer

    def leaving(self, action: str) -> list[str]:
        """The fields that a step of an action is not shown to leave within their domain."""
        paths = []
        for name, inside in self._questions.bounds_of(action).items():
            self._solver.push()
            self._solver.add(z3.Not(inside.translate(self._context)))
            if self._solver.check(*self._literals) != z3.unsat:
                paths.append(name.removeprefix("bound: "))
            self._solver.pop()
        return paths

    def _checked(self, asked: Obligation, begun: float) -> Answer:
        found = self._solver.check(*self._literals)
        if found == z3.unsat:
            used = tuple(sorted(self._tracked[str(mark)] for mark in self._solver.unsat_core()))
            return Answer(asked, PROVEN, self._clock() - begun, used)
        if found == z3.sat:
            return Answer(asked, REFUTED, self._clock() - begun, counterexample=self._assignment())
        return Answer(asked, UNDECIDED, self._clock() - begun, reason=self._solver.reason_unknown())

    def _assignment(self) -> Assignment:
        model, given = self._solver.model(), self._given
        symbols = [symbol.translate(self._context) for symbol in given.symbols]
        values = [value_of(model, term, symbol) for term, symbol in zip(given.names, symbols, strict=True)]
        return Assignment(tuple(values[: given.width]), tuple(values[given.width :]))


def new_solver(given: Premises, effort: Effort, context: z3.Context) -> Any:
    """A solver: propositional for bit-vectors, general where words have no bound."""
    solver = z3.Solver(ctx=context) if given.numbers() else z3.SolverFor("QF_FD", ctx=context)
    solver.set("timeout", max(1, int(effort.timeout * 1000)))
    solver.set("random_seed", effort.seed)
    if effort.minimise:
        solver.set("core.minimize", True)
    return solver
