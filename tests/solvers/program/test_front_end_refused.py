"""Questions by which Python would decide on a symbolic word: each is refused, with the line of the rule."""

import bisect
import collections
import copy
import enum
import functools
import json
import math
import operator
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from attrs import evolve

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.symbolic import UntraceableRule
from kraftcheck.model.language.terms import Graph
from kraftcheck.solvers.program.parts import SystemFault
from kraftcheck.solvers.program.trace import trace
from tests.shared.shelf import CAUGHT, Shelf, claiming

TABLE = {3: True, 4: False}


class Colour(enum.IntEnum):
    """Numbers with names."""

    RED = 3


@functools.cache
def cached(word: Any) -> bool:
    """A function that remembers its answers by argument."""
    return bool(word)


@functools.lru_cache
def cached_record(record: Any) -> bool:
    """The same of records."""
    return True


def match_value(s: Shelf) -> bool:
    """A value pattern compares and then decides."""
    match s.x:
        case 3:
            return False
    return True


def match_record(s: Shelf) -> bool:
    """So does a class pattern with a value inside."""
    match s.members:
        case BrokerSet(mask=3):
            return False
    return True


REFUSED: dict[str, Callable[[Any], Any]] = {
    "in a set": lambda s: s.x in {3, 4},
    "in a dict": lambda s: s.x in TABLE,
    "in a frozenset": lambda s: s.x not in frozenset((3,)),
    "a key": lambda s: TABLE[s.x],
    "a key with a default": lambda s: TABLE.get(s.x, True),
    "a set of words": lambda s: len(set(s.pair)) == 2,
    "a set display": lambda s: len({s.x, s.y}) == 2,
    "a dict of words": lambda s: len({s.x: 1, s.y: 2}) == 2,
    "a counter": lambda s: max(collections.Counter(s.pair).values()) == 1,
    "a hash": lambda s: hash(s.x) == 3,
    "a hash of a record": lambda s: s.members in {BrokerSet(3)},
    "a hash of the state": lambda s: s in {s},
    "a hash of slots": lambda s: s.order in {s.order},
    "a hash of an optional field": lambda s: hash(s.maybe) == 0,
    "a cached function": lambda s: cached(s.x),
    "a cached function of a record": lambda s: cached_record(s.members),
    "in a list": lambda s: s.x in [3, 4],
    "in a tuple": lambda s: s.x not in (3, 4),
    "in a tuple of words": lambda s: 3 in s.pair,
    "in a range": lambda s: s.x in range(3, 5),
    "a tuple compared": lambda s: s.pair == (1, 2),
    "a tuple of another length": lambda s: s.pair == (1, 2, 3),
    "tuples in order": lambda s: s.pair < (1, 2),
    "a place in a tuple": lambda s: s.pair.index(s.x) == 1,
    "a count in a tuple": lambda s: s.pair.count(1) == 1,
    "a list compared": lambda s: list(s.pair) != [1, 2],
    "records compared": lambda s: s.maybe == evolve(s.maybe, present=s.x == 3),
    "records differ": lambda s: s.maybe != evolve(s.maybe, present=s.x == 3),
    "dicts compared": lambda s: {1: s.x} == {1: s.y},
    "if": lambda s: True if s.flag else s.x == 3,
    "and": lambda s: s.flag and s.x == 3,
    "or": lambda s: s.flag or s.x == 3,
    "not": lambda s: not s.flag,
    "a chain": lambda s: 0 < s.x < 5,
    "bool": lambda s: bool(s.flag),
    "any": lambda s: any(x == 3 for x in s.pair),
    "all": lambda s: all([s.flag, s.x == 3]),
    "sorted": lambda s: sorted(s.pair) == [1, 2],
    "min": lambda s: min(s.x, s.y) == 3,
    "max": lambda s: max(s.pair) == 3,
    "max by key": lambda s: max((1, 2), key=lambda n: s.pair[n - 1]) == 3,
    "filter": lambda s: list(filter(None, [s.flag])) == [],
    "a bisection": lambda s: bisect.bisect([1, 2], s.x) == 1,
    "a value pattern": match_value,
    "a pattern of a record": match_record,
    "a member of an enum": lambda s: Colour(s.x) is Colour.RED,
    "int": lambda s: int(s.x) == 3,
    "float": lambda s: float(s.x) == 3.0,
    "complex": lambda s: complex(s.x) == 3,
    "round": lambda s: round(s.x) == 3,
    "floor": lambda s: math.floor(s.x) == 3,
    "square root": lambda s: math.sqrt(s.x) == 2,
    "plus": lambda s: +s.y == 3,
    "inverted": lambda s: ~s.x == 3,
    "a truth inverted": lambda s: ~s.flag,
    "a repeated list": lambda s: [0] * s.x == [],
    "a repeated text": lambda s: "a" * s.x == "",
    "divided": lambda s: s.x / 2 == 1,
    "divided by a word that may be 0": lambda s: 4 // s.x == 1,
    "the rest by a word that may be 0": lambda s: 5 % s.x == 1,
    "divided by 0": lambda s: s.x // 0 == 1,
    "divmod": lambda s: divmod(s.x, 2) == (1, 0),
    "power": lambda s: s.x**2 == 4,
    "pow with modulus": lambda s: pow(s.x, 2, 3) == 1,
    "reflected power": lambda s: 2**s.x == 4,
    "matrix product": lambda s: s.x @ s.x,
    "exclusive or": lambda s: s.x ^ 1 == 2,
    "reflected exclusive or": lambda s: True ^ s.flag,
    "shift left": lambda s: s.x << 1 == 2,
    "shift by a word": lambda s: 1 << s.x == 8,
    "shift right": lambda s: s.x >> 1 == 1,
    "reflected shift right": lambda s: 8 >> s.x == 1,
    "an index": lambda s: (1, 2, 3)[s.x] == 3,
    "a slice": lambda s: (1, 2, 3)[: s.x] == (),
    "a range": lambda s: len(range(s.x)) == 3,
    "a range to": lambda s: list(range(s.x, 9)) == [],
    "a length": lambda s: len(s.x) == 1,
    "an item": lambda s: s.x[0] == 1,
    "iteration": lambda s: [n for n in s.x] == [],  # noqa: C416
    "contains": lambda s: 3 in s.x,
    "bits": lambda s: s.x.bit_count() == 2,
    "has an attribute of ints": lambda s: not hasattr(s.x, "bit_length"),
    "an attribute of ints": lambda s: getattr(s.x, "real", 3) == 3,
    "str": lambda s: {"3": False}.get(str(s.x), True),
    "repr": lambda s: {"3": False}.get(repr(s.x), True),
    "format": lambda s: {"3": False}.get(format(s.x), True),
    "an f-string": lambda s: {"x3": False}.get(f"x{s.x}", True),
    "an f-string with a format": lambda s: f"{s.x:03}" != "003",
    "percent s": lambda s: "%s" % s.x != "3",  # noqa: UP031
    "text of a record": lambda s: str(s.members) != "{1}",
    "repr of a record": lambda s: repr(s) != "",
    "text of slots": lambda s: f"{s.order}" != "[1]",
    "pickled": lambda s: pickle.dumps(s.x) == b"",
    "none": lambda s: s.x == None,  # noqa: E711
    "not none": lambda s: s.x != None,  # noqa: E711
    "a text": lambda s: s.x == "a",
    "a text on the left": lambda s: "a" == s.x,  # noqa: SIM300
    "a float": lambda s: s.x == 3.0,
    "a float on the left": lambda s: 3.0 == s.x,  # noqa: SIM300
    "below a float": lambda s: s.x < 3.5,
    "above a float": lambda s: 3.5 < s.x,  # noqa: SIM300
    "a sum with a float": lambda s: s.x + 0.5 == 3.5,
    "a fraction": lambda s: s.x == Fraction(3),
    "a fraction on the left": lambda s: Fraction(3) == s.x,
    "a fraction in a sum": lambda s: Fraction(1, 2) + s.x == 3,
    "a complex number": lambda s: 3j == s.x,  # noqa: SIM300
    "a tuple": lambda s: s.x == (3,),
    "a record": lambda s: s.x == s.members,
    "a word and a truth": lambda s: s.x == True,  # noqa: E712
    "a truth and an int": lambda s: s.flag == 1,
    "a truth in a sum": lambda s: s.flag + 1 == 2,
    "a sum of truths": lambda s: sum(x == 3 for x in s.pair) == 1,
    "a word and a flag": lambda s: s.x & True,
    "a truth and a mask": lambda s: s.flag & 1,
    "a mask that may be negative": lambda s: s.y & 3 == 3,
    "a negative mask": lambda s: s.x | -2 == 3,
}


