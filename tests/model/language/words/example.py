"""What an example of a word is, and the state that all of them read."""

from __future__ import annotations

import enum
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
    """A value of every class that a state may have.

    Attributes:
        n, m, on, light: two numbers, a truth, and a number with a name.
        row, table: a tuple, and a tuple of tuples.
        group, order: a set of numbers, and numbers in order.
        mail, coins, votes, line: a set, a bag, a map and a queue of declared values.
    """

    n: kc.Word
    m: kc.Word
    on: kc.Truth
    light: kc.Word
    row: tuple[kc.Word, ...]
    table: tuple[tuple[kc.Word, ...], ...]
    group: kc.IntSet
    order: kc.Sequence
    mail: Mail
    coins: Coins
    votes: Votes
    line: Line


@frozen
class Example:
    """A word of rules, and an expression that has it.

    Attributes:
        word: the word, as `kraftcheck.NAME` or as a method `CLASS.NAME`; or an operator.
        text: an expression of a state `s`.
    """

    word: str
    text: str

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
