"""Three missionaries and three cannibals cross a river: MissionariesAndCannibals of the TLA+ Examples."""

from attrs import frozen

import kraftcheck as kc

PEOPLE = range(6)
MISSIONARIES, CANNIBALS = kc.IntSet.of(range(3)), kc.IntSet.of(range(3, 6))
BOATS = {"a": PEOPLE, "b": PEOPLE}


@frozen
class Banks:
    """Who is on the bank from which all started, and whether the boat is there."""

    east: kc.IntSet
    boat: kc.Truth


def is_safe(people: kc.IntSet) -> kc.Truth:
    """There is no missionary, or there are not more cannibals than missionaries."""
    missionaries = people.keep(MISSIONARIES)
    return kc.any_of(missionaries.is_empty(), people.keep(CANNIBALS).size() <= missionaries.size())


def cross(s: Banks, a: kc.Word, b: kc.Word) -> Banks:
    """One or two go to the other bank."""
    crew = s.east.just(a).plus(s.east.just(b))
    return Banks(kc.choose(s.boat, s.east.minus(crew), s.east.plus(crew)), kc.negate(s.boat))


def may_cross(s: Banks, a: kc.Word, b: kc.Word) -> kc.Truth:
    """Both are where the boat is, and neither bank becomes unsafe."""
    after = cross(s, a, b).east
    everyone = MISSIONARIES.plus(CANNIBALS)
    here = kc.each((a, b), lambda one: s.east.has(one) == s.boat)
    return kc.all_of(a <= b, here, is_safe(after), is_safe(everyone.minus(after)))


MISSIONARIES_AND_CANNIBALS = kc.System(
    name="missionaries",
    summary="Missionaries and cannibals cross a river.",
    layout=Banks(kc.IntSet(kc.subset_of(6)), kc.truth()),
    initial=[Banks(kc.IntSet.of(PEOPLE), True)],
    actions=[kc.Action("cross", cross, may_cross, BOATS)],
    properties=[kc.always("somebody-stays", "somebody is on the first bank",
                          lambda s: kc.negate(s.east.is_empty()))],
)  # fmt: skip
