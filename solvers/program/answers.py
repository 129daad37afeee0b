"""The answers of rules, read as terms of one graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from attrs import frozen

from kraftcheck.model.language.symbolic import described
from kraftcheck.model.language.system import UNNAMED, Action, Property, conjuncts
from kraftcheck.model.language.terms import Graph, Term, Truth
from kraftcheck.model.language.words import all_of, any_of
from kraftcheck.solvers.program.arguments import SystemFault
from kraftcheck.solvers.program.parts import ask, ask_twice, line_of
from kraftcheck.solvers.program.premises.implications import says_something

T = TypeVar("T")


def start_parts(claim: Property, state: Any) -> dict[str, Truth]:
    """What a property claims of an initial state, by name; nothing where it claims nothing."""
    return {} if claim.initially is None else conjuncts(claim.initially(state), "initially")


@frozen
class Truths:
    """Asks rules, and reads their answers.

    Attributes:
        graph: holds every term.
        ask_twice: whether each rule has to give its answer twice; a graph that mutates rules answers once.
    """

    graph: Graph
    ask_twice: bool

    def answer(self, what: str, question: Callable[[], T], rule: Callable[..., Any] | None = None) -> T:
        """The answer of a rule; what the rule raises is reported as its fault."""
        return (ask_twice if self.ask_twice else ask)(what, question, rule)

    def guard(self, action: Action, state: Any, arguments: Mapping[str, Any]) -> dict[str, Term]:
        """The named conjuncts of an action's guard."""
        what = f"action {action.name}, guard"
        parts = self.answer(what, lambda: action.guards(state, arguments), action.guard)
        return {
            name: self.truth(what if name == UNNAMED else f"{what} {name}", part, action.guard)
            for name, part in parts.items()
        }

    def claim(self, claim: Property, subject: Any) -> Term:
        """The truth of a property."""
        return self._conjunction(f"property {claim.id}", lambda: claim.parts(subject), claim.predicate)

    def content(self, claim: Property, subject: Any) -> tuple[Term, Term]:
        """The truth of a property, and the truth that it says something of the subject.

        A rule may be such that a claim about its steps is true whatever they are. It says something nonetheless
        wherever a premise holds.
        """
        self.graph.implications.clear()
        truth = self.claim(claim, subject)
        self.graph.implications.negations.clear()  # what is said below of the claim is no claim
        if claim.kind == "step" and truth.op == "const":
            says = any_of(*(all_of(*premises) for premises in self.graph.implications.trivial))
        else:
            says = says_something(self.graph, truth)
        return truth, self.graph.lift(says)

    def start(self, claim: Property, state: Any) -> Term:
        """What a property claims of initial states."""
        return self._conjunction(f"property {claim.id}, initially", lambda: start_parts(claim, state), claim.predicate)

    def _conjunction(self, what: str, question: Callable[[], Mapping[str, Truth]], rule: Callable[..., Any]) -> Term:
        result = self.graph.constant(True)
        for name, part in self.answer(what, question, rule).items():
            result = self.graph.lift(self.graph.apply("and", result, self.truth(f"{what} ({name})", part, rule)))
        return result

    def truth_of(self, what: str, question: Callable[[], Truth]) -> Term:
        """The truth that a rule answers."""
        return self.truth(what, self.answer(what, question))

    def truth(self, what: str, value: Any, rule: Callable[..., Any] | None = None) -> Term:
        """An answer that has to be a truth.

        Raises:
            SystemFault: when it is none.
        """
        if isinstance(value, bool):  # of a term it says so where the term is a truth
            return self.graph.lift(value)
        mend = "return one" if value is None else "return a comparison, or all_of() of some"
        raise SystemFault(f"{what} gave {described(value)}, not a truth; {mend}{line_of(rule)}")
