"""Kinds of collections, each with what it is in the language and as one of Python's own collections.

An operation of the plain reading raises `LostError` where the collection of the language has no room for what Python's
holds.
"""

from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

import kraftcheck as kc
from kraftcheck.model.language.layout import subset_of

NUMBERS = 4  # operands are numbers below it; the last stands for no declared value, item or key

CAPACITY = 2  # items of a queue


class LostError(Exception):
    """A collection that lost something."""


class Pairs(kc.SetOf):
    """A set of pairs, which lacks the last."""

    members = tuple((n, 1) for n in range(NUMBERS - 1))


class Many(kc.SetOf):
    """A set of so many values that it has two masks."""

    members = tuple((n, 1) for n in (*range(10, 70), *range(NUMBERS - 1)))


class Coins(kc.Bag):
    """A bag of pairs, which lacks the last."""

    members = tuple((n, 1) for n in range(NUMBERS - 1))


class Letters(kc.Queue):
    """A queue of pairs."""

    vacant = (0, 0)


class Votes(kc.Map):
    """A map from pairs, which lacks the last."""

    keys = tuple((n, 1) for n in range(NUMBERS - 1))


def pair(number: Any) -> Any:
    """The pair of a number, which is declared for all but the last."""
    return (number, 1)


@frozen
class Way:
    """An operation or a question: of the language and of Python, of a collection and a number."""

    rule: Callable[[Any, Any], Any]
    plain: Callable[[Any, Any], Any]


@frozen
class Kind:
    """A kind of collection."""

    layout: Callable[[], Any]  # its layout, which may have a cap
    # empty, plain: the first value, of the language and of Python
    empty: Any
    plain: Any
    # operations, questions: by name; what a question answers is a word or a truth
    operations: Mapping[str, Way]
    questions: Mapping[str, Way]
    shown: Callable[[Any], Any]  # a collection of the language as one of Python
    # whether a plain one is outside the layout, and by a bound that may be a cap
    outside: Callable[[Any], bool] = lambda plain: False
    capped: bool = False  # whether the layout has a reason for its bound


def _append(queue: Any, item: Any) -> Any:
    if len(queue) >= CAPACITY:
        raise LostError
    return (*queue, item)


def _tail(queue: Any, _: Any) -> Any:
    rest = deque(queue)
    try:
        rest.popleft()
    except IndexError:
        raise LostError from None
    return tuple(rest)


def queue(of: type[kc.Queue], item: Any, value: Callable[[Any], Any]) -> Kind:
    """A queue of numbers, or of what a function makes of them."""
    append = Way(lambda q, n: q.append(value(n)), lambda q, n: _append(q, value(n)))
    tail = Way(lambda q, n: q.tail(), _tail)
    return Kind(
        lambda: of.domain(item, CAPACITY), of.of([], CAPACITY), (),
        {
            "append": append, "tail": tail,
            "append, tail": Way(lambda q, n: q.append(value(n)).tail(), lambda q, n: _tail(_append(q, value(n)), n)),
            "tail, append": Way(lambda q, n: q.tail().append(value(n)), lambda q, n: _append(_tail(q, n), value(n))),
            "append unless full": Way(
                lambda q, n: kc.choose(q.is_full(), q, q.append(value(n))),
                lambda q, n: q if len(q) >= CAPACITY else _append(q, value(n)),
            ),
            "tail unless empty": Way(
                lambda q, n: kc.choose(q.is_empty(), q, q.tail()), lambda q, n: q if not q else _tail(q, n)
            ),
        },
        {
            "has": Way(lambda q, n: q.has(value(n)), lambda q, n: value(n) in q),
            "size": Way(lambda q, n: q.size > n, lambda q, n: len(q) > n),
            "head": Way(
                lambda q, n: kc.all_of(q.size > 0, kc.equal(q.head(), value(n))), lambda q, n: q[:1] == (value(n),)
            ),
        },
        tuple,
    )  # fmt: skip


def _added(bag: Any, value: Any, by: int) -> Any:
    if value not in Coins.members:
        raise LostError
    counts = Counter(dict(bag))
    counts[value] += by
    if counts[value] < 0:
        raise LostError
    return frozenset((+counts).items())


