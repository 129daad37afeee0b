"""What is true of the sizes of finite sets, of every set whose size is asked for.

The axioms are those of `kraftcheck.solvers.smt.reading.sizes`, each said of all
members and of all that an outer place gives: Z3 chooses of which.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, permutations, product
from typing import Any

import z3
from attrs import frozen

from kraftcheck.solvers.smt.reading.quantified.sets import CountedSet

MOST_PARAMETERS = 2
"""Parameters of two sets that are compared: more are seldom needed, and cost much."""

MODEL_RESOURCES = 1_500_000
"""What Z3 may do to see that an axiom is true in a model; else it is said."""


def of_members(sets: Sequence[CountedSet]) -> list[Any]:
    """Members count, up to two; and a set of one, or of two, has as many."""
    return [axiom for counted in sets for axiom in _of_members(counted)]


def _of_members(counted: CountedSet) -> list[Any]:
    size, given, has = counted.size, counted.parameters, counted.has
    place, other = (z3.Int(name, size.ctx) for name in ("place", "other"))
    first, second = (_witness(f"{name} of {counted.number}", given, size.ctx) for name in ("member", "second member"))
    return [
        _every(given, size >= 0),
        _every(given, z3.Or(size < 1, has(first))),
        _every(given, z3.Or(size < 2, z3.And(has(first), has(second), first != second))),
        _every([*given, place], z3.Implies(has(place), size >= 1)),
        _every([*given, place, other], z3.Implies(z3.And(has(place), has(other), place != other), size >= 2)),
    ]


@frozen
class SizeAxioms:
    """What is true of the sizes of two sets, or of three.

    Attributes:
        numbers: of the sets.
        truths: in Z3.
    """

    numbers: tuple[int, ...]
    truths: tuple[Any, ...]

    def may_fail(self, model: z3.ModelRef, options: Mapping[str, Any]) -> bool:
        """Whether one of them is not shown to be true in a model."""
        return any(_may_fail(truth, model, options) for truth in self.truths)


def of_pairs(sets: Sequence[CountedSet]) -> Iterator[SizeAxioms]:
    """Of each two sets: who is larger has a member outside the other, or two; who lacks one is smaller, or has one."""
    for one, other in permutations(sets, 2):
        if len(one.parameters) + len(other.parameters) <= MOST_PARAMETERS:
            yield SizeAxioms((one.number, other.number), tuple(_of_pair(one, other.renamed("of the other"))))


def of_covers(sets: Sequence[CountedSet], model: z3.ModelRef) -> Iterator[SizeAxioms]:
    """Of each two sets that a model makes smaller together than a third: that has a member in neither.

    Sets that an outer place gives are left out.
    """
    single = [counted for counted in sets if not counted.parameters]
    size = {one.number: model.eval(one.size, model_completion=True).as_long() for one in single}
    for whole, (one, other) in product(single, combinations(single, 2)):
        if size[whole.number] > size[one.number] + size[other.number]:
            numbers = (whole.number, one.number, other.number)
            place = _witness(f"outside of both {numbers}", (), whole.size.ctx)
            outside = z3.And(whole.has(place), z3.Not(one.has(place)), z3.Not(other.has(place)))
            yield SizeAxioms(numbers, (z3.Or(whole.size <= one.size + other.size, outside),))


def _may_fail(truth: Any, model: z3.ModelRef, options: Mapping[str, Any]) -> bool:
    solver = z3.Solver(ctx=truth.ctx)
    solver.set(rlimit=MODEL_RESOURCES, **options)
    solver.add(z3.Not(model.eval(truth)))
    return bool(solver.check() != z3.unsat)


def _of_pair(one: CountedSet, other: CountedSet) -> list[Any]:
    given, context = [*one.parameters, *other.parameters], one.size.ctx
    names = f"outside of {one.number} and {other.number}"
    first, second = (_witness(f"{name}{names}", given, context) for name in ("", "second "))
    place = z3.Int("place", context)

    def beyond(at: Any) -> Any:
        return z3.And(one.has(at), z3.Not(other.has(at)))

    lacked = z3.And(other.has(place), z3.Not(one.has(place)))
    return [
        _every(given, z3.Or(one.size <= other.size, beyond(first))),
        _every([*given, place], z3.Or(one.size < other.size, z3.Not(lacked), beyond(first))),
        _every(given, z3.Or(one.size <= other.size + 1, z3.And(beyond(first), beyond(second), first != second))),
    ]


def _every(constants: Sequence[Any], truth: Any) -> Any:
    return z3.ForAll([*constants], truth) if constants else truth


def _witness(name: str, given: Sequence[Any], context: z3.Context) -> Any:
    """A place that some parameters give."""
    if not given:
        return z3.Int(name, context)
    return z3.Function(name, *(constant.sort() for constant in given), z3.IntSort(context))(*given)
