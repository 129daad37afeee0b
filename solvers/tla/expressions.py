"""Terms as expressions of TLA+, each shared term defined once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.machine_code.lower import closure
from kraftcheck.solvers.tla.wide import LARGEST, NAMES, bits_text, is_wide, refusal, wide_text

OPERATORS = """\
RECURSIVE BitAnd(_, _), BitOr(_, _), BitCount(_), BitLowest(_)
BitAnd(a, b) ==
  IF a = 0 \\/ b = 0 THEN 0
  ELSE 2 * BitAnd(a \\div 2, b \\div 2) + (IF a % 2 = 1 /\\ b % 2 = 1 THEN 1 ELSE 0)
BitOr(a, b) ==
  IF a = 0 THEN b ELSE IF b = 0 THEN a
  ELSE 2 * BitOr(a \\div 2, b \\div 2) + (IF a % 2 = 1 \\/ b % 2 = 1 THEN 1 ELSE 0)
BitCount(a) == IF a = 0 THEN 0 ELSE (a % 2) + BitCount(a \\div 2)
BitLowest(a) == IF a = 0 THEN -1 ELSE IF a % 2 = 1 THEN 0 ELSE 1 + BitLowest(a \\div 2)
BitMember(a, i) == i >= 0 /\\ i < 31 /\\ (a \\div 2^i) % 2 = 1
BitSingle(i) == IF i >= 0 /\\ i < 31 THEN 2^i ELSE 0
Rest(a, b) == IF b > 0 THEN a % b ELSE -((-a) % (-b))
Quotient(a, b) == (a - Rest(a, b)) \\div b"""
"""Operators on masks, which are numbers here, and on words of any sign; TLA+ has no own."""

_TEXTS: Mapping[str, str] = {
    "not": "~({})", "and": "({} /\\ {})", "or": "({} \\/ {})", "eq": "({} = {})", "lt": "({} < {})",
    "add": "({} + {})", "sub": "({} - {})", "mul": "({} * {})", "div": "Quotient({}, {})", "mod": "Rest({}, {})",
    "ite": "(IF {} THEN {} ELSE {})", "member": "BitMember({}, {})", "single": "BitSingle({})",
    "count": "BitCount({})", "lowest": "BitLowest({})", "band": "BitAnd({}, {})", "bor": "BitOr({}, {})",
    "bclear": "({0} - BitAnd({0}, {1}))",
}  # fmt: skip


def number(value: int) -> str:
    """A number as TLA+ writes it."""
    return str(value) if value >= 0 else f"({value})"


def constant(value: int, truth: bool) -> str:
    """A truth or a number as TLA+ writes it."""
    return str(bool(value)).upper() if truth else number(value)


def identifier(text: str, taken: Iterable[str] = ()) -> str:
    """A name for TLA+, which none of those taken is; a1, n1 and the like name arguments and shared terms."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_") or "x"
    name = name if name[0].isalpha() else f"x_{name}"
    others = {*taken}
    while name in others or name in RESERVED or re.fullmatch(r"[an]\d+", name):
        name += "_"
    return name


RESERVED = frozenset({
    "ASSUME", "ASSUMPTION", "AXIOM", "BOOLEAN", "CASE", "CHOOSE", "CONSTANT", "CONSTANTS", "DOMAIN", "ELSE", "ENABLED",
    "EXCEPT", "EXTENDS", "FALSE", "IF", "IN", "INSTANCE", "LET", "LOCAL", "MODULE", "OTHER", "RECURSIVE", "STRING",
    "SUBSET", "THEN", "THEOREM", "TRUE", "UNCHANGED", "UNION", "VARIABLE", "VARIABLES", "WITH", "Init", "Next", "vars",
    "Int", "Nat", "BitAnd", "BitOr", "BitCount", "BitLowest", "BitMember", "BitSingle", "Rest", "Quotient", "a", "b",
    "i",
}) | NAMES  # fmt: skip
"""Words of TLA+, and of every module that is written."""


@frozen
class Definitions:
    """Terms as text: shared terms by name, and the roots in terms of them.

    Attributes:
        definitions: name and text of each shared term, in an order in which each uses earlier ones only.
        roots: the text of each root.
    """

    definitions: tuple[tuple[str, str], ...]
    roots: tuple[str, ...]

    def before(self, body: str, indent: str) -> str:
        """A text with the names that it needs before it.

        Each is bound to the one member of a set: TLC evaluates that once, and a definition of `LET` at every use.
        """
        lines = [f"\\E {name} \\in {{{text}}} :" for name, text in self.definitions]
        return "\n".join(f"{indent}{line}" for line in [*lines, body])


def written(roots: Sequence[Term], names: Mapping[int, str], earlier: Definitions | None = None) -> Definitions:
    """Terms as text.

    Args:
        roots: what is written.
        names: the names of variables, by the index of their terms.
        earlier: shared terms whose names are bound already.

    Raises:
        TooWide: for a word that may be beyond 32 bits.
    """
    needed = closure(roots)
    uses = Counter(arg.index for term in needed for arg in term.args)
    texts: dict[int, str] = {}
    definitions = []
    bound = {name for name, _ in earlier.definitions} if earlier else set()
    for term in needed:
        text, name = _text(term, texts, names), f"n{term.index}"
        if term.args and (uses[term.index] > 1 or name in bound):
            if name not in bound:
                definitions.append((name, text))
            text = name
        texts[term.index] = text
    return Definitions(tuple(definitions), tuple(texts[root.index] for root in roots))


def _text(term: Term, texts: Mapping[int, str], names: Mapping[int, str]) -> str:
    if term.lo < -LARGEST or (term.hi > LARGEST and not is_wide(term)):
        raise refusal(term)
    if term.op == "const":
        return bits_text(term.value) if is_wide(term) else constant(term.value, term.is_truth)
    if term.op == "var":
        return names[term.index]
    if term.op == "narrow":  # its bounds are no operands
        inner = term.args[0]
        return f"MaskOf({texts[inner.index]})" if is_wide(inner) and not is_wide(term) else texts[inner.index]
    args = [texts[arg.index] for arg in term.args]
    wide = wide_text(term, args)
    if wide is not None:
        return wide
    return _TEXTS[term.op].format(*args)
