"""Claims that no word of the domains can break, and goals that any word shows: they say nothing of the rules.

A truth is valid where it is true of all values of its variables. One point that is false ends it: some are drawn,
always the same ones. Then boxes of values are halved until intervals decide each of them
(`kraftcheck.solvers.program.starts`). A truth that this does not decide counts as one with content: nothing is called
vacuous that a state could break.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from kraftcheck.model.language.layout import Endless, Layout
from kraftcheck.model.language.system import Action, Property, Step
from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.solvers.program.evaluation import closure
from kraftcheck.solvers.program.parts import SystemFault, free_arguments
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.starts import WIDEST, TooWideError, bounds_of
from kraftcheck.solvers.program.symbols import state_symbols
from kraftcheck.solvers.program.verdict import Truths

BOXES = 1 << 12
"""Boxes at once, at most; a truth that takes more is not decided."""

POINTS = 1 << 9
"""Points that are drawn: most truths that are not valid are false of some."""


def without_content(program: Program, kept: frozenset[str]) -> frozenset[str]:
    """Ids of the properties that hold of every state, or of every step, that the domains allow; goals of states too.

    A claim about steps is asked of any two states: what the rules make true of steps is a claim about the rules.

    Args:
        program: traced, without hidden goals.
        kept: ids of claims that are not asked.
    """
    states = zip((*program.always, *program.sometimes), (*program.always_terms, *program.sometimes_terms), strict=True)
    found = {claim.id for claim, truth in states if claim.id not in kept and is_valid(truth)}
    left = [(n, claim) for n, claim in enumerate(program.steps) if claim.id not in kept and claim.initially is None]
    for kind in program.kinds:
        if left and (kind.instances or not program.layout.packed):
            of_any = _of_any_step(kind.action, program.layout)
            left = [(n, claim) for n, claim in left if _is_true(of_any, claim) and is_valid(kind.steps[n])]
    return frozenset(found | {claim.id for _, claim in left})


def _is_true(of_any: Callable[[Property], Term], claim: Property) -> bool:
    """Whether a claim is true of any step; one that can be asked of steps of the rules alone is about these."""
    try:
        return is_valid(of_any(claim))
    except SystemFault:
        return False


def _of_any_step(action: Action, layout: Layout) -> Callable[[Property], Term]:
    """What a claim about steps says of any two states of the domains and any arguments of an action."""
    truths = Truths(Graph(), ask_twice=False)
    if any(isinstance(slot.domain, Endless) for slot in layout.slots):
        return lambda _: truths.graph.constant(False)
    (_, before), (_, after) = (state_symbols(truths.graph, layout) for _ in range(2))
    arguments = free_arguments(action, truths.graph).arguments
    if action.parameters and not arguments:  # a parameter without values: it never happens
        return lambda _: truths.graph.constant(True)
    step = Step(before, after, action.name, arguments, action.outcome(before, arguments).event)
    return lambda claim: truths.claim(claim, step)


def is_valid(truth: Term) -> bool:
    """Whether a truth is known to be true, whatever its variables are worth."""
    if truth.op == "const":
        return bool(truth.value)
    nodes = closure([truth])
    variables = [node for node in nodes if node.op == "var"]
    if not variables or any(max(-node.lo, node.hi) >= WIDEST for node in nodes):
        return False
    low = np.array([[node.lo for node in variables]], dtype=np.int64)
    high = np.array([[node.hi for node in variables]], dtype=np.int64)
    try:
        return _holds_everywhere(truth, nodes, variables, low, high)
    except (TooWideError, ValueError):  # a word beyond 64 bits, an operator without intervals: not decided
        return False


def _holds_everywhere(
    truth: Term, nodes: Sequence[Term], variables: Sequence[Term], low: npt.NDArray[np.int64],
    high: npt.NDArray[np.int64],
) -> bool:  # fmt: skip
    """Draw points, then halve the boxes, a row each, until all are decided; False also where they become too many."""
    drawn = np.random.default_rng(0).integers(low[0], high[0], size=(POINTS, len(variables)), endpoint=True)
    if not _judged(truth, nodes, variables, drawn, drawn)[0].all():
        return False
    while len(low) <= BOXES:
        must, may = _judged(truth, nodes, variables, low, high)
        if not may.all() or not _judged(truth, nodes, variables, low, low)[0].all():
            return False
        low, high = low[~must], high[~must]
        if not len(low):
            return True
        rows, widest = np.arange(len(low)), np.argmax(high - low, axis=1)
        middle = low[rows, widest] + (high[rows, widest] - low[rows, widest]) // 2
        below, above = high.copy(), low.copy()
        below[rows, widest], above[rows, widest] = middle, middle + 1
        low, high = np.concatenate([low, above]), np.concatenate([below, high])
    return False


def _judged(
    truth: Term, nodes: Sequence[Term], variables: Sequence[Term], low: npt.NDArray[np.int64],
    high: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:  # fmt: skip
    """Of each box whether the truth must hold in it, and whether it may."""
    pairs = {
        node.index: (low[:, at].astype(bool), high[:, at].astype(bool)) if node.is_truth else (low[:, at], high[:, at])
        for at, node in enumerate(variables)
    }
    must, may = bounds_of(nodes, pairs)[truth.index]
    return np.broadcast_to(must, len(low)), np.broadcast_to(may, len(low))