@pytest.mark.parametrize("use", REFUSED)
def test_a_question_that_python_would_decide_is_refused(use: str) -> None:
    """The rule is refused with its line, wherever Python would answer for a symbolic word."""
    rule = REFUSED[use]
    line = rule.__code__.co_firstlineno
    with pytest.raises(UntraceableRule, match=r"test_front_end_refused\.py:(\d+): .*") as refused:
        trace(claiming(rule), claiming(rule).setting())
    named = int(str(refused.value).partition("py:")[2].partition(":")[0])
    assert line <= named <= line + 4
    assert str(refused.value).count("\n") == 0


OTHER: dict[str, Callable[[Any], Any]] = {
    "a call": lambda s: s.x(),
    "an unknown attribute": lambda s: s.x.height == 3,
    "percent d": lambda s: "%d" % s.x != "3",  # noqa: UP031
    "JSON": lambda s: json.dumps(s.x) == "3",
    "a truth as a word": lambda s: s.x,
    "nothing": lambda s: None,
    "a text instead of a truth": lambda s: "yes",
    "an int instead of a truth": lambda s: 1,
}


@pytest.mark.parametrize("use", OTHER)
def test_a_rule_that_fails_is_refused_with_its_property(use: str) -> None:
    """What is no question to a word, or no truth, names the property."""
    with pytest.raises(SystemFault, match="property claim"):
        trace(claiming(OTHER[use]), claiming(OTHER[use]).setting())


