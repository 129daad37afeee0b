"""Collections of declared values: sets, maps and bags, and how their members are numbered."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

from attrs import evolve, frozen

from kraftcheck.model.language.layout import LayoutError, ints, leaves, rebuild
from kraftcheck.model.language.symbolic import Untold, class_of, described, no_number, place, record_fields
from kraftcheck.model.language.terms import MASK_BITS, Graph, Term, Truth, Word, lower
from kraftcheck.model.language.words import all_of, any_of, apply, choose, largest, negate, word


def minimum(*words: Word) -> Word:
    """The smallest of some words; Python's `min` would have to know them.

    >>> minimum(3, 1, 2)
    1
    """
    return _extreme(words, min, lambda a, b: a < b)


def maximum(*words: Word) -> Word:
    """The largest of some words; Python's `max` would have to know them.

    >>> maximum(3, 1, 2)
    3
    """
    return _extreme(words, max, lambda a, b: a > b)


def _extreme(words: Sequence[Word], end: Callable[[Iterable[int]], int], before: Callable[[Word, Word], Truth]) -> Word:
    """The first of some words by an order; `end` is the same on the ends of their intervals."""
    for one in words:
        if (kind := class_of(one)) is not None:
            raise TypeError(no_number(kind))
    first, *others = words
    for other in others:
        ends = zip(_ends(first), _ends(other), strict=True)
        first = _narrowed(choose(before(other, first), other, first), *map(end, ends))
    return first


def same_classes(a: Any, b: Any) -> bool:
    """Whether the records of two values of one shape are of the same classes; a record has a class of its own."""
    if isinstance(a, int):
        return True
    if isinstance(a, tuple):
        return all(map(same_classes, a, b))
    names = record_fields(type(a))
    if names is None:
        return True
    return type(a) is type(b) and all(same_classes(getattr(a, name), getattr(b, name)) for name in names)


def _ends(value: Word) -> tuple[int, int]:
    return (value.lo, value.hi) if isinstance(value, Term) else (value, value)


def _narrowed(value: Word, lo: int, hi: int) -> Word:
    """The word, which is known to be in an interval."""
    if not isinstance(value, Term):
        return value
    graph = value.graph
    return graph.apply("narrow", value, graph.constant(lo), graph.constant(hi))


def equal(a: Any, b: Any) -> Truth:
    """Whether two values of one shape are equal, in every word and truth; `==` on records would have to know them.

    Raises:
        TypeError: when they differ in shape, or in the classes of their records.

    >>> equal((1, (True, 2)), (1, (True, 2)))
    True
    """
    one, other = dict(leaves(a)), dict(leaves(b))
    if one.keys() != other.keys():
        raise TypeError(f"equal() of {described(a)} and {described(b)}, which differ in shape")
    if not same_classes(a, b):
        raise TypeError(f"equal() of {described(a)} and {described(b)}, which are of different classes")
    return all_of(*(one[path] == other[path] for path in one))


@functools.cache
def _numbers(members: tuple[Any, ...]) -> Mapping[Any, int]:
    numbers = {member: number for number, member in enumerate(members)}
    if not numbers or len(numbers) < len(members):
        raise LayoutError(f"a list of {len(members)} members has {len(numbers)} different ones; name each once")
    return numbers


def places(members: tuple[Any, ...], value: Any) -> Iterator[tuple[int, Truth]]:
    """The places where a value may be in a list, each with the truth that it is there.

    Args:
        members: different values.
        value: a value, whose words may be symbolic. With other numbers than all members it has no place.

    Raises:
        LayoutError: for a concrete value of which no member has the fields and texts.
        UntraceableRule: for a symbolic one.
    """
    among, numbers = symbolic(value), _numbers(members)
    if among is None and value in numbers:
        return iter([(numbers[value], True)])
    alike = [number for number, member in enumerate(members) if _may_equal(value, member)]
    if not alike and among is not None:
        raise among.graph.refusal(f"{described(value)} has other parts than each of the {len(members)} members: "
                                  f"{_some(members)}")  # fmt: skip
    if not alike:
        check_member(members, value)
    return iter([] if among is None else [(number, equal(value, members[number])) for number in alike])


def check_member(members: tuple[Any, ...], value: Any) -> None:
    """Raise LayoutError for a concrete value that is not in a list."""
    if value not in _numbers(members):
        raise LayoutError(f"{value!r} is not among the {len(members)} members: {_some(members)}")


def _may_equal(value: Any, member: Any) -> bool:
    """Whether a value has the parts of a member; its words may have other numbers."""
    one, other = dict(leaves(value)), dict(leaves(member))
    return (
        one.keys() == other.keys()
        and same_classes(value, member)
        and all(
            isinstance(other[path], int) if isinstance(leaf, int) else leaf == other[path] for path, leaf in one.items()
        )
    )


def _some(members: tuple[Any, ...]) -> str:
    return ", ".join(map(repr, members[:4])) + (", ..." if len(members) > 4 else "")


def has_text(value: Any) -> bool:
    """Whether the class of a value says how it is written, as sets and queues do."""
    return any("__str__" in vars(base) for base in type(value).__mro__[:-1])


def text_of(value: Any) -> str:
    """A value as traces print it: by its own text, where its class has one."""
    return str(value) if has_text(value) else repr(value)


def symbolic(value: Any) -> Term | None:
    """A symbolic word of a value; None where all are concrete."""
    return next((leaf for _, leaf in leaves(value) if isinstance(leaf, Term)), None)


def outside(members: tuple[Any, ...], value: Any, found: Iterable[tuple[int, Truth]] | None = None) -> Truth:
    """The truth that a value is not in the list: False where the intervals of its words say so.

    Args:
        members, value: as `places` takes them.
        found: what that gave, where it was asked already.
    """
    if symbolic(value) is None:
        return value not in _numbers(members)
    choices = [range(leaf.lo, leaf.hi + 1) if isinstance(leaf, Term) else (leaf,) for _, leaf in leaves(value)]
    if math.prod(map(len, choices)) <= len(members):
        values = itertools.product(*choices)
        if all(_rebuilt(value, one) in _numbers(members) for one in values):
            return False
    return negate(any_of(*(there for _, there in (places(members, value) if found is None else found))))


def _rebuilt(shape: Any, words: tuple[Any, ...]) -> Any:
    taken = iter(words)
    return rebuild(shape, lambda: next(taken))


_REFUSED = object()

_LOST = -1 << 55  # the first word of a map that has lost a value: below every domain, so that no cap covers it


@frozen
class Map(Untold):
    """A value for each declared key: subclass it and name `keys`.

    A value that is put for what is no key leaves the domain, and no later operation brings the map back.

    Attributes:
        values: the value of each key, in the order of `keys`.

    >>> class Votes(Map):
    ...     keys = ("a", "b")
    >>> votes = Votes.of({"a": 1, "b": 4}).put("a", 2)
    >>> votes.get("a"), str(votes)
    (2, '{a: 2, b: 4}')
    """

    keys: ClassVar[tuple[Any, ...]] = ()
    values: tuple[Any, ...]

    @classmethod
    def domain(cls, value: Any) -> Any:
        """The layout of every map to values of a layout.

        Raises:
            LayoutError: when a value may be as low as -2**55, which marks a map that has lost one.
        """
        lowest = min((leaf.lo for _, leaf in leaves(value)), default=0)
        if lowest <= _LOST:
            raise LayoutError(f"{cls.__name__}.domain() has values down to {lowest}; they are above -2**55, the mark "
                              f"of a map that has lost a value")  # fmt: skip
        return cls(tuple(value for _ in cls.keys))

    @classmethod
    def of(cls, values: Mapping[Any, Any] | Callable[[Any], Any]) -> Self:
        """The map with these values, or with what a function says of each key.

        Raises:
            LayoutError: when a mapping has other keys.
        """
        if isinstance(values, Mapping):
            if {*values} != {*cls.keys}:
                raise LayoutError(f"{cls.__name__}.of() has the keys {sorted(map(str, values))}, not {cls.keys}")
            values = values.__getitem__
        return cls(tuple(values(key) for key in cls.keys))

    def __str__(self) -> str:
        """As traces print it."""
        return f"{{{', '.join(f'{text_of(k)}: {text_of(v)}' for k, v in self.items())}}}"

    def items(self) -> Iterator[tuple[Any, Any]]:
        """Each key with its value."""
        return zip(self.keys, self.values, strict=True)

    def get(self, key: Any, otherwise: Any = _REFUSED) -> Any:
        """The value of a key.

        Args:
            key: a key, whose words may be symbolic.
            otherwise: the value for what is no key; without it, every value of a symbolic key must be one.

        Raises:
            LayoutError: when it may be no key, and `otherwise` is not given.
        """
        among = symbolic(key)
        if among is None and otherwise is _REFUSED:
            check_member(self.keys, key)
        if among is not None and otherwise is _REFUSED and outside(self.keys, key) is not False:
            raise among.graph.refusal(f"get() of {described(key)}, which may be no key; give get() an `otherwise`")
        result = self.values[0]
        if otherwise is not _REFUSED:
            words = self._doubted([word for _, word in leaves(otherwise)], self._has_lost())
            result = rebuild(otherwise, iter(words).__next__)
        for at, there in places(self.keys, key):
            result = choose(there, self.values[at], result)
        return result

    def put(self, key: Any, value: Any) -> Self:
        """The map with a value for a key; one for what is no key leaves the domain, for good."""
        lost, values = any_of(self._has_lost(), outside(self.keys, key)), list(self.values)
        for at, there in places(self.keys, key):
            values[at] = choose(there, value, values[at])
        words = [word for _, word in leaves(tuple(values))]
        for number in _first_number(words):
            words[number] = choose(lost, _LOST, words[number])
        return evolve(self, values=rebuild(self.values, iter(self._doubted(words, lost)).__next__))

    def _has_lost(self) -> Truth:
        """Whether a value was put for what is no key; truths have no room for a mark, and their doubts say so."""
        words = [word for _, word in leaves(self.values)]
        first = _first_number(words)
        return any_of(*(undoubted(words)[number] == _LOST for number in first),
                      *(negate(right) for right in rights(words) if not first))  # fmt: skip

    def _doubted(self, words: list[Any], lost: Truth) -> tuple[Any, ...]:
        what = f"a {type(self).__name__} may have been given a value for what is no key"
        return doubted(words, negate(lost), what, AWAY)


def _first_number(words: list[Any]) -> list[int]:
    """The place of the first word that is no truth, if there is one."""
    return [number for number, word in enumerate(words) if not is_truth(word)][:1]


AWAY = 1 << 16
"""How far a number may be from what it would be, had nothing been lost: a comparison is not decided by its ends."""


def doubted(words: Iterable[Any], right: Truth, what: str, away: int = 0) -> tuple[Any, ...]:
    """Words that are right where a truth is; themselves where it is true, or where all is known.

    Args:
        words: words of one collection.
        right: whether it has lost nothing.
        what: the collection, and what may have happened to it.
        away: how far they may be from right ones; 0 for masks, which are never negative.
    """
    if not isinstance(right, Term):
        return tuple(words)
    graph, said = right.graph, f"{place()}: {what}"
    return tuple(_doubted(graph, graph.lift(word), right, said, away) for word in words)


def _doubted(graph: Graph, word: Term, right: Term, said: str, away: int) -> Term:
    """A word of its own: an equal one may come from elsewhere, where nothing was lost. Of a truth: whether it is 1."""
    if word.is_truth:
        one = graph.lift(graph.ite(word, 1, 0))
        return graph.lift(graph.apply("eq", _doubted(graph, one, right, said, 1), graph.constant(1)))
    lo, hi = word.lo - away, word.hi + away
    twin = graph.intern("narrow", (word, graph.constant(lo), graph.constant(hi)), 0, lo, hi, False, right.index)
    graph.notes.doubts.setdefault(twin.index, (right, said))
    return twin


def undoubted(words: Iterable[Any]) -> tuple[Any, ...]:
    """The words without the doubts about them, for an operation to which what may be lost makes no difference."""
    return tuple(word.args[0] if is_doubted(word) else word for word in words)


def rights(words: Iterable[Any]) -> tuple[Truth, ...]:
    """The conditions under which those words are right that are right under a condition only."""
    return tuple(word.graph.notes.doubts[word.index][0] for word in words if is_doubted(word))


def is_truth(word: Any) -> bool:
    """Whether a word is a truth."""
    return word.is_truth if isinstance(word, Term) else isinstance(word, bool)


def is_doubted(word: Any) -> bool:
    """Whether a word is right under a condition only."""
    return isinstance(word, Term) and word.index in word.graph.notes.doubts


def has_bit(mask: Word, place: int) -> Truth:
    """Whether a mask has a bit, said of the masks that it is made of: most are known to be too small for it."""
    if not isinstance(mask, Term):
        return mask >> place & 1 == 1
    if mask.hi < 1 << place:
        return False
    graph, parts = mask.graph, [has_bit(lower(arg), place) for arg in mask.args if not arg.is_truth]
    match mask.op:
        case "narrow":
            return parts[0]
        case "ite":
            return graph.ite(mask.args[0], graph.lift(parts[0]), graph.lift(parts[1]))  # type: ignore[return-value]
        case "bor":
            return lower(graph.lift(graph.apply("or", *map(graph.lift, parts))))  # type: ignore[no-any-return]
        case "bclear":
            return lower(graph.lift(graph.apply("and", graph.lift(parts[0]), graph.lift(graph.negate(parts[1])))))  # type: ignore[no-any-return]
    return graph.apply("member", mask, graph.constant(place))


_BITS = MASK_BITS - 1
"""Members in one mask; the bit above them is set by a value that is no member, and is outside the domain."""


@frozen
class SetOf(Untold):
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
        """The values that may be members."""
        return self.members

    def has(self, value: Any) -> Truth:
        """Whether a value is a member."""
        return any_of(*(
            all_of(there, apply("member", self.masks[at // _BITS], at % _BITS))
            for at, there in places(self.members, value)
        ))  # fmt: skip

    def just(self, value: Any) -> Self:
        """The set of this value only."""
        masks: list[Word] = [0 for _ in self.masks]
        found = list(places(self.members, value))
        for at, there in found:
            which = at // _BITS
            masks[which] = choose(there, 1 << at % _BITS, masks[which])
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


@frozen
class Bag(Untold):
    """How many there are of each declared value: subclass it and name `members`.

    Attributes:
        counts: how many of each, in the order of `members`.

    >>> class Coins(Bag):
    ...     members = (1, 5)
    >>> Coins.of([5, 5]).remove(5).count(5)
    1
    """

    members: ClassVar[tuple[Any, ...]] = ()
    counts: tuple[Word, ...]

    @classmethod
    def domain(cls, most: int, *, cap: str = "") -> Any:
        """The layout of the bags with at most so many of each; `cap` as of `ints`."""
        return cls(tuple(ints(0, most, cap=cap) for _ in cls.members))

    @classmethod
    def of(cls, values: Iterable[Any]) -> Self:
        """The bag of some values; raises LayoutError for one that is no member."""
        result = cls(tuple(0 for _ in cls.members))
        for value in values:
            check_member(cls.members, value)
            result = result.add(value)
        return result

    def __iter__(self) -> Iterator[Any]:
        """The values of a concrete bag, each as often as it is in it."""
        return (value for value in self.members for _ in range(int(self.count(value))))

    def __str__(self) -> str:
        """As traces print it."""
        return f"[{', '.join(map(text_of, self))}]"

    def possible(self) -> tuple[Any, ...]:
        """The values that the bag may have."""
        return self.members

    def count(self, value: Any) -> Word:
        """How many there are of a value."""
        return sum((choose(there, self.counts[at], 0) for at, there in places(self.members, value)), start=0)

    def has(self, value: Any) -> Truth:
        """Whether there is one."""
        return self.count(value) > 0

    def add(self, value: Any) -> Self:
        """One more; one too many, or a value that is no member, leaves the domain, the latter for good."""
        return self._changed(value, 1)

    def remove(self, value: Any) -> Self:
        """One less; one that was not there leaves the domain for good."""
        return self._changed(value, -1)

    def _changed(self, value: Any, by: int) -> Self:
        counts = list(undoubted(self.counts))
        for at, there in places(self.members, value):
            old = counts[at]
            counts[at] = choose(old < 0, old, old + by * word(there))
        counts[0] = choose(outside(self.members, value), -1, counts[0])
        what = f"a {type(self).__name__} may have lost a value that was not declared, or was not in it"
        return evolve(self, counts=doubted(counts, all_of(*(count >= 0 for count in counts)), what, AWAY))

    def size(self) -> Word:
        """How many there are of all values."""
        return sum(self.counts, start=0)

    def is_empty(self) -> Truth:
        """Whether there is none."""
        return all_of(*(count == 0 for count in self.counts))
