"""Sets of declared values, of which there may be more than one mask has bits for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Self

from attrs import evolve, frozen

from kraftcheck.model.language.algebra import MASK_BITS
from kraftcheck.model.language.collections.doubts import doubted, has_bit, undoubted
from kraftcheck.model.language.collections.numbering import check_member, outside, places, text_of
from kraftcheck.model.language.layout import LayoutError, ints
from kraftcheck.model.language.symbolic import described
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, apply, choose, largest, negate

_BITS = MASK_BITS - 1
"""Members in one mask; the bit above them is set by a value that is no member, and is outside the domain."""



@frozen
class SetOf:
    """A set of declared values: subclass it and name `members`, all values that it may have.

    Adding a value with numbers of no member leaves the domain, as any word does that grows too large, and no later
    operation brings the set back. Sets of two classes never meet, whatever members they have.

    Attributes:
        masks: the members, 61 in each mask.

    >>> class Colours(SetOf):
    ...     members = (1, 3, 5)
    >>> one = Colours.of([3])
    >>> one.has(3), one.has(5), one.plus(one.just(5)).size()
    (True, False, 2)
    """

    members: ClassVar[tuple[Any, ...]] = ()
    masks: tuple[Word, ...]

    @classmethod
    def domain(cls) -> Any:
        """The layout of every subset."""
        sizes = [len(cls.members[first : first + _BITS]) for first in range(0, len(cls.members), _BITS)]
        if not sizes:
            raise LayoutError(f"{cls.__name__} names no members; give the class `members = (...)`")
        return cls(tuple(ints(0, (1 << size) - 1) for size in sizes))

    @classmethod
    def of(cls, values: Iterable[Any]) -> Self:
        """The set of some values; raises LayoutError for one that is no member."""
        result = cls(tuple(0 for _ in cls.domain().masks))
        for value in values:
            check_member(cls.members, value)
            result = result.plus(result.just(value))
        return result

    def __iter__(self) -> Iterator[Any]:
        """The members of a concrete set, in the order of the list."""
        return (value for value in self.members if self.has(value))

    def __str__(self) -> str:
        """As traces print it."""
        return f"{{{', '.join(map(text_of, self))}}}"

    def possible(self) -> tuple[Any, ...]:
        """What may be a member."""
        return self.members

    def has(self, value: Any) -> Truth:
        """Whether a value is a member."""
        return any_of(*(
            all_of(there, apply("member", self.masks[place // _BITS], place % _BITS))
            for place, there in places(self.members, value)
        ))  # fmt: skip

    def just(self, value: Any) -> Self:
        """The set of this value only."""
        masks: list[Word] = [0 for _ in self.masks]
        found = list(places(self.members, value))
        for place, there in found:
            which = place // _BITS
            masks[which] = choose(there, 1 << place % _BITS, masks[which])
        masks[-1] = choose(outside(self.members, value, found), self._full() + 1, masks[-1])
        return evolve(self, masks=tuple(masks))._doubted()

    def none(self) -> Self:
        """The empty set."""
        return evolve(self, masks=tuple(0 for _ in self.masks))

    def plus(self, other: Self) -> Self:
        """The members of both."""
        others = evolve(other, masks=undoubted(self._same_class(other).masks))
        return evolve(self, masks=undoubted(self.masks))._by_mask("bor", others)._doubted()

    def _doubted(self) -> Self:
        """The set, whose words are right only where no value was undeclared."""
        if largest(self.masks[-1]) <= self._full():
            return self
        right = negate(has_bit(self.masks[-1], self._full().bit_length()))
        what = f"a {type(self).__name__} may have lost an undeclared value"
        return evolve(self, masks=doubted(self.masks, right, what))

    def minus(self, other: Self) -> Self:
        """The members that the other has not."""
        return self._by_mask("bclear", self._of_members(other))

    def keep(self, other: Self) -> Self:
        """The members that the other has too."""
        members, others = self._of_members(self), evolve(other, masks=undoubted(self._same_class(other).masks))
        common = members._by_mask("band", others)
        return common if members is self else common.plus(self._by_mask("bclear", members))

    def _by_mask(self, op: Any, other: Self) -> Self:
        masks = zip(self.masks, self._same_class(other).masks, strict=True)
        return evolve(self, masks=tuple(apply(op, a, b) for a, b in masks))

    def _of_members(self, other: Self) -> Self:
        """A set without the mark of a value that is no member; itself where it has none."""
        if largest(self._same_class(other).masks[-1]) <= self._full():
            return other
        *first, last = undoubted(other.masks)
        return evolve(other, masks=(*first, apply("band", last, self._full())))

    def _full(self) -> int:
        """The last mask of the set of all members."""
        return (1 << (len(self.members) - 1) % _BITS + 1) - 1

    def _same_class(self, other: Self) -> Self:
        if type(other) is not type(self):
            raise TypeError(f"a {type(self).__name__} meets {described(other)}; they have members of their own")
        return other

    def is_empty(self) -> Truth:
        """Whether there is no member."""
        return all_of(*(mask == 0 for mask in self.masks))

    def size(self) -> Word:
        """How many members there are."""
        return sum((apply("count", mask) for mask in self.masks), start=0)

    def within(self, other: Self) -> Truth:
        """Whether the other has every member."""
        return self.minus(other).is_empty()

    def same(self, other: Self) -> Truth:
        """Whether both have the same members."""
        return all_of(*(a == b for a, b in zip(self.masks, self._same_class(other).masks, strict=True)))
