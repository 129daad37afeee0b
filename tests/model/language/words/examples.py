"""An example for every word of rules: what an example is, and the state that all of them read."""

import enum
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

import kraftcheck as kc


class Light(kc.Enum):
    """An enumeration."""

    RED = enum.auto()
    GREEN = enum.auto()


class Mail(kc.SetOf):
    """A set of pairs."""

    members = (("a", 1), ("a", 2), ("b", 1))


class Coins(kc.Bag):
    """A bag of numbers."""

    members = (1, 5)


class Votes(kc.Map):
    """A map from texts."""

    keys = ("x", "y")


class Line(kc.Queue):
    """A queue of names."""

    vacant = Light.RED


@frozen
class Inputs:
    """A value of every class that a state may have."""

    # n, m, on, light: two numbers, a truth, and a number with a name
    n: kc.Word
    m: kc.Word
    on: kc.Truth
    light: kc.Word
    # row, table: a tuple, and a tuple of tuples
    row: tuple[kc.Word, ...]
    table: tuple[tuple[kc.Word, ...], ...]
    # group, order: a set of numbers, and numbers in order
    group: kc.IntSet
    order: kc.Sequence
    # mail, coins, votes, line: a set, a bag, a map and a queue of declared values
    mail: Mail
    coins: Coins
    votes: Votes
    line: Line


@frozen
class Example:
    """A word of rules, and an expression that has it."""

    word: str  # the word, as `kraftcheck.NAME` or as a method `CLASS.NAME`; or an operator
    text: str  # an expression of a state `s`

    def value(self, state: Inputs) -> Any:
        """What the expression is worth in a state, concrete or traced."""
        return eval(self.text, {**NAMES, "s": state})


NAMES = {"kc": kc, "Light": Light, "Mail": Mail, "Coins": Coins, "Votes": Votes, "Line": Line, "abs": abs}
"""What the expressions name besides the state."""

LAYOUT = Inputs(
    n=kc.ints(-3, 5), m=kc.ints(0, 2), on=kc.truth(), light=Light.domain(), row=(kc.ints(0, 7),) * 3,
    table=((kc.ints(0, 3),) * 2,) * 2, group=kc.IntSet(kc.subset_of(3)),
    order=kc.Sequence((kc.ints(-1, 2),) * 3), mail=Mail.domain(), coins=Coins.domain(2),
    votes=Votes.domain(kc.ints(0, 4)), line=Line.domain(Light.domain(), 3),
)  # fmt: skip

STATES = (
    Inputs(n=4, m=2, on=True, light=Light.GREEN, row=(5, 6, 7), table=((0, 1), (2, 3)), group=kc.IntSet.of([0, 2]),
           order=kc.Sequence.of([2, 0], 3), mail=Mail.of([("a", 1), ("b", 1)]), coins=Coins.of([5, 5]),
           votes=Votes.of({"x": 1, "y": 4}), line=Line.of([Light.GREEN, Light.RED], 3)),
    Inputs(n=-3, m=0, on=False, light=Light.RED, row=(0, 0, 1), table=((3, 3), (0, 2)), group=kc.IntSet(),
           order=kc.Sequence.of([], 3), mail=Mail.of([]), coins=Coins.of([]), votes=Votes.of({"x": 0, "y": 0}),
           line=Line.of([], 3)),
    Inputs(n=2, m=2, on=True, light=Light.RED, row=(7, 3, 3), table=((1, 1), (1, 1)), group=kc.IntSet.of([0, 1, 2]),
           order=kc.Sequence.of([0, 1, 2], 3), mail=Mail.of([("a", 2)]), coins=Coins.of([1, 5]),
           votes=Votes.of({"x": 4, "y": 3}), line=Line.of([Light.GREEN] * 3, 3)),
)  # fmt: skip
"""Three states; the first is the one of the page."""


def _listed(*rows: tuple[str, str]) -> Sequence[Example]:
    return tuple(Example(word, text) for word, text in rows)


