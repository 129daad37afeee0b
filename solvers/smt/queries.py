"""Proof obligations as Z3 queries: named premises, and the goal, of which the solver gets the negation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import z3
from attrs import field, frozen

from kraftcheck.model.language.layout import Anything, Filled, cap_of
from kraftcheck.model.language.sequences import every, word_at
from kraftcheck.model.language.terms import Term
from kraftcheck.model.language.words import choose
from kraftcheck.solvers.program.program import Kind
from kraftcheck.solvers.program.symbols import in_domain
from kraftcheck.solvers.smt.theory import DOMAINS, INITIATION, Theory
from kraftcheck.solvers.smt.z3terms import Z3Reader, conjunction, disjunction, is_number

PREMISE, AFTER = "invariant: ", "invariant after the step: "  # groups of the premises that are invariants
BOUND = "bound: "  # group of the premises that a field stays in its domain

SOLVERS = ("z3", "bitwuzla")
"""What may answer queries; bitwuzla is a Python package of its own, and knows bit-vectors only."""

PROVEN, REFUTED, UNDECIDED = "proven", "not inductive", "unknown"


@frozen
class Obligation:
    """One thing to show: a claim initially, after an action, or (step properties) of it."""

    claim: str  # id of the property or lemma
    action: str  # name of the action, or INITIATION


@frozen
class Countermodel:
    """Values of a countermodel."""

    state: tuple[int, ...]  # leaves of the state before the action, or of the initial state
    arguments: tuple[int, ...] = ()  # leaves of the action's arguments


@frozen
class ObligationAnswer:
    """The answer to an obligation."""

    obligation: Obligation  # the obligation
    result: str  # PROVEN, REFUTED or UNDECIDED
    seconds: float  # time of the query
    # premises of the proof as `group: name`, and of the proofs that the other fields stay; empty if none
    core: tuple[str, ...] = ()
    counterexample: Countermodel | None = None  # a countermodel; None unless refuted
    reason: str = ""  # why it is undecided
    fields: tuple[str, ...] = ()  # for domains, the fields that may leave theirs
    faults: tuple[str, ...] = ()  # those of them that may leave it where no cap is declared


@frozen
class Effort:
    """How the solver is to work."""

    timeout: float = 60.0  # seconds for each query
    seed: int = 0  # of every random choice
    minimise: bool = False  # whether unsat cores are made small; Z3 only
    solver: str = "z3"  # which solver answers, of SOLVERS
    # whether claims about every place may be asked with quantifiers. The text of a query has instances, so that it need
    # not show another solver what only quantifiers prove.
    quantifiers: bool = True
    # how much Z3 may do for each query with quantifiers, in its own units, of which it uses some 5 million in a second;
    # 0: any amount. Unlike seconds they are the same on every machine, and beside other work.
    resources: int = 0

    def milliseconds(self) -> int:
        """The timeout as solvers take it."""
        return max(1, int(self.timeout * 1000))

    def remaining(self, clock: Clock) -> Remaining:
        """The milliseconds that are left at each call, of a query that begins now; 0 or less once its time is up."""
        until = clock() + self.timeout
        return lambda: int(1000 * (until - clock()))


@frozen
class Premises:
    """The premises of obligations, read into Z3."""

    truths: Mapping[str, Any]  # by `group: name`
    symbols: tuple[Any, ...]  # the symbols of state and arguments
    names: tuple[Term, ...]  # the terms behind them, state first
    width: int  # how many of them are the state's
    terms: Mapping[str, Term] = field(factory=dict)  # those of the truths that are terms, by the same names

    def endless(self) -> bool:
        """Whether a sequence takes part: then there are claims about every place of it."""
        return any(term.op == "sequence" for term in self.names)

    def numbers(self) -> bool:
        """Whether an unbounded word takes part, so that bit-vectors do not suffice."""
        return any(is_number(term) for term in self.names)


class Questions:
    """Reads the obligations of one theory into Z3, each term once."""

    def __init__(self, subject: Theory, read: Z3Reader | None = None) -> None:
        self.subject = subject
        self.read = read or Z3Reader()
        self._kinds = {kind.action.name: kind for kind in subject.program.kinds}

    def premises(self, action: str, assumed: Sequence[str], within: bool = True) -> Premises:
        """The premises on a state, on the step of an action, and (`within`) that the step stays in the layout.

        Args:
            action: its name; INITIATION for initial states.
            assumed: invariants that may be assumed before a step.
            within: False where it is to be shown that no field leaves its domain.
        """
        if action == INITIATION:
            return self._initially()
        kind, read, program = self._kinds[action], self.read, self.subject.program
        truths, state_truths = self.domains(), self.subject.state_truths()
        truths |= {f"argument: {v.graph.variables[v.value]}": read.within(v, v.lo, v.hi) for v in kind.variables}
        terms = {PREMISE + name: state_truths[name] for name in assumed}
        terms |= {f"argument: {name}": term for name, term in kind.allowed.items()}
        terms |= {f"guard: {name}": t for name, t in kind.guard.items() if t is not t.graph.constant(True)}
        terms |= self.bounds(kind, there=True) if within else {}
        truths |= {name: read.expression(term) for name, term in terms.items()}
        names = (*program.state, *kind.variables)
        return Premises(truths, tuple(map(read.expression, names)), names, len(program.state), terms)

    def of_state(self, assumed: Sequence[str]) -> Premises:
        """The premises on the state after any step, where some invariants hold after it."""
        read, program, state_truths = self.read, self.subject.program, self.subject.state_truths()
        symbols = tuple(map(read.expression, program.state))
        terms = {AFTER + name: state_truths[name] for name in assumed}
        truths = self.domains() | {name: read.expression(term) for name, term in terms.items()}
        return Premises(truths, symbols, program.state, len(symbols), terms)

    def goal(self, obligation: Obligation) -> Any:
        """The goal of an obligation, as one Z3 truth."""
        return conjunction(self.read.expression(term) for term in self.goals(obligation))

    def goals(self, obligation: Obligation) -> list[Term]:
        """The goal of an obligation, as truths that must all hold."""
        if obligation.action == INITIATION:
            return [self.subject.start_truth(obligation.claim)]
        kind = self._kinds[obligation.action]
        if obligation.claim in DOMAINS:
            return [*self.bounds(kind, or_capped=True).values()]
        return [self.subject.step_truth(kind, obligation.claim)]

    def of_any_outcome(self, action: str, claim: str) -> Term:
        """The truth of a claim about a step, or about the state after it, of which only lemmas say what it decides."""
        return self.subject.outcome_truth(self._kinds[action], claim)

    def _initially(self) -> Premises:
        program, read = self.subject.program, self.read
        symbols = tuple(map(read.expression, program.state))
        starts = [
            conjunction(
                [
                    s == read.constant(t, v)
                    for s, t, v in zip(symbols, program.state, state, strict=True)
                    if not isinstance(v, Anything | Filled)
                ]
            )
            for state in program.initial
        ]
        sequences = self._initial_sequences()
        sequences |= {f"initial: {name}": term for name, term in program.initially.items()}
        truths = {"initial: state": disjunction(starts)}
        truths |= self.domains() if program.initially else {}
        truths |= {name: read.expression(term) for name, term in sequences.items()}
        return Premises(truths, symbols, program.state, len(symbols), sequences)

    def _initial_sequences(self) -> dict[str, Term]:
        """The initial content of endless sequences, which is the same in all initial states."""
        program, sequences = self.subject.program, {}
        graph = program.graph
        for number, (term, slot) in enumerate(zip(program.state, program.layout.slots, strict=True)):
            leaves = {state[number] for state in program.initial}
            if not any(isinstance(leaf, Filled) for leaf in leaves):
                continue
            (leaf,) = leaves
            holds = every(
                graph,
                lambda at, term=term, leaf=leaf: (  # type: ignore[misc]
                    word_at(term, at) == choose(at == 0, leaf.first, leaf.rest)
                ),
            )
            sequences[f"initial: {slot.path}"] = graph.lift(holds)
        return sequences

    def domains(self) -> dict[str, Any]:
        """Every field of the state is in its domain: the type of states."""
        program, numbers = self.subject.program, self.subject.program.graph.notes.numbers
        fields = zip(program.state, program.layout.slots, strict=True)
        return {
            **{f"domain: {s.path}": self.read.within(term, s.domain.lo, s.domain.hi) for term, s in fields},
            **{f"domain: how many {bound}": self.read.within(one, one.lo, one.hi) for bound, one in numbers.items()},
        }

    def after(self, action: str) -> Sequence[Term]:
        """The state after a step of an action, by the same places as the state."""
        return self._kinds[action].after

    def fields_after(self, action: str) -> dict[str, Term]:
        """As `after`, by the paths of the fields."""
        slots = self.subject.program.layout.slots
        return {slot.path: term for slot, term in zip(slots, self.after(action), strict=True)}

    def arguments(self, action: str) -> Sequence[Term]:
        """The arguments of an action."""
        return self._kinds[action].variables

    def bounds_of(self, action: str, or_capped: bool = False) -> dict[str, Term]:
        """As `bounds`, of an action by its name."""
        return self.bounds(self._kinds[action], or_capped)

    def has_caps(self, action: str) -> bool:
        """Whether an action might take a field beyond a declared cap."""
        return any(cap_of(self.subject.program.layout.slots[i].domain) for i in self._kinds[action].unchecked)

    def bounds(self, kind: Kind, or_capped: bool = False, there: bool = False) -> dict[str, Term]:
        """Fields that the action might take out of their domain stay there; such a step is not taken.

        With `or_capped` they may go beyond a declared cap; with `there` only what is there has to stay.
        """
        layout, after = self.subject.program.layout, kind.after
        unchecked = [(layout.slots[i], after[i]) for i in kind.unchecked]
        names = [f"{BOUND}{layout.name(slot.path)}" for slot, _ in unchecked]
        truths = [in_domain(term, slot.domain, or_capped, there) for slot, term in unchecked]
        return dict(zip(names, truths, strict=True))


Clock = Callable[[], float]

Remaining = Callable[[], int]  # the milliseconds that a query still has


def new_solver(premises: Premises, effort: Effort, context: z3.Context) -> Any:
    """A solver: propositional for bit-vectors, general where words have no bound."""
    solver = z3.Solver(ctx=context) if premises.numbers() else z3.SolverFor("QF_FD", ctx=context)
    solver.set("timeout", effort.milliseconds())
    solver.set("random_seed", effort.seed)
    if effort.minimise:
        solver.set("core.minimize", True)
    return solver


@frozen
class SolverAnswer:
    """A solver's answer."""

    result: str  # PROVEN, REFUTED or UNDECIDED of `kraftcheck.solvers.smt.queries`
    core: tuple[str, ...] = ()  # premises of the proof, by their names
    # of a countermodel, in the order of the premises' symbols; None unless refuted
    values: tuple[int, ...] | None = None
    reason: str = ""  # why it is undecided


FieldsLeft = tuple[tuple[str, ...], tuple[str, ...]]
"""Fields that may leave their domain, and the premises by which the others stay in theirs."""


def fields_left(answers: Mapping[str, SolverAnswer | ObligationAnswer]) -> FieldsLeft:
    """What answers about bounds say of the fields."""
    left = tuple(name.removeprefix(BOUND) for name, answer in answers.items() if answer.result != PROVEN)
    return left, tuple(sorted({name for answer in answers.values() for name in answer.core}))
