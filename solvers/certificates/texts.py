"""Definitions of invariants in SMT-LIB 2.6."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import z3

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.certificates.printer import symbol
from kraftcheck.solvers.smt.places import BINDERS
from kraftcheck.solvers.smt.z3terms import Z3Reader


def information(comment: str, status: str) -> list[str]:
    """The first lines of a text: what it is, and the answer that is to be expected, if any."""
    expected = [f"(set-info :status {status})"] if status else []
    return [f"; {comment}", "(set-info :smt-lib-version 2.6)", *expected]


def _declarations(text: str) -> str:
    """The declarations of Z3's text, without its own information about the query, and without what is bound."""
    unwanted = ("; benchmark", "(set-info", "(declare-fun |bound ")
    return "\n".join(line for line in text.splitlines() if not line.startswith(unwanted))


def definitions(comment: str, domains: Mapping[str, Any], invariants: Mapping[str, Term]) -> str:
    """The definition of each invariant, and the question whether some state in its domains has them all.

    Claims about every place of sequences without end are quantified; nothing is asked then, for solvers seldom
    find models of those. What a size, a least or greatest place or an upper bound is of is a predicate of its own.
    """
    read = _QuantifiedReader()
    truths = {name: read.expression(term) for name, term in invariants.items()}
    predicates = {f"holds for {word}": read.expression(term.args[1]) for word, term in read.words.items()}
    solver = z3.Solver()
    solver.add(*predicates.values(), *truths.values(), *domains.values())
    declared, *bodies = solver.to_smt2().partition("(check-sat)")[0].split("\n(assert")
    texts = [body.rstrip()[:-1].rstrip() for body in bodies]
    defined = [
        f"; {word} is {_MEANINGS[term.op]} of which this holds\n"
        f"(define-fun |holds for {word}| (({read.expression(term.args[0]).sexpr()} Int)) Bool{text})"
        for (word, term), text in zip(read.words.items(), texts, strict=False)
    ]
    names = [symbol(name) for name in truths]
    rest = texts[len(predicates) :]
    defined += [f"(define-fun {name} () Bool{text})" for name, text in zip(names, rest, strict=False)]
    if read.endless:
        return "\n".join([*information(comment, ""), "(set-logic ALL)", _declarations(declared), *defined, ""])
    asserted = [f"(assert{text})" for text in rest[len(names) :]] + [f"(assert {name})" for name in names]
    first = [*information(comment, "sat"), "(set-logic QF_BV)", _declarations(declared)]
    return "\n".join([*first, *defined, *asserted, "(check-sat)", ""])


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
