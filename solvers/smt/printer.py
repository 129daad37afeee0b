"""Z3 expressions as SMT-LIB text in which each term is written once, however many others have it as a part."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import z3
from attrs import define, field, frozen

NOT_IN_SYMBOLS = str.maketrans({"|": "!", "\\": "!"})
"""What a quoted symbol may not hold."""

_SIMPLE = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


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
        free: the sorts of the bound variables that it depends on, by symbol: its definition takes them as arguments.
    """

    expression: Any
    reference: str
    line: str
    parts: tuple[int, ...]
    free: Mapping[str, str] = field(factory=dict)


@define
class Printer:
    """Prints queries about the same terms; each is read once.

    A term that depends on a bound variable is a function of it, so that quantified terms share their parts too.
    """

    _nodes: dict[int, _Node] = field(factory=dict)
    _bound: set[str] = field(factory=set)

    def assertions(self, named: Mapping[str, Any]) -> Iterator[str]:
        """The lines that declare, define and assert some truths, each with its name."""
        yield from self.lines([*named.values()])
        yield from (self.assertion(name, root) for name, root in named.items())

    def assertion(self, name: str, root: Any) -> str:
        """The line that asserts a truth under a name; `lines` has those that it needs."""
        return f"(assert (! {self._nodes[root.get_id()].reference} :named {symbol(name)}))"

    def definition(self, name: str, root: Any, bound: Sequence[Any] = ()) -> str:
        """The line that defines a truth as a function of bound variables; `lines` has those that it needs."""
        node = self._nodes[root.get_id()]
        free = {symbol(one.decl().name()): one.sort().sexpr() for one in bound} | dict(node.free)
        return f"(define-fun {symbol(name)} ({_typed(free)}) Bool {node.reference})"

    def lines(self, roots: Sequence[Any], bound: Sequence[Any] = ()) -> Iterator[str]:
        """The lines of some truths and of all that they need, parts first.

        Args:
            roots: the truths.
            bound: the constants in them that stand for bound variables, besides those of quantifiers.
        """
        self._bound.update(one.decl().name() for one in bound)
        self._read(roots)
        written, pending = set[int](), [(root.get_id(), False) for root in reversed(roots)]
        while pending:
            number, ready = pending.pop()
            if number in written:
                continue
            node = self._nodes[number]
            if ready:
                written.add(number)
                if node.line:
                    yield node.line
            else:
                pending.append((number, True))
                pending += [(part, False) for part in node.parts if part not in written]

    def _read(self, roots: Sequence[Any]) -> None:
        pending = [(root, self._children(root)) for root in roots]
        while pending:
            expression, children = pending[-1]
            number = expression.get_id()
            missing = [] if number in self._nodes else [c for c in children if c.get_id() not in self._nodes]
            if missing:
                pending += [(child, self._children(child)) for child in missing]
                continue
            pending.pop()
            if number not in self._nodes:
                self._nodes[number] = self._node(expression, children)

    def _children(self, expression: Any) -> list[Any]:
        """The operands of a term; of a quantified one its body, with a constant for the bound variable."""
        if not z3.is_quantifier(expression):
            children: list[Any] = expression.children()
            return children
        constant = z3.Const(expression.var_name(0), expression.var_sort(0))
        self._bound.add(expression.var_name(0))
        return [z3.substitute_vars(expression.body(), constant)]

    def _node(self, expression: Any, children: list[Any]) -> _Node:
        if z3.is_quantifier(expression):
            return self._quantified(expression, children[0])
        declaration = expression.decl()
        parts, free = tuple(child.get_id() for child in children), dict[str, str]()
        for part in parts:
            free |= self._nodes[part].free
        sort = expression.sort().sexpr()
        if declaration.kind() == z3.Z3_OP_UNINTERPRETED:
            head, number = symbol(declaration.name()), declaration.get_id()
            if not children and declaration.name() in self._bound:
                return _Node(expression, head, "", (), {head: sort})
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
        text = f"({head} {' '.join(self._nodes[child.get_id()].reference for child in children)})"
        if not any(z3.is_quantifier(child) or child.num_args() for child in children):
            return _Node(expression, text, "", parts, free)
        return _defined(expression, text, parts, free)

    def _quantified(self, expression: Any, body: Any) -> _Node:
        """A claim about every value of one bound variable."""
        node, name = self._nodes[body.get_id()], symbol(expression.var_name(0))
        text = f"(forall (({name} {expression.var_sort(0).sexpr()})) {node.reference})"
        free = {one: sort for one, sort in node.free.items() if one != name}
        return _defined(expression, text, (body.get_id(),), free)


def _defined(expression: Any, text: str, parts: tuple[int, ...], free: Mapping[str, str]) -> _Node:
    """A term with a definition of its own."""
    name = f"t{expression.get_id()}"
    line = f"(define-fun {name} ({_typed(free)}) {expression.sort().sexpr()} {text})"
    return _Node(expression, f"({name} {' '.join(free)})" if free else name, line, parts, free)


def _typed(free: Mapping[str, str]) -> str:
    """Bound variables as the arguments of a definition."""
    return " ".join(f"({name} {sort})" for name, sort in free.items())


def _head(declaration: Any) -> str:
    """The name of an operator of the theories."""
    name = "ite" if declaration.kind() == z3.Z3_OP_ITE else declaration.name()
    parameters = declaration.params()
    return f"(_ {name} {' '.join(map(str, parameters))})" if parameters else name
