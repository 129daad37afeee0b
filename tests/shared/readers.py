"""A reader of term graphs on ints, by the definition of the operators, and symbolic values to read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kraftcheck.model.language.layout import Flag, leaves, rebuild
from kraftcheck.model.language.terms import Graph, Term, evaluate


def int_reader(term: Term, values: Sequence[int]) -> int:
    """The value of a term by the definition of the operators."""
    found: dict[int, int | bool] = {}
    for node in term.graph.nodes[: term.index + 1]:
        if node.op == "const":
            found[node.index] = node.value
        elif node.op == "var":
            found[node.index] = values[node.value]
        else:
            arguments = [found[arg.index] for arg in node.args]
            if node.op == "ite":
                found[node.index] = arguments[1] if arguments[0] else arguments[2]
            else:
                found[node.index] = int(evaluate(node.op, [int(a) for a in arguments]))
    return int(found[term.index])


def values_of(graph: Graph, values: Sequence[int]) -> list[int]:
    """The value of every node of a graph, in one pass."""
    found: list[int] = []
    for node in graph.nodes:
        arguments = [found[arg.index] for arg in node.args]
        if node.op == "const":
            found.append(node.value)
        elif node.op == "var":
            found.append(int(values[node.value]))
        elif node.op == "ite":
            found.append(arguments[1] if arguments[0] else arguments[2])
        else:
            found.append(int(evaluate(node.op, arguments)))
    return found


def symbolic(graph: Graph, shape: Any) -> Any:
    """A value of a shape of domains whose leaves are new variables."""
    made = [
        graph.truth_variable(path) if isinstance(domain, Flag) else graph.variable(path, domain.lo, domain.hi)
        for path, domain in leaves(shape)
    ]
    feed = iter(made)
    return rebuild(shape, lambda: next(feed))


def read(value: Any, found: Sequence[int]) -> Any:
    """A traced value with every term replaced by its value, given those of all nodes."""
    feed = iter([leaf for _, leaf in leaves(value)])

    def concrete() -> Any:
        leaf = next(feed)
        if not isinstance(leaf, Term):
            return leaf
        return bool(found[leaf.index]) if leaf.is_truth else found[leaf.index]

    return rebuild(value, concrete)


def numbers(value: Any) -> list[int]:
    """The leaves of a concrete value as ints: what its variables stand for."""
    return [int(leaf) for _, leaf in leaves(value)]
