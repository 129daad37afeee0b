"""The certificate of a proof: the inductive invariant, and everything to show about it, as SMT-LIB 2.6.

The invariant is the conjunction of the invariants that are proven. Each obligation
is one text, unsatisfiable iff it holds: what may be assumed, each assertion with
its name, and the denial of what is to be shown. An obligation may assume no other
invariant than those that have obligations themselves.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import z3
from attrs import frozen

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.smt.induction import Proof, obligations
from kraftcheck.solvers.smt.printer import Printer, symbol
from kraftcheck.solvers.smt.queries import DOMAINS, INITIATION, Clock, Effort, Obligation, Questions
from kraftcheck.solvers.smt.smtlib import ActionQueries
from kraftcheck.solvers.smt.z3terms import BINDERS, Z3Reader


def information(comment: str, status: str) -> list[str]:
    """The first lines of a text: what it is, and the answer that is to be expected, if any."""
    expected = [f"(set-info :status {status})"] if status else []
    return [f"; {comment}", "(set-info :smt-lib-version 2.6)", *expected]


def definitions(comment: str, domains: Mapping[str, Any], invariants: Mapping[str, Term]) -> str:
    """The definition of each invariant, and the question whether some state in its domains has them all.

    Claims about every place of sequences without end are quantified; nothing is asked then, for solvers seldom
    find models of those. What a size, a least or greatest place or an upper bound is of is a predicate of its own.
    """
    read, printer = _QuantifiedReader(), Printer()
    truths = {name: read.expression(term) for name, term in invariants.items()}
    predicates = {word: tuple(map(read.expression, term.args[:2])) for word, term in read.words.items()}
    roots = [*(body for _, body in predicates.values()), *truths.values(), *domains.values()]
    lines = [*printer.lines(roots, [bound for bound, _ in predicates.values()])]
    for word, (bound, body) in predicates.items():
        lines.append(f"; {word} is {_MEANINGS[read.words[word].op]} of which this holds")
        lines.append(printer.definition(f"holds for {word}", body, [bound]))
    lines += [printer.definition(name, truth) for name, truth in truths.items()]
    if read.endless:
        return "\n".join([*information(comment, ""), "(set-logic ALL)", *lines, ""])
    lines += [
        *(printer.assertion(*domain) for domain in domains.items()),
        *(f"(assert {symbol(name)})" for name in truths),
    ]
    return "\n".join([*information(comment, "sat"), "(set-logic QF_BV)", *lines, "(check-sat)", ""])


_MEANINGS = {
    "cardinality": "the number of places", "least_by": "a place with the least key, or -1, among those",
    "above": "a number larger than every place", "least": "the first place", "greatest": "the last place",
}  # fmt: skip


class _QuantifiedReader(Z3Reader):
    """Reads claims about every place as quantified ones, and a word that names a size or a place as a symbol.

    Attributes:
        words: the terms of such words, by symbol.
        endless: whether there is a sequence without end.
    """

    def __init__(self) -> None:
        super().__init__()
        self.words: dict[str, Term] = {}
        self.endless = False

    def _place_operator(self, node: Term) -> Any:
        self.endless = True
        if node.op == "every":
            bound, body = (self._expressions[arg.index] for arg in node.args)
            return z3.ForAll([bound], z3.Implies(bound >= 0, body))
        word = super()._place_operator(node)
        if node.op in BINDERS:
            self.words[str(word)] = node
        return word


INITIATION_ROLE, CONSECUTION, SAFETY, DOMAIN = "initiation", "consecution", "safety", "domains"
"""What an obligation shows: that a claim holds initially, that an action keeps it, that a step has it, that no field
leaves its domain."""


@frozen
class CertifiedObligation:
    """One obligation.

    Attributes:
        obligation: claim and action.
        role: what it shows, one of the words above.
        text: SMT-LIB 2.6, unsatisfiable iff it holds.
    """

    obligation: Obligation
    role: str
    text: str


@frozen
class Certificate:
    """What a proof has shown.

    Attributes:
        invariants: ids of the invariants and lemmas that are proven; together they are inductive.
        steps: ids of the step properties that are proven.
        actions: names of the actions, in order.
        invariant: the inductive invariant as SMT-LIB 2.6.
        satisfiable: whether that text asks whether some state has the invariant, which it must; of sequences without
            end it only defines the invariant.
        bounded: fields with a declared cap, beyond which steps are left out.
    """

    invariants: tuple[str, ...]
    steps: tuple[str, ...]
    actions: tuple[str, ...]
    invariant: str
    satisfiable: bool
    bounded: tuple[str, ...]
    _proof: Proof

    def obligations(self, effort: Effort, clock: Clock) -> Iterator[CertifiedObligation]:
        """Every obligation, initiation first; each text is made when it is asked for."""
        theory, named = self._proof.theory, self._proof.assumed()
        wanted = obligations(theory, [*self.invariants, *self.steps, *DOMAINS])
        for (action, within), group in itertools.groupby(wanted, lambda one: (one.action, one.claim not in DOMAINS)):
            queries = ActionQueries(theory, action, within, self.invariants, named, effort, clock)
            for obligation in group:
                role = self._role(obligation)
                first = information(f"{obligation.claim}, {action}: {role}", "unsat")
                yield CertifiedObligation(obligation, role, queries.text(obligation, first, or_capped=True))

    def _role(self, obligation: Obligation) -> str:
        if obligation.action == INITIATION:
            return INITIATION_ROLE
        if obligation.claim in DOMAINS:
            return DOMAIN
        return CONSECUTION if obligation.claim in self.invariants else SAFETY


def certificate(proof: Proof) -> Certificate | None:
    """The certificate of what a proof has shown; None where it has shown none of its targets."""
    proven = [claim.id for claim in proof.theory.claims if claim.id in proof.claims and proof.proven(claim.id)]
    if not set(proven) & set(proof.targets):
        return None
    theory = proof.theory
    invariants = tuple(claim.id for claim in theory.invariants if claim.id in proven)
    return Certificate(
        invariants, tuple(claim.id for claim in theory.steps if claim.id in proven),
        tuple(kind.action.name for kind in theory.program.kinds), _invariant(proof, invariants),
        not theory.endless, tuple(proof.bounded()), proof,
    )  # fmt: skip


def _invariant(proof: Proof, invariants: Sequence[str]) -> str:
    """The inductive invariant: the definition of each of its parts."""
    truths = proof.theory.state_truths()
    terms = {name: truths[name] for name in invariants}
    return definitions("the inductive invariant", Questions(proof.theory).domains(), terms)
