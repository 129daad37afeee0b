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
from solvers.z3reader import Reader, conjunction, disjunction, is_number

INITIATION = "initially"
"""Stands for the action in obligations about initial states."""

SOLVERS = ("z3", "bitwuzla")
"""What may answer queries; bitwuzla is a Python package of its own, and knows bit-vectors only."""

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
        minimise: whether unsat cores are made small; Z3 only.
        solver: which solver answers, of SOLVERS.
    """

    timeout: float = 60.0
    seed: int = 0
    minimise: bool = False
    solver: str = "z3"

    def milliseconds(self) -> int:
        """The timeout as solvers take it."""
        return max(1, int(self.timeout * 1000))


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


def new_solver(given: Premises, effort: Effort, context: z3.Context) -> Any:
    """A solver: propositional for bit-vectors, general where words have no bound."""
    solver = z3.Solver(ctx=context) if given.numbers() else z3.SolverFor("QF_FD", ctx=context)
    solver.set("timeout", effort.milliseconds())
    solver.set("random_seed", effort.seed)
    if effort.minimise:
        solver.set("core.minimize", True)
    return solver
