"""Action instances as terms of the state alone: each argument is replaced by its value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from attrs import define, field, frozen

from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.solvers.machine_code.frame import live_kinds
from kraftcheck.solvers.machine_code.lower import closure
from kraftcheck.solvers.program.program import Kind, Program


@frozen
class Instance:
    """An action instance.

    Attributes:
        number: of the instance.
        guard: truths of the state that must all hold; a constant one is false.
        after: for each layout slot, the leaf after the effect.
        unchecked: slots whose new value may leave the domain.
        steps: as those of the kind.
    """

    number: int
    guard: tuple[Term, ...]
    after: tuple[Term, ...]
    unchecked: tuple[int, ...]
    steps: tuple[Term, ...]


@define
class Specialiser:
    """Rewrites terms of a program into a graph of its own, with given values of some variables.

    Attributes:
        program: whose terms.
        graph: where to.
        state: what stands for the state there, one term for each layout slot; new variables unless given.
    """

    program: Program
    graph: Graph = field(factory=Graph)
    state: tuple[Term, ...] = ()
    _of_state: dict[int, Term] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        """Make the variables of the state, where none are given."""
        variables = self.program.state
        self.state = self.state or tuple(self._like(variable) for variable in variables)
        self._of_state = {variable.index: own for variable, own in zip(variables, self.state, strict=True)}

    def _like(self, variable: Term) -> Term:
        name = self.program.graph.variables[variable.value]
        if variable.is_truth:
            return self.graph.truth_variable(name)
        return self.graph.variable(name, variable.lo, variable.hi)

    def of_state(self, terms: Sequence[Term]) -> list[Term]:
        """Terms of the state alone."""
        self._rewrite(terms, self._of_state)
        return [self._of_state[term.index] for term in terms]

    def instances(self) -> Iterator[Instance]:
        """Every action instance, in order of their numbers."""
        for _, kind in live_kinds(self.program):
            arguments = {variable.index for variable in kind.variables}
            roots = (*kind.guard.values(), *kind.after, *kind.steps)
            needed = closure(roots)
            by_argument = set(arguments)
            for term in needed:
                if any(arg.index in by_argument for arg in term.args):
                    by_argument.add(term.index)
            self._rewrite([term for term in needed if term.index not in by_argument], self._of_state)
            own = [term for term in needed if term.index in by_argument and term.index not in arguments]
            for row, values in enumerate(kind.table):
                yield self._instance(kind, row, own, values)

    def _instance(self, kind: Kind, row: int, own: Sequence[Term], values: Sequence[int]) -> Instance:
        known = dict(self._of_state)
        for variable, value in zip(kind.variables, values, strict=True):
            known[variable.index] = self.graph.constant(bool(value) if variable.is_truth else int(value))
        self._rewrite_each(own, known)
        after = tuple(known[term.index] for term in kind.after)
        slots = self.program.layout.slots
        unchecked = tuple(
            slot for slot in kind.unchecked
            if after[slot].lo < slots[slot].domain.lo or after[slot].hi > slots[slot].domain.hi
        )  # fmt: skip
        guard = tuple(_conjuncts([known[part.index] for part in kind.guard.values()]))
        return Instance(kind.first + row, guard, after, unchecked, tuple(known[term.index] for term in kind.steps))

    def _rewrite(self, roots: Sequence[Term], known: dict[int, Term]) -> None:
        self._rewrite_each(closure(roots, known), known)

    def _rewrite_each(self, terms: Sequence[Term], known: dict[int, Term]) -> None:
        """Rewrite terms, arguments first, and note each."""
        for term in terms:
            if term.index not in known:
                known[term.index] = self._rewritten(term, known)

    def _rewritten(self, term: Term, known: Mapping[int, Term]) -> Term:
        args = [known[arg.index] for arg in term.args]
        match term.op:
            case "const":
                return self.graph.constant(bool(term.value) if term.is_truth else term.value)
            case "var":
                raise ValueError(f"the variable {term.described()} has no value")
            case "ite":
                condition, then, otherwise = args
                if condition.op == "const":
                    return then if condition.value else otherwise
                return self.graph.lift(self.graph.ite(condition, then, otherwise))
        return self.graph.lift(self.graph.apply(term.op, *args))


def _conjuncts(truths: Sequence[Term]) -> Iterator[Term]:
    """The truths of which a conjunction consists, each once, without those that are always so."""
    pending, seen = list(reversed(truths)), set[int]()
    while pending:
        term = pending.pop()
        if term.op == "and":
            pending += reversed(term.args)
        elif term.index not in seen and not (term.op == "const" and term.value):
            seen.add(term.index)
            yield term
