"""Constructors of properties, and the checks that keep a catalogue honest.

>>> always("small", "n stays below 5", lambda s: s < 5, refuted_by=("off-by-one",)).kind
'always'
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from kraftcheck.model.language.system import Conjuncts, Property, Step
from kraftcheck.model.language.terms import Truth


class CatalogueError(ValueError):
    """A catalogue with a duplicate, unknown or unfalsifiable entry."""


def always(
    id: str,  # noqa: A002
    sentence: str,
    predicate: Callable[[Any], Truth | Conjuncts],
    source: str = "",
    refuted_by: tuple[str, ...] = (),
    rules: tuple[str, ...] = (),
) -> Property:
    """An invariant: the predicate holds in every reachable state."""
    return Property(id, "always", sentence, predicate, source, refuted_by, rules=rules)


def step(
    id: str,  # noqa: A002
    sentence: str,
    predicate: Callable[[Step], Truth | Conjuncts],
    source: str = "",
    refuted_by: tuple[str, ...] = (),
    rules: tuple[str, ...] = (),
) -> Property:
    """An action property: the predicate holds of every reachable transition."""
    return Property(id, "step", sentence, predicate, source, refuted_by, rules=rules)


def sometimes(id: str, sentence: str, predicate: Callable[[Any], Truth | Conjuncts], source: str = "") -> Property:  # noqa: A002
    """A goal: some reachable state satisfies the predicate, else the run is vacuous."""
    return Property(id, "sometimes", sentence, predicate, source)


def happens(id: str, sentence: str, predicate: Callable[[Step], Truth | Conjuncts], source: str = "") -> Property:  # noqa: A002
    """A goal: some reachable transition satisfies the predicate, else the run is vacuous."""
    return Property(id, "happens", sentence, predicate, source)


def recovers(
    id: str,  # noqa: A002
    sentence: str,
    predicate: Callable[[Any], Truth | Conjuncts],
    source: str = "",
    refuted_by: tuple[str, ...] = (),
    rules: tuple[str, ...] = (),
    *,
    when: Callable[[Any], Truth | Conjuncts] | None = None,
    by: Mapping[str, Mapping[str, Any]] | None = None,
) -> Property:
    """It can always heal: from every reachable state some run leads to a state that satisfies the predicate.

    In CTL: AG (when -> EF predicate), where the runs after EF use only the actions
    in `by` (name to the argument values that it must have). Name there what heals
    without end, such as unfencing: then a way out never rests on a budget, or on an
    operator who gives the data up.
    """
    return Property(id, "recovers", sentence, predicate, source, refuted_by, when, by or {}, rules)


def validate(properties: Iterable[Property], variants: Collection[str]) -> tuple[Property, ...]:
    """The properties, if they form an honest catalogue.

    A refuting variant may be a combination, `a+b`, where `a` alone cannot be reached.

    Raises:
        CatalogueError: for a duplicate id, an unknown variant, or a
            claim that no variant refutes.
    """
    listed = tuple(properties)
    seen: set[str] = set()
    for claim in listed:
        if claim.id in seen:
            raise CatalogueError(f"property {claim.id} is listed twice")
        seen.add(claim.id)
        unknown = [n for variant in claim.refuted_by for n in variant.split("+") if n not in variants]
        if unknown:
            raise CatalogueError(f"property {claim.id} names the unknown variant {unknown[0]}")
        if claim.kind in ("always", "step", "recovers") and not claim.refuted_by:
            raise CatalogueError(f"property {claim.id} names no variant that refutes it: it may not be able to fail")
    return listed
