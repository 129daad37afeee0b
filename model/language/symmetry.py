"""Symmetries: elements of a system that can be renamed without changing its behaviour.

A system declares for each kind of element which fields of its state name
elements, and how; everything here follows from that and the paths of the
layout. The functions are rules: they run on ints and on terms.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from kraftcheck.model.language.words import all_of, any_of, apply, choose

MOST_MEMBERS = 5  # largest number of elements that fields may name by number: every order of them is tried
Values = Sequence[Any]  # the leaves of a state, words or truths, in the order of the layout's slots


class SymmetryError(ValueError):
    """A declared symmetry that does not fit the layout, or that the system does not have."""


@frozen
class Symmetry:
    """Elements 0..size-1 that can be renamed. Fields are named by path; `[*]` stands for any index.

    Attributes:
        name: what they are, for messages.
        sets: masks with a bit for each element.
        members: words that name an element, each with the value that stands for element 0;
            values outside first..first+size-1 name none.
        tuples: tuples with an item for each element, of whatever shape.
    """

    name: str
    size: int
    sets: tuple[str, ...] = ()
    members: Mapping[str, int] = field(factory=dict)
    tuples: tuple[str, ...] = ()

    def swaps(self) -> Iterator[tuple[int, ...]]:
        """The exchanges of neighbours, which generate every order: at place i the new number of element i."""
        for i in range(self.size - 1):
            yield (*range(i), i + 1, i, *range(i + 2, self.size))


@frozen
class SymmetryFields:
    """A symmetry with the places of its fields in a layout."""

    symmetry: Symmetry  # what is renamed
    paths: tuple[str, ...]  # of all slots
    _sets: frozenset[int] = field(init=False)
    _members: Mapping[int, int] = field(init=False)
    _sources: Mapping[tuple[int, ...], tuple[int, ...]] = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        """Find the fields; refuse a name that none has, or too many elements."""
        symmetry = self.symmetry
        if symmetry.members and symmetry.size > MOST_MEMBERS:
            raise SymmetryError(f"symmetry of {symmetry.name}: {symmetry.size} elements; at most {MOST_MEMBERS}")
        members = {place: first for name, first in symmetry.members.items() for place in self._places(name)}
        object.__setattr__(self, "_sets", frozenset(p for name in symmetry.sets for p in self._places(name)))
        object.__setattr__(self, "_members", members)
        for name in symmetry.tuples:
            items = {int(m[1]) for path in self.paths if (m := re.match(_pattern(name) + r"\[(\d+)\]", path))}
            if items != set(range(symmetry.size)):
                raise SymmetryError(f"symmetry of {symmetry.name}: {name} is no tuple of {symmetry.size} items")
        object.__setattr__(self, "_sources", {order: self._from(order) for order in self.orders()})

    def orders(self) -> Iterator[tuple[int, ...]]:
        """The orders that `image` takes: all where fields name elements by number, else those of `swaps`."""
        permutations = itertools.permutations(range(self.symmetry.size))
        return permutations if self.symmetry.members else self.symmetry.swaps()

    def _from(self, order: tuple[int, ...]) -> tuple[int, ...]:
        """For each slot, the slot whose value it has after every element i became `order[i]`."""
        where = {path: place for place, path in enumerate(self.paths)}
        back = {new: old for old, new in enumerate(order)}
        return tuple(where[self._source(path, back)] for path in self.paths)

    def _places(self, name: str) -> list[int]:
        places = [place for place, path in enumerate(self.paths) if re.fullmatch(_pattern(name), path)]
        if not places:
            raise SymmetryError(f"symmetry of {self.symmetry.name}: the layout has no field {name}")
        return places

    def image(self, values: Values, order: tuple[int, ...]) -> list[Any]:
        """The leaves after every element i became `order[i]`, an order of `orders`."""
        moved = [self._renamed(place, value, order) for place, value in enumerate(values)]
        return [moved[source] for source in self._sources[order]]

    def _renamed(self, place: int, value: Any, order: tuple[int, ...]) -> Any:
        if place in self._sets:
            bits: Any = 0
            for old, new in enumerate(order):
                bits = bits | choose(apply("member", value, old), 1 << new, 0)
            return bits
        if place in self._members:
            first, renamed = self._members[place], value
            for old, new in enumerate(order):
                if old != new:
                    renamed = choose(value == first + old, first + new, renamed)
            return renamed
        return value

    def _source(self, path: str, back: Mapping[int, int]) -> str:
        for name in self.symmetry.tuples:
            path = re.sub(f"^({_pattern(name)})" + r"\[(\d+)\]", lambda m: f"{m[1]}[{back[int(m[2])]}]", path)
        return path

    def canonical(self, values: Values) -> list[Any]:
        """The state that stands for all that differ by the order of elements.

        Where fields name elements by number, the least of all images, leaf by
        leaf. Else neighbours are exchanged while that makes the state less,
        which sorts the elements by what the state says of each.
        """
        canonical_ = list(values)
        if self.symmetry.members:
            for order in self.orders():
                canonical_ = _less(self.image(values, order), canonical_)
            return canonical_
        swaps = list(self.symmetry.swaps())
        for last in range(len(swaps), 0, -1):
            for order in swaps[:last]:
                canonical_ = _less(self.image(canonical_, order), canonical_)
        return canonical_


def _pattern(name: str) -> str:
    return re.escape(name).replace(re.escape("[*]"), r"\[\d+\]")


def _less(a: list[Any], b: list[Any]) -> list[Any]:
    """The lesser of two states, by the first leaf that differs; leaves that are the same term are left out."""
    differ = [(x, y) for x, y in zip(a, b, strict=True) if x is not y]
    less: Any = False
    for x, y in reversed(differ):
        low, high = (choose(x, 1, 0), choose(y, 1, 0)) if _truth(x) else (x, y)
        less = any_of(low < high, all_of(low == high, less))
    return [x if x is y else choose(less, x, y) for x, y in zip(a, b, strict=True)]


def _truth(value: Any) -> bool:
    return isinstance(value, bool) or bool(getattr(value, "is_truth", False))
