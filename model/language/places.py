"""Items at places that a rule computes: tuples, maps and queues, and claims about each of some items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Self

from attrs import evolve, frozen

from kraftcheck.model.language.anynumber import AnySet, PerBroker
from kraftcheck.model.language.collections import AWAY, Map, doubted, equal, text_of, undoubted
from kraftcheck.model.language.layout import UNBOUNDED, LayoutError, ints, leaves, rebuild
from kraftcheck.model.language.sequences import cardinality, every, is_one_of
from kraftcheck.model.language.symbolic import OfAnyNumber, Untold, check_place, described
from kraftcheck.model.language.system import spelled
from kraftcheck.model.language.terms import Term, Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate, pick, word

_REFUSED = object()
_MEND = "give it the value for places outside: otherwise="


def get(items: Sequence[Any] | PerBroker, *places: Word, otherwise: Any = _REFUSED) -> Any:
    """The item of a tuple at a place, or of a tuple of tuples at several.

    Args:
        items: a tuple of values of one shape, or a map of any number.
        places: a place for each level, from 0 on.
        otherwise: the value where a place is outside; without it, no place may be outside.

    Raises:
        IndexError: when a place may be outside, and `otherwise` is not given.
        UntraceableRule: when it may be, of a map of any number, and `otherwise` is not given.

    >>> get(((7, 8), (9, 6)), 1, 0), get((7, 8), 2, otherwise=0)
    (9, 0)
    """
    place, *inner = places
    check_place(place)
    if isinstance(items, PerBroker):
        return _get_of_any_number(items, place, inner, otherwise)
    if otherwise is _REFUSED:
        _check(items, place)
    values = [get(item, *inner, otherwise=otherwise) if inner else item for item in items]
    return pick(values, place, values[0] if otherwise is _REFUSED else otherwise)


def put(items: Any, place: Word | tuple[Word, ...], value: Any) -> Any:
    """The tuple with a value at a place, or in a tuple of tuples at several; elsewhere as it was.

    A place outside changes nothing, as with TLA+'s `EXCEPT`.

    Args:
        items: a tuple of values of one shape, or a map of any number.
        place: a place from 0 on, or a tuple of them, one for each level.
        value: what is put there.

    >>> put((1, 2, 3), 1, 9), put(((1, 2), (3, 4)), (1, 0), 9)
    ((1, 9, 3), ((1, 2), (9, 4)))
    """
    first, *inner = place if isinstance(place, tuple) else (place,)
    check_place(first)
    if isinstance(items, PerBroker):
        changed = items.put(first, put(items.at(first), tuple(inner), value) if inner else value)
        return changed if _is_a_number(first, items) else choose(is_one_of(first, items.number), changed, items)
    return tuple(
        choose(first == number, put(item, tuple(inner), value) if inner else value, item)
        for number, item in enumerate(items)
    )


def _get_of_any_number(items: PerBroker, place: Word, inner: Sequence[Word], otherwise: Any) -> Any:
    """The item of a map of any number: `otherwise` at places that are none of its numbers."""
    lo, hi = _ends(place)
    if otherwise is _REFUSED and not (lo >= 0 and _is_a_number(place, items)):
        raise items.graph.refusal(
            f"get() at the place {spelled(lo)}..{spelled(hi)} of a map of any number, which may have fewer; {_MEND}"
        )
    if hi < 0:
        return otherwise
    item = items.at(place)
    found = get(item, *inner, otherwise=otherwise) if inner else item
    if otherwise is _REFUSED:
        return found
    if isinstance(found, AnySet | PerBroker) and type(found) is not type(otherwise):
        raise items.graph.refusal(f"the item is {described(found)}; give get() such a one as its `otherwise`")
    return choose(all_of(place >= 0, is_one_of(place, items.number)), found, otherwise)


def _is_a_number(place: Any, items: PerBroker) -> bool:
    """Whether a place that is not negative is one of a map's numbers, whatever number there is.

    An argument, a field and a value that are below the same number are, a bound place and a first member, and what is
    not larger than one of these.
    """
    if items.number is None or _ends(place)[1] < items.number.lo:
        return True
    match getattr(place, "op", "const"):
        case "var" | "read":
            symbol = place.args[0] if place.op == "read" else place
            return place.graph.notes.below.get(symbol.index) is items.number
        case "bound" | "least_by" if place.hi >= UNBOUNDED:
            notes = place.graph.notes  # the set that a member is of may be made of others, of which no number is known
            return notes.below[place.index] is items.number if place.index in notes.below else len(notes.numbers) == 1
        case "ite":
            return all(_is_a_number(one, items) for one in place.args[1:])
        case "narrow":
            return _is_a_number(place.args[0], items)
        case "sub":
            return bool(place.args[1].lo >= 0) and _is_a_number(place.args[0], items)
    return False


def _ends(place: Word) -> tuple[int, int]:
    return (place.lo, place.hi) if isinstance(place, Term) else (place, place)


def _check(items: Sequence[Any], place: Word) -> None:
    lo, hi = _ends(place)
    if lo < 0 or hi >= len(items):
        where = spelled(lo) if lo == hi else f"{spelled(lo)}..{spelled(hi)}"
        message = f"get() at the place {where} of {len(items)} items; {_MEND}"
        raise place.graph.refusal(message) if isinstance(place, Term) else IndexError(message)


@frozen
class Queue(Untold):
    """Items in order, the head first: subclass it where items are records, or where 0 is no item.

    One item too many, and the tail of no item, leave the domain of `size`, and no later operation brings it back: the
    queue has lost an item. Places beyond the items hold `vacant`, so that equal queues are equal states.

    Attributes:
        vacant: the content of an empty place, a value of the items' domain; a class attribute.
        size: how many items there are.
        items: a place for each item.

    >>> inbox = Queue.of([4, 5], 3).append(4)
    >>> str(inbox), inbox.head(), str(inbox.tail())
    ('<4, 5, 4>', 4, '<5, 4>')
    """

    vacant: ClassVar[Any] = 0
    size: Word
    items: tuple[Any, ...]

    @classmethod
    def domain(cls, item: Any, capacity: int, *, cap: str = "") -> Any:
        """The layout of the queues of at most so many items of a layout; `cap` as of `ints`."""
        return cls(ints(0, capacity, cap=cap), (item,) * capacity)

    @classmethod
    def of(cls, items: Iterable[Any], capacity: int) -> Self:
        """The queue of some items; raises LayoutError for more than its capacity."""
        values = tuple(items)
        if len(values) > capacity:
            raise LayoutError(f"{len(values)} items in a queue of at most {capacity}")
        return cls(len(values), values + (cls.vacant,) * (capacity - len(values)))

    def __iter__(self) -> Iterator[Any]:
        """The items of a concrete queue; raises UntraceableRule where a rule asks for them."""
        if isinstance(self.size, Term):
            raise self.size.graph.refusal(
                f"a {type(self).__name__} was gone through; use each(), some(), count() or has()"
            )
        return iter(self.items[: int(self.size)])

    def __str__(self) -> str:
        """As traces print it."""
        return f"<{', '.join(map(text_of, self))}>"

    def is_empty(self) -> Truth:
        """Whether there is no item."""
        return self.size == 0

    def is_full(self) -> Truth:
        """Whether there is no place for another item."""
        return self.size == len(self.items)

    def head(self) -> Any:
        """The first item; `vacant` where there is none."""
        words = [word for _, word in leaves(self.items[0])]
        feed = iter(doubted(words, negate(self._has_lost(self.size)), self._said, AWAY))
        return rebuild(self.items[0], lambda: next(feed))

    def append(self, item: Any) -> Self:
        """The queue with one more item at its end."""
        return evolve(self, size=self._sized(1), items=put(self.items, undoubted([self.size])[0], item))

    def tail(self) -> Self:
        """The queue without its first item."""
        return evolve(self, size=self._sized(-1), items=(*self.items[1:], self.vacant))

    def _sized(self, by: int) -> Word:
        """The size after an operation; one outside stays as it is."""
        (old,) = undoubted([self.size])
        size = choose(self._has_lost(old), old, old + by)
        found: Word = doubted([size], negate(self._has_lost(size)), self._said, AWAY)[0]
        return found

    @property
    def _said(self) -> str:
        return f"a {type(self).__name__} may have had one item too many, or none to lose"

    def _has_lost(self, size: Word) -> Truth:
        return any_of(size < 0, size > len(self.items))

    def has(self, item: Any) -> Truth:
        """Whether an item is in the queue."""
        return any_of(*(all_of(place < self.size, equal(one, item)) for place, one in enumerate(self.items)))


def each(items: Any, claim: Callable[[Any], Truth]) -> Truth:
    """The truth that a claim holds of each member.

    Args:
        items: a range, a tuple, a queue, a set, or a set of any size, which only provers take.
        claim: a function of a member.

    >>> each(range(3), lambda b: b < 3), each((), lambda b: False)
    (True, True)
    """
    if isinstance(items, AnySet):
        return every(items.graph, lambda place: implies(items.has(place), _of_member(items, claim, place)))
    return all_of(*(implies(member, claim(item)) for item, member in _members(items)))


def some(items: Any, claim: Callable[[Any], Truth]) -> Truth:
    """The truth that a claim holds of some member; arguments as of `each`.

    >>> some((1, 5), lambda x: x == 5), some((), lambda x: True)
    (True, False)
    """
    if isinstance(items, AnySet):
        return negate(each(items, lambda place: negate(claim(place))))
    return any_of(*(all_of(member, claim(item)) for item, member in _members(items)))


def count(items: Any, claim: Callable[[Any], Truth]) -> Word:
    """How many members a claim holds of; arguments as of `each`.

    >>> count((1, 5, 7), lambda x: x > 2)
    2
    """
    if isinstance(items, AnySet):
        return cardinality(items.graph, lambda place: all_of(items.has(place), _of_member(items, claim, place)))
    return sum((word(all_of(member, claim(item))) for item, member in _members(items)), start=0)


def _of_member(items: AnySet, claim: Callable[[Any], Truth], place: Any) -> Truth:
    """What a claim says of a member, of which is noted below which number it is, where that is known."""
    below = items.graph.notes.below
    if items.members.number is not None:
        below[place.index] = items.members.number
    try:
        return claim(place)
    finally:
        below.pop(place.index, None)


def _members(items: Any) -> Iterator[tuple[Any, Truth]]:
    """What may be a member, each with the truth that it is."""
    if isinstance(items, Queue):
        return ((item, place < items.size) for place, item in enumerate(items.items))
    mask = getattr(items, "mask", None)
    if mask is not None:
        highest = mask.hi if isinstance(mask, Term) else mask
        return ((number, items.has(number)) for number in range(highest.bit_length()))
    if hasattr(items, "possible"):
        return ((item, items.has(item)) for item in items.possible())
    if isinstance(items, OfAnyNumber | Map):
        what, mend = (described(items), "keys(map)") if isinstance(items, OfAnyNumber) else (
            f"a {type(items).__name__}", "its keys, or its values")  # fmt: skip
        raise TypeError(f"each(), some() or count() of {what}; go through {mend}")
    whole: Iterable[Any] = items
    return ((item, True) for item in whole)
