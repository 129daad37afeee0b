"""Z3 expressions as SMT-LIB text in which each term is written once, however many others have it as a part."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import z3
from attrs import define, field, frozen

NOT_IN_SYMBOLS = str.maketrans({"|": "!", "\\": "!"})
"""What a quoted symbol may not hold."""

WORD = "$"
"""What the symbols of variables begin with in a text, so that none is a symbol of a theory or of a definition."""

_SIMPLE = re.compile(r"[a-zA-Z_$][a-zA-Z0-9_]*")


def symbol(name: str) -> str:
    """A name as a symbol of SMT-LIB."""
    return name if _SIMPLE.fullmatch(name) else f"|{name.translate(NOT_IN_SYMBOLS)}|"


@frozen
class _Node:
    """A term.

    Attributes:
        expression: the term, kept so that its id stays its own.
        reference: what stands for it in other terms.
        line: its declaration or definition; empty for one that is written out where it stands.
        parts: ids of the terms and symbols that it needs before.
    """

    expression: Any
    reference: str
    line: str
    parts: tuple[int, ...]


@define
class Printer:
    """Prints queries about the same terms; each is read once."""

    _nodes: dict[int, _Node] = field(factory=dict)
    _written: set[int] = field(factory=set)
    _count: int = 0

    def assertions(self, named: Mapping[str, Any]) -> Iterator[str]:
        """The lines that declare, define and assert some truths, each with its name; a text of its own."""
        self._written.clear()
        yield from self.lines([*named.values()])
        yield from (f"(assert (! {self.reference(root)} :named {symbol(name)}))" for name, root in named.items())

    def reference(self, root: Any) -> str:
        """What stands for a term in others; `lines` has those that it needs."""
        return self._nodes[root.get_id()].reference

    def lines(self, roots: Sequence[Any]) -> Iterator[str]:
        """The lines of some terms and of all that they need, parts first, but for those that were given before."""
        self._read(roots)
        pending = [(root.get_id(), False) for root in reversed(roots)]
        while pending:
            number, ready = pending.pop()
            if number in self._written:
                continue
            node = self._nodes[number]
            if ready:
                self._written.add(number)
                if node.line:
                    yield node.line
            else:
                pending.append((number, True))
                pending += [(part, False) for part in node.parts if part not in self._written]

    def _read(self, roots: Sequence[Any]) -> None:
        pending = [(root, root.children()) for root in roots]
        while pending:
            expression, children = pending[-1]
            number = expression.get_id()
            missing = [] if number in self._nodes else [c for c in children if c.get_id() not in self._nodes]
            if missing:
                pending += [(child, child.children()) for child in missing]
                continue
            pending.pop()
            if number not in self._nodes:
                self._nodes[number] = self._node(expression, children)

    def _node(self, expression: Any, children: list[Any]) -> _Node:
        declaration = expression.decl()
        parts = tuple(child.get_id() for child in children)
        sort = expression.sort().sexpr()
        if declaration.kind() == z3.Z3_OP_UNINTERPRETED:
            head, number = symbol(declaration.name()), declaration.get_id()
            if number not in self._nodes:
                domain = " ".join(declaration.domain(k).sexpr() for k in range(declaration.arity()))
                self._nodes[number] = _Node(declaration, head, f"(declare-fun {head} ({domain}) {sort})", ())
            parts = (number, *parts)
        elif not children:
            return _Node(expression, expression.sexpr(), "", ())
        else:
            head = _head(declaration)
        if not children:
            return _Node(expression, head, "", parts)
        text = f"({head} {' '.join(map(self.reference, children))})"
        if not any(child.num_args() for child in children):
            return _Node(expression, text, "", parts)
        self._count += 1
        return _Node(expression, f"t{self._count}", f"(define-fun t{self._count} () {sort} {text})", parts)


def _head(declaration: Any) -> str:
    """The name of an operator of the theories."""
    name = "ite" if declaration.kind() == z3.Z3_OP_ITE else declaration.name()
    parameters = declaration.params()
    return f"(_ {name} {' '.join(map(str, parameters))})" if parameters else name
