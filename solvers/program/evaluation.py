"""Evaluation of terms on ints, by the definition of the operators: slow, and part of no compiled engine."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, MutableMapping, Sequence

from kraftcheck.model.language.terms import Term, evaluate

Values = Mapping[int, int]  # value of each term by its index


def closure(roots: Iterable[Term], computed: Container[int] = ()) -> list[Term]:
    """The terms that the roots need, arguments first, without those that are computed already."""
    visited = set[int]()
    needed: list[Term] = []
    pending = [root for root in roots if root.index not in computed]
    while pending:
        term = pending.pop()
        if term.index in visited:
            continue
        visited.add(term.index)
        needed.append(term)
        pending.extend(arg for arg in term.args if arg.index not in visited and arg.index not in computed)
    return sorted(needed, key=lambda term: term.index)


def conjuncts(truths: Iterable[Term]) -> list[Term]:
    """The truths of which a conjunction consists, in order, each once, without those that are always so."""
    pending, seen, found = [*truths][::-1], set[int](), list[Term]()
    while pending:
        term = pending.pop()
        if term.index in seen:
            continue
        seen.add(term.index)
        if term.op == "and":
            pending += reversed(term.args)
        elif term.op != "const" or not term.value:
            found.append(term)
    return found


def evaluated(roots: Sequence[Term], variables: Values) -> dict[int, int]:
    """The values of the roots and of all they need, given those of the variables."""
    values = dict(variables)
    add_values(roots, values)
    return values


def add_values(roots: Iterable[Term], values: MutableMapping[int, int]) -> None:
    """Add the values of the roots, and of all they need, to those that are there."""
    for node in closure(roots, values):
        values[node.index] = value_of(node, [values[arg.index] for arg in node.args])


def evaluator(root: Term) -> Callable[[Values], int]:
    """The value of one term as a function of those of the variables; its order is found once."""
    order = [node for node in closure([root]) if node.op != "var"]

    def value(variables: Values) -> int:
        values = dict(variables)
        for node in order:
            values[node.index] = value_of(node, [values[arg.index] for arg in node.args])
        return values[root.index]

    return value


def value_of(node: Term, args: Sequence[int]) -> int:
    """The value of a term that is no variable, given those of its arguments."""
    match node.op:
        case "const":
            return node.value
        case "ite":
            return args[1] if args[0] else args[2]
    return int(evaluate(node.op, args))