def bag(cap: str = "") -> Kind:
    """A bag with at most two of each."""
    add = Way(lambda b, n: b.add(pair(n)), lambda b, n: _added(b, pair(n), 1))
    remove = Way(lambda b, n: b.remove(pair(n)), lambda b, n: _added(b, pair(n), -1))
    return Kind(
        lambda: Coins.domain(2, cap=cap), Coins.of([]), frozenset(),
        {
            "add": add, "remove": remove,
            "add the first": Way(lambda b, n: b.add((0, 1)), lambda b, n: _added(b, (0, 1), 1)),
            "remove, add": Way(lambda b, n: b.remove(pair(n)).add(pair(n)),
                               lambda b, n: _added(_added(b, pair(n), -1), pair(n), 1)),
            "remove if there": Way(
                lambda b, n: kc.choose(b.has(pair(n)), b.remove(pair(n)), b),
                lambda b, n: _added(b, pair(n), -1) if pair(n) in dict(b) else b,
            ),
        },
        {
            "has": Way(lambda b, n: b.has(pair(n)), lambda b, n: pair(n) in dict(b)),
            "count": Way(lambda b, n: b.count(pair(n)) > 1, lambda b, n: dict(b).get(pair(n), 0) > 1),
            "size": Way(lambda b, n: b.size() > n, lambda b, n: sum(dict(b).values()) > n),
        },
        lambda b: frozenset(Counter(b).items()),
        lambda b: any(count > 2 for count in dict(b).values()), bool(cap),
    )  # fmt: skip


def _with(of: type[kc.SetOf], members: Any, value: Any) -> Any:
    if value not in of.members:
        raise LostError
    return members | {value}


def set_of(of: type[kc.SetOf]) -> Kind:
    """A set of declared pairs."""
    first = (0, 1)
    return Kind(
        of.domain, of.of([]), frozenset(),
        {
            "plus": Way(lambda s, n: s.plus(s.just(pair(n))), lambda s, n: _with(of, s, pair(n))),
            "minus": Way(lambda s, n: s.minus(s.just(pair(n))), lambda s, n: s - {pair(n)}),
            "minus more": Way(
                lambda s, n: s.minus(s.just(pair(n)).plus(of.of([first]))), lambda s, n: s - {pair(n), first}
            ),
            "keep": Way(lambda s, n: s.keep(s.just(pair(n))), lambda s, n: s & {pair(n)}),
            "keep all": Way(lambda s, n: s.keep(of.of(of.members)), lambda s, n: s),
            "literal, plus": Way(lambda s, n: of.of([first]).plus(s), lambda s, n: _with(of, s, first)),
            "plus if declared": Way(
                lambda s, n: kc.choose(n < NUMBERS - 1, s.plus(s.just(pair(n))), s),
                lambda s, n: s | {pair(n)} if n < NUMBERS - 1 else s,
            ),
        },
        {
            "has": Way(lambda s, n: s.has(pair(n)), lambda s, n: pair(n) in s),
            "size": Way(lambda s, n: s.size() > n, lambda s, n: len(s) > n),
            "each": Way(lambda s, n: kc.some(s, lambda one: one[0] > n), lambda s, n: any(one[0] > n for one in s)),
        },
        frozenset,
    )  # fmt: skip


def int_set() -> Kind:
    """A set of numbers, the last of which is outside its layout."""
    return Kind(
        lambda: kc.IntSet(subset_of(NUMBERS - 1)), kc.IntSet(), frozenset(),
        {
            "plus": Way(lambda s, n: s.plus(s.just(n)), lambda s, n: s | {n}),
            "minus": Way(lambda s, n: s.minus(s.just(n)), lambda s, n: s - {n}),
            "keep": Way(lambda s, n: s.keep(kc.IntSet.of([0, 1])), lambda s, n: s & {0, 1}),
            "literal, plus": Way(lambda s, n: kc.IntSet.of([1]).plus(s), lambda s, n: s | {1}),
            "list, plus": Way(lambda s, n: s.plus(kc.Sequence.of([2, 0], 2)), lambda s, n: s | {0, 2}),
        },
        {
            "has": Way(lambda s, n: s.has(n), lambda s, n: n in s),
            "size": Way(lambda s, n: s.size() > n, lambda s, n: len(s) > n),
            "first": Way(lambda s, n: s.first() == n, lambda s, n: bool(s) and min(s) == n),
            "differs": Way(lambda s, n: s != s.just(n), lambda s, n: s != {n}),
        },
        frozenset,
        lambda s: max(s, default=0) >= NUMBERS - 1,
    )  # fmt: skip


def _listed(items: Any, more: Any) -> Any:
    return tuple(dict.fromkeys((*items, *more)))


