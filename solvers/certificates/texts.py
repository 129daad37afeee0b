"""Definitions of invariants in SMT-LIB 2.6."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import z3

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.certificates.printer import Printer, symbol
from kraftcheck.solvers.smt.places import BINDERS
from kraftcheck.solvers.smt.z3terms import Z3Reader


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
