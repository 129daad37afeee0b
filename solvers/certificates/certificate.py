"""The certificate of a proof: the inductive invariant, and everything to show about it, as SMT-LIB 2.6.

The invariant is the conjunction of the invariants that are proven. Each obligation
is one text, unsatisfiable iff it holds: what may be assumed, each assertion with
its name, and the denial of what is to be shown. An obligation may assume no other
invariant than those that have obligations themselves.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from attrs import frozen

from kraftcheck.solvers.certificates.action_queries import ActionQueries
from kraftcheck.solvers.certificates.texts import definitions, information
from kraftcheck.solvers.smt.induction import Proof, obligations
from kraftcheck.solvers.smt.queries import DOMAINS, INITIATION, Clock, Effort, Obligation, Questions

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