EXAMPLES: Mapping[str, Sequence[Example]] = {
    "Numbers": _listed(
        ("+", "s.n + s.m"), ("-", "s.n - s.m"), ("*", "s.n * s.m"), ("negative", "-s.n"), ("abs", "abs(s.n)"),
        ("//", "s.n // 3"), ("%", "s.n % 3"), ("minimum", "kc.minimum(s.n, s.m, 3)"),
        ("maximum", "kc.maximum(s.n, s.m, 3)"),
    ),
    "Truths": _listed(
        ("==", "s.n == s.m"), ("!=", "s.n != s.m"), ("<", "s.n < s.m"), ("<=", "s.n <= s.m"), (">", "s.n > s.m"),
        (">=", "s.n >= s.m"), ("all_of", "kc.all_of(s.on, s.n > 0)"), ("any_of", "kc.any_of(s.on, s.n > 0)"),
        ("none_of", "kc.none_of(s.on, s.n > 0)"), ("negate", "kc.negate(s.on)"),
        ("implies", "kc.implies(s.on, s.n > 3)"), ("Enum", "s.light == Light.GREEN"),
    ),
    "Choices": _listed(
        ("choose", "kc.choose(s.on, s.n, s.m)"), ("choose", "kc.choose(s.on, s.group, s.group.none())"),
        ("pick", "kc.pick(s.row, s.m, -1)"), ("equal", "kc.equal(s.table[0], s.table[1])"),
    ),
    "Claims about many": _listed(
        ("each", "kc.each(s.row, lambda x: x > 4)"), ("each", "kc.each(s.group, lambda i: i != 1)"),
        ("some", "kc.some(s.mail, lambda letter: letter[1] == 2)"), ("count", "kc.count(s.row, lambda x: x > 5)"),
        ("count", "kc.count(range(4), lambda i: i < s.n)"),
    ),
    "Tuples": _listed(
        ("get", "kc.get(s.row, s.m)"), ("get", "kc.get(s.table, s.m % 2, 1)"),
        ("get", "kc.get(s.row, s.n, otherwise=-1)"), ("put", "kc.put(s.row, s.m, 0)"),
        ("put", "kc.put(s.table, (s.m % 2, 1), 0)"),
    ),
    "Sets of numbers": _listed(
        ("IntSet.of", "kc.IntSet.of([0, 1])"), ("IntSet.has", "s.group.has(s.m)"),
        ("IntSet.plus", "s.group.plus(s.group.just(1))"), ("IntSet.minus", "s.group.minus(s.group.just(s.m))"),
        ("IntSet.keep", "s.group.keep(kc.IntSet.of([1, 2]))"), ("IntSet.just", "s.group.just(s.m)"),
        ("IntSet.none", "s.group.none()"), ("IntSet.ascending", "s.group.ascending()"),
        ("IntSet.is_empty", "s.group.is_empty()"), ("IntSet.size", "s.group.size()"),
        ("IntSet.within", "s.group.within(kc.IntSet.of([0, 2]))"),
        ("IntSet.same", "s.group.same(kc.IntSet.of([0, 2]))"),
        ("IntSet.first", "s.group.first()"), ("IntSet.first_in", "s.group.first_in(kc.IntSet.of([1, 2]))"),
        ("IntSet.mask", "s.group.mask"),
    ),
    "Numbers in order": _listed(
        ("Sequence.of", "kc.Sequence.of([1, 0], 3)"), ("Sequence.has", "s.order.has(s.m)"),
        ("Sequence.plus", "s.order.plus(s.order.just(1))"), ("Sequence.minus", "s.order.minus(s.order.just(0))"),
        ("Sequence.keep", "s.order.keep(s.group)"), ("Sequence.just", "s.order.just(1)"),
        ("Sequence.none", "s.order.none()"), ("Sequence.ascending", "s.order.ascending()"),
        ("Sequence.is_empty", "s.order.is_empty()"), ("Sequence.size", "s.order.size()"),
        ("Sequence.within", "s.order.within(kc.IntSet.of([0, 2]))"),
        ("Sequence.same", "s.order.same(kc.Sequence.of([2, 0], 3))"),
        ("Sequence.first", "s.order.first()"), ("Sequence.first_in", "s.order.first_in(kc.IntSet.of([0, 1]))"),
        ("Sequence.mask", "s.order.mask"),
    ),
    "Sets of declared values": _listed(
        ("SetOf.of", "Mail.of([('a', 2)])"), ("SetOf.has", "s.mail.has(('a', s.m))"),
        ("SetOf.plus", "s.mail.plus(s.mail.just(('a', 2)))"), ("SetOf.minus", "s.mail.minus(s.mail.just(('a', 1)))"),
        ("SetOf.keep", "s.mail.keep(Mail.of([('a', 1), ('a', 2)]))"), ("SetOf.just", "s.mail.just(('b', 1))"),
        ("SetOf.none", "s.mail.none()"), ("SetOf.is_empty", "s.mail.is_empty()"), ("SetOf.size", "s.mail.size()"),
        ("SetOf.within", "s.mail.within(Mail.of([('a', 1), ('b', 1)]))"),
        ("SetOf.same", "s.mail.same(Mail.of([('a', 1), ('b', 1)]))"),
        ("SetOf.possible", "kc.count(s.mail.possible(), s.mail.has)"),
    ),
    "Bags": _listed(
        ("Bag.of", "Coins.of([1, 1])"), ("Bag.count", "s.coins.count(5)"), ("Bag.has", "s.coins.has(1)"),
        ("Bag.add", "s.coins.add(1)"), ("Bag.remove", "s.coins.remove(5)"), ("Bag.size", "s.coins.size()"),
        ("Bag.is_empty", "s.coins.is_empty()"), ("Bag.possible", "kc.count(s.coins.possible(), s.coins.has)"),
    ),
    "Maps": _listed(
        ("Map.of", "Votes.of({'x': 2, 'y': 0})"), ("Map.get", "s.votes.get('y')"),
        ("Map.put", "s.votes.put('x', s.m)"), ("Map.items", "kc.count(s.votes.items(), lambda item: item[1] > 2)"),
    ),
    "Queues": _listed(
        ("Queue.of", "Line.of([Light.GREEN], 3)"), ("Queue.append", "s.line.append(s.light)"),
        ("Queue.head", "s.line.head()"), ("Queue.tail", "s.line.tail()"), ("Queue.has", "s.line.has(Light.RED)"),
        ("Queue.is_empty", "s.line.is_empty()"), ("Queue.is_full", "s.line.is_full()"),
    ),
}  # fmt: skip
"""Examples by the sections of the page."""
