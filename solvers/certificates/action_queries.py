"""The queries of one action as texts: they share premises, and what is read of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import z3
from attrs import evolve

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.certificates.facts import NeededFacts
from kraftcheck.solvers.certificates.printer import Printer
from kraftcheck.solvers.smt.queries import DOMAINS, PREMISE, Clock, Effort, Obligation, Questions
from kraftcheck.solvers.smt.theory import Theory
from kraftcheck.solvers.smt.z3terms import conjunction


class ActionQueries:
    """The queries about one action.

    Args:
        of: the theory.
        action: its name.
        within: whether steps that leave the layout are left out, as in all but the obligations about domains.
        asserted: ids of the invariants to assume.
        named: ids of those whose places are of interest, of sequences without end; they are not assumed for that.
        effort, clock: limits of the queries that choose among instances, and seconds from any origin.
    """

    def __init__(
        self, of: Theory, action: str, within: bool, asserted: Sequence[str], named: Sequence[str], effort: Effort,
        clock: Clock,
    ) -> None:
        # Each action is read anew, so that no more is kept in memory than it needs.
        self.questions, self._printer = Questions(of), Printer()
        premises = self.questions.premises(action, named, within)
        left_out = {f"{PREMISE}{name}" for name in named if name not in asserted}
        truths = {name: truth for name, truth in premises.truths.items() if name not in left_out}
        self._premises = evolve(premises, truths=truths)
        self._facts = NeededFacts(premises, truths, self.questions.read, effort, clock) if premises.endless() else None

    def text(self, obligation: Obligation, information: Sequence[str] = (), or_capped: bool = False) -> str:
        """One query: its premises by their names, and the denial of what is to be shown; unsatisfiable iff it holds.

        Args:
            obligation: about this action.
            information: lines that go before.
            or_capped: whether a field may go beyond a declared cap; of domains only.
        """
        of_domains = obligation.claim in DOMAINS
        bounds = self.questions.bounds_of(obligation.action, or_capped) if of_domains else {}
        goals = [*bounds.values()] if of_domains else self.questions.goals(obligation)
        denials = {f"denial {number}": denial for number, denial in enumerate(self._denials(goals))}
        logic = "ALL" if self._premises.numbers() or self._facts is not None else "QF_BV"
        lines = self._printer.assertions({**self._premises.truths, **denials})
        return "\n".join([*information, f"(set-logic {logic})", *lines, "(check-sat)", ""])

    def _denials(self, goals: Sequence[Term]) -> list[Any]:
        """The negation of goals; of endless sequences, instances of what is said of every place too."""
        if self._facts is not None:
            return self._facts.of(goals)
        return [z3.Not(conjunction(map(self.questions.read.expression, goals)))]
