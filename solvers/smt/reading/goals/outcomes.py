"""Steps of any outcome: what a step decides is anything, and the rest of the state is as the step makes it.

What the controller decides is long, and a claim about brokers and their logs rests on little of it. So lemmas
about steps say that, and are proven of what is decided; a claim is then proven of anything of which they hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import define, evolve, field

from kraftcheck.model.language.layout import Layout, Slot, leaves, rebuild
from kraftcheck.model.language.sequences import Sequence as Endless
from kraftcheck.model.language.sequences import symbol_of
from kraftcheck.model.language.system import Property, Step
from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.solvers.program.symbols import symbol

OF_ANY_OUTCOME = " of any outcome"  # suffix of the traced claim about a step of which only lemmas say what it decides


@define
class AnyOutcome:
    """Makes steps of any outcome, in the graph of one trace."""

    layout: Layout  # of the states
    decided: Sequence[str]  # paths of the fields that events decide; of a record all of them
    _symbols: dict[tuple[str, str], Any] = field(factory=dict)

    def claim(self, claim: Property) -> Property:
        """The claim that an invariant holds after a step of any outcome, or that a step property holds of it."""

        def predicate(step: Step) -> Any:
            step = self.of(step)
            return claim.predicate(step if claim.kind == "step" else step.after)

        return Property(claim.id + OF_ANY_OUTCOME, "step", claim.sentence, predicate)

    def of(self, step: Step) -> Step:
        """A step with symbols for all that it decides; what it leaves as it was is none of that."""
        before, after = (list(leaves(state)) for state in (step.before, step.after))
        graph = next(value.graph for _, value in before if isinstance(value, Term | Endless))
        triples = iter(zip(before, after, self.layout.slots, strict=True))

        def leaf() -> Any:
            (_, past), (_, value), slot = next(triples)
            if self._is_decided(slot.path) and _is_set_or_truth(value) and not _same(past, value):
                return self._symbol(graph, step.action, slot)
            return value

        return evolve(step, after=rebuild(step.after, leaf))

    def names(self, action: str) -> dict[str, Term]:
        """The symbols for what an action decides, by the paths of the fields, once its claims are traced."""
        return {path: symbol_of(value) for (by, path), value in self._symbols.items() if by == action}

    def _is_decided(self, path: str) -> bool:
        return any(path == name or path.startswith((f"{name}.", f"{name}[")) for name in self.decided)

    def _symbol(self, graph: Graph, action: str, slot: Slot) -> Any:
        key = (action, slot.path)
        if key not in self._symbols:
            self._symbols[key] = symbol(graph, f"{slot.path} after {action}", slot.domain)
        return self._symbols[key]


def _is_set_or_truth(value: Any) -> bool:
    """Whether it is no word: on these other fields depend, and `Decisions` names them in all of them."""
    return isinstance(value, Endless) or (isinstance(value, Term) and value.is_truth)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Endless) and isinstance(other, Endless):
        return one.anywhere() is other.anywhere()
    return one is other
