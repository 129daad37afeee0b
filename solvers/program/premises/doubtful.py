"""Whether a rule reads a collection that may have lost something: then what it says may be wrong, and it is refused.

A doubt counts only where it is read: in a branch that is taken, and beside no conjunct that decides alone. It is
settled where no values of the words that it and the premises read raise it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Container, Iterable, Mapping, Sequence

import numpy as np

from kraftcheck.model.language.collections import has_bit
from kraftcheck.model.language.layout import Domain
from kraftcheck.model.language.symbolic import UntraceableRule
from kraftcheck.model.language.terms import MASK_BITS, TRUTH_OPERATORS, WORD_OPERATORS, Graph, Term, Truth, lower
from kraftcheck.solvers.program.evaluation import closure
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.starts import Pair, Values, bounds_of
from kraftcheck.solvers.program.symbols import in_domain

COMPUTED = TRUTH_OPERATORS | WORD_OPERATORS | {"const", "ite"}
"""Operators whose value follows from those of their operands."""

MOST_ROWS, MOST_VALUES = 1 << 16, 1 << 8
"""Most values, of all words together that a doubt reads and of one of them, that are gone through."""


def check_program(program: Program) -> None:
    """Refuse a system whose claims, guards or effects read a collection where it may have lost something.

    Raises:
        UntraceableRule: naming the line of the operation.
    """
    if not program.graph.notes.doubts:
        return
    live = (*program.liveness.terms, *(term for one in program.recovers for term in (one.when, one.goal)))
    of_state = (*program.always_terms, *program.sometimes_terms, program.quiescent, *live, *program.starts.values())
    check_settled((*of_state, *program.initially.values(), *(() if program.within is None else (program.within,))))
    for kind in program.kinds:
        enabled = functools.reduce(_both, kind.guard.values(), program.graph.constant(True))
        check_settled([enabled])
        words = [(a, slot.domain) for a, slot in zip(kind.after, program.layout.slots, strict=True) if not a.is_truth]
        within = [truth(*word) for word in words for truth in (in_domain, _without_mark)]
        check_settled((*kind.after, *kind.steps, *kind.says), [enabled, *within])


def _without_mark(word: Term, domain: Domain) -> Term:
    """Of a mask in its domain the truth that it has not the bit above, which marks what was lost."""
    is_mask = domain.lo == 0 and domain.hi < 1 << MASK_BITS and domain.hi & (domain.hi + 1) == 0
    marked = is_mask and has_bit(lower(word), domain.hi.bit_length())
    return word.graph.lift(word.graph.negate(marked))


def _both(one: Term, other: Term) -> Term:
    return one.graph.lift(one.graph.apply("and", one, other))


def check_settled(terms: Iterable[Term], premises: Sequence[Term] = ()) -> None:
    """Refuse terms that read a collection where it may have lost something.

    Args:
        terms: what a rule answered.
        premises: truths without which nobody asks: of an effect its guard, and that the state is in its domains.

    Raises:
        UntraceableRule: naming the line of the operation.
    """
    for term in terms:
        doubts = term.graph.notes.doubts
        read = [one for one in closure([term]) if one.index in doubts] if doubts else []
        if read and not _is_always(_right(term.graph, term), premises):
            mend = "ask first whether it fits: choose() between it and what is true otherwise"
            raise UntraceableRule(f"{doubts[read[-1].index][1]}, and is read; {mend}")


def _right(graph: Graph, term: Term) -> Truth:
    """The truth that nothing is read of a collection that has lost something."""
    known: dict[int, Term] = {}
    for one in closure([term]):
        parts = [known[arg.index] for arg in one.args]
        whole = functools.reduce(_both, parts, graph.constant(True))
        if one.op in ("and", "or"):
            for arg, part in zip(one.args, parts, strict=True):
                alone = graph.lift(graph.negate(arg)) if one.op == "and" else arg
                whole = graph.lift(graph.apply("or", whole, _both(part, alone)))
        elif one.op == "ite":
            whole = _both(parts[0], graph.lift(graph.ite(one.args[0], *parts[1:])))
        if one.index in graph.notes.doubts:
            whole = _both(whole, graph.notes.doubts[one.index][0])
        known[one.index] = whole
    right: Truth = lower(known[term.index])
    return right


def _is_always(right: Truth, premises: Sequence[Term]) -> bool:
    """Whether a truth holds of all values of the words that it reads of which the premises hold."""
    if not isinstance(right, Term):
        return right
    chosen_by = {one.args[0].index for one in closure([right, *premises]) if one.op == "ite"}
    read, near = _inputs([right], chosen_by), list[Term]()
    for one in premises:  # to leave one out is to ask for more
        more = read | _inputs([one], chosen_by)
        if read.keys() & _inputs([one], chosen_by).keys() and _combinations(more) <= MOST_ROWS:
            read, near = more, [*near, one]
    if _combinations(read) > MOST_ROWS:
        return False
    grid = np.indices([one.hi - one.lo + 1 for one in read.values()]).reshape(len(read), -1)
    given = {index: _column(one, row) for (index, one), row in zip(read.items(), grid, strict=True)}
    pairs = bounds_of(closure([right, *near], given), given)
    wrong: Values = ~pairs[right.index][0]
    for one in near:
        wrong = wrong & pairs[one.index][1]
    return not wrong.any()


def _combinations(words: Mapping[int, Term]) -> int:
    return math.prod(one.hi - one.lo + 1 for one in words.values())


def _column(word: Term, row: Values) -> Pair:
    values = row.astype(np.bool_) if word.is_truth else (row + word.lo).astype(np.int64)
    return values, values


def _inputs(terms: Sequence[Term], chosen_by: Container[int]) -> dict[int, Term]:
    """The words of few values that terms read, and the truths about other words: whatever these are, they may hold.

    Args:
        terms: what reads.
        chosen_by: the conditions of choices; one about words of many values is taken as a whole.
    """
    large, wide = set[int](), set[int]()
    for one in closure(terms):
        small = one.op in COMPUTED or (one.op == "var" and one.hi - one.lo < MOST_VALUES)
        if not one.is_truth and (not small or any(arg.index in large for arg in one.args)):
            large.add(one.index)
        if one.index in large or any(arg.index in wide for arg in one.args):
            wide.add(one.index)
    found, pending, seen = dict[int, Term](), list(terms), set[int]()
    while pending:
        one = pending.pop()
        if one.index in seen:
            continue
        seen.add(one.index)
        whole = one.is_truth and one.index in wide and one.index in chosen_by
        if whole or one.op not in COMPUTED or any(arg.index in large for arg in one.args):
            found[one.index] = one
        else:
            pending += one.args
    return found