def test_a_rule_that_raises_is_named_by_its_line() -> None:
    """An error of a rule's own says where it was raised."""
    rule = OTHER["an unknown attribute"]
    line = rule.__code__.co_firstlineno
    with pytest.raises(SystemFault, match=rf"raised AttributeError: .*test_front_end_refused\.py:{line}\)"):
        trace(claiming(rule), claiming(rule).setting())


def test_a_refusal_that_a_rule_catches_is_raised_all_the_same() -> None:
    """`except TypeError` around a membership test would make it a constant: the trace is refused."""
    with pytest.raises(UntraceableRule, match=r"shelf\.py:\d+: a symbolic word was used as a key"):
        trace(CAUGHT, CAUGHT.setting())


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_of_a_word_is_the_word(copied: Callable[[Any], Any]) -> None:
    """A copy of a state has the words of the state, not those of a copy of the graph."""
    x = Graph().variable("x", 0, 7)
    assert operator.is_(copied((x,))[0], x)


def test_a_word_that_a_rule_keeps_is_refused() -> None:
    """A rule that answers with a word of an earlier trace is refused, even where it only hands it on."""
    kept: list[Any] = []

    def hoard(state: Shelf) -> Any:
        kept.append(state.flag)
        return kept[0]

    system = claiming(hoard)
    trace(system, system.setting())
    with pytest.raises(UntraceableRule, match="kept a word of an earlier call"):
        trace(system, system.setting())
