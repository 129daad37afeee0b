"""Hypothesis strategies for states and arguments, generated from layouts and argument tables.

Each comes in three sorts: *legal* values are anywhere in their domains,
*boundary* values at the ends of them, *illegal* values have exactly one leaf
outside.

    @given(state=states(system.layout(setting)))
    @given(arguments=arguments(action))
    @given(reached=reachable(Integers(system, setting), steps=12))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from kraftcheck.model.language.layout import Domain, Flag, leaves, rebuild
from kraftcheck.model.language.system import Action
from kraftcheck.solvers.hypothesis.machine import CHOICES
from kraftcheck.solvers.reference.interpreter import Integers, permutation

Strategy = st.SearchStrategy

OUT_OF_RANGE = 1 << 70  # beyond every field, and beyond 64 bits
SORTS = ("legal", "boundary", "illegal")  # the sorts of values


def values(domain: Domain, sort: str = "legal") -> Strategy[Any]:
    """Values of one leaf.

    Args:
        domain: a `Range` or a `Flag`.
        sort: one of `SORTS`. Illegal truths are ints, for a truth has no value outside its domain.

    Raises:
        ValueError: for another sort.
    """
    lo, hi = domain.lo, domain.hi
    if sort == "illegal":
        return st.sampled_from([lo - 1, hi + 1, lo - OUT_OF_RANGE, hi + OUT_OF_RANGE])
    if isinstance(domain, Flag):
        strategy: Strategy[Any] = st.sampled_from([bool(value) for value in range(lo, hi + 1)])
    elif sort == "boundary":
        strategy = st.sampled_from(sorted({lo, min(lo + 1, hi), max(hi - 1, lo), hi}))
    else:
        strategy = st.integers(lo, hi)
    if sort not in SORTS:
        raise ValueError(f"{sort!r} is none of {', '.join(SORTS)}")
    return strategy


@st.composite
def states(draw: st.DrawFn, shape: Any, sort: str = "legal") -> Any:
    """States of a layout's shape, reachable or not.

    Args:
        shape: what `System.layout` returns; any record or tuple of domains will do.
        sort: one of `SORTS`.
    """
    domains = [domain for _, domain in leaves(shape)]
    sorts = ["legal" if sort == "illegal" else sort] * len(domains)
    if sort == "illegal":
        sorts[draw(st.integers(0, len(domains) - 1))] = sort
    chosen = iter([draw(values(domain, sort_)) for domain, sort_ in zip(domains, sorts, strict=True)])
    return rebuild(shape, lambda: next(chosen))


@st.composite
def arguments(draw: st.DrawFn, action: Action, sort: str = "legal") -> dict[str, Any]:
    """Arguments of an action.

    Legal ones are from its table, boundary ones the first or last value of each
    parameter. Illegal ones have the shape of a value of the table and one leaf
    that no value of the table has.

    Args:
        action: with at least one value for each parameter.
        sort: one of `SORTS`.

    Raises:
        ValueError: for illegal arguments of an action that takes none.
    """
    tables: Mapping[str, Sequence[Any]] = action.parameters
    ends = {name: [table[0], table[-1]] if sort == "boundary" else list(table) for name, table in tables.items()}
    chosen = {name: draw(st.sampled_from(of)) for name, of in ends.items()}
    if sort == "illegal":
        if not tables:
            raise ValueError(f"action {action.name} takes no arguments, so none are illegal")
        name = draw(st.sampled_from(sorted(tables)))
        chosen[name] = draw(_illegal_argument(tables[name]))
    return chosen


@st.composite
def _illegal_argument(draw: st.DrawFn, table: Sequence[Any]) -> Any:
    """A value of a table with one leaf outside what the table spans."""
    columns = list(zip(*([int(leaf) for _, leaf in leaves(value)] for value in table), strict=True))
    position = draw(st.integers(0, len(columns) - 1))
    row = [leaf for _, leaf in leaves(draw(st.sampled_from(list(table))))]
    lo, hi = min(columns[position]), max(columns[position])
    row[position] = draw(st.sampled_from([lo - 1, hi + 1, lo - OUT_OF_RANGE, hi + OUT_OF_RANGE]))
    feed = iter(row)
    return rebuild(table[0], lambda: next(feed))


@st.composite
def moves(draw: st.DrawFn, engine: Integers, state: Any) -> Any:
    """An enabled instance in a state; None where there is none."""
    order, row = draw(CHOICES), draw(CHOICES)
    kinds = permutation(len(engine.actions), order)
    enabled = (engine.first_enabled(state, kind, row) for kind in kinds)
    return next((move for move in enabled if move is not None), None)


@st.composite
def reachable(draw: st.DrawFn, engine: Integers, steps: int = 12) -> Any:
    """States that a random run of at most so many steps reaches; a step that leaves a domain ends it."""
    state = draw(st.sampled_from(engine.initial))
    for _ in range(draw(st.integers(0, steps))):
        move = draw(moves(engine, state))
        if move is None:
            return state
        after = engine.take(state, move).step.after
        if engine.field_outside(after) is not None:
            return state
        state = after
    return state
