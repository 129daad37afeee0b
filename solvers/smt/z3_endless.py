"""Z3 on queries about endless sequences."""

from __future__ import annotations

from collections.abc import Sequence

import z3

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.smt.answer import Said
from kraftcheck.solvers.smt.instances import Instances
from kraftcheck.solvers.smt.queries import PROVEN, UNDECIDED, Effort, Premises
from kraftcheck.solvers.smt.z3terms import Reader

NOT_SHOWN = "no state is shown where sequences have no end"
"""Why what is not proven of them is undecided: their instances do not refute it, which makes no counterexample."""


def instances(given: Premises, goals: Sequence[Term]) -> list[Term]:
    """Truths that together with the premises say that one of some goals fails: what a script asserts."""
    known = Instances(given.names[0].graph)
    known.require(given.terms.values())
    known.deny(conjuncts_of(goals))
    return known.facts


class EndlessEngine:
    """Z3 with instances of what is said of every place."""

    def __init__(self, given: Premises, effort: Effort, read: Reader) -> None:
        self._given, self._effort, self._read = given, effort, read
        self._known = Instances(given.names[0].graph)
        self._known.require(given.terms.values())
        self._assumed = {one.index: name for name, term in given.terms.items() for one in conjuncts_of([term])}
        self._begin()

    def _begin(self) -> None:
        self._solver = z3.Solver(ctx=self._read.context)
        self._solver.set("timeout", self._effort.milliseconds())
        self._solver.set("random_seed", self._effort.seed)
        if self._effort.minimise:
            self._solver.set("core.minimize", True)
        self._tracked = {f"premise {number}": name for number, name in enumerate(self._given.truths)}
        self._literals = [z3.Bool(mark, self._read.context) for mark in self._tracked]
        for literal, premise in zip(self._literals, self._given.truths.values(), strict=True):
            self._solver.add(z3.Implies(literal, premise))
        self._solver.add(*map(self._read.expression, self._known.facts))

    def refute(self, conjuncts: Sequence[Term]) -> Said:
        """Whether the premises imply all of some truths, none of which is a conjunction."""
        left = [one for one in conjuncts if one.index not in self._assumed]
        shared = {self._assumed[one.index] for one in conjuncts if one.index in self._assumed}
        if not left:
            return Said(PROVEN, used=tuple(sorted(shared)))
        asked = self._known.branch()
        asked.deny(left)
        self._solver.push()
        self._solver.add(*map(self._read.expression, asked.facts))
        found = self._solver.check(*self._literals)
        used = tuple(self._tracked[str(mark)] for mark in self._solver.unsat_core()) if found == z3.unsat else ()
        reason = self._solver.reason_unknown() if found == z3.unknown else NOT_SHOWN
        self._solver.pop()
        if found == z3.unsat:
            return Said(PROVEN, used=tuple(sorted({*used, *shared})))
        if found == z3.unknown:
            self._begin()
        return Said(UNDECIDED, reason=reason)


def conjuncts_of(truths: Sequence[Term]) -> list[Term]:
    """The conjuncts of some truths, each once."""
    found: dict[int, Term] = {}
    pending = list(truths)
    while pending:
        term = pending.pop()
        if term.op == "and":
            pending.extend(reversed(term.args))
        else:
            found[term.index] = term
    return list(found.values())