def sequence() -> Kind:
    """A list of different numbers that has a slot for each."""
    vacant = (kc.ints(-1, NUMBERS - 1),) * NUMBERS
    full = kc.Sequence.of([], NUMBERS)
    return Kind(
        lambda: kc.Sequence(vacant), full, (),
        {
            "plus": Way(lambda s, n: s.plus(s.just(n)), lambda s, n: _listed(s, (n,))),
            "minus": Way(lambda s, n: s.minus(s.just(n)), lambda s, n: tuple(i for i in s if i != n)),
            "literal, plus": Way(
                lambda s, n: kc.Sequence.of([3, 1], NUMBERS).plus(s), lambda s, n: _listed((3, 1), s)
            ),
            "literal, plus set": Way(
                lambda s, n: kc.Sequence.of([2], NUMBERS).plus(kc.IntSet(s.mask)),
                lambda s, n: _listed((2,), sorted(s)),
            ),
            "ascending": Way(lambda s, n: s.ascending(), lambda s, n: tuple(sorted(s))),
        },
        {
            "has": Way(lambda s, n: s.has(n), lambda s, n: n in s),
            "size": Way(lambda s, n: s.size() > n, lambda s, n: len(s) > n),
            "first": Way(lambda s, n: s.first() == n, lambda s, n: s[:1] == (n,)),
        },
        tuple,
    )  # fmt: skip


def _put(held: Any, key: Any, value: Any) -> Any:
    if key not in Votes.keys:
        raise LostError
    return tuple(sorted((dict(held) | {key: value}).items()))


def mapping() -> Kind:
    """A map from declared pairs."""
    return Kind(
        lambda: Votes.domain(kc.ints(0, 2)), Votes.of(lambda key: 0), tuple((key, 0) for key in Votes.keys),
        {
            "put": Way(lambda m, n: m.put(pair(n), 2), lambda m, n: _put(m, pair(n), 2)),
            "put if declared": Way(
                lambda m, n: kc.choose(n < NUMBERS - 1, m.put(pair(n), 1), m),
                lambda m, n: _put(m, pair(n), 1) if n < NUMBERS - 1 else m,
            ),
            "put beside": Way(
                lambda m, n: m.put(pair(n), m.get((0, 1))), lambda m, n: _put(m, pair(n), dict(m)[0, 1])
            ),
            "count up": Way(
                lambda m, n: m.put((0, 1), m.get(pair(n), otherwise=1) + 1),
                lambda m, n: _put(m, (0, 1), dict(m).get(pair(n), 1) + 1),
            ),
        },
        {
            "get": Way(lambda m, n: m.get(pair(n), otherwise=9) > 1, lambda m, n: dict(m).get(pair(n), 9) > 1),
            "less": Way(lambda m, n: m.get(pair(n), otherwise=-9) < 0, lambda m, n: dict(m).get(pair(n), -9) < 0),
        },
        lambda m: tuple(sorted(m.items())),
        lambda m: any(value > 2 for _, value in m),
    )  # fmt: skip


def _at(items: Any, place: int, value: Any) -> Any:
    return tuple({**dict(enumerate(items)), place: value}.values()) if 0 <= place < len(items) else items


def places() -> Kind:
    """A tuple of three words, of which the last place that is asked for is outside."""
    return Kind(
        lambda: (kc.ints(0, 2),) * 3, (0, 0, 0), (0, 0, 0),
        {
            "put": Way(lambda t, n: kc.put(t, n, 1), lambda t, n: _at(t, n, 1)),
            "put below": Way(lambda t, n: kc.put(t, n - 1, 2), lambda t, n: _at(t, n - 1, 2)),
            "count up": Way(
                lambda t, n: kc.put(t, 0, kc.get(t, n, otherwise=0) + 1),
                lambda t, n: _at(t, 0, dict(enumerate(t)).get(n, 0) + 1),
            ),
        },
        {
            "get": Way(lambda t, n: kc.get(t, n, otherwise=7) > 1, lambda t, n: dict(enumerate(t)).get(n, 7) > 1),
            "nested": Way(
                lambda t, n: kc.get((t, (2, 1, 0)), n - 1, n, otherwise=-1) < 0,
                lambda t, n: dict(enumerate(dict(enumerate((t, (2, 1, 0)))).get(n - 1, ()))).get(n, -1) < 0,
            ),
        },
        tuple,
        lambda t: max(t) > 2,
    )  # fmt: skip


KINDS: Mapping[str, Kind] = {
    "queue": queue(kc.Queue, kc.ints(0, NUMBERS - 1), lambda n: n),
    "queue of pairs": queue(Letters, (kc.ints(0, NUMBERS - 1), kc.ints(0, 1)), pair),
    "bag": bag(),
    "capped bag": bag("two of each are enough"),
    "set": set_of(Pairs),
    "set of many": set_of(Many),
    "set of numbers": int_set(),
    "list": sequence(),
    "map": mapping(),
    "tuple": places(),
}
"""The kinds by name."""
