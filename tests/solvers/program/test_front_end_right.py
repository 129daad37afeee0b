"""Questions to symbolic words that Python answers rightly: the trace agrees with ints in every state."""

import copy
import enum
import functools
import numbers
from collections.abc import Callable
from typing import Any

import attrs
import pytest
from attrs import evolve

from kraftcheck.model.language.brokersets import BrokerSet, Replicas
from kraftcheck.model.language.layout import leaves
from kraftcheck.model.language.words import any_of, negate, pick
from kraftcheck.solvers.audit.traced_sample import check_sample
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.reference.terms import holds
from tests.shared.shelf import claiming, states


class Colour(enum.IntEnum):
    """Numbers with names."""

    RED = 3


@functools.singledispatch
def sort_of(value: Any) -> str:
    """What a value is, by its class."""
    return "another"


@sort_of.register
def _(value: int) -> str:
    return "int"


@sort_of.register
def _(value: bool) -> str:
    return "bool"


def class_pattern(s: Any) -> Any:
    """A class pattern asks what `isinstance` asks."""
    match s.x:
        case int(number):
            return number != 3
    return False


RIGHT: dict[str, Callable[[Any], Any]] = {
    "isinstance of a word": lambda s: s.x == 3 if isinstance(s.x, int) else True,
    "isinstance of a truth": lambda s: s.flag if isinstance(s.flag, bool) else True,
    "a word is no truth": lambda s: isinstance(s.x, bool),
    "isinstance of a collection": lambda s: s.members.has(1) if isinstance(s.members, BrokerSet) else True,
    "isinstance by a protocol": lambda s: s.x == 3 if isinstance(s.x, numbers.Integral) else True,
    "its class": lambda s: s.x == 3 if issubclass(s.x.__class__, int) else True,
    "a class pattern": class_pattern,
    "dispatch by class": lambda s: s.x == 3 if (sort_of(s.x), sort_of(s.flag)) == ("int", "bool") else True,
    "is None": lambda s: True if s.x is None else s.x == 3,
    "a truth on the left": lambda s: True == s.flag,  # noqa: E712, SIM300
    "a truth on the right": lambda s: s.flag == False,  # noqa: E712
    "truths differ": lambda s: s.flag != (s.x == 3),
    "a number on the left": lambda s: 3 == s.x,  # noqa: SIM300
    "below from the left": lambda s: 3 < s.x,  # noqa: SIM300
    "at most from the left": lambda s: 3 <= s.y,  # noqa: SIM300
    "a difference from a number": lambda s: 3 - s.y == 4,
    "a number plus a word": lambda s: 3 + s.y == 2,
    "a mask from the left": lambda s: 3 & s.x == 2,
    "a union from the left": lambda s: 4 | s.x == 6,
    "a truth and a truth": lambda s: True & s.flag,
    "a member of an enum": lambda s: s.x == Colour.RED,
    "an enum on the left": lambda s: Colour.RED == s.x,  # noqa: SIM300
    "a chain whose first part always holds": lambda s: 0 <= s.x < 5,
    "a number out of reach": lambda s: s.x == 1 << 70,
    "below a number out of reach": lambda s: s.y < 1 << 70,
    "a sum": lambda s: sum(s.pair) == 3,
    "the first of one": lambda s: sorted([s.x])[0] == 3,
    "the same word in a tuple": lambda s: s.x in (s.x,),
    "the place of the first word": lambda s: s.pair.index(s.pair[0]) == 0,
    "a tuple compared with itself": lambda s: s.pair == tuple(s.pair),
    "sets compared": lambda s: s.members == BrokerSet(3),
    "records with one field of two that may differ": lambda s: s.maybe == evolve(s.maybe, value=s.x),
    "a record changed": lambda s: evolve(s, x=3).x == s.x,
    "a record changed by attrs": lambda s: attrs.evolve(s.maybe, value=s.x).or_else(3) == 3,
    "a copy": lambda s: copy.deepcopy(s).x == 3,
    "a loop over slots": lambda s: any_of(*(slot == 1 for slot in s.order.slots)),
    "a loop over fields": lambda s: any_of(*(v == 3 for _, v in leaves(s.pair))),
    "a table": lambda s: pick((True, False), s.x, s.flag),
    "a slice of slots": lambda s: negate(s.order.slots[1:] == ()),
    "lists of other capacities": lambda s: s.order.same(Replicas.of([2, 1], 5)),
    "sets of other numbers of brokers": lambda s: s.members.same(BrokerSet.of([60, 1])),
    "a set within a larger one": lambda s: s.members.within(BrokerSet.of([0, 1, 40])),
    "a list in ascending order": lambda s: s.order.ascending().first() == 0,
    "a longer list with a set": lambda s: Replicas((*s.order.slots, -1)).plus(BrokerSet.of([3])).has(3),
}


@pytest.mark.parametrize("use", RIGHT)
def test_what_is_not_refused_agrees_with_ints(use: str) -> None:
    """The traced truth is the one on ints in every state that is tried, and the sample finds no difference."""
    rule = RIGHT[use]
    program = trace(claiming(rule), claiming(rule).setting())
    check_sample(program)
    for state in states():
        values = program.layout.values(state)
        assert holds(program.always_terms[0], program, values) is bool(rule(state)), state
