"""Systems traced, explored by the native engine, and read on ints by the definition of the operators."""

import time
from collections.abc import Iterable, Sequence
from typing import Any

from attrs import evolve

from kraftcheck.model.language.layout import DomainError, Flag, leaves, rebuild
from kraftcheck.model.language.system import Property, System
from kraftcheck.model.language.terms import Graph, Term, evaluate
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget, explore
from kraftcheck.solvers.machine_code.compile import load_kernel
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.reference.confirm import successor


def traced(system: System, scope: str | None = None, *claims: Property) -> Program:
    """A system traced in a scope, with other properties where some are given."""
    chosen = evolve(system, properties=lambda _: claims) if claims else system
    return trace(chosen, chosen.setting(scope))


def explored(subject: System | Program, scope: str | None = None, **budget: Any) -> Exploration:
    """What a search finds of a system in a scope, or of a program."""
    program = subject if isinstance(subject, Program) else traced(subject, scope)
    return explore(program, SearchBudget(**budget), clock=time.perf_counter)


def agree_with_ints(program: Program, states: Iterable[tuple[int, ...]]) -> None:
    """Every action instance does the same in machine code and on ints, in each of some packed states.

    A step that is not enabled, or that would leave a field's domain, has no successor in either. Raises AssertionError
    with the instance that differs, and where there is no state to ask.
    """
    kernel, asked = load_kernel(program), 0
    for packed in states:
        native, state = dict(kernel.successors(packed)), program.layout.unpack(packed)
        for instance in range(program.instances):
            try:
                step = successor(program, state, instance)
            except DomainError:
                step = None
            expected = None if step is None else program.layout.pack(step.state)
            assert native.get(instance) == expected, program.instance(instance)
        asked += 1
    assert asked


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
