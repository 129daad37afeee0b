"""Z3 expressions as SMT-LIB text in which each term is written once, however many others have it as a part."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import z3
from attrs import define, field, frozen

NOT_IN_SYMBOLS = str.maketrans({"|": "!1", "\\": "!2", "!": "!3"})
"""What a quoted symbol may not hold, in words that differ where names do; each such symbol begins with `!`."""

WORD = "$"
"""What the symbols of variables begin with in a text, so that none is a symbol of a theory or of a definition."""

BOUND = "bound "  # how the symbols of bound places begin

_SIMPLE = re.compile(r"[a-zA-Z_$][a-zA-Z0-9_]*")


def symbol(name: str) -> str:
    """A name as a symbol of SMT-LIB."""
    if _SIMPLE.fullmatch(name):
        return name
    is_odd = name.startswith("!") or not {*name}.isdisjoint("|\\")
    return f"|!{name.translate(NOT_IN_SYMBOLS)}|" if is_odd else f"|{name}|"


@frozen
class _Node:
    """A term."""

    expression: Any  # the term, kept so that its id stays its own
    reference: str  # what stands for it in other terms
    line: str  # its declaration or definition; empty for one that is written out where it stands
    parts: tuple[int, ...]  # ids of the terms and symbols that it needs before


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
        """The name of a term in others; `lines` has the definitions that it needs."""
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

    def open(self, root: Any) -> tuple[list[str], str]:
        """The declarations that a term of bound places needs, but for those that were given before, and its text."""
        parts = self._symbols(root)
        fresh = [number for number in parts if number not in self._written]
        self._written.update(fresh)
        return [self._nodes[number].line for number in fresh], one_line(root)

    def _symbols(self, root: Any) -> tuple[int, ...]:
        """The symbols of a term but for bound places; each is read."""
        found, seen, pending = list[int](), set[int](), [root]
        while pending:
            if (one := pending.pop()).get_id() in seen:
                continue
            seen.add(one.get_id())
            pending += reversed(_parts(one))
            if z3.is_app(one) and one.decl().kind() == z3.Z3_OP_UNINTERPRETED and not _is_bound(one.decl()):
                found.append(self._declaration(one.decl()))
        return tuple(dict.fromkeys(found))

    def _declaration(self, of: Any) -> int:
        """The number of a symbol, which is read."""
        if (number := of.get_id()) not in self._nodes:
            domain, head = " ".join(of.domain(k).sexpr() for k in range(of.arity())), symbol(of.name())
            line = f"(declare-fun {head} ({domain}) {of.range().sexpr()})"
            self._nodes[number] = _Node(of, head, line, ())
        return int(number)

    def _read(self, roots: Sequence[Any]) -> None:
        pending = [(root, _children(root)) for root in roots]
        while pending:
            expression, children = pending[-1]
            number = expression.get_id()
            missing = [] if number in self._nodes else [c for c in children if c.get_id() not in self._nodes]
            if missing:
                pending += [(child, _children(child)) for child in missing]
                continue
            pending.pop()
            if number not in self._nodes:
                self._nodes[number] = self._node(expression, children)

    def _node(self, expression: Any, children: list[Any]) -> _Node:
        if z3.is_quantifier(expression):
            self._count += 1
            line = f"(define-fun t{self._count} () Bool {one_line(expression)})"
            return _Node(expression, f"t{self._count}", line, self._symbols(expression))
        declaration = expression.decl()
        parts = tuple(child.get_id() for child in children)
        sort = expression.sort().sexpr()
        if declaration.kind() == z3.Z3_OP_UNINTERPRETED:
            head, parts = symbol(declaration.name()), (self._declaration(declaration), *parts)
        elif not children:
            return _Node(expression, expression.sexpr(), "", ())
        else:
            head = _head(declaration)
        if not children:
            return _Node(expression, head, "", parts)
        text = f"({head} {' '.join(map(self.reference, children))})"
        if not any(map(_parts, children)):
            return _Node(expression, text, "", parts)
        self._count += 1
        return _Node(expression, f"t{self._count}", f"(define-fun t{self._count} () {sort} {text})", parts)


def one_line(expression: Any) -> str:
    """The text of a term, with all its parts in it."""
    return re.sub(r"\n\s*", " ", expression.sexpr())


def _parts(expression: Any) -> list[Any]:
    return [expression.body()] if z3.is_quantifier(expression) else expression.children()


def _children(expression: Any) -> list[Any]:
    """The parts of a term that may have names of their own: none of a quantifier's."""
    return [] if z3.is_quantifier(expression) else expression.children()


def _is_bound(declaration: Any) -> bool:
    return bool(declaration.name().startswith(BOUND))


def _head(declaration: Any) -> str:
    """The name of an operator of the theories."""
    name = "ite" if declaration.kind() == z3.Z3_OP_ITE else declaration.name()
    parameters = declaration.params()
    return f"(_ {name} {' '.join(map(str, parameters))})" if parameters else name
